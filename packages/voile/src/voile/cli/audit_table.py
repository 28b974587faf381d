"""``voile audit-table``: what a published table of anybody gives away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voile.cli.options import TABLE, engine_option
from voile.table.places import Place
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, progress

if TYPE_CHECKING:
    from voile.study import record as study_record
    from voile.table import opening
    from voile.tabular import auditing, recognised, table_files
    from voile.tabular.auditing import CellFinding, TableAudit
else:
    study_record = on_demand("voile.study.record")
    opening = on_demand("voile.table.opening")
    auditing = on_demand("voile.tabular.auditing")
    recognised = on_demand("voile.tabular.recognised")
    table_files = on_demand("voile.tabular.table_files")

__all__ = ["audit_table_command", "show_audits"]

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
@json_option
def audit_table_command(  # noqa: PLR0913 - one parameter for each option
    file: Path,
    original: Place | None,
    summed: str | None,
    named: tuple[str, ...],
    minimum: int,
    percent: float,
    engine: str,
    *,
    as_json: bool,
) -> None:
    """Look for what the table in FILE gives away: CSV, Excel, Markdown, LaTeX or HTML.

    Totals and hierarchies are recognised by numbers and labels. Then an attacker works out which
    suppressed cells follow from published ones by sums and differences, and to which interval he
    can narrow each of the others.
    """
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
    show_audits(audits, as_json=as_json, private=original is not None)


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
