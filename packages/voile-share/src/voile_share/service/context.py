"""What every route needs: the platform, who is asking, how often, and threads for what blocks.

Tokens are taken from the header Authorization alone (trackers also name theirs in the path, or as
the password of Basic): addresses get into logs, histories and referrers.  Whatever is wrong with a
token the answer is the same; how many wrong ones an address of the network may try is limited, and
does not keep right ones of the same address from passing: many trucks may share one.

Waiting in an event loop for what other threads do.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from fastapi.openapi.models import HTTPBearer as BearerModel
from fastapi.security.base import SecurityBase

from voile_share import ingest
from voile_share.ingest import IngestError, token_hash
from voile_share.platform import AccessError, DeviceReceipt, Platform, SlotOutcome
from voile_share.platform.trucks import REMEDIES
from voile_share.service.connections import Meter, network_of
from voile_share.service.options import Options
from voile_share.service.problems import ProblemError

__all__ = [
    "ServiceContext",
    "Token",
    "outcome_of",
]


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


_THREADS = 16
_OPENS_NOTHING = ("token-refused", "link-unknown")


class Token(SecurityBase):
    """The token of the header, for FastAPI's dependencies and its description of the API."""

    def __init__(self, role: str, description: str) -> None:
        self.model = BearerModel(description=description)
        self.scheme_name = role
        self.role = role

    async def __call__(self, request: Request) -> str:
        """The token as it stands there; raises ``ProblemError`` where there is none."""
        scheme, _, token = request.headers.get("authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise ProblemError("token-missing", "send it as: Authorization: Bearer TOKEN")
        return token.strip()


class ServiceContext:
    """Lets callers in, and does what they ask in a thread.  Of one event loop."""

    def __init__(
        self, platform: Platform, options: Options, say: Callable[[str], None] = lambda _: None
    ) -> None:
        """``say`` tells the operator something."""
        self.platform = platform
        self.options = options
        self._say = say
        self.outcomes: Counter[str] = Counter()
        """What became of messages of devices, since this process began."""
        self.closing = asyncio.Event()
        """Set when the service ends: feeds end then."""
        self._threads = CapacityLimiter(_THREADS)
        rates = options.rates
        self._failures = Meter(rates.failures)
        self._meters = {
            role: Meter(rate)
            for role, rate in (
                ("device", rates.device),
                ("company", rates.company),
                ("truck", rates.truck),
                ("auditor", rates.auditor),
                ("link", rates.link),
            )
        }

    async def do(self, work: Callable[[], T]) -> T:
        """What a function returns that may wait for the store."""
        return await to_thread.run_sync(work, limiter=self._threads)

    async def ask(self, request: Request, role: str, token: str, work: Callable[[], T]) -> T:
        """``do`` for the holder of a token, who is counted; ``work`` looks whether it is right.

        Raises ``ProblemError`` where one has asked too often, and what ``work`` raises.
        """
        self.count(role, token)
        try:
            return await self.do(work)
        except AccessError as error:
            self.refused(request, error.reason)
            raise

    def count(self, role: str, token: str) -> None:
        """One more request with a token; raises ``ProblemError``."""
        wait = self._meters[role].wait(token_hash(token))
        if wait > 0:
            self._say(f"A {role} asks more often than [rates] of share.toml allows, and gets 429")
        _refuse(wait)

    def refused(self, request: Request, reason: str) -> None:
        """Where a token has opened nothing: one failure more of the address, if it was that.

        Raises ``ProblemError`` where there were too many.
        """
        if reason in _OPENS_NOTHING:
            host = request.client.host if request.client else None
            _refuse(self._failures.wait(network_of(host)))

    async def receive(self, request: Request, token: str, message: ingest.Request) -> DeviceReceipt:
        """What the platform makes of a device's message, when it is durable.

        Positions that will never be taken are passed over: see ``ingest.passed_over``.
        """
        self.count("device", token)
        try:
            return self.told(await outcome_of(self.platform.receive(token, message)))
        except IngestError as error:
            self._tell(error.reason)
            self.refused(request, error.reason)
            reply = ingest.passed_over(error, message)
            if reply is None:
                raise
            return DeviceReceipt(SlotOutcome.NOTHING, *reply, error.positions, error.reason)

    def told(self, receipt: DeviceReceipt) -> DeviceReceipt:
        """The same; the operator hears of trucks that have stopped publishing."""
        self.outcomes[receipt.outcome.value] += 1
        self._tell(receipt.outcome)
        return receipt

    def _tell(self, reason: str) -> None:
        if reason in REMEDIES:
            which = "" if reason == "token-refused" else "; /operator/fleet shows which"
            self._say(REMEDIES[reason] + which)

    @staticmethod
    def of(request: Request) -> ServiceContext:
        """The context of the application that a request came to."""
        context = request.app.state.context
        assert isinstance(context, ServiceContext)
        return context


def _refuse(wait: float) -> None:
    if wait > 0:
        seconds = max(1, math.ceil(wait))
        raise ProblemError("too-many-requests", f"wait {seconds} s", retry=wait)
