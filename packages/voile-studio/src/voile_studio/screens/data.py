"""Data: choose a file; what it holds, who is protected, how exposed they are."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response

from voile.report.words import listed
from voile.schema.names import UNORDERED
from voile.schema.persons import many_tell_rows
from voile.schema.plan import Plan
from voile.table.places import laid_out, place_of
from voile.table.reading import list_columns, read_frame
from voile_base.errors import InputError
from voile_base.values import Document, Json
from voile_studio import commands
from voile_studio.jobs import Job, told_as_command
from voile_studio.pictures import bars_of, few, size_classes
from voile_studio.planning import (
    PUBLISHED,
    ROLE_PROPOSED,
    ROLES,
    ColumnLine,
    capabilities_of,
    column_lines,
    plan_of,
    series_gone_on,
)
from voile_studio.project import Project
from voile_studio.screens.pages import Pages

__all__ = [
    "columns_of",
    "columns_without_repeats",
    "follows_rows",
    "found_in",
    "has_more_values",
    "is_read_at_once",
    "look",
    "looks_of",
    "refused_persons",
    "routes",
    "tells_rows",
    "unpublished",
    "values_of",
]

_MARKED = re.compile(r"^missing = .*  # [^:]*: (.+)$", re.MULTILINE)
"""The reason that a proposal gives for marks: which stands in which columns."""

_AT_ONCE = 1 << 26
"""Bytes of a file that is read while somebody waits for a page."""
_FEW = 3
_LONG = 18
_ORDERED = frozenset({"integer", "decimal", "float", "number", "date", "datetime", "time"})


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter()

    @router.get("/")
    def home() -> Response:
        return pages.show(
            "home.html",
            None,
            files=pages.start.files(),
            projects=pages.start.projects(),
            owners=pages.start.owners(),
        )

    @router.post("/open")
    def open_file(source: Annotated[str, Form(max_length=4096)]) -> Response:
        return pages.to(pages.start.project(source), "data")

    @router.get("/p/{name}/data")
    def data(name: str) -> Response:
        project = pages.project(name)
        proposing = _begun(project)
        return pages.show("data.html", project, proposing=proposing, **_page(project))

    @router.post("/p/{name}/look")
    def look_again(name: str) -> Response:
        project = pages.project(name)
        look(project)
        return pages.to(project, "data")

    @router.post("/p/{name}/source")
    def new_state(name: str, source: Annotated[str, Form(max_length=4096)]) -> Response:
        project = pages.project(name)
        _refuse_lacking(project, source)
        project.go_on_with(source, _changed(project, source))
        look(project)
        return pages.to(project, "data")

    return router


def _refuse_lacking(project: Project, source: str) -> None:
    """Raise ``InputError`` where a file lacks columns to which the plan gives a role."""
    plan = plan_of(project.plan)
    place = place_of(project.start.inside(source))
    found = list_columns(place if plan is None else laid_out(place, plan.input))
    given = [one for one in column_lines(project.plan_text, columns_of(project)) if one.role]
    lacking = [one.name for one in given if one.name not in found]
    if lacking:
        msg = (
            f"{source} lacks {'columns' if len(lacking) > 1 else 'column'} {listed(lacking)}, to "
            "which the plan gives a role: name columns in it as before, or give these the role "
            "“leave out” on Plan first"
        )
        raise InputError(msg)


def _changed(project: Project, source: str) -> str:
    """How many rows came, left and stayed, by the column by which the plan's series follows them.

    Empty without a series, where a file is gone, and where one is so large that people would wait.
    """
    plan = plan_of(project.plan)
    key = str(plan.method.parameters.get("record_key") or "") if plan and plan.method else ""
    files = [project.source, project.start.inside(source)]
    if plan is None or not key or not all(map(is_read_at_once, files)):
        return ""
    places = [laid_out(file, plan.input) for file in files]
    read = [read_frame(place, columns=[key], texts=[key]).frame for place in places]
    if not all(key in frame.columns for frame in read):
        return ""
    before, now = (set(frame[key]) for frame in read)
    return (
        f"since {project.source_name}, {len(now - before):,} rows came, {len(before - now):,} left "
        f"and {len(now & before):,} stayed, told apart by {key}"
    )


def is_read_at_once(file: Path) -> bool:
    """Whether a file is small enough to be read while somebody waits for a page."""
    return file.is_file() and file.stat().st_size <= _AT_ONCE


def _begun(project: Project) -> Job | None:
    """Propose a plan for a new project, and look at the table when there is one."""
    proposing = project.jobs.latest("propose")
    if proposing is None and not project.plan_text:
        return project.run("propose", commands.propose(project))
    at_work = proposing is not None and proposing.state == "running"
    if not at_work and project.jobs.latest("inspect") is None:
        looked = project.jobs.found("propose").get("look")
        if looked and not project.states.back:  # the plan is the one that was proposed
            project.jobs.record("inspect", commands.inspect(project), project.digest, looked)
        else:
            look(project)
    return proposing


def look(project: Project) -> Job:
    """Look at the table, by the plan as it is now."""
    return project.run("inspect", commands.inspect(project), project.digest)


def found_in(project: Project) -> Document:
    """What was found in the table last; empty before it was looked at."""
    return project.jobs.found("inspect")


def columns_of(project: Project) -> list[str]:
    """The names of the table's columns; none before it was looked at."""
    return project.columns


def values_of(project: Project, column: str) -> dict[str, int]:
    """The values of a column and their rows, the most frequent first.

    Raises ``InputError`` where they are too many to be put in groups one by one.
    """
    spread = found_in(project).get("values", {}).get(column)
    if spread is None:
        msg = "this column tells persons or things apart, or was not looked at: it has no levels"
        raise InputError(msg)
    if spread["binned"] or spread["others"]:
        msg = (
            f"the column has more than {commands.VALUES_SHOWN} values, too many to be listed one "
            "by one: its levels are made by a rule"
        )
        raise InputError(msg)
    return {str(bar["value"]): int(bar["rows"]) for bar in spread["bars"]}


def has_more_values(project: Project, column: str) -> bool:
    """Whether a column that may be shown has more values than a look has told one by one."""
    spread = found_in(project).get("values", {}).get(column)
    return spread is not None and bool(spread["binned"] or spread["others"])


def _ordered(lines: Mapping[str, ColumnLine], column: Document) -> bool:
    """Whether a column holds numbers or times that are no names of groups."""
    line = lines.get(column["name"])
    named = line is not None and line.kind in UNORDERED
    return column["type"] in _ORDERED and not named


def unpublished(project: Project, plan: str, published: Collection[str]) -> dict[str, str]:
    """The columns of the table that a release does not show, each with why not, a clause.

    ``plan`` is the text of its plan: a column that was proposed for publication was left out by
    whoever has changed the proposal.
    """
    lines = {line.name: line for line in column_lines(plan, columns_of(project))}
    proposed = {one["name"]: one for one in project.jobs.found("propose").get("columns", [])}
    return {
        name: _why_unpublished(line, proposed.get(name, {}))
        for name, line in lines.items()
        if name not in published
    }


def _why_unpublished(line: ColumnLine, proposed: Document) -> str:
    role = ROLE_PROPOSED.get(proposed.get("role", ""), proposed.get("role", ""))
    if line.role in PUBLISHED:
        return "the method does not publish it"
    if role in PUBLISHED:
        return f"left out by choice; it was proposed as {ROLES[role]}"
    return str(proposed.get("why") or ROLES[line.role])


def looks_of(project: Project) -> dict[str, Json]:
    """How each column is spread, some of its values, and whether many rows have one of their own.

    Values that identify are masked.
    """
    found = found_in(project)
    lines = {line.name: line for line in column_lines(project.plan_text, columns_of(project))}
    spread, masked = found.get("values", {}), found.get("masked", [])
    first = found.get("first", [])
    return {
        name: {
            "masked": name in masked,
            "spread": bars_of(few(spread.get(name), ordered=_ordered(lines, column))),
            "examples": _examples(first, place),
            "tells": tells_rows(column, found["rows"]),
        }
        for place, column in enumerate(found.get("columns", []))
        for name in [column["name"]]
    }


def tells_rows(column: Document, rows: int) -> bool:
    """Whether many of the rows have a value of their own in a column that was looked at."""
    return many_tell_rows(int(column["distinct"]), rows)


def _examples(first: Sequence[Sequence[Any]], place: int) -> list[str]:
    """Some different values of a column, from the first rows, in which identifiers are masked."""
    held = dict.fromkeys(str(row[place]) for row in first if row[place] is not None)
    return [one if len(one) <= _LONG else f"{one[: _LONG - 1]}\u2026" for one in list(held)[:_FEW]]


def _marks_written(plan: str) -> str:
    """The texts that stand for a missing value by a plan, as its form takes them."""
    try:
        said = tomllib.loads(plan).get("missing", [])
    except tomllib.TOMLDecodeError:
        return ""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(said if isinstance(said, list) else [])
    return out.getvalue().replace(",", ", ") if '"' not in out.getvalue() else out.getvalue()


def _page(project: Project) -> Json:
    job, found = project.jobs.latest("inspect"), found_in(project)
    lines = {line.name: line for line in column_lines(project.plan_text, columns_of(project))}
    looks = looks_of(project)
    columns = [
        {**column, "role": ROLES[lines[column["name"]].role], **looks[column["name"]]}
        for column in found.get("columns", [])
    ]
    return {
        "job": job,
        "rows": found.get("rows"),
        "columns": columns,
        "exposure": found.get("exposure"),
        "sizes": size_classes(found.get("group_sizes", []), []),
        "units": found.get("units"),
        "roles": ROLES,
        "doubts": found.get("rows_as_persons", []),
        "notes": found.get("notes", []),
        "first": found.get("first", []),
        "files": project.other_files,
        "marks": _marks_written(project.plan_text),
        "marked": marked[1] if (marked := _MARKED.search(project.plan_text)) else "",
        "digest": project.digest,
        "changed": project.changed,
        "goes_on": series_gone_on(project),
        "stale": job is not None and job.state == "done" and job.about != project.digest,
        "command": told_as_command(commands.inspect(project)),
    }


def refused_persons(project: Project, plan: Plan) -> str:
    """Whom a plan names who may have several rows, where its method keeps series of rows.

    A clause with what was counted, and the remedy; empty where a series can be begun.
    """
    unit = plan.roles.unit
    if not follows_rows(plan) or unit is None or _has_one_row(project, plan):
        return ""
    found = found_in(project)
    named = next((one for one in found.get("columns", []) if one["name"] == unit), None)
    counts, units = "", found.get("units") or {}
    if named is not None:
        most = units.get("most_rows", 0) if units.get("column") == unit else 0
        counts = f" ({named['distinct']:,} different values in {found['rows']:,} rows"
        counts += f", up to {most:,} rows of one)" if most > 1 else ")"
    return (
        f"the plan names {plan.roles.protected}s with several rows by {unit}{counts}, and a series "
        f"of this method follows one row of each: make one row of each {plan.roles.protected} in "
        "the table, or say on Plan that each row is another person, if that is so"
    )


def follows_rows(plan: Plan) -> bool:
    """Whether the series of a plan's method follow one row of each person."""
    return plan.method is not None and capabilities_of(plan.method.name).rows_in_series


def _has_one_row(project: Project, plan: Plan) -> bool:
    """Whether each person that the plan names was found in one row alone, and no household is.

    By the values of the column, which were counted whatever its role was then.
    """
    return plan.roles.household is None and plan.roles.person in columns_without_repeats(project)


def columns_without_repeats(project: Project) -> list[str]:
    """The columns of which each row has a value of its own, by which a series can follow rows."""
    found = found_in(project)
    return [
        str(one["name"])
        for one in found.get("columns", ())
        if one["distinct"] == found["rows"] and not one["missing"]
    ]
