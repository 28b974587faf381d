"""Columns as a sorted dictionary of distinct values and one small integer for each row.

Whatever concerns values (types, bounds, exact numbers, identities) is then settled once for each
distinct value, and whatever concerns rows is arithmetic on integers.

``sort_rows`` packs the codes of a row into one machine word, or as few as hold them.  A table
without row numbers is a multiset of such words: sorting them gives an order of the rows that is a
function of their contents alone, whatever order they came in.

Cost: one hash look-up a row to encode, a sort of the d distinct values, one to four bytes a row and
column; packing and unpacking are a few instructions a row and column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.frequencies import Codes, count_codes
from voile.table.sorting import sort_word_rows, sort_words
from voile_base.randomness import parts

__all__ = [
    "Codes",
    "DictionaryColumn",
    "code_type",
    "encode",
    "gathered",
    "look_up",
    "sort_rows",
    "sorted_order",
    "without_minus_zero",
]

_WORD_BITS = 64
_DICTIONARY_LIMIT = 1 << 16
_WORD_RANGE = 1 << 63
_DENSE = 2
"""Range of integers, in rows, up to which they are looked up by value."""


@dataclass(frozen=True, eq=False)
class DictionaryColumn:
    """A column of n rows: ``values[codes[i]]`` is the value of row i."""

    values: pl.Series
    """Distinct values, ascending; a missing value, if there is one, comes first."""
    codes: Codes
    """Shape (n,), in the narrowest type: one byte for up to 256 values, two for up to 65,536."""

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.values.name

    @property
    def has_missing(self) -> bool:
        """Whether some row has no value."""
        return self.values.null_count() > 0

    def decode(self, codes: Codes) -> pl.Series:
        """The values of rows with these codes; few distinct texts stay in a dictionary (Enum)."""
        values = self.values
        if values.dtype == pl.String and len(values) < min(len(codes), _DICTIONARY_LIMIT):
            values = values.cast(pl.Enum(values.drop_nulls()))
        return gathered(values, codes)

    def only(self, rows: NDArray[np.bool_]) -> DictionaryColumn:
        """The column of the chosen rows; values that none of them has are dropped."""
        codes = self.codes[rows]
        present = count_codes(codes, len(self.values)) > 0
        rank = (np.cumsum(present) - 1).astype(code_type(int(present.sum())))
        return DictionaryColumn(self.values.filter(pl.Series(present)), rank[codes])

    def mapped(self, values: pl.Series) -> DictionaryColumn:
        """The column with other values for the present ones, in their order; they may repeat."""
        return _ascending(values, self.codes)


def gathered(values: pl.Series, indices: NDArray[Any]) -> pl.Series:
    """The values at these indices; Polars takes some names, such as "^a$", for patterns."""
    return values.alias("").gather(pl.Series(indices)).alias(values.name)


def without_minus_zero(values: pl.Series) -> pl.Series:
    """The values, with zero for minus zero."""
    if not values.dtype.is_float() or not (values == 0).any():
        return values
    zero = pl.lit(0.0, dtype=values.dtype)  # adding zero would be optimised away
    plain = pl.when(values == 0).then(zero).otherwise(values).alias(values.name)
    return pl.select(plain).to_series()


def encode(column: pl.Series | pa.ChunkedArray, name: str = "") -> DictionaryColumn:
    """Encode a column; minus zero counts as zero, and what stands in a dictionary as text.

    Takes a Polars series, or a dictionary array of Arrow with the name of the column.
    """
    if isinstance(column, pa.ChunkedArray):
        combined = column.unify_dictionaries().combine_chunks()
        chunks = combined.chunks if isinstance(combined, pa.ChunkedArray) else [combined]
        return _ascending(*_of_arrow(chunks[0], name))
    if column.dtype.is_integer() and len(column) and not column.null_count():
        low, high = column.min(), column.max()
        assert isinstance(low, int)
        assert isinstance(high, int)
        if high - low <= _DENSE * len(column) and high < _WORD_RANGE:
            return _encode_dense(column, low, high)
    if column.dtype == pl.String:
        return _ascending(*_encode_text(column))
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        return _ascending(*_of_categories(column))
    encoded = column.to_arrow().dictionary_encode(null_encoding="encode")
    values, codes = _of_arrow(encoded, column.name)
    return _ascending(values.cast(column.dtype), codes)


def sort_rows(columns: Sequence[tuple[Codes, int]]) -> list[Codes]:
    """Sort rows by their codes in all columns, the first column first; new codes by column.

    Each column comes with the number of its distinct codes.
    """
    words = _words(columns)
    widths = [[_width(distinct) for _, distinct in word] for word in words]
    if len(words) == 1:
        return _unpacked(sort_words(_packed(columns), sum(widths[0])), widths[0])
    rows = np.empty((len(columns[0][0]), len(words)), dtype=np.uint64)
    for index, word in enumerate(words):
        rows[:, index] = _packed(word)
    rows = sort_word_rows(rows, [sum(of_word) for of_word in widths])
    split = (_unpacked(rows[:, index].copy(), it) for index, it in enumerate(widths))
    return [codes for of_word in split for codes in of_word]


def sorted_order(columns: Sequence[tuple[Codes, int]]) -> NDArray[Any]:
    """Where the rows stand, shape (n,), in the order of ``sort_rows``; equal ones as they stood."""
    words, rows = _words(columns), len(columns[0][0])
    bits = [sum(_width(distinct) for _, distinct in word) for word in words]
    order = np.arange(rows, dtype=np.uint64)
    low = _width(rows)
    if len(words) == 1 and bits[0] + low <= _WORD_BITS:
        packed = _packed(words[0]).astype(np.uint64)
        packed <<= np.uint64(low)
        packed |= order
        packed = sort_words(packed, bits[0] + low, ordered=low)
        packed &= np.uint64(2**low - 1)
        return packed
    together = np.column_stack([*(_packed(word).astype(np.uint64) for word in words), order])
    return sort_word_rows(together, [*bits, 0])[:, -1]


def look_up(table: NDArray[Any], codes: Codes) -> NDArray[Any]:
    """``table[codes]``, without a wider copy of the codes and without the interpreter's lock."""
    found = np.empty_like(table, shape=len(codes))
    for part in parts(len(codes)):
        np.take(table, codes[part], out=found[part], mode="clip")
    return found


def _width(distinct: int) -> int:
    """The bits that hold codes below ``distinct``."""
    return max(1, (distinct - 1).bit_length())


def _words(columns: Sequence[tuple[Codes, int]]) -> list[list[tuple[Codes, int]]]:
    """The columns in runs, each of which fits in a machine word."""
    words: list[list[tuple[Codes, int]]] = []
    free = 0
    for codes, distinct in columns:
        width = _width(distinct)
        if width > free:
            words.append([])
            free = _WORD_BITS
        words[-1].append((codes, distinct))
        free -= width
    return words


def _packed(columns: Sequence[tuple[Codes, int]]) -> NDArray[Any]:
    """Rows as machine words, the first column in the highest bits."""
    widths = [_width(distinct) for _, distinct in columns]
    dtype = np.uint32 if sum(widths) <= _WORD_BITS // 2 else np.uint64
    packed: NDArray[Any] = columns[0][0].astype(dtype)
    word = packed.dtype.type
    for (codes, _), width in zip(columns[1:], widths[1:], strict=True):
        packed <<= word(width % _WORD_BITS)
        np.bitwise_or(packed, codes, out=packed, dtype=packed.dtype, casting="unsafe")
    return packed


def _unpacked(packed: NDArray[Any], widths: Sequence[int]) -> list[Codes]:
    """The codes of packed rows by column; the words are used up."""
    word = packed.dtype.type
    unpacked: list[Codes] = []
    for width in reversed(widths):
        codes = np.empty(len(packed), dtype=code_type(2**width))
        np.bitwise_and(packed, word(2**width - 1), out=codes, casting="unsafe")
        unpacked.append(codes)
        packed >>= word(width % _WORD_BITS)
    return unpacked[::-1]


def code_type(distinct: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The narrowest type for codes below ``distinct``."""
    return np.min_scalar_type(max(distinct - 1, 0))


def _of_arrow(encoded: Any, name: str) -> tuple[pl.Series, Codes]:
    values = pl.Series(name, encoded.dictionary)
    indices = encoded.indices
    if indices.null_count:  # a missing value gets an index of its own behind the others
        indices = indices.fill_null(len(values))
        values = values.extend(pl.Series(name, [None], dtype=values.dtype))
    return values, pl.Series(indices).to_numpy()  # Arrow itself would import pandas for this


def _encode_dense(column: pl.Series, low: int, high: int) -> DictionaryColumn:
    """Encode integers that lie close together: a look-up by value in place of a hash.

    Where they span little, their differences from the least are codes already.
    """
    span = high - low + 1
    if span <= _DICTIONARY_LIMIT:
        codes = np.empty(len(column), dtype=code_type(span))
        for part, numbers in _pieces(column):
            np.subtract(numbers, low, out=codes[part], casting="unsafe")
        there = count_codes(codes, span) > 0
        listed = pl.Series(column.name, np.flatnonzero(there) + low, dtype=column.dtype)
        if not there.all():
            codes = look_up((np.cumsum(there) - 1).astype(code_type(len(listed))), codes)
        return DictionaryColumn(listed, codes)
    present = np.zeros(span, dtype=bool)
    for _, numbers in _pieces(column):
        present[numbers - low] = True
    rank = (np.cumsum(present) - 1).astype(code_type(int(present.sum())))
    codes = np.empty_like(rank, shape=len(column))
    for part, numbers in _pieces(column):
        np.take(rank, numbers - low, out=codes[part], mode="clip")
    values = pl.Series(column.name, np.flatnonzero(present) + low, dtype=column.dtype)
    return DictionaryColumn(values, codes)


def _pieces(column: pl.Series) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Integers a few at a time, with their indices: a whole copy would cost more than the work."""
    start = 0
    for chunk in column.get_chunks():
        numbers = chunk.to_numpy()
        for part in parts(len(numbers)):
            stop = start + len(numbers[part])
            yield slice(start, stop), numbers[part].astype(np.int64, copy=False)
            start = stop


def _encode_text(column: pl.Series) -> tuple[pl.Series, Codes]:
    # Categories of this column alone: the global ones would keep private texts alive.
    return _of_categories(column.cast(pl.Categorical(pl.Categories.random())))


def _of_categories(categories: pl.Series) -> tuple[pl.Series, Codes]:
    distinct = categories.unique()
    codes = distinct.drop_nulls().to_physical().to_numpy().astype(np.int64)
    size = int(codes.max(initial=-1)) + 1
    rank = np.full(size + 1, len(codes), dtype=np.int32)
    rank[codes] = np.arange(len(codes), dtype=np.int32)
    values = distinct.drop_nulls().cast(pl.String)
    if distinct.null_count():
        values = values.extend(pl.Series(categories.name, [None], dtype=pl.String))
    physical = categories.to_physical().cast(pl.UInt32).fill_null(size).to_numpy()
    return values, rank[physical]


def _ascending(values: pl.Series, codes: Codes) -> DictionaryColumn:
    """A column from values that may repeat, in any order."""
    values = without_minus_zero(values)
    order = values.arg_sort(nulls_last=False)
    ranked = values[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = ranked[1:].ne_missing(ranked[:-1]).to_numpy()
    distinct = ranked.filter(pl.Series(new))
    rank = np.empty(len(values), dtype=code_type(len(distinct)))
    rank[order.to_numpy()] = np.cumsum(new) - 1
    return DictionaryColumn(distinct, look_up(rank, codes))
