"""The knapsack, the linear programme and its bound, and dives, against plain search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from pack_tests.brute_force import best_value, fewest_bins
from pack_tests.demands import all_patterns, demand_of
from voile_pack import Stop
from voile_pack.column_generation import SCALE, _best_pattern, relax
from voile_pack.instance import Packing
from voile_pack.patterns import Prices
from voile_pack.solve import _dive
from voile_testing.plugin import examples

ENOUGH = Stop.by_work(60)
small = st.lists(st.integers(1, 20), min_size=1, max_size=9)


def _optimum_of_the_programme(demand):
    patterns = all_patterns(demand)
    solved = linprog(np.ones(len(patterns)), A_eq=patterns.T, b_eq=demand.counts)
    return float(solved.fun)


@pytest.mark.slow
@given(small, st.integers(20, 40), st.data())
def test_the_knapsack_finds_the_best_pattern(weights, capacity, data):
    """Against the table of all capacities; the upper bound is above by the tolerance."""
    demand = demand_of(weights, capacity)
    m = len(demand.weights)
    prices = np.array(data.draw(st.lists(st.integers(0, 2**40), min_size=m, max_size=m)))
    pattern = np.empty(m, np.int64)
    given_types = demand.weights, demand.counts, prices, capacity
    value, upper, _ = _best_pattern(*given_types, 1_000, 10**9, pattern)
    best = best_value(*(array.tolist() for array in given_types[:3]), capacity)
    assert value == pattern @ prices <= best <= upper
    assert best - value <= 1_000
    assert pattern @ demand.weights <= capacity
    assert np.all(pattern <= demand.counts)


@given(small, st.integers(20, 40), st.data(), st.integers(0, 5))
def test_a_knapsack_that_is_cut_off_still_bounds(weights, capacity, data, limit):
    """With hardly any branches the upper bound may be loose and is never wrong."""
    demand = demand_of(weights, capacity)
    m = len(demand.weights)
    prices = np.array(data.draw(st.lists(st.integers(0, 2**40), min_size=m, max_size=m)))
    pattern = np.empty(m, np.int64)
    given_types = demand.weights, demand.counts, prices, capacity
    _, upper, branches = _best_pattern(*given_types, 0, limit, pattern)
    assert branches <= limit
    best = best_value(demand.weights.tolist(), demand.counts.tolist(), prices.tolist(), capacity)
    assert best <= upper


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(small, st.integers(20, 40))
def test_the_bound_is_that_of_the_programme_over_all_patterns(weights, capacity):
    """Rounded up, the optimum over patterns that SciPy finds; at most the true optimum."""
    demand = demand_of(weights, capacity)
    relaxation = relax(demand, ENOUGH.start())
    assert relaxation is not None
    exact = _optimum_of_the_programme(demand)
    assert relaxation.bound == int(np.ceil(exact - 1e-5))
    assert relaxation.bound <= fewest_bins(weights, capacity)


@settings(max_examples=examples(50))
@given(small, st.integers(20, 40))
def test_the_solution_packs_everything_in_fractions(weights, capacity):
    """Its patterns fit, are not more than there is, and hold each type often enough."""
    demand = demand_of(weights, capacity)
    relaxation = relax(demand, ENOUGH.start())
    assert relaxation is not None
    assert np.all(relaxation.columns @ demand.weights <= capacity)
    assert np.all(relaxation.columns <= demand.counts)
    assert np.all(relaxation.amounts @ relaxation.columns > demand.counts - 1e-6)
    assert relaxation.amounts.sum() < relaxation.bound + 1e-2


@given(small, st.integers(20, 40), st.data())
def test_any_prices_bound_the_optimum(weights, capacity, data):
    """Whatever rounding does to prices, the bound that they prove is true."""
    demand = demand_of(weights, capacity)
    m = len(demand.weights)
    prices = data.draw(st.lists(st.integers(0, SCALE), min_size=m, max_size=m))
    best = best_value(demand.weights.tolist(), demand.counts.tolist(), prices, capacity)
    bound = Prices(np.array(prices, np.int64), max(best, 1)).bound(demand)
    assert bound <= fewest_bins(weights, capacity)


def test_the_bound_sees_what_weights_alone_do_not():
    """Three bins of 15 could carry these weights, but no sums of them reach 15 or 14."""
    weights = [12, 10, 8, 6, 4, 4]
    assert -(-sum(weights) // 15) == 3
    relaxation = relax(demand_of(weights, 15), ENOUGH.start())
    assert relaxation is not None
    assert relaxation.bound == fewest_bins(weights, 15) == 4


def test_without_time_the_bound_is_that_of_the_weights():
    """Nothing is solved, and what is returned is true."""
    relaxation = relax(demand_of([5, 5, 5, 4, 4], 10), Stop.by_work(0).start())
    assert relaxation is not None
    assert not relaxation.solved
    assert relaxation.bound == 3


def test_the_work_ends_where_the_bound_is_enough():
    """A bound that the packing meets needs no optimal programme."""
    weights = [x * 7919 % 61 + 20 for x in range(300)]
    full, early = (relax(demand_of(weights, 150), ENOUGH.start(), e) for e in (10**9, 0))
    assert full is not None
    assert early is not None
    assert early.bound <= full.bound
    assert full.amounts.sum() < early.amounts.sum()


def test_too_many_types_are_left_to_others(monkeypatch):
    """The basis would not fit."""
    monkeypatch.setattr("voile_pack.column_generation.MAXIMUM_TYPES", 2)
    assert relax(demand_of([1, 2, 3], 10), ENOUGH.start()) is None


@pytest.mark.slow
@settings(max_examples=examples(50))
@given(small, st.integers(20, 40))
def test_a_dive_packs_everything_or_gives_up(weights, capacity):
    """Dives find the optimum of a few items, and never fewer bins than it has."""
    demand = demand_of(weights, capacity)
    optimum = fewest_bins(weights, capacity)
    relaxation = relax(demand, ENOUGH.start())
    assert relaxation is not None
    patterns = _dive(demand, relaxation, optimum, ENOUGH.start(), 2_000)
    assert patterns is not None
    packing = Packing(demand.bins_of(patterns))
    packing.require_valid(demand.core())
    assert packing.bins <= optimum
    assert _dive(demand, relaxation, optimum - 1, ENOUGH.start(), 200) is None


@given(small, st.integers(20, 40))
def test_patterns_and_bins_tell_the_same(weights, capacity):
    """From a packing to patterns and back: the same loads."""
    demand = demand_of(weights, capacity)
    bin_of = np.arange(demand.items)
    patterns = demand.patterns_of(bin_of)
    again = demand.bins_of(patterns)
    core = demand.core()
    assert sorted(np.bincount(again, core.weights)) == sorted(np.bincount(bin_of, core.weights))
    assert demand.without(patterns).items == 0


def test_patterns_that_leave_items_are_a_fault():
    """An unpacked item is never passed over in silence."""
    with pytest.raises(AssertionError, match="unpacked"):
        demand_of([3, 4], 10).bins_of([np.array([1, 0])])
