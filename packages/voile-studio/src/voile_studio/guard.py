"""Who may call: one browser on this machine, and no other site that it has open.

- The address that Studio opens carries a token that works once; it becomes a cookie that scripts
  cannot read and that other sites cannot send.
- A request must name the host that Studio listens on, which stops other names that lead here (DNS
  rebinding), and come from its own pages; one that changes something must say so.
- On this machine, a connection must be of the same user: a cookie knows no port, so that another
  user's server on this host could be sent ours.
- Nothing is kept by browsers, pages run no script but ours and load nothing from elsewhere.

Who is at the other end of a connection within this machine: the same user, or somebody else.

A cookie is sent to every port of a host, so a page that another user of this machine serves could
be sent ours, and use it.  Linux says who owns each socket in ``/proc/net/tcp``: a connection of
another user than ours, or than the superuser, is none of a browser that we opened.
"""

from __future__ import annotations

import hmac
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, quote

from voile_base.operating_system import TCP_SOCKETS, user
from voile_base.randomness import Randomness

__all__ = ["HEADERS", "REPORT_POLICY", "Guard"]


_LOOPBACK = "127."
_SUPERUSER = 0


def _stranger(client: tuple[str, int] | None, server: tuple[str, int] | None) -> bool:
    """Whether a connection on this machine is known to be of another user."""
    if client is None or server is None or not client[0].startswith(_LOOPBACK):
        return False
    owner = _owner_of(client, server)
    return owner is not None and owner not in {_SUPERUSER, user()}


def _owner_of(
    client: tuple[str, int], server: tuple[str, int], table: Path = TCP_SOCKETS
) -> int | None:
    """The user id of the client's socket; None where the system does not say."""
    ends = [_written(client), _written(server)]
    try:
        lines = table.read_text(encoding="ascii", errors="replace").splitlines()[1:]
    except OSError:
        return None
    for fields in map(str.split, lines):
        if fields[1:3] == ends:
            return int(fields[7])
    return None


def _written(end: tuple[str, int]) -> str:
    """An address and a port as the table has them: of the address, the bytes as a native number."""
    host, port = end
    number = int.from_bytes(bytes(map(int, host.split("."))), sys.byteorder)
    return f"{number:08X}:{port:04X}"


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_COOKIE = "voile-studio"
_ENTRANCE = "/enter"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({"same-origin", "none"})
"""What browsers say of a request by a page of ours, and by an address that somebody opened."""

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; sandbox allow-same-origin"
)
"""Of reports, which carry their style and run nothing: no script, no form, no frame.

They keep the origin of Studio, without which the browser would send no cookie after the link back.
"""

HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": _POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "geolocation=(), camera=(), microphone=(), payment=()",
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "X-Robots-Tag": "noindex",
        "Cache-Control": "no-store",
    }
)


class Guard:
    """An application before which every request is looked at."""

    def __init__(self, application: Application, hosts: frozenset[str]) -> None:
        """``hosts`` are the values of ``Host`` that mean this server: "127.0.0.1:8123"."""
        self._application, self._hosts = application, hosts
        # Cookies know no port: that of another Studio on this machine has another name.
        self._named = f"{_COOKIE}-{min(hosts).rpartition(':')[2]}"
        self._session = Randomness.secure().token("studio")
        self._token: str | None = None
        self._after = "/"
        self._handing_out = threading.Lock()

    def new_entrance(self, after: str = "/") -> str:
        """The path that lets one browser in, once, and on to a page; an earlier one ends."""
        with self._handing_out:
            self._after = after
            self._token = Randomness.secure().token("studio")
            return f"{_ENTRANCE}?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, let a browser in, or hand the request on."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if _stranger(_end(scope, "client"), _end(scope, "server")):
            await _refuse(send, 403, "Studio is for the user who started it, and for nobody else.")
        elif headers.get(b"host", "") not in self._hosts:
            await _refuse(send, 421, "This is not the address that Studio listens on.")
        elif scope["path"] == _ENTRANCE:
            await self._enter(scope, send)
        elif not hmac.compare_digest(
            _cookie(headers, self._named).encode(), self._session.encode()
        ):
            await _refuse(send, 401, _STRANGER)
        elif headers.get(b"sec-fetch-site", "none") not in _OWN_SITE or (
            scope["method"] not in _SAFE and not self._own(headers)
        ):
            await _refuse(send, 403, "This request comes from another site.")
        else:
            await self._application(scope, receive, _with_headers(send))

    def _own(self, headers: Mapping[bytes, str]) -> bool:
        """Whether a request that changes something comes from a page of ours."""
        scheme, _, host = headers.get(b"origin", "").partition("://")
        return scheme in {"http", "https"} and host == headers[b"host"]

    async def _enter(self, scope: Scope, send: Send) -> None:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        with self._handing_out:
            right = self._token is not None and hmac.compare_digest(
                given.encode(), self._token.encode()
            )
            if right:
                self._token = None
        if not right:
            await _refuse(send, 401, _STRANGER)
            return
        cookie = f"{self._named}={self._session}; HttpOnly; SameSite=Strict; Path=/"
        # A redirect would be followed as a request from where the link stood, without the cookie.
        after = escape(quote(self._after))
        body = (
            '<!doctype html><html lang="en"><title>Voile Studio</title>'
            '<link rel="icon" href="/static/icon.svg">'
            f'<meta http-equiv="refresh" content="0;url={after}">'
            f'<p><a href="{after}">Open Studio</a></p>'
        )
        await _answer(send, 200, body.encode(), {"Set-Cookie": cookie, "Content-Type": _HTML})


_HTML = "text/html; charset=utf-8"
_STRANGER = (
    "Studio does not know this browser. Open it by the address that the terminal shows, or start "
    "it again: voile studio"
)


def _end(scope: Scope, which: str) -> tuple[str, int] | None:
    """An end of the connection, where it has an address."""
    found = scope.get(which)
    return (str(found[0]), int(found[1])) if found and found[1] is not None else None


def _cookie(headers: Mapping[bytes, str], named: str) -> str:
    pairs = (part.strip().partition("=") for part in headers.get(b"cookie", "").split(";"))
    return next((value for name, _, value in pairs if name == named), "")


async def _refuse(send: Send, status: int, why: str) -> None:
    await _answer(send, status, why.encode(), {"Content-Type": "text/plain; charset=utf-8"})


async def _answer(send: Send, status: int, body: bytes, more: Mapping[str, str]) -> None:
    headers = {**HEADERS, **more, "Content-Length": str(len(body))}
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    """The same, with our headers on every answer that does not say otherwise."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            said = {name.lower() for name, _ in message["headers"]}
            more = [
                (name.lower().encode(), value.encode())
                for name, value in HEADERS.items()
                if name.lower().encode() not in said
            ]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending
