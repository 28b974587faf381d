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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.schema.tabulation import PrimaryRules
from voile.tabular.attacker import CellBound, CellSystem, PriorBounds, SystemPart, among_shown
from voile.tabular.counting import CellMeasure, PrivateCells
from voile.tabular.primary import (
    MeasureProtection,
    PrimaryCells,
    most_looked_at,
    needs_of_rules,
)
from voile.tabular.system import Indices

__all__ = [
    "DominatedUnion",
    "InsiderKnowledge",
    "NarrowedCell",
    "PatternAttack",
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
