"""A network's structure from a table of codes, by one of the three methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.counter import n_log_n
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded
from sqlbn.search.blocks import RowStream
from sqlbn.search.bounds import Rule
from sqlbn.search.decisions import Graph, Log, Task
from sqlbn.search.hill_climbing import LocalScores, hgc
from sqlbn.search.search_options import SearchOptions
from sqlbn.search.vfbn1 import vfbn1
from sqlbn.search.vfbn2 import vfbn2
from sqlbn.structure.shape import Structure


@dataclass(frozen=True)
class FoundNetwork:
    """What a search found, and the log of how."""

    structure: Structure
    log: Log
    rule: Rule | None

    @property
    def chosen(self) -> dict[str, Any]:
        """What is worth noting in the meta table."""
        found: dict[str, Any] = {
            "arcs": sum(map(len, self.structure.parents)),
            "structure_steps": len(self.log.decisions),
            "structure_rows": self.log.rows_read,
        }
        if self.rule is not None:
            found |= {"delta_star": self.log.delta_star, "tau": self.rule.tau}
        if self.log.interrupted:
            found["interrupted"] = True
        return found


def search_network(
    session: Session, encoded: Encoded, method: str, options: SearchOptions, progress: Progress
) -> FoundNetwork:
    """Search for parents; Ctrl-C ends the search, not the fit: what was found so far is kept."""
    d, cards = encoded.n_attributes, encoded.cards
    # A class of one value, as of a network without a target, would only be in the way.
    fixed = [encoded.class_variable] if cards[-1] > 1 else []
    limits = options.limits(cards, cards[-1])
    graph, log, rule = Graph(d), Log(), None
    if method == "hgc":
        scores = LocalScores(session, encoded, fixed, options.score_name, options.equivalent_size)
        search = partial(hgc, scores, encoded.rows, limits, log, graph)
    else:
        with progress.stage("sample", "drawing rows in random order", encoded.rows):
            stream = RowStream(session, encoded, options.block_rows)
            unit = entropy(stream.first_block(), cards, fixed)
        # Every pair may change so often, and every variable ends with a decision.
        steps = d * (d - 1) // 2 * options.max_changes + d
        rule, tuning = options.rule(unit, steps), session.limits
        memory = int(tuning.candidate_share * session.memory_bytes)
        task = Task(cards, tuple(fixed), rule, limits, memory, tuning)
        search = partial(vfbn2 if method == "vfbn2" else vfbn1, stream, task, log, graph)
    with progress.stage("search", f"searching for a network by {method}"):
        try:
            search(progress.advance)
        except KeyboardInterrupt:
            log.interrupted = True
            progress.note("interrupted: going on with the network found so far")
    return FoundNetwork(Structure(tuple(graph.order()), tuple(graph.parents)), log, rule)


def entropy(block: npt.NDArray[Any], cards: Sequence[int], fixed: Sequence[int]) -> float:
    """Of the variables given those that are fixed: the network without arcs, in nats a row."""
    given = np.zeros(block.shape[1], np.int64)
    for v in fixed:
        given = given * cards[v] + block[v]
    rows = int(np.prod([cards[v] for v in fixed], dtype=int))
    total: float = 0.0
    n = block.shape[1]
    for v in range(len(cards) - 1):
        joint = np.bincount(given * cards[v] + block[v], minlength=rows * cards[v])
        total += n_log_n(joint.reshape(rows, -1).sum(axis=1)) - n_log_n(joint)
    return float(total / n)
