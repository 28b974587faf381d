"""OLA: the best full-domain generalization, by binary search in sublattices.

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

Cost: one roll-up per node looked at (``Solution.examined``).  Memory: about 25 bytes a node.

Departures: the source chooses among the lowest feasible nodes only, which is optimal as long as
the loss never falls upwards; under suppression it may, and the last step looks further.  A
sublattice without undecided nodes is not entered, and nodes whose bound exceeds the best loss
count as decided.  Where criteria are not monotone, only the last step remains (see ``flash``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.lattice import Levels
from voile.publish.generalization.objective import ObjectiveName
from voile.publish.generalization.problem import Problem, Solution
from voile.publish.generalization.search import Search

__all__ = ["ola"]


def ola(problem: Problem, objective: ObjectiveName = "loss") -> Solution | None:
    """The best node, or None where none is feasible.

    Raises ``PlanError`` where the lattice is too large to enumerate.
    """
    search = Search(problem, objective, "ola")
    if search.evaluator.monotone:
        _search_between(search, search.lattice.bottom, search.lattice.top)
    search.complete()
    return search.solution()


def _search_between(search: Search, bottom: Levels, top: Levels) -> None:
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


def _middle_row(search: Search, bottom: Levels, top: Levels) -> NDArray[np.int64]:
    """The undecided nodes half way up, or at the height nearest to it that has any."""
    lattice = search.lattice
    nodes = lattice.box(lattice.numbers, bottom, top).ravel()
    nodes = nodes[search.undecided(nodes)]
    distance = np.abs(2 * lattice.node_heights[nodes] - (sum(bottom) + sum(top)))
    return nodes[distance == distance.min()] if len(nodes) else nodes
