"""The scoring compiler: a product of factors becomes one streaming query of joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from sqlbn.counts.packing import packed_sql
from sqlbn.encode.codebook import (
    BookTables,
    Codebook,
    categories_join_sql,
    category_sql,
    code_sql,
    column_sql,
)
from sqlbn.quoting import identifier, literal
from sqlbn.scoring.factors import Factor
from sqlbn.templates import render

# Scores closer than this are a tie, and go to the class with the lowest code: the last bits of a
# sum of logarithms depend on how factors were fused.
TIE = 1e-10
# In plain SQL nobody switches the search for a join order off, and it explodes past about 30 inner
# joins (54: 18 s). Outer joins are kept as written.
_MOST_INNER_JOINS = 24

# Every name of ours inside a query starts like this, to stay clear of the user's columns.
RESERVED = "__sqlbn_"
_NAMES = SimpleNamespace(
    score=f"{RESERVED}s",
    weight=f"{RESERVED}e",
    top=f"{RESERVED}top",
    y=f"{RESERVED}y",
    w=f"{RESERVED}w",
)


@dataclass(frozen=True)
class Scorer:
    """Everything a query needs to score rows with one model.

    `prefix` is the quoted schema that holds the model's tables.
    """

    prefix: str
    target: Codebook
    class_names: tuple[str, ...]
    probability_columns: tuple[str, ...]
    books: tuple[Codebook, ...]
    log_prior: tuple[float, ...]
    factors: tuple[Factor, ...]

    @property
    def tables(self) -> BookTables:
        """Where joined codebooks look up their codes."""
        return BookTables.of(self.prefix, self.target.name)

    @property
    def used(self) -> list[int]:
        """The attributes that a prediction looks at."""
        return sorted({v for f in self.factors for v in (*f.variables, *f.members)})


def prediction_sql(scorer: Scorer, relation: str, reorder: bool = False) -> str:
    """Input columns, `prediction` and one probability a class, for every row of a relation.

    `reorder` is for engines whose optimiser will look for a join order (plain SQL users').
    """
    codes = [f"{RESERVED}c{v}" for v in scorer.used]
    scored = _scores(scorer, relation, "i.*", [], reorder)
    n = len(scorer.class_names)
    scores = [f"{_NAMES.score}{j}" for j in range(n)]
    weights = [f"{_NAMES.weight}{j}" for j in range(n)]
    return render(
        "probabilities",
        names=_NAMES,
        scored=scored,
        scores=scores,
        inner_names=[*codes, *scores, *weights, _NAMES.top],
        classes=[
            {"value": _class_sql(scorer, name), "column": identifier(column)}
            for name, column in zip(scorer.class_names, scorer.probability_columns, strict=True)
        ],
        total="(" + " + ".join(weights) + ")",
        tie=literal(TIE),
    )


def losses_sql(scorer: Scorer, relation: str, weight: str | None) -> str:
    """Sums of losses by true and predicted class; rows of unknown class get code n_classes."""
    target = column_sql("i", scorer.target.name)
    truth = code_sql(scorer.target, target, "dy")
    extra = [(truth, _NAMES.y), (weight or "1", _NAMES.w)]
    carried = ", ".join(alias for _, alias in extra)
    n = len(scorer.class_names)
    return render(
        "losses",
        names=_NAMES,
        scored=_scores(scorer, relation, carried, extra, reorder=False),
        scores=[f"{_NAMES.score}{j}" for j in range(n)],
        classes=range(n),
        tie=literal(TIE),
    )


def _class_sql(scorer: Scorer, name: str) -> str:
    return category_sql(scorer.target, name)


def _scores(
    scorer: Scorer, relation: str, carried: str, extra: list[tuple[str, str]], reorder: bool
) -> str:
    """Rows with log scores; `carried` are input columns, or the names of `extra` expressions."""
    codes, joins = [], []
    if extra and scorer.target.is_joined:
        target = column_sql("i", scorer.target.name)
        joins.append(categories_join_sql(scorer.target, target, scorer.tables.classes, "dy"))
    for v in scorer.used:
        book, column, joined = scorer.books[v], column_sql("i", scorer.books[v].name), f"d{v}"
        codes.append({"code": code_sql(book, column, joined), "alias": f"{RESERVED}c{v}"})
        if book.is_joined:
            joins.append(categories_join_sql(book, column, scorer.tables.categories, joined))
    outer = reorder and sum(f.role == "base" for f in scorer.factors) > _MOST_INNER_JOINS
    items = ", ".join(f"{sql} AS {alias}" for sql, alias in extra) if extra else carried
    return render(
        "scores",
        names=_NAMES,
        carried=carried if extra else "c.*",
        input_items=items,
        codes=codes,
        relation=relation,
        dictionary_joins=joins,
        sums=_sums(scorer),
        factor_joins=[_factor_join(scorer, f, outer) for f in _in_join_order(scorer.factors)],
    )


def _in_join_order(factors: Sequence[Factor]) -> list[Factor]:
    """Complete tables first: they are inner joins, and drop no row."""
    return sorted(factors, key=lambda f: (f.role != "base", f.number))


def _factor_join(scorer: Scorer, factor: Factor, outer: bool) -> dict[str, str]:
    key = packed_sql(
        [f"c.{RESERVED}c{v}" for v in factor.variables],
        [scorer.books[v].slots for v in factor.variables],
    )
    return {
        "kind": "JOIN" if factor.role == "base" and not outer else "LEFT JOIN",
        "table": f"{scorer.prefix}.{factor.table}",
        "alias": f"f{factor.number}",
        "key": key,
    }


def _sums(scorer: Scorer) -> list[str]:
    """For each class the log prior plus what every factor adds.

    The levels of a chain are tried from the deepest down: the first that has the key counts.
    """
    chains: dict[tuple[int, ...], list[Factor]] = {}
    for factor in scorer.factors:
        chains.setdefault(factor.members, []).append(factor)
    depth = {"cell": 2, "parents": 1, "base": 0}
    sums = []
    for j, prior in enumerate(scorer.log_prior):
        terms = [literal(prior)]
        for links in chains.values():
            ordered = sorted(links, key=lambda f: (-f.level, -depth[f.role]))
            columns = [f"f{f.number}.l_{j}" for f in ordered]
            terms.append(columns[0] if len(columns) == 1 else f"COALESCE({', '.join(columns)})")
        sums.append(" + ".join(terms))
    return sums
