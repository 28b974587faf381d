"""The short way for trackers: nine of ten requests are theirs, and all are alike.

Routing, dependencies and validation of FastAPI take longer than what a position needs otherwise.
So requests to ``/ingest`` are answered before they come to its router, by the same function and
with the same problems as its routes, which stay for the description of the API and for whatever
is not GET or POST.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from voile.sharing.service.devices import taken, token_of

__all__ = ["Trackers"]

_PATH = "/ingest"


class Trackers:
    """Middleware of ASGI, inside that which bounds bodies."""

    def __init__(self, app: ASGIApp, handlers: Mapping[type[Exception], Any]) -> None:
        """``handlers`` answer exceptions; those of ``problems``."""
        self._app = app
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a tracker, or hand on a request."""
        if scope["type"] != "http" or scope["method"] not in {"GET", "POST"}:
            await self._app(scope, receive, send)
            return
        head, _, token = scope["path"][1:].partition("/")
        is_named = bool(token) and "/" not in token
        if f"/{head}" != _PATH or not (is_named or scope["path"] == _PATH):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await taken(request, token or token_of(request))
        except Exception as error:
            response = await self._answer(request, error)
        await response(scope, receive, send)

    async def _answer(self, request: Request, error: Exception) -> Any:
        for kind in type(error).__mro__:
            if kind in self._handlers:
                return await self._handlers[kind](request, error)
        raise error
