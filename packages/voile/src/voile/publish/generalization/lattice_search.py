"""Searches of the lattice of levels: what they share, Flash, OLA and Datafly.

What is known of the nodes of a lattice while the best feasible one is sought.

What it does: keeps a verdict on each node (feasible, infeasible, unknown) and a lower bound of its
loss, spreads what each evaluation says about other nodes, and remembers the best node so far.

Claim: after ``complete`` no feasible node has a smaller loss than the best one; among equal losses
(to 12 digits) it is the lowest node, then the first by number.  So the answer depends on the
problem alone, not on the order in which a method looked at nodes.

Why: a node is left out only if it is known to be infeasible, because a node above it is and the
criteria are monotone, or because too many rows there fall short of what counts alone (k, different
values), which no finer division mends; or if its bound, its own or one from a node below it,
exceeds the best loss.  Rows that fall short of what counts alone at a node are suppressed at all
nodes below it, too, and each loses at least what the widest value of a level leaves open: that
raises their bounds.  So ``complete`` evaluates every node of which neither is known, the highest
first, and of these the smallest bound; where the engine counts, the smallest bound first, as the
low nodes bring tables for those above them.  Nothing else is asked of the objective or of the
criteria: neither need be monotone.

A search may have an effort, after which it ends: the entries of tables that it reads and, for each
evaluation, 1 for 16 nodes of the lattice (marking them).  It is counted, never timed, so that the
answer is the same on every machine.  What it left open then bounds what was not found.

Cost: about 35 bytes a node, and one assignment to a box of the lattice for each evaluation.

Flash: the best full-domain generalization, by binary search along paths.

What it does: finds the node of smallest loss whose groups satisfy the criteria, with no more rows
suppressed than may be.

Source: Kohlmayer, Prasser, Eckert, Kemper and Kuhn, "Flash: efficient, stable and optimal
k-anonymity" (PASSAT 2012), Algorithms 1 to 3.

Claim: optimal among all nodes, for every objective and every criterion; see ``search``.

Algorithm: from each undecided node, the lowest first, follow a path upwards through undecided
nodes, always to the one of least bound.  Binary search along it; where criteria are monotone, every
look decides all nodes above a feasible node, or below an infeasible one.  Infeasible nodes that
were looked at wait in a heap, and the next paths start at their successors.  Then evaluate what
may still be better than the best node found.

Cost: one roll-up per node looked at (``Solution.examined``).  Memory: about 35 bytes a node.

Departures: the source's optimality rests on a loss that never falls upwards, which suppression
breaks; the last step takes its place, and nodes whose bound exceeds the best loss are never
looked at.  Where criteria are not monotone (all but k-anonymity and distinct l-diversity, under
suppression and where persons have several rows), only these two decide nodes below, and one path
is followed for a node to compare with; then only bounds prune.

OLA: the best full-domain generalization, by binary search in sublattices.

What it does: finds the node of smallest loss whose groups satisfy the criteria, with no more rows
suppressed than may be.

Source: El Emam et al., "A globally optimal k-anonymity method for the de-identification of health
data" (JAMIA 2009), appendix: Optimal Lattice Anonymization.

Claim: optimal among all nodes, for every objective and every criterion; see ``search``.  The same
node as ``flash`` finds.

Algorithm, where criteria are monotone: look at all nodes half way up the lattice; below each
feasible one and above each infeasible one lies a smaller sublattice, to be searched alike.  Every
look decides all nodes above or below.  In the end every node is decided, the feasible ones with
no feasible one below have been evaluated, and the best of them is known.  Then evaluate what may
still be better.

Cost: one roll-up per node looked at (``Solution.examined``).  Memory: about 35 bytes a node.

Departures: the source chooses among the lowest feasible nodes only, which is optimal as long as
the loss never falls upwards; under suppression it may, and the last step looks further.  A
sublattice without undecided nodes is not entered, and nodes whose bound exceeds the best loss
count as decided.  Where criteria are not monotone, only the last step remains (see ``flash``).

Datafly: a full-domain generalization by one greedy climb.

What it does: finds some node whose groups satisfy the criteria, with no more rows suppressed than
may be, in lattices of any size.

Source: Sweeney, "Guaranteeing anonymity when sharing medical data, the Datafly system" (1997);
"Achieving k-anonymity privacy protection using generalization and suppression" (2002), section 5.

Claim: where criteria are monotone, a node is found if there is one.  It is not the best one, nor
a lowest one.

Algorithm: while too many rows would be suppressed, raise the column with the most distinct values
(the first of equals) by one level, as long as it has one.

Cost: as many roll-ups as the heights of the hierarchies add up to.

Departure: the source suppresses up to k rows; here the limit is a parameter of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.evaluation import Evaluation, Evaluator
from voile.publish.generalization.lattice import TOLERANCE, Lattice, Levels, ObjectiveName
from voile.publish.generalization.problem import Problem, Solution
from voile_base.errors import PlanError

__all__ = ["at_levels", "datafly", "flash", "ola"]


_UNKNOWN, _FEASIBLE, _INFEASIBLE = range(3)
_BATCH = 256
"""Evaluations between two looks at which nodes are still open."""
_NODES_FOR_ONE = 16
_EQUAL = 1e-12
"""Losses that differ by less are equal: sums of binary fractions are no more exact."""


class _Search:
    """The search for the best feasible node of one problem."""

    def __init__(
        self, problem: Problem, objective: ObjectiveName, method: str, effort: int | None = None
    ) -> None:
        """``method`` is named in the ``PlanError`` where the lattice is too large.

        ``effort``: after how much the search ends; None: when the best node is found.
        """
        self.lattice = Lattice.enumerable(problem.hierarchies, method)
        self.evaluator = Evaluator(problem, objective)
        self.bounds = self.evaluator.objective.bounds(self.lattice)
        """Shape (nodes,): at most the loss of each node."""
        self.examined = 0
        self._effort = effort
        self._verdict = np.zeros(self.lattice.size, dtype=np.int8)
        for j, level in enumerate(problem.rolled_up.floor if problem.rolled_up else ()):
            if level:
                top = (*self.lattice.top[:j], level - 1, *self.lattice.top[j + 1 :])
                self.lattice.below(self._verdict, top)[...] = _INFEASIBLE
        self._evaluated = np.zeros(self.lattice.size, dtype=np.bool_)
        self._short = np.zeros(self.lattice.size, dtype=np.int64)
        """Rows that each node suppresses at least."""
        self._highest_first = problem.rolled_up is None
        self._best: Evaluation | None = None
        self._rank = (float("inf"), 0, 0)

    @property
    def spent(self) -> bool:
        """Whether the effort is used up."""
        if self._effort is None:
            return False
        marked = self.examined * (self.lattice.size // _NODES_FOR_ONE)
        return self.evaluator.work + marked > self._effort

    def feasible(self, node: int) -> bool:
        """Whether a node is feasible, evaluated unless its verdict is known."""
        if self._verdict[node] == _UNKNOWN:
            self._evaluate(node)
        return bool(self._verdict[node] == _FEASIBLE)

    def undecided(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some nodes have no verdict and may still be better than the best one."""
        undecided: NDArray[np.bool_] = self._verdict[nodes] == _UNKNOWN
        undecided &= self.bounds[nodes] <= self._limit()
        return undecided

    def complete(self) -> None:
        """Evaluate all that may still be better than the best node, within the effort."""
        while not self.spent and len(nodes := self._open()):
            while not self.spent and len(nodes):
                self._evaluate(int(nodes[0]))
                nodes = self._hopeful(nodes[1:])

    def solution(self) -> Solution | None:
        """The best node that was found; None where there is none."""
        if self._best is None:
            return None
        found = self.evaluator.solution(self._best, self.examined, proved=not len(self._open()))
        return replace(found, bound=found.loss if found.proved else self._bound())

    def _bound(self) -> float:
        """At most the loss of every node: the least bound of those that are not known to be worse.

        Bounds of nodes below others are bounds of them, too.
        """
        waiting = ~self._evaluated & (self._verdict != _INFEASIBLE)
        return float(min(self._rank[0], self.bounds[waiting].min(initial=np.inf)))

    def _evaluate(self, node: int) -> None:
        levels = self.lattice.levels(node)
        found = self.evaluator.evaluate(levels)
        self.examined += 1
        self._evaluated[node] = True
        self._verdict[node] = _FEASIBLE if found.feasible else _INFEASIBLE
        if found.hopeless:
            self.lattice.below(self._verdict, levels)[...] = _INFEASIBLE
        else:
            below = self.lattice.below(self._short, levels)
            np.maximum(below, found.short, out=below)
        if found.feasible and self.evaluator.monotone:
            self.lattice.above(self._verdict, levels)[...] = _FEASIBLE
        if found.bound > self.bounds[node]:
            above = self.lattice.above(self.bounds, levels)
            np.maximum(above, found.bound, out=above)
        if found.feasible:
            rank = (float(f"{round(found.loss, 12):.12g}"), sum(levels), node)
            if rank < self._rank:
                self._best, self._rank = found, rank

    def _limit(self) -> float:
        """A node whose bound is larger cannot be the best."""
        return self._rank[0] * (1 + TOLERANCE) + _EQUAL

    def _hopeful(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some nodes that may be the best, after their bounds were raised."""
        least = self.evaluator.objective.bounds_suppressing(
            self.lattice.levels_of(nodes), self._short[nodes]
        )
        self.bounds[nodes] = np.maximum(self.bounds[nodes], least)
        open_ = (self._verdict[nodes] != _INFEASIBLE) & (self.bounds[nodes] <= self._limit())
        hopeful: NDArray[np.int64] = nodes[open_]
        return hopeful

    def _open(self) -> NDArray[np.int64]:
        """The next nodes to evaluate, in their order; none where none is left."""
        while True:
            nodes = np.flatnonzero(
                ~self._evaluated & (self._verdict != _INFEASIBLE) & (self.bounds <= self._limit())
            )
            bounds, heights = self.bounds[nodes], self.lattice.node_heights[nodes]
            first, second = (-heights, bounds) if self._highest_first else (bounds, heights)
            chosen = _least(first, second, _BATCH)
            order = np.lexsort((nodes[chosen], second[chosen], first[chosen]))
            hopeful = self._hopeful(nodes[chosen[order]])
            if len(hopeful) or not len(nodes):
                return hopeful


def _least(
    first: NDArray[np.generic], second: NDArray[np.generic], count: int
) -> NDArray[np.int64]:
    """The places of so many of the least pairs, in any order; all where there are no more."""
    if len(first) <= count:
        return np.arange(len(first))
    border = np.partition(first, count - 1)[count - 1]
    below, at = np.flatnonzero(first < border), np.flatnonzero(first == border)
    room = count - len(below)
    return np.append(below, at[np.argpartition(second[at], room - 1)[:room]])


def flash(
    problem: Problem, objective: ObjectiveName = "loss", effort: int | None = None
) -> Solution | None:
    """The best node, or None where none is feasible.

    With an ``effort`` (see ``search``) the best one that was found within it, and None where none
    was; ``Solution.proved`` and ``bound`` say how good it is.

    Raises ``PlanError`` where the lattice is too large to enumerate.
    """
    search = _Search(problem, objective, "flash", effort)
    if search.evaluator.monotone:
        _search_paths(search)
    elif problem.counts.units is not None:
        _bisect(search, _path(search, 0))
    search.complete()
    return search.solution()


def _search_paths(search: _Search) -> None:
    """Decide every node that may still be the best, the lowest first."""
    lattice = search.lattice
    for height in range(sum(lattice.heights) + 1):
        nodes = lattice.at_height(height)
        nodes = nodes[search.undecided(nodes)]
        if search.spent:
            return
        for node in nodes[np.argsort(search.bounds[nodes], kind="stable")].tolist():
            waiting = [(search.bounds[node], node)] if _open(search, node) else []
            while waiting and not search.spent:
                _, start = heappop(waiting)
                starts = [start] if _open(search, start) else _successors(search, start)
                for first in starts:
                    if _open(search, first):
                        for infeasible in _bisect(search, _path(search, first)):
                            heappush(waiting, (search.bounds[infeasible], infeasible))


def _path(search: _Search, node: int) -> list[int]:
    """Undecided nodes, each above the one before, from ``node`` as far as there are any."""
    path = [node]
    while above := _successors(search, path[-1]):
        path.append(above[0])
    return path


def _bisect(search: _Search, path: list[int]) -> list[int]:
    """Find the first feasible node of a path; returns the infeasible ones that were looked at."""
    infeasible = []
    low, high = 0, len(path)
    while low < high:
        middle = (low + high) // 2
        if search.feasible(path[middle]):
            high = middle
        else:
            infeasible.append(path[middle])
            low = middle + 1
    return infeasible


def _successors(search: _Search, node: int) -> list[int]:
    """The undecided nodes just above a node, the least bound first."""
    above = search.lattice.numbers_above(node)
    above = above[search.undecided(above)]
    chosen: list[int] = above[np.argsort(search.bounds[above], kind="stable")].tolist()
    return chosen


def _open(search: _Search, node: int) -> bool:
    return bool(search.undecided(np.array([node]))[0])


def ola(problem: Problem, objective: ObjectiveName = "loss") -> Solution | None:
    """The best node, or None where none is feasible.

    Raises ``PlanError`` where the lattice is too large to enumerate.
    """
    search = _Search(problem, objective, "ola")
    if search.evaluator.monotone:
        _search_between(search, search.lattice.bottom, search.lattice.top)
    search.complete()
    return search.solution()


def _search_between(search: _Search, bottom: Levels, top: Levels) -> None:
    """Decide every node of a sublattice that may still be the best."""
    while len(row := _middle_row(search, bottom, top)):
        for node in row.tolist():
            if not search.undecided(np.array([node]))[0]:
                continue
            levels = search.lattice.levels(node)
            if search.feasible(node):
                _search_between(search, bottom, levels)
            else:
                _search_between(search, levels, top)


def _middle_row(search: _Search, bottom: Levels, top: Levels) -> NDArray[np.int64]:
    """The undecided nodes half way up, or at the height nearest to it that has any."""
    lattice = search.lattice
    nodes = lattice.box(lattice.numbers, bottom, top).ravel()
    nodes = nodes[search.undecided(nodes)]
    distance = np.abs(2 * lattice.node_heights[nodes] - (sum(bottom) + sum(top)))
    return nodes[distance == distance.min()] if len(nodes) else nodes


def datafly(problem: Problem, objective: ObjectiveName = "loss") -> Solution | None:
    """A feasible node, its loss measured by an objective; None where the climb meets none."""
    evaluator = Evaluator(problem, objective)
    heights = evaluator.lattice.heights
    levels = list(evaluator.lattice.bottom)
    examined = 1
    while not (found := evaluator.evaluate(tuple(levels))).feasible:
        distinct = {
            column: evaluator.distinct(column, level)
            for column, level in enumerate(levels)
            if level < heights[column]
        }
        if not distinct:
            return None
        levels[max(distinct, key=lambda column: distinct[column])] += 1
        examined += 1
    return evaluator.solution(found, examined)


def at_levels(
    problem: Problem, levels: Mapping[str, int], objective: ObjectiveName = "loss"
) -> Solution | None:
    """The node of these levels, one for each quasi-identifier; None where it is not feasible.

    Raises ``PlanError`` for a column or a level that there is not.
    """
    heights = {hierarchy.column: hierarchy.height for hierarchy in problem.hierarchies}
    if heights.keys() != levels.keys():
        differing = ", ".join(sorted(heights.keys() ^ levels.keys()))
        msg = (
            "[method] levels names a level for each quasi-identifier and for no other column; it "
            f"differs in {differing}"
        )
        raise PlanError(msg)
    for column, level in levels.items():
        if level > heights[column]:
            msg = f"[method] levels: {column} has the levels 0 to {heights[column]}, and no {level}"
            raise PlanError(msg)
    evaluator = Evaluator(problem, objective)
    found = evaluator.evaluate(tuple(levels[column] for column in heights))
    return evaluator.solution(found, 1) if found.feasible else None
