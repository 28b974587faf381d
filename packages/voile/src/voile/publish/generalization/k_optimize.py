"""k-Optimize: the best intervals of every column, the same for all rows.

What it does: puts the values of each quasi-identifier in an order and cuts it into intervals; rows
that share an interval in every column are one group, and groups that are not valid are suppressed.
An ordered column keeps its own order, a missing value first, and shows intervals from their lowest
to their highest value that stands in a published row; an interval that mixes missing and other
values covers everything.  The values of a tree stand so that those below one node are neighbours,
and show their lowest common ancestor.

Source: Bayardo and Agrawal, "Data privacy through optimal k-anonymization" (ICDE 2005), sections
3 (set enumeration), 4 (pruning, lower bounds) and 5 (order of the tail); a baseline of the seed
"Privacy-Preserving Bin-Packing With Differential Privacy" (2022), which uses it on single columns.

Claim: every published group satisfies all criteria, and no more rows are suppressed than may be.
For one column the answer is optimal, for either cost: ``discernibility`` (squares of the sizes, and
n for each suppressed row) and ``loss`` (for each row the share that its interval covers, and 1 for
each suppressed row); among divisions of equal cost fewest rows are suppressed.  For several, or
where persons have several rows, it is the best found within a budget of sets of cuts, and
``Solution.proved`` says whether nothing is better.  No clock decides.

One column: dynamic programming over the ends of intervals.

- Only values that are not valid alone are suppressed, one by one: publishing a valid value alone
  never costs more than suppressing it, so an invalid interval is better replaced by its values.
- For k-anonymity alone, [j, i) matters only if it is not the union of two valid intervals, which
  together never cost more.  Let h be the last start with [h, i) valid; then [j, h) must be
  invalid.  So only starts whose rows up to h number less than k are tried.
- Other criteria are asked about every interval beforehand.
- First the number of suppressed rows is left free.  If it turns out too large, it becomes a second
  state of the programme.

Several columns: branch and bound.  A node is a head of cuts made and a tail of cuts that may be
added below it.  It looks at the head with each cut of the tail added, and orders the tail by what
that costs, so that the first descent is the greedy one.  For every set of cuts from the head up to
head and tail:

- rows whose class in the head has fewer than k rows are suppressed, whatever is added;
- any other row's class is at least its class under all cuts of head and tail, and at least k; what
  it covers of a column is at least what it covers under all of them.

Where persons have several rows, the first is said of what sums of persons allow a class to have,
and of the second only that it is at least its class under all cuts.  A cut leaves the tail if the
bound of the head with it, or the rows suppressed with it, are too high: so they stay for every
larger head.  Where no row may be suppressed and the criteria are monotone, it leaves as soon as a
class is invalid, because no finer division is valid then.

Cost: for one column of q values O(q w) for w starts tried at each end, at most 2k; times the
suppressed rows where they are a state; O(q^2 v) for criteria that read v sensitive values
(``PlanError`` beyond what is affordable); a thousand values take milliseconds.  For several, O(u m)
for each look at u atoms, half a millisecond on the Adult table, and as many looks as the budget
allows; the sets are 2 to the number of possible cuts, so that a proof is out of reach for columns
of many values.

Departures: the source knows discernibility and a classification metric; the product of losses is
offered beside discernibility.  Suppression may be limited, which the source leaves to the metric.
A budget of looks instead of a clock, so that the answer depends on the problem alone.  The source's
useless cuts are not skipped, because with classes above half of the rows they may help; cuts that
divide no class of the answer are added at the end: they narrow what is shown and change no class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion, Groups, SensitiveCells
from voile.models.information_loss import discernibility, product_of_losses
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.grouping import Fields, Grouper
from voile.publish.generalization.lattice import ObjectiveName
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.generalization.regions import (
    Atoms,
    ColumnRegions,
    domain_scale,
    is_ordered,
    least_rows,
    loss_of_regions,
    positions,
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


class _Cover(NamedTuple):
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
class _Axis:
    """The q values of one column in their order."""

    values: NDArray[np.int32]
    """Shape (q,): codes of the values that stand in counted rows."""
    rank: NDArray[np.int32]
    """Shape (d,): the index of each code; -1 where it stands in no row."""
    cover: _Cover

    def __len__(self) -> int:
        return len(self.values)

    def shares(self, interval: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each interval covers; ``interval`` (q,) ascends from 0 without gaps."""
        starts = np.flatnonzero(np.diff(interval, prepend=-1))
        stops = np.append(starts[1:], len(interval))
        return _covers(self.cover, starts, stops)


def _axis_of(problem: Problem, column: int) -> _Axis:
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
    cover = _Cover(
        ordered=ordered,
        missing=bool(values.missing and len(present) and present[0] == 0),
        own=hierarchy.values[0].share[hierarchy.codes[0][present]],
        node=np.ascontiguousarray(node[:, present]),
        extent=np.ascontiguousarray(extent[:, present]),
    )
    return _Axis(present, rank, cover)


@register_jitable
def _cover(axis: _Cover, start: int, stop: int) -> float:
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
    axis: _Cover, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The shares that several intervals cover."""
    shares = np.empty(len(starts))
    for n in range(len(starts)):
        shares[n] = _cover(axis, starts[n], stops[n])
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


def _best_cuts(
    problem: Problem, atoms: Atoms, axes: Sequence[_Axis], by_size: bool, budget: int
) -> _BestCuts | None:
    """The best cuts found within a budget of looks; None where none that publishes a row was."""
    search = _Search(problem, atoms, axes, by_size, budget)
    proved = search.run()
    return search.answer(proved)


class _Search:
    """The enumeration and the best set of cuts so far."""

    def __init__(
        self, problem: Problem, atoms: Atoms, axes: Sequence[_Axis], by_size: bool, budget: int
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


def _best_intervals(
    rows: NDArray[np.int64],
    axis: _Cover,
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
    single = rows >= k if allowed is None else allowed.diagonal(1).copy()
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
    axis: _Cover,
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
            own = float(size) * size if by_size else size * _cover(axis, first, stop)
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
    axes = [_axis_of(problem, column) for column in range(len(problem.hierarchies))]
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


def _one_column(problem: Problem, atoms: Atoms, axis: _Axis, by_size: bool) -> _Division | None:
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
    problem: Problem, atoms: Atoms, axes: Sequence[_Axis], by_size: bool, budget: int
) -> _Division | None:
    found = _best_cuts(problem, atoms, axes, by_size, budget)
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
    problem: Problem, atoms: Atoms, axes: Sequence[_Axis], division: _Division, by_size: bool
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
    axis: _Axis,
    interval: NDArray[np.int64],
    codes: NDArray[np.int32],
) -> ColumnRegions:
    """What each published atom shows of a column: what covers the published rows of its interval.

    Values that stand in suppressed rows alone widen no interval, so that nothing tells of them.
    """
    values, first = np.unique(axis.rank[codes], return_index=True)
    starts = np.flatnonzero(np.diff(interval[first], prepend=-1))
    found = ColumnRegions.of(
        problem.hierarchies[column], problem.counts.values[column], axis.values[values], starts
    )
    return found.at(np.searchsorted(interval[first][starts], interval))
