"""Roots of a company on this side, and the leaves under them: hashes alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from voile.sharing.chain.contract import Anchored
from voile.sharing.chain.journal import Journal
from voile.sharing.chain.merkle import Inclusion, path_of, root_of

__all__ = ["Anchors", "Leaf", "Root"]


@dataclass(frozen=True)
class Leaf:
    """The hash of a report's record, and whose it is."""

    truck: bytes
    slot: int
    leaf: bytes


@dataclass(frozen=True)
class Root:
    """A root that was made."""

    row: int
    root: bytes
    slot: int
    """The latest of its reports'."""


class Anchors(Journal):
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

    def intend(self, leaves: Iterable[Leaf]) -> None:
        """These are about to be put into the other log, and then under a root."""
        rows = [(one.truck, one.slot, one.leaf) for one in leaves]
        with self.writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO intents VALUES (?, ?, ?)", rows)

    def intended(self) -> Sequence[Leaf]:
        """What a crash has left between the two."""
        rows = self.rows("SELECT truck, slot, leaf FROM intents ORDER BY slot, truck")
        return [Leaf(*row) for row in rows]

    def gather(self, leaves: Sequence[Leaf]) -> None:
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

    def under_way(self) -> Sequence[Root]:
        """Roots that are not on the chain, the first made first."""
        rows = self.rows("SELECT id, root, slot FROM roots WHERE block IS NULL ORDER BY id")
        return [Root(*row) for row in rows]

    def roots_over(self, leaves: Iterable[Leaf]) -> frozenset[bytes]:
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
        return Inclusion(number, place, len(leaves), path_of(leaves, place))

    def _root_of(self, leaf: Leaf) -> bytes | None:
        found = self.rows(
            "SELECT roots.root FROM leaves JOIN roots ON roots.id = leaves.root "
            "WHERE truck = ? AND leaves.slot = ? AND leaf = ?",
            leaf.truck,
            leaf.slot,
            leaf.leaf,
        )
        return bytes(found[0][0]) if found else None
