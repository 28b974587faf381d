"""Commands at work: how far they are, and the ways to interrupt and to go on."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from voile.errors import InputError
from voile.studio.jobs import Job
from voile.studio.project import Project
from voile.studio.screens.pages import Pages

__all__ = ["routes"]


def routes(pages: Pages) -> APIRouter:
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
        job = _job(project, number)
        if job.state != "running":
            project.jobs.start(job.purpose, job.arguments, job.about)
        return pages.back(request, project)

    return router


def _job(project: Project, number: int) -> Job:
    job = project.jobs.find(number)
    if job is None:
        msg = "there is no such command"
        raise InputError(msg)
    return job
