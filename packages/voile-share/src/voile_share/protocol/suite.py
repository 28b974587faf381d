"""What a suite of ciphers does, and what goes into a report: the interface of both suites.

``voile`` is the one to use; ``paper`` is as published, for comparison and study alone.

The keys of the two parties and of the truck, by who holds them.

A capital letter is a public point, the small letter its secret: the paper calls both sides of the
sender's key by one name.  Secrets do not show in ``repr``.

A position as it travels: 16 bytes, the same for every position.

Latitude and longitude in units of 1e-7 degrees (1 cm), the time of the fix in whole seconds since
1970, and the epsilon per metre of the noise in it, a single-precision number.  Which level it is
of stands in what the cipher authenticates.  Positions are perturbed before they come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Protocol, Self

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol.primitives import (
    TRUCK_BYTES,
    Reason,
    RejectedError,
    checked_bytes,
    checked_number,
    framed,
    number,
)

__all__ = [
    "LEVELS",
    "MOST_PARCEL_BYTES",
    "POSITION_BYTES",
    "Carried",
    "Content",
    "Materials",
    "PairKeys",
    "Position",
    "Sighting",
    "Suite",
    "TrackingPublic",
    "TrackingSecret",
    "TruckSlot",
    "decoded_remaining",
    "encoded_remaining",
]


MOST_PARCEL_BYTES = 64


@dataclass(frozen=True)
class Materials:
    """What a run of key establishment has brought together."""

    sender: bytes
    """Name of Alice."""
    receiver: bytes
    """Name of Bob."""
    sender_nonce: bytes
    receiver_nonce: bytes
    sender_material: bytes = field(repr=False)
    """F_AB."""
    receiver_material: bytes = field(repr=False)
    """F_BA."""


@dataclass(frozen=True)
class PairKeys:
    """What sender and receiver share after key establishment; 32 bytes each."""

    a: bytes = field(repr=False)
    """k_a."""
    b: bytes = field(repr=False)
    """k_b."""

    def __post_init__(self) -> None:
        checked_bytes("k_a", self.a, 32)
        checked_bytes("k_b", self.b, 32)


@dataclass(frozen=True)
class TrackingSecret:
    """What opens the reports about one parcel on one day: for its parties and their links."""

    tracking: bytes = field(repr=False)
    """tk."""
    address: bytes = field(repr=False)
    """K_b, a point."""
    opening: bytes = field(default=b"", repr=False)
    """k_a, for location keys encrypted under K_a: suite ``paper`` alone."""


@dataclass(frozen=True)
class TrackingPublic:
    """What the truck holds of one parcel on one day: enough to address, too little to recognise."""

    tracking: bytes
    """TK."""
    address: bytes
    """K_b."""
    encryption: bytes = b""
    """K_a: suite ``paper`` alone."""


def check_parcel_and_day(parcel: bytes, day: int) -> None:
    """Raise ``InputError`` unless a parcel's number and a day since 1970 can be encoded."""
    checked_bytes("the parcel's number", parcel, 1, MOST_PARCEL_BYTES)
    checked_number("day", day, 32)


LEVELS = 3
"""Precision levels in every report, from near the receiver to far away."""
_FORMAT = Struct(">iiIf")
POSITION_BYTES = _FORMAT.size
_UNITS = 10**7
_LEAST_EPSILON, _MOST_EPSILON = 2.0**-30, 2.0**10
_UNKNOWN_REMAINING = 0xFFFFFF


@dataclass(frozen=True)
class Position:
    """Where a truck is said to be; raises ``InputError`` for what no position can be."""

    latitude: float
    """Degrees, -90 to 90."""
    longitude: float
    """Degrees, -180 to 180."""
    time: int
    """Seconds since 1970, below 2**32."""
    epsilon: float
    """Of the planar noise, per metre; 2**-30 to 2**10."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("latitude", self.latitude, -90, 90),
            ("longitude", self.longitude, -180, 180),
            ("epsilon", self.epsilon, _LEAST_EPSILON, _MOST_EPSILON),
        ):
            if not least <= value <= most:
                msg = f"{name} must be from {least:g} to {most:g}"
                raise InputError(msg)
        checked_number("time", self.time, 32)

    def encode(self) -> bytes:
        """16 bytes; latitude and longitude are rounded to 1e-7 degrees."""
        place = (round(self.latitude * _UNITS), round(self.longitude * _UNITS))
        return _FORMAT.pack(*place, self.time, self.epsilon)

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Read 16 bytes; raises ``RejectedError``."""
        if len(encoded) != POSITION_BYTES:
            msg = f"a position has {POSITION_BYTES} bytes, not {len(encoded)}"
            raise RejectedError(Reason.FIELD, msg)
        latitude, longitude, time, epsilon = _FORMAT.unpack(encoded)
        try:
            return cls(latitude / _UNITS, longitude / _UNITS, time, epsilon)
        except InputError:
            msg = "a position holds numbers that no position has"
            raise RejectedError(Reason.FIELD, msg) from None


def encoded_remaining(metres: int | None) -> bytes:
    """The remaining distance in 3 bytes; longer ones than 16,777,214 m are cut to that."""
    if metres is None:
        return _UNKNOWN_REMAINING.to_bytes(3, "big")
    return min(metres, _UNKNOWN_REMAINING - 1).to_bytes(3, "big")


def decoded_remaining(encoded: bytes) -> int | None:
    """The remaining distance in metres; None where none was given."""
    metres = int.from_bytes(encoded, "big")
    return None if metres == _UNKNOWN_REMAINING else metres


@dataclass(frozen=True)
class TruckSlot:
    """Which truck, and when: what every ciphertext of a report is bound to."""

    truck: bytes
    """16 bytes."""
    slot: int
    """Its first second, in seconds since 1970; below 2**32."""

    def __post_init__(self) -> None:
        checked_bytes("the truck's number", self.truck, TRUCK_BYTES)
        checked_number("slot", self.slot, 32)

    def encode(self) -> bytes:
        """20 bytes."""
        return self.truck + number(self.slot, 4)


@dataclass(frozen=True)
class Carried:
    """One parcel on the truck, and how precisely its parties may see it now."""

    keys: TrackingPublic
    level: int
    """0 (near) to 2 (far)."""
    remaining: int | None = None
    """Metres to its receiver, with noise already; None where not given."""

    def __post_init__(self) -> None:
        if isinstance(self.level, bool) or self.level not in range(LEVELS):
            msg = f"level must be a whole number from 0 to {LEVELS - 1}"
            raise InputError(msg)
        if self.remaining is not None and self.remaining < 0:
            msg = "the remaining distance must not be negative"
            raise InputError(msg)

    def encode(self) -> bytes:
        """Its bytes for a digest; not a message."""
        keys = (self.keys.tracking, self.keys.address, self.keys.encryption)
        return framed(*keys, number(self.level, 1), encoded_remaining(self.remaining))


@dataclass(frozen=True)
class Content:
    """What a report says, and to whom."""

    positions: tuple[Position, ...]
    """One for each level, from near to far, perturbed already."""
    parcels: Sequence[Carried]
    room: int = 0
    """The report is padded as if there were at least so many parcels."""

    def __post_init__(self) -> None:
        if len(self.positions) != LEVELS:
            msg = f"a report has {LEVELS} positions, one for each level"
            raise InputError(msg)

    def encode(self) -> bytes:
        """Its bytes for a digest; not a message."""
        positions = b"".join(position.encode() for position in self.positions)
        return framed(positions, number(self.room, 4), *(one.encode() for one in self.parcels))


@dataclass(frozen=True)
class Sighting:
    """What a reader learns from a report about its parcel."""

    at: TruckSlot
    level: int
    position: Position
    remaining: int | None
    """Metres, with noise; None where not given."""


class Suite(Protocol):
    """Ciphers, derivations and layout; every method raises ``RejectedError`` alone about input."""

    @property
    def name(self) -> str:
        """How plans and reports call it."""

    @property
    def code(self) -> int:
        """How headers of messages call it."""

    @property
    def signs(self) -> bool:
        """Whether parties sign submissions, and trucks reports."""

    @property
    def encryption_bytes(self) -> int:
        """Size of K_a where the truck needs it, else 0."""

    def protected_size(self, plaintext: int) -> int:
        """Size of a protected message of key establishment."""

    def protect(
        self, key: bytes, context: bytes, plaintext: bytes, randomness: Randomness
    ) -> bytes:
        """E_K: encrypted and authenticated, with its context, under the parties' long-term key."""

    def unprotect(self, key: bytes, context: bytes, box: bytes) -> bytes:
        """The inverse of ``protect``."""

    def pair_keys(self, materials: Materials) -> PairKeys:
        """f: what both parties derive at the end of key establishment."""

    def tracking_secret(self, pair: PairKeys, parcel: bytes, day: int) -> TrackingSecret:
        """Protocol 2: the secrets of one parcel on one day (since 1970)."""

    def tracking_public(self, secret: TrackingSecret) -> TrackingPublic:
        """Protocol 2: what the truck is given."""

    def check_public(self, public: TrackingPublic) -> None:
        """Reject points that no honest party has."""

    def check_secret(self, secret: TrackingSecret) -> None:
        """Reject secrets that no honest party has."""

    def ephemeral(self, secret: bytes) -> bytes:
        """R of 32 secret bytes r."""

    def address(self, public: TrackingPublic, secret: bytes, at: TruckSlot) -> bytes:
        """Protocol 3, truck: P of r."""

    def expected_address(self, secret: TrackingSecret, ephemeral: bytes, at: TruckSlot) -> bytes:
        """Protocol 3, sender or receiver: the P that goes with R if the parcel is meant."""

    def compose(self, at: TruckSlot, content: Content, randomness: Randomness) -> bytes:
        """The body of a report.

        What it draws is a function of the randomness, the slot and the content: the same report
        again has the same bytes, and another report shares no key with it.
        """

    def check_body(self, body: bytes) -> None:
        """Reject a body that no honest truck composes, as far as everybody can see."""

    def recognise(self, secret: TrackingSecret, at: TruckSlot, body: bytes) -> int | None:
        """Which item is about the parcel, from 0; None if none is."""

    def open(self, secret: TrackingSecret, at: TruckSlot, body: bytes, item: int) -> Sighting:
        """What the item that was recognised gives away."""
