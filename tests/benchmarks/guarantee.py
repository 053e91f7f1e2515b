"""Show 2 of the searches by bounds: how often does a decision differ from that of endless rows?

    python tests/benchmarks/guarantee.py [--runs 200] [--vfbn1-runs 50] [--seed 1]

Small samples of known networks (random ones and, where ../shared is, small ones of the literature)
and a loose delta. Every decision that the bound made is compared with what the exact expectations
under the true network say of all candidates of that moment; differences below tau are none. The
share of wrong decisions, and of runs with any, stands beside what the search says it has spent.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "support"))

from reference_search import Parents, Truth, is_acyclic, neighbours, replay  # noqa: E402

import sqlbn  # noqa: E402
from sqlbn.networks import Network, Variable  # noqa: E402
from sqlbn.networks.random_networks import Sampler  # noqa: E402

BIF = TESTS.parent.parent / "shared" / "data" / "bif"
KNOWN = ("asia", "cancer", "earthquake", "sachs")
MAX_CHANGES = 2
# What counts as equal where tau is not to excuse anything.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Setting:
    """A search to be tried: method, rows of a sample, its options."""

    method: str
    rows: int
    options: Mapping[str, Any]


@dataclass
class Tried:
    """Decisions of one run: how many, those of the bound, the wrong ones among these."""

    decisions: int = 0
    by_bound: int = 0
    wrong: int = 0
    wrong_at_all: int = 0
    spent: float = 0.0
    allowed: float = 0.0
    faults: list[str] = field(default_factory=list)


def random_truth(seed: int) -> Network:
    """Six variables of two or three states, up to two parents, weak and strong ones."""
    rng = np.random.default_rng(seed)
    variables: list[Variable] = []
    for at in range(6):
        states = [f"s{i}" for i in range(int(rng.integers(2, 4)))]
        number = int(rng.integers(0, min(at, 2) + 1))
        above = [variables[i] for i in rng.choice(at, number, replace=False)] if number else []
        shape = (*(len(v.states) for v in above), len(states))
        table = rng.dirichlet(np.full(shape[-1], rng.choice([0.3, 1.0, 5.0])), shape[:-1])
        table = 0.98 * table + 0.02 / shape[-1]
        variables.append(Variable(f"v{at}", states, [v.name for v in above], table))
    return Network(tuple(variables[i] for i in rng.permutation(6)), f"random {seed}")


@cache
def known_truth(name: str) -> Truth:
    """A network of the literature."""
    return Truth(sqlbn.read_bif(BIF / f"{name}.bif.gz"))


def truths(seed: int) -> Iterator[Truth]:
    """Networks to draw from, without end; every other one is random."""
    known = [name for name in KNOWN if (BIF / f"{name}.bif.gz").exists()]
    rng = random.Random(seed)
    while True:
        yield Truth(random_truth(rng.randrange(2**32)))
        if known:
            yield known_truth(rng.choice(known))


def try_once(truth: Truth, setting: Setting, seed: int) -> Tried:
    """One search on a sample, its decisions compared with the truth."""
    rows = pa.Table.from_batches([Sampler(truth.network, seed).chunk(0, setting.rows)])
    options = {"max_changes": MAX_CHANGES, **setting.options}
    with sqlbn.networks.learn(rows, setting.method, seed=seed, **options) as model:
        found = model.decisions
        assert found is not None
        return compare(truth, setting.method, found.to_pylist(), float(model.meta["tau"]))


def compare(truth: Truth, method: str, decisions: Sequence[Mapping[str, Any]], tau: float) -> Tried:
    """The decisions of a log against the truth."""
    names = truth.network.names
    before, _ = replay(names, decisions)
    found = Tried(len(decisions), spent=sum(d["delta"] for d in decisions))
    for step, decision in enumerate(decisions):
        if decision["reason"] != "bound":
            continue
        found.by_bound += 1
        found.allowed += min(1.0, decision["delta"])
        gains = candidates(truth, method, names, decisions, before, step)
        key = (decision["action"], decision["variable"], decision["parent"])
        if key[0] == "none":
            key = ("none", "", "")
        best = max(gains, key=lambda k: gains[k])
        short = gains[best] - gains[key]
        if short > ROUNDING:
            found.wrong_at_all += 1
        if short > tau:
            found.wrong += 1
            found.faults.append(
                f"{truth.network.name}: {key} from {decision['rows']:,} rows is worth "
                f"{gains[key]:.6f}, {best} {gains[best]:.6f}; tau {tau:.6f}"
            )
    return found


def candidates(
    truth: Truth,
    method: str,
    names: Sequence[str],
    decisions: Sequence[Mapping[str, Any]],
    before: Sequence[Parents],
    step: int,
) -> dict[tuple[str, str, str], float]:
    """What each candidate of a decision is worth in the truth."""
    now, changed = before[step], changes_until(decisions, step)
    children = range(len(names))
    legal_then = None
    if method == "vfbn2":
        own = names.index(decisions[step]["variable"])
        children = range(own, own + 1)
        legal_then = before[began(decisions, step)]
    gains = {("none", "", ""): 0.0}
    for child in children:
        for other in range(len(names)):
            if other == child or changed[frozenset((names[child], names[other]))] >= MAX_CHANGES:
                continue
            for action, new in neighbours(now, child, other):
                if not is_acyclic(new) or (action == "reverse" and legal_then is not None):
                    continue
                if legal_then is not None and action == "add":
                    # An arc that a deletion has made possible is for the variable's next step.
                    then = dict(neighbours(legal_then, child, other))
                    if "add" not in then or not is_acyclic(then["add"]):
                        continue
                gains[action, names[child], names[other]] = truth.gain(now, new)
    return gains


def changes_until(decisions: Sequence[Mapping[str, Any]], step: int) -> Counter[frozenset[str]]:
    """How often the arc between two variables has changed."""
    return Counter(
        frozenset((d["variable"], d["parent"])) for d in decisions[:step] if d["action"] != "none"
    )


def began(decisions: Sequence[Mapping[str, Any]], step: int) -> int:
    """The step before which VFBN2 let the variable's search in: after the block of its last one."""
    variable = decisions[step]["variable"]
    own = [i for i in range(step) if decisions[i]["variable"] == variable]
    if not own:
        return 0
    block = decisions[own[-1]]["rows_read"]
    return next(i for i in range(own[-1], step + 1) if decisions[i]["rows_read"] > block)


def settings(method: str) -> list[Setting]:
    """What is tried in turn."""
    return [
        Setting(method, 20_000, {"delta": 0.05, "block": 5000, "tau": 0.001}),
        Setting(method, 20_000, {"delta": 0.05, "block": 500, "tau": 0.001}),
        Setting(method, 50_000, {"delta": 0.01, "block": 5000, "tau": 0.001}),
        Setting(method, 50_000, {"delta": 0.01, "block": 500, "tau": 0.001}),
        Setting(method, 50_000, {"delta_star": 0.2, "block": 2500, "tau": 0.002}),
    ]


HEAD = (
    f"{'search':44} {'runs':>5} {'decisions':>9} {'bound':>6} {'wrong':>6} {'share':>7} "
    f"{'delta':>7} {'allowed':>8} {'runs w.':>8} {'spent':>7} {'any':>5}"
)


def report(setting: Setting, tried: Sequence[Tried]) -> None:
    """One line: shares of wrong decisions beside what was spent, at most 1 each."""
    bound, wrong = sum(t.by_bound for t in tried), sum(t.wrong for t in tried)
    runs_wrong = sum(t.wrong > 0 for t in tried) / len(tried)
    spent = sum(min(1.0, t.spent) for t in tried) / len(tried)
    name = f"{setting.method} {setting.rows:,} " + " ".join(
        f"{k}={v}" for k, v in setting.options.items()
    )
    delta = setting.options.get("delta", float("nan"))
    allowed = sum(t.allowed for t in tried) / max(1, bound)
    print(
        f"{name:44} {len(tried):5} {sum(t.decisions for t in tried):9} {bound:6} {wrong:6} "
        f"{wrong / max(1, bound):7.4f} {delta:7.3f} {allowed:8.3f} {runs_wrong:8.3f} "
        f"{spent:7.3f} {sum(t.wrong_at_all for t in tried):5}",
        flush=True,
    )
    for fault in [f for t in tried for f in t.faults][:5]:
        print(f"    {fault}", flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--runs", type=int, default=200)
    asked.add_argument("--vfbn1-runs", type=int, default=50)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    print(HEAD)
    for method, runs in (("vfbn2", given.runs), ("vfbn1", given.vfbn1_runs)):
        tries = settings(method)
        for number, setting in enumerate(tries):
            mine = len(range(number, runs, len(tries)))
            source = truths(given.seed + number)
            seeds = range(1000 * number, 1000 * number + mine)
            tried = [try_once(next(source), setting, seed) for seed in seeds]
            if tried:
                report(setting, tried)


if __name__ == "__main__":
    main()
