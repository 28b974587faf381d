"""The attacker: what somebody can find out about suppressed cells of linked tables.

He knows every published cell, that cells add up, that none is negative, that counts are whole, and,
as a contributor, what he himself adds to cells (``PriorBounds``).  Two questions:

- **Which cells can be recomputed** by adding and subtracting published ones?  Answered exactly, by
  elimination in fractions: a cell can, if and only if it stands alone in a row of the reduced
  system.
- **How far can a cell be narrowed?**  Its feasibility interval: the least and the largest value
  that any table has which agrees with all he knows.  Answered by two linear programs a cell, over
  the whole linked system; of counts, where a program ends at a fraction, by an integer program.

Suppressed cells that no chain of constraints connects say nothing about each other, so each
connected part is a system of its own.  Numbers of linear programs are doubles: an interval is
exact to 1e-6 of its unit, or of the largest number in its part.

Source: Fischetti and Salazar-Gonzalez, "Solving the cell suppression problem on tabular data with
linear constraints" (Management Science 47, 2001), section 2.

Cost: for each part of s cells and r constraints, an elimination in O(r^2 s), and two programs of
that size for each cell that is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import bmat, csr_matrix
from scipy.sparse.csgraph import connected_components

from voile_base.ondemand import dataclass

__all__ = [
    "CellBound",
    "CellSystem",
    "FeasibilityIntervals",
    "NoTableError",
    "PriorBounds",
    "SystemPart",
    "among_shown",
]

_SLACK = 1e-6
_OPTIMAL, _INFEASIBLE, _UNBOUNDED = 0, 2, 3

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]


class NoTableError(ValueError):
    """No table agrees with what is published."""


@dataclass(frozen=True, eq=False)
class PriorBounds:
    """What somebody knows of cells beforehand: that each lies between two numbers."""

    lower: Numbers
    """Shape (cells,): 0 for an outsider."""
    upper: Numbers
    """Shape (cells,): infinite for an outsider."""
    who: str = "an outsider"

    @classmethod
    def of_outsider(cls, cells: int) -> PriorBounds:
        """That no cell is negative."""
        return cls(np.zeros(cells), np.full(cells, np.inf))


@dataclass(frozen=True, eq=False)
class CellSystem:
    """Cells whose published values add up; ``values`` of suppressed ones are never looked at."""

    constraints: csr_matrix
    """Shape (r, cells), of whole numbers: each row times the true values is zero."""
    values: Indices
    """Shape (cells,)."""
    suppressed: Mask
    """Shape (cells,)."""
    whole: bool

    def parts(self) -> Iterator[SystemPart]:
        """The connected parts of the suppressed cells, by their first cells."""
        hidden = np.flatnonzero(self.suppressed)
        if not len(hidden):
            return
        below = self.constraints[:, hidden]
        rows = np.flatnonzero(np.diff(below.indptr))
        below = below[rows]
        known = np.where(self.suppressed, 0, self.values)
        sums = -(self.constraints[rows] @ known)
        graph = bmat([[None, below], [below.T, None]], format="csr")
        _, label = connected_components(graph, directed=False)
        of_rows, of_cells = label[: len(rows)], label[len(rows) :]
        row_order, cell_order = (np.argsort(each, kind="stable") for each in (of_rows, of_cells))
        for part in np.unique(of_cells):
            mine = cell_order[slice(*np.searchsorted(of_cells[cell_order], [part, part + 1]))]
            held = row_order[slice(*np.searchsorted(of_rows[row_order], [part, part + 1]))]
            yield SystemPart(
                hidden[mine], rows[held], below[held][:, mine].tocsr(), sums[held], self.whole
            )

    def recomputable(self) -> Indices:
        """The suppressed cells that follow from published ones by sums and differences alone."""
        found: list[int] = []
        for part in self.parts():
            reduced = _reduced(part.matrix, np.zeros(len(part.rows), dtype=np.int64))
            found += [int(part.cells[next(iter(row))]) for row in reduced if len(row) == 1]
        return np.array(sorted(found), dtype=np.int64)

    def recomputed(self) -> dict[int, Fraction]:
        """The same cells with their values.

        Exact: a part is reduced by Gauss and Jordan in fractions, its sums with it.  Raises
        ``NoTableError`` where sums contradict each other.
        """
        found: dict[int, Fraction] = {}
        for part in self.parts():
            for row in _reduced(part.matrix, part.sums):
                cells = [place for place in row if place != _SUM]
                if not cells:
                    raise NoTableError
                if len(cells) == 1:
                    found[int(part.cells[cells[0]])] = row.get(_SUM, Fraction(0))
        return found


@dataclass(frozen=True, eq=False)
class CellBound:
    """The least or largest value of a cell, and the multipliers that prove it."""

    value: float
    """Infinite where nothing bounds it."""
    duals: Numbers | None = None
    """Shape (r,), of the part's constraints; None where there are none."""
    at_whole_numbers: bool = False
    """Whether a table of whole numbers has it."""
    point: Numbers | None = None
    """Shape (s,): values of the part's cells that attain it; None where there are none."""


@dataclass(frozen=True, eq=False)
class SystemPart:
    """Suppressed cells that constraints connect."""

    cells: Indices
    """Shape (s,): their numbers in the system."""
    rows: Indices
    """Shape (r,): the numbers of the constraints."""
    matrix: csr_matrix
    """Shape (r, s)."""
    sums: Indices
    """Shape (r,): what the rows of the matrix times the values are."""
    whole: bool

    def bound(self, cell: int, sign: int, knowledge: PriorBounds) -> CellBound:
        """The largest value of a cell (``sign`` 1) or its least (-1) in real numbers.

        Raises ``NoTableError`` where no table agrees with what is known.
        """
        lower, upper = knowledge.lower[self.cells], knowledge.upper[self.cells]
        place = int(np.searchsorted(self.cells, cell))
        if not len(self.rows):
            return CellBound(
                float(upper[place] if sign > 0 else lower[place]), at_whole_numbers=True
            )
        result = linprog(
            self._goal(place, sign),
            A_eq=self.matrix,
            b_eq=self.sums,
            bounds=np.column_stack((lower, upper)),
            method="highs-ds",
        )
        if result.status == _UNBOUNDED:
            return CellBound(np.inf, at_whole_numbers=True)
        if result.status != _OPTIMAL:
            raise NoTableError
        whole = bool(np.abs(result.x - np.round(result.x)).max() < _SLACK)
        return CellBound(float(result.x[place]), -result.eqlin.marginals, whole, result.x)

    def whole_bound(self, cell: int, sign: int, knowledge: PriorBounds) -> float:
        """The same among tables of whole numbers, where values are whole; else in real numbers."""
        found = self.bound(cell, sign, knowledge)
        if not self.whole:
            return found.value
        if found.at_whole_numbers:
            return float(np.round(found.value))
        place = int(np.searchsorted(self.cells, cell))
        result = milp(
            self._goal(place, sign),
            constraints=LinearConstraint(self.matrix, self.sums, self.sums),
            integrality=np.ones(len(self.cells)),
            bounds=Bounds(knowledge.lower[self.cells], knowledge.upper[self.cells]),
            options={"mip_rel_gap": 0.0},
        )
        if result.status == _INFEASIBLE:
            raise NoTableError
        return float(round(result.x[place]))

    def _goal(self, place: int, sign: int) -> Numbers:
        goal = np.zeros(len(self.cells))
        goal[place] = -sign
        return goal


@dataclass(frozen=True, eq=False)
class FeasibilityIntervals:
    """Feasibility intervals of some cells."""

    cells: Indices
    lower: Numbers
    upper: Numbers
    """Infinite where nothing bounds a cell."""

    @classmethod
    def of(
        cls,
        system: CellSystem,
        cells: Sequence[int] | Indices,
        knowledge: PriorBounds | None = None,
    ) -> FeasibilityIntervals:
        """The intervals of some suppressed cells, to an outsider or to whoever knows more.

        Raises ``NoTableError`` where no table agrees with what is known.
        """
        knowledge = knowledge or PriorBounds.of_outsider(len(system.values))
        wanted = np.zeros(len(system.values), dtype=np.bool_)
        wanted[cells] = True
        lower, upper = np.full(len(wanted), np.nan), np.full(len(wanted), np.nan)
        for part in system.parts():
            for cell in part.cells[wanted[part.cells]].tolist():
                lower[cell] = part.whole_bound(cell, -1, knowledge)
                upper[cell] = part.whole_bound(cell, 1, knowledge)
        found = np.flatnonzero(wanted & system.suppressed)
        return cls(found, lower[found], upper[found])


def among_shown(constraints: csr_matrix, shown: Mask) -> csr_matrix:
    """The constraints all of whose cells show a measure."""
    hidden = (abs(constraints) @ (~shown).astype(np.int64)) == 0
    return constraints[np.flatnonzero(hidden)]


_SUM = -1
"""The column of sums; never a pivot."""


def _reduced(matrix: csr_matrix, sums: Indices) -> list[dict[int, Fraction]]:
    """The nonzero rows of the reduced row echelon form of a sparse matrix of whole numbers.

    With the sums as a last column; a row of nothing but a sum is a contradiction.
    """
    pivots: dict[int, dict[int, Fraction]] = {}
    for number in range(matrix.shape[0]):
        span = slice(matrix.indptr[number], matrix.indptr[number + 1])
        entries = zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True)
        row = {column: Fraction(entry) for column, entry in entries if entry}
        if sums[number]:
            row[_SUM] = Fraction(int(sums[number]))
        for pivot in [column for column in row if column in pivots]:
            _subtract(row, pivots[pivot], row[pivot])
        if not row:
            continue
        pivot = min((column for column in row if column != _SUM), default=_SUM)
        if pivot == _SUM:
            return [row]
        scale = row[pivot]
        row = {column: entry / scale for column, entry in row.items()}
        for other in pivots.values():
            if pivot in other:
                _subtract(other, row, other[pivot])
        pivots[pivot] = row
    return list(pivots.values())


def _subtract(row: dict[int, Fraction], other: dict[int, Fraction], times: Fraction) -> None:
    for column, entry in other.items():
        left = row.get(column, Fraction(0)) - times * entry
        if left:
            row[column] = left
        else:
            row.pop(column, None)
