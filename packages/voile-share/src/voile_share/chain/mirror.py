"""Reports of a contract on this side: those on the chain, and those on their way to it.

A report is put here before it is sent, and stays: what the chain loses again is sent from here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from voile_base.errors import InputError
from voile_share.chain.journal import ChainJournal
from voile_share.store.heads import ChainedEntry
from voile_share.store.records import Entry

__all__ = ["Mirror", "MirroredReport", "report_in"]

_REPORTS = "SELECT truck, slot, number, message, block FROM reports WHERE refused IS NULL AND "


@dataclass(frozen=True)
class MirroredReport:
    """A report."""

    truck: bytes
    slot: int
    number: int
    """In the truck's chain of records."""
    message: bytes
    block: int | None = None
    """None where it is not on the chain."""

    @property
    def key(self) -> bytes:
        """Truck and slot."""
        return self.truck + self.slot.to_bytes(4, "big")

    @property
    def entry(self) -> Entry:
        """Without state."""
        return Entry(self.truck, self.slot, self.message)


def report_in(truck: bytes, slot: int, message: bytes, block: int | None) -> MirroredReport | None:
    """A report of this place; None for what is none: the contract does not look inside."""
    try:
        arrival = ChainedEntry.of(Entry(truck, slot, message))
    except InputError:
        return None
    return MirroredReport(truck, slot, arrival.number, message, block)


class Mirror(ChainJournal):
    """Reports by truck and slot."""

    kind = "reports"
    schema = """
        CREATE TABLE IF NOT EXISTS reports (
            truck BLOB NOT NULL, slot INTEGER NOT NULL, number INTEGER NOT NULL,
            message BLOB NOT NULL, block INTEGER, refused TEXT, PRIMARY KEY (truck, slot));
        CREATE INDEX IF NOT EXISTS by_slot ON reports (slot, truck);
        CREATE INDEX IF NOT EXISTS by_number ON reports (truck, number);
        CREATE INDEX IF NOT EXISTS under_way ON reports (slot) WHERE block IS NULL
    """

    def add(self, reports: Iterable[MirroredReport]) -> None:
        """Keep what is about to be sent, durably, all in one step."""
        with self.writing() as connection:
            self.keep(connection, reports)

    def keep(self, connection: sqlite3.Connection, reports: Iterable[MirroredReport]) -> None:
        """What the chain shows takes the place of what was meant to go there."""
        connection.executemany(
            "INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?, ?, NULL)",
            [(one.truck, one.slot, one.number, one.message, one.block) for one in reports],
        )

    def forget_after(self, connection: sqlite3.Connection, number: int) -> None:
        """They are on their way again."""
        connection.execute("UPDATE reports SET block = NULL WHERE block > ?", (number,))

    def refuse(self, report: MirroredReport, reason: str) -> None:
        """It will not come on the chain, unless it is there."""
        place = (reason, report.truck, report.slot, report.message)
        with self.writing() as connection:
            connection.execute(
                "UPDATE reports SET refused = ? WHERE truck = ? AND slot = ? AND message = ? "
                "AND block IS NULL",
                place,
            )

    def refused(self) -> Sequence[tuple[bytes, int, str]]:
        """What never came on the chain: truck, slot and reason."""
        query = "SELECT truck, slot, refused FROM reports WHERE refused IS NOT NULL ORDER BY slot"
        return [(bytes(truck), int(slot), str(why)) for truck, slot, why in self.rows(query)]

    def under_way(self) -> Sequence[MirroredReport]:
        """Reports that are not on the chain, in the order of slots."""
        return self._kept("block IS NULL ORDER BY slot, truck")

    def find(self, truck: bytes, slot: int) -> MirroredReport | None:
        """The report of a slot, on the chain or on its way."""
        return _first(self._kept("truck = ? AND slot = ?", truck, slot))

    def last(self, truck: bytes) -> MirroredReport | None:
        """The last report of a truck, on the chain or on its way."""
        return _first(self._kept("truck = ? ORDER BY slot DESC LIMIT 1", truck))

    def after(self, truck: bytes, slot: int, limit: int) -> Sequence[MirroredReport]:
        """Reports on the chain, ascending by slot."""
        where = "block IS NOT NULL AND truck = ? AND slot > ? ORDER BY slot LIMIT ?"
        return self._kept(where, truck, slot, limit)

    def numbered(self, truck: bytes, number: int, limit: int) -> Sequence[MirroredReport]:
        """Reports on the chain whose records have this number or a later one."""
        where = "block IS NOT NULL AND truck = ? AND number >= ? ORDER BY number, slot LIMIT ?"
        return self._kept(where, truck, number, limit)

    def in_slots(
        self, first: int, last: int, limit: int, after: tuple[int, bytes]
    ) -> Sequence[MirroredReport]:
        """Reports on the chain, ascending by slot and truck."""
        where = (
            "block IS NOT NULL AND slot BETWEEN ? AND ? AND (slot, truck) > (?, ?) "
            "ORDER BY slot, truck LIMIT ?"
        )
        return self._kept(where, first, last, *after, limit)

    def _kept(self, where: str, *values: object) -> Sequence[MirroredReport]:
        return [MirroredReport(*row) for row in self.rows(_REPORTS + where, *values)]


def _first(found: Sequence[MirroredReport]) -> MirroredReport | None:
    return found[0] if found else None
