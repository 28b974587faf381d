"""Messages of devices: the token that lets one in, its positions, and why one is refused.

**Positions.**  A ``Fix`` is what every format ends in: where a device was and when, and what is
believed of that.  ``Fix.checked`` holds it against ``Rules``: what a position needs is refused
where it is wrong, and what a device cannot know (a course while it stands) is left out.  A fix
never shows its position in ``repr``, so none reaches a log by accident.  A message may carry many
positions. Of these each is judged by itself: a device that keeps positions sends a refused message
again and again, so one bad position must not hold back the others.  A message of which nothing can
be taken is refused as a whole.

**Refusals.**  A reason is a code for programs (the last part of a problem type of RFC 9457) and
stays as it is once published; the sentence beside it is for people.  Neither ever carries a
position, a token or any other part of the message: a refusal may be logged and shown.  For the same
reason no refusal is raised while another error is being handled, since errors of parsers quote what
they parsed: ``quietly`` makes a value of them first.

**Values** are read as devices write them: numbers as numbers or texts, times in three ways, and
JSON that is small, shallow, and has one value for each name.  RFC 8259 leaves open what a name
twice in one object means, and Python's reader takes NaN; both are refused here, since two readers
that understand one message differently are a way around a check.

**Tokens**, with which devices send positions and do nothing else.

A token is 160 random bits in 32 letters and digits, which can be typed into a phone.  It is shown
once; what is stored is a ``DeviceToken``, which holds only its hash (BLAKE2b).  A hash without a
salt or a slow function is right here, and would not be for a password: nobody can try 2^160
tokens.

The door is opened by the token alone, and the device that a message names must then be the
token's.  So a guessed name is as good as none:

- The store is asked for a hash, never for a name; what it takes to look one up tells of hashes,
  which nobody can choose the bits of.
- Unknown, expired, revoked and foreign tokens are refused with the same words, after the same
  steps; hashes are compared in constant time.
"""

from __future__ import annotations

import binascii
import hmac
import math
import re
from base64 import b32encode, b64decode
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from types import MappingProxyType
from typing import TypeVar

from voile_base.errors import InputError
from voile_base.randomness import Randomness

__all__ = [
    "AHEAD_SECONDS",
    "BACKFILL",
    "KNOT",
    "LIVE",
    "REASONS",
    "Arrival",
    "Decoded",
    "DeviceToken",
    "Fix",
    "Format",
    "IngestError",
    "Refusal",
    "Region",
    "Rules",
    "admit",
    "check_last",
    "check_size",
    "decimal",
    "device_name",
    "issue",
    "quietly",
    "seconds",
    "text_of",
    "token_hash",
    "token_in",
]

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
    """What the device calls itself; not yet proved (see ``admit``)."""
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

    def checked(self, now: float, rules: Rules) -> Fix:
        """The fix with unknown values left out, as far as it can be believed at the time ``now``.

        Raises ``IngestError`` otherwise.
        """
        for name in ("latitude", "longitude", "time", *_RANGES):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise IngestError("not-a-number", f"the {name}")
        # Phones report a negative accuracy where the position itself is invalid (Apple, Core
        # Location: CLLocation.horizontalAccuracy), and others below zero where they are unknown.
        if self.accuracy is not None and self.accuracy < 0:
            raise IngestError("no-fix", "the accuracy is negative")
        _check_position(self, rules)
        if self.time > now + rules.future:
            raise IngestError("time-in-the-future", "set the clock of the device")
        if self.time < now - rules.past:
            raise IngestError("time-too-old", "it is older than what is taken here")
        return replace(
            self,
            speed=_known("speed", self.speed),
            course=_known("course", self.course),
            accuracy=_known("accuracy", self.accuracy),
            altitude=_known("altitude", self.altitude),
            battery=_known("battery", self.battery),
        )


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


# Python would also take "1_000", "٣", "nan" and "infinity" for numbers.
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_MILLISECONDS_FROM = 1e11
_LONGEST_NAME = 128
_LONGEST_TIME = 40


def decimal(value: object, name: str) -> float | None:
    """A number given as one or as its text; None stays None.

    NaN, infinity and what overflows are no numbers, and neither are true and false.
    """
    if value is None:
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number: float | None = float(value.strip())  # which strips more than float does
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = quietly(lambda: float(value), OverflowError)
    else:
        number = None
    if number is None or not -1e300 < number < 1e300:
        raise IngestError("not-a-number", name)
    return number


def seconds(value: object, name: str) -> float | None:
    """A time as seconds since 1970 UTC: of seconds, milliseconds or a text of ISO 8601.

    Numbers from 100,000,000,000 on are milliseconds: as seconds they would lie beyond the year
    5000, as milliseconds after 1973.  A text that names no zone is in UTC.
    """
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        moment = quietly(lambda: _moment(value.strip()), ValueError, OverflowError)
        if moment is None:
            raise IngestError("time-unreadable", name)
        return moment
    number = decimal(value, name)
    if number is not None and abs(number) >= _MILLISECONDS_FROM:
        return number / 1000
    return number


def _moment(text: str) -> float:
    if len(text) > _LONGEST_TIME:
        raise ValueError
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def device_name(value: object) -> str:
    """The name of a device: a text of 1 to 128 printable characters, or a whole number.

    Raises ``IngestError`` where it is missing or cannot be one.
    """
    if value is None or value == "":
        raise IngestError("device-missing", "set the identifier of the device")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_LONGEST_NAME:
        return str(value)
    if not isinstance(value, str):
        raise IngestError("device-unfit", "it must be a text")
    if len(value) > _LONGEST_NAME or not value.isprintable() or value != value.strip():
        raise IngestError("device-unfit", f"at most {_LONGEST_NAME} printable characters")
    return value


def text_of(body: bytes) -> str:
    """A body as text, without a byte order mark."""
    text = quietly(lambda: body.decode("utf-8-sig"), UnicodeDecodeError)
    if text is None:
        raise IngestError("not-utf-8")
    return text


class Format(StrEnum):
    """What devices send."""

    OSMAND = "osmand"
    TRACCAR = "traccar"
    OWNTRACKS = "owntracks"
    NMEA = "nmea"
    GPX = "gpx"

    def decode(self, items: Iterable[T], read: Callable[[T], Fix], arrival: Arrival) -> Decoded:
        """Read and check each item.

        Raises ``IngestError`` where there are too many, or none of them is taken: the first's
        reason.
        """
        fixes: list[Fix] = []
        refused: list[Refusal] = []
        first: IngestError | None = None
        for index, item in enumerate(items):
            if index == arrival.rules.fixes:
                raise IngestError("too-many-fixes", f"at most {index} are taken at once")
            try:
                fixes.append(read(item).checked(arrival.now, arrival.rules))
            except IngestError as refusal:
                refused.append(Refusal(index, refusal.reason))
                first = first or refusal
        if first is not None and not fixes:
            first.positions = len(refused)
            raise first
        return Decoded(self, tuple(fixes), tuple(refused))


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


_BYTES = 20
_LONGEST = 1024
_NOBODY = bytes(32)


@dataclass(frozen=True, slots=True)
class DeviceToken:
    """What is kept of a token; it opens nothing."""

    device: str
    hash: bytes = field(repr=False)
    """``token_hash`` of the token: 32 bytes, the key to look it up by."""
    issued: float
    """Seconds since 1970 UTC, as all times here."""
    expires: float | None = None
    """From then on it is refused; None: never."""
    revoked: float | None = None
    """Since when it is refused; None: it is not revoked."""

    def is_open(self, now: float) -> bool:
        """Whether it is neither expired nor revoked at the time ``now``."""
        ended = self.expires is not None and now >= self.expires
        return not ended and (self.revoked is None or now < self.revoked)

    def revoked_at(self, now: float) -> DeviceToken:
        """The token, refused from ``now`` on; a second time changes nothing."""
        return self if self.revoked is not None else replace(self, revoked=now)


def issue(
    device: str, now: float, lifetime: float | None = None, randomness: Randomness | None = None
) -> tuple[str, DeviceToken]:
    """A new token for a device, and what is to be kept of it; ``lifetime`` is in seconds.

    ``randomness`` is for demonstrations and tests: the same root, device and time make the same
    token again.
    """
    key = (randomness or Randomness.secure()).key("ingest token", device, repr(now))
    token = b32encode(key.secret[:_BYTES]).decode("ascii").lower()
    expires = None if lifetime is None else now + lifetime
    return token, DeviceToken(device, token_hash(token), now, expires)


def token_hash(token: str) -> bytes:
    """What a store knows a token by: 32 bytes.  Letters may be of either case."""
    text = token.strip().lower().encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=32, person=b"voile-ingest").digest()


def admit(token: str, found: DeviceToken | None, named: Collection[str], now: float) -> str:
    """The device that may send, where the token is its own.

    ``found`` is what the store has under ``token_hash(token)``, and ``named`` the devices that the
    message names (``Decoded.devices``); none before it is decoded.

    Raises ``IngestError`` ("token-refused") in all other cases, in the same way.
    """
    kept = found or DeviceToken("", _NOBODY, now, now)
    same = hmac.compare_digest(kept.hash, token_hash(token))
    own = all([_same_text(name, kept.device) for name in named])  # noqa: C419 - all, each time
    if not (same & own & kept.is_open(now) & (found is not None)):
        raise IngestError("token-refused", "check the token and the identifier of the device")
    return kept.device


def _same_text(one: str, other: str) -> bool:
    return hmac.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )


def token_in(authorization: str) -> str | None:
    """The token of the header Authorization: of Bearer, or as the password of Basic.

    None where there is none; the user's name of Basic is not read.
    """
    scheme, _, rest = authorization[:_LONGEST].strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip() or None
    if scheme.lower() != "basic":
        return None
    pair = quietly(
        lambda: b64decode(rest.strip(), validate=True).decode("utf-8"),
        binascii.Error,
        UnicodeError,
        ValueError,
    )
    return (pair or "").partition(":")[2] or None
