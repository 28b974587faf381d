"""Histories as records of the ledger, each sealed by a hash that the next one continues.

A version is stored as arrays, the blocks that it made and the numbers of those that it has no
more (``BlockLives`` numbers them in the order in which they are stored), and as data sets of marks
beside the ledger (module ``row_sets``), each with a seal of its own.  So a series costs its rows,
and not its releases times its rows.  Marks of versions that are known to stand, and so are never
lost, are folded from time to time: they stand in one data set, which has all of them.

What becomes of the newest release.  A committed release may have been seen until somebody says
otherwise, so the next one is compared with it all the same.  Of one that nobody saw, the series
forgets all that a comparison needs: its groups, and which rows it was the first to publish; its
number is given again, and that it was, and when it was settled, stays.  Those rows count as held
back by the release before it, for they were seen and never published; if they leave the table or
change, nothing is given away.  Where there is none before it, the series begins anew, on other
terms if the plan says so.  Only the newest can be lost: a later one was cut so that comparing it
with both is safe, which it stays; and of what is known to stand somebody may have a copy.

Seals (SHA-256).  The seal of a version covers its number, release id, date, the seals of its blocks
and of the marks of its rows, and the seal of the version before it; that of the first version
continues the seal of the series' name, key and terms.  That of a lost release covers the series,
its fields and the lost one before it.  The head of a series covers the seals of its newest version
and of its newest lost release, the held marks, which versions are known to stand, and the folded
marks; versions go on from the seals that these had before.  So a record that was changed, removed
or exchanged is found, the newest one included.  Held marks stand outside the chain because they are
deleted when the next version comes: a hash of a handful of marks that stayed behind would tell
whoever has the key which rows they were.

The seals find accidents and edits.  They do not stop an owner of the file who computes them anew,
nor show that the whole file was replaced by an older copy; the published releases do
(``Ledger.verify_release``).

Private: numbers of held rows, in summaries as in records, are no part of any release.

Cost: one hash over the bytes of a version on commit, over those of all versions on reading; both
are linear in the rows of a series.  Folding reads and writes its marks anew, once in ``_MOST_SETS``
releases.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.ledger.row_sets import (
    Part,
    RowFolder,
    RowSet,
    Stage,
    framed,
    read_parts,
    refer,
    row_sets,
    write_part,
)
from voile.release.history import BlockLives, Blocks, History, LivedBlocks, SeriesTerms, Version
from voile.schema.numbers import ExactNumbers, unscaled
from voile.table.keeping import KeptRows
from voile.table.matching import marks_of_release
from voile_base.errors import LedgerError
from voile_base.ondemand import dataclass

__all__ = [
    "LostVersion",
    "Series",
    "SeriesSummary",
    "VersionRecord",
    "VersionSummary",
    "append",
    "find_lost",
    "find_release",
    "find_series",
    "read_history",
    "read_lives",
    "read_lost",
    "series_names",
    "settle_version",
    "version_records",
]


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

    @staticmethod
    def record(
        connection: sqlite3.Connection, series: Series, folder: RowFolder, release_id: str, now: str
    ) -> LostVersion:
        """Forget the newest release of a series, and keep that it was.

        Raises ``LedgerError`` where it is another one, or is known to stand, and ``ValueError`` for
        records that cannot be read.
        """
        name, versions = series.terms.name, version_records(connection, series)
        if not versions or versions[-1].release_id != release_id:
            msg = f"series {name!r}: release {release_id} is not its newest, so it cannot be lost"
            raise LedgerError(msg)
        *_, newest = versions
        if newest.stands:
            msg = (
                f"series {name!r}: release {newest.number} ({release_id}) stands: its folder "
                "appeared, and somebody may have it, so it cannot be lost"
            )
            raise LedgerError(msg)
        read_history(connection, series, folder, _refuse)
        if len(versions) > 1:
            connection.execute(
                "UPDATE row_set SET version = ?, role = 'held' WHERE version = ?",
                (versions[-2].id, newest.id),
            )
        connection.execute("DELETE FROM part WHERE version = ?", (newest.id,))
        connection.execute("DELETE FROM version WHERE id = ?", (newest.id,))
        lost = LostVersion(newest.number, release_id, newest.created, now)
        _note_lost(connection, series.id, name, lost)
        _update_head(connection, name)
        return lost


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


def _note_lost(connection: sqlite3.Connection, series: int, name: str, lost: LostVersion) -> None:
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


_BLOCKS, _GONE = Blocks.COLUMNS, "gone"
_MOST_SETS = 8
"""Data sets of marks of versions that stand, before they are folded into one."""

_Array = NDArray[Any]
_Role = Literal["published", "held"]


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
    """The record of one version, without its blocks and its marks."""

    id: int
    number: int
    release_id: str
    created: str
    published: int
    """Rows first published in it."""
    held: int | None
    """Rows held back; None where a newer version took their place."""
    stands: int
    """1 where its folder is known to have appeared, else 0."""


def find_series(connection: sqlite3.Connection, name: str) -> Series | None:
    """The record of a series by its name; raises ``ValueError`` for terms beyond reading."""
    row = connection.execute(
        "SELECT id, key, terms, head FROM series WHERE name = ?", (name,)
    ).fetchone()
    if row is None:
        return None
    id_, key, terms, head = row
    return Series(
        id_, key, SeriesTerms.of_text(name, terms), _seal_of_origin(name, key, terms), head
    )


def series_names(connection: sqlite3.Connection) -> list[str]:
    """The names of all series, in order."""
    return [name for (name,) in connection.execute("SELECT name FROM series ORDER BY name")]


def version_records(connection: sqlite3.Connection, series: Series) -> list[VersionRecord]:
    """The versions of a series, oldest first."""
    counted = "SELECT sum(rows) FROM row_set WHERE version = one.id AND role"
    query = f"""
        SELECT id, number, release_id, created,
            coalesce((SELECT rows FROM folded WHERE version = one.id), ({counted} = 'published')),
            ({counted} = 'held'), stands
        FROM version AS one WHERE series = ? ORDER BY number"""
    found = connection.execute(query, (series.id,)).fetchall()
    newest = found[-1][0] if found else None
    return [
        VersionRecord(
            id_,
            number,
            release_id,
            created,
            published=published or 0,
            held=held or 0 if id_ == newest else held,
            stands=stands,
        )
        for id_, number, release_id, created, published, held, stands in found
    ]


def find_release(connection: sqlite3.Connection, release_id: str) -> tuple[str, int, int] | None:
    """Series, number and record id of the version with this release id."""
    query = """
        SELECT name, number, version.id FROM version JOIN series ON series.id = series
        WHERE release_id = ?"""
    row: tuple[str, int, int] | None = connection.execute(query, (release_id,)).fetchone()
    return row


def append(
    connection: sqlite3.Connection, history: History, folder: RowFolder, stage: Stage
) -> None:
    """Store the newest version of a history whose earlier versions are stored already.

    ``stage`` writes its marks; held marks of earlier versions are forgotten, and published ones of
    many versions, which ``folder`` has, are folded.  Raises ``ValueError`` for arrays of other
    types than ``History`` states, ``LedgerError`` and ``sqlite3.Error``.
    """
    version = history.versions[-1]
    _refuse_ragged(version.blocks)
    series, previous = _series_for(connection, history)
    cursor = connection.execute(
        "INSERT INTO version (series, number, release_id, created, seal, stands) "
        "VALUES (?, ?, ?, ?, x'', 0)",
        (series, version.number, version.release_id, version.created),
    )
    seals = [
        write_part(connection, cursor.lastrowid, name, array, scale)
        for name, array, scale in _parts_of(history)
    ]
    published = stage(version.published)
    refer(connection, "version", cursor.lastrowid, "published", published)
    refer(connection, "version", cursor.lastrowid, "held", stage(version.held))
    named = version.number, version.release_id, version.created
    seal = _seal_of_version(previous, named, [*seals, *_seals(published)])
    connection.execute("UPDATE version SET seal = ? WHERE id = ?", (seal, cursor.lastrowid))
    connection.execute(
        "DELETE FROM row_set WHERE role = 'held' AND version IN "
        "(SELECT id FROM version WHERE series = ? AND number < ?)",
        (series, version.number),
    )
    _fold(connection, series, folder, stage)
    _update_head(connection, history.terms.name)


def _fold(connection: sqlite3.Connection, series: int, folder: RowFolder, stage: Stage) -> None:
    """Put the marks of versions that stand into one data set, where they are in many."""
    query = """
        SELECT version.id, row_set.name, row_set.rows, row_set.seal
        FROM row_set JOIN version ON version.id = row_set.version
        WHERE series = ? AND role = 'published' AND stands ORDER BY number, row_set.id"""
    found = connection.execute(query, (series,)).fetchall()
    if len(found) <= _MOST_SETS:
        return
    staged = stage(folder.kept([RowSet(*which) for _, *which in found]))
    connection.executemany(
        "INSERT OR IGNORE INTO folded (version, rows, seal) VALUES (?, ?, ?)",
        [(version, rows, seal) for version, _, rows, seal in found],
    )
    connection.executemany(
        "DELETE FROM row_set WHERE name = ?", [(name,) for _, name, _, _ in found]
    )
    refer(connection, "version", found[-1][0], "published", staged)


def _update_head(connection: sqlite3.Connection, name: str) -> None:
    """Seal what is stored of a series anew."""
    series = find_series(connection, name)
    assert series is not None, "it was stored in the same transaction"
    version, seal = connection.execute(
        "SELECT id, seal FROM version WHERE series = ? ORDER BY number DESC LIMIT 1", (series.id,)
    ).fetchone() or (None, series.origin)
    held = _seals(row_sets(connection, "version", version, "held"))
    _, lost = read_lost(connection, series.id, name, lambda what: None)
    folded = _seals(_folded_sets(connection, series.id))
    head = _seal_of_head(_standing(connection, series), lost, folded, seal, held)
    connection.execute("UPDATE series SET head = ? WHERE id = ?", (head, series.id))


def read_history(
    connection: sqlite3.Connection,
    series: Series,
    folder: RowFolder,
    broken: Callable[[str], None],
) -> History:
    """The whole history of a series; ``broken`` is told about every seal that does not hold.

    ``folder`` has the marks.  The history has no versions where all that was committed was lost.

    Raises ``ValueError`` where a record is missing or cannot be read at all.
    """
    versions: list[Version] = []
    seal, held = series.origin, _Marks(KeptRows(), [])
    _, lost = read_lost(connection, series.id, series.terms.name, broken)
    folds = _Folds.read(connection, series.id, folder, broken)
    stored_parts = read_parts(connection, series.id)
    rows = connection.execute(
        "SELECT id, number, release_id, created, seal FROM version WHERE series = ? "
        "ORDER BY number",
        (series.id,),
    ).fetchall()
    made = []
    for number, (id_, stated, release_id, created, stored) in enumerate(rows, start=1):
        reader = _Reader(connection, folder, id_, stated, broken, folds)
        try:
            parts = reader.parts(stored_parts.get(id_, {}))
            made.append(parts)
            published = reader.published()
            if number == len(rows):
                held = reader.marks("held")
        except ValueError as error:
            msg = f"version {stated}: {error}"
            raise ValueError(msg) from error
        lasting = [*(part.seal for part in parts.values()), *published.seals]
        seal = _seal_of_version(seal, (stated, release_id, created), lasting)
        if seal != stored:
            broken(f"version {stated}: its seal does not match it and the versions before it")
        # Blocks are put together when all of them are read.
        kept = published.kept, held.kept, id_ in folds.rows
        versions.append(Version(stated, release_id, created, _NO_BLOCKS, *kept))
    standing = _standing(connection, series)
    if _seal_of_head(standing, lost, folds.seals, seal, held.seals) != series.head:
        broken("the head of the series does not match its newest version: one was changed or lost")
    lives = _lives_of(made)
    lived = tuple(
        replace(version, blocks=LivedBlocks(lives, number))
        for number, version in enumerate(versions, start=1)
    )
    return History(series.terms, series.key, lived, folds.kept)


def read_lives(connection: sqlite3.Connection, series: Series) -> BlockLives:
    """The blocks of all versions of a series; raises ``ValueError`` as above."""
    stored = read_parts(connection, series.id)
    records = version_records(connection, series)
    return _lives_of([_required(stored.get(record.id, {})) for record in records])


@dataclass(frozen=True)
class _Marks:
    """Marks of rows, and the seals of what they are stored as."""

    kept: KeptRows
    seals: list[bytes]


@dataclass(frozen=True)
class _Folds:
    """The folded marks of a series."""

    kept: KeptRows
    seals: list[bytes]
    """Of the data sets as they stand."""
    rows: dict[int, tuple[int, bytes]]
    """Of each version that is folded, by the id of its record: rows, and the seal of its marks."""

    @classmethod
    def read(
        cls,
        connection: sqlite3.Connection,
        series: int,
        folder: RowFolder,
        broken: Callable[[str], None],
    ) -> _Folds:
        """Those of a series; ``broken`` hears of seals that fail."""
        query = """
            SELECT version, rows, folded.seal FROM folded JOIN version ON version.id = version
            WHERE series = ? ORDER BY number"""
        rows = {id_: (count, seal) for id_, count, seal in connection.execute(query, (series,))}
        sets = _folded_sets(connection, series)
        seals = [folder.seal_of(one.name, one.rows) for one in sets]
        if seals != _seals(sets) or sum(one.rows for one in sets) != sum(
            n for n, _ in rows.values()
        ):
            broken("the marks that were put together of several versions were changed")
        return cls(folder.kept(sets), seals, rows)


def _folded_sets(connection: sqlite3.Connection, series: int) -> list[RowSet]:
    """The data sets with the marks of several versions; one, or none."""
    query = """
        SELECT name, row_set.rows, row_set.seal FROM row_set
        JOIN folded ON folded.version = row_set.version JOIN version ON version.id = folded.version
        WHERE series = ? AND role = 'published' ORDER BY row_set.id"""
    return [RowSet(*row) for row in connection.execute(query, (series,))]


@dataclass(frozen=True)
class _Reader:
    """Reads what belongs to one version record, and tells where a seal does not hold."""

    connection: sqlite3.Connection
    folder: RowFolder
    id: int
    number: int
    broken: Callable[[str], None]
    folds: _Folds

    def parts(self, stored: dict[str, Part]) -> dict[str, Part]:
        """Arrays by name, in the order in which they are sealed."""
        found = _required(stored)
        for name, part in found.items():
            if part.changed:
                self.broken(f"version {self.number}: the record {name!r} was changed")
        return found

    def published(self) -> _Marks:
        """Marks of the rows that the version was the first to publish."""
        if self.id not in self.folds.rows:
            return self.marks("published")
        rows, seal = self.folds.rows[self.id]
        return _Marks(marks_of_release(self.folds.kept, self.number, rows), [seal])

    def marks(self, role: _Role) -> _Marks:
        """Marks of rows."""
        sets, seals = row_sets(self.connection, "version", self.id, role), []
        for one in sets:
            seals.append(self.folder.seal_of(one.name, one.rows))
            if seals[-1] != one.seal:
                self.broken(f"version {self.number}: the marks of its {role} rows were changed")
        return _Marks(self.folder.kept(sets), seals)


def _seals(sets: Sequence[RowSet]) -> list[bytes]:
    return [one.seal for one in sets]


_NO_BLOCKS = Blocks.joined([])


def _parts_of(history: History) -> Iterator[tuple[str, _Array, int]]:
    """Name, array and scale of each part of the newest version.

    Where the blocks before it are those of the ledger, by their numbers, only what changes.
    """
    blocks, gone = history.versions[-1].blocks, None
    before = history.versions[-2].blocks if len(history.versions) > 1 else None
    if isinstance(before, LivedBlocks) and before.number == before.lives.versions:
        numbers = before.lives.of_version(before.number)
        if kept := before.unchanged(blocks):
            stays, old = kept
            blocks, gone = blocks[~old], numbers[~stays]
    yield "low", blocks.low.units, blocks.low.scale
    yield "high", blocks.high.units, blocks.high.scale
    yield "rows", blocks.rows, 0
    yield "distinct", blocks.distinct, 0
    yield "batch", blocks.batch, 0
    if gone is not None:
        yield _GONE, gone, 0


def _required(stored: dict[str, Part]) -> dict[str, Part]:
    """The arrays of a version in order; raises ``ValueError`` for a missing one."""
    for name in _BLOCKS:
        if name not in stored:
            msg = f"the record {name!r} is missing"
            raise ValueError(msg)
    names = (*_BLOCKS, _GONE) if _GONE in stored else _BLOCKS
    found = {name: stored[name] for name in names}
    _refuse_ragged(_blocks_of(found))
    return found


def _lives_of(made: Sequence[dict[str, Part]]) -> BlockLives:
    """The blocks that versions made, each with when it came and went; raises ``ValueError``."""
    blocks = [_blocks_of(parts) for parts in made]
    first = np.concatenate(([0], np.cumsum([len(one) for one in blocks], dtype=np.int64)))
    gone = np.full(first[-1], len(blocks) + 1, dtype=np.int64)
    for number, parts in enumerate(made, start=1):
        before = first[number - 1]
        there = gone[:before] > len(blocks)
        which = parts[_GONE].array if _GONE in parts else np.flatnonzero(there)
        if len(which) and (which.min() < 0 or which.max() >= before or not there[which].all()):
            msg = "its record 'gone' names blocks that the versions before it do not have"
            raise ValueError(msg)
        gone[which] = number
    born = np.repeat(np.arange(1, len(blocks) + 1), np.diff(first))
    return BlockLives(Blocks.joined(blocks), born, gone, len(blocks))


def _blocks_of(parts: dict[str, Part]) -> Blocks:
    return Blocks(
        low=ExactNumbers(parts["low"].array, parts["low"].scale),
        high=ExactNumbers(parts["high"].array, parts["high"].scale),
        rows=parts["rows"].array,
        distinct=parts["distinct"].array,
        batch=parts["batch"].array,
    )


def _refuse_ragged(blocks: Blocks) -> None:
    columns = (blocks.low, blocks.high, blocks.rows, blocks.distinct, blocks.batch)
    if len({len(column) for column in columns}) > 1:
        msg = "the arrays of its blocks differ in length"
        raise ValueError(msg)


def _series_for(connection: sqlite3.Connection, history: History) -> tuple[int, bytes]:
    """The id of a history's series, new or stored, and the seal that its next version continues."""
    name, terms = history.terms.name, history.terms.as_text()
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


def _seal_of_origin(name: str, key: bytes, terms: str) -> bytes:
    return hashlib.sha256(framed("series", name, key.hex(), terms)).digest()


def _seal_of_version(previous: bytes, named: tuple[int, str, str], lasting: list[bytes]) -> bytes:
    """``named`` are number, release id and date."""
    return hashlib.sha256(framed("version", *named) + previous + b"".join(lasting)).digest()


def _standing(connection: sqlite3.Connection, series: Series) -> list[int]:
    """The numbers of the versions that are known to stand."""
    return [version.number for version in version_records(connection, series) if version.stands]


def _seal_of_head(
    standing: list[int], lost: bytes, folded: list[bytes], version: bytes, held: list[bytes]
) -> bytes:
    """Over the newest version, or the origin without any, and what stands outside the chain."""
    outcomes: tuple[object, ...] = (standing, lost.hex()) if standing or lost else ()
    if folded:
        outcomes = (*outcomes, [seal.hex() for seal in folded])
    return hashlib.sha256(framed("head", *outcomes) + version + b"".join(held)).digest()


def settle_version(connection: sqlite3.Connection, series: Series, release_id: str) -> None:
    """Note that a release of a series stands; raises ``LedgerError`` where it knows none such."""
    noted = connection.execute(
        "UPDATE version SET stands = 1 WHERE series = ? AND release_id = ?",
        (series.id, release_id),
    )
    if not noted.rowcount:
        msg = f"series {series.terms.name!r} knows no release {release_id}"
        raise LedgerError(msg)
    _update_head(connection, series.terms.name)


def _refuse(what: str) -> None:
    raise ValueError(what)


@dataclass(frozen=True)
class VersionSummary:
    """One release in numbers; widths are in the unit of the sensitive column."""

    number: int
    release_id: str
    created: str
    blocks: int
    rows: int
    """Rows in this release, those of earlier releases included."""
    new_rows: int
    """Rows first published in this release."""
    held: int | None
    """Rows held back by the newest release; None for others, whose held rows are forgotten."""
    sum_of_ranges: Decimal
    mean_width: float
    """Mean range of a block; 0 for a release without blocks."""
    max_width: Decimal
    stands: bool
    """Whether its folder is known to have appeared."""

    @classmethod
    def of(cls, record: VersionRecord, blocks: Blocks) -> VersionSummary:
        """The summary of a version and its blocks."""
        scale = max(blocks.low.scale, blocks.high.scale)
        widths = [
            int(high) - int(low)
            for low, high in zip(
                blocks.low.rescaled(scale).units, blocks.high.rescaled(scale).units, strict=True
            )
        ]
        total = unscaled(sum(widths), scale)
        return cls(
            number=record.number,
            release_id=record.release_id,
            created=record.created,
            blocks=len(blocks),
            rows=int(blocks.rows.sum()),
            new_rows=record.published,
            held=record.held,
            sum_of_ranges=total,
            mean_width=float(total) / len(blocks) if len(blocks) else 0.0,
            max_width=unscaled(max(widths, default=0), scale),
            stands=bool(record.stands),
        )


@dataclass(frozen=True)
class SeriesSummary:
    """One series: its terms, and its releases from the oldest to the newest."""

    terms: SeriesTerms
    versions: tuple[VersionSummary, ...]
    lost: tuple[LostVersion, ...] = ()
    """Releases that never appeared, from the oldest to the newest."""

    @property
    def unsettled(self) -> VersionSummary | None:
        """The newest release, unless it is known to stand."""
        return self.versions[-1] if self.versions and not self.versions[-1].stands else None
