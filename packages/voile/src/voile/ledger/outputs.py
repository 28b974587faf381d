"""Tables that left a data set, as records of the ledger; what stands in them is not looked at here.

Seals (SHA-256).  The seal of an output covers its data set, number, name, date, content and the
seal of the output before it; the head of the outputs of a data set is the newest seal, stored once
more, so that an output that was changed, removed or exchanged is found, the newest one included.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from voile.ledger.row_sets import framed

__all__ = [
    "TableOutput",
    "append_outputs",
    "faults_of_outputs",
    "output_data_sets",
    "read_outputs",
]


@dataclass(frozen=True)
class TableOutput:
    """One table that left."""

    number: int
    """1 for the first of its data set."""
    name: str
    created: str
    """ISO 8601, UTC."""
    content: bytes
    """What it showed; private."""


def output_data_sets(connection: sqlite3.Connection) -> list[str]:
    """The data sets that tables left, by name."""
    query = "SELECT data_set FROM output_head ORDER BY data_set"
    return [name for (name,) in connection.execute(query)]


def read_outputs(
    connection: sqlite3.Connection, data_set: str, broken: Callable[[str], None]
) -> list[TableOutput]:
    """The tables that left a data set, oldest first; ``broken`` hears of seals that fail."""
    query = """
        SELECT number, name, created, content, seal FROM output WHERE data_set = ?
        ORDER BY number"""
    found: list[TableOutput] = []
    seal = b""
    for number, name, created, content, stored in connection.execute(query, (data_set,)):
        output = TableOutput(number, name, created, content)
        seal = _seal(seal, data_set, output)
        if seal != stored or number != len(found) + 1:
            broken(f"output {number} of data set {data_set!r} was changed, or one before it")
        found.append(output)
    if _head(connection, data_set) != seal:
        broken(f"the newest output of data set {data_set!r} was changed or lost")
    return found


def append_outputs(
    connection: sqlite3.Connection, data_set: str, outputs: Sequence[TableOutput]
) -> None:
    """Store further tables, whose numbers go on with those that are stored."""
    seal = _head(connection, data_set)
    for output in outputs:
        seal = _seal(seal, data_set, output)
        connection.execute(
            "INSERT INTO output (data_set, number, name, created, content, seal) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (data_set, output.number, output.name, output.created, output.content, seal),
        )
    connection.execute(
        "INSERT INTO output_head (data_set, seal) VALUES (?, ?) "
        "ON CONFLICT (data_set) DO UPDATE SET seal = excluded.seal",
        (data_set, seal),
    )


def faults_of_outputs(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Where seals fail, and what that says."""
    known = {name for (name,) in connection.execute("SELECT DISTINCT data_set FROM output")}
    for data_set in sorted(known.union(output_data_sets(connection))):
        broken: list[str] = []
        read_outputs(connection, data_set, broken.append)
        yield from ((f"data set {data_set!r}", what) for what in broken)


def _head(connection: sqlite3.Connection, data_set: str) -> bytes:
    query = "SELECT seal FROM output_head WHERE data_set = ?"
    (seal,) = connection.execute(query, (data_set,)).fetchone() or (b"",)
    return bytes(seal)


def _seal(previous: bytes, data_set: str, output: TableOutput) -> bytes:
    content = hashlib.sha256(output.content).hexdigest()
    fields = framed("output", data_set, output.number, output.name, output.created, content)
    return hashlib.sha256(fields + previous).digest()
