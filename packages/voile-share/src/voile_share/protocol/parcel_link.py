"""What belongs to a parcel and not to a truck: a root of keys, and the link made of it.

A link of ``reader.ReaderLink`` holds the verifying key of one truck, and ends with it.  A parcel
link holds the verifying key of the *carrier* and a root.  From the root follow, for each day, the
keys by which reports are opened, whichever truck publishes them, and one key that opens the
carrier's notices (``notice``), which say which truck that is.  So a link that was given on the
first day opens all the way.

Each party has a root of its own: sender and receiver read by different keys, and nobody who has the
one's link can open what the other's does.

Claim: who has neither root nor link learns from the public halves (TK, K_b of each day, N) which
trucks hold no more than from those of Voile's suite: HKDF is a pseudorandom function, so keys of
a day tell nothing of other days' or of the notices'.  A former truck has public halves alone: it
can address the parcel, which the carrier's cards keep readers from believing, and recognises
nothing of what the next truck publishes.

Algorithm: tk = HKDF(root; day), K_b = the Ed25519 key of HKDF(root; day), which is a point of the
group of prime order and which browsers compute, n = HKDF(root), N = n G by X25519.

Departure from ``reader.ReaderLink``: the days of a link are no longer bounded by its keys, as one
root gives them all; they are bounded by the days for which both parties have signed public halves,
for no truck addresses a parcel without them.  A link of 31 days has 72 bytes so, and not 2,040.

What a carrier says of a parcel to one of its readers: where it is in its journey.

What it does: names the truck that carries the parcel now, by its card, or says that none does and
why; signed by the carrier, sealed for one reader.

Claim: a notice is from the holder of the carrier's key and for this reader of this parcel, since
the signature covers N; it is later than another one if its number is greater.  All sealed notices
have one size, so that whoever carries one (the platform) sees neither the state nor the depot.
That a reader is shown the newest one nobody promises: it can be withheld.

Algorithm: Ed25519 over the fields; then an ephemeral X25519 key, HKDF-SHA256 and AES-256-GCM, as
``sealing``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol import primitives
from voile_share.protocol.primitives import (
    SIGNATURE_BYTES,
    TAG_BYTES,
    TRUCK_BYTES,
    Kind,
    Reason,
    RejectedError,
    SingleUse,
    WireFields,
    check_signature,
    checked_bytes,
    checked_number,
    drawn,
    framed,
    hkdf,
    number,
    opened,
    sign,
    verifying_key,
)
from voile_share.protocol.suite import TrackingSecret
from voile_share.protocol.suites import suite_named, suite_of_code
from voile_share.protocol.truck import MOST_DAYS, Fragment, Reader, ReaderLink, TruckCard

if TYPE_CHECKING:
    from voile_share.protocol.suite import Sighting, Suite

__all__ = [
    "MOST_DEPOT_BYTES",
    "MOST_STOPS",
    "Notice",
    "ParcelLink",
    "ParcelReader",
    "ParcelRoot",
    "SealedNotice",
    "Stage",
    "carrier_number",
]


MOST_DEPOT_BYTES = 64
MOST_STOPS = 254
_LABEL = "voile 1 notice"
_CARD_BYTES = 83
_NOT_SAID = 255
_NOWHERE = 0x80000000
_DEGREE = 10_000_000
_BODY_BYTES = 3 + 32 + 4 + 4 + 1 + 1 + 8 + _CARD_BYTES + 1 + MOST_DEPOT_BYTES
_SIZE = _BODY_BYTES + SIGNATURE_BYTES


class Stage(IntEnum):
    """Where a parcel is in its journey."""

    AWAITED = 0
    """Not loaded yet."""
    ABOARD = 1
    """On the truck of the card."""
    DEPOT = 2
    """In a depot, which may be named."""
    DELIVERED = 3
    RETURNED = 4
    """On its way back to its sender, or there."""


@dataclass(frozen=True)
class Notice:
    """One; raises ``InputError`` for what cannot be encoded."""

    box: bytes
    """N, of the reader whom it is for."""
    number: int
    """Greater than that of every notice before; below 2**32."""
    time: int
    """Seconds since 1970."""
    stage: Stage
    card: TruckCard | None = None
    """Of the truck; where and only where the parcel is aboard."""
    depot: str = ""
    """The depot's name, as people are to read it; where the carrier says it."""
    stops: int | None = None
    """How many stops are left before the parcel's, where the carrier says it."""
    destination: tuple[float, float] | None = None
    """Degrees north and east; where the carrier says it."""

    def __post_init__(self) -> None:
        checked_number("the number of a notice", self.number, 32)
        checked_number("the time of a notice", self.time, 32)
        if (self.card is not None) != (self.stage is Stage.ABOARD):
            msg = "a notice has the card of a truck where the parcel is aboard, and nowhere else"
            raise InputError(msg)
        octets = self.depot.encode(errors="replace")
        if len(octets) > MOST_DEPOT_BYTES or not (self.depot.isprintable() or not self.depot):
            msg = f"the name of a depot has at most {MOST_DEPOT_BYTES} bytes, all printable"
            raise InputError(msg)
        if self.stops is not None and not 0 <= self.stops <= MOST_STOPS:
            msg = f"the stops before the parcel's are a number from 0 to {MOST_STOPS}"
            raise InputError(msg)
        if self.destination is not None:
            north, east = self.destination
            if not (abs(north) <= 90 and abs(east) <= 180):
                msg = "the destination must be degrees north and east"
                raise InputError(msg)

    def signed(self, seed: bytes) -> bytes:
        """Its bytes, signed by the carrier's Ed25519 seed."""
        body = self._body()
        return body + sign(seed, _LABEL, body)

    def _body(self) -> bytes:
        depot = self.depot.encode()
        return (
            Kind.NOTICE.header(suite_named().code)
            + self.box
            + number(self.number, 4)
            + number(self.time, 4)
            + number(self.stage, 1)
            + number(_NOT_SAID if self.stops is None else self.stops, 1)
            + _encoded_place(self.destination)
            + (bytes(_CARD_BYTES) if self.card is None else self.card.encode())
            + number(len(depot), 1)
            + depot.ljust(MOST_DEPOT_BYTES, b"\0")
        )

    @classmethod
    def decode(cls, message: bytes, carrier: bytes) -> Self:
        """One that the holder of ``carrier`` has signed; raises ``RejectedError``."""
        code, fields = opened(message, Kind.NOTICE)
        if code != suite_named().code:
            fields.reject(Reason.SUITE, "is of a suite that has no notices")
        box, count, time = fields.take(32), fields.number(4), fields.number(4)
        stage, stops, place = fields.number(1), fields.number(1), fields.take(8)
        card, depot = fields.take(_CARD_BYTES), _text(fields)
        body = fields.taken()
        signature = fields.take(SIGNATURE_BYTES)
        fields.finish()
        check_signature(carrier, _LABEL, body, signature, "the notice")
        if stage not in tuple(Stage):
            fields.reject(Reason.FIELD, f"names stage {stage}, which there is not")
        try:
            return cls(
                box,
                count,
                time,
                Stage(stage),
                TruckCard.decode(card) if any(card) else None,
                depot,
                None if stops == _NOT_SAID else stops,
                _decoded_place(place),
            )
        except RejectedError:
            raise
        except InputError as error:
            raise RejectedError(Reason.FIELD, str(error)) from None


@dataclass(frozen=True)
class SealedNotice:
    """A notice as it travels and is kept."""

    ephemeral: bytes
    box: bytes

    @classmethod
    def seal(cls, notice: Notice, seed: bytes, randomness: Randomness) -> Self:
        """Sign a notice and seal it for its reader."""
        message = notice.signed(seed)
        secret = drawn(randomness, 32, "notice", sha256(message).hexdigest())
        ephemeral = primitives.x25519_public(secret)
        shared = primitives.x25519(secret, notice.box)
        return cls(
            ephemeral, _cipher(shared, ephemeral, notice.box).seal(message, _head(ephemeral))
        )

    def open(self, secret: bytes, carrier: bytes) -> Notice:
        """By n, and the carrier's verifying key; raises ``RejectedError``."""
        box = primitives.x25519_public(secret)
        cipher = _cipher(primitives.x25519(secret, self.ephemeral), self.ephemeral, box)
        notice = Notice.decode(cipher.open(self.box, _head(self.ephemeral), "the notice"), carrier)
        if notice.box != box:
            msg = "the notice is meant for another reader"
            raise RejectedError(Reason.IDENTITY, msg)
        return notice

    def encode(self) -> bytes:
        """316 bytes."""
        return _head(self.ephemeral) + self.box

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        code, fields = opened(message, Kind.SEALED_NOTICE)
        ephemeral, box = fields.take(primitives.POINT_BYTES), fields.take(_SIZE + TAG_BYTES)
        fields.finish()
        if code != suite_named().code:
            fields.reject(Reason.SUITE, "is of a suite that has no notices")
        primitives.check_coordinate(ephemeral)
        return cls(ephemeral, box)


def _head(ephemeral: bytes) -> bytes:
    return Kind.SEALED_NOTICE.header(suite_named().code) + ephemeral


def _cipher(shared: bytes, ephemeral: bytes, box: bytes) -> SingleUse:
    return SingleUse(shared, "voile 1 sealed notice", box, salt=ephemeral)


def _encoded_place(place: tuple[float, float] | None) -> bytes:
    if place is None:
        return number(_NOWHERE, 4) + number(0, 4)
    return b"".join(round(side * _DEGREE).to_bytes(4, "big", signed=True) for side in place)


def _decoded_place(octets: bytes) -> tuple[float, float] | None:
    if octets == number(_NOWHERE, 4) + number(0, 4):
        return None
    north, east = (int.from_bytes(octets[at : at + 4], "big", signed=True) for at in (0, 4))
    return north / _DEGREE, east / _DEGREE


def _text(fields: WireFields) -> str:
    """A text of up to ``MOST_DEPOT_BYTES``: its length, the text, zeros."""
    length, octets = fields.number(1), fields.take(MOST_DEPOT_BYTES)
    if length > MOST_DEPOT_BYTES or any(octets[length:]):
        fields.reject(Reason.FIELD, "holds a text that is too long")
    try:
        return octets[:length].decode()
    except UnicodeDecodeError:
        fields.reject(Reason.FIELD, "holds a text that is not UTF-8")


def carrier_number(verifying: bytes) -> bytes:
    """The 16 bytes by which submissions and waybills name the carrier of a key."""
    return sha256(framed(b"voile 1 carrier", verifying)).digest()[:TRUCK_BYTES]


@dataclass(frozen=True)
class ParcelRoot:
    """From which all keys of one reader of one parcel follow; 32 bytes."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        checked_bytes("the root of a parcel's keys", self.secret, 32)

    def day(self, day: int) -> TrackingSecret:
        """What opens the reports of a day (since 1970), of any truck."""
        checked_number("day", day, 32)
        tracking = hkdf(self.secret, 32, "voile 1 parcel tracking", number(day, 4))
        address = hkdf(self.secret, 32, "voile 1 parcel address", number(day, 4))
        return TrackingSecret(tracking, verifying_key(address))

    @property
    def notices(self) -> bytes:
        """n, which opens what the carrier says."""
        return hkdf(self.secret, 32, "voile 1 parcel notices")

    @property
    def box(self) -> bytes:
        """N, to which the carrier seals."""
        return primitives.x25519_public(self.notices)


@dataclass(frozen=True)
class ParcelLink(Fragment):
    """Everything that one reader of a parcel needs; raises ``InputError``."""

    carrier: bytes
    """The Ed25519 key of who carries the parcel and vouches for trucks."""
    root: ParcelRoot
    first_day: int
    days: int

    def __post_init__(self) -> None:
        checked_bytes("the carrier's verifying key", self.carrier, 32)
        checked_number("the first day", self.first_day, 32)
        if not 1 <= self.days <= MOST_DAYS:
            msg = f"a link is for 1 to {MOST_DAYS} days"
            raise InputError(msg)

    @property
    def suite(self) -> Suite:
        """Always ``voile``."""
        return suite_named()

    def on(self, truck: bytes, verifying: bytes) -> ReaderLink:
        """The link to the reports of one truck."""
        days = range(self.first_day, self.first_day + self.days)
        return ReaderLink(
            self.suite, truck, verifying, self.first_day, tuple(map(self.root.day, days))
        )

    def encode(self) -> bytes:
        """72 bytes."""
        head = Kind.PARCEL_LINK.header(self.suite.code) + self.carrier + self.root.secret
        return head + number(self.first_day, 4) + number(self.days, 1)

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        code, fields = opened(message, Kind.PARCEL_LINK)
        if suite_of_code(code).code != suite_named().code:
            fields.reject(Reason.SUITE, "is of a suite that has no links of parcels")
        carrier, root = fields.take(32), fields.take(32)
        first_day, days = fields.number(4), fields.number(1)
        fields.finish()
        primitives.check_point(carrier)
        if not 1 <= days <= MOST_DAYS:
            fields.reject(Reason.FIELD, f"is for {days} days, not for 1 to {MOST_DAYS}")
        return cls(carrier, ParcelRoot(root), first_day, days)


@dataclass(frozen=True)
class ParcelReader:
    """One who follows a parcel from truck to truck.

    Which truck, the carrier's last notice says, and nobody else: a report of another truck is
    ``FOREIGN``, whoever sends it.
    """

    link: ParcelLink
    notice: Notice | None = None
    """The last one that was accepted."""
    _lasts: Mapping[bytes, int] = field(default_factory=lambda: MappingProxyType({}))
    """The last slot that was read of each truck."""

    def receive(self, message: bytes) -> Self:
        """The next state, after a sealed notice; the same again changes nothing.

        Raises ``RejectedError``.
        """
        notice = SealedNotice.decode(message).open(self.link.root.notices, self.link.carrier)
        if self.notice is not None:
            if notice == self.notice:
                return self
            if notice.number <= self.notice.number:
                msg = "the notice is not later than the one before it"
                raise RejectedError(Reason.REPLAYED, msg)
        return replace(self, notice=notice)

    def read(self, message: bytes, now: int) -> tuple[Self, Sighting | None]:
        """As ``Reader.read``, of the truck that the last notice names; raises ``RejectedError``."""
        card = None if self.notice is None else self.notice.card
        if card is None:
            msg = "the carrier does not say that the parcel is on a truck"
            raise RejectedError(Reason.FOREIGN, msg)
        before = Reader(self.link.on(card.truck, card.verifying), self._lasts.get(card.truck, -1))
        after, sighting = before.read(message, now)
        return replace(self, _lasts={**self._lasts, card.truck: after.last}), sighting
