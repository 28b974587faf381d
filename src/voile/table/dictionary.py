"""Columns as a sorted dictionary of distinct values and one small integer for each row.

Whatever concerns values (types, bounds, exact numbers, identities) is then settled once for each
distinct value, and whatever concerns rows is arithmetic on integers.

``sort_rows`` packs the codes of a row into one machine word.  A table without row numbers is a
multiset of such words: sorting them gives an order of the rows that is a function of their
contents alone, whatever order they came in.

Cost: one hash look-up a row to encode, a sort of the d distinct values, four bytes a row and
column; packing and unpacking are a few instructions a row and column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Codes", "DictionaryColumn", "encode", "sort_rows"]

Codes = NDArray[np.integer[Any]]

_WORD_BITS = 64
_DICTIONARY_LIMIT = 1 << 16


@dataclass(frozen=True, eq=False)
class DictionaryColumn:
    """A column of n rows: ``values[codes[i]]`` is the value of row i."""

    values: pl.Series
    """Distinct values, ascending; a missing value, if there is one, comes first."""
    codes: Codes
    """Shape (n,), 32 bits each."""

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.values.name

    @property
    def has_missing(self) -> bool:
        """Whether some row has no value."""
        return self.values.null_count() > 0

    def rows_with(self, chosen: pl.Series) -> NDArray[np.bool_]:
        """The rows whose value is chosen by a Boolean series over the distinct values."""
        mask: NDArray[np.bool_] = chosen.to_numpy()[self.codes]
        return mask

    def decode(self, codes: Codes) -> pl.Series:
        """The values of rows with these codes; few distinct texts stay in a dictionary (Enum)."""
        values = self.values
        if values.dtype == pl.String and len(values) < min(len(codes), _DICTIONARY_LIMIT):
            values = values.cast(pl.Enum(values.drop_nulls()))
        return values.gather(pl.Series(codes))

    def first_place(self, chosen: pl.Series) -> int:
        """The place, from 0, of the first row with a chosen value; -1 if there is none."""
        rows = self.rows_with(chosen)
        return int(rows.argmax()) if rows.any() else -1

    def only(self, rows: NDArray[np.bool_]) -> DictionaryColumn:
        """The column of the chosen rows; values that none of them has are dropped."""
        codes = self.codes[rows]
        present = np.bincount(codes, minlength=len(self.values)) > 0
        rank = (np.cumsum(present) - 1).astype(np.int32)
        return DictionaryColumn(self.values.filter(pl.Series(present)), rank[codes])


def encode(column: pl.Series) -> DictionaryColumn:
    """Encode a column; minus zero counts as zero."""
    if column.dtype.is_float():
        zero = pl.lit(0.0, dtype=column.dtype)  # adding zero would be optimised away
        plain = pl.when(column == 0).then(zero).otherwise(column).alias(column.name)
        column = pl.select(plain).to_series()
    if column.dtype == pl.String:
        values, codes = _encode_text(column)
    elif column.dtype.is_nested() or column.dtype == pl.Object:
        values, codes = _encode_text(column.cast(pl.String))
    else:
        encoded: Any = column.to_arrow().dictionary_encode(null_encoding="encode")
        values = pl.Series(column.name, encoded.dictionary, dtype=column.dtype)
        codes = encoded.indices.to_numpy()
    order = values.arg_sort(nulls_last=False).to_numpy()
    rank = np.empty(len(values), dtype=np.int32)
    rank[order] = np.arange(len(values), dtype=np.int32)
    return DictionaryColumn(values[order], rank[codes])


def _encode_text(column: pl.Series) -> tuple[pl.Series, Codes]:
    # Categories of this column alone: the global ones would keep private texts alive.
    categories = column.cast(pl.Categorical(pl.Categories.random()))
    physical = categories.to_physical()
    missing = physical.null_count() > 0
    codes = physical.fill_null(physical.len()).to_numpy() if missing else physical.to_numpy()
    distinct = categories.drop_nulls().unique()
    places = distinct.to_physical().to_numpy().astype(np.int64)
    size = int(places.max(initial=-1)) + 1
    rank = np.zeros(size + 1, dtype=np.int32)
    rank[places] = np.arange(len(places), dtype=np.int32)
    values = distinct.cast(pl.String)
    if missing:
        rank[size] = len(places)
        codes = np.minimum(codes, size)
        values = values.extend(pl.Series(column.name, [None], dtype=pl.String))
    return values, rank[codes]


def sort_rows(columns: Sequence[tuple[Codes, int]]) -> list[Codes]:
    """Sort rows by their codes in all columns, the first column first; new codes by column.

    Each column comes with the number of its distinct codes.
    """
    widths = [max(1, int(distinct - 1).bit_length()) for _, distinct in columns]
    if sum(widths) > _WORD_BITS:
        order = np.lexsort([codes for codes, _ in reversed(columns)])
        return [codes[order] for codes, _ in columns]
    packed: NDArray[Any] = np.zeros(
        len(columns[0][0]), dtype=np.uint32 if sum(widths) <= _WORD_BITS // 2 else np.uint64
    )
    word = packed.dtype.type
    for (codes, _), width in zip(columns, widths, strict=True):
        packed <<= word(width % _WORD_BITS)
        packed |= codes.astype(packed.dtype)
    packed.sort()
    unpacked: list[Codes] = []
    for width in reversed(widths):
        unpacked.append((packed & word(2**width - 1)).astype(np.int32))
        packed >>= word(width % _WORD_BITS)
    return unpacked[::-1]
