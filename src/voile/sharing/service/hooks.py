"""Webhooks and mail: the calls by which companies choose them, and who delivers what waits.

A message is claimed before it is sent and put down as told afterwards: a service that is killed in
between sends it again, under the same id.  One that is not taken is tried again after half a
minute, and each time four times as long later, to six hours, for a day.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from voile.errors import InputError, VoileError
from voile.sharing.platform.access import AccessError
from voile.sharing.platform.telling import ARRIVING
from voile.sharing.service import models
from voile.sharing.service.company import COMPANY_TOKEN_REASONS, CompanyToken, as_company
from voile.sharing.service.context import ServiceContext
from voile.sharing.service.problems import documented
from voile.sharing.service.reaching import UnreachedError, check_target, mail, post

if TYPE_CHECKING:
    from voile.sharing.platform import Platform
    from voile.sharing.service.hook_options import HookOptions
    from voile.sharing.service.notices import Notices
    from voile.sharing.store import Company, Waiting

__all__ = ["deliver", "router"]

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

router = APIRouter(prefix="/api/v1", tags=["company"])


@router.post(
    "/hooks",
    status_code=201,
    summary="Be told when parcels arrive and are delivered",
    responses=documented(*_TOKEN, "hook-unfit"),
)
async def add_hook(request: Request, token: CompanyToken, wanted: models.NewHook) -> models.Hook:
    """By a signed request, or by mail; ten at most. The secret is shown this once."""
    options: HookOptions = request.app.state.hook_options

    def work(platform: Platform, company: Company) -> tuple[str, str | None]:
        try:
            check_target(wanted.kind, wanted.address, options)
            return platform.telling.add_hook(company, wanted.kind, wanted.address)
        except InputError as error:
            raise AccessError("hook-unfit", str(error)) from None

    identity, secret = await as_company(request, token, work)
    return models.Hook(hook=identity, secret=secret)


@router.get("/hooks", summary="List hooks", responses=documented(*_TOKEN))
async def hooks(request: Request, token: CompanyToken) -> models.HookList:
    """Without addresses and secrets."""
    found = await as_company(request, token, lambda p, company: p.telling.hooks(company))
    known = [models.KnownHook(hook=one.hook, kind=one.kind, created=one.created) for one in found]
    return models.HookList(hooks=known)


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
    hook: Annotated[str, Path(pattern="^[0-9a-f]{32}$", examples=["0" * 32])],
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
    context: ServiceContext, notices: Notices, options: HookOptions, waiting: Waiting
) -> None:
    platform, now = context.platform, context.platform.clock()
    store: Any = platform.directory
    if not await context.do(lambda: store.claim(waiting.number, waiting.tries, now + _CLAIMED)):
        return
    try:
        await _reach(context, options, waiting)
    except (UnreachedError, InputError) as error:
        pause = min(_FIRST * 4.0**waiting.tries, _LONGEST)
        if now + pause - waiting.created < _GIVEN_UP:
            await context.do(lambda: store.put_off(waiting.number, now + pause))
            return
        notices.say(f"a hook of a company was not reached for a day ({error}): hook {waiting.hook}")
    await context.do(lambda: store.told(waiting.number, now))
    await context.do(lambda: store.drop_told(now - _KEPT))


async def _reach(context: ServiceContext, options: HookOptions, waiting: Waiting) -> None:
    store: Any = context.platform.directory
    hook = await context.do(lambda: store.hook(waiting.hook))
    if hook is None or hook.target is None:
        return
    telling = context.platform.telling
    target = await context.do(lambda: telling.opened(hook, hook.target))
    said = json.loads(waiting.body)
    if hook.kind == "mail":
        short, long = _WORDS[said["event"]]
        name = "".join(one if one.isprintable() else "?" for one in said["parcel"])
        await context.do(lambda: mail(target, f"Parcel {name} {short}", f"{long}\n", options))
        return
    secret = telling.opened(hook, hook.secret or b"")
    at = int(context.platform.clock())
    await post(target, secret, said["id"], waiting.body, at, options)
