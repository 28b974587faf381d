"""Arrays as records: typed, in chunks, and sealed by a hash.

Whole numbers of 64 bits are stored as they are, little-endian; numbers beyond them in
hexadecimal, separated by commas; both in chunks (module ``chunks``).  100,000 blocks are thus a
handful of records.

The seal of a part (SHA-256) covers its name, type, length and bytes.

Cost: one hash over the bytes; on reading, one copy of them.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.ledger.chunks import PART_CHUNKS, framed

__all__ = ["Part", "read_parts", "write_part"]

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


def read_parts(
    connection: sqlite3.Connection, version: int, names: tuple[str, ...]
) -> dict[str, Part]:
    """Read the arrays of a version record; raises ``ValueError`` for a missing or partial one."""
    parts: dict[str, Part] = {}
    for name in names:
        row = connection.execute(
            "SELECT id, kind, scale, length, seal FROM part WHERE version = ? AND name = ?",
            (version, name),
        ).fetchone()
        if row is None:
            msg = f"the record {name!r} is missing"
            raise ValueError(msg)
        id_, kind, scale, length, stored = row
        seal = _begin_seal(name, kind, scale, length)
        data = bytearray()
        for chunk in PART_CHUNKS.read(connection, id_):
            seal.update(chunk)
            data += chunk
        array = _decode(kind, data)
        if len(array) != length:
            msg = f"the record {name!r} is incomplete"
            raise ValueError(msg)
        parts[name] = Part(array, scale, seal.digest(), changed=seal.digest() != stored)
    return parts


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
