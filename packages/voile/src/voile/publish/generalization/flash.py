"""Flash: the best full-domain generalization, by binary search along paths.

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

Cost: one roll-up per node looked at (``Solution.examined``).  Memory: about 25 bytes a node.

Departures: the source's optimality rests on a loss that never falls upwards, which suppression
breaks; the last step takes its place, and nodes whose bound exceeds the best loss are never
looked at.  Where criteria are not monotone (all but k-anonymity and distinct l-diversity, under
suppression and where persons have several rows), only these two decide nodes below, and one path
is followed for a node to compare with; then only bounds prune.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from voile.publish.generalization.objective import ObjectiveName
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.generalization.search import Search

__all__ = ["flash"]


def flash(
    problem: Problem, objective: ObjectiveName = "loss", effort: int | None = None
) -> Solution | None:
    """The best node, or None where none is feasible.

    With an ``effort`` (see ``search``) the best one that was found within it, and None where none
    was; ``Solution.proved`` and ``bound`` say how good it is.

    Raises ``PlanError`` where the lattice is too large to enumerate.
    """
    search = Search(problem, objective, "flash", effort)
    if search.evaluator.monotone:
        _search_paths(search)
    elif problem.counts.units is not None:
        _bisect(search, _path(search, 0))
    search.complete()
    return search.solution()


def _search_paths(search: Search) -> None:
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


def _path(search: Search, node: int) -> list[int]:
    """Undecided nodes, each above the one before, from ``node`` as far as there are any."""
    path = [node]
    while above := _successors(search, path[-1]):
        path.append(above[0])
    return path


def _bisect(search: Search, path: list[int]) -> list[int]:
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


def _successors(search: Search, node: int) -> list[int]:
    """The undecided nodes just above a node, the least bound first."""
    levels = search.lattice.levels(node)
    above = np.array([search.lattice.number(up) for up in search.lattice.successors(levels)], int)
    above = above[search.undecided(above)]
    chosen: list[int] = above[np.argsort(search.bounds[above], kind="stable")].tolist()
    return chosen


def _open(search: Search, node: int) -> bool:
    return bool(search.undecided(np.array([node]))[0])
