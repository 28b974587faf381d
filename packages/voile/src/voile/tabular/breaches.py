"""Whether a pattern of suppressed cells keeps what is promised of primary ones.

A pattern keeps its promise if, to an outsider and to every **insider**, the interval of each
primary cell (``attacker``) reaches as far as its protection asks.  An insider contributes to cells:

- of a sum, the largest contributor of a suppressed cell knows that every cell is at least what he
  adds to it, and one in which he is alone exactly (the "singleton problem").  What is promised of
  cells in which he is the largest is not asked for against him;
- of a count of rows, whoever is the only one of a suppressed cell knows that it is at least 1.

Who shares a cell with others and knows his own part of it is in the protection of the cell itself
(p %, pq, dominance).

Cost: two linear programs for each primary cell, and two more for each insider of its part who knows
that the values at which the outsider ends cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.tabular.attacker import CellBound, CellSystem, PriorBounds, SystemPart, among_shown
from voile.tabular.counting import CellMeasure, PrivateCells
from voile.tabular.primary import MeasureProtection, PrimaryCells
from voile.tabular.system import Indices

__all__ = ["NarrowedCell", "PatternAttack", "ProvenBound"]

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
                for knowledge, exempt in self._insiders(measure, part):
                    for cell in wanted[~exempt[wanted]].tolist():
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

    def _insiders(
        self, measure: CellMeasure, part: SystemPart
    ) -> Iterator[tuple[PriorBounds, Mask]]:
        """What the insiders of a part know, and of which cells nothing is promised to them."""
        size = len(measure.values)
        of = measure.contributions
        if of is None:
            for cell in part.cells[measure.values[part.cells] == 1].tolist():
                lower, own = np.zeros(size), np.zeros(size, dtype=np.bool_)
                lower[cell], own[cell] = 1.0, True
                yield PriorBounds(lower, np.full(size, np.inf), "the only one of a cell"), own
            return
        first = np.searchsorted(of.cell, part.cells)
        last = np.searchsorted(of.cell, part.cells, side="right")
        top = first[last > first]
        for who in np.unique(of.who[top]).tolist():
            if who >= 0:
                yield _of_contributor(measure, of.who == who)
            else:
                for entry in top[of.who[top] == who].tolist():
                    yield _of_contributor(measure, np.arange(len(of.who)) == entry)


def _agree(part: SystemPart, ends: tuple[CellBound, ...], knowledge: PriorBounds) -> bool:
    """Whether what somebody knows leaves the values possible at which the outsider ends."""
    lower, upper = knowledge.lower[part.cells], knowledge.upper[part.cells]
    return all(
        end.point is not None
        and bool((end.point >= lower - _SLACK).all() and (end.point <= upper + _SLACK).all())
        for end in ends
    )


def _of_contributor(measure: CellMeasure, his: Mask) -> tuple[PriorBounds, Mask]:
    """What a contributor knows, and the cells in which he is the largest."""
    of = measure.contributions
    assert of is not None
    size = len(measure.values)
    lower, upper = np.zeros(size), np.full(size, np.inf)
    lower[of.cell[his]] = of.value[his]
    entries = np.bincount(of.cell, weights=of.times, minlength=size)
    his_cells = of.cell[his]
    alone = his_cells[entries[his_cells] == 1]
    upper[alone] = measure.values[alone]
    largest = np.zeros(size, dtype=np.bool_)
    largest[his_cells] = np.flatnonzero(his) == np.searchsorted(of.cell, his_cells)
    return PriorBounds(lower, upper, "the largest contributor of a cell"), largest


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
