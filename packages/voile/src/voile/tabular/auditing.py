"""What a published table gives away: the attacker (``attacker``) on tables of anybody.

recomputable        suppressed cells that follow from published ones by sums and differences
    narrowed            suppressed cells whose interval is no wider than p % of its middle either
                        way, or, of a count, holds one value alone
    small               published counts of fewer units than a minimum
    contradictions      published cells that do not add up, or that no table can have

The attacker knows no more than the table and that nothing is negative.  With the private original
the truth is looked up: which published cells differ from it, and what the intervals leave of it.

Cost: that of the attacker; linear programs for at most ``_MOST_INTERVALS`` cells.

**Reconstruction**: which rows every set of rows has that agrees with tables of anybody.

Tables that are published together are counts of one set of rows.  Unknown is how many rows each
combination of the finest values has; published cells are sums of these.  A row is **determined** if
every set of rows that agrees has it: of a combination, as many rows as the least number that it can
have, found by an integer program.  Each program's solution is a set of rows that agrees, so that a
combination of which one of them has no rows needs no program of its own.

Source: Garfinkel, Abowd and Martindale, "Understanding database reconstruction attacks on public
data" (Communications of the ACM 62, 2019), who ask a SAT solver for one set of rows.

Cost: an integer program of c variables, for at most as many of the c combinations as have rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from voile.schema.plan import Plan, parse_plan
from voile.table.private import PrivateTable
from voile.tabular.attacker import (
    CellSystem,
    FeasibilityIntervals,
    NoTableError,
    PriorBounds,
    among_shown,
)
from voile.tabular.counting import PrivateCells, plan_of_rows
from voile.tabular.moves import CombinationGrid
from voile.tabular.published import ReleasedCells
from voile.tabular.recognised import RecognisedTable, is_total
from voile.tabular.system import TOTAL, Indices
from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.values import Json

__all__ = [
    "AuditRules",
    "CellFinding",
    "TableAudit",
    "audit_released",
    "determined_rows",
    "original_cells",
]

_MOST_COMBINATIONS = 2_000
_INFEASIBLE = 2


@dataclass(frozen=True, eq=False)
class _DeterminedRows:
    """What tables tell of the rows behind them."""

    rows: int
    """How many rows there are at least: those of any set that agrees."""
    least: Indices
    """Shape (combinations,): rows that each combination of finest values has at least."""

    @property
    def determined(self) -> int:
        """Rows that every set of rows has."""
        return int(self.least.sum())


def determined_rows(released: ReleasedCells, measure: str) -> _DeterminedRows | None:
    """The rows that published counts determine; None where there are too many combinations.

    Raises ``NoTableError`` where no rows agree with the tables.
    """
    grid = CombinationGrid.of_tabulation(released.system)
    if grid is None or grid.chosen.shape[1] > _MOST_COMBINATIONS:
        return None
    size = grid.chosen.shape[1]
    cells = grid.cells(grid.chosen)
    combination = np.repeat(np.arange(size), cells.shape[1])
    ones = np.ones(cells.size, dtype=np.int64)
    sums = csr_matrix(
        (ones, (cells.ravel(), combination)), shape=(released.system.cells, size), dtype=np.int64
    )
    known = released.shown[measure] & ~released.suppressed
    published = sums[np.flatnonzero(known)], released.values[measure][known]
    least = _solved(published, np.zeros(size))
    total = int(least.sum())
    open_ = np.flatnonzero(least)
    while len(open_):
        one = int(open_[0])
        goal = np.zeros(size)
        goal[one] = 1.0
        # Others that may have no rows are tried with it, for less than one of its own rows.
        goal[open_[1:]] = 0.5 / (1 + total * max(len(open_) - 1, 1))
        least = np.minimum(least, _solved(published, goal))
        open_ = open_[1:][least[open_[1:]] > 0]
    return _DeterminedRows(total, least)


def _solved(published: tuple[csr_matrix, Indices], goal: NDArray[np.float64]) -> Indices:
    """Shape (combinations,): the rows of a set that agrees, with the least goal."""
    matrix, values = published
    result = milp(
        goal,
        constraints=LinearConstraint(matrix, values, values),
        integrality=np.ones(len(goal)),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0.0},
    )
    if result.status == _INFEASIBLE or result.x is None:
        raise NoTableError
    found: Indices = np.rint(result.x).astype(np.int64)
    return found


_MOST_INTERVALS = 3_000
"""Suppressed cells of one table up to which all intervals are looked for."""
_KNOWN = 1 - 1e-6

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]
TextOf = Callable[[int], str]


@dataclass(frozen=True)
class AuditRules:
    """What counts as given away."""

    minimum: int = 3
    """Fewest units of a published count; a 0 is not small."""
    percent: float = 10.0
    """A cell is narrowed where its interval reaches no further than this from its middle."""
    outputs: int = 10
    """Fewest observations and degrees of freedom of a model, and units beside a quantile."""


@dataclass(frozen=True)
class CellFinding:
    """One cell and what is known of it."""

    kind: str
    """"recomputable", "narrowed", "small" or "open": a suppressed cell that stays uncertain."""
    cell: str
    """Its values."""
    lower: float
    upper: float | None
    """In the table's own unit; None where nothing bounds it."""
    truth: float | None = None
    """Its true value, where the original is there."""

    @property
    def discloses(self) -> bool:
        """Whether it is more than a suppressed cell that stays uncertain."""
        return self.kind != "open"

    def document(self) -> Json:
        """For JSON."""
        truth = {} if self.truth is None else {"truth": self.truth}
        return {"kind": self.kind, "cell": self.cell, "low": self.lower, "high": self.upper} | truth


@dataclass(frozen=True)
class TableAudit:
    """What one table, or one measure of it, gives away."""

    name: str
    cells: int
    suppressed: int
    findings: tuple[CellFinding, ...]
    """By cell."""
    contradictions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What was recognised, and what was not looked at."""

    def count(self, kind: str) -> int:
        """How many findings are of a kind."""
        return sum(one.kind == kind for one in self.findings)

    def document(self) -> Json:
        """For JSON."""
        return {
            "table": self.name,
            "cells": self.cells,
            "suppressed": self.suppressed,
            **{kind: self.count(kind) for kind in ("recomputable", "narrowed", "small")},
            "contradictions": list(self.contradictions),
            "findings": [one.document() for one in self.findings],
            "notes": list(self.notes),
        }

    @staticmethod
    def of_recognised(
        table: RecognisedTable, rules: AuditRules, original: PrivateCells | None = None
    ) -> TableAudit:
        """What a table of anybody gives away."""
        truth = None if original is None else _truth(table, original)
        unit = 10.0**-table.decimals
        of = _AuditedCells(table.name, table.system, table.knowledge, table.text_of, unit, truth)
        found = _audited(of, rules)
        notes = [
            f"{one.dimension}: {one.total!r} is the total of {_listed(one.parts)}"
            + (
                ""
                if one.rows
                else " (its label says so; suppressed cells leave no sum to check it)"
            )
            for one in table.relations
        ]
        if not table.relations:
            notes.append("no totals were recognised, so that nothing can be recomputed from sums")
        if table.no_sums:
            notes.append(
                f"{_listed(table.no_sums)}: by their labels no sums; they took no part in totals, "
                "and nobody looked at what they tell beside the counts that they are of"
            )
        if truth is not None:
            notes += _compared(table, truth, unit)
        contradictions = (*found.contradictions, *table.contradicted)
        return replace(found, contradictions=contradictions, notes=(*notes, *found.notes))


@dataclass(frozen=True, eq=False)
class _AuditedCells:
    """One measure of one system."""

    name: str
    system: CellSystem
    knowledge: PriorBounds
    text_of: TextOf
    unit: float = 1.0
    truth: Numbers | None = None
    """Shape (cells,): NaN where it is not known."""


def audit_released(cells: ReleasedCells, rules: AuditRules) -> tuple[TableAudit, ...]:
    """What a release of tables gives away, a measure each."""
    found = []
    text_of = _cell_texts(cells)
    for name, values in cells.values.items():
        shown = cells.shown[name]
        constraints = among_shown(cells.system.constraints, shown)
        hidden = cells.suppressed & shown
        system = CellSystem(constraints, values, hidden, cells.whole[name])
        known = PriorBounds.of_outsider(len(values))
        audit = _audited(_AuditedCells(name, system, known, text_of), rules)
        if cells.whole[name] and not audit.contradictions:
            audit = replace(audit, notes=(*audit.notes, *_reconstructed(cells, name)))
        found.append(audit)
    return tuple(found)


def _reconstructed(cells: ReleasedCells, name: str) -> Iterator[str]:
    """What all tables together tell of single rows."""
    try:
        found = determined_rows(cells, name)
    except NoTableError:
        return
    if found is not None and not cells.suppressed[cells.system.block(()).start]:
        yield (
            f"reconstruction: {found.determined:,} of {found.rows:,} rows stand in every set of "
            "rows that agrees with the tables, with all values of their dimensions"
        )


def _audited(cells: _AuditedCells, rules: AuditRules) -> TableAudit:
    """What one measure gives away."""
    system, unit = cells.system, cells.unit
    hidden = np.flatnonzero(system.suppressed)
    complete = (abs(system.constraints) @ system.suppressed.astype(np.int64)) == 0
    wrong = system.constraints[np.flatnonzero(complete)] @ system.values
    contradictions, notes = [], []
    if wrong.any():
        contradictions.append(f"{int(np.count_nonzero(wrong)):,} totals do not add up")
    exactly = set(system.recomputable().tolist())
    asked = hidden if len(hidden) <= _MOST_INTERVALS else np.array(sorted(exactly), dtype=np.int64)
    if len(asked) < len(hidden):
        notes.append(
            f"intervals of {len(hidden) - len(asked):,} suppressed cells were not looked for: the "
            f"table has more than {_MOST_INTERVALS:,}"
        )
    try:
        intervals = FeasibilityIntervals.of(system, asked, cells.knowledge)
    except NoTableError:
        contradictions.append("no table agrees with the published cells")
        intervals = FeasibilityIntervals(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    findings = []
    for cell, low, high in zip(
        intervals.cells.tolist(), intervals.lower, intervals.upper, strict=True
    ):
        kind = "recomputable" if cell in exactly else _kind(low, high, rules, whole=system.whole)
        ends = float(low) * unit + 0.0, float(high) * unit if np.isfinite(high) else None
        findings.append(CellFinding(kind, cells.text_of(cell), *ends, _true(cells, cell)))
    shown = ~system.suppressed & (system.values > 0) & (system.values < rules.minimum)
    for cell in np.flatnonzero(shown & system.whole).tolist():
        value = float(system.values[cell]) * unit
        text = cells.text_of(cell)
        findings.append(CellFinding("small", text, value, value, _true(cells, cell)))
    size = len(system.values), len(hidden)
    return TableAudit(cells.name, *size, tuple(findings), tuple(contradictions), tuple(notes))


def _kind(low: float, high: float, rules: AuditRules, *, whole: bool) -> str:
    if not np.isfinite(high):
        return "open"
    if whole and high - low < _KNOWN:
        return "narrowed"
    return "narrowed" if high - low <= rules.percent / 100 * (high + low) else "open"


def _true(cells: _AuditedCells, cell: int) -> float | None:
    if cells.truth is None or np.isnan(cells.truth[cell]):
        return None
    return float(cells.truth[cell])


def _listed(parts: tuple[str, ...]) -> str:
    more = f" and {len(parts) - 3:,} more" if len(parts) > 3 else ""
    return ", ".join(map(repr, parts[:3])) + more


def _cell_texts(cells: ReleasedCells) -> TextOf:
    """What to call each cell, by the first table that has it."""
    tabulation = cells.system.tabulation
    blocks = [
        (cells.system.block(choice), table.columns, choice)
        for table in tabulation.tables
        for choice in table.choices()
    ]
    blocks.sort(key=lambda one: one[0].start)

    def text(cell: int) -> str:
        block, columns, choice = next(one for one in reversed(blocks) if one[0].start <= cell)
        place = np.unravel_index(cell - block.start, block.shape) if block.shape else ()
        code = dict(zip(block.levels, place, strict=True))
        shown = (TOTAL if lv is None else tabulation.labels[lv][int(code[lv])] for lv in choice)
        return ", ".join(f"{name} = {it}" for name, it in zip(columns, shown, strict=True))

    return text


# -- against the original -------------------------------------------------------------------------


def original_cells(
    table: RecognisedTable, summed: str | None, opened: Callable[[Plan], PrivateTable]
) -> PrivateCells:
    """The cells of the rows that a table was made of: counts of rows, or sums of a column.

    ``opened`` gives the rows, bound to a plan.  Raises ``TableError`` where they lack a column of
    a dimension.
    """
    measure = {} if summed is None else {"sum": [summed]}
    tables = [{"dimensions": list(table.dimensions), **measure}]
    plan = parse_plan({"tables": tables, "protection": {"minimum": 1}})
    return PrivateCells.count(opened(plan_of_rows(plan)), plan.tables)


def _truth(table: RecognisedTable, original: PrivateCells) -> Numbers:
    """Shape (cells,): the true value of each, in the table's own unit; NaN where none is found."""
    system, (measure, *_) = original.system, original.measures
    (layout,) = system.tabulation.tables
    found = np.full(len(table.codes), np.nan)
    for cell, codes in enumerate(table.codes.tolist()):
        texts = [labels[code] for labels, code in zip(table.labels, codes, strict=True)]
        chosen: dict[str, Indices] = {}
        for levels, text in zip(layout.dimensions, texts, strict=True):
            level = next((one for one in levels if text in system.tabulation.labels[one]), None)
            if level is not None:
                code = system.tabulation.labels[level].index(text)
                chosen[level] = np.array([code], dtype=np.int64)
            elif not is_total(text):
                break
        else:
            block = system.block(tuple(chosen))
            at = int(block.cells(chosen)[0]) if chosen else block.start
            found[cell] = measure.values[at] / 10.0**measure.scale
    if np.isnan(found).all():
        msg = (
            f"{table.name}: none of its cells is one of the original; name its dimensions as the "
            "columns of the original are named, with --dimension"
        )
        raise TableError(msg)
    return found


def _compared(table: RecognisedTable, truth: Numbers, unit: float) -> list[str]:
    """How the published cells stand to the original."""
    shown = ~table.system.suppressed & ~np.isnan(truth)
    differing = shown & (np.abs(table.system.values * unit - truth) > unit / 2)
    notes = [
        f"{int(shown.sum()):,} published cells were found in the original; "
        f"{int(differing.sum()):,} differ from it"
    ]
    if unfound := int(np.isnan(truth).sum()):
        notes.append(f"{unfound:,} cells have no counterpart in the original")
    return notes
