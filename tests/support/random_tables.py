"""Random small tables, and what is compared of the models that are made of them.

SQLBN_SOAK=1 makes every test draw all its examples, new ones in every run, SQLBN_SOAK=20 twenty
times as many.
"""

import json
import math
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference
import reference_ranking
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from limited import limited

import sqlbn

SOAK = int(os.environ.get("SQLBN_SOAK", "0"))
# So many examples at most, for a first look: `bash tests/run.sh quick`.
QUICK = int(os.environ.get("SQLBN_QUICK", "0"))
TOLERANCE = 1e-12
TARGET, WEIGHT = "y", "w"
GOLDEN = Path(__file__).parents[3] / "shared" / "golden"
# Words of SQL, of our own tables, and some that need quoting.
NAMES = ("x", "n", "code", "class", "select", "two words", 'quo"te', "it's", "größe", "p_a")


def examples(number: int, daily: int | None = None) -> Callable[[Any], Any]:
    """How many examples a test draws; `daily` in the default run, where they take long."""
    usual = number if daily is None else daily
    return settings(
        max_examples=min(usual, QUICK) if QUICK else number * SOAK if SOAK else usual,
        derandomize=not SOAK,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


# ---- random tables


@dataclass(frozen=True)
class Domain:
    """What a column can hold: in training some of `usual`, at prediction that and `unseen`."""

    type: pa.DataType
    usual: tuple[Any, ...]
    unseen: tuple[Any, ...] = ()


INF, NAN = math.inf, math.nan
TEXT = Domain(pa.string(), ("a", "A", "b", "ä", "", " ", "NULL", "it's", "10", "9", None), ("zz",))
BOOLEAN = Domain(pa.bool_(), (False, True, None))
FEW_INTS = Domain(pa.int64(), (-(2**63), -2, -1, 0, 1, 2, 2**62, None), (7, 2**63 - 1))
LARGE_INTS = Domain(pa.uint64(), (0, 1, 2**63, 2**64 - 2**12, 2**64 - 1, None), (5, 2**63 - 1))
INTS = Domain(pa.int32(), tuple(range(-60, 60)), (-1000, 1000, None))
FLOATS = Domain(
    pa.float64(),
    (-INF, -1e300, -2.5, -0.0, 0.0, 5e-324, 0.1, 0.1 + 0.2, 0.3, 1.5, 2.5, INF, NAN, None),
    (0.2, -7.0, 1e9),
)
DOMAINS = (TEXT, TEXT, BOOLEAN, FEW_INTS, LARGE_INTS, INTS, FLOATS, FLOATS)
CLASSES = (
    Domain(pa.string(), ("no", "yes", "maybe", "it's", "10", "9")),
    Domain(pa.int64(), (-1, 0, 1, 2, 10)),
    Domain(pa.bool_(), (False, True)),
)


@dataclass(frozen=True)
class Case:
    schema: pa.Schema
    train: list[dict[str, Any]]
    new: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def attributes(self) -> list[str]:
        return [n for n in self.schema.names if n not in (TARGET, WEIGHT)]

    @property
    def train_table(self) -> pa.Table:
        return pa.Table.from_pylist(self.train, self.schema)

    @property
    def new_table(self) -> pa.Table:
        return pa.Table.from_pylist(self.new, self.schema)


def some(rng: random.Random, pool: Sequence[Any], most: int) -> list[Any]:
    return rng.sample(pool, rng.randint(1, min(most, len(pool))))


def attribute(rng: random.Random, earlier: list[Any], classes: list[Any], new: int) -> Any:
    """Type, training values and new values: random, a copy of another, or near the class."""
    how = rng.choice(("random", "random", "random", "near", "copy"))
    if how == "copy" and earlier:
        return rng.choice(earlier)
    domain = rng.choice(DOMAINS)
    pool = domain.usual if domain is INTS else some(rng, domain.usual, 6)
    column = rng.choices(pool, k=len(classes))
    if how == "near":
        known = sorted(set(map(repr, classes)))
        column = [
            pool[known.index(repr(y)) % len(pool)] if rng.random() < 0.7 else v
            for y, v in zip(classes, column, strict=True)
        ]
    return domain.type, column, rng.choices((*pool, *domain.usual, *domain.unseen), k=new)


def choices(rng: random.Random, types: dict[str, pa.DataType]) -> dict[str, list[str]]:
    """Columns that the user wants as numbers, as categories, or in any case."""
    numbers = [n for n, t in types.items() if pa.types.is_integer(t) or pa.types.is_floating(t)]
    answer: dict[str, list[str]] = {"categorical": [], "numeric": [], "keep": []}
    for name in numbers:
        if rng.random() < 0.25:
            answer[rng.choice(("categorical", "numeric"))].append(name)
    answer["keep"] = [name for name in types if rng.random() < 0.1]
    return answer


def weights(rng: random.Random, size: int, new: int, whole: bool) -> Any:
    if whole or rng.random() < 0.5:
        return pa.int64(), rng.choices((0, 1, 2, 3), k=size), rng.choices((0, 1, 2, 3), k=new)
    parts = (0.0, 0.25, 0.5, 1.0, 2.75)
    return pa.float64(), rng.choices(parts, k=size), rng.choices(parts, k=new)


@st.composite
def cases(draw: st.DrawFn, always_whole_weights: bool = False) -> Case:
    """A table and options from a seed; shrinking makes the table smaller, then the seed.

    One draw of a kind: hypothesis makes most of its examples by copying one draw to another of
    the same kind, and values drawn one by one hardly ever gave two parents or three classes.
    """
    scale = draw(st.sampled_from((0.0, 0.1, 0.2, 0.4, 0.6, *[1.0] * 11)))
    rng = random.Random(draw(st.integers(0, 2**64)))
    size = 5 + round(rng.randint(0, 55) * scale)
    width = 1 + round(rng.choice((0, 1, 2, 3, 4, 4, 5, 5)) * scale)
    new = 1 + round(rng.randint(0, 9) * scale)
    asked: dict[str, Any] = {
        "learner": rng.choice(("nb", "tan", "kdb", "kdb")),
        "m": rng.choice((0.5, 1.0, 2.0)),
        "backoff": rng.choice(("cell", "parents", "parents-both")),
        "bins": rng.choice((2, 3, 5, 10)),
    }
    if asked["learner"] == "kdb":
        asked["k"] = rng.randint(0, 4)
    outcome = rng.choice(CLASSES)
    pool = rng.sample(outcome.usual, min(rng.choice((1, 2, 2, 2, 3, 3, 4)), len(outcome.usual)))
    pool += rng.choice(([], [], [None]))
    classes = rng.choices(pool, k=size)
    data = {TARGET: (outcome.type, classes, rng.choices((*pool, *outcome.usual, None), k=new))}
    for name in rng.sample(NAMES, width):
        earlier = [column for key, column in data.items() if key != TARGET]
        data[name] = attribute(rng, earlier, classes, new)
    asked |= choices(rng, {name: data[name][0] for name in data if name != TARGET})
    if always_whole_weights or rng.random() < 0.5:
        data[WEIGHT] = weights(rng, size, new, always_whole_weights)
        asked["weight"] = WEIGHT
    place = rng.sample(list(data), len(data))
    asked["unseen"] = rng.choice(("neutral", "neutral", "smoothed"))
    train = [{n: data[n][1][i] for n in place} for i in range(size)]
    assume(any(r[TARGET] is not None and r.get(WEIGHT, 1) > 0 for r in train))
    return Case(
        pa.schema([(n, data[n][0]) for n in place]),
        train,
        [{n: data[n][2][i] for n in place} for i in range(new)],
        asked,
    )


# ---- what is compared


def learn(case: Case, **more: Any) -> Any:
    return sqlbn.fit(case.train_table, target=TARGET, quiet=True, **{**case.options, **more})


def refer(case: Case) -> reference.Model:
    return reference.fit(case.train, case.attributes, TARGET, **case.options)


def near(got: float, wanted: float) -> bool:
    return math.isclose(got, wanted, rel_tol=0, abs_tol=TOLERANCE)


def tables(model: Any) -> dict[str, list[dict[str, Any]]]:
    return {
        name: getattr(model, name).to_pylist()
        for name in ("attributes", "parents", "classes", "cmi")
    }


def parents_of(model: Any) -> dict[str, list[str]]:
    rows = sorted(model.parents.to_pylist(), key=lambda r: (r["attribute"], r["rank"]))
    return {
        a: [r["parent"] for r in rows if r["attribute"] == a]
        for a in model.attributes["attribute"].to_pylist()
    }


# What sqlbn may lose in MI and CMI before it rounds them.
ROUNDING = 2e-15


def rounds_the_same(ref: reference.Model) -> bool:
    """Whether no MI or CMI is so near half a unit of the last decimal that one bit decides."""
    d = range(len(ref.attributes))
    exact = [reference.information(ref.table, i, j) for i in d for j in (None, *range(i))]
    exact += [reference.told(ref.table, i, j) for i in d for j in d if i != j]
    low, high = ([round(x + e, reference.DECIMALS) for x in exact] for e in (-ROUNDING, ROUNDING))
    return low == high


def same_structure(model: Any, ref: reference.Model, case: Case) -> None:
    names = [a.name for a in ref.attributes]
    got = {r["attribute"]: r for r in model.attributes.to_pylist()}
    assert list(got) == names
    for i, book in enumerate(ref.attributes):
        row = got[book.name]
        assert row["n_values"] == book.n_values, book
        if any(not reference.is_missing(r[book.name]) for r in case.train):
            assert row["kind"] == book.kind, book
        assert near(row["mi"], ref.mi[i]), book
        assert row["rank"] == ref.order.index(i), book
        assert row["selected"] is True
    assert parents_of(model) == {names[i]: [names[j] for j in ref.parents[i]] for i in ref.order}
    for row in model.parents.to_pylist():
        assert near(row["cmi"], ref.cmi[names.index(row["attribute"]), names.index(row["parent"])])
    pairs = {
        (names.index(r["attribute"]), names.index(r["other"])): r["cmi"]
        for r in model.cmi.to_pylist()
    }
    if case.options["learner"] == "tan" or case.options.get("k"):
        assert set(pairs) == set(ref.cmi)
    for pair, cmi in pairs.items():
        assert near(cmi, ref.cmi[pair])


def label(outcome: Any) -> str:
    return str(outcome).lower() if isinstance(outcome, bool) else str(outcome)


def same_classes(model: Any, ref: reference.Model) -> None:
    weight = [
        sum(w for (_, y), w in ref.table.items() if y == code) for code in range(len(ref.classes))
    ]
    wanted = [(i, label(c), w) for i, (c, w) in enumerate(zip(ref.classes, weight, strict=True))]
    assert [(r["code"], r["class"], r["n"]) for r in model.classes.to_pylist()] == wanted


def same_predictions(model: Any, ref: reference.Model, case: Case) -> None:
    table = model.predict(case.new_table)
    inputs = case.schema.names
    assert table.column_names == [*inputs, "prediction", *(f"p_{label(c)}" for c in ref.classes)]
    assert repr(table.select(inputs).to_pylist()) == repr(case.new_table.to_pylist())
    for row, wanted in zip(table.to_pylist(), reference.probabilities(ref, case.new), strict=True):
        prediction, *got = list(row.values())[len(inputs) :]
        assert prediction == ref.classes[reference.winner(wanted)], row
        for p, q in zip(got, wanted, strict=True):
            assert near(p, float(q)), (row, float(q))


def same_losses(model: Any, ref: reference.Model, case: Case) -> None:
    weight = case.options.get("weight")
    known = [r for r in case.new if r[TARGET] in ref.classes and r.get(WEIGHT, 1) > 0]
    if not known:
        return
    evaluation = model.evaluate(case.new_table, weight=weight)
    for name, value in reference.evaluate(ref, case.new, weight).items():
        assert near(evaluation.losses[name], value), (name, value)
    if weight is None:
        assert (evaluation.rows, evaluation.skipped) == (len(known), len(case.new) - len(known))
    confusion = [[0.0] * len(ref.classes) for _ in ref.classes]
    for row, p in zip(known, reference.probabilities(ref, known), strict=True):
        confusion[ref.classes.index(row[TARGET])][reference.winner(p)] += row.get(WEIGHT, 1)
    assert evaluation.confusion == confusion
    same_rankings(evaluation, ref, known)


def same_rankings(evaluation: Any, ref: reference.Model, rows: Sequence[Any]) -> None:
    """AUC and aoPRC of rows of known classes; none has two of them: neither figure."""
    judged = [
        (ref.classes.index(r[TARGET]), p, r.get(WEIGHT, 1))
        for r, p in zip(rows, reference.probabilities(ref, rows), strict=True)
    ]
    trained = [sum(w for (_, y), w in ref.table.items() if y == z) for z in range(len(ref.classes))]
    rarer = (0 if trained[0] < trained[1] else 1) if len(trained) == 2 else None
    for name, value in reference_ranking.rankings(judged, len(ref.classes), rarer).items():
        got = evaluation.losses[name]
        assert near(got, value) or (math.isnan(got) and math.isnan(value)), (name, got, value)


@contextmanager
def as_if_large(limit: int) -> Iterator[None]:
    """Limits so low that small tables go the ways of large ones: joined codebooks, sparse counts,
    back-off by chains of tables, nothing fused, rows left out in chunks."""
    with limited(
        inline_categories=2,
        loo_few_estimates=0,
        block_cells=limit,
        block_cells_least=limit,
        array_cells=limit,
        array_share=0.0,
        copied_rows=0,
        quantile_array_rows=0,
        product_share=0.0,
        inserted_together=limit,
        factor_values=limit,
        factor_values_least=limit,
        fused_keys=1,
        average_fused_values=limit,
        average_complete_values=limit,
        average_gapless_keys=limit,
        average_array_share=0.0,
        collection_fused_values=20 * limit,
        collection_complete_values=40 * limit,
        collection_numbered_values=max(1, limit // 2),
        collection_tables=2,
        superparent_array_values=limit,
        average_loo_values=limit,
        average_loo_safe=0.01,
        average_loo_share=0,
        average_loo_rows=max(7, limit),
    ):
        yield


def same_model(one: Any, other: Any, case: Case) -> None:
    """The same tables and predictions, to the last bit."""
    with one, other:
        assert tables(one) == tables(other)
        got, wanted = (repr(m.predict(case.new_table).to_pylist()) for m in (one, other))
        assert got == wanted


def golden(name: str) -> tuple[dict[str, Any], list[str], list[Any], list[Any]]:
    """Results of an independent program, attributes in schema order, training and test rows."""
    if not GOLDEN.is_dir():
        pytest.skip(f"{GOLDEN} is not there")
    wanted = json.loads((GOLDEN / f"{name}.json").read_text())
    table = pq.read_table(GOLDEN.parent / "data" / wanted["file"])
    used = {a["attribute"] for a in wanted["attributes"]}
    names = [n for n in table.column_names if n in used]
    rows = table.select([*names, wanted["target"]]).to_pylist()
    parts: tuple[list[Any], list[Any]] = ([], [])
    for i, row in enumerate(rows):
        parts[(i * 2654435761) % 2**32 < 1431655765].append(row)
    return wanted, names, *parts
