"""A log of reports whose place is a contract: modes ``storage`` and ``log``.

What it does: every report is a transaction of its truck's account, which the contract admits or
not.  ``log`` publishes it as one event; ``storage`` puts it into the contract's storage, as the
paper does, at fifteen times the price.

Guarantee: when ``append`` has returned, the transaction of every new report is mined, ``terms``
deep.  What a reorganisation, a node that loses its last blocks, or a mempool drops after that is
noticed at the next ``append``, ``settle`` or reading, and sent again.  A report is on the chain
once: the contract takes no slot twice, and the message is looked for on the chain before it is
sent.

The order of ``append``: look at the chain; decide (``store.log``); try each new report on the
node without sending it, so that what the contract refuses (``RevertedError``) costs nothing and
changes nothing; save states by ``save_states``; keep the reports in the mirror, durably; send;
wait.
A crash before the mirror wastes a state, and a crash after it leaves reports that the next start
sends.  So, other than in a store, ``ChainError`` after that point (the node is away, gas is too
dear, an account is empty) does not mean that nothing happens: the reports stand in the mirror, are
what ``last`` gives, and will be sent; the same ``append`` again says that they are known once they
are on the chain.

The mirror is a file of SQLite, where readers are served from; it can be made again from the chain
at any time, but for reports on their way.  It holds nothing that is not public, or about to be.

Cost of ``append``: a few requests to the node for each report and block; waiting for the block.
Readings cost one request in ``terms.freshness`` seconds, for all of them together.

Reports of a contract on this side: those on the chain, and those on their way to it.

A report is put here before it is sent, and stays: what the chain loses again is sent from here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Lock

from voile_base.errors import InputError
from voile_share.chain.contract import (
    Block,
    Chain,
    ChainError,
    ChainSigner,
    Contract,
    Deployment,
    RevertedError,
    Sent,
    TransactionTerms,
)
from voile_share.chain.delivery import ChainJournal, Delivery, Follower, Look, Outgoing
from voile_share.store.log import ChainedEntry, Head, decide
from voile_share.store.protocols import Appended, Entry, ReportLog

__all__ = ["ChainLog", "Mode"]


_REPORTS = "SELECT truck, slot, number, message, block FROM reports WHERE refused IS NULL AND "


@dataclass(frozen=True)
class _MirroredReport:
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


def _report_in(
    truck: bytes, slot: int, message: bytes, block: int | None
) -> _MirroredReport | None:
    """A report of this place; None for what is none: the contract does not look inside."""
    try:
        arrival = ChainedEntry.of(Entry(truck, slot, message))
    except InputError:
        return None
    return _MirroredReport(truck, slot, arrival.number, message, block)


class _Mirror(ChainJournal):
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

    def add(self, reports: Iterable[_MirroredReport]) -> None:
        """Keep what is about to be sent, durably, all in one step."""
        with self.writing() as connection:
            self.keep(connection, reports)

    def keep(self, connection: sqlite3.Connection, reports: Iterable[_MirroredReport]) -> None:
        """What the chain shows takes the place of what was meant to go there."""
        connection.executemany(
            "INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?, ?, NULL)",
            [(one.truck, one.slot, one.number, one.message, one.block) for one in reports],
        )

    def forget_after(self, connection: sqlite3.Connection, number: int) -> None:
        """They are on their way again."""
        connection.execute("UPDATE reports SET block = NULL WHERE block > ?", (number,))

    def refuse(self, report: _MirroredReport, reason: str) -> None:
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

    def under_way(self) -> Sequence[_MirroredReport]:
        """Reports that are not on the chain, in the order of slots."""
        return self._kept("block IS NULL ORDER BY slot, truck")

    def find(self, truck: bytes, slot: int) -> _MirroredReport | None:
        """The report of a slot, on the chain or on its way."""
        return _first(self._kept("truck = ? AND slot = ?", truck, slot))

    def last(self, truck: bytes) -> _MirroredReport | None:
        """The last report of a truck, on the chain or on its way."""
        return _first(self._kept("truck = ? ORDER BY slot DESC LIMIT 1", truck))

    def after(self, truck: bytes, slot: int, limit: int) -> Sequence[_MirroredReport]:
        """Reports on the chain, ascending by slot."""
        where = "block IS NOT NULL AND truck = ? AND slot > ? ORDER BY slot LIMIT ?"
        return self._kept(where, truck, slot, limit)

    def numbered(self, truck: bytes, number: int, limit: int) -> Sequence[_MirroredReport]:
        """Reports on the chain whose records have this number or a later one."""
        where = "block IS NOT NULL AND truck = ? AND number >= ? ORDER BY number, slot LIMIT ?"
        return self._kept(where, truck, number, limit)

    def in_slots(
        self, first: int, last: int, limit: int, after: tuple[int, bytes]
    ) -> Sequence[_MirroredReport]:
        """Reports on the chain, ascending by slot and truck."""
        where = (
            "block IS NOT NULL AND slot BETWEEN ? AND ? AND (slot, truck) > (?, ?) "
            "ORDER BY slot, truck LIMIT ?"
        )
        return self._kept(where, first, last, *after, limit)

    def _kept(self, where: str, *values: object) -> Sequence[_MirroredReport]:
        return [_MirroredReport(*row) for row in self.rows(_REPORTS + where, *values)]


def _first(found: Sequence[_MirroredReport]) -> _MirroredReport | None:
    return found[0] if found else None


Accounts = Callable[[bytes], ChainSigner | None]
SaveStates = Callable[[Sequence[tuple[bytes, bytes]]], None]
_PAST = frozenset({"replayed", "backward"})
_THERE = frozenset({Appended.NEW, Appended.KNOWN})


class Mode(StrEnum):
    """What is on the chain."""

    STORAGE = "storage"
    LOG = "log"
    ANCHOR = "anchor"
    """Roots alone: ``AnchorLog``."""


class ChainLog(ReportLog):
    """``ReportLog`` of one contract; may be shared by threads.

    ``accounts`` gives the account of a truck, or None for trucks of others; ``save_states`` is
    ``Directory.save_states`` or the like.  ``mirror`` is a file of this log alone; None keeps it in
    memory, and then a crash leaves nothing to send again.
    """

    def __init__(  # noqa: PLR0913 - what a log stands on
        self,
        chain: Chain,
        deployment: Deployment,
        accounts: Accounts,
        mode: Mode = Mode.LOG,
        *,
        mirror: Path | None = None,
        save_states: SaveStates | None = None,
        terms: TransactionTerms | None = None,
        unregistered: Callable[[bytes], None] = lambda truck: None,
    ) -> None:
        """``unregistered`` is told of a truck whose account the contract does not know."""
        if mode is Mode.ANCHOR:
            msg = "mode anchor is an AnchorLog, which has another log beside it"
            raise InputError(msg)
        self._terms = terms or TransactionTerms()
        self._contract = Contract(chain, deployment)
        self._accounts = accounts
        self._call = Contract.store if mode is Mode.STORAGE else Contract.publish
        self._mirror = _Mirror(mirror, deployment)
        self._save_states = save_states
        self._unregistered = unregistered
        self._delivery = Delivery(chain, deployment.address, self._terms)
        self._follower = Follower(self._contract, self._mirror, self._found, self._keep)
        self._appending = Lock()

    # Writing

    def append(self, entries: Sequence[Entry]) -> Sequence[Appended]:
        """See ``ReportLog``, and above for what an error means.

        Raises ``InputError`` for an entry that is not its report or a truck without account,
        ``RevertedError`` where the contract refuses one: nothing was changed by either, unless a
        truck was retired just then.
        """
        arrivals = [ChainedEntry.of(entry) for entry in entries]
        if not arrivals:
            return []
        with self._appending:
            outcomes, new, outgoing = self._planned(arrivals)
            self._begin(new)
            there = (
                _kept(one).key
                for one, what in zip(arrivals, outcomes, strict=True)
                if what in _THERE
            )
            refused = self._deliver(outgoing, frozenset(there))
            return self._settled(arrivals, outcomes, refused)

    def settle(self) -> None:
        """Send again what is not on the chain and should be; raises ``ChainError``.

        ``append`` does that, too.  Call it at start, and now and then where little is appended.
        """
        with self._appending:
            self._follower.refresh()
            self._deliver([], frozenset(one.key for one in self._mirror.under_way()))

    def refused(self) -> Sequence[tuple[bytes, int, str]]:
        """Reports that were taken and that the contract refuses since: truck, slot, reason.

        That happens where a truck was retired, or another process published for it, meanwhile.
        """
        return self._mirror.refused()

    def waiting(self) -> int:
        """How many reports are on their way to the chain."""
        return len(self._mirror.under_way())

    def seen(self) -> Block | None:
        """The block up to which the mirror was read; None before the first."""
        return self._mirror.newest()

    def forget(self, before: int) -> int:
        """See ``ReportLog``: always 0."""
        return 0

    # Reading

    def last(self, truck: bytes) -> Entry | None:
        """See ``ReportLog``; it may be on its way."""
        self._look()
        found = self._mirror.last(truck)
        return None if found is None else found.entry

    def after(self, truck: bytes, slot: int, limit: int) -> Sequence[Entry]:
        """See ``ReportLog``."""
        self._look()
        return [one.entry for one in self._mirror.after(truck, slot, limit)]

    def in_slots(
        self, first: int, last: int, limit: int, after: tuple[int, bytes] | None = None
    ) -> Sequence[Entry]:
        """See ``ReportLog``."""
        self._look()
        found = self._mirror.in_slots(first, last, limit, after or (-1, b""))
        return [one.entry for one in found]

    def records(self, truck: bytes, number: int, limit: int) -> Sequence[bytes]:
        """See ``ReportLog``."""
        self._look()
        found = self._mirror.numbered(truck, number, limit)
        return [ChainedEntry.of(one.entry).record for one in found]

    def close(self) -> None:
        """Close the mirror; the chain stays open."""
        with self._appending:
            self._mirror.close()

    # Following the chain

    def _found(self, first: int, last: int) -> Sequence[_MirroredReport]:
        return [kept for one in self._contract.sent(first, last) if (kept := self._read(one))]

    def _read(self, sent: Sent) -> _MirroredReport | None:
        message = sent.message
        if message is None:
            message = self._contract.stored(sent.truck, sent.slot)
        return _report_in(sent.truck, sent.slot, message, sent.block)

    def _keep(self, connection: sqlite3.Connection, found: Sequence[_MirroredReport]) -> None:
        self._mirror.keep(connection, found)

    def _look(self) -> None:
        self._follower.look(self._terms.freshness)

    # Deciding and sending

    def _planned(
        self, arrivals: Sequence[ChainedEntry]
    ) -> tuple[Sequence[Appended], Sequence[ChainedEntry], Sequence[Outgoing]]:
        """What becomes of reports, those that are new, and their transactions."""
        for last_try in (False, True):
            self._follower.refresh()
            outcomes = self._decided(arrivals)
            new = [
                one for one, what in zip(arrivals, outcomes, strict=True) if what is Appended.NEW
            ]
            try:
                return outcomes, new, [self._prepared(_kept(one)) for one in new]
            except RevertedError as error:
                # Another process may have published for the truck since we looked.
                if last_try or error.reason not in _PAST:
                    raise
        raise AssertionError

    def _decided(self, arrivals: Sequence[ChainedEntry]) -> list[Appended]:
        heads: dict[bytes, Head] = {}
        records: dict[tuple[bytes, int], bytes] = {}
        for arrival in arrivals:
            truck = arrival.entry.truck
            if (last := self._mirror.last(truck)) is not None:
                heads[truck] = ChainedEntry.of(last.entry).head
            if (same := self._mirror.find(truck, arrival.entry.slot)) is not None:
                records[truck, same.number] = ChainedEntry.of(same.entry).record
        return decide(arrivals, heads, records)

    def _prepared(self, kept: _MirroredReport) -> Outgoing:
        account = self._accounts(kept.truck)
        if account is None:
            msg = f"there is no account to publish for truck {kept.truck.hex()}"
            raise InputError(msg)
        try:
            return self._delivery.prepare(kept.key, account, self._call(kept.message))
        except RevertedError as error:
            if error.reason == "unregistered":
                self._unregistered(kept.truck)
            raise

    def _begin(self, new: Sequence[ChainedEntry]) -> None:
        """States first: they may be ahead of reports, and never behind."""
        states = {one.entry.truck: one.entry.state for one in new if one.entry.state is not None}
        if states and self._save_states is not None:
            self._save_states(list(states.items()))
        if new:
            self._mirror.add(_kept(one) for one in new)

    def _deliver(self, new: Sequence[Outgoing], awaited: frozenset[bytes]) -> Mapping[bytes, str]:
        """Send everything that is not on the chain; why the contract refused some of it."""
        ready = {one.key: one for one in new}
        delivered = self._delivery.deliver(lambda: self._standing(ready, awaited), awaited)
        if delivered.refused:
            self._follower.refresh()  # "replayed" may have been its own landing
        under_way = {one.key: one for one in self._mirror.under_way()}
        for key, reason in delivered.refused.items():
            # For other reasons it waits: the truck may be registered again, or certified.
            if key in under_way and reason in _PAST:
                self._mirror.refuse(under_way[key], reason)
        if delivered.unfunded:
            names = ", ".join(sorted(delivered.unfunded))
            msg = f"accounts without money for gas: {names}; reports wait until they have some"
            raise ChainError(msg)
        return delivered.refused

    def _standing(self, ready: dict[bytes, Outgoing], awaited: frozenset[bytes]) -> Look:
        """What is on its way now, reports that the chain has lost meanwhile among them."""
        self._follower.refresh()
        under_way = self._mirror.under_way()
        refused: dict[bytes, str] = {}
        held: dict[bytes, str] = {}
        for one in under_way:
            if one.truck not in held and one.key not in ready:
                try:
                    ready[one.key] = self._prepared(one)
                except RevertedError as error:
                    refused[one.key] = error.reason
                    if error.reason not in _PAST:
                        held[one.truck] = error.reason
                except InputError:
                    held[one.truck] = "no-account"
            if one.truck in held:
                # It goes after those before it: the contract's slots only move forward.
                refused[one.key] = held[one.truck]
        waiting = {one.key for one in under_way}
        outgoing = [ready[one.key] for one in under_way if one.key not in refused]
        landed = [
            found
            for key in awaited - waiting
            if (found := self._mirror.find(key[:16], int.from_bytes(key[16:], "big"))) is not None
        ]
        places = {one.key: one.block for one in landed if one.block is not None}
        return Look(outgoing, places, refused)

    def _settled(
        self,
        arrivals: Sequence[ChainedEntry],
        outcomes: Sequence[Appended],
        refused: Mapping[bytes, str],
    ) -> Sequence[Appended]:
        """Another process may have published for a truck, or retired it, while we did."""
        settled = list(outcomes)
        for index, arrival in enumerate(arrivals):
            if outcomes[index] not in _THERE:
                continue
            entry = arrival.entry
            found = self._mirror.find(entry.truck, entry.slot)
            if found is None or found.block is None or found.message != entry.message:
                reason = refused.get(_kept(arrival).key)
                if reason is not None and reason not in _PAST:
                    raise RevertedError(reason)
                settled[index] = Appended.LATE
        return settled


def _kept(arrival: ChainedEntry) -> _MirroredReport:
    entry = arrival.entry
    return _MirroredReport(entry.truck, entry.slot, arrival.number, entry.message)
