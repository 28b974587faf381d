"""Compiled loops of box packing: one bin is filled, and its empty spaces are kept at hand.

Source: the difference process of Lai and Chan, "Developing a simulated annealing algorithm for
the cutting stock problem" (Computers and Industrial Engineering 32(1), 1997), as used by Goncalves
and Resende, "A biased random key genetic algorithm for 2D and 3D bin packing problems"
(International Journal of Production Economics 145(2), 2013): the empty room is covered by all
maximal empty cuboids, which overlap each other.  A box goes to the corner of one of them; each
that it cuts is replaced by the up to six cuboids that are left of it, but for those inside of
others or too small for every box to come.

Departure: the number of cuboids is bounded; beyond it those of the least volume are given up.
So rooms may be missed in bins with thousands of boxes, and nothing else depends on it.

Cost for a bin with e cuboids: e for each box that is tried and each way to turn it; for a box
that is placed, e for each cuboid that it makes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, register_jitable

__all__ = ["RULES", "fill_bin"]

RULES = 3
"""How a place is chosen: 0 the snuggest, 1 the lowest, 2 the one that keeps the load compact."""
_MOST_SPACES = 4_000
OPERATIONS = 8
"""Elementary operations of a look at a cuboid, about."""


@njit(cache=True)
def _price(start, end, size, box, rule):  # type: ignore[no-untyped-def]
    price = 0.0
    for k in range(3):
        if rule == 0:
            price += (end[k] - start[k] - size[k]) / box[k]
        elif rule == 1:
            price += start[k] / box[k] * 1000.0 ** (2 - k)
        else:
            price = max(price, (start[k] + size[k]) / box[k])
    return price


@njit(cache=True)
def _best_place(size, turns, starts, ends, count, box, rule):  # type: ignore[no-untyped-def]
    """The cheapest cuboid and turn for a box; -1 where it fits into none."""
    best, best_turn, least = -1, -1, np.inf
    turned = np.empty(3, np.int64)
    for turn in range(len(turns)):
        for k in range(3):
            turned[k] = size[turns[turn, k]]
        for e in range(count):
            if (
                turned[0] <= ends[e, 0] - starts[e, 0]
                and turned[1] <= ends[e, 1] - starts[e, 1]
                and turned[2] <= ends[e, 2] - starts[e, 2]
            ):
                price = _price(starts[e], ends[e], turned, box, rule)
                if price < least:
                    best, best_turn, least = e, turn, price
    return best, best_turn


@njit(cache=True)
def _inside(start, end, starts, ends, count):  # type: ignore[no-untyped-def]
    """Whether a cuboid lies inside one of others."""
    for e in range(count):
        if (
            starts[e, 0] <= start[0]
            and starts[e, 1] <= start[1]
            and starts[e, 2] <= start[2]
            and end[0] <= ends[e, 0]
            and end[1] <= ends[e, 1]
            and end[2] <= ends[e, 2]
        ):
            return True
    return False


@njit(cache=True)
def _pieces(start, end, corner, far, least, starts, ends, count):  # type: ignore[no-untyped-def]  # noqa: PLR0913
    """Append what a box leaves of a cuboid, where it is not too small; the new count."""
    for k in range(3):
        if corner[k] - start[k] >= least[k]:
            _put(start, starts[count])
            _put(end, ends[count])
            ends[count, k] = corner[k]
            count += 1
        if end[k] - far[k] >= least[k]:
            _put(start, starts[count])
            _put(end, ends[count])
            starts[count, k] = far[k]
            count += 1
    return count


@njit(cache=True)
def _cut(starts, ends, corner, far, least):  # type: ignore[no-untyped-def]
    """The maximal empty cuboids after a box was placed from ``corner`` to ``far``."""
    cut = np.empty(len(starts), np.bool_)
    cuts = 0
    for e in range(len(starts)):
        cut[e] = True
        for k in range(3):
            cut[e] &= starts[e, k] < far[k] and corner[k] < ends[e, k]
        cuts += cut[e]
    pieces = 0
    new_starts, new_ends = np.empty((6 * cuts, 3), np.int64), np.empty((6 * cuts, 3), np.int64)
    for e in range(len(starts)):
        if cut[e]:
            pieces = _pieces(starts[e], ends[e], corner, far, least, new_starts, new_ends, pieces)
    new_starts, new_ends = new_starts[:pieces], new_ends[:pieces]
    # The largest first: a piece can only lie inside of one that is at least as large.
    order = np.argsort(-_volumes(new_starts, new_ends))
    most = len(starts) - cuts + pieces
    all_starts, all_ends = np.empty((most, 3), np.int64), np.empty((most, 3), np.int64)
    kept = 0
    for e in range(len(starts)):
        if not cut[e]:
            _put(starts[e], all_starts[kept])
            _put(ends[e], all_ends[kept])
            kept += 1
    for piece in order:
        if not _inside(new_starts[piece], new_ends[piece], all_starts, all_ends, kept):
            _put(new_starts[piece], all_starts[kept])
            _put(new_ends[piece], all_ends[kept])
            kept += 1
    return all_starts[:kept], all_ends[:kept]


@register_jitable
def _put(given: NDArray[np.int64], into: NDArray[np.int64]) -> None:
    """Copy three numbers; an assignment of arrays is long to compile."""
    for k in range(3):
        into[k] = given[k]


@njit(cache=True)
def _volumes(starts, ends):  # type: ignore[no-untyped-def]
    volumes = np.empty(len(starts), np.int64)
    for e in range(len(starts)):
        volumes[e] = 1
        for k in range(3):
            volumes[e] *= ends[e, k] - starts[e, k]
    return volumes


@register_jitable
def _are_equal(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    return bool(one[0] == other[0] and one[1] == other[1] and one[2] == other[2])


@njit(cache=True)
def fill_bin(
    sizes: NDArray[np.int64],
    weights: NDArray[np.int64],
    least: NDArray[np.int64],
    turns: NDArray[np.int64],
    box: NDArray[np.int64],
    capacity: int,
    rule: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Put boxes into one bin in the order given, each where it is cheapest, if it fits.

    ``sizes`` (n, 3), ``weights`` (n,), ``least`` (n + 1, 3): the least extents of the boxes from
    each on, ``turns`` (r, 3): the permutations of axes that are allowed.  Returns which boxes
    stand in the bin (b,), their corners (b, 3) next to the origin, their sizes as they were
    turned (b, 3), and how many elementary operations it took, about.
    """
    boxes = len(sizes)
    inside = np.empty(boxes, np.int64)
    corners = np.empty((boxes, 3), np.int64)
    placed = np.empty((boxes, 3), np.int64)
    starts, ends, far = (
        np.zeros((1, 3), np.int64),
        np.empty((1, 3), np.int64),
        np.empty(3, np.int64),
    )
    _put(box, ends[0])
    count, failed, operations = 0, -1, boxes
    space = box[0] * box[1] * box[2]
    for item in range(boxes):
        volume = sizes[item, 0] * sizes[item, 1] * sizes[item, 2]
        if volume > space or weights[item] > capacity:
            continue
        if failed >= 0 and _are_equal(sizes[item], sizes[failed]):
            continue
        operations += OPERATIONS * len(turns) * len(starts)
        index, turn = _best_place(sizes[item], turns, starts, ends, len(starts), box, rule)
        if index < 0:
            failed = item
            continue
        inside[count] = item
        for k in range(3):
            corners[count, k] = starts[index, k]
            placed[count, k] = sizes[item, turns[turn, k]]
            far[k] = corners[count, k] + placed[count, k]
        starts, ends = _cut(starts, ends, corners[count], far, least[item + 1])
        operations += OPERATIONS * len(starts)
        if len(starts) > _MOST_SPACES:
            largest = np.argsort(-_volumes(starts, ends))[: _MOST_SPACES // 2]
            starts, ends = starts[largest], ends[largest]
        count += 1
        space -= volume
        capacity -= weights[item]
    return inside[:count], corners[:count], placed[:count], operations
