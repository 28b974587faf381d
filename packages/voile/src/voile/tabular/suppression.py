"""Secondary suppression: which further cells to hide so that primary ones stay uncertain.

**Exact.**  A pattern is a vector y of zeros and ones.  Of a primary cell that the attacker narrows
too far, the multipliers of his linear program prove

    sum over cells of c_j y_j >= needed

for every pattern that protects it, where c_j is how far cell j, if hidden, lets the cell move (his
reduced cost times the room that j has).  An integer program of least cost collects these cuts; its
pattern is attacked, which gives more of them, until the attack finds nothing.  The pattern is
then the least one, and the last program the proof.  Every program also demands that no constraint
has a single hidden cell, which no least pattern has.  Where whole numbers alone narrow a cell, the
cut says that something more must be hidden.  The search stops after a number of nodes, never of
seconds, so that the same input has the same pattern; its bound is told, and the heuristic's
pattern taken.

**Heuristic.**  For each cell that the attack narrows, a linear program looks for a cheap way
to move it as far as needed, and the cells that move are hidden; the attack is run again until it
finds nothing.  Hidden cells without which it still finds nothing are then published again.

Which is **infeasible** is proved by hiding all cells that may be hidden: more cannot be done.

Source: Fischetti and Salazar-Gonzalez (Management Science 47, 2001), sections 3 and 4; Kelly,
Golden and Assad, "Cell suppression: disclosure protection for sensitive tabular data" (Networks 22,
1992) for the heuristic.  Insiders and whole numbers are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix, hstack, vstack

from voile.schema.tabulation import CellSuppression
from voile.tabular.breaches import NarrowedCell, PatternAttack, ProvenBound
from voile.tabular.counting import PrivateCells
from voile.tabular.primary import PrimaryCells
from voile_base.errors import InfeasibleError

__all__ = ["SuppressionPattern", "suppress"]

_MOST_EXACT = 3_000
"""Cells up to which the exact search is the automatic choice."""
_MOST_TRIED = 300
"""Secondary cells up to which the heuristic tries to publish each again."""
_TINY = 1e-9
_MOVED = 1e-7

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class SuppressionPattern:
    """Which cells are hidden; that others are secondary is private."""

    suppressed: Mask
    """Shape (cells,)."""
    cost: int
    """Of the secondary cells."""
    bound: float
    """No pattern that protects the primary cells costs less."""
    search: str
    """"exact" where the cost was proved to be the least, or else "heuristic"."""

    @property
    def least(self) -> bool:
        """Whether no pattern is cheaper."""
        return self.cost <= self.bound


@dataclass(frozen=True, eq=False)
class _Candidates:
    """What may be hidden, and what that costs."""

    may: Mask
    must: Mask
    cost: Numbers
    """Shape (cells,): whole numbers, at least 1; 0 for primary cells."""
    preference: Numbers
    """Shape (cells,): less than 1 in all, and the more the coarser a cell: of patterns of one cost,
    one that hides fine cells is taken."""


def suppress(
    cells: PrivateCells,
    primary: PrimaryCells,
    plan: CellSuppression,
    progress: Progress = lambda stage: None,
) -> SuppressionPattern:
    """The pattern of a plan.

    Raises ``InfeasibleError`` where cells that must be published leave none that protects.
    """
    attack = PatternAttack(cells, primary)
    candidates = _candidates(cells, primary, plan)
    progress("attacking")
    _require_feasible(attack, candidates)
    exact = cells.system.cells <= _MOST_EXACT if plan.search == "auto" else plan.search == "exact"
    found, bound = _least(attack, candidates, plan.nodes, progress) if exact else (None, 0.0)
    search = "exact"
    if found is None:
        search = "heuristic"
        found = _heuristic(attack, candidates, progress)
    cost = round(float(candidates.cost[found].sum()))
    return SuppressionPattern(found, cost, cost if search == "exact" else bound, search)


def _candidates(cells: PrivateCells, primary: PrimaryCells, plan: CellSuppression) -> _Candidates:
    """Empty cells are known to be empty, unless empty ones say something; they help nobody."""
    must = primary.cells
    useful = (cells.units > 0) | bool(plan.whole_groups)
    if plan.cost == "cells":
        cost = np.ones(cells.system.cells)
    elif plan.cost == "count":
        cost = np.maximum(cells.units, 1).astype(np.float64)
    else:
        sums = [measure for measure in cells.measures if measure.contributions is not None]
        cost = np.maximum((sums or list(cells.measures))[0].values, 1).astype(np.float64)
    may = must | (useful & ~primary.forced)
    return _Candidates(may, must, np.where(must, 0.0, cost), _coarseness(cells) * ~must)


def _coarseness(cells: PrivateCells) -> Numbers:
    """For each cell how many levels are left out of those that a block has at most."""
    found = np.zeros(cells.system.cells)
    most = max(len(levels) for levels in cells.system.blocks)
    for levels, block in cells.system.blocks.items():
        found[block.start : block.start + block.size] = most - len(levels)
    return found / (most * (len(found) + 1))


def _require_feasible(attack: PatternAttack, candidates: _Candidates) -> None:
    clash = int((attack.primary.forced & candidates.must).sum())
    if clash:
        msg = (
            f"[protection] publish forces {clash:,} cell{'s' * (clash > 1)} that may not be shown "
            "by the plan's own rules; no pattern can do both. Narrow publish, or the rule"
        )
        raise InfeasibleError(msg)
    beyond = {breach.cell for breach in attack.breaches(candidates.may)}
    if beyond:
        forced = " with the cells that publish forces" if attack.primary.forced.any() else ""
        msg = (
            f"infeasible{forced}: even with every other cell suppressed, {len(beyond):,} primary "
            f"cell{'s' * (len(beyond) > 1)} can be narrowed to less than the protection interval. "
            "Force fewer cells, ask for a smaller interval or margin, or publish coarser tables"
        )
        raise InfeasibleError(msg)


# -- exact --------------------------------------------------------------------------------------


def _least(
    attack: PatternAttack, candidates: _Candidates, nodes: int, progress: Progress
) -> tuple[Mask | None, float]:
    """A pattern of least cost, and the cost; or None, and a bound, where the nodes are spent."""
    cuts, least = _bridges(attack.cells.system.constraints)
    bound = 0.0
    while True:
        progress(f"searching: {cuts.shape[0]:,} conditions, cost at least {bound:,.0f}")
        result = milp(
            candidates.cost + candidates.preference,
            constraints=LinearConstraint(cuts, least, np.inf),
            integrality=np.ones(len(candidates.cost)),
            bounds=Bounds(candidates.must.astype(float), candidates.may.astype(float)),
            options={"node_limit": nodes, "mip_rel_gap": 0.0},
        )
        if result.mip_dual_bound is not None and np.isfinite(result.mip_dual_bound):
            bound = max(bound, float(np.floor(result.mip_dual_bound + _MOVED)))
        if result.status != 0 or result.x is None:
            return None, bound
        nodes = max(nodes - int(result.mip_node_count or 0), 1)
        pattern = result.x > 0.5
        found = [_cut(attack, candidates, breach, pattern) for breach in attack.breaches(pattern)]
        if not found:
            return pattern, bound
        more = vstack([row for row, _ in found])
        cuts = vstack([cuts, more]).tocsr()
        least = np.concatenate((least, [needed for _, needed in found]))


def _bridges(constraints: csr_matrix) -> tuple[csr_matrix, Numbers]:
    """For each cell of each constraint: if it is hidden, another one is."""
    lengths = np.diff(constraints.indptr)
    rows = [
        (number, place) for number, length in enumerate(lengths.tolist()) for place in range(length)
    ]
    data, columns, indptr = [], [], [0]
    for number, place in rows:
        span = slice(constraints.indptr[number], constraints.indptr[number + 1])
        signs = np.ones(lengths[number])
        signs[place] = -1
        data.append(signs)
        columns.append(constraints.indices[span])
        indptr.append(indptr[-1] + len(signs))
    if not rows:
        return csr_matrix((0, constraints.shape[1])), np.zeros(0)
    entries = np.concatenate(data), np.concatenate(columns), np.array(indptr)
    return csr_matrix(entries, shape=(len(rows), constraints.shape[1])), np.zeros(len(rows))


def _cut(
    attack: PatternAttack, candidates: _Candidates, breach: NarrowedCell, pattern: Mask
) -> tuple[csr_matrix, float]:
    """What every pattern that protects a cell fulfils and this one does not."""
    if breach.bounds:
        reach = np.zeros(len(pattern))
        for proof in breach.bounds:
            reach += _reach(attack, breach, proof)
        reach = np.minimum(reach, breach.needed) / breach.needed
        reach[(reach < _TINY) | ~candidates.may] = 0.0
        if reach[pattern].sum() < 1 - _MOVED:
            return csr_matrix(reach), 1.0
    return csr_matrix((candidates.may & ~pattern).astype(float)), 1.0


def _reach(attack: PatternAttack, breach: NarrowedCell, proof: ProvenBound) -> Numbers:
    """How far each cell, if it is hidden, lets the cell of a breach move."""
    measure = attack.cells.measures[breach.measure]
    constraints = attack.constraints[breach.measure]
    reduced = -(constraints[proof.rows].T @ proof.duals)
    reduced[breach.cell] += proof.sign
    up, down = _room(attack, breach)
    found: Numbers = np.where(reduced > 0, reduced * up, -reduced * down)
    found[(np.abs(reduced) < _TINY) | ~measure.shown] = 0.0
    return found


def _room(attack: PatternAttack, breach: NarrowedCell) -> tuple[Numbers, Numbers]:
    """How far each cell can move up and down, as somebody sees it."""
    values = attack.cells.measures[breach.measure].values.astype(np.float64)
    knowledge = breach.knowledge
    most = 2 * values.max(initial=0) + 10 * breach.needed + 1
    up = np.where(np.isfinite(knowledge.upper), knowledge.upper - values, most)
    return np.minimum(up, most), values - knowledge.lower


# -- heuristic ----------------------------------------------------------------------------------


def _heuristic(attack: PatternAttack, candidates: _Candidates, progress: Progress) -> Mask:
    """A pattern that the attack does not break, without a proof that it is the least."""
    pattern = candidates.must.copy()
    while found := list(attack.breaches(pattern)):
        progress(f"repairing: {len(found):,} cells are narrowed, {int(pattern.sum()):,} hidden")
        hidden = int(pattern.sum())
        for breach in found:
            pattern |= _moving(attack, candidates, breach, pattern)
        if int(pattern.sum()) == hidden:
            pattern = candidates.may.copy()
    return _thinned(attack, candidates, pattern, progress)


def _moving(
    attack: PatternAttack, candidates: _Candidates, breach: NarrowedCell, pattern: Mask
) -> Mask:
    """The cells that move in the cheapest way to move a cell as far as needed, both ways."""
    constraints = attack.constraints[breach.measure]
    up, down = _room(attack, breach)
    free = candidates.may & attack.cells.measures[breach.measure].shown
    up, down = np.where(free, up, 0.0), np.where(free, down, 0.0)
    price = np.where(pattern, 0.0, candidates.cost + candidates.preference)
    moved = np.zeros(len(price), dtype=np.bool_)
    for sign, room in ((1, up), (-1, down)):
        needed = min(breach.needed, float(room[breach.cell]))
        if needed <= 0:
            continue
        low, high = np.zeros(2 * len(price)), np.concatenate((up, down))
        own, opposite = (breach.cell, breach.cell + len(price))[:: 1 if sign > 0 else -1]
        low[own] = high[own] = needed
        high[opposite] = 0.0
        result = linprog(
            # Cheaper by what a unit of the flow is worth, so that few cells carry much of it.
            np.concatenate((price, price)) / np.maximum(np.minimum(high, breach.needed), 1.0),
            A_eq=hstack([constraints, -constraints]),
            b_eq=np.zeros(constraints.shape[0]),
            bounds=np.column_stack((low, high)),
            method="highs-ds",
        )
        if result.status == 0:
            flow = result.x > _MOVED * max(1.0, breach.needed)
            moved |= flow[: len(price)] | flow[len(price) :]
    return moved


def _thinned(
    attack: PatternAttack, candidates: _Candidates, pattern: Mask, progress: Progress
) -> Mask:
    """The pattern without secondary cells that protect nobody, the dearest tried first."""
    secondary = np.flatnonzero(pattern & ~candidates.must)
    if len(secondary) > _MOST_TRIED:
        return pattern
    progress(f"publishing again what protects nothing, among {len(secondary):,} cells")
    price = candidates.cost + candidates.preference
    for cell in secondary[np.argsort(-price[secondary], kind="stable")].tolist():
        less = pattern.copy()
        less[cell] = False
        if next(attack.breaches(less), None) is None:
            pattern = less
    return pattern
