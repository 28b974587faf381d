"""What is known of the nodes of a lattice while the best feasible one is sought.

What it does: keeps a verdict on each node (feasible, infeasible, unknown) and a lower bound of its
loss, spreads what each evaluation says about other nodes, and remembers the best node so far.

Claim: after ``complete`` no feasible node has a smaller loss than the best one; among equal losses
(to 12 digits) it is the lowest node, then the first by number.  So the answer depends on the
problem alone, not on the order in which a method looked at nodes.

Why: a node is left out only if it is known to be infeasible, because a node above it is and the
criteria are monotone, or because too many rows there fall short of what counts alone (k, different
values), which no finer division mends; or if its bound, its own or one from a node below it,
exceeds the best loss.  ``complete`` evaluates every node of which neither is known, the smallest
bound first.  Nothing else is asked of the objective or of the criteria: neither need be monotone.

A search may have an effort, after which it ends: the entries of tables that it reads and, for each
evaluation, 1 for 16 nodes of the lattice (marking them).  It is counted, never timed, so that the
answer is the same on every machine.  What it left open then bounds what was not found.

Cost: about 25 bytes a node, and one assignment to a box of the lattice for each evaluation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.evaluation import Evaluation, Evaluator
from voile.publish.generalization.lattice import Lattice
from voile.publish.generalization.objective import TOLERANCE, ObjectiveName
from voile.publish.generalization.problem import Problem, Solution

__all__ = ["Search"]

_UNKNOWN, _FEASIBLE, _INFEASIBLE = range(3)
_BATCH = 256
"""Evaluations between two looks at which nodes are still open."""
_NODES_FOR_ONE = 16
_EQUAL = 1e-12
"""Losses that differ by less are equal: sums of binary fractions are no more exact."""


class Search:
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
        while len(nodes := self._open()):
            for node in nodes.tolist():
                if self.spent:
                    return
                if self._verdict[node] != _INFEASIBLE and self.bounds[node] <= self._limit():
                    self._evaluate(node)

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
        elif found.feasible and self.evaluator.monotone:
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

    def _open(self) -> NDArray[np.int64]:
        """The next nodes to evaluate, the smallest bound first, then the lowest."""
        nodes = np.flatnonzero(
            ~self._evaluated & (self._verdict != _INFEASIBLE) & (self.bounds <= self._limit())
        )
        if len(nodes) > _BATCH:
            nodes = nodes[np.argpartition(self.bounds[nodes], _BATCH)[:_BATCH]]
        order = np.lexsort((nodes, self.lattice.node_heights[nodes], self.bounds[nodes]))
        return nodes[order]
