"""Where a device was and when, and what is believed of that.

A ``Fix`` is what every format ends in.  ``checked`` holds it against ``Rules``: what a position
needs is refused where it is wrong, and what a device cannot know (a course while it stands) is
left out.  A fix never shows its position in ``repr``, so none reaches a log by accident.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from voile_share.ingest.errors import IngestError

__all__ = [
    "AHEAD_SECONDS",
    "BACKFILL",
    "KNOT",
    "LIVE",
    "Fix",
    "Region",
    "Rules",
    "check_last",
    "checked",
]

KNOT = 1852 / 3600
"""One knot in m/s."""

_DAY = 86400.0
_RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "speed": (0, 1000),
        "course": (0, 360),
        "accuracy": (0, 1e7),
        "altitude": (-12_000, 100_000),
        "battery": (0, 1),
    }
)
_UNKNOWN_BELOW_ZERO = ("speed", "course", "battery")


AHEAD_SECONDS = 60
"""By which a last report may be ahead of our clock: clocks are set by seconds all the time."""


@dataclass(frozen=True, slots=True)
class Fix:
    """Where one device was at one time.  It is private: an exact position."""

    device: str
    """What the device calls itself; not yet proved (see ``tokens``)."""
    latitude: float = field(repr=False)
    """Degrees north, WGS 84, from -90 to 90."""
    longitude: float = field(repr=False)
    """Degrees east, WGS 84, from -180 to 180."""
    time: float = field(repr=False)
    """Seconds since 1970-01-01 UTC."""
    speed: float | None = field(default=None, repr=False)
    """Over ground, in m/s."""
    course: float | None = field(default=None, repr=False)
    """Degrees clockwise from true north, from 0 to below 360."""
    accuracy: float | None = field(default=None, repr=False)
    """Radius in metres within which the device believes itself, as its maker defines it."""
    altitude: float | None = field(default=None, repr=False)
    """Metres above the sea or the ellipsoid, as the device gives it."""
    battery: float | None = field(default=None, repr=False)
    """Charge, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Region:
    """Where an operator's devices are, in degrees; it does not cross the 180th meridian."""

    south: float
    west: float
    north: float
    east: float

    def holds(self, latitude: float, longitude: float) -> bool:
        """Whether a position is in the region, borders included."""
        return self.south <= latitude <= self.north and self.west <= longitude <= self.east


@dataclass(frozen=True, slots=True)
class Rules:
    """What is taken from a device."""

    future: float = 300.0
    """Seconds by which a device's clock may be ahead of ours."""
    past: float = 7 * _DAY
    """Seconds for which a device may keep a position before it sends it."""
    size: int = 256 * 1024
    """Bytes of one body, or of one query."""
    fixes: int = 1000
    """Positions in one message."""
    depth: int = 16
    """Levels of nesting in JSON and XML."""
    fields: int = 64
    """Fields of one query and form."""
    region: Region | None = None
    """Where given, positions outside it that lie inside with their coordinates swapped are
    refused; all others are taken, wherever they are."""


LIVE = Rules()
"""For messages of devices under way."""

BACKFILL = Rules(past=366 * _DAY, size=8 * 1024 * 1024, fixes=50_000)
"""For files of trips that were driven before."""


def checked(fix: Fix, now: float, rules: Rules) -> Fix:
    """The fix with unknown values left out, as far as it can be believed at the time ``now``.

    Raises ``IngestError`` otherwise.
    """
    for name in ("latitude", "longitude", "time", *_RANGES):
        value = getattr(fix, name)
        if value is not None and not math.isfinite(value):
            raise IngestError("not-a-number", f"the {name}")
    # Phones report a negative accuracy where the position itself is invalid (Apple, Core
    # Location: CLLocation.horizontalAccuracy), and other values below zero where these are unknown.
    if fix.accuracy is not None and fix.accuracy < 0:
        raise IngestError("no-fix", "the accuracy is negative")
    _check_position(fix, rules)
    if fix.time > now + rules.future:
        raise IngestError("time-in-the-future", "set the clock of the device")
    if fix.time < now - rules.past:
        raise IngestError("time-too-old", "it is older than what is taken here")
    return replace(
        fix,
        speed=_known("speed", fix.speed),
        course=_known("course", fix.course),
        accuracy=_known("accuracy", fix.accuracy),
        altitude=_known("altitude", fix.altitude),
        battery=_known("battery", fix.battery),
    )


def check_last(slot: int, now: float) -> None:
    """Refuse what comes for a truck whose last report is of a time that has not come.

    Until then no report is later: the clock that made it is to be seen to.
    """
    if slot > now + AHEAD_SECONDS:
        raise IngestError("truck-ahead", "the operator takes it back: voile share set-back")


def _check_position(fix: Fix, rules: Rules) -> None:
    """Refuse what is no position on Earth, or most likely another than was meant."""
    latitude, longitude = fix.latitude, fix.longitude
    if abs(latitude) > 90 and abs(latitude) <= 180 and abs(longitude) <= 90:
        raise IngestError("coordinates-swapped", "send the latitude as latitude")
    if abs(latitude) > 90:
        raise IngestError("latitude-out-of-range", "it must be from -90 to 90 degrees")
    if abs(longitude) > 180:
        raise IngestError("longitude-out-of-range", "it must be from -180 to 180 degrees")
    if latitude == longitude == 0 and fix.accuracy is None:
        raise IngestError("position-at-origin", "it has no accuracy either")
    region = rules.region
    if (
        region is not None
        and not region.holds(latitude, longitude)
        and region.holds(longitude, latitude)
    ):
        raise IngestError("coordinates-swapped", "the region of this service holds the other one")


def _known(name: str, value: float | None) -> float | None:
    """The value where the device knows it; a full turn is none."""
    if value is None or (value < 0 and name in _UNKNOWN_BELOW_ZERO):
        return None
    lowest, highest = _RANGES[name]
    if not lowest <= value <= highest:
        raise IngestError("value-out-of-range", f"the {name}")
    return 0.0 if name == "course" and value == 360 else value
