"""Comparisons of fractions with a limit: exact, wherever the limit lies."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.criteria import at_most

limits = st.one_of(
    st.decimals(0, 10**12, places=4), st.sampled_from([Decimal("1e80"), Decimal(400), Decimal(401)])
)


@given(
    st.lists(st.tuples(st.integers(0, 2**60), st.integers(1, 2**60)), min_size=1, max_size=5),
    limits,
)
def test_fractions_compare_as_fractions_do(fractions, limit):
    """However large a limit is, and whether or not the numbers fit 64 bits."""
    above, below = (np.array(part) for part in zip(*fractions, strict=True))
    expected = [Fraction(a, b) <= Fraction(limit) for a, b in fractions]
    assert at_most(above, below, limit).tolist() == expected
    wide = (np.array(part, dtype=object) for part in zip(*fractions, strict=True))
    assert at_most(*wide, limit).tolist() == expected


@pytest.mark.parametrize("limit", ["0.3", "399", "1000", "123456789.25", "1e40"])
def test_a_fraction_equal_to_the_limit_is_at_most_it(limit):
    """And the next one is not."""
    exact = Fraction(Decimal(limit))
    above = [exact.numerator - 1, exact.numerator, exact.numerator + 1]
    found = at_most(
        np.array(above, object), np.array([exact.denominator] * 3, object), Decimal(limit)
    )
    assert found.tolist() == [True, True, False]
