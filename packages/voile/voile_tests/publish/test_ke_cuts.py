"""The dynamic programme over cuts, its windows, and the static optimum of one release."""

from decimal import Decimal
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.publish.ke_anonymity.searches import (
    _Feasible,
    after_last,
    as_units,
    best_cuts,
    blocks_of,
    enclosing,
    largest_feasible,
    latest_valid_start,
    optimal_blocks,
)
from voile_testing.plugin import examples

HUGE = 10**30


@st.composite
def distinct_values(draw, max_size=40, largest=60):
    """Strictly ascending integers, negative ones among them."""
    chosen = st.sets(st.integers(-largest, largest), min_size=1, max_size=max_size)
    return np.array(sorted(draw(chosen)), np.int64)


@st.composite
def windowed_problems(draw):
    """Values, cuts and windows as the kernel takes them, most of them feasible and with ties."""
    d = draw(st.integers(1, 8))
    gaps = draw(st.lists(st.integers(1, 3), min_size=d, max_size=d))
    cuts = draw(st.lists(st.sampled_from([True, True, False]), min_size=d + 1, max_size=d + 1))
    width = draw(st.integers(1, 3))
    low, high = (
        [sorted(draw(st.lists(ends, min_size=d + 1, max_size=d + 1))) for _ in range(width)]
        for ends in (st.integers(0, d // 2), st.integers(-1, d))
    )
    return np.cumsum(gaps) - 5, np.array(cuts), np.array(low), np.array(high)


def every_way_to_cut(d):
    """All boundaries 0 = b0 < ... < bp = d."""
    for size in range(d):
        for interior in combinations(range(1, d), size):
            yield (0, *interior, d)


def sum_of_ranges(values, boundaries):
    return sum(int(values[j - 1]) - int(values[i]) for i, j in pairwise(boundaries))


def quadratic_optimum(values, k, e):
    """The smallest sum of ranges by the O(d^2) programme, from sums of ranges and not of gaps."""
    d = len(values)
    best = [0] + [None] * d
    for j in range(1, d + 1):
        costs = [
            best[i] + values[j - 1] - values[i]
            for i in range(j)
            if best[i] is not None and j - i >= k and values[j - 1] - values[i] >= e
        ]
        best[j] = min(costs, default=None)
    return best[d]


@settings(deadline=None, max_examples=examples(300))
@given(windowed_problems())
def test_kernel_finds_the_cheapest_allowed_cuts_and_breaks_ties_as_stated(problem):
    """Of all ways to cut, the answer has the smallest sum of ranges and the latest last cuts."""
    values, cuts, low, high = problem

    def allowed(boundaries):
        return all(cuts[i] for i in boundaries[1:-1]) and all(
            any(low[w, j] <= i <= high[w, j] for w in range(len(low)))
            for i, j in pairwise(boundaries)
        )

    ways = [way for way in every_way_to_cut(len(values)) if allowed(way)]
    expected = max(ways, key=lambda way: (-sum_of_ranges(values, way), way[::-1]), default=None)
    found = best_cuts(values, cuts, low, high)
    assert (None if found is None else tuple(found.tolist())) == expected


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_equal_gains_of_two_windows_are_settled_by_the_later_start(order):
    """Cutting at 1 or at 2 gains the same, each through its own window: the later cut is taken."""
    ends = np.array([[0, 0, 0, 1], [2, 2, 2, 2]])[order]
    found = best_cuts(np.arange(3), np.ones(4, np.bool_), ends, ends)
    assert found.tolist() == [0, 2, 3]


@settings(deadline=None)
@given(windowed_problems())
def test_kernel_answers_the_same_for_huge_integers(problem):
    """Python integers beyond int64 take the same decisions as int64 does."""
    values, cuts, low, high = problem
    huge = values.astype(object) * HUGE
    found, expected = best_cuts(huge, cuts, low, high), best_cuts(values, cuts, low, high)
    assert (found is None) == (expected is None)
    assert found is None or found.tolist() == expected.tolist()


@settings(deadline=None, max_examples=examples(300))
@given(distinct_values(), st.integers(2, 6), st.integers(0, 40))
def test_static_optimum_equals_the_quadratic_programme(values, k, e):
    """The O(d) answer costs what the O(d^2) programme finds, with every block valid."""
    blocks = optimal_blocks(values, k, e)
    expected = quadratic_optimum(values.tolist(), k, e)
    if blocks is None:
        assert expected is None
        return
    assert blocks[0, 0] == 0
    assert blocks[-1, 1] == len(values)
    assert blocks[1:, 0].tolist() == blocks[:-1, 1].tolist()
    ranges = values[blocks[:, 1] - 1] - values[blocks[:, 0]]
    assert np.all(blocks[:, 1] - blocks[:, 0] >= k)
    assert np.all(ranges >= e)
    assert ranges.sum() == expected


@settings(deadline=None)
@given(distinct_values(), st.integers(2, 6), st.integers(0, 40))
def test_static_optimum_of_huge_integers_is_that_of_small_ones(values, k, e):
    """Values and e far beyond int64 give the blocks of the same problem scaled down."""
    small, huge = (
        optimal_blocks(values, k, e),
        optimal_blocks(values.astype(object) * HUGE, k, e * HUGE),
    )
    assert (small is None) == (huge is None)
    assert small is None or small.tolist() == huge.tolist()


@settings(deadline=None)
@given(distinct_values(), st.integers(2, 50), st.integers(0, 150))
def test_largest_feasible_parameters_are_exactly_the_feasible_ones(values, k, e):
    """A static release exists if and only if k and e are both within what is offered."""
    largest = largest_feasible(values)
    within = largest is not None and k <= largest.k and e <= largest.e
    assert (optimal_blocks(values, k, e) is not None) == within


def test_largest_feasible_of_five_values_and_of_one():
    """Distinct values and whole range are the limits; a single value allows no k at all."""
    assert largest_feasible(np.array([-3, 0, 1, 4, 9])) == _Feasible(k=5, e=12)
    assert largest_feasible(np.array([7])) is None
    assert largest_feasible(np.array([], np.int64)) is None


def test_decimal_fractions_compare_exactly_in_units():
    """0.1 and 0.3 are 0.2 apart once scaled to integers, which binary fractions deny."""
    assert 0.3 - 0.1 < 0.2
    scaled = np.array([int(Decimal(text) * 10) for text in ("0.1", "0.3")])
    assert optimal_blocks(scaled, 2, int(Decimal("0.2") * 10)).tolist() == [[0, 2]]


def test_parameters_beyond_int64_are_infeasible_and_do_not_overflow():
    """An e or a k that no table reaches is answered, at the largest magnitudes allowed."""
    edge = 2**61 - 1
    values = np.array([-edge, -edge + 1, edge - 1, edge])
    assert optimal_blocks(values, 2, 10**40) is None
    assert optimal_blocks(values, 10**40, 0) is None
    assert optimal_blocks(values, 2, 2 * edge).tolist() == [[0, 4]]
    assert optimal_blocks(values, 2, 1).tolist() == [[0, 2], [2, 4]]


def test_read_only_and_narrow_values_are_accepted():
    """Arrays as other libraries lend them, read-only or of 32 bits, give the same blocks."""
    values = np.array([1, 2, 8, 9], np.int32)
    values.flags.writeable = False
    assert optimal_blocks(values, 2, 1).tolist() == [[0, 2], [2, 4]]


@pytest.mark.parametrize("values", [[1, 1], [2, 1]])
def test_values_out_of_order_are_refused(values):
    """Ties and descents are a fault of the caller and raise."""
    with pytest.raises(ValueError, match="strictly ascending"):
        as_units(np.array(values))


def test_no_values_have_no_blocks():
    """An empty column is infeasible."""
    assert optimal_blocks(np.array([], np.int64), 2, 0) is None
    assert blocks_of(None) is None


@settings(deadline=None)
@given(distinct_values(max_size=9, largest=12), st.data())
def test_window_ends_follow_their_definitions(values, data):
    """The latest valid start and the end of the last present value equal a direct search."""
    d = len(values)
    present = np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)), np.bool_)
    k, e = data.draw(st.integers(2, 4)), data.draw(st.integers(0, 12))
    latest, none = latest_valid_start(values, present, k, e), after_last(present)
    for j in range(d + 1):
        shown = [values[i:j][present[i:j]] for i in range(j + 1)]
        starts = [i for i, s in enumerate(shown) if len(s) >= k and s[-1] - s[0] >= e]
        assert latest[j] == max(starts, default=-1)
        assert none[j] == min(i for i, s in enumerate(shown) if len(s) == 0)


def test_enclosing_names_the_block_that_a_cut_would_split():
    """Positions inside a block give its range, all others themselves."""
    start, stop = enclosing(np.array([[1, 4], [4, 6]]), 7)
    assert start.tolist() == [0, 1, 1, 1, 4, 4, 6, 7]
    assert stop.tolist() == [0, 1, 4, 4, 4, 6, 6, 7]
