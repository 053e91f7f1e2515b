"""Hill climbing of another program: `python network_peers.py pgmpy|pyagrum ROWS.parquet OUT.bif`.

Prints seconds and arcs as JSON. Only the search is counted, with BDeu and an equivalent sample size
of 1 where it can be said; the tables of probabilities are the same m-estimates for all.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from sqlbn.networks import Network, Variable, write_bif

Arcs = list[tuple[str, str]]


def by_pgmpy(rows: Any) -> Arcs:
    """Its defaults but for the score."""
    from pgmpy.estimators import BDeu, HillClimbSearch

    score = BDeu(rows, equivalent_sample_size=1)
    found = HillClimbSearch(rows).estimate(scoring_method=score, show_progress=False)
    return [(str(a), str(b)) for a, b in found.edges()]


def by_pyagrum(rows: Any) -> Arcs:
    """Greedy hill climbing on BDeu."""
    import pyagrum as gum

    learner = gum.BNLearner(rows)
    learner.useScoreBDeu()
    learner.useGreedyHillClimbing()
    found = learner.learnDAG()
    names = learner.names()
    return [(names[a], names[b]) for a, b in found.arcs()]


SEARCHES: dict[str, Callable[[Any], Arcs]] = {"pgmpy": by_pgmpy, "pyagrum": by_pyagrum}


def fitted(rows: Any, arcs: Arcs) -> Network:
    """The network of these arcs, with m-estimates of the rows."""
    variables = []
    for child in rows.columns:
        parents = [a for a, b in arcs if b == child]
        family = [rows[v].cat for v in (*parents, child)]
        shape = [len(column.categories) for column in family]
        key = np.ravel_multi_index([column.codes.to_numpy() for column in family], shape)
        counts = np.bincount(key, minlength=int(np.prod(shape))).reshape(shape)
        table = (counts + 1 / shape[-1]) / (counts.sum(axis=-1, keepdims=True) + 1)
        variables.append(Variable(child, map(str, family[-1].categories), parents, table))
    return Network(tuple(variables))


def main() -> None:
    """Search, write, tell."""
    import pandas as pd

    warnings.simplefilter("ignore")
    package, path, out = sys.argv[1:]
    rows = pd.read_parquet(path).astype("category")
    begin = time.perf_counter()
    arcs = SEARCHES[package](rows)
    seconds = time.perf_counter() - begin
    write_bif(fitted(rows, arcs), out)
    print(json.dumps({"seconds": seconds, "arcs": len(arcs)}))


if __name__ == "__main__":
    main()
