"""What a group is worth to the choice of a node."""

from __future__ import annotations

from decimal import Decimal
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.publish.dp_generalization.worth import UNITS, Worth, expected_worth, sampled_worth


def worth_of(worth: Worth, size: int) -> int:
    """The worth of one group, by the definition of the table."""
    last = len(worth.table) - 1
    return int(worth.table[min(size, last)]) + worth.slope * max(size - last, 0)


@given(
    st.integers(2, 9),
    st.decimals("0.05", "0.95", places=2),
    st.integers(0, 60),
)
def test_expected_worth_is_the_mean_of_what_is_published(k: int, beta: Decimal, size: int) -> None:
    """A group is worth the sum of j P[Bin(n, beta) = j] over j >= k, to a millionth of a row."""
    p = float(beta)
    mean = sum(j * comb(size, j) * p**j * (1 - p) ** (size - j) for j in range(k, size + 1))
    assert worth_of(expected_worth(k, beta), size) / UNITS == pytest.approx(mean, abs=2 / UNITS)


@given(st.integers(2, 60), st.decimals("0.05", "0.95", places=2), st.booleans())
def test_no_row_matters_by_more_than_the_sensitivity(k: int, beta: Decimal, expected: bool) -> None:
    """One row more never lowers a group's worth, and never raises it by more than is said."""
    worth = expected_worth(k, beta) if expected else sampled_worth(k)
    sizes = range(len(worth.table) + 5)
    steps = [worth_of(worth, n + 1) - worth_of(worth, n) for n in sizes]
    assert min(steps) >= 0
    assert max(steps) == worth.sensitivity


def test_a_row_matters_far_less_than_k() -> None:
    """For k = 40 and beta = 0.7 a row matters by less than 3.6 rows, where the seed's counts 40."""
    assert expected_worth(40, Decimal("0.7")).sensitivity < 3.6 * UNITS
    assert sampled_worth(40).sensitivity == 40 * UNITS


def test_large_groups_are_worth_their_share() -> None:
    """A group far above k is worth beta times its rows, to a millionth of them."""
    worth = expected_worth(5, Decimal("0.3"))
    assert worth_of(worth, 1_000_000) / UNITS == pytest.approx(300_000, rel=1e-6)
