"""The results of an independent program on real data: order, MI, parents, losses, to the digit.

Needs the folder `shared` beside the checkout; skipped without it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlbn

DECIMALS = 1e-11
LOSSES = 1e-9
QUICK = ("breast-cancer", "car", "led7", "solar-flare2", "titanic", "vote")
LONG = ("adult", "audiology", "connect-4", "mushroom", "nettalk-window7")
# ../shared/golden/README.md: the test rows, by their number in file order.
IS_TEST = "(i * 2654435761) % 4294967296 < 1431655765"


def golden(shared: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "golden" / f"{name}.json").read_text())
    return found


def split(shared: Path, file: str, folder: Path) -> tuple[str, str]:
    """Training and test part as files."""
    source = str(shared / "data" / file)
    train, test = str(folder / "train.parquet"), str(folder / "test.parquet")
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE numbered AS "
            "SELECT *, file_row_number AS i FROM read_parquet($1, file_row_number = true)",
            [source],
        )
        columns = [row[0] for row in con.execute("DESCRIBE numbered").fetchall()]
        ours = ", ".join(c for c in ("i", "file_row_number") if c in columns)
        for path, condition in ((train, f"NOT ({IS_TEST})"), (test, IS_TEST)):
            con.execute(
                f"COPY (SELECT * EXCLUDE ({ours}) FROM numbered WHERE {condition} ORDER BY i) "
                f"TO '{path}'"
            )
    return train, test


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


def test_every_golden_file_is_checked(shared: Path) -> None:
    files = {path.stem for path in (shared / "golden").glob("*.json")}
    assert files == {*QUICK, *LONG}
