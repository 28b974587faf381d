"""What trackers send: ``/ingest``, in whichever format.

Nine of ten requests are theirs, and all are alike.  Routing, dependencies and validation of FastAPI
take longer than what a position needs otherwise; so these requests do not come to it, and what it
says of them in the description of the API is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from voile_share import ingest
from voile_share.platform import SlotOutcome
from voile_share.platform.troubles import THROWN_AWAY
from voile_share.service.context import context_of
from voile_share.service.problems import ProblemError, documented, problem_of

__all__ = ["Trackers", "describe"]

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
_SECURITY: dict[str, Any] = {"security": [{name: []} for name in _SCHEMES]}


def _operation(name: str, summary: str, description: str, **more: Any) -> dict[str, Any]:
    answers = {f"{status}": answer for status, answer in _ANSWERS.items()}
    said = {"tags": ["devices"], "summary": summary, "description": description}
    return {**said, "operationId": name, **more, "responses": answers}


def describe(document: dict[str, Any]) -> None:
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
            response = await _taken(request, scope["path"][len(_PATH) + 1 :] or token_of(request))
        except Exception as error:
            response = await self._answer(request, error)
            reason = getattr(error, "reason", None)
            response.headers["voile-outcome"] = reason or problem_of(error).reason
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


def token_of(request: Request) -> str:
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
    receipt = await context_of(request).receive(request, token, message)
    body, became = receipt.body, receipt.reason or receipt.outcome.value
    if not body and receipt.outcome in _NOT_PUBLISHED:
        body = f"not published: {receipt.outcome}\n".encode()
    said = {"voile-outcome": became}
    if receipt.refused:
        said["voile-refused"] = f"{receipt.refused}"
    # What is thrown away must leave the device's queue, and is not said to be taken.
    status = 202 if receipt.reason or became in THROWN_AWAY else 200
    return Response(body, status, headers=said, media_type=receipt.content_type)
