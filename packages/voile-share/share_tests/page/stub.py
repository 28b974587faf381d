"""A small service that speaks what the page needs: its files, the map, and the feed of one link.

It stands for no service: there is one link, nothing is stored, and tests tell it what to answer.
It records all requests as they came in, so that tests see what a service would see.
"""

from __future__ import annotations

import json
import socket
import threading
from base64 import urlsafe_b64encode
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from voile_share.map import MAP_PATH
from voile_share.page import SECURITY_HEADERS, page_files

TABLE = {
    "voile": "arrival table",
    "version": 2,
    "coverage": 0.9,
    "tours": 80,
    "fitted": 0,
    "nearest": 100.0,
    "factor": 1.15,
    "rows": {"all": [[1_800, 5_400, 80]] * 60},
}
"""By past tours every parcel arrives half an hour to an hour and a half after it is seen."""


@dataclass(frozen=True)
class Request:
    """What a service sees of a request."""

    path: str
    headers: dict[str, str]
    """By names in small letters."""


@dataclass
class Stub:
    """The service; all fields may be changed while it runs."""

    number: str
    """Of the one link."""
    now: Any
    """A function: seconds since 1970, by the clock of the service."""
    road_map: bytes | None = None
    terms: dict[str, Any] = field(default_factory=dict)
    """More of the feed's terms, or others."""
    reports: list[tuple[int, bytes]] = field(default_factory=list)
    """Slots and reports, from the first."""
    notice: bytes | None = None
    """What the carrier has said last, where the link is to a parcel."""
    refusal: tuple[int, str] | None = None
    """Status and reason with which the feed is refused."""
    end: str | None = None
    """The reason with which it ends."""
    heartbeat: float = 15.0
    requests: list[Request] = field(default_factory=list)
    port: int = 0
    _server: _Server | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _epoch: int = 0

    def start(self) -> Self:
        """Listen, at the port of the last time."""
        stub = self

        class Handler(_Handler):
            service = stub

        server = _Server(("127.0.0.1", self.port), Handler)
        self.port = server.server_port
        self._server = server
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop listening, and cut all streams off."""
        server, self._server = self._server, None
        if server is not None:
            self.cut()
            server.shutdown()
            server.server_close()
            server.hang_up()

    def cut(self) -> None:
        """Cut all streams off."""
        with self._changed:
            self._epoch += 1
            self._changed.notify_all()

    def publish(self, slot: int, report: bytes) -> None:
        """Send a report to who listens, and to who comes."""
        with self._changed:
            self.reports.append((slot, report))
            self._changed.notify_all()

    def say(self, notice: bytes) -> None:
        """Say what the carrier says, to who listens and to who comes."""
        with self._changed:
            self.notice = notice
            self._changed.notify_all()

    def close_link(self, reason: str) -> None:
        """End the feed with a reason."""
        with self._changed:
            self.end = reason
            self._changed.notify_all()

    @property
    def origin(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def feeds(self) -> list[Request]:
        """The requests for the feed."""
        return [request for request in self.requests if request.path == "/api/v1/feed"]

    def stream(self, handler: _Handler, last: int | None) -> None:
        """The feed, until it ends or is cut off."""
        epoch, before = self._epoch, list(self.reports)
        sent = len(before)
        terms = {"slot_seconds": 300, "now": int(self.now()), "expires": int(self.now()) + 86_400}
        handler.event("terms", json.dumps({**terms, "arrival": TABLE, **self.terms}))
        said = self.notice
        if said is not None:
            handler.event("notice", _base64url(said))
        missed = [one for one in before if last is None or one[0] > last]
        for slot, report in missed[-1:] if last is None else missed:
            handler.report(slot, report)
        while True:
            with self._changed:
                idle = self.end is None and len(self.reports) == sent and self.notice is said
                if self._epoch == epoch and idle:
                    self._changed.wait(self.heartbeat)
                if self._epoch != epoch:
                    return
                fresh, sent = self.reports[sent:], len(self.reports)
                news, said = (None if self.notice is said else self.notice), self.notice
            if news is not None:
                handler.event("notice", _base64url(news))
            for slot, report in fresh:
                handler.report(slot, report)
            if self.end is not None:
                handler.event("ended", json.dumps({"reason": self.end}))
                return
            if not fresh:
                handler.wfile.write(b": nothing new\n\n")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._connections: list[socket.socket] = []

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.append(request)
        super().process_request(request, client_address)

    def hang_up(self) -> None:
        """Close connections that browsers would use again, as the end of a process does."""
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: object) -> None:
        """Browsers hang up as they like; what else goes wrong, tests see by the page."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Stub

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.service.requests.append(Request(self.path, headers))
        try:
            self._answer(headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _answer(self, headers: dict[str, str]) -> None:
        file = page_files().get(self.path)
        if file is not None:
            if headers.get("if-none-match") == file.etag:
                self._send(304, file.content_type, b"", file.headers)
            else:
                self._send(200, file.content_type, file.body, file.headers)
        elif self.path == MAP_PATH and self.service.road_map is not None:
            self._send(200, "application/json", self.service.road_map, SECURITY_HEADERS)
        elif self.path == "/api/v1/feed":
            self._feed(headers)
        else:
            self._problem(404, "not-found")

    def _feed(self, headers: dict[str, str]) -> None:
        if self.service.refusal is not None:
            self._problem(*self.service.refusal)
        elif headers.get("authorization") != f"Bearer {self.service.number}":
            self._problem(401, "link-unknown")
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Connection", "close")
            self.end_headers()
            last = headers.get("last-event-id")
            self.service.stream(self, None if last is None else int(last))

    def event(self, name: str, data: str, number: int | None = None) -> None:
        """Write one event."""
        identified = "" if number is None else f"id: {number}\n"
        self.wfile.write(f"event: {name}\n{identified}data: {data}\n\n".encode())

    def report(self, slot: int, report: bytes) -> None:
        """Write a report."""
        self.event("report", _base64url(report), slot)

    def _problem(self, status: int, reason: str) -> None:
        problem = {"type": f"/problems/{reason}", "status": status, "reason": reason}
        body = json.dumps(problem).encode()
        self._send(status, "application/problem+json", body, SECURITY_HEADERS)

    def _send(self, status: int, content_type: str, body: bytes, headers: Any) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _base64url(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()
