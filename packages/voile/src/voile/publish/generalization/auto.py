"""Auto: whichever of the full-domain optimum and Mondrian loses least.

What it does: lets both kinds of generalization decide on the same counted rows, and takes the one
whose stated loss is less; of equals the full domain, whose rows all read alike.

- The full domain: ``flash``, where its lattice has no more than ``MOST_NODES`` nodes, within an
  effort.  Where it has more, or nothing was found within the effort, ``datafly``.
- Partitions: ``mondrian`` with sets, which leaves out no rows.  Its groups lie on no levels, so
  that the objective "precision" is asked of the full domain alone.

Claim: the answer is valid, and None only where neither kind has one that was found.  It depends on
the counted rows alone: effort is counted (``search``), never timed.  ``AlgorithmChoice.bound`` is
at most the loss of every generalization of either kind, and of any other (``least_loss``).

The bound.  ``least_loss`` bounds an objective from below for all divisions of the rows into valid
groups whose cells cover the values of their rows: levels for all rows alike, intervals, nodes of a
tree, sets.  No solution whose published groups have k rows loses less, whichever rows it
suppresses. Where persons have several rows, k counts persons, and sums of those of combinations: a
group has no more.

- ``loss``.  A row whose combination of quasi-identifiers has fewer than k rows shares its group
  with another combination, so some column shows a cell of more than one value; at least two
  columns do unless k rows agree in all columns but one.  Such a cell covers no less than the
  smallest that holds the row's value and another.  That gives a least sum of the columns' losses,
  each between 0 and 1, and the product of 1 + loss is least for a sum if as few columns as
  possible bear it (its logarithm is concave).  A suppressed row loses more than that.
- ``discernibility``: each row costs k at least; ``average-class-size``: groups have k rows.
- ``precision``: nothing is known beyond what the search for the best node tells.

Cost: that of Mondrian, and at most ``EFFORT`` for the search: some seconds of a processor; for the
bound m sorts of the u combinations, and O(d levels) for d values of a column.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.models.information_loss import discernibility
from voile.publish.generalization.lattice import Lattice, ObjectiveName
from voile.publish.generalization.lattice_search import datafly, flash
from voile.publish.generalization.mondrian import mondrian
from voile.publish.generalization.problem import AlgorithmChoice, Problem, Solution
from voile.publish.generalization.regions import (
    Atoms,
    domain_scale,
    is_ordered,
    least_rows,
    pair_share,
    positions,
    shape_of,
)

__all__ = ["EFFORT", "MOST_NODES", "auto", "least_loss"]

EFFORT = 100_000_000
"""Entries of tables, and nodes marked, that the search for the best levels may read."""

MOST_NODES = 1_000_000
"""Of a lattice that is searched."""
_MULTIPLIER = 0x9E3779B97F4A7C15
"""Odd; combinations of one key are taken for one, which only lowers the bound."""


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
    return replace(found[best], choice=AlgorithmChoice(best, losses, min(bound, found[best].loss)))


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


def least_loss(problem: Problem, objective: ObjectiveName) -> float:
    """At most the objective's value of every solution; see the module."""
    k, rows = least_rows(problem), problem.rows
    if not rows:
        return 0.0
    match objective:
        case "loss":
            return _least_product(problem, k)
        case "discernibility":
            return float(rows) * min(k, rows)
        case "average-class-size":
            return rows / (rows // k + (problem.suppressible > 0)) if rows >= k else float(rows)
        case "precision":
            return 0.0


def _least_product(problem: Problem, k: int) -> float:
    atoms = Atoms(problem)
    m = atoms.codes.shape[1]
    further = np.empty((len(atoms), m))
    enough = np.empty((len(atoms), m), dtype=np.bool_)
    keys = _keys(atoms.codes)
    for j in range(m):
        least = _smallest_cells(problem, j)
        own = problem.hierarchies[j].values[0].share[problem.hierarchies[j].codes[0]]
        room = problem.rows - float(atoms.rows @ own[atoms.codes[:, j]])
        lost = np.maximum(least - own, 0.0) / room if room > 0 else np.zeros(len(own))
        further[:, j] = lost[atoms.codes[:, j]]
        _, member = np.unique(keys.sum(axis=1) - keys[:, j], return_inverse=True)
        enough[:, j] = np.bincount(member, atoms.persons)[member] >= k
    alone = np.where(enough, further, np.inf).min(axis=1)
    together = np.sort(further, axis=1)[:, :2].sum(axis=1)
    of_row = np.where(atoms.persons < k, np.minimum(alone, together), 0.0)
    total = min(float(of_row @ atoms.rows), float(m))
    product = 2.0 ** int(total) * (1 + total - int(total))
    return float(product ** (1 / m) - 1)


def _keys(codes: NDArray[np.int32]) -> NDArray[np.uint64]:
    """What each column adds to the key of a combination, shape (u, m)."""
    multipliers = [pow(_MULTIPLIER, j + 1, 2**64) for j in range(codes.shape[1])]
    return codes.astype(np.uint64) * np.array(multipliers, dtype=np.uint64)


def _smallest_cells(problem: Problem, column: int) -> NDArray[np.float64]:
    """For each value of a column, what the smallest cell covers that holds it and another."""
    hierarchy, values = problem.hierarchies[column], problem.counts.values[column]
    d = len(values)
    own = hierarchy.values[0].share[hierarchy.codes[0]]
    least = np.ones(d)
    for level in range(hierarchy.height, -1, -1):
        codes = hierarchy.codes[level]
        shared = np.bincount(codes)[codes] > 1
        least[shared] = np.minimum(least, hierarchy.values[level].share[codes])[shared]
    first = int(values.missing)
    if is_ordered(hierarchy, values) and d - first > 1:
        gaps = np.diff(positions(values)[first:] * domain_scale(hierarchy, values))
        nearest = np.minimum(np.append(np.inf, gaps), np.append(gaps, np.inf))
        ends = own[first:] + (1 - own[first:]) * nearest
        least[first:] = np.minimum(least[first:], ends)
    elif shape_of(hierarchy, values, sets=True) == "set" and d > 1:
        least = np.minimum(least, own + pair_share(hierarchy, d))
    return least
