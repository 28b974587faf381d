"""Sign off: what the ledger will be charged, publishing, and what is handed over.

The ledger: the releases of the project, what was promised and spent, and what never appeared.

Commands at work: how far they are, and the ways to interrupt and to go on.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from voile.ledger import Ledger
from voile.policy.ruling import UNPUBLISHED
from voile.proposal.editing import with_method, with_role, with_row_as_person
from voile.publish.generalization.statement import TIMES_K
from voile.publish.registry import publisher_of
from voile.schema.plan import Method, Plan
from voile.schema.trajectory import TrajectoryColumns
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, RefusedError
from voile_base.values import Json
from voile_studio import commands
from voile_studio.jobs import Job, told_as_command
from voile_studio.planning import plan_of, policies, policy_of, problem_in
from voile_studio.project import Project, told
from voile_studio.screens.confirming import release_line, table_of
from voile_studio.screens.data import (
    columns_of,
    columns_without_repeats,
    follows_rows,
    refused_persons,
)
from voile_studio.screens.evidence import check_new_releases, releases
from voile_studio.screens.pages import Pages
from voile_studio.screens.trying import keys_of_series, looks, was_tried
from voile_studio.words import numbers_of

__all__ = ["ledger_routes", "routes", "working_routes"]


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screens."""
    router = APIRouter(prefix="/p/{name}")

    @router.get("/sign")
    def page(name: str) -> Response:
        project = pages.project(name)
        check_new_releases(project)
        return pages.show("sign.html", project, **_page(project))

    @router.post("/release")
    def release(
        name: str,
        digest: Annotated[str, Form(max_length=200)],
        number: Annotated[str, Form(max_length=6)],
        seed: Annotated[str, Form(max_length=20)] = "",
        roads: Annotated[str, Form(max_length=4096)] = "",
    ) -> Response:
        project = pages.project(name)
        if wrong := problem_in(project):
            raise InputError(wrong.message)
        said = seed.strip()
        if said and not (said.isascii() and said.isdigit()):
            msg = "a seed is one whole number"
            raise InputError(msg)
        plan = plan_of(project.plan)
        if plan and (asked := plan.questions_open):
            msg = f"{asked}; answer them on the plan's page, each with its button"
            raise InputError(msg)
        if roads and roads not in {file.name for file in project.start.maps()}:
            msg = "there is no such map in the folder that Studio was started in"
            raise InputError(msg)
        _publish(project, digest, number, int(said) if said else None, roads)
        return pages.to(project, "sign")

    @router.post("/series")
    def begin_series(
        name: str,
        digest: Annotated[str, Form(max_length=200)],
        series: Annotated[str, Form(max_length=100)],
        record_key: Annotated[str, Form(max_length=4096)] = "",
        group_size: Annotated[str, Form(max_length=9)] = "",
    ) -> Response:
        project = pages.project(name)
        said: Json = {"series": series.strip(), "record_key": record_key}
        if numbers := numbers_of(group_size, "Persons in a group", "80"):
            said["group_size"] = numbers[0]
        _begin_series(project, digest, said)
        return pages.to(project, "sign#again")

    return router


def _publish(project: Project, digest: str, number: str, seed: int | None, roads: str) -> None:
    """Make the release that a page offered, of the plan that it showed, once.

    Its trips are followed on a map where one is named.

    Raises ``RefusedError`` where the plan is another now, or the release was made meanwhile.
    """
    out = project.new_numbered("releases")
    text = project.plan_text

    def prepare() -> None:
        if number != out.name or out.exists():
            msg = "a release was made meanwhile: look at it, and publish another if you mean to"
            raise RefusedError(msg)
        if digest != project.digest:
            msg = "the plan was changed meanwhile: look at what will be published, and publish then"
            raise RefusedError(msg)
        _clear_after_kill(project, out)
        replace_private_file(commands.plan_of_release(project, out), text)

    project.run("release", commands.study(project, out, seed, roads=roads), digest, prepare)


def _clear_after_kill(project: Project, out: Path) -> None:
    """Remove the hidden folder of a release whose command was killed; it holds private rows."""
    job = project.jobs.latest("release")
    if job is not None and job.state == "interrupted" and project.named(out) in job.arguments:
        for left in out.parent.glob(f".{out.name}.*"):
            shutil.rmtree(left, ignore_errors=True)


def _unfinished(project: Project, out: Path) -> Job | None:
    """The command of the next release, unless it has made one, after which it may be killed."""
    job = project.jobs.latest("release")
    if job is None or (job.state != "running" and project.named(out) not in job.arguments):
        return None
    return job


def _has_trips(project: Project, plan: Plan) -> bool:
    """Whether a plan names positions, or the table has the columns that are taken for them."""
    named = plan.trajectory or TrajectoryColumns()
    return {named.latitude, named.longitude} <= set(columns_of(project))


def _page(project: Project) -> Json:
    plan = plan_of(project.plan)
    method = plan.method if plan else None
    out = project.next_numbered("releases")
    wrong = problem_in(project)
    running = _unfinished(project, out)  # before the releases, among which it may end meanwhile
    found = releases(project)
    return {
        "wrong": wrong,
        "asked": plan.questions_open if plan else None,
        "digest": project.digest,
        "number": out.name,
        "method": method,
        "maps": project.start.maps() if plan and _has_trips(project, plan) else [],
        "charge": project.charge_summary(plan) if plan and not wrong else None,
        "releases": found,
        "standing": (
            standing := [one for one in found if one["publishable"] and not one["withdrawn"]]
        ),
        "takes_back": [] if _series_of(plan) else _confirmed_alone(standing),
        "policies": policies(project),
        "policy": policy_of(project),
        "running": running,
        "made": next((one["name"] for one in found if _is_made_anew(project, one)), ""),
        "looks": looks(project),
        "untried": method is not None and not was_tried(project, method),
        "has_key": project.key.is_file(),
        "key_name": project.named(project.key),
        "public_key": project.public_key,
        **_series_page(project, plan),
        "making_key": project.jobs.latest("key"),
        "command": told_as_command(commands.study(project, out, plan=project.plan)),
    }


def _series_of(plan: Plan | None) -> str:
    """The series that a plan publishes in; empty for none."""
    return str(plan.method.parameters.get("series") or "") if plan and plan.method else ""


def _confirmed_alone(releases: Sequence[Json]) -> list[str]:
    """The unsigned of which a person has confirmed that nothing else of their rows is published."""
    return [
        one["name"]
        for one in releases
        if not one["signatures"]
        and any(each.ticked and UNPUBLISHED in each.says for each in one["statements"])
    ]


def _is_made_anew(project: Project, release: Json) -> bool:
    """Whether a release that stands was made by the plan as it is now, of the table as it is."""
    made = release["made"]
    return (
        made is not None
        and bool(release["publishable"])
        and not release["withdrawn"]
        and made.about == project.digest
        and table_of(project, project.release(str(release["name"]))) == project.source_name
        and not project.is_changed_after(made.began)
    )


def _series_page(project: Project, plan: Plan | None) -> Json:
    """The series of the plan, and what its method needs to begin one; nothing where it has none."""
    method = plan.method if plan else None
    series = str(method.parameters.get("series") or "") if method else ""
    takes = keys_of_series(method.name) if method else ()
    units = refused_persons(project, plan) if plan else ""
    of_series, withdrawn = project.releases_of_series(series) if series else (0, [])
    k = method.parameters.get("k") if method and "group_size" in takes else None
    usual = TIMES_K * k if isinstance(k, int) else "as many as the method needs"
    return {
        "withdrawn": withdrawn,
        "begins_anew": bool(withdrawn) and len(withdrawn) == of_series and bool(takes),
        "times_k": TIMES_K,
        "usual_size": usual,
        "group_size": (method.parameters.get("group_size") or usual) if method and k else None,
        "series": series,
        "next_series": _next_name(series),
        "begins_series": () if units else takes,
        "of_values": method is not None and any(method.parameters.get(key) for key in _OF_VALUES),
        "follows_rows": plan is not None and follows_rows(plan) and plan.roles.unit is not None,
        "units_in_series": units if takes else "",
        "columns": columns_without_repeats(project) or columns_of(project),
        "key": (method.parameters.get("record_key") if method else None)
        or (plan.roles.person if plan else None),
    }


def _next_name(series: str) -> str:
    """The name of a series that takes the place of another: "visits-2" after "visits"."""
    name, _, number = series.rpartition("-")
    counts = bool(name) and number.isdecimal() and len(number) < 3  # and is no year
    return f"{name}-{int(number) + 1}" if counts else f"{series}-2"


_OF_VALUES = ("l", "t", "criteria")
"""Parameters that ask something of the sensitive values of a group."""


def _begin_series(project: Project, digest: str, said: Json) -> None:
    """Put a series into the plan: what is ``said`` of it, as far as its method takes it.

    Raises ``RefusedError`` where the plan is another than the page showed, and ``InputError`` where
    its method keeps no series.
    """
    if digest != project.digest:
        msg = "the plan was changed meanwhile: look at it, and begin the series then"
        raise RefusedError(msg)
    plan = plan_of(project.plan)
    keys = keys_of_series(plan.method.name) if plan and plan.method else ()
    if plan is not None and (refused := refused_persons(project, plan)):
        msg = f"no series can be begun: {refused}"
        raise InputError(msg)
    if plan is None or plan.method is None or not keys or not said["series"]:
        msg = "the method of the plan keeps no series, or the series has no name"
        raise InputError(msg)
    if "record_key" in keys and said["record_key"] not in columns_of(project):
        msg = "choose the column that tells rows apart in every release"
        raise InputError(msg)
    parameters = {**plan.method.parameters, **{key: said[key] for key in keys if key in said}}
    k, size = parameters.get("k"), said.get("group_size")
    if isinstance(k, int) and size is not None and size < k:
        msg = (
            f"Persons in a group: {size} is below k = {k}, and a group would end as soon as one of "
            f"its persons leaves; say {TIMES_K * k}, or more"
        )
        raise InputError(msg)
    publisher_of(Method(plan.method.name, parameters))
    text = with_method(project.plan_text, plan.method.name, parameters)
    if follows_rows(plan) and plan.roles.person is not None and plan.roles.unit is not None:
        # Each person has one row, as was counted: the rows are followed, and told apart by the key.
        text = with_row_as_person(with_role(text, [plan.roles.person], "identifiers"))
    project.keep_plan(text, f"series {said['series']}")


def ledger_routes(pages: Pages) -> APIRouter:
    """The addresses of the ledger."""
    router = APIRouter(prefix="/p/{name}")

    @router.post("/ledger/settle")
    def settle(
        name: str,
        lost: Annotated[str, Form(max_length=200)],
        release: Annotated[str, Form(max_length=200)],
    ) -> Response:
        project = pages.project(name)

        def still_waits() -> None:
            if release not in _waiting(project, lost):
                msg = "that release was settled meanwhile, or is not the newest: look again"
                raise RefusedError(msg)

        still_waits()
        project.run("settle", commands.settle_lost(project, lost), release, still_waits)
        return pages.to(project, "ledger")

    @router.get("/ledger")
    def ledger(name: str) -> Response:
        project = pages.project(name)
        job = None
        if project.ledger.is_file():
            stamp = str(project.ledger.stat().st_mtime_ns)
            job = project.jobs.latest("ledger", stamp)
            job = job or project.run("ledger", commands.ledger(project), stamp)
        found = job.output() if job and job.state == "done" else None
        lines = (release_line(project, folder) for folder in project.numbered("releases"))
        made = [one for one in lines if one]
        return pages.show(
            "ledger.html",
            project,
            releases=made,
            here={one["release_id"]: one["name"] for one in made},
            withdrawn=[one["release_id"] for one in made if one["state"] == "withdrawn"],
            standing=sum(one["stands"] for one in made),
            apart=len({one["series"] or one["name"] for one in made if one["stands"]}),
            job=job,
            found=found if isinstance(found, dict) else {},
            settling=project.jobs.latest("settle"),
            command=told_as_command(commands.ledger(project)),
        )

    return router


def _waiting(project: Project, name: str) -> list[str]:
    """The releases of a series or data set of that name that wait to be settled."""
    if not project.ledger.is_file():
        return []
    ledger = Ledger(project.ledger)
    series = [one.unsettled for one in ledger.series() if one.terms.name == name]
    state = ledger.budget(name)
    found = [one.release_id for one in series if one is not None]
    return [*found, *([state.unsettled] if state and state.unsettled else [])]


def working_routes(pages: Pages) -> APIRouter:
    """The addresses of jobs."""
    router = APIRouter(prefix="/p/{name}/job/{number}")

    @router.get("")
    def job(name: str, number: int) -> Response:
        project = pages.project(name)
        found = _job(project, number)
        response = pages.show("job.html", project, job=found)
        if found.state != "running":
            response.headers["HX-Refresh"] = "true"
        return response

    @router.post("/cancel")
    def cancel(name: str, number: int, request: Request) -> Response:
        project = pages.project(name)
        _job(project, number).cancel()
        return pages.back(request, project)

    @router.post("/again")
    def again(name: str, number: int, request: Request) -> Response:
        project = pages.project(name)
        _again(project, _job(project, number))
        return pages.back(request, project)

    return router


def _again(project: Project, job: Job) -> None:
    """Run a command anew that did not end well, if it is the newest for its purpose."""

    def prepare() -> None:
        newest = project.jobs.latest(job.purpose)
        if newest is None or newest.number != job.number or job.state == "done":
            msg = "this was done meanwhile: look at the page again"
            raise RefusedError(msg)
        if {told(one) for one in project.earlier_sources} & set(job.arguments[1:2]):
            msg = "the project has gone on with another file since: begin it on its screen"
            raise RefusedError(msg)
        if job.purpose == "release":
            out = project.next_numbered("releases")
            if project.named(out) not in job.arguments:
                msg = "the release of this command stands"
                raise RefusedError(msg)
            _clear_after_kill(project, out)

    project.run(job.purpose, job.arguments, job.about, prepare)


def _job(project: Project, number: int) -> Job:
    job = project.jobs.find(number)
    if job is None:
        msg = "there is no such command"
        raise InputError(msg)
    return job
