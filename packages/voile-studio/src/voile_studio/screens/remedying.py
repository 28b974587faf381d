"""What would meet a policy that a release misses: computed where it can be, else searched.

Limits of groups follow from a parameter of the method, so that the change that meets them is known
beforehand.  Whether a change meets any other criterion is known only where it was tried: ``voile
choose`` tries plans without publishing one, and says which meets the policy with the least loss.

A change that was found is put into the plan of the release, upon which it was tried, and not into
what the plan has become since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response

from voile.policy.remedies import PlanChange
from voile.proposal.editing import with_method, with_role
from voile_base.errors import InputError, RefusedError
from voile_base.values import Document
from voile_studio import commands
from voile_studio.jobs import Job
from voile_studio.planning import plan_of
from voile_studio.project import Project
from voile_studio.screens.confirming import rulings_of, verdict_of
from voile_studio.screens.pages import Pages
from voile_studio.words import method_cards, remedy_of

__all__ = ["changes_of", "remedy_routes", "search_of"]

_NO_PLAN = "the plan of this release is not there any more: publish again, then search"


@dataclass(frozen=True)
class _PolicySearch:
    """A search for the plan of least loss that meets a policy, and what came of it."""

    job: Job
    plans: Sequence[Document]
    """Those that were tried, as ``voile choose`` prints them; none while it runs."""
    found: Document | None
    """The one of least loss that meets the policy."""
    nearest: str
    """How the plan that comes nearest differs; empty where that is not told."""
    obstacles: Sequence[str]
    """The criteria that the nearest plan misses, where none meets the policy."""


def search_of(project: Project, folder: Path) -> _PolicySearch | None:
    """The newest search for a release under the policy that it was checked against."""
    checked = project.jobs.latest(f"check-{folder.name}")
    job = project.jobs.latest(f"choose-{folder.name}", checked.about) if checked else None
    if job is None:
        return None
    document = job.output() if job.state in ("done", "failed") else None
    said = document if isinstance(document, dict) else {}
    plans = said.get("plans") or []
    found = next(
        (one for one in plans if one["meets"] and one["change"] == said.get("found")), None
    )
    obstacles = dict.fromkeys(said.get("in_the_way") or ())
    return _PolicySearch(job, plans, found, said.get("nearest", ""), tuple(obstacles))


def changes_of(project: Project, rulings: Sequence[Document]) -> dict[str, object]:
    """Parameters of the plan's method that meet what is missed; those that it has not are none."""
    plan = plan_of(project.plan)
    if plan is None or plan.method is None:
        return {}
    card = {card.name: card for card in method_cards()}.get(plan.method.name)
    takes = {parameter.name for parameter in card.parameters} if card else set()
    found: dict[str, object] = {}
    for ruling in rulings:
        for key, value in remedy_of(ruling)[1].items():
            if key in takes:
                strictest = min if key == "t" else max
                found[key] = strictest(value, found.get(key, value))
    said = plan.method.parameters
    return {key: value for key, value in found.items() if said.get(key) != value}


def _with_changes(text: str, path: Path, parameters: Mapping[str, object]) -> str:
    """The text of a plan, which stands at a path, with other parameters; one of None goes."""
    plan = plan_of(path)
    if plan is None or plan.method is None:
        raise RefusedError(_NO_PLAN)
    kept = PlanChange(parameters).parameters_upon(plan.method.parameters)
    return with_method(text, plan.method.name, kept)


def _with_roles(text: str, tried: Document) -> str:
    """The text of a plan without the columns that a tried plan left out, and with those grouped."""
    for role, columns in (("", tried["without"]), ("quasi_identifiers", tried.get("grouped"))):
        if columns:
            text = with_role(text, columns, role)
    return text


def remedy_routes(pages: Pages) -> APIRouter:
    """The addresses of what follows from criteria that a release misses."""
    router = APIRouter(prefix="/p/{name}/releases/{release}")

    @router.post("/remedy")
    def remedy(name: str, release: str) -> Response:
        project = pages.project(name)
        changes = changes_of(project, rulings_of(verdict_of(project.release(release))))
        if not changes:
            msg = (
                "the plan has this change already, or its method has no such parameter: see Sign "
                "off"
            )
            raise InputError(msg)
        text = _with_changes(project.plan_text, project.plan, changes)
        project.keep_plan(text, "change for the policy")
        return pages.to(project, "sign")

    @router.post("/choose")
    def choose(name: str, release: str) -> Response:
        project = pages.project(name)
        folder = project.release(release)
        checked = project.jobs.latest(f"check-{release}")
        if checked is None:
            msg = "check the release against a policy first: it is what plans are tried for"
            raise InputError(msg)
        if plan_of(commands.plan_of_release(project, folder)) is None:
            raise RefusedError(_NO_PLAN)
        command = commands.choose(project, folder, checked.about)
        project.run(f"choose-{release}", command, checked.about)
        return pages.to(project, f"evidence#search-{release}")

    @router.post("/take")
    def take(name: str, release: str, plan: Annotated[str, Form(max_length=500)]) -> Response:
        project = pages.project(name)
        folder = project.release(release)
        search = search_of(project, folder)
        tried = {one["change"]: one for one in search.plans if not one["problem"]} if search else {}
        if plan not in tried:
            msg = "no such plan was tried for this release: search for one first"
            raise InputError(msg)
        taken = tried[plan]
        path = commands.plan_of_release(project, folder)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise RefusedError(_NO_PLAN) from None
        text = _with_roles(_with_changes(text, path, taken["method"]), taken)
        project.keep_plan(text, "change that was searched")
        return pages.to(project, "sign")

    return router
