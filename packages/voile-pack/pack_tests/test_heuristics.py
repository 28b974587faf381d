"""First fit and best fit against their definitions; the local search never makes an invalid bin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pack_tests.brute_force import fewest_bins
from voile_pack import Instance, Packing, Stop
from voile_pack.heuristics import _best_fit_decreasing, decreasing, first_fit_decreasing, search

ENOUGH = Stop.by_work(60)
small = st.lists(st.integers(1, 20), min_size=1, max_size=10)


def _descending(weights):
    return np.sort(np.array(weights, np.int64))[::-1].copy()


def _by_definition(weights, capacity, choose):
    rooms, bin_of = [], []
    for weight in weights.tolist():
        fitting = [number for number, room in enumerate(rooms) if room >= weight]
        if not fitting:
            rooms.append(capacity)
            fitting = [len(rooms) - 1]
        number = choose(fitting, rooms)
        rooms[number] -= weight
        bin_of.append(number)
    return bin_of


@given(st.lists(st.integers(1, 20), max_size=40), st.integers(20, 50))
def test_first_fit_is_what_its_name_says(weights, capacity):
    """Bin for bin the same as trying all bins in their order."""
    items = _descending(weights)
    expected = _by_definition(items, capacity, lambda fitting, rooms: fitting[0])
    assert first_fit_decreasing(items, capacity).tolist() == expected


@given(st.lists(st.integers(1, 20), max_size=40), st.integers(20, 50))
def test_best_fit_puts_an_item_where_least_room_is_left(weights, capacity):
    """The multiset of loads is the same as by definition, whichever of equal bins is taken."""
    items = _descending(weights)
    expected = _by_definition(items, capacity, lambda f, rooms: min(f, key=rooms.__getitem__))
    found = _best_fit_decreasing(items, capacity)
    loads = [np.bincount(b, items, 1).tolist() for b in (found, np.array(expected, np.int64))]
    assert sorted(loads[0]) == sorted(loads[1])


@given(small, st.integers(20, 31))
def test_heuristics_need_at_least_the_optimum(weights, capacity):
    """Their packings are valid, so none has fewer bins than the best."""
    items = _descending(weights)
    packing = Packing(decreasing(items, capacity))
    packing.require_valid(Instance(items, capacity))
    assert packing.bins >= fewest_bins(weights, capacity)


@given(small, st.integers(20, 31))
def test_the_search_finds_the_optimum_of_a_few_items_and_nothing_below(weights, capacity):
    """On ten items 20,000 steps are plenty; below the optimum there is nothing to find."""
    core = Instance(_descending(weights), capacity)
    optimum = fewest_bins(weights, capacity)
    start = np.arange(len(core))
    found = search(core, optimum, start, 20_000, ENOUGH.start())
    assert found is not None
    assert found.max() + 1 <= optimum
    Packing(found).require_valid(core)
    assert search(core, optimum - 1, start, 500, ENOUGH.start()) is None


def test_the_search_mends_what_best_fit_spoils():
    """Best fit puts 5 and 5 together and then wastes room that the best packing has not."""
    core = Instance(np.array([5, 5, 4, 4, 3, 3, 3, 3]), 15)
    start = decreasing(np.array(core.weights), core.capacity)
    assert start.max() + 1 == 3
    found = search(core, 2, start, 10_000, ENOUGH.start())
    assert found is not None
    assert np.bincount(found, core.weights).tolist() == [15, 15]


def test_the_search_takes_the_same_course_every_time():
    """Equal input, equal packing; another word, another course."""
    weights = np.sort(np.arange(200) * 7919 % 61 + 20)[::-1]
    core = Instance(weights, 150)
    bins = -(-int(weights.sum()) // 150)
    start = decreasing(np.array(weights), 150)
    first, again, other = (search(core, bins, start, 50_000, ENOUGH.start(), w) for w in (1, 1, 2))
    assert first is not None
    assert other is not None
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_the_search_ends_with_the_time():
    """A clock that has run out stops it at the next look."""
    looked = []
    now = iter(range(10_000))

    def clock():
        looked.append(1)
        return float(next(now))

    core = Instance(np.array([6] * 30), 10)
    assert search(core, 29, np.arange(30), 10**12, Stop(3, clock).start()) is None
    assert len(looked) < 10


def test_the_search_counts_no_empty_bins():
    """Where fewer bins do than were asked for, the numbers have no gaps."""
    core = Instance(np.array([6, 2, 2]), 10)
    found = search(core, 2, np.arange(3), 100, ENOUGH.start())
    assert found is not None
    Packing(found).require_valid(core)
