"""Who a truck is: its secrets, and the card that everybody may have."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from voile_base.randomness import Randomness
from voile_share.protocol import group
from voile_share.protocol.derivation import drawn
from voile_share.protocol.rejection import Reason
from voile_share.protocol.signing import verifying_key
from voile_share.protocol.wire import TRUCK_BYTES, Kind, checked_bytes, header, opened

__all__ = ["TruckCard", "TruckSecrets"]

_ANY_SUITE = 0


@dataclass(frozen=True)
class TruckCard:
    """A truck's public keys: parties seal for it, readers and auditors check its signatures."""

    truck: bytes
    """Its number, 16 bytes."""
    verifying: bytes
    """Ed25519, 32 bytes."""
    sealing: bytes
    """X25519, 32 bytes."""

    def encode(self) -> bytes:
        """83 bytes."""
        return header(Kind.CARD, _ANY_SUITE) + self.truck + self.verifying + self.sealing

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        code, fields = opened(message, Kind.CARD)
        card = cls(fields.take(TRUCK_BYTES), fields.take(32), fields.take(32))
        fields.finish()
        if code != _ANY_SUITE:
            fields.reject(Reason.SUITE, "is for all suites and names one")
        group.check_point(card.verifying)
        group.check_coordinate(card.sealing)
        return card


@dataclass(frozen=True)
class TruckSecrets:
    """What only the truck has; raises ``InputError`` for wrong sizes."""

    truck: bytes
    signing: bytes = field(repr=False)
    sealing: bytes = field(repr=False)

    def __post_init__(self) -> None:
        checked_bytes("the truck's number", self.truck, TRUCK_BYTES)
        checked_bytes("the truck's signing key", self.signing, 32)
        checked_bytes("the truck's sealing key", self.sealing, 32)

    @classmethod
    def draw(cls, truck: bytes, randomness: Randomness) -> Self:
        """Draw the keys of a truck."""
        checked_bytes("the truck's number", truck, TRUCK_BYTES)
        purposes = ("signing", "sealing")
        return cls(truck, *(drawn(randomness, 32, "truck", truck.hex(), name) for name in purposes))

    def card(self) -> TruckCard:
        """The public half."""
        return self._card

    @cached_property
    def _card(self) -> TruckCard:
        return TruckCard(self.truck, verifying_key(self.signing), group.x25519_public(self.sealing))
