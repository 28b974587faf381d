"""Try: methods in plain words, a grid of plans, and the risk-utility picture of what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from voile.publish.capabilities import MethodCard
from voile.report.grid import risk_title
from voile.study.documents import read_comparison
from voile.study.frontier import PROSECUTOR, by_risk, known_risks
from voile.study.record import StudyComparison
from voile_base.durable import write_text
from voile_base.errors import InputError, RefusedError
from voile_studio import commands
from voile_studio.jobs import told_as_command
from voile_studio.pictures import risk_and_loss
from voile_studio.planning import column_lines, problem_of, with_method
from voile_studio.project import Project
from voile_studio.screens.data import columns_of
from voile_studio.screens.pages import Pages
from voile_studio.words import method_cards, numbers_of

__all__ = ["compared", "looks", "routes", "tries"]

_PRIVATE = 0o700
_COUNTING = "query-error"
_MOST = 40
"""Plans of one try."""


@dataclass(frozen=True)
class Cost:
    """What one epsilon costs here, as a study has measured it."""

    name: str
    epsilon: float
    error: float | None
    """How far answers to counting questions are off, typically; a share of the answer."""
    rows: float
    """The share of the rows that is published."""


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}/try")

    @router.get("")
    def trying(name: str, risk: Annotated[str, Query(max_length=100)] = "") -> Response:
        project = pages.project(name)
        return pages.show("try.html", project, **_page(project, risk))

    @router.post("")
    async def start(name: str, request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=100)
        said = {key: [str(value) for value in form.getlist(key)] for key in form}
        project = pages.project(name)
        _start(project, said)
        return pages.to(project, "try")

    return router


def tries(project: Project, risk: str = "") -> list[dict[str, Any]]:
    """Every try with its comparison, the newest first; by another measure of risk, where asked."""
    found = []
    for folder in project.numbered("tries"):
        comparison = compared(project, folder.name)
        if comparison and risk in risks_of(comparison):
            comparison = by_risk(comparison, risk)
        found.append(
            {
                "name": folder.name,
                "job": project.jobs.latest(f"try-{folder.name}"),
                "comparison": comparison,
                "picture": risk_and_loss(comparison) if comparison else None,
                "costs": costs_of(comparison) if comparison else (),
                "command": told_as_command(commands.compare(project, folder)),
            }
        )
    return found


def compared(project: Project, attempt: str) -> StudyComparison | None:
    """The comparison of a try; None where it is not done, or cannot be read."""
    folder = project.folder / "tries" / attempt / "compared"
    if not attempt.isdigit() or not folder.is_dir():
        return None
    try:
        return read_comparison(folder)
    except InputError:
        return None


def risks_of(comparison: StudyComparison) -> dict[str, str]:
    """The measures of risk by which studies can be compared, and what each is."""
    records = [point.record for point in comparison.points if point.record]
    attacks = dict.fromkeys(one["attack"] for record in records for one in record.attacks)
    usual = [PROSECUTOR] if PROSECUTOR in attacks else []
    names = dict.fromkeys([*usual, *known_risks(attacks)])
    return {name: risk_title(replace(comparison, risk=name)) for name in names}


def looks(project: Project) -> int:
    """How many plans were tried on the table."""
    done = (compared(project, folder.name) for folder in project.numbered("tries"))
    return sum(len(comparison.points) for comparison in done if comparison)


def _page(project: Project, risk: str) -> dict[str, Any]:
    found = tries(project, risk)
    done = [one["comparison"] for one in found if one["comparison"]]
    return {
        "risks": {name: told for each in done for name, told in risks_of(each).items()},
        "risk": next((each.risk for each in done), ""),
        "cards": method_cards(),
        "widths": _widths(project),
        "tries": found,
        "looks": sum(len(each.points) for each in done),
        "wrong": problem_of(project.plan, columns_of(project), project.start),
    }


def _start(project: Project, said: Mapping[str, Sequence[str]]) -> None:
    """Write the plan of a grid and study it."""
    chosen = next(iter(said.get("method", ())), "")
    card = next((card for card in method_cards() if card.name == chosen), None)
    if card is None:
        msg = "choose a method"
        raise InputError(msg)
    text = with_method(project.plan_text, card.name, _grid(card, said))
    if any(job.state == "running" for job in project.jobs.all() if job.purpose.startswith("try-")):
        return  # the page shows it: one at a time, also of a button that is pressed twice
    attempt = project.new_numbered("tries")

    def prepare() -> None:
        if attempt.exists():
            msg = "something was tried meanwhile: look at it first"
            raise RefusedError(msg)
        attempt.mkdir(mode=_PRIVATE)
        write_text(commands.plan_of_try(project, attempt), text, private=True)

    about = project.digest
    project.run(f"try-{attempt.name}", commands.compare(project, attempt), about, prepare)


def _grid(card: MethodCard, said: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The parameters of a method, each a value or a list of them to try."""
    grid: dict[str, Any] = {}
    plans = 1
    for parameter in card.parameters:
        texts = ", ".join(said.get(f"{card.name}.{parameter.name}", ()))
        values = list(dict.fromkeys(numbers_of(texts, parameter.label)))
        if not values and parameter.needed:
            msg = f"{parameter.label}: tick a value, or write one or several with commas between"
            raise InputError(msg)
        if values:
            grid[parameter.name] = values[0] if len(values) == 1 else values
            plans *= len(values)
    if plans > _MOST:
        msg = f"these are {plans} plans; try at most {_MOST} at a time"
        raise InputError(msg)
    return grid


def costs_of(comparison: StudyComparison) -> list[Cost]:
    """What each epsilon that was tried means and costs here, the smallest first."""
    found = []
    for point in comparison.points:
        epsilon = point.parameters.get("epsilon")
        if point.record is None or epsilon is None:
            continue
        error = next((m["value"] for m in point.record.utility if m["measure"] == _COUNTING), None)
        rows = point.record.publication
        found.append(
            Cost(point.name, float(epsilon), error, rows["rows_out"] / max(1, rows["rows_in"]))
        )
    return sorted(found, key=lambda cost: cost.epsilon)


def _widths(project: Project) -> dict[str, float]:
    """The widths of the public bounds of the columns that noise would be added to."""
    found = {}
    for line in column_lines(project.plan_text, columns_of(project)):
        if line.role == "quasi_identifiers" and line.bounds:
            low, high = line.bounds.split(",")
            with suppress(ValueError):
                found[line.name] = float(high) - float(low)
    return found
