"""The ledger: what was promised and spent, and what never appeared."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response

from voile.ledger import Ledger
from voile_base.errors import RefusedError
from voile_studio import commands
from voile_studio.jobs import told_as_command
from voile_studio.project import Project
from voile_studio.screens.pages import Pages

__all__ = ["routes"]


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
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
        return pages.show(
            "ledger.html",
            project,
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
