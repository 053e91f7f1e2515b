"""Sums of products in the scoring compiler: a row is unfolded into one a super parent.

Each of these rows is scored like naive Bayes, by joins on (super parent's value, attributes);
their exponentials are added up by row. The query grows with the number of attributes, not with
that of super parents: a plan with a join for each pair of attributes would take minutes to make
(54 attributes: 288 joins 16 s, a thousand would be needed).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlbn.engines.dialects import Dialect
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.sql import (
    NAMES,
    literal,
    relation_sql,
    render,
    select_sql,
)
from sqlbn.kinds.average.superparents import SUPER_TABLE, SuperParents, implied_table
from sqlbn.kinds.product.factor_tables import Factor
from sqlbn.kinds.row_queries import (
    BATCH,
    Key,
    ValueList,
    any_values,
    carried_codes,
    distinct_rows,
    identity,
    joined_batch,
    rejoined,
)

if TYPE_CHECKING:
    from sqlbn.kinds.compiler import Scorer

# Terms of one row are added up in steps of e^512, and steps put together at the end.
_STEP = 512.0
_LEVEL_STEP = 1 << 32
LEAST_SUM = 1e-300


def averaged_scores(scorer: Scorer, supers: SuperParents, coded: str, reorder: bool) -> str:
    """Rows of a query with codes, with log scores in place of the codes.

    The query is read twice: to score rows that differ, and to give every row its scores.
    """
    classes, dialect = range(len(scorer.class_names)), scorer.dialect
    keys = identity(scorer.used, [book.slots for book in scorer.books])
    if scorer.scored is not None:
        scored = select_sql(scorer.scored)
        return rejoined(coded, scorer.kept, scorer.used, keys, scored, len(classes), dialect)
    scores = [f"{NAMES.score}{j}" for j in classes]
    step = literal(_STEP)
    shared = {
        "names": NAMES,
        "identity": any_values([key["alias"] for key in keys], dialect),
        "classes": classes,
    }
    sums = render(
        "score/average_sums",
        **shared,
        top=dialect.greatest(scores),
        powers=[dialect.exp(f"{score} - {NAMES.step} * {step}") for score in scores],
        step=step,
        level_step=_LEVEL_STEP,
        terms=_terms(scorer, supers, coded, keys, outer=reorder),
    )
    scored = render("score/average", **shared, **_logarithms(classes, sums, step, dialect))
    return rejoined(coded, scorer.kept, scorer.used, keys, scored, len(classes), dialect)


def _logarithms(classes: Sequence[int], sums: str, step: str, dialect: Dialect) -> dict[str, Any]:
    """How the sums of a row's steps are put together: by the two highest, or all by a window."""
    least, rank = literal(LEAST_SUM), NAMES.rank
    if not dialect.has_lists:
        below = f"({rank} - {NAMES.top}) * {step}"
        tops = [f"sum(z{j} * {dialect.exp(below)}) AS z{j}" for j in classes]
        logs = [f"ln({dialect.greatest([f'z{j}', least])})" for j in classes]
        window = f"max({rank}) OVER (PARTITION BY {NAMES.row}) AS {NAMES.top}"
        return {"tops": tops, "logs": logs, "sums": select_sql(f"({sums})", f"*, {window}")}
    tops = [f"{dialect.two_highest(rank, rank)} AS ranks"]
    tops += [f"{dialect.two_highest(f'z{j}', rank)} AS z{j}" for j in classes]
    ranks = [dialect.nth("ranks", place) for place in ("1", "2")]
    logs = []
    for j in classes:
        first, second = (dialect.nth(f"z{j}", place) for place in ("1", "2"))
        more = f"COALESCE({second} * exp(({ranks[1]} - {ranks[0]}) * {step}), 0)"
        logs.append(f"ln(greatest({first} + {more}, {least}))")
    return {"tops": tops, "logs": logs, "sums": sums}


def _terms(
    scorer: Scorer, supers: SuperParents, coded: str, keys: Sequence[Key], outer: bool
) -> str:
    """One row a row and super parent, with the log scores of all attributes."""
    n_classes, dialect = len(scorer.class_names), scorer.dialect
    sparse = any(f.role == "sparse" for f in scorer.factors)
    items = [
        {"sql": "p.level", "alias": NAMES.level},
        *(
            {"sql": _child_key(supers, f), "alias": f"{NAMES.key}{f.number}"}
            for f in scorer.factors
        ),
        *({"sql": f"p.l_{j}", "alias": f"{NAMES.score}{j}"} for j in range(n_classes)),
        *(
            {"sql": f"p.b_{j}", "alias": f"{NAMES.divisor}{j}"}
            for j in range(n_classes if sparse else 0)
        ),
    ]
    carried = [key["alias"] for key in keys]
    packed = [
        {"sql": _packed(supers, f), "alias": f"{NAMES.packed}{f.number}"} for f in scorer.factors
    ]
    turns = [
        _super_key(supers, subset, offset)
        for subset, offset in zip(supers.sets, supers.offsets, strict=True)
    ]
    starts = ValueList(NAMES.base, turns)
    scored = render(
        "score/unfold",
        names=NAMES,
        carried=carried,
        items=items,
        packed=[
            *packed,
            *starts.columns(dialect),
            *carried_codes([f"{NAMES.code}{v}" for v in scorer.used], dialect),
        ],
        turns=dialect.numbers(len(turns), NAMES.turn),
        start=starts.at(dialect, "k", f"k.{NAMES.turn}"),
        coded=_rows(scorer, supers, coded, keys, outer),
        table=relation_sql(scorer.prefix, SUPER_TABLE),
    )
    columns = [NAMES.row, *carried, *(item["alias"] for item in items)]
    for start in range(0, len(scorer.factors), BATCH):
        batch = scorer.factors[start : start + BATCH]
        scored, columns = _batch(scorer, supers, scored, columns, batch, outer)
    return scored


def _super_key(supers: SuperParents, subset: Sequence[int], offset: int) -> str:
    columns = [f"{NAMES.code}{v}" for v in subset]
    key = packed_sql(columns, [supers.radices[v] for v in subset])
    return f"{offset}::{supers.key_type} + ({key})"


def _packed(supers: SuperParents, factor: Factor) -> str:
    """The codes of a factor's attributes: the part of its key that is the same for all turns."""
    radices = [supers.radices[v] for v in factor.variables]
    columns = [f"{NAMES.code}{v}" for v in factor.variables]
    key = packed_sql(columns, radices)
    if factor.role == "sparse" and supers.ignores:
        # No key, no join: an ignored value is told by that.
        return f"CASE WHEN {columns[0]} < {supers.n_counting(factor.variables[0])} THEN {key} END"
    return key


def _child_key(supers: SuperParents, factor: Factor) -> str:
    """The number of the super parent's value, then the codes of the attributes."""
    slots = math.prod(supers.radices[v] for v in factor.variables)
    packed = f"k.{NAMES.packed}{factor.number}"
    return packed_sql(["p.number", packed], [supers.n_seen, slots])


def _rows(
    scorer: Scorer, supers: SuperParents, coded: str, keys: Sequence[Key], outer: bool
) -> str:
    """Rows that differ, with codes; implied values are marked as dropped."""
    implying: dict[int, list[int]] = {}
    for special, generals in enumerate(supers.implied):
        for general in generals:
            implying.setdefault(general, []).append(special)
    codes = {}
    for v, specials in implying.items():
        code = f"s.{NAMES.code}{v}"
        said = " OR ".join(f"t{j}.i_{v} = {code}" for j in specials)
        codes[v] = f"CASE WHEN {said} THEN {supers.radices[v] - 1} ELSE {code} END"
    joins = [
        {
            "kind": "LEFT JOIN" if outer else "JOIN",
            "table": relation_sql(scorer.prefix, implied_table(j)),
            "alias": f"t{j}",
            "code": f"{NAMES.code}{j}",
        }
        for j, generals in enumerate(supers.implied)
        if generals
    ]
    return distinct_rows(coded, scorer.used, keys, scorer.dialect, codes, joins)


def _batch(
    scorer: Scorer,
    supers: SuperParents,
    scored: str,
    columns: Sequence[str],
    factors: Sequence[Factor],
    outer: bool,
) -> tuple[str, list[str]]:
    """Some more attributes: their logarithms joined and added."""
    classes = range(len(scorer.class_names))
    sums = []
    for j in classes:
        terms = [f"s.{NAMES.score}{j}"]
        terms += [_term(scorer, supers, factor, j) for factor in factors]
        sums.append(" + ".join(terms))
    return joined_batch(scored, columns, factors, sums, scorer.prefix, outer, scorer.dialect)


def _term(scorer: Scorer, supers: SuperParents, factor: Factor, j: int) -> str:
    column = f"f{factor.number}.l_{j}"
    if factor.role == "child":
        return column
    share = scorer.smoothing.of(scorer.books[factor.variables[0]].n_values).share
    unseen = f"s.{NAMES.divisor}{j} + {literal(math.log(share))}"
    term = f"COALESCE({column}, {unseen})"
    if supers.ignores:
        term = f"CASE WHEN s.{NAMES.key}{factor.number} IS NULL THEN 0 ELSE {term} END"
    return term
