"""One cell of the quality benchmark: one learner on one split, in a process of its own.

    python quality_cell.py '{"path": …, "target": …, "rows": …, "seed": …, "by": …, "options": …}'

Prints losses on the held-out third and seconds as JSON; quality.py starts it. Numbers of the file
are numbers and texts are categories for all. Peers get categories as each of them wants it:
LightGBM and HistGradientBoosting as pandas categories (the latter codes where there are more than
255), the forest as codes. A category that training had not is a missing value for them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from sqlbn.lab.comparators import comparator

FLOOR = 1e-15  # of a probability, in the log loss
Predictions = tuple[list[str], np.ndarray, float, float]  # classes, a row each, seconds


def split(path: Path, target: str, rows: int | None, seed: int) -> tuple[pa.Table, pa.Table]:
    """Two thirds to learn from and a third held out; classes as text, no row without a class."""
    data = pa.csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)
    place = data.schema.get_field_index(target)
    if place < 0:
        raise SystemExit(f"{path} has no column {target!r}")
    data = data.set_column(place, target, data[target].cast(pa.string()))
    data = data.filter(pc.is_valid(data[target]))
    chosen = np.random.default_rng(seed).permutation(len(data))[:rows]
    held_out = len(chosen) // 3
    return data.take(chosen[held_out:]), data.take(chosen[:held_out])


def by_sqlbn(train: pa.Table, test: pa.Table, target: str, cell: dict[str, Any]) -> Predictions:
    """From and to files, as users have them; writing the files is not counted."""
    import sqlbn

    with tempfile.TemporaryDirectory() as scratch:
        learned, scored = Path(scratch) / "train.parquet", Path(scratch) / "test.parquet"
        pq.write_table(train, learned)
        pq.write_table(test.drop_columns([target]), scored)
        begin = time.perf_counter()
        with sqlbn.fit(learned, target, threads=cell["threads"], **cell["options"]) as model:
            fitted = time.perf_counter()
            predicted = model.predict(scored)
            done = time.perf_counter()
            classes = model.classes
        columns = [predicted[name].to_numpy() for name in classes["column"].to_pylist()]
    return classes["class"].to_pylist(), np.stack(columns, 1), fitted - begin, done - fitted


# Contestants by the names of the table, and what they are called in `sqlbn bench`.
PEERS = {"LightGBM": "lightgbm", "HGB": "hgb", "forest": "forest"}


def by_peer(train: pa.Table, test: pa.Table, target: str, cell: dict[str, Any]) -> Predictions:
    """With their defaults; only fit and predict are counted, not the making of the frames."""
    found = comparator(PEERS[cell["by"]], {}).predicted(
        train, test, target, cell["seed"], cell["threads"]
    )
    return found.classes, found.probabilities, found.fit_seconds, found.predict_seconds


def auc(scores: np.ndarray, is_class: np.ndarray) -> float:
    """The probability that a row of the class is above one of another, a tie counting half."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    inside = int(is_class.sum())
    above = ranks[is_class].sum() - inside * (inside + 1) / 2
    return float(above / (inside * (len(scores) - inside)))


def losses(classes: list[str], probabilities: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Of the true class; one that training had not has the probability 0.

    AUC of one class against the rest, weighted by the share of the class in the held-out rows.
    """
    if not np.isfinite(probabilities).all():
        raise SystemExit("some probabilities are not finite")
    codes = {name: code for code, name in enumerate(classes)}
    true = np.array([codes.get(name, -1) for name in truth])
    right = np.where(true < 0, 0.0, probabilities[np.arange(len(true)), true])
    shares = {k: np.mean(true == k) for k in range(len(classes))}
    areas = [
        (auc(probabilities[:, k], true == k), share) for k, share in shares.items() if 0 < share < 1
    ]
    weighted = sum(a * s for a, s in areas) / sum(s for _, s in areas) if areas else float("nan")
    return {
        "rmse": float(np.sqrt(np.mean((1 - right) ** 2))),
        "log_loss": float(-np.mean(np.log(np.clip(right, FLOOR, None)))),
        "error": float(np.mean(probabilities.argmax(1) != true)),
        "auc": float(weighted),
    }


def main() -> None:
    """Learn, predict, tell."""
    warnings.simplefilter("ignore")
    cell = json.loads(sys.argv[1])
    target = cell["target"]
    train, test = split(Path(cell["path"]), target, cell["rows"], cell["seed"])
    by = by_peer if cell["by"] in PEERS else by_sqlbn
    classes, probabilities, fit_seconds, predict_seconds = by(train, test, target, cell)
    figures = losses(classes, probabilities, np.array(test[target].to_pylist()))
    seconds = {"fit_seconds": fit_seconds, "predict_seconds": predict_seconds}
    print(json.dumps({"train": len(train), "test": len(test), **figures, **seconds}))


if __name__ == "__main__":
    main()
