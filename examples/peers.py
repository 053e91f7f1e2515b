"""What the comparisons in this folder share: the split, the measures, and the other programs.

    python examples/peers.py FILE COLUMN

fits Khiops to all rows of a Parquet file and prints the seconds as JSON (for the benchmarks).
Khiops (`pip install khiops`) and LightGBM (`pip install lightgbm`) are imported where they are
asked for; nothing else here needs them. Khiops' Python package calls a program of its own, which
reads text: writing that text is in its seconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqlbn

THREADS = 2
warnings.simplefilter("ignore", sqlbn.SqlbnWarning)  # columns left out are expected, in many sets
SMALLEST = 1e-15  # no test row counts as less likely, whoever said so


@dataclass
class Scored:
    """Probabilities of the test rows, and what a program says of the variables."""

    classes: list[str]
    probabilities: np.ndarray  # row x class
    seconds: float  # of the fit
    levels: dict[str, float] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Halves:
    """The training and test rows of a set, the same for everybody."""

    name: str
    target: str
    train: pa.Table
    test: pa.Table

    @classmethod
    def of(cls, path: Path, target: str | None = None) -> Halves:
        """A third of the rows is held out, by a hash of the row's number."""
        table = pq.read_table(path)
        target = target or table.column_names[-1]
        table = table.filter(table[target].is_valid())
        held_out = (np.arange(len(table), dtype=np.uint64) * 2654435761) % 2**32 < 1431655765
        return cls(path.stem, target, table.filter(~held_out), table.filter(held_out))

    @property
    def attributes(self) -> list[str]:
        """All columns but the target."""
        return [name for name in self.train.column_names if name != self.target]

    @property
    def numbers(self) -> list[str]:
        """Attributes that are numbers: everybody takes these, and only these, as such."""
        types = {name: self.train.schema.field(name).type for name in self.attributes}
        return [n for n, t in types.items() if pa.types.is_integer(t) or pa.types.is_floating(t)]

    @property
    def truth(self) -> np.ndarray:
        """The classes of the test rows."""
        return labels(self.test[self.target])


def labels(column: pa.ChunkedArray) -> np.ndarray:
    """Classes as text."""
    return np.array([str(value) for value in column.to_pylist()], dtype=object)


def paths_of(folder: Path, sets: str | None) -> list[Path]:
    """The Parquet files of a folder, or the named ones, small ones first."""
    found = {path.stem: path for path in folder.glob("*.parquet")}
    unknown = [name for name in sets.split(",") if name not in found] if sets else []
    if unknown:
        raise SystemExit(f"there is no {unknown[0]}.parquet in {folder}")
    chosen = [found[name] for name in sets.split(",")] if sets else list(found.values())
    return sorted(chosen, key=lambda path: path.stat().st_size)


# -- measures --------------------------------------------------------------------------------------


def of_truth(scored: Scored, truth: np.ndarray) -> np.ndarray:
    """Each row's probability of its true class; 0 for a class that was not in training."""
    place = {name: at for at, name in enumerate(scored.classes)}
    at = np.array([place.get(name, -1) for name in truth])
    return np.where(at < 0, 0.0, scored.probabilities[np.arange(len(truth)), at])


def log_loss(scored: Scored, truth: np.ndarray) -> float:
    """Mean of -log of the true class's probability, in nats."""
    return float(-np.log(np.maximum(of_truth(scored, truth), SMALLEST)).mean())


def rmse(scored: Scored, truth: np.ndarray) -> float:
    """Root of the mean square of 1 - the true class's probability."""
    return float(np.sqrt(np.square(1.0 - of_truth(scored, truth)).mean()))


def auc(scored: Scored, truth: np.ndarray) -> float:
    """That of the second class of two, else the mean of each class against the rest."""
    wanted = scored.classes[1:] if len(scored.classes) == 2 else scored.classes
    found = []
    for name in wanted:
        score, is_it = scored.probabilities[:, scored.classes.index(name)], truth == name
        if 0 < is_it.sum() < len(is_it):
            found.append(_ranked(score, is_it))
    return float(np.mean(found)) if found else float("nan")


def _ranked(score: np.ndarray, is_it: np.ndarray) -> float:
    """How often a row of the class is before one that is not; a tie counts half."""
    _, place, many = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(many) - (many - 1) / 2)[place]
    ours = int(is_it.sum())
    return float((rank[is_it].sum() - ours * (ours + 1) / 2) / (ours * (len(is_it) - ours)))


# -- programs --------------------------------------------------------------------------------------


def probabilities_of(model: sqlbn.Model, test: pa.Table) -> tuple[list[str], np.ndarray]:
    """Classes, and a column of probabilities each, from a model of sqlbn."""
    found, classes = model.predict(test), model.classes
    assert isinstance(found, pa.Table)
    columns = [found[name].to_numpy() for name in classes["column"].to_pylist()]
    return [str(name) for name in classes["class"].to_pylist()], np.column_stack(columns)


def by_sqlbn(halves: Halves, learner: str, **options: Any) -> Scored:
    """Fit and score with sqlbn, numbers taken as numbers however few they are."""
    started = time.perf_counter()
    with sqlbn.fit(
        halves.train, halves.target, learner, numeric=halves.numbers, threads=THREADS, **options
    ) as model:
        taken = time.perf_counter() - started
        return Scored(*probabilities_of(model, halves.test), taken)


def installed(package: str) -> bool:
    """Whether a peer can be imported; says so in one line where it cannot."""
    if find_spec(package) is not None:
        return True
    print(f"{package} is not installed: pip install {package}", file=sys.stderr)
    return False


def _khiops(table: pa.Table, target: str) -> tuple[Any, float]:
    """Its classifier without trees and pairs, and the seconds of the fit."""
    os.environ.setdefault("KHIOPS_PROC_NUMBER", str(THREADS))
    # Its program lies beside the interpreter; an environment that is not activated hides it.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    from khiops.sklearn import KhiopsClassifier

    frame, truth = table.drop([target]).to_pandas(), labels(table[target])
    model = KhiopsClassifier(n_trees=0, n_pairs=0, n_features=0)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame, truth)
    return model, time.perf_counter() - started


def by_khiops(halves: Halves) -> Scored:
    """Fit and score with Khiops; levels and parts of all variables from its report."""
    model, taken = _khiops(halves.train, halves.target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        probabilities = model.predict_proba(halves.test.drop([halves.target]).to_pandas())
    said = model.model_report_.preparation_report.variables_statistics
    return Scored(
        [str(name) for name in model.classes_],
        np.asarray(probabilities, dtype=float),
        taken,
        {variable.name: float(variable.level or 0.0) for variable in said},
        {variable.name: _parts(variable) for variable in said},
    )


def _parts(variable: Any) -> int:
    grid = variable.data_grid
    return len(grid.dimensions[0].partition) if grid is not None and variable.level else 1


def by_lightgbm(halves: Halves) -> Scored:
    """Fit and score with LightGBM as it comes, categories as such."""
    import lightgbm

    train, test = _frames(halves, [n for n in halves.attributes if n not in halves.numbers])
    names, truth = np.unique(labels(halves.train[halves.target]), return_inverse=True)
    model = lightgbm.LGBMClassifier(n_jobs=THREADS, verbose=-1, random_state=1)
    started = time.perf_counter()
    model.fit(train, truth)
    taken = time.perf_counter() - started
    return Scored([str(n) for n in names], np.asarray(model.predict_proba(test)), taken)


def _frames(halves: Halves, categorical: Sequence[str]) -> tuple[Any, Any]:
    """Training and test rows as data frames whose categories are those of training."""
    train = halves.train.drop([halves.target]).to_pandas()
    test = halves.test.drop([halves.target]).to_pandas()
    for name in categorical:
        train[name] = train[name].astype("category")
        test[name] = test[name].astype(train[name].dtype)
    # LightGBM refuses some characters in names.
    columns = [f"x{at}" for at in range(len(train.columns))]
    return train.set_axis(columns, axis=1), test.set_axis(columns, axis=1)


def main() -> None:
    """Seconds of Khiops on a whole file."""
    path, target = sys.argv[1:]
    if not installed("khiops"):
        raise SystemExit(1)
    print(json.dumps({"seconds": _khiops(pq.read_table(path), target)[1]}))


if __name__ == "__main__":
    main()
