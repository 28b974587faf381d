"""Primary cells: those whose own value says too much of somebody, and by how much to hide it.

Rules, of a cell with value X and largest contributions x1 >= x2 >= ...:

    minimum       fewer units than may be shown; empty cells too, unless zeros = "show"
    weighted      the same of the units of the population that they stand for
    dominance     (n, k): x1 + ... + xn > k % of X
    p             X - x1 - x2 < p % of x1: the second largest estimates the largest too closely
    pq            X - x1 - x2 < (p / q) of x1: everybody knows others to within q % beforehand
    whole group   all units of a group hold one value of a dimension
    by hand       the plan says so

How uncertain a primary cell must stay is its ``MeasureProtection``.  Of a sum it is what the rule
needs for the sum of all suppressed cells to be safe again: 100/k (x1 + ... + xn) - X for dominance,
p % of x1 - (X - x1 - x2) for p, and so for pq; by another rule, the plan's margin.  Of a count it
is the width of the interval.  The largest of the rules that a cell breaks counts, and no measure of
a primary cell can be known exactly.

Source: Hundepool and others, *Statistical Disclosure Control* (Wiley 2012), section 4.2 and table
4.9 (Loeve's protection levels).  Which rule a cell breaks is private.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile.schema.tabulation import CellPattern, PrimaryRules
from voile.tabular.counting import CellMeasure, PrivateCells
from voile.tabular.system import TOTAL, CellBlock, Indices, LinkedSystem, qualified
from voile_base.errors import PlanError, nearest
from voile_base.ondemand import dataclass

__all__ = [
    "MeasureProtection",
    "PrimaryCells",
    "most_looked_at",
    "needs_of_rules",
]

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MeasureProtection:
    """How uncertain a measure must stay in primary cells; 0 elsewhere.  In the measure's unit."""

    either_way: NDArray[np.float64]
    """Shape (cells,): the interval reaches this far above the value, and below it or to zero."""
    width: NDArray[np.float64]
    """Shape (cells,): the interval is at least so wide."""


@dataclass(frozen=True, eq=False)
class PrimaryCells:
    """Which cells are primary, by which rules, and how uncertain each must stay; private."""

    rules: Mapping[str, Mask]
    """For each rule that the plan has, the cells that break it; shape (cells,)."""
    protections: tuple[MeasureProtection, ...]
    """Of each measure."""
    forced: Mask
    """Shape (cells,): those that must be published."""

    @property
    def cells(self) -> Mask:
        """All primary cells; shape (cells,)."""
        found = np.zeros_like(self.forced)
        for broken in self.rules.values():
            found |= broken
        return found

    def rules_of(self, cell: int) -> tuple[str, ...]:
        """The rules that a cell breaks."""
        return tuple(rule for rule, broken in self.rules.items() if broken[cell])

    @staticmethod
    def find(cells: PrivateCells, plan: PrimaryRules) -> PrimaryCells:
        """The primary cells of a linked system.

        Raises ``PlanError`` for a pattern that fits no cell, or a column that is no dimension.
        """
        system = cells.system
        empty = cells.units == 0
        rules: dict[str, Mask] = {}
        if plan.minimum is not None:
            few = cells.units < plan.minimum
            rules["minimum"] = few & ~empty if plan.zeros == "show" else few
        if plan.minimum_weighted is not None:
            if cells.weighted is None:
                msg = "[protection] minimum_weighted needs a weight in [[tables]]"
                raise PlanError(msg)
            thin = cells.weighted < float(plan.minimum_weighted)
            rules["weighted minimum"] = thin & ~empty if plan.zeros == "show" else thin
        if plan.whole_groups:
            rules["whole group"] = _whole_groups(cells, plan.whole_groups)
        if plan.suppress:
            rules["by hand"] = _matching_cells(system, plan.suppress, "suppress")
        other = np.zeros(system.cells, dtype=np.bool_)
        for broken in rules.values():
            other |= broken
        margins = []
        for measure in cells.measures:
            margin = np.where(
                other & ~_counts_units(measure), measure.values * float(plan.margin), 0.0
            )
            margin /= 100
            for rule, needs in _of_contributors(measure, plan):
                rules[rule] = rules.get(rule, np.zeros(system.cells, dtype=np.bool_)) | (needs > 0)
                margin = np.maximum(margin, needs)
            margins.append(margin)
        primary = np.zeros(system.cells, dtype=np.bool_)
        for broken in rules.values():
            primary |= broken
        protections = tuple(
            MeasureProtection(
                margin,
                np.where(
                    primary & measure.shown, float(plan.interval if measure.whole else 1), 0.0
                ),
            )
            for margin, measure in zip(margins, cells.measures, strict=True)
        )
        forced = _matching_cells(system, plan.publish, "publish")
        return PrimaryCells(rules, protections, forced)


def _counts_units(measure: CellMeasure) -> bool:
    return measure.contributions is None


def _of_contributors(
    measure: CellMeasure, plan: PrimaryRules
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Each rule on contributors, and how far its cells must stay uncertain; 0 where none breaks."""
    if measure.contributions is None or not measure.ruled:
        return
    largest = measure.contributions.largest(most_looked_at(plan), len(measure.values))
    for rule, needs in needs_of_rules(measure.values, largest, plan):
        yield rule, np.where(measure.shown, needs, 0.0)


def most_looked_at(plan: PrimaryRules) -> int:
    """How many of the largest contributors the rules look at."""
    return max([2, *(n for n, _ in plan.dominance)])


def needs_of_rules(
    values: Indices, largest: Indices, plan: PrimaryRules
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Each rule on contributors, and by how much a sum must stay uncertain; 0 where none breaks.

    ``largest`` has the contributions to each sum, shape (sums, at least ``most_looked_at``).
    """
    total = values.astype(np.float64)
    safe = values == 0
    for n, percent in plan.dominance:
        top = largest[:, :n].sum(axis=1)
        share = Fraction(percent) / 100
        # Whole numbers, so that a cell at the limit is not over it.
        broken = top * share.denominator > values * share.numerator
        needs = np.maximum(top / float(share) - total, 1.0)
        yield f"dominance {n}, {percent}", np.where(broken & ~safe, needs, 0.0)
    ratios = {"p": None if plan.p is None else Fraction(plan.p) / 100}
    ratios["pq"] = None if plan.pq is None else Fraction(plan.pq[0]) / Fraction(plan.pq[1])
    for rule, ratio in ratios.items():
        if ratio is not None:
            rest = values - largest[:, 0] - largest[:, 1]
            broken = rest * ratio.denominator < largest[:, 0] * ratio.numerator
            needs = np.maximum(largest[:, 0] * float(ratio) - rest, 1.0)
            yield rule, np.where(broken & ~safe, needs, 0.0)


def _whole_groups(cells: PrivateCells, columns: tuple[str, ...]) -> Mask:
    """Cells that hold all units of the cell in which a dimension is not told apart."""
    system = cells.system
    labels = system.tabulation.labels
    found = np.zeros(system.cells, dtype=np.bool_)
    for column in columns:
        if column not in labels:
            msg = f"[protection] whole_groups names {column!r}, which is no column of a dimension"
            raise PlanError(f"{msg}{nearest(column, labels)}")
        for levels, block in system.blocks.items():
            above = system.blocks.get(tuple(level for level in levels if level != column))
            if column not in levels or above is None:
                continue
            group = _of_block(above, block)
            own = np.arange(block.start, block.start + block.size)
            found[own] |= (cells.units[own] > 0) & (cells.units[own] == cells.units[group])
    return found


def _of_block(above: CellBlock, block: CellBlock) -> Indices:
    """The cell of one block that each cell of a finer one belongs to."""
    if not above.levels:
        return np.full(block.size, above.start, dtype=np.int64)
    return above.cells(block.codes())


def _matching_cells(system: LinkedSystem, patterns: tuple[CellPattern, ...], key: str) -> Mask:
    """The cells that fit one of some patterns; raises ``PlanError`` for one that fits none."""
    found = np.zeros(system.cells, dtype=np.bool_)
    for number, pattern in enumerate(patterns, 1):
        fits = np.zeros(system.cells, dtype=np.bool_)
        columns = {name for table in system.tabulation.tables for name in table.columns}
        for name in pattern:
            if name not in columns and name not in system.tabulation.labels:
                msg = f"[protection] {key}[{number}] names {name!r}, which is no dimension"
                raise PlanError(f"{msg}{nearest(name, sorted(columns))}")
        for table in system.tabulation.tables:
            for choice in table.choices():
                block = system.block(choice)
                fitting = _fitting(system, dict(zip(table.columns, choice, strict=True)), pattern)
                if fitting is not None:
                    fits[block.start : block.start + block.size] |= fitting
        if not fits.any():
            msg = (
                f"[protection] {key}[{number}] fits no cell; name columns of dimensions with "
                f'values of theirs, or "{TOTAL}"'
            )
            raise PlanError(msg)
        found |= fits
    return found


def _fitting(
    system: LinkedSystem, chosen: Mapping[str, str | None], pattern: CellPattern
) -> Mask | None:
    """Which cells of a block fit a pattern; None where none can."""
    block = system.block(tuple(chosen.values()))
    codes = block.codes()
    fits = np.ones(block.size, dtype=np.bool_)
    for name, wanted in pattern.items():
        level = chosen.get(name, name)
        if level is None:
            if str(wanted) != TOTAL:
                return None
            continue
        if level not in codes:
            return None
        labels = system.tabulation.labels[level]
        text = str(wanted)
        named = [each for each in (text, qualified(level, text)) if each in labels]
        if not named:
            return None
        fits &= codes[level] == labels.index(named[0])
    return fits
