"""What readers are given: the feed of a truck, or all reports of a slot."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response

from voile_share.protocol.wire import framed
from voile_share.service.context import context_of
from voile_share.service.exchange import LinkToken
from voile_share.service.feed import FeedResponse, Feeds
from voile_share.service.problems import ProblemError, documented
from voile_share.store import TrackingLink

__all__ = ["router"]

_MOST_REPORTS = 200
_LINK = ("token-missing", "link-unknown", "link-expired", "link-revoked")
_OCTETS = "application/octet-stream"
_EVENTS = """event: terms
data: {"slot_seconds": 300, "now": 1790000000, "expires": 1790086400, "arrival": null}

event: report
id: 1790000100
data: AQYBn4bQgYhMfWWaKv6gxVrQFQ...

:

event: ended
data: {"reason": "link-expired"}

"""

router = APIRouter(prefix="/api/v1", tags=["readers"])


@router.get(
    "/feed",
    summary="Follow a truck",
    response_class=Response,
    responses={
        200: {
            "description": "Events until the link ends: terms; the last report, or those after "
            "Last-Event-ID; reports as they come; a comment every 15 seconds; ended.",
            "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EVENTS}},
        },
        **documented(*_LINK, "too-many-feeds"),
    },
)
async def feed(
    request: Request,
    token: LinkToken,
    last_event_id: Annotated[
        int | None, Header(ge=0, lt=2**32, description="The slot of the last report read.")
    ] = None,
) -> Response:
    """Whoever comes again with Last-Event-ID gets what was missed, of the last 100 slots.

    `arrival` is the table of arrivals that past drives of the company have taught, or null.
    """
    context = context_of(request)
    feeds: Feeds = request.app.state.feeds
    platform = context.platform

    def opened() -> tuple[str, TrackingLink, str]:
        link = platform.link_of(token)
        return token, link, platform.company_behind(link)

    return FeedResponse(
        context, feeds, await context.ask(request, "link", token, opened), last_event_id
    )


@router.get(
    "/slots/{slot}",
    summary="All reports of a slot",
    response_class=Response,
    responses={
        200: {
            "description": "Reports, each after its length in four bytes (big-endian), by truck.",
            "content": {_OCTETS: {"schema": {"type": "string", "format": "binary"}}},
        },
        **documented(*_LINK),
    },
)
async def slot(
    request: Request,
    token: LinkToken,
    slot: Annotated[int, Path(ge=0, lt=2**32, description="Its first second since 1970.")],
    after: Annotated[
        str | None,
        Query(pattern=r"^[0-9a-f]{32}$", description="The truck of the last report read."),
    ] = None,
) -> Response:
    """At most 200 at once; ask again after the last truck until nothing comes.

    Whoever takes all of them shows nobody in which truck they are interested.
    """
    context = context_of(request)
    platform = context.platform
    place = None if after is None else bytes.fromhex(after)

    def read() -> bytes:
        platform.link_of(token)
        return framed(*(one.message for one in platform.slot(slot, place, _MOST_REPORTS)))

    return Response(await context.ask(request, "link", token, read), media_type=_OCTETS)


@router.get(
    "/slots/{slot}/proof",
    summary="Where a report is anchored",
    response_class=Response,
    responses={
        200: {
            "description": "A proof of inclusion under a root on the chain: `chain.Inclusion`.",
            "content": {_OCTETS: {"schema": {"type": "string", "format": "binary"}}},
        },
        **documented(*_LINK, "not-found"),
    },
)
async def proof(
    request: Request,
    token: LinkToken,
    slot: Annotated[int, Path(ge=0, lt=2**32, description="Its first second since 1970.")],
) -> Response:
    """Of the report of the link's truck, where the service anchors reports on a chain."""
    platform = context_of(request).platform
    found = await context_of(request).ask(
        request, "link", token, lambda: platform.proof(platform.link_of(token), slot)
    )
    if found is None:
        raise ProblemError("not-found", "the report of this slot is not anchored, or not yet")
    return Response(found, media_type=_OCTETS)
