"""The lattice of all ways to give each quasi-identifier one level of its hierarchy.

A node is one level per column; it lies below another if none of its levels is higher.  Nodes are
numbered by mixed radix, the last column fastest, so an array over all nodes reshapes to one axis
per column, and the nodes above or below a node are a box of it: marking them is one assignment to
a slice.

Cost: an array over all N nodes is N entries; ``Lattice.enumerable`` refuses where that is more
than ten million, because methods that must look at every node would not end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import BoundHierarchy
from voile_base.errors import PlanError

__all__ = ["LARGEST", "Lattice", "Levels"]

Levels = tuple[int, ...]
"""A node: the level of each column."""

LARGEST = 10_000_000
"""Number of nodes beyond which no array over all of them is made."""


class Lattice:
    """All combinations of levels of m columns, each from 0 to the column's height."""

    def __init__(self, heights: Sequence[int]) -> None:
        self.heights: Levels = tuple(heights)
        self.shape: Levels = tuple(height + 1 for height in heights)
        self.size: int = prod(self.shape)
        """Number of nodes, exact however large."""
        self._strides: Levels = tuple(prod(self.shape[j + 1 :]) for j in range(len(self.shape)))
        # Columns of one level need no axis, and an array cannot have more than 64.
        self._axes = tuple(j for j, height in enumerate(self.heights) if height)

    @classmethod
    def of(cls, hierarchies: Sequence[BoundHierarchy]) -> Lattice:
        """The lattice over the levels of some hierarchies."""
        return cls([hierarchy.height for hierarchy in hierarchies])

    @classmethod
    def enumerable(cls, hierarchies: Sequence[BoundHierarchy], method: str) -> Lattice:
        """The lattice, where a method can look at all its nodes; raises ``PlanError`` if not."""
        lattice = cls.of(hierarchies)
        if lattice.size > LARGEST:
            levels = ", ".join(
                f"{hierarchy.column} {levels}"
                for hierarchy, levels in zip(hierarchies, lattice.shape, strict=True)
            )
            msg = (
                f"the hierarchies make a lattice of {lattice.size:,} nodes (levels: {levels}), and "
                f"{method} looks at no more than {LARGEST:,}. Take levels out of the hierarchies, "
                'or use method "generalization" with algorithm = "datafly" or "mondrian", which '
                "need not enumerate the lattice"
            )
            raise PlanError(msg)
        return lattice

    @property
    def bottom(self) -> Levels:
        """The node that generalizes nothing."""
        return (0,) * len(self.heights)

    @property
    def top(self) -> Levels:
        """The node that generalizes most."""
        return self.heights

    def number(self, levels: Sequence[int]) -> int:
        """The number of a node, from 0."""
        return sum(level * stride for level, stride in zip(levels, self._strides, strict=True))

    def levels(self, number: int) -> Levels:
        """The node with a number."""
        return tuple(
            number // stride % size for stride, size in zip(self._strides, self.shape, strict=True)
        )

    def successors(self, levels: Levels) -> Iterator[Levels]:
        """The nodes with one column one level higher."""
        for j, height in enumerate(self.heights):
            if levels[j] < height:
                yield (*levels[:j], levels[j] + 1, *levels[j + 1 :])

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """Shape (N,): the number of each node."""
        return np.arange(self.size)

    @cached_property
    def node_heights(self) -> NDArray[np.int32]:
        """Shape (N,): the sum of the levels of each node."""
        return self.outer(np.add, [np.arange(size, dtype=np.int32) for size in self.shape])

    def at_height(self, height: int) -> NDArray[np.int64]:
        """Numbers of the nodes whose levels sum to ``height``, ascending."""
        return np.flatnonzero(self.node_heights == height)

    def outer(self, combine: np.ufunc, terms: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Shape (N,): for each node the terms of its levels, combined over the columns in order.

        ``terms`` has for each column an array with one entry per level.
        """
        combined = np.array([combine.identity], dtype=terms[0].dtype if terms else np.int64)
        for term in terms:
            combined = combine.outer(combined, term).ravel()
        return combined

    def box(self, over_nodes: NDArray[Any], low: Levels, high: Levels) -> NDArray[Any]:
        """A writable view of an array over all nodes: those from ``low`` up to ``high``."""
        view = over_nodes.reshape([self.shape[j] for j in self._axes])
        # The ellipsis keeps a lattice of one node, which has no axis left, a view.
        corners: Any = (..., *(slice(low[j], high[j] + 1) for j in self._axes))
        between: NDArray[Any] = view[corners]
        return between

    def above(self, over_nodes: NDArray[Any], levels: Levels) -> NDArray[Any]:
        """The view of a node and all nodes above it."""
        return self.box(over_nodes, levels, self.top)

    def below(self, over_nodes: NDArray[Any], levels: Levels) -> NDArray[Any]:
        """The view of a node and all nodes below it."""
        return self.box(over_nodes, self.bottom, levels)
