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

The best intervals of one column, exactly.

What it does: divides the q ordered values of a column into intervals and suppressed values, so that
every interval is valid, no more rows are suppressed than may be, and the cost is least.

Claim: optimal among all divisions, for either cost: ``discernibility`` (squares of the sizes, and
n for each suppressed row) and ``loss`` (for each row the share that its interval covers, and 1
for each suppressed row).  Among divisions of equal cost, fewest rows are suppressed.

Algorithm: dynamic programming over the ends of intervals.

- Only values that are not valid alone are suppressed, one by one: publishing a valid value alone
  never costs more than suppressing it, so an invalid interval is better replaced by its values.
- For k-anonymity alone, [j, i) matters only if it is not the union of two valid intervals, which
  together never cost more.  Let h be the last start with [h, i) valid; then [j, h) must be
  invalid.  So only starts whose rows up to h number less than k are tried.
- Other criteria are asked about every interval beforehand.
- First the number of suppressed rows is left free.  If it turns out too large, it becomes a second
  state of the programme.

Cost: O(q w) for w starts tried at each end, at most 2k; times the suppressed rows where they are a
state; O(q^2 v) for criteria that read v sensitive values.  ``PlanError`` beyond what is
affordable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Groups, SensitiveCells
from voile.models.information_loss import discernibility
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.cut_search import Axis, Cover, axis_of, best_cuts, cover
from voile.publish.generalization.lattice import ObjectiveName
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.generalization.regions import (
    Atoms,
    ColumnRegions,
    least_rows,
    loss_of_regions,
    regions,
)
from voile_base.compiled import njit, register_jitable
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass

__all__ = ["BUDGET", "MAXIMUM_CELLS", "MAXIMUM_STATES", "k_optimize"]


MAXIMUM_STATES = 50_000_000
"""Largest product of values and suppressible rows."""


_NONE, _SUPPRESSED = -1, -2


@dataclass(frozen=True, eq=False)
class _IntervalDivision:
    """Intervals of q values."""

    interval: NDArray[np.int64]
    """Shape (q,): ascending from 0; -1 where a value is suppressed."""
    examined: int
    """Intervals that were looked at."""


class _States(NamedTuple):
    """For each end (q + 1) and number of suppressed rows: the best division up to there."""

    cost: NDArray[np.float64]
    lost: NDArray[np.int64]
    start: NDArray[np.int64]
    """Where its last interval starts, or what stands in place of one."""


def _best_intervals(
    rows: NDArray[np.int64],
    axis: Cover,
    k: int,
    allowed: NDArray[np.bool_] | None,
    suppressible: int,
    by_size: bool,
) -> _IntervalDivision | None:
    """The best division; None where there is none that publishes a row.

    ``rows`` (q,): rows of each value; ``allowed`` (q, q + 1): which intervals [start, stop) are
    valid, where that is not a matter of k rows alone; ``by_size``: the cost is discernibility, else
    loss.  Raises ``PlanError`` where it is not affordable.
    """
    valid = np.zeros((0, 0), dtype=np.bool_) if allowed is None else allowed
    single = rows >= k if allowed is None else allowed.diagonal(1)
    most = min(suppressible, int(rows[~single].sum()))
    if most:
        free, examined = _divide(rows, axis, k, valid, single, -1, by_size)
        if rows[free < 0].sum() <= most:
            return _IntervalDivision(free, examined) if (free >= 0).any() else None
        _check_affordable(len(rows), most)
    found, examined = _divide(rows, axis, k, valid, single, most, by_size)
    return _IntervalDivision(found, examined) if (found >= 0).any() else None


def _check_affordable(values: int, suppressible: int) -> None:
    if values * (suppressible + 1) > MAXIMUM_STATES:
        msg = (
            f'algorithm = "k-optimize" with a suppression limit looks at {values:,} values times '
            f"{suppressible:,} rows that may be suppressed, more than {MAXIMUM_STATES:,}; set "
            'suppression_limit to 0 or to 1, or use algorithm = "mondrian"'
        )
        raise PlanError(msg)


@njit(cache=True, nogil=True)
def _divide(
    rows: NDArray[np.int64],
    axis: Cover,
    k: int,
    valid: NDArray[np.bool_],
    single: NDArray[np.bool_],
    most: int,
    by_size: bool,
) -> tuple[NDArray[np.int64], int]:
    """The interval of each value and the number of intervals looked at.

    ``most`` rows may be suppressed; -1: any number, which is then no state but breaks ties.  All
    values are suppressed (-1) where there is no division.
    """
    q = len(rows)
    below = np.zeros(q + 1, np.int64)
    below[1:] = np.cumsum(rows)
    penalty = float(below[q]) if by_size else 1.0
    states = max(most, 0) + 1
    best = _States(
        cost=np.full((q + 1, states), np.inf),
        lost=np.zeros((q + 1, states), np.int64),
        start=np.full((q + 1, states), _NONE, np.int64),
    )
    best.cost[0, 0] = 0.0
    examined = 0
    for stop in range(1, q + 1):
        if not single[stop - 1]:
            _suppress(best, stop, rows[stop - 1], penalty, most >= 0)
        last = -1  # the last start of a valid interval
        for first in range(stop - 1, -1, -1):
            size = below[stop] - below[first]
            if not (valid[first, stop] if len(valid) else size >= k):
                continue
            if not len(valid) and last >= 0 and below[last] - below[first] >= k:
                break
            last = max(last, first)
            examined += 1
            own = float(size) * size if by_size else size * cover(axis, first, stop)
            _extend(best, first, stop, own)
    return _followed_back(rows, best.start, int(best.cost[q].argmin()), most >= 0), examined


@register_jitable
def _suppress(best: _States, stop: int, rows: int, penalty: float, counted: bool) -> None:
    """Suppress the last value of [0, stop)."""
    shift = rows if counted else 0
    for s in range(best.cost.shape[1] - shift):
        best.cost[stop, s + shift] = best.cost[stop - 1, s] + penalty * rows
        best.lost[stop, s + shift] = best.lost[stop - 1, s] + rows
        best.start[stop, s + shift] = _SUPPRESSED


@register_jitable
def _extend(best: _States, first: int, stop: int, own: float) -> None:
    """Let [first, stop), which costs ``own``, be the last interval where that is better."""
    for s in range(best.cost.shape[1]):
        total = best.cost[first, s] + own
        fewer = total == best.cost[stop, s] and best.lost[first, s] < best.lost[stop, s]
        if total < best.cost[stop, s] or (fewer and total < np.inf):
            best.cost[stop, s] = total
            best.lost[stop, s] = best.lost[first, s]
            best.start[stop, s] = first


@njit(cache=True, nogil=True)
def _followed_back(
    rows: NDArray[np.int64], start: NDArray[np.int64], state: int, counted: bool
) -> NDArray[np.int64]:
    q = len(rows)
    interval = np.full(q, -1, np.int64)
    stop, groups = q, 0
    while stop > 0 and start[stop, state] != _NONE:
        first = start[stop, state]
        if first == _SUPPRESSED:
            state -= rows[stop - 1] if counted else 0
            stop -= 1
        else:
            interval[first:stop] = groups
            groups += 1
            stop = first
    for i in range(q):
        if interval[i] >= 0:
            interval[i] = groups - 1 - interval[i]
    return interval


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
    found = _best_intervals(rows, axis.cover, k, allowed, most, by_size)
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
