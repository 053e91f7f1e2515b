"""The life of a learned network: stored, loaded, updated, exported, asked; broken off; short of
memory."""

import json
import math
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference_search as reference
from reference_networks import posterior, probability
from search_cases import Codes, encoded
from typer.testing import CliRunner

import sqlbn
from sqlbn.cli.main import app
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.errors import OptionError
from sqlbn.networks import learn
from sqlbn.search.blocks import RowStream
from sqlbn.search.bounds import Rule
from sqlbn.search.decisions import ArcLimits, Graph, Log, Task
from sqlbn.search.hill_climbing import LocalScores
from sqlbn.search.vfbn1 import vfbn1
from sqlbn.search.vfbn2 import vfbn2

METHODS = ("hgc", "vfbn1", "vfbn2")


def weather(rows: int, seed: int) -> pa.Table:
    """Texts with odd names, copies, missing values; `y` hangs on two others."""
    rng = random.Random(seed)
    a = [rng.choice(("x", "y", "it's")) for _ in range(rows)]
    b = [v if rng.random() < 0.8 else "x" for v in a]
    c = [rng.choice((True, False)) for _ in a]
    d = [None if v == "x" and rng.random() < 0.5 else v for v in b]
    y = [
        "yes" if (v == "x") == w and rng.random() < 0.9 else "no" for v, w in zip(b, c, strict=True)
    ]
    return pa.table({"select": a, "two words": b, 'quo"te': c, "d": d, "y": y})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weather")
    pq.write_table(weather(1200, 1), folder / "one.parquet")
    pq.write_table(weather(500, 2), folder / "two.parquet")
    return folder


def stored_tables(store: Path, name: str) -> dict[str, list[Any]]:
    """What any duckdb program reads of the model's counts and probabilities."""
    with duckdb.connect(str(store), read_only=True) as db:
        names = db.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = ? "
            "UNION SELECT view_name FROM duckdb_views() WHERE schema_name = ?",
            [name, name],
        ).fetchall()
        wanted = [n for (n,) in names if n not in ("meta", "history", "history_files")]
        db.execute(f"USE {name}")
        return {
            n: sorted(map(repr, db.execute('FROM "' + n.replace('"', '""') + '"').fetchall()))
            for n in sorted(wanted)
        }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", [None, "y"])
def test_learn_update_forget(method: str, target: str | None, files: Path, tmp_path: Path) -> None:
    store, one, two = tmp_path / "m.duckdb", files / "one.parquet", files / "two.parquet"
    with learn(one, method, target=target, store=store, name="n") as model:
        assert model.decisions is not None
        decisions, arcs = model.decisions.to_pylist(), model.parents.to_pylist()
        assert arcs
    before = stored_tables(store, "n")
    assert {"decisions", "parents", "counts", 'cpt_quo"te', "cpt_two words"} <= set(before)

    with sqlbn.load(store, "n") as again:
        assert again.decisions is not None
        assert (again.decisions.to_pylist(), again.parents.to_pylist()) == (decisions, arcs)

    change = sqlbn.update(store, "n", two)
    assert any("structure stays" in note for note in change.notes)
    both = pa.concat_tables([weather(1200, 1), weather(500, 2)])
    with sqlbn.load(store, "n") as changed:
        assert changed.meta["rows"] == 1700
        assert changed.decisions is not None
        assert changed.decisions.to_pylist() == decisions
        assert changed.parents.to_pylist() == arcs
        check_counts(changed, both)
    sqlbn.forget(store, "n", two)
    assert stored_tables(store, "n") == before


def check_counts(model: Any, rows: pa.Table) -> None:
    """The views' counts are those of the rows, value by value."""
    records = rows.to_pylist()
    parents: dict[str, list[str]] = {}
    for row in model.parents.to_pylist():
        parents.setdefault(row["attribute"], []).append(row["parent"])
    for child in model.attributes["attribute"].to_pylist():
        above = parents.get(child, [])
        table = model.cpt(child)
        for cell in table.to_pylist():
            values = list(cell.values())
            asked = {child: values[0], **dict(zip(above, values[1:], strict=False))}
            if "class" in cell:
                asked["y"] = cell["class"]
            hits = [r for r in records if all(_text(r[k]) == _text(v) for k, v in asked.items())]
            assert cell["n"] == len(hits), (child, cell)


def _text(value: Any) -> str | None:
    return str(value).lower() if isinstance(value, bool) else value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", [None, "y"])
def test_export_scores_and_predicts_the_same(
    method: str, target: str | None, files: Path, tmp_path: Path
) -> None:
    store, rows = tmp_path / "m.duckdb", weather(1200, 1)
    model = learn(files / "one.parquet", method, target=target, store=store, name="n")
    network = sqlbn.networks.load(store, "n")
    assert len(network) == 5
    sqlbn.write_bif(network, tmp_path / "n.bif")
    assert sqlbn.read_bif(tmp_path / "n.bif") == network

    texts = pa.table(
        {
            n: ["?" if v is None else _text(v) for v in rows[n].to_pylist()]
            for n in rows.column_names
        }
    )
    exported = sqlbn.networks.score(texts, bif=tmp_path / "n.bif")
    kept = sqlbn.networks.score(files / "one.parquet", store=store, name="n")
    records = texts.to_pylist()
    wanted = sum(math.log(probability(network, r)) for r in records) / len(records)
    assert exported.impossible_rows == kept.impossible_rows == 0
    assert exported.log_likelihood == pytest.approx(wanted, abs=1e-9)
    assert kept.log_likelihood == pytest.approx(wanted, abs=1e-9)
    assert (kept.arcs, kept.variables) == (exported.arcs, exported.variables)

    if target is None:
        for ask in (lambda: model.predict(rows), lambda: model.evaluate(rows)):
            with pytest.raises(OptionError, match="has no class to predict"):
                ask()
        return
    scored = model.predict(rows.slice(0, 60))
    for got, record in zip(scored.to_pylist(), records, strict=False):
        given = {k: v for k, v in record.items() if k != "y"}
        chances = posterior(network, ["y"], given)
        assert chances is not None
        for state in ("yes", "no"):
            assert got[f"p_{state}"] == pytest.approx(chances[state,], abs=1e-9)
        assert got["prediction"] == max(chances, key=lambda k: chances[k])[0]
    hits = [p == y for p, y in zip(model.predict(rows)["prediction"].to_pylist(),
                                   rows["y"].to_pylist(), strict=True)]  # fmt: skip
    losses = model.evaluate(rows).losses
    assert losses["zero_one"] == pytest.approx(1 - sum(hits) / len(hits))


# ---- the program


def test_the_program(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def call(*words: object, code: int = 0) -> str:
        done = CliRunner().invoke(app, list(map(str, words)))
        assert done.exit_code == code, (words, done.output)
        return done.stdout if code == 0 else done.stderr

    one, two = files / "one.parquet", files / "two.parquet"
    told = json.loads(call("network", "learn", one, "--json", "-q"))
    assert (told["name"], told["target"], told["rows"]) == ("network", "", 1200)
    assert told["arcs"][0].keys() == {"from", "to"}
    shown = call("show", "network")
    assert shown.startswith("vfbn2 (bins 5), a network without a class\n1,200 rows of ")
    assert "classes" not in shown and "sqlbn_no_class" not in shown
    assert f"{len(told['arcs'])} arcs by vfbn2: {told['structure_steps']} decisions from" in shown
    assert "network  vfbn2" in call("models")
    assert "probability" in call("show", "network", "--cpt", "two words")
    lacking = "sqlbn: the network has no class to predict: learn it with --target, or ask it with "
    for words in (("predict", "network", two), ("sql", "predict", "network", two)):
        assert call(*words, code=1) == f"{lacking}`sqlbn network query`\n"
    call("update", "network", two, "-q")
    assert f"{told['structure_rows']:,} rows read (the table had 1,200)" in call("show", "network")
    assert "target" in call("fit", one, "--learner", "vfbn2", "--name", "x", code=2)

    fitted = call("fit", one, "--target", "y", "--learner", "vfbn2", "--name", "fit")
    assert (
        "vfbn2 (bins 5) of 'y'" in fitted and "arcs besides those from the class by vfbn2" in fitted
    )
    call("predict", "fit", two, "--out", "p.parquet")
    assert pq.read_metadata("p.parquet").num_rows == 500
    judged = json.loads(call("evaluate", one, "--target", "y", "--learner", "hgc", "--folds", 2,
                             "--json", "-q"))  # fmt: skip
    assert judged["zero_one"] < 0.3
    wrong = call("merge", "network", "fit", "--name", "x", code=1)
    assert wrong.endswith("the models predict no class and 'y'\n")
    wrong = call("network", "learn", one, "--columns", "zzz", "--name", "x", "-q", code=1)
    assert "sqlbn_no_class" not in wrong
    call("drop", "network")
    assert "network" not in call("models")


# ---- broken off


class Impatient(Progress):
    """Ctrl-C when the search has told so many times how far it is."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left, self.title = after, ""

    def begin(self, title: str, rows: int, total: int) -> None:
        self.title = title

    def advance(self, steps: int = 1) -> None:
        if self.title.startswith("searching"):
            self.left -= 1
            if self.left <= 0:
                raise KeyboardInterrupt


def break_off(monkeypatch: pytest.MonkeyPatch, method: str, after: int) -> None:
    """Ctrl-C while rows are read."""
    owner, name = (LocalScores, "count") if method == "hgc" else (RowStream, "next_block")
    real, calls = getattr(owner, name), [0]

    def impatient(*words: Any) -> Any:
        calls[0] += 1
        if calls[0] > after:
            raise KeyboardInterrupt
        return real(*words)

    monkeypatch.setattr(owner, name, impatient)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("target", "after"), [(None, 1), ("y", 2), (None, -3)])
def test_ctrl_c_keeps_the_network_so_far(
    method: str,
    target: str | None,
    after: int,
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between two steps (`after` so many), or within one (after so many reads)."""
    store, one = tmp_path / "m.duckdb", files / "one.parquet"
    options: dict[str, Any] = {} if method == "hgc" else {"block": 100}
    with monkeypatch.context() as patch:
        if after < 0:
            break_off(patch, method, -after)
        progress = Impatient(after) if after > 0 else Progress()
        model = learn(
            one, method, target=target, store=store, name="n", progress=progress, **options
        )
    assert model.meta["interrupted"] is True
    books = sorted(model.attributes.to_pylist(), key=lambda a: a["position"])
    names = [a["attribute"] for a in books]
    assert model.decisions is not None
    _, parents = reference.replay(names, model.decisions.to_pylist())
    arcs = {(r["parent"], r["attribute"]) for r in model.parents.to_pylist()}
    assert arcs == {(names[p], names[v]) for v, above in enumerate(parents) for p in above}
    with learn(one, method, target=target, **options) as whole:
        assert "interrupted" not in whole.meta
        assert whole.decisions is not None
        done = model.decisions.to_pylist()
        assert whole.decisions.to_pylist()[: len(done)] == done
        assert len(done) < whole.decisions.num_rows
    assert len(sqlbn.networks.load(store, "n")) == 5
    found = sqlbn.networks.score(files / "two.parquet", store=store, name="n")
    assert math.isfinite(found.log_likelihood)
    shown = CliRunner().invoke(app, ["show", "n", "--store", str(store)])
    assert "The search was interrupted: more arcs may be worth having." in shown.stdout
    if target is not None:
        assert model.predict(files / "two.parquet").num_rows == 500


# ---- short of memory


@contextmanager
def task_of(codes: Codes, memory: int, block: int = 200) -> Iterator[tuple[RowStream, Task]]:
    with encoded(codes) as (engine, table):
        rule = Rule("normal", 0.01, block, 0.01)
        limits = ArcLimits(codes.cards, codes.cards[-1], 10_000, None, 2)
        stream = RowStream(engine, table, block)
        yield stream, Task(codes.cards, codes.fixed, rule, limits, memory)


def chain(rows: int = 2000, variables: int = 6, classes: int = 1) -> Codes:
    """Each variable mostly copies the one before it; the first is wide."""
    rng = random.Random(11)
    cards = [8, *[3] * (variables - 1), classes]
    found = []
    for _ in range(rows):
        row = [rng.randrange(8)]
        for _ in range(variables - 1):
            row.append(row[-1] % 3 if rng.random() < 0.8 else rng.randrange(3))
        found.append((*row, rng.randrange(classes)))
    return Codes(found, tuple(cards))


@pytest.mark.parametrize("classes", [1, 2])
@pytest.mark.parametrize(("share", "at_first"), [(24, 1), (45, 3), (72, 6)])
def test_vfbn2_takes_turns_when_memory_is_short(
    classes: int, share: int, at_first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = chain(classes=classes)
    d, most = codes.variables, share * classes
    memory = most * d * Limits.candidate_cell_bytes
    module = sys.modules["sqlbn.search.vfbn2"]
    active: list[list[int]] = []
    real = module._Searches.activate

    def watched(searches: Any) -> int:
        finished: int = real(searches)
        cells = [s.tally.cells for s in searches.active.values()]
        assert len(cells) <= 1 or sum(cells) * Limits.candidate_cell_bytes <= memory
        active.append(list(searches.active))
        return finished

    monkeypatch.setattr(module._Searches, "activate", watched)
    log, graph, ended = Log(), Graph(d), [0]
    with task_of(codes, memory) as (stream, task):
        vfbn2(stream, task, log, graph, lambda: ended.__setitem__(0, ended[0] + 1))
        assert stream.position == log.rows_read
        left = {v for v in range(d) if module.moves_of(task, graph, v)}
    assert ended == [d]
    # As many as there is room for, in the order of the queue; the others wait, and all come in.
    assert active[0] == list(range(len(active[0])))
    assert len(active[0]) == at_first
    assert {v for now in active for v in now} == set(range(d))
    ends = [x.change.child for x in log.decisions if x.change.action == "none"]
    assert len(set(ends)) == len(ends)
    assert left <= set(ends)
    for child in range(d):
        assert task.cells(child, graph.parents[child]) <= most
    assert reference.is_acyclic([set(p) for p in graph.parents])
    # The chain is found whatever the memory: every variable is next to its neighbour.
    linked = {frozenset((v, p)) for v in range(d) for p in graph.parents[v]}
    assert {frozenset((v, v + 1)) for v in range(d - 1)} <= linked


@pytest.mark.parametrize(("search", "power"), [(vfbn1, 2), (vfbn2, 1)])
def test_what_takes_more_than_its_share_is_not_considered(search: Any, power: int) -> None:
    codes = chain()
    d = codes.variables
    for most in (1, 9, 10, 24, 27):
        log, graph = Log(), Graph(d)
        with task_of(codes, memory=most * d**power * Limits.candidate_cell_bytes) as (stream, task):
            pairs = sum(task.cells(v, (p,)) <= most for v in range(d) for p in range(d) if p != v)
            search(stream, task, log, graph, lambda: None)
            assert task.most_cells(d**power) == most
            for child in range(d):
                above = graph.parents[child]
                assert not above or task.cells(child, above) <= most
        if most < 9:
            assert (log.decisions, log.rows_read) == ([], 0)
        else:
            first = log.decisions[0]
            assert first.candidates == (pairs if power == 2 else pairs_of(codes, first, most)) + 1


def pairs_of(codes: Codes, decision: Any, most: int) -> int:
    """Parents that a variable without any could have."""
    child = decision.change.child
    others = [p for p in range(codes.variables) if p != child]
    return sum(codes.cards[child] * codes.cards[p] <= most for p in others)


def test_the_least_memory_that_a_fit_can_have(files: Path) -> None:
    one = files / "one.parquet"
    with learn(one, memory_limit="60MB", threads=1) as tight, learn(one) as wide:
        assert tight.parents.to_pylist() == wide.parents.to_pylist()
