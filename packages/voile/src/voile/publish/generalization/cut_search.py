"""The best cuts of several columns, by branch and bound.

What it does: chooses borders between the ordered values of each column, the same for all rows, so
that the classes of rows that share an interval in every column cost least.

Source: Bayardo and Agrawal, "Data privacy through optimal k-anonymization" (ICDE 2005): sections
3 (set enumeration), 4 (pruning, lower bounds) and 5 (order of the tail).

Claim: what is found is valid and suppresses no more rows than may be.  If the search ends within
its budget, nothing costs less.

Algorithm: a node of the enumeration is a head of cuts made and a tail of cuts that may be added
below it.  A node looks at the head with each cut of the tail added, and orders the tail by
what that costs, so that the first descent is the greedy one.

Bounds, for every set of cuts from the head up to head and tail:

- rows whose class in the head has fewer than k rows are suppressed, whatever is added;
- any other row's class is at least its class under all cuts of head and tail, and at least k; what
  it covers of a column is at least what it covers under all of them.

Where persons have several rows, the first is said of what sums of persons allow a class to have,
and of the second only that it is at least its class under all cuts.

A cut leaves the tail if the bound of the head with it, or the rows suppressed with it, are too
high: so they stay for every larger head.  Where no row may be suppressed and the criteria are
monotone, it leaves as soon as a class is invalid, because no finer division is valid then.

Cost: O(u m) for each look at u atoms, and as many looks as the budget allows.  The number of sets
is 2 to the number of possible cuts, so that a proof is out of reach for columns of many values.

Departures: a budget of looks instead of a clock, so that the answer depends on the problem alone;
suppression may be limited; the source's useless cuts are not skipped, because with classes above
half of the rows they may help; cuts that divide no class of the answer are added at the end,
because they narrow what is shown and change no class.

The ordered values of a column that single-dimensional cuts divide into intervals.

What it does: puts the values of a column that stand in counted rows in an order, and gives the
share of the domain that any interval of them covers.

An ordered column keeps its own order, a missing value first; an interval that mixes missing and
other values covers everything.  The values of a tree stand so that those below one node are
neighbours; an interval covers what its lowest common ancestor covers.

Claim: a wider interval never covers less, as far as the hierarchy's own shares never fall upwards.

Cost: O(d log d) for d values; the share of an interval O(1), of a tree O(levels).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion, Groups
from voile.models.information_loss import product_of_losses
from voile.publish.generalization.grouping import Fields, Grouper
from voile.publish.generalization.problem import Problem
from voile.publish.generalization.regions import (
    Atoms,
    domain_scale,
    is_ordered,
    least_rows,
    positions,
)
from voile_base.compiled import njit, register_jitable
from voile_base.ondemand import dataclass

__all__ = ["Axis", "Cover", "axis_of", "best_cuts", "cover"]


class Cover(NamedTuple):
    """What intervals of the q values cover; compiled code reads it."""

    ordered: bool
    missing: bool
    """For ordered columns: whether the first value stands for missing ones."""
    own: NDArray[np.float64]
    """Shape (q,): what each value covers alone."""
    node: NDArray[np.int32]
    """Shape (levels, q): of trees, what each value becomes."""
    extent: NDArray[np.float64]
    """Shape (levels, q): of trees, what that covers; else one line with the values' positions."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The q values of one column in their order."""

    values: NDArray[np.int32]
    """Shape (q,): codes of the values that stand in counted rows."""
    rank: NDArray[np.int32]
    """Shape (d,): the index of each code; -1 where it stands in no row."""
    cover: Cover

    def __len__(self) -> int:
        return len(self.values)

    def shares(self, interval: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each interval covers; ``interval`` (q,) ascends from 0 without gaps."""
        starts = np.flatnonzero(np.diff(interval, prepend=-1))
        stops = np.append(starts[1:], len(interval))
        return _covers(self.cover, starts, stops)


def axis_of(problem: Problem, column: int) -> Axis:
    """The axis of a quasi-identifier."""
    hierarchy, values = problem.hierarchies[column], problem.counts.values[column]
    present = np.unique(problem.quasi_identifiers[:, column])
    if ordered := is_ordered(hierarchy, values):
        extent = positions(values)[None, :] * domain_scale(hierarchy, values)
        node = np.zeros((1, len(values)), dtype=np.int32)
    else:
        levels = zip(hierarchy.values, hierarchy.codes, strict=True)
        extent = np.array([level.share[codes] for level, codes in levels])
        node = np.array(hierarchy.codes)
        present = present[np.lexsort(node[:, present])]
    rank = np.full(len(values), -1, dtype=np.int32)
    rank[present] = np.arange(len(present))
    cover = Cover(
        ordered=ordered,
        missing=bool(values.missing and len(present) and present[0] == 0),
        own=hierarchy.values[0].share[hierarchy.codes[0][present]],
        node=np.ascontiguousarray(node[:, present]),
        extent=np.ascontiguousarray(extent[:, present]),
    )
    return Axis(present, rank, cover)


@register_jitable
def cover(axis: Cover, start: int, stop: int) -> float:
    """The share of the domain that the values [start, stop) cover."""
    last = stop - 1
    if axis.ordered:
        own = axis.own[start]
        if start == last:
            return float(own)
        if axis.missing and start == 0:
            return 1.0
        return float(min(1.0, own + (1 - own) * (axis.extent[0, last] - axis.extent[0, start])))
    for level in range(len(axis.node)):
        if axis.node[level, start] == axis.node[level, last]:
            return float(axis.extent[level, start])
    return 1.0


@njit(cache=True, nogil=True)
def _covers(
    axis: Cover, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The shares that several intervals cover."""
    shares = np.empty(len(starts))
    for n in range(len(starts)):
        shares[n] = cover(axis, starts[n], stops[n])
    return shares


@dataclass(frozen=True, eq=False)
class _BestCuts:
    """The classes that the best cuts found leave."""

    intervals: tuple[NDArray[np.int64], ...]
    """For each column, the interval of each of its values."""
    member: NDArray[np.int64]
    """Shape (u,): the class of each atom."""
    valid: NDArray[np.bool_]
    """Which classes may be published."""
    cost: float
    examined: int
    """Sets of cuts that were looked at."""
    proved: bool
    """Whether nothing costs less."""


@dataclass(frozen=True, eq=False)
class _Look:
    """A set of cuts and its classes."""

    intervals: tuple[NDArray[np.int64], ...]
    sizes: NDArray[np.int64]
    member: NDArray[np.int64]
    persons: NDArray[np.int64]
    """No class has more of them; its size, where each row is another person."""


@dataclass(eq=False)
class _Node:
    """A node of the enumeration whose children, one for each cut of its tail, are being visited."""

    head: NDArray[np.bool_]
    tail: NDArray[np.int64]
    visited: int = 0


def best_cuts(
    problem: Problem, atoms: Atoms, axes: Sequence[Axis], by_size: bool, budget: int
) -> _BestCuts | None:
    """The best cuts found within a budget of looks; None where none that publishes a row was."""
    search = _Search(problem, atoms, axes, by_size, budget)
    proved = search.run()
    return search.answer(proved)


class _Search:
    """The enumeration and the best set of cuts so far."""

    def __init__(
        self, problem: Problem, atoms: Atoms, axes: Sequence[Axis], by_size: bool, budget: int
    ) -> None:
        self._problem, self._atoms, self._axes = problem, atoms, axes
        self._by_size, self._budget = by_size, budget
        self._k = least_rows(problem)
        self._apart = problem.counts.units is None
        self._least_size = self._k if self._apart else 1
        self._criteria: tuple[Criterion, ...] = problem.criteria
        self._all_or_none = problem.suppressible == 0 and problem.monotone
        self._ranks = [axis.rank[atoms.codes[:, j]] for j, axis in enumerate(axes)]
        self._fields = Fields([len(axis) for axis in axes])
        self._grouper = Grouper()
        # Cut number ends[j] + r stands before the value of rank r + 1 of column j.
        self._ends = np.cumsum([0, *(max(len(axis) - 1, 0) for axis in axes)])
        self._n = int(atoms.rows.sum())
        self._rows_of = [
            np.bincount(ranks, atoms.rows, len(axis))
            for ranks, axis in zip(self._ranks, axes, strict=True)
        ]
        pairs = zip(axes, self._rows_of, strict=True)
        self._least = np.array([float((axis.cover.own * rows).sum()) for axis, rows in pairs])
        self.examined = 0
        self._spent = False
        self._best: tuple[float, NDArray[np.bool_]] | None = None

    def run(self) -> bool:
        """Search until everything was looked at or bounded (True), or the budget is spent."""
        cuts = int(self._ends[-1])
        root = np.zeros(cuts, dtype=np.bool_)
        self._consider(root, self._look(root))
        nodes = [_Node(root, self._tail(root, np.arange(cuts)))]
        while nodes and not self._spent:
            node = nodes[-1]
            if node.visited == len(node.tail):
                nodes.pop()
                continue
            head = node.head.copy()
            head[node.tail[node.visited]] = True
            node.visited += 1
            tail = self._tail(head, node.tail[node.visited :])
            nodes.append(_Node(head, tail))
        return not self._spent

    def answer(self, proved: bool) -> _BestCuts | None:
        """The best cuts with those added that divide no class."""
        if self._best is None:
            return None
        cuts = self._best[1].copy()
        look = self._look(cuts)
        for cut in np.flatnonzero(~cuts).tolist():
            if not self._divides(look, cut):
                cuts[cut] = True
        look = self._look(cuts)
        valid = self._valid(look)
        cost = self._cost(look, valid[look.member])
        return _BestCuts(look.intervals, look.member, valid, cost, self.examined, proved)

    def _tail(self, head: NDArray[np.bool_], tail: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cuts of a tail that may lead to something better, the most promising first."""
        if not len(tail) or (self._best is not None and self._bound(head, tail) >= self._best[0]):
            return tail[:0]
        costs, kept = [], []
        published = []
        for cut in tail.tolist():
            if self.examined >= self._budget:
                self._spent = True
                return tail[:0]
            child = head.copy()
            child[cut] = True
            look = self._look(child)
            cost = self._consider(child, look)
            alive = look.persons >= self._k
            lost = self._n - int(look.sizes[alive].sum())
            if lost <= self._problem.suppressible and not (self._all_or_none and np.isinf(cost)):
                kept.append(cut)
                costs.append(self._cost(look, alive[look.member]))
                published.append(alive[look.member])
        order = np.argsort(costs, kind="stable")
        return self._bounded(
            head, np.array(kept, dtype=np.int64)[order], [published[n] for n in order]
        )

    def _bounded(
        self,
        head: NDArray[np.bool_],
        tail: NDArray[np.int64],
        published: Sequence[NDArray[np.bool_]],
    ) -> NDArray[np.int64]:
        """The tail without cuts whose bound is no better than the best cost."""
        while len(tail) and self._best is not None:
            whole = head.copy()
            whole[tail] = True
            finest = self._look(whole)
            limit = self._best[0]
            kept = np.array([self._bound_of(finest, alive) < limit for alive in published])
            if kept.all():
                break
            tail = tail[kept]
            published = [alive for alive, keep in zip(published, kept, strict=True) if keep]
        return tail

    def _bound(self, head: NDArray[np.bool_], tail: NDArray[np.int64]) -> float:
        look = self._look(head)
        whole = head.copy()
        whole[tail] = True
        return self._bound_of(self._look(whole), (look.persons >= self._k)[look.member])

    def _bound_of(self, finest: _Look, published: NDArray[np.bool_]) -> float:
        """At most what a set of cuts costs that suppresses all but some atoms, or more."""
        return self._cost(finest, published, self._least_size)

    def _consider(self, cuts: NDArray[np.bool_], look: _Look) -> float:
        """The cost of a set of cuts, infinite where it is not feasible; remembers the best."""
        valid = self._valid(look)
        suppressed = self._n - int(look.sizes[valid].sum())
        if suppressed > self._problem.suppressible or suppressed == self._n:
            return float("inf")
        cost = self._cost(look, valid[look.member])
        if self._best is None or cost < self._best[0]:
            self._best = (cost, cuts.copy())
        return cost

    def _valid(self, look: _Look) -> NDArray[np.bool_]:
        groups = Groups(look.sizes)
        if not self._apart or any(criterion.column for criterion in self._criteria):
            groups = self._atoms.groups(look.member, len(look.sizes))
        return self._problem.valid(groups, look.sizes)[0]

    def _cost(self, look: _Look, published: NDArray[np.bool_], least: int = 1) -> float:
        """What classes cost of which these atoms are published; no class counts less than least."""
        left_out = np.flatnonzero(~published)
        rows = self._atoms.rows[left_out]
        suppressed = int(rows.sum())
        if self._by_size:
            sizes = np.maximum(look.sizes, least).astype(np.float64)
            all_rows = float((look.sizes * sizes).sum())
            unpublished = float((rows * sizes[look.member[left_out]]).sum())
            return all_rows - unpublished + float(suppressed) * self._n
        lost = np.full(len(self._axes), float(suppressed))
        for j, (axis, interval) in enumerate(zip(self._axes, look.intervals, strict=True)):
            share = axis.shares(interval)[interval]
            lost[j] += (self._rows_of[j] * share).sum()
            lost[j] -= (rows * share[self._ranks[j][left_out]]).sum()
        room = self._n - self._least
        losses = np.divide(lost - self._least, room, out=np.zeros_like(room), where=room > 0)
        return product_of_losses(np.clip(losses, 0.0, 1.0))

    def _look(self, cuts: NDArray[np.bool_]) -> _Look:
        self.examined += 1
        intervals = tuple(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(cuts[start:stop])])
            for start, stop in zip(self._ends[:-1], self._ends[1:], strict=True)
        )
        pairs = zip(self._ranks, intervals, strict=True)
        keys = self._fields.pack([interval[ranks] for ranks, interval in pairs])
        table, member = self._grouper.group_with_members(keys, self._atoms.rows)
        persons = table.rows
        if not self._apart:
            persons = np.bincount(member, self._atoms.persons, len(table)).astype(np.int64)
        return _Look(intervals, table.rows, member, persons)

    def _divides(self, look: _Look, cut: int) -> bool:
        """Whether a cut divides a class."""
        column = int(np.searchsorted(self._ends, cut, side="right")) - 1
        right = self._ranks[column] > cut - self._ends[column]
        on_right = np.bincount(look.member, right, len(look.sizes))
        return bool(((on_right > 0) & (on_right < np.bincount(look.member))).any())
