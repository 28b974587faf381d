"""Rows that a ledger refers to: data sets in a folder beside it, and not bytes in it.

Where.  Beside the ledger FILE stands the folder FILE.rows, and in it a folder for each data set,
which holds Parquet files as an engine wrote them.  All are for their owner alone.  The file and the
folder are one ledger: whoever copies, moves or restores one takes the other with it.

Seals.  The ledger has the name, the number of rows and the seal of each data set.  The seal
(SHA-256) covers that number and the names, lengths and bytes of its files.  A version's seal and
the heads of series and data sets continue it, see ``records`` and ``spending``.

Crashes.  A data set is on the disk before the transaction commits that refers to it, and is
removed after the one that forgets it.  So what is referred to is there.  Whatever nobody refers to
was left by a publisher who died, and goes when somebody next writes to the ledger.  All of it is
made and removed by the one who may write to the ledger.  Names begin with the ledger's own id, so
that another ledger that takes the place of one removes nothing of its rows.

Privacy at rest.  Files are overwritten before they are removed, as SQLite does with what it
deletes; copies that a file system keeps are its own concern.

Cost: one pass over the bytes of a data set on each commit and on each reading.

Bytes of any length as records: in chunks well below SQLite's limit of 10**9 bytes per value.

A table of chunks has the columns ``owner``, ``position`` and ``bytes``, whatever the first is
called; what is stored for one owner comes back in order.

Arrays as records: typed, in chunks, and sealed by a hash.

Whole numbers of 64 bits are stored as they are, little-endian; numbers beyond them in
hexadecimal, separated by commas; both in chunks (module ``chunks``).  100,000 blocks are thus a
handful of records.

The seal of a part (SHA-256) covers its name, type, length and bytes.

Cost: one hash over the bytes; on reading, one copy of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.table.keeping import KeptRows, together
from voile.table.protocol import Engine, Rows
from voile_base.durable import sync
from voile_base.errors import LedgerError, TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = [
    "PART_CHUNKS",
    "TRIP_CHUNKS",
    "Part",
    "RowFolder",
    "RowSet",
    "Stage",
    "framed",
    "names_of",
    "read_parts",
    "refer",
    "row_sets",
    "write_part",
]


_CHUNK = 2**24


@dataclass(frozen=True)
class _ChunkTable:
    """A table that holds the bytes of the records of another one."""

    name: str
    owner: str
    """The column that names the record whose bytes a chunk holds."""

    def write(self, connection: sqlite3.Connection, owner: int | None, data: memoryview) -> None:
        """Store the bytes of a record that has none yet."""
        connection.executemany(
            f"INSERT INTO {self.name} ({self.owner}, position, bytes) VALUES (?, ?, ?)",
            (
                (owner, position, data[start : start + _CHUNK])
                for position, start in enumerate(range(0, len(data), _CHUNK))
            ),
        )

    def read(self, connection: sqlite3.Connection, owner: int) -> Iterator[bytes]:
        """The bytes of a record, chunk by chunk."""
        query = f"SELECT bytes FROM {self.name} WHERE {self.owner} = ? ORDER BY position"
        for (chunk,) in connection.execute(query, (owner,)):
            yield chunk


PART_CHUNKS = _ChunkTable("chunk", "part")
TRIP_CHUNKS = _ChunkTable("trip_chunk", "entry")


def framed(*fields: object) -> bytes:
    """Fields as bytes from which they can be told apart."""
    return json.dumps(fields).encode("ascii") + b"\n"


Role = Literal["published", "held", "pool"]
Owner = Literal["version", "pool"]

_SUFFIX = ".rows"
_NAME = re.compile(r"(?P<ledger>[0-9a-f]{16})-[0-9a-f]{32}")
_OF_OTHERS = 0o077


@dataclass(frozen=True)
class RowSet:
    """What a ledger says of one data set."""

    name: str
    """Of its folder."""
    rows: int
    """At least 1."""
    seal: bytes


Stage = Callable[[KeptRows], Sequence[RowSet]]
"""Writes rows to the disk, where a ledger may then refer to them: as one data set, or none."""


class RowFolder:
    """The folder beside one ledger; it is made with the first rows that the ledger keeps."""

    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger
        final = ledger.resolve()
        self.path = final.with_name(final.name + _SUFFIX)

    # -- reading ----------------------------------------------------------------------------------

    def kept(self, sets: Sequence[RowSet]) -> KeptRows:
        """The rows of some data sets, which are read when an engine asks for them."""

        def opened(engine: Engine) -> Rows:
            try:
                found = together(
                    [_Part(self._folder(it.name), it.rows).kept for it in sets], engine
                )
            except TableError:
                msg = (
                    f"{self.path}: rows that the ledger refers to cannot be read, or are gone: "
                    "another process may have changed it meanwhile. Run again, and if that does "
                    "not help, check it with `voile ledger verify`"
                )
                raise LedgerError(msg) from None
            assert found is not None, "it was asked for because there are some"
            return found

        return KeptRows(sum(it.rows for it in sets), opened) if sets else KeptRows()

    def seal_of(self, name: str, rows: int) -> bytes:
        """The seal of a data set as it stands; raises ``ValueError`` where it does not stand."""
        self._refuse_open()
        folder = self._folder(name)
        try:
            folder.stat()
            files = {str(file.relative_to(folder)): file for file in _files(folder)}
            listed = [(file, files[file].stat().st_size, _digest(files[file])) for file in files]
        except OSError as error:
            msg = (
                f"{folder} cannot be read ({error.strerror}); the folder {self.path.name} belongs "
                "to the ledger and goes where it goes"
            )
            raise ValueError(msg) from None
        return hashlib.sha256(framed("rows", rows, listed)).digest()

    # -- writing, by who may write to the ledger --------------------------------------------------

    @contextmanager
    def changing(self, connection: sqlite3.Connection) -> Iterator[Stage]:
        """What a transaction does to the folder; gives what writes rows to it.

        Before it, what others left behind is removed; where it fails, so is what it wrote.  What it
        gives raises ``LedgerError`` where the disk refuses.
        """
        known = names_of(connection)
        self.remove(name for name in self._own(connection) if name not in known)
        staged: list[str] = []

        def stage(kept: KeptRows) -> list[RowSet]:
            if not kept.height:
                return []
            staged.append(f"{_id_of(connection)}-{Randomness.secure().token('rows')}")
            return [self._stage(kept, staged[-1])]

        try:
            yield stage
        except BaseException:
            self.remove(staged)
            raise

    def remove(self, names: Iterable[str]) -> None:
        """Remove data sets, which nothing refers to; what cannot go now goes the next time."""
        for folder in [self.path / name for name in names if _NAME.fullmatch(name)]:
            with suppress(OSError):
                for file in _files(folder):
                    _overwrite(file)
            shutil.rmtree(folder, ignore_errors=True)

    def _stage(self, kept: KeptRows, name: str) -> RowSet:
        folder = self.path / name
        try:
            new = not self.path.exists()
            self.path.mkdir(mode=0o700, exist_ok=True)
            self._refuse_open()
            if new:
                sync(self.path.parent)
            folder.mkdir(mode=0o700)
            kept.write(folder)
            for file in _files(folder):
                file.chmod(0o600)
                sync(file)
                sync(file.parent)
            sync(folder)
            sync(self.path)
            return RowSet(name, kept.height, self.seal_of(name, kept.height))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            msg = (
                f"{self.path}: the disk failed to read or write ({reason}); nothing was changed; "
                "check the disk and its free space, and that you may write here, and run again"
            )
            raise LedgerError(msg) from None

    def _own(self, connection: sqlite3.Connection) -> Iterator[str]:
        """The data sets that stand here and were made for this ledger."""
        if not self.path.is_dir():
            return
        own = _id_of(connection)
        for folder in list(self.path.iterdir()):
            found = _NAME.fullmatch(folder.name)
            if found and found["ledger"] == own:
                yield folder.name

    def _folder(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            msg = "a record names no folder of rows"
            raise ValueError(msg)
        return self.path / name

    def _refuse_open(self) -> None:
        """Raise ``LedgerError`` where others than its owner may look into the folder."""
        try:
            mode = self.path.stat().st_mode
        except OSError:
            return  # then whatever is asked of it fails
        if mode & _OF_OTHERS:
            msg = (
                f"{self.path}: others than its owner may read or write the rows of this ledger "
                f"(mode {stat.S_IMODE(mode):04o}); find out who could have copied them, then run "
                "`chmod 700` on it"
            )
            raise LedgerError(msg)


@dataclass(frozen=True)
class _Part:
    """One data set in its folder."""

    folder: Path
    rows: int

    @property
    def kept(self) -> KeptRows:
        return KeptRows(self.rows, self._opened)

    def _opened(self, engine: Engine) -> Rows:
        files = _files(self.folder)  # one, or several parts, perhaps in a folder of their own
        folder = files[0].parent if files else self.folder
        return engine.scan(folder).rows


def refer(
    connection: sqlite3.Connection,
    owner: Owner,
    record: int | None,
    role: Role,
    sets: Sequence[RowSet],
) -> None:
    """Note that a version or a pool has these rows."""
    connection.executemany(
        f"INSERT INTO row_set ({owner}, role, name, rows, seal) VALUES (?, ?, ?, ?, ?)",
        [(record, role, it.name, it.rows, it.seal) for it in sets],
    )


def row_sets(
    connection: sqlite3.Connection, owner: Owner, record: int | None, role: Role
) -> list[RowSet]:
    """The rows that a version or a pool has in one role, as they are stored."""
    query = f"SELECT name, rows, seal FROM row_set WHERE {owner} = ? AND role = ? ORDER BY id"
    return [RowSet(*row) for row in connection.execute(query, (record, role))]


def names_of(connection: sqlite3.Connection) -> set[str]:
    """All data sets that the ledger refers to."""
    return {name for (name,) in connection.execute("SELECT name FROM row_set")}


def _id_of(connection: sqlite3.Connection) -> str:
    (own,) = connection.execute("SELECT id FROM row_folder").fetchone()
    return str(own)


def _files(folder: Path) -> list[Path]:
    """The files of a data set, in the order of their names."""
    return sorted(file for file in folder.rglob("*") if file.is_file())


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _overwrite(file: Path) -> None:
    """Put zeros in the place of a file's bytes."""
    left = file.stat().st_size
    with file.open("r+b") as stream:
        while left > 0:
            left -= stream.write(bytes(min(left, 1 << 20)))
        stream.flush()
        os.fsync(stream.fileno())


_KINDS = {"uint64": np.dtype("<u8"), "int64": np.dtype("<i8")}

_Array = NDArray[Any]


@dataclass(frozen=True)
class Part:
    """An array as it was read, with the seal computed from its bytes."""

    array: _Array
    scale: int
    seal: bytes
    changed: bool


def write_part(
    connection: sqlite3.Connection, version: int | None, name: str, array: _Array, scale: int
) -> bytes:
    """Store one array; returns its seal."""
    kind, data = _encode(array)
    seal = _begin_seal(name, kind, scale, len(array))
    seal.update(data)
    cursor = connection.execute(
        "INSERT INTO part (version, name, kind, scale, length, seal) VALUES (?, ?, ?, ?, ?, ?)",
        (version, name, kind, scale, len(array), seal.digest()),
    )
    PART_CHUNKS.write(connection, cursor.lastrowid, data)
    return seal.digest()


def read_parts(connection: sqlite3.Connection, series: int) -> dict[int, dict[str, Part]]:
    """The arrays of all version records of a series, by the id of the record and by name.

    Raises ``ValueError`` for a partial one.
    """
    query = """
        SELECT part.id, version, number, name, kind, scale, length, part.seal
        FROM part JOIN version ON version.id = version WHERE series = ? ORDER BY part.id"""
    found: dict[int, dict[str, Part]] = {}
    for id_, version, number, name, kind, scale, length, stored in connection.execute(
        query, (series,)
    ):
        seal = _begin_seal(name, kind, scale, length)
        data = bytearray()
        for chunk in PART_CHUNKS.read(connection, id_):
            seal.update(chunk)
            data += chunk
        array = _decode(kind, data)
        if len(array) != length:
            msg = f"version {number}: the record {name!r} is incomplete"
            raise ValueError(msg)
        changed = seal.digest() != stored
        found.setdefault(version, {})[name] = Part(array, scale, seal.digest(), changed)
    return found


def _encode(array: _Array) -> tuple[str, memoryview]:
    """Kind and bytes of an array; no copy where they are stored as they are."""
    if array.ndim != 1:
        msg = "the ledger stores arrays of one dimension"
        raise ValueError(msg)
    if array.dtype == object:
        # Hexadecimal: Python refuses decimal texts of more than 4,300 digits.
        return "hexadecimal", memoryview(",".join(f"{int(n):x}" for n in array).encode("ascii"))
    kind = array.dtype.name
    if kind not in _KINDS:
        msg = f"the ledger stores arrays of uint64, int64 or Python integers, not {kind}"
        raise ValueError(msg)
    return kind, np.ascontiguousarray(array, dtype=_KINDS[kind]).view(np.uint8).data


def _decode(kind: str, data: bytearray) -> _Array:
    """The array of these bytes, not writable."""
    if kind == "hexadecimal":
        numbers = [int(text, 16) for text in data.decode("ascii").split(",")] if data else []
        array = np.empty(len(numbers), dtype=object)
        array[:] = numbers
    elif kind in _KINDS:
        array = np.frombuffer(data, dtype=_KINDS[kind]).astype(kind, copy=False)
    else:
        msg = "a record has a type that is not known"
        raise ValueError(msg)
    array.flags.writeable = False
    return array


def _begin_seal(name: str, kind: str, scale: int, length: int) -> hashlib._Hash:
    return hashlib.sha256(framed("part", name, kind, scale, length))
