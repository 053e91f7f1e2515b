"""Learns the codebooks of a source: the methods of discretisation, and what each makes of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn.data import Source
from sqlbn.data.no_target import NO_CLASS
from sqlbn.encoding.categories import (
    categorical_books,
    categories_sql,
    columns_sql,
    create_categories,
    insert_categories,
    learn_groups,
    values_sql,
    write_group_labels,
)
from sqlbn.encoding.codebook import Codebook, intervals, is_inline
from sqlbn.encoding.discretise.equal_frequency import learn_cuts
from sqlbn.encoding.discretise.mdl import mdl_partition
from sqlbn.encoding.discretise.modl import cuts_at, modl_partition
from sqlbn.encoding.discretise.recuts import recut_books
from sqlbn.encoding.profile import ColumnProfile, Weights, warn_left_out
from sqlbn.encoding.value_classes import (
    Array,
    ColumnInformation,
    Labelled,
    PartCounts,
    ValueClasses,
    numeric_counts,
    variable_of,
)
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits, in_blocks
from sqlbn.engines.progress import Progress
from sqlbn.engines.sql import identifier, select_sql
from sqlbn.engines.value_types import numeric_axis, type_group
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ColumnError, NoRowsError, OptionError, opt
from sqlbn.options.lists import as_list, names_in

if TYPE_CHECKING:
    import pyarrow as pa


METHODS = ("ef", "mdl", "modl")
# The best of several, by losses of rows that did not teach the cut points.
AUTO = "auto"
ENCODINGS = "ef:5,ef:10,ef:20,mdl,modl"
DEFAULT_BINS = 5


@dataclass(frozen=True)
class Discretisation:
    """How columns become parts: by equal frequency, or supervised by the class.

    `recuts` is in how many further ways every quantity is cut, for members of an ensemble.
    """

    method: str = "ef"
    bins: int = DEFAULT_BINS
    recuts: int = 0

    @property
    def intervals(self) -> Callable[[ValueClasses, Limits], Sequence[int]] | None:
        """The supervised search for cut points; None for equal frequency."""
        return INTERVALS.get(self.method)

    def options(self) -> dict[str, Any]:
        """What the meta table tells of it."""
        return {"discretise": self.method} | ({"bins": self.bins} if self.method == "ef" else {})

    def __str__(self) -> str:
        return f"ef:{self.bins}" if self.method == "ef" else self.method

    @property
    def is_supervised(self) -> bool:
        """Whether the classes make the cut points."""
        return self.method != "ef"

    @property
    def groups_values(self) -> bool:
        """Whether categories are put into groups."""
        return self.method == "modl"


def candidates(given: str | Sequence[str] = ()) -> list[Discretisation]:
    """The encodings that are tried, written as in `ef:20,modl`; without any, the usual ones.

    >>> [str(encoding) for encoding in candidates("ef:20,modl")]
    ['ef:20', 'modl']
    """
    found = []
    for word in names_in(as_list(given or ENCODINGS)):
        method, _, bins = word.strip().partition(":")
        if method not in METHODS or (bins and (method != "ef" or not bins.isdigit())):
            raise OptionError(f"write for example {ENCODINGS}", encodings=word.strip())
        if bins and int(bins) < 2:
            raise OptionError("give at least 2 intervals", encodings=word.strip())
        found.append(Discretisation(method, int(bins) if bins else DEFAULT_BINS))
    return list(dict.fromkeys(found))


def checked_method(method: str, bins: int | None) -> str:
    """The method where it is known and goes with the number of bins."""
    if method not in (*METHODS, AUTO):
        raise OptionError(f"choose {', '.join((*METHODS, AUTO))}", discretise=method)
    if bins is not None and method != "ef":
        raise OptionError(
            f"{opt('bins')} requires {opt('discretise', 'ef')}; {method} finds their number itself"
        )
    return method


def _modl(cells: ValueClasses, limits: Limits) -> Sequence[int]:
    found: list[int] = modl_partition(cells.counts, cells.missing, limits).bounds.tolist()
    return found


def _mdl(cells: ValueClasses, limits: Limits) -> Sequence[int]:
    found: list[int] = mdl_partition(cells.counts).tolist() if cells.some_present else []
    return found


INTERVALS: dict[str, Callable[[ValueClasses, Limits], Sequence[int]]] = {"mdl": _mdl, "modl": _modl}


def cut_points(cells: ValueClasses, bounds: Sequence[int]) -> tuple[float, ...]:
    """The cut points of intervals that begin at the cells in `bounds`."""
    return cuts_at(cells.uppers, np.array(bounds, dtype=np.intp))


@dataclass
class Learned:
    """Codebooks, and what was found on the way to them.

    `counts` are those of parts by class and `elementary` the cells that an optimisation started
    from, where there was one. `coarse` are those of columns with too many values for it.
    """

    books: list[Codebook] = field(default_factory=list)
    left_out: list[ColumnInformation] = field(default_factory=list)
    counts: dict[str, Array] = field(default_factory=dict)
    elementary: dict[str, int] = field(default_factory=dict)
    coarse: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, counts: Array, elementary: int | None) -> None:
        """Note what is known of a column that is used."""
        self.counts[name] = counts
        if elementary is not None:
            self.elementary[name] = elementary


def learn_classes(
    session: Session, source: Source, target: str, weights: Weights | None
) -> tuple[Codebook, list[tuple[str, float]]]:
    """The codebook of the target, and its classes with their counts."""
    sql_type = source.columns[target]
    if type_group(sql_type) == "other":
        raise ColumnError(f"the target {target!r} has type {sql_type}; it must be text or a number")
    book = Codebook(target, sql_type, "categorical", 0)
    counted = values_sql(source, book, weights, session.row_engine.dialect)
    most = session.limits.most_classes
    with session.row_engine.collect(f"{counted} LIMIT {most + 1}") as values:
        found = session.rows(categories_sql(values))
    if not found and target == NO_CLASS:
        raise NoRowsError(f"{source.label} has no row to learn from")
    if not found:
        also = " and a weight above 0" if weights is not None else ""
        raise NoRowsError(f"no row of {source.label} has a value in the target {target!r}{also}")
    if len(found) > most:
        raise ColumnError(
            f"the target {target!r} has more than {most:,} different values; "
            f"choose a column with classes, or group its values with {opt('query')}"
        )
    classes = [(str(value), n) for _, value, n in found]
    names = tuple(value for value, _ in classes)
    return class_codebook(target, sql_type, names, session.limits), classes


def class_codebook(target: str, sql_type: str, names: tuple[str, ...], limits: Limits) -> Codebook:
    """The codebook of a target; its classes are looked up in `classes` where they are many."""
    few = names if is_inline(len(names), sql_type, limits) else None
    return Codebook(target, sql_type, "categorical", len(names), categories=few)


def learn_codebooks(
    rows: Labelled,
    workspace: Workspace,
    profiles: Sequence[ColumnProfile],
    how: Discretisation,
    keep: frozenset[str],
    progress: Progress,
) -> Learned:
    """Codebooks of the attributes in order; fills `categories`, `groups`, `cuts`."""
    learned = Learned()
    categorical = {p.name: p.sql_type for p in profiles if p.kind == "categorical"}
    numeric = [p for p in profiles if p.kind == "numeric"]
    create_categories(workspace)
    if how.groups_values:
        _learn_groups(rows, workspace, categorical, keep, learned, progress)
    else:
        _learn_categories(rows.source, workspace, categorical, rows.weights, rows.rows, progress)
    books = {b.name: b for b in categorical_books(workspace, categorical)}
    if how.intervals is None:
        books |= _equal_frequency_books(rows, numeric, how.bins)
    else:
        cells = numeric_counts(rows, numeric)
        books |= supervised_books(rows, cells, how, keep, learned, progress.advance)
    keep_useful(profiles, books, keep, learned)
    if how.recuts:
        ordered = [p for p in profiles if p.has_intervals]
        learned.books += recut_books(rows, ordered, learned.books, how.recuts, progress.advance)
    write_parts(workspace, learned.books)
    return learned


def keep_useful(
    profiles: Sequence[ColumnProfile],
    books: Mapping[str, Codebook],
    keep: frozenset[str],
    learned: Learned,
) -> None:
    """The codebooks of columns that tell classes apart, in order."""
    flat = {n for n, b in books.items() if b.n_values < 2 and n not in keep}
    warn_left_out("constant once discretised", flat)
    useless = [v.name for v in learned.left_out]
    warn_left_out("of no use to tell the classes apart", useless)
    left_out = flat.union(useless)
    learned.books += [books[p.name] for p in profiles if p.name in books.keys() - left_out]


def _equal_frequency_books(
    rows: Labelled, profiles: Sequence[ColumnProfile], bins: int
) -> dict[str, Codebook]:
    cuts = learn_cuts(rows.session, rows.source, rows.rows, profiles, bins, rows.weights)
    return {
        p.name: numeric_book(p.name, p.sql_type, cuts[p.name], p.present > 0, p.present < rows.rows)
        for p in profiles
    }


def supervised_books(
    rows: Labelled,
    counted: Iterable[tuple[ColumnProfile, ValueClasses]],
    how: Discretisation,
    keep: frozenset[str],
    learned: Learned,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, Codebook]:
    """Codebooks of quantities that are counted, by intervals that tell the classes apart."""
    assert how.intervals is not None
    books = {}
    for profile, cells in counted:
        name, bounds = profile.name, how.intervals(cells, rows.session.limits)
        cuts = cut_points(cells, bounds)
        book = numeric_book(name, profile.sql_type, cuts, cells.some_present, cells.some_missing)
        counts = cells.parts(bounds)
        variable = variable_of(book, PartCounts.of(counts), 0, len(cells.counts))
        if not bounds and variable.level == 0 and name not in keep:
            learned.left_out.append(variable.or_left_out())
        else:
            books[name] = book
            learned.add(name, counts, len(cells.counts))
        if cells.coarse:
            learned.coarse[name] = len(cells.counts)
        advance()
    return books


def _learn_groups(
    rows: Labelled,
    workspace: Workspace,
    types: Mapping[str, str],
    keep: frozenset[str],
    learned: Learned,
    progress: Progress,
) -> None:
    """Categories in groups that tell the classes apart."""
    for name, sql_type in types.items():
        book = Codebook(name, sql_type, "categorical", 0)
        found = learn_groups(rows, workspace, book, name in keep)
        if found is not None and (found.variable.used or name in keep):
            learned.add(name, found.counts, found.variable.elementary)
        elif found is not None:
            learned.left_out.append(found.variable)
        progress.advance()


def learn_codebooks_like(
    session: Session,
    source: Source,
    workspace: Workspace,
    books: Sequence[Codebook],
    groups: Mapping[str, pa.Table],
    rows: int,
    weights: Weights | None,
    progress: Progress,
) -> list[Codebook]:
    """The same for the columns, cut points and groups of other codebooks; none is left out."""
    types = {b.name: b.sql_type for b in books if b.kind == "categorical"}
    create_categories(workspace)
    _learn_categories(source, workspace, types, weights, rows, progress, groups)
    found = {b.name: b for b in categorical_books(workspace, types)}
    numeric = [b for b in books if b.kind == "numeric"]
    for book, present in zip(numeric, _present_values(session, source, numeric), strict=True):
        found[book.name] = numeric_book(
            book.name, book.sql_type, book.cuts, present > 0, present < rows, book.read_from
        )
        progress.advance()
    chosen = [found[b.name] for b in books]
    write_parts(workspace, chosen)
    return chosen


def _learn_categories(
    source: Source,
    workspace: Workspace,
    types: Mapping[str, str],
    weights: Weights | None,
    rows: int,
    progress: Progress,
    groups: Mapping[str, pa.Table] | None = None,
) -> None:
    """Categories; the values of `groups` (attribute to value, group) share a code."""
    row_engine, limits = workspace.session.row_engine, workspace.session.limits
    books = [Codebook(name, sql_type, "categorical", 0) for name, sql_type in types.items()]
    for some in in_blocks(books, limits.statement_columns):
        with _copied(workspace.session, source, some, weights, rows) as copied:
            together = limits.counted_columns if row_engine.is_local else len(some)
            for block in in_blocks(some, together):
                with ExitStack() as collected:
                    counted = _counted_values(workspace.session, copied, block, weights, collected)
                    statements = dict[Codebook, str]()
                    for book, values in counted:
                        statements[book] = categories_sql(values)
                        progress.advance()
                    insert_categories(workspace, statements, groups)


def _counted_values(
    session: Session,
    source: Source,
    books: Sequence[Codebook],
    weights: Weights | None,
    collected: ExitStack,
) -> Iterator[tuple[Codebook, str]]:
    """Each column with a relation of its values, collected meanwhile.

    Where every statement is a job of a cluster, all columns of a type are counted in one.
    """
    row_engine, dialect = session.row_engine, session.row_engine.dialect
    if row_engine.is_local:
        for book in books:
            counted = values_sql(source, book, weights, dialect)
            yield book, collected.enter_context(row_engine.collect(counted))
        return
    by_type: dict[str, list[Codebook]] = {}
    for book in books:
        by_type.setdefault(book.compared_as, []).append(book)
    for some in by_type.values():
        counted = columns_sql(source, some, weights, dialect)
        values = collected.enter_context(row_engine.collect(counted))
        for place, book in enumerate(some):
            yield book, f"({select_sql(values, 'value, n', where=f'place = {place}')})"


@contextmanager
def _copied(
    session: Session,
    source: Source,
    books: Sequence[Codebook],
    weights: Weights | None,
    rows: int,
) -> Iterator[Source]:
    """Some columns of few rows in a table, where the source has many.

    Every scan of a file looks at all of its columns first: 1,000 of 2,000 columns, 5,000 rows, took
    6 s, from tables 2 s.
    """
    row_engine, limits = session.row_engine, session.limits
    few = rows <= limits.copied_rows and row_engine.is_local
    if not few or len(source.columns) <= limits.statement_columns:
        yield source
        return
    names = [*(book.name for book in books), *([weights.column] if weights is not None else [])]
    names = list(dict.fromkeys(names))
    kept = row_engine.persist(source.select(", ".join(map(identifier, names))), "columns")
    try:
        columns = {name: source.columns[name] for name in names}
        yield Source(relation=kept.relation, columns=columns, label=source.label)
    finally:
        row_engine.unpersist(kept)


def _present_values(session: Session, source: Source, books: Sequence[Codebook]) -> list[int]:
    """How many rows have a number, for every numeric column."""
    if not books:
        return []
    counts, dialect = [], session.row_engine.dialect
    for book in books:
        axis = numeric_axis(identifier(book.column), book.sql_type, dialect)
        counts.append(f"count(*) FILTER (WHERE {axis} IS NOT NULL AND NOT {dialect.is_nan(axis)})")
    return [int(n) for n in session.row_engine.row(source.select(", ".join(counts)))]


def numeric_book(
    name: str,
    sql_type: str,
    cuts: tuple[float, ...],
    some_present: bool,
    some_missing: bool,
    read_from: str | None = None,
) -> Codebook:
    """The codebook of a quantity: its intervals, then missing values where there are any."""
    n_intervals = len(cuts) + 1 if cuts or some_present else 0
    missing = n_intervals if some_missing else None
    n_values = n_intervals + some_missing
    return Codebook(name, sql_type, "numeric", n_values, missing, cuts, read_from=read_from)


def write_parts(workspace: Workspace, books: Sequence[Codebook]) -> None:
    """The workspace's tables of the codebooks' parts: `cuts` and `groups`."""
    write_cuts(workspace, books)
    write_group_labels(workspace, books)


def write_cuts(workspace: Workspace, books: Sequence[Codebook]) -> None:
    """The workspace's `cuts`: the intervals of the numeric codebooks."""
    rows: list[tuple[object, ...]] = []
    for book in (b for b in books if b.kind == "numeric"):
        found = intervals(book) if book.missing != 0 else []
        rows += [(book.name, i, low, high, label) for i, (low, high, label) in enumerate(found)]
        if book.missing is not None:
            rows.append((book.name, book.missing, None, None, None))
    workspace.fill("cuts", rows)
