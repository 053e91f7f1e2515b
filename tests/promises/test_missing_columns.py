"""A column that a model uses is asked for by every learner, wherever rows are scored."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sqlbn
from sqlbn.errors import ColumnError

LEARNERS = ["nb", "kdb", "skdb", "a1de", "fan", "spc", "tc", "snb", "vfbn2"]


def rows() -> pa.Table:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    return pa.table(
        {
            "a": np.array(["u", "v", "w"])[y + rng.integers(0, 2, 300)],
            "b": np.array(["p", "q"])[rng.integers(0, 2, 300)],
            "x": rng.normal(size=300) + 2 * y,
            "y": y,
        }
    )


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_names_the_column(learner: str, tmp_path: Path) -> None:
    table, store = rows(), tmp_path / "m.duckdb"
    with sqlbn.fit(table, "y", learner, store=store, name="bank") as model, duckdb.connect() as con:
        con.execute(f"ATTACH '{store}' AS m (READ_ONLY)")
        used = [row["attribute"] for row in model.attributes.to_pylist() if row["selected"]]
        assert used
        for name in used:
            short = table.drop_columns([name])
            for action in (model.predict, model.evaluate, model.update):
                with pytest.raises(ColumnError, match=f"'{name}'"):
                    action(short)
            con.register("short", short)
            for query in ("FROM m.bank.predict('short')", "FROM m.bank.predict('c')"):
                with pytest.raises(duckdb.Error, match="bank") as error:
                    con.execute(f"WITH c AS (FROM short) {query}")
                assert name in str(error.value).splitlines()[0]


def test_in_sql_the_error_says_who_needs_what(tmp_path: Path) -> None:
    sqlbn.fit(rows(), "y", "nb", store=tmp_path / "m.duckdb", name="bank").close()
    (tmp_path / "t.csv").write_text("a,b\nu,p\n")
    line = f"the model 'bank' needs the column 'x', which {tmp_path}/t.csv does not have"
    store = str(tmp_path / "m.duckdb")
    with duckdb.connect(store, read_only=True) as con, pytest.raises(duckdb.Error) as error:
        con.execute(f"FROM bank.predict('{tmp_path}/t.csv')")
    assert line in str(error.value)
