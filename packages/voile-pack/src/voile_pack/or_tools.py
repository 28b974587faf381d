"""Google OR-Tools: loading it, and its plain model of bin packing.

What it does: ``pack`` states the assignment model of the OR-Tools guide (an item is in one bin,
a used bin is not overfull, as few bins as possible) and gives it to the CP-SAT solver; this is
the optimizer of the seed, kept for comparison.  Others take the solver from ``constraint_solver``.

Source: "Privacy-Preserving Bin-Packing With Differential Privacy" (IEEE OJ-CS 2022), optimizer
module; OR-Tools guide, "The bin packing problem".

Guarantee: the packing is valid, and the bound is the solver's, or the given one where that is
better.  One worker and a fixed seed: the course is the same every time, where time cuts it off is
not.  Nothing is logged.

Cost: n b binary variables for b bins of a first packing; exponential time.

Departure from the guide: used bins come first, which breaks some of the symmetry.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError
from voile_pack.instance import OPERATIONS, Deadline, Instance

__all__ = ["constraint_solver", "is_installed", "pack", "solved"]


class _PlainModelAnswer(NamedTuple):
    """What the plain model gave: the bin (n,) of each item, or None, and a bound."""

    bin_of: NDArray[np.int64] | None
    lower_bound: int


def constraint_solver() -> Any:
    """The module ``ortools.sat.python.cp_model``; ``InputError`` where it is not installed."""
    try:
        from ortools.sat.python import cp_model  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "OR-Tools is not installed; install it with: pip install 'voile-pack[proofs]' "
            '(or choose the solver "auto", which does without)'
        ) from None
    return cp_model


def is_installed() -> bool:
    """Whether the constraint solver is there."""
    try:
        constraint_solver()
    except InputError:
        return False
    return True


def solved(model: object, deadline: Deadline, linearization: int = 1) -> tuple[Any, Any]:
    """CP-SAT after it worked on the model until the deadline, and its status.

    It has one worker and says nothing.  ``linearization`` is its level, 0 to 2.
    """
    solver = constraint_solver().CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.log_search_progress = False
    solver.parameters.max_time_in_seconds = deadline.remaining_of_wall()
    solver.parameters.max_deterministic_time = min(deadline.remaining_work(), 1e9)
    solver.parameters.linearization_level = linearization
    status = solver.solve(model)
    deadline.spend(solver.deterministic_time * OPERATIONS)
    return solver, status


def pack(core: Instance, bins: int, deadline: Deadline) -> _PlainModelAnswer:
    """Pack ``core`` into at most ``bins`` bins by the plain model."""
    cp_model = constraint_solver()
    model = cp_model.CpModel()
    used = [model.new_bool_var("") for _ in range(bins)]
    inside = [[model.new_bool_var("") for _ in range(bins)] for _ in range(len(core))]
    weights = core.weights.tolist()
    for row in inside:
        model.add_exactly_one(row)
    for number in range(bins):
        load = cp_model.LinearExpr.weighted_sum([row[number] for row in inside], weights)
        model.add(load <= core.capacity * used[number])
    for earlier, later in pairwise(used):
        model.add_implication(later, earlier)
    model.minimize(sum(used))
    solver, status = solved(model, deadline)
    bound = max(0, int(np.ceil(solver.best_objective_bound - 1e-6)))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return _PlainModelAnswer(None, bound)
    chosen = [next(b for b in range(bins) if solver.boolean_value(row[b])) for row in inside]
    _, bin_of = np.unique(np.array(chosen, np.int64), return_inverse=True)
    return _PlainModelAnswer(bin_of.astype(np.int64), bound)
