"""The best intervals of one column, exactly.

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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.axes import Cover, cover
from voile_base.compiled import njit, register_jitable
from voile_base.errors import PlanError

__all__ = ["MAXIMUM_STATES", "IntervalDivision", "best_intervals"]

MAXIMUM_STATES = 50_000_000
"""Largest product of values and suppressible rows."""


_NONE, _SUPPRESSED = -1, -2


@dataclass(frozen=True, eq=False)
class IntervalDivision:
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


def best_intervals(
    rows: NDArray[np.int64],
    axis: Cover,
    k: int,
    allowed: NDArray[np.bool_] | None,
    suppressible: int,
    by_size: bool,
) -> IntervalDivision | None:
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
            return IntervalDivision(free, examined) if (free >= 0).any() else None
        _check_affordable(len(rows), most)
    found, examined = _divide(rows, axis, k, valid, single, most, by_size)
    return IntervalDivision(found, examined) if (found >= 0).any() else None


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
