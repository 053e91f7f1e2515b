"""Models with supervised cut points and groups live: cuts and groups stay, new values are groups of
their own, and a changed model is that of a fit of its rows with the same encoding."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import Case, as_if_large, cases, examples
from update_cases import (
    Rows,
    apply,
    changes,
    is_counted,
    refit,
    same_tables,
    start,
    table,
)

import sqlbn

pytestmark = pytest.mark.filterwarnings("ignore::sqlbn.SqlbnWarning")
# As often as this every row of a random table comes: else nothing in it is informative.
REPEATED = 6


def supervised(case: Case, how: str, learner: dict[str, Any]) -> Case:
    kept = {
        k: case.options[k]
        for k in ("categorical", "numeric", "keep", "weight")
        if k in case.options
    }
    return replace(
        case, train=case.train * REPEATED, options={**kept, **learner, "discretise": how}
    )


def live(case: Case, seed: int) -> None:
    rng = random.Random(seed)
    inside: Rows = start(case, rng)
    with sqlbn.fit(table(case, inside), "y", **case.options) as model:
        before = {b.name: b.cuts for b in model.spec.books}
        # What was left out is known to the first fit alone, and to updates without a row.
        model._session.execute(f"DELETE FROM {model._workspace.table('variables')} WHERE NOT used")
        for action, batch in changes(rng, case, inside):
            change = getattr(model, action)(table(case, batch))
            apply(inside, action, batch)
            assert change.total == sum(map(is_counted, inside)) == model.meta["rows"]
            assert {b.name: b.cuts for b in model.spec.books} == before
            with refit(case, inside, model) as again:
                same_tables(model, again)


@examples(12, 6)
@given(cases(), st.integers(0, 2**32), st.sampled_from(("mdl", "modl", "modl")))
def test_any_changes_give_the_model_of_the_rows_that_are_left(
    case: Case, seed: int, how: str
) -> None:
    live(supervised(case, how, {"learner": "kdb", "k": 1}), seed)


@examples(10, 5)
@given(cases(), st.integers(0, 2**32), st.sampled_from((1, 30)))
def test_also_where_tables_are_large(case: Case, seed: int, limit: int) -> None:
    with as_if_large(limit):
        live(supervised(case, "modl", {"learner": "tan"}), seed)


@pytest.mark.parametrize(
    "learner", [{"learner": "a1de"}, {"learner": "skdb", "kmax": 1}, {"learner": "fanc"}]
)
def test_every_way_of_learning_lives(learner: dict[str, Any]) -> None:
    @examples(5, 2)
    @given(cases(), st.integers(0, 2**32))
    def check(case: Case, seed: int) -> None:
        live(supervised(case, "modl", learner), seed)

    check()


@examples(12, 6)
@given(cases(), st.integers(0, 2**32))
def test_merged_models_are_the_model_of_all_rows(case: Case, seed: int) -> None:
    case = supervised(case, "modl", {"learner": "kdb", "k": 1})
    rng = random.Random(seed)
    inside = start(case, rng)
    others = rng.choices([*case.train, *case.new], k=rng.randint(3, 40))
    if not any(map(is_counted, others)):
        return
    with (
        sqlbn.fit(table(case, inside), "y", **case.options) as model,
        refit(case, others, model) as other,
    ):
        model.merge(other)
        with refit(case, [*inside, *others], model) as again:
            same_tables(model, again)


# ---- by example


def fruit(pairs: dict[str, str], times: int = 20) -> pa.Table:
    """Rows with a colour and the kind that goes with it."""
    rows = [{"colour": c, "kind": k} for c, k in pairs.items() for _ in range(times)]
    return pa.Table.from_pylist(rows, pa.schema([("colour", pa.string()), ("kind", pa.string())]))


KNOWN = {"red": "apple", "pink": "apple", "green": "pear", "olive": "pear"}


def groups(model: Any) -> list[tuple[int, str]]:
    return model._session.rows(
        f"SELECT code, value FROM {model._workspace.table('categories')} ORDER BY code, value"
    )


def learned(pairs: dict[str, str]) -> Any:
    return sqlbn.fit(fruit(pairs), "kind", "nb", discretise="modl")


def test_a_new_value_is_a_group_of_its_own_and_empty_groups_go() -> None:
    with learned(KNOWN) as model:
        assert groups(model) == [(0, "green"), (0, "olive"), (1, "pink"), (1, "red")]
        model.update(fruit({"blue": "plum", "olive": "plum"}))
        assert groups(model) == [(0, "blue"), (1, "green"), (1, "olive"), (2, "pink"), (2, "red")]
        assert model.cpt("colour")["colour"].unique().to_pylist() == [
            "blue",
            "green, olive",
            "pink, red",
        ]
        model.forget(fruit({"red": "apple", "pink": "apple"}))
        assert groups(model) == [(0, "blue"), (1, "green"), (1, "olive")]
        model.forget(fruit({"green": "pear"}))
        assert groups(model) == [(0, "blue"), (1, "olive")]
        assert not model.spec.books[0].grouped
        # What it no longer knows is new when it comes again.
        model.update(fruit({"green": "pear"}))
        assert groups(model) == [(0, "blue"), (1, "green"), (2, "olive")]


def test_models_with_other_groups_do_not_merge() -> None:
    crossed = {"red": "apple", "green": "apple", "pink": "pear", "olive": "pear"}
    with learned(KNOWN) as model, learned(crossed) as other:
        with pytest.raises(sqlbn.SqlbnError, match="values of 'colour' into different groups"):
            model.merge(other)
        assert model.meta["rows"] == 80
    more = {"red": "apple", "rose": "apple", "green": "pear", "lime": "pear"}
    with learned(KNOWN) as model, learned(more) as other:
        model.merge(other)
        found = [(0, "green"), (0, "lime"), (0, "olive"), (1, "pink"), (1, "red"), (1, "rose")]
        assert groups(model) == found


def test_ungrouped_and_grouped_models_do_not_merge() -> None:
    with (
        learned(KNOWN) as model,
        sqlbn.fit(fruit(KNOWN), "kind", "nb") as other,
        pytest.raises(sqlbn.SqlbnError, match="different groups"),
    ):
        other.merge(model)


def test_a_store_keeps_groups_and_lives(tmp_path: Any) -> None:
    store = tmp_path / "m.duckdb"
    sqlbn.fit(fruit(KNOWN), "kind", "nb", discretise="modl", store=store, name="a").close()
    sqlbn.update(store, "a", fruit({"blue": "plum"}))
    with sqlbn.load(store, "a") as model:
        assert model.meta["options"] == {"discretise": "modl"}
        assert model.spec.books[0].n_values == 3
        row = model.variables.to_pylist()[0]
        assert (row["parts"], row["elementary"], row["n_rows_present"]) == (3, 4, 100)
        with sqlbn.fit(fruit(KNOWN), "kind", "nb", like=model) as again:
            assert again.meta["options"] == {"discretise": "modl"}
            assert groups(again) == [(0, "green"), (0, "olive"), (1, "pink"), (1, "red")]


def test_streams_take_the_groups_of_the_first_batch() -> None:
    first = fruit(KNOWN).to_pylist()
    random.Random(1).shuffle(first)
    rows = [*first, *fruit({**KNOWN, "blue": "plum"}, 16).to_pylist()]
    found = sqlbn.stream(
        pa.Table.from_pylist(rows), "kind", "nb", batch=80, window=80, discretise="modl"
    )
    # A class that the model does not know yet is not tested.
    assert [(b.rows, b.loss) for b in found] == [(64, 0.0)]
