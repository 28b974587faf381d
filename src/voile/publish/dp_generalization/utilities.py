"""The utility of every node of a lattice: what it publishes times what it leaves of the values.

``sup * gen`` in the seed's eq. 19.  ``sup`` is the score of a node's groups (``scores``), in whole
units and not divided by the number of rows, which is private.  ``gen`` is the share of the levels
that are left: 1 - mean of level / height over the columns that can be generalized, a public number
for each node.  Utilities are whole numbers, so that the draw is exact.

Cost: one roll-up of groups for each node of the lattice, from a neighbour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile.publish.dp_generalization.scores import UNITS, GroupScore
from voile.publish.generalization.grouping import GroupTable
from voile.publish.generalization.lattice import Lattice, Levels
from voile.publish.generalization.problem import Problem
from voile.publish.generalization.rolling import Tables

__all__ = ["NodeUtilities", "node_utilities"]


@dataclass(frozen=True, eq=False)
class NodeUtilities:
    """Utilities of all nodes, private, and how much one row can change them, public."""

    lattice: Lattice
    utilities: NDArray[np.int64]
    """Shape (nodes,), by the number of the node."""
    unit: int
    """The utility of one published row of which all levels are left."""
    sensitivity: Fraction
    """In units of ``utilities``; one row more never lowers any of them."""


def node_utilities(problem: Problem, score: GroupScore) -> NodeUtilities:
    """The utility of every node; the lattice must be enumerable."""
    tables = Tables(problem)
    total = np.empty(tables.lattice.size, dtype=np.int64)

    def visit(levels: Levels, table: GroupTable) -> bool:
        total[tables.lattice.number(levels)] = _score_of(table.rows, score)
        return True

    tables.visit_all(visit)
    left, whole = _levels_left(tables.lattice)
    sensitivity = Fraction(score.sensitivity * whole)
    return NodeUtilities(tables.lattice, total * left, UNITS * whole, sensitivity)


def _score_of(sizes: NDArray[np.int64], score: GroupScore) -> int:
    """The sum over groups of these sizes."""
    beyond = np.maximum(sizes - (len(score.table) - 1), 0)
    return int(score.table[sizes - beyond].sum() + score.slope * beyond.sum())


def _levels_left(lattice: Lattice) -> tuple[NDArray[np.int64], int]:
    """1 - mean of level / height, as whole numbers over a common denominator."""
    heights = [height for height in lattice.heights if height]
    if not heights:
        return np.ones(lattice.size, dtype=np.int64), 1
    unit = math.lcm(*heights)
    terms = [
        (height - np.arange(height + 1)) * (unit // height) if height else np.zeros(1, np.int64)
        for height in lattice.heights
    ]
    return lattice.outer(np.add, terms), unit * len(heights)
