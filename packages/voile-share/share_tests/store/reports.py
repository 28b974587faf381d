"""Real reports for stores: signed, chained, and small."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from voile_base.randomness import Randomness
from voile_share.protocol import (
    Auditor,
    Content,
    Position,
    Record,
    Report,
    ReportPublisher,
    TruckCard,
    TruckSecrets,
)
from voile_share.store import Entry, ReportLog

SLOT = 300
FIRST = 1_700_000_100
_RANDOMNESS = Randomness.seeded(7)


def _content(latitude: float = 52.0) -> Content:
    return Content(tuple(Position(latitude, 4.0, FIRST, 2.0**-n) for n in (6, 8, 10)), [])


@lru_cache(maxsize=1000)
def secrets_of(name: int) -> TruckSecrets:
    """The keys of a truck; its number is the name in 16 bytes."""
    return TruckSecrets.draw(number_of(name), _RANDOMNESS)


def number_of(name: int) -> bytes:
    """A truck's number."""
    return name.to_bytes(16, "big")


def card_of(name: int) -> TruckCard:
    """What everybody knows of a truck."""
    return secrets_of(name).card()


def slot_of(time: int) -> int:
    """The slot of a number, counted from 0."""
    return FIRST + time * SLOT


class Driver:
    """A truck that publishes, and may go back to an earlier state of itself to publish a rival."""

    def __init__(self, name: int) -> None:
        self.name = name
        self.truck = number_of(name)
        self.states = [ReportPublisher.new(secrets_of(name))]
        self._rivals = 0

    def publish(self, time: int, after: int = -1, state: bytes | None = None) -> Entry:
        """The report of a slot, which continues the chain as it was after so many reports.

        From -1, the newest, it is a report of the truck; from others it is a rival, from elsewhere.
        """
        rival = after != -1
        self._rivals += rival
        content = _content(52.0 + self._rivals / 1000) if rival else _content()
        published, message = self.states[after].publish(slot_of(time), content, _RANDOMNESS)
        if not rival:
            self.states.append(published)
        return Entry(self.truck, slot_of(time), message, state)

    def go_on_from(self, taken: Sequence[Entry]) -> None:
        """Be the truck that has published these reports."""
        secrets = secrets_of(self.name)
        records = [Report.decode(entry.message).record() for entry in taken]
        self.states = [ReportPublisher.new(secrets)]
        self.states += [ReportPublisher.after(secrets, record) for record in records]


@lru_cache(maxsize=200)
def chain(name: int, count: int, first: int = 0) -> tuple[Entry, ...]:
    """The first reports of a truck, in slots one after another."""
    driver = Driver(name)
    return tuple(driver.publish(first + time) for time in range(count))


def next_entry(log: ReportLog, name: int, ahead: int = 1, state: bytes | None = None) -> Entry:
    """A report some slots after the last in the log: what a truck that was restarted publishes."""
    last = log.last(number_of(name))
    publisher, slot = ReportPublisher.new(secrets_of(name)), slot_of(ahead)
    if last is not None:
        publisher = ReportPublisher.after(secrets_of(name), Report.decode(last.message).record())
        slot = last.slot + ahead * SLOT
    _, message = publisher.publish(slot, _content(), _RANDOMNESS)
    return Entry(number_of(name), slot, message, state)


def record_of(entry: Entry) -> bytes:
    """The record of a report."""
    return Report.decode(entry.message).record().encode()


def audited(log: ReportLog, name: int) -> list[Record]:
    """A truck's records, all of them, checked as an auditor does, fetched by pages of 7."""
    auditor, records = Auditor(card_of(name)), []
    while page := log.records(number_of(name), len(records), 7):
        for record in page:
            auditor = auditor.follow(record)
            records.append(Record.decode(record))
    return records


def all_reports(log: ReportLog, name: int) -> list[Entry]:
    """A truck's reports that are not forgotten, fetched by pages of 7."""
    found: list[Entry] = []
    while page := log.after(number_of(name), found[-1].slot if found else -1, 7):
        found += page
    return found
