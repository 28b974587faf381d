"""Try: methods in plain words, a grid of plans, and the risk-utility picture of what came of it.

One study of a try: its promise, its risks, and the table before and after.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from voile.proposal.editing import with_method
from voile.publish.publisher import MethodCard
from voile.publish.registry import METHODS, publisher_of
from voile.release.folder import verified_files
from voile.report.grid import risk_title
from voile.report.words import (
    NEARLY_LOST,
    SETS,
    columns_gone,
    lost_shares,
    reidentified,
    without_objective,
)
from voile.schema.plan import Method, open_questions
from voile.study.documents import read_comparison
from voile.study.frontier import PROSECUTOR, WORST_PERSON, by_risk, known_risks
from voile.study.plans import OF_SERIES, json_value
from voile.study.record import LOSS, Point, StudyComparison, StudyRecord, rates_of
from voile_base.durable import replace_private_file, write_text
from voile_base.errors import InputError, PlanError, RefusedError
from voile_base.values import Document, Json
from voile_studio import commands
from voile_studio.jobs import Job, told_as_command
from voile_studio.pictures import (
    MOST_SETS,
    SHARES,
    intervals_of,
    pair_of,
    risk_and_loss,
    sets_of,
    shown_columns,
    size_classes,
)
from voile_studio.planning import (
    column_lines,
    own_values,
    plan_of,
    policy_of,
    problem_in,
    usual_values,
)
from voile_studio.project import Project
from voile_studio.screens.data import columns_of, found_in, refused_persons
from voile_studio.screens.pages import Pages
from voile_studio.screens.remedying import search_of_plan
from voile_studio.screens.solutions import rows_beside
from voile_studio.words import (
    method_cards,
    method_told,
    numbers_of,
    parameters_told,
    without_toml,
)

__all__ = [
    "compared",
    "is_rehearsal",
    "keys_of_series",
    "looks",
    "plans_searched",
    "point_routes",
    "routes",
    "tries",
    "was_tried",
]


_PRIVATE = 0o700
_REHEARSAL = "rehearsal"
"""The file that marks a try of a public or synthetic table."""
_COUNTING = "query-error"
_MOST = 40
"""Plans of one try."""


@dataclass(frozen=True)
class _Cost:
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


def tries(project: Project, risk: str = "") -> list[Json]:
    """Every try with its comparison, the newest first; by another measure of risk, where asked.

    All are compared by one measure, where they have it: by the risk of the worst person, if it
    tells the plans of some try apart.
    """
    done = {folder: compared(project, folder.name) for folder in project.numbered("tries")}
    by_worst = {folder: by_risk(one, WORST_PERSON) for folder, one in done.items() if one}
    counted = {folder: risks for folder, one in by_worst.items() if (risks := _all_risks(one))}
    tells = any(len(set(risks)) > 1 or len(risks) == 1 for risks in counted.values())
    found = []
    for folder, own in done.items():
        worst = by_worst.get(folder)
        comparison = worst if tells and folder in counted else own
        if own and risk in _risks_of(own):
            comparison = by_risk(own, risk)
        found.append(
            {
                "name": folder.name,
                "told": _method_of_try(project, folder.name),
                "worst": {point.name: point.risk for point in worst.points} if worst else {},
                "job": project.jobs.latest(f"try-{folder.name}"),
                "comparison": comparison,
                "picture": risk_and_loss(comparison) if comparison else None,
                "file": _other_file(project, folder.name),
                "other_policy": _other_policy(project, folder.name),
                "another": comparison is not None and _another(project, folder.name),
                "smallest": _smallest_groups(comparison) if comparison else {},
                "beyond": _found_by_others(comparison) if comparison else {},
                "costs": _costs_of(comparison) if comparison else (),
                "gone": _gone_by_study(comparison) if comparison else {},
                "command": told_as_command(
                    commands.compare(project, folder, rehearsal=is_rehearsal(project, folder.name))
                ),
            }
        )
    return found


def _other_file(project: Project, attempt: str) -> str:
    """The file that a try was made of, where the project has gone on with another since."""
    job = project.jobs.latest(f"try-{attempt}")
    named = "".join(job.arguments[1:2]).removeprefix("./") if job else ""
    return named if named in project.earlier_sources else ""


def _other_policy(project: Project, attempt: str) -> str:
    """The policy that a try was held against, where the project has chosen another since."""
    job = project.jobs.latest(f"try-{attempt}")
    arguments = job.arguments if job else ()
    held = dict(pairwise(arguments)).get("--policy", "")
    return held if held != project.policy else ""


def _without_verdicts(comparison: StudyComparison) -> StudyComparison:
    """The same, whose plans were held against no policy that counts."""
    points = (replace(point, unmet=None, narrow=()) for point in comparison.points)
    return replace(comparison, points=tuple(points))


def _all_risks(comparison: StudyComparison) -> list[float]:
    """The risks of the studies that were made; none where that of one of them is not known."""
    risks = [point.risk for point in comparison.points if point.record]
    known = [risk for risk in risks if risk is not None]
    return known if len(known) == len(risks) else []


def _method_of_try(project: Project, attempt: str) -> str:
    """The method of a try with what all its plans have: "Generalization, l = 2"; empty unread."""
    try:
        method = tomllib.loads(_tried_plan(project, attempt)).get("method")
    except (InputError, tomllib.TOMLDecodeError):
        return ""
    return method_told(method) if isinstance(method, dict) else ""


def compared(project: Project, attempt: str) -> StudyComparison | None:
    """The comparison of a try; None where it is not done, or cannot be read.

    Verdicts of another policy than the project's are left out.
    """
    folder = project.folder / "tries" / attempt / "compared"
    if not attempt.isdigit() or not folder.is_dir():
        return None
    try:
        found = _by_information(_named_by_parameters(read_comparison(folder)))
    except InputError:
        return None
    return _without_verdicts(found) if _other_policy(project, attempt) else found


def _by_information(comparison: StudyComparison) -> StudyComparison:
    """Compared by the loss that reports tell, where all studies measure it."""
    records = [point.record for point in comparison.points if point.record]
    if not records or any(one.information_loss is None for one in records):
        return comparison
    return by_risk(replace(comparison, loss=LOSS, loss_better="lower"), comparison.risk)


def _named_by_parameters(comparison: StudyComparison) -> StudyComparison:
    """One study alone is called by its parameters, as those of a grid are, and not by its file."""
    points = comparison.points
    if len(points) != 1 or points[0].record is None:
        return comparison
    stated = points[0].record.plan["method"].items()
    name = ", ".join(parameters_told({key: value for key, value in stated if key != "name"}))
    if not name:
        return comparison
    first = replace(points[0], name=name)
    return replace(comparison, points=(first,), frontier=tuple(name for _ in comparison.frontier))


def is_rehearsal(project: Project, attempt: str) -> bool:
    """Whether a try is of a public or synthetic table, as the person who began it has said."""
    return (project.folder / "tries" / attempt / _REHEARSAL).exists()


def _risks_of(comparison: StudyComparison) -> dict[str, str]:
    """The measures of risk by which studies can be compared, and what each is."""
    records = [point.record for point in comparison.points if point.record]
    attacks = dict.fromkeys(one["attack"] for record in records for one in record.attacks)
    usual = [WORST_PERSON, PROSECUTOR] if PROSECUTOR in attacks else []
    names = dict.fromkeys([*usual, *known_risks(attacks)])
    return {name: risk_title(replace(comparison, risk=name)) for name in names}


def looks(project: Project) -> tuple[int, int]:
    """How many plans were tried on the table, by tries and by searches for a policy."""
    done = (compared(project, folder.name) for folder in project.numbered("tries"))
    searches = (job for job in project.jobs.all() if job.purpose.startswith("choose-"))
    tried = sum(len(comparison.points) for comparison in done if comparison)
    return tried, sum(map(plans_searched, searches))


def was_tried(project: Project, method: Method) -> bool:
    """Whether a study of some try had the plan as it is, with this method, on this table.

    Or it is a plan that a search has tried, and that was taken from it.
    """
    if (search := search_of_plan(project)) is not None and search.in_plan:
        return True
    wanted = json_value({"name": method.name, **method.parameters})
    tries = (one.name for one in project.numbered("tries"))
    of_table = (
        one for one in tries if not _other_file(project, one) and not _another(project, one)
    )
    done = (compared(project, attempt) for attempt in of_table)
    points = (point for comparison in done if comparison for point in comparison.points)
    return any(point.record and point.record.plan["method"] == wanted for point in points)


def plans_searched(job: Job) -> int:
    """How many plans a search has tried."""
    found = job.output() if job.state in ("done", "failed") else None
    return len(found.get("plans") or ()) if isinstance(found, dict) else 0


def _page(project: Project, risk: str) -> Json:
    found = tries(project, risk)
    done = [one["comparison"] for one in found if one["comparison"]]
    plan = plan_of(project.plan)
    wrong = problem_in(project)
    return {
        "explorable": wrong is None and plan is not None and plan.method is not None,
        "series": (plan.method.parameters.get("series") or "") if plan and plan.method else "",
        "own": plan.method.name if plan and plan.method else "",
        "risks": {name: told for each in done for name, told in _risks_of(each).items()},
        "risk": next((each.risk for each in done), ""),
        "cards": method_cards(),
        "usual_values": usual_values,
        "before": _chosen_before(project),
        "own_values": own_values(project),
        "of_series": _kept_in_series(project),
        "widths": _widths(project),
        "published": _published(project),
        "most_sets": MOST_SETS,
        "charges": bool(plan and plan.budget and plan.budget.epsilon),
        "policy": policy_of(project),
        "no_series": refused_persons(project, plan) if plan else "",
        "keeps_series": bool(plan and plan.method and keys_of_series(plan.method.name)),
        "tries": found,
        "next": _next_to_look_at(found),
        "search": search_of_plan(project),
        "as_shares": SHARES,
        "worst_person": WORST_PERSON,
        "nearly": NEARLY_LOST,
        "looks": looks(project),
        "wrong": wrong,
    }


@dataclass(frozen=True)
class _NextPlan:
    """The plan of a try that is to be looked at next."""

    attempt: str
    index: int
    name: str
    meets: bool
    """Whether it meets the policy, so far as figures decide."""


def _next_to_look_at(tries: Sequence[Json]) -> _NextPlan | None:
    """Of the newest try, the plan of the least loss that meets the policy, if one is chosen.

    None where no plan was tried, or none of them meets the policy.
    """
    newest = tries[0] if tries else None
    if newest is None or newest["comparison"] is None:
        return None
    if newest["another"] or newest["file"] or newest["other_policy"]:
        return None
    made = [
        (point.loss, index, point)
        for index, point in enumerate(newest["comparison"].points)
        if point.record and point.loss is not None and not point.unmet
    ]
    if not made:
        return None
    _, index, point = min(made, key=lambda one: one[:2])
    return _NextPlan(newest["name"], index, point.name, point.unmet is not None)


def _start(project: Project, said: Mapping[str, Sequence[str]]) -> None:
    """Write the plan of a grid and study it."""
    chosen = next(iter(said.get("method", ())), "")
    card = next((card for card in method_cards() if card.name == chosen), None)
    if card is None:
        msg = "choose a method"
        raise InputError(msg)
    if (wrong := problem_in(project)) and wrong.repeating:
        raise InputError(wrong.message)
    grid = _grid(card, said, _published(project))
    _refuse_values(card, grid)
    plan = plan_of(project.plan)
    stated = plan.method.name if plan and plan.method else ""
    own = METHODS.class_of(stated) if stated in METHODS.names else None
    goes_on = own is METHODS.class_of(card.name)  # with its series; no other method can
    of_series = _series_of(project, card.name) if goes_on else {}
    text = with_method(project.plan_text, card.name, {**grid, **of_series})
    if _is_at_work(project, text):
        return  # the page shows it, also of a button that is pressed twice
    attempt = project.new_numbered("tries")

    def prepare() -> None:
        if attempt.exists():
            msg = "something was tried meanwhile: look at it first"
            raise RefusedError(msg)
        attempt.mkdir(mode=_PRIVATE)
        if said.get("rehearsal"):
            write_text(attempt / _REHEARSAL, "", private=True)
        write_text(commands.plan_of_try(project, attempt), text, private=True)

    about, rehearsal = project.digest, bool(said.get("rehearsal"))
    command = commands.compare(project, attempt, rehearsal=rehearsal)
    project.run(f"try-{attempt.name}", command, about, prepare)


def _is_at_work(project: Project, text: str) -> bool:
    """Whether this plan is being tried; raises ``RefusedError`` where another one is."""
    for job in project.jobs.all():
        if job.state == "running" and job.purpose.startswith("try-"):
            attempt = project.folder / "tries" / job.purpose.removeprefix("try-")
            if commands.plan_of_try(project, attempt).read_text(encoding="utf-8") == text:
                return True
            msg = (
                "another try is at work, and these plans were not tried: try them when it has "
                "ended, or cancel it first"
            )
            raise RefusedError(msg)
    return False


def _grid(card: MethodCard, said: Mapping[str, Sequence[str]], published: Sequence[str]) -> Json:
    """The parameters of a method, each a value or a list of them to try."""
    grid: Json = {}
    plans = 1
    for parameter in card.parameters:
        if parameter.sets:
            sets = sets_of(said, f"{card.name}.{parameter.name}", published)
            if parameter.needed and not sets:
                msg = f"{parameter.label}: tick the columns of a table"
                raise InputError(msg)
            grid |= {parameter.name: sets} if sets else {}
            continue
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


def _refuse_values(card: MethodCard, grid: Json) -> None:
    """Raise ``InputError`` for a value that the method never takes, before it is tried."""
    numbers = {one.name: one.label for one in card.parameters if one.name in grid and not one.sets}
    first = {
        key: value[0] if key in numbers and isinstance(value, list) else value
        for key, value in grid.items()
    }
    for key, label in numbers.items():
        for value in grid[key] if isinstance(grid[key], list) else [grid[key]]:
            try:
                publisher_of(Method(card.name, {**first, key: value}))
            except PlanError as error:
                msg = f"{label} = {value} is not tried: {without_toml(str(error))}"
                raise InputError(msg) from None


def _kept_in_series(project: Project) -> dict[str, list[str]]:
    """The values of parameters that a series keeps of its first release; none before that."""
    plan = plan_of(project.plan)
    stated = plan.method.parameters if plan and plan.method else {}
    if not stated.get("series") or not project.releases_of_series(str(stated["series"]))[0]:
        return {}
    return {key: [str(value)] for key, value in stated.items()}


def _smallest_groups(comparison: StudyComparison) -> dict[str, int]:
    """The persons of the smallest group of each study, where the prosecutor was counted."""
    found = ((one.name, reidentified(one.record)) for one in comparison.points if one.record)
    return {name: risk.persons for name, risk in found if risk and risk.persons}


def _found_by_others(comparison: StudyComparison) -> dict[str, tuple[str, float | None]]:
    """The other columns by which a person of each study is found most surely, and how surely."""
    found = ((one.name, reidentified(one.record)) for one in comparison.points if one.record)
    return {
        name: (risk.beyond["of"].partition(": ")[2], risk.beyond.get("worst"))
        for name, risk in found
        if risk and risk.beyond
    }


def _gone_by_study(comparison: StudyComparison) -> dict[str, Mapping[str, str]]:
    """The columns of each study of which nothing, or almost nothing, is left."""
    return {one.name: columns_gone(one.record) for one in comparison.points if one.record}


def _costs_of(comparison: StudyComparison) -> list[_Cost]:
    """What each epsilon that was tried means and costs here, the smallest first."""
    found = []
    for point in comparison.points:
        epsilon = point.parameters.get("epsilon")
        if point.record is None or epsilon is None:
            continue
        error = next((m["value"] for m in point.record.utility if m["measure"] == _COUNTING), None)
        rows = point.record.publication
        found.append(
            _Cost(point.name, float(epsilon), error, rows["rows_out"] / max(1, rows["rows_in"]))
        )
    return sorted(found, key=lambda cost: cost.epsilon)


def _chosen_before(project: Project) -> dict[str, dict[str, list[object]]]:
    """What the newest try of each method has tried of each parameter, as its form states it."""
    found: dict[str, dict[str, list[object]]] = {}
    for folder in project.numbered("tries"):
        try:
            method = tomllib.loads(_tried_plan(project, folder.name)).get("method")
        except (InputError, tomllib.TOMLDecodeError):
            continue
        if isinstance(method, dict) and str(method.get("name")) not in found:
            found[str(method.pop("name"))] = {
                key: value if isinstance(value, list) else [value] for key, value in method.items()
            }
    return found


def _published(project: Project) -> tuple[str, ...]:
    """The columns that the plan publishes; none where it cannot be read."""
    plan = plan_of(project.plan)
    return plan.roles.published if plan else ()


def _widths(project: Project) -> dict[str, float]:
    """The widths of the public bounds of the columns that noise would be added to."""
    found = {}
    for line in column_lines(project.plan_text, columns_of(project)):
        if line.role == "quasi_identifiers" and line.bounds:
            low, high = line.bounds.split(",")
            with suppress(ValueError):
                found[line.name] = float(high) - float(low)
    return found


def point_routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}/try/{attempt}/{index}")

    @router.get("")
    def point(name: str, attempt: str, index: int) -> Response:
        project = pages.project(name)
        found = _point(project, attempt, index)
        made = project.jobs.latest(f"shown-{attempt}-{index}")
        if made is not None and made.state == "done":
            _look_at(project, attempt, index)
        page = _point_page(project, attempt, index, found)
        return pages.show("point.html", project, **page)

    @router.post("/show")
    def show(name: str, attempt: str, index: int) -> Response:
        project = pages.project(name)
        _show(project, attempt, index)
        return pages.to(project, f"try/{attempt}/{index}#rows")

    @router.post("/use")
    def use(name: str, attempt: str, index: int) -> Response:
        project = pages.project(name)
        method, tried = _method_of(_point(project, attempt, index))
        of_series = keys_of_series(method)
        parameters = {key: value for key, value in tried.items() if key not in of_series}
        parameters |= _series_of(project, method)
        text = with_method(project.plan_text, method, parameters)
        project.keep_plan(text, f"method of try {int(attempt)}")
        return pages.to(project, "sign")

    return router


def _point(project: Project, attempt: str, index: int) -> Point:
    comparison = compared(project, attempt)
    if comparison is None or not 0 <= index < len(comparison.points):
        msg = "there is no such study"
        raise InputError(msg)
    return comparison.points[index]


def _method_of(point: Point) -> tuple[str, Json]:
    """The name and the parameters of the method of a study."""
    if point.record is None:
        msg = "nothing came of this study, so there is nothing to use or to look at"
        raise InputError(msg)
    stated = dict(point.record.plan["method"])
    return str(stated.pop("name")), stated


def keys_of_series(method: str) -> tuple[str, ...]:
    """The parameters with which a method publishes in a series; none of one that keeps none."""
    takes = METHODS.fields_of(method)
    return tuple(key for key in OF_SERIES if key in takes) if "series" in takes else ()


def _series_of(project: Project, method: str) -> Json:
    """What the plan says of its series, where this method keeps one."""
    plan = plan_of(project.plan)
    said = plan.method.parameters if plan and plan.method else {}
    return {key: said[key] for key in keys_of_series(method) if key in said}


def _shown(project: Project, attempt: str, index: int) -> Path:
    return project.folder / "shown" / f"{attempt}-{index}"


def _tried_plan(project: Project, attempt: str) -> str:
    path = commands.plan_of_try(project, project.folder / "tries" / attempt)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        msg = "the plan of this try cannot be read any more; try again"
        raise InputError(msg) from None


def _accepted(text: str) -> str:
    """A plan whose open questions are accepted: what it makes stays among the custodian's files."""
    asked = open_questions(text) and "accept_questions" not in tomllib.loads(text)
    return f"accept_questions = true\n{text}" if asked else text


def _show(project: Project, attempt: str, index: int) -> None:
    """Make a release like that of a study, to look at."""
    method, parameters = _method_of(_point(project, attempt, index))
    text = _accepted(with_method(_tried_plan(project, attempt), method, parameters))
    out = _shown(project, attempt, index)
    plan = project.folder / f"shown-{attempt}-{index}.toml"

    def prepare() -> None:
        out.parent.mkdir(exist_ok=True, mode=_PRIVATE)
        replace_private_file(plan, text)

    command = commands.publish_seeded(project, plan, out)
    project.run(f"shown-{attempt}-{index}", command, before=prepare)


def _look_at(project: Project, attempt: str, index: int) -> None:
    """Look at the rows of the release that was made, and at the same rows before and after."""
    beside = f"beside-{attempt}-{index}"
    if project.jobs.latest(beside) is None:
        plan = project.folder / f"shown-{attempt}-{index}.toml"
        project.run(beside, commands.solutions(project, plan))
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


def _point_page(project: Project, attempt: str, index: int, point: Point) -> Json:
    record = point.record
    after = project.jobs.found(f"rows-{attempt}-{index}")
    before = found_in(project)
    page: Json = {
        "attempt": attempt,
        "index": index,
        "point": point,
        "method": method_told(record.plan["method"]) if record else "",
        "made": project.jobs.latest(f"shown-{attempt}-{index}"),
        "looked": project.jobs.latest(f"rows-{attempt}-{index}"),
        "before": before,
        "after": after,
        "matching": project.jobs.latest(f"beside-{attempt}-{index}"),
        "beside": rows_beside(project.jobs.found(f"beside-{attempt}-{index}"), None),
        "intervals": intervals_of([it["name"] for it in after["columns"]], after["first"])
        if after
        else None,
    }
    if record is None:
        return page
    groups = record.release.get("groups") or {}
    return page | {
        "attacks": [(attack, rates_of(attack)) for attack in record.attacks],
        "reidentified": reidentified(record),
        "utility": record.utility,
        "guarantee": record.release["guarantee"],
        "publication": record.publication,
        "without_objective": without_objective,
        "pairs": [pair_of(one) for one in record.distributions if one.labels],
        "shown": shown_columns(record, before, after),
        "grouped": groups.get("column"),
        "alike": groups.get("made") == "alike",
        "lost": lost_shares(record),
        "gone": columns_gone(record),
        "sets": SETS,
        "sizes": _sizes(record, before, after),
        "another": _another(project, attempt),
    }


def _sizes(record: StudyRecord, before: Document, after: Document) -> list[Any]:
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
