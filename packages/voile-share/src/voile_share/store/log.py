"""The log of reports in a database.

``append`` locks the heads of its trucks, decides, and writes records, reports, heads and states in
one transaction, with as many statements for 300 reports as for one.  That no two records of a truck
have one number, and no two reports one slot, the database checks once more by its keys.

Which report continues the chain of its truck: decided on plain values, for every log.

A log keeps of each truck its head: slot, number and digest of the last record.  A report is taken
if its slot is later and if it names the next number and that digest.  So a chain cannot fork,
whoever appends, as long as a log reads and replaces heads in one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from voile_base.errors import InputError
from voile_share.protocol import Report
from voile_share.protocol.truck import GENESIS, Record
from voile_share.store.protocols import Appended, Entry, ReportLog
from voile_share.store.schema import MOST_VALUES, Connection, Database, T, marks

__all__ = ["ChainedEntry", "Head", "SQLReportLog", "decide", "save_states"]


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a truck's chain; as it stands here, of one that has not begun."""

    slot: int = -1
    number: int = -1
    digest: bytes = GENESIS


@dataclass(frozen=True, slots=True)
class ChainedEntry:
    """An entry, and what its report says of its place in the chain."""

    entry: Entry = field(repr=False)
    number: int
    previous: bytes
    record: bytes
    """``protocol.Record``, encoded."""
    digest: bytes

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """Raises ``RejectedError`` for what is no report, ``InputError`` for another one."""
        report = Report.decode(entry.message)
        if (report.at.truck, report.at.slot) != (entry.truck, entry.slot):
            msg = "an entry's truck and slot must be those of its report"
            raise InputError(msg)
        record = report.record()
        return cls(entry, report.sequence, report.previous, record.encode(), record.digest())

    @property
    def head(self) -> Head:
        """The end of the chain once it is taken."""
        return Head(self.entry.slot, self.number, self.digest)


def decide(
    arrivals: Sequence[ChainedEntry],
    heads: Mapping[bytes, Head],
    records: Mapping[tuple[bytes, int], bytes],
) -> list[Appended]:
    """What becomes of reports that arrive in this order.

    ``heads`` are those of trucks that have published, ``records`` the stored ones under the trucks
    and numbers of the arrivals: of two reports with one record, one is the other.
    """
    moved, seen, outcomes = dict(heads), dict(records), []
    for arrival in arrivals:
        truck = arrival.entry.truck
        head, key = moved.get(truck, Head()), (truck, arrival.number)
        if arrival.entry.slot <= head.slot:
            known = seen.get(key) == arrival.record
            outcomes.append(Appended.KNOWN if known else Appended.LATE)
        elif (arrival.number, arrival.previous) != (head.number + 1, head.digest):
            outcomes.append(Appended.UNCHAINED)
        else:
            moved[truck], seen[key] = arrival.head, arrival.record
            outcomes.append(Appended.NEW)
    return outcomes


# ruff: noqa: D102 - ``ReportLog`` says what its methods do


_FORGOTTEN_AT_ONCE = 5_000
"""Others wait for a transaction; so one is not to drop millions."""


class SQLReportLog(ReportLog):
    """``ReportLog`` over an engine."""

    _engine: Database

    def append(self, entries: Sequence[Entry]) -> Sequence[Appended]:
        """See ``ReportLog``; raises ``InputError`` for a message that is not the entry's report."""
        arrivals = [ChainedEntry.of(entry) for entry in entries]
        if not arrivals:
            return []
        locking = self._engine.locking
        return self._engine.write(lambda connection: _append(connection, arrivals, locking))

    def last(self, truck: bytes) -> Entry | None:
        found = self._entries("truck = ? ORDER BY slot DESC LIMIT 1", truck)
        return found[0] if found else None

    def after(self, truck: bytes, slot: int, limit: int) -> Sequence[Entry]:
        return self._entries("truck = ? AND slot > ? ORDER BY slot LIMIT ?", truck, slot, limit)

    def in_slots(
        self, first: int, last: int, limit: int, after: tuple[int, bytes] | None = None
    ) -> Sequence[Entry]:
        return self._entries(
            "slot >= ? AND slot <= ? AND (slot, truck) > (?, ?) ORDER BY slot, truck LIMIT ?",
            first,
            last,
            *(after or (-1, b"")),
            limit,
        )

    def records(self, truck: bytes, number: int, limit: int) -> Sequence[bytes]:
        found = self._engine.read(
            "SELECT record FROM records WHERE truck = ? AND number >= ? ORDER BY number LIMIT ?",
            (truck, number, limit),
        )
        return [record for (record,) in found]

    def take_back(self, truck: bytes, slot: int) -> int:
        locking = self._engine.locking
        return self._engine.write(lambda connection: _take_back(connection, truck, slot, locking))

    def forget(self, before: int) -> int:
        statement = """DELETE FROM reports WHERE seq IN (
            SELECT seq FROM reports AS old WHERE old.slot < ? AND NOT EXISTS (
                SELECT 1 FROM heads WHERE heads.truck = old.truck AND heads.slot = old.slot
            ) LIMIT ?)"""
        values = (before, _FORGOTTEN_AT_ONCE)
        total = 0
        while True:
            dropped = self._engine.write(lambda connection: connection.change(statement, values))
            total += dropped
            if dropped < _FORGOTTEN_AT_ONCE:
                return total

    def _entries(self, where: str, *values: object) -> list[Entry]:
        statement = f"SELECT truck, slot, message FROM reports WHERE {where}"
        return [Entry(*row) for row in self._engine.read(statement, values)]


def save_states(connection: Connection, states: Iterable[tuple[bytes, bytes]]) -> None:
    """Replace states, except those of retired trucks.

    They are sorted, so that writers cannot wait for each other in a circle.
    """
    connection.change_many(
        """INSERT INTO states (truck, state) VALUES (?, ?)
        ON CONFLICT (truck) DO UPDATE SET state = excluded.state WHERE states.state IS NOT NULL""",
        sorted(states),
    )


def _append(
    connection: Connection, arrivals: Sequence[ChainedEntry], locking: str
) -> Sequence[Appended]:
    trucks = sorted({arrival.entry.truck for arrival in arrivals})
    heads = _locked_heads(connection, trucks, locking)
    # Only of those that are not later than what is stored, it matters whether they are stored.
    past = [one for one in arrivals if one.entry.slot <= heads[one.entry.truck].slot]
    outcomes = decide(arrivals, heads, _records(connection, past))
    taken = [one for one, what in zip(arrivals, outcomes, strict=True) if what is Appended.NEW]
    if not taken:
        return outcomes
    connection.change_many(
        "INSERT INTO records (truck, number, record) VALUES (?, ?, ?)",
        [(one.entry.truck, one.number, one.record) for one in taken],
    )
    connection.change_many(
        "INSERT INTO reports (truck, slot, message) VALUES (?, ?, ?)",
        [(one.entry.truck, one.entry.slot, one.entry.message) for one in taken],
    )
    moved = {one.entry.truck: one.head for one in taken}
    connection.change_many(
        "UPDATE heads SET slot = ?, number = ?, digest = ? WHERE truck = ?",
        [(head.slot, head.number, head.digest, truck) for truck, head in moved.items()],
    )
    states = {one.entry.truck: one.entry.state for one in taken if one.entry.state is not None}
    save_states(connection, states.items())
    return outcomes


def _take_back(connection: Connection, truck: bytes, slot: int, locking: str) -> int:
    """Records of slots later than ``slot`` are the last ones, since slots of a truck ascend."""
    _locked_heads(connection, [truck], locking)
    taken = 0
    while found := connection.rows(
        "SELECT number, record FROM records WHERE truck = ? ORDER BY number DESC LIMIT 1", (truck,)
    ):
        last = Record.decode(found[0][1])
        if last.at.slot <= slot:
            break
        connection.change(
            "DELETE FROM records WHERE truck = ? AND number = ?", (truck, found[0][0])
        )
        taken += 1
    end = Head(last.at.slot, last.sequence, last.digest()) if found else Head()
    connection.change("DELETE FROM reports WHERE truck = ? AND slot > ?", (truck, slot))
    connection.change(
        "UPDATE heads SET slot = ?, number = ?, digest = ? WHERE truck = ?",
        (end.slot, end.number, end.digest, truck),
    )
    return taken


def _locked_heads(
    connection: Connection, trucks: Sequence[bytes], locking: str
) -> dict[bytes, Head]:
    """The heads of trucks, ascending so that writers cannot wait for each other in a circle.

    A truck without a head is given that of an empty chain, since only what is there can be locked.
    """
    heads: dict[bytes, Head] = {}
    new = Head()
    for some in _batches(trucks):
        statement = (
            "SELECT truck, slot, number, digest FROM heads "
            f"WHERE truck IN ({marks(len(some))}) ORDER BY truck{locking}"
        )
        found = connection.rows(statement, some)
        if len(found) < len(some):
            begun = {row[0] for row in found}
            connection.change_many(
                "INSERT INTO heads (truck, slot, number, digest) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                [(truck, new.slot, new.number, new.digest) for truck in some if truck not in begun],
            )
            found = connection.rows(statement, some)
        heads |= {truck: Head(slot, number, digest) for truck, slot, number, digest in found}
    return heads


def _batches(things: Sequence[T]) -> Iterator[Sequence[T]]:
    """At most ``MOST_VALUES`` at a time, in order."""
    return (things[at : at + MOST_VALUES] for at in range(0, len(things), MOST_VALUES))


def _records(
    connection: Connection, arrivals: Sequence[ChainedEntry]
) -> dict[tuple[bytes, int], bytes]:
    """The stored records of the trucks and numbers of arrivals."""
    records: dict[tuple[bytes, int], bytes] = {}
    for some in _batches(arrivals):
        keys = marks(len(some), "(?, ?)")
        found = connection.rows(
            f"WITH wanted (truck, number) AS (VALUES {keys}) "
            "SELECT truck, number, record FROM wanted JOIN records USING (truck, number)",
            [value for one in some for value in (one.entry.truck, one.number)],
        )
        records |= {(truck, number): record for truck, number, record in found}
    return records
