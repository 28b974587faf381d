"""Bytes of any length as records: in chunks well below SQLite's limit of 10**9 bytes per value.

A table of chunks has the columns ``owner``, ``position`` and ``bytes``, whatever the first is
called; what is stored for one owner comes back in order.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["PART_CHUNKS", "TRIP_CHUNKS", "ChunkTable", "framed"]

_CHUNK = 2**24


@dataclass(frozen=True)
class ChunkTable:
    """A table that holds the bytes of the records of another one."""

    name: str
    owner: str
    """The column that names the record whose bytes a chunk holds."""

    def write(self, connection: sqlite3.Connection, owner: int | None, data: memoryview) -> None:
        """Store the bytes of a record that has none yet."""
        connection.executemany(
            f"INSERT INTO {self.name} ({self.owner}, position, bytes) VALUES (?, ?, ?)",  # noqa: S608 - names of the schema
            (
                (owner, position, data[start : start + _CHUNK])
                for position, start in enumerate(range(0, len(data), _CHUNK))
            ),
        )

    def read(self, connection: sqlite3.Connection, owner: int) -> Iterator[bytes]:
        """The bytes of a record, chunk by chunk."""
        query = f"SELECT bytes FROM {self.name} WHERE {self.owner} = ? ORDER BY position"  # noqa: S608
        for (chunk,) in connection.execute(query, (owner,)):
            yield chunk


PART_CHUNKS = ChunkTable("chunk", "part")
TRIP_CHUNKS = ChunkTable("trip_chunk", "entry")


def framed(*fields: object) -> bytes:
    """Fields as bytes from which they can be told apart."""
    return json.dumps(fields).encode("ascii") + b"\n"
