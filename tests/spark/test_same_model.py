"""Every learner finds the same model with Spark as with DuckDB."""

from pathlib import Path
from typing import Any

import pytest
from same_model import SPARK, TARGET, assert_same, assert_same_rows, both, hostile_rows, write_lake
from spark_cluster import Cluster

import sqlbn
from sqlbn import networks
from sqlbn.engines.limits import Limits
from sqlbn.errors import OptionError

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
    "eskdb": {"learner": "eskdb", "kmax": 1, "members": 2, "weight": "w"},
    "kdb-bound": {"learner": "kdb", "k": 1, "bound": "normal", "block": 40},
    "skdb-raced": {
        "learner": "skdb",
        "kmax": 2,
        "limits": Limits(
            race_rows=60, race_least_parts=2, race_dearer=0.1, race_cell=0.0, loo_few_estimates=0
        ),
    },
    "skdb-mixed": {"learner": "skdb", "kmax": 2, "smoothing": "auto"},
    "kdb-mixed": {"learner": "kdb", "k": 2, "smoothing": "hierarchical"},
    "kdb-weighted": {"learner": "kdb", "k": 2, "smoothing": "auto", "weights": "auto"},
    "eskdb-weighted": {"learner": "eskdb", "kmax": 1, "members": 2, "weights": "levels"},
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
    "mdl": {"learner": "nb", "discretise": "mdl"},
    "modl": {"learner": "nb", "discretise": "modl", "weight": "w"},
    "auto": {"learner": "nb", "discretise": "auto", "encodings": "ef:2,ef:5,mdl"},
}


pytestmark = pytest.mark.usefixtures("on_cluster")


@pytest.fixture(scope="module")
def on_cluster(cluster: Cluster) -> None:
    """Rows are read by the workers of the standalone cluster."""
    SPARK["master"] = cluster.url


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_lake(tmp_path_factory.mktemp("lake"))


@pytest.mark.parametrize("case", CASES)
def test_same_model(case: str, lake: str) -> None:
    options = {"learner": case, **CASES[case]}
    with both(lake, **options) as (one, other):
        assert_same(one, other)
        assert_same_rows(one.predict(lake), other.predict(lake), "predictions")


def test_cut_points_of_a_sample(lake: str) -> None:
    with both(lake, "nb", limits=Limits(quantile_rows=90)) as (one, other):
        assert_same(one, other)


def test_cells_of_columns_with_too_many_values(lake: str) -> None:
    few = Limits(value_class_share=1e-9, partition_cells=20, partition_cells_least=20)
    with both(lake, "nb", discretise="mdl", weight="w", limits=few) as (one, other):
        assert_same(one, other)


def test_many_categories_are_joined(tmp_path: Path) -> None:
    rows = hostile_rows(330)
    numbers = [f"value {i % 97}" for i in range(rows.num_rows)]
    with both(rows.append_column("many", [numbers]), "nb") as (one, other):
        assert_same(one, other)


@pytest.mark.parametrize("learner", ["kdb", "vfbn2"])
def test_same_folds(learner: str, lake: str) -> None:
    options = {"search": {"block": 100}} if learner == "vfbn2" else {"weight": "w"}
    one, other = (
        sqlbn.evaluate(lake, TARGET, learner, folds=2, **options, **engine)
        for engine in ({}, SPARK)
    )
    assert one.confusion == other.confusion
    assert other.losses == pytest.approx(one.losses, rel=1e-9, nan_ok=True)


def test_same_curve(lake: str) -> None:
    one, other = (
        sqlbn.curve(lake, TARGET, ["nb"], [100], repeats=1, **engine) for engine in ({}, SPARK)
    )
    assert other[0].losses[0] == pytest.approx(one[0].losses[0], rel=1e-9, nan_ok=True)


def test_a_stored_model_lives_on(lake: str, tmp_path: Path) -> None:
    more = write_lake(tmp_path, 60, seed=9)
    for name, engine in (("one", {}), ("other", SPARK)):
        store = tmp_path / f"{name}.duckdb"
        sqlbn.fit(lake, TARGET, "kdb", store=store, name="m", **engine).close()
        sqlbn.update(store, "m", more, **engine)
        sqlbn.forget(store, "m", str(tmp_path / "part 0.parquet"), **engine)
    with (
        sqlbn.load(tmp_path / "one.duckdb", "m") as one,
        sqlbn.load(tmp_path / "other.duckdb", "m") as other,
    ):
        assert_same(one, other)


def test_same_network_without_a_class(lake: str, tmp_path: Path) -> None:
    scores = []
    for name, engine in (("one", {}), ("other", SPARK)):
        store = tmp_path / f"{name}.duckdb"
        networks.learn(lake, "hgc", store=store, name="m", exclude=["w"], **engine).close()
        found = networks.score(lake, store=store, name="m", **engine)
        scores.append((found.log_likelihood, found.rows, found.arcs))
    assert scores[1] == pytest.approx(scores[0], rel=1e-9)


def test_same_ranking(lake: str) -> None:
    one, other = (
        sqlbn.rank(lake, TARGET, 3, bound="normal", block=100, tau=0.1, **engine)
        for engine in ({}, SPARK)
    )
    assert [(a.attribute, a.kind) for a in one.attributes] == [
        (a.attribute, a.kind) for a in other.attributes
    ]
    assert (one.rows, one.reason, one.checks) == (other.rows, other.reason, other.checks)


def test_what_needs_the_order_of_rows_is_refused(lake: str) -> None:
    with pytest.raises(OptionError, match="stream goes through the rows in their order"):
        sqlbn.stream(lake, TARGET, **SPARK)
    with pytest.raises(OptionError, match="network follow goes through the rows in their order"):
        networks.follow(lake, window=500, **SPARK)
