"""Whether some k patterns of a table hold all items: branch and bound whose every leaf is proved.

What it does: finds such patterns, or proves that there are none.

Source: Ryan and Foster (1981), "An integer programming approach to scheduling", for branching on
two items in one bin or not; Farkas (1902) for the proofs of the leaves.

Guarantee: patterns that are found hold every item once.  That there are none is proved in whole
numbers: a branch is left where integer multipliers y of its rows, of the right signs, make the
right sides worth more than all patterns together can give: y b > sum over patterns p of u_p
max(0, y a_p), where p can be used u_p times.  The linear programme proposes the multipliers;
rounding them can make a proof fail and never makes a false one.  Two branches leave no number of
bins out: at most f patterns of a set, or at least f + 1.

Algorithm: the programme asks for the least shortfall of its rows, so that a branch without
solution has multipliers to show.  It branches on the two types whose common bins are a number
farthest from whole, or on a single pattern; depth first, together before apart.

Cost: a few milliseconds a node for hundreds of patterns; exponential at worst.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_pack.patterns import Demand, Pattern
from voile_pack.stop import Deadline

__all__ = ["UNKNOWN", "PatternVerdict", "choose_patterns", "most_uses"]

UNIT = 2**24
"""Of the integer multipliers."""
WHOLE = 1e-6
WORK_OF_AN_ENTRY = 20
"""Elementary operations for each entry of the rows in a node, about."""


@dataclass(frozen=True, eq=False)
class PatternVerdict:
    """Patterns that pack all items; or none, and whether it is proved that there are none."""

    patterns: list[Pattern] | None
    impossible: bool


UNKNOWN = PatternVerdict(None, impossible=False)


class _Branch(NamedTuple):
    """At most, or at least, ``bound`` patterns of a set."""

    row: int
    bound: int
    at_least: bool


def choose_patterns(
    demand: Demand, table: NDArray[np.int64], bins: int, nodes: int, deadline: Deadline
) -> PatternVerdict:
    """Choose ``bins`` patterns of ``table`` (p, m), within so many nodes; needs OR-Tools."""
    rows = _Rows(demand, table, bins)
    open_branches: list[tuple[_Branch, ...]] = [()]
    for _ in range(nodes):
        if not open_branches or deadline.passed():
            break
        branches = open_branches.pop()
        uses = rows.solve(branches, deadline)
        if uses is None:
            return UNKNOWN
        if rows.proves_none(branches):
            continue
        row = rows.to_branch_on(uses)
        if row is None:
            patterns = _checked(demand, table, bins, uses)
            return UNKNOWN if patterns is None else PatternVerdict(patterns, impossible=False)
        below = int(np.floor(uses @ rows.sets[row] + WHOLE))
        open_branches.append((*branches, _Branch(row, below, at_least=False)))
        open_branches.append((*branches, _Branch(row, below + 1, at_least=True)))
    return PatternVerdict(None, impossible=not open_branches)


def _checked(
    demand: Demand, table: NDArray[np.int64], bins: int, uses: NDArray[np.float64]
) -> list[Pattern] | None:
    times = np.round(uses).astype(np.int64)
    if times.sum() != bins or np.any(times @ table != demand.counts):
        return None
    return list(np.repeat(table, times, axis=0))


def most_uses(demand: Demand, table: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """How often ``bins`` patterns can use each one (p,): as there are items, empty ones always."""
    beyond = max(bins, int(demand.counts.max()))
    often = np.where(table > 0, demand.counts // np.maximum(table, 1), beyond)
    most: NDArray[np.int64] = often.min(axis=1)
    return most


@dataclass(eq=False)
class _Rows:
    """The programme of least shortfall: every item once, ``bins`` patterns, and the branches."""

    demand: Demand
    table: NDArray[np.int64]
    bins: int
    sets: list[NDArray[np.int64]] = field(default_factory=list)
    """For each row to branch on, which patterns (p,) it counts, 0 or 1."""

    def __post_init__(self) -> None:
        from ortools.linear_solver import pywraplp  # noqa: PLC0415 - it is an extra

        self._optimal = pywraplp.Solver.OPTIMAL
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._infinity = self._solver.infinity()
        anew = pywraplp.MPSolverParameters()
        anew.SetIntegerParam(anew.INCREMENTALITY, anew.INCREMENTALITY_OFF)
        again = pywraplp.MPSolverParameters()
        again.SetIntegerParam(again.PRESOLVE, again.PRESOLVE_OFF)
        self._ways = again, anew
        self._goal = self._solver.Objective()
        self._goal.SetMinimization()
        self._most = most_uses(self.demand, self.table, self.bins)
        self._uses = [self._solver.NumVar(0.0, float(most), "") for most in self._most]
        self._set_rows: list[object] = []
        self._held = self.table > 0
        self._numbers: dict[bytes, int] = {}
        self._whole = [
            self._row(column, wanted)
            for column, wanted in zip(
                [*self.table.T, np.ones(len(self.table), np.int64)],
                [*self.demand.counts.tolist(), self.bins],
                strict=True,
            )
        ]
        self._entries = int(self._held.sum()) + len(self.table)

    def _row(self, coefficients: NDArray[np.int64], wanted: int) -> object:
        """A row whose shortfall costs 1."""
        row = self._solver.Constraint(float(wanted), float(wanted))
        for p in np.flatnonzero(coefficients).tolist():
            row.SetCoefficient(self._uses[p], float(coefficients[p]))
        short = self._solver.NumVar(0.0, self._infinity, "")
        row.SetCoefficient(short, 1.0)
        self._goal.SetCoefficient(short, 1.0)
        return row

    def solve(
        self, branches: tuple[_Branch, ...], deadline: Deadline
    ) -> NDArray[np.float64] | None:
        """How often the programme of the branches uses each pattern (p,); None beyond the limit."""
        bounds = {number: [-self._infinity, self._infinity] for number in range(len(self.sets))}
        for row, bound, at_least in branches:
            bounds[row][0 if at_least else 1] = float(bound)
        for number, (low, high) in bounds.items():
            self._set_rows[number].SetBounds(low, high)  # type: ignore[attr-defined]
        self._solver.SetTimeLimit(int(min(deadline.remaining(), 3600.0) * 1000) + 1)
        self._solver.SetSolverSpecificParametersAsString("use_dual_simplex: true")
        status = None
        for settings in self._ways:
            status = self._solver.Solve(settings)
            effort = self._entries * (1 + self._solver.iterations() / 10)
            deadline.spend(WORK_OF_AN_ENTRY * effort)
            if status == self._optimal or deadline.passed():
                break  # else from the last basis its numbers went astray
        if status != self._optimal:
            return None
        return np.array([use.solution_value() for use in self._uses])

    def proves_none(self, branches: tuple[_Branch, ...]) -> bool:
        """Whether integer multipliers of the last programme show that it has no solution."""
        if self._goal.Value() < WHOLE:
            return False
        duals = np.array([row.dual_value() for row in self._whole])  # type: ignore[attr-defined]
        if not self._fits(duals, len(branches)):
            return False
        whole = np.round(duals * UNIT).astype(np.int64)
        worth = int(whole[:-1] @ self.demand.counts) + int(whole[-1]) * self.bins
        prices = self.table @ whole[:-1] + whole[-1]
        for row in {branch.row for branch in branches}:
            dual = self._set_rows[row].dual_value()  # type: ignore[attr-defined]
            if not self._fits(dual, len(branches)):
                return False
            multiplier = round(dual * UNIT)
            wanted = [b.bound for b in branches if b.row == row and b.at_least == (multiplier > 0)]
            if multiplier and wanted:
                worth += multiplier * (max(wanted) if multiplier > 0 else min(wanted))
                prices += multiplier * self.sets[row]
        return worth > int(np.maximum(prices, 0) @ self._most)

    def _fits(self, duals: NDArray[np.float64] | float, branches: int) -> bool:
        """Whether no sum with multipliers of this size leaves 64 bits."""
        fullest = int(self.table.sum(axis=1).max(initial=0)) + 1 + branches
        terms = max(self.demand.items + self.bins, fullest * int(self._most.sum()))
        return bool(np.all(np.abs(duals) * UNIT < 2.0**60 / max(terms, 1)))

    def to_branch_on(self, uses: NDArray[np.float64]) -> int | None:
        """The row of two types in a bin, or of one pattern, that is farthest from whole."""
        used = np.flatnonzero(uses > WHOLE)
        shares, held = uses[used], self._held[used].astype(np.float64)
        common = np.triu(held.T @ (held * shares[:, None]), 1)
        distance = np.abs(common - np.round(common))
        one, other = np.unravel_index(int(distance.argmax()), distance.shape)
        if distance[one, other] > WHOLE:
            return self._number(self._held[:, one] & self._held[:, other])
        distance = np.abs(uses - np.round(uses))
        if distance.max() > WHOLE:
            return self._number(np.arange(len(uses)) == distance.argmax())
        return None

    def _number(self, counted: NDArray[np.bool_]) -> int:
        """The row that counts these patterns, a new one where there is none."""
        number = self._numbers.setdefault(counted.tobytes(), len(self.sets))
        if number == len(self.sets):
            self._set_rows.append(self._row(counted.astype(np.int64), 0))
            self.sets.append(counted.astype(np.int64))
        return number
