"""What the operator chooses about the service: its address, its limits, how long it waits.

Where companies may be told, and by which mail server: ``[hooks]`` of share.toml.

What is measured of a service: ``[telemetry]`` of share.toml.

Both are off by default, and of a request they hold its method, its route (as it is declared, such
as ``/api/v1/trucks/{truck}``), the status of the answer, what became of a position and how long it
took: no path as it was called, no query, header, body, address or number of anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from voile_base.errors import InputError, PlanError, nearest
from voile_share.platform.vault import secret_text

__all__ = [
    "ADDRESS",
    "HookOptions",
    "Options",
    "Rate",
    "RequestRates",
    "Telemetry",
    "check_known",
    "like",
]


_MOST_PORT = 65_535
_ADDRESS = re.compile(
    r"https?://(?:[\w-]+(?:\.[\w-]+)*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,9}))?"
)


@dataclass(frozen=True, slots=True)
class Rate:
    """So many requests a second in the long run, and at most so many at once."""

    per_second: float
    burst: int


@dataclass(frozen=True)
class RequestRates:
    """How often somebody may ask, each token by itself; by ``[rates]`` of share.toml."""

    device: Rate = Rate(5, 300)
    """A phone that comes back into coverage sends what it has kept, one by one."""
    company: Rate = Rate(20, 200)
    truck: Rate = Rate(5, 300)
    """After a day without coverage 288 reports wait, which go at once; a month's go in an hour."""
    auditor: Rate = Rate(10, 100)
    link: Rate = Rate(1, 60)
    failures: Rate = Rate(0.5, 30)
    """Tokens that open nothing, from one address of the network."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Rates from pairs [requests a second, burst]; raises ``PlanError``."""
        known = [field.name for field in fields(cls)]
        for name in document:
            check_known(name, known, "rate")
        return cls(**{name: _rate(name, pair) for name, pair in document.items()})


@dataclass(frozen=True)
class Options:
    """The service's side of share.toml (``[service]``); raises ``PlanError``."""

    address: str = "http://127.0.0.1:8080"
    """What people type: links begin with it.  Without a path, and without a slash at the end."""
    host: str = "127.0.0.1"
    """Where it listens; a proxy for TLS stands before it."""
    port: int = 8080
    """0 takes a free one."""
    trusted_proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    """Whose X-Forwarded-For is believed: addresses or networks."""
    heartbeat: float = 15.0
    """Seconds after which a feed says that it is alive, and looks whether its link still is."""
    stalled: float = 30.0
    """Seconds after which a reader who takes nothing is let go; it may resume."""
    most_feeds: int = 2_000
    """Feeds open at a time."""
    most_feeds_of_link: int = 8
    most_connections: int = 4_000
    """Open at a time, feeds included; fewer where fewer files may be open."""
    header_bytes: int = 32 * 1024
    """Bytes of the first line and the headers of a request."""
    header_seconds: float = 20.0
    """Until when these must have come."""
    body_bytes_waiting: int = 64 * 1024 * 1024
    """Bytes of bodies that are held at a time, of all requests together."""
    grace: int = 10
    """Seconds that requests are given to end when the service does."""
    rates: RequestRates = field(default_factory=RequestRates)

    def __post_init__(self) -> None:
        if not _ADDRESS.fullmatch(self.address):
            msg = (
                "address must be like https://share.example.org or http://127.0.0.1:8080, without "
                "a user, a path, a query or a fragment"
            )
            raise PlanError(msg)
        if self.address_port is not None and not 1 <= self.address_port <= _MOST_PORT:
            msg = f"the port of the address must be from 1 to {_MOST_PORT}"
            raise PlanError(msg)
        if not 0 <= self.port <= _MOST_PORT:
            msg = f"port must be from 0 to {_MOST_PORT}"
            raise PlanError(msg)

    @property
    def address_port(self) -> int | None:
        """The port that the address names, if it does."""
        named = _ADDRESS.fullmatch(self.address)
        return int(named["port"]) if named and named["port"] else None

    @property
    def address_is_local(self) -> bool:
        """Whether people reach it on this machine alone."""
        host = urlsplit(self.address).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def address_is_loopback_6(self) -> bool:
        """Whether the address is this machine's own by IPv6, which nobody reaches by IPv4."""
        return "//[::1]" in self.address

    @property
    def is_encrypted(self) -> bool:
        """Whether people reach the service by https."""
        return self.address.startswith("https:")

    @classmethod
    def from_document(cls, service: Mapping[str, Any], rates: Mapping[str, Any]) -> Self:
        """Options from the tables ``[service]`` and ``[rates]``; raises ``PlanError``."""
        defaults = cls()
        known = [field.name for field in fields(cls) if field.name != "rates"]
        chosen = _chosen_in(service, defaults, known, "option")
        return cls(**chosen, rates=RequestRates.from_document(rates))


def _chosen_in(
    table: Mapping[str, Any], defaults: object, known: list[str], what: str
) -> dict[str, Any]:
    """What a table says, each of the kind of its default; raises ``PlanError``."""
    chosen: dict[str, Any] = {}
    for name, value in table.items():
        check_known(name, known, what)
        chosen[name] = like(name, value, getattr(defaults, name))
    return chosen


def check_known(name: str, known: list[str], what: str) -> None:
    """Raise ``PlanError``, with the nearest known name, for one that is not known."""
    if name not in known:
        msg = f"there is no {what} {name!r}{nearest(name, known)}"
        raise PlanError(msg)


def _rate(name: str, pair: object) -> Rate:
    ends = list(pair) if isinstance(pair, list | tuple) else []
    if len(ends) != 2 or not _is_number(ends[0]) or not _is_whole(ends[1]) or ends[1] < 1:
        msg = f"rate {name} must be [requests a second, most at once], such as [5, 300]"
        raise PlanError(msg)
    return Rate(float(ends[0]), int(ends[1]))


def like(name: str, value: Any, default: object) -> Any:
    """The value, where it is of the default's kind; raises ``PlanError``."""
    match default:
        case bool() if isinstance(value, bool):
            return value
        case bool():
            msg = f"{name} must be true or false"
            raise PlanError(msg)
        case str() if isinstance(value, str):
            return value
        case tuple() if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return tuple(value)
        case int() if _is_whole(value) and value >= 0:
            return value
        case float() if _is_number(value):
            return float(value)
    kinds = {str: "a text", tuple: "a list of texts", int: "a whole number from 0 on"}
    msg = f"{name} must be {kinds.get(type(default), 'a number above 0')}"
    raise PlanError(msg)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and value > 0


ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,255}")
_TLS = ("starttls", "tls", "none")


@dataclass(frozen=True)
class HookOptions:
    """Raises ``PlanError`` where they cannot be."""

    private_networks: bool = False
    """Whether addresses of private networks, and http, may be called: whoever has a company's
    token could so reach what stands behind your firewall."""
    mail_host: str = ""
    """The server that takes mail; empty: none is sent."""
    mail_port: int = 587
    mail_tls: str = "starttls"
    """``starttls``, ``tls`` or, on this machine alone, ``none``."""
    mail_user: str = ""
    mail_password_file: str = ""
    """Its first line is the password; only its owner may read it."""
    mail_sender: str = ""
    """Whom mails come from."""
    folder: Path = Path()

    def __post_init__(self) -> None:
        if self.mail_tls not in _TLS:
            msg = f"mail_tls of hooks must be one of: {', '.join(_TLS)}"
            raise PlanError(msg)
        if self.mail_tls == "none" and self.mail_host not in {"", "localhost", "127.0.0.1", "::1"}:
            msg = 'mail_tls = "none" is for a server on this machine: others read what is sent'
            raise PlanError(msg)
        if self.mail_host and not ADDRESS.fullmatch(self.mail_sender):
            msg = "mail_sender of hooks must be an address, such as voile@share.example.org"
            raise PlanError(msg)

    @classmethod
    def from_document(cls, table: Mapping[str, Any], folder: Path) -> Self:
        """That of the table ``[hooks]``; raises ``PlanError``."""
        known = [one.name for one in fields(cls) if one.name != "folder"]
        return cls(**_chosen_in(table, cls, known, "setting of hooks"), folder=folder)

    def password(self) -> str | None:
        """That of the mail server; raises ``InputError``."""
        if not self.mail_password_file:
            return None
        path = self.folder / self.mail_password_file
        lines = secret_text(path, "the password of mail").splitlines()
        if not lines or not lines[0]:
            msg = f"{path} must hold the password of mail in its first line"
            raise InputError(msg)
        return lines[0]


_LEAST_TOKEN = 20


@dataclass(frozen=True)
class Telemetry:
    """Where measurements may be fetched, and where traces go; raises ``PlanError``."""

    metrics_token_file: str = ""
    """Who sends what its first line says gets ``/metrics``; only its owner may read it."""
    traces: str = ""
    """Where traces go by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces."""
    sampled: float = 0.01
    """The share of requests that are traced, above 0, to 1."""
    folder: Path = Path()
    """Where names of files begin."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.traces)
        if self.traces and (parts.scheme not in {"http", "https"} or not parts.hostname):
            msg = "traces of telemetry must be like http://127.0.0.1:4318/v1/traces"
            raise PlanError(msg)
        if not 0 < self.sampled <= 1:
            msg = "sampled of telemetry must be a number above 0, to 1"
            raise PlanError(msg)

    @classmethod
    def from_document(cls, table: Mapping[str, Any], folder: Path) -> Self:
        """That of the table ``[telemetry]``; raises ``PlanError``."""
        known = [one.name for one in fields(cls) if one.name != "folder"]
        return cls(**_chosen_in(table, cls, known, "setting of telemetry"), folder=folder)

    def check(self) -> None:
        """Raise ``InputError`` where a library or the token is missing or not fit."""
        self.token()
        if self.traces:
            try:
                for name in ("sdk.trace", "exporter.otlp.proto.http.trace_exporter"):
                    import_module(f"opentelemetry.{name}")
            except ImportError:
                msg = (
                    "traces of share.toml need OpenTelemetry: pip install 'voile-share[telemetry]'"
                )
                raise InputError(msg) from None

    def token(self) -> str | None:
        """What opens ``/metrics``; None: nothing does.  Raises ``InputError``."""
        if not self.metrics_token_file:
            return None
        path = self.folder / self.metrics_token_file
        token = secret_text(path, "the token of metrics").strip()
        if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable():
            msg = f"{path} must hold a token of {_LEAST_TOKEN} characters at least, in one line"
            raise InputError(msg)
        return token
