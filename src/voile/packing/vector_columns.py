"""Column generation for vector packing: a bound, and packings made of its columns.

Source: Gilmore and Gomory (1961, 1963); the bound of unfinished rounds is that of Farley (1990).
A column is a content of one bin.  The linear program over all contents bounds the bins from
below; it is solved over the contents found so far, and a search finds contents that its dual
values say are missing.  Dual values are rounded down to multiples of 1e-7 and searched in whole
numbers, so every round gives a bound that no rounding of the linear program can spoil: with
whole duals p, every bin's content is worth at most U, and all items together P, so at least
P / U bins are needed.

Cost: one linear program and one search of a content for each round; rounds grow with the
t distinct items.  Needs OR-Tools.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.packing.or_tools import constraint_solver, solved
from voile.packing.stop import Deadline
from voile.packing.vector_patterns import profitable_patterns

__all__ = ["Columns", "ItemTypes", "generate_columns", "pack_with_columns"]

_UNIT = 10_000_000
_NODES = 200_000
_WORK_OF_A_NODE = 250
"""Elementary operations for each dimension, about."""


@dataclass(frozen=True, eq=False)
class ItemTypes:
    """Items of equal sizes taken together: ``sizes`` (t, d) and ``copies`` (t,)."""

    sizes: NDArray[np.int64]
    copies: NDArray[np.int64]
    type_of: NDArray[np.int64]
    """Shape (n,)."""
    capacities: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64], capacities: NDArray[np.int64]) -> ItemTypes:
        """The types of n items."""
        distinct, type_of, copies = np.unique(
            sizes, axis=0, return_inverse=True, return_counts=True
        )
        return cls(distinct, copies.astype(np.int64), type_of.reshape(-1), capacities)

    def contents(self, bin_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shape (bins, t): how often each type stands in each bin of a packing."""
        found = np.zeros((int(bin_of.max(initial=-1)) + 1, len(self.sizes)), np.int64)
        np.add.at(found, (bin_of, self.type_of), 1)
        return found

    def packing(self, contents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bin of each item, (n,); ``contents`` has room for at least all items."""
        bin_of = np.full(len(self.type_of), -1, np.int64)
        for j in range(len(self.sizes)):
            items = np.flatnonzero(self.type_of == j)
            bin_of[items] = np.repeat(np.arange(len(contents)), contents[:, j])[: len(items)]
        return np.unique(bin_of, return_inverse=True)[1].reshape(-1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Columns:
    """Contents of bins, (p, t), and a lower bound on the number of bins."""

    contents: NDArray[np.int64]
    lower_bound: int


class _Master:
    """The linear program: fewest bins, possibly fractions of them, that hold all items."""

    def __init__(self, types: ItemTypes) -> None:
        from ortools.linear_solver import pywraplp  # noqa: PLC0415 - it is an extra

        self._optimal = pywraplp.Solver.OPTIMAL
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        infinity = self._solver.infinity()
        self._rows = [self._solver.Constraint(float(c), infinity) for c in types.copies]
        self._goal = self._solver.Objective()
        self._goal.SetMinimization()
        self.contents: list[NDArray[np.int64]] = []

    def add(self, contents: NDArray[np.int64]) -> None:
        for content in contents:
            column = self._solver.NumVar(0.0, self._solver.infinity(), "")
            self._goal.SetCoefficient(column, 1.0)
            for j in np.flatnonzero(content):
                self._rows[j].SetCoefficient(column, float(content[j]))
            self.contents.append(content)

    def duals(self, deadline: Deadline) -> NDArray[np.int64] | None:
        """Dual values in units of 1e-7, rounded down; None where the limit was reached."""
        self._solver.SetTimeLimit(int(min(deadline.remaining(), 3600.0) * 1000) + 1)
        work = min(deadline.remaining_work(), 1e9)
        self._solver.SetSolverSpecificParametersAsString(f"max_deterministic_time: {work}")
        status = self._solver.Solve()
        size = len(self._rows) * (len(self._rows) + len(self.contents))
        deadline.spend(size * (1 + self._solver.iterations()))
        if status != self._optimal:
            return None
        values = np.array([row.dual_value() for row in self._rows])
        return np.asarray(np.floor(np.maximum(values, 0.0) * _UNIT), np.int64)


def generate_columns(
    types: ItemTypes, start: NDArray[np.int64], enough: int, deadline: Deadline
) -> Columns:
    """Generate contents until the bound reaches ``enough``, none is missing, or the limit strikes.

    ``start`` (p, t) are contents that hold all items, such as those of a packing.
    """
    master = _Master(types)
    master.add(start)
    lower_bound = 0
    while lower_bound < enough and not deadline.passed():
        profits = master.duals(deadline)
        if profits is None:
            break
        found = profitable_patterns(types.sizes, types.copies, types.capacities, profits, _NODES)
        deadline.spend(found.nodes * len(types.capacities) * _WORK_OF_A_NODE)
        total = sum(int(p) * int(c) for p, c in zip(profits, types.copies, strict=True))
        lower_bound = max(lower_bound, -(-total // max(found.bound, 1)))
        if found.profit <= _UNIT:
            break
        master.add(found.copies)
    return Columns(np.array(master.contents), lower_bound)


def pack_with_columns(
    types: ItemTypes, columns: Columns, bins: int, deadline: Deadline
) -> NDArray[np.int64] | None:
    """The fewest contents that hold all items, as the bin of each; None if not below ``bins``."""
    cp_model = constraint_solver()
    model = cp_model.CpModel()
    contents = columns.contents
    often = [model.new_int_var(0, bins, "") for _ in contents]
    for j, copies in enumerate(types.copies):
        holding = np.flatnonzero(contents[:, j])
        model.add(sum(int(contents[p, j]) * often[p] for p in holding) >= int(copies))
    total = sum(often)
    model.add(total >= columns.lower_bound)
    model.add(total <= bins - 1)
    model.minimize(total)
    solver, status = solved(model, deadline)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    chosen = np.array([solver.value(variable) for variable in often])
    return types.packing(np.repeat(contents, chosen, axis=0))
