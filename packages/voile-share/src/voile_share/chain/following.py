"""Events of a contract, read once and in order, through reorganisations.

A journal remembers the hashes of blocks up to which it was read.  Where the newest of them is not
in the chain any more, because of a reorganisation or of a node that lost its last blocks, what was
found after the last common one is taken back, and the chain is read again from there.

Cost: two requests where nothing is new; else one for each span of blocks, of 2,000 at most, halved
where a node finds that too much.

A file of SQLite for what is kept on this side of a chain, and how far the chain was read.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, Generic, Protocol, TypeVar

from voile_base.errors import InputError
from voile_share.chain.contract import Contract, Deployment
from voile_share.chain.interface import Block, ChainError, NotTakenError
from voile_share.store.protocols import StoreError

__all__ = ["ChainJournal", "Follower", "span"]


_VERSION = 1
_KEPT_BLOCKS = 10_000
_COMMON = """
CREATE TABLE IF NOT EXISTS belongs (version INTEGER, chain INTEGER, address BLOB, kind TEXT);
CREATE TABLE IF NOT EXISTS blocks (number INTEGER PRIMARY KEY, hash BLOB NOT NULL);
"""


class ChainJournal:
    """One connection; may be shared by threads, which take turns.

    ``path`` None keeps everything in memory.  Raises ``InputError`` for the file of another
    contract or another kind, and ``StoreError`` where the file cannot be used.
    """

    kind = ""
    schema = ""

    def __init__(self, path: Path | None, deployment: Deployment) -> None:
        self.path = path
        self._lock = RLock()
        if path is not None:
            # SQLite would choose who may read a new one; what it says of others is clear enough.
            with suppress(OSError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path, isolation_level=None, check_same_thread=False
            )
            # Durable at commit: what is acknowledged must be sent again after a crash.
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            with self.writing():
                for statement in (_COMMON + self.schema).split(";"):
                    self._connection.execute(statement)
                self._check(deployment)
        except sqlite3.Error as error:
            raise self._failed(error) from None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, durable at its end; raises ``StoreError``, having changed nothing."""
        connection = self._connection
        with self._lock:
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._failed(error) from None
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """All answers; raises ``StoreError``."""
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    # How far the chain was read

    def seen(self, limit: int = _KEPT_BLOCKS) -> Sequence[Block]:
        """Blocks up to which it was read, the newest first."""
        query = "SELECT number, hash FROM blocks ORDER BY number DESC LIMIT ?"
        return [Block(*row) for row in self.rows(query, limit)]

    def newest(self) -> Block | None:
        """The last of them."""
        found = self.seen(1)
        return found[0] if found else None

    def note(self, connection: sqlite3.Connection, block: Block) -> None:
        """The chain was read up to here."""
        connection.execute(
            "INSERT OR REPLACE INTO blocks VALUES (?, ?)", (block.number, block.hash)
        )
        connection.execute("DELETE FROM blocks WHERE number <= ?", (block.number - _KEPT_BLOCKS,))

    def roll_back(self, number: int) -> None:
        """Blocks after a number are not in the chain any more."""
        with self.writing() as connection:
            connection.execute("DELETE FROM blocks WHERE number > ?", (number,))
            self.forget_after(connection, number)

    def forget_after(self, connection: sqlite3.Connection, number: int) -> None:
        """What was found in blocks after a number is not on the chain now."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _check(self, deployment: Deployment) -> None:
        own = (_VERSION, deployment.chain, deployment.address, self.kind)
        found = self._connection.execute("SELECT * FROM belongs").fetchall()
        if not found:
            self._connection.execute("INSERT INTO belongs VALUES (?, ?, ?, ?)", own)
        elif found != [own]:
            msg = f"{self.path} belongs to another contract, chain or mode: take another file"
            raise InputError(msg)

    def _failed(self, error: sqlite3.Error) -> StoreError:
        return StoreError(f"the file beside the chain cannot be used: {error}")


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_SPAN = 2_000
_TRIES = 5


class _Reads(Protocol[T_co]):
    """What is looked for, and what is done with it."""

    def __call__(self, first: int, last: int) -> Sequence[T_co]:
        """What there is in blocks first to last."""


def span(read: _Reads[T], first: int, last: int) -> tuple[int, Sequence[T]]:
    """What there is from ``first`` on, and the block up to which the node answers at once."""
    end = min(first + _SPAN - 1, last)
    while True:
        try:
            return end, read(first, end)
        except NotTakenError:
            if end == first:
                raise
            end = first + (end - first) // 2


class Follower(Generic[T]):
    """Keeps a journal abreast of the chain."""

    def __init__(
        self,
        contract: Contract,
        journal: ChainJournal,
        read: _Reads[T],
        keep: Callable[[sqlite3.Connection, Sequence[T]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._contract = contract
        self._journal = journal
        self._read = read
        self._keep = keep
        self._clock = clock
        self._lock = RLock()
        self._checked = False
        self._last = float("-inf")

    def look(self, freshness: float) -> None:
        """Read what is new unless that was done less than so many seconds ago.

        What was on the chain can be read while the node is away; raises ``ChainError`` where
        nothing was ever read.
        """
        if self._clock() - self._last < freshness:
            return
        try:
            self.refresh()
        except ChainError:
            if self._journal.newest() is None:
                raise

    def refresh(self) -> None:
        """Read what is new; raises ``ChainError``."""
        with self._lock:
            self._check()
            for _ in range(_TRIES):
                if self._abreast():
                    self._last = self._clock()
                    return
        msg = "the chain is being reorganised: try again"
        raise ChainError(msg)

    def _abreast(self) -> bool:
        """False where the chain changed under the reading."""
        chain, start = self._contract.chain, self._contract.deployment.block
        head = chain.head()
        seen = self._journal.newest()
        if seen == head:
            return True
        if seen is not None and chain.block(seen.number) != seen:
            self._journal.roll_back(self._common())
            self._checked = False
            self._check()
            seen = self._journal.newest()
        first = start if seen is None else seen.number + 1
        while first <= head.number:
            end, found = span(self._read, first, head.number)
            block = chain.block(end)
            if block is None or chain.block(head.number) != head:
                return False
            with self._journal.writing() as connection:
                self._keep(connection, found)
                self._journal.note(connection, block)
            first = end + 1
        return True

    def _common(self) -> int:
        """The last block that the chain and the journal share."""
        chain = self._contract.chain
        for block in self._journal.seen():
            if chain.block(block.number) == block:
                return block.number
        return self._contract.deployment.block - 1

    def _check(self) -> None:
        """The node may have been given another chain, or have lost the one it had."""
        if self._checked:
            return
        chain, deployment = self._contract.chain, self._contract.deployment
        if chain.identity() != deployment.chain:
            msg = f"the node shows chain {chain.identity()}, the contract is on {deployment.chain}"
            raise ChainError(msg)
        if not chain.has_code(deployment.address):
            msg = "the node shows no contract at its address: it is behind, or has lost its chain"
            raise ChainError(msg)
        self._checked = True
