"""Delta and Iceberg tables on Spark: the rows, and the model, that DuckDB finds in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lake_tables import (
    BASKET,
    Rows,
    add,
    basket_table,
    baskets,
    field,
    hand_made_delta,
    in_order,
    mapped,
    place,
    with_delete_file,
)

import sqlbn
from sqlbn.data import open_source
from sqlbn.engines import Session, Settings
from sqlbn.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIELDS = [
    field("shop", "string"),
    field("day", "date"),
    field("floor", "integer"),
    field("weight", "double"),
    field("kind", "string"),
]


def read(session: SparkSession | None, data: str, **options: Any) -> tuple[Rows, list[Any]]:
    """The rows of a source and the numbers of its rows."""
    chosen = {"engine": "spark", "session": session} if session is not None else {}
    with Session(Settings(**chosen)) as engine:
        source = open_source(engine, data, **options)
        items = ", ".join(f'"{name}"' for name in source.columns)
        rows = engine.row_engine.arrow(
            f"SELECT {items} FROM {source.filtered_relation}"
        ).to_pylist()
        if source.row_key is None:
            return in_order(rows), []
        keyed = f"SELECT {source.row_key} AS k FROM {source.numbered_relation} {source.where_sql}"
        return in_order(rows), sorted(row[0] for row in engine.row_engine.rows(keyed))


def model_of(data: str, **options: Any) -> dict[str, Rows]:
    with sqlbn.fit(data, "kind", "nb", **options) as model:
        names = ("attributes", "cuts", "categories", "counts")
        found = {name: model._table(name, "ALL").to_pylist() for name in names}
        return {**found, "source": [{"is": model.meta["source"]}]}


@pytest.fixture
def delta() -> Any:
    return pytest.importorskip("deltalake", reason="deltalake is not installed")


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    sql = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg is not installed")
    made = sql.SqlCatalog("lake", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}")
    made.create_namespace("shop")
    yield made
    made.engine.dispose()


def test_a_delta_table_by_its_files(delta: Any, spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "my table"
    parts = ["shop"]
    delta.write_deltalake(folder, basket_table(baskets(9)), partition_by=parts)
    delta.write_deltalake(folder, basket_table(baskets(40)), mode="overwrite", partition_by=parts)
    assert read(spark, str(folder)) == read(None, str(folder))
    assert read(spark, f"delta:{folder}@0")[0] == in_order(baskets(9))
    wanted = [r for r in baskets(40) if r["shop"] == "50%" and r["floor"] == 7]
    assert read(spark, str(folder), where="shop = '50%' AND floor = 7")[0] == in_order(wanted)
    assert model_of(str(folder), engine="spark", session=spark) == model_of(str(folder))


def test_deleted_rows_of_a_delta_table(delta: Any, spark: SparkSession, tmp_path: Path) -> None:
    rows = basket_table(baskets(20)).drop_columns(["shop"])
    files = [
        add(f"shop={shop}/x [1].parquet", rows, {"shop": shop}, gone)
        for shop, gone in (("a b", [1, 3, 19]), ("50%", []))
    ]
    options: dict[str, Any] = {"features": ["deletionVectors"], "partitions": ["shop"]}
    folder = str(hand_made_delta(tmp_path / "t", FIELDS, files, **options))
    found, numbers = read(spark, folder)
    assert len(found) == len(numbers) == 37
    assert (found, numbers) == read(None, folder)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_that_files_call_otherwise(
    delta: Any, spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    names = ["a.`b`", "_metadata"]
    stored = pa.schema(
        [
            pa.field("col.`1`", pa.int32(), metadata={"PARQUET:field_id": "1"}),
            pa.field("_metadata", pa.int64(), metadata={"PARQUET:field_id": "9"}),
        ]
    )
    rows = pa.table([pa.array([1, 2], pa.int32()), pa.array([7, 8])], schema=stored)
    folder = hand_made_delta(
        tmp_path / "t",
        [
            mapped(names[0], "long", 1, "col.`1`"),
            mapped(names[1], "long", 9, "_metadata"),
            mapped("new", "double", 3, "col-3"),
        ],
        [add("f.parquet", rows, {}, []), add("g.parquet", rows, {}, [])],
        features=["columnMapping", "typeWidening"],
        settings={"delta.columnMapping.mode": mode},
    )
    wanted = [{names[0]: x, names[1]: x + 6, "new": None} for x in (1, 2)] * 2
    assert read(spark, str(folder))[0] == in_order(wanted)
    assert read(spark, str(folder)) == read(None, str(folder))


def test_an_iceberg_table_by_its_files(catalog: Any, spark: SparkSession) -> None:
    table = catalog.create_table("shop.t", BASKET)
    assert read(spark, place(table)) == ([], [])
    table.append(basket_table(baskets(25)))
    with table.update_schema() as change:
        change.rename_column("shop", "place")
        change.delete_column("floor")
    more = basket_table(baskets()[25:]).drop_columns(["floor"])
    table.append(more.rename_columns(["place", "day", "weight", "kind"]))
    assert read(spark, place(table)) == read(None, place(table))
    assert len(read(spark, place(table))[0]) == 60


def test_tables_that_need_more_than_files(catalog: Any, spark: SparkSession) -> None:
    table = catalog.create_table("shop.t", BASKET)
    table.append(basket_table(baskets(5)))
    with pytest.raises(TableError, match=r"it has delete files; .*spark\.jars\.packages=org\.apa"):
        read(spark, with_delete_file(table, {"pos": [2]}))
    with pytest.raises(TableError, match=r"equality deletes.*spark\.jars\.packages=org\.apache"):
        read(spark, with_delete_file(table, {"kind": ["plum"]}))


def test_files_without_field_ids(catalog: Any, spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(basket_table(baskets(5)), tmp_path / "old.parquet")
    table = catalog.create_table("shop.t", BASKET)
    table.add_files([f"file://{tmp_path / 'old.parquet'}"])
    with pytest.raises(TableError, match=r"old\.parquet' has no field ids; to let Spark read it"):
        read(spark, place(table))


def test_the_source_of_the_cluster_comes_first(
    delta: Any, spark: SparkSession, tmp_path: Path
) -> None:
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Reader(DataSourceReader):
        def __init__(self, options: Any) -> None:
            self.options = options

        def read(self, partition: Any) -> Any:
            yield (f"{self.options['path']} at {self.options['versionasof']}",)

    class Delta(DataSource):
        @classmethod
        def name(cls) -> str:
            return "delta"

        def schema(self) -> str:
            return "told STRING"

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader(self.options)

    folder = tmp_path / "t"
    for _ in range(2):
        rows = pa.table({"told": ["by files"]})
        delta.write_deltalake(folder, rows, mode="overwrite")
    with Session(Settings(engine="spark", session=spark)) as engine:
        engine.row_engine.spark.dataSource.register(Delta)  # type: ignore[attr-defined]
        for version, asked in ((1, str(folder)), (0, f"delta:{folder}@0")):
            source = open_source(engine, asked)
            told = f"file://{folder} at {version}"
            assert engine.row_engine.rows(source.select("told")) == [(told,)]
            assert source.label == f"{folder} (delta version {version})"
