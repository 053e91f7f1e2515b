"""Random sequences of update, forget and merge: always the model of the rows that are left.

The rows are kept in a list beside the model; the brute-force reference and a fit of that list with
the same encoding say what the model must be.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from random_tables import (
    TARGET,
    WEIGHT,
    Case,
    as_if_large,
    cases,
    examples,
    parents_of,
    rounds_the_same,
    same_classes,
    same_predictions,
)

import sqlbn

Rows = list[dict[str, Any]]
# What says when and how a model was made, not what it is.
ABOUT = {"meta", "history", "history_files", "loocv", "encodings"}


def is_counted(row: dict[str, Any]) -> bool:
    return row[TARGET] is not None and row.get(WEIGHT, 1) > 0


def table(case: Case, rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, case.schema)


def contents(model: Any) -> dict[str, list[str]]:
    """Every table of a model; counts under the attributes they belong to, not their positions."""
    workspace, engine = model._draft, model._session
    found = {}
    for name in set(workspace.names()) - ABOUT - {"families", "margin_families"}:
        rows = engine.rows(f"FROM {workspace.table(name)}")
        if name in ("counts", "margins"):
            described = "families" if name == "counts" else "margin_families"
            axes: dict[int, list[Any]] = {}
            for position, *axis in engine.rows(
                f"FROM {workspace.table(described)} ORDER BY position, axis"
            ):
                axes.setdefault(position, []).append(axis)
            rows = [(axes[position], key, n) for position, key, n in rows]
        found[name] = sorted(map(repr, rows))
    return found


def same_tables(one: Any, other: Any) -> None:
    got, wanted = contents(one), contents(other)
    assert sorted(got) == sorted(wanted)
    for name, rows in wanted.items():
        assert got[name] == rows, name


def learned(case: Case, rows: Rows) -> Any:
    return sqlbn.fit(table(case, rows), TARGET, **case.options)


def refit(case: Case, rows: Rows, model: Any) -> Any:
    return sqlbn.fit(table(case, rows), TARGET, like=model, same_structure=True)


def refer(case: Case, rows: Rows, model: Any) -> reference.Model:
    """The reference of these rows, with the model's encoding and, where it was kept, structure."""
    books = {b.name: b for b in model.spec.books}
    options = {k: v for k, v in case.options.items() if k not in ("categorical", "numeric", "keep")}
    ref = reference.fit(
        rows,
        [n for n in case.attributes if n in books],
        TARGET,
        categorical=[n for n, b in books.items() if b.kind == "categorical"],
        numeric=[n for n, b in books.items() if b.kind == "numeric"],
        cuts={n: b.cuts for n, b in books.items() if b.kind == "numeric"},
        keep=list(books),
        **options,
    )
    if model.meta.get("unchanged"):
        shape = model.shape.structure
        ref = replace(ref, order=shape.order, parents=dict(enumerate(shape.parents)))
    return ref


def same_as_reference(model: Any, case: Case, rows: Rows) -> None:
    ref = refer(case, rows, model)
    assume(rounds_the_same(ref))
    names = [a.name for a in ref.attributes]
    assert [r["attribute"] for r in model.attributes.to_pylist()] == names
    assert [r["n_values"] for r in model.attributes.to_pylist()] == [
        a.n_values for a in ref.attributes
    ]
    assert parents_of(model) == {names[i]: [names[j] for j in ref.parents[i]] for i in ref.order}
    same_classes(model, ref)
    same_predictions(model, ref, case)


def changes(rng: random.Random, case: Case, inside: Rows) -> Iterator[tuple[str, Rows]]:
    """Batches that come and go; `inside` is what the caller keeps of the model's rows."""
    pool = [*case.train, *case.new]
    for _ in range(rng.randint(1, 5)):
        counted = [i for i, row in enumerate(inside) if is_counted(row)]
        if rng.random() < 0.5 and len(counted) > 1:
            places = rng.sample(range(len(inside)), rng.randint(1, len(inside)))
            kept = rng.choice(counted)
            yield "forget", [inside[i] for i in places if i != kept]
        else:
            yield "update", rng.choices(pool, k=rng.randint(0, 12))


def apply(inside: Rows, action: str, batch: Rows) -> None:
    if action == "update":
        inside += batch
        return
    for row in batch:
        del inside[next(i for i, other in enumerate(inside) if repr(other) == repr(row))]


def start(case: Case, rng: random.Random) -> Rows:
    rows = rng.sample(case.train, rng.randint(1, len(case.train)))
    assume(any(is_counted(r) for r in rows))
    return rows


def live(case: Case, seed: int) -> None:
    rng = random.Random(seed)
    inside = start(case, rng)
    with learned(case, inside) as model:
        for action, batch in changes(rng, case, inside):
            change = getattr(model, action)(table(case, batch))
            apply(inside, action, batch)
            assert change.total == sum(map(is_counted, inside)) == model.meta["rows"]
            with refit(case, inside, model) as again:
                same_tables(model, again)
            same_as_reference(model, case, inside)


@examples(24)
@given(cases(), st.integers(0, 2**32))
def test_any_changes_give_the_model_of_the_rows_that_are_left(case: Case, seed: int) -> None:
    live(case, seed)


@examples(12)
@given(cases(), st.integers(0, 2**32), st.sampled_from((1, 30, 200)))
def test_also_where_tables_are_large(case: Case, seed: int, limit: int) -> None:
    with as_if_large(limit):
        live(case, seed)


OTHERS = [
    {"learner": "skdb", "kmax": 2},
    {"learner": "a1de"},
    {"learner": "a1de-sw", "min_count": 1},
    {"learner": "a2de", "attributes": 3},
    {"learner": "a1de", "select": "attributes"},
    {"learner": "fan", "score": "bayes"},
    {"learner": "superparent"},
    {"learner": "fanc", "order": "gain", "parents_from_first": 2},
    {"learner": "spc"},
    {"learner": "spcr", "missing": "value"},
    {"learner": "tc", "order": "mi", "estimate": "m"},
    {"learner": "kdb", "k": 2, "missing": "ignore", "estimate": "laplace"},
]


@pytest.mark.parametrize("options", OTHERS, ids=lambda o: "-".join(map(str, o.values())))
def test_every_learner_lives(options: dict[str, Any]) -> None:
    @examples(5)
    @given(cases(), st.integers(0, 2**32))
    def check(case: Case, seed: int) -> None:
        kept = {k: v for k, v in case.options.items() if k not in ("learner", "k", "backoff", "m")}
        case = replace(case, options={**kept, **options})
        rng = random.Random(seed)
        inside = start(case, rng)
        with learned(case, inside) as model:
            for action, batch in changes(rng, case, inside):
                getattr(model, action)(table(case, batch))
                apply(inside, action, batch)
                with refit(case, inside, model) as again:
                    same_tables(model, again)

    check()


@examples(10)
@given(cases(), st.integers(0, 2**32))
def test_forgetting_what_was_added_gives_the_model_back(case: Case, seed: int) -> None:
    rng = random.Random(seed)
    inside, batch = start(case, rng), rng.choices([*case.train, *case.new], k=rng.randint(1, 12))
    with learned(case, inside) as model, refit(case, inside, model) as before:
        model.update(table(case, batch))
        model.forget(table(case, batch))
        if not model.meta["unchanged"]:
            same_tables(model, before)


@examples(12)
@given(cases(), st.integers(0, 2**32))
def test_rows_that_were_never_in_are_refused(case: Case, seed: int) -> None:
    rng = random.Random(seed)
    inside = start(case, rng)
    with learned(case, inside) as model:
        before = contents(model)
        stranger = {**rng.choice([r for r in inside if is_counted(r)])}
        more = sum(repr(r) == repr(stranger) for r in inside) + 1
        # Only rows that differ from all others in some pair of columns are told for sure.
        with pytest.raises(sqlbn.SqlbnError, match=r"were not all in it|none would be left"):
            model.forget(table(case, [stranger] * (more + len(inside))))
        assert contents(model) == before


@examples(15)
@given(cases(), st.integers(0, 2**32))
def test_merged_models_are_the_model_of_all_rows(case: Case, seed: int) -> None:
    rng = random.Random(seed)
    inside, others = start(case, rng), rng.choices([*case.train, *case.new], k=rng.randint(3, 20))
    assume(any(map(is_counted, others)))
    with learned(case, inside) as model, refit(case, others, model) as other:
        model.merge(other)
        with refit(case, [*inside, *others], model) as again:
            same_tables(model, again)
        same_as_reference(model, case, [*inside, *others])
