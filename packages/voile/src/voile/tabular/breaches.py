"""Whether a pattern of suppressed cells keeps what is promised of primary ones.

A pattern keeps its promise if, to an outsider and to every **insider**, the interval of each
primary cell (``attacker``) reaches as far as its protection asks.  An insider contributes to cells:

- of a sum, the largest contributor of a suppressed cell knows that every cell is at least what he
  adds to it, and one in which he is alone exactly (the "singleton problem").  What is promised of
  cells in which he is the largest is not asked for against him;
- of a count of rows, whoever is the only one of a suppressed cell knows that it is at least 1.

Who shares a cell with others and knows his own part of it is in the protection of the cell itself
(p %, pq, dominance).

What the suppressed cells below a published one are together is known: the published one minus the
others.  So this **union** must keep the rules on contributors like a cell, in which a contributor
of several of them is one (``dominated_unions``).

Cost: two linear programs for each primary cell, and two more for each insider of its part who knows
that the values at which the outsider ends cannot be.

**Proofs by alternative tables**, where that is too much.

An attacker with linear programs (``breaches``) finds out how far each cell can be narrowed, which
takes two programs over all suppressed cells for each primary one.  Of large tables the contrary is
proved instead: that a cell **cannot** be narrowed, by alternative tables (``moves``) which agree
with all that is published.  To somebody who knows more than an outsider, an alternative counts only
if what it says of his own cells can be.  So a primary cell is proved if, for what its protection
asks, there is such a table to an outsider, and one to each insider of its system.

What a proof says is exact: ``verified`` adds each table up again in whole numbers, and believes
nothing of the search.  What it does not say is not known to be disclosed; but it is not published.

Cost: memory and time in the number of cells that all alternatives change, and of those among them
of which insiders know something.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from voile.schema.tabulation import PrimaryRules
from voile.tabular.attacker import CellBound, CellSystem, PriorBounds, SystemPart, among_shown
from voile.tabular.counting import CellMeasure, PrivateCells
from voile.tabular.moves import CellMove, ChangeBounds, MoveRequest
from voile.tabular.primary import MeasureProtection, PrimaryCells, most_looked_at, needs_of_rules
from voile.tabular.system import Indices
from voile_base.ondemand import dataclass

__all__ = [
    "DominatedUnion",
    "InsiderKnowledge",
    "MeasureProof",
    "NarrowedCell",
    "OpenDemand",
    "PatternAttack",
    "PatternProof",
    "ProvenBound",
    "dominated_unions",
]

Mask = NDArray[np.bool_]
_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class ProvenBound:
    """How far somebody narrows a cell in one direction, and why he cannot be kept further off."""

    sign: int
    """1: upwards, -1: downwards."""
    rows: Indices
    """Shape (r,): constraints."""
    duals: NDArray[np.float64]
    """Shape (r,): their multipliers."""


@dataclass(frozen=True, eq=False)
class NarrowedCell:
    """A primary cell that somebody narrows too far."""

    measure: int
    cell: int
    needed: float
    """How far the interval should reach, over all of ``bounds``."""
    bounds: tuple[ProvenBound, ...]
    """Empty where whole numbers alone narrow it."""
    knowledge: PriorBounds
    short: float
    """By how much it falls short."""


@dataclass(frozen=True, eq=False)
class InsiderKnowledge:
    """What the insiders of some suppressed cells know of cells; sparse."""

    of_cell: Indices
    """Shape (cells,): the largest contributor of each suppressed cell, or its only unit; -1 for
    none.  Nothing is promised to him of that cell."""
    insider: Indices
    """Shape (e,), by cell: who knows something."""
    cell: Indices
    """Shape (e,): of which cell."""
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    """Shape (e,): infinite where he only knows what he adds himself."""
    number: int

    @classmethod
    def of(cls, measure: CellMeasure, suppressed: Mask) -> InsiderKnowledge:
        """The insiders of suppressed cells."""
        of, size = measure.contributions, len(measure.values)
        of_cell = np.full(size, -1, dtype=np.int64)
        if of is None:
            cells = np.flatnonzero(suppressed & (measure.values == 1))
            of_cell[cells] = np.arange(len(cells))
            ones = np.ones(len(cells))
            return cls(of_cell, of_cell[cells], cells, ones, np.inf * ones, len(cells))
        hidden = np.flatnonzero(suppressed)
        first = np.searchsorted(of.cell, hidden)
        first = first[first < np.searchsorted(of.cell, hidden, side="right")]
        # Where none is named, each entry is another contributor, beyond those who are.
        who = np.where(of.who < 0, of.who.max(initial=0) + 1 + np.arange(len(of.who)), of.who)
        names, at = np.unique(who[first], return_inverse=True)
        of_cell[of.cell[first]] = at
        entries = np.flatnonzero(np.isin(who, names))
        cell = of.cell[entries]
        alone = np.bincount(of.cell, weights=of.respondents, minlength=size)[cell] == 1
        upper = np.where(alone, measure.values[cell].astype(np.float64), np.inf)
        lower = of.added[entries].astype(np.float64)
        insider = np.searchsorted(names, who[entries])
        return cls(of_cell, insider, cell, lower, upper, len(names))

    def bounds(self, measure: CellMeasure, insider: int) -> PriorBounds:
        """What one of them knows, of all cells."""
        size, his = len(measure.values), self.insider == insider
        lower, upper = np.zeros(size), np.full(size, np.inf)
        lower[self.cell[his]], upper[self.cell[his]] = self.lower[his], self.upper[his]
        who = "the largest contributor of a cell" if measure.contributions else "the only unit"
        return PriorBounds(lower, upper, who)


class PatternAttack:
    """Attacks on patterns of one linked system, by outsiders and insiders."""

    def __init__(self, cells: PrivateCells, primary: PrimaryCells) -> None:
        self.cells, self.primary = cells, primary
        self.constraints = tuple(
            among_shown(cells.system.constraints, measure.shown) for measure in cells.measures
        )

    def breaches(self, suppressed: Mask) -> Iterator[NarrowedCell]:
        """What the pattern does not keep, by measure, part and cell."""
        asked = self.primary.cells
        for number, measure in enumerate(self.cells.measures):
            protection = self.primary.protections[number]
            for part in self.system(number, suppressed).parts():
                wanted = part.cells[asked[part.cells] & measure.shown[part.cells]]
                if not len(wanted):
                    continue
                outside = PriorBounds.of_outsider(len(measure.values))
                ends: dict[int, tuple[CellBound, CellBound]] = {}
                for cell in wanted.tolist():
                    ends[cell] = part.bound(cell, 1, outside), part.bound(cell, -1, outside)
                    yield from _narrowed(
                        number, measure, protection, part, cell, outside, ends[cell]
                    )
                hidden = np.zeros(len(measure.values), dtype=np.bool_)
                hidden[part.cells] = True
                insiders = InsiderKnowledge.of(measure, hidden)
                for insider in range(insiders.number):
                    knowledge = insiders.bounds(measure, insider)
                    for cell in wanted[insiders.of_cell[wanted] != insider].tolist():
                        if not _agree(part, ends[cell], knowledge):
                            bounds = tuple(part.bound(cell, sign, knowledge) for sign in (1, -1))
                            yield from _narrowed(
                                number, measure, protection, part, cell, knowledge, bounds
                            )

    def system(self, number: int, suppressed: Mask) -> CellSystem:
        """One measure as the attacker sees it."""
        measure = self.cells.measures[number]
        hidden = suppressed & measure.shown
        return CellSystem(self.constraints[number], measure.values, hidden, measure.whole)


@dataclass(frozen=True, eq=False)
class DominatedUnion:
    """Suppressed cells whose known sum breaks a rule on contributors."""

    hidden: Indices
    """Those cells."""
    others: Indices
    """Published ones of their constraint: were one of them suppressed, it would be another sum."""


def dominated_unions(
    cells: PrivateCells, rules: PrimaryRules, primary: Mask, suppressed: Mask
) -> list[DominatedUnion]:
    """The unions of suppressed cells, of several below one published cell, that break a rule."""
    found: list[DominatedUnion] = []
    for measure in cells.measures if rules.of_contributors else ():
        of = measure.contributions
        if of is None or not measure.ruled:
            continue
        named = bool((of.who >= 0).all())
        constraints = among_shown(cells.system.constraints, measure.shown)
        most, rows = most_looked_at(rules), []
        values, largest = [], []
        for row in range(constraints.shape[0]):
            span = slice(constraints.indptr[row], constraints.indptr[row + 1])
            of_row, signs = constraints.indices[span].astype(np.int64), constraints.data[span]
            hidden = of_row[suppressed[of_row]]
            if len(hidden) < 2 or suppressed[of_row[signs > 0]].any() or not primary[hidden].any():
                continue
            entries = np.concatenate(
                [np.arange(*np.searchsorted(of.cell, [cell, cell + 1])) for cell in hidden.tolist()]
            )
            rows.append(DominatedUnion(hidden, of_row[~suppressed[of_row]]))
            values.append(int(measure.values[hidden].sum()))
            times = np.minimum(of.times[entries], most)
            if named:
                _, at = np.unique(of.who[entries], return_inverse=True)
                each = np.zeros(at.max(initial=-1) + 1, dtype=np.int64)
                number = np.zeros_like(each)
                np.add.at(each, at, of.value[entries])
                np.maximum.at(number, at, times)
                pool = np.repeat(each, number)
            else:
                pool = np.repeat(of.value[entries], times)
            top = np.zeros(most, dtype=np.int64)
            ordered = np.sort(pool)[::-1][:most]
            top[: len(ordered)] = ordered
            largest.append(top)
        if rows:
            broken = np.zeros(len(rows), dtype=np.bool_)
            for _, needs in needs_of_rules(np.array(values), np.array(largest), rules):
                broken |= needs > 0
            found += [rows[place] for place in np.flatnonzero(broken)]
    return found


def _agree(part: SystemPart, ends: tuple[CellBound, ...], knowledge: PriorBounds) -> bool:
    """Whether what somebody knows leaves the values possible at which the outsider ends."""
    lower, upper = knowledge.lower[part.cells], knowledge.upper[part.cells]
    return all(
        end.point is not None
        and bool((end.point >= lower - _SLACK).all() and (end.point <= upper + _SLACK).all())
        for end in ends
    )


def _narrowed(
    number: int,
    measure: CellMeasure,
    protection: MeasureProtection,
    part: SystemPart,
    cell: int,
    knowledge: PriorBounds,
    ends: tuple[CellBound, ...],
) -> Iterator[NarrowedCell]:
    """How a cell is narrowed too far by somebody."""
    value = float(measure.values[cell])
    above, width = float(protection.either_way[cell]), float(protection.width[cell])
    below = min(above, value - float(knowledge.lower[cell]))
    if above == width == 0:
        return
    slack = _SLACK * max(1.0, value)
    bounds = dict(zip((1, -1), ends, strict=True))
    reach = {sign: sign * (bound.value - value) for sign, bound in bounds.items()}
    for sign, needed in ((1, above), (-1, below)):
        if reach[sign] < needed - slack:
            proof = _proof(sign, part, bounds[sign])
            yield NarrowedCell(number, cell, needed, proof, knowledge, needed - reach[sign])
    if sum(reach.values()) < width - slack:
        proof = tuple(one for sign in (1, -1) for one in _proof(sign, part, bounds[sign]))
        yield NarrowedCell(number, cell, width, proof, knowledge, width - sum(reach.values()))
    elif part.whole and not all(bound.at_whole_numbers for bound in bounds.values()):
        whole = {sign: sign * (part.whole_bound(cell, sign, knowledge) - value) for sign in (1, -1)}
        short = max(width - sum(whole.values()), above - whole[1], below - whole[-1])
        if short > slack:
            yield NarrowedCell(number, cell, width, (), knowledge, short)


def _proof(sign: int, part: SystemPart, bound: CellBound) -> tuple[ProvenBound, ...]:
    return (ProvenBound(sign, part.rows, bound.duals),) if bound.duals is not None else ()


Numbers = NDArray[np.float64]

UP, DOWN, EITHER = range(3)


@dataclass(frozen=True)
class OpenDemand:
    """What no alternative proves yet: that a cell can move, to some insiders or to outsiders."""

    kind: int
    cell: int
    insiders: tuple[int, ...]
    """Empty: to an outsider."""


@dataclass(frozen=True, eq=False)
class _Demands:
    """How far each cell must be able to move: up, down, either way; 0 where nothing is asked."""

    amounts: Indices
    """Shape (3, cells), in the measure's unit."""

    @classmethod
    def of(cls, measure: CellMeasure, protection: MeasureProtection) -> _Demands:
        """Whole numbers that ask for no less than a protection does."""
        above = np.ceil(protection.either_way - _SLACK).astype(np.int64)
        width = np.ceil(protection.width - _SLACK).astype(np.int64)
        below = np.minimum(above, measure.values)
        return cls(np.array([above, below, np.where(width > above, width, 0)]))

    def met_by(self, move: CellMove) -> Mask:
        """Shape (3, cells of the move): what a move shows to an outsider."""
        asked, change = self.amounts[:, move.cells], move.change
        return (asked > 0) & (np.array([change, -change, np.abs(change)]) >= asked)


class MeasureProof:
    """The alternatives of one measure, and what is not proved yet."""

    def __init__(
        self, measure: CellMeasure, protection: MeasureProtection, constraints: csr_matrix
    ) -> None:
        self.measure, self._protection, self._constraints = measure, protection, constraints
        self._demands = _Demands.of(measure, protection)
        self.met: Mask = self._demands.amounts == 0
        """Shape (3, cells): what is proved to outsiders, or not asked."""
        self.growing: Numbers = (~self.met.all(axis=0) & (measure.values == 0)).astype(np.float64)
        """Shape (cells,): 1 for empty cells that nothing proves yet, which can but grow."""
        self.moves: list[CellMove] = []

    def add(self, move: CellMove) -> None:
        """One more alternative."""
        self.moves.append(move)
        self.met[:, move.cells] |= self._demands.met_by(move)
        self.growing[move.cells] *= ~self.met[:, move.cells].all(axis=0)

    def requests(
        self, demand: OpenDemand, knowledge: InsiderKnowledge | None = None
    ) -> list[MoveRequest]:
        """The moves that would prove it, the one to try first before the others."""
        cell, amount = demand.cell, int(self._demands.amounts[demand.kind, demand.cell])
        value = int(self.measure.values[cell])
        bounds = self.bounds(knowledge, demand.insiders)
        own = np.flatnonzero(bounds.cells == cell)
        room = int(-bounds.least[own[0]]) if len(own) else value
        ups = [MoveRequest(cell, 1, amount, bounds)]
        downs = [MoveRequest(cell, -1, min(amount, room), bounds)]
        if demand.kind == UP:
            return ups
        if demand.kind == DOWN:
            return downs
        return ups + downs * (room >= amount)

    def bounds(
        self, knowledge: InsiderKnowledge | None, insiders: tuple[int, ...] | None = None
    ) -> ChangeBounds:
        """How far cells may change to several insiders at once; None: to all."""
        if knowledge is None or insiders == ():
            return ChangeBounds.none()
        entries = np.arange(len(knowledge.cell))
        if insiders is not None:
            entries = np.flatnonzero(np.isin(knowledge.insider, insiders))
        cells, at = np.unique(knowledge.cell[entries], return_inverse=True)
        least, most = np.full(len(cells), -np.inf), np.full(len(cells), np.inf)
        values = self.measure.values[knowledge.cell[entries]]
        np.maximum.at(least, at, knowledge.lower[entries] - values)
        np.minimum.at(most, at, knowledge.upper[entries] - values)
        return ChangeBounds(cells, least, most)

    def amount(self, demands: Sequence[OpenDemand]) -> int:
        """The most that some demands ask of a cell."""
        return max(int(self._demands.amounts[each.kind, each.cell]) for each in demands)

    def lacking(self, knowledge: InsiderKnowledge | None = None) -> list[OpenDemand]:
        """What the alternatives do not prove, to outsiders and to insiders."""
        kinds, cells = np.nonzero(~self.met)
        found = [OpenDemand(k, c, ()) for k, c in zip(kinds.tolist(), cells.tolist(), strict=True)]
        if knowledge is None or not knowledge.number or not self.moves:
            return found
        kind, cell, insider = self._unproved(knowledge)
        pairs = zip(kind.tolist(), cell.tolist(), insider.tolist(), strict=True)
        of: dict[tuple[int, int], list[int]] = {}
        for one, at, who in pairs:
            of.setdefault((one, at), []).append(who)
        return found + [OpenDemand(one, at, tuple(who)) for (one, at), who in of.items()]

    def _unproved(self, knowledge: InsiderKnowledge) -> tuple[Indices, Indices, Indices]:
        """Kind, cell and insider to whom every table that convinces an outsider is impossible."""
        moves = _MoveTable.of(self.moves)
        impossible, barred = moves.impossible(self.measure, knowledge)
        size, insiders = len(self.measure.values), knowledge.number
        good = np.concatenate([self._demands.met_by(move) for move in self.moves], axis=1)
        kind, entry = np.nonzero(good)
        query, move = kind * size + moves.cell[entry], moves.move[entry]
        order = np.lexsort((move, barred[move], query))
        query, move = query[order], move[order]
        queries, first, number = np.unique(query, return_index=True, return_counts=True)
        # Pairs of a demand and an insider to whom its best table is impossible; each next table is
        # held against those that are left.
        pair, at = _spans(impossible // insiders, move[first])
        who = impossible[at] % insiders
        keep = knowledge.of_cell[queries[pair] % size] != who
        rank = 0
        while True:
            pair, who, rank = pair[keep], who[keep], rank + 1
            more = np.flatnonzero(number[pair] > rank)
            if not len(more):
                break
            tables = move[first[pair[more]] + rank]
            keep = np.ones(len(pair), dtype=np.bool_)
            keep[more] = _within(tables * insiders + who[more], impossible)
        kind, cell = queries[pair] // size, queries[pair] % size
        keep = ~self._asked_less(kind, cell, who, (knowledge, moves, impossible))
        return kind[keep], cell[keep], who[keep]

    def _asked_less(
        self,
        kind: Indices,
        cell: Indices,
        who: Indices,
        known: tuple[InsiderKnowledge, _MoveTable, Indices],
    ) -> Mask:
        """Where an insider knows a part of the cell, and what is asked beyond it is met."""
        knowledge, moves, impossible = known
        met = np.zeros(len(kind), dtype=np.bool_)
        for place in np.flatnonzero(kind == DOWN).tolist():
            at, insider = cell[place], who[place]
            span = slice(*np.searchsorted(knowledge.cell, [at, at + 1]))
            own = knowledge.lower[span][knowledge.insider[span] == insider]
            if len(own):
                room = int(self.measure.values[at] - own[0])
                amount = min(int(self._demands.amounts[DOWN, at]), room)
                enough = moves.move[(moves.cell == at) & (moves.change <= -amount)]
                barred = _within(enough * knowledge.number + insider, impossible)
                met[place] = amount <= 0 or not barred.all()
        return met

    def verified(self, suppressed: Mask) -> bool:
        """Whether every alternative agrees with what is published, and all that is asked is proved.

        In whole numbers, from the moves alone.
        """
        again = MeasureProof(self.measure, self._protection, self._constraints)
        values, hidden = self.measure.values, suppressed & self.measure.shown
        for move in self.moves:
            again.add(move)
            if not hidden[move.cells].all() or (values[move.cells] + move.change < 0).any():
                return False
        moves = _MoveTable.of(self.moves)
        shape = len(values), len(self.moves)
        changes = csr_matrix((moves.change, (moves.cell, moves.move)), shape=shape)
        if (self._constraints @ changes).count_nonzero():
            return False
        return not again.lacking(InsiderKnowledge.of(self.measure, hidden))

    def reach(self) -> tuple[Indices, Indices]:
        """Shape (cells,) each: the least and the largest change of each cell in any alternative."""
        moves, size = _MoveTable.of(self.moves), len(self.measure.values)
        least, most = np.zeros((2, size), dtype=np.int64)
        np.minimum.at(least, moves.cell, moves.change)
        np.maximum.at(most, moves.cell, moves.change)
        return least, most


@dataclass(frozen=True, eq=False)
class _MoveTable:
    """All moves, an entry for each cell that one changes."""

    move: Indices
    cell: Indices
    change: Indices
    number: int

    @classmethod
    def of(cls, moves: list[CellMove]) -> _MoveTable:
        empty = [np.zeros(0, dtype=np.int64)]
        lengths = [len(move.cells) for move in moves]
        return cls(
            np.repeat(np.arange(len(moves)), lengths),
            np.concatenate([move.cells for move in moves] or empty),
            np.concatenate([move.change for move in moves] or empty),
            len(moves),
        )

    def impossible(
        self, measure: CellMeasure, knowledge: InsiderKnowledge
    ) -> tuple[Indices, Indices]:
        """The pairs of a move and an insider who knows that it cannot be, and their number a move.

        A pair is the number ``move * insiders + insider``; ascending.
        """
        entry, at = _spans(knowledge.cell, self.cell)
        value = (measure.values[self.cell] + self.change)[entry]
        breaks = (value < knowledge.lower[at]) | (value > knowledge.upper[at])
        pairs = self.move[entry[breaks]] * knowledge.number + knowledge.insider[at[breaks]]
        found = np.unique(pairs)
        if not len(found):
            return found, np.zeros(self.number, dtype=np.int64)
        return found, np.bincount(found // knowledge.number, minlength=self.number)


def _spans(ascending: Indices, wanted: Indices) -> tuple[Indices, Indices]:
    """For each place of what is wanted, the places of the same number; as pairs."""
    start = np.searchsorted(ascending, wanted)
    lengths = np.searchsorted(ascending, wanted, side="right") - start
    of = np.repeat(np.arange(len(wanted)), lengths)
    return of, start[of] + np.arange(len(of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _within(wanted: Indices, ascending: Indices) -> Mask:
    if not len(ascending):
        return np.zeros(len(wanted), dtype=np.bool_)
    place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    found: Mask = ascending[place] == wanted
    return found


class PatternProof:
    """Alternatives to all measures of a system."""

    def __init__(self, cells: PrivateCells, primary: PrimaryCells) -> None:
        self.measures = tuple(
            MeasureProof(measure, protection, among_shown(cells.system.constraints, measure.shown))
            for measure, protection in zip(cells.measures, primary.protections, strict=True)
        )

    def verified(self, suppressed: Mask) -> bool:
        """Whether they prove, in whole numbers, that the pattern keeps its promise."""
        return all(proof.verified(suppressed) for proof in self.measures)
