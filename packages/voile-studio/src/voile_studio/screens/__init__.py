"""The pages and their forms, a module for each screen, and the application that they make.

Every screen's addresses stand behind the guard.
"""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from voile_base.errors import VoileError
from voile_studio.guard import Guard
from voile_studio.project import Start
from voile_studio.screens import (
    column,
    data,
    evidence,
    plan,
    release,
    remedying,
    solutions,
    tables,
    trying,
)
from voile_studio.screens.pages import Pages, static_file

__all__ = ["application"]

_SCREENS = (
    data.routes,
    plan.routes,
    plan.changing_routes,
    column.routes,
    trying.routes,
    trying.point_routes,
    solutions.routes,
    tables.routes,
    evidence.routes,
    remedying.search_routes,
    remedying.remedy_routes,
    release.routes,
    evidence.signing_routes,
    release.ledger_routes,
    evidence.foreign_routes,
    release.working_routes,
)


def application(start: Start, hosts: frozenset[str]) -> Guard:
    """Studio for one folder; ``hosts`` are the addresses that it is called by."""
    return Guard(_screens(start), hosts)


def _screens(start: Start) -> FastAPI:
    """The addresses of all screens, for whoever has passed the guard."""
    app = FastAPI(title="Voile Studio", docs_url=None, redoc_url=None, openapi_url=None)
    shared = Pages(start)
    app.add_exception_handler(VoileError, shared.refused)
    app.add_exception_handler(OSError, shared.no_room)
    app.add_exception_handler(RequestValidationError, shared.wrong_form)
    app.add_exception_handler(HTTPException, shared.no_page)
    app.add_api_route("/static/{name}", static_file, methods=["GET"])
    for routes in _SCREENS:
        app.include_router(routes(shared))
    return app
