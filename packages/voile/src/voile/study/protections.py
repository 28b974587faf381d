"""Protections of the same tables: with noise, as a release that is paid; and several, side by side.

Tables with ``kind = "differential-privacy"`` are a release of the method ``dp-tables``: it is
charged to the ledger before anything is drawn, checked and recounted like any other.

A **comparison** makes the same tables by several plans and publishes none of them.  For each cell
it has the true value beside what each protection would show; for each protection how much is shown,
how far it is from the truth, whether totals add up, and how many counts of few units it shows as
they are.  All of it is private, and no budget is spent, for nothing leaves.

**Exact tables** are judged against all that left a data set, and remembered: the ledger keeps them
(``ledger.budget``), ``tabular.output_memory`` judges.  A table is entered after it was judged and
before it is written: a crash in between leaves a ledger that knows of a table that nobody saw,
which is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from voile.ledger import Ledger
from voile.publish.registry import publisher_for
from voile.release.folder import READING
from voile.release.release import Publication
from voile.schema.plan import Plan
from voile.schema.tabulation import CellNoise
from voile.study.run import ReleaseStaging, prepare_release
from voile.table.engines import AUTO
from voile.table.lakes import brought
from voile.table.opening import open_frame, open_table
from voile.table.places import Address
from voile.table.protocol import Format
from voile.tabular.counting import PrivateCells, plan_of_noise, plan_of_rows
from voile.tabular.output_memory import OutputVerdict
from voile.tabular.published import STATUS, TABLE, columns_of_cells
from voile.tabular.publishing import make_tables
from voile.tabular.remembered import RememberedTable
from voile.tabular.system import TOTAL, qualified
from voile_base.durable import write_text
from voile_base.errors import InputError, LedgerError, PlanError, RefusedError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = [
    "ComparedProtection",
    "NoisyOutput",
    "OutputMemory",
    "ProtectionComparison",
    "compare_protections",
    "make_noisy_tables",
]

_FEW = 3
"""Counts below it are few units, where no plan says a minimum."""
_EPSILON = 1e-9
_MOST_LISTED = 3
"""Disclosed groups that a refusal names."""

Progress = Callable[[str], None]
Columns = Mapping[str, Sequence[Any]]
_Cell = tuple[tuple[str, str], ...]
"""The values that a cell chooses, by its dimensions; totals are left out."""


@dataclass(frozen=True)
class NoisyOutput:
    """How tables with noise leave."""

    file_format: Format | None = None
    render: Callable[[Columns, str], str | None] = lambda columns, promise: None
    """Draws the page of the columns and the promise."""


def make_noisy_tables(
    source: Any,
    plan: Plan,
    out: str | Path | None,
    output: NoisyOutput | None = None,
    *,
    ledger: str | Path | None = None,
    engine: str = AUTO,
    progress: Progress = lambda stage: None,
) -> Publication:
    """Make the tables of a plan with differentially private noise; ``out`` None writes nothing.

    ``ledger`` is charged as ``[budget]`` says.  Raises a ``VoileError``, and then nothing stands at
    ``out``, and the ledger is as it was but for what was charged before a draw.
    """
    output = output or NoisyOutput()
    plan.refuse_open_questions()
    assert isinstance(plan.protection, CellNoise)
    method = plan_of_noise(plan, plan.protection)
    try:
        publisher_for(method)
        staging = ReleaseStaging(out, "the tables", file_format=output.file_format, data="tables")
        with staging as stage, brought(source) as rows:
            pending = prepare_release(
                rows,
                method,
                stage,
                ledger=ledger,
                randomness=Randomness.secure(),
                engine=engine,
                progress=progress,
            )
            release = pending.publication.release
            columns = release.table.to_arrow().to_pydict()
            page = output.render(columns, release.guarantee.statement)

            def fill(folder: Path) -> None:
                if page is not None:
                    write_text(folder / READING, page)

            return pending.appear(stage, fill)
    except PlanError as error:
        raise PlanError(str(error).replace("[method]", "[protection]")) from None


# -- side by side ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComparedProtection:
    """What one protection leaves of the tables; private."""

    name: str
    """The kind of protection, and the plan's name where two are of one kind."""
    shown: float
    """The share of cells that show a value."""
    exact: float
    """The share of cells that show the true value."""
    mean_error: float
    """Of the values that are shown, in the measure's unit."""
    largest_error: float
    additive: bool
    """Whether all totals that are shown add up."""
    few_exact: int
    """Counts of few units, and more than none, that are shown as they are."""


@dataclass(frozen=True)
class _ComparedCell:
    """One cell: the truth, and what each protection shows; private."""

    table: str
    cell: str
    measure: str
    truth: float
    shown: tuple[str, ...]
    """Of each protection, as it reads; empty where nothing is shown."""


@dataclass(frozen=True)
class ProtectionComparison:
    """Protections of the same tables side by side; private."""

    protections: tuple[ComparedProtection, ...]
    cells: tuple[_ComparedCell, ...]
    few: int
    """Counts below it are few units."""

    def columns(self) -> Columns:
        """The cells as columns: the truth, and one for each protection."""
        names = [one.name for one in self.protections]
        found: dict[str, list[Any]] = {
            "table": [one.table for one in self.cells],
            "cell": [one.cell for one in self.cells],
            "measure": [one.measure for one in self.cells],
            "truth": [one.truth for one in self.cells],
        }
        for place, name in enumerate(names):
            found[name] = [one.shown[place] for one in self.cells]
        return found


@dataclass(frozen=True, eq=False)
class _Shown:
    """What a protection shows of each cell and measure: a value, and its text."""

    name: str
    values: Mapping[tuple[_Cell, str], float]
    texts: Mapping[tuple[_Cell, str], str]


def compare_protections(
    source: Any,
    plans: Sequence[Plan],
    *,
    engine: str = AUTO,
    progress: Progress = lambda stage: None,
) -> ProtectionComparison:
    """The tables of several plans beside the truth; nothing is published, charged or remembered.

    Raises ``InputError`` where the plans have different ``[[tables]]``, and what each would raise
    by itself.
    """
    first = plans[0]
    for plan in plans:
        plan.refuse_open_questions()
        if plan.tables != first.tables or plan.protection is None:
            msg = (
                f"{plan.source}: the plans that are compared have the same [[tables]] and a "
                "[protection] each; copy the plan, and change its [protection] alone"
            )
            raise InputError(msg)
    is_file = isinstance(source, str | Path | Address)
    progress("counting")
    rows = plan_of_rows(first)
    opened = (open_table if is_file else open_frame)(source, rows, engine=engine)
    cells = PrivateCells.count(opened, first.tables)
    names = _names(plans)
    found = []
    for plan, name in zip(plans, names, strict=True):
        progress(f"protecting by {name}")
        found.append(_shown_by(source, plan, name, engine, cells))
    few = max([_FEW, *(getattr(plan.protection, "minimum", None) or 0 for plan in plans)])
    return _compared(cells, found, few)


def _names(plans: Sequence[Plan]) -> list[str]:
    """The kind of each protection; with the plan's name, where a kind stands there twice."""
    kinds = [plan.protection.kind for plan in plans if plan.protection is not None]
    return [
        kind if kinds.count(kind) == 1 else f"{kind} ({Path(plan.source).stem})"
        for kind, plan in zip(kinds, plans, strict=True)
    ]


def _shown_by(source: Any, plan: Plan, name: str, engine: str, cells: PrivateCells) -> _Shown:
    if isinstance(plan.protection, CellNoise):
        unpaid = replace(plan, budget=None)
        release = make_noisy_tables(source, unpaid, None, engine=engine).release
        columns: Columns = release.table.to_arrow().to_pydict()
        names = {"count": "count"} | {
            f"sum({of.name})": of.name for of in cells.measures if f"sum({of.name})" in columns
        }
    else:
        columns = make_tables(source, plan, None, engine=engine).columns
        names = {of.name: of.name for of in cells.measures}
    values, texts = {}, {}
    for cell, row in zip(_keys(columns, cells), range(len(columns[TABLE])), strict=True):
        for column, measure in names.items():
            value = columns[column][row]
            if value is None:
                continue
            values[cell, measure] = float(value)
            low, high = (columns.get(f"{column}.{end}") for end in ("low", "high"))
            ends = "" if low is None or high is None else f" [{low[row]:,.0f}, {high[row]:,.0f}]"
            texts[cell, measure] = f"{float(value):,.10g}{ends}"
    return _Shown(name, values, texts)


def _keys(columns: Columns, cells: PrivateCells) -> list[_Cell]:
    """What each row of a file of tables is about; values of levels by their own name."""
    tabulation = cells.system.tabulation
    plain = {
        qualified(level, label): label
        for level in tabulation.labels
        for label in {text.removeprefix(f"{level}: ") for text in tabulation.labels[level]}
    }
    names = list(dict.fromkeys(name for table in tabulation.tables for name in table.columns))
    found = []
    for row in range(len(columns[TABLE])):
        shown = ((name, columns[name][row]) for name in names)
        chosen = [(name, it) for name, it in shown if it is not None and it != TOTAL]
        found.append(tuple(sorted((name, plain.get(str(it), str(it))) for name, it in chosen)))
    return found


def _compared(cells: PrivateCells, found: Sequence[_Shown], few: int) -> ProtectionComparison:
    nowhere = np.zeros(cells.system.cells, dtype=np.bool_)
    truth = columns_of_cells(cells, nowhere)
    keys = _keys(truth, cells)
    listed: list[_ComparedCell] = []
    entries: list[tuple[_Cell, str, float, bool]] = []
    for row, key in enumerate(keys):
        text = ", ".join(f"{name} = {it}" for name, it in key) or TOTAL
        for measure in cells.measures:
            value = truth[measure.name][row]
            if value is None:
                continue
            entries.append((key, measure.name, float(value), measure.whole))
            shown = tuple(one.texts.get((key, measure.name), "") for one in found)
            listed.append(_ComparedCell(truth[TABLE][row], text, measure.name, float(value), shown))
    protections = tuple(_judged(one, entries, few, (cells, truth, keys)) for one in found)
    return ProtectionComparison(protections, tuple(listed), few)


def _judged(
    one: _Shown,
    entries: Sequence[tuple[_Cell, str, float, bool]],
    few: int,
    of: tuple[PrivateCells, Columns, Sequence[_Cell]],
) -> ComparedProtection:
    known = [(one.values.get((key, name)), value, whole) for key, name, value, whole in entries]
    errors = np.array([abs(it - value) for it, value, _ in known if it is not None])
    exact = sum(it is not None and abs(it - value) < _EPSILON for it, value, _ in known)
    few_exact = sum(
        it is not None and whole and 0 < value < few and abs(it - value) < _EPSILON
        for it, value, whole in known
    )
    return ComparedProtection(
        one.name,
        len(errors) / len(entries),
        exact / len(entries),
        float(errors.mean()) if len(errors) else 0.0,
        float(errors.max()) if len(errors) else 0.0,
        _adds_up(one, of),
        few_exact,
    )


def _adds_up(one: _Shown, of: tuple[PrivateCells, Columns, Sequence[_Cell]]) -> bool:
    """Whether every constraint all of whose cells are shown holds, but for rounding."""
    cells, truth, keys = of
    system = cells.system
    blocks = (system.block(c) for t in system.tabulation.tables for c in t.choices())
    number = np.concatenate([np.arange(b.start, b.start + b.size) for b in blocks])
    assert len(number) == len(truth[STATUS])
    for measure in cells.measures:
        values = np.full(system.cells, np.nan)
        for cell, key in zip(number.tolist(), keys, strict=True):
            values[cell] = one.values.get((key, measure.name), np.nan)
        missing = np.isnan(values)
        complete = (abs(system.constraints) @ missing.astype(np.int64)) == 0
        sums = system.constraints[np.flatnonzero(complete)] @ np.where(missing, 0.0, values)
        if (np.abs(sums) > 1e-6 * np.maximum(1.0, np.nanmax(np.abs(values), initial=1.0))).any():
            return False
    return True


@dataclass(frozen=True)
class OutputMemory:
    """All tables that left one data set."""

    ledger: Path
    data_set: str
    minimum: int
    """Fewest units that may be known exactly; at least 2."""

    @cached_property
    def earlier(self) -> tuple[RememberedTable, ...]:
        """The tables that left, oldest first; raises ``LedgerError`` where they cannot be read."""
        records = Ledger(self.ledger).outputs(self.data_set)
        try:
            return tuple(RememberedTable.unpacked(record.content) for record in records)
        except ValueError as error:
            msg = (
                f"{self.ledger}: the outputs of data set {self.data_set!r} cannot be read: "
                f"{error}; use the version of Voile that wrote them, or restore a backup"
            )
            raise LedgerError(msg) from None

    def judge(self, tables: Sequence[RememberedTable]) -> OutputVerdict:
        """What follows from some tables and all earlier ones."""
        return OutputVerdict.judge(self.earlier, tables, self.minimum)

    def remember(self, tables: Sequence[RememberedTable]) -> None:
        """Enter tables that are about to leave, or have left; durable when it returns."""
        packed = [(table.name, table.packed()) for table in tables]
        Ledger(self.ledger).remember(self.data_set, len(self.earlier), packed)

    def let_leave(self, tables: Sequence[RememberedTable]) -> None:
        """Judge tables and enter them; raises ``RefusedError`` where they disclose something."""
        self.refuse(self.judge(tables))
        self.remember(tables)

    def refuse(self, verdict: OutputVerdict) -> None:
        """Raise ``RefusedError`` where tables disclose something."""
        if not verdict.safe:
            raise RefusedError(self._refusal(verdict))

    def _refusal(self, verdict: OutputVerdict) -> str:
        """What is disclosed about whom, by which tables, and what to change; without values."""
        number = len(verdict.derived)
        listed = "".join(
            f"\n  {one.what}: from {'; '.join(one.sources)}"
            for one in verdict.derived[:_MOST_LISTED]
        )
        more = f"\n  ... and {number - _MOST_LISTED:,} more" if number > _MOST_LISTED else ""
        change = (
            "Use the conditions of the earlier output, or suppress "
            f"{len(verdict.change):,} cells of the new table: {'; '.join(verdict.change)}"
            if verdict.change
            else "Use the conditions of the earlier output, or ask for coarser values"
        )
        return (
            f"together with {len(self.earlier):,} earlier outputs of data set {self.data_set!r} "
            f"the table gives the exact numbers of {number:,} groups of fewer than {self.minimum} "
            f"units:{listed}{more}\n{change}"
        )
