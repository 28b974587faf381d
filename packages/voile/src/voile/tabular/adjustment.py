"""Controlled adjustment (CTA): the nearest additive table in which primary cells are moved.

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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix, hstack, identity, vstack

from voile.schema.tabulation import CellAdjustment
from voile.tabular.attacker import among_shown
from voile.tabular.counting import CellMeasure, PrivateCells
from voile.tabular.primary import MeasureProtection, PrimaryCells
from voile.tabular.system import Indices
from voile_base.errors import InfeasibleError

__all__ = ["AdjustedCells", "adjust"]

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


def adjust(cells: PrivateCells, primary: PrimaryCells, plan: CellAdjustment) -> AdjustedCells:
    """The adjusted tables of a plan.

    Raises ``InfeasibleError`` where no additive table keeps all distances, or none was found.
    """
    clash = int((primary.forced & primary.cells).sum())
    if clash:
        msg = (
            f"[protection] publish forces {clash:,} cell{'s' * (clash > 1)} that must be moved by "
            "the plan's own rules; no table can do both. Narrow publish, or the rule"
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
