"""Other people's learners on the same folds: scikit-learn's, LightGBM's (extra `lab`), Khiops'.

They get numbers as numbers and texts as categories, each in the way it wants them: LightGBM and
HistGradientBoosting pandas categories, a forest their codes, logistic regression zeros and ones and
standardised numbers. `columns = "codes"` gives them our intervals of equal frequency instead.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlbn.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

# HistGradientBoosting takes no more categories as such.
_HGB_CATEGORIES = 255
_MANY = float("inf")


@dataclass(frozen=True)
class Predicted:
    """Classes, a row of probabilities for each test row, and the seconds of both steps."""

    classes: list[str]
    probabilities: npt.NDArray[np.float64]
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class _Known:
    """A comparator: the package it needs, its own options with their usual values, how it is made.

    `categories` is how many values a column may have to be given as a category rather than a code;
    `dense` where it wants zeros and ones for categories, and standardised numbers.
    """

    package: str
    install: str
    options: Mapping[str, Any]
    make: Callable[[Mapping[str, Any], int, int], Any]
    categories: float = 0
    dense: bool = False


def _forest(options: Mapping[str, Any], seed: int, threads: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(options["trees"], n_jobs=threads, random_state=seed)


def _hgb(options: Mapping[str, Any], seed: int, threads: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed)


def _lightgbm(options: Mapping[str, Any], seed: int, threads: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=options["trees"], verbosity=-1, n_jobs=threads, random_state=seed
    )


def _logistic(options: Mapping[str, Any], seed: int, threads: int) -> Any:
    """Logistic regression by stochastic gradient descent; of degree 2 also products of columns."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    regression = SGDClassifier(loss="log_loss", n_jobs=threads, random_state=seed)
    if options["degree"] == 1:
        return regression
    products = PolynomialFeatures(options["degree"], interaction_only=True, include_bias=False)
    return make_pipeline(products, regression)


def _khiops(options: Mapping[str, Any], seed: int, threads: int) -> Any:
    from khiops.sklearn import KhiopsClassifier

    return KhiopsClassifier(n_trees=options["trees"], n_pairs=options["pairs"])


_SKLEARN = "pip install 'sqlbn[lab]'"
_CODES = {"columns": "raw"}
COMPARATORS: dict[str, _Known] = {
    "forest": _Known("sklearn", _SKLEARN, {"trees": 100, **_CODES}, _forest),
    "hgb": _Known("sklearn", _SKLEARN, _CODES, _hgb, _HGB_CATEGORIES),
    "lightgbm": _Known("lightgbm", _SKLEARN, {"trees": 100, **_CODES}, _lightgbm, _MANY),
    "logistic": _Known("sklearn", _SKLEARN, {"degree": 1, **_CODES}, _logistic, dense=True),
    "khiops": _Known(
        "khiops", "pip install khiops", {"trees": 0, "pairs": 0, **_CODES}, _khiops, _MANY
    ),
}


@dataclass(frozen=True)
class Comparator:
    """A comparator with its options."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def known(self) -> _Known:
        return COMPARATORS[self.name]

    @property
    def takes_codes(self) -> bool:
        """Whether it gets our intervals instead of the values."""
        return bool(self.options["columns"] == "codes")

    def check_installed(self) -> None:
        """An error that says what to install."""
        if importlib.util.find_spec(self.known.package) is None:
            raise OptionError(f"{self.name} needs {self.known.package}: {self.known.install}")

    def predicted(
        self, train: pa.Table, test: pa.Table, target: str, seed: int, threads: int
    ) -> Predicted:
        """Learn from some rows, and the probabilities of others; making frames is not counted."""
        import numpy as np

        self.check_installed()
        rows, others = _frames(train, test, target, self.known)
        labels = np.asarray(train[target].to_pylist(), dtype=str)
        model = self.known.make(self.options, seed, threads)
        begin = time.perf_counter()
        model.fit(rows, labels)
        fitted = time.perf_counter()
        probabilities = np.asarray(model.predict_proba(others), dtype=np.float64)
        done = time.perf_counter()
        classes = [str(c) for c in model.classes_]
        return Predicted(classes, probabilities, fitted - begin, done - fitted)


def comparator(name: str, options: Mapping[str, Any]) -> Comparator:
    """A comparator; an error where there is none of that name, or it has no such option."""
    if name not in COMPARATORS:
        raise OptionError(f"there is {', '.join(COMPARATORS)}", comparator=name)
    usual = COMPARATORS[name].options
    for key, value in options.items():
        if key not in usual:
            raise OptionError(f"{name} has no option {key!r}; there is {', '.join(usual)}")
        if key == "columns" and value not in ("raw", "codes"):
            raise OptionError("give raw or codes", columns=value)
        least = 0 if name == "khiops" else 1
        if key != "columns" and (not isinstance(value, int) or value < least):
            raise OptionError(f"give a whole number, {least} or more", **{key: value})
    return Comparator(name, {**usual, **options})


# -- frames ---------------------------------------------------------------------------------------


def _frames(train: pa.Table, test: pa.Table, target: str, known: _Known) -> tuple[Any, Any]:
    """Attributes as pandas columns; what training had not is a missing value."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    columns: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for i, name in enumerate(n for n in train.column_names if n != target):
        parts = [_plain(table[name]) for table in (train, test)]
        if parts[0].null_count == len(parts[0]):
            continue  # a column without a value, on which HGB fails
        if pa.types.is_floating(parts[0].type):
            values: list[Any] = [part.to_numpy() for part in parts]
        else:
            found = sorted(v for v in pc.unique(parts[0]).to_pylist() if v is not None)
            values = [pd.Categorical(part.to_pandas(), categories=found) for part in parts]
            if len(found) > known.categories and not known.dense:
                values = [np.where(v.codes < 0, np.nan, v.codes) for v in values]
        for kept, value in zip(columns, values, strict=True):
            kept[f"c{i}"] = value  # LightGBM refuses some characters in names
    rows, others = pd.DataFrame(columns[0]), pd.DataFrame(columns[1])
    return _dense(rows, others) if known.dense else (rows, others)


def _dense(rows: Any, others: Any) -> tuple[Any, Any]:
    """Zeros and ones for categories; numbers less their mean over their deviation, 0 if missing."""
    import pandas as pd

    numbers = [name for name in rows.columns if rows[name].dtype.kind == "f"]
    mean, spread = rows[numbers].mean(), rows[numbers].std(ddof=0).replace(0.0, 1.0)
    found = []
    for frame in (rows, others):
        scaled = ((frame[numbers] - mean) / spread).fillna(0.0)
        words = frame.drop(columns=numbers)
        parts = [scaled, pd.get_dummies(words, dtype=float)] if len(words.columns) else [scaled]
        found.append(pd.concat(parts, axis=1).to_numpy())
    return found[0], found[1]


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers and times as doubles, all else as text."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return column.cast(pa.int64()).cast(pa.float64(), safe=False)
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).cast(pa.float64())
    return column.cast(pa.string())
