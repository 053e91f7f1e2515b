"""`sqlbn bench`: cells are those of `evaluate`, none is run twice, mistakes are said."""

from __future__ import annotations

import json
import math
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Run

import sqlbn
from sqlbn.errors import OptionError
from sqlbn.lab.plan import Contestant


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two small sets, one of a single class, and one that is too small."""
    folder, draw = tmp_path_factory.mktemp("sets"), random.Random(3)
    for name, n in (("a", 120), ("b", 90), ("few", 3), ("one", 40)):
        rows = []
        for i in range(n):
            y = "only" if name == "one" else draw.choice(["no", "yes", "yes"])
            seen = draw.choice([y, y, "maybe", None])
            rows.append({"x": seen, "z": draw.gauss(len(y), 1.0), "w": str(i % 3), "y": y})
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    (folder / "plan.toml").write_text(
        """
title = "two sets"
repeats = 2
folds = 3
predictions = true
measures = ["rmse", "zero_one", "auc"]

[[sets]]
data = "a.parquet"
target = "y"

[[sets]]
name = "other"
data = "b.parquet"
target = "y"
options = { exclude = ["w"] }

[[learners]]
learner = "nb"

[[learners]]
name = "KDB 1"
learner = "kdb"
options = { k = 1 }
""",
        encoding="utf-8",
    )
    return folder


def cells(path: Path) -> list[tuple[object, ...]]:
    """All that a results file holds but for seconds and memory."""
    with duckdb.connect(str(path), read_only=True) as found:
        folds = found.execute(
            "SELECT * EXCLUDE (fit_seconds, predict_seconds, fit_peak_bytes) FROM folds "
            "ORDER BY ALL"
        ).fetchall()
        rows = found.execute("SELECT * FROM predictions ORDER BY ALL").fetchall()
        runs = found.execute("SELECT * FROM runs ORDER BY ALL").fetchall()
        ranks = found.execute("SELECT * FROM ranks ORDER BY ALL").fetchall()
    return [*folds, *rows, *runs, *ranks]


@pytest.fixture(scope="module")
def done(sets: Path) -> Path:
    """The results of the plan."""
    out = sets / "done.duckdb"
    sqlbn.bench(sets / "plan.toml", out=out)
    return out


def test_cells_are_those_of_evaluate(sets: Path, done: Path) -> None:
    whole = sqlbn.evaluate(sets / "a.parquet", target="y", learner="kdb", k=1, folds=3)
    with duckdb.connect(str(done), read_only=True) as found:
        of = found.execute(
            "SELECT sum(rmse ** 2 * test_rows), sum(zero_one * test_rows), sum(test_rows) "
            "FROM folds WHERE data_set = 'a' AND learner = 'KDB 1' AND repeat = 0"
        ).fetchone()
    assert of is not None and of[2] == whole.rows == 120
    assert math.sqrt(of[0] / of[2]) == pytest.approx(whole.rmse, rel=1e-12)
    assert of[1] / of[2] == pytest.approx(whole.zero_one, rel=1e-12)


def test_every_row_is_predicted_once_a_repeat(done: Path) -> None:
    with duckdb.connect(str(done), read_only=True) as found:
        counted = found.execute(
            "SELECT data_set, learner, repeat, count(*), count(DISTINCT row) FROM predictions "
            "GROUP BY ALL"
        ).fetchall()
        wrong = found.execute(
            "SELECT max(abs(f.rmse - p.rmse)), max(abs(f.zero_one - p.zero_one)) FROM folds AS f "
            "JOIN (SELECT data_set, learner, repeat, fold, sqrt(avg((1 - p_true) ** 2)) AS rmse, "
            "avg((class <> predicted)::INT) AS zero_one FROM predictions GROUP BY ALL) AS p "
            "USING (data_set, learner, repeat, fold)"
        ).fetchone()
    assert {(n, different) for *_, n, different in counted} == {(120, 120), (90, 90)}
    assert wrong is not None and max(wrong) < 1e-12


def test_bias_and_variance_by_hand(done: Path) -> None:
    with duckdb.connect(str(done), read_only=True) as found:
        rows = found.execute(
            "SELECT data_set, learner, row, class, predicted, p_true FROM predictions"
        ).fetchall()
        stored = {
            tuple(row[:4]): row[4:]
            for row in found.execute("SELECT * FROM decompositions").fetchall()
        }
    by_row = defaultdict(list)
    for name, learner, row, truth, predicted, p in rows:
        by_row[name, learner, row].append((truth, predicted, p))
    sums: dict[tuple[str, ...], list[tuple[float, float, float]]] = defaultdict(list)
    for (name, learner, _), seen in by_row.items():
        truth, n = seen[0][0], len(seen)
        shares = {c: k / n for c, k in Counter(c for _, c, _ in seen).items()}
        error = 1 - shares.get(truth, 0.0)
        classes = {truth, *shares}
        bias = sum(((c == truth) - shares.get(c, 0.0)) ** 2 for c in classes) / 2
        variance = (1 - sum(s * s for s in shares.values())) / 2
        sums[name, learner, "zero_one", "Kohavi-Wolpert"].append((error, bias, variance))
        tendency = min(shares, key=lambda c: (-shares[c], c))
        wrong = shares[tendency] if tendency != truth else 0.0
        sums[name, learner, "zero_one", "Webb"].append((error, wrong, error - wrong))
        mean = sum(1 - p for *_, p in seen) / n
        squared = sum((1 - p) ** 2 for *_, p in seen) / n
        sums[name, learner, "squared", "mean"].append((squared, mean**2, squared - mean**2))
    assert stored.keys() == sums.keys()
    for key, found_rows in sums.items():
        means = [math.fsum(column) / len(found_rows) for column in zip(*found_rows, strict=True)]
        assert stored[key] == pytest.approx(means, abs=1e-12)
        assert stored[key][0] == pytest.approx(stored[key][1] + stored[key][2], abs=1e-12)


def test_what_is_there_is_not_run_again(sets: Path, done: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy.duckdb"
    out.write_bytes(done.read_bytes())
    with duckdb.connect(str(out)) as found:
        found.execute("UPDATE folds SET fit_seconds = -1")
    extended = sqlbn.bench(sets / "plan.toml", learners="kdb:0", out=out)
    told = extended.arrow("folds").to_pylist()
    assert {row["learner"] for row in told if row["fit_seconds"] == -1} == {"nb", "KDB 1"}
    assert sum(row["learner"] == "kdb:0" for row in told) == 12
    by = {(r["data_set"], r["repeat"], r["fold"], r["learner"]): r["rmse"] for r in told}
    for (name, repeat, fold, learner), rmse in by.items():
        if learner == "nb":  # KDB without parents is naive Bayes
            assert by[name, repeat, fold, "kdb:0"] == pytest.approx(rmse, rel=1e-12)


def test_another_bench_is_refused(sets: Path, done: Path) -> None:
    before = done.read_bytes()
    for changed in ({"folds": 2}, {"seed": 5}, {"quick": True}):
        with pytest.raises(OptionError, match="another bench"):
            sqlbn.bench(sets / "plan.toml", out=done, **changed)
    with pytest.raises(OptionError, match="no results of a bench"):
        other = sets / "other.duckdb"
        with duckdb.connect(str(other)) as made:
            made.execute("CREATE TABLE t AS SELECT 1")
        sqlbn.bench(sets / "plan.toml", out=other)
    assert done.read_bytes() == before


def test_what_cannot_be_run_is_said_and_the_others_go_on(sets: Path, tmp_path: Path) -> None:
    out = tmp_path / "some.duckdb"
    named = [f"{sets / name}.parquet:y" for name in ("one", "a", "few", "absent")]
    found = sqlbn.bench(sets=named, learners=["nb", "kdb:1"], folds=5, out=out)
    runs = {(r["data_set"], r["learner"]): r for r in found.arrow("runs").to_pylist()}
    assert {key[0] for key, r in runs.items() if r["status"] == "done"} == {"a"}
    assert "1 class" in runs["one", "nb"]["reason"] and "too few" in runs["few", "nb"]["reason"]
    assert "absent.parquet" in runs["absent", "kdb:1"]["reason"]
    assert found.arrow("folds").num_rows == 10
    assert "absent" in found.text()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("repeats = 1\nfold = 3\n", 2, "unknown key 'fold'; there is title"),
        ('[[sets]]\ndata = "a.parquet"\n', 1, "need 'target'"),
        ('[[sets]]\ndata="a"\ntarget="y"\n[[learners]]\nlearner="nb"\nk=1\n', 6, "'k'"),
        ('[[learners]]\nlearner = "nb"\n[[learners]]\nlearner = "nbb"\n', 4, "nbb"),
        ('[[learners]]\nname = "x"\n', 1, "give 'learner'"),
        ("repeats = 1\nfolds = }\n", 2, "no TOML"),
        ('folds = "3"\n', 1, "whole number"),
        ('[[learners]]\ncomparator = "forest"\noptions = { tree = 5 }\n', 3, "'tree'"),
    ],
)
def test_a_mistake_names_file_line_and_keys(
    text: str, line: int, says: str, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError) as caught:
        sqlbn.bench(plan, out=tmp_path / "out.duckdb")
    message = str(caught.value)
    assert "plan.toml" in message and says in message and "\n" not in message
    assert f"line {line}" in message
    assert not (tmp_path / "out.duckdb").exists()


def test_tables_in_every_format(sets: Path, done: Path, run: Run) -> None:
    words = ("bench", sets / "plan.toml", "--out", done, "--quiet")
    markdown = run(*words).stdout
    assert "| rmse | nb | KDB 1 |" in markdown and "**" in markdown and "mean rank" in markdown
    latex = run(*words, "--format", "latex").stdout
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") > 3
    assert r"\toprule" in latex and "zero\\_one" in latex
    assert run(*words, "--format", "csv").stdout.startswith("set,nb,KDB 1\n")
    titles = [t["title"] for t in json.loads(run(*words, "--json").stdout)]
    assert titles[:3] == ["rmse", "zero_one", "auc"]
    wrong = run(*words, "--format", "word")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1) and "latex" in wrong.stderr


def test_pictures(sets: Path, done: Path, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="pip install 'sqlbn[lab]'")
    words = ("bench", sets / "plan.toml", "--out", done, "--quiet", "--plot", tmp_path / "drawn")
    assert run(*words).returncode == 0
    drawn = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert {"ranks-rmse.svg", "nb-kdb-1-auc.svg", "bias-zero-one-webb.svg"} <= drawn


def test_comparators_on_the_same_folds(sets: Path, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="pip install 'sqlbn[lab]'")
    found = sqlbn.bench(
        sets=f"{sets / 'a.parquet'}:y",
        learners=[
            *("nb", "forest", "logistic", "hgb"),
            Contestant("codes", comparator="forest", options={"columns": "codes", "trees": 10}),
        ],
        folds=3,
        predictions=True,
        out=tmp_path / "out.duckdb",
    )
    folds = found.arrow("folds").to_pylist()
    assert {r["learner"] for r in folds} == {"nb", "forest", "logistic", "hgb", "codes"}
    rows = defaultdict(set)
    for r in found.arrow("predictions").to_pylist():
        rows[r["learner"], r["fold"]].add((r["row"], r["class"]))
    assert all(rows[learner, f] == rows["nb", f] for learner, f in rows)
    assert all(0 <= r["rmse"] < 0.6 for r in folds)


def test_a_comparator_that_is_not_installed_says_what_to_install(
    sets: Path, tmp_path: Path
) -> None:
    found = sqlbn.bench(
        sets=f"{sets / 'a.parquet'}:y",
        learners="nb,khiops",
        folds=2,
        out=tmp_path / "out.duckdb",
    )
    reasons = {r["learner"]: r["reason"] for r in found.arrow("runs").to_pylist()}
    assert reasons["nb"] is None
    assert reasons["khiops"] is None or "pip install khiops" in reasons["khiops"]


def _killed(sets: Path, out: Path, times: int, seed: int) -> int:
    """Run the plan, killed so often at random moments, then to its end; how often it was hit."""
    draw, hits = random.Random(seed), 0
    command = [sys.executable, "-c", "from sqlbn.cli import main; main()", "bench", "--quiet"]
    command += [str(sets / "plan.toml"), "--out", str(out)]
    for _ in range(times):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.6 + 1.2 * draw.random())
        hits += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return hits


def test_a_killed_bench_goes_on(sets: Path, done: Path, tmp_path: Path) -> None:
    assert _killed(sets, tmp_path / "out.duckdb", 2, 1) > 0
    assert cells(tmp_path / "out.duckdb") == cells(done)


@pytest.mark.slow
def test_a_bench_that_is_killed_twenty_times(sets: Path, done: Path, tmp_path: Path) -> None:
    _killed(sets, tmp_path / "out.duckdb", 20, 2)
    assert cells(tmp_path / "out.duckdb") == cells(done)
