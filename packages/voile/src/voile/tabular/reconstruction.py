"""Reconstruction of rows from tables: which rows every set of rows has that agrees with them.

Tables that are published together are counts of one set of rows.  Unknown is how many rows each
combination of the finest values has; published cells are sums of these.  A row is **determined** if
every set of rows that agrees has it: of a combination, as many rows as the least number that it can
have, found by an integer program.  Each program's solution is a set of rows that agrees, so that a
combination of which one of them has no rows needs no program of its own.

Source: Garfinkel, Abowd and Martindale, "Understanding database reconstruction attacks on public
data" (Communications of the ACM 62, 2019), who ask a SAT solver for one set of rows.

Cost: an integer program of c variables, for at most as many of the c combinations as have rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from voile.tabular.attacker import NoTableError
from voile.tabular.moves import CombinationGrid
from voile.tabular.published import ReleasedCells
from voile.tabular.system import Indices

__all__ = ["DeterminedRows", "determined_rows"]

_MOST_COMBINATIONS = 2_000
_INFEASIBLE = 2


@dataclass(frozen=True, eq=False)
class DeterminedRows:
    """What tables tell of the rows behind them."""

    rows: int
    """How many rows there are at least: those of any set that agrees."""
    least: Indices
    """Shape (combinations,): rows that each combination of finest values has at least."""

    @property
    def determined(self) -> int:
        """Rows that every set of rows has."""
        return int(self.least.sum())


def determined_rows(released: ReleasedCells, measure: str) -> DeterminedRows | None:
    """The rows that published counts determine; None where there are too many combinations.

    Raises ``NoTableError`` where no rows agree with the tables.
    """
    grid = CombinationGrid.of_tabulation(released.system)
    if grid is None or grid.chosen.shape[1] > _MOST_COMBINATIONS:
        return None
    size = grid.chosen.shape[1]
    cells = grid.cells(grid.chosen)
    combination = np.repeat(np.arange(size), cells.shape[1])
    ones = np.ones(cells.size, dtype=np.int64)
    sums = csr_matrix(
        (ones, (cells.ravel(), combination)), shape=(released.system.cells, size), dtype=np.int64
    )
    known = released.shown[measure] & ~released.suppressed
    published = sums[np.flatnonzero(known)], released.values[measure][known]
    least = _solved(published, np.zeros(size))
    total = int(least.sum())
    open_ = np.flatnonzero(least)
    while len(open_):
        one = int(open_[0])
        goal = np.zeros(size)
        goal[one] = 1.0
        # Others that may have no rows are tried with it, for less than one of its own rows.
        goal[open_[1:]] = 0.5 / (1 + total * max(len(open_) - 1, 1))
        least = np.minimum(least, _solved(published, goal))
        open_ = open_[1:][least[open_[1:]] > 0]
    return DeterminedRows(total, least)


def _solved(published: tuple[csr_matrix, Indices], goal: NDArray[np.float64]) -> Indices:
    """Shape (combinations,): the rows of a set that agrees, with the least goal."""
    matrix, values = published
    result = milp(
        goal,
        constraints=LinearConstraint(matrix, values, values),
        integrality=np.ones(len(goal)),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0.0},
    )
    if result.status == _INFEASIBLE or result.x is None:
        raise NoTableError
    found: Indices = np.rint(result.x).astype(np.int64)
    return found
