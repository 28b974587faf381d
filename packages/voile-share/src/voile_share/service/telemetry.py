"""What is measured of a service: ``[telemetry]`` of share.toml.

Both are off by default, and of a request they hold its method, its route (as it is declared, such
as ``/api/v1/trucks/{truck}``), the status of the answer, what became of a position and how long it
took: no path as it was called, no query, header, body, address or number of anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from voile_base.errors import InputError, PlanError
from voile_share.platform.key_file import secret_text
from voile_share.service.options import chosen_in

__all__ = ["Telemetry"]

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
        return cls(**chosen_in(table, cls, known, "setting of telemetry"), folder=folder)

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
