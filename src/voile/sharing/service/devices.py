"""What trackers send: ``/ingest``, in whichever format."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response, Security
from fastapi.openapi.models import HTTPBase
from fastapi.security.base import SecurityBase

from voile.sharing import ingest
from voile.sharing.service.desk import desk_of
from voile.sharing.service.problems import ProblemError, documented

__all__ = ["router", "taken", "token_of"]

_READ = frozenset({b"content-type", b"x-limit-u", b"x-limit-d"})
_ASK = {"www-authenticate": 'Bearer realm="voile", Basic realm="voile"'}


class _Documented(SecurityBase):
    """Says in the description of the API how a tracker may send its token; checks nothing."""

    def __init__(self, scheme: str, description: str) -> None:
        self.model = HTTPBase(scheme=scheme, description=description)
        self.scheme_name = f"device-{scheme}"

    async def __call__(self) -> None:
        return None


_BEARER = _Documented("bearer", "The token of a tracker.")
_BASIC = _Documented("basic", "The token of a tracker as the password; any user.")

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
    "content": {
        "text/plain": {"schema": {"type": "string"}},
        "application/json": {"schema": {"type": "array", "maxItems": 0}},
    },
}
_ANSWERS = {200: _TAKEN, **documented(*ingest.REASONS, "token-missing", "too-slow")}
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

router = APIRouter(tags=["devices"])


@router.get(
    "/ingest",
    summary="Send a position in a query (OsmAnd)",
    response_class=Response,
    responses=_ANSWERS,
    dependencies=[Security(_BEARER), Security(_BASIC)],
    openapi_extra={"parameters": _QUERY},
)
async def send_query(request: Request) -> Response:
    """Of the fields the position, its time, speed, course, accuracy and altitude are read."""
    return await taken(request, token_of(request))


@router.post(
    "/ingest",
    summary="Send positions",
    response_class=Response,
    responses=_ANSWERS,
    dependencies=[Security(_BEARER), Security(_BASIC)],
    openapi_extra=_BODY,
)
async def send(request: Request) -> Response:
    """OsmAnd, Traccar Client, OwnTracks, NMEA 0183 or GPX: the format is seen from the body."""
    return await taken(request, token_of(request))


@router.get(
    "/ingest/{token}",
    summary="Send a position in a query, the token in the path",
    response_class=Response,
    responses=_ANSWERS,
    openapi_extra={"parameters": _QUERY},
)
async def send_query_by_path(request: Request, token: str) -> Response:
    """For apps that can send no headers."""
    return await taken(request, token)


@router.post(
    "/ingest/{token}",
    summary="Send positions, the token in the path",
    response_class=Response,
    responses=_ANSWERS,
    openapi_extra=_BODY,
)
async def send_by_path(request: Request, token: str) -> Response:
    """For apps that can send no headers, such as Traccar Client."""
    return await taken(request, token)


def token_of(request: Request) -> str:
    """The token that a tracker names in its headers; raises ``ProblemError``."""
    token = ingest.token_in(request.headers.get("authorization", ""))
    if token is None:
        advice = "send it as the password of Basic, by Bearer, or at the end of the address"
        raise ProblemError("token-missing", advice, headers=_ASK)
    return token


async def taken(request: Request, token: str) -> Response:
    """What a tracker is answered; raises what ``Desk.receive`` does."""
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
    receipt = await desk_of(request).receive(request, token, message)
    return Response(receipt.body, media_type=receipt.content_type)
