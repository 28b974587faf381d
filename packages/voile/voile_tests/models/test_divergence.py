"""Divergences of two tables from paired counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from voile.utility.divergence import (
    DivergenceSums,
    jensen_shannon,
    kl_smoothed,
    total_variation,
)

CELLS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), min_size=1, max_size=12
).filter(lambda cells: all(sum(side) for side in zip(*cells, strict=True)))


def sides(cells):
    """Rows of the cells in both tables."""
    left, right = np.array(cells).T
    return left, right


@given(CELLS, st.sampled_from([0.1, 0.5, 2.0]))
def test_divergences_agree_with_scipy(cells, alpha):
    """Kullback-Leibler of the smoothed counts, and Jensen-Shannon of the plain ones."""
    left, right = sides(cells)
    assert kl_smoothed(left, right, alpha) == pytest.approx(
        entropy(left + alpha, right + alpha), abs=1e-12
    )
    distance = jensenshannon(left, right)  # a root, and NaN where rounding goes below zero
    assert jensen_shannon(left, right) == pytest.approx(
        0.0 if math.isnan(distance) else distance**2, abs=1e-12
    )
    shares = left / left.sum(), right / right.sum()
    assert total_variation(left, right) == pytest.approx(abs(shares[0] - shares[1]).sum() / 2)


@given(CELLS, st.integers(1, 5), st.sampled_from([0.1, 0.5, 2.0]))
def test_parts_add_up_to_the_whole(cells, parts, alpha):
    """Reading a table in parts changes no divergence, however it is smoothed."""
    left, right = sides(cells)
    whole = DivergenceSums.of(left, right, alpha=alpha)
    cut = zip(np.array_split(left, parts), np.array_split(right, parts), strict=True)
    summed = DivergenceSums.over(cut, (left.sum(), right.sum()), alpha)
    for name in ("kullback_leibler", "jensen_shannon", "total_variation"):
        assert getattr(summed, name) == pytest.approx(getattr(whole, name), abs=1e-12)


@given(CELLS, st.integers(1, 4))
def test_divergences_stay_in_their_ranges(cells, times):
    """All are 0 for the same distribution, and at their largest for tables without a common row."""
    left, right = sides(cells)
    whole = DivergenceSums.of(left, right)
    assert whole.kullback_leibler >= 0
    assert 0 <= whole.jensen_shannon <= math.log(2)
    assert 0 <= whole.total_variation <= 1
    same = DivergenceSums.of(left, left * times)
    assert same.jensen_shannon == pytest.approx(0, abs=1e-12)
    assert kl_smoothed(left, left) == 0
    apart = DivergenceSums.of(np.append(left, 0 * right), np.append(0 * left, right))
    assert apart.jensen_shannon == pytest.approx(math.log(2))
    assert apart.total_variation == pytest.approx(1)


def test_a_worked_example():
    """Half of the rows of one cell moved to another one, with half a row in each cell."""
    left, right = np.array([4, 0]), np.array([2, 2])
    expected = 0.9 * math.log(0.9 / 0.5) + 0.1 * math.log(0.1 / 0.5)
    assert kl_smoothed(left, right) == pytest.approx(expected)
    halves = (math.log(4 / 3) + 0.5 * math.log(2 / 3) + 0.5 * math.log(2)) / 2
    assert jensen_shannon(left, right) == pytest.approx(halves)
    assert total_variation(left, right) == pytest.approx(0.5)


def test_cells_of_neither_table_do_not_count():
    """Smoothing adds nothing to combinations that stand nowhere."""
    left, right = np.array([4, 0, 1]), np.array([2, 2, 1])
    padded = np.array([4, 0, 0, 1, 0]), np.array([2, 0, 2, 1, 0])
    assert kl_smoothed(*padded) == pytest.approx(kl_smoothed(left, right))


def test_smoothing_must_be_positive_and_alike():
    """Without it the divergence would be infinite, and different ones do not add up."""
    cells = np.array([1, 2]), np.array([2, 1])
    with pytest.raises(ValueError, match="more than 0 rows"):
        kl_smoothed(*cells, alpha=0)
    with pytest.raises(ValueError, match="different smoothing"):
        DivergenceSums.of(*cells) + DivergenceSums.of(*cells, alpha=1.0)
