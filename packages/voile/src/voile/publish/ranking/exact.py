"""Exact search: the feasible box with most top rows, or the proof that there is none.

What it does: finds a box that holds at least k members, reaches the precision, and holds as many as
possible of the top rows that are searched from.  Among boxes that publish equally many it returns
the one found first, which no order of the rows changes.

Source: none; the thesis ("K-ARQ", POSTECH 2011) has only heuristics, so a user cannot know whether
a failure means "impossible".

Claim, where the search ends within its limits (``RankingGroup.proved``): with ``beyond_top`` no box
that any fresh rows of the remnant span is feasible and holds more of these rows; without it, no box
that these top rows span.  Rows outside the remnant's box are never taken in.

Algorithm: depth first over boxes around top rows, branch and bound.

- A box is *settled* if it is feasible (or ``widen`` makes it so): no box inside publishes more.
- Else, where too many other rows are in it, let q be the outermost of them at each side.  A
  feasible box inside must lie past q at some side, for a box past none of them holds them all.
  One branch for each side: the first at which the box lies past q.  So the box reaches q at the
  sides before, which are *held* from then on; no set of top rows is looked at twice.
- Else, where it is precise but cannot be widened to k members, branch on its outermost top rows
  in place of q.

Two passes: boxes that top rows span first, without widening, then all boxes, from the best of the
first.  The first pass is short, so a limit that strikes in the second still leaves a good box.

Bounds: a branch needs more top rows than the best box known, and ``k * precision`` at least.  So at
most D of its top rows may be given up.  Another row costs, at the side where this is least, the top
rows that lie no further inside; held sides are closed to it.  If for every d <= D more rows cost
over d than t - d top rows allow, the branch ends.

Cost: exponential at worst; O(m (n / 64 + others in the box)) a box.  The feasible share of boxes
within a limit is what the benchmarks measure.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.boxes import (
    Bits,
    BoxQuestion,
    content,
    count,
    is_feasible,
    is_precise,
    lowest,
    put,
    tally,
    tighten,
)
from voile.publish.ranking.groups import RankingGroup
from voile.publish.ranking.remnant import Remnant
from voile.publish.ranking.terms import SearchTerms
from voile.publish.ranking.unpacking import outcome_of
from voile.publish.ranking.widening import widen
from voile_base.compiled import njit
from voile_base.randomness import Key

__all__ = ["exact", "exact_from"]

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
    return outcome_of(remnant, found, proved=ended, examined=limit.spent)


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
def _branch(field: Any, tree: _Tree, level: int) -> None:
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
def _look(question: BoxQuestion, tree: _Tree, level: int, beyond_top: bool, rows: Any) -> int:
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
        feasible = widen(question, tree.edge[level], tree.work, rows)
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
def _reaches(field: Any, tree: Any, level: int) -> bool:
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
def _cut_at_edge(field: Any, tree: Any, level: int) -> None:
    """Let the branches of a box go past its outermost top rows."""
    for side in range(tree.edge.shape[1]):
        tree.cut[level, side] = field.depth[side, field.order[side, tree.edge[level, side]]]


@njit(cache=True, nogil=True)
def _spare_tops(question: Any, here: Any, beyond_top: bool) -> Any:
    """Top rows, and fresh ones, that a box inside may hold beside the targets."""
    if not beyond_top:
        return here.tops - here.targets, here.fresh_tops - here.targets
    targets = count(question.targets, question.targets)
    fresh = count(question.field.top[: len(question.targets)], question.fresh)
    return count(question.field.top, question.field.top) - targets, fresh - targets


@njit(cache=True, nogil=True)
def _is_clear(question: Any, tops: int, others: int) -> Any:
    """Whether so many others leave room for the precision."""
    return is_precise(question, tops, tops + others)


@njit(cache=True, nogil=True)
def _may_clear(
    question: Any, tree: Any, level: int, rows: Any, targets: int, spare: int, room: int
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
def _order_branches(field: Any, tree: Any, level: int, targets: int, room: int) -> int:
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
