"""A company's links: to a truck, or to a parcel that goes from truck to truck."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from voile_share.platform import AccessError, LabelledLink, Platform
from voile_share.protocol import Reason
from voile_share.service import models
from voile_share.service.company import COMPANY_TOKEN_REASONS, CompanyToken, TruckPath, as_company
from voile_share.service.context import context_of
from voile_share.service.exchange import message_of, octets
from voile_share.service.problems import ProblemError, documented
from voile_share.store import Company, TrackingLink

__all__ = ["router"]

_TRUCK = (*COMPANY_TOKEN_REASONS, "truck-unknown", "truck-retired")
_WANTED = ("hours-out-of-range", "label-unfit")
_FORMS = tuple(reason.value for reason in Reason)

router = APIRouter(prefix="/api/v1", tags=["company"])


@router.post(
    "/trucks/{truck}/links",
    status_code=201,
    summary="Open a link to a truck's reports",
    responses=documented(*_TRUCK, *_WANTED),
)
async def add_link(
    request: Request, token: CompanyToken, truck: TruckPath, asked: models.LinkWanted
) -> models.Link:
    """It opens no report: the keys do that, which parties put behind the dot themselves."""
    return await _added(request, token, bytes.fromhex(truck), asked)


@router.post(
    "/links",
    status_code=201,
    summary="Open a link to a parcel, which follows it from truck to truck",
    responses=documented(*COMPANY_TOKEN_REASONS, *_WANTED),
)
async def add_parcel_link(
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
    address = f"{context_of(request).options.address}/t#{link}."
    return models.Link(link=link, id=kept.identity, expires=kept.expires, address=address)


@router.get("/trucks/{truck}/links", summary="List a truck's links", responses=documented(*_TRUCK))
async def links(request: Request, token: CompanyToken, truck: TruckPath) -> models.LinkList:
    """Those that have not expired, revoked ones too; by its id a link can be closed."""
    number = bytes.fromhex(truck)

    def found(platform: Platform, company: Company) -> list[models.KnownLink]:
        return [_known(one, platform.label(one)) for one in platform.links(company, number)]

    return models.LinkList(links=await as_company(request, token, found))


@router.get(
    "/links",
    summary="List and search a company's links",
    responses=documented(*COMPANY_TOKEN_REASONS),
)
async def all_links(
    request: Request,
    token: CompanyToken,
    search: Annotated[str, Query(max_length=200, description="Words of the label.")] = "",
) -> models.LinkList:
    """Those that have not expired, to trucks and to parcels, revoked ones too."""
    found = await as_company(request, token, lambda p, company: p.links_of(company, search))
    return models.LinkList(links=[_of(one) for one in found])


@router.post(
    "/links/move",
    status_code=204,
    response_class=Response,
    summary="Say where a parcel's link leads now",
    responses=documented(*_TRUCK, *_FORMS, "not-found"),
)
async def move_link(request: Request, token: CompanyToken, asked: models.LinkToMove) -> None:
    """To a truck of the company, or to none; its reader is told what the notice says."""
    truck = None if asked.truck is None else bytes.fromhex(asked.truck)
    notice = models.decoded(asked.notice)
    await as_company(request, token, lambda p, company: _moved(p, company, asked.id, truck, notice))


@router.post(
    "/trucks/{truck}/mail",
    status_code=202,
    summary="Hand a truck what a parcel's parties have signed for their carrier",
    response_class=Response,
    responses=documented(*_TRUCK, *_FORMS, "type-unfit", "mail-box-full"),
    openapi_extra=octets("One `SealedSubmission`, 284 bytes."),
)
async def hand_over(request: Request, token: CompanyToken, truck: TruckPath) -> Response:
    """Sealed for the truck; as `POST /mail` of parties who have signed for this truck."""
    message, number = await message_of(request), bytes.fromhex(truck)
    await as_company(
        request, token, lambda p, company: p.submit_by_company(company, number, message)
    )
    return Response(status_code=202)


@router.post(
    "/links/revoke",
    status_code=204,
    response_class=Response,
    summary="Close a link",
    responses=documented(*COMPANY_TOKEN_REASONS, "not-found"),
)
async def revoke_link(request: Request, token: CompanyToken, asked: models.LinkToRevoke) -> None:
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
