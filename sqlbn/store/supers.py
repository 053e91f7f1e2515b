"""The super parents of an averaging model, written to and read from its tables."""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.draft import Draft
from sqlbn.encode.codebook import Codebook
from sqlbn.scoring.implied import Implication
from sqlbn.scoring.smoothing import Smoothing
from sqlbn.scoring.superparents import SuperParents


def write_supers(
    draft: Draft, supers: SuperParents, seen: Sequence[int], names: Sequence[str]
) -> None:
    """The draft's `superparents`: sets of attributes, weights, how many of their values were seen.

    The keys of prediction follow from the order of this table.
    """
    draft.fill(
        "superparents",
        "superparent UINTEGER, attributes VARCHAR[], weight DOUBLE, seen UINTEGER",
        [
            (at, [names[v] for v in subset], weight, n)
            for at, (subset, weight, n) in enumerate(
                zip(supers.sets, supers.weights, seen, strict=True)
            )
        ],
    )


def write_subsumptions(
    draft: Draft, implications: Sequence[Implication], names: Sequence[str]
) -> None:
    """The draft's `subsumptions`: which value implies which; only where values are dropped."""
    draft.fill(
        "subsumptions",
        "attribute VARCHAR, code UINTEGER, implied VARCHAR, implied_code UINTEGER",
        [(names[i.special], i.code, names[i.general], i.implied) for i in implications],
    )


def read_supers(
    draft: Draft, books: Sequence[Codebook], smoothing: Smoothing
) -> SuperParents | None:
    """The super parents of the model in a draft; None where it averages nothing."""
    tables = draft.names()
    if "superparents" not in tables:
        return None
    positions = {book.name: at for at, book in enumerate(books)}
    rows = draft.engine.rows(
        f"SELECT attributes, weight, seen FROM {draft.table('superparents')} ORDER BY superparent"
    )
    drops = "subsumptions" in tables
    implied: list[list[int]] = [[] for _ in books]
    if drops:
        for name, general in draft.engine.rows(
            f"SELECT DISTINCT attribute, implied FROM {draft.table('subsumptions')}"
        ):
            implied[positions[name]].append(positions[general])
    return SuperParents(
        sets=tuple(tuple(positions[name] for name in names) for names, _, _ in rows),
        weights=tuple(float(weight) for _, weight, _ in rows),
        radices=tuple(book.slots + drops for book in books),
        drops=drops,
        neutral=smoothing.is_neutral,
        implied=tuple(tuple(sorted(generals)) for generals in implied),
        n_seen=sum(int(seen) for _, _, seen in rows),
    )
