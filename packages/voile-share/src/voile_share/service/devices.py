"""What trackers send: ``/ingest``, in whichever format.

Nine of ten requests are theirs, and all are alike.  Routing, dependencies and validation of FastAPI
take longer than what a position needs otherwise; so these requests do not come to it, and what it
says of them in the description of the API is said here.

Bodies of requests: refused where they are too large, before they are read and while they come.

What it does: a request whose Content-Length is over the limit of its place is refused without
reading; one that comes in chunks is refused as soon as it passes the limit.  A body that is taken
is held whole before anything looks at it, so how much is held at a time, by all requests together,
is bounded, and a body that comes too slowly is given up.  Connections of refused requests are
closed, since what is still under way on them is not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voile_base.values import Json
from voile_share import ingest
from voile_share.ingest import BACKFILL, LIVE
from voile_share.platform import SlotOutcome
from voile_share.platform.trucks import THROWN_AWAY
from voile_share.service.context import ServiceContext
from voile_share.service.problems import ProblemError, documented

__all__ = ["Bodies", "Trackers", "describe"]


_PATH = "/ingest"
_METHODS = ("GET", "POST")
_READ = frozenset({b"content-type", b"x-limit-u", b"x-limit-d"})
_NOT_PUBLISHED = frozenset({SlotOutcome.KNOWN_SLOT, *THROWN_AWAY})
_ASK = {"www-authenticate": 'Bearer realm="voile", Basic realm="voile"'}


_OSMAND = "id=truck-7&lat=52.0116&lon=4.3571&timestamp=1790000000&speed=21.6"
_EXAMPLES = {
    "application/x-www-form-urlencoded": _OSMAND,
    "application/json": '{"_type": "location", "tid": "t7", "lat": 52.0116, "lon": 4.3571, '
    '"tst": 1790000000}',
    "text/plain": "$GPRMC,123519,A,5200.696,N,00421.426,E,022.4,084.4,210926,,,A*7B",
    "application/gpx+xml": '<gpx version="1.1" creator="x"><trk><trkseg>'
    '<trkpt lat="52.0116" lon="4.3571"><time>2026-09-21T12:35:19Z</time></trkpt>'
    "</trkseg></trk></gpx>",
}
_BODY = {
    "requestBody": {
        "content": {
            kind: {"schema": {"type": "string"}, "example": example}
            for kind, example in _EXAMPLES.items()
        }
    }
}
_TAKEN = {
    "description": "Taken; the body is what the app expects.",
    "headers": {
        "Voile-Outcome": {
            "description": "What became of it; where nothing was published the body says so, too, "
            "but where the app expects JSON.",
            "schema": {"type": "string"},
        }
    },
    "content": {
        "text/plain": {"schema": {"type": "string"}},
        "application/json": {"schema": {"type": "array", "maxItems": 0}},
    },
}
_THROWN_AWAY = {
    **_TAKEN,
    "description": "Not published, and not to be sent again: Voile-Outcome and the body say why.",
}
_ANSWERS = {
    200: _TAKEN,
    202: _THROWN_AWAY,
    **documented(*ingest.REASONS, "token-missing", "too-slow"),
}
_QUERY = [
    {
        "name": name,
        "in": "query",
        "required": False,
        "description": "OsmAnd; other fields and names are in docs/trackers.md.",
        "schema": {"type": "string"},
    }
    for name in ("id", "lat", "lon", "timestamp")
]
_TOKEN = {
    "name": "token",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "title": "Token"},
}
_SCHEMES = {
    "device-bearer": ("bearer", "The token of a tracker."),
    "device-basic": ("basic", "The token of a tracker as the password; any user."),
}
_SECURITY: Json = {"security": [{name: []} for name in _SCHEMES]}


def _operation(name: str, summary: str, description: str, **more: Any) -> Json:
    answers = {f"{status}": answer for status, answer in _ANSWERS.items()}
    said = {"tags": ["devices"], "summary": summary, "description": description}
    return {**said, "operationId": name, **more, "responses": answers}


def describe(document: Json) -> None:
    """Add what trackers send, and are answered, to the description of the API."""
    for name, (scheme, description) in _SCHEMES.items():
        shown = {"type": "http", "description": description, "scheme": scheme}
        document["components"].setdefault("securitySchemes", {})[name] = shown
    paths = {
        _PATH: {
            "get": _operation(
                "send_query",
                "Send a position in a query (OsmAnd)",
                "Of the fields the position, its time, speed, course, accuracy and altitude are "
                "read.",
                parameters=_QUERY,
                **_SECURITY,
            ),
            "post": _operation(
                "send",
                "Send positions",
                "OsmAnd, Traccar Client, OwnTracks, NMEA 0183 or GPX: the format is seen from the "
                "body.",
                **_SECURITY,
                **_BODY,
            ),
        },
        f"{_PATH}/{{token}}": {
            "get": _operation(
                "send_query_by_path",
                "Send a position in a query, the token in the path",
                "For apps that can send no headers.",
                parameters=[_TOKEN, *_QUERY],
            ),
            "post": _operation(
                "send_by_path",
                "Send positions, the token in the path",
                "For apps that can send no headers, such as Traccar Client.",
                parameters=[_TOKEN],
                **_BODY,
            ),
        },
    }
    document["paths"] = {**deepcopy(paths), **document["paths"]}


class Trackers:
    """Answers requests to ``/ingest``, and hands on all others; ASGI, inside what bounds bodies."""

    def __init__(self, app: ASGIApp, handlers: Mapping[type[Exception], Any]) -> None:
        """``handlers`` answer exceptions; those of ``problems``."""
        self._app = app
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a tracker, or hand on a request."""
        if scope["type"] != "http" or not _is_of_tracker(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            if scope["method"] not in _METHODS:
                raise ProblemError("method-not-allowed", headers={"allow": ", ".join(_METHODS)})
            response = await _taken(request, scope["path"][len(_PATH) + 1 :] or _token_of(request))
        except Exception as error:
            response = await self._answer(request, error)
            reason = getattr(error, "reason", None)
            response.headers["voile-outcome"] = reason or ProblemError.of(error).reason
        await response(scope, receive, send)

    async def _answer(self, request: Request, error: Exception) -> Any:
        for kind in type(error).__mro__:
            if kind in self._handlers:
                return await self._handlers[kind](request, error)
        raise error


def _is_of_tracker(path: str) -> bool:
    if path == _PATH:
        return True
    token = path.removeprefix(f"{_PATH}/")
    return bool(token) and token != path and "/" not in token


def _token_of(request: Request) -> str:
    """The token that a tracker names in its headers; raises ``ProblemError``."""
    token = ingest.token_in(request.headers.get("authorization", ""))
    if token is None:
        advice = "send it as the password of Basic, by Bearer, or at the end of the address"
        raise ProblemError("token-missing", advice, headers=_ASK)
    return token


async def _taken(request: Request, token: str) -> Response:
    """What a tracker is answered; raises what ``ServiceContext.receive`` does."""
    headers = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in request.scope["headers"]
        if name in _READ
    }
    message = ingest.Request(
        headers.pop("content-type", None),
        request.scope["query_string"].decode("latin-1"),
        await request.body(),
        headers,
    )
    receipt = await ServiceContext.of(request).receive(request, token, message)
    body, became = receipt.body, receipt.reason or receipt.outcome.value
    if not body and receipt.outcome in _NOT_PUBLISHED:
        body = f"not published: {receipt.outcome}\n".encode()
    said = {"voile-outcome": became}
    if receipt.refused:
        said["voile-refused"] = f"{receipt.refused}"
    # What is thrown away must leave the device's queue, and is not said to be taken.
    status = 202 if receipt.reason or became in THROWN_AWAY else 200
    return Response(body, status, headers=said, media_type=receipt.content_type)


_SMALL = 16 * 1024
_SHARE_OF_LARGE = 0.75
"""Of all bytes that are held, those of larger bodies: files of trips do not keep positions out."""
_REPORT = 128 * 1024
"""A report with room for 1,000 parcels has 68,256 bytes."""
_TRIP_TYPES = ("application/gpx+xml", "application/gpx")
_PATIENCE = 20.0
_SLOWEST = 8 * 1024
"""Bytes a second that a body must come with, after the patience."""


def _most_bytes(path: str, content_type: str) -> int:
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
        limit: Callable[[str, str], int] = _most_bytes,
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
                await problem.response()(scope, receive, send)
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
