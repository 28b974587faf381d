"""The ledger: what was promised and spent, and what never appeared."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response

from voile.studio import commands
from voile.studio.jobs import told_as_command
from voile.studio.screens.pages import Pages

__all__ = ["routes"]


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}")

    @router.post("/ledger/settle")
    def settle(name: str, lost: Annotated[str, Form(max_length=200)]) -> Response:
        project = pages.project(name)
        project.jobs.start("settle", commands.settle_lost(project, lost))
        return pages.to(project, "ledger")

    @router.get("/ledger")
    def ledger(name: str) -> Response:
        project = pages.project(name)
        job = None
        if project.ledger.is_file():
            stamp = str(project.ledger.stat().st_mtime_ns)
            job = project.jobs.latest("ledger", stamp)
            job = job or project.jobs.start("ledger", commands.ledger(project), stamp)
        return pages.show(
            "ledger.html",
            project,
            job=job,
            found=job.output() if job and job.state == "done" else None,
            settling=project.jobs.latest("settle"),
            command=told_as_command(commands.ledger(project)),
        )

    return router
