"""`sqlbn.networks.learn` on hostile tables: what must hold of every network and its log."""

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import reference_search as reference
from hypothesis import given
from hypothesis import strategies as st
from random_tables import examples
from search_cases import hostile_table

from sqlbn.errors import (
    ColumnError,
    NoRowsError,
    OptionError,
    SqlbnError,
)
from sqlbn.networks import learn

METHODS = ("hgc", "vfbn1", "vfbn2")


def some_options(rng: random.Random, method: str) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "max_parents": rng.choice((None, None, 0, 1, 2)),
        "max_parameters": rng.choice((10_000, 10_000, 1, 12, 60)),
        "max_changes": rng.choice((1, 2, 2, 3)),
        "seed": rng.randrange(100),
    }
    if method == "hgc":
        asked["score"] = rng.choice((None, "bdeu", "k2", "bic"))
        return asked
    asked |= {
        "bound": rng.choice((None, "normal", "hoeffding")),
        rng.choice(("delta", "delta_star")): rng.choice((0.3, 0.01, 1e-9)),
        "tau": rng.choice((None, 0.01, 0.3)),
        "block": rng.choice((None, 100, 130)),
    }
    return asked


def told(model: Any) -> dict[str, Any]:
    """All that must not depend on threads."""
    meta = {k: v for k, v in model.meta.items() if k not in ("created_at", "seconds")}
    tables = {t: getattr(model, t).to_pylist() for t in ("attributes", "parents", "decisions")}
    return {"meta": meta, **tables}


def check_log(model: Any, method: str, asked: dict[str, Any]) -> None:
    meta, decisions = model.meta, model.decisions.to_pylist()
    books = sorted(model.attributes.to_pylist(), key=lambda a: a["position"])
    names, cards = [a["attribute"] for a in books], [a["n_values"] for a in books]
    _, parents = reference.replay(names, decisions)
    arcs = {(r["parent"], r["attribute"]) for r in model.parents.to_pylist()}
    assert arcs == {(names[p], names[v]) for v, above in enumerate(parents) for p in above}
    assert (meta["arcs"], meta["structure_steps"]) == (len(arcs), len(decisions))

    classes = max(1, model.classes.num_rows)
    for child, above in enumerate(parents):
        parameters = classes * math.prod(cards[p] for p in above) * (cards[child] - 1)
        assert not above or parameters <= asked["max_parameters"]
        assert asked["max_parents"] is None or len(above) <= asked["max_parents"]
    changed = Counter(frozenset((d["variable"], d["parent"])) for d in decisions if d["parent"])
    assert max(changed.values(), default=0) <= asked["max_changes"]

    read = [d["rows_read"] for d in decisions]
    assert read == sorted(read)
    assert all(0 < d["rows"] <= min(meta["rows"], d["rows_read"]) for d in decisions)
    assert meta["structure_rows"] >= max(read, default=0)
    assert [d["step"] for d in decisions] == list(range(1, len(decisions) + 1))
    if method == "hgc":
        assert all(d["reason"] == "score" and d["delta"] == 0 for d in decisions)
        assert "delta_star" not in meta
        return
    assert meta["delta_star"] == pytest.approx(sum(d["delta"] for d in decisions))
    if asked.get("delta_star") is not None:
        assert meta["delta_star"] <= asked["delta_star"] * (1 + 1e-9)
    for d in decisions:
        comparisons = d["candidates"] - 1
        assert comparisons >= 1
        assert d["checks"] <= math.ceil(meta["rows"] / (asked["block"] or 10_000))
        assert d["reason"] in ("bound", "tie", "exhausted")
        if d["reason"] == "bound":
            assert d["margin"] > d["bound"]
        elif d["reason"] == "tie":
            assert d["rows"] <= meta["rows"]
        else:
            assert d["rows"] == meta["rows"]
        if "delta" in asked:
            assert d["delta"] == pytest.approx(asked["delta"] * d["checks"] * comparisons)
    if method == "vfbn1":
        assert all(d["action"] != "none" for d in decisions[:-1])
    else:
        assert not any(d["action"] == "reverse" for d in decisions)
        ended = [d["variable"] for d in decisions if d["action"] == "none"]
        assert len(set(ended)) == len(ended)
        for name in ended:
            assert [d for d in decisions if d["variable"] == name][-1]["action"] == "none"


def varies(column: pa.ChunkedArray) -> bool:
    """Whether a column has two different values, a missing one counted, NaN as one."""
    return len({None if v != v else v for v in column.to_pylist()}) > 1


@examples(24, 10)
@given(st.integers(0, 2**64), st.sampled_from(METHODS), st.booleans())
def test_networks_of_hostile_tables(seed: int, method: str, has_class: bool) -> None:
    rng = random.Random(seed)
    rows = rng.choice((1, 7, 100, 350, 900))
    table = hostile_table(rng, rows, rng.randint(1, 6))
    asked = some_options(rng, method)
    target = "y" if has_class else None
    found = []
    if target is None and not any(varies(table[name]) for name in table.column_names):
        with pytest.raises(SqlbnError, match="there is no network to learn"):
            learn(table, method, **asked)
        return
    for threads in (1, 2):
        with learn(table, method, target=target, threads=threads, **asked) as model:
            check_log(model, method, asked)
            found.append(told(model))
    assert found[0] == found[1]
    assert found[0]["meta"]["target"] == (target or "")


def test_a_class_of_one_value_is_as_none() -> None:
    """A search with it finds what one without a target finds in the other columns."""
    rng = random.Random(3)
    a = [rng.choice("xyz") for _ in range(500)]
    b = [v if rng.random() < 0.8 else "x" for v in a]
    table = pa.table({"a": a, "b": b, "c": [rng.choice("pq") for _ in a]})
    for method in METHODS:
        with (
            learn(table, method) as without,
            learn(table.append_column("y", pa.array(["k"] * 500)), method, target="y") as with_one,
        ):
            assert without.parents.num_rows > 0
            for name in ("parents", "decisions"):
                one, other = getattr(without, name), getattr(with_one, name)
                assert one.to_pylist() == other.to_pylist()


def two_columns() -> pa.Table:
    return pa.table({"a": ["x", "y"] * 20, "b": ["x", "y"] * 20})


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"method": "abc"}, OptionError, "method='abc': choose hgc, vfbn1 or vfbn2"),
        ({"score": "k2"}, OptionError, "score does nothing for vfbn2; it goes with hgc"),
        ({"ess": 2.0}, OptionError, "ess does nothing for vfbn2; it goes with hgc"),
        ({"method": "hgc", "tau": 0.1}, OptionError, "tau does nothing for hgc"),
        ({"method": "hgc", "delta_star": 0.1}, OptionError, "delta_star does nothing for hgc"),
        ({"method": "hgc", "block": 500}, OptionError, "block does nothing for hgc"),
        ({"method": "hgc", "bound": "normal"}, OptionError, "bound does nothing for hgc"),
        ({"delta": 0.1, "delta_star": 0.1}, OptionError, "not both"),
        ({"method": "hgc", "score": "bic", "ess": 1.0}, OptionError, "ess requires"),
        ({"bound": "chernoff"}, OptionError, "bound='chernoff': choose normal or hoeffding"),
        ({"tau": 1.5}, OptionError, "tau=1.5: give a share"),
        ({"block": 1e4}, OptionError, "block=10000.0: give a whole number"),
        ({"max_parents": "2"}, OptionError, "max_parents='2': give a whole number"),
        ({"block": 5}, OptionError, "block=5: give at least 100 rows"),
        ({"max_changes": 0}, OptionError, "max_changes=0: give at least 1"),
        ({"max_parents": -1}, OptionError, "max_parents=-1"),
        ({"discretise": "mdl"}, OptionError, "discretise='mdl' needs a target; use ef"),
        ({"discretise": "modl"}, OptionError, "discretise='modl' needs a target; use ef"),
        ({"weight": "b"}, OptionError, "weight is not for the learner vfbn2"),
        ({"k": 2}, OptionError, "k is not for the learner vfbn2"),
        ({"backoff": "parents"}, OptionError, "backoff does nothing for the learner vfbn2"),
        ({"structure_sample": 9}, OptionError, "structure_sample does nothing"),
        ({"frob": 1}, OptionError, "unknown option 'frob'; valid: "),
        ({"target": "c"}, ColumnError, "'c'"),
    ],
)
def test_mistakes_are_one_clear_line(options: dict[str, Any], kind: Any, words: str) -> None:
    with pytest.raises(kind) as error:
        learn(two_columns(), **options)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("method", METHODS)
def test_no_rows_and_reserved_names(method: str) -> None:
    empty = two_columns().slice(0, 0)
    with pytest.raises(NoRowsError) as error:
        learn(empty, method)
    assert str(error.value) == "the Table has no row to learn from"
    with pytest.raises(NoRowsError, match="target 'a'"):
        learn(empty, method, target="a")
    for name in ("sqlbn_no_class", "SQLBN_No_Class"):
        with pytest.raises(ColumnError, match="is in the way; rename it"):
            learn(two_columns().append_column(name, pa.array(["z"] * 40)), method)


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    """Columns that are left out leave nothing: that is an error, and nothing is stored."""
    table = pa.table({"a": ["x"] * 5, "b": pa.nulls(5)})
    for method in METHODS:
        with pytest.raises(SqlbnError, match="there is no network to learn"):
            learn(table, method, store=tmp_path / "m", name="n")
    assert not (tmp_path / "m").exists()
