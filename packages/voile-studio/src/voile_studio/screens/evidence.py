"""Evidence: what attacks found, the policy beside it, and what humans have made sure of."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import tomlkit
from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from voile.policy.assumptions import ASSUMPTIONS, read_ticks
from voile.policy.templates import template_names
from voile.study.documents import read_record
from voile.study.record import AttackDocument, StudyRecord, rates_of
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, RefusedError
from voile_studio import commands
from voile_studio.jobs import Job
from voile_studio.project import Project
from voile_studio.remedies import remedy_of
from voile_studio.screens.foreign import control_of, other_tables
from voile_studio.screens.pages import Pages
from voile_studio.screens.trying import tries

__all__ = ["release_of", "releases", "routes"]

_NUMBER = re.compile(r"[0-9]{3,6}")
_MOST = 200


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}")

    @router.get("/evidence")
    def evidence(name: str) -> Response:
        project = pages.project(name)
        return pages.show(
            "evidence.html",
            project,
            releases=releases(project),
            tries=tries(project),
            policies=[*template_names(), *_policies(project)],
            remedy_of=remedy_of,
            files=other_tables(project),
        )

    @router.post("/releases/{release}/check")
    def check(name: str, release: str, policy: Annotated[str, Form(max_length=4096)]) -> Response:
        project = pages.project(name)
        if policy not in {*template_names(), *_policies(project)}:
            msg = "there is no such policy in the folder that Studio was started in"
            raise InputError(msg)
        _hold_against(project, release_of(project, release), policy)
        return pages.to(project, "evidence")

    @router.post("/releases/{release}/risks")
    def count(
        name: str, release: str, control: Annotated[str, Form(max_length=4096)] = ""
    ) -> Response:
        project = pages.project(name)
        folder = release_of(project, release)
        out = project.new_numbered("audits")
        command = commands.audit(
            project,
            project.named(folder / "release"),
            out,
            control=control_of(project, control),
            plan=commands.plan_of_release(project, folder),
        )
        project.run(f"risks-{release}", command)
        return pages.to(project, "evidence")

    @router.post("/releases/{release}/assumptions")
    async def tick(name: str, release: str, request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=_MOST)
        project = pages.project(name)
        folder = release_of(project, release)
        _tick(folder, {str(one) for one in form.getlist("ticked")}, str(form.get("by", "")).strip())
        job = project.jobs.latest(f"check-{release}")
        if job is not None:
            _hold_against(project, folder, job.about)
        return pages.to(project, "evidence")

    @router.get("/releases/{release}/report")
    def report(name: str, release: str) -> Response:
        project = pages.project(name)
        return pages.report(release_of(project, release) / "private" / "report.html")

    return router


def releases(project: Project) -> list[dict[str, Any]]:
    """Every release that stands, with its evidence, the newest first."""
    return [
        found for folder in project.numbered("releases") if (found := _release(project, folder))
    ]


def release_of(project: Project, number: str) -> Path:
    """The folder of a release; raises ``InputError`` where there is none."""
    folder = project.folder / "releases" / number
    if not _NUMBER.fullmatch(number) or not folder.is_dir():
        msg = "there is no such release"
        raise InputError(msg)
    return folder


def _hold_against(project: Project, folder: Path, policy: str) -> None:
    command = commands.hold_against(project, folder, policy)
    project.run(f"check-{folder.name}", command, policy)


def _policies(project: Project) -> list[str]:
    """The policies that stand in the start folder, which begin with ``policy``."""
    found = project.start.folder.resolve().glob("policy*.toml")
    return sorted(path.name for path in found if not path.is_symlink())


def _tick(folder: Path, ticked: Collection[str], by: str) -> None:
    """Write down what a role has made sure of, and what it has not."""
    if ticked and not by:
        msg = "say in which role you have made sure of it, for example data protection officer"
        raise InputError(msg)
    if (folder / "release" / "signatures.json").exists():
        msg = "somebody has signed this: what they have seen is not changed any more"
        raise RefusedError(msg)
    path = folder / "private" / ASSUMPTIONS
    if not read_ticks(path):  # which tells what is wrong with it
        msg = "hold the release against a policy first: it asks what is to be ticked"
        raise InputError(msg)
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    for one in document["assumption"]:
        now = one["says"] in ticked
        if now != one["ticked"]:
            one["ticked"], one["by"] = now, by if now else ""
    replace_private_file(path, tomlkit.dumps(document))


def _release(project: Project, folder: Path) -> dict[str, Any] | None:
    try:
        record = read_record(folder / "private" / "record.json")
        statement = json.loads((folder / "release" / "release.json").read_text(encoding="utf-8"))
        ticks = read_ticks(folder / "private" / ASSUMPTIONS)
    except (InputError, OSError, ValueError):
        return None
    return {
        "name": folder.name,
        "folder": project.named(folder),
        "record": record,
        "attacks": [(attack, rates_of(attack)) for attack in record.attacks],
        "worst": _worst(record),
        "trips": _json(folder / "private" / "trips.json"),
        "counting": project.jobs.latest(f"risks-{folder.name}"),
        "risks": project.jobs.found(f"risks-{folder.name}"),
        "made": _made(project, folder),
        "publishable": bool(statement.get("publishable")),
        "report": (folder / "private" / "report.html").is_file(),
        "files": sorted(path.name for path in (folder / "release").glob("*")),
        "check": project.jobs.latest(f"check-{folder.name}"),
        "verdict": _json(folder / "private" / "verdict.json"),
        "ticks": ticks,
        "signatures": (_json(folder / "release" / "signatures.json") or {}).get("signatures", []),
        "signing": project.jobs.latest(f"sign-{folder.name}"),
        "drawing": project.jobs.latest(f"dossier-{folder.name}"),
        "dossier": project.dossier_of(folder).is_file(),
    }


def _worst(record: StudyRecord) -> list[AttackDocument]:
    """The attacks that name whom they find most surely, the surest first."""
    found = [
        (worst["probability"], attack)
        for attack in record.attacks
        if (worst := attack["worst"]) is not None and worst["probability"] is not None
    ]
    return [attack for _, attack in sorted(found, key=lambda one: -one[0])]


def _made(project: Project, folder: Path) -> Job | None:
    """The command that has made a release."""
    named = project.named(folder)
    made = (job for job in project.jobs.all() if job.purpose == "release")
    return next((job for job in made if named in job.arguments), None)


def _json(path: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
