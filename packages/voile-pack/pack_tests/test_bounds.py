"""Bounds never exceed the optimum, and reductions never lose it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pack_tests.brute_force import fewest_bins
from voile_pack import Instance
from voile_pack.heuristics import Reduced, _functions, decreasing, lower_bound

small = st.lists(st.integers(1, 20), max_size=9)


@given(small, st.integers(20, 31))
def test_the_bound_is_at_most_the_optimum(weights, capacity):
    """Against the search over all packings, and at least the sum over the capacity."""
    bound = lower_bound(np.array(weights, np.int64), capacity)
    assert -(-sum(weights) // capacity) <= bound <= fewest_bins(weights, capacity)


@given(st.lists(st.integers(0, 24), min_size=1, max_size=6), st.integers(24, 30))
def test_every_function_is_dual_feasible(weights, capacity):
    """What fits into a bin is never worth more than a bin, for any parameter of any family."""
    while sum(weights) > capacity:
        weights = weights[1:]
    # The thresholds come from values that are present.
    values = np.arange(capacity + 1)
    for function, at_capacity in _functions(values, capacity):
        assert function[weights].sum() <= at_capacity


@pytest.mark.parametrize(
    ("weights", "capacity", "bound"),
    [
        ([6, 6, 6], 10, 3),  # more than half a bin each
        ([5, 5, 5], 9, 3),
        ([4, 4, 4, 4, 4], 11, 3),  # two in a bin at most: more than the sum tells
        ([6, 6, 3, 3, 3], 10, 3),
        ([0, 0], 10, 1),
        ([], 10, 0),
    ],
)
def test_the_bound_sees_more_than_the_sum(weights, capacity, bound):
    """Known cases in which rounding and large items matter."""
    assert lower_bound(np.array(weights, np.int64), capacity) == bound


def test_bounds_of_huge_weights_do_not_overflow():
    """Weights near the largest that an instance takes give the same bound as scaled-down ones."""
    huge = 2**58 // 10
    weights = np.array([6, 6, 6, 3]) * huge
    assert lower_bound(Instance(weights, 10 * huge).weights, 10 * huge) == 3


@pytest.mark.slow
@given(st.lists(st.integers(0, 20), max_size=9), st.integers(20, 26))
def test_the_reduction_keeps_the_optimum(weights, capacity):
    """Fixed bins and the optimum of the core make the optimum of the instance."""
    instance = Instance(np.array(weights, np.int64), capacity)
    reduced = Reduced.of(instance)
    core = reduced.core.weights.tolist()
    optimum = fewest_bins([w for w in weights if w], capacity)
    assert reduced.fixed + fewest_bins(core, reduced.core.capacity) == optimum
    assert core == sorted(core, reverse=True)
    packing = reduced.lift(decreasing(np.array(core, np.int64), reduced.core.capacity))
    packing.require_valid(instance)


def test_the_reduction_fixes_what_is_certain():
    """Exact pairs, items that fit with nothing, and items that fit with one other are fixed."""
    reduced = Reduced.of(Instance(np.array([10, 7, 3, 9, 8, 2, 6, 0]), 10))
    assert reduced.fixed == 5
    assert len(reduced.core) == 0


def test_the_core_is_divided_by_its_greatest_common_divisor():
    """Capacities are rounded down, which loses nothing."""
    reduced = Reduced.of(Instance(np.array([300, 300, 200, 200, 200, 200]), 1_050))
    assert reduced.core.capacity == 10
    assert reduced.core.weights.tolist() == [3, 3, 2, 2, 2, 2]
