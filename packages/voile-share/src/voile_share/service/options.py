"""What the operator chooses about the service: its address, its limits, how long it waits.

Where companies may be told, and by which mail server: ``[hooks]`` of share.toml.

What is measured of a service: ``[telemetry]`` of share.toml.

Both are off by default, and of a request they hold its method, its route (as it is declared, such
as ``/api/v1/trucks/{truck}``), the status of the answer, what became of a position and how long it
took: no path as it was called, no query, header, body, address or number of anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field

from voile_base.errors import InputError, PlanError
from voile_base.values.value import Real, Says, Several, checked
from voile_share.platform.core import secret_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = [
    "ADDRESS",
    "HookOptions",
    "Options",
    "Port",
    "Rate",
    "RequestRates",
    "Service",
    "Telemetry",
    "in_folder",
]


Port = Annotated[int, Field(ge=0, le=65_535)]
_Positive = Annotated[Real, Field(gt=0)]
_Count = Annotated[int, Field(ge=0)]
T = TypeVar("T", bound="DataclassInstance")
_ADDRESS = re.compile(
    r"https?://(?:[\w-]+(?:\.[\w-]+)*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,9}))?"
)


class Rate(NamedTuple):
    """So many requests a second in the long run, and at most so many at once."""

    per_second: _Positive
    burst: Annotated[int, Field(ge=1)]


def _pair(stated: object) -> object:
    """What a document has as a list."""
    return Rate(*stated) if isinstance(stated, list | tuple) and len(stated) == 2 else stated


_StatedRate = Annotated[
    Rate,
    BeforeValidator(_pair),
    Says("[requests a second, most at once], such as [5, 300]"),
]


@checked(PlanError)
@dataclass(frozen=True)
class RequestRates:
    """How often somebody may ask, each token by itself; by ``[rates]`` of share.toml."""

    device: _StatedRate = Rate(5, 300)
    """A phone that comes back into coverage sends what it has kept, one by one."""
    company: _StatedRate = Rate(20, 200)
    truck: _StatedRate = Rate(5, 300)
    """After a day without coverage 288 reports wait, which go at once; a month's go in an hour."""
    auditor: _StatedRate = Rate(10, 100)
    link: _StatedRate = Rate(1, 60)
    failures: _StatedRate = Rate(0.5, 30)
    """Tokens that open nothing, from one address of the network."""


@checked(PlanError)
@dataclass(frozen=True)
class Service:
    """The table ``[service]`` of share.toml; raises ``PlanError``."""

    address: str = "http://127.0.0.1:8080"
    """What people type: links begin with it.  Without a path, and without a slash at the end."""
    host: str = "127.0.0.1"
    """Where it listens; a proxy for TLS stands before it."""
    port: Port = 8080
    """0 takes a free one."""
    trusted_proxies: Several[str] = ("127.0.0.1", "::1")
    """Whose X-Forwarded-For is believed: addresses or networks."""
    heartbeat: _Positive = 15.0
    """Seconds after which a feed says that it is alive, and looks whether its link still is."""
    stalled: _Positive = 30.0
    """Seconds after which a reader who takes nothing is let go; it may resume."""
    most_feeds: _Count = 2_000
    """Feeds open at a time."""
    most_feeds_of_link: _Count = 8
    most_connections: _Count = 4_000
    """Open at a time, feeds included; fewer where fewer files may be open."""
    header_bytes: _Count = 32 * 1024
    """Bytes of the first line and the headers of a request."""
    header_seconds: _Positive = 20.0
    """Until when these must have come."""
    body_bytes_waiting: _Count = 64 * 1024 * 1024
    """Bytes of bodies that are held at a time, of all requests together."""
    grace: _Count = 10
    """Seconds that requests are given to end when the service does."""

    def __post_init__(self) -> None:
        if not _ADDRESS.fullmatch(self.address):
            msg = (
                "address must be like https://share.example.org or http://127.0.0.1:8080, without "
                "a user, a path, a query or a fragment"
            )
            raise PlanError(msg)
        if self.address_port is not None and not 1 <= self.address_port <= 65_535:
            msg = "the port of the address must be from 1 to 65535"
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


@checked(PlanError)
@dataclass(frozen=True)
class Options(Service):
    """What the service is bound by: ``[service]`` and ``[rates]``; raises ``PlanError``."""

    rates: RequestRates = RequestRates()


def in_folder(options: T, folder: Path) -> T:
    """The options with names of files, which begin in a folder, as paths."""
    names = [one.name for one in fields(options) if one.name.endswith("_file")]
    paths = {name: str(folder / held) for name in names if (held := getattr(options, name))}
    return replace(options, **paths)


ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,255}")


@checked(PlanError)
@dataclass(frozen=True)
class HookOptions:
    """Raises ``PlanError`` where they cannot be."""

    private_networks: bool = False
    """Whether addresses of private networks, and http, may be called: whoever has a company's
    token could so reach what stands behind your firewall."""
    mail_host: str = ""
    """The server that takes mail; empty: none is sent."""
    mail_port: Port = 587
    mail_tls: Literal["starttls", "tls", "none"] = "starttls"
    """``starttls``, ``tls`` or, on this machine alone, ``none``."""
    mail_user: str = ""
    mail_password_file: str = ""
    """Its first line is the password; only its owner may read it."""
    mail_sender: str = ""
    """Whom mails come from."""

    def __post_init__(self) -> None:
        if self.mail_tls == "none" and self.mail_host not in {"", "localhost", "127.0.0.1", "::1"}:
            msg = 'mail_tls = "none" is for a server on this machine: others read what is sent'
            raise PlanError(msg)
        if self.mail_host and not ADDRESS.fullmatch(self.mail_sender):
            msg = "mail_sender must be an address, such as voile@share.example.org"
            raise PlanError(msg)

    def password(self) -> str | None:
        """That of the mail server; raises ``InputError``."""
        if not self.mail_password_file:
            return None
        path = Path(self.mail_password_file)
        lines = secret_text(path, "the password of mail").splitlines()
        if not lines or not lines[0]:
            msg = f"{path} must hold the password of mail in its first line"
            raise InputError(msg)
        return lines[0]


_LEAST_TOKEN = 20


@checked(PlanError)
@dataclass(frozen=True)
class Telemetry:
    """Where measurements may be fetched, and where traces go; raises ``PlanError``."""

    metrics_token_file: str = ""
    """Who sends what its first line says gets ``/metrics``; only its owner may read it."""
    traces: str = ""
    """Where traces go by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces."""
    sampled: Annotated[Real, Field(gt=0, le=1), Says("a number above 0, to 1")] = 0.01
    """The share of requests that are traced, above 0, to 1."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.traces)
        if self.traces and (parts.scheme not in {"http", "https"} or not parts.hostname):
            msg = "traces must be like http://127.0.0.1:4318/v1/traces"
            raise PlanError(msg)

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
        path = Path(self.metrics_token_file)
        token = secret_text(path, "the token of metrics").strip()
        if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable():
            msg = f"{path} must hold a token of {_LEAST_TOKEN} characters at least, in one line"
            raise InputError(msg)
        return token
