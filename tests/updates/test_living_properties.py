"""Random sequences of update, forget and merge: always the model of the rows that are left.

The rows are kept in a list beside the model; the brute-force reference and a fit of that list with
the same encoding say what the model must be.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from random_tables import (
    TARGET,
    Case,
    as_if_large,
    cases,
    examples,
    parents_of,
    rounds_the_same,
    same_classes,
    same_predictions,
)
from update_cases import (
    Rows,
    apply,
    changes,
    contents,
    is_counted,
    refit,
    same_tables,
    start,
    table,
)

import sqlbn
from sqlbn.engines.limits import Limits


def learned(case: Case, rows: Rows) -> Any:
    return sqlbn.fit(table(case, rows), TARGET, **case.options)


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


@examples(24, 8)
@given(cases(), st.integers(0, 2**32))
def test_any_changes_give_the_model_of_the_rows_that_are_left(case: Case, seed: int) -> None:
    live(case, seed)


@examples(12, 5)
@given(cases(), st.integers(0, 2**32), st.sampled_from((1, 30, 200)))
def test_also_where_tables_are_large(case: Case, seed: int, limit: int) -> None:
    with as_if_large(limit):
        live(case, seed)


# So few rows say little, but weights they have.
ANY_ROWS = Limits(choice_rows=1)
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
    {"learner": "kdb", "k": 3, "smoothing": "hierarchical"},
    {"learner": "kdb", "k": 2, "smoothing": "hierarchical", "missing": "ignore"},
    {"learner": "fan", "smoothing": "hierarchical"},
    {"learner": "skdb", "kmax": 2, "smoothing": "auto", "weights": "levels", "limits": ANY_ROWS},
    {"learner": "tan", "weights": "attributes", "limits": ANY_ROWS},
]


@pytest.mark.parametrize(
    "options", OTHERS, ids=lambda o: "-".join(str(o[k]) for k in o if k != "limits")
)
def test_every_learner_lives(options: dict[str, Any]) -> None:
    @examples(5, 2)
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


@examples(10, 5)
@given(cases(), st.integers(0, 2**32))
def test_forgetting_what_was_added_gives_the_model_back(case: Case, seed: int) -> None:
    rng = random.Random(seed)
    inside, batch = start(case, rng), rng.choices([*case.train, *case.new], k=rng.randint(1, 12))
    with learned(case, inside) as model, refit(case, inside, model) as before:
        model.update(table(case, batch))
        model.forget(table(case, batch))
        if not model.meta["unchanged"]:
            same_tables(model, before)


@examples(12, 5)
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


@examples(15, 6)
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
