"""The terms of a collection and the turns that scoring takes, written to and read from tables."""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.draft import Draft
from sqlbn.encode.codebook import Codebook
from sqlbn.scoring.collected import Collected, is_guarded, with_values
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
    rows: list[tuple[str, str, int, list[str]]] = []
    rows += [("numbered", names[i], again, []) for again, i, _ in collected.numbered_turns]
    rows += [("large", names[i], 0, []) for i in collected.large]
    rows += [("sparse", names[t.child], 0, [names[p] for p in t.parents]) for t in collected.sparse]
    draft.fill(
        "turns",
        'turn UINTEGER, role VARCHAR, attribute VARCHAR, "repeat" USMALLINT, parents VARCHAR[]',
        [(at, *row) for at, row in enumerate(rows)],
    )


def read_collected(
    draft: Draft, books: Sequence[Codebook], smoothing: Smoothing
) -> Collected | None:
    """The turns of the model in a draft; None where it is no collection."""
    if "turns" not in draft.names():
        return None
    positions = {book.name: at for at, book in enumerate(books)}
    ignored = tuple(smoothing.ignored_codes(book.n_values, book.missing) for book in books)
    turns = [
        (role, again, Term(positions[attribute], tuple(positions[p] for p in parents)))
        for role, attribute, again, parents in draft.engine.rows(
            f'SELECT role, attribute, "repeat", parents FROM {draft.table("turns")} ORDER BY turn'
        )
    ]
    numbered = [(again, t.child) for role, again, t in turns if role == "numbered"]
    children = tuple(i for again, i in numbered if again == 0)
    repeats = 1 + max((again for again, _ in numbered), default=0)
    firsts = [next((i for a, i in numbered if a == again), None) for again in range(repeats)]
    terms = read_terms(draft, books)
    return Collected(
        slots=tuple(book.slots for book in books),
        ignored=ignored,
        numbered=children,
        large=tuple(t.child for role, _, t in turns if role == "large"),
        sparse=tuple(t for role, _, t in turns if role == "sparse"),
        firsts=tuple(children.index(i) if i is not None else 0 for i in firsts),
        guarded=is_guarded(with_values(terms, ignored), ignored),
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
