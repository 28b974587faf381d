"""The enumeration leaves out no pattern that matters, and its verdicts are true."""

import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pack_tests.brute_force import fewest_bins
from pack_tests.demands import demand_of
from voile_pack import Stop
from voile_pack.column_generation import relax
from voile_pack.instance import Packing
from voile_pack.patterns import LONG, SHORT, Prices, _tight_patterns
from voile_testing.plugin import examples

ENOUGH = Stop.by_work(60)
small = st.lists(st.integers(1, 20), min_size=1, max_size=8)


@settings(max_examples=examples(50))
@given(small, st.integers(20, 30), st.integers(0, 1))
def test_the_patterns_are_those_that_miss_no_more_than_all_bins_may(weights, capacity, more):
    """Against all ways to fill a bin, for the prices of the programme."""
    demand = demand_of(weights, capacity)
    relaxation = relax(demand, ENOUGH.start())
    assert relaxation is not None
    prices, bins = relaxation.prices, relaxation.bound + more
    table, _ = _tight_patterns(demand, prices, bins, LONG)
    assert table is not None
    missing = bins * prices.pattern_at_most - int(prices.prices @ demand.counts)
    expected = {
        p
        for p in product(*(range(int(c) + 1) for c in demand.counts))
        if np.dot(p, demand.weights) <= capacity
        and prices.pattern_at_most - int(np.dot(p, prices.prices)) <= missing
    }
    assert {tuple(row) for row in table.tolist()} == expected
    assert len(table) == len(expected)


@settings(max_examples=examples(40))
@given(small, st.integers(20, 30))
def test_the_verdict_is_the_truth(weights, capacity):
    """At the optimum a packing, one bin below it a proof that there is none."""
    demand = demand_of(weights, capacity)
    optimum = fewest_bins(weights, capacity)
    relaxation = relax(demand, ENOUGH.start())
    assert relaxation is not None
    verdict = demand.decide([relaxation.prices], optimum, LONG, ENOUGH.start())
    assert verdict.patterns is not None
    packing = Packing(demand.bins_of(verdict.patterns))
    packing.require_valid(demand.core())
    assert packing.bins <= optimum
    assert not verdict.impossible
    # Prices of the weights alone are weaker, and so leave more to the solvers.
    weak = Prices(demand.weights, capacity)
    below = demand.decide([weak], optimum - 1, LONG, ENOUGH.start())
    assert below.patterns is None
    assert below.impossible


def _triplets_that_almost_fill(bins):
    """Items of 251 to 499, of which the sum is that of full bins of 1,000."""
    a = 251 + np.arange(bins) * 37 % 120
    b = 380 - np.arange(bins) * 53 % 100
    return np.concatenate((a, b, 1000 - a - b))


def test_triplets_without_waste_are_packed():
    """Sixty items that fill twenty bins exactly."""
    demand = demand_of(_triplets_that_almost_fill(20), 1000)
    relaxation = relax(demand, ENOUGH.start())
    assert relaxation is not None
    verdict = demand.decide([relaxation.prices], 20, SHORT, ENOUGH.start())
    assert verdict.patterns is not None
    assert all(pattern @ demand.weights == 1000 for pattern in verdict.patterns)


def test_beyond_the_effort_nothing_is_claimed():
    """Too many patterns, too many branches, too much waste: unknown, and not impossible."""
    demand = demand_of(_triplets_that_almost_fill(20), 1000)
    prices = Prices(demand.weights, 1000)
    for effort in (
        replace(LONG, patterns=5),
        replace(LONG, branches=5),
        replace(LONG, waste=-1.0),
    ):
        verdict = demand.decide([prices], 20, effort, ENOUGH.start())
        assert verdict.patterns is None
        assert not verdict.impossible


def test_without_the_constraint_solver_nothing_is_proved(monkeypatch: pytest.MonkeyPatch):
    """HiGHS alone finds packings and is not believed when it says that there are none."""
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    weights = [6, 6, 5, 5, 4, 4, 3, 3, 3, 2]  # forty-one: one too many for four bins
    demand = demand_of(weights, 10)
    prices = Prices(np.ones_like(demand.weights), 5)
    assert fewest_bins(weights, 10) == 5
    table, _ = _tight_patterns(demand, prices, 4, LONG)
    assert table is not None
    assert len(table)
    verdict = demand.decide([prices], 4, LONG, ENOUGH.start())
    assert verdict.patterns is None
    assert not verdict.impossible
