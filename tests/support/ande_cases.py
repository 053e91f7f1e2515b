"""Random tables for AnDE, its brute force, and what is compared of the two."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pyarrow as pa
import pytest
import random_tables
import reference
import reference_ande
from hypothesis import strategies as st
from loo_cases import MANY_CLASSES, with_column
from random_tables import (
    ROUNDING,
    TARGET,
    Case,
    cases,
    near,
    same_classes,
    same_losses,
    same_predictions,
    some,
)
from reference_ande import Ande

VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    "-s": {"subsumption": True},
    "-w": {"weighted": True},
    "-sw": {"subsumption": True, "weighted": True},
}
NAMES = [f"a{n}de{variant}" for n in (1, 2) for variant in VARIANTS]
every_name = pytest.mark.parametrize("name", NAMES)
some_names = pytest.mark.parametrize("name", ["a1de", "a1de-sw", "a2de-s", "a2de-w"])
every_n = pytest.mark.parametrize("n", [1, 2])


def meaning(name: str) -> dict[str, Any]:
    """The options that the short name of a learner stands for."""
    return {"n": int(name[1]), **VARIANTS[name[4:]]}


# ---- random tables


def with_implied(rng: random.Random, case: Case) -> Case:
    """One more column, which another implies in training; new rows may contradict it."""
    source = rng.choice(case.attributes)
    seen = sorted({repr(row[source]) for row in case.train})
    inside = some(rng, seen, len(seen))

    def implied(row: dict[str, Any], trust: float = 1.0) -> str:
        honest = "in" if repr(row[source]) in inside else "out"
        return honest if rng.random() < trust else rng.choice(("in", "out", "other"))

    return replace(
        case,
        schema=case.schema.insert(
            rng.randint(0, len(case.schema)), pa.field("implied", pa.string())
        ),
        train=[{**row, "implied": implied(row)} for row in case.train],
        new=[{**row, "implied": implied(row, 0.7)} for row in case.new],
    )


@st.composite
def andes(draw: st.DrawFn, selecting: bool = False) -> Case:
    case = draw(cases())
    rng = random.Random(draw(st.integers(0, 2**32)))
    asked: dict[str, Any] = {
        key: value for key, value in case.options.items() if key not in ("k", "backoff")
    }
    asked |= {
        "learner": "ande",
        "n": rng.choice((1, 2)),
        "subsumption": rng.random() < 0.7,
        "weighted": rng.random() < 0.5,
        "min_count": rng.choice((0, 0, 1, 2, 3)),
    }
    if rng.random() < 0.2:
        asked["keep"] = case.attributes
    if "weight" in asked and rng.random() < 0.3:
        asked["weight_kind"] = "importance"
    # Values of new rows are drawn one by one: those of training rows do imply each other.
    familiar = rng.choices(case.train, k=rng.randint(0, 8))
    case = replace(case, options=asked, new=[*case.new, *familiar])
    if rng.random() < 0.6:
        case = with_implied(rng, case)
    if rng.random() < 0.1:
        many = rng.choices(range(MANY_CLASSES), k=len(case.train))
        case = with_column(case, TARGET, pa.int64(), many)
    d = len(refer(case).model.attributes)
    if selecting:
        asked |= {"select": "attributes", "loss": rng.choice(reference.LOSSES)}
    elif d and rng.random() < 0.3:
        asked["attributes"] = rng.randint(1, d)
    return case


def refer(case: Case) -> Ande:
    """The brute force of the same rows and options."""
    options = {
        key: value
        for key, value in case.options.items()
        if key not in ("learner", "select", "loss")
    }
    return reference_ande.fit(case.train, case.attributes, TARGET, **options)


def rounds_the_same(ref: Ande) -> bool:
    """Whether no MI is so near half a unit of the last decimal that one bit decides."""
    d, n = range(len(ref.model.attributes)), ref.n if ref.weighted else 1
    subsets = [s for size in range(1, n + 1) for s in combinations(d, size)]
    exact = [reference_ande.information(ref.model, s) for s in subsets]
    low, high = ([round(x + e, reference.DECIMALS) for x in exact] for e in (-ROUNDING, ROUNDING))
    return low == high


# ---- what is compared


def learn(case: Case, **more: Any) -> Any:
    """A fit; the least count is given only where it matters, for sqlbn asks for that."""
    options = {**case.options, **more}
    if not (options.get("subsumption") or "-s" in options["learner"]):
        options["min_count"] = None
    return random_tables.learn(replace(case, options=options))


@contextmanager
def by_ande() -> Iterator[None]:
    """What compares with the probabilities of reference.py compares with those of AnDE."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "probabilities", reference_ande.probabilities)
        yield


def kept_names(ref: Ande) -> list[str]:
    return [ref.model.attributes[i].name for i in ref.kept]


def same_attributes(model: Any, ref: Ande) -> None:
    """The code books, MI and its order, and which attributes are used."""
    rows = model.attributes.to_pylist()
    assert [r["attribute"] for r in rows] == [a.name for a in ref.model.attributes]
    for i, (row, book) in enumerate(zip(rows, ref.model.attributes, strict=True)):
        assert row["n_values"] == book.n_values, book
        assert near(row["mi"], ref.model.mi[i]), book
        assert row["rank"] == ref.model.order.index(i), book
    assert [r["attribute"] for r in rows if r["selected"]] == kept_names(ref)


def answers(model: Any, rows: pa.Table) -> pa.Table:
    """What a prediction adds to the rows (which may hold NaN, never equal to itself)."""
    scored = model.predict(rows)
    return scored.select(scored.column_names[rows.num_columns :])


def same_scores(model: Any, ref: Any, case: Case) -> None:
    """Predictions and losses; only the attributes in use are needed for them."""
    with by_ande():
        same_predictions(model, ref, case)
        same_losses(model, ref, case)
    if len(ref.kept) < len(ref.model.attributes):
        needed = [n for n in case.schema.names if n in (*kept_names(ref), TARGET)]
        fewer = case.new_table.select(needed)
        assert answers(model, fewer).equals(answers(model, case.new_table))


def same(case: Case) -> list[list[float]]:
    """Compare the model, predictions and losses; the probabilities, now the same for both."""
    ref = refer(case)
    with learn(case) as model:
        same_attributes(model, ref)
        same_classes(model, ref.model)
        same_scores(model, ref, case)
    return [[float(q) for q in p] for p in reference_ande.probabilities(ref, case.new)]


def made(names: Sequence[str], train: Sequence[Any], new: Sequence[Any], **options: Any) -> Case:
    """A case of text columns; training rows end with the class, which new rows do not have."""
    rows = [dict(zip((*names, TARGET), row, strict=True)) for row in train]
    return Case(
        pa.schema([(n, pa.string()) for n in (*names, TARGET)]),
        rows,
        [{**dict(zip(names, row, strict=True)), TARGET: None} for row in new],
        {"learner": "ande", **options},
    )


def outcome(case: Case, new: list[dict[str, Any]] | None = None, **more: Any) -> list[Any]:
    """The probabilities that sqlbn gives to some rows, by default the new ones."""
    with learn(case, **more) as model:
        table = replace(case, new=case.new if new is None else new).new_table
        return [list(row.values())[1:] for row in answers(model, table).to_pylist()]


def agree(got: list[Any], wanted: list[Any]) -> None:
    assert len(got) == len(wanted)
    for p, q in zip(got, wanted, strict=True):
        assert p == pytest.approx(q, rel=0, abs=random_tables.TOLERANCE)


WEATHER = [
    *[("sun", "hot", "dry", "stay")] * 3,
    *[("sun", "mild", "dry", "go")] * 4,
    *[("rain", "mild", "wet", "go")] * 2,
    *[("rain", "cold", None, "stay")] * 3,
    ("sun", "cold", "dry", "go"),
]
NEW_WEATHER = list(product(("sun", "rain", None), ("hot", "cold", "snow"), ("dry", "wet", None)))
