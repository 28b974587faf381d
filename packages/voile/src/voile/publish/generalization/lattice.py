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
they leave out, up to rounding errors far below ``TOLERANCE``; ``bounds_suppressing`` is at most
the loss of nodes that leave out so many rows or more.  For the first two, suppressing a
cell loses no less than publishing it, and shares and levels only grow upwards; for discernibility,
groups only merge, the sum of their squares only grows, and n is at least a group's size; for the
average, merging and suppressing only take groups away.

Cost: O(p) a node with p groups; for ``loss`` also O(m) for each suppressed group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import BoundHierarchy
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass

__all__ = [
    "LARGEST",
    "TOLERANCE",
    "ColumnLevels",
    "Lattice",
    "Levels",
    "NodeGroups",
    "ObjectiveName",
    "objective_of",
]


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

    def levels_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes with n numbers, shape (n, m)."""
        levels: NDArray[np.int64] = numbers[:, np.newaxis] // self._strides % self.shape
        return levels

    def numbers_above(self, number: int) -> NDArray[np.int64]:
        """The numbers of the nodes with one column one level higher than that of a number."""
        strides = np.array(self._strides, dtype=np.int64)
        above: NDArray[np.int64] = number + strides[np.array(self.levels(number)) < self.heights]
        return above

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


@dataclass(frozen=True, eq=False)
class ColumnLevels:
    """The q distinct generalized values of a column that stand in counted rows, per level."""

    shares: tuple[NDArray[np.float64], ...]
    """For each level, shape (q,): the share of the column's domain that each value covers."""
    rows: tuple[NDArray[np.int64], ...]
    """For each level, shape (q,): counted rows of each value."""

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.shares) - 1

    def covered(self) -> NDArray[np.float64]:
        """Shape (height + 1,): the sum over all rows of the share of their value."""
        pairs = zip(self.shares, self.rows, strict=True)
        return np.array([float(share @ rows) for share, rows in pairs])


class _Objective(Protocol):
    """A loss to be made small."""

    def loss(self, groups: NodeGroups) -> float:
        """What a node loses if its invalid groups are suppressed."""

    def bound(self, groups: NodeGroups) -> float:
        """At most the loss of this node and of every node above it."""

    def bounds(self, lattice: Lattice) -> NDArray[np.float64]:
        """For each node at most its loss, before any is looked at; never falls upwards."""

    def bounds_suppressing(
        self, levels: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Shape (n,): at most the loss of nodes (n, m) that suppress so many rows (n,) or more."""


class _ProductOfLosses:
    """The geometric mean of the columns' losses."""

    def __init__(self, columns: Sequence[ColumnLevels]) -> None:
        self._shares = [column.shares for column in columns]
        self._covered = [column.covered() for column in columns]
        self._rows = int(columns[0].rows[0].sum())

    def loss(self, groups: NodeGroups) -> float:
        """The loss with suppressed rows as wide as the whole domain."""
        published = [covered[level] for covered, level in self._at(groups.levels)]
        suppressed = groups.suppressed
        if suppressed:
            published = [
                whole - float(shares[level] @ rows)
                for whole, shares, level, rows in zip(
                    published, self._shares, groups.levels, groups.left_out(), strict=True
                )
            ]
        product = 1.0
        for whole, covered in zip(published, self._covered, strict=True):
            product *= 1 + self._normalised(whole + suppressed, covered[0])
        return float(product ** (1 / len(published)) - 1)

    def bound(self, groups: NodeGroups) -> float:
        """The loss as if nothing were suppressed."""
        product = 1.0
        for covered, level in self._at(groups.levels):
            product *= 1 + self._normalised(covered[level], covered[0])
        return float(product ** (1 / len(self._covered)) - 1)

    def bounds(self, lattice: Lattice) -> NDArray[np.float64]:
        """The loss of every node as if nothing were suppressed."""
        factors = [
            np.array([1 + self._normalised(whole, covered[0]) for whole in covered])
            for covered in self._covered
        ]
        products: NDArray[np.float64] = lattice.outer(np.multiply, factors)
        return products ** (1 / len(factors)) - 1

    def bounds_suppressing(
        self, levels: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The loss where each suppressed row would have shown the widest value of its level."""
        product = np.ones(len(levels))
        for j, (shares, covered) in enumerate(zip(self._shares, self._covered, strict=True)):
            if covered[0] < self._rows:
                open_ = 1 - np.array([share.max() for share in shares])
                lost = covered[levels[:, j]] + rows * open_[levels[:, j]]
                product *= 1 + np.maximum(0.0, (lost - covered[0]) / (self._rows - covered[0]))
        bounds: NDArray[np.float64] = product ** (1 / len(self._covered)) - 1
        return bounds

    def _at(self, levels: Levels) -> list[tuple[NDArray[np.float64], int]]:
        return list(zip(self._covered, levels, strict=True))

    def _normalised(self, lost: float, least: float) -> float:
        # A column whose only value is its whole domain has nothing to lose.
        return max(0.0, (lost - least) / (self._rows - least)) if least < self._rows else 0.0


class _PrecisionObjective:
    """The mean share of the hierarchies that was climbed."""

    def __init__(self, columns: Sequence[ColumnLevels]) -> None:
        self._heights = [column.height for column in columns]
        self._rows = int(columns[0].rows[0].sum())

    def loss(self, groups: NodeGroups) -> float:
        """Climbed levels of published cells, and 1 for each suppressed cell."""
        suppressed = groups.suppressed / int(groups.rows.sum())
        return suppressed + (1 - suppressed) * self.bound(groups)

    def bound(self, groups: NodeGroups) -> float:
        """The climbed levels as if nothing were suppressed."""
        pairs = zip(groups.levels, self._heights, strict=True)
        return sum(level / height for level, height in pairs if height) / len(self._heights)

    def bounds(self, lattice: Lattice) -> NDArray[np.float64]:
        """The climbed levels of every node."""
        climbed = [np.arange(height + 1) / max(height, 1) for height in self._heights]
        summed: NDArray[np.float64] = lattice.outer(np.add, climbed)
        return summed / len(climbed)

    def bounds_suppressing(
        self, levels: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The loss where these rows are suppressed: one more loses no less."""
        climbed = (levels / np.maximum(self._heights, 1)).sum(axis=1) / len(self._heights)
        suppressed = rows / max(self._rows, 1)
        bounds: NDArray[np.float64] = suppressed + (1 - suppressed) * climbed
        return bounds


class _OfCountedGroups:
    """An objective of which nothing is known before groups are counted."""

    def bounds(self, lattice: Lattice) -> NDArray[np.float64]:
        """No loss is less."""
        return np.zeros(lattice.size)


class _DiscernibilityObjective(_OfCountedGroups):
    """How many rows each row looks like, summed."""

    def __init__(self, columns: Sequence[ColumnLevels]) -> None:
        self._rows = int(columns[0].rows[0].sum())

    def loss(self, groups: NodeGroups) -> float:
        """Squares of the published groups, and n for each suppressed row."""
        published = groups.rows[groups.valid]
        return float(published @ published) + float(groups.suppressed) * float(groups.rows.sum())

    def bound(self, groups: NodeGroups) -> float:
        """Squares of all groups."""
        return float(groups.rows @ groups.rows)

    def bounds_suppressing(
        self, levels: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """All rows for each that is suppressed."""
        del levels
        return rows.astype(np.float64) * self._rows


class _AverageClassSizeObjective(_OfCountedGroups):
    """Rows over groups."""

    def loss(self, groups: NodeGroups) -> float:
        """All rows over the published groups and one of the suppressed rows."""
        published = int(groups.valid.sum())
        return float(groups.rows.sum()) / (published + (published < len(groups.rows)))

    def bound(self, groups: NodeGroups) -> float:
        """All rows over all groups."""
        return float(groups.rows.sum()) / len(groups.rows)

    def bounds_suppressing(
        self, levels: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Nothing follows from rows alone."""
        del levels
        return np.zeros(len(rows))


def objective_of(name: ObjectiveName, columns: Sequence[ColumnLevels]) -> _Objective:
    """The objective with a name, for some columns."""
    match name:
        case "loss":
            return _ProductOfLosses(columns)
        case "precision":
            return _PrecisionObjective(columns)
        case "discernibility":
            return _DiscernibilityObjective(columns)
        case "average-class-size":
            return _AverageClassSizeObjective()
