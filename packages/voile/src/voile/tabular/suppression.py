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

**Heuristic**, for large tables.  For each primary cell that nothing proves to be open, coarse ones
first, the cheapest move that opens it is sought (``moves``), and the cells that move are hidden:
the alternative table is the proof, of this cell and of all others that move with it.  Insiders are
held against the proofs, and whom they do not bind gets a further one; that hides cells, which have
insiders, until nothing is lacking (``breaches``).  Of few secondary cells, those without which
a proof is found are published again.  Pattern and proof come into being together, and neither needs
a program over all cells.  Where a move is not found, or rounds are spent, no pattern is returned.

Where the exact search runs, or a thousand cells at most are protected, which is **infeasible** is
proved by hiding all cells that may be hidden: more cannot be done.

Source: Fischetti and Salazar-Gonzalez (Management Science 47, 2001), sections 3 and 4.
Insiders, whole numbers and the heuristic's proofs are ours; Kelly, Golden and Assad ("Cell
suppression: disclosure protection for sensitive tabular data", Networks 22, 1992) protect cells one
after the other, too, by programs over the whole table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix, vstack

from voile.schema.tabulation import CellSuppression
from voile.tabular.breaches import (
    DominatedUnion,
    InsiderKnowledge,
    MeasureProof,
    NarrowedCell,
    OpenDemand,
    PatternAttack,
    PatternProof,
    ProvenBound,
    dominated_unions,
)
from voile.tabular.counting import PrivateCells
from voile.tabular.moves import CellMove, CombinationGrid, MoveLimits, MoveSearch
from voile.tabular.primary import PrimaryCells
from voile_base.errors import InfeasibleError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = [
    "MOST_EXACT",
    "SuppressionPattern",
]

MOST_EXACT = 1_000
"""Cells up to which the exact search is the automatic choice."""
_MOST_TRIED = 60
"""Secondary cells up to which the heuristic tries to publish each again."""
_MOST_ROUNDS = 40
"""Of the heuristic: rounds of looking for what is not proved, and repairing it."""
_AT_ONCE = 300
"""Demands that are repaired in a round, at least."""
_MOST_SWEEPS = 8
"""Of a round, each for what those before it left."""
_WORTHWHILE = 0.7
"""A sweep that leaves more than this share is the last one of its round."""
_TINY = 1e-9
_MOVED = 1e-7

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]
Progress = Callable[[str], None]
Unions = Callable[[Mask], list[DominatedUnion]]


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
    proof: PatternProof | None = None
    """Of the heuristic: alternative tables that prove the pattern."""

    @property
    def least(self) -> bool:
        """Whether no pattern is cheaper."""
        return self.cost <= self.bound

    @staticmethod
    def find(
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
        _refuse_clash(primary, candidates)
        exact = (
            cells.system.cells <= MOST_EXACT if plan.search == "auto" else plan.search == "exact"
        )
        found, bound = None, 0.0
        if exact:
            progress("attacking")
            _require_feasible(attack, candidates)
            unions = partial(dominated_unions, cells, plan, primary.cells)
            found, bound = _least((attack, unions), candidates, plan.nodes, progress)
        if found is not None:
            cost = round(float(candidates.cost[found].sum()))
            return SuppressionPattern(found, cost, cost, "exact")
        grid = CombinationGrid(cells.system, cells.combinations)
        wider = candidates
        for _ in range(_MOST_ROUNDS):
            heuristic = _Heuristic(cells, primary, wider, grid)
            heuristic.run(progress)
            if heuristic.unproved:
                if cells.system.cells <= MOST_EXACT:
                    _require_feasible(attack, candidates)
                raise _not_found(len(heuristic.unproved))
            heuristic = heuristic.thinned(progress)
            dominated = dominated_unions(cells, plan, primary.cells, heuristic.pattern)
            if not dominated:
                break
            wider = _with_another(wider, dominated)
        else:
            raise _not_found(len(dominated))
        cost = round(float(candidates.cost[heuristic.pattern].sum()))
        return SuppressionPattern(heuristic.pattern, cost, bound, "heuristic", heuristic.proof)


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


def _with_another(candidates: _Candidates, dominated: Sequence[DominatedUnion]) -> _Candidates:
    """Candidates of which one more is hidden beside each union that breaks a rule."""
    must = candidates.must.copy()
    for union in dominated:
        open_cells = union.others[candidates.may[union.others]]
        if not len(open_cells):
            raise _not_found(len(dominated))
        if not must[open_cells].any():
            price = (candidates.cost + candidates.preference)[open_cells]
            must[open_cells[np.argmin(price)]] = True
    return replace(candidates, must=must)


def _not_found(number: int) -> InfeasibleError:
    msg = (
        f"no pattern was found that protects {number:,} of the primary cells; nothing is "
        "published. Force fewer cells, ask for a smaller interval or margin, or publish coarser "
        "tables"
    )
    return InfeasibleError(msg)


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


def _refuse_clash(primary: PrimaryCells, candidates: _Candidates) -> None:
    clash = int((primary.forced & candidates.must).sum())
    if clash:
        msg = (
            f"[protection] publish forces {clash:,} cell{'s' * (clash > 1)} that may not be shown "
            "by the plan's own rules; no pattern can do both. Narrow publish, or the rule"
        )
        raise InfeasibleError(msg)


def _require_feasible(attack: PatternAttack, candidates: _Candidates) -> None:
    beyond = {breach.cell for breach in attack.breaches(candidates.may)}
    if beyond:
        forced = " with the cells that publish forces" if attack.primary.forced.any() else ""
        msg = (
            f"infeasible{forced}: even with every other cell suppressed, {len(beyond):,} primary "
            f"cell{'s' * (len(beyond) > 1)} can be narrowed to less than the protection interval. "
            f"{_remedy(attack, beyond)}"
        )
        raise InfeasibleError(msg)


def _remedy(attack: PatternAttack, beyond: set[int]) -> str:
    remedy = "Force fewer cells, ask for a smaller interval or margin, or publish coarser tables"
    empty = sum(not attack.cells.units[cell] for cell in beyond)
    if not empty:
        return remedy
    are = "is" if empty == 1 else "are"
    return (
        f"{empty:,} of them {are} empty, which an only contributor of the cells beside knows: say "
        'zeros = "show" in [protection], which publishes empty cells. '
        f"Otherwise {remedy[0].lower()}{remedy[1:]}"
    )


# -- exact --------------------------------------------------------------------------------------


def _least(
    attackers: tuple[PatternAttack, Unions], candidates: _Candidates, nodes: int, progress: Progress
) -> tuple[Mask | None, float]:
    """A pattern of least cost, and the cost; or None, and a bound, where the nodes are spent."""
    attack, unions = attackers
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
        found += [_union_cut(union, len(pattern)) for union in unions(pattern)]
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


def _union_cut(union: DominatedUnion, cells: int) -> tuple[csr_matrix, float]:
    """Either one of the union is published, or another cell of its constraint is hidden."""
    row = np.zeros(cells)
    row[union.others], row[union.hidden] = 1.0, -1.0
    return csr_matrix(row), 1.0 - len(union.hidden)


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


class _Heuristic:
    """Hides what moves, until alternative tables prove the pattern."""

    def __init__(
        self,
        cells: PrivateCells,
        primary: PrimaryCells,
        candidates: _Candidates,
        grid: CombinationGrid,
    ) -> None:
        self._of, self._candidates, self._grid = (cells, primary), candidates, grid
        self.proof = PatternProof(cells, primary)
        self.pattern = candidates.must.copy()
        self._price = np.where(candidates.must, 0.0, candidates.cost + candidates.preference)
        order = np.lexsort((np.arange(len(self._price)), -_coarseness(cells)))
        self._rank = np.argsort(order, kind="stable")
        empty = bool((candidates.may & (cells.units == 0)).any())
        self._searches = [
            MoveSearch(
                grid,
                MoveLimits(each.finest, each.shown & ~candidates.may, each.shown, empty),
            )
            for each in cells.measures
        ]
        self.unproved: set[int] = set()
        """Cells for which no alternative was found."""

    def run(self, progress: Progress) -> None:
        """Repair until nothing is lacking, or something cannot be repaired, or rounds are spent."""
        for turn in range(_MOST_ROUNDS):
            lacking = 0
            for proof, search in zip(self.proof.measures, self._searches, strict=True):
                hidden = self.pattern & proof.measure.shown
                knowledge = InsiderKnowledge.of(proof.measure, hidden) if turn else None
                demands = self._swept(proof, search, knowledge, turn)
                lacking += len(demands)
                progress(f"round {turn + 1}: {len(demands):,} cells to protect")
                # The proof of one is often that of others, which is seen when they are counted.
                for demand in demands[: max(_AT_ONCE, len(demands) // 6)]:
                    self._repair(proof, search, demand, knowledge)
                if self.unproved:
                    return
            if turn and not lacking:
                return
        self.unproved = {each.cell for each in demands}

    def lacking(self) -> int:
        """How much the alternatives do not prove."""
        return sum(
            len(
                proof.lacking(
                    InsiderKnowledge.of(proof.measure, self.pattern & proof.measure.shown)
                )
            )
            for proof in self.proof.measures
        )

    def thinned(self, progress: Progress) -> _Heuristic:
        """Without secondary cells that are not needed, the dearest tried first."""
        best, candidates = self, self._candidates
        secondary = np.flatnonzero(self.pattern & ~candidates.must)
        if len(secondary) > _MOST_TRIED:
            return best
        progress(f"publishing again what protects nothing, among {len(secondary):,} cells")
        dear = candidates.cost + candidates.preference
        for cell in secondary[np.argsort(-dear[secondary], kind="stable")].tolist():
            less = best.pattern.copy()
            less[cell] = False
            trial = _Heuristic(*self._of, replace(candidates, may=less, must=less), self._grid)
            for proof, old in zip(trial.proof.measures, best.proof.measures, strict=True):
                for move in old.moves:
                    if cell not in move.cells:
                        proof.add(move)
            if trial.lacking() > _AT_ONCE:
                continue  # much is proved by its moves, and would have to be proved anew
            trial.run(lambda stage: None)
            if not trial.unproved:
                best = trial
        return best

    def _swept(
        self,
        proof: MeasureProof,
        search: MoveSearch,
        knowledge: InsiderKnowledge | None,
        turn: int,
    ) -> list[OpenDemand]:
        """What is still lacking, coarse cells first, when no sweep proves much more of it."""
        bounds = proof.bounds(knowledge)
        lacking = proof.lacking(knowledge)
        for number in range(_MOST_SWEEPS if turn and len(lacking) > _AT_ONCE else 0):
            worth = self._towards(proof, lacking, f"{turn}.{number}")
            move = search.sweep(self.pattern, bounds, worth, proof.amount(lacking))
            if move is None:
                continue
            proof.add(move)
            before, lacking = len(lacking), proof.lacking(knowledge)
            if len(lacking) > _WORTHWHILE * before:
                break
        return sorted(lacking, key=lambda demand: self._rank[demand.cell])

    def _towards(self, proof: MeasureProof, lacking: list[OpenDemand], which: str) -> Numbers:
        """Shape (cells,): what it is worth that cells grow, or shrink: a direction each."""
        cells = np.array([each.cell for each in lacking])
        words = Randomness.following("sweep", which).key("direction").stream(len(cells))
        up = (words >> np.uint64(63)).astype(np.bool_) | (proof.measure.values[cells] == 0)
        worth = np.zeros(len(self.pattern))
        worth[cells] = np.where(up, 1.0, -1.0)
        return worth

    def _repair(
        self,
        proof: MeasureProof,
        search: MoveSearch,
        demand: OpenDemand,
        knowledge: InsiderKnowledge | None,
    ) -> None:
        """One more alternative for what is lacking, unless one of its round came to prove it."""
        if not demand.insiders and proof.met[demand.kind, demand.cell]:
            return
        move = self._found(proof, search, demand, knowledge)
        if move is not None:
            self._take(proof, move)
            return
        for insider in demand.insiders if len(demand.insiders) > 1 else ():
            alone = OpenDemand(demand.kind, demand.cell, (insider,))
            move = self._found(proof, search, alone, knowledge)
            if move is None:
                break
            self._take(proof, move)
        if move is None:
            self.unproved.add(demand.cell)

    def _found(
        self,
        proof: MeasureProof,
        search: MoveSearch,
        demand: OpenDemand,
        knowledge: InsiderKnowledge | None,
    ) -> CellMove | None:
        growing = None if demand.insiders else proof.growing
        for request in proof.requests(demand, knowledge):
            move = search.move(replace(request, growing=growing), self._price)
            if move is not None:
                return move
        return None

    def _take(self, proof: MeasureProof, move: CellMove) -> None:
        proof.add(move)
        self.pattern[move.cells] = True
        self._price[move.cells] = 0.0
