"""How many connections there may be, and which one goes where another one comes.

Each connection is an open file, of which a process may have so many and no more; beyond that it can
accept nobody, and cannot open its store.  So connections are fewer than files.  Where all are taken
the one that has been idle longest goes, of the address of the network that holds most idle ones: an
address that opens connections and sends nothing takes them from itself.  A connection is idle while
no request is being answered on it; who sends a head drop by drop is idle.  Feeds are not.  Where
none is idle the new one is told to come later.

Connections with bounds that uvicorn does not set by itself.

- The first line and the headers of a request have a most number of bytes, and a time by which
  they must have come, so that nobody holds connections open by sending them drop by drop.
- Who takes nothing of what is sent is disconnected after a time.
- What is no HTTP is answered by a problem, as everything else is.
- There are only so many connections at a time (``connections``).

They hold for both of uvicorn's parsers, h11 and the faster httptools.  These are given what comes
in pieces, so that of a head in one read no more is parsed than may be.  A head that follows another
request without a pause, and the trailers of a body, may be longer by one piece.

How often somebody may ask: the generic cell rate algorithm, in memory.

For each key one number is kept, the time at which its bucket would be full again; a request moves
it on by the interval of the rate and is refused where it would lie further ahead than the burst
allows (ITU-T I.371, appendix A: "virtual scheduling").  A time in the past says nothing, so what
is kept can be bounded: the keys used longest ago go first.

Each process counts for itself; with N workers a key gets up to N times its rate.

Cost: one look-up in a table, half a microsecond.  The library ``limits`` takes ten times as long in
memory, runs a timer thread, and does not bound how many keys it remembers.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Any, Protocol

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from voile_base.operating_system import let_open_files
from voile_share.service.options import Options, Rate
from voile_share.service.problems import document_of

__all__ = ["Meter", "bounded_protocol", "network_of", "within_files"]


_MOST_KEYS = 50_000


class Meter:
    """Counts requests by key; to be used by one thread."""

    def __init__(
        self, rate: Rate, clock: Callable[[], float] = time.monotonic, most: int = _MOST_KEYS
    ) -> None:
        """``most`` keys are remembered."""
        self._interval = 1.0 / rate.per_second
        self._ahead = (rate.burst - 1) * self._interval
        self._clock = clock
        self._most = most
        self._full_at: OrderedDict[bytes, float] = OrderedDict()

    def wait(self, key: bytes) -> float:
        """0 where the request may go on, and is counted; else the seconds until one may."""
        now = self._clock()
        full_at = max(self._full_at.pop(key, now), now)
        early = full_at - now - self._ahead
        refused = early > 1e-9  # sums of intervals are rounded
        self._full_at[key] = full_at if refused else full_at + self._interval
        if len(self._full_at) > self._most:
            self._full_at.popitem(last=False)
        return early if refused else 0.0


def network_of(host: str | None) -> bytes:
    """By what an address is counted: itself, and the /64 of IPv6, which one customer has."""
    try:
        address = ip_address(host or "")
    except ValueError:
        return (host or "").encode("utf-8", "replace")
    if isinstance(address, IPv6Address):
        return (address.ipv4_mapped or address).packed[:8]
    return address.packed


_OTHER_FILES = 128
"""The store's, pipes of processes beside, the socket, files of the page."""
_LEAST_CONNECTIONS = 16
_SHARE_OF_FEEDS = 0.75


class _ServedConnection(Protocol):
    """A connection, as far as it is chosen here."""

    def is_idle(self) -> bool:
        """Whether no request is being answered on it."""

    def let_go(self) -> None:
        """Close it."""


class _Connections:
    """Those that are open; of one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._of: dict[bytes, OrderedDict[Hashable, _ServedConnection]] = {}

    def open(self, host: str | None, connection: _ServedConnection) -> bool:
        """Count a connection; False where there is no room for it."""
        if self._count >= self._most and not self._make_room():
            return False
        self._of.setdefault(network_of(host), OrderedDict())[id(connection)] = connection
        self._count += 1
        return True

    def used(self, host: str | None, connection: _ServedConnection) -> None:
        """Something has come by it: it is the last of its address to go."""
        those = self._of.get(network_of(host))
        if those is not None and id(connection) in those:
            those.move_to_end(id(connection))

    def closed(self, host: str | None, connection: _ServedConnection) -> None:
        """It counts no more; a second time changes nothing."""
        network = network_of(host)
        those = self._of.get(network, OrderedDict())
        if those.pop(id(connection), None) is not None:
            self._count -= 1
        if not those:
            self._of.pop(network, None)

    def _make_room(self) -> bool:
        idle = {
            network: [one for one in those.values() if one.is_idle()]
            for network, those in self._of.items()
        }
        network = max(idle, key=lambda one: len(idle[one]), default=b"")
        if not idle.get(network):
            return False
        longest = idle[network][0]
        del self._of[network][id(longest)]
        self._count -= 1
        longest.let_go()
        return True


def within_files(options: Options, tell: Callable[[str], None]) -> Options:
    """The options with as many connections and feeds as files may be open.

    The limit of this process is raised as far as it may be; what it leaves is told where that is
    less than was chosen.
    """
    wanted = options.most_connections + _OTHER_FILES
    room = let_open_files(wanted)
    connections = max(_LEAST_CONNECTIONS, room - _OTHER_FILES)
    feeds = min(options.most_feeds, int(_SHARE_OF_FEEDS * connections))
    if (connections, feeds) != (options.most_connections, options.most_feeds):
        tell(
            f"at most {room} files may be open, which leaves {connections} connections "
            f"(most_connections: {options.most_connections}) and {feeds} feeds (most_feeds: "
            f"{options.most_feeds}); raise the limit, by ulimit -n or LimitNOFILE of systemd, or "
            "choose fewer"
        )
    return replace(options, most_connections=connections, most_feeds=feeds)


if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol
else:
    _Protocol = object


_PIECE = 8_192
_REASONS = {400: "not-http", 408: "too-slow", 431: "headers-too-large", 503: "busy"}
_RETRY_SECONDS = 5


def bounded_protocol(
    options: Options, parser: type[asyncio.Protocol] = AutoHTTPProtocol
) -> type[asyncio.Protocol]:
    """The protocol to give to uvicorn as ``http``; ``parser`` is one of uvicorn's protocols."""
    shared = {"chosen": options, "places": _Connections(options.most_connections)}
    return type("Bounded", (_Bounds, parser), shared)


class _Bounds(_Protocol):
    """What a connection has beside its parser; two fields are set by ``bounded_protocol``."""

    chosen: Options
    places: _Connections

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_bytes = 0
        self._head_late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._host: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        peer = transport.get_extra_info("peername")
        self._host = peer[0] if isinstance(peer, tuple) else None
        self._await_head()
        if not self.places.open(self._host, self):
            self._refuse(503)

    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def let_go(self) -> None:
        """Close the connection for another one."""
        self._end_of_head()
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.places.closed(self._host, self)
        self._end_of_head()
        self._cancel_stalled()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.places.used(self._host, self)
        rest = memoryview(data)
        while rest and not self.transport.is_closing():
            room = min(_PIECE, self.chosen.header_bytes - self._head_bytes)
            if room <= 0:
                self._refuse(431)
                return
            self._parse(bytes(rest[:room]))
            rest = rest[room:]

    def _parse(self, piece: bytes) -> None:
        """Let a piece be parsed, and count it as one of a head unless a head or body goes on."""
        before = self.cycle
        body = 0 if before is None else len(before.body)
        super().data_received(piece)
        if self.cycle is not before:
            self._end_of_head()
        elif before is not None and len(before.body) != body:
            self._head_bytes = 0
        else:
            self._head_bytes += len(piece)
            if before is None or before.response_complete:
                self._await_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stalled is None:
            later = self.loop.call_later
            self._stalled = later(self.chosen.stalled, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel_stalled()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400)

    def _await_head(self) -> None:
        if self._head_late is None:
            later = self.loop.call_later
            self._head_late = later(self.chosen.header_seconds, self._refuse, 408)

    def _end_of_head(self) -> None:
        self._head_bytes = 0
        if self._head_late is not None:
            self._head_late.cancel()
            self._head_late = None

    def _cancel_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _refuse(self, status: int) -> None:
        if self.transport.is_closing():
            return
        problem = document_of(_REASONS[status])
        body = json.dumps(problem).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
            "content-type: application/problem+json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n"
        )
        head += f"retry-after: {_RETRY_SECONDS}\r\n\r\n" if status == 503 else "\r\n"
        self._end_of_head()
        self.transport.write(head.encode() + body)
        self.transport.close()
