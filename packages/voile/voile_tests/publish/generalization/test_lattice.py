"""The lattice of levels: numbers, neighbours, boxes, and its limits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.publish.generalization.lattice import LARGEST, Lattice
from voile.schema.hierarchy.generalized import BoundHierarchy, GeneralizedValues
from voile_base.errors import PlanError

HEIGHTS = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@given(HEIGHTS)
def test_nodes_are_numbered_in_order(heights: list[int]) -> None:
    """Numbers run over all nodes, the last column fastest, and lead back to the levels."""
    lattice = Lattice(heights)
    nodes = list(product(*(range(height + 1) for height in heights)))
    assert lattice.size == len(nodes)
    assert [lattice.levels(number) for number in range(lattice.size)] == nodes
    assert [lattice.number(levels) for levels in nodes] == list(range(lattice.size))
    assert lattice.node_heights.tolist() == [sum(levels) for levels in nodes]


@given(HEIGHTS)
def test_neighbours_differ_by_one_level(heights: list[int]) -> None:
    """The successors of a node are all nodes that have one level more in one column."""
    lattice = Lattice(heights)
    nodes = [lattice.levels(number) for number in range(lattice.size)]
    for low in nodes:
        above = {
            high
            for high in nodes
            if sum(high) == sum(low) + 1 and all(a <= b for a, b in zip(low, high, strict=True))
        }
        assert set(lattice.successors(low)) == above


@given(HEIGHTS, st.data())
def test_boxes_hold_the_nodes_between_two(heights: list[int], data: st.DataObject) -> None:
    """A box is a writable view of exactly the nodes between its corners."""
    lattice = Lattice(heights)
    low = tuple(data.draw(st.integers(0, height)) for height in heights)
    high = tuple(
        data.draw(st.integers(level, height)) for level, height in zip(low, heights, strict=True)
    )
    marks = np.zeros(lattice.size, dtype=bool)
    lattice.box(marks, low, high)[...] = True
    expected = [
        all(a <= level <= b for a, level, b in zip(low, lattice.levels(number), high, strict=True))
        for number in range(lattice.size)
    ]
    assert marks.tolist() == expected


def test_outer_combines_the_terms_of_each_level() -> None:
    """A node's value is that of its levels, combined over the columns."""
    lattice = Lattice([1, 2])
    products = lattice.outer(np.multiply, [np.array([1.0, 2.0]), np.array([3.0, 5.0, 7.0])])
    assert products.tolist() == [3, 5, 7, 6, 10, 14]


def test_columns_of_one_level_are_no_burden() -> None:
    """A hundred columns without levels do not exceed the number of axes of an array."""
    lattice = Lattice([0] * 50 + [2] + [0] * 49)
    marks = np.zeros(lattice.size, dtype=bool)
    lattice.above(marks, (*[0] * 50, 1, *[0] * 49))[...] = True
    assert marks.tolist() == [False, True, True]


def test_large_lattices_are_refused_with_their_size() -> None:
    """Beyond ten million nodes the error names the size and what would do instead."""
    shown = GeneralizedValues(np.ones(1))
    tall = BoundHierarchy("zip", (np.zeros(1, np.int32),) * 10, (shown,) * 10)
    assert Lattice.enumerable([tall] * 7, "flash").size == LARGEST
    with pytest.raises(PlanError, match=r"100,000,000 nodes \(levels: zip 10.*datafly.*mondrian"):
        Lattice.enumerable([tall] * 8, "flash")


def test_numbers_above_are_those_of_the_successors() -> None:
    """Each node's numbers above are its successors', in their order; the top has none."""
    lattice = Lattice((2, 0, 1))
    for number in range(lattice.size):
        above = [lattice.number(levels) for levels in lattice.successors(lattice.levels(number))]
        assert lattice.numbers_above(number).tolist() == above
