"""A file of another make, judged against the table of the project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response

from voile_studio import commands
from voile_studio.jobs import told_as_command
from voile_studio.places import FoundFile
from voile_studio.project import Project
from voile_studio.screens.pages import Pages

__all__ = ["control_of", "other_tables", "routes"]


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}/audit")

    @router.get("")
    def audits(name: str) -> Response:
        project = pages.project(name)
        files = other_tables(project)
        job = project.jobs.latest("audit")
        command = told_as_command(job.arguments) if job else ""
        found = [one for folder in project.numbered("audits") if (one := _audit(project, folder))]
        return pages.show(
            "audit.html", project, files=files, audits=found, job=job, command=command
        )

    @router.post("")
    def start(
        name: str,
        released: Annotated[str, Form(max_length=4096)],
        control: Annotated[str, Form(max_length=4096)] = "",
    ) -> Response:
        project = pages.project(name)
        path = pages.start.relative(pages.start.inside(released))
        out = project.new_numbered("audits")
        project.run("audit", commands.audit(project, path, out, control_of(project, control)))
        return pages.to(project, "audit")

    return router


def other_tables(project: Project) -> list[FoundFile]:
    """The files that may be tables, but for that of the project."""
    return [one for one in project.start.files() if one.name != project.source_name]


def control_of(project: Project, named: str) -> str | None:
    """The file of a control, as commands name it; raises ``InputError`` where it leads out."""
    return project.start.relative(project.start.inside(named)) if named else None


def _audit(project: Project, folder: Path) -> Mapping[str, Any] | None:
    """What ``audit.json`` of a folder says, its number and of what; None where there is none."""
    try:
        found = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    named = project.named(folder)
    commands_of = (job.arguments for job in project.jobs.all() if named in job.arguments)
    released = next((arguments[1] for arguments in commands_of), "")
    return {**found, "number": int(folder.name), "released": released}
