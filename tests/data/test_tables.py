"""Delta and Iceberg tables as sources: the rows of one version, whatever lies in the folder."""

from __future__ import annotations

import datetime as dt
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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
from sqlbn.data import (
    Source,
    SourceFile,
    open_source,
    table_source,
)
from sqlbn.data.files import remote_errors
from sqlbn.data.lake_tables import (
    TableFiles,
    TableName,
    table_files,
    table_name,
)
from sqlbn.engines import Session, Settings
from sqlbn.engines.relations import ROW
from sqlbn.errors import (
    EngineError,
    OptionError,
    SourceError,
    TableError,
)
from sqlbn.store.history import counted_files
from sqlbn.text import shown, without_secrets


def read(data: Any, **options: Any) -> Rows:
    """The rows of a source; what numbers them must not show, and must differ from row to row."""
    with Session() as engine:
        source = open_source(engine, data, **options)
        found = engine.arrow(f"FROM {source.filtered_relation}")
        assert found.column_names == list(source.columns)
        if source.row_key is not None:
            keys = engine.arrow(source.select(f"{source.row_key} AS k"))["k"].to_pylist()
            assert len(set(keys)) == found.num_rows
    return in_order(found.to_pylist())


def read_with_arrow(table: TableFiles) -> Rows:
    """The rows as any reader of Parquet finds them by what `table_files` tells."""
    found: Rows = []
    for file in table.files:
        rows = pq.ParquetFile(file.path).read()
        by_id = {(f.metadata or {}).get(b"PARQUET:field_id"): f.name for f in rows.schema}
        gone = set() if file.deleted is None else set(file.deleted.tolist())
        values = dict(zip((c.name for c in table.partition_columns), file.values, strict=True))
        for number, row in enumerate(rows.to_pylist()):
            if number in gone:
                continue
            one: dict[str, Any] = {}
            for column in table.columns:
                stored = column.stored
                if isinstance(stored, int):
                    stored = by_id.get(str(stored).encode(), "")
                one[column.name] = values[column.name] if stored is None else row.get(stored)
            found.append(one)
    return in_order(found)


def model_of(data: Any, **options: Any) -> dict[str, Rows]:
    """Tables of the model that a fit gives."""
    with sqlbn.fit(data, "kind", "kdb", k=2, **options) as model:
        names = ("attributes", "cuts", "categories", "parents", "counts")
        return {name: model._table(name, "ALL").to_pylist() for name in names}


# -- Delta --------------------------------------------------------------------------------------


@pytest.fixture
def delta() -> Any:
    return pytest.importorskip("deltalake", reason="deltalake is not installed")


@pytest.fixture
def partitioned(delta: Any, tmp_path: Path) -> Path:
    """Sixty rows by shop, day and floor, after rows that are gone, in a folder with a blank."""
    folder = tmp_path / "my table"
    parts = ["shop", "day", "floor"]
    delta.write_deltalake(folder, basket_table(baskets(9)), partition_by=parts)
    delta.write_deltalake(folder, basket_table(baskets()), mode="overwrite", partition_by=parts)
    return folder


def test_partitions_have_their_types_and_nulls(partitioned: Path) -> None:
    assert read(str(partitioned)) == in_order(baskets())
    assert read(partitioned) == read(f"delta:{partitioned}/") == read(f"delta:file://{partitioned}")
    table = table_files(str(partitioned))
    assert table is not None and not table.beyond and table.version == 1
    assert [(c.name, str(c.type)) for c in table.partition_columns] == [
        ("shop", "string"),
        ("day", "date32[day]"),
        ("floor", "int32"),
    ]
    assert read_with_arrow(table) == in_order(baskets())


def test_a_filter_on_a_partition_reads_its_files_only(partitioned: Path) -> None:
    where = "shop = '50%' AND floor = 7"
    wanted = [r for r in baskets() if r["shop"] == "50%" and r["floor"] == 7]
    assert read(str(partitioned), where=where) == in_order(wanted)
    table = table_files(str(partitioned))
    assert table is not None
    files = [f for f in table.files if f.values[0] == "50%"]
    with Session() as engine:
        source = open_source(engine, str(partitioned), where="shop = '50%' AND weight IS NOT NULL")
        plan = engine.rows(f"EXPLAIN ANALYZE {source.select('sum(weight)')}")[0][1]
    assert f"Total Files Read: {len(files)} " in plan


def test_a_model_of_a_delta_table_is_that_of_its_rows(partitioned: Path) -> None:
    rows = basket_table(baskets())
    assert model_of(str(partitioned)) == model_of(rows)
    wanted = sqlbn.evaluate(rows, target="kind", learner="nb", folds=3, seed=1)
    found = sqlbn.evaluate(str(partitioned), target="kind", learner="nb", folds=3, seed=1)
    assert found.rows == wanted.rows
    again = sqlbn.evaluate(str(partitioned), target="kind", learner="nb", folds=3, seed=1)
    assert again.losses == found.losses
    with sqlbn.fit(str(partitioned), "kind", "nb") as model:
        scored = model.predict(str(partitioned), exclude=["kind"])
        assert scored.column_names[:4] == ["shop", "day", "floor", "weight"]
        assert scored.num_rows == 60 and not any("sqlbn" in n for n in scored.column_names)
        assert not any("sqlbn" in n for n in model.predict(str(partitioned)).column_names)


def test_rows_come_in_the_order_of_their_numbers(partitioned: Path) -> None:
    with Session(Settings(threads=4)) as engine:
        source = open_source(engine, str(partitioned))
        with engine.beside(source.select("*"), 10) as reader:
            numbers = reader.read_all()[ROW].to_pylist()
    assert source.ordered and len(numbers) == 60 and numbers == sorted(numbers)


def test_history_tells_the_version_and_knows_the_files(delta: Any, tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    # The same rows in both parts: the files are equal, and yet different rows.
    twice = [{**r, "shop": s} for s in ("north", "south") for r in baskets(20)]
    delta.write_deltalake(folder, basket_table(baskets()), partition_by=["shop"])
    with sqlbn.fit(str(folder), "kind", "nb") as model:
        assert model.meta["source"] == f"{folder} (delta version 0)"
        with pytest.raises(SourceError, match="in the model already"):
            model.update(str(folder))
        other = tmp_path / "more"
        delta.write_deltalake(other, basket_table(twice), partition_by=["shop"])
        model.update(f"delta:{other}@0")
        assert model._table("history", "step")["source"].to_pylist() == [
            f"{folder} (delta version 0)",
            f"{other} (delta version 0)",
        ]
        assert model.meta["rows"] == 100


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["append", "overwrite", "delete", "grow"]), st.integers(0, 3)),
    min_size=1,
    max_size=6,
)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations=OPERATIONS)
def test_every_version_holds_its_rows(
    delta: Any, tmp_path: Path, operations: list[tuple[str, int]]
) -> None:
    folder = tmp_path / uuid.uuid4().hex
    columns = ["g", "x"]
    rows: Rows = [{"g": "a", "x": 1}, {"g": None, "x": 2}]
    delta.write_deltalake(folder, pa.Table.from_pylist(rows), partition_by=["g"])
    versions = [(list(columns), rows)]
    for what, n in operations:
        more = [dict.fromkeys(columns[2:], i) for i in range(n)]
        new = [{"g": "ab"[n % 2], "x": 10 * i + n, **m} for i, m in enumerate(more)]
        if what == "delete":
            delta.DeltaTable(folder).delete(f"x % 4 = {n}")
            rows = [r for r in rows if r["x"] % 4 != n]
        elif what == "grow":
            columns = [*columns, f"c{len(columns)}"]
            new = [{"g": "b", "x": n, **dict.fromkeys(columns[2:], n)}]
            delta.write_deltalake(
                folder, pa.Table.from_pylist(new), mode="append", schema_mode="merge"
            )
            rows = [*rows, *new]
        elif new:
            delta.write_deltalake(folder, pa.Table.from_pylist(new), mode=what)
            rows = new if what == "overwrite" else [*rows, *new]
        if delta.DeltaTable(folder).version() == len(versions):
            versions.append((list(columns), rows))
    for version, (known, held) in enumerate(versions):
        wanted = [{c: r.get(c) for c in known} for r in held]
        assert read(f"delta:{folder}@{version}") == in_order(wanted)


def test_deleted_rows_are_not_read(delta: Any, tmp_path: Path) -> None:
    rows = [baskets(20), baskets(7)]
    shops = ["a b", "50%"]
    files = [
        add(
            f"shop={shop}/x [1].parquet",
            basket_table(some).drop_columns(["shop"]),
            {"shop": shop},
            gone,
        )
        for shop, some, gone in zip(shops, rows, ([1, 3, 19], []), strict=True)
    ]
    fields = [
        field("shop", "string"),
        field("day", "date"),
        field("floor", "integer"),
        field("weight", "double"),
        field("kind", "string"),
    ]
    folder = hand_made_delta(
        tmp_path / "t", fields, files, features=["deletionVectors"], partitions=["shop"]
    )
    left = [{**r, "shop": "a b"} for i, r in enumerate(rows[0]) if i not in (1, 3, 19)]
    wanted = left + [{**r, "shop": "50%"} for r in rows[1]]
    assert read(str(folder)) == in_order(wanted)
    table = table_files(str(folder))
    assert table is not None and read_with_arrow(table) == in_order(wanted)
    assert model_of(str(folder)) == model_of(basket_table(wanted))


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_that_files_call_otherwise(delta: Any, tmp_path: Path, mode: str) -> None:
    stored = pa.schema(
        [
            pa.field("col-1", pa.int32(), metadata={"PARQUET:field_id": "1"}),
            pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "9"}),  # dropped, name reused
        ]
    )
    rows = pa.table({"col-1": pa.array([1, 2], pa.int32()), "x": [7, 7]}, schema=stored)
    folder = hand_made_delta(
        tmp_path / "t",
        [mapped("x", "long", 1, "col-1"), mapped("p", "string", 2, "col-2")],
        [add("f.parquet", rows, {"col-2": "v"}, []), add("g.parquet", rows, {"col-2": None}, [])],
        features=["columnMapping", "typeWidening"],
        settings={"delta.columnMapping.mode": mode},
        partitions=["p"],
    )
    wanted = [{"x": x, "p": p} for x in (1, 2) for p in ("v", None)]
    assert read(str(folder)) == in_order(wanted)
    table = table_files(str(folder))
    assert table is not None and read_with_arrow(table) == in_order(wanted)


def test_delta_tables_that_cannot_be_read(delta: Any, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"cannot open the Delta table .*does not exist"):
        read(f"delta:{tmp_path / 'nowhere'}")
    folder = tmp_path / "t"
    delta.write_deltalake(folder, basket_table(baskets(5)))
    with pytest.raises(TableError, match="at version 7"):
        read(f"delta:{folder}@7")
    with pytest.raises(SourceError, match="give it alone"):
        read([str(folder), str(folder)])
    with pytest.raises(OptionError, match="DuckDB database file"):
        read(str(folder), table="t")
    with pytest.raises(SourceError, match="delta:lake/table"):
        read("delta:")
    for file in folder.glob("*.parquet"):
        file.unlink()
    with pytest.raises(SourceError, match=r"parquet' of .*delta version 0\) is missing"):
        read(str(folder))
    odd = hand_made_delta(tmp_path / "odd", [field("a", "long")], [], features=["catalogManaged"])
    with pytest.raises(TableError, match="odd"):
        read(str(odd))


def test_an_empty_table_has_columns_and_no_rows(delta: Any, tmp_path: Path) -> None:
    delta.write_deltalake(tmp_path / "t", BASKET.empty_table(), partition_by=["day"])
    assert read(str(tmp_path / "t")) == []
    with pytest.raises(sqlbn.SqlbnError, match=r"no row of .* \(delta version 0\) has a value"):
        sqlbn.fit(str(tmp_path / "t"), "kind", "nb")


def test_columns_called_like_the_engines_own(delta: Any, tmp_path: Path) -> None:
    rows = [{"File_Index": i % 3, "file_row_number": 5, "part": "x", "c0": i} for i in range(9)]
    delta.write_deltalake(tmp_path / "t", pa.Table.from_pylist(rows))
    delta.write_deltalake(tmp_path / "p", pa.Table.from_pylist(rows), partition_by=["File_Index"])
    assert read(str(tmp_path / "t")) == read(str(tmp_path / "p")) == in_order(rows)


def test_commands_take_tables(partitioned: Path, run: Any) -> None:
    table = str(partitioned)
    assert len(sqlbn.prepare(table, "kind").variables) == 4
    assert len(sqlbn.rank(table, "kind", top=2).attributes) == 2
    assert len(sqlbn.stream(table, "kind", "nb", batch=20)) == 2
    with sqlbn.networks.learn(table, method="vfbn2") as network:
        assert network.meta["rows"] == 60
    made = run("fit", table, "-t", "kind", "-l", "nb", "--store", "m.duckdb", "--name", "m", "-q")
    assert made.returncode == 0, made.stderr
    scored = run("predict", "m", f"delta:{table}@1", "--store", "m.duckdb")
    assert scored.returncode == 0 and scored.stdout.startswith("shop,day,floor,weight,kind,pred")


# -- Iceberg ------------------------------------------------------------------------------------


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    sql = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg is not installed")
    made = sql.SqlCatalog("lake", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}")
    made.create_namespace("shop")
    yield made
    made.engine.dispose()


def test_iceberg_tables_change(catalog: Any) -> None:
    from pyiceberg.types import DoubleType, LongType

    table = catalog.create_table("shop.t", BASKET)
    assert read(place(table)) == []
    with table.update_spec() as spec:
        spec.add_identity("shop")
        spec.add_identity("day")
    table.append(basket_table(baskets()))
    first = table.current_snapshot().snapshot_id
    assert read(place(table)) == in_order(baskets())
    with table.update_schema() as schema:
        schema.add_column("price", DoubleType())
        schema.rename_column("weight", "grams")
        schema.update_column("floor", LongType())
    with table.update_schema() as schema:
        schema.add_column("weight", DoubleType())  # a new column of an old name
    new = {"shop": "q", "day": None, "floor": 2**40, "kind": "plum", "grams": 1.0, "price": 2.0}
    table.append(pa.Table.from_pylist([{**new, "weight": 3.0}], table.schema().as_arrow()))
    table.delete("kind = 'pear'")
    wanted: Rows = [
        {
            **{n: r[n] for n in ("shop", "day", "floor")},
            **{"grams": r["weight"], "kind": r["kind"], "price": None, "weight": None},
        }
        for r in baskets()
        if r["kind"] == "plum"
    ]
    last = {**new, "weight": 3.0}
    wanted.append({name: last[name] for name in wanted[0]})
    found = table_files(place(table))
    assert found is not None and found.version == table.current_snapshot().snapshot_id
    assert read_with_arrow(found) == in_order(wanted)
    assert read(place(table)) == in_order(wanted)
    assert read(table.metadata_location.removeprefix("file://")) == in_order(wanted)
    assert read(f"iceberg:{place(table)}@{first}") == in_order(baskets())
    with pytest.raises(SourceError, match="no snapshot 5"):
        read(f"iceberg:{place(table)}@5")


def test_a_model_of_an_iceberg_table_is_that_of_its_rows(catalog: Any) -> None:
    table = catalog.create_table("shop.t", BASKET)
    table.append(basket_table(baskets(25)))
    table.append(basket_table(baskets()[25:]))
    assert model_of(place(table)) == model_of(basket_table(baskets()))
    with sqlbn.fit(place(table), "kind", "nb") as model:
        version = table.current_snapshot().snapshot_id
        assert model.meta["source"] == f"{place(table)} (iceberg snapshot {version})"
        assert len(model.meta["files"]) == 2


def test_files_without_field_ids_are_read_by_the_library(catalog: Any, tmp_path: Path) -> None:
    pq.write_table(basket_table(baskets()), tmp_path / "old.parquet")
    table = catalog.create_table("shop.t", BASKET)
    table.add_files([f"file://{tmp_path / 'old.parquet'}"])
    table.append(basket_table(baskets(3)))
    assert read(place(table)) == in_order(baskets() + baskets(3))
    assert model_of(place(table)) == model_of(basket_table(baskets() + baskets(3)))


def test_iceberg_tables_with_delete_files(catalog: Any) -> None:
    table = catalog.create_table("shop.t", BASKET)
    table.append(basket_table(baskets()))
    positions = with_delete_file(table, {"pos": [2, 50]})
    left = [r for i, r in enumerate(baskets()) if i not in (2, 50)]
    assert read(positions) == in_order(left)
    assert model_of(positions) == model_of(basket_table(left))
    found = table_files(positions)
    assert found is not None and found.beyond == "it has delete files"
    with pytest.raises(TableError, match="equality deletes, which pyiceberg cannot read"):
        read(with_delete_file(table, {"kind": ["plum"]}))


def test_iceberg_types(catalog: Any) -> None:
    values = {
        "yes": True,
        "price": Decimal("12.50"),
        "at": dt.datetime(2024, 1, 2, 3, 4, 5),
        "seen": dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        "time": dt.time(1, 2, 3),
        "nested": {"a": 1, "b": ["x"]},
    }
    rows = pa.Table.from_pylist([values, dict.fromkeys(values)])
    rows = rows.set_column(1, "price", rows["price"].cast(pa.decimal128(9, 2)))
    table = catalog.create_table("shop.t", rows.schema)
    table.append(rows)
    assert read(place(table)) == in_order(rows.to_pylist())


def test_which_metadata_is_the_newest(catalog: Any) -> None:
    table = catalog.create_table("shop.t", BASKET)
    old = Path(table.metadata_location.removeprefix("file://"))
    table.append(basket_table(baskets(4)))
    new = Path(table.metadata_location.removeprefix("file://"))
    (new.parent / "version-hint.text").write_text(old.name)
    assert read(place(table)) == []
    (new.parent / "version-hint.text").unlink()
    twin = new.with_name(new.name.replace("-", "-0", 1))
    twin.write_bytes(new.read_bytes())
    with pytest.raises(SourceError, match=r"2 metadata files of one number.*give one, such as"):
        read(place(table))
    assert len(read(str(twin))) == 4
    with pytest.raises(SourceError, match="no Iceberg table"):
        read(f"iceberg:{new.parent}")


def test_a_table_of_a_configured_catalog(
    catalog: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyiceberg.catalog

    monkeypatch.setattr(pyiceberg.catalog, "load_catalog", {"lake": catalog}.__getitem__)
    catalog.create_table("shop.t", BASKET).append(basket_table(baskets(4)))
    assert len(read("iceberg:lake.shop.t")) == 4
    with pytest.raises(TableError, match=r"cannot open the Iceberg table 'lake\.shop\.u'"):
        read("iceberg:lake.shop.u")


# -- names, packages, the engine's own extensions ------------------------------------------------


def test_names_of_tables(tmp_path: Path) -> None:
    (tmp_path / "d@1" / "_delta_log").mkdir(parents=True)
    (tmp_path / "d@1" / "metadata").mkdir()
    (tmp_path / "d@1" / "metadata" / "v1.metadata.json").touch()
    here = str(tmp_path / "d@1")
    assert table_name(here) == table_name(f"delta:{here}") == TableName("delta", here)
    assert table_name(f"delta:{here}@12") == TableName("delta", here, 12)
    assert table_name(f"iceberg:{here}") == TableName("iceberg", here)
    assert table_name(f"{here}/metadata") is None and table_name("lake/*.parquet") is None
    assert table_name("s3://b/t") is None
    assert table_name("delta:s3://b/t@3") == TableName("delta", "s3://b/t", 3)
    remote = "s3://b/t/metadata/v3.metadata.json"
    assert table_name(remote) == TableName("iceberg", remote)


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_a_missing_package_is_named(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"delta": "deltalake", "iceberg": "pyiceberg"}[form]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(table_source, "_has_extension", lambda *_: False)
    with pytest.raises(TableError, match=rf"pip install 'sqlbn\[{form}\]'"):
        read(f"{form}:{tmp_path}")


class Recorder:
    """An engine whose extensions are installed; it only notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def execute(self, sql: str) -> None:
        self.asked.append(sql)

    def rows(self, sql: str) -> list[tuple[int]]:
        return [(1,)]

    def columns(self, relation: str) -> list[tuple[str, str]]:
        return [("a", "BIGINT")]


def test_extensions_of_the_engine_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    log = tmp_path / "it's" / "_delta_log"
    log.mkdir(parents=True)
    for version in range(3):
        (log / f"{version:020}.json").touch()
    engine: Any = Recorder()
    source = table_source.table_source(engine, TableName("delta", str(log.parent)))
    assert engine.asked == ["LOAD delta"] and not source.rescannable
    assert source.relation == f"delta_scan('{tmp_path}/it''s', version = 2)"
    assert source.label == f"{log.parent} (delta version 2)"
    source = table_source.table_source(engine, TableName("iceberg", "s3://b/v1.metadata.json", 7))
    assert source.relation == "iceberg_scan('s3://b/v1.metadata.json', snapshot_from_id = 7)"


# -- addresses ----------------------------------------------------------------------------------


@given(
    user=st.text("abc:@%", min_size=1, max_size=8),
    query=st.text("xyz=&?/ ", min_size=1, max_size=8),
    place=st.text("abc/ *[]'@=", max_size=12),
)
def test_secrets_of_addresses_are_not_shown(user: str, query: str, place: str) -> None:
    address = f"https://{user}SECRET@host/{place}?{query}SECRET"
    assert shown(address) == f"https://host/{place}?…"
    assert "SECRET" not in without_secrets(f'cannot get "{address}" (403)', [address])
    assert shown(shown(address)) == shown(address)


def test_secrets_are_not_stored() -> None:
    file = SourceFile("https://me:secret@host/a.parquet?token=abc", 0)
    source = Source(relation="t", columns={"a": "BIGINT"}, label="x", files=(file,))
    (counted,) = counted_files(source, "")
    assert counted.path == "https://host/a.parquet?…"
    with pytest.raises(SourceError, match=r"'s3://b/t\?…': take user, password and query out"):
        table_files("delta:s3://me:secret@b/t?x=y")


def test_errors_about_remote_data_have_a_remedy() -> None:
    paths = ["s3://me:secret@b/a b.parquet?k=v"]
    with pytest.raises(SourceError) as missing, remote_errors(paths):
        raise EngineError("An error occurred … install the required extension 'httpfs:")
    assert str(missing.value).startswith("s3://b/a b.parquet?… needs DuckDB's extension httpfs")
    assert "run INSTALL httpfs" in str(missing.value)
    with pytest.raises(EngineError) as refused, remote_errors(paths):
        raise EngineError(f"HTTP 403 for {paths[0]}")
    assert str(refused.value) == "HTTP 403 for s3://b/a b.parquet?…"
    with pytest.raises(SourceError, match="write delta:… or iceberg:…"):
        read("s3://b/table")
