"""What a truck publishes in each slot, and the machine that writes it.

A report is a header, the truck, the slot, the suite's body and, in suite ``voile``, what chains it
to the report before it and signs it: its number, the digest of the record before, and the truck's
signature.  The signature is of the report's record (``audit``), which holds a digest of the body:
one signature serves the readers, who have the body, and the auditors, who have not.

``ReportPublisher`` moves forward only: a slot that is not later than the last one is refused, so
that no slot is published twice.  Which slots a truck publishes in is public, and positions of one
that stands average out: docs/sharing-protocol.md weighs the two under "Known leaks".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol.audit import GENESIS, Record, digest_of_body
from voile_share.protocol.signing import SIGNATURE_BYTES
from voile_share.protocol.suite import Content, Suite, TruckSlot
from voile_share.protocol.suites import suite_named, suite_of_code
from voile_share.protocol.truck import TruckSecrets
from voile_share.protocol.wire import TRUCK_BYTES, Kind, header, number, opened

__all__ = ["MOST_BODY_BYTES", "Report", "ReportPublisher"]

MOST_BODY_BYTES = 2**24 - 1
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class Report:
    """One report; the last three fields are empty in suite ``paper``."""

    suite: Suite
    at: TruckSlot
    body: bytes
    sequence: int = 0
    previous: bytes = b""
    signature: bytes = b""

    def encode(self) -> bytes:
        """26 bytes and the body, and 100 where it is signed."""
        head = header(Kind.REPORT, self.suite.code) + self.at.encode()
        tail = number(self.sequence, 4) + self.previous + self.signature
        return head + number(len(self.body), 3) + self.body + (tail if self.suite.signs else b"")

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``; signatures are checked by who knows the truck."""
        code, fields = opened(message, Kind.REPORT)
        suite = suite_of_code(code)
        at = TruckSlot(fields.take(TRUCK_BYTES), fields.number(4))
        body = fields.take(fields.number(3))
        tail = (
            (fields.number(4), fields.take(_DIGEST_BYTES), fields.take(SIGNATURE_BYTES))
            if suite.signs
            else ()
        )
        fields.finish()
        suite.check_body(body)
        return cls(suite, at, body, *tail)

    def record(self) -> Record:
        """What an auditor is given; raises ``InputError`` in suite ``paper``."""
        if not self.suite.signs:
            msg = f"reports of suite {self.suite.name} are not signed, so there is no record"
            raise InputError(msg)
        digest = digest_of_body(self.suite.code, self.body)
        return Record(self.at, self.sequence, digest, self.previous, self.signature)


@dataclass(frozen=True)
class ReportPublisher:
    """A truck between two reports."""

    secrets: TruckSecrets
    suite: Suite
    last: int = -1
    """The last slot published; -1 before the first."""
    sequence: int = 0
    """Number of the next report."""
    head: bytes = GENESIS
    """Digest of the last record."""

    @classmethod
    def new(cls, secrets: TruckSecrets, suite: Suite | None = None) -> Self:
        """A truck that has published nothing."""
        return cls(secrets, suite or suite_named())

    @classmethod
    def after(cls, secrets: TruckSecrets, record: Record) -> Self:
        """A truck of suite ``voile`` that goes on after its last record.

        Raises ``RejectedError`` for a record of another truck.
        """
        record.check_signature(secrets.truck, secrets.card().verifying)
        return cls(secrets, suite_named(), record.at.slot, record.sequence + 1, record.digest())

    def publish(self, slot: int, content: Content, randomness: Randomness) -> tuple[Self, bytes]:
        """The next state and the report; put the state away before the report is sent.

        Raises ``InputError`` for a slot that is not later than the last one.
        """
        if slot <= self.last:
            msg = f"slot {slot} is not later than slot {self.last}, which was published"
            raise InputError(msg)
        at = TruckSlot(self.secrets.truck, slot)
        body = self.suite.compose(at, content, randomness)
        if len(body) > MOST_BODY_BYTES:
            msg = f"a report must stay below {MOST_BODY_BYTES + 1} bytes"
            raise InputError(msg)
        if not self.suite.signs:
            return replace(self, last=slot), Report(self.suite, at, body).encode()
        digest = digest_of_body(self.suite.code, body)
        record = Record(at, self.sequence, digest, self.head)
        signature = record.signed(self.secrets).signature
        report = Report(self.suite, at, body, self.sequence, self.head, signature)
        # The digest is that of the signed record: it holds no signature.
        after = replace(self, last=slot, sequence=self.sequence + 1, head=record.digest())
        return after, report.encode()
