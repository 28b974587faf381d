"""A log of reports beside the chain, whose roots are on it: mode ``anchor``.

What it does: reports go into another log, such as a database; for each batch that is appended the
company anchors the root of a tree over the reports' records.  Whoever has a report, and the
``inclusion`` that this log gives for it, finds out with a node of their own that it was anchored,
and under which slot (``reading.check_anchored``).

Guarantee: when ``append`` has returned, the reports are in the other log, durably, and the root
over them is mined, ``terms`` deep.  No report is anchored under a slot that is before one anchored
already: what is put in later shows that it is late.  What the chain loses again is anchored again;
an inclusion may have another number then.  The contract does not see single reports, so that slots
move forward, and that chains of records do not fork, is for the other log and for readers.

The order of ``append``: look at the chain; try an anchor on the node without sending it, so that
what the contract refuses changes nothing; note what is intended; the other log; the root; send;
wait.  After a crash anywhere in between, the next ``append`` or ``settle`` finishes it.
``ChainError`` means here, too, that the reports may be in the log and will be anchored.

States are the other log's business, which saves them in one step with the reports.

Cost: one transaction of about 31,600 gas for each batch, whatever its size (48,700 for the first);
the hashes of all records, in a file of 100 bytes for each report.

Roots of a company, and the leaves under them, are kept on this side: hashes alone.

Trees of records: a root for many, and a proof that one is among them.

Source: RFC 9162, section 2.1 (Certificate Transparency), with SHA-256: leaves and nodes are hashed
under different first bytes, and no leaf is counted twice, so that a root has one meaning.  A leaf
is a report's record (``protocol.Record``, encoded), which holds a digest of the report's body: one
proof serves readers, who have the report, and auditors, who have the record.

Cost: n hashes for a root, log2 n for a proof.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Self

from voile_base.errors import InputError
from voile_share.chain.contract import (
    Anchored,
    Block,
    Chain,
    ChainError,
    ChainSigner,
    Contract,
    Deployment,
    RevertedError,
    TransactionTerms,
    address_of,
)
from voile_share.chain.delivery import ChainJournal, Delivery, Follower, Look, Outgoing
from voile_share.store.log import ChainedEntry
from voile_share.store.protocols import Appended, Entry, ReportLog

__all__ = ["AnchorLog", "Inclusion", "leaf_of", "root_of", "verify_inclusion"]


_HASH_BYTES = 32
_HEAD_BYTES = 8 + 4 + 4


def leaf_of(record: bytes) -> bytes:
    """The hash of a record."""
    return sha256(b"\0" + record).digest()


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root of the hashes of one record or more."""
    level = list(leaves)
    while len(level) > 1:
        level = _above(level)
    return level[0]


def _path_of(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """What stands beside a leaf on its way to the root, from below."""
    level, path = list(leaves), []
    while len(level) > 1:
        beside = index ^ 1
        if beside < len(level):
            path.append(level[beside])
        level, index = _above(level), index // 2
    return tuple(path)


def _above(level: Sequence[bytes]) -> list[bytes]:
    """The hashes of pairs; one that is left over goes up as it is."""
    pairs = [_node(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
    return pairs + list(level[len(pairs) * 2 :])


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


@dataclass(frozen=True)
class Inclusion:
    """Where a record is: which root of its truck's company, and its path there."""

    number: int
    """Of the root."""
    index: int
    """Of the leaf, from 0."""
    size: int
    """How many leaves the tree has."""
    path: tuple[bytes, ...]

    def root(self, leaf: bytes) -> bytes | None:
        """The root to which a leaf leads; None where the path cannot be one of such a tree."""
        index, last, found, left = self.index, self.size - 1, leaf, list(reversed(self.path))
        if not 0 <= index <= last:
            return None
        while last > 0:
            # At the right edge of the tree a node without a neighbour goes up as it is.
            if index % 2 or index < last:
                if not left:
                    return None
                beside = left.pop()
                found = _node(beside, found) if index % 2 else _node(found, beside)
            index, last = index // 2, last // 2
        return None if left else found

    def encode(self) -> bytes:
        """16 bytes, and 32 for each level."""
        head = (self.number.to_bytes(8, "big"), self.index.to_bytes(4, "big"))
        return b"".join((*head, self.size.to_bytes(4, "big"), *self.path))

    @classmethod
    def decode(cls, proof: bytes) -> Self:
        """Raises ``InputError``."""
        path, head = proof[_HEAD_BYTES:], proof[:_HEAD_BYTES]
        if len(head) < _HEAD_BYTES or len(path) % _HASH_BYTES or len(path) > 32 * _HASH_BYTES:
            msg = "a proof of inclusion has 16 bytes, and 32 for each of up to 32 levels"
            raise InputError(msg)
        number, index, size = (
            int.from_bytes(head[a:b], "big") for a, b in ((0, 8), (8, 12), (12, 16))
        )
        steps = (path[at : at + _HASH_BYTES] for at in range(0, len(path), _HASH_BYTES))
        return cls(number, index, size, tuple(steps))


def verify_inclusion(record: bytes, inclusion: Inclusion, root: bytes) -> bool:
    """Whether a record (``protocol.Record``, encoded) is under a root."""
    return inclusion.root(leaf_of(record)) == root


_TRIES = 5
_ANY_ROOT = b"\xff" * 32


class AnchorLog(ReportLog):
    """``ReportLog`` over another one; may be shared by threads.

    ``company`` is the account of the certified company that registered the trucks.  ``journal`` is
    a file of this log alone; None keeps it in memory, and then no inclusion outlives the process.
    ``turn`` is held while the account sends, for a process that sends other things from it, too.
    """

    def __init__(
        self,
        chain: Chain,
        deployment: Deployment,
        company: ChainSigner,
        beside: ReportLog,
        *,
        journal: Path | None = None,
        terms: TransactionTerms | None = None,
        turn: Lock | None = None,
    ) -> None:
        self._contract = Contract(chain, deployment)
        self._company = company
        self._beside = beside
        self._anchors = _Anchors(journal, deployment)
        self._terms = terms or TransactionTerms()
        self._delivery = Delivery(chain, deployment.address, self._terms)
        self._follower = Follower(self._contract, self._anchors, self._found, self._keep)
        self._appending = turn or Lock()

    # Writing

    def append(self, entries: Sequence[Entry]) -> Sequence[Appended]:
        """See ``ReportLog``, and above for what an error means.

        Raises ``InputError`` for an entry that is not its report, and ``RevertedError`` where the
        company may not anchor: nothing was changed by either.
        """
        leaves = [
            _Leaf(one.entry.truck, one.entry.slot, leaf_of(one.record))
            for one in map(ChainedEntry.of, entries)
        ]
        if not leaves:
            return []
        with self._appending:
            self._follower.refresh()
            trial = self._trial(max(one.slot for one in leaves))
            self._recover()
            self._anchors.intend(leaves)
            outcomes = self._beside.append(entries)
            there = dict.fromkeys(
                leaf
                for leaf, what in zip(leaves, outcomes, strict=True)
                if what in {Appended.NEW, Appended.KNOWN}
            )
            self._anchors.gather(list(there))
            self._send(trial, self._anchors.roots_over(there))
            return outcomes

    def settle(self) -> None:
        """Finish what a crash interrupted, and anchor again what the chain lost.

        ``append`` does that, too.  Call it at start.  Raises ``ChainError``.
        """
        with self._appending:
            self._follower.refresh()
            self._recover()
            waiting = self._anchors.under_way()
            if waiting:
                self._send(self._trial(0), frozenset(one.root for one in waiting))

    def waiting(self) -> int:
        """How many roots are on their way to the chain."""
        return len(self._anchors.under_way())

    def seen(self) -> Block | None:
        """The block up to which the journal was read; None before the first."""
        return self._anchors.newest()

    def forget(self, before: int) -> int:
        """See ``ReportLog``: what the other log drops.  Inclusions stay."""
        return self._beside.forget(before)

    # Reading

    def inclusion(self, truck: bytes, slot: int) -> Inclusion | None:
        """Where a report is anchored; None where it is not, or not yet."""
        self._follower.look(self._terms.freshness)
        return self._anchors.inclusion(truck, slot)

    def last(self, truck: bytes) -> Entry | None:
        """See ``ReportLog``."""
        return self._beside.last(truck)

    def after(self, truck: bytes, slot: int, limit: int) -> Sequence[Entry]:
        """See ``ReportLog``."""
        return self._beside.after(truck, slot, limit)

    def in_slots(
        self, first: int, last: int, limit: int, after: tuple[int, bytes] | None = None
    ) -> Sequence[Entry]:
        """See ``ReportLog``."""
        return self._beside.in_slots(first, last, limit, after)

    def records(self, truck: bytes, number: int, limit: int) -> Sequence[bytes]:
        """See ``ReportLog``."""
        return self._beside.records(truck, number, limit)

    def close(self) -> None:
        """Close the journal and the other log; the chain stays open."""
        with self._appending:
            self._anchors.close()
        self._beside.close()

    # Following the chain

    def _found(self, first: int, last: int) -> Sequence[Anchored]:
        return self._contract.roots(first, last, address_of(self._company))

    def _keep(self, connection: sqlite3.Connection, found: Sequence[Anchored]) -> None:
        self._anchors.keep(connection, found)

    # Anchoring

    def _recover(self) -> None:
        """What was intended is in the other log, or it is not."""
        intended = self._anchors.intended()
        if intended:
            self._anchors.gather([one for one in intended if self._is_beside(one)])

    def _is_beside(self, leaf: _Leaf) -> bool:
        found = self._beside.after(leaf.truck, leaf.slot - 1, 1)
        return bool(found) and leaf_of(ChainedEntry.of(found[0]).record) == leaf.leaf

    def _trial(self, slot: int) -> Outgoing:
        """The next anchor as it might be; raises ``RevertedError``."""
        number, last = self._contract.anchored(address_of(self._company))
        data = Contract.anchor(number, max(slot, last), _ANY_ROOT)
        return self._delivery.prepare(b"", self._company, data)

    def _send(self, trial: Outgoing, awaited: frozenset[bytes]) -> None:
        """Anchor the roots that are not on the chain, and wait for some of them."""
        for _ in range(_TRIES):
            outgoing = self._numbered(trial)
            waiting = frozenset(one.key for one in outgoing) & awaited
            delivered = self._delivery.deliver(partial(self._look, outgoing), waiting)
            if delivered.unfunded:
                msg = f"the company's account {self._company.address} has no money for gas"
                raise ChainError(msg)
            if not delivered.refused:
                return
            for reason in delivered.refused.values():
                if reason not in {"replayed", "backward", "failed"}:
                    raise RevertedError(reason)
            # The numbers were taken by another process of the company, or the chain went back.
        msg = "others anchor for the same company at the same time: try again"
        raise ChainError(msg)

    def _numbered(self, trial: Outgoing) -> Sequence[Outgoing]:
        """Transactions of the roots that are not on the chain, numbered from the chain's next."""
        number, slot = self._contract.anchored(address_of(self._company))
        outgoing = []
        for index, one in enumerate(self._anchors.under_way()):
            slot = max(slot, one.slot)
            data = Contract.anchor(number + index, slot, one.root)
            outgoing.append(replace(trial, key=one.root, data=data))
        return outgoing

    def _look(self, outgoing: Sequence[Outgoing]) -> Look:
        self._follower.refresh()
        return Look.at(outgoing, self._anchors.places(one.key for one in outgoing))


@dataclass(frozen=True)
class _Leaf:
    """The hash of a report's record, and whose it is."""

    truck: bytes
    slot: int
    leaf: bytes


@dataclass(frozen=True)
class _Root:
    """A root that was made."""

    row: int
    root: bytes
    slot: int
    """The latest of its reports'."""


class _Anchors(ChainJournal):
    """Leaves by truck and slot."""

    kind = "roots"
    schema = """
        CREATE TABLE IF NOT EXISTS intents (
            truck BLOB NOT NULL, slot INTEGER NOT NULL, leaf BLOB NOT NULL,
            PRIMARY KEY (truck, slot, leaf)) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS roots (
            id INTEGER PRIMARY KEY, root BLOB NOT NULL UNIQUE, slot INTEGER NOT NULL,
            number INTEGER, block INTEGER);
        CREATE TABLE IF NOT EXISTS leaves (
            truck BLOB NOT NULL, slot INTEGER NOT NULL, leaf BLOB NOT NULL,
            root INTEGER NOT NULL REFERENCES roots (id), place INTEGER NOT NULL,
            PRIMARY KEY (truck, slot)) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS under_root ON leaves (root, place)
    """

    def intend(self, leaves: Iterable[_Leaf]) -> None:
        """These are about to be put into the other log, and then under a root."""
        rows = [(one.truck, one.slot, one.leaf) for one in leaves]
        with self.writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO intents VALUES (?, ?, ?)", rows)

    def intended(self) -> Sequence[_Leaf]:
        """What a crash has left between the two."""
        rows = self.rows("SELECT truck, slot, leaf FROM intents ORDER BY slot, truck")
        return [_Leaf(*row) for row in rows]

    def gather(self, leaves: Sequence[_Leaf]) -> None:
        """Put leaves that have no root under one, and forget all intents; in one step."""
        with self.writing() as connection:
            new = [one for one in leaves if self._root_of(one) is None]
            if new:
                root = root_of([one.leaf for one in new])
                cursor = connection.execute(
                    "INSERT INTO roots (root, slot) VALUES (?, ?)",
                    (root, max(one.slot for one in new)),
                )
                connection.executemany(
                    "INSERT INTO leaves VALUES (?, ?, ?, ?, ?)",
                    [
                        (one.truck, one.slot, one.leaf, cursor.lastrowid, index)
                        for index, one in enumerate(new)
                    ],
                )
            connection.execute("DELETE FROM intents")

    def under_way(self) -> Sequence[_Root]:
        """Roots that are not on the chain, the first made first."""
        rows = self.rows("SELECT id, root, slot FROM roots WHERE block IS NULL ORDER BY id")
        return [_Root(*row) for row in rows]

    def roots_over(self, leaves: Iterable[_Leaf]) -> frozenset[bytes]:
        """The roots of leaves."""
        return frozenset(root for one in leaves if (root := self._root_of(one)) is not None)

    def places(self, roots: Iterable[bytes]) -> dict[bytes, int]:
        """The blocks of those that are on the chain."""
        query = "SELECT block FROM roots WHERE root = ? AND block IS NOT NULL"
        found = ((root, self.rows(query, root)) for root in roots)
        return {root: int(rows[0][0]) for root, rows in found if rows}

    def keep(self, connection: sqlite3.Connection, found: Iterable[Anchored]) -> None:
        """What the chain shows.  Where a root is there twice, the first counts."""
        connection.executemany(
            "UPDATE roots SET number = ?, block = ? WHERE root = ? AND block IS NULL",
            [(one.number, one.block, one.root) for one in found],
        )

    def forget_after(self, connection: sqlite3.Connection, number: int) -> None:
        """They are to be anchored again."""
        connection.execute(
            "UPDATE roots SET number = NULL, block = NULL WHERE block > ?", (number,)
        )

    def inclusion(self, truck: bytes, slot: int) -> Inclusion | None:
        """Where a report is; None where its root is not on the chain."""
        found = self.rows(
            "SELECT roots.id, number, place FROM leaves JOIN roots ON roots.id = leaves.root "
            "WHERE truck = ? AND leaves.slot = ? AND block IS NOT NULL",
            truck,
            slot,
        )
        if not found:
            return None
        row, number, place = found[0]
        rows = self.rows("SELECT leaf FROM leaves WHERE root = ? ORDER BY place", row)
        leaves = [bytes(leaf) for (leaf,) in rows]
        return Inclusion(number, place, len(leaves), _path_of(leaves, place))

    def _root_of(self, leaf: _Leaf) -> bytes | None:
        found = self.rows(
            "SELECT roots.root FROM leaves JOIN roots ON roots.id = leaves.root "
            "WHERE truck = ? AND leaves.slot = ? AND leaf = ?",
            leaf.truck,
            leaf.slot,
            leaf.leaf,
        )
        return bytes(found[0][0]) if found else None
