"""What a generalization should lose least of, with bounds that let whole parts of a lattice go.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.lattice import Lattice, Levels

__all__ = [
    "TOLERANCE",
    "ColumnLevels",
    "NodeGroups",
    "Objective",
    "ObjectiveName",
    "objective_of",
]

ObjectiveName = Literal["loss", "precision", "discernibility", "average-class-size"]

TOLERANCE = 1e-9
"""Relative: sums of a million shares in binary fractions are exact to about 1e-10."""


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


class Objective(Protocol):
    """A loss to be made small."""

    def loss(self, groups: NodeGroups) -> float:
        """What a node loses if its invalid groups are suppressed."""

    def bound(self, groups: NodeGroups) -> float:
        """At most the loss of this node and of every node above it."""

    def bounds(self, lattice: Lattice) -> NDArray[np.float64]:
        """For each node at most its loss, before any is looked at; never falls upwards."""


class ProductOfLosses:
    """The geometric mean of the columns' losses; see above."""

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

    def _at(self, levels: Levels) -> list[tuple[NDArray[np.float64], int]]:
        return list(zip(self._covered, levels, strict=True))

    def _normalised(self, lost: float, least: float) -> float:
        # A column whose only value is its whole domain has nothing to lose.
        return max(0.0, (lost - least) / (self._rows - least)) if least < self._rows else 0.0


class PrecisionObjective:
    """The mean share of the hierarchies that was climbed; see above."""

    def __init__(self, columns: Sequence[ColumnLevels]) -> None:
        self._heights = [column.height for column in columns]

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


class DiscernibilityObjective:
    """How many rows each row looks like, summed; see above."""

    def loss(self, groups: NodeGroups) -> float:
        """Squares of the published groups, and n for each suppressed row."""
        published = groups.rows[groups.valid]
        return float(published @ published) + float(groups.suppressed) * float(groups.rows.sum())

    def bound(self, groups: NodeGroups) -> float:
        """Squares of all groups."""
        return float(groups.rows @ groups.rows)

    def bounds(self, lattice: Lattice) -> NDArray[np.float64]:
        """Nothing is known before groups are counted."""
        return np.zeros(lattice.size)


class AverageClassSizeObjective:
    """Rows over groups; see above."""

    def loss(self, groups: NodeGroups) -> float:
        """All rows over the published groups and one of the suppressed rows."""
        published = int(groups.valid.sum())
        return float(groups.rows.sum()) / (published + (published < len(groups.rows)))

    def bound(self, groups: NodeGroups) -> float:
        """All rows over all groups."""
        return float(groups.rows.sum()) / len(groups.rows)

    def bounds(self, lattice: Lattice) -> NDArray[np.float64]:
        """Nothing is known before groups are counted."""
        return np.zeros(lattice.size)


def objective_of(name: ObjectiveName, columns: Sequence[ColumnLevels]) -> Objective:
    """The objective with a name, for some columns."""
    match name:
        case "loss":
            return ProductOfLosses(columns)
        case "precision":
            return PrecisionObjective(columns)
        case "discernibility":
            return DiscernibilityObjective()
        case "average-class-size":
            return AverageClassSizeObjective()
