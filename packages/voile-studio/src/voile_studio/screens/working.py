"""Commands at work: how far they are, and the ways to interrupt and to go on."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from voile_base.errors import InputError, RefusedError
from voile_studio.jobs import Job
from voile_studio.project import Project
from voile_studio.screens.pages import Pages
from voile_studio.screens.release import clear_after_kill

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
        if job.purpose == "release":
            out = project.next_numbered("releases")
            if project.named(out) not in job.arguments:
                msg = "the release of this command stands"
                raise RefusedError(msg)
            clear_after_kill(project, out)

    project.run(job.purpose, job.arguments, job.about, prepare)


def _job(project: Project, number: int) -> Job:
    job = project.jobs.find(number)
    if job is None:
        msg = "there is no such command"
        raise InputError(msg)
    return job
