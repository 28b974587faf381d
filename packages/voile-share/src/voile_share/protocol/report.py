"""What a truck publishes in each slot, and the machine that writes it.

A report is a header, the truck, the slot, the suite's body and, in suite ``voile``, what chains it
to the report before it and signs it: its number, the digest of the record before, and the truck's
signature.  The signature is of the report's record (``audit``), which holds a digest of the body:
one signature serves the readers, who have the body, and the auditors, who have not.

``ReportPublisher`` moves forward only: a slot that is not later than the last one is refused, so
that no slot is published twice.  Which slots a truck publishes in is public, and positions of one
that stands average out: docs/sharing-protocol.md weighs the two under "Known leaks".

Readers: what a tracking link holds, and the machine that reads reports with it.

A link has the truck's card number and verifying key, and the secrets of its parcel for some days in
a row.  It travels in the fragment of an address, which browsers send to nobody.  The days end by
themselves: no key of one day follows from those of others.

``Reader`` judges in this order: form, truck, signature, slot, day; then it looks for its parcel.
Only what is signed and later than everything before moves it forward.  That a report has the
parcel's address is no proof of where it comes from: the truck holds what makes addresses.

Links as the fragment of an address, which browsers send to nobody.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol import group
from voile_share.protocol.primitives import SIGNATURE_BYTES
from voile_share.protocol.suite import Content, Sighting, Suite, TrackingSecret, TruckSlot
from voile_share.protocol.truck import GENESIS, Record, TruckCard, TruckSecrets, digest_of_body
from voile_share.protocol.voile_suite import suite_named, suite_of_code
from voile_share.protocol.wire import (
    TRUCK_BYTES,
    Kind,
    Reason,
    RejectedError,
    from_base64url,
    header,
    number,
    opened,
    to_base64url,
)

__all__ = [
    "DAY_SECONDS",
    "MOST_BODY_BYTES",
    "MOST_DAYS",
    "Fragment",
    "Reader",
    "ReaderLink",
    "Report",
    "ReportPublisher",
    "day_of",
    "search",
]


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


class Fragment:
    """What ``encode`` writes and ``decode`` reads, as text behind ``#``."""

    def encode(self) -> bytes:
        """The octets; two equal links have the same."""
        raise NotImplementedError

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        raise NotImplementedError

    def fragment(self) -> str:
        """The link as the fragment of an address: base64url without padding."""
        return to_base64url(self.encode())

    @classmethod
    def from_fragment(cls, fragment: str) -> Self:
        """Raises ``RejectedError``."""
        try:
            link = cls.decode(from_base64url(fragment))
        except (Base64Error, UnicodeEncodeError):
            msg = "the fragment of the link is not base64url: copy the whole link"
            raise RejectedError(Reason.FIELD, msg) from None
        if link.fragment() != fragment:
            msg = "the fragment of the link holds characters that do not belong to it"
            raise RejectedError(Reason.FIELD, msg)
        return link


DAY_SECONDS = 86_400
MOST_DAYS = 31
_EARLY_SECONDS = 60


def day_of(slot: int) -> int:
    """The day of a slot, since 1970 and by UTC."""
    return slot // DAY_SECONDS


@dataclass(frozen=True)
class ReaderLink(Fragment):
    """Everything that a reader needs; raises ``InputError`` where it has no days or too many."""

    suite: Suite
    truck: bytes
    verifying: bytes
    """The truck's Ed25519 key."""
    first_day: int
    days: tuple[TrackingSecret, ...]
    """One for each day from the first."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.days) <= MOST_DAYS:
            msg = f"a link holds the keys of 1 to {MOST_DAYS} days"
            raise InputError(msg)

    @classmethod
    def to(
        cls, suite: Suite, card: TruckCard, first_day: int, days: Iterable[TrackingSecret]
    ) -> Self:
        """A link for some days in a row."""
        return cls(suite, card.truck, card.verifying, first_day, tuple(days))

    def key(self, slot: int) -> TrackingSecret:
        """The secrets of a slot's day; raises ``RejectedError`` where the link has none."""
        index = day_of(slot) - self.first_day
        if not 0 <= index < len(self.days):
            msg = "the link has no key for the day of this report: it has expired or not begun"
            raise RejectedError(Reason.EXPIRED, msg)
        return self.days[index]

    def encode(self) -> bytes:
        """56 bytes, and 64 for each day (96 in suite ``paper``)."""
        head = header(Kind.LINK, self.suite.code) + self.truck + self.verifying
        keys = b"".join(day.tracking + day.address + day.opening for day in self.days)
        return head + number(self.first_day, 4) + number(len(self.days), 1) + keys

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        code, fields = opened(message, Kind.LINK)
        suite = suite_of_code(code)
        truck, verifying, first_day = fields.take(TRUCK_BYTES), fields.take(32), fields.number(4)
        count = fields.number(1)
        if not 1 <= count <= MOST_DAYS:
            fields.reject(Reason.FIELD, f"holds the keys of {count} days, not of 1 to {MOST_DAYS}")
        sizes = (32, 32, suite.encryption_bytes)
        days = [TrackingSecret(*(fields.take(size) for size in sizes)) for _ in range(count)]
        fields.finish()
        group.check_point(verifying)
        for day in days:
            suite.check_secret(day)
        return cls(suite, truck, verifying, first_day, tuple(days))


@dataclass(frozen=True)
class Reader:
    """One who follows a parcel by a link."""

    link: ReaderLink
    last: int = -1
    """The last slot accepted; -1 before the first."""

    def read(self, message: bytes, now: int) -> tuple[Self, Sighting | None]:
        """The next state, and what the report says of the parcel: None if it is not about it.

        ``now`` is in seconds since 1970.  Raises ``RejectedError``.
        """
        report = Report.decode(message)
        if report.suite.code != self.link.suite.code:
            msg = f"the report is of suite {report.suite.name}, and the link is not"
            raise RejectedError(Reason.SUITE, msg)
        self._check_truck(report.at)
        if report.suite.signs:
            report.record().check_signature(self.link.truck, self.link.verifying)
        return self._follow(report.at, report.body, now)

    def read_vouched(self, at: TruckSlot, body: bytes, now: int) -> tuple[Self, Sighting | None]:
        """The same for a body without signature.

        The caller vouches that the truck is its sender, as the sender of a transaction is known.
        """
        self._check_truck(at)
        self.link.suite.check_body(body)
        return self._follow(at, body, now)

    def _check_truck(self, at: TruckSlot) -> None:
        if at.truck != self.link.truck:
            msg = "the report is of another truck"
            raise RejectedError(Reason.FOREIGN, msg)

    def _follow(self, at: TruckSlot, body: bytes, now: int) -> tuple[Self, Sighting | None]:
        if at.slot <= self.last:
            msg = f"slot {at.slot} is not later than slot {self.last}, which was read"
            raise RejectedError(Reason.REPLAYED, msg)
        if at.slot > now + _EARLY_SECONDS:
            msg = f"slot {at.slot} has not begun"
            raise RejectedError(Reason.FUTURE, msg)
        secret, forward = self.link.key(at.slot), replace(self, last=at.slot)
        item = self.link.suite.recognise(secret, at, body)
        if item is None:
            return forward, None
        return forward, self.link.suite.open(secret, at, body, item)


def search(secret: TrackingSecret, reports: Iterable[bytes]) -> Iterator[tuple[Report, int]]:
    """The reports about a parcel among those of many trucks, with the number of its item.

    It recognises and does not authenticate: check a report found against its truck's card.
    """
    for message in reports:
        report = Report.decode(message)
        item = report.suite.recognise(secret, report.at, report.body)
        if item is not None:
            yield report, item
