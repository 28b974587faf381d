"""The linear programme over the columns found so far, one and several dimensions alike.

What it does: the fewest bins, possibly fractions of them, whose contents hold all that is
demanded; and the dual values that tell which contents are missing.

Source: Gilmore and Gomory (1961, 1963); the simplex method is GLOP of OR-Tools, which goes on from
its last basis where columns were added or demands changed.

Guarantee: none, its numbers are floats; those who prove bounds round the dual values and search the
best content for them in whole numbers.

Cost: some pivots for each column; memory O(columns times what they hold).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from voile_pack.stop import Deadline

__all__ = ["Master"]

SETTINGS = "use_preprocessing: false max_deterministic_time: "


class Master:
    """Columns that hold ``demanded`` (m,) items of m types; needs OR-Tools."""

    def __init__(self, demanded: NDArray[np.int64], columns: Iterable[NDArray[np.int64]]) -> None:
        from ortools.linear_solver import pywraplp  # noqa: PLC0415 - it is an extra

        self._optimal = pywraplp.Solver.OPTIMAL
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._infinity = self._solver.infinity()
        self._rows = [self._solver.Constraint(float(c), self._infinity) for c in demanded]
        self._goal = self._solver.Objective()
        self._goal.SetMinimization()
        self._variables: list[object] = []
        self._known: set[bytes] = set()
        self.columns: list[NDArray[np.int64]] = []
        self.solved = False
        self.add(columns)

    def add(self, columns: Iterable[NDArray[np.int64]]) -> bool:
        """Take columns (m,) in; whether one of them is new."""
        before = len(self.columns)
        for column in columns:
            if column.tobytes() in self._known:
                continue
            self._known.add(column.tobytes())
            self.solved = False
            variable = self._solver.NumVar(0.0, self._infinity, "")
            self._goal.SetCoefficient(variable, 1.0)
            for kind in np.flatnonzero(column).tolist():
                self._rows[kind].SetCoefficient(variable, float(column[kind]))
            self._variables.append(variable)
            self.columns.append(column)
        return len(self.columns) > before

    def demand(self, demanded: NDArray[np.float64]) -> None:
        """Ask for other numbers of items (m,), fractions too."""
        self.solved = False
        for row, number in zip(self._rows, demanded.tolist(), strict=True):
            row.SetBounds(number, self._infinity)

    def duals(self, deadline: Deadline) -> NDArray[np.float64] | None:
        """Solve it: the dual values (m,), at least 0; None where the limit was reached."""
        self._solver.SetTimeLimit(int(min(deadline.remaining(), 3600.0) * 1000) + 1)
        work = min(deadline.remaining_work(), 1e9)
        self._solver.SetSolverSpecificParametersAsString(f"{SETTINGS}{work}")
        status = self._solver.Solve()
        size = len(self._rows) * (len(self._rows) + len(self.columns))
        deadline.spend(size * (1 + self._solver.iterations()))
        self.solved = status == self._optimal
        if not self.solved:
            return None
        return np.maximum([row.dual_value() for row in self._rows], 0.0)

    @property
    def value(self) -> float:
        """The optimum of the last solution, in bins."""
        return float(self._goal.Value())

    @property
    def amounts(self) -> NDArray[np.float64]:
        """How often the last solution uses each column, (p,); 0 where there is none."""
        if not self.solved:
            return np.zeros(len(self.columns))
        return np.array([variable.solution_value() for variable in self._variables])  # type: ignore[attr-defined]
