"""Bodies of requests: refused where they are too large, before they are read and while they come.

What it does: a request whose Content-Length is over the limit of its place is refused without
reading; one that comes in chunks is refused as soon as it passes the limit.  A body that is taken
is held whole before anything looks at it, so how much is held at a time, by all requests together,
is bounded, and a body that comes too slowly is given up.  Connections of refused requests are
closed, since what is still under way on them is not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voile_share.ingest import BACKFILL, LIVE
from voile_share.service.problems import ProblemError, response_of

__all__ = ["Bodies", "most_bytes"]

_SMALL = 16 * 1024
_SHARE_OF_LARGE = 0.75
"""Of all bytes that are held, those of larger bodies: files of trips do not keep positions out."""
_REPORT = 128 * 1024
"""A report with room for 1,000 parcels has 68,256 bytes."""
_TRIP_TYPES = ("application/gpx+xml", "application/gpx")
_PATIENCE = 20.0
_SLOWEST = 8 * 1024
"""Bytes a second that a body must come with, after the patience."""


def most_bytes(path: str, content_type: str) -> int:
    """The limit of a request's body."""
    if path == "/ingest" or path.startswith("/ingest/"):
        kind = content_type.partition(";")[0].strip().lower()
        return BACKFILL.size if kind in _TRIP_TYPES else LIVE.size
    return _REPORT if path in {"/api/v1/reports", "/api/v1/arrivals"} else _SMALL


@dataclass
class _Waiting:
    """Bytes that are held now."""

    most: int
    held: int = 0

    def take(self, size: int, whole: int) -> None:
        """Hold more of a body, of which there is so much then."""
        most = self.most if whole <= _SMALL else self.most * _SHARE_OF_LARGE
        if self.held + size > most:
            raise ProblemError("busy", "try again in a moment", headers=_CLOSE)
        self.held += size


_OF_BODIES = frozenset({b"content-length", b"transfer-encoding"})
_CLOSE = {"connection": "close"}


class Bodies:
    """Middleware of ASGI."""

    def __init__(
        self,
        app: ASGIApp,
        most_waiting: int,
        limit: Callable[[str, str], int] = most_bytes,
        patience: float = _PATIENCE,
    ) -> None:
        """``most_waiting``: bytes held at a time; ``patience`` in seconds."""
        self._app = app
        self._limit = limit
        self._patience = patience
        self._waiting = _Waiting(most_waiting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request whose body is there, and small enough."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        held = _Held(self._waiting)
        try:
            try:
                body = await self._body(scope, receive, held)
            except ProblemError as problem:
                await response_of(problem)(scope, receive, send)
                return
            if body is not None:
                await self._app(scope, _replaying(body, receive), send)
        finally:
            held.release()

    async def _body(self, scope: Scope, receive: Receive, held: _Held) -> bytes | None:
        """All of it; None where the client has gone."""
        if all(name not in _OF_BODIES for name, _ in scope["headers"]):
            return b""
        headers = Headers(scope=scope)
        length, chunked = headers.get("content-length"), "transfer-encoding" in headers
        if length is None and not chunked:
            return b""
        most = self._limit(scope["path"], headers.get("content-type", ""))
        too_large = ProblemError(
            "too-large", f"at most {most} bytes are taken at once", headers=_CLOSE
        )
        if length is not None and not (length.isascii() and length.isdigit()):
            raise ProblemError("invalid-request", headers=_CLOSE)
        if length is not None and (len(length) > 12 or int(length) > most):
            raise too_large
        started = asyncio.get_running_loop().time()
        body = bytearray()
        try:
            async with asyncio.timeout_at(started + self._patience) as until:
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    chunk = message.get("body", b"")
                    if len(body) + len(chunk) > most:
                        raise too_large
                    held.take(len(chunk))
                    body += chunk
                    if not message.get("more_body", False):
                        return bytes(body)
                    until.reschedule(started + self._patience + len(body) / _SLOWEST)
        except TimeoutError:
            raise ProblemError("too-slow", headers=_CLOSE) from None


class _Held:
    """What one request holds of the bytes that may wait."""

    def __init__(self, waiting: _Waiting) -> None:
        self._waiting = waiting
        self._bytes = 0

    def take(self, size: int) -> None:
        self._waiting.take(size, self._bytes + size)
        self._bytes += size

    def release(self) -> None:
        self._waiting.held -= self._bytes
        self._bytes = 0


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Gives the body once, and then what comes after it: that the client has gone."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
