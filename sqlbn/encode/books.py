"""Learns the codebooks of a source: categories and cut points, into the tables of a draft model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlbn.draft import Draft
from sqlbn.encode.codebook import Codebook, comparable, intervals, is_inline
from sqlbn.encode.discretise import learn_cuts
from sqlbn.encode.profile import ColumnProfile, warn_left_out
from sqlbn.encode.types import is_nan_sql, numeric_axis, type_group
from sqlbn.encode.weights import Weights
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import ColumnError, NoRowsError
from sqlbn.progress import Progress
from sqlbn.quoting import identifier, literal, literals
from sqlbn.sources import Source
from sqlbn.templates import render

MAX_CLASSES = 1000


def _categories_sql(source: Source, book: Codebook, weights: Weights | None) -> str:
    return render(
        "categories",
        value=comparable(book, identifier(book.name)),
        total=weights.total_sql if weights is not None else "count(*)",
        relation=source.relation,
        where=source.where_sql,
    )


def learn_classes(
    engine: DuckDBEngine, source: Source, target: str, weights: Weights | None
) -> tuple[Codebook, list[tuple[str, float]]]:
    """The codebook of the target, and its classes with their counts."""
    sql_type = source.columns[target]
    if type_group(sql_type) == "other":
        raise ColumnError(f"the target {target!r} has type {sql_type}; it must be text or a number")
    book = Codebook(target, sql_type, "categorical", 0)
    found = engine.rows(f"FROM ({_categories_sql(source, book, weights)}) LIMIT {MAX_CLASSES + 1}")
    if not found:
        also = " and a weight above 0" if weights is not None else ""
        raise NoRowsError(f"no row of {source.label} has a value in the target {target!r}{also}")
    if len(found) > MAX_CLASSES:
        raise ColumnError(
            f"the target {target!r} has more than {MAX_CLASSES:,} different values; "
            "choose a column with classes, or group its values with --query"
        )
    classes = [(str(value), n) for _, value, n in found]
    names = tuple(value for value, _ in classes)
    return class_codebook(target, sql_type, names), classes


def class_codebook(target: str, sql_type: str, names: tuple[str, ...]) -> Codebook:
    """The codebook of a target; its classes are looked up in `classes` where they are many."""
    few = names if is_inline(len(names), sql_type) else None
    return Codebook(target, sql_type, "categorical", len(names), categories=few)


def learn_codebooks(
    engine: DuckDBEngine,
    source: Source,
    draft: Draft,
    profiles: Sequence[ColumnProfile],
    rows: int,
    bins: int,
    weights: Weights | None,
    keep: frozenset[str],
    progress: Progress,
) -> list[Codebook]:
    """Codebooks of the attributes in order; fills the draft's `categories` and `cuts`."""
    categorical = {p.name: p.sql_type for p in profiles if p.kind == "categorical"}
    _learn_categories(engine, source, draft, categorical, weights, progress)
    numeric = [p for p in profiles if p.kind == "numeric"]
    cuts = learn_cuts(engine, source, rows, numeric, bins, weights)
    books = {b.name: b for b in categorical_books(draft, categorical)}
    for profile in numeric:
        present = profile.present
        books[profile.name] = numeric_book(
            profile.name, profile.sql_type, cuts[profile.name], present > 0, present < rows
        )
    flat = {n for n, b in books.items() if b.n_values < 2 and n not in keep}
    warn_left_out("constant once discretised", flat)
    chosen = [books[p.name] for p in profiles if p.name not in flat]
    write_cuts(draft, chosen)
    return chosen


def learn_codebooks_like(
    engine: DuckDBEngine,
    source: Source,
    draft: Draft,
    books: Sequence[Codebook],
    rows: int,
    weights: Weights | None,
    progress: Progress,
) -> list[Codebook]:
    """The same for the columns and cut points of other codebooks; none is left out."""
    types = {b.name: b.sql_type for b in books if b.kind == "categorical"}
    _learn_categories(engine, source, draft, types, weights, progress)
    found = {b.name: b for b in categorical_books(draft, types)}
    numeric = [b for b in books if b.kind == "numeric"]
    for book, present in zip(numeric, _present_values(engine, source, numeric), strict=True):
        found[book.name] = numeric_book(
            book.name, book.sql_type, book.cuts, present > 0, present < rows
        )
        progress.advance()
    chosen = [found[b.name] for b in books]
    write_cuts(draft, chosen)
    return chosen


def _learn_categories(
    engine: DuckDBEngine,
    source: Source,
    draft: Draft,
    types: Mapping[str, str],
    weights: Weights | None,
    progress: Progress,
) -> None:
    create_categories(draft)
    for name, sql_type in types.items():
        book = Codebook(name, sql_type, "categorical", 0)
        engine.execute(
            f"INSERT INTO {draft.table('categories')} "
            f"SELECT {literal(name)}, * FROM ({_categories_sql(source, book, weights)})"
        )
        progress.advance()


def create_categories(draft: Draft) -> None:
    """The draft's `categories`, empty."""
    draft.create("categories", "attribute VARCHAR, code UINTEGER, value VARCHAR, n " + draft.n_type)


def _present_values(engine: DuckDBEngine, source: Source, books: Sequence[Codebook]) -> list[int]:
    """How many rows have a number, for every numeric column."""
    if not books:
        return []
    counts = []
    for book in books:
        axis = numeric_axis(identifier(book.name), book.sql_type)
        counts.append(f"count(*) FILTER (WHERE {axis} IS NOT NULL AND NOT {is_nan_sql(axis)})")
    return [int(n) for n in engine.row(source.select(", ".join(counts)))]


def categorical_books(draft: Draft, types: Mapping[str, str]) -> list[Codebook]:
    """Codebooks of columns (name to type) whose categories are in the draft."""
    sizes = {
        name: (count, missing)
        for name, count, missing in draft.engine.rows(
            "SELECT attribute, count(*), max(code) FILTER (WHERE value IS NULL) "
            f"FROM {draft.table('categories')} GROUP BY attribute"
        )
    }
    inline = inline_categories(draft, [n for n in sizes if is_inline(sizes[n][0], types[n])])
    return [
        Codebook(name, sql_type, "categorical", *sizes[name], categories=inline.get(name))
        for name, sql_type in types.items()
    ]


def inline_categories(draft: Draft, names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The categories of some attributes in code order, missing left out."""
    found: dict[str, list[str]] = {name: [] for name in names}
    listed = literals(names) or "NULL"
    for name, value in draft.engine.rows(
        f"SELECT attribute, value FROM {draft.table('categories')} "
        f"WHERE value IS NOT NULL AND attribute IN ({listed}) ORDER BY attribute, code"
    ):
        found[name].append(value)
    return {name: tuple(values) for name, values in found.items()}


def numeric_book(
    name: str, sql_type: str, cuts: tuple[float, ...], some_present: bool, some_missing: bool
) -> Codebook:
    """The codebook of a quantity: its intervals, then missing values where there are any."""
    n_intervals = len(cuts) + 1 if cuts or some_present else 0
    missing = n_intervals if some_missing else None
    return Codebook(name, sql_type, "numeric", n_intervals + some_missing, missing, cuts)


def write_cuts(draft: Draft, books: Sequence[Codebook]) -> None:
    """The draft's `cuts`: the intervals of the numeric codebooks."""
    rows: list[tuple[object, ...]] = []
    for book in (b for b in books if b.kind == "numeric"):
        found = intervals(book) if book.missing != 0 else []
        rows += [(book.name, i, low, high, label) for i, (low, high, label) in enumerate(found)]
        if book.missing is not None:
            rows.append((book.name, book.missing, None, None, None))
    draft.fill(
        "cuts",
        "attribute VARCHAR, code UINTEGER, lower DOUBLE, upper DOUBLE, label VARCHAR",
        rows,
    )
