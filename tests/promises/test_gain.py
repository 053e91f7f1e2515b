"""`gain` and `--superparent auto` are information about the class: copies of noise cannot win.

The gain of an attribute is what it adds to what each other one says of the class, summed up:
I(X_i, X_j; Y) - I(X_j; Y).
"""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest
import reference
import reference_collections

import sqlbn
from sqlbn.engines.limits import Limits

NAMES = ["noise", "copy", "sign", "hint"]


def table(size: int = 400) -> pa.Table:
    """Two copies of a noise column with many values, and two columns that tell the class."""
    rng = random.Random(3)
    y = [rng.choice("pq") for _ in range(size)]
    noise = [f"n{rng.randrange(8)}" for _ in range(size)]
    sign = [c if rng.random() < 0.8 else rng.choice("pq") for c in y]
    hint = [c if rng.random() < 0.5 else rng.choice("pq") for c in y]
    return pa.table({"noise": noise, "copy": noise, "sign": sign, "hint": hint, "y": y})


LEARNERS: list[dict[str, Any]] = [
    {"learner": "superparent"},
    {"learner": "superparent", "order": "gain"},
    {"learner": "superparent", "structure_sample": 300},
    {"learner": "spc"},
]


@pytest.mark.parametrize("options", LEARNERS, ids=lambda o: "-".join(map(str, o.values())))
def test_two_copies_of_noise_are_no_super_parent(options: dict[str, Any]) -> None:
    with sqlbn.fit(table(), "y", **options) as model:
        assert model.meta["superparent"] == "sign"


@pytest.mark.parametrize("learner", ["fanc", "fan", "tc"])
@pytest.mark.parametrize("limit", [None, 1])
def test_two_copies_of_noise_come_last(learner: str, limit: int | None) -> None:
    # With a limit, pairs are too large for an array.
    limits = Limits(array_cells=limit) if limit is not None else Limits()
    with sqlbn.fit(table(), "y", learner, order="gain", limits=limits) as model:
        ranked = sorted(model.attributes.to_pylist(), key=lambda r: r["rank"])
    assert [r["attribute"] for r in ranked] == ["sign", "hint", "noise", "copy"]


def test_gain_by_its_definition() -> None:
    """Against entropies that are counted one by one."""
    rows = table(60).to_pylist()

    def entropy(*names: str) -> float:
        counts: dict[Any, int] = {}
        for row in rows:
            key = tuple(row[name] for name in names)
            counts[key] = counts.get(key, 0) + 1
        return -math.fsum(n / 60 * math.log(n / 60) for n in counts.values())

    def about_class(*names: str) -> float:
        return entropy(*names) + entropy("y") - entropy(*names, "y")

    wanted = [math.fsum(about_class(i, j) - about_class(j) for j in NAMES if j != i) for i in NAMES]
    ref = reference.fit(rows, NAMES, "y")
    assert reference_collections.gain_sums(ref) == pytest.approx(wanted, abs=1e-11)


def test_an_update_orders_by_the_same_gain() -> None:
    data = table()
    with sqlbn.fit(data.slice(0, 250), "y", "superparent") as model:
        model.update(data.slice(250))
        with sqlbn.fit(data, "y", "superparent") as whole:
            assert model.meta["superparent"] == whole.meta["superparent"] == "sign"
            assert model.attributes.to_pylist() == whole.attributes.to_pylist()
