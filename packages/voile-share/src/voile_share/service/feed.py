"""Live reports of a link's truck, as server-sent events which can be resumed.

    event: terms    what the reader must know before anything else
    event: notice   data: what the carrier says to the reader of a parcel (protocol.SealedNotice)
    event: report   id: SLOT, data: the whole report in base64url
    event: ended    the link has ended, and why; nothing follows

What it does: a feed sends what the log has after the last slot that it has sent, then waits until
it is woken (a report of the truck was committed by this process) or a heartbeat is due, and looks
again.  So there is no queue that a slow reader could fill: what a reader has not taken is read from
the log when it is ready, and nothing is skipped or sent twice.  The link is looked up at each turn.

A reader who takes nothing is let go (``connection``).  When the service ends, feeds end without
``ended``: the reader comes again with Last-Event-ID and goes on after it.

A link to a parcel shows the truck that its company says, none at times.  Where that has changed
since the last turn its notice comes before the reports of the other truck, the last one first.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from voile_share.ingest import AHEAD_SECONDS
from voile_share.platform import AccessError
from voile_share.protocol.primitives import to_base64url
from voile_share.service.context import ServiceContext
from voile_share.service.problems import ProblemError
from voile_share.store import Entry, StoreError, TrackingLink

__all__ = ["MOST_RESUMED", "FeedResponse", "Feeds"]

MOST_RESUMED = 100
"""Slots that a reader is given who comes again; earlier ones are left out."""
_AT_ONCE = 100


def _event(name: str, data: str, number: int | None = None) -> bytes:
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

    @property
    def count(self) -> int:
        """How many are open."""
        return self._open.total()

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
    """False: if nothing newer is there, the last report is to be sent, however old it is."""
    notice: bytes | None = None
    """What the reader was told of the parcel."""


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
        platform_now = int(context.platform.clock())
        earliest = platform_now - MOST_RESUMED * settings.slot_seconds
        if last is not None and last > platform_now + AHEAD_SECONDS:
            last = None  # of a report that was taken back since: see ``Platform.set_back``
        resumed = -1 if last is None else max(last, earliest)
        # The last report read may be of another truck than the parcel is on now.
        begun = last is not None and not link.follows_parcel
        self._reader = _Reader(token, link, resumed, begun)
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

        def wake(_: object) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(woken.set)

        with ExitStack() as stack:
            listening = _Listening(context, stack, wake)
            try:
                table = await context.do(partial(context.platform.arrival_table, self._company))
            except StoreError:
                return  # the reader comes again
            yield self._terms(table)
            while not context.closing.is_set():
                woken.clear()
                listening.to(reader.link)
                try:
                    news = await context.do(self._news)
                except AccessError as error:
                    yield _event("ended", json.dumps({"reason": error.reason}))
                    return
                except StoreError:
                    return  # the reader comes again
                for one in news:
                    yield one
                if reader.link.truck is not None and not listening.has(reader.link):
                    continue  # another truck, whose reports are not listened to yet
                if len(news) < _AT_ONCE and not await self._woken(woken):
                    yield b":\n\n"

    def _terms(self, table: dict[str, object] | None) -> bytes:
        platform = self._context.platform
        terms = {
            "slot_seconds": platform.settings.slot_seconds,
            "now": int(platform.clock()),
            "expires": int(self._reader.link.expires),
            "arrival": table,
        }
        return _event("terms", json.dumps(terms))

    def _news(self) -> Sequence[bytes]:
        """Events that were not sent yet, of a link that is still open; in a thread."""
        platform, reader = self._context.platform, self._reader
        link, before = platform.link_of(reader.token), reader.link
        news = []
        is_ahead = reader.last > platform.clock() + AHEAD_SECONDS  # perhaps taken back since
        if link.truck != before.truck or (is_ahead and self._is_taken_back(link)):
            reader.begun, reader.last = False, -1  # each truck has slots of its own
        if link.notice is not None and link.notice != reader.notice:
            reader.notice = link.notice
            news.append(_event("notice", to_base64url(link.notice)))
        reader.link = link
        entries: list[Entry] = []
        if reader.begun or reader.last >= 0:
            entries = list(platform.reports_after(link, reader.last, _AT_ONCE))
        if not reader.begun and not entries:
            last = platform.last_report(link)
            entries = [] if last is None else [last]
        reader.begun = True
        if entries:
            reader.last = entries[-1].slot
        return news + [_event("report", to_base64url(one.message), one.slot) for one in entries]

    def _is_taken_back(self, link: TrackingLink) -> bool:
        last = self._context.platform.last_report(link)
        return last is None or last.slot < self._reader.last

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


class _Listening:
    """Is woken by the link, and by the truck that it shows now."""

    def __init__(
        self, context: ServiceContext, stack: ExitStack, wake: Callable[[object], None]
    ) -> None:
        self._subscribe, self._stack, self._wake = context.platform.subscribe, stack, wake
        self._truck: bytes | None = None
        self._link = False

    def has(self, link: TrackingLink) -> bool:
        """Whether reports of a link's truck are noticed."""
        return self._truck == link.truck

    def to(self, link: TrackingLink) -> None:
        """Notice changes of a link and, from now on, the reports of its truck."""
        if not self._link:
            self._stack.callback(self._subscribe(link.hash, self._wake))
            self._link = True
        if link.truck != self._truck and link.truck is not None:
            self._stack.callback(self._subscribe(link.truck, self._wake))
            self._truck = link.truck


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
