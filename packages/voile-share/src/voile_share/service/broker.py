"""The MQTT broker that devices publish at, as ``[mqtt]`` of share.toml names it.

The broker knows its devices, and lets each publish to its own topic only: what it delivers under
``owntracks/USER/DEVICE`` is believed to be of the device USER/DEVICE.  Whose users are whose stands
in ``[mqtt.companies]``, so that no company gets what another's devices send by giving a device of
its own the same name.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from voile_base.errors import InputError, PlanError
from voile_share.platform.key_file import secret_text
from voile_share.service.options import check_known, like

__all__ = ["Broker"]

_MOST_PORT = 65_535
_MOST_HOURS = 7 * 24.0
"""A device's position is taken for so long (``ingest.LIVE``)."""
_VERSIONS = ("5", "3.1.1")
_HEXADECIMAL = set("0123456789abcdef")


@dataclass(frozen=True)
class Broker:
    """Where the broker is, and what it is believed; raises ``PlanError``."""

    host: str = ""
    """A name or an address; it must be said."""
    companies: Mapping[str, str] = field(default_factory=dict)
    """USER of the topics: the number of the company whose devices they are."""
    port: int = 0
    """0 takes 8883, or 1883 without TLS."""
    tls: bool = True
    ca_file: str = ""
    """Certificates (PEM) that vouch for the broker, where those of the system do not."""
    user: str = ""
    password_file: str = ""
    """Its first line is the password; only its owner may read it."""
    topic: str = "owntracks/+/+"
    client_id: str = "voile-share"
    """The broker keeps messages under this name while the service is away."""
    version: str = "5"
    """Of the protocol: 5 or 3.1.1."""
    session_hours: float = 24.0
    """For how long the broker keeps them; by version 5 only."""
    folder: Path = Path()
    """Where names of files begin."""

    def __post_init__(self) -> None:
        _check_host(self.host)
        if not 0 <= self.port <= _MOST_PORT:
            msg = f"port of mqtt must be from 0 to {_MOST_PORT}"
            raise PlanError(msg)
        if self.version not in _VERSIONS:
            msg = 'version of mqtt must be "5" or "3.1.1"'
            raise PlanError(msg)
        levels = self.topic.split("/")
        if len(levels) != 3 or levels[0] != "owntracks" or not all(map(_is_level, levels[1:])):
            msg = 'topic of mqtt must be like "owntracks/+/+", or "owntracks/USER/+"'
            raise PlanError(msg)
        if not 0 < self.session_hours <= _MOST_HOURS:
            msg = f"session_hours of mqtt must be at most {_MOST_HOURS:.0f}"
            raise PlanError(msg)
        if not self.client_id or not self.client_id.isprintable():
            msg = "client_id of mqtt must be a name: the broker keeps messages under it"
            raise PlanError(msg)
        if self.password_file and not self.user:
            msg = "mqtt has a password_file and no user"
            raise PlanError(msg)
        _check_companies(self.companies)

    @classmethod
    def from_document(cls, table: Mapping[str, Any], folder: Path) -> Self:
        """The broker of the table ``[mqtt]``; raises ``PlanError``."""
        known = [one.name for one in fields(cls) if one.name != "folder"]
        chosen: dict[str, Any] = {"folder": folder}
        for name, value in table.items():
            if name == "password":
                msg = "mqtt takes no password here: put it into a file, and name password_file"
                raise PlanError(msg)
            check_known(name, known, "setting of mqtt")
            if name == "companies":
                chosen[name] = dict(value) if isinstance(value, dict) else {}
            else:
                chosen[name] = like(name, value, getattr(cls, name))
        return cls(**chosen)

    @property
    def files(self) -> list[str]:
        """Names of its files that lie in the folder of the service."""
        named = [one for one in (self.password_file, self.ca_file) if one]
        return [one for one in named if Path(one).name == one]

    @property
    def name(self) -> str:
        """Host and port, as people write them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.where[1]}"

    @property
    def where(self) -> tuple[str, int]:
        """Host and port."""
        return self.host, self.port or (8883 if self.tls else 1883)

    def check(self) -> None:
        """Raise ``InputError`` where a library, or a file that is named, is missing or not fit."""
        try:
            import_module("paho.mqtt.client")
        except ImportError:
            msg = "[mqtt] of share.toml needs paho-mqtt: pip install 'voile-share[mqtt]'"
            raise InputError(msg) from None
        self.password()
        self.tls_context()

    def password(self) -> str | None:
        """The password of the user; raises ``InputError``."""
        if not self.password_file:
            return None
        path = self.folder / self.password_file
        lines = secret_text(path, "the password of mqtt").splitlines()
        if not lines or not lines[0]:
            msg = f"{path} must hold the password of mqtt in its first line"
            raise InputError(msg)
        return lines[0]

    def tls_context(self) -> ssl.SSLContext | None:
        """How the broker is told from others; None without TLS.  Raises ``InputError``."""
        if not self.tls:
            return None
        path = self.folder / self.ca_file if self.ca_file else None
        try:
            context = ssl.create_default_context(cafile=path)
        except (OSError, ValueError) as error:  # of which an SSLError is one
            why = (error.strerror if isinstance(error, OSError) else None) or "it is not PEM"
            msg = f"the certificates of ca_file cannot be read from {path}: {why}"
            raise InputError(msg) from None
        context.sslsocket_class = _Socket
        return context


class _Socket(ssl.SSLSocket):
    """Closes itself where the other end is not believed; paho-mqtt would leave it open."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


def _check_host(host: str) -> None:
    try:
        fit = bool(host.encode("idna")) and host.isprintable() and not set(host) & set(" /")
    except UnicodeError:
        fit = False
    if not fit:
        msg = "host of mqtt must be the name or the address of the broker"
        raise PlanError(msg)


def _is_level(level: str) -> bool:
    """Whether it may be one level of a filter of topics: a name, or any name."""
    return level == "+" or (bool(level) and level.isprintable() and not set(level) & set("+#"))


def _check_companies(companies: Mapping[str, str]) -> None:
    if not companies:
        msg = '[mqtt.companies] must say whose users are whose: USER = "number of the company"'
        raise PlanError(msg)
    for user, company in companies.items():
        if user == "+" or "/" in user or not _is_level(user):
            msg = "a user in [mqtt.companies] must be one level of a topic"
            raise PlanError(msg)
        fit = isinstance(company, str) and len(company) == 32 and set(company) <= _HEXADECIMAL
        if not fit:
            msg = f"the company of user {user!r} must be its number: 32 hexadecimal digits"
            raise PlanError(msg)
