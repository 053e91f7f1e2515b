"""Cells of labelled rows as numbers: rows, features and values are counted and numbered.

Nothing here is as wide as there are features: every pass is a join and a group over cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlbn.data.long_rows import LongNames, LongRows, count_gaps
from sqlbn.encoding.codebook import BookTables, Codebook, categories_join_sql, code_sql, column_sql
from sqlbn.encoding.learn_codebooks import learn_classes
from sqlbn.encoding.preparing import training_rows, write_classes
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Source
from sqlbn.engines.row_engine import Persisted
from sqlbn.engines.sql import identifier, render, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ColumnError, NoRowsError, opt
from sqlbn.kinds.sparse.cell_rules import CellRules
from sqlbn.learners.fit_options import FitOptions

# The names of the features while the tables are made.
NAMES_OF_FEATURES = "feature_names"


@dataclass(frozen=True)
class NumberedRows:
    """Rows that have a class: `relation` has their number n, their id, and the class's code y."""

    relation: str
    book: Codebook
    classes: list[tuple[str, float]]
    rows: int
    skipped: int

    @property
    def class_counts(self) -> list[float]:
        """Rows of each class."""
        return [float(n) for _, n in self.classes]


@dataclass(frozen=True)
class LabelledCells:
    """Cells whose counts are in the workspace: (n, y, place and, where there is one, v)."""

    workspace: Workspace
    relation: str
    rules: CellRules
    rows: NumberedRows
    ignored: int


@contextmanager
def numbered_rows(session: Session, rows: LongRows, workspace: Workspace) -> Iterator[NumberedRows]:
    """The rows that are learned from; fills the workspace's `classes`."""
    training = training_rows(session, rows.classes, rows.target, [rows.names.row], None)
    book, classes = learn_classes(session, training.source, rows.target, None)
    write_classes(workspace, classes)
    tables = BookTables.of(workspace.prefix, rows.target)
    with numbered_labels(session, rows, book, tables) as kept:
        yield NumberedRows(kept.relation, book, classes, training.rows, training.skipped)


@contextmanager
def numbered_labels(
    session: Session, rows: LongRows, book: Codebook, tables: BookTables, all_rows: bool = False
) -> Iterator[Persisted]:
    """Rows with their class of a book, each id once; `all_rows`: also those of other classes."""
    classes, name, dialect = rows.classes, rows.names.row, session.row_engine.dialect
    gaps = session.row(classes.select(f"count(*) - count({identifier(name)})"))[0]
    if gaps:
        raise ColumnError(f"{classes.label}: {gaps:,} rows with a class have no {name!r}")
    target, join = column_sql("i", rows.target), ""
    if book.is_joined_in(dialect):
        join = categories_join_sql(book, target, tables.classes, "dy", dialect=dialect)
    sql = render(
        "sparse/rows",
        row=identifier(name),
        code=code_sql(book, target, "dy", dialect=dialect),
        relation=classes.filtered_relation,
        join=join,
        n_classes=book.n_values + all_rows,
    )
    kept = session.row_engine.persist(sql, "rows")
    try:
        repeated = render("sparse/repeated", first="id", second="NULL", relation=kept.relation)
        n, example, _ = session.row(repeated)
        if n:
            raise ColumnError(
                f"{n:,} rows of {classes.label} have more than one class, such as {name} "
                f"{example!r}; leave one for each"
            )
        yield kept
    finally:
        session.row_engine.unpersist(kept)


def check_cells(session: Session, source: Source, names: LongNames) -> int:
    """How many cells there are; an error where one lacks a name, or is there twice."""
    cells, rows, features = session.row(count_gaps(source, names))
    for column, there in ((names.row, rows), (names.feature, features)):
        if there < cells:
            raise ColumnError(
                f"{cells - there:,} cells of {source.label} have no {column!r}; leave them out "
                f"with {opt('where')}"
            )
    relation = source.filtered_relation
    columns = identifier(names.row), identifier(names.feature)
    n, row, feature = session.row(
        render("sparse/repeated", first=columns[0], second=columns[1], relation=relation)
    )
    if n:
        raise ColumnError(
            f"{n:,} cells of {source.label} are there more than once, such as {names.feature} "
            f"{feature!r} of {names.row} {row!r}; put them together, with {opt('query')} and "
            "GROUP BY"
        )
    return int(cells)


def ignored_cells(session: Session, rows: LongRows, numbered: NumberedRows) -> int:
    """How many cells are of rows that have no class."""
    sql = render(
        "sparse/ignored_cells",
        row=identifier(rows.names.row),
        cells=rows.cells.filtered_relation,
        rows=numbered.relation,
    )
    return int(session.row(sql)[0])


@contextmanager
def placed_cells(
    session: Session,
    cells: str,
    rows: NumberedRows,
    rules: CellRules,
    workspace: Workspace,
    progress: Progress,
) -> Iterator[Persisted]:
    """The cells of these rows (n, y, place and, where there is one, v), on disk if they are many.

    Fills the workspace's table of names.
    """
    has_value = rules.mode != "presence"
    labelled = render("sparse/labelled_cells", cells=cells, rows=rows.relation, has_value=has_value)
    with progress.stage("codebooks", "numbering features", rows.rows):
        workspace.copy(NAMES_OF_FEATURES, f"({render('sparse/feature_names', cells=labelled)})")
    sql = render(
        "sparse/placed_cells",
        cells=labelled,
        names=workspace.table(NAMES_OF_FEATURES),
        has_value=has_value,
    )
    with progress.stage("encode", "encoding cells", rows.rows):
        kept = session.row_engine.persist(sql, "cells", session.memory_bytes)
    try:
        yield kept
    finally:
        session.row_engine.unpersist(kept)


def count_cells(
    workspace: Workspace, cells: str, rules: CellRules, bins: int, known: str | None = None
) -> None:
    """The workspace's `feature_values` and `feature_counts`.

    `known` are the values (feature, upper) of a model whose kinds and cuts are kept.
    """
    workspace.create("feature_values")
    workspace.create("feature_counts")
    session = workspace.session
    if rules.mode == "presence":
        items = "place, 0, y, count(*)"
        sql = select_sql(cells, items, group="place, y", order="place, y")
        workspace.insert_from("feature_counts", sql)
        return
    totals = session.fresh_name("totals")
    session.create_from(totals, render("sparse/value_totals", cells=cells))
    try:
        if rules.mode == "text":
            values = render("sparse/text_values", totals=totals)
        else:
            few = session.limits.categorical_integers
            is_few = f"count(*) OVER (PARTITION BY place) <= {few}"
            names = workspace.table(NAMES_OF_FEATURES)
            listed = render("sparse/known_values", names=names, known=known) if known else None
            values = render(
                "sparse/number_values",
                totals=totals,
                bins=bins,
                is_few=is_few if rules.whole_values else "false",
                known=f"({listed})" if listed else None,
            )
        workspace.insert_from("feature_values", select_sql(f"({values})", order="place, code"))
        add_counts(workspace, totals, rules)
    finally:
        session.drop_table(totals)


def add_counts(workspace: Workspace, totals: str, rules: CellRules) -> None:
    """The workspace's `feature_counts` by its `feature_values`, from a table of totals."""
    sql = render(
        "sparse/value_counts",
        totals=totals,
        values=workspace.table("feature_values"),
        match=rules.match_sql("x"),
    )
    workspace.insert_from("feature_counts", sql)


def require_features(workspace: Workspace, rows: LongRows) -> None:
    """An error where no row has a feature."""
    if not workspace.read("feature_counts", "place", order=("place",))[:1]:
        raise NoRowsError(
            f"no cell of {rows.cells.label} belongs to a row that has a class in {rows.target!r}"
        )


@contextmanager
def counted_cells(
    workspace: Workspace,
    rows: LongRows,
    rules: CellRules,
    options: FitOptions,
    progress: Progress,
    known: str | None = None,
) -> Iterator[LabelledCells]:
    """The cells of labelled rows, counted into the workspace; cuts that are `known` are kept."""
    session = workspace.session
    with progress.stage("profile", "looking at the cells"):
        n_cells = check_cells(session, rows.cells, rows.names)
    cells = rules.cells_sql(rows.cells.filtered_relation)
    with numbered_rows(session, rows, workspace) as numbered:
        ignored = ignored_cells(session, rows, numbered)
        if ignored:
            progress.note(f"{ignored:,} cells are of rows that have no class: ignored")
        with placed_cells(session, cells, numbered, rules, workspace, progress) as kept:
            with progress.stage("count", f"counting {n_cells:,} cells", numbered.rows):
                bins = options.discretisation.bins
                count_cells(workspace, kept.relation, rules, bins, known)
            require_features(workspace, rows)
            yield LabelledCells(workspace, kept.relation, rules, numbered, ignored)
