"""The true optimum of the next release against all earlier ones, pairwise adversary.

What it does: cuts the values of a grown table into (k,e)-valid blocks, at the smallest sum of
ranges such that no pair of an earlier block and a new block gives anything away.

Source: "An incremental privacy-preservation algorithm for the (k, e)-Anonymous model" (2015),
Definition 5.  The seed claims this optimum for its full-cover search; that claim is wrong from
the third release on.

Guarantee: for every block a of every earlier release and every new block b, each of a - b,
b - a and a & b holds no row or is (k,e)-valid.  Assumes that rows are only appended and that
every release publishes all rows there are.  Optimal among all partitions of the rows.

Two reductions make the optimum a search over cuts.

- a - b needs no test: the new release holds every row of a, so a - b is the union of a & b'
  over the other new blocks b', each of them empty or valid, and a superset of a valid set is
  valid.
- Blocks may be taken as disjoint value ranges that split no equal values.  Suppose the ranges
  of new blocks b and c overlap or touch, and let u be their union.  Then u is valid; a & u is
  the union of a & b and a & c, and u - a the union of b - a and c - a, so each is empty or
  valid; and the range of u is at most the sum of the two ranges.  Merge until no ranges meet.

Algorithm: O(d^2) candidates b = [i, j), each tested against each earlier release t:

1. a & b for the at most two old blocks that b overlaps in part, those that a cut at i or at j
   splits.  Blocks inside b are valid as they are.
2. b - a only if exactly one block of t meets b.  If none does, b - a = b.  If two do, b - a
   contains the part of the other, which is valid by 1.  If one does, b - a is the rows of b
   born after t.

"Empty or valid" is two comparisons with precomputed positions, because validity and emptiness
are monotone.  A candidate is tested only if it would beat the best one found for its right
end, and the search of a right end stops where nothing to the left can.

Cost: O(d^2 T) time for T earlier releases, O(d T) memory.  What is affordable: up to
``MAXIMUM_TESTS`` = d * d * T, such as d = 10,000 with T = 20: a few seconds at worst, mostly
far less.  Values beyond int64 run uncompiled, with a hundredth of that limit: under a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.publish.ke_anonymity.cuts import (
    after_last,
    as_units,
    blocks_of,
    boundaries_of,
    enclosing,
    latest_valid_start,
)
from voile_base.compiled import njit, register_jitable, uncompiled
from voile_base.errors import PlanError

__all__ = ["MAXIMUM_TESTS", "MAXIMUM_TESTS_UNCOMPILED", "exact_blocks"]

MAXIMUM_TESTS = 2_000_000_000
MAXIMUM_TESTS_UNCOMPILED = MAXIMUM_TESTS // 100


class _Reach(NamedTuple):
    """For each position and release (d + 1, T): what a block with an end there would touch.

    Rows of one kind in [x, y) are none or valid if and only if
    ``x <= valid[y] or x >= none[y]``.
    """

    split_start: NDArray[np.int64]
    split_stop: NDArray[np.int64]
    first_stop: NDArray[np.int64]
    """Stop of the old block of the first row at or after this position that was there at t."""
    there_valid: NDArray[np.int64]
    there_none: NDArray[np.int64]
    later_valid: NDArray[np.int64]
    later_none: NDArray[np.int64]


def exact_blocks(
    values: NDArray[Any],
    births: NDArray[np.bool_],
    releases: Sequence[NDArray[np.int64]],
    k: int,
    e: int,
    admitted: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64] | None:
    """Blocks [start, stop) of the optimum, (p, 2) index ranges, or None if there is none.

    ``values``: (d,) as for ``static.optimal_blocks``; ``births``: (T + 1, d), ``births[t]``
    tells which values have rows first published at release t, the last row which have fresh
    rows; ``releases``: for each earlier release its blocks, (p_t, 2) index ranges, valid,
    ascending, disjoint; ``admitted``: (d + 1, d + 1), whether [i, j) may be a block at all, by i
    and j; None: all may.  Ties are broken as in ``cuts.best_cuts``.  Raises ``PlanError`` where
    d * d * T is beyond what is affordable.
    """
    units = as_units(values)
    compiled = units.dtype != np.object_
    _check_affordable(len(units), len(releases), compiled)
    valid = latest_valid_start(units, np.ones(len(units), np.bool_), k, e)
    reach = _reach(units, births, releases, k, e)
    kernel = _best_starts_tested if compiled else uncompiled(_best_starts_tested)
    some = np.empty((0, 0), np.bool_) if admitted is None else np.ascontiguousarray(admitted)
    return blocks_of(boundaries_of(kernel(units, valid, reach, some)))


def _check_affordable(d: int, releases: int, compiled: bool) -> None:
    limit = MAXIMUM_TESTS if compiled else MAXIMUM_TESTS_UNCOMPILED
    if d * d * releases > limit:
        raise PlanError(
            f'search = "exact" is not affordable: {d:,} distinct values squared times '
            f"{releases:,} earlier releases is more than {limit:,} tests; "
            'use search = "full-cover" (safe, and not always the smallest sum of ranges)'
        )


def _reach(
    values: NDArray[Any],
    births: NDArray[np.bool_],
    releases: Sequence[NDArray[np.int64]],
    k: int,
    e: int,
) -> _Reach:
    d = len(values)
    columns: list[tuple[NDArray[np.int64], ...]] = []
    for t, blocks in enumerate(releases):
        old = np.asarray(blocks, np.int64).reshape(-1, 2)
        there: NDArray[np.bool_] = np.logical_or.reduce(births[: t + 1])
        later: NDArray[np.bool_] = np.logical_or.reduce(births[t + 1 :])
        columns.append(
            (
                *enclosing(old, d),
                _stop_of_first(old, there),
                latest_valid_start(values, there, k, e),
                after_last(there),
                latest_valid_start(values, later, k, e),
                after_last(later),
            )
        )
    table = np.array(columns, np.int64).reshape(len(releases), len(_Reach._fields), d + 1)
    # Release last: the innermost loop runs over releases.
    return _Reach(*(np.ascontiguousarray(table[:, f].T) for f in range(len(_Reach._fields))))


def _stop_of_first(blocks: NDArray[np.int64], there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each position, the stop of the block of the first present value there or after."""
    d = len(there)
    first = np.minimum.accumulate(np.where(there, np.arange(d), d)[::-1])[::-1]
    first = np.append(first, d)
    stops = np.append(blocks[:, 1], d)
    answer: NDArray[np.int64] = stops[np.searchsorted(blocks[:, 1], first, side="right")]
    return answer


@register_jitable
def _is_safe(i: int, j: int, reach: _Reach) -> bool:
    """Whether [i, j), a valid block, gives nothing away against any earlier release."""
    for t in range(reach.there_none.shape[1]):
        left_stop = min(j, reach.split_stop[i, t])
        if reach.there_valid[left_stop, t] < i < reach.there_none[left_stop, t]:
            return False
        right_start = max(i, reach.split_start[j, t])
        if reach.there_valid[j, t] < right_start < reach.there_none[j, t]:
            return False
        meets_one = i < reach.there_none[j, t] <= reach.first_stop[i, t]
        if meets_one and reach.later_valid[j, t] < i < reach.later_none[j, t]:
            return False
    return True


@njit(cache=True)
def _best_starts_tested(
    values: NDArray[Any],
    valid: NDArray[np.int64],
    reach: _Reach,
    admitted: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Start of the last block in the best safe cuts of each [0, j), or -1."""
    d = len(values)
    score = np.zeros(d + 1, values.dtype)  # gaps at the cuts up to and including j
    highest = np.zeros(d + 1, values.dtype)  # the best score up to and including j
    start = np.full(d + 1, -1, np.int64)
    start[0] = 0
    for j in range(1, d + 1):
        best = -1
        for i in range(valid[j], -1, -1):
            if best >= 0 and highest[i] <= score[best]:
                break
            if start[i] < 0 or (best >= 0 and score[i] <= score[best]):
                continue
            if len(admitted) and not admitted[i, j]:
                continue
            if _is_safe(i, j, reach):
                best = i
        if best >= 0:
            start[j] = best
            score[j] = score[best] + (values[j] - values[j - 1]) if j < d else score[best]
        highest[j] = max(highest[j - 1], score[j])
    return start
