"""What a carrier says of a parcel to one of its readers: where it is in its journey.

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

from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from typing import Self

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol import group
from voile_share.protocol.derivation import TAG_BYTES, SingleUse, drawn
from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.signing import SIGNATURE_BYTES, check_signature, sign
from voile_share.protocol.suites import suite_named
from voile_share.protocol.truck import TruckCard
from voile_share.protocol.wire import Kind, WireFields, checked_number, header, number, opened

__all__ = ["MOST_DEPOT_BYTES", "MOST_STOPS", "Notice", "SealedNotice", "Stage"]

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
            header(Kind.NOTICE, suite_named().code)
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
        ephemeral = group.x25519_public(secret)
        shared = group.x25519(secret, notice.box)
        return cls(
            ephemeral, _cipher(shared, ephemeral, notice.box).seal(message, _head(ephemeral))
        )

    def open(self, secret: bytes, carrier: bytes) -> Notice:
        """By n, and the carrier's verifying key; raises ``RejectedError``."""
        box = group.x25519_public(secret)
        cipher = _cipher(group.x25519(secret, self.ephemeral), self.ephemeral, box)
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
        ephemeral, box = fields.take(group.POINT_BYTES), fields.take(_SIZE + TAG_BYTES)
        fields.finish()
        if code != suite_named().code:
            fields.reject(Reason.SUITE, "is of a suite that has no notices")
        group.check_coordinate(ephemeral)
        return cls(ephemeral, box)


def _head(ephemeral: bytes) -> bytes:
    return header(Kind.SEALED_NOTICE, suite_named().code) + ephemeral


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
