"""Decisions of the bound beside those of endless rows; the long version is a benchmark."""

import math
import random
import sys
from pathlib import Path

import pytest
import reference_networks
import reference_search as reference

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import guarantee

from sqlbn.networks import Network, Variable


def test_the_truth_is_that_of_enumeration() -> None:
    rng = random.Random(2)
    for _ in range(5):
        network = reference_networks.random_network(rng, 4)
        truth = reference.Truth(network)
        for child in range(4):
            others = [v for v in range(4) if v != child]
            above = rng.sample(others, rng.randint(0, 3))
            wanted = 0.0
            for row in reference_networks.all_rows(network):
                chance = reference_networks.probability(network, row)
                if chance > 0:
                    name = network.names[child]
                    given = {network.names[p]: row[network.names[p]] for p in above}
                    found = reference_networks.posterior(network, [name], given)
                    assert found is not None
                    wanted += chance * math.log(found[row[name],])
            assert truth.mean(child, above) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("method", ["vfbn1", "vfbn2"])
@pytest.mark.parametrize("options", [{"delta": 0.05}, {"delta_star": 0.2}])
def test_wrong_decisions_are_rarer_than_the_bound_says(
    method: str, options: dict[str, float]
) -> None:
    setting = guarantee.Setting(method, 20_000, {**options, "block": 2500, "tau": 0.001})
    tried = [
        guarantee.try_once(reference.Truth(guarantee.random_truth(seed)), setting, seed)
        for seed in range(6)
    ]
    # Of a first arc both directions are worth the same: VFBN1 knows many ties.
    assert sum(t.by_bound for t in tried) >= (3 if method == "vfbn1" else 12)
    assert sum(t.wrong for t in tried) <= sum(t.allowed for t in tried)
    if "delta_star" in options:
        assert all(t.spent <= options["delta_star"] for t in tried)
    # Both hold with room to spare: not one of these is wrong.
    assert [t.faults for t in tried if t.faults] == []


def test_a_wrong_decision_would_be_seen() -> None:
    """The comparison itself: of two parents the weaker one, and to stop too early."""
    strong = Variable("strong", ("a", "b"), (), [0.5, 0.5])
    weak = Variable("weak", ("a", "b"), (), [0.5, 0.5])
    table = [[[0.95, 0.05], [0.85, 0.15]], [[0.15, 0.85], [0.05, 0.95]]]
    child = Variable("child", ("a", "b"), ("strong", "weak"), table)
    truth = reference.Truth(Network((child, strong, weak)))
    step = {"reason": "bound", "delta": 0.01, "rows": 100, "rows_read": 100, "variable": "child"}

    def wrong(*chosen: tuple[str, str | None]) -> int:
        log = [{**step, "action": a, "parent": p, "rows_read": 100 * i}
               for i, (a, p) in enumerate(chosen)]  # fmt: skip
        return guarantee.compare(truth, "vfbn2", log, tau=1e-4).wrong

    assert wrong(("add", "strong"), ("add", "weak"), ("none", None)) == 0
    assert wrong(("add", "weak"), ("add", "strong"), ("none", None)) == 1
    assert wrong(("add", "strong"), ("none", None)) == 1
    assert wrong(("add", "strong"), ("delete", "strong"), ("add", "weak")) == 1
