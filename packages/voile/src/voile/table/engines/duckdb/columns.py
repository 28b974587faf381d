"""Columns of DuckDB: what values of the kernel's types are stored as, and how they come back.

Dates, times and durations are stored as the whole numbers that they are in Arrow, in their own
units: that keeps nanoseconds and time zones, orders and compares them, and costs nothing either
way.  Texts of few different values are stored as numbers of these, which ascend as the texts do by
code points.  Everything else is what it is.  Minus zero is stored as zero where rows come in.

Columns have names of the session's, which are plain: names of a table may be anything, and to
DuckDB "a" and "A" are one.

Comparisons with literals in DuckDB's SQL, of columns as they are stored.

Literals are numbers and truth values in their own notation, and texts in quotes; those that are
compared with numbered texts are numbers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa

from voile.table.arrays import array_of, polars_type, series_of
from voile.table.codes import code_type
from voile.table.engines.expressions import moment_literal

__all__ = [
    "DUCKDB",
    "MOST_TEXTS",
    "Stored",
    "Texts",
    "identifier",
    "native",
    "quoted",
    "stored_array",
    "stored_type",
]


MOST_TEXTS = 1 << 16
"""Different texts of a column up to which these are numbered."""

_NUMBERS = {
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
}

_OF_TEXT = 32

_IN_MICROSECONDS = {"ms": "* 1000", "us": "* 1", "ns": "// 1000"}
_MADE = {"ms": "_ms", "us": "", "ns": "_ns"}


@dataclass(frozen=True, eq=False)
class Texts:
    """Different texts, ascending by code points."""

    values: pl.Series

    @cached_property
    def arrow(self) -> pa.Array:
        """With a missing one behind them; the same array each time, so that it is known again."""
        return pl.concat([self.values, pl.Series([None], dtype=pl.String)]).to_arrow()

    @cached_property
    def listed(self) -> list[str]:
        """As texts of Python."""
        return self.values.to_list()

    @property
    def code_type(self) -> pa.DataType:
        """Of their numbers, and of one more."""
        return array_of(np.empty(0, dtype=code_type(len(self.values) + 1))).type

    def between(self, text: str) -> tuple[int, int]:
        """The numbers from which on texts are at least a text, and more than it."""
        return bisect_left(self.listed, text), bisect_right(self.listed, text)

    def numbers(self, texts: pl.Series) -> pl.Series:
        """The numbers of texts, shape (n,); missing for a missing one and for one not here."""
        return texts.cast(pl.Enum(self.values), strict=False).to_physical().cast(pl.UInt32)


@dataclass(frozen=True, eq=False)
class Stored:
    """A column: its name in the session, the type of its values, and its texts if numbered."""

    ident: str
    type: pa.DataType
    texts: Texts | None = None

    @property
    def sql_type(self) -> str:
        """What DuckDB calls the type in which it is stored."""
        dtype = self.texts.code_type if self.texts else stored_type(self.type)
        if pa.types.is_decimal(dtype):
            return f"DECIMAL({dtype.precision}, {dtype.scale})"
        if pa.types.is_large_binary(dtype) or pa.types.is_binary(dtype):
            return "BLOB"
        return _NUMBERS.get(dtype, "VARCHAR")

    @property
    def width(self) -> int:
        """Bytes of a value, about: of texts and the like, what most take."""
        dtype = self.texts.code_type if self.texts else stored_type(self.type)
        try:
            return -(-int(dtype.bit_width) // 8)
        except ValueError:
            return _OF_TEXT

    @property
    def without_minus_zero(self) -> str:
        """The column as an expression, with zero for minus zero."""
        if not pa.types.is_floating(self.type):
            return self.ident
        return f"CASE WHEN {self.ident} = 0 THEN 0 ELSE {self.ident} END AS {self.ident}"

    def loaded(self, array: pa.Array) -> pa.Array:
        """Values as the kernel has them, of an array of DuckDB's."""
        if self.texts is not None:
            codes = (
                pl.Series(array).fill_null(len(self.texts.values)) if array.null_count else array
            )
            codes = codes.to_arrow() if isinstance(codes, pl.Series) else codes
            return pa.DictionaryArray.from_arrays(codes, self.texts.arrow, safe=False)
        if pa.types.is_null(self.type):
            return pa.nulls(len(array))
        if stored_type(self.type) != self.type:
            return array.view(self.type)
        return array

    def full(self, array: pa.Array) -> pa.Array:
        """As ``loaded``, of exactly the type of the column."""
        loaded = self.loaded(array)
        if isinstance(loaded, pa.DictionaryArray):
            return series_of(loaded).to_arrow()
        return loaded if loaded.type == self.type else loaded.cast(self.type)


def native(column: Stored) -> str:
    """An expression that gives the values of a column in DuckDB's own types; texts are plain."""
    name, dtype = column.ident, column.type
    if pa.types.is_date32(dtype):
        return f"(DATE '1970-01-01' + {name})"
    if pa.types.is_time64(dtype):
        return f"(TIME '00:00:00' + to_microseconds({name} // 1000))"
    if pa.types.is_duration(dtype):
        return f"to_microseconds(CAST({name} {_IN_MICROSECONDS[dtype.unit]} AS BIGINT))"
    if pa.types.is_timestamp(dtype) and dtype.tz is not None:
        return f"make_timestamptz(CAST({name} {_IN_MICROSECONDS[dtype.unit]} AS BIGINT))"
    if pa.types.is_timestamp(dtype):
        return f"make_timestamp{_MADE[dtype.unit]}({name})"
    return f"CAST({name} AS INTEGER)" if pa.types.is_null(dtype) else name


def identifier(name: str) -> str:
    """A name of a column as SQL takes it, whatever it is."""
    return '"' + name.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """A text as a literal."""
    return "'" + text.replace("'", "''") + "'" if "\0" not in text else _with_zeros(text)


def _with_zeros(text: str) -> str:
    return "(" + " || chr(0) || ".join(quoted(part) for part in text.split("\0")) + ")"


def stored_type(dtype: pa.DataType) -> pa.DataType:
    """The Arrow type in which values of a type are stored."""
    if pa.types.is_date32(dtype):
        return pa.int32()
    if pa.types.is_null(dtype):
        return pa.int8()
    if pa.types.is_timestamp(dtype) or pa.types.is_time64(dtype) or pa.types.is_duration(dtype):
        return pa.int64()
    return dtype


def stored_array(array: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Values of a type as they are stored."""
    if isinstance(array, pa.DictionaryArray):
        array = series_of(array).to_arrow()
    if pa.types.is_null(dtype):
        return pa.nulls(len(array), pa.int8())
    if array.type != dtype:
        array = series_of(array).cast(polars_type(dtype)).to_arrow().cast(dtype)
    kind = stored_type(dtype)
    return array if kind == dtype else array.view(kind)


_BIGINT = 2**63
_EXACT = 2**53


class _DuckDBDialect:
    """See ``Dialect``."""

    def against(self, column: Stored, operation: str, value: object) -> str | None:
        """A column compared with a literal."""
        if isinstance(value, str):
            return _against_text(column, operation, value)
        said = _literal(column.type, value)
        return None if said is None else f"({column.ident} {operation} {said})"

    def alike(self, one: Stored, other: Stored) -> bool:
        """Whether what is stored of two columns compares as their values do."""
        return not one.texts and not other.texts and one.type == other.type

    def finite(self, column: Stored) -> str:
        """Whether a column of floating point is finite."""
        return f"isfinite({column.ident})"


DUCKDB = _DuckDBDialect()


def _against_text(column: Stored, operation: str, text: str) -> str:
    if column.texts is None:
        return f"({column.ident} {operation} {quoted(text)})"
    low, high = column.texts.between(text)
    number = f"CAST({column.ident} AS INTEGER)"
    if operation in ("=", "<>"):
        within = f"({number} >= {low} AND {number} < {high})"
        return within if operation == "=" else f"(NOT {within})"
    border = {"<": low, "<=": high, ">": high, ">=": low}[operation]
    return f"({number} {'<' if operation in ('<', '<=') else '>='} {border})"


def _literal(dtype: pa.DataType, value: object) -> str | None:
    """A literal of the type of a column, or one that is compared with it exactly; else None."""
    if isinstance(value, bool):
        return str(value).upper() if pa.types.is_boolean(dtype) else None
    if isinstance(value, int) and pa.types.is_integer(dtype):
        narrow = -_BIGINT < value < _BIGINT and not pa.types.is_uint64(dtype)
        return (
            f"CAST({value} AS {'BIGINT' if narrow else 'HUGEINT'})" if abs(value) < 2**100 else None
        )
    if isinstance(value, int | float) and pa.types.is_floating(dtype):
        if isinstance(value, int) and abs(value) > _EXACT:
            return None
        return f"CAST('{float(value)!r}' AS DOUBLE)"
    moment = moment_literal(dtype, value)
    return None if moment is None else str(moment)
