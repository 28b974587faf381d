"""Controlled rounding: every count a multiple of a base, and all totals exactly additive.

Each count is rounded to one of the two multiples of the base beside it, and one that is a multiple
stays (zero-restricted rounding), so that all constraints hold and the counts change as little as
possible in all: an integer program with a variable of 0 or 1 for each cell.  Tables of two
dimensions always have such a rounding; of more, or linked ones, some have not.  Then cells may move
one multiple further, and another one, until there is a rounding.

What a reader learns of a count: that it lies less than a base from what is published, or as much
further as the claim says.  What follows from that for all cells together is looked at by the
attacker (``narrowed``): a count of fewer units than the minimum that is known exactly is refused.
That the change is the least, somebody who rounds candidates again could use; it is not considered.
Other tables of the same persons are rounded anew, so that averages take the rounding off: one table
of a population, not many.

Source: Hundepool and others, *Statistical Disclosure Control* (Wiley 2012), section 4.4; Salazar-
Gonzalez, "Controlled rounding and cell perturbation: statistical disclosure limitation methods for
tabular data" (Mathematical Programming 105, 2006).

Cost: one integer program of as many variables as cells, which ends at the root where tables have
two dimensions; it is stopped after a number of nodes, not of seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix, hstack

from voile.tabular.attacker import CellSystem, FeasibilityIntervals, PriorBounds
from voile.tabular.system import Indices, LinkedSystem
from voile_base.errors import InfeasibleError

__all__ = ["MOST_ATTACKED", "RoundedCounts", "narrowed", "round_counts"]

_MOST_STEPS = 5
"""Multiples beyond the nearest ones that a cell may move."""
_NODES = 20_000
_GAP = 0.01
"""A rounding that is within this share of the least change is taken."""
MOST_ATTACKED = 1_000
"""Cells of a system up to which intervals are looked at."""
_KNOWN = 1 - 1e-6

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RoundedCounts:
    """Counts that were rounded."""

    values: Indices
    """Shape (cells,): multiples of the base."""
    reach: int
    """Each lies less than this from its count."""


def round_counts(system: LinkedSystem, counts: Indices, base: int) -> RoundedCounts:
    """The rounding of least change, to the nearest multiples if there is one.

    Raises ``InfeasibleError`` where none was found.
    """
    constraints = system.constraints
    below = counts // base
    exact = counts % base == 0
    if (constraints @ counts).any():
        msg = "counts that do not add up cannot be rounded so that they do"
        raise ValueError(msg)
    for steps in range(_MOST_STEPS):
        least = np.maximum(below - steps, 0)
        most = below + steps + np.where(exact, 0, 1)
        found = _nearest(constraints, counts / base, (least, most))
        if found is not None:
            return RoundedCounts(found * base, (steps + 1) * base)
    msg = (
        f"no rounding to multiples of {base} that adds up was found within {_MOST_STEPS} multiples "
        "of each count; publish fewer linked tables at once, or another base"
    )
    raise InfeasibleError(msg)


def _nearest(
    constraints: csr_matrix, target: NDArray[np.float64], within: tuple[Indices, Indices]
) -> Indices | None:
    """Whole numbers within bounds that add up, nearest to a target in all; None without any.

    A number beside its target is at its lower or upper neighbour; what lies further is a part of
    its own, at a cost of 1 each.
    """
    least, most = within
    size = len(target)
    floor = np.floor(target)
    up = 1.0 - 2.0 * (target - floor)  # what the step from floor to ceiling costs
    cost = np.concatenate((up, np.ones(size), np.ones(size)))
    ceiling = (target > floor).astype(np.float64)
    upper = np.concatenate((ceiling, most - floor - ceiling, floor - least))
    wide = hstack((constraints, constraints, -constraints)).tocsr()
    sums = -(constraints @ floor)
    result = milp(
        cost,
        constraints=LinearConstraint(wide, sums, sums),
        integrality=np.ones(3 * size),
        bounds=Bounds(np.zeros(3 * size), np.maximum(upper, 0)),
        options={"node_limit": _NODES, "mip_rel_gap": _GAP},
    )
    if result.x is None:
        return None
    steps = np.rint(result.x)
    found = (floor + steps[:size] + steps[size : 2 * size] - steps[2 * size :]).astype(np.int64)
    return found if not (constraints @ found).any() else None


def narrowed(system: LinkedSystem, rounded: RoundedCounts, small: Mask) -> int | None:
    """How many small counts a reader knows exactly; None: the system is too large to look.

    He knows that each count lies less than ``reach`` from what is published, that counts add up,
    and that they are whole.
    """
    if system.cells > MOST_ATTACKED:
        return None
    every = np.ones(system.cells, dtype=np.bool_)
    attacked = CellSystem(system.constraints, rounded.values, every, whole=True)
    known = PriorBounds(
        np.maximum(rounded.values - rounded.reach + 1, 0).astype(np.float64),
        (rounded.values + rounded.reach - 1).astype(np.float64),
        "a reader",
    )
    found = FeasibilityIntervals.of(attacked, np.flatnonzero(small), known)
    return int(((found.upper - found.lower) < _KNOWN).sum())
