"""Who a truck is: its secrets, and the card that everybody may have.

Who published what and when, without locations or parties: signed records in a chain.

What it does: for each report the truck signs a record of its slot, its number, a digest of its body
and the digest of the record before.  An auditor with the truck's card checks that nothing was
changed, left out, put in or reordered, and, with a report at hand, that it is the one recorded.

Claim: whoever does not hold the truck's signing key cannot make a record, and the truck cannot
change the past of a record that an auditor has seen.  A truck that signs two records of one number
gives itself away by them (``is_equivocation``).  A record shows the truck, the slot and the number
of reports; of the body it shows a digest, and the body is public ciphertext.  The end of a chain
may be held back: an auditor who wants to notice that compares the last slot with the clock.  When a
record was received, the truck does not say: the slot is the truck's word.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Self

from voile_base.randomness import Randomness
from voile_share.protocol import group
from voile_share.protocol.primitives import (
    SIGNATURE_BYTES,
    check_signature,
    drawn,
    sign,
    verifying_key,
)
from voile_share.protocol.suite import TruckSlot
from voile_share.protocol.wire import (
    TRUCK_BYTES,
    Kind,
    Reason,
    RejectedError,
    checked_bytes,
    framed,
    header,
    number,
    opened,
)

__all__ = [
    "GENESIS",
    "Auditor",
    "Record",
    "TruckCard",
    "TruckSecrets",
    "digest_of_body",
    "is_equivocation",
]


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


GENESIS = bytes(32)
"""Stands for the record before the first."""
_LABEL = "voile 1 record"
_SIGNING_SUITE = 1


def digest_of_body(suite: int, body: bytes) -> bytes:
    """What a record keeps of a report's body."""
    return sha256(framed(b"voile 1 body", number(suite, 1), body)).digest()


@dataclass(frozen=True)
class Record:
    """One link of a truck's chain."""

    at: TruckSlot
    sequence: int
    body: bytes
    """Digest of the report's body."""
    previous: bytes
    """Digest of the record before; ``GENESIS`` for the first."""
    signature: bytes = b""

    @cached_property
    def _unsigned(self) -> bytes:
        head = header(Kind.RECORD, _SIGNING_SUITE) + self.at.encode()
        return head + number(self.sequence, 4) + self.body + self.previous

    def signed(self, secrets: TruckSecrets) -> Self:
        """The same, signed by the truck."""
        return replace(self, signature=sign(secrets.signing, _LABEL, self._unsigned))

    def digest(self) -> bytes:
        """What the next record holds of this one."""
        return sha256(framed(b"voile 1 link", self._unsigned)).digest()

    def encode(self) -> bytes:
        """155 bytes."""
        return self._unsigned + self.signature

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        code, fields = opened(message, Kind.RECORD)
        if code != _SIGNING_SUITE:
            fields.reject(Reason.SUITE, f"is of suite {code}, whose reports are not signed")
        at = TruckSlot(fields.take(TRUCK_BYTES), fields.number(4))
        sequence, body, previous = fields.number(4), fields.take(32), fields.take(32)
        signature = fields.take(SIGNATURE_BYTES)
        fields.finish()
        return cls(at, sequence, body, previous, signature)

    def check_signature(self, truck: bytes, verifying: bytes) -> None:
        """Raise ``RejectedError`` unless it is of this truck, and signed by its Ed25519 key."""
        if self.at.truck != truck:
            msg = "the record or report is of another truck"
            raise RejectedError(Reason.FOREIGN, msg)
        what = "the record or report"
        check_signature(verifying, _LABEL, self._unsigned, self.signature, what)


@dataclass(frozen=True)
class Auditor:
    """Somebody who has followed a truck's chain up to here."""

    card: TruckCard
    sequence: int = 0
    """Number of the next record."""
    last: int = -1
    """Slot of the last record."""
    head: bytes = GENESIS

    def follow(self, record: bytes) -> Self:
        """One record further; raises ``RejectedError``."""
        read = Record.decode(record)
        read.check_signature(self.card.truck, self.card.verifying)
        if read.sequence != self.sequence or read.previous != self.head:
            msg = (
                f"record {read.sequence} does not follow what was seen up to here: record "
                f"{self.sequence} is next, so one was left out, put in or reordered"
            )
            raise RejectedError(Reason.CHAIN, msg)
        if read.at.slot <= self.last:
            msg = "the record's slot is not later than that of the record before"
            raise RejectedError(Reason.REPLAYED, msg)
        return replace(self, sequence=read.sequence + 1, last=read.at.slot, head=read.digest())


def is_equivocation(card: TruckCard, first: bytes, second: bytes) -> bool:
    """Whether two records prove that a truck told two stories; raises ``RejectedError``."""
    one, other = Record.decode(first), Record.decode(second)
    for record in (one, other):
        record.check_signature(card.truck, card.verifying)
    same = one.sequence == other.sequence or one.at.slot == other.at.slot
    return same and one.digest() != other.digest()
