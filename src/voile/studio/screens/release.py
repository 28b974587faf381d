"""Sign off: what the ledger will be charged, publishing, and what is handed over."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response

from voile.errors import InputError
from voile.studio import commands
from voile.studio.jobs import told_as_command
from voile.studio.planning import plan_of, problem_of
from voile.studio.project import Project
from voile.studio.screens.data import columns_of
from voile.studio.screens.evidence import releases
from voile.studio.screens.pages import Pages
from voile.studio.screens.trying import looks

__all__ = ["routes"]


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screens."""
    router = APIRouter(prefix="/p/{name}")

    @router.get("/sign")
    def page(name: str) -> Response:
        project = pages.project(name)
        return pages.show("sign.html", project, **_page(project))

    @router.post("/release")
    def release(name: str, seed: Annotated[str, Form(max_length=20)] = "") -> Response:
        project = pages.project(name)
        if wrong := problem_of(project.plan, columns_of(project)):
            raise InputError(wrong.message)
        said = seed.strip()
        if said and not said.isdigit():
            msg = "a seed is one whole number"
            raise InputError(msg)
        out = project.new_numbered("releases")
        command = commands.study(project, out, int(said) if said else None)
        project.jobs.start("release", command, project.digest)
        return pages.to(project, "sign")

    return router


def _page(project: Project) -> dict[str, Any]:
    plan = plan_of(project.plan)
    out = project.next_numbered("releases")
    return {
        "wrong": problem_of(project.plan, columns_of(project)),
        "method": plan.method if plan else None,
        "budget": plan.budget if plan else None,
        "releases": releases(project),
        "running": project.jobs.latest("release"),
        "looks": looks(project),
        "has_key": project.key.is_file(),
        "making_key": project.jobs.latest("key"),
        "command": told_as_command(commands.study(project, out)),
    }
