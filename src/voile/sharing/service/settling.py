"""What a log such as a chain could not do at once is done while the service runs."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from voile.errors import VoileError
from voile.sharing.service.context import ServiceContext
from voile.sharing.service.notices import Notices

__all__ = ["settle"]

_SETTLE_SECONDS = 15.0


async def settle(context: ServiceContext, notices: Notices) -> None:
    """At start, now and then, and as soon as the platform says so; troubles are told."""
    behind, loop = asyncio.Event(), asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the service has ended
            loop.call_soon_threadsafe(behind.set)

    context.platform.when_behind(wake)
    while True:
        behind.clear()
        try:
            await context.do(context.platform.settle)
        except VoileError as error:
            notices.say(str(error))
        with suppress(TimeoutError):
            await asyncio.wait_for(behind.wait(), _SETTLE_SECONDS)
