"""What a company's past drives teach of arrivals: to be seen, replaced, and forgotten."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from voile_share.platform import Platform
from voile_share.service import models
from voile_share.service.company import COMPANY_TOKEN_REASONS, CompanyToken, as_company
from voile_share.service.problems import documented
from voile_share.store import Company

__all__ = ["router"]

router = APIRouter(prefix="/api/v1", tags=["company"])


@router.get(
    "/arrivals",
    summary="What past drives have taught",
    responses=documented(*COMPANY_TOKEN_REASONS),
)
async def arrivals(request: Request, token: CompanyToken) -> models.ArrivalsKnown:
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
async def publish_arrivals(request: Request, token: CompanyToken, table: dict[str, Any]) -> None:
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
async def forget_arrivals(request: Request, token: CompanyToken) -> None:
    """The drives, the key that they were sealed by, and the table."""
    await as_company(request, token, lambda p, company: p.forget_arrivals(company))
