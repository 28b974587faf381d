"""What parties, trucks and auditors exchange: cards, submissions, reports, records.

A company's links: to a truck, or to a parcel that goes from truck to truck.

What readers are given: the feed of a truck, or all reports of a slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response, Security

from voile_share.platform import AccessError, LabelledLink, Platform
from voile_share.protocol import Reason
from voile_share.protocol.primitives import framed, to_base64url
from voile_share.service import models
from voile_share.service.company import (
    COMPANY,
    COMPANY_TOKEN_REASONS,
    CompanyToken,
    TruckPath,
    as_company,
)
from voile_share.service.context import ServiceContext, Token, outcome_of
from voile_share.service.feed import FeedResponse, Feeds
from voile_share.service.problems import ProblemError, documented
from voile_share.store import Appended, Company, TrackingLink, Truck

__all__ = ["LINK", "LinkToken", "links_router", "readers_router", "router"]


LINK = Token("link", "The number of a tracking link: what stands before the dot.")
LinkToken = Annotated[str, Security(LINK)]
TruckToken = Annotated[
    str, Security(Token("truck", "The token of a truck that publishes by itself."))
]
AuditorToken = Annotated[
    str, Security(Token("auditor", "The token of an auditor; of `voile share auditor`."))
]
_EITHER = Annotated[str, Security(COMPANY)]
Number = Annotated[int, Query(ge=0, lt=2**53)]

_MOST_RECORDS = 500
_LINK = ("token-missing", "link-unknown", "link-expired", "link-revoked")
_TOKEN = ("token-missing", "token-refused")
_FORMS = tuple(reason.value for reason in Reason)
_OCTETS = "application/octet-stream"

router = APIRouter(prefix="/api/v1")


def _octets(what: str) -> dict[str, object]:
    """The description of a body that is one message."""
    schema = {"type": "string", "format": "binary"}
    content = {_OCTETS: {"schema": schema}}
    return {"requestBody": {"description": what, "required": True, "content": content}}


async def _message_of(request: Request) -> bytes:
    """The message that a body is; raises ``ProblemError`` where it says that it is not one."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _OCTETS:
        raise ProblemError("type-unfit", f"send the message itself, as {_OCTETS}")
    return await request.body()


@router.get(
    "/card",
    tags=["parties"],
    summary="The card of a link's truck",
    responses=documented(*_LINK, "truck-unknown"),
)
async def _card(request: Request, token: LinkToken) -> models.Card:
    """Whom a submission is sealed for, and whose signature reports have."""
    context = ServiceContext.of(request)
    platform = context.platform

    def read() -> bytes:
        truck = platform.link_of(token).truck
        if truck is None:
            raise AccessError("truck-unknown", "the parcel of this link is on no truck now")
        return platform.card(truck)

    return models.Card(card=to_base64url(await context.ask(request, "link", token, read)))


@router.post(
    "/mail",
    tags=["parties"],
    status_code=202,
    summary="Submit the keys of a parcel, sealed for the truck",
    response_class=Response,
    responses=documented(*_LINK, *_FORMS, "type-unfit", "truck-retired", "mail-box-full"),
    openapi_extra=_octets("One `SealedSubmission`, 284 bytes."),
)
async def _submit(request: Request, token: LinkToken) -> Response:
    """Both parties submit the same; what the truck cannot use is refused where it can be seen."""
    message, context = await _message_of(request), ServiceContext.of(request)
    platform = context.platform
    await context.ask(
        request, "link", token, lambda: platform.submit(platform.link_of(token), message)
    )
    return Response(status_code=202)


@router.post(
    "/reports",
    tags=["truck"],
    status_code=201,
    summary="Publish a report",
    responses={
        200: {"model": models.Published, "description": "The same report was there already."},
        **documented(
            *(*_TOKEN, *_FORMS, "type-unfit", "truck-retired"),
            *("slot-unfit", "slot-taken", "not-in-the-chain"),
        ),
    },
    openapi_extra=_octets("One signed `Report` of suite voile."),
)
async def _publish(request: Request, response: Response, token: TruckToken) -> models.Published:
    """It is durable when this is answered. The same report again is no error."""
    message, context = await _message_of(request), ServiceContext.of(request)
    platform = context.platform
    truck: Truck = await context.ask(request, "truck", token, lambda: platform.truck_of(token))
    outcome = await outcome_of(platform.publish(truck, message))
    problem = _outcome_problem(outcome)
    if problem is not None:
        raise problem
    if outcome is Appended.KNOWN:
        response.status_code = 200
    return models.Published(outcome=outcome.value)


def _outcome_problem(outcome: Appended) -> ProblemError | None:
    """Why a report that was not taken was not."""
    match outcome:
        case Appended.LATE:
            return ProblemError("slot-taken", "publish in the next slot")
        case Appended.UNCHAINED:
            return ProblemError("not-in-the-chain", "go on after the last record that was taken")
        case _:
            return None


@router.get(
    "/reports/last",
    tags=["truck"],
    summary="The slot of the last report",
    responses=documented(*_TOKEN),
)
async def _last_report(request: Request, token: TruckToken) -> models.LastReport:
    """What a truck has kept of later slots is missing here: it goes on with that."""
    context = ServiceContext.of(request)
    platform = context.platform
    slot = await context.ask(
        request, "truck", token, lambda: platform.last_slot(platform.truck_of(token))
    )
    return models.LastReport(slot=slot)


@router.get(
    "/mail",
    tags=["truck"],
    summary="Fetch what parties have submitted",
    responses=documented(*_TOKEN),
)
async def _mail(request: Request, token: TruckToken, after: Number = 0) -> models.MailBox:
    """At most 1,000 at once."""
    context = ServiceContext.of(request)
    platform = context.platform
    waiting = await context.ask(
        request, "truck", token, lambda: platform.mail(platform.truck_of(token), after)
    )
    items = [
        models.MailItem(number=one.number, message=to_base64url(one.message)) for one in waiting
    ]
    return models.MailBox(mail=items)


@router.get(
    "/trucks",
    tags=["company", "auditor"],
    summary="List trucks",
    responses=documented(*_TOKEN, "company-closed"),
)
async def _trucks(request: Request, token: _EITHER) -> models.TruckList:
    """A company's own; with the token of an auditor those of all companies."""
    context = ServiceContext.of(request)
    found = await context.ask(request, "company", token, lambda: _visible(context.platform, token))
    known = [
        models.KnownTruck(
            truck=one.truck.hex(),
            card=to_base64url(one.card),
            own_keys=one.own_keys,
            retired=one.retired,
        )
        for one in found
    ]
    return models.TruckList(trucks=known)


@router.get(
    "/trucks/{truck}/records",
    tags=["auditor"],
    summary="The signed, chained records of a truck",
    responses=documented(*_TOKEN, "truck-unknown"),
)
async def _records(
    request: Request,
    token: AuditorToken,
    truck: TruckPath,
    number: Annotated[int, Query(ge=0, lt=2**32, alias="from")] = 0,
) -> models.Records:
    """At most 500 at once: who published when, without locations and parties."""
    context, numbered = ServiceContext.of(request), bytes.fromhex(truck)
    platform = context.platform

    def read() -> tuple[bytes, list[bytes]]:
        platform.auditor_of(token)
        return platform.card(numbered), list(platform.records(numbered, number, _MOST_RECORDS))

    found, those = await context.ask(request, "auditor", token, read)
    return models.Records(card=to_base64url(found), records=[to_base64url(one) for one in those])


def _visible(platform: Platform, token: str) -> Sequence[Truck]:
    try:
        company = platform.company_of(token)
    except AccessError:
        platform.auditor_of(token)
        company = None
    return platform.trucks(company)


_TRUCK = (*COMPANY_TOKEN_REASONS, "truck-unknown", "truck-retired")
_WANTED = ("hours-out-of-range", "label-unfit")

links_router = APIRouter(prefix="/api/v1", tags=["company"])


@links_router.post(
    "/trucks/{truck}/links",
    status_code=201,
    summary="Open a link to a truck's reports",
    responses=documented(*_TRUCK, *_WANTED),
)
async def _add_link(
    request: Request, token: CompanyToken, truck: TruckPath, asked: models.LinkWanted
) -> models.Link:
    """It opens no report: the keys do that, which parties put behind the dot themselves."""
    return await _added(request, token, bytes.fromhex(truck), asked)


@links_router.post(
    "/links",
    status_code=201,
    summary="Open a link to a parcel, which follows it from truck to truck",
    responses=documented(*COMPANY_TOKEN_REASONS, *_WANTED),
)
async def _add_parcel_link(
    request: Request, token: CompanyToken, asked: models.LinkWanted
) -> models.Link:
    """It shows nothing before the company has moved it. One for each reader of a parcel."""
    return await _added(request, token, None, asked)


async def _added(
    request: Request, token: str, truck: bytes | None, asked: models.LinkWanted
) -> models.Link:
    link, kept = await as_company(
        request, token, lambda p, company: p.add_link(company, truck, asked.hours, asked.label)
    )
    address = f"{ServiceContext.of(request).options.address}/t#{link}."
    return models.Link(link=link, id=kept.identity, expires=kept.expires, address=address)


@links_router.get(
    "/trucks/{truck}/links", summary="List a truck's links", responses=documented(*_TRUCK)
)
async def _links(request: Request, token: CompanyToken, truck: TruckPath) -> models.LinkList:
    """Those that have not expired, revoked ones too; by its id a link can be closed."""
    number = bytes.fromhex(truck)

    def found(platform: Platform, company: Company) -> list[models.KnownLink]:
        return [_known(one, platform.label(one)) for one in platform.links(company, number)]

    return models.LinkList(links=await as_company(request, token, found))


@links_router.get(
    "/links",
    summary="List and search a company's links",
    responses=documented(*COMPANY_TOKEN_REASONS),
)
async def _all_links(
    request: Request,
    token: CompanyToken,
    search: Annotated[str, Query(max_length=200, description="Words of the label.")] = "",
) -> models.LinkList:
    """Those that have not expired, to trucks and to parcels, revoked ones too."""
    found = await as_company(request, token, lambda p, company: p.links_of(company, search))
    return models.LinkList(links=[_of(one) for one in found])


@links_router.post(
    "/links/move",
    status_code=204,
    response_class=Response,
    summary="Say where a parcel's link leads now",
    responses=documented(*_TRUCK, *_FORMS, "not-found"),
)
async def _move_link(request: Request, token: CompanyToken, asked: models.LinkToMove) -> None:
    """To a truck of the company, or to none; its reader is told what the notice says."""
    truck = None if asked.truck is None else bytes.fromhex(asked.truck)
    notice = models.decoded(asked.notice)
    await as_company(request, token, lambda p, company: _moved(p, company, asked.id, truck, notice))


@links_router.post(
    "/trucks/{truck}/mail",
    status_code=202,
    summary="Hand a truck what a parcel's parties have signed for their carrier",
    response_class=Response,
    responses=documented(*_TRUCK, *_FORMS, "type-unfit", "mail-box-full"),
    openapi_extra=_octets("One `SealedSubmission`, 284 bytes."),
)
async def _hand_over(request: Request, token: CompanyToken, truck: TruckPath) -> Response:
    """Sealed for the truck; as `POST /mail` of parties who have signed for this truck."""
    message, number = await _message_of(request), bytes.fromhex(truck)
    await as_company(
        request, token, lambda p, company: p.submit_by_company(company, number, message)
    )
    return Response(status_code=202)


@links_router.post(
    "/links/revoke",
    status_code=204,
    response_class=Response,
    summary="Close a link",
    responses=documented(*COMPANY_TOKEN_REASONS, "not-found"),
)
async def _revoke_link(request: Request, token: CompanyToken, asked: models.LinkToRevoke) -> None:
    """Named by its number, or by its id. Feeds that were opened by it end within seconds."""
    await as_company(request, token, lambda p, company: _revoke(p, company, asked))


def _moved(
    platform: Platform, company: Company, identity: str, truck: bytes | None, notice: bytes
) -> None:
    try:
        platform.move_link(company, identity, truck, notice)
    except AccessError as error:
        if error.reason != "link-unknown":
            raise
        raise ProblemError("not-found", "the company has no such link to a parcel") from None


def _revoke(platform: Platform, company: Company, asked: models.LinkToRevoke) -> None:
    try:
        if asked.link is not None:
            platform.revoke_link(company, asked.link)
        else:
            assert asked.id is not None
            platform.revoke_link_of(company, asked.id)
    except AccessError:
        # Here the link is no token that failed to open something.
        raise ProblemError("not-found", "the company has no such link") from None


def _of(one: LabelledLink) -> models.KnownLink:
    return _known(one.link, one.label)


def _known(link: TrackingLink, label: str) -> models.KnownLink:
    return models.KnownLink(
        id=link.identity,
        created=link.created,
        expires=link.expires,
        revoked=link.revoked,
        label=label,
        follows_parcel=link.follows_parcel,
        truck=None if link.truck is None else link.truck.hex(),
    )


_MOST_REPORTS = 200
_EVENTS = """event: terms
data: {"slot_seconds": 300, "now": 1790000000, "expires": 1790086400, "arrival": null}

event: report
id: 1790000100
data: AQYBn4bQgYhMfWWaKv6gxVrQFQ...

:

event: ended
data: {"reason": "link-expired"}

"""

readers_router = APIRouter(prefix="/api/v1", tags=["readers"])


@readers_router.get(
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
async def _feed(
    request: Request,
    token: LinkToken,
    last_event_id: Annotated[
        int | None, Header(ge=0, lt=2**32, description="The slot of the last report read.")
    ] = None,
) -> Response:
    """Whoever comes again with Last-Event-ID gets what was missed, of the last 100 slots.

    `arrival` is the table of arrivals that past drives of the company have taught, or null.
    """
    context = ServiceContext.of(request)
    feeds: Feeds = request.app.state.feeds
    platform = context.platform

    def opened() -> tuple[str, TrackingLink, str]:
        link = platform.link_of(token)
        return token, link, platform.company_behind(link)

    return FeedResponse(
        context, feeds, await context.ask(request, "link", token, opened), last_event_id
    )


@readers_router.get(
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
    context = ServiceContext.of(request)
    platform = context.platform
    place = None if after is None else bytes.fromhex(after)

    def read() -> bytes:
        platform.link_of(token)
        return framed(*(one.message for one in platform.slot(slot, place, _MOST_REPORTS)))

    return Response(await context.ask(request, "link", token, read), media_type=_OCTETS)


@readers_router.get(
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
async def _proof(
    request: Request,
    token: LinkToken,
    slot: Annotated[int, Path(ge=0, lt=2**32, description="Its first second since 1970.")],
) -> Response:
    """Of the report of the link's truck, where the service anchors reports on a chain."""
    platform = ServiceContext.of(request).platform
    found = await ServiceContext.of(request).ask(
        request, "link", token, lambda: platform.proof(platform.link_of(token), slot)
    )
    if found is None:
        raise ProblemError("not-found", "the report of this slot is not anchored, or not yet")
    return Response(found, media_type=_OCTETS)
