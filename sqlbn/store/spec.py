"""A model as its tables tell it: what is needed to score, to show and to write it again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sqlbn.data.csv_files import Trained
from sqlbn.data.no_target import NO_CLASS
from sqlbn.encoding.categories import with_categories
from sqlbn.encoding.codebook import BookTables, Codebook, by_column
from sqlbn.encoding.learn_codebooks import class_codebook
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.packing import strides, unpacked_sql
from sqlbn.engines.sql import relation_sql, render
from sqlbn.engines.value_types import plain_type, type_group
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import (
    ColumnError,
    EngineError,
    OptionError,
    StoreError,
    command,
    opt,
)
from sqlbn.kinds.all_kinds import read_scoring
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.ensemble.members import read_member_levels
from sqlbn.kinds.estimates import Smoothing, log_prior, mixed_sql
from sqlbn.kinds.kind import Readable, Scoring
from sqlbn.kinds.product.factor_tables import Factor
from sqlbn.kinds.sparse.sparse_query import SparseScoring
from sqlbn.store.damage import check_tables, damaged_by
from sqlbn.store.meta import FORMAT, is_later, read_meta


@dataclass(frozen=True)
class ModelSpec:
    """The parts of a model that are small; counts and factors stay in their tables.

    `empty` are the intervals of numeric attributes that no training row is in; `strengths` those
    of the levels of each family of counts (hierarchical smoothing), `level_weights` exponents of
    each attribute's levels where they were fitted, `shifts` what is added to the logarithms of the
    classes' priors.
    """

    meta: dict[str, str]
    target: Codebook
    class_names: tuple[str, ...]
    class_counts: tuple[float, ...]
    probability_columns: tuple[str, ...]
    books: tuple[Codebook, ...]
    selected: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    factors: tuple[Factor, ...]
    scoring: Scoring
    empty: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    strengths: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    level_weights: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    shifts: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_class(self) -> bool:
        """Whether the model predicts anything; a network without a target does not."""
        return self.target.name != NO_CLASS

    @property
    def is_long(self) -> bool:
        """Whether rows come as cells of a long table."""
        return isinstance(self.scoring, SparseScoring)

    def require_columns(self, what: str) -> None:
        """An error where rows do not come as columns; `what` cannot be done then."""
        if self.is_long:
            raise OptionError(
                f"the model is of long input ({opt('long')}), of which {what}; it goes with show, "
                "predict, update, forget, merge and the macro `predict`"
            )

    def require_class(self) -> None:
        """An error where there is nothing to predict."""
        if not self.has_class:
            raise OptionError(
                f"the network has no class to predict: learn it with {opt('target')}, "
                f"or ask it with {command('network query')}"
            )

    @property
    def smoothing(self) -> Smoothing:
        """How the counts became probabilities."""
        return Smoothing.of_meta(self.meta)

    @property
    def scored_books(self) -> tuple[Codebook, ...]:
        """The codebooks under which new rows are scored."""
        return scored_books(self.books, self.smoothing, self.empty)

    @property
    def log_prior(self) -> tuple[float, ...]:
        """ln P(y)."""
        prior = log_prior(self.class_counts, self.smoothing)
        shifts = (self.shifts.get(name, 0.0) for name in self.class_names)
        return tuple(map(sum, zip(prior, shifts, strict=True)))

    def scorer(
        self,
        prefix: str | None,
        columns: Mapping[str, str] | None = None,
        dialect: Dialect = DUCKDB,
        tables: BookTables | None = None,
    ) -> Scorer:
        """What a scoring query needs, for the model's tables in a schema (None: the one in USE).

        `columns` are the input's columns and types, where they are known; `tables` where categories
        are looked up, if that is elsewhere.
        """
        known = {name.lower(): kind for name, kind in (columns or {}).items()}
        same_type = frozenset(
            b.column
            for b in self.books
            if type_group(known.get(b.column.lower(), "")) == type_group(b.sql_type)
        )
        return Scorer(
            same_type=same_type,
            prefix=prefix,
            target=self.target,
            class_names=self.class_names,
            probability_columns=self.probability_columns,
            books=self.scored_books,
            log_prior=self.log_prior,
            factors=self.factors,
            smoothing=self.smoothing,
            scoring=self.scoring,
            dialect=dialect,
            joined=tables,
        )

    @cached_property
    def readable(self) -> dict[str, Readable]:
        """The tables of probabilities for people, by name."""
        names = [book.name for book in self.books]
        return self.scoring.readable(names, self.selected, self.parents)

    def cpt_sql(self, table: Readable, prefix: str | None) -> str:
        """The readable conditional probability table of one attribute."""
        position, family = table.attribute, table.family
        radices = [*(self.books[v].n_values for v in family), len(self.class_names)]
        steps = strides(radices)
        names = cpt_columns([self.books[v].name for v in family])
        smoothing, axes = self.smoothing, []
        for v, name, stride, radix in zip(family, names, steps[:-1], radices[:-1], strict=True):
            labels, label = labels_of(self.books[v])
            axes.append(
                {
                    "code": unpacked_sql("key", stride, radix),
                    "name": name,
                    "attribute": self.books[v].name,
                    "table": relation_sql(prefix, labels),
                    "label": label,
                    "gone": self.books[v].missing if smoothing.ignores else None,
                }
            )
        n_values = smoothing.n_values(self.books[position].n_values, self.books[position].missing)
        found = render(
            "score/cpt",
            mixed=self._mixed(position, table.place),
            axes=axes,
            class_code=unpacked_sql("key", 1, radices[-1]),
            position=table.place,
            counts=relation_sql(prefix, "counts"),
            classes=relation_sql(prefix, "classes"),
            estimate=smoothing.of(n_values),
        )
        return found if self.has_class else render("score/cpt_without_class", table=found)

    def _mixed(self, position: int, place: int) -> list[dict[str, Any]]:
        """Of each level of a table of probabilities the expression, where levels are mixed."""
        book, levels = self.books[position], list[dict[str, Any]]()
        above = ""
        for level, strength in enumerate((0.0, *self.strengths.get(place, ()))):
            n, t = f"COALESCE(n{level}.n, 0)", f"COALESCE(t{level}.n, 0)"
            estimate = self.smoothing.of(self.smoothing.n_values(book.n_values, book.missing))
            found = mixed_sql(n, t, strength, above) if level else estimate.sql(n, t)
            above = f"({found})"
            levels.append({"level": level, "sql": found})
        return levels if self.smoothing.is_hierarchical else []

    def trained(self, of_all: bool = False) -> dict[str, Trained]:
        """The types of the columns that prediction looks at, or `of_all`, and of the target."""
        used = self.books if of_all else [self.books[v] for v in self.scorer(None).used]
        needed = {book.column for book in used}
        types = {
            name: Trained(book.sql_type, book.kind == "numeric" and name in needed)
            for name, book in by_column(self.books).items()
        }
        return {**types, self.target.name: Trained(self.target.sql_type)}

    def readable_of(self, attribute: str) -> Readable:
        """The table of a selected attribute by its name; of several members that of the first."""
        for name, table in self.readable.items():
            if attribute in (name, self.books[table.attribute].name):
                return table
        names = ", ".join(repr(self.books[i].name) for i in self.selected) or "none"
        if any(book.name == attribute for book in self.books):
            raise ColumnError(f"the attribute {attribute!r} was not selected; there is {names}")
        raise ColumnError(f"the model has no attribute {attribute!r}; it has {names}")


def labels_of(book: Codebook) -> tuple[str, str]:
    """The table, and its column, that has a readable name of every code."""
    if book.kind == "numeric":
        return "cuts", "label"
    return ("groups", "label") if book.grouped else ("categories", "value")


def scored_books(
    books: Sequence[Codebook], smoothing: Smoothing, empty: Mapping[int, tuple[int, ...]]
) -> tuple[Codebook, ...]:
    """Codebooks that give new rows the codes that the model's rules tell apart."""
    return tuple(
        replace(
            b,
            missing=smoothing.missing_code(b.n_values, b.missing),
            empty=empty.get(i, ()) if smoothing.is_neutral else (),
        )
        for i, b in enumerate(books)
    )


def cpt_columns(
    names: Sequence[str], others: Sequence[str] = ("class", "n", "probability")
) -> list[str]:
    """Column names for attributes beside others: clashes get a `_`."""
    taken = set(others)
    found = []
    for name in names:
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        found.append(name)
    return found


def read_spec(workspace: Workspace) -> ModelSpec:
    """The spec of the stored model in a workspace's tables; what cannot be one is refused."""
    try:
        check_tables(workspace)
        spec = made_spec(workspace)
        known = range(len(spec.books))
        for factor in spec.factors:
            if not all(v in known for v in (*factor.variables, *factor.members)):
                raise ValueError(f"factor {factor.number} names an attribute that is not there")
        return spec
    except (KeyError, ValueError, IndexError, TypeError, OverflowError, EngineError) as error:
        if isinstance(error, StoreError):
            raise
        raise damaged_by(workspace, error) from error


def made_spec(workspace: Workspace) -> ModelSpec:
    """The spec of a model whose tables were written just now, by this program.

    They are checked when they are stored: that takes as long as a small fit.
    """
    meta = read_meta(workspace)
    if is_later(meta):
        raise StoreError(
            f"the model was written by sqlbn {meta.get('sqlbn')} in format {meta['format']}; "
            f"this program reads up to {FORMAT}: upgrade sqlbn"
        )
    present = frozenset(workspace.names())  # asked once: that takes longer than to read a table
    classes = workspace.read("classes", "class", "n", "column", order=["code"])
    names = tuple(str(row[0]) for row in classes)
    books, factors, smoothing = (
        _read_books(workspace),
        _read_factors(workspace),
        Smoothing.of_meta(meta),
    )
    empty: dict[int, tuple[int, ...]] = {}
    if smoothing.is_neutral and "margins" in present:
        empty = _read_empty(workspace, books, len(names))
    return ModelSpec(
        meta=meta,
        # A network without a class says so by an empty target.
        target=class_codebook(
            meta["target"] or NO_CLASS,
            plain_type(meta["target_type"]),
            names,
            workspace.session.limits,
        ),
        class_names=names,
        class_counts=tuple(float(row[1]) for row in classes),
        probability_columns=tuple(str(row[2]) for row in classes),
        books=books,
        selected=tuple(
            int(row[0])
            for row in workspace.read(
                "attributes", "position", order=["position"], where="selected"
            )
        ),
        parents=_read_parents(workspace),
        factors=factors,
        empty=empty,
        strengths=_read_strengths(workspace, books, present),
        level_weights=(
            _read_levels(workspace, "weights", "weight", books) if "weights" in present else {}
        ),
        shifts=_read_shifts(workspace) if "class_shifts" in present else {},
        scoring=read_scoring(workspace, scored_books(books, smoothing, empty), smoothing),
    )


def _read_levels(
    workspace: Workspace, table: str, column: str, books: Sequence[Codebook]
) -> dict[int, tuple[float, ...]]:
    """By attribute what a table says of the levels of its chain."""
    found: dict[str, list[float]] = {}
    for name, value in workspace.read(table, "attribute", column, order=("attribute", "level")):
        found.setdefault(name, []).append(float(value))
    return {i: tuple(found[b.name]) for i, b in enumerate(books) if b.name in found}


def _read_strengths(
    workspace: Workspace, books: Sequence[Codebook], present: Collection[str]
) -> dict[int, tuple[float, ...]]:
    if "member_levels" in present:
        return read_member_levels(workspace, [book.name for book in books], "strength")
    if "strengths" in present:
        return _read_levels(workspace, "strengths", "strength", books)
    return {}


def _read_shifts(workspace: Workspace) -> dict[str, float]:
    return {str(c): float(s) for c, s in workspace.read("class_shifts", "class", "shift")}


def _read_books(workspace: Workspace) -> tuple[Codebook, ...]:
    cuts: dict[str, list[float]] = {}
    for name, upper in workspace.read(
        "cuts", "attribute", "upper", order=("attribute", "code"), where="upper IS NOT NULL"
    ):
        cuts.setdefault(name, []).append(upper)
    # Early stores have a column for every attribute, of its name.
    origin = "column" if "column" in workspace.columns("attributes") else "attribute"
    columns = ("attribute", "kind", "n_values", "type", "missing_code", origin)
    listed = workspace.read("attributes", *columns, order=["position"])
    books = []
    for name, kind, n_values, sql_type, missing, column in listed:
        # The upper bound of the last interval is infinity, not a cut.
        bounds = tuple(cuts.get(name, [])[:-1])
        books.append(
            Codebook(
                name,
                plain_type(sql_type),
                kind,
                int(n_values),
                missing,
                bounds,
                read_from=str(column) if column != name else None,
            )
        )
    return tuple(with_categories(workspace, books))


def _read_empty(
    workspace: Workspace, books: Sequence[Codebook], n_classes: int
) -> dict[int, tuple[int, ...]]:
    """The intervals without rows: so after rows were taken out, or with another model's cuts."""
    numeric = [i for i, book in enumerate(books) if book.cuts]
    if not numeric:
        return {}
    seen: dict[int, set[int]] = {i: set() for i in numeric}
    positions = ", ".join(map(str, numeric))
    for position, code in workspace.session.rows(
        render(
            "store/seen_codes",
            margins=workspace.table("margins"),
            positions=positions,
            classes=n_classes,
        )
    ):
        seen[position].add(code)
    lost = {i: set(range(len(books[i].cuts) + 1)) - seen[i] for i in numeric}
    return {i: tuple(sorted(codes)) for i, codes in lost.items() if codes}


def _read_parents(workspace: Workspace) -> tuple[tuple[int, ...], ...]:
    positions = dict(workspace.read("attributes", "attribute", "position"))
    parents: list[list[int]] = [[] for _ in positions]
    for attribute, parent in workspace.read(
        "parents", "attribute", "parent", order=("attribute", "rank")
    ):
        parents[positions[attribute]].append(positions[parent])
    return tuple(tuple(p) for p in parents)


def _read_factors(workspace: Workspace) -> tuple[Factor, ...]:
    columns = ("factor", "role", "level", "variables", "members")
    return tuple(
        Factor(int(number), role, tuple(map(int, variables)), tuple(map(int, members)), int(level))
        for number, role, level, variables, members in workspace.read(
            "factors", *columns, order=["factor"]
        )
    )
