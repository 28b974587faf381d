"""Vector packing: bounds, heuristics and proofs against an exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile_base.errors import InputError
from voile_pack.instance import Packing, Stop
from voile_pack.vector import VectorInstance, _require_valid_vectors, coarse_bound
from voile_pack.vector_columns import ItemTypes, _profitable_patterns
from voile_testing.plugin import examples


def instance(sizes, capacities=(10, 10)) -> VectorInstance:
    return VectorInstance(np.array(sizes), np.array(capacities))


def fewest_bins(sizes, capacities) -> int:
    """The least number of bins, by trying every bin for every item, empty ones once."""

    def place(item, spaces, best):
        if len(spaces) >= best:
            return best
        if item == len(sizes):
            return len(spaces)
        for number, space in enumerate(spaces):
            left = tuple(s - size for s, size in zip(space, sizes[item], strict=True))
            if min(left) >= 0:
                best = place(item + 1, [*spaces[:number], left, *spaces[number + 1 :]], best)
        left = tuple(c - size for c, size in zip(capacities, sizes[item], strict=True))
        return place(item + 1, [*spaces, left], best)

    return place(0, [], len(sizes) + 1)


small = st.integers(1, 3).flatmap(
    lambda d: st.tuples(
        st.lists(st.tuples(*[st.integers(0, 9)] * d), min_size=1, max_size=8),
        st.tuples(*[st.integers(9, 14)] * d),
    )
)


@given(small)
@settings(max_examples=examples(60))
def test_small_instances_are_solved(case):
    """Every small instance is packed in the fewest bins, and that is proved."""
    sizes, capacities = case
    outcome = instance(sizes, capacities).solve(Stop.by_work(20))
    assert outcome.bins == fewest_bins(sizes, capacities)
    assert outcome.proved
    _require_valid_vectors(outcome.packing, instance(sizes, capacities))


@given(small)
@settings(max_examples=examples(100))
def test_quick_bounds_hold(case):
    """First bounds are below and first packings above the optimum."""
    sizes, capacities = case
    outcome = instance(sizes, capacities).pack_quickly()
    assert outcome.lower_bound <= fewest_bins(sizes, capacities) <= outcome.bins


def test_exclusion_counts_different_dimensions():
    """Items that exclude each other in different dimensions are seen by no single dimension."""
    sizes = [(6, 1, 6), (6, 6, 1), (1, 6, 6)]
    outcome = instance(sizes, (10, 10, 10)).pack_quickly()
    assert outcome.lower_bound == 3
    assert outcome.bound_by == "exclusion"


@pytest.mark.slow
def test_columns_close_a_gap_that_simple_bounds_leave():
    """Column generation proves a bound that no single dimension gives."""
    sizes = np.random.default_rng(7).integers(3, 8, (24, 2))
    sizes[:12, 1] //= 2
    sizes[12:, 0] //= 2
    simple = instance(sizes).pack_quickly()
    types = ItemTypes.of(sizes, np.array([10, 10]))
    start = types.contents(simple.packing.bin_of)
    columns = types.generate_columns(start, simple.bins, Stop.by_work(20).start())
    assert simple.lower_bound < columns.lower_bound <= simple.bins


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(1, 3), st.integers(0, 50)),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=examples(100))
def test_the_most_profitable_content_is_found(types):
    """The search for a content agrees with trying all of them; an unfinished one is bounded."""
    table = np.array(types)
    sizes, copies, profits = table[:, :2], table[:, 2], table[:, 3]
    capacities = np.array([8, 9])
    grids = np.indices(tuple(copies + 1)).reshape(len(types), -1).T
    fitting = grids[(grids @ sizes <= capacities).all(axis=1)]
    most = int((fitting @ profits).max())
    found = _profitable_patterns(sizes, copies, capacities, profits, 100_000)
    assert found.profit == found.bound == most
    if most:
        assert found.copies[-1] @ profits == most
        assert (found.copies @ sizes <= capacities).all()
        assert (found.copies <= copies).all()
    assert _profitable_patterns(sizes, copies, capacities, profits, 1).bound >= most


def test_coarse_bound_is_a_bound():
    """Rounding many distinct weights downwards keeps the bound at or below the exact one."""
    weights = np.random.default_rng(3).integers(1, 1_000_000, 5_000)
    assert -(-weights.sum() // 1_000_000) <= coarse_bound(weights, 1_000_000) <= 5_000
    halves = 500_001 + np.arange(3_000)
    assert coarse_bound(halves, 1_000_000) >= 2_900


def test_checks_are_independent():
    """A packing that exceeds one of two capacities is rejected."""
    case = instance([(5, 1), (5, 10)])
    with pytest.raises(AssertionError, match="overfilled"):
        _require_valid_vectors(Packing(np.array([0, 0])), case)
    _require_valid_vectors(Packing(np.array([0, 1])), case)


def test_or_tools_alone():
    """Constraint programming alone proves the optimum of a small instance."""
    sizes = [(6, 2), (4, 8), (5, 5), (5, 5), (3, 3), (7, 7)]
    outcome = instance(sizes).solve(Stop.by_work(20), solver="or-tools")
    assert (outcome.bins, outcome.proved) == (fewest_bins(sizes, (10, 10)), True)


def test_results_repeat():
    """Work that ends before the limit gives the same packing again."""
    sizes = np.random.default_rng(5).integers(1, 8, (40, 2))
    first, again = (instance(sizes).solve(Stop.by_work(30)) for _ in range(2))
    assert (first.packing.bin_of == again.packing.bin_of).all()


@pytest.mark.slow
def test_progress_and_no_work():
    """Without work the first heuristics still answer; progress tells bins above the bound."""
    sizes = np.random.default_rng(11).integers(100, 500, (30, 2))
    told = []
    instance(sizes, (1000, 1000)).solve(Stop.by_work(2), told.append)
    assert all(report.lower_bound <= report.bins for report in told)
    quick = instance(sizes, (1000, 1000)).solve(Stop.by_work(0))
    assert quick.lower_bound <= quick.bins


def test_no_items():
    """Nothing to pack needs no bins."""
    outcome = VectorInstance(np.empty((0, 2), np.int64), np.array([1, 1])).solve(Stop.by_work(1))
    assert (outcome.bins, outcome.lower_bound, outcome.proved) == (0, 0, True)


@pytest.mark.parametrize(
    ("sizes", "capacities", "words"),
    [
        ([(11, 1)], (10, 10), "weight: 1 item is heavier than a bin"),
        ([(1, -1)], (10, 10), "volume: 1 item is below zero"),
        ([(1, 1)], (10, 0), "volume: the capacity of a bin must be positive"),
        ([(1, 1)], (10,), "one column for each capacity"),
    ],
)
def test_impossible_instances(sizes, capacities, words):
    """What cannot be packed is refused with the name of the dimension."""
    with pytest.raises(InputError, match=words):
        VectorInstance(np.array(sizes), np.array(capacities), ("weight", "volume"))
