"""Tables from rows to a folder: read, count, find primary cells, suppress, attack, write, recount.

DIR/tables.csv     every cell of every table (or Parquet, or a workbook with a sheet a table)
    DIR/release.json   levels and values, what is promised, hashes; written last
    DIR/index.html     the tables to read, where a page was drawn

What is written is read back and recounted before it appears, and the attack is run once more on the
pattern: neither depends on what the search believed.  The folder appears whole, by a rename, or not
at all.

The list of suppressed cells with their values is private, for the custodian: a CSV file of its own
that never leaves.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from voile.release.check import GuaranteeBrokenError
from voile.release.folder import (
    DOCUMENT,
    FORMAT,
    READING,
    UnseenFolder,
    check_new_folder,
    manifest_of,
)
from voile.release.recounting import Recount
from voile.release.release import Guarantee
from voile.schema.plan import Plan
from voile.schema.tabulation import (
    CellAdjustment,
    CellNoise,
    CellPerturbation,
    CellRounding,
    CellSuppression,
    PrimaryRules,
)
from voile.table.opening import open_frame, open_table
from voile.table.places import is_place
from voile.table.private import PrivateTable
from voile.table.published import PublishedTable
from voile.tabular.attacker import FeasibilityIntervals
from voile.tabular.breaches import PatternAttack, dominated_unions
from voile.tabular.claims import (
    ControlledAdjustment,
    ControlledRounding,
    PerturbedCounts,
    SuppressedCells,
)
from voile.tabular.counting import COUNT, PrivateCells, plan_of_rows
from voile.tabular.perturbation import (
    MOST_ATTACKED,
    AdjustedCells,
    PerturbationTable,
    RoundedCounts,
    narrowed,
)
from voile.tabular.primary import PrimaryCells
from voile.tabular.published import STATUS, TABLE, columns_of_cells, layout_document, mean_of
from voile.tabular.remembered import RememberedTable
from voile.tabular.suppression import MOST_EXACT, SuppressionPattern
from voile_base.durable import sync, write_text
from voile_base.errors import InfeasibleError, InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Json
from voile_base.version import VERSION

__all__ = [
    "FORMATS_OF_TABLES",
    "PerturbedTables",
    "ProtectedTables",
    "TablesOutput",
    "make_tables",
    "refuse_place",
    "write_cells",
]

FORMATS_OF_TABLES = ("csv", "parquet", "xlsx")

_STATEMENT = (
    "No published cell breaks the rules for cells, and nobody who knows all published cells can "
    "narrow a cell that breaks one to less than its protection interval"
)
"""What suppression promises."""
_STATEMENT_OF_NOISE = (
    "Each count that is not 0 has noise of mean 0 and the stated variance, which follows from the "
    "persons who are counted: no average over tables takes it off"
)
"""What cell keys promise."""
_STATEMENT_OF_ROUNDING = (
    "Each count is a multiple of the base, near to the true one, and all totals add up"
)

_STATEMENT_OF_ADJUSTMENT = (
    "Each cell that breaks a rule for cells is published at least its protection distance away "
    "from its value, other cells near to theirs, and all totals add up"
)

Progress = Callable[[str], None]
Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class ProtectedTables:
    """Tables whose cells are suppressed, and why; private but for ``columns``."""

    cells: PrivateCells
    primary: PrimaryCells
    pattern: SuppressionPattern
    columns: Columns
    """What is published: the columns of the file."""
    notes: tuple[str, ...] = ()
    """What was assumed in reading the rows."""

    @property
    def promise(self) -> str:
        """What is promised, in a sentence."""
        return _STATEMENT

    @property
    def secondary(self) -> int:
        """How many cells are suppressed for the sake of others."""
        return int((self.pattern.suppressed & ~self.primary.cells).sum())

    def private_columns(self) -> Columns:
        """For each suppressed cell: where it stands, its rules, and the attacker's intervals."""
        hidden = [place for place, one in enumerate(self.columns[STATUS]) if one == "suppressed"]
        numbers = self._cells_of_rows()[hidden]
        measures = {STATUS, *self._measures, *map(mean_of, self._measures)}
        names = [name for name in self.columns if name not in measures]
        found: dict[str, list[Any]] = {
            name: [self.columns[name][place] for place in hidden] for name in names
        }
        rules = [self.primary.rules_of(cell) for cell in numbers.tolist()]
        found["suppression"] = ["primary" if one else "secondary" for one in rules]
        found["rules"] = ["; ".join(one) for one in rules]
        attack = PatternAttack(self.cells, self.primary)
        for number, measure in enumerate(self.cells.measures):
            lower, upper = self._intervals(attack, number)
            scale = 10.0**measure.scale
            found[measure.name] = (measure.values[numbers] / scale).tolist()
            found[f"{measure.name}.low"] = _finite(lower[numbers] / scale)
            found[f"{measure.name}.high"] = _finite(upper[numbers] / scale)
        return found

    def _intervals(self, attack: PatternAttack, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Shape (cells,) each: the interval of each suppressed cell, or what is proved of it."""
        system, proof = attack.system(number, self.pattern.suppressed), self.pattern.proof
        if proof is not None and self.cells.system.cells > MOST_EXACT:
            least, most = proof.measures[number].reach()
            values = self.cells.measures[number].values
            return (values + least).astype(np.float64), (values + most).astype(np.float64)
        intervals = FeasibilityIntervals.of(system, np.flatnonzero(system.suppressed))
        lower, upper = np.full((2, system.constraints.shape[1]), np.nan)
        lower[intervals.cells], upper[intervals.cells] = intervals.lower, intervals.upper
        return lower, upper

    @property
    def _measures(self) -> set[str]:
        return {measure.name for measure in self.cells.measures}

    def _cells_of_rows(self) -> np.ndarray:
        """The cell of each row of the file."""
        system = self.cells.system
        blocks = (system.block(c) for t in system.tabulation.tables for c in t.choices())
        return np.concatenate([np.arange(b.start, b.start + b.size) for b in blocks])


def _finite(numbers: np.ndarray) -> list[float | None]:
    return [float(one) + 0.0 if np.isfinite(one) else None for one in numbers]


@dataclass(frozen=True, eq=False)
class PerturbedTables:
    """Tables whose counts have noise, or are rounded; private but for ``columns``."""

    cells: PrivateCells
    columns: Columns
    """What is published: the columns of the file."""
    notes: tuple[str, ...] = ()
    """What was assumed in reading the rows."""
    altered: RoundedCounts | AdjustedCells | None = None
    """How; None: by cell keys."""

    @property
    def promise(self) -> str:
        """What is promised, in a sentence."""
        if isinstance(self.altered, AdjustedCells):
            return _STATEMENT_OF_ADJUSTMENT
        return _STATEMENT_OF_NOISE if self.altered is None else _STATEMENT_OF_ROUNDING


def _protect_tables(
    table: PrivateTable, plan: Plan, progress: Progress = lambda stage: None
) -> ProtectedTables:
    """The tables of a plan, with the cells that are suppressed.

    Raises ``TableError`` and ``PlanError`` where rows and plan do not fit, ``InfeasibleError``
    where no pattern protects.
    """
    rules = _rules(plan)
    progress("counting")
    cells = PrivateCells.count(table, plan.tables)
    primary = PrimaryCells.find(cells, rules)
    pattern = SuppressionPattern.find(cells, primary, rules, progress)
    progress("attacking the pattern")
    _require_safe(cells, primary, pattern, rules)
    columns = columns_of_cells(cells, pattern.suppressed)
    return ProtectedTables(cells, primary, pattern, columns, table.notes)


AnyTables = ProtectedTables | PerturbedTables
"""What ``make_tables`` makes, by the kind of protection."""


def _require_tables(plan: Plan) -> None:
    if not plan.tables:
        msg = "the plan has no [[tables]]; say which dimensions each table has"
        raise plan.error(msg)
    if plan.protection is None:
        msg = "the plan has no [protection] table; say which cells are too telling to be shown"
        raise plan.error(msg)


def _rules(plan: Plan) -> CellSuppression:
    _require_tables(plan)
    assert plan.protection is not None
    if not isinstance(plan.protection, CellSuppression):
        msg = f'[protection] kind = "{plan.protection.kind}" suppresses no cells'
        raise plan.error(msg)
    return plan.protection


def _perturb_tables(
    table: PrivateTable, plan: Plan, progress: Progress = lambda stage: None
) -> PerturbedTables:
    """The counts of a plan, with noise by cell keys.

    Raises ``TableError`` and ``PlanError`` where rows and plan do not fit.
    """
    rules = plan.protection
    assert isinstance(rules, CellPerturbation)
    if any(each.numbers or each.count or each.weight for each in plan.tables):
        msg = (
            '[protection] kind = "cell-key" is for counts of persons; leave out sum, mean, count '
            "and weight"
        )
        raise plan.error(msg)
    if table.plan.roles.unit is None:
        msg = (
            '[protection] kind = "cell-key" needs [roles] person, a column that tells persons '
            "apart: the noise follows from who is counted"
        )
        raise plan.error(msg)
    progress("counting")
    key = Randomness.in_file(rules.secret, "[protection] secret").key("record keys")
    cells = PrivateCells.count(table, plan.tables, key)
    assert cells.keys is not None
    (measure,) = cells.measures
    progress("looking up the noise")
    noise = PerturbationTable.of(rules).noise(measure.values, cells.keys)
    noisy = replace(measure, values=np.where(measure.shown, measure.values + noise, 0))
    nowhere = np.zeros(cells.system.cells, dtype=np.bool_)
    columns = columns_of_cells(replace(cells, measures=(noisy,)), nowhere)
    return PerturbedTables(cells, columns, table.notes)


def _round_tables(
    table: PrivateTable, plan: Plan, progress: Progress = lambda stage: None
) -> PerturbedTables:
    """The counts of a plan, rounded so that they add up.

    Raises ``TableError`` and ``PlanError`` where rows and plan do not fit, ``InfeasibleError``
    where no rounding adds up, or none protects.
    """
    rules = plan.protection
    assert isinstance(rules, CellRounding)
    if any(each.numbers or each.weight for each in plan.tables):
        msg = '[protection] kind = "rounding" is for counts; leave out sum, mean and weight'
        raise plan.error(msg)
    progress("counting")
    cells = PrivateCells.count(table, plan.tables)
    if len(cells.measures) > 1 or not cells.measures[0].shown.all():
        msg = '[protection] kind = "rounding" rounds one count; name the same in all [[tables]]'
        raise plan.error(msg)
    (measure,) = cells.measures
    progress("rounding")
    rounded = RoundedCounts.round(cells.system, measure.values, rules.base)
    small = (measure.values > 0) & (measure.values < (rules.minimum or rules.base))
    progress("attacking the rounded counts")
    if known := narrowed(cells.system, rounded, small):
        msg = (
            f"{known:,} counts of fewer than {rules.minimum or rules.base:,} units could be known "
            "exactly from the rounded tables; nothing is published. Take a larger base, or coarser "
            "tables"
        )
        raise InfeasibleError(msg)
    nowhere = np.zeros(cells.system.cells, dtype=np.bool_)
    shown = replace(cells, measures=(replace(measure, values=rounded.values),))
    return PerturbedTables(cells, columns_of_cells(shown, nowhere), table.notes, rounded)


def _adjust_tables(
    table: PrivateTable, plan: Plan, progress: Progress = lambda stage: None
) -> PerturbedTables:
    """The tables of a plan, of which primary cells are moved and others so that they add up.

    Raises ``TableError`` and ``PlanError`` where rows and plan do not fit, ``InfeasibleError``
    where no table keeps all distances.
    """
    rules = plan.protection
    assert isinstance(rules, CellAdjustment)
    progress("counting")
    cells = PrivateCells.count(table, plan.tables)
    primary = PrimaryCells.find(cells, rules)
    progress(f"adjusting for {int(primary.cells.sum()):,} primary cells")
    adjusted = AdjustedCells.adjust(cells, primary, rules)
    nowhere = np.zeros(cells.system.cells, dtype=np.bool_)
    pairs = zip(cells.measures, adjusted.values, strict=True)
    shown = replace(cells, measures=tuple(replace(of, values=values) for of, values in pairs))
    return PerturbedTables(cells, columns_of_cells(shown, nowhere), table.notes, adjusted)


def _require_safe(
    cells: PrivateCells, primary: PrimaryCells, pattern: SuppressionPattern, rules: CellSuppression
) -> None:
    """Raise ``GuaranteeBrokenError`` where the attack finds a primary cell, or a proof is none."""
    if dominated_unions(cells, rules, primary.cells, pattern.suppressed):
        msg = "suppressed cells have a known sum that breaks the rules on contributors"
        raise GuaranteeBrokenError(msg)
    shown = primary.cells & ~pattern.suppressed
    if pattern.proof is not None:
        if shown.any() or not pattern.proof.verified(pattern.suppressed):
            msg = "the pattern of suppressed cells is not proved to protect its primary cells"
            raise GuaranteeBrokenError(msg)
        return
    attack = PatternAttack(cells, primary)
    exact = (
        np.intersect1d(attack.system(number, pattern.suppressed).recomputable(), asked)
        for number, asked in enumerate(
            np.flatnonzero(protection.width > 0) for protection in primary.protections
        )
    )
    if shown.any() or any(len(one) for one in exact) or any(attack.breaches(pattern.suppressed)):
        msg = "the pattern of suppressed cells does not protect its primary cells"
        raise GuaranteeBrokenError(msg)


@dataclass(frozen=True)
class TablesOutput:
    """How tables leave."""

    file_format: str = "csv"
    render: Callable[[AnyTables], str | None] = lambda made: None
    """Draws the page."""
    leaving: Callable[[Sequence[RememberedTable]], None] = lambda tables: None
    """Judges and remembers the tables before they are written."""


def make_tables(
    source: Any,
    plan: Plan,
    out: str | Path | None,
    output: TablesOutput | None = None,
    *,
    engine: str = "auto",
    progress: Progress = lambda stage: None,
) -> AnyTables:
    """Make the tables of a plan and write them to a new folder; ``out`` None writes nothing.

    ``source`` is a file, an address or a data frame.  Raises a ``VoileError``, and then nothing
    stands at ``out``.
    """
    output = output or TablesOutput()
    plan.refuse_open_questions()
    _require_tables(plan)
    if output.file_format not in FORMATS_OF_TABLES:
        msg = f"tables are written as {', '.join(FORMATS_OF_TABLES)}, not as {output.file_format}"
        raise InputError(msg)
    place = None if out is None else check_new_folder(out)
    is_file = is_place(source)
    progress("reading")
    rows = plan_of_rows(plan)
    table = (open_table if is_file else open_frame)(source, rows, engine=engine)
    table.refuse_telling_quasi_identifiers()
    made = _maker(plan)(table, plan, progress)
    progress("judging them with earlier outputs")
    output.leaving(_remembered(made, plan))
    if place is not None:
        progress("writing")
        page = output.render(made)
        cells = table.published_cells(made.columns)
        _write(made, cells, plan, place, output.file_format, page)
    return made


def _maker(plan: Plan) -> Callable[[PrivateTable, Plan, Progress], AnyTables]:
    """What protects the tables of a plan."""
    if isinstance(plan.protection, CellNoise):
        msg = "tables with noise are a release of dp-tables; make them with make_noisy_tables"
        raise plan.error(msg)
    if isinstance(plan.protection, CellPerturbation):
        return _perturb_tables
    if isinstance(plan.protection, CellAdjustment):
        return _adjust_tables
    return _round_tables if isinstance(plan.protection, CellRounding) else _protect_tables


def _remembered(made: AnyTables, plan: Plan) -> tuple[RememberedTable, ...]:
    """The tables as a memory of outputs keeps them; of noise, no exact number is known."""
    suppressed = (
        made.pattern.suppressed
        if isinstance(made, ProtectedTables)
        else np.ones(made.cells.system.cells, dtype=np.bool_)
    )
    return RememberedTable.of_cells(made.cells, suppressed, plan.tables[0].conditions)


def _write(
    made: AnyTables,
    table: PublishedTable,
    plan: Plan,
    place: Path,
    file_format: str,
    page: str | None,
) -> None:
    """Write the folder, recount it, and let it appear."""
    unseen = UnseenFolder(place, "the tables")
    try:
        with unseen.writing() as folder:
            name = f"tables.{file_format}"
            if file_format == "xlsx":
                table.write_sheets(folder / name, TABLE)
            else:
                (written,) = table.write(folder, file_format)
                (folder / written).rename(folder / name)
            sync(folder / name)
            document = _document(made, plan, table) | {"data": manifest_of(folder, [name])}
            if page is not None:
                write_text(folder / READING, page)
                document["reading"] = manifest_of(folder, [READING])
            text = json.dumps(document, indent=2, ensure_ascii=False)
            write_text(folder / DOCUMENT, text + "\n")
            if (refusal := Recount.of(folder).refusal()) is not None:
                raise GuaranteeBrokenError(str(refusal))
        unseen.appear()
    finally:
        unseen.remove()


def _document(made: AnyTables, plan: Plan, table: PublishedTable) -> Json:
    """What ``release.json`` says; it tells primary cells from secondary ones nowhere."""
    method, guarantee = (
        _of_suppression(made, plan)
        if isinstance(made, ProtectedTables)
        else _of_perturbation(made, plan)
    )
    return {
        "format": FORMAT,
        "form": "tables",
        "voile": VERSION,
        "method": method,
        "guarantee": guarantee.document(),
        "rows": table.rows,
        "publishable": True,
        "release_id": Randomness.secure().token("release"),
        **layout_document(made.cells),
        "types": dict(table.kinds()),
        **({"open_questions": len(plan.questions)} if plan.questions else {}),
    }


def _of_perturbation(made: PerturbedTables, plan: Plan) -> tuple[Json, Guarantee]:
    if isinstance(made.altered, AdjustedCells):
        return _of_adjustment(made, plan)
    if made.altered is not None:
        return _of_rounding(made, made.altered, plan)
    rules = plan.protection
    assert isinstance(rules, CellPerturbation)
    claim = PerturbedCounts(
        cells=made.cells.system.cells,
        minimum=rules.minimum,
        variance=float(rules.variance),
        maximum=rules.maximum,
    )
    assumes = (
        "nobody but the publisher has the secret of the record keys",
        "cells do not add up: each has noise of its own, and an empty cell has none",
        "who subtracts two tables sees two draws of the noise, not one person exactly",
    )
    method = {"name": "cell-key", "variance": claim.variance, "maximum": claim.maximum}
    stated = {**method, **({} if rules.minimum is None else {"minimum": rules.minimum})}
    return stated, Guarantee((claim,), _STATEMENT_OF_NOISE, assumes)


def _of_rounding(
    made: PerturbedTables, rounded: RoundedCounts, plan: Plan
) -> tuple[Json, Guarantee]:
    rules = plan.protection
    assert isinstance(rules, CellRounding)
    cells = made.cells.system.cells
    claim = ControlledRounding(cells=cells, base=rules.base, reach=rounded.reach)
    looked = cells <= MOST_ATTACKED
    assumes = (
        "no count of fewer units than the minimum can be known exactly from the tables: "
        + ("linear and integer programs found none" if looked else "too many cells to look"),
        "the same persons are in no other table that is rounded anew",
        "nobody rounds candidates again to find out which of them change so little",
    )
    method = {"name": "controlled-rounding", "base": rules.base}
    return method, Guarantee((claim,), _STATEMENT_OF_ROUNDING, assumes)


def _of_adjustment(made: PerturbedTables, plan: Plan) -> tuple[Json, Guarantee]:
    rules = plan.protection
    assert isinstance(rules, CellAdjustment)
    claim = ControlledAdjustment(
        cells=made.cells.system.cells,
        minimum=rules.minimum,
        counts=tuple(of.name for of in made.cells.measures if of.whole),
    )
    assumes = (
        "the rows are in no other table that is adjusted anew",
        "nobody computes back from the rules and from how little cells change",
    )
    method = {"name": "controlled-adjustment", **_stated(rules)}
    return method, Guarantee((claim,), _STATEMENT_OF_ADJUSTMENT, assumes)


def _of_suppression(made: ProtectedTables, plan: Plan) -> tuple[Json, Guarantee]:
    rules, suppressed = _rules(plan), int(made.pattern.suppressed.sum())
    claim = SuppressedCells(
        cells=made.cells.system.cells,
        suppressed=suppressed,
        minimum=rules.minimum,
        zeros=rules.zeros,
        units=_counted_units(made.cells, plan),
    )
    return {"name": "cell-suppression", **_stated(rules)}, _guarantee(claim)


def _counted_units(cells: PrivateCells, plan: Plan) -> str | None:
    """The measure that counts the units of every cell, if one does."""
    named = {each.count or COUNT for each in plan.tables if each.contributor is None}
    for measure in cells.measures:
        if measure.name in named and measure.shown.all() and (measure.values == cells.units).all():
            return measure.name
    return None


def _stated(rules: PrimaryRules) -> Json:
    """The rules on numbers; cells that are named by hand are the custodian's alone."""
    stated = {
        "minimum": rules.minimum,
        "minimum_weighted": (
            None if rules.minimum_weighted is None else float(rules.minimum_weighted)
        ),
        "zeros": rules.zeros,
        "dominance": [[n, float(k)] for n, k in rules.dominance] or None,
        "p": None if rules.p is None else float(rules.p),
        "pq": None if rules.pq is None else [float(one) for one in rules.pq],
        "whole_groups": list(rules.whole_groups) or None,
        "cost": rules.cost,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _guarantee(claim: SuppressedCells) -> Guarantee:
    return Guarantee(
        (claim,),
        _STATEMENT,
        (
            "an attacker knows all published cells, that cells add up, that none is negative and "
            "that counts are whole, and what he himself adds to cells",
            "contributors do not pool what they know",
            "nothing else about these cells is published, before or after",
        ),
    )


def refuse_place(file: Path, out: Path) -> None:
    """Raise ``InputError`` where the list cannot stand, or would stand among what is published."""
    place = file.absolute()
    if file.exists() or file.is_symlink():
        msg = f"{file}: something stands there already; name a file that does not exist yet"
    elif place == out.absolute() or out.absolute() in place.parents:
        msg = f"{file}: the list of cells is private; name a file outside of {out}"
    elif not place.parent.is_dir():
        msg = f"{file}: the folder {place.parent} does not exist; make it first"
    else:
        return
    raise InputError(msg)


def write_cells(file: Path, columns: Mapping[str, Sequence[object]]) -> None:
    """Write the list, for its owner alone; raises ``InputError`` where the disk refuses."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    try:
        write_text(file, text.getvalue(), private=True, replacing=False)
    except OSError as error:
        msg = f"{file}: it cannot be written ({error.strerror}); the tables stand as they are"
        raise InputError(msg) from None
