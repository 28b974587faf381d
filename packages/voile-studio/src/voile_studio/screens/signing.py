"""Signatures and dossiers of releases that stand."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response

from voile_base.errors import InputError
from voile_studio import commands
from voile_studio.screens.evidence import release_of
from voile_studio.screens.pages import Pages

__all__ = ["routes"]


def routes(pages: Pages) -> APIRouter:
    """The addresses of what is done with a release."""
    router = APIRouter(prefix="/p/{name}")

    @router.post("/releases/{release}/sign")
    def sign(
        name: str, release: str, role: Annotated[str, Form(max_length=200, min_length=1)]
    ) -> Response:
        project = pages.project(name)
        folder = release_of(project, release)
        if not project.key.is_file():
            msg = "make a key first"
            raise InputError(msg)
        if not role.strip():
            msg = "say in which role you sign, for example data protection officer"
            raise InputError(msg)
        project.run(f"sign-{release}", commands.sign(project, folder, role.strip()), role)
        return pages.to(project, "sign")

    @router.post("/key")
    def key(name: str) -> Response:
        project = pages.project(name)
        project.run("key", commands.make_key(project))
        return pages.to(project, "sign")

    @router.post("/releases/{release}/dossier")
    def draw(name: str, release: str) -> Response:
        project = pages.project(name)
        folder = release_of(project, release)
        out = project.dossier_of(folder)
        out.unlink(missing_ok=True)
        project.run(f"dossier-{release}", commands.dossier(project, folder, out))
        return pages.to(project, "sign")

    @router.get("/releases/{release}/dossier")
    def dossier(name: str, release: str) -> Response:
        project = pages.project(name)
        return pages.report(project.dossier_of(release_of(project, release)))

    return router
