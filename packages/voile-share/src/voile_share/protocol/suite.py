"""What a suite of ciphers does, and what goes into a report: the interface of both suites.

``voile`` is the one to use; ``paper`` is as published, for comparison and study alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol.keys import Materials, PairKeys, TrackingPublic, TrackingSecret
from voile_share.protocol.position import LEVELS, Position, encoded_remaining
from voile_share.protocol.wire import TRUCK_BYTES, checked_bytes, checked_number, framed, number

__all__ = [
    "Carried",
    "Content",
    "Sighting",
    "Suite",
    "TruckSlot",
]


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
