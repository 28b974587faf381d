"""Who published what and when, without locations or parties: signed records in a chain.

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

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Self

from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.signing import SIGNATURE_BYTES, check_signature, sign
from voile_share.protocol.suite import TruckSlot
from voile_share.protocol.truck import TruckCard, TruckSecrets
from voile_share.protocol.wire import TRUCK_BYTES, Kind, framed, header, number, opened

__all__ = ["GENESIS", "Auditor", "Record", "digest_of_body", "is_equivocation"]

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
