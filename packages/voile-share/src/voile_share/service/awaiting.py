"""Waiting in an event loop for what other threads do."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

__all__ = ["outcome_of"]

T = TypeVar("T")


async def outcome_of(future: Future[T]) -> T:
    """What a future of other threads comes to; raises what it does.

    Whoever gives up waiting stops nothing.  A shield around ``asyncio.wrap_future`` does the same
    at twice the cost.
    """
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def wake(_: Future[T]) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody waits
            loop.call_soon_threadsafe(_finish, done)

    future.add_done_callback(wake)
    await done
    return future.result()


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
