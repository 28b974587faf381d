"""Try: methods in plain words, a grid of plans, and the risk-utility picture of what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from voile.durable import write_text
from voile.errors import InputError
from voile.release.manifest import listed_files
from voile.studio import commands
from voile.studio.jobs import told_as_command
from voile.studio.pictures import bars_of, few, risk_and_loss
from voile.studio.planning import column_lines, problem_of, with_method
from voile.studio.project import Project
from voile.studio.screens.data import columns_of, found_in, ordered
from voile.studio.screens.pages import Pages
from voile.studio.words import METHOD_CARDS, MethodCard, numbers_of
from voile.study.documents import read_comparison
from voile.study.rates import rates_of
from voile.study.record import Comparison, Point

__all__ = ["compared", "looks", "routes", "tries"]

_PRIVATE = 0o700
_MOST = 40
"""Plans of one try."""


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}/try")

    @router.get("")
    def trying(name: str) -> Response:
        project = pages.project(name)
        return pages.show("try.html", project, **_page(project))

    @router.post("")
    async def start(name: str, request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=100)
        said = {key: str(value) for key, value in form.items()}
        project = pages.project(name)
        _start(project, said)
        return pages.to(project, "try")

    @router.get("/{attempt}/{index}")
    def point(name: str, attempt: str, index: int) -> Response:
        project = pages.project(name)
        made = project.jobs.latest(f"shown-{attempt}-{index}")
        if made is not None and made.state == "done":
            _look_at(project, attempt, index)
        return pages.show("point.html", project, **_point_page(project, attempt, index))

    @router.post("/{attempt}/{index}/show")
    def show(name: str, attempt: str, index: int) -> Response:
        project = pages.project(name)
        _show(project, attempt, index)
        return pages.to(project, f"try/{attempt}/{index}")

    @router.post("/{attempt}/{index}/use")
    def use(name: str, attempt: str, index: int) -> Response:
        project = pages.project(name)
        method, parameters = _method_of(_point(project, attempt, index))
        project.keep_plan(with_method(project.plan_text, method, parameters))
        return pages.to(project, "sign")

    return router


def tries(project: Project) -> list[dict[str, Any]]:
    """Every try with its comparison, the newest first."""
    found = []
    for folder in project.numbered("tries"):
        comparison = compared(project, folder.name)
        found.append(
            {
                "name": folder.name,
                "job": project.jobs.latest(f"try-{folder.name}"),
                "comparison": comparison,
                "picture": risk_and_loss(comparison) if comparison else None,
                "command": told_as_command(commands.compare(project, folder)),
            }
        )
    return found


def compared(project: Project, attempt: str) -> Comparison | None:
    """The comparison of a try; None where it is not done, or cannot be read."""
    folder = project.folder / "tries" / attempt / "compared"
    if not attempt.isdigit() or not folder.is_dir():
        return None
    try:
        return read_comparison(folder)
    except InputError:
        return None


def looks(project: Project) -> int:
    """How many plans were tried on the table."""
    done = (compared(project, folder.name) for folder in project.numbered("tries"))
    return sum(len(comparison.points) for comparison in done if comparison)


def _page(project: Project) -> dict[str, Any]:
    found = tries(project)
    return {
        "cards": METHOD_CARDS,
        "tries": found,
        "looks": sum(len(one["comparison"].points) for one in found if one["comparison"]),
        "wrong": problem_of(project.plan, columns_of(project)),
    }


def _start(project: Project, said: Mapping[str, str]) -> None:
    """Write the plan of a grid and study it."""
    card = next((card for card in METHOD_CARDS if card.name == said.get("method")), None)
    if card is None:
        msg = "choose a method"
        raise InputError(msg)
    text = with_method(project.plan_text, card.name, _grid(card, said))
    attempt = project.new_numbered("tries")
    attempt.mkdir(mode=_PRIVATE)
    write_text(commands.plan_of_try(project, attempt), text, private=True)
    project.jobs.start(f"try-{attempt.name}", commands.compare(project, attempt), project.digest)


def _grid(card: MethodCard, said: Mapping[str, str]) -> dict[str, Any]:
    """The parameters of a method, each a value or a list of them to try."""
    grid: dict[str, Any] = {}
    plans = 1
    for parameter in card.parameters:
        values = numbers_of(said.get(f"{card.name}.{parameter.name}", ""), parameter.label)
        if not values and parameter.needed:
            msg = f"{parameter.label}: write a value, or several with commas between"
            raise InputError(msg)
        if values:
            grid[parameter.name] = values[0] if len(values) == 1 else values
            plans *= len(values)
    if plans > _MOST:
        msg = f"these are {plans} plans; try at most {_MOST} at a time"
        raise InputError(msg)
    return grid


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


def _show(project: Project, attempt: str, index: int) -> None:
    """Make a release like that of a study, to look at."""
    method, parameters = _method_of(_point(project, attempt, index))
    out = _shown(project, attempt, index)
    out.parent.mkdir(exist_ok=True, mode=_PRIVATE)
    tried = commands.plan_of_try(project, project.folder / "tries" / attempt)
    plan = project.folder / f"shown-{attempt}-{index}.toml"
    text = with_method(tried.read_text(encoding="utf-8"), method, parameters)
    write_text(plan, text, private=True)
    project.jobs.start(f"shown-{attempt}-{index}", commands.publish_seeded(project, plan, out))


def _look_at(project: Project, attempt: str, index: int) -> None:
    """Look at the rows of the release that was made."""
    purpose = f"rows-{attempt}-{index}"
    if project.jobs.latest(purpose) is not None:
        return
    out = _shown(project, attempt, index)
    statement = json.loads((out / "release.json").read_text(encoding="utf-8"))
    names = listed_files(statement, out) or []
    if names:
        data = out / names[0] if len(names) == 1 else out / "data"
        project.jobs.start(purpose, commands.look_at(project, data))


def _point_page(project: Project, attempt: str, index: int) -> dict[str, Any]:
    point = _point(project, attempt, index)
    record = point.record
    after = project.jobs.found(f"rows-{attempt}-{index}")
    before = found_in(project)
    return {
        "attempt": attempt,
        "index": index,
        "point": point,
        "attacks": [(attack, rates_of(attack)) for attack in record.attacks] if record else [],
        "utility": record.utility if record else (),
        "guarantee": record.release["guarantee"] if record else None,
        "made": project.jobs.latest(f"shown-{attempt}-{index}"),
        "looked": project.jobs.latest(f"rows-{attempt}-{index}"),
        "before": before,
        "after": after,
        "pairs": _pairs(project, before, after),
    }


def _pairs(
    project: Project, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """How each column that a release has was spread, and how it is."""
    lines = {line.name: line for line in column_lines(project.plan_text, columns_of(project))}
    types = {column["name"]: column for column in before.get("columns", [])}
    then, now = before.get("values", {}), after.get("values", {})
    found = {column["name"]: column for column in after.get("columns", [])}
    pairs = []
    for name, spread in then.items():
        shown = [each for each in now if each == name or each.startswith(f"{name}.")]
        if shown:
            published = [
                (each, bars_of(few(now[each], ordered=ordered(lines, found[each]))))
                for each in shown
            ]
            was = bars_of(few(spread, ordered=ordered(lines, types[name])))
            pairs.append({"name": name, "before": was, "after": published})
    return pairs
