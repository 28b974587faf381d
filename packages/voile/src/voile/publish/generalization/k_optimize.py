"""k-Optimize: the best intervals of every column, the same for all rows.

What it does: divides the ordered values of each quasi-identifier into intervals; rows that share
an interval in every column are one group, and groups that are not valid are suppressed.

Source: Bayardo and Agrawal, "Data privacy through optimal k-anonymization" (ICDE 2005); a baseline
of the seed "Privacy-Preserving Bin-Packing With Differential Privacy" (2022), which uses it on
single columns.

Claim: every published group satisfies all criteria, and no more rows are suppressed than may be.
For one column the answer is optimal.  For several, or where persons have several rows, it is the
best found within a budget of sets of cuts, and ``Solution.proved`` says whether nothing is better.
No clock decides.

Algorithm: dynamic programming for one column (``best_intervals``), branch and bound for several
(``cut_search``).  Ordered columns show intervals from their lowest to their highest value that
stands in a published row; the values of a tree stand in the order of the tree and show their lowest
common ancestor.

Cost: see there; a thousand distinct values of one column take milliseconds, a look at a set
of cuts of the Adult table half a millisecond.

Departures: the source knows discernibility and a classification metric; the product of losses is
offered beside discernibility.  Suppression may be limited, which the source leaves to the metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Groups, SensitiveCells
from voile.models.information_loss import discernibility
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.atoms import Atoms, least_rows, loss_of_regions
from voile.publish.generalization.axes import Axis, axis_of
from voile.publish.generalization.best_intervals import best_intervals
from voile.publish.generalization.cut_search import best_cuts
from voile.publish.generalization.objective import ObjectiveName
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.generalization.regions import ColumnRegions, regions
from voile_base.errors import PlanError

__all__ = ["BUDGET", "MAXIMUM_CELLS", "k_optimize"]

BUDGET = 5_000
"""Sets of cuts that are looked at where the caller does not say."""

MAXIMUM_CELLS = 500_000_000
"""Largest product of pairs of values and sensitive values."""


def k_optimize(
    problem: Problem, objective: ObjectiveName = "discernibility", budget: int = BUDGET
) -> Solution | None:
    """The best intervals; None where no division that publishes a row exists or was found.

    ``objective``: "discernibility" or "loss"; ``budget``: how many sets of cuts to look at where
    there are several columns, at least 1.  Raises ``PlanError`` for other objectives, and where
    the optimum of one column is not affordable.
    """
    if objective not in ("discernibility", "loss"):
        msg = (
            f'algorithm = "k-optimize" minimises discernibility or loss, not {objective!r}; choose '
            "one of them, or another algorithm"
        )
        raise PlanError(msg)
    atoms = Atoms(problem)
    if not len(atoms):
        return None
    axes = [axis_of(problem, column) for column in range(len(problem.hierarchies))]
    by_size = objective == "discernibility"
    if len(axes) == 1 and problem.counts.units is None:
        division = _one_column(problem, atoms, axes[0], by_size)
    else:
        division = _several_columns(problem, atoms, axes, by_size, budget)
    return None if division is None else _solution(problem, atoms, axes, division, by_size)


@dataclass(frozen=True, eq=False)
class _Division:
    """Which intervals and which groups were chosen."""

    intervals: tuple[NDArray[np.int64], ...]
    """For each column, the interval of each of its values, ascending."""
    label: NDArray[np.int64]
    """Shape (u,): the group of each atom; -1 where it is suppressed."""
    examined: int
    proved: bool


def _one_column(problem: Problem, atoms: Atoms, axis: Axis, by_size: bool) -> _Division | None:
    atom = np.argsort(axis.rank[atoms.codes[:, 0]])  # the atom of each value, in order
    allowed = None
    if not all(isinstance(criterion, KAnonymity) for criterion in problem.criteria):
        allowed = _valid_intervals(problem, atoms, atom)
    k = least_rows(problem)
    rows, most = atoms.rows[atom], problem.suppressible
    found = best_intervals(rows, axis.cover, k, allowed, most, by_size)
    if found is None:
        return None
    label = np.empty(len(atoms), dtype=np.int64)
    label[atom] = found.interval
    alone = found.interval < 0
    intervals = np.cumsum(alone | (np.diff(found.interval, prepend=-2) != 0)) - 1
    return _Division((intervals,), label, found.examined, proved=True)


def _several_columns(
    problem: Problem, atoms: Atoms, axes: Sequence[Axis], by_size: bool, budget: int
) -> _Division | None:
    found = best_cuts(problem, atoms, axes, by_size, budget)
    if found is None:
        return None
    number = np.where(found.valid, np.cumsum(found.valid) - 1, -1)
    return _Division(found.intervals, number[found.member], found.examined, found.proved)


def _valid_intervals(problem: Problem, atoms: Atoms, atom: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which intervals [start, stop) of the q values satisfy all criteria, shape (q, q + 1)."""
    q = len(atom)
    alone = np.empty(q, dtype=np.int64)
    alone[atom] = np.arange(q)
    cells = atoms.groups(alone, q)
    below = {}
    for column, of_value in cells.sensitive.items():
        if q * q * len(of_value.total) > MAXIMUM_CELLS:
            msg = (
                f'algorithm = "k-optimize" asks criteria about every interval of {q:,} values with '
                f"{len(of_value.total):,} different values of {column!r}, which is not affordable; "
                'use algorithm = "mondrian"'
            )
            raise PlanError(msg)
        counts = np.zeros((q + 1, len(of_value.total)), dtype=np.int64)
        counts[of_value.group + 1, of_value.value] = of_value.rows
        below[column] = (counts.cumsum(axis=0), of_value.total)
    rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(cells.rows)])
    allowed = np.zeros((q, q + 1), dtype=np.bool_)
    for stop in range(1, q + 1):
        sensitive = {}
        for column, (counts, total) in below.items():
            dense = counts[stop] - counts[:stop]
            start, value = np.nonzero(dense)
            sensitive[column] = SensitiveCells(start, value, dense[start, value], total)
        groups = Groups(rows[stop] - rows[:stop], sensitive)
        allowed[:stop, stop] = np.logical_and.reduce([c.holds(groups) for c in problem.criteria])
    return allowed


def _solution(
    problem: Problem, atoms: Atoms, axes: Sequence[Axis], division: _Division, by_size: bool
) -> Solution:
    published = division.label >= 0
    label, codes = division.label[published], atoms.codes[published]
    shown = [
        _shown(problem, j, axis, interval[axis.rank[codes[:, j]]], codes[:, j])
        for j, (axis, interval) in enumerate(zip(axes, division.intervals, strict=True))
    ]
    # Each group shows what any atom of it does; groups are numbered by what they show.
    _, first = np.unique(label, return_index=True)
    of_group = [region.at(first) for region in shown]
    order = np.lexsort([region.column.codes for region in reversed(of_group)])
    of_group = [region.at(order) for region in of_group]
    number = np.argsort(order)
    group = np.full(len(atoms), -1, dtype=np.int64)
    group[published] = number[label]
    sizes = np.bincount(number[label], atoms.rows[published]).astype(np.int64)
    suppressed = problem.rows - int(sizes.sum())
    by_loss = loss_of_regions(problem, sizes, tuple(of_group))
    return Solution(
        group=group[atoms.of_combination],
        columns=tuple(region.column for region in of_group),
        suppressed=suppressed,
        loss=float(discernibility(sizes, suppressed)) if by_size else by_loss,
        levels=None,
        examined=division.examined,
        proved=division.proved,
    )


def _shown(
    problem: Problem,
    column: int,
    axis: Axis,
    interval: NDArray[np.int64],
    codes: NDArray[np.int32],
) -> ColumnRegions:
    """What each published atom shows of a column: what covers the published rows of its interval.

    Values that stand in suppressed rows alone widen no interval, so that nothing tells of them.
    """
    values, first = np.unique(axis.rank[codes], return_index=True)
    starts = np.flatnonzero(np.diff(interval[first], prepend=-1))
    found = regions(
        problem.hierarchies[column], problem.counts.values[column], axis.values[values], starts
    )
    return found.at(np.searchsorted(interval[first][starts], interval))
