"""The terms of a collection and the turns that scoring takes, written to and read from tables."""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.draft import Draft
from sqlbn.encode.codebook import Codebook
from sqlbn.scoring.collected import Collected, is_guarded
from sqlbn.scoring.factors import Factor
from sqlbn.scoring.smoothing import Smoothing
from sqlbn.structure.terms import Term


def write_terms(draft: Draft, terms: Sequence[Term], names: Sequence[str]) -> None:
    """The draft's `terms`: the parent sets of each attribute and their weights."""
    draft.fill(
        "terms",
        "attribute VARCHAR, parents VARCHAR[], weight DOUBLE",
        [(names[t.child], [names[p] for p in t.parents], t.weight) for t in terms],
    )


def write_turns(draft: Draft, collected: Collected, names: Sequence[str]) -> None:
    """The draft's `turns`: in which order children are unfolded, and which terms by themselves.

    The keys of prediction follow from the order of this table.
    """
    rows: list[tuple[str, str, list[str]]] = []
    rows += [("numbered", names[i], []) for i in collected.numbered]
    rows += [("large", names[i], []) for i in collected.large]
    rows += [("sparse", names[t.child], [names[p] for p in t.parents]) for t in collected.sparse]
    draft.fill(
        "turns",
        "turn UINTEGER, role VARCHAR, attribute VARCHAR, parents VARCHAR[]",
        [(at, *row) for at, row in enumerate(rows)],
    )


def read_collected(
    draft: Draft, books: Sequence[Codebook], factors: Sequence[Factor], smoothing: Smoothing
) -> Collected | None:
    """The turns of the model in a draft; None where it is no collection."""
    if "turns" not in draft.names():
        return None
    positions = {book.name: at for at, book in enumerate(books)}
    gone = tuple(smoothing.gone(book.n_values, book.missing) for book in books)
    turns = [
        (role, Term(positions[attribute], tuple(positions[p] for p in parents)))
        for role, attribute, parents in draft.engine.rows(
            f"SELECT role, attribute, parents FROM {draft.table('turns')} ORDER BY turn"
        )
    ]
    terms = read_terms(draft, books)
    return Collected(
        slots=tuple(book.slots for book in books),
        gone=gone,
        numbered=tuple(t.child for role, t in turns if role == "numbered"),
        large=tuple(t.child for role, t in turns if role == "large"),
        sparse=tuple(t for role, t in turns if role == "sparse"),
        repeats=1 + max((f.level for f in factors if f.role == "group"), default=0),
        guarded=is_guarded([t for t in terms if all(gone[v] != 0 for v in t.family)], gone),
    )


def read_terms(draft: Draft, books: Sequence[Codebook]) -> tuple[Term, ...]:
    """The terms of the model in a draft; none where it is no collection."""
    if "terms" not in draft.names():
        return ()
    positions = {book.name: at for at, book in enumerate(books)}
    return tuple(
        Term(positions[attribute], tuple(positions[p] for p in parents), weight)
        for attribute, parents, weight in draft.engine.rows(
            f"SELECT attribute, parents, weight FROM {draft.table('terms')} ORDER BY rowid"
        )
    )
