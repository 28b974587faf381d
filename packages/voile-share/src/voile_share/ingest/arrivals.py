"""What comes in, and what is made of it.

A message may carry many positions.  Of these each is judged by itself: a device that keeps
positions sends a refused message again and again, so one bad position must not hold back the
others.  A message of which nothing can be taken is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from voile_share.ingest.errors import IngestError
from voile_share.ingest.fixes import LIVE, Fix, Rules, checked

__all__ = ["Arrival", "Decoded", "Format", "Refusal", "check_size", "decoded"]

T = TypeVar("T")


class Format(StrEnum):
    """What devices send."""

    OSMAND = "osmand"
    TRACCAR = "traccar"
    OWNTRACKS = "owntracks"
    NMEA = "nmea"
    GPX = "gpx"


@dataclass(frozen=True, slots=True)
class Arrival:
    """When a message came in, and what is expected of it."""

    now: float
    """Our clock at that moment: seconds since 1970-01-01 UTC."""
    rules: Rules = LIVE
    device: str | None = None
    """The device whose token came with the message; formats that name no device need it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One position of several that was not taken."""

    index: int
    """Which one, from 0, in the order of the message."""
    reason: str
    """One of ``errors.REASONS``."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a message said.  Without fixes and refusals it was one that tells no position."""

    format: Format
    fixes: tuple[Fix, ...] = ()
    """In the order of the message, which need not be that of time."""
    refused: tuple[Refusal, ...] = ()

    @property
    def devices(self) -> frozenset[str]:
        """The devices that the positions are said to be of."""
        return frozenset(fix.device for fix in self.fixes)

    @property
    def reply(self) -> tuple[str, bytes]:
        """Content type and body that the device expects with status 200."""
        if self.format is Format.OWNTRACKS:
            return "application/json", b"[]"
        return "text/plain", b""


def check_size(body: bytes | str, rules: Rules) -> None:
    """Refuse what is too large, before anything of it is parsed."""
    if len(body) > rules.size:
        raise IngestError("too-large", f"at most {rules.size} bytes are taken at once")


def decoded(
    form: Format, items: Iterable[T], read: Callable[[T], Fix], arrival: Arrival
) -> Decoded:
    """Read and check each item.

    Raises ``IngestError`` where there are too many, or none of them is taken: the first's reason.
    """
    fixes: list[Fix] = []
    refused: list[Refusal] = []
    first: IngestError | None = None
    for index, item in enumerate(items):
        if index == arrival.rules.fixes:
            raise IngestError("too-many-fixes", f"at most {index} are taken at once")
        try:
            fixes.append(checked(read(item), arrival.now, arrival.rules))
        except IngestError as refusal:
            refused.append(Refusal(index, refusal.reason))
            first = first or refusal
    if first is not None and not fixes:
        first.positions = len(refused)
        raise first
    return Decoded(form, tuple(fixes), tuple(refused))
