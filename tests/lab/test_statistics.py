"""The tests that compare learners, against published examples, scipy and what is worked by hand."""

from __future__ import annotations

import math
import random

import pytest

from sqlbn.lab import statistics as st

stats = pytest.importorskip("scipy.stats", reason="pip install 'sqlbn[lab]'")

# Demšar (2006), table 6: AUC of C4.5 with and without tuning m and cf, on 14 data sets.
_DEMSAR = [
    (0.763, 0.768, 0.771, 0.798),
    (0.599, 0.591, 0.590, 0.569),
    (0.954, 0.971, 0.968, 0.967),
    (0.628, 0.661, 0.654, 0.657),
    (0.882, 0.888, 0.886, 0.898),
    (0.936, 0.931, 0.916, 0.931),
    (0.661, 0.668, 0.609, 0.685),
    (0.583, 0.583, 0.563, 0.625),
    (0.775, 0.838, 0.866, 0.875),
    (1.000, 1.000, 1.000, 1.000),
    (0.940, 0.962, 0.965, 0.962),
    (0.619, 0.666, 0.614, 0.669),
    (0.972, 0.981, 0.9751, 0.975),
    (0.957, 0.978, 0.946, 0.970),
]


def test_ranks_friedman_and_nemenyi_are_those_of_demsar() -> None:
    mean = st.mean_ranks([[-value for value in row] for row in _DEMSAR])
    assert [round(r, 3) for r in mean] == [3.143, 2.0, 2.893, 1.964]
    found = st.friedman(mean, 14)
    assert (round(found.chi_squared, 2), round(found.f, 2)) == (9.28, 3.69)
    assert found.f_p < 0.05
    assert round(st.critical_difference(4, 14), 2) == 1.25
    assert round(st.critical_difference(4, 14, 0.1), 2) == 1.12


def test_wilcoxon_is_that_of_demsar_and_of_scipy() -> None:
    # Table 2 there: C4.5 beside C4.5+m, T = 12 where ties share ranks; scipy decides p.
    one, other = [row[0] for row in _DEMSAR], [row[1] for row in _DEMSAR]
    differences = [a - b for a, b in zip(one, other, strict=True)]
    assert st.wilcoxon(one, other) == float(stats.wilcoxon(differences).pvalue)
    assert st.wilcoxon(one, one) == 1.0


def test_sign_test_is_the_table_of_the_binomial() -> None:
    # Smallest wins of n that differ at 0.05, two-tailed: the usual table.
    for n, wins in (
        (5, None),
        (6, 6),
        (8, 8),
        (9, 8),
        (10, 9),
        (12, 10),
        (15, 12),
        (20, 15),
        (25, 18),
    ):
        least = next((w for w in range(n // 2, n + 1) if st.sign_test(w, n - w) <= 0.05), None)
        assert least == wins, n
    assert st.sign_test(7, 3) == pytest.approx(float(stats.binomtest(7, 10).pvalue), abs=1e-15)


def test_corrected_t_by_hand() -> None:
    differences, share = [0.01, 0.03, 0.02, 0.04], 1.0  # 2 folds: as many test as training rows
    variance = (0.015**2 + 0.005**2 + 0.005**2 + 0.015**2) / 3
    t = 0.025 / math.sqrt((1 / 4 + share) * variance)
    assert st.corrected_t(differences, share) == pytest.approx(2 * stats.t.sf(t, 3), rel=1e-12)
    assert st.corrected_t([0.0, 0.0], share) == 1.0 and math.isnan(st.corrected_t([0.1], share))


def test_ranks_are_those_of_scipy() -> None:
    draw = random.Random(1)
    for _ in range(50):
        values = [float(draw.randint(0, 4)) for _ in range(draw.randint(1, 8))]
        assert st.ranks(values) == list(stats.rankdata(values))


def test_holm_never_falls_and_never_passes_one() -> None:
    assert st.holm([0.5, 0.01, 0.04]) == [0.5, 0.03, 0.08]
    assert st.holm([0.9, 0.8]) == [1.0, 1.0]


def test_draws_by_the_papers_rule_and_exactly() -> None:
    one, other = [0.12344, 0.5, 0.2], [0.12336, 0.5, 0.3]
    assert st.tally(one, other, 5) == st.Outcomes(1, 1, 1)
    assert st.tally(one, other, 4) == st.Outcomes(1, 2, 0)
    assert st.tally(one, other) == st.Outcomes(1, 1, 1)
