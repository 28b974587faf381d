"""Releases of series that were committed and never appeared: what is kept of them.

Nobody saw such a release, so no later one is compared with it: its groups and its marks of rows are
forgotten, and its number is given again.  That it was, and when it was settled, stays.

Seals (SHA-256).  The seal of a record covers the series, its fields and the seal of the record
before it; the head of the series (``records``) covers the newest.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from voile.ledger.chunks import framed

__all__ = ["LostVersion", "find_lost", "note_lost", "read_lost"]


@dataclass(frozen=True)
class LostVersion:
    """A release that nobody saw."""

    number: int
    """That it had, which the next release of its series got again."""
    release_id: str
    created: str
    """ISO 8601, UTC."""
    settled: str
    """When it was said to be lost; ISO 8601, UTC."""


def read_lost(
    connection: sqlite3.Connection, series: int, name: str, broken: Callable[[str], None]
) -> tuple[tuple[LostVersion, ...], bytes]:
    """The lost releases of a series, oldest first, and their newest seal, empty without any.

    ``broken`` hears of seals that fail.
    """
    query = """
        SELECT number, release_id, created, settled, seal FROM lost_version
        WHERE series = ? ORDER BY id"""
    found: list[LostVersion] = []
    seal = b""
    for *fields, stored in connection.execute(query, (series,)):
        lost = LostVersion(*fields)
        seal = _seal(seal, name, lost)
        if seal != stored:
            broken(f"the record of the lost release {lost.release_id} was changed")
        found.append(lost)
    return tuple(found), seal


def find_lost(connection: sqlite3.Connection, release_id: str) -> str | None:
    """The series that lost a release; None where none did."""
    query = """
        SELECT name FROM lost_version JOIN series ON series.id = series WHERE release_id = ?"""
    (name,) = connection.execute(query, (release_id,)).fetchone() or (None,)
    return name


def note_lost(connection: sqlite3.Connection, series: int, name: str, lost: LostVersion) -> None:
    """Store one more."""
    _, newest = read_lost(connection, series, name, lambda what: None)
    connection.execute(
        "INSERT INTO lost_version (series, number, release_id, created, settled, seal) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (
            series,
            lost.number,
            lost.release_id,
            lost.created,
            lost.settled,
            _seal(newest, name, lost),
        ),
    )


def _seal(previous: bytes, name: str, lost: LostVersion) -> bytes:
    fields = framed("lost", name, lost.number, lost.release_id, lost.created, lost.settled)
    return hashlib.sha256(fields + previous).digest()
