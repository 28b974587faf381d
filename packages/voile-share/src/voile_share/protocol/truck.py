"""What a truck is and what it publishes: its secrets, its card, its reports and their records.

Records say who published what and when, without locations or parties, in a chain that is signed.

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
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Self

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol import primitives
from voile_share.protocol.primitives import (
    SIGNATURE_BYTES,
    TRUCK_BYTES,
    Kind,
    Reason,
    RejectedError,
    check_signature,
    checked_bytes,
    drawn,
    framed,
    from_base64url,
    number,
    opened,
    sign,
    to_base64url,
    verifying_key,
)
from voile_share.protocol.suite import Content, Sighting, Suite, TrackingSecret, TruckSlot
from voile_share.protocol.suites import suite_named, suite_of_code

__all__ = [
    "DAY_SECONDS",
    "GENESIS",
    "MOST_BODY_BYTES",
    "MOST_DAYS",
    "Auditor",
    "Fragment",
    "Reader",
    "ReaderLink",
    "Record",
    "Report",
    "ReportPublisher",
    "TruckCard",
    "TruckSecrets",
    "day_of",
    "digest_of_body",
    "search",
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
        return Kind.CARD.header(_ANY_SUITE) + self.truck + self.verifying + self.sealing

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        code, fields = opened(message, Kind.CARD)
        card = cls(fields.take(TRUCK_BYTES), fields.take(32), fields.take(32))
        fields.finish()
        if code != _ANY_SUITE:
            fields.reject(Reason.SUITE, "is for all suites and names one")
        primitives.check_point(card.verifying)
        primitives.check_coordinate(card.sealing)
        return card

    def is_equivocation(self, first: bytes, second: bytes) -> bool:
        """Whether two records prove that a truck told two stories; raises ``RejectedError``."""
        one, other = Record.decode(first), Record.decode(second)
        for record in (one, other):
            record.check_signature(self.truck, self.verifying)
        same = one.sequence == other.sequence or one.at.slot == other.at.slot
        return same and one.digest() != other.digest()


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
        return TruckCard(
            self.truck, verifying_key(self.signing), primitives.x25519_public(self.sealing)
        )


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
        head = Kind.RECORD.header(_SIGNING_SUITE) + self.at.encode()
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
        head = Kind.REPORT.header(self.suite.code) + self.at.encode()
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
        head = Kind.LINK.header(self.suite.code) + self.truck + self.verifying
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
        primitives.check_point(verifying)
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
