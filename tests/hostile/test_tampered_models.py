"""A tampered model file ends in one line that says that it is damaged, and where; never in more."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sqlbn
from sqlbn.cli.main import app
from sqlbn.engines import Session
from sqlbn.errors import StoreError
from sqlbn.store import open_store
from sqlbn.store.spec import read_spec
from sqlbn.updates.stored_model import StoredModel


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, fruit: pa.Table) -> Path:
    """A folder with a store of three kinds of models, and more rows."""
    folder = tmp_path_factory.mktemp("tampered")
    weighted = fruit.append_column("w", pa.array([1.0 + i % 3 / 2 for i in range(len(fruit))]))
    store = folder / "base.duckdb"
    for name, learner, rows, options in (
        ("tan", "tan", weighted, {"weight": "w"}),
        ("like", "tan", weighted, {"weight": "w"}),
        ("skdb", "skdb", fruit, {"kmax": 1}),
        ("ande", "a1de", fruit, {"subsumption": True, "min_count": 5}),
        ("fanc", "fanc", fruit, {}),
    ):
        sqlbn.fit(rows, "kind", learner, store=store, name=name, **options).close()
    pq.write_table(weighted.slice(0, 30), folder / "more.parquet")
    return folder


def meta(key: str, value: str, model: str = "tan") -> tuple[str, str, str]:
    """A tampering of the meta table, and what is said of it."""
    told = "NULL" if value == "NULL" else repr(value[1:-1])
    return (
        model,
        f"UPDATE {{0}}.meta SET value = {value} WHERE key = '{key}'",
        f"meta.{key} is {told}",
    )


NUMBERS = ("rows", "rows_skipped", "version", "weight_bits", "format")
TAMPERED = [
    *(meta(key, value) for key in NUMBERS for value in ("'abc'", "'-1'", "'1e400'", "NULL")),
    *(meta("rows", value) for value in ("'3.5'", "''", "'99999999999999999999999'", "'0x10'")),
    *(meta("m", value) for value in ("'abc'", "'0'", "'-1'", "'nan'", "'inf'", "''", "NULL")),
    *(meta("options", value) for value in ("'abc'", "'[]'", "'{\"k\": '", "''", "NULL")),
    *(meta("files", value) for value in ("'abc'", "'{}'")),
    *(meta("learner", value) for value in ("'abc'", "''", "NULL")),
    *(meta(key, "'abc'") for key in ("backoff", "estimate", "missing")),
    *(meta(key, "NULL") for key in ("target", "target_type", "weight", "where", "source")),
    *(meta(key, "'abc'", "skdb") for key in ("selected_k", "selected_attributes")),
    *(
        ("tan", f"DELETE FROM {{0}}.meta WHERE key = '{key}'", f"meta.{key} is missing")
        for key in ("learner", "options", "target", "m", "weight", "where", "rows", "rows_skipped")
    ),
    meta("target_type", "'VARCHAR); DROP TABLE x; --'"),
    ("tan", "ALTER TABLE {0}.meta DROP value", "its table meta has no column 'value'"),
    ("tan", "DELETE FROM {0}.meta", "meta.learner is missing"),
    # columns: gone, of another type, empty
    *(
        (model, f'ALTER TABLE {{0}}.{table} DROP "{column}"', f"table {table} has no column")
        for model, table, column in (
            ("tan", "classes", "n"),
            ("tan", "attributes", "kind"),
            ("tan", "cuts", "upper"),
            ("tan", "categories", "code"),
            ("tan", "parents", "parent"),
            ("tan", "factors", "variables"),
            ("tan", "counts", "key"),
            ("tan", "margins", "n"),
            ("tan", "history", "rows"),
            ("tan", "history_files", "fingerprint"),
            ("ande", "superparents", "weight"),
            ("fanc", "terms", "parents"),
            ("fanc", "turns", "role"),
        )
    ),
    *(
        (model, f"ALTER TABLE {{0}}.{table} ALTER {column} TYPE VARCHAR", f"{table}.{column} is of")
        for model, table, column in (
            ("tan", "classes", "code"),
            ("tan", "attributes", "n_values"),
            ("tan", "attributes", "selected"),
            ("tan", "counts", "n"),
            ("tan", "factors", "members"),
            ("skdb", "history", "total_rows"),
            ("ande", "superparents", "seen"),
        )
    ),
    *(
        (model, f"UPDATE {{0}}.{table} SET {column} = NULL", f"{table}.{column} is NULL in ")
        for model, table, column in (
            ("tan", "classes", "class"),
            ("tan", "classes", "n"),
            ("tan", "attributes", "attribute"),
            ("tan", "attributes", "position"),
            ("tan", "attributes", "type"),
            ("tan", "categories", "code"),
            ("tan", "parents", "rank"),
            ("tan", "factors", "role"),
            ("tan", "counts", "position"),
            ("skdb", "margin_families", "radix"),
            ("fanc", "terms", "weight"),
        )
    ),
    # values that cannot be
    ("tan", "UPDATE {0}.classes SET code = 7 WHERE code = 0", "classes.code does not count"),
    ("tan", "UPDATE {0}.classes SET n = -1", "classes: an n that is no count"),
    ("tan", "UPDATE {0}.classes SET n = 'nan'", "classes: an n that is no count"),
    ("tan", "UPDATE {0}.classes SET class = 'x'", "classes.class has a name twice"),
    ("tan", "INSERT INTO {0}.classes FROM {0}.classes", "classes.code does not count"),
    ("tan", "UPDATE {0}.attributes SET kind = 'x'", "attributes: an unknown kind"),
    ("tan", "UPDATE {0}.attributes SET position = 60000 WHERE position = 0", "attributes.position"),
    ("tan", "UPDATE {0}.attributes SET rank = 0", "attributes.rank does not count"),
    ("tan", "UPDATE {0}.attributes SET attribute = 'x'", "attributes.attribute has a name twice"),
    ("tan", "UPDATE {0}.attributes SET missing_code = 99", "attributes: a missing_code past"),
    ("tan", "UPDATE {0}.attributes SET n_values = 4000000000", "n_values too large"),
    ("tan", "UPDATE {0}.attributes SET n_values = 1", ""),
    ("tan", "UPDATE {0}.attributes SET type = 'x); DROP TABLE y; --'", "no attribute can have"),
    ("tan", "UPDATE {0}.categories SET code = 99", "categories: an unknown attribute or code"),
    ("tan", "UPDATE {0}.categories SET attribute = 'x'", "categories: an unknown attribute"),
    ("tan", "UPDATE {0}.cuts SET code = 99", "cuts: an unknown attribute or code"),
    ("tan", "UPDATE {0}.cuts SET upper = 'nan'", "cuts: an upper that is no number"),
    ("tan", "UPDATE {0}.cuts SET upper = 1", "are no intervals"),
    ("tan", "DELETE FROM {0}.cuts", "are no intervals"),
    ("tan", "UPDATE {0}.parents SET parent = 'x'", "parents: an unknown parent"),
    ("tan", "UPDATE {0}.parents SET attribute = 'x'", "parents: an unknown attribute"),
    ("tan", "UPDATE {0}.parents SET parent = attribute", "its own parent"),
    ("tan", "UPDATE {0}.factors SET variables = [60000]", "names an attribute that is not there"),
    ("tan", "UPDATE {0}.factors SET members = [NULL]", ""),
    ("tan", "UPDATE {0}.counts SET n = -1", "counts: a key or an n that is no count"),
    ("tan", "UPDATE {0}.counts SET key = 1000000", "rows are of no cell of families"),
    ("tan", "UPDATE {0}.counts SET position = 60000", "rows are of no cell of families"),
    ("skdb", "UPDATE {0}.margins SET key = -1", "margins: a key or an n that is no count"),
    ("skdb", "DELETE FROM {0}.margin_families", "rows are of no cell of margin_families"),
    ("skdb", "UPDATE {0}.margin_families SET radix = 0", "margin_families: a wrong axis"),
    ("skdb", "UPDATE {0}.families SET radix = 99", "families.radix is not the number of values"),
    ("skdb", "UPDATE {0}.families SET variable = 60000", "families: a wrong axis"),
    ("skdb", "UPDATE {0}.history SET action = 'x'", "history: an unknown action"),
    ("skdb", "UPDATE {0}.history SET total_rows = -1", "history: a number below 0"),
    ("ande", "UPDATE {0}.superparents SET attributes = ['x']", ""),
    ("ande", "UPDATE {0}.superparents SET superparent = NULL", "superparents.superparent is NULL"),
    ("fanc", "UPDATE {0}.terms SET attribute = 'x'", "terms: an unknown attribute"),
    ("fanc", "UPDATE {0}.terms SET parents = ['x']", ""),
    ("fanc", "UPDATE {0}.turns SET attribute = 'x'", "turns: an unknown attribute"),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Session]:
    with Session() as found:
        yield found


def tampered(at: int, made: Path, tmp_path: Path) -> Path:
    store = tmp_path / "m.duckdb"
    shutil.copy(made / "base.duckdb", store)
    with duckdb.connect(store) as connection:
        model, statement, _ = TAMPERED[at]
        # What only programs read lies in a schema beside the model's.
        beside = re.search(r"\{0\}\.(factors|turns|margins|margin_families)\b", statement)
        connection.execute(statement.replace("{0}", f"{model}__tables" if beside else model))
    return store


# One in two is enough for the default run.
@pytest.mark.parametrize(
    "at", [pytest.param(i, marks=[pytest.mark.hostile] * (i % 2)) for i in range(len(TAMPERED))]
)
def test_a_tampered_model_is_damaged(at: int, made: Path, tmp_path: Path, engine: Session) -> None:
    model, _, line = TAMPERED[at]
    store = tampered(at, made, tmp_path)
    with pytest.raises(StoreError) as told:
        workspace = open_store(store).load(engine, model)
        StoredModel(workspace, read_spec(workspace))
    message = str(told.value)
    assert f"the model {model!r} in {str(store)!r} is damaged: " in message
    assert line in message and "\n" not in message


@pytest.mark.parametrize("at", range(0, len(TAMPERED), 6))
def test_every_command_says_so_in_a_line(at: int, made: Path, tmp_path: Path) -> None:
    model, _, line = TAMPERED[at]
    store, more = tampered(at, made, tmp_path), str(made / "more.parquet")
    place = ["--store", str(store)]
    commands = [
        ["show", model, *place],
        ["predict", model, more, *place],
        ["update", model, more, *place],
        ["forget", model, more, *place],
        ["merge", model, "like", "--name", "z", *place],
        ["export", model, *place, "--format", "json", "--out", str(tmp_path / "x.json")],
    ]
    words = commands[at // 6 % 6]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1, (words, done.output)
    said = [text for text in done.output.splitlines() if text.startswith("sqlbn: ")]
    assert len(said) == 1, (words, done.output)
    assert f"the model {model!r} in {str(store)!r} is damaged: " in said[0], words
    assert line in said[0], said[0]


def test_the_list_of_models_shows_the_others(made: Path, tmp_path: Path) -> None:
    store = tmp_path / "m.duckdb"
    shutil.copy(made / "base.duckdb", store)
    with duckdb.connect(store) as connection:
        connection.execute("UPDATE tan.meta SET value = 'abc' WHERE key = 'rows'")
        connection.execute("ALTER TABLE ande.meta DROP value")
    with pytest.warns(sqlbn.SqlbnWarning) as told:
        done = CliRunner().invoke(app, ["models", "--store", str(store)])
    assert done.exit_code == 0 and done.output.count("(damaged)") == 2 and "skdb" in done.output
    lines = sorted(str(warning.message) for warning in told)
    assert "'ande' in " in lines[0] and "meta.learner is missing" in lines[0]
    assert "'tan' in " in lines[1] and "meta.rows is 'abc'" in lines[1]
    sqlbn.drop(store, "tan")
