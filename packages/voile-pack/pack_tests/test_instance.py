"""Instances refuse what cannot be packed; packings are checked by plain sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile_base.errors import InputError
from voile_pack import Instance, Packing, PackingResult


def test_an_item_heavier_than_a_bin_is_refused_by_its_place_and_not_its_weight():
    """The message counts the items and names the first place; it never gives a weight away."""
    with pytest.raises(InputError, match=r"2 items are heavier than a bin .*item 2") as caught:
        Instance(np.array([3, 4711, 5, 4712]), 10)
    assert "471" not in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "capacity", "message"),
    [
        ([1, -1], 5, r"1 item is below zero .*item 2"),
        ([1], 0, "must be positive, not 0"),
        ([1], -3, "must be positive, not -3"),
        ([1.5], 5, "whole numbers"),
        ([[1, 2]], 5, "whole numbers"),
        ([2**61, 2**61], 2**61, "too large"),
    ],
)
def test_what_makes_no_sense_is_refused(weights, capacity, message):
    """Each fault of an instance has its own message."""
    with pytest.raises(InputError, match=message):
        Instance(np.array(weights), capacity)


def test_an_instance_does_not_change_with_the_array_it_was_made_of():
    """The weights are a copy that cannot be written to."""
    weights = np.array([1, 2])
    instance = Instance(weights, 5)
    weights[0] = 9
    assert instance.weights.tolist() == [1, 2]
    assert not instance.weights.flags.writeable


def test_a_packing_tells_its_bins_their_items_and_loads():
    """The three views of a packing agree."""
    packing = Packing(np.array([1, 0, 1]))
    assert packing.bins == 2
    assert [places.tolist() for places in packing.items()] == [[1], [0, 2]]
    assert packing.loads(np.array([5, 3, 2])).tolist() == [3, 7]


def test_no_items_need_no_bins():
    """The empty packing has no bins and packs the empty instance."""
    packing = Packing(np.array([], np.int64))
    assert packing.bins == 0
    assert packing.items() == []
    packing.require_valid(Instance(np.array([], np.int64), 5))


@pytest.mark.parametrize("bin_of", [[0, 0, 0], [0, 2, 0], [0, -1, 1]])
def test_a_faulty_packing_is_a_fault(bin_of):
    """Overfull bins, empty bins and unpacked items are all seen."""
    with pytest.raises(AssertionError):
        Packing(np.array(bin_of)).require_valid(Instance(np.array([4, 4, 4]), 10))


def test_a_packing_of_other_items_is_a_fault():
    """A packing must be as long as the instance."""
    with pytest.raises(ValueError, match="zip"):
        Packing(np.array([0])).require_valid(Instance(np.array([4, 4]), 10))


@given(st.lists(st.integers(0, 9), max_size=8), st.data())
def test_the_check_agrees_with_the_definition(weights, data):
    """A packing passes exactly if its bins are 0, 1, ... without gaps and none is overfull."""
    bin_of = data.draw(st.lists(st.integers(0, 3), min_size=len(weights), max_size=len(weights)))
    loads = [sum(w for w, b in zip(weights, bin_of, strict=True) if b == n) for n in range(4)]
    used = set(bin_of)
    valid = max(loads) <= 12 and used == set(range(len(used)))
    instance, packing = Instance(np.array(weights, np.int64), 12), Packing(np.array(bin_of, int))
    if valid:
        packing.require_valid(instance)
    else:
        with pytest.raises(AssertionError):
            packing.require_valid(instance)


def test_the_gap_is_what_a_better_packing_might_save():
    """Proved is a gap of zero; the gap is a share of the bins."""
    packing = Packing(np.array([0, 1, 2, 3]))
    assert PackingResult(packing, 3, "a", "b", 0.0).gap == 0.25
    assert not PackingResult(packing, 3, "a", "b", 0.0).proved
    assert PackingResult(packing, 4, "a", "b", 0.0).proved
    assert PackingResult(Packing(np.array([], np.int64)), 0, "a", "b", 0.0).gap == 0.0
