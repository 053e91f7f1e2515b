"""`sqlbn network` as a program, and its pictures."""

from __future__ import annotations

import importlib.util
import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import Run
from network_cases import asia
from typer.testing import CliRunner

import sqlbn
from sqlbn.cli.main import app
from sqlbn.errors import OptionError
from sqlbn.networks import Network, Variable
from sqlbn.report import graphs
from sqlbn.report.graphs import draw_network

has_graphviz = pytest.mark.skipif(
    importlib.util.find_spec("pygraphviz") is None, reason="pygraphviz is not installed"
)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program's words in this process, which is much faster than to start one."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, ["network", *map(str, words)])


def test_score_query_and_mistakes(call: Any, tmp_path: Path) -> None:
    sqlbn.write_bif(asia(), tmp_path / "asia.bif")
    sqlbn.sample(tmp_path / "rows.parquet", 1000, bif=asia())
    done = call("score", "rows.parquet", "--bif", "asia.bif", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    wanted = {"rows": 1000, "impossible_rows": 0, "variables": 8, "arcs": 8}
    assert {k: told[k] for k in wanted} == wanted
    assert set(told) == {*wanted, "log_likelihood", "seconds"}
    assert -3 < told["log_likelihood"] < -1.5

    done = call("query", "--bif", "asia.bif", "--of", "lung", "--given", "smoke=yes")
    assert done.stdout == "lung  probability\nyes      0.100000\nno       0.900000\n"

    done = call("query", "--bif", "asia.bif", "--of", "xray", "--given", "either=no", "--json")
    told = json.loads(done.stdout)
    assert (told["of"], told["given"]) == (["xray"], {"either": "no"})
    assert [r["probability"] for r in told["rows"]] == pytest.approx([0.05, 0.95])

    done = call("query", "--bif", "asia.bif", "--of", "lung", "--given", "smoke")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "sqlbn: --given smoke: write VARIABLE=STATE\n"


def test_a_stored_network_is_exported_drawn_from_and_scored(
    call: Any, fruit_file: str, tmp_path: Path
) -> None:
    store = tmp_path / "m.duckdb"
    sqlbn.fit(fruit_file, target="kind", learner="kdb", k=1, backoff="parents", store=store,
              name="fruit").close()  # fmt: skip
    here = ["--store", "m.duckdb", "--name", "fruit"]
    done = call("export", *here, "--out", "fruit.bif.gz")
    assert (done.exit_code, done.stderr) == (0, "")
    exported = sqlbn.read_bif(tmp_path / "fruit.bif.gz")
    size = f"{len(exported)} variables, {len(exported.arcs)} arcs"
    assert done.stdout == f"{size} written to fruit.bif.gz\n"
    assert exported == sqlbn.networks.load(store, "fruit")

    done = call("sample", *here, "--rows", 500, "--seed", 2, "--out", "a.parquet", "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    sqlbn.sample(tmp_path / "b.parquet", 500, bif=exported, seed=2)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()

    done = call("score", fruit_file, *here, "--json", "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout)["impossible_rows"] == 0


def test_the_class_of_a_stored_network_is_spared(fruit_file: str, tmp_path: Path) -> None:
    store, out = tmp_path / "m.duckdb", tmp_path / "a.parquet"
    sqlbn.fit(fruit_file, target="kind", learner="nb", store=store, name="fruit").close()
    sqlbn.networks.sample(out, 200, store=store, name="fruit", missing=0.9)
    rows = pq.read_table(out)
    assert rows["kind"].null_count == 0
    assert rows["ripe"].null_count > 100


def test_no_possible_row_is_null_in_json(program: Run, tmp_path: Path) -> None:
    sqlbn.write_bif(asia(), tmp_path / "asia.bif")
    header = ",".join(asia().names)
    (tmp_path / "rows.csv").write_text(f"{header}\n{','.join('x' * 8)}\n")
    done = program("network", "score", "rows.csv", "--bif", "asia.bif", "--json")
    assert json.loads(done.stdout)["log_likelihood"] is None
    assert "1 of 1 rows" in done.stderr


# -- pictures -------------------------------------------------------------------------------------

ODD = ("<b>", "a & b", r"\N\l", "größe", "two\nlines", "x" * 80, '"quoted"', "->", "n0")


def odd_network() -> Network:
    """Names that Graphviz would take for its own language; the class is a parent of all."""
    top = Variable(ODD[0], ("a", "b"), (), [0.5, 0.5])
    rest = [Variable(name, ("a", "b"), (ODD[0],), np.full((2, 2), 0.5)) for name in ODD[1:]]
    return Network((top, *rest))


@has_graphviz
def test_every_name_and_arrow_is_in_the_picture(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.svg"
    draw_network(odd_network(), path, target=ODD[0])
    assert capfd.readouterr() == ("", "")
    space = "{http://www.w3.org/2000/svg}"
    picture = ET.parse(path).getroot()
    groups = [g for g in picture.iter(f"{space}g") if g.get("class") in ("node", "edge")]
    texts = ["".join(t.itertext()) for g in groups for t in g.iter(f"{space}text")]
    shown = [n.replace("\n", " ") if len(n) <= 40 else n[:39] + "…" for n in ODD]
    assert [t.replace("\xa0", " ") for t in texts] == shown
    assert sum(g.get("class") == "edge" for g in groups) == len(ODD) - 1
    fills = [g.find(f"{space}path").get("fill") for g in groups if g.get("class") == "node"]  # type: ignore[union-attr]
    assert (fills.count("#ffd98a"), fills[0]) == (1, "#ffd98a")


@has_graphviz
def test_boxes_do_not_overlap(tmp_path: Path) -> None:
    network = Network(
        tuple(
            Variable(f"variable {i}", ("a", "b"), [f"variable {j}" for j in _above(i)],
                     np.full([2] * (len(_above(i)) + 1), 0.5))
            for i in range(40)
        )
    )  # fmt: skip
    graph = graphs._laid_out(network, None, "TB")
    boxes = []
    for node in graph.nodes():
        x, y = map(float, node.attr["pos"].split(","))
        boxes.append((x, y, 36 * float(node.attr["width"]), 36 * float(node.attr["height"])))
    for i, (x, y, w, h) in enumerate(boxes):
        for u, v, a, b in boxes[:i]:
            assert abs(x - u) >= w + a or abs(y - v) >= h + b


def _above(i: int) -> list[int]:
    return sorted({(i - 1) // 3, i // 5} - {i}) if i else []


@has_graphviz
def test_png_is_one_and_a_wide_row_becomes_a_column(tmp_path: Path) -> None:
    star = Network(
        (
            Variable("top", ("a", "b"), (), [0.5, 0.5]),
            *(Variable(f"child {i}", ("a", "b"), ("top",), np.full((2, 2), 0.5))
              for i in range(30)),
        )
    )  # fmt: skip
    sqlbn.networks.plot(tmp_path / "star.png", bif=star)
    data = (tmp_path / "star.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(data[i : i + 4], "big") for i in (16, 20))
    assert abs(math.log(width / height)) < abs(math.log(30 * 90 / 120))
    assert height > width


@has_graphviz
def test_a_thicket_of_arrows_from_the_class_is_cut_and_said(tmp_path: Path) -> None:
    chain = [
        Variable(f"x{i}", ("a", "b"), ["y", f"x{i - 1}"][: 1 + (i > 0)],
                 np.full([2] * (2 + (i > 0)), 0.5))
        for i in range(17)
    ]  # fmt: skip
    network = Network((Variable("y", ("a", "b"), (), [0.5, 0.5]), *chain))
    draw_network(network, tmp_path / "a.svg", "y")
    text = (tmp_path / "a.svg").read_text()
    assert text.count('class="edge"') == 17
    assert "y is a parent of all others; most of its arrows are left out" in text
    draw_network(Network(network.variables[:17]), tmp_path / "b.svg", "y")
    text = (tmp_path / "b.svg").read_text()
    assert text.count('class="edge"') == 16 + 15
    assert "left out" not in text


@pytest.mark.parametrize(
    ("out", "message"),
    [("net.gif", "must end in .svg or .png"), ("none/net.svg", "the folder does not exist")],
)
def test_pictures_that_cannot_be(out: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        sqlbn.networks.plot(out, bif=asia())


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str, *_: Any) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    with pytest.raises(OptionError, match="needs pygraphviz: pip install pygraphviz"):
        sqlbn.networks.plot(tmp_path / "net.svg", bif=asia())
