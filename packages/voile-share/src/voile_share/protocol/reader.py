"""Readers: what a tracking link holds, and the machine that reads reports with it.

A link has the truck's card number and verifying key, and the secrets of its parcel for some days in
a row.  It travels in the fragment of an address, which browsers send to nobody.  The days end by
themselves: no key of one day follows from those of others.

``Reader`` judges in this order: form, truck, signature, slot, day; then it looks for its parcel.
Only what is signed and later than everything before moves it forward.  That a report has the
parcel's address is no proof of where it comes from: the truck holds what makes addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from voile_base.errors import InputError
from voile_share.protocol import group
from voile_share.protocol.fragment import Fragment
from voile_share.protocol.keys import TrackingSecret
from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.report import Report
from voile_share.protocol.suite import Sighting, Suite, TruckSlot
from voile_share.protocol.suites import suite_of_code
from voile_share.protocol.truck import TruckCard
from voile_share.protocol.wire import TRUCK_BYTES, Kind, header, number, opened

__all__ = ["DAY_SECONDS", "MOST_DAYS", "Reader", "ReaderLink", "day_of", "search"]

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
