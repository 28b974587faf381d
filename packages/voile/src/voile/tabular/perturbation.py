"""Tables whose cells are changed and not suppressed: adjustment, cell keys, controlled rounding.

**Controlled adjustment (CTA)**: the nearest additive table in which primary cells are moved.

Every primary cell is published at least its **protection distance** above its value or below it:
what its rule asks for (``primary``), and of a count at least the interval.  The other cells change
as little as possible so that all totals still add up, in all tables of the plan together, and no
cell is negative.  A mixed integer program chooses for each primary cell whether it goes up or down:

    min  sum_i w_i |x_i - a_i|    M x = 0    x >= 0    x_p >= a_p + d_p  or  x_p <= a_p - d_p

With a minimum, no count is published between 0 and it.  Empty cells that may be shown stay empty;
those that are primary can but grow.

What a reader learns: that values are near to the true ones, and not which cells were moved.  Who
knows the rules, and computes back from the least change, is not considered; other tables of the
same rows are adjusted anew, so this is for one table, or a few linked ones.

Source: Castro, "Minimum-distance controlled perturbation methods for large-scale tabular data
protection" (European Journal of Operational Research 171, 2006), section 2; Dandekar and Cox,
"Synthetic tabular data" (2002).  The minimum for published counts is ours.

Cost: for each measure one integer program of three variables a cell, and one of 0 or 1 for each
primary one; stopped after a number of nodes, not of seconds.

**Cell keys**: noise for counts that is the same wherever the same persons are counted.

Each person has a **record key**, 64 bits that a keyed function of a secret file makes of the
person's name.  The **cell key** of a cell is the sum of the record keys of its persons modulo
2**64: uniform, and the same in every table that counts the same persons.  Noise is looked up by the
count and the cell key in a **perturbation table**: so no average over tables takes it off, and a
zero stays a zero.

For each count the distribution of the noise is the one of **maximum entropy** among those with mean
0, the variance that is asked for, at most ``maximum`` either way, that make no count negative and
none that lies between 0 and ``minimum``.  It is p_v = exp(a v + b v^2) / Z, of which a and b are
found from the convex dual.  A count so small that this variance cannot be had with mean 0 gets the
nearest variance that can.

What it does not keep: **tables no longer add up**, each cell has noise of its own; and two tables
that differ by one person differ by the noise of two independent cells, not by one.  Whoever has the
secret takes the noise off.

Source: Fraser and Wooton, "A proposed method for confidentialising tabular output to protect
against differencing" (UNECE work session, 2005); Giessing, "Computational issues in the design of
transition probabilities and disclosure risk estimation for additive noise" (PSD 2016).  Keys are
summed modulo 2**64 here, and record keys are not stored but made again from the secret.

Cost: linear in cells; one convex program of two variables for each count up to ``maximum`` +
``minimum``.

**Controlled rounding**: every count a multiple of a base, and all totals exactly additive.

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

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp, minimize
from scipy.sparse import csr_matrix, hstack, identity, vstack
from scipy.special import logsumexp

from voile.schema.tabulation import CellAdjustment, CellPerturbation
from voile.tabular.attacker import CellSystem, FeasibilityIntervals, PriorBounds, among_shown
from voile.tabular.counting import CellMeasure, PrivateCells
from voile.tabular.primary import MeasureProtection, PrimaryCells
from voile.tabular.system import Indices, LinkedSystem
from voile_base.errors import InfeasibleError
from voile_base.ondemand import dataclass

__all__ = [
    "MOST_ATTACKED",
    "AdjustedCells",
    "PerturbationTable",
    "RoundedCounts",
    "narrowed",
]

_GAP = 0.01
"""A table that is within this share of the least change is taken."""
_FAR = 8
"""A cell moves by at most this many times the largest distance in all, and what it is itself."""

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AdjustedCells:
    """Tables near to the true ones; private but for their values."""

    values: tuple[Indices, ...]
    """Of each measure, shape (cells,), in its unit."""
    moved: int
    """Cells that changed in some measure."""
    change: float
    """The mean change of a cell that is not 0, in percent of its value."""

    @staticmethod
    def adjust(cells: PrivateCells, primary: PrimaryCells, plan: CellAdjustment) -> AdjustedCells:
        """The adjusted tables of a plan.

        Raises ``InfeasibleError`` where no additive table keeps all distances, or none was found.
        """
        clash = int((primary.forced & primary.cells).sum())
        if clash:
            msg = (
                f"[protection] publish forces {clash:,} cell{'s' * (clash > 1)} that must be moved "
                "by the plan's own rules; no table can do both. Narrow publish, or the rule"
            )
            raise InfeasibleError(msg)
        found = []
        for measure, protection in zip(cells.measures, primary.protections, strict=True):
            program = _program(cells, primary, plan, (measure, protection))
            constraints = among_shown(cells.system.constraints, measure.shown)
            found.append(_nearest(program, constraints, plan.nodes))
        differs = np.zeros(cells.system.cells, dtype=np.bool_)
        shares: list[Numbers] = []
        for values, measure in zip(found, cells.measures, strict=True):
            differs |= values != measure.values
            some = measure.values > 0
            shares.append(np.abs(values - measure.values)[some] / measure.values[some])
        change = float(np.concatenate(shares).mean()) * 100 if any(map(len, shares)) else 0.0
        return AdjustedCells(tuple(found), int(differs.sum()), change)


@dataclass(frozen=True, eq=False)
class _Program:
    """One measure: what may change, and by how much what must."""

    values: Numbers
    below: Numbers
    """Shape (cells,): the distance that a primary cell goes down at least; infinite where it
    cannot."""
    above: Numbers
    primary: Indices
    fixed: Mask
    most_down: Numbers
    """Shape (cells,): how far each may go down."""
    weights: Numbers


def _program(
    cells: PrivateCells,
    primary: PrimaryCells,
    plan: CellAdjustment,
    of: tuple[CellMeasure, MeasureProtection],
) -> _Program:
    measure, protection = of
    values = measure.values.astype(np.float64)
    distance = np.ceil(np.maximum(protection.either_way, protection.width) - 1e-9)
    distance = np.where(primary.cells & measure.shown, np.maximum(distance, 1.0), 0.0)
    least = float(plan.minimum or 0) if measure.whole else 0.0
    floor = np.where((values >= least) & (values > 0), least, 0.0)
    above = np.maximum(distance, np.where(distance > 0, least - values, 0.0))
    below = np.where(values < least, values, np.minimum(distance, values))
    room = np.where(values < least, values, values - floor)
    below = np.where((distance > 0) & (values > 0) & (below <= room), below, np.inf)
    stays = (values == 0) & ~primary.cells
    weights = {
        "cells": np.ones(len(values)),
        "count": 1.0 / np.maximum(cells.units, 1),
        "value": 1.0 / np.maximum(values, 1.0),
    }[plan.cost]
    fixed = primary.forced | stays | ~measure.shown
    return _Program(values, below, above, np.flatnonzero(distance > 0), fixed, room, weights)


def _nearest(program: _Program, constraints: csr_matrix, nodes: int) -> Indices:
    """The nearest table; by variables up, down, and 0 or 1 for each primary cell that goes up."""
    size, places = len(program.values), program.primary
    number = len(places)
    if not number:
        return program.values.astype(np.int64)
    reach = program.above[places].max() * _FAR + program.values.max(initial=0)
    most_up = np.where(program.fixed, 0.0, reach)
    most_down = np.where(program.fixed, 0.0, program.most_down)
    down_possible = np.isfinite(program.below[places])
    most_down[places] = np.where(down_possible, program.most_down[places], 0.0)
    zeros = csr_matrix((constraints.shape[0], number))
    additive = hstack((constraints, -constraints, zeros))
    pick = csr_matrix((np.ones(number), (np.arange(number), places)), shape=(number, size))
    none, each = csr_matrix((number, size)), identity(number)
    below = np.where(down_possible, program.below[places], 0.0)
    above = program.above[places]
    rows = [
        # A cell that goes up does so by its distance at least, and does not go down.
        hstack((pick, none, each.multiply(-above[:, None]))),
        hstack((pick, none, each * -reach)),
        hstack((none, pick, each.multiply(below[:, None]))),
        hstack((none, pick, each.multiply(most_down[places][:, None]))),
    ]
    nothing, endless = np.zeros(number), np.full(number, np.inf)
    lower = np.concatenate((nothing, -endless, below, nothing))
    upper = np.concatenate((endless, nothing, endless, most_down[places]))
    sums = np.zeros(constraints.shape[0])
    result = milp(
        np.concatenate((program.weights, program.weights, np.zeros(number))),
        constraints=LinearConstraint(
            vstack((additive, *rows)).tocsr(),
            np.concatenate((sums, lower)),
            np.concatenate((sums, upper)),
        ),
        integrality=np.ones(2 * size + number),
        bounds=Bounds(
            np.concatenate((np.zeros(2 * size), (~down_possible).astype(np.float64))),
            np.concatenate((most_up, most_down, np.ones(number))),
        ),
        options={"node_limit": nodes, "mip_rel_gap": _GAP},
    )
    if result.x is None:
        raise InfeasibleError(_NONE)
    steps = np.rint(result.x[: 2 * size])
    found: Indices = (program.values + steps[:size] - steps[size:]).astype(np.int64)
    if not _kept(program, constraints, found):
        raise InfeasibleError(_NONE)
    return found


_NONE = (
    "no additive table was found in which every primary cell is moved by its distance; nothing is "
    "published. Force fewer cells, ask for a smaller margin or minimum, or publish coarser tables"
)


def _kept(program: _Program, constraints: csr_matrix, found: Indices) -> bool:
    """Whether a table has all that is asked, in whole numbers."""
    change = (found - program.values)[program.primary]
    up, down = program.above[program.primary], program.below[program.primary]
    return bool(
        ((change >= up) | (-change >= down)).all()
        and (found >= 0).all()
        and not (constraints @ found).any()
        and (found == program.values)[program.fixed].all()
    )


_EDGE = 1e-6
"""How near to the least or largest variance its distribution is taken itself."""


@dataclass(frozen=True, eq=False)
class PerturbationTable:
    """For each count, how probable each noise is; the last row is that of all larger counts."""

    maximum: int
    probabilities: Numbers
    """Shape (counts, 2 maximum + 1): of the noise from -maximum to maximum."""

    @classmethod
    def of(cls, plan: CellPerturbation) -> PerturbationTable:
        """The table of a plan; count 0 has no noise."""
        noise = np.arange(-plan.maximum, plan.maximum + 1)
        least = plan.minimum or 1
        rows = [(noise == 0).astype(np.float64)]
        for count in range(1, plan.maximum + least + 1):
            after = count + noise
            allowed = (after == 0) | (after >= least)
            rows.append(_least_informed(noise, allowed, float(plan.variance)))
        return cls(plan.maximum, np.array(rows))

    def noise(self, counts: Indices, keys: Indices) -> Indices:
        """Shape (cells,): the noise of counts by their cell keys."""
        row = np.minimum(counts, len(self.probabilities) - 1)
        uniform = keys.view(np.uint64).astype(np.float64) / 2.0**64
        ends = np.cumsum(self.probabilities, axis=1)[:, :-1]
        found: Indices = (uniform[:, None] >= ends[row]).sum(axis=1) - self.maximum
        # A sum of probabilities may miss 1 by rounding; what cannot be is not drawn.
        order = np.abs(found[:, None] - (np.arange(2 * self.maximum + 1) - self.maximum))
        possible = self.probabilities[row] > 0
        drawn: Indices = np.argmin(np.where(possible, order, 4 * self.maximum), axis=1)
        return drawn - self.maximum


def _least_informed(noise: Indices, allowed: NDArray[np.bool_], variance: float) -> Numbers:
    """The distribution of maximum entropy with mean 0 and a variance, as near as it can be had."""
    found = np.zeros(len(noise))
    values = noise[allowed].astype(np.float64)
    if not (values < 0).any() or not (values > 0).any():
        found[noise == 0] = 1.0
        return found
    below, above = values[values <= 0], values[values >= 0]
    narrow = _between(values, below.max(), above.min())
    wide = _between(values, below.min(), above.max())
    least, most = float(narrow @ values**2), float(wide @ values**2)
    if variance <= least + _EDGE:
        found[allowed] = narrow
    elif variance >= most - _EDGE:
        found[allowed] = wide
    else:
        found[allowed] = _exponential(values, variance)
    return found


def _between(values: Numbers, low: float, high: float) -> Numbers:
    """Mean 0 on two values, or on one that is 0."""
    share = 1.0 if high == low else high / (high - low)
    return np.where(values == low, share, np.where(values == high, 1.0 - share, 0.0))


def _exponential(values: Numbers, variance: float) -> Numbers:
    """Weights exp(a v + b v^2) / Z with mean 0 and the variance: the minimum of the convex dual."""
    scale = np.abs(values).max()
    moments = np.array([values / scale, (values / scale) ** 2])
    target = np.array([0.0, variance / scale**2])

    def dual(multipliers: Numbers) -> float:
        return float(logsumexp(multipliers @ moments) - multipliers @ target)

    def slope(multipliers: Numbers) -> Numbers:
        logits = multipliers @ moments
        gradient: Numbers = moments @ np.exp(logits - logsumexp(logits)) - target
        return gradient

    def curvature(multipliers: Numbers) -> Numbers:
        logits = multipliers @ moments
        weights = np.exp(logits - logsumexp(logits))
        mean = moments @ weights
        second: Numbers = (moments * weights) @ moments.T - np.outer(mean, mean)
        return second

    result = minimize(
        dual, np.zeros(2), jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-11}
    )
    multipliers: Numbers = result.x
    for _ in range(_NEWTON_STEPS):
        multipliers = multipliers - np.linalg.solve(curvature(multipliers), slope(multipliers))
    logits = multipliers @ moments
    weights: Numbers = np.exp(logits - logsumexp(logits))
    return weights


_NEWTON_STEPS = 3
"""Behind a minimum whose values differ in their last digits alone: each doubles the digits of the
multipliers, on any machine."""


_MOST_STEPS = 5
"""Multiples beyond the nearest ones that a cell may move."""
_NODES = 20_000
MOST_ATTACKED = 1_000
"""Cells of a system up to which intervals are looked at."""
_KNOWN = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class RoundedCounts:
    """Counts that were rounded."""

    values: Indices
    """Shape (cells,): multiples of the base."""
    reach: int
    """Each lies less than this from its count."""

    @staticmethod
    def round(system: LinkedSystem, counts: Indices, base: int) -> RoundedCounts:
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
            found = _nearest_multiples(constraints, counts / base, (least, most))
            if found is not None:
                return RoundedCounts(found * base, (steps + 1) * base)
        msg = (
            f"no rounding to multiples of {base} that adds up was found within {_MOST_STEPS} "
            "multiples of each count; publish fewer linked tables at once, or another base"
        )
        raise InfeasibleError(msg)


def _nearest_multiples(
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
