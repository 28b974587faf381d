"""What parties, trucks and auditors exchange: cards, submissions, reports, records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response, Security

from voile_share.platform import AccessError, Platform
from voile_share.protocol import Reason
from voile_share.protocol.base64url import to_base64url
from voile_share.service import models
from voile_share.service.awaiting import outcome_of
from voile_share.service.company import COMPANY, TruckPath
from voile_share.service.context import Token, context_of
from voile_share.service.problems import ProblemError, documented, outcome_problem
from voile_share.store import Appended, Truck

__all__ = ["LINK", "LinkToken", "message_of", "octets", "router"]

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


def octets(what: str) -> dict[str, object]:
    """The description of a body that is one message."""
    schema = {"type": "string", "format": "binary"}
    content = {_OCTETS: {"schema": schema}}
    return {"requestBody": {"description": what, "required": True, "content": content}}


async def message_of(request: Request) -> bytes:
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
async def card(request: Request, token: LinkToken) -> models.Card:
    """Whom a submission is sealed for, and whose signature reports have."""
    context = context_of(request)
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
    openapi_extra=octets("One `SealedSubmission`, 284 bytes."),
)
async def submit(request: Request, token: LinkToken) -> Response:
    """Both parties submit the same; what the truck cannot use is refused where it can be seen."""
    message, context = await message_of(request), context_of(request)
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
    openapi_extra=octets("One signed `Report` of suite voile."),
)
async def publish(request: Request, response: Response, token: TruckToken) -> models.Published:
    """It is durable when this is answered. The same report again is no error."""
    message, context = await message_of(request), context_of(request)
    platform = context.platform
    truck: Truck = await context.ask(request, "truck", token, lambda: platform.truck_of(token))
    outcome = await outcome_of(platform.publish(truck, message))
    problem = outcome_problem(outcome)
    if problem is not None:
        raise problem
    if outcome is Appended.KNOWN:
        response.status_code = 200
    return models.Published(outcome=outcome.value)


@router.get(
    "/reports/last",
    tags=["truck"],
    summary="The slot of the last report",
    responses=documented(*_TOKEN),
)
async def last_report(request: Request, token: TruckToken) -> models.LastReport:
    """What a truck has kept of later slots is missing here: it goes on with that."""
    context = context_of(request)
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
async def mail(request: Request, token: TruckToken, after: Number = 0) -> models.MailBox:
    """At most 1,000 at once."""
    context = context_of(request)
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
async def trucks(request: Request, token: _EITHER) -> models.TruckList:
    """A company's own; with the token of an auditor those of all companies."""
    context = context_of(request)
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
async def records(
    request: Request,
    token: AuditorToken,
    truck: TruckPath,
    number: Annotated[int, Query(ge=0, lt=2**32, alias="from")] = 0,
) -> models.Records:
    """At most 500 at once: who published when, without locations and parties."""
    context, numbered = context_of(request), bytes.fromhex(truck)
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
