"""HGC: hill climbing over networks, on a score of all rows."""

from __future__ import annotations

from collections.abc import Callable

from sqlbn.search.decisions import Decision, Log
from sqlbn.search.graph import Change, Graph, Limits, changes_of, new_parents
from sqlbn.search.scores import LocalScores

# Gains below this share of a row are rounding, not knowledge.
_LEAST_GAIN = 1e-9


def hgc(
    scores: LocalScores,
    rows: int,
    limits: Limits,
    log: Log,
    graph: Graph,
    advance: Callable[[], None],
) -> None:
    """Improve a graph by the best single change, until none is left that improves it."""
    while True:
        changes = list(changes_of(graph, limits))
        wanted = {c: new_parents(graph, c) for c in changes}
        present = {i: tuple(sorted(p)) for i, p in enumerate(graph.parents)}
        asked = [pair for touched in wanted.values() for pair in touched.items()]
        scores.count([*present.items(), *asked], lambda: None)
        log.rows_read += rows
        best, gain, second = Change("none", 0), 0.0, 0.0
        for change in changes:
            value = sum(scores(i, p) - scores(i, present[i]) for i, p in wanted[change].items())
            # A later change must be better by more than rounding: ties go to the first.
            if value > gain + _LEAST_GAIN:
                best, gain, second = change, value, gain
            elif value > second:
                second = value
        if best.action == "none":
            return
        graph.apply(best)
        limits.changed(best)
        log.decisions.append(
            Decision(
                best,
                len(changes),
                rows,
                log.rows_read,
                1,
                (gain - second) / rows,
                0.0,
                0.0,
                "score",
            )
        )
        advance()
