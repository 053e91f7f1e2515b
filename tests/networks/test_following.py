"""A network that follows a stream: its window, its changes, what is stored at the end."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sqlbn
from sqlbn.cli.main import app
from sqlbn.errors import SqlbnError
from sqlbn.search.bounds import Rule
from sqlbn.search.decisions import ArcChange, ArcLimits, Graph, Task
from sqlbn.search.window import FollowedGraph

CARDS = (3, 2, 3, 2)


def changing(rows: int, source: str, seed: int) -> pa.Table:
    """y mostly copies one of a and b, z mostly y; c is nothing to anybody."""
    rng = random.Random(seed)

    def copy(value: str, sure: float) -> str:
        return value if rng.random() < sure else rng.choice("uvw")

    found = []
    for _ in range(rows):
        row = {name: rng.choice("uvw") for name in "abc"}
        row["y"] = copy(row[source], 0.8)
        row["z"] = copy(row["y"], 0.7)
        found.append(row)
    return pa.Table.from_pylist(found)


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "rows.parquet"
    parts = [changing(6000, "a", 1), changing(8000, "b", 2)]
    pq.write_table(pa.concat_tables(parts), path)
    return path


def linked(model: sqlbn.Model) -> set[frozenset[str]]:
    return {frozenset((row["parent"], row["attribute"])) for row in model.parents.to_pylist()}


def test_arcs_come_and_go_with_the_rows(stream: Path) -> None:
    found = sqlbn.networks.follow(stream, window=4000, block=500, delta=1e-6, tau=0.002)
    with found.model as model:
        told = [change for block in found.blocks for change in block.changes]
        assert linked(model) >= {frozenset("by"), frozenset("yz")}
        assert frozenset("ay") not in linked(model)
        assert frozenset("ac") not in linked(model)
        # Nothing happens before the rows change, and the shock is seen in the likelihood.
        assert not any(b.changes for b in found.blocks if b.rows_before < 6000)
        assert any(set(t) >= set("by") and t[0] == "+" for t in told)
        calm = [b.log_likelihood for b in found.blocks if b.rows_before < 6000]
        shock = next(b.log_likelihood for b in found.blocks if b.rows_before == 6000)
        late = found.blocks[-1].log_likelihood
        assert shock < min(calm) - 0.5
        assert late > shock + 0.5
        assert found.blocks[-1].arcs == model.parents.num_rows
        # All decisions lead to the arcs there are.
        graph: set[tuple[str, str]] = set()
        assert model.decisions is not None
        for row in model.decisions.to_pylist():
            arc = (row["parent"], row["variable"])
            if row["action"] == "add":
                assert arc not in graph
                graph.add(arc)
            elif row["action"] == "delete":
                graph.remove(arc)
        assert graph == {(r["parent"], r["attribute"]) for r in model.parents.to_pylist()}
        assert (model.meta["window"], model.meta["rows"]) == (4000, 4000)


@pytest.mark.parametrize("target", [None, "z"])
def test_the_last_model_is_that_of_the_last_window(
    stream: Path, target: str | None, tmp_path: Path
) -> None:
    store = tmp_path / "s.duckdb"
    options = {"window": 3000, "block": 500, "target": target}
    found = sqlbn.networks.follow(stream, store=store, name="now", **options)
    last = pq.read_table(stream).slice(11_000)
    with found.model as model:
        for row in model.attributes.to_pylist():
            seen = last[row["attribute"]].value_counts().to_pylist()
            counts = model._session.rows(
                f"SELECT value, n FROM {model._workspace.table('categories')} "
                f"WHERE attribute = '{row['attribute']}'"
            )
            assert dict(counts) == {s["values"]: s["counts"] for s in seen}
    with sqlbn.load(store, "now") as kept:
        assert kept.target == (target or "")
        if target is not None:
            assert kept.predict(last).num_rows == 3000
    score = sqlbn.networks.score(last, store=store, name="now")
    assert (score.rows, score.impossible_rows) == (3000, 0)


def test_counts_of_a_window_are_those_of_its_rows() -> None:
    rng = np.random.default_rng(5)
    blocks = [rng.integers(0, np.array(CARDS)[:, None], (4, 200)) for _ in range(7)]
    for block in blocks[4:]:
        block[1] = block[0] % 2  # something to be found
    rule, limits = Rule("normal", 0.01, 200, 1e-3), ArcLimits(CARDS, 2, 1000, None, 10**9)
    graph = Graph(3)
    graph.apply(ArcChange("add", 2, 0))
    followed = FollowedGraph(Task(CARDS, (3,), rule, limits, 10**8), graph)
    for at, block in enumerate(blocks):
        followed.add(block)
        if at >= 3:
            followed.forget()
        followed.review(200 * (at + 1))
        window = np.concatenate(blocks[max(0, at - 2) : at + 1], axis=1)
        again = FollowedGraph(Task(CARDS, (3,), rule, limits, 10**8), followed.graph)
        again.add(window)
        assert followed.rows == window.shape[1]
        for one, other in zip(followed._tallies, again._tallies, strict=True):
            assert one.moves == other.moves
            assert one.n == other.n
            assert (one._counts == other._counts).all()
        assert followed.tables.log_likelihood(block) == again.tables.log_likelihood(block)
    assert {0, 1} <= {0, *followed.graph.parents[1]} | {1, *followed.graph.parents[0]}
    assert 0 in followed.graph.parents[1] or 1 in followed.graph.parents[0]


def test_new_values_and_classes_count_as_unknown(tmp_path: Path) -> None:
    first = pa.table({"a": ["x", "y"] * 500, "b": ["p", "q"] * 500, "k": ["1", "2"] * 500})
    then = pa.table({"a": ["new", None] * 300, "b": ["p", "q"] * 300, "k": ["1", "3"] * 300})
    rows = pa.concat_tables([first, then])
    found = sqlbn.networks.follow(rows, window=1000, block=200, target="k")
    with found.model:
        assert [b.rows for b in found.blocks] == [100, 100, 100]
        assert all(np.isfinite(b.log_likelihood) for b in found.blocks)


def test_the_program(stream: Path, tmp_path: Path) -> None:
    def call(*words: object, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["network", "follow", *map(str, words)])
        assert done.exit_code == code, done.output
        return done.stdout if code == 0 else done.output

    store = tmp_path / "s.duckdb"
    words = (stream, "--window", 5000, "--block", 1000, "--store", store, "--name", "n")
    told = json.loads(call(*words, "--json", "-q"))
    assert [b["rows_before"] for b in told["blocks"]] == list(range(5000, 14_000, 1000))
    assert told["arcs"][0].keys() == {"from", "to"}
    assert "already holds a model 'n'" in call(*words, "-q", code=1)
    table = call(*words, "--replace", "-q")
    assert table.startswith("block  rows before  log-likelihood  arcs  changes\n")
    assert "give at least a block" in call(stream, "--window", 500, code=1)
    assert "--store and --name go together" in call(
        stream, "--window", 10_000, "--name", "x", code=1
    )
    assert "no row behind the first window" in call(stream, "--window", 20_000, "-q")


def test_what_cannot_be_followed(stream: Path) -> None:
    with pytest.raises(SqlbnError, match="its codes take"):
        sqlbn.networks.follow(stream, window=10**9, block=1000, memory_limit="200MB")
    with pytest.raises(SqlbnError, match="has no row to learn from"):
        sqlbn.networks.follow(pq.read_table(stream).slice(0, 0), window=1000, block=1000)
