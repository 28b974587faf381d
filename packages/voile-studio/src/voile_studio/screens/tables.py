"""Tables: counts and sums of the table, with suppressed cells shown in place.

The screen is private: a suppressed cell has its mark (primary or secondary), the rules that it
breaks, and the interval to which somebody who knows all published cells can narrow it.  What may
leave is the folder that the command wrote; the list of cells stays beside it.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from voile.schema.names import UNORDERED
from voile_base.durable import write_text
from voile_base.errors import InputError, RefusedError
from voile_base.values import Json
from voile_base.values.toml import toml_text
from voile_studio import commands
from voile_studio.jobs import told_as_command
from voile_studio.planning import column_lines
from voile_studio.project import Project
from voile_studio.screens.data import columns_of, found_in
from voile_studio.screens.pages import Pages

__all__ = ["routes"]

_PRIVATE = 0o700
_MOST_DIMENSIONS = 4
_MOST_CELLS = 4_000
"""Cells of one table that the page shows; the file has all."""
_NUMBERS = ("minimum", "p")
_SUMMED = frozenset({"integer", "decimal", "float", "number"})
_BESIDE = ("table", "status")


@dataclass(frozen=True)
class _ShownCell:
    """One cell of a table, where it stands."""

    value: str
    """Empty where it is suppressed."""
    mark: str = ""
    """"primary" or "secondary"."""
    rules: str = ""
    interval: str = ""
    """What somebody can narrow it to."""


@dataclass(frozen=True)
class _ShownTable:
    """One measure of one table, crossed by its last dimension."""

    title: str
    heads: Sequence[str]
    rows: Sequence[tuple[Sequence[str], Sequence[_ShownCell]]]
    primary: int
    secondary: int


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}/tables")

    @router.get("")
    def tables(name: str) -> Response:
        project = pages.project(name)
        return pages.show("tables.html", project, **_page(project))

    @router.post("")
    async def protect(name: str, request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=50)
        said = {key: [str(value) for value in form.getlist(key)] for key in form}
        project = pages.project(name)
        _start(project, said)
        return pages.to(project, "tables")

    return router


def _page(project: Project) -> Json:
    described = found_in(project).get("columns", [])
    numbers = [one["name"] for one in described if one.get("type") in _SUMMED]
    made = [
        {
            "name": folder.name,
            "job": project.jobs.latest(f"tables-{folder.name}"),
            "shown": _shown(folder),
            "command": told_as_command(commands.tables(project, folder)),
        }
        for folder in project.numbered("tables")
    ]
    offered = _published(project)
    lines = column_lines(project.plan_text, columns_of(project))
    labels = {line.name for line in lines if line.kind in UNORDERED}
    return {
        "columns": columns_of(project),
        "units": [line.name for line in lines if line.role in {"person", "household"}],
        "dimensions": offered,
        "numbers": [name for name in numbers if name in offered and name not in labels],
        "made": made,
    }


def _published(project: Project) -> list[str]:
    """The columns whose role lets them be published; all where the plan gives no roles."""
    lines = column_lines(project.plan_text, columns_of(project))
    if not any(line.role for line in lines):
        return [line.name for line in lines]
    private = {"person", "household", "identifiers", ""}
    return [line.name for line in lines if line.role not in private]


def _start(project: Project, said: Mapping[str, Sequence[str]]) -> None:
    """Write the plan of the tables, and protect them."""
    text = toml_text(_plan(project, said))
    jobs = project.jobs.all()
    if any(job.state == "running" for job in jobs if job.purpose.startswith("tables-")):
        return  # the page shows it: one at a time, also of a button that is pressed twice
    place = project.new_numbered("tables")

    def prepare() -> None:
        if place.exists():
            msg = "tables were made meanwhile: look at them first"
            raise RefusedError(msg)
        place.mkdir(mode=_PRIVATE)
        write_text(commands.plan_of_tables(project, place), text, private=True)

    project.run(f"tables-{place.name}", commands.tables(project, place), project.digest, prepare)


def _plan(project: Project, said: Mapping[str, Sequence[str]]) -> Json:
    """The plan that a form asks for, with persons and hierarchies of the project's plan."""
    known = _published(project)
    dimensions = [name for name in said.get("dimension", ()) if name in known]
    if not 1 <= len(dimensions) <= _MOST_DIMENSIONS:
        msg = f"choose between one and {_MOST_DIMENSIONS} columns that make the cells"
        raise InputError(msg)
    table: Json = {"dimensions": dimensions}
    if summed := [name for name in said.get("sum", ()) if name in known]:
        table["sum"] = summed
    if contributor := [name for name in said.get("contributor", ()) if name in columns_of(project)]:
        table["contributor"] = contributor[0]
    protection = {key: _number(said, key) for key in _NUMBERS}
    stated: Json = {key: value for key, value in protection.items() if value is not None}
    if not stated:
        msg = "say the fewest units of a cell that may be shown, or p percent"
        raise InputError(msg)
    if said.get("zeros", [""])[0] == "show":
        stated["zeros"] = "show"
    plan = tomllib.loads(project.plan_text or "")
    roles = {
        key: value
        for key, value in plan.get("roles", {}).items()
        if key in {"person", "household"} and value not in {*dimensions, *summed}
    }
    if said.get("unit", [""])[0] == "row":
        roles = {"person": "row"}
    columns = {name: it for name, it in plan.get("columns", {}).items() if name in dimensions}
    top: Json = {key: plan[key] for key in ("nulls", "missing") if key in plan}
    more = {"roles": roles} if roles else {}
    more |= {"columns": columns} if columns else {}
    return {**top, **more, "tables": [table], "protection": stated}


def _number(said: Mapping[str, Sequence[str]], key: str) -> float | None:
    """What a field says; raises ``InputError`` for what is no number."""
    text = next(iter(said.get(key, ())), "").strip()
    if not text:
        return None
    try:
        return int(text) if key == "minimum" else float(text)
    except ValueError:
        msg = f"{key}: {text[:20]!r} is no number"
        raise InputError(msg) from None


# -- what came of it ------------------------------------------------------------------------------


def _shown(folder: Path) -> list[_ShownTable]:
    """The tables of a folder with their suppressed cells; none before they are made."""
    try:
        with (folder / "out" / "tables.csv").open(encoding="utf-8", newline="") as file:
            cells = list(csv.DictReader(file))
        with (folder / "cells.csv").open(encoding="utf-8", newline="") as file:
            hidden = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return []
    if not cells or (not hidden and any(row["status"] == "suppressed" for row in cells)):
        return []
    measures = _measures(hidden[0]) if hidden else _without_totals(cells)
    dimensions = [name for name in cells[0] if name not in {*_BESIDE, *measures}]
    of_cell = {tuple(row[name] for name in ("table", *dimensions)): row for row in hidden}
    return [
        _crossed(title, cells, (dimensions, measure), of_cell)
        for title in dict.fromkeys(row["table"] for row in cells)
        for measure in measures
    ]


def _measures(row: Mapping[str, str]) -> list[str]:
    """The measures of the list of cells, which have an interval there."""
    return [name.removesuffix(".low") for name in row if name.endswith(".low")]


def _without_totals(cells: Sequence[Mapping[str, str]]) -> list[str]:
    """Without suppressed cells: the columns whose first row, all totals, shows a number."""
    first = cells[0]
    return [name for name in first if name not in _BESIDE and first[name] != "Total"]


def _crossed(
    title: str,
    cells: Sequence[Mapping[str, str]],
    by: tuple[Sequence[str], str],
    of_cell: Mapping[tuple[str, ...], Mapping[str, str]],
) -> _ShownTable:
    dimensions, measure = by
    *down, across = dimensions
    own = [row for row in cells if row["table"] == title][:_MOST_CELLS]
    heads = list(dict.fromkeys(row[across] for row in own))
    rows: dict[tuple[str, ...], dict[str, _ShownCell]] = {}
    marks = {"primary": 0, "secondary": 0}
    for row in own:
        why = of_cell.get(tuple(row[name] for name in ("table", *dimensions)))
        if row["status"] == "suppressed" and why is not None:
            marks[why["suppression"]] += 1
            low, high = why[f"{measure}.low"], why[f"{measure}.high"]
            interval = f"{_told(low)} to {_told(high) or 'any'}"
            cell = _ShownCell("", why["suppression"], why["rules"], interval)
        else:
            cell = _ShownCell(row[measure])
        rows.setdefault(tuple(row[name] for name in down), {})[row[across]] = cell
    listed = [
        (list(key), [of.get(head, _ShownCell("")) for head in heads]) for key, of in rows.items()
    ]
    return _ShownTable(f"{title}: {measure}", [*down, *heads], listed, **marks)


def _told(number: str) -> str:
    return f"{float(number):,.10g}" if number else ""
