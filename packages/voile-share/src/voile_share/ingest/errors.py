"""Why a message of a device is refused.

A reason is a code for programs (the last part of a problem type of RFC 9457) and stays as it is
once published; the sentence beside it is for people.  Neither ever carries a position, a token or
any other part of the message: a refusal may be logged and shown.  For the same reason no refusal
is raised while another error is being handled, since errors of parsers quote what they parsed:
``quietly`` makes a value of them first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from voile_base.errors import InputError

__all__ = ["REASONS", "IngestError", "quietly"]

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "checksum-wrong": "The line was damaged on its way",
        "coordinates-swapped": "Latitude and longitude seem to have changed places",
        "device-missing": "The message does not say which device it is from",
        "device-unfit": "The name of the device cannot be used",
        "document-type": "The XML document declares a document type",
        "duplicate-field": "The message says one thing twice",
        "encrypted": "The message is encrypted for somebody else",
        "field-missing": "A field is missing",
        "latitude-out-of-range": "The latitude is beyond a pole",
        "longitude-out-of-range": "The longitude is beyond 180 degrees",
        "nested-too-deeply": "The message is nested too deeply",
        "no-fix": "The device says that it does not know where it is",
        "not-a-number": "A field that must be a number is none",
        "not-gpx": "The document is not GPX",
        "not-json": "The message is not JSON",
        "not-nmea": "The message is not a line of NMEA 0183",
        "not-utf-8": "The message is not UTF-8",
        "position-at-origin": "The position is that of a device without one",
        "time-in-the-future": "The time has not come yet",
        "time-too-old": "The time is too long ago",
        "time-unreadable": "The time cannot be read",
        "token-refused": "The token does not open this door",
        "too-large": "Content Too Large",
        "too-many-fields": "The message has too many fields",
        "too-many-fixes": "The message has too many positions",
        "topic-unfit": "The topic is not that of a device",
        "truck-ahead": "The truck's last report is ahead of the clock of the service",
        "unknown-format": "The message is of no known format",
        "value-out-of-range": "A value is out of its range",
    }
)
"""What each reason means, in words."""

T = TypeVar("T")


class IngestError(InputError):
    """A message of a device is refused; ``reason`` is one of ``REASONS``."""

    def __init__(self, reason: str, advice: str = "") -> None:
        """``advice`` says where, or what to do; it must not quote the message."""
        super().__init__(f"{REASONS[reason]}{': ' if advice else ''}{advice}")
        self.reason = reason
        self.truck: bytes | None = None
        """Whose tracker has sent the message, where that is known."""
        self.positions = 0
        """How many positions were refused, where the message was one of positions."""


def quietly(read: Callable[[], T], *errors: type[Exception]) -> T | None:
    """What ``read`` returns, or None where it raises one of ``errors``."""
    try:
        return read()
    except errors:
        return None
