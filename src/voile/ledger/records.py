"""Histories as records of the ledger, each sealed by a hash that the next one continues.

A version is stored as nine arrays, its parts (module ``parts``), each with a seal of its own.

Seals (SHA-256).  The seal of a version covers its number, release id, date, the seals of its
lasting parts and the seal of the version before it; that of the first version continues the seal
of the series' name, key and terms.  The head of a series covers the seal of its newest version,
the held marks, which versions are known to stand, and the releases that were lost (``lost``).
So a record that was changed, removed or exchanged is found, the newest one
included.  Held marks stand outside the chain because they are deleted when the next version
comes: a hash of a handful of marks that stayed behind would tell whoever has the key which rows
they were.

The seals find accidents and edits.  They do not stop an owner of the file who computes them anew,
nor show that the whole file was replaced by an older copy; the published releases do
(``Ledger.verify_release``).

Cost: one hash over the bytes of a version on commit, over those of all versions on reading.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from voile.ledger.chunks import framed
from voile.ledger.formats import KNOWS_OUTCOMES, format_of
from voile.ledger.lost import read_lost
from voile.ledger.parts import Part, read_parts, write_part
from voile.release.history import Blocks, History, RowMarks, SeriesTerms, Version
from voile.schema.numbers import ExactNumbers

__all__ = [
    "Series",
    "VersionRecord",
    "append",
    "find_release",
    "find_series",
    "read_blocks",
    "read_history",
    "series_names",
    "update_head",
    "version_records",
    "write_held",
]

_LASTING = ("low", "high", "rows", "distinct", "batch", "published", "published.contents")
_HELD = ("held", "held.contents")

_Array = NDArray[Any]


@dataclass(frozen=True)
class Series:
    """The record of one series, without its versions."""

    id: int
    key: bytes
    terms: SeriesTerms
    origin: bytes
    """The seal that the first version continues."""
    head: bytes


@dataclass(frozen=True)
class VersionRecord:
    """The record of one version, without its arrays."""

    id: int
    number: int
    release_id: str
    created: str
    published: int
    """Rows first published in it."""
    held: int | None
    """Rows held back; None where a newer version took their place."""
    stands: int | None
    """1 where its folder is known to have appeared, else 0; None where an older Voile committed."""


def find_series(connection: sqlite3.Connection, name: str) -> Series | None:
    """The record of a series by its name; raises ``ValueError`` for terms beyond reading."""
    row = connection.execute(
        "SELECT id, key, terms, head FROM series WHERE name = ?", (name,)
    ).fetchone()
    if row is None:
        return None
    id_, key, terms, head = row
    return Series(id_, key, _terms_of(name, terms), _seal_of_origin(name, key, terms), head)


def series_names(connection: sqlite3.Connection) -> list[str]:
    """The names of all series, in order."""
    return [name for (name,) in connection.execute("SELECT name FROM series ORDER BY name")]


def version_records(connection: sqlite3.Connection, series: Series) -> list[VersionRecord]:
    """The versions of a series, oldest first."""
    stands = "stands" if format_of(connection) >= KNOWS_OUTCOMES else "NULL"
    query = f"""
        SELECT version.id, number, release_id, created, published.length, held.length, {stands}
        FROM version
        LEFT JOIN part AS published ON published.version = version.id
            AND published.name = 'published'
        LEFT JOIN part AS held ON held.version = version.id AND held.name = 'held'
        WHERE series = ? ORDER BY number"""  # noqa: S608 - one of two words
    return [VersionRecord(*row) for row in connection.execute(query, (series.id,))]


def find_release(connection: sqlite3.Connection, release_id: str) -> tuple[str, int, int] | None:
    """Series, number and record id of the version with this release id."""
    query = """
        SELECT name, number, version.id FROM version JOIN series ON series.id = series
        WHERE release_id = ?"""
    row: tuple[str, int, int] | None = connection.execute(query, (release_id,)).fetchone()
    return row


def append(connection: sqlite3.Connection, history: History) -> None:
    """Store the newest version of a history whose earlier versions are stored already.

    Held marks of earlier versions are deleted.  Raises ``ValueError`` for arrays of other types
    than ``History`` states, and ``sqlite3.Error``.
    """
    version = history.versions[-1]
    _refuse_ragged(version.blocks)
    series, previous = _series_for(connection, history)
    cursor = connection.execute(
        "INSERT INTO version (series, number, release_id, created, seal, stands) "
        "VALUES (?, ?, ?, ?, x'', 0)",
        (series, version.number, version.release_id, version.created),
    )
    seals = {
        name: write_part(connection, cursor.lastrowid, name, array, scale)
        for name, array, scale in _parts_of(version)
    }
    seal = _seal_of_version(previous, version.number, version.release_id, version.created, seals)
    connection.execute("UPDATE version SET seal = ? WHERE id = ?", (seal, cursor.lastrowid))
    connection.execute(
        "DELETE FROM part WHERE name IN (?, ?) AND version IN "
        "(SELECT id FROM version WHERE series = ? AND number < ?)",
        (*_HELD, series, version.number),
    )
    update_head(connection, history.terms.name)


def write_held(connection: sqlite3.Connection, version: int, held: RowMarks) -> None:
    """Store the held marks of a version record that has none; its head is the caller's concern."""
    write_part(connection, version, "held", held.identities, 0)
    write_part(connection, version, "held.contents", held.contents, 0)


def update_head(connection: sqlite3.Connection, name: str) -> None:
    """Seal what is stored of a series anew."""
    series = find_series(connection, name)
    assert series is not None, "it was stored in the same transaction"
    version, seal = connection.execute(
        "SELECT id, seal FROM version WHERE series = ? ORDER BY number DESC LIMIT 1", (series.id,)
    ).fetchone() or (None, series.origin)
    query = "SELECT name, seal FROM part WHERE version = ? AND name IN (?, ?)"
    seals = dict(connection.execute(query, (version, *_HELD)).fetchall())
    _, lost = read_lost(connection, series.id, name, lambda what: None)
    head = _seal_of_head(_standing(connection, series), lost, seal, seals)
    connection.execute("UPDATE series SET head = ? WHERE id = ?", (head, series.id))


def read_history(
    connection: sqlite3.Connection, series: Series, broken: Callable[[str], None]
) -> History:
    """The whole history of a series; ``broken`` is told about every seal that does not hold.

    It has no versions where all that was committed was lost.

    Raises ``ValueError`` where a record is missing or cannot be read at all.
    """
    versions: list[Version] = []
    seal, seals = series.origin, dict[str, bytes]()
    _, lost = read_lost(connection, series.id, series.terms.name, broken)
    rows = connection.execute(
        "SELECT id, number, release_id, created, seal FROM version WHERE series = ? "
        "ORDER BY number",
        (series.id,),
    ).fetchall()
    for id_, number, release_id, created, stored in rows:
        newest = id_ == rows[-1][0]
        try:
            parts = read_parts(connection, id_, (*_LASTING, *_HELD) if newest else _LASTING)
        except ValueError as error:
            msg = f"version {number}: {error}"
            raise ValueError(msg) from error
        for name, part in parts.items():
            if part.changed:
                broken(f"version {number}: the record {name!r} was changed")
        seals = {name: part.seal for name, part in parts.items()}
        seal = _seal_of_version(seal, number, release_id, created, seals)
        if seal != stored:
            broken(f"version {number}: its seal does not match it and the versions before it")
        versions.append(_version_of(number, release_id, created, parts))
    if _seal_of_head(_standing(connection, series), lost, seal, seals) != series.head:
        broken("the head of the series does not match its newest version: one was changed or lost")
    return History(series.terms, series.key, tuple(versions))


def read_blocks(connection: sqlite3.Connection, version: int) -> Blocks:
    """The blocks of the version record with this id; raises ``ValueError`` as above."""
    return _blocks_of(read_parts(connection, version, _LASTING[:5]))


def _parts_of(version: Version) -> Iterator[tuple[str, _Array, int]]:
    """Name, array and scale of each part of a version."""
    blocks = version.blocks
    yield "low", blocks.low.units, blocks.low.scale
    yield "high", blocks.high.units, blocks.high.scale
    yield "rows", blocks.rows, 0
    yield "distinct", blocks.distinct, 0
    yield "batch", blocks.batch, 0
    yield "published", version.published.identities, 0
    yield "published.contents", version.published.contents, 0
    yield "held", version.held.identities, 0
    yield "held.contents", version.held.contents, 0


def _version_of(number: int, release_id: str, created: str, parts: dict[str, Part]) -> Version:
    def marks(name: str) -> RowMarks:
        return RowMarks(parts[name].array, parts[f"{name}.contents"].array)

    return Version(
        number=number,
        release_id=release_id,
        created=created,
        blocks=_blocks_of(parts),
        published=marks("published"),
        held=marks("held") if "held" in parts else RowMarks(),
    )


def _blocks_of(parts: dict[str, Part]) -> Blocks:
    blocks = Blocks(
        low=ExactNumbers(parts["low"].array, parts["low"].scale),
        high=ExactNumbers(parts["high"].array, parts["high"].scale),
        rows=parts["rows"].array,
        distinct=parts["distinct"].array,
        batch=parts["batch"].array,
    )
    _refuse_ragged(blocks)
    return blocks


def _refuse_ragged(blocks: Blocks) -> None:
    columns = (blocks.low, blocks.high, blocks.rows, blocks.distinct, blocks.batch)
    if len({len(column) for column in columns}) > 1:
        msg = "the arrays of its blocks differ in length"
        raise ValueError(msg)


def _series_for(connection: sqlite3.Connection, history: History) -> tuple[int, bytes]:
    """The id of a history's series, new or stored, and the seal that its next version continues."""
    name, terms = history.terms.name, _terms_text(history.terms)
    origin = _seal_of_origin(name, history.key, terms)
    series = find_series(connection, name)
    if series is None:
        cursor = connection.execute(
            "INSERT INTO series (name, key, terms, head) VALUES (?, ?, ?, x'')",
            (name, history.key, terms),
        )
        return int(cursor.lastrowid or 0), origin
    if history.latest and history.latest.number == 1:  # what there was before was lost
        connection.execute(
            "UPDATE series SET key = ?, terms = ? WHERE id = ?", (history.key, terms, series.id)
        )
        return series.id, origin
    (seal,) = connection.execute(
        "SELECT seal FROM version WHERE series = ? AND number < ? ORDER BY number DESC LIMIT 1",
        (series.id, history.next_number),
    ).fetchone() or (series.origin,)
    return series.id, seal


def _terms_text(terms: SeriesTerms) -> str:
    return json.dumps(
        {
            "method": dict(terms.method),
            "columns": dict(terms.columns),
            "roles": {role: list(columns) for role, columns in terms.roles.items()},
            "record_key": terms.record_key,
        }
    )


def _terms_of(name: str, text: str) -> SeriesTerms:
    try:
        document = json.loads(text)
        return SeriesTerms(
            name=name,
            method=document["method"],
            columns=document["columns"],
            roles={role: tuple(columns) for role, columns in document["roles"].items()},
            record_key=document["record_key"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        msg = "the terms of the series cannot be read"
        raise ValueError(msg) from error


def _seal_of_origin(name: str, key: bytes, terms: str) -> bytes:
    return hashlib.sha256(framed("series", name, key.hex(), terms)).digest()


def _seal_of_version(
    previous: bytes, number: int, release_id: str, created: str, seals: dict[str, bytes]
) -> bytes:
    lasting = b"".join(seals[name] for name in _LASTING)
    return hashlib.sha256(
        framed("version", number, release_id, created) + previous + lasting
    ).digest()


def _standing(connection: sqlite3.Connection, series: Series) -> list[int]:
    """The numbers of the versions that are known to stand."""
    return [version.number for version in version_records(connection, series) if version.stands]


def _seal_of_head(
    standing: list[int], lost: bytes, version: bytes, seals: dict[str, bytes]
) -> bytes:
    """Over the newest version, or the origin without any, and what stands outside the chain."""
    outcomes = (standing, lost.hex()) if standing or lost else ()
    held = b"".join(seals[name] for name in _HELD if name in seals)
    return hashlib.sha256(framed("head", *outcomes) + version + held).digest()
