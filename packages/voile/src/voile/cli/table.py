"""``voile table``: tables of counts and sums, protected cell by cell."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voile.cli.options import TABLE, engine_option
from voile.table.places import Place
from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json, print_json, progress, say, telling_what_is_done

if TYPE_CHECKING:
    from voile.report import html
    from voile.schema import plan as schema_plan
    from voile.schema import tabulation
    from voile.study import plans as study_plans
    from voile.tabular import private_cells, publishing
    from voile.tabular.publishing import PerturbedTables, ProtectedTables
else:
    html = on_demand("voile.report.html")
    schema_plan = on_demand("voile.schema.plan")
    tabulation = on_demand("voile.schema.tabulation")
    study_plans = on_demand("voile.study.plans")
    private_cells = on_demand("voile.tabular.private_cells")
    publishing = on_demand("voile.tabular.publishing")

__all__ = ["table_command"]


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
@engine_option
@as_json
def table_command(
    source: Place,
    plan: str,
    out: str,
    file_format: str,
    cells: str | None,
    engine: str,
    *,
    as_json: bool,
) -> None:
    """Make the tables that the plan states of the rows of INPUT, and write them to a new folder.

    Cells that break a rule of [protection] are suppressed, and with them as many others as keep
    anybody from working them out; or counts get noise by cell keys. Exit status 3 where cells that
    must be published leave no way.
    """
    started = time.monotonic()
    stated = schema_plan.read_plan(Path(plan))
    if cells is not None:
        if isinstance(stated.protection, tabulation.CellPerturbation):
            msg = "--cells lists suppressed cells, and cell keys suppress none; leave it out"
            raise InputError(msg)
        private_cells.refuse_place(Path(cells), Path(out))
    with progress() as stage, study_plans.naming_files(stated, study_plans.file_of(source)):
        made = publishing.make_tables(
            source,
            stated,
            out,
            file_format=file_format,
            engine=engine,
            render=lambda made: _page(stated.source, made),
            progress=stage,
        )
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
    suppressed = isinstance(made, publishing.ProtectedTables)
    promise = publishing.STATEMENT if suppressed else publishing.STATEMENT_OF_NOISE
    try:
        return html.render_tables(Path(source).stem, made.columns, promise)
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
