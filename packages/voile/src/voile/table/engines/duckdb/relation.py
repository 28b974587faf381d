"""What a data set of DuckDB is before anybody asks it something: a SELECT, and functions to come.

A ``DuckDBRelation`` is SQL: what stands behind FROM, and the columns that say where a row stands.
Nothing of it has run.  A ``Step`` is a function of record batches that somebody has mapped and
nobody has asked for yet.  It is asked

- once for each value, where it reads one column that holds few different ones: the values are
  joined to the rows as a small table;
- else batch by batch, while rows stream through Python: into a table of their own, or into the one
  statement that needs them; never all at once.  One that looks back at rows before (``begin``) is
  asked of all rows in their order, and before any of them is left out.

Texts of DuckDB's columns, numbered or plain: told alike, brought together, and found.

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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from voile.table.arrays import array_of, polars_type, series_of
from voile.table.codes import code_type
from voile.table.engines.duckdb.session import DuckDBHandle, Table
from voile.table.engines.expressions import moment_literal
from voile.table.protocol import Function
from voile_base.ondemand import dataclass

__all__ = [
    "DUCKDB",
    "MOST_TEXTS",
    "DuckDBRelation",
    "Step",
    "Stored",
    "Texts",
    "as_stored",
    "few_texts",
    "identifier",
    "quoted",
    "stored_array",
    "stored_column",
    "stored_type",
    "table_of",
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


@dataclass(frozen=True, eq=False)
class DuckDBRelation:
    """Rows as SQL has them."""

    session: DuckDBHandle
    source: str
    """What stands behind FROM; all columns have names of the session."""
    place: str
    """The column by which rows stand in their order, where nothing else orders them."""
    number: str | None
    """The column with the number of a row in its source, from 1."""
    straight: bool = True
    """Whether rows come in their order by themselves: there is nothing but scans and choices."""
    holds: tuple[Table, ...] = ()
    """Tables that must stay."""

    @classmethod
    def of_table(
        cls,
        table: Table,
        session: DuckDBHandle,
        *,
        numbered: bool = True,
        number: str | None = None,
    ) -> DuckDBRelation:
        """All rows of a table; ``number`` names the column that has their numbers."""
        place = session.name()
        own = session.name() if numbered and number is None else None
        extra = f", rowid + 1 AS {own}" if own else ""
        source = f"(SELECT *, rowid AS {place}{extra} FROM {table.name})"
        return cls(session, source, place, number or own, holds=(table,))

    def with_columns(
        self, expressions: Mapping[str, str], *, straight: bool = True
    ) -> DuckDBRelation:
        """More columns, by expressions."""
        made = ", ".join(f"{said} AS {name}" for name, said in expressions.items())
        source = f"(SELECT *, {made} FROM {self.source})"
        return replace(self, source=source, straight=self.straight and straight)

    def where(self, condition: str) -> DuckDBRelation:
        """The rows for which a condition holds."""
        return replace(self, source=f"(SELECT * FROM {self.source} WHERE {condition})")

    def with_small(
        self, small: Table, keys: Mapping[str, str], columns: Sequence[str], how: str = "LEFT"
    ) -> DuckDBRelation:
        """The rows with columns of the row of a table that agrees in some, missing ones too."""
        alike = " AND ".join(f"l.{one} IS NOT DISTINCT FROM r.{two}" for one, two in keys.items())
        made = "".join(f", r.{name}" for name in columns)
        source = f"(SELECT l.*{made} FROM {self.source} l {how} JOIN {small.name} r ON {alike})"
        return replace(self, source=source, straight=False, holds=(*self.holds, small))

    def only(self, idents: Sequence[str]) -> str:
        """A SELECT of some columns."""
        return f"SELECT {', '.join(idents)} FROM {self.source}"

    def few_texts(self, column: Stored) -> Texts | None:
        """The different texts of a column of files, if they are few."""
        if not pa.types.is_large_string(column.type) or column.texts is not None:
            return column.texts
        found = _few_distinct(self, column)
        return None if found is None else few_texts(pl.Series(found.column(0)))


@dataclass(eq=False)
class Step:
    """A function that was mapped, and what it was found to give."""

    function: Function
    reads: Mapping[str, Stored]
    gives: tuple[Stored, ...]
    begin: Callable[[], None] | None = None
    """Of a function that looks back: what it is told before all rows stream by, in their order."""
    asked: bool = False
    """Whether its rows have streamed by once."""
    by_value: tuple[Table, str, tuple[Stored, ...]] | None = None
    """The values that it gives, for each that it reads: a table, its key, and its columns."""
    many: bool = False
    """Whether what it reads was found to have many values."""
    tabled: tuple[DuckDBRelation, frozenset[str], DuckDBRelation] | None = None
    """The rows for which a table was made, the columns that were wanted, and that table."""
    _of_texts: tuple[Texts, list[pa.Array]] | None = field(default=None, repr=False)

    def table_for(self, relation: DuckDBRelation, wanted: Collection[str]) -> DuckDBRelation | None:
        """The table that was made for the same rows with these columns, if one was."""
        known = self.tabled
        if known is None or known[0] is not relation or not known[1].issuperset(wanted):
            return None
        return known[2]

    def ask(self, arrays: Mapping[str, pa.Array]) -> list[pa.Array]:
        """What it gives for the rows of a batch, of columns by their names in the session."""
        read = [arrays[column.ident] for column in self.reads.values()]
        if len(read) == 1 and isinstance(read[0], pa.DictionaryArray):
            return self._ask_of_texts(read[0], next(iter(self.reads.values())))
        return self._called(pa.RecordBatch.from_arrays(read, names=list(self.reads)))

    def _called(self, batch: pa.RecordBatch) -> list[pa.Array]:
        if not batch.num_rows:
            return [pa.array([], stored.type) for stored in self.gives]
        given = self.function(batch)
        return [
            series_of(array).to_arrow() if isinstance(array, pa.DictionaryArray) else array
            for array in given
        ]

    def _ask_of_texts(self, array: pa.DictionaryArray, column: Stored) -> list[pa.Array]:
        """As ``ask``, once for each text that there may be."""
        texts = column.texts
        assert texts is not None
        known = self._of_texts
        if known is None or known[0] is not texts:
            batch = pa.RecordBatch.from_arrays([texts.arrow], names=list(self.reads))
            known = texts, self._called(batch)
            self._of_texts = known
        codes = pl.Series(array.indices)
        return [series_of(made).gather(codes).to_arrow() for made in known[1]]

    def values_table(
        self, relation: DuckDBRelation
    ) -> tuple[Table, str, tuple[Stored, ...]] | None:
        """What it gives for each value that it reads; None where it reads several columns, or many.

        Values of a data set are those of any that is chosen from it.
        """
        if self.by_value is not None or len(self.reads) != 1 or self.many or self.begin:
            return self.by_value
        read = next(iter(self.reads.values()))
        values = _few_values(relation, read)
        if values is None:
            self.many = True
            return None
        arrays = self._called(pa.RecordBatch.from_arrays([values], names=list(self.reads)))
        key = replace(read, ident=relation.session.name())
        made = [
            stored_column(series_of(array), stored.type, stored.ident)
            for array, stored in zip(arrays, self.gives, strict=True)
        ]
        columns = {key: _coded(series_of(values), key), **dict(made)}
        table = table_of(relation.session, columns)
        self.by_value = table, key.ident, tuple(column for column, _ in made)
        return self.by_value


def _few_values(relation: DuckDBRelation, column: Stored) -> pa.Array | None:
    """The different values of a column, if they are few."""
    if column.texts is not None:
        return column.texts.arrow
    found = _few_distinct(relation, column)
    if found is None:
        return None
    batches = found.combine_chunks().to_batches()
    return column.full(batches[0].column(0)) if batches else pa.array([], column.type)


def _few_distinct(relation: DuckDBRelation, column: Stored) -> pa.Table | None:
    """The different values of a column as they are stored, if they are few; in any order.

    The first rows alone may have too many: then the others are not looked at, and no table of all
    that is different is built.
    """
    session, name = relation.session, column.ident
    if relation.straight:
        first = f"(SELECT {name} FROM {relation.source} LIMIT {2 * MOST_TEXTS})"
        if session.rows(f"SELECT count(DISTINCT {name}) FROM {first}")[0][0] > MOST_TEXTS:
            return None
    most = MOST_TEXTS + 1
    found = session.arrow(f"SELECT DISTINCT {name} FROM {relation.source} LIMIT {most + 1}")
    return found if found.num_rows <= most else None


def _coded(values: pl.Series, column: Stored) -> pa.Array:
    """Values as they are stored in a column that numbers texts, or does not."""
    if column.texts is None:
        return stored_array(values.to_arrow(), column.type)
    return column.texts.numbers(values).to_arrow().cast(column.texts.code_type)


def stored_column(values: pl.Series, dtype: pa.DataType, ident: str) -> tuple[Stored, pa.Array]:
    """A column of values in memory, with few texts numbered, and what is stored of it."""
    texts = few_texts(values) if pa.types.is_large_string(dtype) else None
    column = Stored(ident, dtype, texts)
    return column, _coded(values, column)


def table_of(session: DuckDBHandle, columns: Mapping[Stored, pa.Array]) -> Table:
    """A table of arrays that are stored."""
    schema = pa.schema([pa.field(column.ident, array.type) for column, array in columns.items()])
    batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)
    return session.filled(schema, [batch], small=True)


def as_stored(values: pl.Series, column: Stored) -> tuple[pa.Array, Any]:
    """Values as a column stores them, and which of them it can store."""
    if column.texts is None:
        plain = values.cast(polars_type(column.type))
        return stored_array(plain.to_arrow(), column.type), np.ones(len(values), dtype=np.bool_)
    numbers = column.texts.numbers(values.cast(pl.String))
    known = (numbers.is_not_null() | values.is_null()).to_numpy()
    return numbers.to_arrow().cast(column.texts.code_type), known


def few_texts(values: pl.Series) -> Texts | None:
    """The different texts of a column, if they are few."""
    distinct = values.cast(pl.String).drop_nulls().unique()
    return Texts(distinct.sort()) if len(distinct) <= MOST_TEXTS else None
