"""The application: every screen's addresses behind the guard, and how it is served."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from voile_base.errors import VoileError
from voile_studio.guard import Guard
from voile_studio.places import Start
from voile_studio.screens import (
    column,
    data,
    evidence,
    foreign,
    plan,
    point,
    promised,
    release,
    signing,
    trying,
    working,
)
from voile_studio.screens.pages import Pages, static_file

__all__ = ["application", "screens"]

_SCREENS = (
    data,
    plan,
    column,
    trying,
    point,
    evidence,
    release,
    signing,
    promised,
    foreign,
    working,
)


def application(start: Start, hosts: frozenset[str]) -> Guard:
    """Studio for one folder; ``hosts`` are the addresses that it is called by."""
    return Guard(screens(start), hosts)


def screens(start: Start) -> FastAPI:
    """The addresses of all screens, for whoever has passed the guard."""
    app = FastAPI(title="Voile Studio", docs_url=None, redoc_url=None, openapi_url=None)
    pages = Pages(start)
    app.add_exception_handler(VoileError, pages.refused)
    app.add_exception_handler(OSError, pages.no_room)
    app.add_exception_handler(RequestValidationError, pages.wrong_form)
    app.add_exception_handler(HTTPException, pages.no_page)
    app.add_api_route("/static/{name}", static_file, methods=["GET"])
    for screen in _SCREENS:
        app.include_router(screen.routes(pages))
    return app
