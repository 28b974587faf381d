"""How a group scores in the choice of a node."""

from __future__ import annotations

from decimal import Decimal
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.publish.dp_generalization.decision import (
    UNITS,
    _expected_score,
    _GroupScore,
    _sampled_score,
)


def score_of(score: _GroupScore, size: int) -> int:
    """The score of one group, by the definition of the table."""
    last = len(score.table) - 1
    return int(score.table[min(size, last)]) + score.slope * max(size - last, 0)


@given(
    st.integers(2, 9),
    st.decimals("0.05", "0.95", places=2),
    st.integers(0, 60),
)
def test_expected_score_is_the_mean_of_what_is_published(k: int, beta: Decimal, size: int) -> None:
    """A group is worth the sum of j P[Bin(n, beta) = j] over j >= k, to a millionth of a row."""
    p = float(beta)
    mean = sum(j * comb(size, j) * p**j * (1 - p) ** (size - j) for j in range(k, size + 1))
    assert score_of(_expected_score(k, beta), size) / UNITS == pytest.approx(mean, abs=2 / UNITS)


@given(st.integers(2, 60), st.decimals("0.05", "0.95", places=2), st.booleans())
def test_no_row_matters_by_more_than_the_sensitivity(k: int, beta: Decimal, expected: bool) -> None:
    """One row more never lowers a group's score, and never raises it by more than is said."""
    score = _expected_score(k, beta) if expected else _sampled_score(k)
    sizes = range(len(score.table) + 5)
    steps = [score_of(score, n + 1) - score_of(score, n) for n in sizes]
    assert min(steps) >= 0
    assert max(steps) == score.sensitivity


def test_a_row_matters_far_less_than_k() -> None:
    """For k = 40 and beta = 0.7 a row matters by less than 3.6 rows, where the seed's counts 40."""
    assert _expected_score(40, Decimal("0.7")).sensitivity < 3.6 * UNITS
    assert _sampled_score(40).sensitivity == 40 * UNITS


def test_large_groups_are_worth_their_share() -> None:
    """A group far above k is worth beta times its rows, to a millionth of them."""
    score = _expected_score(5, Decimal("0.3"))
    assert score_of(score, 1_000_000) / UNITS == pytest.approx(300_000, rel=1e-6)
