"""The scoring compiler: a product of factors becomes one streaming query of joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlbn.encoding.codebook import (
    BookTables,
    Codebook,
    categories_join_sql,
    category_sql,
    code_sql,
    column_sql,
)
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.limits import Limits, added
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.sql import (
    NAMES,
    identifier,
    literal,
    render,
)
from sqlbn.kinds.average.average_query import averaged_scores
from sqlbn.kinds.average.superparents import SuperParents
from sqlbn.kinds.collection.collected import Collected
from sqlbn.kinds.collection.collection_query import CollectionQuery
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.joins import BATCH, joined_batch
from sqlbn.kinds.product.factors import Factor

# Scores closer than this are a tie, and go to the class with the lowest code: the last bits of a
# sum of logarithms depend on how factors were fused.
TIE = 1e-10


@dataclass(frozen=True)
class Scorer:
    """Everything a query needs to score rows with one model.

    `prefix` is the quoted schema that holds the model's tables (None: the one in USE); `same_type`
    names the columns that are known to have the type they were trained with. `carried` are the
    input's columns that predictions keep, for dialects that cannot say "all" (None: all). `joined`
    is where joined codebooks look up their codes, if that is not beside the other tables.
    `first_class` is the code of the first class, of a scorer for some of the classes.
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
    supers: SuperParents | None = None
    collected: Collected | None = None
    dialect: Dialect = DUCKDB
    carried: tuple[str, ...] | None = None
    joined: BookTables | None = None
    first_class: int = 0

    @property
    def kept(self) -> list[str]:
        """The input's columns by name, where they are listed."""
        return [identifier(name) for name in self.carried or ()]

    @property
    def tables(self) -> BookTables:
        """Where joined codebooks look up their codes."""
        return self.joined or BookTables.of(self.prefix, self.target.name)

    @property
    def used(self) -> list[int]:
        """The attributes that a prediction looks at."""
        if self.collected is not None:
            return self.collected.used(self.factors)
        return sorted({v for f in self.factors for v in (*f.variables, *f.members)})

    @property
    def is_product(self) -> bool:
        """Whether a row's scores are one sum over the factors."""
        return self.supers is None and not (self.collected and self.collected.n_turns)

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


def judged_sql(scorer: Scorer, relation: str, weight: str | None) -> str:
    """Rows with their true class, weight and log scores; an unknown class has code n_classes."""
    return _scores(scorer, relation, truth_items(scorer, weight), reorder=None)


def truth_items(scorer: Scorer, weight: str | None) -> list[tuple[str, str]]:
    """What losses need of a row besides its scores: its class and weight."""
    target = column_sql("i", scorer.target.name)
    truth = code_sql(scorer.target, target, "dy", dialect=scorer.dialect)
    return [(truth, NAMES.y), (weight or "1", NAMES.w)]


def own_score(n_classes: int, dialect: Dialect = DUCKDB) -> str:
    """The score of a row's own class, of the rows of `judged_sql`."""
    scores = dialect.list([f"{NAMES.score}{j}" for j in range(n_classes)])
    return dialect.item(scores, NAMES.y)


def losses_sql(n_classes: int, judged: str, dialect: Dialect = DUCKDB) -> str:
    """Sums of losses by true and predicted class, of the rows of `judged_sql`."""
    weights = [f"{NAMES.weight}{j}" for j in range(n_classes)]
    return render(
        "evaluate/losses",
        names=NAMES,
        scored=judged,
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
    if scorer.supers is not None:
        return averaged_scores(scorer, scorer.supers, coded, reorder is not None)
    if scorer.collected is not None and scorer.collected.n_turns:
        return CollectionQuery(
            scorer.prefix,
            scorer.log_prior,
            scorer.factors,
            scorer.collected,
            outer=reorder is not None,
            dialect=scorer.dialect,
        ).rows(coded, scorer.kept)
    return product_scores(scorer, coded, reorder)


def product_scores(scorer: Scorer, coded: str, reorder: Limits | None = None) -> str:
    """Rows whose codes (and those of no other attributes) a query gives, with log scores."""
    keys = [{"sql": _key(scorer, f), "alias": f"{NAMES.key}{f.number}"} for f in scorer.factors]
    codes = [f"{NAMES.code}{v}" for v in scorer.used]
    scored = render(
        "score/keys",
        names=NAMES,
        coded=coded,
        kept=scorer.dialect.without(codes, among=scorer.kept),
        keys=keys,
        starts=[scorer.dialect.double(prior) for prior in scorer.log_prior],
    )
    joins, looked_up = len(scorer.factors), len(scorer.factors) * len(scorer.class_names)
    outer = reorder is not None and (
        joins > reorder.inner_joins or looked_up > reorder.scoring_lookups
    )
    batch: list[list[Factor]] = []
    chains = chains_of(scorer.factors)
    columns = [*scorer.kept, *(key["alias"] for key in keys)]
    for place, chain in enumerate(chains):
        batch.append(chain)
        if sum(map(len, batch)) >= BATCH or place == len(chains) - 1:
            scored, columns = _score_batch(scorer, scored, columns, batch, outer)
            batch = []
    return scored


def coded_rows(scorer: Scorer, relation: str, extra: Sequence[tuple[str, str]]) -> str:
    """Rows with the codes in use; with all input columns, or with `extra` in their place."""
    codes, joins = code_items(scorer, NAMES.code)
    dialect, kept = scorer.dialect, scorer.kept
    judged = any(alias == NAMES.y for _, alias in extra)
    if judged and scorer.target.is_joined_in(dialect):
        target, classes = column_sql("i", scorer.target.name), scorer.tables.classes
        joins.insert(0, categories_join_sql(scorer.target, target, classes, "dy", dialect=dialect))
    if extra:
        items = ", ".join(f"{sql} AS {alias}" for sql, alias in extra)
    else:
        items = ", ".join(f"i.{name}" for name in kept) if kept else "i.*"
    return render("encode/codes", items=items, codes=codes, joins=joins, relation=relation)


def code_items(
    scorer: Scorer, stem: str, of: Sequence[int] | None = None
) -> tuple[list[dict[str, str]], list[str]]:
    """The codes of the attributes in use, named by `stem` and position, and the joins for them."""
    codes, joins, dialect = [], [], scorer.dialect
    for v in scorer.used if of is None else of:
        book, column, joined = scorer.books[v], column_sql("i", scorer.books[v].name), f"d{v}"
        same = book.name in scorer.same_type
        code = code_sql(book, column, joined, same, dialect)
        codes.append({"code": code, "alias": f"{stem}{v}"})
        if book.is_joined_in(dialect):
            categories = scorer.tables.categories
            joins.append(categories_join_sql(book, column, categories, joined, same, dialect))
    return codes, joins


def _key(scorer: Scorer, factor: Factor) -> str:
    key = packed_sql(
        [f"{NAMES.code}{v}" for v in factor.variables],
        [scorer.books[v].slots for v in factor.variables],
    )
    ignored = scorer.ignored(factor.members[0])
    if factor.role == "parents" and ignored:
        # Of an ignored value the parents say nothing; no key, no join.
        listed = ", ".join(map(str, ignored))
        child = f"{NAMES.code}{factor.members[0]}"
        return f"CASE WHEN {child} NOT IN ({listed}) THEN {key} END"
    return key


def chains_of(factors: Sequence[Factor]) -> list[list[Factor]]:
    """Factors that belong together, each chain from its deepest level down to its base."""
    depth = {"cell": 2, "parents": 1, "base": 0}
    chains: dict[tuple[int, ...], list[Factor]] = {}
    for factor in factors:
        chains.setdefault(factor.members, []).append(factor)
    return [sorted(c, key=lambda f: (-f.level, -depth[f.role])) for c in chains.values()]


def _score_batch(
    scorer: Scorer,
    scored: str,
    columns: Sequence[str],
    chains: Sequence[Sequence[Factor]],
    outer: bool,
) -> tuple[str, list[str]]:
    """Add what some chains of factors say: of each chain the deepest level that has the key."""
    n = len(scorer.class_names)
    sums = []
    for j in range(n):
        terms = [f"s.{NAMES.score}{j}"]
        for chain in chains:
            levels = [f"f{f.number}.l_{scorer.first_class + j}" for f in chain]
            terms.append(levels[0] if len(levels) == 1 else f"COALESCE({', '.join(levels)})")
        sums.append(" + ".join(terms))
    factors = [f for chain in chains for f in chain]
    return joined_batch(scored, columns, factors, sums, scorer.prefix, outer, scorer.dialect)
