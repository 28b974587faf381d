"""``voile table`` and ``voile audit-table``: tables of counts and sums, protected and attacked."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voile.cli.options import TABLE, engine_option, ledger_option
from voile.table.places import Place
from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, progress, say, telling_what_is_done

if TYPE_CHECKING:
    from voile.report import html
    from voile.schema import conditions, tabulation
    from voile.schema import plan as schema_plan
    from voile.schema.plan import Plan
    from voile.study import outputs
    from voile.study import plans as study_plans
    from voile.study import record as study_record
    from voile.study.outputs import OutputMemory
    from voile.table import opening
    from voile.tabular import (
        auditing,
        private_cells,
        publishing,
        recognised,
        remembered,
        table_files,
    )
    from voile.tabular.auditing import CellFinding, TableAudit
    from voile.tabular.publishing import PerturbedTables, ProtectedTables
else:
    html = on_demand("voile.report.html")
    conditions = on_demand("voile.schema.conditions")
    outputs = on_demand("voile.study.outputs")
    study_record = on_demand("voile.study.record")
    opening = on_demand("voile.table.opening")
    auditing = on_demand("voile.tabular.auditing")
    recognised = on_demand("voile.tabular.recognised")
    remembered = on_demand("voile.tabular.remembered")
    table_files = on_demand("voile.tabular.table_files")
    schema_plan = on_demand("voile.schema.plan")
    tabulation = on_demand("voile.schema.tabulation")
    study_plans = on_demand("voile.study.plans")
    private_cells = on_demand("voile.tabular.private_cells")
    publishing = on_demand("voile.tabular.publishing")

__all__ = ["audit_table_command", "show_audits"]

_data_set_option = click.option(
    "--data-set",
    metavar="NAME",
    help="With --ledger: what the rows are called there; all tables of the same rows share it.",
)


@click.command("table", short_help="Tables of counts and sums, protected.")
@click.argument("source", metavar="INPUT", type=TABLE)
@click.option("--plan", required=True, type=click.Path(), help="The plan, in TOML.")
@click.option("--out", required=True, type=click.Path(), help="A folder that does not exist yet.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["csv", "parquet", "xlsx"]),
    default="csv",
    help="Format of the tables; a workbook has a sheet for each.",
)
@click.option(
    "--cells",
    type=click.Path(),
    help="A new file, private: each suppressed cell with its rules, its values, and the interval "
    "to which an outsider can narrow it.",
)
@ledger_option
@_data_set_option
@engine_option
@json_option
def _table_command(  # noqa: PLR0913 - one parameter for each option
    source: Place,
    plan: str,
    out: str,
    file_format: str,
    cells: str | None,
    ledger: str | None,
    data_set: str | None,
    engine: str,
    *,
    as_json: bool,
) -> None:
    """Make the tables that the plan states of the rows of INPUT, and write them to a new folder.

    Cells that break a rule of [protection] are suppressed, and with them as many others as keep
    anybody from working them out; or counts get noise by cell keys, or are rounded. Exit status 3
    where cells that must be published leave no way.

    With --ledger, the tables are judged together with all that left the same data set before: exit
    status 4 where a group of fewer units than the minimum would follow from both.
    """
    started = time.monotonic()
    stated = schema_plan.read_plan(Path(plan))
    memory = _memory(ledger, data_set, _minimum_of(stated))
    if cells is not None:
        if isinstance(stated.protection, tabulation.CellPerturbation | tabulation.CellRounding):
            msg = (
                "--cells lists suppressed cells, and this protection suppresses none; leave it out"
            )
            raise InputError(msg)
        private_cells.refuse_place(Path(cells), Path(out))
    with progress() as stage, study_plans.naming_files(stated, study_plans.file_of(source)):
        page = functools.partial(_page, stated.source)
        output = publishing.TablesOutput(file_format, page)
        if memory is not None:
            output = replace(output, leaving=memory.let_leave)
        made = publishing.make_tables(source, stated, out, output, engine=engine, progress=stage)
    seconds = time.monotonic() - started
    with telling_what_is_done(f"the tables stand at {out}"):
        if cells is not None and isinstance(made, publishing.ProtectedTables):
            private_cells.write_cells(Path(cells), made.private_columns())
        for note in made.notes:
            say(f"voile: {note}.")
        if as_json:
            print_json(_document(made, out, seconds))
        else:
            say(_summary(made, out))


def _page(source: str, made: ProtectedTables | PerturbedTables) -> str | None:
    """The page of the tables; None where the libraries that draw it are missing."""
    try:
        return html.render_tables(Path(source).stem, made.columns, made.promise)
    except InputError:
        return None


def _document(made: ProtectedTables | PerturbedTables, out: str, seconds: float) -> dict[str, Any]:
    if not isinstance(made, publishing.ProtectedTables):
        tables, cells = len(made.cells.shows), made.cells.system.cells
        return {"out": out, "tables": tables, "cells": cells, "seconds": round(seconds, 3)}
    return {
        "out": out,
        "tables": len(made.cells.shows),
        "cells": made.cells.system.cells,
        "primary": int(made.primary.cells.sum()),
        "rules": {rule: int(broken.sum()) for rule, broken in made.primary.rules.items()},
        "secondary": made.secondary,
        "cost": made.pattern.cost,
        "cost_at_least": made.pattern.bound,
        "search": made.pattern.search,
        "least": made.pattern.least,
        "seconds": round(seconds, 3),
    }


def _summary(made: ProtectedTables | PerturbedTables, out: str) -> str:
    if not isinstance(made, publishing.ProtectedTables):
        if made.rounded is not None:
            return (
                f"{out}: {made.cells.system.cells:,} counts rounded so that all totals add up, "
                f"each by less than {made.rounded.reach:,}."
            )
        return (
            f"{out}: {made.cells.system.cells:,} counts with noise by cell keys. Cells do not add "
            "up; keep the secret, so that later tables have the same noise."
        )
    primary, pattern = int(made.primary.cells.sum()), made.pattern
    number = len(made.cells.shows)
    proof = (
        "no pattern costs less (proved)"
        if pattern.least
        else f"no pattern costs less than {pattern.bound:,.0f}"
    )
    return (
        f"{out}: {number:,} table{'s' * (number > 1)} with {made.cells.system.cells:,} cells; "
        f"{primary:,} primary and {made.secondary:,} secondary cells are suppressed.\n"
        f"Cost {pattern.cost:,} ({pattern.search} search); {proof}."
    )


# -- audit-table ----------------------------------------------------------------------------------

_MOST_SHOWN = 40
"""Cells of one table that are listed; JSON has them all."""


@click.command("audit-table", short_help="What a published table of anybody gives away.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--original",
    metavar="INPUT",
    type=TABLE,
    help="The private rows that the table was made of: the truth beside each interval. The output "
    "is then private.",
)
@click.option(
    "--sum",
    "summed",
    metavar="COLUMN",
    help="With --original: the cells are sums of this column [default: counts of rows].",
)
@click.option(
    "--dimension",
    "named",
    metavar="NAME",
    multiple=True,
    help="What a dimension is called, those of rows before those of columns; may be repeated.",
)
@click.option(
    "--minimum",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Published counts of fewer units are small.",
)
@click.option(
    "--percent",
    type=click.FloatRange(0, 100),
    default=10,
    show_default=True,
    help="A suppressed cell is narrowed where it is known to within this many percent.",
)
@engine_option
@click.option(
    "--filter",
    "filters",
    metavar="CONDITION",
    multiple=True,
    help='With --ledger: what all rows of the table meet, such as "age < 65"; may be repeated.',
)
@click.option(
    "--remember",
    is_flag=True,
    help="With --ledger: enter the table, for it left or is about to leave, if it is safe.",
)
@ledger_option
@_data_set_option
@json_option
def audit_table_command(  # noqa: PLR0913 - one parameter for each option
    file: Path,
    *,
    original: Place | None,
    summed: str | None,
    named: tuple[str, ...],
    minimum: int,
    percent: float,
    engine: str,
    filters: tuple[str, ...],
    ledger: str | None,
    data_set: str | None,
    remember: bool,
    as_json: bool,
) -> None:
    """Look for what the table in FILE gives away: CSV, Excel, Markdown, LaTeX or HTML.

    Totals and hierarchies are recognised by numbers and labels. Then an attacker works out which
    suppressed cells follow from published ones by sums and differences, and to which interval he
    can narrow each of the others.

    With --ledger, counts are judged together with all tables that left the same data set before:
    exit status 4 where a group of fewer units than --minimum follows from both.
    """
    memory = _memory(ledger, data_set, minimum)
    if memory is None and (filters or remember):
        msg = "--filter and --remember are about earlier outputs; name their ledger, with --ledger"
        raise InputError(msg)
    held = tuple(map(conditions.parse_condition, filters))
    measure = "count" if summed is None else summed
    leaving = []
    rules = auditing.AuditRules(minimum, percent)
    audits = []
    with progress() as stage:
        stage("reading")
        for grid in table_files.read_grids(file):
            stage(f"looking at {grid.name}")
            table = recognised.recognise(grid, named)
            cells = None
            if original is not None:
                cells = auditing.original_cells(
                    table, summed, lambda plan: opening.open_table(original, plan, engine=engine)
                )
            audits.append(auditing.audit_recognised(table, rules, cells))
            leaving.append(remembered.RememberedTable.of_recognised(table, held, measure))
        if memory is not None:
            stage("judging it with earlier outputs")
            verdict = memory.judge(leaving)
    show_audits(audits, as_json=as_json, private=original is not None)
    if memory is not None:
        memory.refuse(verdict)
        if remember:
            memory.remember(leaving)
        say(f"voile: safe together with {len(memory.earlier):,} earlier outputs.")


def _memory(ledger: str | None, data_set: str | None, minimum: int) -> OutputMemory | None:
    """The memory for outputs that is asked for; None without a ledger."""
    if ledger is None and data_set is None:
        return None
    if ledger is None or data_set is None:
        msg = "earlier outputs are known by ledger and data set; give --ledger and --data-set"
        raise InputError(msg)
    return outputs.OutputMemory(Path(ledger), data_set, max(minimum, 2))


def _minimum_of(stated: Plan) -> int:
    return getattr(stated.protection, "minimum", None) or 2


def show_audits(audits: Sequence[TableAudit], *, as_json: bool, private: bool) -> None:
    """Print what some tables give away."""
    mark: Mapping[str, Any] = {"private": study_record.PRIVATE} if private else {}
    if as_json:
        print_json({**mark, "tables": [one.document() for one in audits]})
        return
    if private:
        click.echo(study_record.PRIVATE)
    for one in audits:
        _show(one)


def _show(audit: TableAudit) -> None:
    click.echo(
        f"{audit.name}: {audit.cells:,} cells, {audit.suppressed:,} suppressed. "
        f"Recomputable: {audit.count('recomputable'):,}. Narrowed: {audit.count('narrowed'):,}. "
        f"Small published counts: {audit.count('small'):,}."
    )
    for what in audit.notes:
        click.echo(f"  {what}.")
    for what in audit.contradictions:
        click.echo(f"  CONTRADICTION: {what}.")
    listed = [one for one in audit.findings if one.discloses]
    if listed:
        truth = any(one.truth is not None for one in listed)
        columns = ["what", "cell", "low", "high", *(["truth"] if truth else [])]
        print_table(columns, [_row(one, truth=truth) for one in listed[:_MOST_SHOWN]])
    if len(listed) > _MOST_SHOWN:
        click.echo(f"  ... and {len(listed) - _MOST_SHOWN:,} more; --json lists them all.")


def _row(one: CellFinding, *, truth: bool) -> list[object]:
    high = "" if one.upper is None else _number(one.upper)
    known = [] if not truth else ["" if one.truth is None else _number(one.truth)]
    return [one.kind, one.cell, _number(one.lower), high, *known]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"
