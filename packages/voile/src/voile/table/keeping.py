"""Private rows that outlast a release: marks of rows, and rows that wait for the next one.

They are data sets of an engine and stay that: a ledger has them written to files, and hands them to
whichever engine asks next.  Nobody collects them.

Who a row is: 64 bits of a keyed pseudorandom function of its contents.

Row identities let an earlier release recognise its rows in a later version of the table without
keeping any attribute of them, and without regard to where the row stands.  What is drawn about a
row is a function of its identity, so that it is drawn alike in any order and any number of times.

A row is the message of its columns in a fixed order, one block of 128 bits a column: a word for
the value and a tag for its kind.  Blocks are chained with AES as in CBC-MAC, a pseudorandom
function on messages of fixed length.  Numbers count by value, so that 7 in a column of integers
and 7.0 in a column of decimals are one identity: a column may become decimal when the table
grows.  Texts count by 64 bits of keyed BLAKE2b of their UTF-8 form.

Two different rows get one identity with probability 2**-64.

Cost: a microsecond for each distinct text, and some 20 ns a row and column; to tell equal rows
apart, one count of distinct rows and 15 ns a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import PerValue, array_of, numbers_of
from voile.table.engines import AUTO, engine_of
from voile.table.protocol import Engine, Rows
from voile_base.ondemand import dataclass
from voile_base.randomness import Key, parts

__all__ = ["WORDS", "KeptRows", "Words", "together", "with_row_words", "with_words", "words_of"]


def _none(engine: Engine) -> Rows:
    msg = "there are no rows to be opened"
    raise ValueError(msg)


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Private rows, wherever they are until an engine asks for them; none by default."""

    height: int = 0
    """How many there are."""
    open: Callable[[Engine], Rows] = field(default=_none, repr=False)
    """The rows as a data set of an engine; raises ``ValueError`` where there are none.

    Those that were just made are of the engine that made them, whichever asks."""

    @classmethod
    def of(cls, rows: Rows) -> KeptRows:
        """Rows that an engine has made."""
        return cls(rows.height, lambda engine: rows)

    @classmethod
    def of_table(cls, table: pa.Table) -> KeptRows:
        """A small table, or one that an earlier Voile has kept in memory."""
        return cls(table.num_rows, lambda engine: engine.of_arrow(table))

    def write(self, folder: Path) -> None:
        """Write the rows, of which there are some, to Parquet files in a folder.

        Raises ``OSError`` where the disk refuses.
        """
        self.open(engine_of(AUTO)).write(folder, "parquet")


def together(kept: Sequence[KeptRows], engine: Engine) -> Rows | None:
    """All rows of several, which have the same columns; None where there are none."""
    found: Rows | None = None
    for rows in (each.open(engine) for each in kept if each.height):
        found = rows if found is None else found.union(rows)
    return found


_INTEGER, _FLOAT, _TEXT, _OTHER, _NULL = range(1, 6)
_INT64_LIMIT = 2.0**63

WORDS = ("\1word of contents", "\1number among equals")
"""Columns from which ``words_of`` draws; no file has columns whose names begin so."""

Words = NDArray[np.uint64]


def with_words(rows: Rows, columns: Sequence[str], key: Key, name: str) -> Rows:
    """Rows with 64 pseudorandom bits for each in one more column; equal rows have equal words."""
    blocks = {column: PerValue(_Blocks(key)) for column in columns}

    def word(batch: pa.RecordBatch) -> list[pa.Array]:
        drawn = np.empty(batch.num_rows, dtype=np.uint64)
        for part in parts(batch.num_rows):
            state = np.zeros((len(drawn[part]), 2), dtype=np.uint64)
            for column in columns:
                key.absorb(state, blocks[column](batch[column][part]))
            drawn[part] = state[:, 0]
        return [array_of(drawn)]

    return rows.map(word, columns, pa.schema([pa.field(name, pa.uint64())]))


def with_row_words(rows: Rows, columns: Sequence[str], key: Key) -> Rows:
    """Rows with the columns ``WORDS``: the word of a row, and its number among equal ones.

    Which of several equal rows is called the i-th does not matter to anybody: they are equal.
    """
    numbered = rows.rank(WORDS[1], columns, ())
    return with_words(numbered, columns, key, WORDS[0])


def words_of(batch: pa.RecordBatch, key: Key) -> Words:
    """64 pseudorandom bits for each row of a batch with ``WORDS``, also of several equal ones."""
    word, number = (numbers_of(batch[name]) for name in WORDS)
    return key.words(word, number.astype(np.uint64))


class _Blocks:
    """The block of each of d values, shape (d, 2): a word and a tag."""

    def __init__(self, key: Key) -> None:
        self._key = key

    def __call__(self, values: pl.Series) -> NDArray[np.uint64]:
        if values.dtype.is_numeric():
            words, tags = _number_words(values)
        elif values.dtype == pl.String:
            digest = self._key.digest
            words = np.array([digest((text or "").encode()) for text in values], dtype=np.uint64)
            tags = np.full(len(values), _TEXT, dtype=np.uint64)
        else:
            physical = values.to_physical().cast(pl.Int64).fill_null(0)
            words = physical.to_numpy().view(np.uint64)
            tags = np.full(len(values), _OTHER, dtype=np.uint64)
        missing = values.is_null().to_numpy()
        return np.column_stack(
            (np.where(missing, np.uint64(0), words), np.where(missing, np.uint64(_NULL), tags))
        )


def _number_words(values: pl.Series) -> tuple[Words, Words]:
    if values.dtype.is_integer() and values.dtype != pl.UInt64:
        words = values.cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
        return words, np.full(len(values), _INTEGER, dtype=np.uint64)
    floats = values.cast(pl.Float64).fill_null(0.0).to_numpy()
    whole = (np.floor(floats) == floats) & (np.abs(floats) < _INT64_LIMIT)
    integers = np.where(whole, floats, 0.0).astype(np.int64).view(np.uint64)
    words = np.where(whole, integers, floats.view(np.uint64))
    return words, np.where(whole, np.uint64(_INTEGER), np.uint64(_FLOAT))
