"""The changes of one arc that a search over whole networks may make."""

from __future__ import annotations

from collections.abc import Iterator

from sqlbn.search.graph import Change, Graph, Limits


def changes_of(graph: Graph, limits: Limits) -> Iterator[Change]:
    """Every arc that may be added, deleted or reversed without a cycle, always in this order."""
    for child in range(len(graph)):
        parents = graph.parents[child]
        for other in range(len(graph)):
            if other == child or not limits.may_change(child, other):
                continue
            if other not in parents:
                if not graph.makes_cycle(child, other) and limits.fits(child, (*parents, other)):
                    yield Change("add", child, other)
                continue
            yield Change("delete", child, other)
            turned = (*graph.parents[other], child)
            if graph.can_reverse(child, other) and limits.fits(other, turned):
                yield Change("reverse", child, other)


def new_parents(graph: Graph, change: Change) -> dict[int, tuple[int, ...]]:
    """The variables whose parents a change touches, with what they would be, sorted."""
    child, parent = change.child, change.parent
    assert parent is not None
    now = graph.parents[child]
    if change.action == "add":
        return {child: tuple(sorted((*now, parent)))}
    found = {child: tuple(sorted(p for p in now if p != parent))}
    if change.action == "reverse":
        found[parent] = tuple(sorted((*graph.parents[parent], child)))
    return found
