"""``voile table`` and ``voile audit-table``: tables of counts and sums, protected and attacked."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from voile.cli.options import TABLE, engine_option, ledger_option
from voile.table.places import Place
from voile_base.durable import write_text
from voile_base.errors import InputError, RefusedError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, progress, say, telling_what_is_done
from voile_base.values import Document, Json

if TYPE_CHECKING:
    from voile.release import folder
    from voile.report import html
    from voile.schema import plan as schema_plan
    from voile.schema import tabulation
    from voile.schema.plan import Plan
    from voile.study import plans as study_plans
    from voile.study import protections
    from voile.study import record as study_record
    from voile.study.protections import OutputMemory
    from voile.table import opening
    from voile.tabular import (
        auditing,
        output_rules,
        perturbation,
        publishing,
        recognised,
        remembered,
        table_files,
    )
    from voile.tabular.auditing import CellFinding, TableAudit
    from voile.tabular.counting import PrivateCells
    from voile.tabular.publishing import PerturbedTables, ProtectedTables
else:
    html = on_demand("voile.report.html")
    folder = on_demand("voile.release.folder")
    tabulation = on_demand("voile.schema.tabulation")
    protections = on_demand("voile.study.protections")
    study_record = on_demand("voile.study.record")
    opening = on_demand("voile.table.opening")
    perturbation = on_demand("voile.tabular.perturbation")
    auditing = on_demand("voile.tabular.auditing")
    recognised = on_demand("voile.tabular.recognised")
    remembered = on_demand("voile.tabular.remembered")
    table_files = on_demand("voile.tabular.table_files")
    schema_plan = on_demand("voile.schema.plan")
    study_plans = on_demand("voile.study.plans")
    output_rules = on_demand("voile.tabular.output_rules")
    publishing = on_demand("voile.tabular.publishing")

__all__ = ["audit_table_command", "show_audits"]

_UNREMEMBERED = (
    "only tables whose published cells are exact are judged with earlier outputs and remembered, "
    "and these are not exact. Beside a suppressed table of the same rows they tell near what each "
    "suppressed cell lies; publish one of the two"
)

_data_set_option = click.option(
    "--data-set",
    metavar="NAME",
    help="With --ledger: what the rows are called there; all tables of the same rows share it.",
)


@click.command("table", short_help="Tables of counts and sums, protected.")
@click.argument("source", metavar="INPUT", type=TABLE)
@click.option("--plan", required=True, type=click.Path(), help="The plan, in TOML.")
@click.option("--out", type=click.Path(), help="A folder that does not exist yet.")
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
@click.option(
    "--compare",
    "compared",
    metavar="PLAN",
    multiple=True,
    help="Another plan with the same [[tables]]; may be repeated. Nothing is published: the "
    "protections are shown side by side, beside the truth, and the output is private.",
)
@ledger_option
@_data_set_option
@engine_option
@json_option
def _table_command(
    source: Place,
    *,
    plan: str,
    out: str | None,
    file_format: Literal["csv", "parquet", "xlsx"],
    cells: str | None,
    compared: tuple[str, ...],
    ledger: str | None,
    data_set: str | None,
    engine: str,
    as_json: bool,
) -> None:
    """Make the tables that the plan states of the rows of INPUT, and write them to a new folder.

    Cells that break a rule of [protection] are suppressed, and with them as many others as keep
    anybody from working them out; or they are adjusted, or counts get noise by cell keys, or are
    rounded. Exit status 3 where cells that must be published leave no way.

    With kind = "differential-privacy" all cells get noise and intervals, and the ledger is charged
    as [budget] says. Otherwise, with --ledger, the tables are judged together with all that left
    the same data set before: exit status 4 where a group of fewer units than the minimum would
    follow from both.
    """
    stated = schema_plan.read_plan(Path(plan))
    if compared:
        _compare(source, stated, compared, (out, cells, ledger), engine, as_json=as_json)
        return
    if out is None:
        msg = "--out is missing: name a folder that does not exist yet"
        raise InputError(msg)
    if cells is not None:
        if not isinstance(stated.protection, tabulation.CellSuppression | None):
            msg = (
                "--cells lists suppressed cells, and this protection suppresses none; leave it out"
            )
            raise InputError(msg)
        publishing.refuse_place(Path(cells), Path(out))
    started = time.monotonic()
    if isinstance(stated.protection, tabulation.CellNoise):
        _make_noisy(source, stated, out, (file_format, ledger, data_set, engine), as_json=as_json)
        return
    memory = _memory(ledger, data_set, _minimum_of(stated))
    with progress() as stage, study_plans.naming_files(stated, study_plans.file_of(source)):
        page = functools.partial(_page, stated.source)
        output = publishing.TablesOutput(file_format, page)
        if memory is not None:
            output = replace(output, leaving=memory.let_leave)
        made = publishing.make_tables(source, stated, out, output, engine=engine, progress=stage)
    seconds = time.monotonic() - started
    with telling_what_is_done(f"the tables stand at {out}"):
        if cells is not None and isinstance(made, publishing.ProtectedTables):
            publishing.write_cells(Path(cells), made.private_columns())
        for note in (*made.notes, *_notes_of_memory(made, memory)):
            say(f"voile: {note}.")
        if as_json:
            print_json(_document(made, out, seconds))
        else:
            say(_summary(made, out))


def _notes_of_memory(
    made: ProtectedTables | PerturbedTables, memory: OutputMemory | None
) -> tuple[str, ...]:
    """That tables which are not exact take no part in a memory, where one is asked for."""
    exact = isinstance(made, publishing.ProtectedTables)
    return () if memory is None or exact else (_UNREMEMBERED,)


def _make_noisy(
    source: Place,
    stated: Plan,
    out: str,
    options: tuple[Literal["csv", "parquet", "xlsx"], str | None, str | None, str],
    *,
    as_json: bool,
) -> None:
    """Make tables with differentially private noise, and say what they cost."""
    file_format, ledger, data_set, engine = options
    if data_set is not None:
        msg = "--data-set is for tables without noise; name it in the plan: [budget] data_set"
        raise InputError(msg)
    if ledger is not None and stated.budget is None:
        msg = (
            "tables with noise spend a budget, and the plan has none to charge to this ledger; "
            "say data_set and epsilon under [budget], or leave --ledger out"
        )
        raise InputError(msg)
    name = Path(stated.source).stem
    output = protections.NoisyOutput(
        file_format,
        lambda columns, promise: _drawn(name, columns, promise),
    )
    with progress() as stage:
        publication = protections.make_noisy_tables(
            source, stated, out, output, ledger=ledger, engine=engine, progress=stage
        )
    release = publication.release
    with telling_what_is_done(f"the tables stand at {out}"):
        for notice in publication.private.notices:
            say(f"voile: {notice}.")
        if as_json:
            print_json({"out": out, "cells": release.rows, "method": dict(release.method)})
        else:
            say(f"{out}: {release.rows:,} cells with noise and intervals.")
            say(f"{release.guarantee.statement}.")


def _compare(
    source: Place,
    stated: Plan,
    compared: Sequence[str],
    others: tuple[str | None, ...],
    engine: str,
    *,
    as_json: bool,
) -> None:
    """Show several protections of the same tables side by side; private."""
    out, *leaving = others
    if any(one is not None for one in leaving):
        msg = "--compare publishes nothing; leave --cells, --ledger and --data-set out"
        raise InputError(msg)
    plans = [stated, *(schema_plan.read_plan(Path(one)) for one in compared)]
    place = None if out is None else folder.check_new_folder(out)
    with progress() as stage, study_plans.naming_files(stated, study_plans.file_of(source)):
        found = protections.compare_protections(source, plans, engine=engine, progress=stage)
    rows = [asdict(one) for one in found.protections]
    if place is not None:
        with folder.appearing_folder(place) as made:
            publishing.write_cells(made / "comparison.csv", found.columns())
            page = _drawn_comparison(Path(stated.source).stem, rows, found.columns())
            if page is not None:
                write_text(made / "comparison.html", page, private=True)
    if as_json:
        cells = [asdict(one) for one in found.cells]
        print_json({**_private_mark(), "protections": rows, "cells": cells})
        return
    click.echo(study_record.PRIVATE)
    print_table(_COMPARED, [_compared_row(one) for one in found.protections])
    click.echo("")
    columns = found.columns()
    listed = list(zip(*columns.values(), strict=True))
    print_table(list(columns), [[str(it) for it in row] for row in listed[:_MOST_SHOWN]])
    if len(listed) > _MOST_SHOWN:
        click.echo(f"  ... and {len(listed) - _MOST_SHOWN:,} more; --json and --out have them all.")


_COMPARED = [
    "protection",
    "shown %",
    "exact %",
    "mean error",
    "largest error",
    "adds up",
    "small counts as they are",
]


def _compared_row(one: protections.ComparedProtection) -> list[object]:
    return [
        one.name,
        f"{100 * one.shown:.1f}",
        f"{100 * one.exact:.1f}",
        f"{one.mean_error:,.3g}",
        f"{one.largest_error:,.3g}",
        "yes" if one.additive else "no",
        one.few_exact,
    ]


def _drawn(name: str, columns: Mapping[str, Sequence[Any]], promise: str) -> str | None:
    """The page of tables with noise; None where the libraries that draw it are missing."""
    try:
        return html.render_tables(name, columns, promise)
    except InputError:
        return None


def _drawn_comparison(
    name: str, rows: Sequence[Document], columns: Mapping[str, Sequence[Any]]
) -> str | None:
    """The private page of a comparison; None where the libraries that draw it are missing."""
    try:
        return html.render_protections(name, rows, columns)
    except InputError:
        return None


def _page(source: str, made: ProtectedTables | PerturbedTables) -> str | None:
    """The page of the tables; None where the libraries that draw it are missing."""
    return _drawn(Path(source).stem, made.columns, made.promise)


def _document(made: ProtectedTables | PerturbedTables, out: str, seconds: float) -> Json:
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
        cells = made.cells.system.cells
        if isinstance(made.altered, perturbation.AdjustedCells):
            return (
                f"{out}: {made.altered.moved:,} of {cells:,} cells adjusted so that all totals add "
                f"up; a cell changes by {made.altered.change:.2g} % in the mean."
            )
        if made.altered is not None:
            return (
                f"{out}: {cells:,} counts rounded so that all totals add up, each by less than "
                f"{made.altered.reach:,}."
            )
        return (
            f"{out}: {cells:,} counts with noise by cell keys. Cells do not add "
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

_SMALL, _OUTPUTS = 3, 10
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
    help="Published counts of fewer units are small [default: 3]. Of a model: fewest observations "
    "and degrees of freedom; of quantiles: fewest units beside each [default: 10].",
)
@click.option(
    "--state",
    "stated",
    metavar="FACT",
    multiple=True,
    help='What is true of a model or of quantiles, and not in the file: "observations = 120", '
    '"degrees of freedom = 110", "units of the smallest group = 15"; may be repeated.',
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
def audit_table_command(
    file: Path,
    *,
    original: Place | None,
    summed: str | None,
    named: tuple[str, ...],
    minimum: int | None,
    stated: tuple[str, ...],
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

    Coefficients of models and quantiles are held to the rules of secure rooms: observations,
    degrees of freedom, saturated models, units beside a quantile. Exit status 4 where they break
    one, or do not state what it needs.

    With --ledger, counts are judged together with all tables that left the same data set before:
    exit status 4 where a group of fewer units than --minimum follows from both.
    """
    facts = output_rules.StatedFacts.of(stated)
    memory = _memory(ledger, data_set, minimum or _SMALL)
    if memory is None and (filters or remember):
        msg = "--filter and --remember are about earlier outputs; name their ledger, with --ledger"
        raise InputError(msg)
    held = tuple(map(tabulation.Condition.parse, filters))
    measure = "count" if summed is None else summed
    rules = auditing.AuditRules(minimum or _SMALL, percent, minimum or _OUTPUTS)
    audits, leaving, refusals = [], [], {}
    with progress() as stage:
        stage("reading")
        for grid in table_files.read_grids(file):
            stage(f"looking at {grid.name}")
            refused = output_rules.refused_outputs(grid, rules.outputs, facts)
            if refused is not None:
                refusals[grid.name] = refused
                continue
            table = recognised.RecognisedTable.recognise(grid, named)
            cells = None if original is None else _true_cells(table, summed, original, engine)
            audits.append(auditing.TableAudit.of_recognised(table, rules, cells))
            leaving.append(remembered.RememberedTable.of_recognised(table, held, measure))
        if memory is not None and leaving:
            stage("judging it with earlier outputs")
            verdict = memory.judge(leaving)
    show_audits(audits, as_json=as_json, private=original is not None, outputs=refusals)
    _refuse_outputs(file, refusals)
    if memory is not None and leaving:
        memory.refuse(verdict)
        if remember:
            memory.remember(leaving)
        say(f"voile: safe together with {len(memory.earlier):,} earlier outputs.")


def _true_cells(
    table: recognised.RecognisedTable, summed: str | None, original: Place, engine: str
) -> PrivateCells:
    """The cells of a recognised table as the private rows have them."""
    return auditing.original_cells(
        table, summed, lambda plan: opening.open_table(original, plan, engine=engine)
    )


def _memory(ledger: str | None, data_set: str | None, minimum: int) -> OutputMemory | None:
    """The memory for outputs that is asked for; None without a ledger."""
    if ledger is None and data_set is None:
        return None
    if ledger is None or data_set is None:
        msg = "earlier outputs are known by ledger and data set; give --ledger and --data-set"
        raise InputError(msg)
    return protections.OutputMemory(Path(ledger), data_set, max(minimum, 2))


def _minimum_of(stated: Plan) -> int:
    return getattr(stated.protection, "minimum", None) or 2


def _private_mark() -> Json:
    return {"private": study_record.PRIVATE}


def _refuse_outputs(file: Path, refusals: Mapping[str, tuple[str, ...]]) -> None:
    """Raise ``RefusedError`` for models and quantiles that break a rule, or do not state enough."""
    broken = [(name, why) for name, reasons in refusals.items() for why in reasons]
    if broken:
        listed = "".join(f"\n  {name}: {why}" for name, why in broken)
        msg = (
            f"{file}: not fit to leave by the rules for models and quantiles:{listed}\nState what "
            "is missing in the file or by --state, or leave out what is refused"
        )
        raise RefusedError(msg)


def show_audits(
    audits: Sequence[TableAudit],
    *,
    as_json: bool,
    private: bool,
    outputs: Mapping[str, tuple[str, ...]] | None = None,
) -> None:
    """Print what some tables give away; ``outputs`` are models and quantiles, with refusals."""
    mark = _private_mark() if private else {}
    if as_json:
        judged = {} if not outputs else {"outputs": {k: list(v) for k, v in outputs.items()}}
        print_json({**mark, "tables": [one.document() for one in audits], **judged})
        return
    for name, reasons in (outputs or {}).items():
        if not reasons:
            click.echo(f"{name}: keeps the rules for models and quantiles, as far as it states.")
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
