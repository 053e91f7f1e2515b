"""P(A, B | evidence): against enumeration, known figures, and questions that have no answer."""

from __future__ import annotations

import random

import numpy as np
import pytest
import reference_networks as ref
from hypothesis import given
from hypothesis import strategies as st
from network_cases import YES_NO, asia
from random_tables import examples

import sqlbn
from sqlbn.errors import NetworkError, OptionError
from sqlbn.networks import Network, Variable
from sqlbn.networks.inference import posterior


@examples(150)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 6))
def test_elimination_against_enumeration(seed: int, size: int) -> None:
    rng = random.Random(seed)
    network = ref.random_network(rng, size)
    asked = rng.sample(network.names, rng.randint(1, min(3, size)))
    known = [n for n in network.names if n not in asked and rng.random() < 0.4]
    evidence = {n: rng.choice(network[n].states) for n in known}
    wanted = ref.posterior(network, asked, evidence)
    if wanted is None:
        with pytest.raises(NetworkError, match="has probability 0"):
            posterior(network, asked, evidence)
        return
    got = posterior(network, asked, evidence)
    assert got.shape == tuple(len(network[n].states) for n in asked)
    assert np.abs(got.ravel() - list(wanted.values())).max() < 1e-12


def test_known_figures_of_asia() -> None:
    # From the article, section 6: dyspnoea, and tuberculosis of a patient who was in Asia.
    assert posterior(asia(), ["dysp"])[0] == pytest.approx(0.4360, abs=5e-5)
    seen = {"asia": "yes", "dysp": "yes"}
    assert posterior(asia(), ["tub"], seen)[0] == pytest.approx(0.0878, abs=5e-5)
    assert posterior(asia(), ["lung"], {**seen, "xray": "no"})[0] < 0.005


def test_much_evidence_does_not_round_to_nothing() -> None:
    leaf = [[1e-9, 1 - 1e-9], [1e-9, 1 - 1e-9]]
    leaves = [Variable(f"x{i}", YES_NO, ("class",), leaf) for i in range(100)]
    network = Network((Variable("class", YES_NO, (), [0.25, 0.75]), *leaves))
    got = posterior(network, ["class"], {v.name: "yes" for v in leaves})
    assert got.tolist() == pytest.approx([0.25, 0.75])


def test_what_is_below_the_question_is_not_looked_at() -> None:
    top = Variable("top", YES_NO, (), [0.3, 0.7])
    below = [
        Variable(
            f"x{i}", YES_NO, ("top", *(f"x{j}" for j in range(i))), np.full([2] * (i + 2), 0.5)
        )
        for i in range(10)
    ]
    assert posterior(Network((top, *below)), ["top"], most_cells=2).tolist() == [0.3, 0.7]
    with pytest.raises(NetworkError, match=r"too large; ask for fewer variables at once"):
        posterior(Network((top, *below)), ["top", "x3"], most_cells=2)


@pytest.mark.parametrize(
    ("of", "given_", "message"),
    [
        ([], {}, "say which variable is asked for: of"),
        (["lung", "lung"], {}, "'lung' is asked for twice"),
        (["long"], {}, "no variable 'long'; it has 'asia'"),
        (["lung"], {"lung": "yes"}, "'lung' is asked for and given too"),
        (["lung"], {"smoke": "maybe"}, "'smoke' has no state 'maybe'; it has 'yes', 'no'"),
        (["lung"], {"tub": "yes", "either": "no"}, "tub=yes, either=no has probability 0"),
    ],
)
def test_questions_without_an_answer(of: list[str], given_: dict[str, str], message: str) -> None:
    with pytest.raises((NetworkError, OptionError)) as caught:
        posterior(asia(), of, given_)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_answers_are_tables_of_states() -> None:
    found = sqlbn.networks.query(["lung", "bronc"], {"smoke": "yes"}, bif=asia())
    assert found.column_names == ["lung", "bronc", "probability"]
    assert found["lung"].to_pylist() == ["yes", "yes", "no", "no"]
    assert found["probability"].to_pylist() == pytest.approx([0.06, 0.04, 0.54, 0.36])
    odd = Network((Variable("probability", YES_NO, (), [0.5, 0.5]),))
    assert sqlbn.networks.query("probability", bif=odd).column_names == [
        "probability_",
        "probability",
    ]
