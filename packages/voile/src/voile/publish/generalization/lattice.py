"""The lattice of all ways to give each quasi-identifier one level of its hierarchy.

A node is one level per column; it lies below another if none of its levels is higher.  Nodes are
numbered by mixed radix, the last column fastest, so an array over all nodes reshapes to one axis
per column, and the nodes above or below a node are a box of it: marking them is one assignment to
a slice.

Cost: an array over all N nodes is N entries; ``Lattice.enumerable`` refuses where that is more
than ten million, because methods that must look at every node would not end.

What a generalization should lose least of, with bounds that let whole parts of a lattice go.

What it does: gives the loss of a node from the sizes of its groups and the values of the rows it
leaves out, and a lower bound for the losses of that node and of every node above it.

Sources, n rows, m quasi-identifiers:

- ``loss``: the loss metric of ARX (Prasser and Kohlmayer, "Putting statistical disclosure control
  into practice", 2015), after Iyengar, "Transforming data to satisfy privacy constraints" (2002).
  A published cell loses its value's share of the column's domain, a cell of a suppressed row 1.
  The sum over a column is normalised so that the values as they are lose 0 and everything
  suppressed 1; the columns' losses l combine to (product of (1 + l)) ** (1 / m) - 1.
- ``precision``: Sweeney, "Achieving k-anonymity privacy protection using generalization and
  suppression" (2002), as a loss: the mean over all n m cells of level / height; a cell of a
  suppressed row loses 1, and so does none of a published column without levels above 0.
- ``discernibility``: Bayardo and Agrawal, "Data privacy through optimal k-anonymization" (2005):
  each published row costs the size of its group, each suppressed row n.
- ``average-class-size``: after LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional
  k-anonymity" (2006): n over the number of groups, where all suppressed rows are one group.
  Their further division by k changes no choice.

Claim: ``bound`` at a node is at most the loss of that node and of all above it, whichever rows
they leave out, up to rounding errors far below ``TOLERANCE``.  For the first two, suppressing a
cell loses no less than publishing it, and shares and levels only grow upwards; for discernibility,
groups only merge, the sum of their squares only grows, and n is at least a group's size; for the
average, merging and suppressing only take groups away.

Cost: O(p) a node with p groups; for ``loss`` also O(m) for each suppressed group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import BoundHierarchy
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass

__all__ = ["LARGEST", "TOLERANCE", "Lattice", "Levels", "NodeGroups", "ObjectiveName"]


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

    def outer(self, combine: np.ufunc, terms: Sequence[NDArray[np.generic]]) -> NDArray[Any]:
        """Shape (N,): for each node the terms of its levels, combined over the columns in order.

        ``terms`` has for each column an array with one entry per level.
        """
        combined = np.array([combine.identity], dtype=terms[0].dtype if terms else np.int64)
        for term in terms:
            combined = combine.outer(combined, term).ravel()
        return combined

    def box(self, over_nodes: NDArray[np.generic], low: Levels, high: Levels) -> NDArray[Any]:
        """A writable view of an array over all nodes: those from ``low`` up to ``high``."""
        view = over_nodes.reshape([self.shape[j] for j in self._axes])
        # The ellipsis keeps a lattice of one node, which has no axis left, a view.
        corners: Any = (..., *(slice(low[j], high[j] + 1) for j in self._axes))
        between: NDArray[Any] = view[corners]
        return between

    def above(self, over_nodes: NDArray[np.generic], levels: Levels) -> NDArray[Any]:
        """The view of a node and all nodes above it."""
        return self.box(over_nodes, levels, self.top)

    def below(self, over_nodes: NDArray[Any], levels: Levels) -> NDArray[Any]:
        """The view of a node and all nodes below it."""
        return self.box(over_nodes, self.bottom, levels)


ObjectiveName = Literal["loss", "precision", "discernibility", "average-class-size"]

TOLERANCE = 1e-9
"""Relative: sums of a million shares in binary fractions are exact to about 1e-10."""


@dataclass(frozen=True, eq=False)
class NodeGroups:
    """The p groups of a node; private."""

    levels: Levels
    rows: NDArray[np.int64]
    """Shape (p,)."""
    valid: NDArray[np.bool_]
    """Shape (p,): the groups that may be published."""
    left_out: Callable[[], Sequence[NDArray[np.int64]]]
    """For each column, the suppressed rows by generalized value."""

    @cached_property
    def suppressed(self) -> int:
        """Rows that are not published."""
        return int(self.rows[~self.valid].sum())
