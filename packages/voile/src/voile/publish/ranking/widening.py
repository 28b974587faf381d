"""Boxes that other rows span too: widen a precise box until it holds k rows.

What it does: a box around top rows may be precise and hold fewer than k rows; taking in rows
beside it, top or not, can make it a group.  ``widen`` answers for one set of top rows: a feasible
box around them, or the proof that no feasible box holds exactly these of the top rows searched
from.

Where persons have several rows, k persons are asked for in place of k rows.

Algorithm: first greedily, taking the row for which the sides move by the fewest ranks.  No row
lies between, so rows come in one at a time where no two share a value; a top row only helps, and
others may come in as long as the k rows leave room.  A tie may bring in several rows at once, and
rows that were published count in the precision but not as members; so where this fails all boxes
are tried, each once: take in a row, or leave it out for good.

Bounds: no more other rows can be in the box than the precision leaves room for with all top rows
that might still come in; and the members with all rows that might still come in must reach k.

Cost: O(n m) a greedy step; the search of all boxes is exponential, and each box looked at counts
towards the limit of work.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from voile.publish.ranking.boxes import (
    count,
    count_persons,
    has,
    is_feasible,
    is_precise,
    tally,
)
from voile_base.compiled import njit

__all__ = ["widen"]


@njit(cache=True, nogil=True)
def widen(question: Any, edge: Any, work: Any, rows: Any) -> bool:
    """Widen the box at ``edge`` (s,); the rows of the feasible box are left in ``rows``.

    ``work`` (1,) counts down; at zero the search gives up, and its False is no proof.
    """
    field = question.field
    sides = len(edge)
    walls = np.empty(sides, dtype=np.int32)
    for side in range(sides):
        walls[side] = field.depth[side, field.order[side, edge[side]]]
    return _widen_greedily(question, walls, work, rows) or _widen_any(question, walls, work, rows)


@njit(cache=True, nogil=True)
def _inside(field: Any, walls: Any, rows: Any) -> None:
    """The rows in a box given by the least depth at each side."""
    rows[:] = 0
    for row in range(field.depth.shape[1]):
        inside = True
        for side in range(len(walls)):
            if field.depth[side, row] < walls[side]:
                inside = False
                break
        if inside:
            rows[row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@njit(cache=True, nogil=True)
def _hull(field: Any, walls: Any, row: int, hull: Any) -> Any:
    """The box with one row more; returns by how many ranks its sides move."""
    moved = 0
    for side in range(len(walls)):
        hull[side] = min(walls[side], field.depth[side, row])
        moved += walls[side] - hull[side]
    return moved


@njit(cache=True, nogil=True)
def _widen_greedily(question: Any, start: Any, work: Any, rows: Any) -> bool:
    field = question.field
    walls = start.copy()
    hull = np.empty_like(walls)
    _inside(field, walls, rows)
    while True:
        work[0] -= 1
        here = tally(question, rows)
        if here.persons >= question.k:
            return bool(is_feasible(question, here))
        nearest, least = -1, np.int64(0)
        for row in range(field.depth.shape[1]):
            if has(rows, row) or not has(question.fresh, row):
                continue
            moved = _hull(field, walls, row, hull)
            if nearest < 0 or moved < least:
                nearest, least = row, moved
        if nearest < 0:
            return False
        _hull(field, walls, nearest, walls)
        _inside(field, walls, rows)


@njit(cache=True, nogil=True)
def _widen_any(question: Any, start: Any, work: Any, rows: Any) -> bool:
    """Depth first over all boxes around ``start`` that fresh rows span, without further targets.

    ``out`` holds, for each level, the rows that no box below it may hold.
    """
    field = question.field
    n, tops = field.depth.shape[1], field.order.shape[1]
    levels = min(n, tops * question.denominator // question.numerator) + 2
    walls = np.empty((levels, len(start)), dtype=start.dtype)
    out = np.zeros((levels, len(rows)), dtype=np.uint64)
    index = np.zeros(levels, dtype=np.int64)
    trial = np.empty_like(rows)
    walls[0] = start
    _inside(field, start, rows)
    for word in range(len(question.targets)):
        out[0, word] = question.targets[word] & ~rows[word]
    level = 0
    while level >= 0 and work[0] > 0:
        _inside(field, walls[level], rows)
        if index[level] == 0:
            work[0] -= 1
            here = tally(question, rows)
            if is_feasible(question, here):
                return True
            _close(question, walls[level], rows, out[level], trial, work)
            if not _may_reach(question, here, rows, out[level]):
                level -= 1
                continue
        row = index[level]
        while row < n and (has(out[level], row) or has(rows, row) or not has(question.fresh, row)):
            row += 1
        if row == n:
            level -= 1
            continue
        index[level] = row + 1
        _hull(field, walls[level], row, walls[level + 1])
        _inside(field, walls[level + 1], trial)
        taken = count(trial, out[level]) > 0
        out[level + 1] = out[level]
        out[level, row >> 6] |= np.uint64(1) << np.uint64(row & 63)
        if not taken:
            level += 1
            index[level] = 0
    return False


@njit(cache=True, nogil=True)
def _close(question: Any, walls: Any, rows: Any, out: Any, trial: Any, work: Any) -> None:
    """Leave out for good each row that could only come in with one left out, or too many others."""
    hull = np.empty_like(walls)
    work[0] -= question.field.depth.shape[1]
    for row in range(question.field.depth.shape[1]):
        if has(rows, row) or has(out, row) or not has(question.fresh, row):
            continue
        _hull(question.field, walls, row, hull)
        _inside(question.field, hull, trial)
        there = tally(question, trial)
        if count(trial, out) > 0 or not _leaves_room(question, there, out):
            out[row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@njit(cache=True, nogil=True)
def _leaves_room(question: Any, here: Any, out: Any) -> Any:
    """Whether a box around this one can be precise, with all top rows that may come in."""
    tops, fresh = 0, 0
    for row in range(question.field.order.shape[1]):
        if not has(out, row):
            tops += 1
            fresh += has(question.fresh, row)
    return is_precise(question, tops, tops + here.total - here.tops) and is_precise(
        question, fresh, fresh + here.members - here.fresh_tops
    )


@njit(cache=True, nogil=True)
def _may_reach(question: Any, here: Any, rows: Any, out: Any) -> Any:
    """Whether k members and the precision are in reach with the rows that may come in."""
    reach = np.empty_like(rows)
    for word in range(len(rows)):
        reach[word] = rows[word] | ~out[word]
    return count_persons(question, reach) >= question.k and _leaves_room(question, here, out)
