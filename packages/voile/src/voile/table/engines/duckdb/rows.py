"""The kernel in DuckDB: rows as a SELECT, which runs when somebody asks it something.

Choosing, joining, ranking and ordering are SQL, and nothing of it has run when they return.  An
order is kept beside the rows and said last, behind every join: what is sorted below a join loses
its order.  Functions of record batches wait until they are needed (``duckdb_relation``).  What is
read, permuted, mapped by whole groups, made distinct or put together is a table of the session at
once: it is asked many things, and costs a pass or a sort.

A rank breaks ties by where rows stand, so that a release that is computed twice is the same twice.

Batches come from DuckDB and go to it; none of its results is collected but counts, and rows of
small tables.

Cost: that of DuckDB's scans, hash tables and sorts, all of which go to disk where memory ends, and
of the passage of batches through Python where a function sees every row.

Columns permuted within groups by DuckDB and keyed words, streaming; see ``Rows.permuted``.

DuckDB counts the values of each group and sorts what it counted.  That streams by, a value is
repeated as often as it stands, and the places of whole groups are permuted by their words
(``shuffling``).  A group may be larger than memory: where one has more than some million rows,
words stand beside the values, and DuckDB sorts these by group and word.

Cost for n rows and p permuted columns: p hash tables, sorts of what they hold, and about 20 ns a
value; with large groups p sorts of n rows.  Memory: some million values at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.persons import Occurrences
from voile.table.arrays import array_of, kind_of_values, of_type, series_of
from voile.table.codes import encode
from voile.table.engines.duckdb.pending import (
    PendingRows,
    ascending,
    counting,
    with_equal_texts,
    with_texts,
)
from voile.table.engines.duckdb.relation import (
    DUCKDB,
    DuckDBRelation,
    Stored,
    Texts,
    as_stored,
    identifier,
    quoted,
    stored_column,
    table_of,
)
from voile.table.engines.duckdb.session import BATCH_ROWS, DuckDBHandle
from voile.table.engines.expressions import CHOSEN, condition
from voile.table.engines.shared import MOST_CATEGORIES, expect, permute_within_runs, write_arrow
from voile.table.protocol import (
    Counted,
    Fold,
    Format,
    GroupFunction,
    How,
    Rows,
    Tally,
)
from voile_base.errors import TableError
from voile_base.randomness import Key
from voile_base.values.expressions import Expression, columns_of

__all__ = ["DuckDBRows"]


_AT_ONCE = 1 << 20
"""Places whose values are permuted at once."""
_LARGEST = 1 << 22
"""Rows of a group up to which it is permuted in memory."""
_GROUP, _VALUE, _ROWS, _WORD, _PLACE = "g", "v", "n", "w", "i"


_IN_MICROSECONDS = {"ms": "* 1000", "us": "* 1", "ns": "// 1000"}
_MADE = {"ms": "_ms", "us": "", "ns": "_ns"}


def _drawn_values(
    relation: DuckDBRelation, within: Stored, columns: Iterable[tuple[Stored, Key]]
) -> list[Iterator[pa.Array]]:
    """The values of each column as they are stored, by group and permuted by a key in each group.

    They come some at a time, as they are asked for.
    """
    sizes = f"SELECT count(*) AS n FROM {relation.source} GROUP BY {within.ident}"
    largest, rows = relation.session.rows(
        f"SELECT coalesce(max(n), 0), coalesce(sum(n), 0) FROM ({sizes})"
    )[0]
    expect(int(rows))
    draw = _by_sorting if largest > _LARGEST else _in_memory
    return [draw(relation, within, column, key) for column, key in columns]


def _beside(
    batches: Iterable[pa.RecordBatch], columns: Iterable[Iterator[pa.Array]]
) -> Iterator[list[pa.Array]]:
    """The columns of batches, and as many values of each further column beside them."""
    cut = [_Cut(column) for column in columns]
    for batch in batches:
        yield [*batch.columns, *(each.next(batch.num_rows) for each in cut)]


class _Cut:
    """A column that comes in some pieces, and is wanted in others."""

    def __init__(self, pieces: Iterator[pa.Array]) -> None:
        self._pieces = pieces
        self._held: list[pa.Array] = []

    def next(self, rows: int) -> pa.Array:
        """The next values, so many."""
        held = sum(map(len, self._held))
        while held < rows:
            self._held.append(next(self._pieces))
            held += len(self._held[-1])
        joined = self._held[0] if len(self._held) == 1 else pa.concat_arrays(self._held)
        self._held = [joined[rows:]]
        return joined[:rows]


def _in_memory(
    relation: DuckDBRelation, within: Stored, column: Stored, key: Key
) -> Iterator[pa.Array]:
    first = 0
    for group, values, rows in _whole_groups(_counted(relation, within, column)):
        places = np.repeat(np.arange(len(values), dtype=np.uint32), rows)
        starts = _starts_of_runs(group)
        sizes = np.add.reduceat(rows, starts)
        permute_within_runs(places, sizes, key, first)
        first += len(places)
        yield values.take(array_of(places))


def _by_sorting(
    relation: DuckDBRelation, within: Stored, column: Stored, key: Key
) -> Iterator[pa.Array]:
    session = relation.session

    def worded() -> Iterator[pa.RecordBatch]:
        first = 0
        for batch in _counted(relation, within, column):
            rows = _numbers(batch[_ROWS])
            ends = np.cumsum(rows)
            for start in range(0, int(ends[-1]) if len(ends) else 0, BATCH_ROWS):
                stop = min(start + BATCH_ROWS, int(ends[-1]))
                place = array_of(np.searchsorted(ends, np.arange(start, stop), side="right"))
                words = key.stream(stop - start, first + start)
                numbers = np.arange(first + start, first + stop)
                arrays = [batch[_GROUP].take(place), batch[_VALUE].take(place)]
                arrays += [array_of(words), array_of(numbers)]
                yield pa.RecordBatch.from_arrays(arrays, names=[_GROUP, _VALUE, _WORD, _PLACE])
            first += int(ends[-1]) if len(ends) else 0

    kinds = relation.session.arrow(f"{relation.only([within.ident, column.ident])} LIMIT 0").schema
    fields = [(_GROUP, kinds[0].type), (_VALUE, kinds[1].type)]
    schema = pa.schema([*fields, (_WORD, pa.uint64()), (_PLACE, pa.int64())])
    table = session.filled(schema, worded())
    statement = f"SELECT {_VALUE} FROM {table.name} ORDER BY {_GROUP}, {_WORD}, {_PLACE}"
    for batch in session.stream(statement):
        yield batch.column(0)
    del table


def _counted(relation: DuckDBRelation, within: Stored, column: Stored) -> Iterator[pa.RecordBatch]:
    """How often each value stands in each group, by group and then by value."""
    statement = (
        f"SELECT {within.ident} AS {_GROUP}, {column.ident} AS {_VALUE}, "
        f"CAST(count(*) AS BIGINT) AS {_ROWS} FROM {relation.source} GROUP BY ALL "
        f"ORDER BY {_GROUP} ASC NULLS FIRST, {_VALUE} ASC NULLS FIRST"
    )
    return relation.session.stream(statement)


Counts = tuple[NDArray[np.int64], pa.Array, NDArray[np.int64]]


def _whole_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[Counts]:
    """Groups, values and how often they stand, of whole groups with about so many rows."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += int(_numbers(batch[_ROWS]).sum())
        if rows < _AT_ONCE:
            continue
        group, values, counts = _joined(held)
        last = int(np.searchsorted(group, group[-1]))  # the group that may go on
        yield from _some_groups(group[:last], values[:last], counts[:last])
        names = [_GROUP, _VALUE, _ROWS]
        rest = [array_of(group[last:]), values[last:], array_of(counts[last:])]
        held = [pa.RecordBatch.from_arrays(rest, names=names)]
        rows = int(counts[last:].sum())
    if held and sum(batch.num_rows for batch in held):
        yield from _some_groups(*_joined(held))


def _some_groups(
    group: NDArray[np.int64], values: pa.Array, counts: NDArray[np.int64]
) -> Iterator[Counts]:
    """The same, about so many rows at a time: few values may stand for very many."""
    starts = _starts_of_runs(group)
    if not len(starts):
        return
    ends = np.cumsum(np.add.reduceat(counts, starts))
    bounds = [*starts.tolist(), len(group)]
    run, before = 0, 0
    while run < len(starts):
        stop = max(run + 1, int(np.searchsorted(ends, before + _AT_ONCE, side="right")))
        first, last = bounds[run], bounds[stop]
        yield group[first:last], values[first:last], counts[first:last]
        run, before = stop, int(ends[stop - 1])


def _joined(batches: list[pa.RecordBatch]) -> Counts:
    group = np.concatenate([_numbers(batch[_GROUP]) for batch in batches])
    counts = np.concatenate([_numbers(batch[_ROWS]) for batch in batches])
    return group.astype(np.int64), pa.concat_arrays([b[_VALUE] for b in batches]), counts


def _numbers(array: pa.Array) -> NDArray[np.int64]:
    return pl.Series(array).to_numpy().astype(np.int64)


def _starts_of_runs(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.concatenate((np.zeros(min(len(codes), 1), dtype=np.int64), changes))


_OF_NO_ROW = "CAST(NULL AS BIGINT)"


class DuckDBRows(PendingRows):
    """Rows as a SELECT; see ``Rows``."""

    _height: int | None = None

    @classmethod
    def of_frame(
        cls, frame: pl.DataFrame, session: DuckDBHandle, numbers: object | None = None
    ) -> DuckDBRows:
        """The rows of a frame; ``numbers`` says where they stand in their source, from 0."""
        columns = {}
        stored = {}
        for series in frame:
            dtype = kind_of_values(series)
            plain = series.cast(pl.String) if pa.types.is_large_string(dtype) else series
            column, array = stored_column(plain, dtype, session.name())
            columns[series.name] = column
            stored[column] = array
        number = None
        if numbers is not None:
            number = session.name()
            stored[Stored(number, pa.int64())] = array_of(np.asarray(numbers, np.int64) + 1)
        if not stored:
            stored[Stored(session.name(), pa.int8())] = pa.nulls(frame.height, pa.int8())
        schema = pa.schema([pa.field(c.ident, array.type) for c, array in stored.items()])
        table = pa.Table.from_arrays(list(stored.values()), schema=schema)
        shown = [column.without_minus_zero for column in stored]
        made = session.filled(schema, table.to_batches(BATCH_ROWS), shown)
        return cls(DuckDBRelation.of_table(made, session, number=number), columns)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return pa.schema([pa.field(name, column.type) for name, column in self._columns.items()])

    @property
    def height(self) -> int:
        """How many rows there are."""
        if self._height is None:
            self._height = self._session.rows(f"SELECT count(*) FROM {self._relation.source}")[0][0]
        assert self._height is not None
        return self._height

    # -- small answers ----------------------------------------------------------------------------

    def count(self, by: Sequence[str], *, keep: bool = False) -> Counted:
        """Rows by distinct combination of values of some columns; see ``Rows``."""

        def statement(columns: Mapping[str, Stored], source: str) -> str:
            idents = ", ".join(columns[name].ident for name in by)
            return f"SELECT {idents}, CAST(count(*) AS BIGINT) FROM {source} GROUP BY {idents}"

        columns, found = self._asked(by, statement)
        rows = pl.Series(found.column(len(by))).to_numpy().astype(np.int64)
        values, codes = [], np.empty((len(rows), len(by)), dtype=np.int32)
        for place, name in enumerate(by):
            of_column, codes[:, place] = _encoded(columns[name], found.column(place))
            values.append(of_column)
        order = np.lexsort(codes.T[::-1])
        return Counted(tuple(by), tuple(values), codes[order], rows[order])

    def tally(self, holds: Expression) -> Tally:
        """How many rows an expression holds for."""
        said = condition(holds, self._columns, DUCKDB)
        rows, names = self, list(dict.fromkeys(columns_of(holds)))
        if said is None:
            rows, names = self._marked(holds), [CHOSEN]
        number = self._relation.number

        def statement(columns: Mapping[str, Stored], source: str) -> str:
            chosen = columns[CHOSEN].ident if said is None else condition(holds, columns, DUCKDB)
            first = f"min({number})" if number else _OF_NO_ROW
            return f"SELECT CAST(count(*) AS BIGINT), {first} FROM {source} WHERE {chosen}"

        _, found = rows._asked(names, statement, [number] if number else [])
        (count,), (first,) = (column.to_pylist() for column in found.columns)
        return Tally(count, None if first is None else int(first))

    def occurrences(self, column: str, ignored: Sequence[str] | None = None) -> Occurrences:
        """How often the values of a column stand in it; see ``Rows``."""
        rows = self._settled([column])
        held = rows._columns[column]
        source = rows._relation.source
        if ignored is not None:
            chosen = [f"{held.ident} IS NOT NULL"]
            if pa.types.is_large_string(held.type):
                texts = pl.Series(["", *ignored], dtype=pl.String)
                left_out = _listed(held, texts)
                chosen += [f"{held.ident} NOT IN ({left_out})"] if left_out else []
            source = f"(SELECT * FROM {source} WHERE {' AND '.join(chosen)})"
        found = rows._relation.session.rows(
            "SELECT coalesce(sum(n), 0), count(*), coalesce(sum(CAST(n = 1 AS BIGINT)), 0) FROM "
            f"(SELECT count(*) AS n FROM {source} GROUP BY {held.ident})"
        )
        rows_there, values, once = map(int, found[0])
        return Occurrences(rows_there, values, once)

    def fold(self, columns: Sequence[str], fold: Fold) -> None:
        """Go through some columns of all rows, as they stand."""
        first = 0
        for batch in self.select(columns)._batches():
            fold.take(batch, first)
            first += batch.num_rows

    # -- rows from rows ---------------------------------------------------------------------------

    def select(self, columns: Sequence[str]) -> DuckDBRows:
        """Some columns, in this order."""
        return self._like({name: self._columns[name] for name in columns})

    def read(self) -> DuckDBRows:
        """The same rows in a table, with few different texts numbered."""
        if self._fault is None:
            return self
        try:
            read = self._read()
        except TableError:
            if found := self._fault(reading=True):
                raise found from None
            raise
        if changed := self._fault(reading=False):
            raise changed
        return read

    def _read(self) -> DuckDBRows:
        relation, session = self._relation, self._session
        columns, made = {}, []
        kept: list[str] = []
        for name, column in self._columns.items():
            texts = relation.few_texts(column)
            own = replace(column, texts=texts)
            made.append(f"{_numbered(session, column, texts, kept)} AS {own.ident}")
            columns[name] = own
        session.to_disk(self.height * sum(column.width for column in columns.values()))
        table = session.created(f"SELECT {', '.join(made) or '1'} FROM {relation.source}")
        for kind in kept:
            session.run(f"DROP TYPE {kind}")
        # All rows of the source, in its order: where a row stands tells its number.
        return DuckDBRows(DuckDBRelation.of_table(table, session), columns)

    def filter(self, holds: Expression) -> DuckDBRows:
        """The rows for which an expression holds."""
        if condition(holds, self._columns, DUCKDB) is None:
            rows = self._marked(holds)._settled([CHOSEN])
            chosen = rows._columns[CHOSEN].ident
        else:
            rows = self._settled(list(dict.fromkeys(columns_of(holds))))
            chosen = condition(holds, rows._columns, DUCKDB) or ""
        kept = {name: column for name, column in rows._columns.items() if name != CHOSEN}
        return rows._like(kept, relation=rows._relation.where(chosen))

    def map_groups(
        self,
        function: GroupFunction,
        within: str,
        by: Sequence[str],
        gives: pa.Schema,
        of_groups: pa.Schema,
    ) -> tuple[DuckDBRows, DuckDBRows]:
        """More columns, a function of whole groups of rows."""
        rows = self._settled(list(self._columns)).ordered([within, *by])
        made, groups = rows.mapped_by_groups(function, within, (gives, of_groups))
        return DuckDBRows(*made), DuckDBRows(*groups)

    def numbered(self, name: str) -> DuckDBRows:
        """One more column, the number of each row in its source, from 1."""
        ident = self._session.name()
        said = self._relation.number or _OF_NO_ROW
        relation = self._relation.with_columns({ident: said})
        return self._like(self._columns | {name: Stored(ident, pa.int64())}, relation=relation)

    def join(self, counted: Counted, columns: Mapping[str, pa.Array]) -> DuckDBRows:
        """More columns, by combination of values: a join with a small table."""
        rows = self._settled(counted.columns)
        session = rows._relation.session
        keys: dict[str, str] = {}
        stored: dict[Stored, pa.Array] = {}
        there = np.ones(len(counted.rows), dtype=np.bool_)
        for name, values, codes in zip(
            counted.columns, counted.values, counted.codes.T, strict=True
        ):
            own = rows._columns[name]
            key = replace(own, ident=session.name())
            array, known = as_stored(series_of(values), own)
            there &= known[codes] if len(codes) else there
            keys[own.ident] = key.ident
            stored[key] = array.take(array_of(codes))
        made = {}
        for name, array in columns.items():
            column, values = stored_column(
                series_of(array), kind_of_values(series_of(array).head(0)), session.name()
            )
            made[name] = column
            stored[column] = values
        if not there.all():
            places = array_of(np.flatnonzero(there))
            stored = {column: array.take(places) for column, array in stored.items()}
        small = table_of(session, stored)
        relation = rows._relation.with_small(small, keys, [c.ident for c in made.values()])
        return rows._like(rows._columns | made, relation=relation)

    def join_rows(self, other: Rows, on: Sequence[str], how: How) -> DuckDBRows:
        """The rows with the columns of the row of another data set that agrees in some columns."""
        assert isinstance(other, DuckDBRows)
        rows, others = self._settled(on), other._settled(list(other._columns))
        for name in on:
            rows, others = with_equal_texts(rows, others, name)
        session = rows._relation.session
        renamed = {n: replace(c, ident=session.name()) for n, c in others._columns.items()}
        listed = ", ".join(
            f"{column.ident} AS {renamed[name].ident}" for name, column in others._columns.items()
        )
        alike = " AND ".join(
            f"l.{rows._columns[name].ident} IS NOT DISTINCT FROM r.{renamed[name].ident}"
            for name in on
        )
        rest = {name: column for name, column in renamed.items() if name not in on}
        shown = "".join(f", r.{column.ident}" for column in rest.values()) if how != "anti" else ""
        verb = {"left": "LEFT JOIN", "inner": "JOIN", "anti": "ANTI JOIN"}[how]
        source = (
            f"(SELECT l.*{shown} FROM {rows._relation.source} l {verb} "
            f"(SELECT {listed} FROM {others._relation.source}) r ON {alike})"
        )
        relation = replace(
            rows._relation,
            source=source,
            straight=False,
            holds=(*rows._relation.holds, *others._relation.holds),
        )
        return rows._like(rows._columns | (rest if how != "anti" else {}), relation=relation)

    def union(self, other: Rows) -> DuckDBRows:
        """The rows of both, in a table."""
        assert isinstance(other, DuckDBRows)
        rows, others = self._settled(list(self._columns)), other._settled(list(self._columns))
        for name in self._columns:
            rows, others = with_equal_texts(rows, others, name)
        table = rows._table()
        session = rows._relation.session
        session.run(f"INSERT INTO {table.name} {others.select(list(rows._columns))._statement()}")
        return DuckDBRows(DuckDBRelation.of_table(table, session), rows._columns)

    def distinct(self, by: Sequence[str], rows: str) -> DuckDBRows:
        """A row for each combination of values of some columns, and how many rows had it."""
        settled = self._settled(by)
        session = self._session
        own = {name: replace(settled._columns[name], ident=session.name()) for name in by}
        count = Stored(session.name(), pa.int64())
        listed = ", ".join(f"{settled._columns[name].ident} AS {own[name].ident}" for name in by)
        grouped = ", ".join(settled._columns[name].ident for name in by)
        table = session.created(
            f"SELECT {listed}, CAST(count(*) AS BIGINT) AS {count.ident} "
            f"FROM {settled._relation.source} GROUP BY {grouped}"
        )
        return DuckDBRows(
            DuckDBRelation.of_table(table, session, numbered=False), own | {rows: count}
        )

    def rank(self, name: str, within: Sequence[str], by: Sequence[str]) -> DuckDBRows:
        """One more column, the rank of each row among those that agree in some columns."""
        rows = self._settled([*within, *by])
        relation = rows._relation
        ident = relation.session.name()
        if not by:
            column = Stored(ident, pa.int64())
            found = counting(relation, [rows._columns[each] for each in within], column)
            if found is not None:
                steps = [*rows._steps, found[1]]
                return rows._like(rows._columns | {name: column}, relation=found[0], steps=steps)
        parts = ", ".join(rows._columns[each].ident for each in within)
        order = ", ".join([*(ascending(rows._columns[n]) for n in by), relation.place])
        window = f"{f'PARTITION BY {parts} ' if parts else ''}ORDER BY {order}"
        said = f"CAST(row_number() OVER ({window}) - 1 AS BIGINT)"
        relation = relation.with_columns({ident: said}, straight=False)
        return rows._like(rows._columns | {name: Stored(ident, pa.int64())}, relation=relation)

    def permuted(self, within: str, keys: Mapping[str, Key]) -> DuckDBRows:
        """The rows with some columns permuted within groups, in a table; see ``Rows``."""
        rows = self._settled(list(self._columns))
        session, relation = rows._relation.session, rows._relation
        kept = [name for name in rows._columns if name != within and name not in keys]
        stay = rows.select([within, *kept]).ordered([within, *kept])
        own = {name: replace(c, ident=session.name()) for name, c in rows._columns.items()}
        arranged = {name: own[name] for name in [within, *kept, *keys]}
        group = rows._columns[within]

        def batches() -> Iterator[pa.RecordBatch]:
            permuted = [(rows._columns[name], key) for name, key in keys.items()]
            drawn = _drawn_values(relation, group, permuted)
            for arrays in _beside(stay._stored_batches(), drawn):
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

        schema = rows.select(list(arranged))._stored_schema(arranged, {})
        table = session.filled(schema, batches())
        return DuckDBRows(DuckDBRelation.of_table(table, session, numbered=False), own)

    def ordered(self, by: Sequence[str], descending: Sequence[str] = ()) -> DuckDBRows:
        """The rows in the order of the values of some columns, which is said last."""
        rows = self._settled(by)
        order = [(rows._columns[name], name in descending) for name in by]
        return rows._like(rows._columns, order=order)

    # -- out --------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """All rows."""
        schema = self.schema
        full = [
            pa.RecordBatch.from_arrays(
                [of_type(array, field.type) for array, field in zip(batch, schema, strict=True)],
                schema=schema,
            )
            for batch in self._batches()
        ]
        return pa.Table.from_batches(full, schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, some at a time."""
        return self._batches()

    def write(self, folder: Path, file_format: Format) -> tuple[str, ...]:
        """Write the rows to one file, durably, a batch at a time."""
        parquet = file_format == "parquet"
        coded = _categories_in(self._relation, self._columns) if parquet else {}
        return (write_arrow(self._batches(), self.schema, folder, file_format, coded),)

    def to_native(self) -> Any:
        """The rows as a relation of DuckDB, lazily."""
        rows = self._settled(list(self._columns))
        for name, column in rows._columns.items():
            if column.texts is not None:
                rows = with_texts(rows, name, None)
        shown = [f"{_native(c)} AS {identifier(name)}" for name, c in rows._columns.items()]
        return rows._session.relation(rows._statement(shown=shown), rows._relation)


def _native(column: Stored) -> str:
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


def _encoded(column: Stored, array: pa.ChunkedArray) -> tuple[pa.Array, Any]:
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


def _categories_in(relation: DuckDBRelation, columns: Mapping[str, Stored]) -> dict[str, pl.Series]:
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


def _numbered(session: DuckDBHandle, column: Stored, texts: Texts | None, kinds: list[str]) -> str:
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


def _listed(column: Stored, texts: pl.Series) -> str:
    """Some texts as a column has them stored, as literals."""
    if column.texts is None:
        return ", ".join(quoted(text) for text in texts)
    numbers = column.texts.numbers(texts).drop_nulls().unique()
    return ", ".join(map(str, numbers))
