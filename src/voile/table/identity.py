"""Who a row is: 64 bits of a keyed pseudorandom function of its contents.

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

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from voile.randomness import Key, parts
from voile.table.combinations import combine
from voile.table.dictionary import Codes, DictionaryColumn

__all__ = ["Words", "row_words", "unique_row_words"]

_INTEGER, _FLOAT, _TEXT, _OTHER, _NULL = range(1, 6)
_INT64_LIMIT = 2.0**63

Words = NDArray[np.uint64]


def row_words(columns: Sequence[DictionaryColumn], key: Key) -> Words:
    """64 pseudorandom bits for each of n rows, shape (n,); equal rows have equal words."""
    blocks = [_value_blocks(column.values, key) for column in columns]
    drawn = np.empty(len(columns[0].codes), dtype=np.uint64)
    for part in parts(len(drawn)):
        state = np.zeros((len(drawn[part]), 2), dtype=np.uint64)
        for column, values in zip(columns, blocks, strict=True):
            key.absorb(state, values[column.codes[part]])
        drawn[part] = state[:, 0]
    return drawn


def unique_row_words(columns: Sequence[DictionaryColumn], key: Key) -> Words:
    """64 pseudorandom bits for each of n rows, shape (n,), also for each of several equal rows.

    The i-th of the rows with one word gets the word of (word, i).  Which of several equal rows is
    called the i-th does not matter to anybody: they are equal.
    """
    found = combine([(column.codes, len(column.values)) for column in columns])
    distinct = zip(columns, found.codes, strict=True)
    words = row_words([DictionaryColumn(column.values, codes) for column, codes in distinct], key)
    seen = np.zeros(len(words), dtype=np.uint64)
    drawn = np.empty(len(found.place), dtype=np.uint64)
    for part in parts(len(drawn)):
        place = found.place[part]
        drawn[part] = key.words(words[place], _occurrences(place, seen))
    return drawn


@njit(cache=True, nogil=True)
def _occurrences(place: Codes, seen: NDArray[Any]) -> Words:
    """How many rows before each have the same place; ``seen`` goes on counting."""
    occurrence = np.empty(len(place), dtype=np.uint64)
    for row in range(len(place)):
        occurrence[row] = seen[place[row]]
        seen[place[row]] += np.uint64(1)
    return occurrence


def _value_blocks(values: pl.Series, key: Key) -> NDArray[np.uint64]:
    """The block of each distinct value, shape (d, 2): a word and a tag."""
    if values.dtype.is_numeric():
        words, tags = _number_words(values)
    elif values.dtype == pl.String:
        words = np.array([key.digest((text or "").encode()) for text in values], dtype=np.uint64)
        tags = np.full(len(values), _TEXT, dtype=np.uint64)
    else:
        words = values.to_physical().cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
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
