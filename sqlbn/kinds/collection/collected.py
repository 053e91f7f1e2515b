"""The terms of a collection and the turns that scoring takes, written to and read from tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, zip_longest

from sqlbn.counts.cover import Block, Family, cover
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.limits import Limits
from sqlbn.engines.packing import key_type
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.product.factor_tables import Factor
from sqlbn.structure.parent_sets import Term

START_TABLE = "predict_start"


@dataclass(frozen=True)
class Collected:
    """The turns of a row: children with numbers, large children, sparse terms.

    `slots` are the codes of each attribute of the model, `ignored` those that are no values. Where
    there are more blocks of parents than one query should join tables, turns are repeated with
    further blocks: the r-th time for the children from the place `firsts[r]` on, as those before
    have no parents in them. `guarded`: an attribute may have no term left in a row.
    """

    slots: tuple[int, ...]
    ignored: tuple[tuple[int, ...], ...]
    numbered: tuple[int, ...]
    large: tuple[int, ...]
    sparse: tuple[Term, ...]
    firsts: tuple[int, ...]
    guarded: bool

    @cached_property
    def n_numbers(self) -> int:
        """Codes of all numbered children; the next number is that of a turn without groups."""
        return sum(self.slots[i] for i in self.numbered)

    @cached_property
    def offsets(self) -> list[int]:
        """The first number of each numbered child the first time; at the end their number."""
        return list(accumulate((self.slots[i] for i in self.numbered), initial=0))

    @cached_property
    def bases(self) -> list[int]:
        """The first number of each repeat; at the end how many numbers there are."""
        later = (self.n_numbers - self.offsets[first] for first in self.firsts[1:])
        return list(accumulate([self.n_numbers + 1, *later], initial=0))

    @cached_property
    def numbered_turns(self) -> list[tuple[int, int, int]]:
        """Repeat, child and first number of every turn of a numbered child."""
        return [
            (repeat, self.numbered[at], base + self.offsets[at] - self.offsets[first])
            for repeat, (first, base) in enumerate(zip(self.firsts, self.bases, strict=False))
            for at in range(first, len(self.numbered))
        ]

    @property
    def all_numbers(self) -> int:
        """Numbers of all repeats."""
        return self.bases[-1]

    @cached_property
    def large_offsets(self) -> list[int]:
        """The first key of each large child, then that of the sparse terms."""
        return list(accumulate((self.slots[i] for i in self.large), initial=self.all_numbers))

    @property
    def n_keys(self) -> int:
        """Keys of the table that turns start from."""
        return self.large_offsets[-1] + len(self.sparse)

    @property
    def n_turns(self) -> int:
        """Turns of a row."""
        return len(self.numbered_turns) + len(self.large) + len(self.sparse)

    @property
    def by_child(self) -> bool:
        """Whether some attribute has several turns, to be added up before its logarithm."""
        return len(self.firsts) > 1 or bool(self.sparse)

    def keys_of(self, variables: Sequence[int]) -> int:
        """Combinations of codes."""
        return math.prod(self.slots[v] for v in variables)

    @cached_property
    def cell_offsets(self) -> list[int]:
        """The first key of each sparse term's cells; at the end how many keys there are."""
        sizes = (self.keys_of((t.child, *t.parents)) for t in self.sparse)
        return list(accumulate(sizes, initial=0))

    @cached_property
    def parent_offsets(self) -> list[int]:
        """The same for the values of its parents."""
        return list(accumulate((self.keys_of(t.parents) for t in self.sparse), initial=0))

    @property
    def cell_type(self) -> str:
        """The engine type of the keys of cells."""
        return _at_least_bigint(self.cell_offsets[-1])

    @property
    def parent_type(self) -> str:
        """The engine type of the keys of parents."""
        return _at_least_bigint(self.parent_offsets[-1])

    def used(self, factors: Sequence[Factor]) -> list[int]:
        """The attributes that scoring looks at."""
        found = {*self.numbered, *self.large}
        found.update(v for factor in factors for v in factor.variables)
        found.update(v for term in self.sparse for v in term.family)
        return sorted(found)


def _at_least_bigint(keys: int) -> str:
    return "HUGEINT" if key_type(max(keys, 1)) == "HUGEINT" else "BIGINT"


@dataclass(frozen=True)
class CollectionPlan:
    """How a collection is scored, and which parent sets each block of a table has."""

    collected: Collected
    factors: tuple[Factor, ...]
    blocks: tuple[tuple[Block | None, ...], ...]
    terms: tuple[Term, ...]


def plan_collection(
    terms: Sequence[Term],
    slots: Sequence[int],
    ignored: Sequence[tuple[int, ...]],
    n_classes: int,
    rows: int,
    is_array: Callable[[Family], bool],
    limits: Limits,
) -> CollectionPlan:
    """Turns and tables for the terms of a collection; `is_array` tells whose counts are one."""
    # An attribute without any value is left out, and with it all that depends on it.
    said = with_values(terms, ignored)
    children = list(dict.fromkeys(t.child for t in said))
    numbered = _numbered(children, slots, limits.collection_numbered_values // n_classes)
    unit = (sum(slots[i] for i in numbered) + 1) * n_classes
    dense = [t for t in said if t.parents and t.child in numbered and is_array(t.family)]
    sets = list(dict.fromkeys(t.parents for t in dense))
    blocks = cover(sets, slots, max(1, limits.collection_fused_values // unit)) if sets else []
    most_seen = limits.complete_per_seen * rows * len(numbered) * n_classes
    fair = max(most_seen, limits.collection_fused_values)
    room = min(limits.collection_complete_values, fair)
    kept = [b for b in blocks if b.dense or b.cells * unit <= room]
    inside = {family for b in kept for family in b.families}
    complete = {t for t in dense if t.parents in inside}
    first_child: dict[Family, int] = {}
    for t in complete:
        place = numbered.index(t.child)
        first_child[t.parents] = min(place, first_child.get(t.parents, place))
    firsts, tables = _repeated(kept, first_child, limits.collection_tables)
    collected = Collected(
        slots=tuple(slots),
        ignored=tuple(ignored),
        numbered=tuple(numbered),
        large=tuple(i for i in children if i not in numbered),
        sparse=tuple(t for t in said if t.parents and t not in complete),
        firsts=firsts,
        guarded=is_guarded(said, ignored),
    )
    factors = [
        Factor(number, "group", block.variables if block is not None else (), (), repeat)
        for number, table in enumerate(tables)
        for repeat, block in enumerate(table)
    ]
    if collected.sparse:
        factors.append(Factor(len(tables), "cell", (), (), 0))
        factors.append(Factor(len(tables) + 1, "parents", (), (), 0))
    return CollectionPlan(collected, tuple(factors), tables, tuple(said))


def _repeated(
    blocks: Sequence[Block], first_child: Mapping[Family, int], most: int
) -> tuple[tuple[int, ...], tuple[tuple[Block | None, ...], ...]]:
    """The first child of each repeat, and for each table its block of every repeat."""

    def first(block: Block) -> int:
        return min(first_child[parents] for parents in block.families)

    repeats = max(1, math.ceil(len(blocks) / most))
    n_tables = math.ceil(len(blocks) / repeats)
    ranked = sorted(blocks, key=first)
    chunks = [ranked[at : at + n_tables] for at in range(0, len(ranked), max(n_tables, 1))]
    firsts = (0, *(first(chunk[0]) for chunk in chunks[1:]))
    # The tables are as long as their longest block: blocks of about one size share one.
    sized = [sorted(chunk, key=lambda b: -b.cells) for chunk in chunks]
    return firsts, tuple(zip_longest(*sized))


def with_values(terms: Sequence[Term], ignored: Sequence[Sequence[int]]) -> list[Term]:
    """The terms whose attributes have values: not only the first code, and that ignored."""
    return [t for t in terms if all(0 not in ignored[v] for v in t.family)]


def is_guarded(terms: Sequence[Term], ignored: Sequence[Sequence[int]]) -> bool:
    """Whether an attribute may have no term left where its parents are ignored.

    Where it is ignored itself, its turn starts from 1 and not from a sum.
    """
    always = {t.child for t in terms if not any(ignored[p] for p in t.parents)}
    return any(t.child not in always for t in terms)


def _numbered(children: Sequence[int], slots: Sequence[int], room: int) -> list[int]:
    """The children whose codes get numbers: all but the largest where they are too many."""
    found = set()
    for child in sorted(children, key=lambda i: slots[i]):
        room -= slots[child]
        if room < 0:
            break
        found.add(child)
    return [i for i in children if i in found]


def write_terms(workspace: Workspace, terms: Sequence[Term], names: Sequence[str]) -> None:
    """The workspace's `terms`: the parent sets of each attribute and their weights."""
    workspace.fill(
        "terms",
        [(names[t.child], [names[p] for p in t.parents], t.weight) for t in terms],
    )


def write_turns(workspace: Workspace, collected: Collected, names: Sequence[str]) -> None:
    """The workspace's `turns`: in which order children are unfolded, and which terms by themselves.

    The keys of prediction follow from the order of this table.
    """
    rows: list[tuple[str, str, int, list[str]]] = []
    rows += [("numbered", names[i], again, []) for again, i, _ in collected.numbered_turns]
    rows += [("large", names[i], 0, []) for i in collected.large]
    rows += [("sparse", names[t.child], 0, [names[p] for p in t.parents]) for t in collected.sparse]
    workspace.fill("turns", [(at, *row) for at, row in enumerate(rows)])


def read_collected(
    workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing
) -> Collected:
    """The turns of the model in a workspace."""
    positions = {book.name: at for at, book in enumerate(books)}
    ignored = tuple(smoothing.ignored_codes(book.n_values, book.missing) for book in books)
    turns = [
        (role, again, Term(positions[attribute], tuple(positions[p] for p in parents)))
        for role, attribute, again, parents in workspace.read(
            "turns", "role", "attribute", "repeat", "parents", order=["turn"]
        )
    ]
    numbered = [(again, t.child) for role, again, t in turns if role == "numbered"]
    children = tuple(i for again, i in numbered if again == 0)
    repeats = 1 + max((again for again, _ in numbered), default=0)
    firsts = [next((i for a, i in numbered if a == again), None) for again in range(repeats)]
    terms = read_terms(workspace, books)
    return Collected(
        slots=tuple(book.slots for book in books),
        ignored=ignored,
        numbered=children,
        large=tuple(t.child for role, _, t in turns if role == "large"),
        sparse=tuple(t for role, _, t in turns if role == "sparse"),
        firsts=tuple(children.index(i) if i is not None else 0 for i in firsts),
        guarded=is_guarded(with_values(terms, ignored), ignored),
    )


def read_terms(workspace: Workspace, books: Sequence[Codebook]) -> tuple[Term, ...]:
    """The terms of the model in a workspace."""
    positions = {book.name: at for at, book in enumerate(books)}
    return tuple(
        Term(positions[attribute], tuple(positions[p] for p in parents), weight)
        for attribute, parents, weight in workspace.read(
            "terms", "attribute", "parents", "weight", order=["rowid"]
        )
    )
