"""What would meet a policy that a release misses: computed where it can be, else searched.

Limits of groups follow from a parameter of the method, so that the change that meets them is known
beforehand.  Whether a change meets any other criterion is known only where it was tried: ``voile
choose`` tries plans without publishing one, and says which meets the policy with the least loss.

A search begins at the plan of a release, or, before one is published, at the plan as it stands.  A
change that was found is put into the plan upon which it was tried, and not into what the plan has
become since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response

from voile.policy.remedies import PlanChange
from voile.proposal.editing import with_method, with_role
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, RefusedError
from voile_base.values import Document
from voile_studio import commands
from voile_studio.jobs import Job
from voile_studio.pictures import levels_of
from voile_studio.planning import plan_of, policy_of, problem_in
from voile_studio.project import Project, rulings_of, verdict_of
from voile_studio.screens.pages import Pages
from voile_studio.words import change_text, method_cards, remedy_of

__all__ = [
    "changes_of",
    "remedy_routes",
    "search_of",
    "search_of_plan",
    "search_routes",
    "text_of",
    "tip_of",
]

_NO_PLAN = "the plan of this release is not there any more: publish again, then search"
_DEED = "change that was searched"
_OF_PLAN = "choose-plan"
"""The purpose of a search that begins at the plan, among those that begin at a release's."""


def _searched(project: Project) -> Path:
    """The plan at which the newest search on Try began."""
    return project.folder / "searched.toml"


def text_of(plan: Path) -> str:
    """The text of a plan; empty where it is not there."""
    try:
        return plan.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


@dataclass(frozen=True)
class _PolicySearch:
    """A search for the plan of least loss that meets a policy, and what came of it."""

    job: Job
    plans: Sequence[Document]
    """Those that were tried, as ``voile choose`` prints them; none while it runs."""
    found: Document | None
    """The one of least loss that meets the policy."""
    nearest: Document | None
    """The one that comes nearest; None where that is not told."""
    obstacles: Sequence[str]
    """The criteria that the nearest plan misses, where none meets the policy."""
    remedies: Mapping[str, str] = field(default_factory=dict)
    """What may help of each of those criteria."""
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The levels of each column, in words."""
    outdated: bool = False
    """Whether the plan was changed since."""
    in_plan: str = ""
    """The change that was tried, and is in the plan now; empty for none."""
    last_remedy: Document | None = None
    """The one that meets the policy without any sensitive column, where no other does."""
    undecided: bool = False
    """Whether the nearest plan misses limits by the width of intervals alone."""
    asks_more: bool = False
    """Whether it asks more people than usual."""
    warning: str = ""
    """What nobody counts of the plan that was found or is nearest; empty where nothing is."""


def search_of(project: Project, folder: Path) -> _PolicySearch | None:
    """The newest search for a release under the policy that it was checked against."""
    checked = project.jobs.latest(f"check-{folder.name}")
    job = project.jobs.latest(f"choose-{folder.name}", checked.about) if checked else None
    return None if job is None else _search_by(job, commands.plan_of_release(project, folder))


def search_of_plan(project: Project) -> _PolicySearch | None:
    """The newest search that began at the plan, under the policy that releases are to meet."""
    job = project.jobs.latest(_OF_PLAN, project.policy)
    if job is None:
        return None
    outdated = text_of(_searched(project)) != project.plan_text
    search = _search_by(job, _searched(project))
    taken = outdated and project.states.deed(-1) == _DEED
    return replace(search, outdated=outdated, in_plan=_in_plan(project, search) if taken else "")


def _in_plan(project: Project, search: _PolicySearch) -> str:
    """The change of a search on Try that the plan has now; empty for none."""
    path, text = _searched(project), project.plan_text
    tried = [one["change"] for one in search.plans if not one["problem"]]
    first = [one["change"] for one in (search.found, search.nearest) if one]
    every = dict.fromkeys((*first, *tried))
    return next((one for one in every if _taken(search, one, path) == text), "")


def _search_by(job: Job, path: Path) -> _PolicySearch:
    """What came of a search that began at the plan of a path."""
    document = job.output() if job.state in ("done", "failed") else None
    said = document if isinstance(document, dict) else {}
    plan, text = plan_of(path), text_of(path)
    quasi = plan.roles.quasi_identifiers if plan else ()
    inorder = sorted(
        said.get("plans") or (),
        key=lambda one: (not one["meets"], bool(one["problem"]), len(one.get("unmet") or ())),
    )
    plans = [one | {"lost_in_all": _lost_in_all(one, quasi)} for one in inorder]
    by_change = {one["change"]: one for one in reversed(plans)}
    met = {change: one for change, one in by_change.items() if one["meets"]}
    return _PolicySearch(
        job,
        plans,
        found=met.get(said.get("found") or ""),
        nearest=by_change.get(said.get("nearest") or ""),
        obstacles=tuple(dict.fromkeys(said.get("in_the_way") or ())),
        remedies={one["asks"]: one["remedy"] for one in said.get("remedies") or ()},
        levels=levels_of(text),
        last_remedy=met.get(said.get("last_remedy") or ""),
        undecided=bool(said.get("undecided")),
        asks_more=commands.asks_more(job),
        warning=said.get("warning") or "",
    )


def tip_of(search: _PolicySearch | None, asks: str) -> str:
    """Which plan that a search has tried meets a criterion, or that none does; empty: no search."""
    judged = [one for one in search.plans if one.get("judged")] if search else []
    if search is None or not judged:
        return ""
    meeting = [one for one in judged if asks not in one["unmet"]]
    if not meeting:
        return f"None of the {len(judged)} plans that the search has tried in full meets it."
    best = min(meeting, key=lambda one: (len(one["unmet"]), one.get("objective") or 0))
    others = len(best["unmet"])
    but = f", and misses {others} other{'s' * (others > 1)}" if others else ", and all others"
    return f"Met by this change: {change_text(best, search.levels)}{but}. It can be taken below."


def _lost_in_all(tried: Document, quasi_identifiers: Sequence[str]) -> float | None:
    """The mean loss of a tried plan, where the columns that it leaves out are lost altogether.

    ``quasi_identifiers`` are those of the plan that it changes.  None where it leaves out none.
    """
    gone, loss = tried.get("without") or (), tried.get("information_loss")
    if loss is None or not gone:
        return None
    shown = {*quasi_identifiers, *(tried.get("grouped") or ())} - {*gone}
    return float(loss * len(shown) + len(gone)) / (len(shown) + len(gone))


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


def _taken(search: _PolicySearch | None, named: str, path: Path) -> str:
    """The text of a plan, at which a search began, with a change that it has tried."""
    tried = {one["change"]: one for one in search.plans if not one["problem"]} if search else {}
    if named not in tried:
        msg = "no such plan was tried: search for one first"
        raise InputError(msg)
    taken = tried[named]
    return _with_roles(_with_changes(text_of(path), path, taken["method"]), taken)


def search_routes(pages: Pages) -> APIRouter:
    """The addresses of a search that begins at the plan, before anything is published."""
    router = APIRouter(prefix="/p/{name}/try")

    @router.post("/choose")
    def choose(name: str, *, more: Annotated[bool, Form()] = False) -> Response:
        project = pages.project(name)
        if policy_of(project) is None:
            msg = "say first on Plan to whom releases go: a policy is what plans are tried for"
            raise InputError(msg)
        if (wrong := problem_in(project)) is not None:
            raise RefusedError(wrong.message)
        command = commands.choose(project, _searched(project), project.policy, more=more)
        text = project.plan_text
        project.run(
            _OF_PLAN,
            command,
            project.policy,
            before=lambda: replace_private_file(_searched(project), text),
        )
        return pages.to(project, "try#search-plan")

    @router.post("/take")
    def take(name: str, plan: Annotated[str, Form(max_length=500)]) -> Response:
        project = pages.project(name)
        text = _taken(search_of_plan(project), plan, _searched(project))
        project.keep_plan(text, _DEED)
        return pages.to(project, "try")

    return router


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
    def choose(name: str, release: str, *, more: Annotated[bool, Form()] = False) -> Response:
        project = pages.project(name)
        folder = project.release(release)
        checked = project.jobs.latest(f"check-{release}")
        if checked is None:
            msg = "check the release against a policy first: it is what plans are tried for"
            raise InputError(msg)
        path = commands.plan_of_release(project, folder)
        if plan_of(path) is None:
            raise RefusedError(_NO_PLAN)
        command = commands.choose(project, path, checked.about, more=more)
        project.run(f"choose-{release}", command, checked.about)
        return pages.to(project, f"evidence#search-{release}")

    @router.post("/take")
    def take(name: str, release: str, plan: Annotated[str, Form(max_length=500)]) -> Response:
        project = pages.project(name)
        folder = project.release(release)
        path = commands.plan_of_release(project, folder)
        project.keep_plan(_taken(search_of(project, folder), plan, path), _DEED)
        return pages.to(project, "sign")

    return router
