"""Exact search: the feasible box with most top rows, or the proof that there is none.

What it does: finds a box that holds at least k members, reaches the precision, and holds as many as
possible of the top rows that are searched from.  Among boxes that publish equally many it returns
the one found first, which no order of the rows changes.  Where persons have several rows, k persons
are asked for in place of k rows.

Source: none; the thesis ("K-ARQ", POSTECH 2011) has only heuristics, so a user cannot know whether
a failure means "impossible".

Claim, where the search ends within its limits (``RankingGroup.proved``): with ``beyond_top`` no box
that any fresh rows of the remnant span is feasible and holds more of these rows; without it, no box
that these top rows span.  Rows outside the remnant's box are never taken in.

Algorithm: depth first over boxes around top rows, branch and bound.

- A box is *settled* if it is feasible (or can be widened): no box inside publishes more.
- Else, where too many other rows are in it, let q be the outermost of them at each side.  A
  feasible box inside must lie past q at some side, for a box past none of them holds them all.
  One branch for each side: the first at which the box lies past q.  So the box reaches q at the
  sides before, which are *held* from then on; no set of top rows is looked at twice.
- Else, where it is precise but cannot be widened to k members, branch on its outermost top rows
  in place of q.

Two passes: boxes that top rows span first, without widening, then all boxes, from the best of the
first.  The first pass is short, so a limit that strikes in the second still leaves a good box.

Widening (``_widen``): a precise box of fewer than k members may become a group by taking in rows
beside it, top or not.  The answer for one set of top rows is a feasible box around them, or the
proof that no feasible box holds exactly these of the top rows searched from.  First greedily,
taking the row for which the sides move by the fewest ranks.  No row lies between, so rows come in
one at a time where no two share a value; a top row only helps, and others may come in as long as
the k rows leave room.  A tie may bring in several rows at once, and rows that were published count
in the precision but not as members; so where this fails all boxes are tried, each once: take in a
row, or leave it out for good.

Bounds of the search: a branch needs more top rows than the best box known, and ``k * precision`` at
least.  So at most D of its top rows may be given up.  Another row costs, at the side where this is
least, the top rows that lie no further inside; held sides are closed to it.  If for every d <= D
more rows cost over d than t - d top rows allow, the branch ends.  Bounds of widening: no more other
rows can be in the box than the precision leaves room for with all top rows that might still come
in; and the members with all rows that might still come in must reach k.

Cost: exponential at worst, in widening, too, whose boxes count towards the limit of work;
O(m (n / 64 + others in the box)) a box, O(n m) a greedy step.  The feasible share of boxes within a
limit is what the benchmarks measure.
"""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.groups import (
    Bits,
    BoxQuestion,
    BoxTally,
    Depths,
    Edge,
    Field,
    RankingGroup,
    Remnant,
    SearchTerms,
    content,
    count,
    count_persons,
    has,
    is_feasible,
    is_precise,
    lowest,
    put,
    tally,
    tighten,
)
from voile_base.compiled import njit
from voile_base.randomness import Key

__all__ = ["exact", "exact_from"]


@njit(cache=True, nogil=True)
def _widen(question: BoxQuestion, edge: Edge, work: NDArray[np.int64], rows: Bits) -> bool:
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
def _inside(field: Field, walls: Depths, rows: Bits) -> None:
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
def _hull(field: Field, walls: Depths, row: int, hull: Depths) -> int:
    """The box with one row more; returns by how many ranks its sides move."""
    moved = 0
    for side in range(len(walls)):
        hull[side] = min(walls[side], field.depth[side, row])
        moved += int(walls[side]) - int(hull[side])
    return moved


@njit(cache=True, nogil=True)
def _widen_greedily(
    question: BoxQuestion, start: Depths, work: NDArray[np.int64], rows: Bits
) -> bool:
    field = question.field
    walls = start.copy()
    hull = np.empty_like(walls)
    _inside(field, walls, rows)
    while True:
        work[0] -= 1
        here = tally(question, rows)
        if here.persons >= question.k:
            return bool(is_feasible(question, here))
        nearest, least = -1, 0
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
def _widen_any(question: BoxQuestion, start: Depths, work: NDArray[np.int64], rows: Bits) -> bool:
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
def _close(
    question: BoxQuestion,
    walls: Depths,
    rows: Bits,
    out: Bits,
    trial: Bits,
    work: NDArray[np.int64],
) -> None:
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
def _leaves_room(question: BoxQuestion, here: BoxTally, out: Bits) -> bool:
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
def _may_reach(question: BoxQuestion, here: BoxTally, rows: Bits, out: Bits) -> bool:
    """Whether k members and the precision are in reach with the rows that may come in."""
    reach = np.empty_like(rows)
    for word in range(len(rows)):
        reach[word] = rows[word] | ~out[word]
    return count_persons(question, reach) >= question.k and _leaves_room(question, here, out)


_SLICE = 4096
"""Boxes between two looks at the clock."""


class _Tree(NamedTuple):
    """Where a depth-first search stands, so that it can stop and go on; one entry a level."""

    chosen: NDArray[np.uint64]
    """(levels, top words)"""
    edge: NDArray[np.int64]
    """(levels, s): the box."""
    held: NDArray[np.int32]
    """(levels, s): a depth that the box must reach from outside; -1 where it may be cut."""
    cut: NDArray[np.int32]
    """(levels, s): the depth past which each branch goes."""
    turn: NDArray[np.int64]
    """(levels, s): sides in the order of their branches."""
    branches: NDArray[np.int64]
    """(levels,): how many branches a box has; -1 before it was looked at."""
    taken: NDArray[np.int64]
    """(levels,): how many of them were taken."""
    level: NDArray[np.int64]
    """(1,): the level looked at next; -1 at the end."""
    most: NDArray[np.int64]
    """(1,): targets in the best box known."""
    found: NDArray[np.uint64]
    """(words,): its rows."""
    work: NDArray[np.int64]
    """(1,): boxes that may still be looked at."""


def exact(remnant: Remnant, terms: SearchTerms, _key: Key) -> RankingGroup:
    """The feasible group with most top rows; within ``terms.work`` and ``terms.seconds``."""
    return exact_from(remnant, terms, None)


def exact_from(remnant: Remnant, terms: SearchTerms, known: Bits | None) -> RankingGroup:
    """As ``exact``; ``known`` are the rows of a feasible box, which only a better one replaces."""
    question = remnant.question(terms)
    limit = _Limit(terms)
    tree = _planted(question, known)
    ended = limit.explore(question, tree, beyond_top=False)
    if terms.beyond_top and ended:
        tree = _planted(question, tree.found if tree.most[0] > 0 else None)
        ended = limit.explore(question, tree, beyond_top=True)
    found = tree.found if tree.most[0] > 0 else None
    return remnant.outcome(found, proved=ended, examined=limit.spent)


class _Limit:
    """How much work and time are left."""

    def __init__(self, terms: SearchTerms) -> None:
        self.spent = 0
        self._work = terms.work
        self._end = None if terms.seconds is None else monotonic() + terms.seconds

    def explore(self, question: BoxQuestion, tree: _Tree, *, beyond_top: bool) -> bool:
        """Search on; True where the search ended within the limit."""
        tree.work[0] = before = self._work - self.spent
        while tree.level[0] >= 0 and tree.work[0] > 0:
            if self._end is not None and monotonic() >= self._end:
                break
            _explore(question, tree, beyond_top)
        self.spent += before - int(tree.work[0])
        return bool(tree.level[0] < 0)


def _planted(question: BoxQuestion, known: Bits | None) -> _Tree:
    """A search that has not begun."""
    sides, tops = question.field.order.shape
    levels = tops + 1
    tree = _Tree(
        chosen=np.zeros((levels, len(question.targets)), dtype=np.uint64),
        edge=np.zeros((levels, sides), dtype=np.int64),
        held=np.full((levels, sides), -1, dtype=np.int32),
        cut=np.zeros((levels, sides), dtype=np.int32),
        turn=np.zeros((levels, sides), dtype=np.int64),
        branches=np.full(levels, -1, dtype=np.int64),
        taken=np.zeros(levels, dtype=np.int64),
        level=np.zeros(1, dtype=np.int64),
        most=np.zeros(1, dtype=np.int64),
        found=np.zeros(len(question.field.top), dtype=np.uint64),
        work=np.zeros(1, dtype=np.int64),
    )
    tree.chosen[0] = question.targets
    if known is not None:
        tree.found[:] = known
        words = len(question.targets)
        tree.most[0] = int(np.bitwise_count(known[:words] & question.targets).sum())
    return tree


@njit(cache=True, nogil=True)
def _explore(question: BoxQuestion, tree: _Tree, beyond_top: bool) -> None:
    """Go on with the search until it ends or this slice of work is used up."""
    rows = np.empty_like(tree.found)
    level = tree.level[0]
    stop = tree.work[0] - _SLICE
    while level >= 0 and tree.work[0] > max(stop, 0):
        if tree.branches[level] < 0:
            tree.work[0] -= 1
            tree.taken[level] = 0
            branches = _look(question, tree, level, beyond_top, rows)
            if tree.work[0] <= 0:
                break  # widening may have given up: nothing is proved about this box
            tree.branches[level] = branches
        if tree.taken[level] == tree.branches[level]:
            level -= 1
            continue
        _branch(question.field, tree, level)
        level += 1
    tree.level[0] = level


@njit(cache=True, nogil=True)
def _branch(field: Field, tree: _Tree, level: int) -> None:
    """Set up the next branch of a box one level below; its side is held in those that follow."""
    side = tree.turn[level, tree.taken[level]]
    cut = tree.cut[level, side]
    for word in range(tree.chosen.shape[1]):
        tree.chosen[level + 1, word] = tree.chosen[level, word] & field.past[side, cut, word]
    tree.edge[level + 1] = tree.edge[level]
    tree.held[level + 1] = tree.held[level]
    tree.branches[level + 1] = -1
    tree.held[level, side] = cut
    tree.taken[level] += 1


@njit(cache=True, nogil=True)
def _look(question: BoxQuestion, tree: _Tree, level: int, beyond_top: bool, rows: Bits) -> int:
    """Settle a box, or find its branches: returns how many."""
    if not _reaches(question.field, tree, level):
        return 0
    content(question.field, tree.edge[level], rows)
    here = tally(question, rows)
    spare, fresh_spare = _spare_tops(question, here, beyond_top)
    crowded = not (
        _is_clear(question, here.targets + spare, here.total - here.tops)
        and _is_clear(question, here.targets + fresh_spare, here.members - here.fresh_tops)
    )
    feasible = is_feasible(question, here)
    if beyond_top and not (feasible or crowded):
        feasible = _widen(question, tree.edge[level], tree.work, rows)
    if feasible:
        tree.most[0] = count(question.targets, rows)
        put(rows, tree.found)
        return 0
    least = -(-question.k * question.numerator // question.denominator) - fresh_spare
    room = here.targets - max(tree.most[0] + 1, least)
    if room < 1 or not (beyond_top or here.persons >= question.k):
        return 0
    if not crowded:
        _cut_at_edge(question.field, tree, level)
    elif not _may_clear(question, tree, level, rows, here.targets, spare, room):
        return 0
    return _order_branches(question.field, tree, level, here.targets, room)


@njit(cache=True, nogil=True)
def _reaches(field: Field, tree: _Tree, level: int) -> bool:
    """Tighten a box; False where it cannot be best, or falls short of a side that is held."""
    chosen, edge = tree.chosen[level], tree.edge[level]
    if count(chosen, chosen) <= tree.most[0]:
        return False
    tighten(field, chosen, edge)
    for side in range(len(edge)):
        held = tree.held[level, side]
        if held >= 0 and field.depth[side, field.order[side, edge[side]]] > held:
            return False
    return True


@njit(cache=True, nogil=True)
def _cut_at_edge(field: Field, tree: _Tree, level: int) -> None:
    """Let the branches of a box go past its outermost top rows."""
    for side in range(tree.edge.shape[1]):
        tree.cut[level, side] = field.depth[side, field.order[side, tree.edge[level, side]]]


@njit(cache=True, nogil=True)
def _spare_tops(question: BoxQuestion, here: BoxTally, beyond_top: bool) -> tuple[int, int]:
    """Top rows, and fresh ones, that a box inside may hold beside the targets."""
    if not beyond_top:
        return here.tops - here.targets, here.fresh_tops - here.targets
    targets = count(question.targets, question.targets)
    fresh = count(question.field.top[: len(question.targets)], question.fresh)
    return count(question.field.top, question.field.top) - targets, fresh - targets


@njit(cache=True, nogil=True)
def _is_clear(question: BoxQuestion, tops: int, others: int) -> bool:
    """Whether so many others leave room for the precision."""
    return is_precise(question, tops, tops + others)


@njit(cache=True, nogil=True)
def _may_clear(
    question: BoxQuestion, tree: _Tree, level: int, rows: Bits, targets: int, spare: int, room: int
) -> bool:
    """Whether giving up at most ``room`` top rows may clear the box of enough other rows.

    Notes on the way the outermost other row at each side.
    """
    field, chosen, held = question.field, tree.chosen[level], tree.held[level]
    sides, n = field.depth.shape
    tree.cut[level] = n
    costing = np.zeros(room + 1, dtype=np.int64)
    left, stuck = 0, 0
    for word in range(len(rows)):
        others = rows[word] & ~field.top[word]
        while others:
            row = 64 * word + lowest(others)
            others &= others - np.uint64(1)
            left += 1
            least = room + 1
            for side in range(sides):
                level_of_row = field.depth[side, row]
                tree.cut[level, side] = min(tree.cut[level, side], level_of_row)
                if held[side] < 0:
                    cost = targets - count(chosen, field.past[side, level_of_row])
                    least = min(least, cost)
            if least <= room:
                costing[least] += 1
                continue
            stuck += 1
            if not _is_clear(question, targets + spare, stuck):
                return False
    for given_up in range(room + 1):
        left -= costing[given_up]
        tops = targets - given_up + spare
        if _is_clear(question, tops, left):
            return True
    return False


@njit(cache=True, nogil=True)
def _order_branches(field: Field, tree: _Tree, level: int, targets: int, room: int) -> int:
    """The sides that can be cut, dearest first; those that cannot are held from here on."""
    chosen = tree.chosen[level]
    sides = tree.edge.shape[1]
    lost = np.zeros(sides, dtype=np.int64)
    branches = 0
    for side in range(sides):
        if tree.held[level, side] >= 0:
            continue
        cut = tree.cut[level, side]
        cost = targets - count(chosen, field.past[side, cut])
        if cost > room:
            tree.held[level, side] = cut
            continue
        index = branches
        while index > 0 and lost[index - 1] < cost:
            lost[index] = lost[index - 1]
            tree.turn[level, index] = tree.turn[level, index - 1]
            index -= 1
        lost[index] = cost
        tree.turn[level, index] = side
        branches += 1
    return branches
