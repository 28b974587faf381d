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
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from voile.table.arrays import polars_type, series_of
from voile.table.codes import encode
from voile.table.engines.duckdb.columns import (
    MOST_TEXTS,
    Stored,
    Texts,
    quoted,
    stored_array,
    stored_type,
)
from voile.table.engines.duckdb.session import DuckDBHandle, Table
from voile.table.engines.files import MOST_CATEGORIES
from voile.table.protocol import Function

__all__ = [
    "DuckDBRelation",
    "Step",
    "as_stored",
    "categories_in",
    "encoded",
    "few_texts",
    "few_texts_of",
    "listed",
    "numbered",
    "piped",
    "stored_column",
    "table_of",
]


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


def few_texts(values: pl.Series) -> Texts | None:
    """The different texts of a column, if they are few."""
    distinct = values.cast(pl.String).drop_nulls().unique()
    return Texts(distinct.sort()) if len(distinct) <= MOST_TEXTS else None


def table_of(session: DuckDBHandle, columns: Mapping[Stored, pa.Array]) -> Table:
    """A table of arrays that are stored."""
    schema = pa.schema([pa.field(column.ident, array.type) for column, array in columns.items()])
    batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)
    return session.filled(schema, [batch], small=True)


def piped(
    relation: DuckDBRelation,
    steps: Sequence[Step],
    columns: Mapping[str, Stored],
    wanted: Sequence[str],
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Rows with what steps give as they are stored, streaming.

    ``wanted`` are the columns that come out; ``columns`` are what they hold, where they are not the
    session's own.
    """
    made = {stored.ident for step in steps for stored in step.gives}
    schema = pa.schema([_field(name, columns.get(name), made=name in made) for name in wanted])
    read = [stored for step in steps for stored in step.reads.values()]
    loaded = {stored.ident: stored for stored in read if stored.ident not in made}
    base = list(dict.fromkeys([*(name for name in wanted if name not in made), *loaded]))

    def batches() -> Iterator[pa.RecordBatch]:
        for step in steps:
            if step.begin:
                step.begin()
        for batch in relation.session.stream(relation.only(base)):
            arrays = {name: stored.loaded(batch[name]) for name, stored in loaded.items()}
            for step in steps:
                given = step.ask(arrays)
                arrays |= {stored.ident: a for stored, a in zip(step.gives, given, strict=True)}
            stored = [
                stored_array(arrays[name], columns[name].type) if name in made else batch[name]
                for name in wanted
            ]
            yield pa.RecordBatch.from_arrays(stored, schema=schema)

    return schema, batches()


def _field(name: str, column: Stored | None, *, made: bool) -> pa.Field:
    """In what type a column is stored; columns of the session's own are whole numbers."""
    if column is None:
        return pa.field(name, pa.int64())
    if column.texts is not None:
        return pa.field(name, column.texts.code_type)
    if pa.types.is_large_string(column.type) and not made:
        return pa.field(name, pa.string())
    return pa.field(name, stored_type(column.type))


def encoded(column: Stored, array: pa.ChunkedArray) -> tuple[pa.Array, Any]:
    """The different values of a column of counts, ascending, and which each row has."""
    joined = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(joined, pa.ChunkedArray):
        joined = joined.chunk(0) if joined.num_chunks else pa.array([], array.type)
    if column.texts is None:
        found = encode(pl.Series("", column.full(joined)))
        return found.values.to_arrow(), found.codes
    numbers = pl.Series(joined).cast(pl.Int64).fill_null(-1).to_numpy()
    there, codes = np.unique(numbers, return_inverse=True)  # others are none of these rows'
    found_texts = column.texts.values.gather(there[there >= 0])
    if (there < 0).any():
        found_texts = pl.concat([pl.Series([None], dtype=pl.String), found_texts])
    return found_texts.to_arrow(), codes


def as_stored(values: pl.Series, column: Stored) -> tuple[pa.Array, Any]:
    """Values as a column stores them, and which of them it can store."""
    if column.texts is None:
        plain = values.cast(polars_type(column.type))
        return stored_array(plain.to_arrow(), column.type), np.ones(len(values), dtype=np.bool_)
    numbers = column.texts.numbers(values.cast(pl.String))
    known = (numbers.is_not_null() | values.is_null()).to_numpy()
    return numbers.to_arrow().cast(column.texts.code_type), known


def categories_in(relation: DuckDBRelation, columns: Mapping[str, Stored]) -> dict[str, pl.Series]:
    """For columns of few numbered texts a category for each number, and for a missing text.

    Texts that no row has are missing, since a file shows all categories.
    """
    few = {
        name: (column.ident, column.texts)
        for name, column in columns.items()
        if column.texts is not None and len(column.texts.values) <= MOST_CATEGORIES
    }
    if not few:
        return {}
    asked = ", ".join(f"list(DISTINCT {ident})" for ident, _ in few.values())
    (listed,) = relation.session.rows(f"SELECT {asked} FROM {relation.source}")
    made = {}
    for (name, (_, texts)), numbers in zip(few.items(), listed, strict=True):
        there = np.zeros(len(texts.values), dtype=np.bool_)
        there[[number for number in numbers or () if number is not None]] = True
        present = pl.Enum(texts.values.filter(pl.Series(there)))
        made[name] = pl.Series(texts.arrow).cast(present, strict=False)
    return made


def few_texts_of(relation: DuckDBRelation, column: Stored) -> Texts | None:
    """The different texts of a column of files, if they are few."""
    if not pa.types.is_large_string(column.type) or column.texts is not None:
        return column.texts
    found = _few_distinct(relation, column)
    return None if found is None else few_texts(pl.Series(found.column(0)))


def numbered(session: DuckDBHandle, column: Stored, texts: Texts | None, kinds: list[str]) -> str:
    """An expression that gives the numbers of texts, where these are to be numbered."""
    if texts is None or column.texts is not None or not len(texts.values):
        none = texts is not None and column.texts is None
        return "CAST(NULL AS UTINYINT)" if none else column.ident
    there = table_of(session, {Stored("t", pa.large_string()): texts.values.to_arrow()})
    kind = session.name()
    session.run(f"CREATE TYPE {kind} AS ENUM (SELECT t FROM {there.name} ORDER BY t)")
    kinds.append(kind)
    sql_type = Stored("", column.type, texts).sql_type
    return f"CAST(enum_code(CAST({column.ident} AS {kind})) AS {sql_type})"


def listed(column: Stored, texts: pl.Series) -> str:
    """Some texts as a column has them stored, as literals."""
    if column.texts is None:
        return ", ".join(quoted(text) for text in texts)
    numbers = column.texts.numbers(texts).drop_nulls().unique()
    return ", ".join(map(str, numbers))
