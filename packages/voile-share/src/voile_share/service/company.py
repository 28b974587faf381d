"""What a company sets up: trucks, devices and parcels; its links are in ``links``.

What a company's past drives teach of arrivals: to be seen, replaced, and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response, Security

from voile_share.platform import AccessError, Platform
from voile_share.protocol.primitives import to_base64url
from voile_share.service import models
from voile_share.service.context import ServiceContext, Token
from voile_share.service.problems import documented
from voile_share.store import Company

__all__ = [
    "COMPANY",
    "COMPANY_TOKEN_REASONS",
    "CompanyToken",
    "TruckPath",
    "as_company",
    "router",
]


T = TypeVar("T")

COMPANY = Token("company", "The token of a company; of `voile share company` or `share token`.")
CompanyToken = Annotated[str, Security(COMPANY)]
TruckPath = Annotated[
    str,
    Path(pattern=r"^[0-9a-f]{32}$", examples=["9f86d081884c7d659a2feaa0c55ad015"]),
]
ParcelPath = Annotated[
    str, Path(min_length=1, max_length=64, description="Its number.", examples=["3SABCD0123456"])
]
DevicePath = Annotated[str, Path(min_length=1, max_length=128, examples=["truck-7"])]

COMPANY_TOKEN_REASONS = ("token-missing", "token-refused", "company-closed")
_TOKEN = COMPANY_TOKEN_REASONS
_TRUCK = (*_TOKEN, "truck-unknown", "truck-retired")


class Ended(StrEnum):
    """Why a truck carries a parcel no more."""

    DELIVERED = "delivered"
    UNLOADED = "unloaded"


router = APIRouter(prefix="/api/v1", tags=["company"])


async def as_company(request: Request, token: str, work: Callable[[Platform, Company], T]) -> T:
    """What a company does; whose token it is is looked up in the same thread."""
    context = ServiceContext.of(request)
    platform = context.platform
    return await context.ask(
        request, "company", token, lambda: work(platform, platform.company_of(token))
    )


@router.post(
    "/trucks",
    status_code=201,
    summary="Register a truck",
    response_model_exclude_none=True,
    responses=documented(*_TOKEN, "card-unfit", "card-taken", "own-keys"),
)
async def _add_truck(
    request: Request, token: CompanyToken, asked: models.NewTruck
) -> models.OpenedTruck:
    """With a card the truck publishes by itself, and the platform sees ciphertext alone."""
    card = None if asked.card is None else models.decoded(asked.card)
    truck, own = await as_company(request, token, lambda p, company: p.add_truck(company, card))
    return models.OpenedTruck(truck=truck.truck.hex(), card=to_base64url(truck.card), token=own)


@router.delete(
    "/trucks/{truck}",
    status_code=204,
    response_class=Response,
    summary="Retire a truck",
    responses=documented(*_TRUCK),
)
async def _retire_truck(request: Request, token: CompanyToken, truck: TruckPath) -> None:
    """Its links, its devices and its token are refused from now on; its records stay."""
    number = bytes.fromhex(truck)
    await as_company(request, token, lambda p, company: p.retire_truck(company, number))


@router.get(
    "/trucks/{truck}/spending",
    summary="What a truck's reports cost today",
    responses=documented(*_TRUCK, "own-keys"),
)
async def _spending(request: Request, token: CompanyToken, truck: TruckPath) -> models.Spending:
    """Whoever sees all reports of the day tells two trajectories apart by no more than that."""
    number, terms = bytes.fromhex(truck), ServiceContext.of(request).platform.settings
    spent = await as_company(request, token, lambda p, company: p.spent(company, number))
    return models.Spending(
        spent=spent, budget=terms.budget, delta=terms.delta, distance=terms.distance
    )


@router.post(
    "/trucks/{truck}/devices",
    status_code=201,
    summary="Admit a tracker",
    responses=documented(*_TRUCK, "own-keys", "device-unfit", "days-out-of-range"),
)
async def _add_device(
    request: Request, token: CompanyToken, truck: TruckPath, asked: models.NewDevice
) -> models.OpenedDevice:
    """The token lets it send positions of this truck, and nothing else."""
    number = bytes.fromhex(truck)
    return models.OpenedDevice(
        token=await as_company(
            request,
            token,
            lambda p, company: p.add_device(company, number, asked.device, asked.days),
        )
    )


@router.get(
    "/trucks/{truck}/devices", summary="List a truck's trackers", responses=documented(*_TRUCK)
)
async def _devices(request: Request, token: CompanyToken, truck: TruckPath) -> models.DeviceList:
    """Those that are revoked or expired, too."""
    number = bytes.fromhex(truck)
    kept = await as_company(request, token, lambda p, company: p.devices(company, number))
    known = [
        models.KnownDevice(
            device=one.token.device,
            issued=one.token.issued,
            expires=one.token.expires,
            revoked=one.token.revoked,
        )
        for one in kept
    ]
    return models.DeviceList(devices=known)


@router.delete(
    "/trucks/{truck}/devices/{device:path}",
    status_code=204,
    response_class=Response,
    summary="Revoke a tracker",
    responses=documented(*_TRUCK, "device-unknown"),
)
async def _revoke_device(
    request: Request, token: CompanyToken, truck: TruckPath, device: DevicePath
) -> None:
    """All its tokens are refused from now on."""
    number = bytes.fromhex(truck)
    await as_company(request, token, lambda p, company: p.revoke_device(company, number, device))


@router.put(
    "/trucks/{truck}/parcels/{parcel:path}",
    status_code=204,
    response_class=Response,
    summary="Put a parcel on a truck",
    responses=documented(*_TRUCK, "parcel-carried", "parcel-unfit", "key-unfit", "place-unfit"),
)
async def _add_parcel(
    request: Request,
    token: CompanyToken,
    truck: TruckPath,
    parcel: ParcelPath,
    asked: models.NewParcel,
) -> None:
    """Its parties may then submit keys. The same again changes nothing."""
    number, place = bytes.fromhex(truck), asked.destination
    parties = (models.decoded(asked.sender), models.decoded(asked.receiver))
    await as_company(
        request,
        token,
        lambda p, company: p.add_parcel(
            company,
            number,
            _octets(parcel),
            *parties,
            None if place is None else (place.latitude, place.longitude),
            None if asked.carrier is None else bytes.fromhex(asked.carrier),
        ),
    )


@router.get(
    "/trucks/{truck}/parcels",
    summary="List what a truck carries",
    responses=documented(*_TRUCK),
)
async def _parcels(request: Request, token: CompanyToken, truck: TruckPath) -> models.ParcelList:
    """Destinations are kept sealed, and are not told."""
    number = bytes.fromhex(truck)
    kept = await as_company(request, token, lambda p, company: p.parcels(company, number))
    known = [
        models.KnownParcel(
            parcel=one.parcel.decode("utf-8", "replace"),
            sender=to_base64url(one.sender),
            receiver=to_base64url(one.receiver),
            has_destination=one.destination is not None,
            created=one.created,
        )
        for one in kept
    ]
    return models.ParcelList(parcels=known)


@router.delete(
    "/trucks/{truck}/parcels/{parcel:path}",
    status_code=204,
    response_class=Response,
    summary="Deliver a parcel, or take it off",
    responses=documented(*_TRUCK, "parcel-unknown"),
)
async def _end_parcel(
    request: Request,
    token: CompanyToken,
    truck: TruckPath,
    parcel: ParcelPath,
    outcome: Annotated[
        Ended | None,
        Query(description="Of what is delivered now hooks are told, and arrivals are learnt."),
    ] = None,
    stops: Annotated[
        int | None, Query(ge=0, le=254, description="That were said to be left before it,")
    ] = None,
    since: Annotated[
        float | None, Query(ge=0, lt=2**32, description="and since when it was said.")
    ] = None,
) -> None:
    """Its keys and its destination are forgotten."""
    left = None if stops is None or since is None else (stops, since)
    number = bytes.fromhex(truck)
    await as_company(
        request,
        token,
        lambda p, company: p.end_parcel(
            company,
            number,
            _octets(parcel),
            delivered=outcome is Ended.DELIVERED,
            stops=left,
        ),
    )


def _octets(parcel: str) -> bytes:
    octets = parcel.encode("utf-8", "surrogateescape")
    if len(octets) > 64:
        raise AccessError("parcel-unfit", "at most 64 bytes of UTF-8")
    return octets


@router.get(
    "/arrivals",
    summary="What past drives have taught",
    responses=documented(*COMPANY_TOKEN_REASONS),
)
async def _arrivals(request: Request, token: CompanyToken) -> models.ArrivalsKnown:
    """Distances and times to arrival of drives that are over; no place is kept."""

    def read(platform: Platform, company: Company) -> models.ArrivalsKnown:
        kept = platform.arrivals(company)
        table = None if kept.table is None else kept.table.document()
        return models.ArrivalsKnown(
            drives=kept.drives, tours=kept.tours, published=kept.published, table=table
        )

    return await as_company(request, token, read)


@router.put(
    "/arrivals",
    status_code=204,
    response_class=Response,
    summary="Give the company's links a table that it has fitted itself",
    responses=documented(*COMPANY_TOKEN_REASONS, "arrivals-unfit"),
)
async def _publish_arrivals(
    request: Request, token: CompanyToken, table: dict[str, object]
) -> None:
    """As `voile share carrier arrivals` makes it, where trucks hold their keys."""

    def publish(platform: Platform, company: Company) -> None:
        platform.publish_arrivals(company, table)

    await as_company(request, token, publish)


@router.delete(
    "/arrivals",
    status_code=204,
    response_class=Response,
    summary="Forget what past drives have taught",
    responses=documented(*COMPANY_TOKEN_REASONS),
)
async def _forget_arrivals(request: Request, token: CompanyToken) -> None:
    """The drives, the key that they were sealed by, and the table."""
    await as_company(request, token, lambda p, company: p.forget_arrivals(company))
