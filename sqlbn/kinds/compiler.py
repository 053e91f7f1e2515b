"""The scoring compiler: rows of any relation become codes, scores (by the kind), probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlbn.encoding.codebook import (
    BookTables,
    Codebook,
    Values,
    categories_join_sql,
    category_sql,
    code_sql,
    column_sql,
)
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.limits import Limits, added
from sqlbn.engines.relations import ROW
from sqlbn.engines.sql import NAMES, identifier, literal, render
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.kind import Scoring
from sqlbn.kinds.losses import TIE
from sqlbn.kinds.product.factor_tables import Factor


@dataclass(frozen=True)
class Scorer:
    """Everything a query needs to score rows with one model.

    `prefix` is the quoted schema that holds the model's tables (None: the one in USE); `same_type`
    names the columns that are known to have the type they were trained with. `carried` are the
    input's columns that predictions keep, for dialects that cannot say "all" (None: all). `joined`
    is where joined codebooks look up their codes, if that is not beside the other tables.
    `first_class` is the code of the first class, of a scorer for some of the classes; `own` are
    columns of ours that are carried with the input's, where these are listed. `long` is the table
    of the long form of a product, where that is to be used: rows then have to be numbered. `scored`
    is a relation with the scores of distinct rows by their identity, where they have been computed.
    """

    prefix: str | None
    target: Codebook
    class_names: tuple[str, ...]
    probability_columns: tuple[str, ...]
    books: tuple[Codebook, ...]
    same_type: frozenset[str]
    log_prior: tuple[float, ...]
    factors: tuple[Factor, ...]
    smoothing: Smoothing
    scoring: Scoring
    dialect: Dialect = DUCKDB
    carried: tuple[str, ...] | None = None
    joined: BookTables | None = None
    first_class: int = 0
    own: tuple[str, ...] = ()
    long: str | None = None
    scored: str | None = None

    @property
    def kept(self) -> list[str]:
        """The input's columns by name, where they are listed."""
        return [*(identifier(name) for name in self.carried or ()), *self.own]

    @property
    def tables(self) -> BookTables:
        """Where joined codebooks look up their codes."""
        return self.joined or BookTables.of(self.prefix, self.target.name)

    @property
    def used(self) -> list[int]:
        """The attributes that a prediction looks at."""
        return self.scoring.used(self)

    def ignored(self, attribute: int) -> tuple[int, ...]:
        """The codes of an attribute that say nothing of the class."""
        book = self.books[attribute]
        return self.smoothing.ignored_codes(book.n_values, book.missing)


def prediction_sql(scorer: Scorer, relation: str, reorder: Limits | None = None) -> str:
    """Input columns, `prediction` and one probability a class, for every row of a relation.

    `reorder` is for engines whose optimiser will look for a join order (plain SQL users'): the
    limits past which joins are written so that it cannot.
    """
    return probabilities_sql(scorer, _scores(scorer, relation, [], reorder))


def probabilities_sql(scorer: Scorer, scored: str) -> str:
    """The same from a query for the rows with their log scores."""
    dialect = scorer.dialect
    n = len(scorer.class_names)
    scores = [f"{NAMES.score}{j}" for j in range(n)]
    weights = [f"{NAMES.weight}{j}" for j in range(n)]
    return render(
        "score/probabilities",
        names=NAMES,
        scored=scored,
        top=dialect.greatest(scores),
        kept=dialect.without([*scores, *weights, NAMES.top, NAMES.total], among=scorer.kept),
        classes=[
            {
                "value": category_sql(scorer.target, name),
                "column": identifier(column),
                "weight": dialect.exp(f"{score} - {NAMES.top}"),
            }
            for name, column, score in zip(
                scorer.class_names, scorer.probability_columns, scores, strict=True
            )
        ],
        total=added(weights),
        tie=literal(TIE),
        target_type=scorer.target.sql_type,
    )


def labelled_sql(scorer: Scorer, relation: str, weight: str | None, row: str | None = None) -> str:
    """Rows with their true class, weight and log scores; an unknown class has code n_classes.

    With an expression for a row's number they have that, too; in the long form always.
    """
    row = row or ("row_number() OVER ()" if scorer.long is not None else None)
    numbers = [(row, ROW)] if row is not None else []
    return _scores(scorer, relation, [*truth_items(scorer, weight), *numbers], reorder=None)


def truth_items(scorer: Scorer, weight: str | None) -> list[tuple[str, str]]:
    """What losses need of a row besides its scores: its class and weight."""
    target = column_sql("i", scorer.target.name)
    truth = code_sql(scorer.target, target, "dy", dialect=scorer.dialect)
    return [(truth, NAMES.y), (weight or "1", NAMES.w)]


def own_score(n_classes: int, dialect: Dialect = DUCKDB) -> str:
    """The score of a row's own class, of the rows of `labelled_sql`."""
    scores = dialect.list([f"{NAMES.score}{j}" for j in range(n_classes)])
    return dialect.item(scores, NAMES.y)


def losses_sql(n_classes: int, labelled: str, dialect: Dialect = DUCKDB) -> str:
    """Sums of losses by true and predicted class, of the rows of `labelled_sql`."""
    weights = [f"{NAMES.weight}{j}" for j in range(n_classes)]
    return render(
        "evaluate/losses",
        names=NAMES,
        scored=labelled,
        top=dialect.greatest([f"{NAMES.score}{j}" for j in range(n_classes)]),
        classes=range(n_classes),
        total=added(weights),
        squares=added([f"{weight} * {weight}" for weight in weights]),
        tie=literal(TIE),
    )


def _scores(
    scorer: Scorer, relation: str, extra: list[tuple[str, str]], reorder: Limits | None
) -> str:
    """Rows with log scores; with all input columns, or with `extra` expressions in their place."""
    coded = coded_rows(scorer, relation, extra)
    return scorer.scoring.scores(scorer, coded, reorder)


def coded_rows(scorer: Scorer, relation: str, extra: Sequence[tuple[str, str]]) -> str:
    """Rows with the codes in use; with all input columns, or with `extra` in their place."""
    codes, joins, values = code_items(scorer, NAMES.code)
    dialect, kept = scorer.dialect, scorer.kept
    labelled = any(alias == NAMES.y for _, alias in extra)
    if labelled and scorer.target.is_joined_in(dialect):
        target, classes = column_sql("i", scorer.target.name), scorer.tables.classes
        joins.insert(0, categories_join_sql(scorer.target, target, classes, "dy", dialect=dialect))
    if extra:
        items = ", ".join(f"{sql} AS {alias}" for sql, alias in extra)
    else:
        listed = ", ".join(f"i.{name}" for name in kept)
        items = listed or dialect.without(values.names, "i")
    over = values.over(relation)
    return render("encode/codes", items=items, codes=codes, joins=joins, relation=over)


def code_items(
    scorer: Scorer, stem: str, of: Sequence[int] | None = None
) -> tuple[list[dict[str, str]], list[str], Values]:
    """The codes of the attributes in use, named by `stem` and position, and the joins for them.

    The values are those that the rows have to have.
    """
    codes, joins, dialect = [], [], scorer.dialect
    asked = scorer.used if of is None else of
    values = Values(len(asked))
    for v in asked:
        book, column, joined = scorer.books[v], column_sql("i", scorer.books[v].column), f"d{v}"
        same = book.column in scorer.same_type
        code = values.code_sql(book, column, joined, same, dialect)
        codes.append({"code": code, "alias": f"{stem}{v}"})
        if book.is_joined_in(dialect):
            categories = scorer.tables.categories
            joins.append(categories_join_sql(book, column, categories, joined, same, dialect))
    return codes, joins, values
