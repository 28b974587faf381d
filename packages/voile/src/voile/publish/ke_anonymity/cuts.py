"""The best cuts of an ordered list of values into blocks, by one compiled dynamic programme.

What it does: positions 0..d stand between d strictly ascending values; a block [i, j) holds
``values[i]`` to ``values[j - 1]``.  Of all ways to cut [0, d) into allowed blocks, find one with
the smallest sum of block ranges (maximum minus minimum).

Source: "An incremental privacy-preservation algorithm for the (k, e)-Anonymous model" (2015)
and Zhang et al. (2007) minimise this sum by searching all pairs (i, j).

Claim: the answer is optimal among the allowed cuts.  The sum of the ranges is the whole range
minus the gaps ``values[i] - values[i - 1]`` at the interior cuts i, so the programme maximises
the sum of the gaps.  Among cuts of equal gain the last block starts as late as possible, then
the block before it, and so on: the answer is a function of the input alone.

Algorithm: for a fixed right end j the allowed starts are W windows whose ends never move left
as j grows, so one monotone queue per window yields the best start.  Validity is of this form
because a block stays valid when it grows (``latest_valid_start``), and so is "no fresh value"
(``after_last``).

Cost: O(W d) time and memory.

Departure from the source: windows in place of the quadratic search, exact integers in place of
binary fractions (0.3 - 0.1 >= 0.2 is false in binary).

Values come as int64 with magnitudes under 2**61, so that no sum of gaps overflows, or as an
object array of Python integers.  For the latter the same source runs uncompiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, pays, register_jitable, uncompiled

__all__ = [
    "after_last",
    "as_units",
    "best_cuts",
    "blocks_of",
    "boundaries_of",
    "enclosing",
    "latest_valid_start",
]

_COMPILED_FROM = 150_000
"""Window ends for which Python takes as long as it takes to load Numba."""


def as_units(values: NDArray[np.generic]) -> NDArray[Any]:
    """``values`` as the kernels want them: contiguous, writable, int64 or object.

    Raises ``ValueError`` where they are not strictly ascending.
    """
    kind = np.object_ if values.dtype == np.object_ else np.int64
    # A read-only array is another type to the compiler, which would compile everything twice.
    units: NDArray[Any] = np.require(values, kind, ["C", "W"])
    if not np.all(units[1:] > units[:-1]):
        raise ValueError("values must be strictly ascending")
    return units


def latest_valid_start(
    values: NDArray[np.generic], present: NDArray[np.bool_], k: int, e: int
) -> NDArray[np.int64]:
    """For each right end j, the largest i such that the present values in [i, j) are valid.

    Valid is to hold at least ``k`` values with a range of at least ``e``; every smaller i does
    as well.  ``present`` is (d,); the answer is (d + 1,), nondecreasing, -1 where no i will do.
    """
    positions = np.flatnonzero(present)
    shown = values[positions]
    # What no block can reach is all the same, and the smallest such number cannot overflow.
    k = min(k, len(shown) + 1)
    e = min(e, int(shown[-1]) - int(shown[0]) + 1) if len(shown) else e
    wide = np.searchsorted(shown, shown - e, side="right") - 1
    many = np.arange(len(shown)) - (k - 1)
    latest = np.maximum(np.minimum(wide, many), -1)
    start = np.concatenate(([-1], positions))[latest + 1]
    count = np.concatenate(([0], np.cumsum(present)))
    answer: NDArray[np.int64] = np.concatenate(([-1], start))[count].astype(np.int64)
    return answer


def after_last(present: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each right end j, the smallest i such that [i, j) holds no present value: (d + 1,)."""
    marks = np.where(present, np.arange(1, len(present) + 1), 0)
    answer: NDArray[np.int64] = np.concatenate(([0], np.maximum.accumulate(marks))).astype(np.int64)
    return answer


def enclosing(blocks: NDArray[np.int64], d: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start and stop of the block that a cut at each position 0..d would split.

    ``blocks`` is (p, 2), disjoint index ranges [start, stop) in ascending order.  Where a cut
    splits none, both are the position itself.
    """
    position = np.arange(d + 1)
    if len(blocks) == 0:
        return position, position.copy()
    owner = np.maximum(np.searchsorted(blocks[:, 0], position, side="right") - 1, 0)
    start, stop = blocks[owner, 0], blocks[owner, 1]
    inside = (start < position) & (position < stop)
    return np.where(inside, start, position), np.where(inside, stop, position)


def best_cuts(
    values: NDArray[np.generic],
    cut_allowed: NDArray[np.bool_],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    """Boundaries 0 = b0 < b1 < ... < bp = d of the cheapest allowed cuts, or None.

    ``values`` is (d,), strictly ascending; ``cut_allowed`` (d + 1,), its two ends are taken as
    allowed; ``low`` and ``high`` (W, d + 1), nondecreasing along each row.  [i, j) is allowed if
    i < j, cuts are allowed at both, and ``low[w, j] <= i <= high[w, j]`` for some w.
    No values, or no allowed way to cut: None.
    """
    units = as_units(values)
    compiled = units.dtype != np.object_ and pays(low.size, _COMPILED_FROM)
    kernel = _best_starts if compiled else uncompiled(_best_starts)
    windows = np.ascontiguousarray(low, np.int64), np.ascontiguousarray(high, np.int64)
    return boundaries_of(kernel(units, np.array(cut_allowed, np.bool_), *windows))


def boundaries_of(start: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Follow ``start`` (start of the best last block for each right end, or -1) back from d."""
    chain = start.tolist()
    end = len(chain) - 1
    if end == 0 or chain[end] < 0:
        return None
    boundaries = [end]
    while end > 0:
        end = chain[end]
        boundaries.append(end)
    return np.array(boundaries[::-1], np.int64)


def blocks_of(boundaries: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """Boundaries (p + 1,) as index ranges [start, stop), (p, 2); None stays None."""
    return None if boundaries is None else np.column_stack((boundaries[:-1], boundaries[1:]))


@register_jitable
def _slide(
    score: NDArray[np.generic],
    start: NDArray[np.int64],
    queue: NDArray[np.int64],
    ends: NDArray[np.int64],
    window: tuple[int, int],
) -> int:
    """Move one window to [low, high]; the latest of its starts with the best score, or -1.

    ``queue[head:tail]`` holds ascending starts of strictly descending score.
    """
    head, tail, following = ends[0], ends[1], ends[2]
    low, high = window
    while following <= high:
        if start[following] >= 0:
            while tail > head and score[queue[tail - 1]] <= score[following]:
                tail -= 1
            queue[tail] = following
            tail += 1
        following += 1
    while head < tail and queue[head] < low:
        head += 1
    ends[0], ends[1], ends[2] = head, tail, following
    return queue[head] if head < tail else -1


@njit(cache=True)
def _best_starts(
    values: NDArray[np.generic],
    cut_allowed: NDArray[np.bool_],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Start of the last block in the best cuts of each [0, j), or -1; ``start[0]`` is 0."""
    d = len(values)
    score = np.zeros(d + 1, values.dtype)  # gaps at the cuts up to and including j
    start = np.full(d + 1, -1, np.int64)  # an own mark of infeasibility: integers have no -inf
    start[0] = 0
    queue = np.empty((len(low), d + 1), np.int64)
    ends = np.zeros((len(low), 3), np.int64)
    for j in range(1, d + 1):
        if j < d and not cut_allowed[j]:
            continue
        best = -1
        for w in range(len(low)):
            window = (low[w, j], min(high[w, j], j - 1))
            i = _slide(score, start, queue[w], ends[w], window)
            if i < 0:
                continue
            if best < 0 or score[i] > score[best] or (score[i] == score[best] and i > best):
                best = i
        if best >= 0:
            start[j] = best
            score[j] = score[best] + (values[j] - values[j - 1]) if j < d else score[best]
    return start
