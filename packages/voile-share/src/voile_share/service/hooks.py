"""Webhooks and mail: the calls by which companies choose them, and who delivers what waits.

A message is claimed before it is sent and put down as told afterwards: a service that is killed in
between sends it again, under the same id.  One that is not taken is tried again after half a
minute, and each time four times as long later, to six hours, for a day.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from voile_base.errors import InputError, VoileError
from voile_share.platform.access import AccessError
from voile_share.platform.telling import ARRIVING
from voile_share.service import models
from voile_share.service.company import COMPANY_TOKEN_REASONS, CompanyToken, as_company
from voile_share.service.context import ServiceContext
from voile_share.service.limits import Meter
from voile_share.service.options import Rate
from voile_share.service.problems import ProblemError, documented
from voile_share.service.reaching import UnreachedError, check_target, mail, post

if TYPE_CHECKING:
    from voile_share.platform import Platform
    from voile_share.service.hook_options import HookOptions
    from voile_share.service.notices import Notices
    from voile_share.store import Company, WaitingMessage

__all__ = ["LetterMeters", "deliver", "router"]

_TOKEN = COMPANY_TOKEN_REASONS
_LOOK_SECONDS = 2.0
_AT_ONCE = 8
_CLAIMED = 60.0
_FIRST, _LONGEST, _GIVEN_UP = 30.0, 21_600.0, 86_400.0
_KEPT = 31 * 86_400.0
_WORDS = {
    ARRIVING: ("arrives in about 30 minutes", "It is on its way, and arrives in about 30 minutes."),
    "delivered": ("was delivered", "It was delivered."),
}

_USUAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,34}")
_CONFIRM = "Your code for news of parcels"
_CONFIRM_TEXT = """\
A customer of this sharing service wants news of parcels to be sent to this address.

If that is you, name this code to POST /api/v1/hooks/HOOK/confirm:

    {code}

If not, do nothing: nothing else will come.
"""
HookPath = Annotated[str, Path(pattern="^[0-9a-f]{32}$", examples=["0" * 32])]


@dataclass
class LetterMeters:
    """How many codes are sent: by a company, and to one address."""

    companies: Meter = field(default_factory=lambda: Meter(Rate(1 / 600, 10)))
    addresses: Meter = field(default_factory=lambda: Meter(Rate(1 / 43_200, 2)))
    lock: Lock = field(default_factory=Lock)


router = APIRouter(prefix="/api/v1", tags=["company"])


@router.post(
    "/hooks",
    status_code=201,
    summary="Be told when parcels arrive and are delivered",
    responses=documented(*_TOKEN, "hook-unfit"),
)
async def add_hook(request: Request, token: CompanyToken, wanted: models.NewHook) -> models.Hook:
    """By a signed request, or by mail; ten at most. The secret is shown this once.

    An address of mail is sent a code, and told of nothing until the company names it.
    """
    options: HookOptions = request.app.state.hook_options

    def work(platform: Platform, company: Company) -> tuple[str, str]:
        try:
            check_target(wanted.kind, wanted.address, options)
            if wanted.kind == "mail":
                _count_letter(request, company.company, wanted.address)
            hook = platform.telling.add_hook(company, wanted.kind, wanted.address)
        except InputError as error:
            raise AccessError("hook-unfit", str(error)) from None
        if wanted.kind == "mail":
            try:
                mail(wanted.address, _CONFIRM, _CONFIRM_TEXT.format(code=hook[1]), options)
            except UnreachedError:
                platform.telling.end_hook(company, hook[0])
                raise AccessError("hook-unfit", "the mail server did not take the code") from None
        return hook

    identity, secret = await as_company(request, token, work)
    return models.Hook(hook=identity, secret=None if wanted.kind == "mail" else secret)


def _count_letter(request: Request, company: str, address: str) -> None:
    """Raise ``ProblemError`` where a company, or an address, has had enough codes."""
    meters: LetterMeters = request.app.state.letter_meters
    with meters.lock:
        wait = meters.companies.wait(company.encode()) or meters.addresses.wait(
            sha256(address.lower().encode()).digest()
        )
    if wait > 0:
        raise ProblemError("too-many-requests", "too many codes were sent", retry=wait)


@router.post(
    "/hooks/{hook}/confirm",
    status_code=204,
    response_class=Response,
    summary="Name the code that an address of mail was sent",
    responses=documented(*_TOKEN, "hook-unknown"),
)
async def confirm_hook(
    request: Request, token: CompanyToken, hook: HookPath, given: models.HookCode
) -> None:
    """From then on the address is told. A wrong code is answered like an unknown hook."""

    def work(platform: Platform, company: Company) -> None:
        if not platform.telling.confirm_hook(company, hook, given.code):
            raise AccessError("hook-unknown")

    await as_company(request, token, work)


@router.get("/hooks", summary="List hooks", responses=documented(*_TOKEN))
async def hooks(request: Request, token: CompanyToken) -> models.HookList:
    """Without addresses and secrets."""

    def read(platform: Platform, company: Company) -> list[models.KnownHook]:
        telling = platform.telling
        return [
            models.KnownHook(
                hook=one.hook,
                kind=one.kind,
                created=one.created,
                confirmed=telling.is_confirmed(one),
            )
            for one in telling.hooks(company)
        ]

    return models.HookList(hooks=await as_company(request, token, read))


@router.delete(
    "/hooks/{hook}",
    status_code=204,
    response_class=Response,
    summary="Be told no more",
    responses=documented(*_TOKEN, "hook-unknown"),
)
async def end_hook(
    request: Request,
    token: CompanyToken,
    hook: HookPath,
) -> None:
    """What waits for it is dropped."""

    def work(platform: Platform, company: Company) -> None:
        if not platform.telling.end_hook(company, hook):
            raise AccessError("hook-unknown")

    await as_company(request, token, work)


async def deliver(context: ServiceContext, notices: Notices, options: HookOptions) -> None:
    """Deliver what waits, until it is cancelled; troubles are told, without addresses."""
    store: Any = context.platform.directory
    while True:
        try:
            now = context.platform.clock()
            due = await context.do(lambda now=now: store.due(now, _AT_ONCE))  # type: ignore[misc]
            await asyncio.gather(*(_deliver(context, notices, options, one) for one in due))
        except VoileError as error:
            due = ()
            notices.say(str(error))
        if len(due) < _AT_ONCE:
            await asyncio.sleep(_LOOK_SECONDS)


async def _deliver(
    context: ServiceContext, notices: Notices, options: HookOptions, waiting: WaitingMessage
) -> None:
    platform, now = context.platform, context.platform.clock()
    store: Any = platform.directory
    if not await context.do(lambda: store.claim(waiting.number, waiting.tries, now + _CLAIMED)):
        return
    trouble = await _trouble(context, notices, options, waiting)
    if trouble is not None:
        pause = min(_FIRST * 4.0**waiting.tries, _LONGEST)
        if now + pause - waiting.created < _GIVEN_UP:
            await context.do(lambda: store.put_off(waiting.number, now + pause))
            return
        notices.say(
            f"a hook of a company was not reached for a day ({trouble}): hook {waiting.hook}"
        )
    await context.do(lambda: store.told(waiting.number, now))
    await context.do(lambda: store.drop_told(now - _KEPT))


async def _trouble(
    context: ServiceContext, notices: Notices, options: HookOptions, waiting: WaitingMessage
) -> str | None:
    """Tell it; why that did not succeed, or None."""
    try:
        await _reach(context, options, waiting)
    except (UnreachedError, InputError) as error:
        return str(error)
    except VoileError:
        raise
    except Exception as error:
        # What one company has named must not keep others from being told.
        notices.fault(error)
        return "a fault of Voile"
    return None


async def _reach(context: ServiceContext, options: HookOptions, waiting: WaitingMessage) -> None:
    store: Any = context.platform.directory
    hook = await context.do(lambda: store.hook(waiting.hook))
    if hook is None or hook.target is None:
        return
    telling = context.platform.telling
    target = await context.do(lambda: telling.opened(hook, hook.target))
    said = json.loads(waiting.body)
    if hook.kind == "mail":
        if not await context.do(lambda: telling.is_confirmed(hook)):
            return  # nobody there has said that it is wanted
        short, long = _WORDS[said["event"]]
        # A company chooses the number: what is none of a usual form is not the operator's to send.
        name = f"Parcel {said['parcel']}" if _USUAL.fullmatch(said["parcel"]) else "A parcel"
        await context.do(lambda: mail(target, f"{name} {short}", f"{long}\n", options))
        return
    secret = telling.opened(hook, hook.secret or b"")
    at = int(context.platform.clock())
    await post(target, secret, said["id"], waiting.body, at, options)
