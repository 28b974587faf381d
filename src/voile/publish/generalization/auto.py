"""Auto: whichever of the full-domain optimum and Mondrian loses least.

What it does: lets both kinds of generalization decide on the same counted rows, and takes the one
whose stated loss is less; of equals the full domain, whose rows all read alike.

- The full domain: ``flash``, where its lattice has no more than ``MOST_NODES`` nodes, within an
  effort.  Where it has more, or nothing was found within the effort, ``datafly``.
- Partitions: ``mondrian`` with sets, which leaves out no rows.  Its groups lie on no levels, so
  that the objective "precision" is asked of the full domain alone.

Claim: the answer is valid, and None only where neither kind has one that was found.  It depends on
the counted rows alone: effort is counted (``search``), never timed.  ``Choice.bound`` is at most
the loss of every generalization of either kind, and of any other (``least_loss``).

Cost: that of Mondrian, and at most ``EFFORT`` for the search: some seconds of a processor.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from voile.models.information_loss import discernibility
from voile.publish.generalization.datafly import datafly
from voile.publish.generalization.flash import flash
from voile.publish.generalization.lattice import Lattice
from voile.publish.generalization.least_loss import least_loss
from voile.publish.generalization.mondrian import mondrian
from voile.publish.generalization.objective import ObjectiveName
from voile.publish.generalization.problem import Choice, Problem, Solution

__all__ = ["EFFORT", "MOST_NODES", "auto"]

EFFORT = 100_000_000
"""Entries of tables, and nodes marked, that the search for the best levels may read."""

MOST_NODES = 1_000_000
"""Of a lattice that is searched."""


def auto(
    problem: Problem, objective: ObjectiveName = "loss", effort: int = EFFORT
) -> Solution | None:
    """The better of both kinds of generalization, with ``Solution.choice``; None for none."""
    candidates = (
        _full_domain(problem, objective, effort),
        ("mondrian", _partition(problem, objective)),
    )
    found = {name: solution for name, solution in candidates if solution is not None}
    if not found:
        return None
    best = min(found, key=lambda name: float(f"{found[name].loss:.12g}"))
    bound = least_loss(problem, objective)
    if "mondrian" not in found and found[best].bound > bound:
        bound = found[best].bound
    losses = {name: solution.loss for name, solution in found.items()}
    return replace(found[best], choice=Choice(best, losses, min(bound, found[best].loss)))


def _full_domain(
    problem: Problem, objective: ObjectiveName, effort: int
) -> tuple[str, Solution | None]:
    """The best levels within the effort, or some."""
    if Lattice.of(problem.hierarchies).size <= MOST_NODES:
        solution = flash(problem, objective, effort)
        if solution is not None:
            return "flash", solution
    return "datafly", datafly(problem, objective)


def _partition(problem: Problem, objective: ObjectiveName) -> Solution | None:
    """Mondrian's groups, and what the objective says of them."""
    if objective == "precision":
        return None
    solution = mondrian(problem, sets=True)
    if solution is None or objective == "loss":
        return solution
    sizes = np.bincount(solution.group, problem.counts.rows).astype(np.int64)
    loss = discernibility(sizes) if objective == "discernibility" else problem.rows / len(sizes)
    return replace(solution, loss=float(loss))
