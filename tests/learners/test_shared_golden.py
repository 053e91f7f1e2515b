"""The results of an independent program on real data: order, MI, parents, losses, to the digit.

Needs the folder `shared` beside the checkout; skipped without it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import reference
from golden_sets import LONG, QUICK, golden, split

import sqlbn

DECIMALS = 1e-11
LOSSES = 1e-9


def parents_of(model: sqlbn.Model) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {row["attribute"]: [] for row in model.attributes.to_pylist()}
    for row in model.parents.to_pylist():
        found[row["attribute"]].append(row["parent"])
    return found


def check(shared: Path, name: str, folder: Path) -> None:
    wanted = golden(shared, name)
    names = [a["attribute"] for a in wanted["attributes"]]
    train, test = split(shared, wanted["file"], folder)
    for k in range(wanted["kmax"] + 1):
        with sqlbn.fit(
            train, wanted["target"], "kdb", k=k, columns=names, categorical=names, unseen="smoothed"
        ) as model:
            ranked = sorted(model.attributes.to_pylist(), key=lambda row: row["rank"])
            assert [row["attribute"] for row in ranked] == names
            for row, given in zip(ranked, wanted["attributes"], strict=True):
                assert row["mi"] == pytest.approx(given["mi"], abs=DECIMALS)
            assert parents_of(model) == {n: wanted["parents"][n][:k] for n in names}
            losses = model.evaluate(test).losses
        for loss, value in wanted["test"][f"kdb:{k}"].items():
            assert losses[loss] == pytest.approx(value, abs=LOSSES), (k, loss)


@pytest.mark.parametrize("name", QUICK)
def test_golden(shared: Path, name: str, tmp_path: Path) -> None:
    check(shared, name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_golden_of_larger_sets(shared: Path, name: str, tmp_path: Path) -> None:
    check(shared, name, tmp_path)


@pytest.mark.parametrize("name", ["breast-cancer", "titanic"])
def test_naive_bayes_is_kdb_without_parents(shared: Path, name: str, tmp_path: Path) -> None:
    wanted = golden(shared, name)
    names = [a["attribute"] for a in wanted["attributes"]]
    train, test = split(shared, wanted["file"], tmp_path)
    options = {"columns": names, "categorical": names, "unseen": "smoothed"}
    with sqlbn.fit(train, wanted["target"], "nb", **options) as model:
        losses = model.evaluate(test).losses
    for loss, value in wanted["test"]["kdb:0"].items():
        assert losses[loss] == pytest.approx(value, abs=LOSSES)


# ---- the rule for unseen values: smoothed gives these results, neutral others where it applies


def predictions(model: sqlbn.Model, rows: str) -> list[tuple[float, ...]]:
    scored = model.predict(rows)
    columns = [c for c in scored.column_names if c.startswith("p_")]
    return list(zip(*(scored[c].to_pylist() for c in columns), strict=True))


def values_seen(rows: str, names: list[str]) -> dict[str, Counter[Any]]:
    table = pq.read_table(rows)
    return {name: Counter(table[name].to_pylist()) for name in names}


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)]
)
def test_the_neutral_rule_changes_only_rows_with_unseen_values(
    shared: Path, name: str, tmp_path: Path
) -> None:
    wanted = golden(shared, name)
    names = [a["attribute"] for a in wanted["attributes"]]
    train, test = split(shared, wanted["file"], tmp_path)
    options = {"k": 2, "columns": names, "categorical": names}
    found = []
    for rule in ("neutral", "smoothed"):
        with sqlbn.fit(train, wanted["target"], "kdb", unseen=rule, **options) as model:
            found.append(predictions(model, test))
    seen, rows = values_seen(train, names), pq.read_table(test).to_pylist()
    unseen = [any(row[n] not in seen[n] for n in names) for row in rows]
    changed = [a != b for a, b in zip(*found, strict=True)]
    print(
        f"{name}: {sum(unseen)} of {len(rows)} test rows have unseen values, {sum(changed)} change"
    )
    assert not any(c and not u for c, u in zip(changed, unseen, strict=True))
    assert any(changed) == any(unseen)


def squared_losses(ref: reference.Model, row: tuple[Any, int], kmax: int) -> list[list[float]]:
    """(1 - p(y*))^2 of a row that is left out, by k' and number of attributes."""
    codes, y = row
    n, found = reference.tally(ref, left_out=row), []
    for k in range(kmax + 1):
        joint = reference.prior(ref, n)
        line = [joint]
        for i in ref.order:
            factors = reference.factor(ref, n, i, codes, k, "cell")
            joint = reference.normalised([p * f for p, f in zip(joint, factors, strict=True)])
            line.append(joint)
        found.append([float(1 - p[y]) ** 2 for p in line])
    return found


@pytest.mark.parametrize("name", QUICK)
def test_golden_leave_one_out_and_what_the_neutral_rule_changes(
    shared: Path, name: str, tmp_path: Path
) -> None:
    """Smoothed, the surface is the golden one; neutral, it differs by what rows with a value that
    only they have lose or gain, as brute force finds it for these rows alone."""
    wanted = golden(shared, name)
    names, kmax = [a["attribute"] for a in wanted["attributes"]], wanted["kmax"]
    train, _ = split(shared, wanted["file"], tmp_path)
    options = {"kmax": kmax, "columns": names, "categorical": names}
    sums = []
    for rule in ("neutral", "smoothed"):
        with sqlbn.fit(train, wanted["target"], "skdb", unseen=rule, **options) as model:
            total = float(sum(model.classes["n"].to_pylist()))
            losses = {(r["k"], r["n_attributes"]): r["value"] for r in model.loocv.to_pylist()}
        sums.append({cell: total * value**2 for cell, value in losses.items()})
    for k, line in enumerate(wanted["loocv_rmse"]):
        for length, value in enumerate(line):
            assert losses[k, length] == pytest.approx(value, abs=DECIMALS)
    rows = pq.read_table(train).select([*names, wanted["target"]]).to_pylist()
    seen = values_seen(train, names)
    asked: dict[str, Any] = {"categorical": names, "k": kmax}
    neutral, smoothed = (
        reference.fit(rows, names, wanted["target"], "kdb", unseen=rule, **asked)
        for rule in ("neutral", "smoothed")
    )
    only = [row for row in rows if any(seen[n][row[n]] == 1 for n in names)]
    moved = dict.fromkeys(losses, 0.0)
    for row in only:
        left = neutral.codes(row), neutral.classes.index(row[wanted["target"]])
        pair = [squared_losses(ref, left, kmax) for ref in (neutral, smoothed)]
        for k, length in moved:
            moved[k, length] += pair[0][k][length] - pair[1][k][length]
    print(f"{name}: {len(only)} of {len(rows)} training rows have a value that no other has")
    for cell, value in moved.items():
        assert sums[0][cell] - sums[1][cell] == pytest.approx(value, rel=0, abs=1e-8), cell


def test_every_golden_file_is_checked(shared: Path) -> None:
    files = {path.stem for path in (shared / "golden").glob("*.json")}
    assert files == {*QUICK, *LONG}
