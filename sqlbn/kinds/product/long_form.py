"""The long form of products and of means of them: rows times keys, and one join with one table.

A join a factor is planned in a time that grows with the square of the joins. Here a row has a list
of keys, which are looked up in one table of all factors, and what is found is added up by row: the
plan is the same for any number of factors. Running it takes longer, as every key is a row of its
own; `sqlbn.kinds.forms` says which of the two is quicker.

Everything is a sum. The prior is a factor of one key. A deeper level of a chain, of which only the
seen cells are in the table, holds what it changes of the level above: whoever finds the deepest
cell finds all above it, too, and the differences add up to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sqlbn.data import Source
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits, added, in_blocks
from sqlbn.engines.packing import has_keys, key_type
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import ROW
from sqlbn.engines.sql import NAMES, literal, relation_sql, render
from sqlbn.kinds.compiler import Scorer
from sqlbn.kinds.forms import Form, FormCost, long_scoring, quickest, wide_scoring
from sqlbn.kinds.losses import LEAST_PROBABILITY
from sqlbn.kinds.product.factor_tables import Factor, chains_of

# The expression for the key of a factor.
KeyOf = Callable[[Scorer, Factor], str]


@dataclass(frozen=True)
class _Place:
    """A factor in the table of all: its keys come behind `start`; of which member it is.

    `above` is the level that it changes, None of a level that stands for itself; `discount` what
    is added to that where this one has no cell.
    """

    factor: Factor
    start: int
    member: int
    above: Factor | None = None
    discount: Factor | None = None


def is_additive(chain: Sequence[Factor]) -> bool:
    """Whether the levels of a chain can be written as differences that are added up.

    What `parents` say of a value that was not seen takes the place of a level that depends on the
    value: that is no difference of theirs.
    """
    return all(factor.role != "parents" for factor in chain)


def other_chains(scorer: Scorer) -> list[list[Factor]]:
    """The chains that are joined as ever, beside the table of all others."""
    return [chain for chain in chains_of(scorer.factors) if not is_additive(chain)]


def has_long_form(scorer: Scorer) -> bool:
    """Whether the scores of a row are sums of what one table holds.

    Of a mean all chains have to be in the table.
    """
    if not scorer.scoring.has_long_form or not has_keys(_places(scorer)[1]):
        return False
    others = other_chains(scorer)
    members = scorer.scoring.stages(scorer)
    return not others if len(members) > 1 else len(others) < len(chains_of(scorer.factors))


def joins_left(scorer: Scorer, long: bool) -> int:
    """How many joins one query has, in the long form or the wide one."""
    return 1 + sum(map(len, other_chains(scorer))) if long else len(scorer.factors)


# -- the table -----------------------------------------------------------------------------------


def _places(scorer: Scorer) -> tuple[list[_Place], int]:
    """The factors in the table, and how many keys it may have; those of the priors come first."""
    members = scorer.scoring.stages(scorer)
    places, keys = list[_Place](), len(members)
    for number, member in enumerate(members):
        for chain in filter(is_additive, chains_of(member.factors)):
            for place in _levels(chain, number):
                places.append(replace(place, start=keys))
                keys += math.prod(scorer.books[v].slots for v in place.factor.variables)
    return places, keys


def _levels(chain: Sequence[Factor], member: int) -> Iterator[_Place]:
    """The factors of a chain, from its base on."""
    above: Factor | None = None
    discounts = {factor.level: factor for factor in chain if factor.role == "discount"}
    for factor in reversed(chain):
        if factor.role == "discount":
            yield _Place(factor, 0, member)
            continue
        yield _Place(factor, 0, member, above, discounts.get(factor.level))
        above = factor


def long_table_sql(scorer: Scorer, limits: Limits) -> list[str]:
    """Queries for the rows of the table of all factors, some factors each; the first has priors."""
    places, keys = _places(scorer)
    items = [_item(scorer, place) for place in places]
    shared = {
        "key_type": key_type(keys),
        "classes": range(len(scorer.class_names)),
    }
    priors = [
        {"key": number, "logs": [literal(prior) for prior in member.log_prior]}
        for number, member in enumerate(scorer.scoring.stages(scorer))
    ]
    return [
        render("store/long_table", **shared, factors=some, priors=[] if place else priors)
        for place, some in enumerate(in_blocks(items, limits.long_tables_at_once))
    ]


def _item(scorer: Scorer, place: _Place) -> dict[str, Any]:
    slots = [scorer.books[v].slots for v in place.factor.variables]

    def table(factor: Factor | None) -> str | None:
        return relation_sql(scorer.prefix, factor.table) if factor is not None else None

    return {
        "start": place.start,
        "member": place.member,
        "table": table(place.factor),
        # Of a key without its last parent, and without the value itself.
        "above": table(place.above),
        "last": slots[-1] if slots else 1,
        "discount": table(place.discount),
        "parents": math.prod(slots[1:]),
    }


# -- the query -----------------------------------------------------------------------------------


def long_scores(
    scorer: Scorer, coded: str, kept: str, others: Sequence[dict[str, str]], key: KeyOf
) -> str:
    """Rows with the log scores that the factors in the table `scorer.long` add up to.

    `kept` are the rows' columns that stay, `others` the keys of further factors that are joined,
    `key` gives the key of a factor. Rows are told apart by `ROW`, which they have.
    """
    assert scorer.long is not None
    places, n_keys = _places(scorer)
    kind, members = key_type(n_keys), len(scorer.scoring.stages(scorer))
    keys = [f"{number}::{kind}" for number in range(members)]
    keys += [f"{place.start}::{kind} + {key(scorer, place.factor)}" for place in places]
    return render(
        "score/long",
        names=NAMES,
        row=ROW,
        kept=kept,
        others=others,
        keys=keys,
        coded=coded,
        table=scorer.long,
        classes=range(len(scorer.class_names)),
        mean=_mean(scorer, members) if members > 1 else None,
    )


def _mean(scorer: Scorer, members: int) -> dict[str, Any]:
    """What the mean of several members is made of."""
    dialect, classes = scorer.dialect, range(len(scorer.class_names))
    scores = [f"{NAMES.score}{j}" for j in classes]
    weights = [f"{NAMES.weight}{j}" for j in classes]
    return {
        "members": members,
        "top": dialect.greatest(scores),
        "weights": [dialect.exp(f"{score} - {NAMES.top}") for score in scores],
        "total": added(weights),
        "least": literal(LEAST_PROBABILITY),
    }


# -- which form ----------------------------------------------------------------------------------


def form_costs(scorer: Scorer, columns: int, limits: Limits) -> dict[Form, FormCost]:
    """What one query costs in the forms that there are; `columns` are those that rows carry."""
    joins, classes = joins_left(scorer, False), len(scorer.class_names)
    found: dict[Form, FormCost] = {"wide": wide_scoring(joins, classes, columns, limits)}
    if has_long_form(scorer):
        keys = len(scorer.scoring.stages(scorer)) + len(_places(scorer)[0])
        others = joins_left(scorer, True) - 1
        found["long"] = long_scoring(keys, others, classes, columns, limits)
    return found


@contextmanager
def in_quickest_form(
    session: Session, scorer: Scorer, source: Source, progress: Progress
) -> Iterator[Scorer]:
    """The scorer in the form that takes the least time for the rows of a source.

    They are not counted where a query in the wide form is planned at once.
    """
    costs = form_costs(scorer, len(source.columns), session.limits)
    if (
        not session.row_engine.is_local
        or "long" not in costs
        or costs["wide"].plan < session.limits.form_worth_seconds
        or quickest(costs, int(session.row_engine.row(source.select("count(*)"))[0])) == "wide"
    ):
        yield scorer
        return
    title = f"long form: {len(scorer.factors):,} lookup tables in one"
    with ExitStack() as stack:
        with progress.stage("long", title):
            long = stack.enter_context(in_long_form(session, scorer))
        yield long


@contextmanager
def in_long_form(session: Session, scorer: Scorer) -> Iterator[Scorer]:
    """The scorer with a table of all factors, which is there meanwhile."""
    table = session.fresh_name("long")
    first, *more = long_table_sql(scorer, session.limits)
    session.create_from(table, first)
    try:
        for query in more:
            session.insert_from(table, query)
        yield replace(scorer, long=table)
    finally:
        session.drop_table(table)
