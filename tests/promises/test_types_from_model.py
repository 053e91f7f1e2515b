"""A CSV column is read with the type it had in training; a fit keeps words as written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.errors import ColumnError, SourceError

HEAD = "loan,tf,zo,code,day,x,sure,y\n"
NEW = HEAD + "yes,t,0,007,2024-01-01,1,true,yes\nno,f,1,042,2024-01-02,2,false,no\n"
COLUMNS = {
    "loan": ["yes", "no"],
    "tf": ["t", "f"],
    "zo": [0, 1],
    "code": ["007", "042"],
    "day": pa.array(["2024-01-01", "2024-01-02"]).cast(pa.date32()),
    "x": [1.0, 2.0],
    "sure": [True, False],
    "y": ["yes", "no"],
}


def lines(rows: int) -> Iterator[str]:
    rng = random.Random(1)
    for _ in range(rows):
        y = rng.random() < 0.3
        loan, code = (rng.random() < 0.8) == y, rng.choice(["A1", "007", "042"])
        words = ["yes" if loan else "no", rng.choice("tf"), rng.randrange(2), code]
        words += [f"2024-0{rng.randrange(1, 9)}-11", f"{rng.gauss(3 if y else 0, 1):.2f}"]
        yield ",".join(map(str, [*words, rng.choice(["true", "false"]), "yes" if y else "no"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("types")
    (place / "train.csv").write_text(HEAD + "\n".join(lines(1000)) + "\n")
    (place / "new.csv").write_text(NEW)
    pq.write_table(pa.table(COLUMNS), place / "new.parquet")
    model = sqlbn.fit(place / "train.csv", "y", "nb", store=place / "models.duckdb", name="loans")
    model.close()
    return place


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[sqlbn.Model]:
    with sqlbn.load(folder / "models.duckdb", "loans") as loaded:
        yield loaded


def types(model: sqlbn.Model) -> dict[str, str]:
    return {row["attribute"]: row["type"] for row in model.attributes.to_pylist()}


def test_fitting_keeps_words_as_they_are_written(model: sqlbn.Model) -> None:
    found = types(model)
    assert (found["loan"], found["tf"], found["zo"]) == ("VARCHAR", "VARCHAR", "BIGINT")
    assert (found["code"], found["sure"]) == ("VARCHAR", "BOOLEAN")
    assert model.classes["class"].to_pylist() == ["no", "yes"]
    values = model.cpt("loan")["loan"].to_pylist()
    assert set(values) == {"yes", "no"}


def test_a_csv_scores_as_the_same_rows_of_known_types(model: sqlbn.Model, folder: Path) -> None:
    wanted = model.predict(folder / "new.parquet")
    found = model.predict(folder / "new.csv")
    assert found["p_yes"].to_pylist() == wanted["p_yes"].to_pylist()
    assert found["loan"].to_pylist() == ["yes", "no"]
    assert found["code"].to_pylist() == ["007", "042"]


def test_in_the_command_line(run: Run, folder: Path, model: sqlbn.Model) -> None:
    done = run("predict", "loans", "new.csv", "--out", "scored.parquet", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    wanted = model.predict(folder / "new.parquet")["p_yes"].to_pylist()
    assert pq.read_table(folder / "scored.parquet")["p_yes"].to_pylist() == wanted


def test_evaluate_update_and_forget(folder: Path) -> None:
    with sqlbn.load(folder / "models.duckdb", "loans") as loaded:
        of_csv = loaded.evaluate(folder / "new.csv").losses
        assert of_csv == loaded.evaluate(folder / "new.parquet").losses
        before = loaded.cpt("loan").to_pylist()
        loaded.update(folder / "new.csv")
        assert set(loaded.cpt("loan")["loan"].to_pylist()) == {"yes", "no"}
        loaded.forget(folder / "new.csv")
        assert loaded.cpt("loan").to_pylist() == before


def test_a_test_file_has_the_types_of_the_training_file(folder: Path) -> None:
    options = {"target": "y", "learner": "nb"}
    of_csv = sqlbn.evaluate(folder / "train.csv", test=folder / "new.csv", **options)
    assert of_csv.losses["accuracy"] == 1.0


def test_a_second_site_follows_the_pattern(folder: Path, model: sqlbn.Model) -> None:
    digits = folder / "digits.csv"
    digits.write_text(NEW.replace("A1", "007") * 1)
    with sqlbn.fit(digits, "y", like=model, same_structure=True) as like:
        assert types(like) == types(model)


def test_what_is_no_number_is_told_with_its_place(
    model: sqlbn.Model, folder: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(NEW + "no,f,1,042,2024-01-02,12 EUR,true,no\n")
    with pytest.raises(SourceError) as error:
        model.predict(bad)
    line = str(error.value)
    assert "\n" not in line
    for part in (str(bad), "line 4", "'x'", "'12 EUR'", "no number"):
        assert part in line
    late = tmp_path / "late.csv"
    late.write_text(NEW + "no,f,1,042,someday,2,true,no\n")
    with pytest.raises(SourceError, match=r"line 4: column 'day' has 'someday', which is no date"):
        model.predict(late)


def test_whole_numbers_in_a_column_of_fractions(model: sqlbn.Model, tmp_path: Path) -> None:
    """The first 20,480 rows look like whole numbers: the model knows better."""
    path = tmp_path / "long.csv"
    line = "yes,t,0,007,2024-01-01,{},true,yes\n"
    path.write_text(HEAD + line.format(1) * 21_000 + line.format(1.5))
    assert model.predict(path)["x"].to_pylist()[-1] == 1.5


def test_an_unknown_category_of_a_column_of_numbers_is_legal(tmp_path: Path) -> None:
    rows = pa.table({"code": [1, 2, 3, 4] * 10, "y": ["a", "b"] * 20})
    path = tmp_path / "new.csv"
    path.write_text("code\n1\nX9\n")
    with sqlbn.fit(rows, "y", "nb") as fitted, pytest.warns(UserWarning, match="'code' is VARCHAR"):
        assert fitted.predict(path).num_rows == 2


def test_truth_values_of_training_read_yes_and_no(tmp_path: Path) -> None:
    rows = pa.table({"ripe": [True, False] * 20, "y": ["a", "b"] * 20})
    path = tmp_path / "new.csv"
    path.write_text("ripe\nyes\nno\n")
    with sqlbn.fit(rows, "y", "nb") as fitted:
        assert fitted.predict(path)["prediction"].to_pylist() == ["a", "b"]


# -- yes and no that the engine has read before us -----------------------------------------------


def test_true_and_false_are_not_taken_for_words(folder: Path, model: sqlbn.Model) -> None:
    rows = pa.table({**COLUMNS, "loan": [True, False]})
    with pytest.raises(ColumnError, match="'loan' is BOOLEAN but was text in training"):
        model.predict(rows)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{folder / 'models.duckdb'}' AS m (READ_ONLY)")
        connection.register("mine", rows)
        with pytest.raises(duckdb.Error, match=r"'loans' had text in this column.*: loan"):
            connection.execute("FROM m.loans.predict('mine')").fetchall()


def test_a_class_that_no_row_has_is_an_error(model: sqlbn.Model) -> None:
    with pytest.raises(ColumnError, match="none of the 2 rows has a class in 'y'"):
        model.evaluate(pa.table({**COLUMNS, "y": [True, False]}))


def test_an_empty_file(folder: Path, model: sqlbn.Model) -> None:
    (folder / "empty.csv").write_text("")
    with pytest.raises(SourceError, match=r"empty\.csv' is empty"):
        model.predict(folder / "empty.csv")


@pytest.mark.parametrize("grouped", [False, True])
def test_whole_numbers_of_every_width_have_the_codes_of_wide_ones(grouped: bool) -> None:
    """Codes are made in a column's own type, which need not hold its range or other values."""
    rng = random.Random(3)
    columns: dict[str, tuple[str, list[int | None]]] = {
        "whole": ("TINYINT", [*range(-128, 128)] * 2),
        "low": ("SMALLINT", [rng.randrange(-32768, -32760) for _ in range(512)]),
        "unsigned": ("UTINYINT", [rng.choice([250, 251, 252, None]) for _ in range(512)]),
        "holes": ("USMALLINT", [rng.choice([0, 7, 65535]) for _ in range(512)]),
        "huge": ("UBIGINT", [rng.choice([2**64 - 1, 2**64 - 2]) for _ in range(512)]),
    }
    listed = ", ".join(f'"{name}" {kind}' for name, (kind, _) in columns.items())
    con = duckdb.connect()
    con.execute(f"CREATE TABLE rows ({listed}, y VARCHAR)")
    y = [rng.choice("ab") for _ in range(512)]
    con.executemany(
        f"INSERT INTO rows VALUES ({', '.join('?' * (len(columns) + 1))})",
        list(zip(*(values for _, values in columns.values()), y, strict=True)),
    )
    rows = con.sql("FROM rows").to_arrow_table()
    text = con.sql("SELECT COLUMNS(*)::VARCHAR FROM rows").to_arrow_table()
    past = "whole::HUGEINT + 1000 AS whole, low::HUGEINT AS low"
    other = con.sql(f"SELECT * REPLACE ({past}) FROM rows").to_arrow_table()
    scores = ["prediction", "p_a", "p_b"]
    rule = "modl" if grouped else "mdl"  # which groups categories, too
    with sqlbn.fit(
        rows,
        target="y",
        learner="kdb",
        k=1,
        categorical=list(columns),
        discretise=rule,
        keep=list(columns),
    ) as model:
        expected = model.predict(rows).select(scores)
        assert not model.unseen.columns
        assert model.predict(text).select(scores) == expected
        model.predict(other)
        assert dict(model.unseen.columns) == {"whole": 512}
