"""Choices of patterns against plain search, and prices of corners against all patterns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pack_tests.brute_force import best_value, fewest_bins
from pack_tests.demands import all_patterns, demand_of
from voile_pack import Stop
from voile_pack.column_generation import corners, finish, mean_of, relax
from voile_pack.instance import Packing
from voile_pack.patterns import PART, Prices, _choose_patterns, _tight_patterns
from voile_pack.solve import _dive_to_part
from voile_testing.plugin import examples

pytest.importorskip("ortools")
ENOUGH = Stop.by_work(60)
small = st.lists(st.integers(1, 20), min_size=1, max_size=9)


@settings(max_examples=examples(60))
@given(small, st.integers(20, 30))
def test_patterns_are_chosen_or_proved_to_be_too_few(weights, capacity):
    """Over all patterns: a packing at the optimum, and a proof for one bin less."""
    demand, optimum = demand_of(weights, capacity), fewest_bins(weights, capacity)
    table = all_patterns(demand)
    verdict = _choose_patterns(demand, table, optimum, 1_000, ENOUGH.start())
    assert verdict.patterns is not None
    Packing(demand.bins_of(verdict.patterns)).require_valid(demand.core())
    below = _choose_patterns(demand, table, optimum - 1, 1_000, ENOUGH.start())
    assert below.patterns is None
    assert below.impossible


@settings(max_examples=examples(60))
@given(small, st.integers(20, 30), st.data())
def test_no_choice_of_a_part_is_missed(weights, capacity, data):
    """Of any part of the patterns: impossible only where no choice holds every item once."""
    demand = demand_of(weights, capacity)
    table = all_patterns(demand)
    keep = data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table)))
    table = table[np.array(keep, bool)][:14]
    bins = data.draw(st.integers(1, 4))
    verdict = _choose_patterns(demand, table, bins, 1_000, ENOUGH.start())
    sums = {tuple(demand.counts)}  # of items that are still wanted
    for _ in range(bins):
        rest = {tuple(np.subtract(left, row)) for left in sums for row in table.tolist()}
        sums = {left for left in rest if min(left) >= 0}
    assert (verdict.patterns is not None) == (tuple(0 * demand.counts) in sums)
    assert verdict.impossible == (verdict.patterns is None)


def test_a_search_that_is_cut_off_claims_nothing():
    """Without a node neither a packing nor a proof."""
    demand = demand_of([6, 6, 5, 5, 4, 4, 3, 3, 3, 2], 10)
    verdict = _choose_patterns(demand, all_patterns(demand), 5, 0, ENOUGH.start())
    assert verdict.patterns is None
    assert not verdict.impossible


def test_multipliers_beyond_64_bits_prove_nothing(monkeypatch):
    """Sums that could wrap around are no proof, even of what is true."""
    monkeypatch.setattr("voile_pack.patterns.UNIT", 2**59)
    demand = demand_of([6, 6, 5, 5, 4, 4, 3, 3, 3, 2], 10)
    verdict = _choose_patterns(demand, all_patterns(demand), 4, 50, ENOUGH.start())
    assert verdict.patterns is None
    assert not verdict.impossible


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(small, st.integers(20, 40))
def test_corners_are_prices_that_no_pattern_exceeds(weights, capacity):
    """Each is a proof of its own, and so is their mean."""
    demand = demand_of(weights, capacity)
    first = relax(demand, ENOUGH.start())
    assert first is not None
    finished = finish(demand, first, ENOUGH.start())
    assert finished.solved
    assert first.bound <= finished.bound <= fewest_bins(weights, capacity)
    found = corners(demand, finished, ENOUGH.start(), 3, 0.02, word=1)
    assert len(found) == 3
    for prices in [*found, mean_of(demand, found, finished.bound, ENOUGH.start())]:
        lists = demand.weights.tolist(), demand.counts.tolist(), prices.prices.tolist()
        assert best_value(*lists, capacity) <= prices.pattern_at_most
        assert prices.bound(demand) <= fewest_bins(weights, capacity)


def test_many_types_are_relaxed_as_few_are(monkeypatch):
    """Both ways to solve the programme give the same bound."""
    demand = demand_of([x * 7919 % 61 + 20 for x in range(300)], 150)
    own = relax(demand, ENOUGH.start())
    monkeypatch.setattr("voile_pack.column_generation.TYPES_OF_SIMPLEX", 0)
    many = relax(demand, ENOUGH.start())
    assert own is not None
    assert many is not None
    assert (many.bound, many.solved) == (own.bound, True)
    assert np.all(many.amounts @ many.columns > demand.counts - 1e-6)


def test_without_time_the_relaxation_of_many_types_is_that_of_the_weights(monkeypatch):
    """Nothing is solved, nothing is said, and the bound is true."""
    monkeypatch.setattr("voile_pack.column_generation.TYPES_OF_SIMPLEX", 0)
    relaxation = relax(demand_of([5, 5, 5, 4, 4], 10), Stop.by_work(0).start())
    assert relaxation is not None
    assert (relaxation.bound, relaxation.solved) == (3, False)


@pytest.mark.parametrize("limit", range(1, 12))
def test_a_relaxation_that_is_cut_off_anywhere_says_nothing(monkeypatch, capfd, limit):
    """Between two rounds, too, the bound is true, and the library writes nothing anywhere."""
    monkeypatch.setattr("voile_pack.column_generation.TYPES_OF_SIMPLEX", 0)
    ticks = iter(range(10**6))
    demand = demand_of([x * 7919 % 61 + 20 for x in range(300)], 150)
    relaxation = relax(demand, Stop(limit, lambda: float(next(ticks))).start())
    full = relax(demand, ENOUGH.start())
    assert relaxation is not None
    assert full is not None
    assert relaxation.bound <= full.bound
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(small, st.integers(20, 30), st.integers(1, 5))
def test_a_dive_to_a_part_packs_everything_or_gives_up(weights, capacity, word):
    """What it returns is a packing into so many bins; below the optimum it returns nothing."""
    demand, optimum = demand_of(weights, capacity), fewest_bins(weights, capacity)
    relaxation = relax(demand, ENOUGH.start())
    assert relaxation is not None
    for bins in (optimum, optimum + 1):
        patterns = _dive_to_part(demand, relaxation, bins, ENOUGH.start(), word)
        if patterns is not None:
            packing = Packing(demand.bins_of(patterns))
            packing.require_valid(demand.core())
            assert packing.bins <= bins
    assert _dive_to_part(demand, relaxation, optimum - 1, ENOUGH.start(), word) is None


@pytest.mark.slow
def test_a_part_of_too_many_patterns_packs_triplets():
    """Of more patterns than are tried, those that miss least are enough."""
    demand = demand_of([w for i in range(20) for w in (251 + i, 340 + 2 * i, 409 - 3 * i)], 1005)
    prices = Prices(demand.weights, 1005)
    assert _tight_patterns(demand, prices, 20, PART)[0] is None
    patterns = demand.choose_of_part(prices, 20, ENOUGH.start())
    assert patterns is not None
    packing = Packing(demand.bins_of(patterns))
    packing.require_valid(demand.core())
    assert packing.bins == 20
