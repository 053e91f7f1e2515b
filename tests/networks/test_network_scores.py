"""Log-likelihood of rows under a given network: against a plain sum over rows."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference_networks as ref
from hypothesis import given
from hypothesis import strategies as st
from network_cases import asia
from random_tables import as_if_large, examples

import sqlbn
from sqlbn.errors import ColumnError, NoRowsError, SqlbnWarning
from sqlbn.networks import Network, Variable

NOT_STATES = (None, "no such state", "0")


def drawn(rng: random.Random, network: Network, rows: int, wrong: float) -> list[dict[str, Any]]:
    """Rows of states, possible or not; a share of the cells holds what is no state."""
    return [
        {v.name: rng.choice(NOT_STATES if rng.random() < wrong else v.states) for v in network}
        for _ in range(rows)
    ]


def table_of(network: Network, rows: list[dict[str, Any]]) -> pa.Table:
    schema = pa.schema([(name, pa.string()) for name in sorted(network.names)])
    return pa.Table.from_pylist(rows, schema)


@pytest.mark.parametrize("limit", [None, 3])
@examples(25)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 6),
    wrong=st.sampled_from((0.0, 0.0, 0.1)),
)
def test_the_mean_over_possible_rows(limit: int | None, seed: int, size: int, wrong: float) -> None:
    rng = random.Random(seed)
    network = ref.random_network(rng, size)
    rows = drawn(rng, network, rng.randint(1, 40), wrong)
    mean, impossible = ref.log_likelihood(network, rows)
    if limit is None:
        found = sqlbn.networks.score(table_of(network, rows), bif=network)
    else:
        with as_if_large(limit):
            found = sqlbn.networks.score(table_of(network, rows), bif=network)
    assert (found.rows, found.impossible_rows) == (len(rows), impossible)
    assert (found.variables, found.arcs) == (len(network), len(network.arcs))
    if math.isnan(mean):
        assert math.isnan(found.log_likelihood)
    else:
        assert math.isclose(found.log_likelihood, mean, rel_tol=1e-12, abs_tol=1e-15)


def test_impossible_rows_are_told() -> None:
    rows = [dict.fromkeys(asia().names, "no") for _ in range(3)]
    rows[1]["either"] = "yes"
    with pytest.warns(SqlbnWarning, match=r"^1 of 3 rows have a value or a combination"):
        found = sqlbn.networks.score(pa.Table.from_pylist(rows), bif=asia())
    assert (found.rows, found.impossible_rows) == (3, 1)
    assert found.log_likelihood == pytest.approx(math.log(ref.probability(asia(), rows[0])))


def test_the_same_to_the_last_bit_whatever_the_threads(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    sqlbn.sample(path, 300_000, bif=asia(), seed=3)
    found = {
        sqlbn.networks.score(path, bif=asia(), threads=n, memory_limit=limit).log_likelihood
        for n, limit in ((1, None), (2, None), (4, "60MB"))
    }
    assert len(found) == 1
    # The mean of ln P is minus the entropy; six standard deviations of the mean.
    probabilities = [ref.probability(asia(), row) for row in ref.all_rows(asia())]
    exact = [p * math.log(p) for p in probabilities if p > 0]
    assert abs(found.pop() - math.fsum(exact)) < 6 * 1.5 / math.sqrt(300_000)


def test_rows_are_chosen_and_columns_found_whatever_their_case(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = pa.table({"COIN": ["heads", "tails", "edge"], "other": [1, 2, 3]})
    pq.write_table(table, path)
    coin = Network((Variable("coin", ("heads", "tails"), (), [0.25, 0.75]),))
    found = sqlbn.networks.score(path, bif=coin, where="other = 2")
    assert (found.rows, found.log_likelihood) == (1, math.log(0.75))
    with pytest.raises(NoRowsError, match="has no row to score"):
        sqlbn.networks.score(path, bif=coin, where="other > 5")
    with pytest.raises(ColumnError, match="the network's variable 'asia' is not in"):
        sqlbn.networks.score(path, bif=asia())


def test_truth_values_and_numbers_are_states(tmp_path: Path) -> None:
    network = Network(
        (
            Variable("sunny", ("True", "False"), (), [0.25, 0.75]),
            Variable("legs", ("2", "04"), (), [0.5, 0.5]),
        )
    )
    path = tmp_path / "rows.csv"
    path.write_text("sunny,legs\nTrue,2\nFalse,4\n")
    tables: list[Any] = [path, pa.table({"sunny": [True, False], "legs": [2.0, 4.0]})]
    tables.append(pa.table({"sunny": ["True", "False"], "legs": ["2", "04"]}))
    for rows in tables:
        found = sqlbn.networks.score(rows, bif=network)
        assert found.impossible_rows == 0
        assert found.log_likelihood == pytest.approx(math.log(0.5) + math.log(0.1875) / 2)
    nothing = pa.table({"sunny": [True, True, None], "legs": [2.0, math.nan, 2.5]})
    assert sqlbn.networks.score(nothing, bif=network).impossible_rows == 2


def test_many_states_and_many_parents() -> None:
    states = [f"s{i}" for i in range(300)]
    p = [(i + 1) / 45150 for i in range(300)]
    coins = [Variable(f"c{i}", ("0", "1"), (), [0.5, 0.5]) for i in range(17)]
    rng = random.Random(0)
    table = np.broadcast_to([0.25, 0.75], [2] * 18)
    child = Variable("child", ("0", "1"), [c.name for c in coins], table)
    network = Network((Variable("wide", states, (), p), *coins, child))
    rows = drawn(rng, network, 30, 0.0)
    mean, _ = ref.log_likelihood(network, rows)
    found = sqlbn.networks.score(table_of(network, rows), bif=network)
    assert found.log_likelihood == pytest.approx(mean, rel=1e-12)
