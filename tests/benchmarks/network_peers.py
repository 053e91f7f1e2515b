"""Hill climbing of another program: `python network_peers.py pgmpy|pyagrum ROWS.parquet OUT.bif`.

Prints seconds and arcs as JSON. Only the search is counted, with the score that is nearest to ours;
the tables of probabilities are fitted afterwards.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def by_pgmpy(rows: Any, out: str) -> tuple[float, int]:
    """BDeu, with its own defaults otherwise."""
    from pgmpy.estimators import BayesianEstimator, HillClimbSearch
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.readwrite import BIFWriter

    begin = time.perf_counter()
    try:
        from pgmpy.estimators import BDeu

        score: Any = BDeu(rows, equivalent_sample_size=1)
    except ImportError:
        score = "bdeu"
    found = HillClimbSearch(rows).estimate(scoring_method=score, show_progress=False)
    seconds = time.perf_counter() - begin
    network = DiscreteBayesianNetwork(found.edges())
    network.add_nodes_from(rows.columns)
    network.fit(rows, estimator=BayesianEstimator, prior_type="BDeu", equivalent_sample_size=1)
    BIFWriter(network).write(out)
    return seconds, len(found.edges())


def by_pyagrum(rows: Any, out: str) -> tuple[float, int]:
    """BDeu and greedy hill climbing."""
    import pyagrum as gum

    begin = time.perf_counter()
    learner = gum.BNLearner(rows)
    learner.useScoreBDeu()
    learner.useGreedyHillClimbing()
    learner.useSmoothingPrior(0.1)
    network = learner.learnBN()
    seconds = time.perf_counter() - begin
    gum.saveBN(network, out)
    return seconds, int(network.sizeArcs())


def main() -> None:
    """Learn, write, tell."""
    import pandas as pd

    package, path, out = sys.argv[1:]
    rows = pd.read_parquet(path).astype("category")
    seconds, arcs = (by_pgmpy if package == "pgmpy" else by_pyagrum)(rows, out)
    print(json.dumps({"seconds": seconds, "arcs": arcs}))


if __name__ == "__main__":
    main()
