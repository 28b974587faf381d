"""Connections with bounds that uvicorn does not set by itself.

- The first line and the headers of a request have a most number of bytes, and a time by which
  they must have come, so that nobody holds connections open by sending them drop by drop.
- Who takes nothing of what is sent is disconnected after a time.
- What is no HTTP is answered by a problem, as everything else is.
- There are only so many connections at a time (``connections``).

They hold for both of uvicorn's parsers, h11 and the faster httptools.  These are given what comes
in pieces, so that of a head in one read no more is parsed than may be.  A head that follows another
request without a pause, and the trailers of a body, may be longer by one piece.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from voile_share.service.connections import Connections
from voile_share.service.options import Options
from voile_share.service.problems import document_of

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol
else:
    _Protocol = object

__all__ = ["bounded_protocol"]

_PIECE = 8_192
_REASONS = {400: "not-http", 408: "too-slow", 431: "headers-too-large", 503: "busy"}
_RETRY_SECONDS = 5


def bounded_protocol(
    options: Options, parser: type[asyncio.Protocol] = AutoHTTPProtocol
) -> type[asyncio.Protocol]:
    """The protocol to give to uvicorn as ``http``; ``parser`` is one of uvicorn's protocols."""
    shared = {"chosen": options, "places": Connections(options.most_connections)}
    return type("Bounded", (_Bounds, parser), shared)


class _Bounds(_Protocol):
    """What a connection has beside its parser; two fields are set by ``bounded_protocol``."""

    chosen: Options
    places: Connections

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
