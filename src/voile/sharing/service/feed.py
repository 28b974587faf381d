"""Live reports of a link's truck, as server-sent events which can be resumed.

    event: terms    what the reader must know before anything else
    event: report   id: SLOT, data: the whole report in base64url
    event: ended    the link has ended, and why; nothing follows

What it does: a feed sends what the log has after the last slot that it has sent, then waits until
it is woken (a report of the truck was committed by this process) or a heartbeat is due, and looks
again.  So there is no queue that a slow reader could fill: what a reader has not taken is read from
the log when it is ready, and nothing is skipped or sent twice.  The link is looked up at each turn.

A reader who takes nothing is let go (``connection``).  When the service ends, feeds end without
``ended``: the reader comes again with Last-Event-ID and goes on after it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from voile.sharing.platform import AccessError
from voile.sharing.protocol.base64url import to_base64url
from voile.sharing.service.context import ServiceContext
from voile.sharing.service.problems import ProblemError
from voile.sharing.store import Entry, StoreError, TrackingLink

__all__ = ["MOST_RESUMED", "FeedResponse", "Feeds", "event"]

MOST_RESUMED = 100
"""Slots that a reader is given who comes again; earlier ones are left out."""
_AT_ONCE = 100


def event(name: str, data: str, number: int | None = None) -> bytes:
    """One event, as it goes over the wire."""
    identity = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{identity}data: {data}\n\n".encode()


class Feeds:
    """The feeds that are open in this process, and their companies' shares of them.

    Where all are taken, a company that has fewer than another gets one of the other's: the one that
    was opened last ends, whose reader may come again and is then refused, since its company has its
    share.  So a company that opens feeds without end takes none from others.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._open: Counter[bytes] = Counter()
        self._of: dict[str, list[_OpenFeed]] = {}

    @contextmanager
    def opened(self, link: TrackingLink, company: str) -> Iterator[asyncio.Event]:
        """Count a feed while it is open; what is given is set where it must end.

        Raises ``ProblemError`` where there are too many.
        """
        options = self._context.options
        is_full = self._open.total() >= options.most_feeds
        last = self._least_due(company) if is_full else None
        if self._open[link.hash] >= options.most_feeds_of_link:
            raise ProblemError("too-many-feeds", "close one of this link", retry=options.heartbeat)
        if last is not None:
            self._end(last)
            last.leave.set()
        feed = _OpenFeed(link.hash, company, asyncio.Event())
        self._open[link.hash] += 1
        self._of.setdefault(company, []).append(feed)
        try:
            yield feed.leave
        finally:
            self._end(feed)

    def _least_due(self, company: str) -> _OpenFeed:
        """Which feed a company gets where all are taken; raises ``ProblemError``."""
        those = max(self._of.values(), key=len, default=[])
        if len(those) <= len(self._of.get(company, [])) + 1:
            raise ProblemError(
                "busy", "too many feeds are open", retry=self._context.options.heartbeat
            )
        return those[-1]

    def _end(self, feed: _OpenFeed) -> None:
        """Count it no more; a second time changes nothing."""
        those = self._of.get(feed.company, [])
        if feed not in those:
            return
        those.remove(feed)
        if not those:
            del self._of[feed.company]
        self._open[feed.link] -= 1
        if not self._open[feed.link]:
            del self._open[feed.link]


@dataclass(eq=False)
class _OpenFeed:
    """Whose it is, and how it is told to end."""

    link: bytes
    company: str
    leave: asyncio.Event


@dataclass
class _Reader:
    """Whose link it is, and up to where it has been sent reports."""

    token: str
    link: TrackingLink
    last: int
    """Slot of the last report sent."""
    begun: bool
    """False: the last report is to be sent, however old it is."""


class FeedResponse(Response):
    """A stream of events that ends by itself."""

    media_type = "text/event-stream"

    def __init__(
        self,
        context: ServiceContext,
        feeds: Feeds,
        opened: tuple[str, TrackingLink, str],
        last: int | None,
    ) -> None:
        """``opened``: the link's number, the link, its company; ``last``: Last-Event-ID."""
        self.status_code = 200
        self.background = None
        self._context = context
        self._feeds = feeds
        token, link, self._company = opened
        settings = context.platform.settings
        earliest = int(context.platform.clock()) - MOST_RESUMED * settings.slot_seconds
        resumed = -1 if last is None else max(last, earliest)
        self._reader = _Reader(token, link, resumed, begun=last is not None)
        self.init_headers({"x-accel-buffering": "no"})  # proxies must not wait for more

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the link, the reader, the service or the company's share ends."""
        with self._feeds.opened(self._reader.link, self._company) as leave:
            gone = asyncio.create_task(_disconnected(receive))
            sending = asyncio.create_task(self._send_all(send))
            leaving = asyncio.create_task(leave.wait())
            tasks = {gone, sending, leaving}
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if sending.done():
                    sending.result()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        start = {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self.raw_headers,
        }
        await send(start)
        async for piece in self._events():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _events(self) -> AsyncIterator[bytes]:
        context, reader = self._context, self._reader
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake(_: Entry) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(woken.set)

        unsubscribe = context.platform.subscribe(reader.link.truck, wake)
        try:
            yield self._terms()
            while not context.closing.is_set():
                woken.clear()
                try:
                    entries = await context.do(self._news)
                except AccessError as error:
                    yield event("ended", json.dumps({"reason": error.reason}))
                    return
                except StoreError:
                    return  # the reader comes again
                for entry in entries:
                    yield event("report", to_base64url(entry.message), entry.slot)
                if len(entries) < _AT_ONCE and not await self._woken(woken):
                    yield b":\n\n"
        finally:
            unsubscribe()

    def _terms(self) -> bytes:
        platform = self._context.platform
        terms = {
            "slot_seconds": platform.settings.slot_seconds,
            "now": int(platform.clock()),
            "expires": int(self._reader.link.expires),
            "speeds_kmh": list(platform.settings.speeds_kmh),
        }
        return event("terms", json.dumps(terms))

    def _news(self) -> Sequence[Entry]:
        """Reports that were not sent yet, of a link that is still open; in a thread."""
        platform, reader = self._context.platform, self._reader
        link = platform.link_of(reader.token)
        if not reader.begun:
            last = platform.last_report(link)
            entries: Sequence[Entry] = [] if last is None else [last]
            reader.begun = True
        else:
            entries = platform.reports_after(link, reader.last, _AT_ONCE)
        if entries:
            reader.last = entries[-1].slot
        return entries

    async def _woken(self, woken: asyncio.Event) -> bool:
        """Wait for a report, the end of the service or of the link, or a heartbeat."""
        left = max(0.0, self._reader.link.expires - self._context.platform.clock())
        wait = min(self._context.options.heartbeat, left + 0.01)
        waiting = [asyncio.create_task(one.wait()) for one in (woken, self._context.closing)]
        try:
            done, _ = await asyncio.wait(waiting, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        return bool(done)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
