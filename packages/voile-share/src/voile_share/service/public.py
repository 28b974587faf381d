"""What anybody may ask for: the tracking page, the road map, what reasons mean, a sign of life."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, FastAPI, Path, Request, Response
from pydantic import BaseModel

from voile_base.values import Json
from voile_share.page import PAGE_PATH, SECURITY_HEADERS, PageFile, page_files
from voile_share.service.context import ServiceContext
from voile_share.service.problems import TITLES, ProblemError, documented, status_of
from voile_share.store import StoreError

if TYPE_CHECKING:
    from voile_share.map import MapFile
    from voile_share.platform import Platform

__all__ = ["Health", "Readiness", "ReasonMeaning", "Writing", "add_page", "router"]

router = APIRouter(tags=["public"])

_KEEPS_UP_SECONDS = 1.0
_RETRY_SECONDS = 5.0
_TRIED_SECONDS = 10.0

_UNCHANGED: dict[int | str, Json] = {
    304: {"description": "Unchanged since the ETag of If-None-Match."}
}


class Health(BaseModel):
    """That the service lives."""

    status: str = "ok"


class Readiness(BaseModel):
    """That the service keeps up with what it is asked."""

    status: str = "ready"


class ReasonMeaning(BaseModel):
    """What a reason means."""

    reason: str
    title: str
    status: int


@router.get("/healthz", summary="Whether the service lives")
async def _healthz() -> Health:
    """Looks at nothing else: the store is not asked."""
    return Health()


@router.get(
    "/readyz",
    summary="Whether the service keeps up, and can store",
    responses=documented("busy", "store-unavailable"),
)
async def _readyz(request: Request) -> Readiness:
    """That nothing has waited for a second, and that the store takes what is written.

    That is tried at most every ten seconds, and each time while reports fail.
    """
    if ServiceContext.of(request).platform.waited() > _KEEPS_UP_SECONDS:
        raise ProblemError("busy", "what came has not been worked off", retry=_RETRY_SECONDS)
    writing: Writing = request.app.state.writing
    if not await writing.works():
        raise ProblemError("store-unavailable", "look at the disk and the store's database")
    return Readiness()


class Writing:
    """Whether the store can be written, tried seldom and by one at a time."""

    def __init__(self, platform: Platform, tell: Callable[[str], None]) -> None:
        """``tell`` is told what the store says."""
        self._platform = platform
        self._tell = tell
        self._limiter = CapacityLimiter(1)
        self._lock = asyncio.Lock()
        self._tried = float("-inf")
        self.worked = True
        """The last time."""

    async def works(self) -> bool:
        """Of late, or now."""
        asked = time.monotonic()
        async with self._lock:
            is_fresh = asked - self._tried < _TRIED_SECONDS
            is_well = self.worked and not self._platform.has_failed
            # Anybody may ask, and what fails may take seconds: who waits shares one trial.
            if self._tried <= asked and not (is_fresh and is_well):
                self._tried = time.monotonic()
                self.worked = await to_thread.run_sync(self._try, limiter=self._limiter)
            return self.worked

    def _try(self) -> bool:
        try:
            self._platform.check_writing()
        except StoreError as error:
            self._tell(str(error))
            return False
        return True


@router.get(
    "/problems/{reason}",
    summary="What a reason means",
    responses=documented("not-found"),
)
async def _meaning(
    reason: Annotated[str, Path(max_length=40, examples=["link-expired"])],
) -> ReasonMeaning:
    """The types of problems are addresses of this kind."""
    if reason not in TITLES:
        raise ProblemError("not-found")
    return ReasonMeaning(reason=reason, title=TITLES[reason], status=status_of(reason))


@router.head("/map/roads.json", include_in_schema=False)
@router.get(
    "/map/roads.json",
    summary="The road map",
    response_class=Response,
    responses={
        200: {
            "description": "All roads that the operator has loaded: parts are not given, since "
            "they would tell where one looks.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        },
        **_UNCHANGED,
        **documented("not-found"),
    },
)
async def _roads(request: Request) -> Response:
    """With ETag, and packed by gzip for those who take it."""
    found: MapFile | None = request.app.state.roads
    if found is None:
        raise ProblemError("not-found", "the operator has loaded no roads: voile share roads")
    headers = {**SECURITY_HEADERS, "Cache-Control": "no-cache", "ETag": found.etag}
    bodies = (found.body, found.gzipped)
    return _sent(request, bodies, found.content_type, headers)


@router.head(PAGE_PATH, include_in_schema=False)
@router.get(
    PAGE_PATH,
    summary="The tracking page",
    response_class=Response,
    responses={
        200: {"description": "The page.", "content": {"text/html": {"schema": {"type": "string"}}}},
        **_UNCHANGED,
    },
)
async def _page(request: Request) -> Response:
    """What follows # in its address, the link and its keys, stays in the browser."""
    return _file(request, page_files()[PAGE_PATH])


def add_page(app: FastAPI) -> None:
    """The files of the page, each at its path."""
    for path in page_files():
        if path != PAGE_PATH:
            app.add_route(path, _static, include_in_schema=False)


async def _static(request: Request) -> Response:
    return _file(request, page_files()[request.url.path])


def _file(request: Request, file: PageFile) -> Response:
    return _sent(request, _packed(file.path), file.content_type, file.headers)


@cache
def _packed(path: str) -> tuple[bytes, bytes]:
    body = page_files()[path].body
    return body, gzip.compress(body, 9, mtime=0)


def _sent(
    request: Request, bodies: tuple[bytes, bytes], kind: str, headers: Mapping[str, str]
) -> Response:
    """A body, or its packed form, or that it has not changed."""
    said: Json = {**headers, "Vary": "Accept-Encoding"}
    if _is_named(headers["ETag"], request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=said)
    if not _takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(bodies[0], headers=said, media_type=kind)
    said["Content-Encoding"] = "gzip"
    return Response(bodies[1], headers=said, media_type=kind)


def _is_named(etag: str, condition: str) -> bool:
    """Whether If-None-Match holds a tag; a proxy that packs may have made it weak."""
    tags = {one.strip().removeprefix("W/") for one in condition.split(",")}
    return etag in tags or "*" in tags


def _takes_gzip(accepted: str) -> bool:
    for one in accepted.split(","):
        coding, _, quality = one.partition(";")
        if coding.strip().lower() == "gzip":
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
