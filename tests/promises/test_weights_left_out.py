"""Leave-one-out takes out one unit of a frequency, and the whole weight of an importance.

Frequencies (whole numbers unless told): a row of weight w stands for w equal rows. Importances: it
is one row that matters w. Brute force retrains without the row: reference.py, reference_ande.py.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference
import reference_ande
from conftest import Run
from limited import limit
from loo_cases import loocv

import sqlbn
from sqlbn.errors import ColumnError, OptionError, StoreError

NAMES = ["a", "b", "c", "one"]
PARTS = (0.25, 0.5, 1.0, 2.75)
WHOLE = (1, 1, 2, 3)


def table(seed: int, weights: tuple[float, ...] | None = PARTS, size: int = 45) -> pa.Table:
    """Few values and many; `one` has values that only one row has."""
    rng, rows = random.Random(seed), []
    for i in range(size):
        y = rng.choice("pqqr")
        row = {"a": rng.choice("uvw") + (y if rng.random() < 0.4 else "")}
        row |= {"b": rng.choice("xyz"), "c": rng.choice([y, "p", "s"])}
        row |= {"one": f"i{i}" if rng.random() < 0.3 else rng.choice("kl"), "y": y}
        rows.append({**row, **({"w": rng.choice(weights)} if weights else {})})
    return pa.Table.from_pylist(rows)


def surface(data: pa.Table, **options: Any) -> dict[str, dict[tuple[int, int], float]]:
    with sqlbn.fit(data, "y", keep=["one"], **options) as model:
        return loocv(model)


def same(got: Any, wanted: Any) -> None:
    assert got.keys() == wanted.keys()
    for loss, cells in got.items():
        assert cells == pytest.approx(wanted[loss], rel=0, abs=1e-9), loss


def all_weights(data: pa.Table, value: float) -> pa.Table:
    return data.append_column("w", [[value] * data.num_rows])


# -- what is left out -------------------------------------------------------------------------


@pytest.mark.parametrize("unseen", ["neutral", "smoothed"])
@pytest.mark.parametrize("learner", [{"kmax": 2}, {"learner": "a1de", "select": "attributes"}])
def test_all_weights_a_hundredth_are_rows_that_matter_alike(
    learner: dict[str, Any], unseen: str
) -> None:
    """Every count is a hundredth, and with it m: nothing else changes."""
    data = table(1, None)
    wanted = surface(data, m=1.0, unseen=unseen, **learner)
    same(surface(all_weights(data, 0.01), weight="w", m=0.01, unseen=unseen, **learner), wanted)
    heavy = {"weight": "w", "weight_kind": "importance", "m": 50.0, "unseen": unseen}
    same(surface(all_weights(data, 50), **heavy, **learner), wanted)


@pytest.mark.parametrize("learner", [{"kmax": 2}, {"learner": "a2de-s", "select": "attributes"}])
def test_frequencies_are_equal_rows(learner: dict[str, Any]) -> None:
    data = table(2, WHOLE)
    rows = [row for row in data.to_pylist() for _ in range(row["w"])]
    repeated = pa.Table.from_pylist(rows).drop_columns(["w"])
    same(surface(data, weight="w", **learner), surface(repeated, **learner))


WAYS = {"dense": 1 << 21, "dense, then sparse": 40, "sparse": 0}


@pytest.mark.parametrize("backoff", ["cell", "parents-both"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("kind", "weights"), [("importance", WHOLE), (None, PARTS)])
def test_products_against_retraining(
    monkeypatch: pytest.MonkeyPatch, kind: str | None, weights: Any, way: str, backoff: str
) -> None:
    limit(monkeypatch, loo_dense_values=WAYS[way])
    for seed, loss, unseen in ((3, "log_loss", "neutral"), (4, "mcc", "smoothed")):
        data = table(seed, weights)
        how: dict[str, Any] = {"weight": "w", "backoff": backoff, "weight_kind": kind}
        how |= {"unseen": unseen, "m": 0.5}
        ref = reference.fit(data.to_pylist(), NAMES, "y", learner="kdb", k=2, **how)
        assert ref.weight_kind == "importance"
        wanted = reference.loocv_surfaces(ref, 2)
        for name, cells in surface(data, kmax=2, loss=loss, **how).items():
            for (k, n), value in cells.items():
                assert value == pytest.approx(wanted[name][k][n], rel=0, abs=1e-10), (name, k, n)


@pytest.mark.parametrize("unseen", ["neutral", "smoothed"])
@pytest.mark.parametrize("n", [1, 2])
def test_averages_against_retraining(n: int, unseen: str) -> None:
    for seed, loss, subsumption in ((5, "brier", True), (6, "zero_one", False)):
        data = table(seed, size=30)
        how: dict[str, Any] = {"weight": "w", "unseen": unseen, "n": n, "weighted": True}
        how |= {"subsumption": True, "min_count": 1} if subsumption else {}
        ref = reference_ande.fit(data.to_pylist(), NAMES, "y", **how)
        wanted = reference_ande.loocv_surfaces(ref)
        found = surface(data, learner="ande", select="attributes", loss=loss, **how)
        for name, cells in found.items():
            for (_, length), value in cells.items():
                assert value == pytest.approx(wanted[name][0][length], rel=0, abs=1e-10), name


@pytest.mark.parametrize("backoff", ["cell", "parents-both"])
@pytest.mark.parametrize(("kind", "weights"), [("frequency", WHOLE), ("importance", PARTS)])
def test_trials_in_arrays_are_those_in_the_database(
    monkeypatch: pytest.MonkeyPatch, kind: str, weights: Any, backoff: str
) -> None:
    found = []
    how = {"discretise": "auto", "encodings": ["ef:3", "mdl", "modl"], "kmax": 2}
    for most in (1 << 22, 0):
        limit(monkeypatch, loo_array_estimates=most)
        options = {"weight": "w", "weight_kind": kind, "backoff": backoff, "keep": NAMES}
        with sqlbn.fit(table(7, weights), "y", **how, **options) as model:
            values = f"SELECT value FROM {model._workspace.table('encodings')}"
            found.append([value for (value,) in model._session.rows(values)])
    assert found[0] == pytest.approx(found[1], abs=1e-12)


def test_many_rows_in_any_order_of_weights() -> None:
    """Equal weights for a while, then others: columns of an engine that change their form."""
    rng = random.Random(8)
    size = 5000
    y = [rng.choice("pq") for _ in range(size)]
    data = {name: [rng.choice("ab" + c) for c in y] for name in ("u", "v")}
    weights = [0.5] * (size // 2) + [rng.choice(PARTS) for _ in range(size // 2)]
    whole = pa.table({**data, "y": y, "w": weights})
    for options in ({"kmax": 1}, {"learner": "a1de-s", "select": "attributes"}):
        for loss in ("rmse", "mcc"):
            turned = whole.take(list(reversed(range(size))))
            how = {"weight": "w", "loss": loss, **options}
            with sqlbn.fit(whole, "y", **how) as one, sqlbn.fit(turned, "y", **how) as other:
                same(loocv(one), loocv(other))


# -- which kind -------------------------------------------------------------------------------


def test_the_kind_is_told_by_the_weights() -> None:
    for weights, kind in ((WHOLE, "frequency"), (PARTS, "importance"), ((0, 1.0), "frequency")):
        with sqlbn.fit(table(1, weights), "y", "nb", weight="w") as model:
            assert model.meta["weight_kind"] == kind
    with sqlbn.fit(table(1, None), "y", "nb") as model:
        assert not model.meta["weight_kind"]


def test_what_is_refused() -> None:
    with pytest.raises(
        ColumnError, match=r"'w': \d+ rows have a weight that is not a whole number"
    ):
        sqlbn.fit(table(1), "y", "nb", weight="w", weight_kind="frequency")
    with pytest.raises(OptionError, match="requires weight"):
        sqlbn.fit(table(1), "y", "nb", weight_kind="importance")
    with pytest.raises(OptionError, match="choose frequency or importance"):
        sqlbn.fit(table(1), "y", "nb", weight="w", weight_kind="heavy")


def test_update_forget_merge_and_like_keep_the_kind() -> None:
    whole, parts = table(1, WHOLE), table(2, PARTS)
    with (
        sqlbn.fit(whole, "y", "nb", weight="w", keep=["one"]) as counted,
        sqlbn.fit(whole, "y", "nb", weight="w", keep=["one"], weight_kind="importance") as model,
    ):
        with pytest.raises(ColumnError, match="fit with weight_kind='importance'"):
            counted.update(parts)
        with pytest.raises(StoreError, match="'w' as frequency and importance"):
            counted.merge(model)
        with pytest.raises(ColumnError, match="not a whole number"):
            sqlbn.fit(parts, "y", like=counted)
        with sqlbn.fit(whole, "y", like=model) as other:
            assert other.meta["weight_kind"] == "importance"
        model.update(parts)
        assert model.meta["weight_kind"] == "importance"
        model.forget(parts)
        assert model.meta["weight_kind"] == "importance"


def test_the_program(run: Run, tmp_path: Path) -> None:
    pq.write_table(table(1, WHOLE), tmp_path / "t.parquet")
    words = ("t.parquet", "-t", "y", "-l", "kdb", "--weight", "w", "--weight-kind")
    done = run("fit", *words, "importance")
    assert done.returncode == 0, done.stderr
    assert "weights: 'w', importance: a row of weight w is one row that matters w" in done.stdout
    done = run("fit", *words, "heavy", "--replace")
    assert (done.returncode, done.stdout) == (1, "")
