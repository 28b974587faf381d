"""One study of a try: its promise, its risks, and the table before and after."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from voile.release.manifest import verified_files
from voile.study.record import Point, StudyRecord, rates_of
from voile_base.durable import replace_private_file
from voile_base.errors import InputError
from voile_studio import commands
from voile_studio.planning import with_method
from voile_studio.project import Project
from voile_studio.screens.data import found_in
from voile_studio.screens.pages import Pages
from voile_studio.screens.trying import compared
from voile_studio.spreads import pair_of, shown_columns, size_classes

__all__ = ["routes"]

_PRIVATE = 0o700


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}/try/{attempt}/{index}")

    @router.get("")
    def point(name: str, attempt: str, index: int) -> Response:
        project = pages.project(name)
        found = _point(project, attempt, index)
        made = project.jobs.latest(f"shown-{attempt}-{index}")
        if made is not None and made.state == "done":
            _look_at(project, attempt, index)
        page = _page(project, attempt, index, found)
        return pages.show("point.html", project, **page)

    @router.post("/show")
    def show(name: str, attempt: str, index: int) -> Response:
        project = pages.project(name)
        _show(project, attempt, index)
        return pages.to(project, f"try/{attempt}/{index}")

    @router.post("/use")
    def use(name: str, attempt: str, index: int) -> Response:
        project = pages.project(name)
        method, parameters = _method_of(_point(project, attempt, index))
        project.keep_plan(with_method(project.plan_text, method, parameters))
        return pages.to(project, "sign")

    return router


def _point(project: Project, attempt: str, index: int) -> Point:
    comparison = compared(project, attempt)
    if comparison is None or not 0 <= index < len(comparison.points):
        msg = "there is no such study"
        raise InputError(msg)
    return comparison.points[index]


def _method_of(point: Point) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of the method of a study."""
    if point.record is None:
        msg = "nothing came of this study, so there is nothing to use or to look at"
        raise InputError(msg)
    stated = dict(point.record.plan["method"])
    return str(stated.pop("name")), stated


def _shown(project: Project, attempt: str, index: int) -> Path:
    return project.folder / "shown" / f"{attempt}-{index}"


def _tried_plan(project: Project, attempt: str) -> str:
    path = commands.plan_of_try(project, project.folder / "tries" / attempt)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        msg = "the plan of this try cannot be read any more; try again"
        raise InputError(msg) from None


def _show(project: Project, attempt: str, index: int) -> None:
    """Make a release like that of a study, to look at."""
    method, parameters = _method_of(_point(project, attempt, index))
    text = with_method(_tried_plan(project, attempt), method, parameters)
    out = _shown(project, attempt, index)
    plan = project.folder / f"shown-{attempt}-{index}.toml"

    def prepare() -> None:
        out.parent.mkdir(exist_ok=True, mode=_PRIVATE)
        replace_private_file(plan, text)

    command = commands.publish_seeded(project, plan, out)
    project.run(f"shown-{attempt}-{index}", command, before=prepare)


def _look_at(project: Project, attempt: str, index: int) -> None:
    """Look at the rows of the release that was made."""
    purpose = f"rows-{attempt}-{index}"
    if project.jobs.latest(purpose) is not None:
        return
    out = _shown(project, attempt, index)
    try:
        statement = json.loads((out / "release.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    names = verified_files(statement, out).names
    data = out / names[0] if len(names) == 1 else out / "data"
    groups = (statement.get("groups") or {}).get("column")
    project.run(purpose, commands.look_at(project, data, groups))


def _page(project: Project, attempt: str, index: int, point: Point) -> dict[str, Any]:
    record = point.record
    after = project.jobs.found(f"rows-{attempt}-{index}")
    before = found_in(project)
    page: dict[str, Any] = {
        "attempt": attempt,
        "index": index,
        "point": point,
        "made": project.jobs.latest(f"shown-{attempt}-{index}"),
        "looked": project.jobs.latest(f"rows-{attempt}-{index}"),
        "before": before,
        "after": after,
    }
    if record is None:
        return page
    return page | {
        "attacks": [(attack, rates_of(attack)) for attack in record.attacks],
        "utility": record.utility,
        "guarantee": record.release["guarantee"],
        "publication": record.publication,
        "pairs": [pair_of(one) for one in record.distributions if one.labels],
        "shown": shown_columns(record, before, after),
        "sizes": _sizes(record, before, after),
        "another": _another(project, attempt),
    }


def _sizes(record: StudyRecord, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Any]:
    """Sizes of groups, where both looks have counted those of the same columns."""
    groups = record.release.get("groups") or {}
    then = before.get("group_sizes", [])
    counted = (before.get("exposure") or {}).get("quasi_identifiers")
    if not then or groups.get("by") != counted:
        return []
    named = (after.get("exposure") or {}).get("quasi_identifiers") == [groups.get("column")]
    return size_classes(then, after.get("group_sizes", []) if named else [])


def _another(project: Project, attempt: str) -> bool:
    """Whether the plan says another thing of the columns now than when this was tried."""
    try:
        now, then = (
            tomllib.loads(text) for text in (project.plan_text, _tried_plan(project, attempt))
        )
    except (InputError, tomllib.TOMLDecodeError):
        return True
    return {**now, "method": None} != {**then, "method": None}
