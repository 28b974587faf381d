"""A file of SQLite for what is kept on this side of a chain, and how far the chain was read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from voile_base.errors import InputError
from voile_share.chain.contract import Deployment
from voile_share.chain.interface import Block
from voile_share.store.protocols import StoreError

__all__ = ["ChainJournal"]

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
