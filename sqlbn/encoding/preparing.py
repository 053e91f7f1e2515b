"""From a source to codebooks: which rows are trained on, which columns, categories, cut points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from sqlbn.data import Source
from sqlbn.data.csv_files import Trained
from sqlbn.data.sampling import staged
from sqlbn.encoding.codebook import BookTables, Codebook, by_column
from sqlbn.encoding.encoded import encode
from sqlbn.encoding.learn_codebooks import (
    Discretisation,
    Learned,
    learn_classes,
    learn_codebooks,
    learn_codebooks_like,
)
from sqlbn.encoding.profile import Choices, ColumnProfile, Weights, check_weights, profile_columns
from sqlbn.encoding.value_classes import Labelled
from sqlbn.engines import Session
from sqlbn.engines.dialects import Dialect
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import identifier
from sqlbn.engines.value_types import check_same_values, type_group
from sqlbn.engines.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnOptions(Protocol):
    """What the options of a fit say of columns: which are used, and how they are cut."""

    @property
    def target(self) -> str:
        """The column to predict."""

    @property
    def weight(self) -> str | None:
        """The column of weights, if there is one."""

    @property
    def weight_kind(self) -> str | None:
        """What a weight means, where that is said."""

    @property
    def discretisation(self) -> Discretisation:
        """How columns become parts."""

    def candidates(self, source: Source) -> list[str]:
        """The columns that may be attributes."""

    def choices(self, source: Source) -> Choices:
        """What is said about kinds of columns."""


@dataclass(frozen=True)
class Training:
    """The rows that are trained on, and what was left out of them."""

    source: Source
    target: str
    attributes: list[str]
    weights: Weights | None
    rows: int
    skipped: int

    def labelled(self, session: Session, class_book: Codebook, tables: BookTables) -> Labelled:
        """The rows with the codes of their classes."""
        return Labelled(session, self.source, class_book, tables.classes, self.weights, self.rows)


@dataclass(frozen=True)
class Prepared:
    """Codebooks, before a single row is encoded."""

    training: Training
    class_book: Codebook
    class_counts: list[float]
    learned: Learned
    tables: BookTables

    @property
    def books(self) -> list[Codebook]:
        """The codebooks of the attributes."""
        return self.learned.books

    @property
    def cards(self) -> tuple[int, ...]:
        """Codes of every attribute and, last, of the class."""
        return (*(b.n_values for b in self.books), self.class_book.n_values)

    def counted(self) -> Encoded:
        """A stand-in for the codes where only their shape matters."""
        return Encoded(
            "",
            self.cards,
            self.training.rows,
            self.training.weights is not None,
            missing=tuple(b.missing for b in self.books),
        )


@dataclass(frozen=True)
class Encoding:
    """What another model's codes say about new rows: columns, kinds, cut points, weights.

    Categories are not part of it: they are those that the rows have. `groups` (value, group) are:
    a value that they know keeps its group. `elementary` is only told on.
    """

    class_book: Codebook
    books: tuple[Codebook, ...]
    weight: str | None = None
    weight_bits: int | None = None
    weight_kind: str | None = None
    groups: Mapping[str, pa.Table] = field(default_factory=dict)
    elementary: Mapping[str, int] = field(default_factory=dict)

    def uses(self, name: str) -> bool:
        """Whether a column matters."""
        return name in (self.class_book.name, self.weight, *(b.column for b in self.books))

    @property
    def trained(self) -> dict[str, Trained]:
        """The columns' types."""
        books = (self.class_book, *by_column(self.books).values())
        return {b.column: Trained(b.sql_type, b.kind == "numeric") for b in books}


def training_rows(
    session: Session,
    source: Source,
    target: str,
    attributes: Sequence[str],
    weight: str | None,
    weight_bits: int | None = None,
    weight_kind: str | None = None,
) -> Training:
    """Rows with a target and a positive weight, from a source that is cheap to scan again."""
    if not source.rescannable:
        source = staged(session, source, [target, *attributes, *([weight] if weight else [])])
    read = int(session.row_engine.row(source.select("count(*)"))[0])
    used = source.filtered(_present(source, target, session.row_engine.dialect))
    weights = None
    if weight is not None:
        weights = check_weights(session, source, weight, weight_bits, weight_kind)
        used = used.filtered(f"{weights.value_sql()} > 0")
    rows = int(session.row_engine.row(used.select("count(*)"))[0])
    return Training(used, target, list(attributes), weights, rows, read - rows)


def _present(source: Source, column: str, dialect: Dialect) -> str:
    name = identifier(column)
    is_float = type_group(source.columns[column]) == "float"
    not_nan = f" AND NOT {dialect.is_nan(name)}" if is_float else ""
    return f"{name} IS NOT NULL{not_nan}"


@dataclass(frozen=True)
class Looked:
    """What is known of rows and columns before one is cut: the same in every encoding."""

    training: Training
    class_book: Codebook
    classes: list[tuple[str, float]]
    profiles: list[ColumnProfile]

    def counted(self) -> Encoded:
        """A stand-in for codes that are yet to be made, where only rows and columns matter."""
        cards = (*(1 for _ in self.profiles), len(self.classes))
        return Encoded("", cards, self.training.rows, self.training.weights is not None)


def look(session: Session, source: Source, options: ColumnOptions, progress: Progress) -> Looked:
    """The rows that are trained on, their classes, and the kinds of the columns."""
    with progress.stage("profile", "looking at the columns"):
        training = training_rows(
            session,
            source,
            source.column(options.target, "the target"),
            options.candidates(source),
            source.column(options.weight, "the weight") if options.weight else None,
            weight_kind=options.weight_kind,
        )
        class_book, classes = learn_classes(
            session, training.source, training.target, training.weights
        )
        _, profiles = profile_columns(
            session, training.source, training.attributes, options.choices(training.source)
        )
    return Looked(training, class_book, classes, profiles)


def look_alike(session: Session, source: Source, known: Looked, keep: frozenset[str]) -> Looked:
    """The same columns, of the same kinds, in some of the rows; constants are left out anew."""
    asked, kinds = known.training, {p.name: p.kind for p in known.profiles}
    weights = asked.weights
    training = training_rows(
        session,
        source,
        asked.target,
        list(kinds),
        weights.column if weights is not None else None,
        weights.fraction_bits if weights is not None else None,
        weights.kind if weights is not None else None,
    )
    class_book, classes = learn_classes(session, training.source, training.target, training.weights)
    choices = Choices(
        frozenset(n for n, kind in kinds.items() if kind == "categorical"),
        frozenset(n for n, kind in kinds.items() if kind == "numeric"),
        keep,
    )
    _, profiles = profile_columns(session, training.source, training.attributes, choices)
    return Looked(training, class_book, classes, profiles)


def prepare(
    looked: Looked, workspace: Workspace, options: ColumnOptions, progress: Progress
) -> Prepared:
    """Categories and cut points; fills the workspace's `classes` and codebooks."""
    training, class_book, profiles = looked.training, looked.class_book, looked.profiles
    write_classes(workspace, looked.classes)
    title = "learning categories and cut points"
    with progress.stage("codebooks", title, training.rows, len(profiles)):
        tables = BookTables.of(workspace.prefix, training.target)
        labelled = training.labelled(workspace.session, class_book, tables)
        keep = frozenset(options.choices(training.source).keep)
        learned = learn_codebooks(
            labelled, workspace, profiles, options.discretisation, keep, progress
        )
    return _prepared(workspace, training, class_book, looked.classes, learned)


def prepare_like(
    session: Session, source: Source, workspace: Workspace, encoding: Encoding, progress: Progress
) -> Prepared:
    """The same with the columns, kinds and cut points of another model."""
    with progress.stage("profile", "looking at the columns"):
        training = training_rows(
            session,
            _with_columns_of(source, encoding),
            encoding.class_book.name,
            list(dict.fromkeys(b.column for b in encoding.books)),
            encoding.weight,
            encoding.weight_bits,
            encoding.weight_kind,
        )
        class_book, classes = learn_classes(
            session, training.source, training.target, training.weights
        )
    write_classes(workspace, classes)
    n = len(encoding.books)
    with progress.stage("codebooks", "learning categories", training.rows, n):
        books = learn_codebooks_like(
            session,
            training.source,
            workspace,
            encoding.books,
            encoding.groups,
            training.rows,
            training.weights,
            progress,
        )
    learned = Learned(books, elementary=dict(encoding.elementary))
    return _prepared(workspace, training, class_book, classes, learned)


def _with_columns_of(source: Source, encoding: Encoding) -> Source:
    """The source with its columns named and typed as in the model; an error where they differ.

    The engine ignores the case of names, and casts values to the model's types.
    """
    columns = {}
    for book, role in (
        (encoding.class_book, "the target"),
        *((b, "the model's attribute") for b in encoding.books),
    ):
        found = source.columns[source.column(book.column, role)]
        check_same_values(book.column, found, book.sql_type, book.kind == "numeric")
        columns[book.column] = book.sql_type
    if encoding.weight is not None:
        weight = source.column(encoding.weight, "the weight")
        columns[encoding.weight] = source.columns[weight]
    return replace(source, columns=columns)


def _prepared(
    workspace: Workspace,
    training: Training,
    class_book: Codebook,
    classes: Sequence[tuple[str, float]],
    learned: Learned,
) -> Prepared:
    class_counts = [float(n) for _, n in classes]
    tables = BookTables.of(workspace.prefix, training.target)
    return Prepared(training, class_book, class_counts, learned, tables)


def write_classes(workspace: Workspace, classes: Sequence[tuple[str, float]]) -> None:
    """The workspace's `classes`, in the order of their codes."""
    columns = probability_names([name for name, _ in classes])
    workspace.fill(
        "classes",
        [
            (i, name, n, column)
            for i, ((name, n), column) in enumerate(zip(classes, columns, strict=True))
        ],
    )


def probability_names(classes: Sequence[str]) -> list[str]:
    """`p_<class>` for each class; the engine ignores case, so 'a' and 'A' need different names."""
    taken: set[str] = set()
    found = []
    for name in classes:
        column = f"p_{name}".replace("\x00", "␀")  # no name can hold a NUL
        while column.lower() in taken:
            column += "_"
        taken.add(column.lower())
        found.append(column)
    return found


def encode_rows(
    session: Session, prepared: Prepared, progress: Progress, numbered: bool = False
) -> Encoded:
    """The encoding pass; `numbered` where rows will be drawn, or told apart."""
    training = prepared.training
    with progress.stage("encode", "encoding", training.rows):
        return encode(
            session,
            training.source,
            prepared.class_book,
            prepared.books,
            training.weights,
            prepared.tables,
            training.rows,
            numbered,
        )
