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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

FLOOR = 1e-15  # of a probability, in the log loss
HGB_CATEGORIES = 255
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


def lightgbm(cell: dict[str, Any]) -> Any:
    """Its defaults."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbosity=-1, n_jobs=cell["threads"], random_state=cell["seed"])


def hist_gradient_boosting(cell: dict[str, Any]) -> Any:
    """Its defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=cell["seed"])


def random_forest(cell: dict[str, Any]) -> Any:
    """Its defaults: 100 trees."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=cell["threads"], random_state=cell["seed"])


# Which package, how it is made, and how many categories a column may have to be given as such.
PEERS: dict[str, tuple[str, Callable[[dict[str, Any]], Any], float]] = {
    "LightGBM": ("lightgbm", lightgbm, float("inf")),
    "HGB": ("sklearn", hist_gradient_boosting, HGB_CATEGORIES),
    "forest": ("sklearn", random_forest, 0),
}


def frames(train: pa.Table, test: pa.Table, target: str, most: float) -> tuple[Any, Any]:
    """Attributes as pandas columns: numbers, categories of the training rows, or their codes."""
    import pandas as pd

    columns: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for i, name in enumerate(n for n in train.column_names if n != target):
        parts = [_plain(table[name]) for table in (train, test)]
        if parts[0].null_count == len(parts[0]):
            continue  # HGB fails on a column without a value
        if pa.types.is_floating(parts[0].type):
            values = [part.to_numpy() for part in parts]
        else:
            known = sorted(v for v in pc.unique(parts[0]).to_pylist() if v is not None)
            values = [pd.Categorical(part.to_pandas(), categories=known) for part in parts]
            if len(known) > most:
                values = [np.where(v.codes < 0, np.nan, v.codes) for v in values]
        for kept, value in zip(columns, values, strict=True):
            kept[f"c{i}"] = value  # LightGBM refuses some characters in names
    return pd.DataFrame(columns[0]), pd.DataFrame(columns[1])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers and times as doubles, all else as text."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return column.cast(pa.int64()).cast(pa.float64(), safe=False)
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).cast(pa.float64())
    return column.cast(pa.string())


def by_peer(train: pa.Table, test: pa.Table, target: str, cell: dict[str, Any]) -> Predictions:
    """Only fit and predict are counted, not the making of the frames."""
    _, made, most = PEERS[cell["by"]]
    rows, others = frames(train, test, target, most)
    labels = np.asarray(train[target].to_pylist(), dtype=str)
    model = made(cell)
    begin = time.perf_counter()
    model.fit(rows, labels)
    fitted = time.perf_counter()
    probabilities = model.predict_proba(others)
    done = time.perf_counter()
    return list(map(str, model.classes_)), probabilities, fitted - begin, done - fitted


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
