"""Every learner finds the same model with Spark as with DuckDB."""

from pathlib import Path
from typing import Any

import pytest
from same_model import TARGET, assert_same, assert_same_rows, both, write_lake

pytest.importorskip("pyspark", reason="pip install 'sqlbn[spark]'")

CASES: dict[str, dict[str, Any]] = {
    "nb": {},
    "nb-weight": {"learner": "nb", "weight": "w"},
    "tan": {},
    "kdb": {"k": 2},
    "skdb": {"kmax": 2},
    "skdb-mcc": {"learner": "skdb", "kmax": 1, "loss": "mcc", "weight": "w"},
    "skdb-zero_one": {"learner": "skdb", "kmax": 1, "loss": "zero_one", "loocv_sample": 100},
    "skdb-log_loss": {"learner": "skdb", "kmax": 1, "loss": "log_loss", "select": "attributes"},
    "skdb-brier": {"learner": "skdb", "kmax": 1, "loss": "brier", "structure_sample": 100},
    "kdb-bound": {"learner": "kdb", "k": 1, "bound": "normal", "block": 40},
    "a1de": {},
    "a2de-sw": {"min_count": 5, "attributes": 5},
    "a1de-select": {"learner": "a1de-s", "select": "attributes", "min_count": 5},
    "a1de-mcc": {
        "learner": "a1de",
        "select": "attributes",
        "loss": "mcc",
        "loocv_sample": 150,
        "weight": "w",
    },
    "fan": {},
    "superparent": {},
    "fanc": {},
    "spc": {"superparent": "auto"},
    "spcr": {},
    "tc": {"parents_from_first": 3},
    "collection": {"parents": {"select": [[], ["a.b"]]}},
    "snb": {},
    "hgc": {},
    "vfbn1": {"search": {"block": 100}},
    "vfbn2": {"search": {"block": 100}},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_lake(tmp_path_factory.mktemp("lake"))


@pytest.mark.parametrize("case", CASES)
def test_same_model(case: str, lake: str) -> None:
    options = {"learner": case, **CASES[case]}
    with both(lake, **options) as (one, other):
        assert_same(one, other)
        assert_same_rows(one.predict(lake), other.predict(lake), "predictions")
