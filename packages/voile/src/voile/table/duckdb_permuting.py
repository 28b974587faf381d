"""Columns permuted within groups by DuckDB and keyed words, streaming; see ``Rows.permuted``.

DuckDB counts the values of each group and sorts what it counted.  That streams by, a value is
repeated as often as it stands, and the places of whole groups are permuted by their words
(``shuffling``).  A group may be larger than memory: where one has more than some million rows,
words stand beside the values, and DuckDB sorts these by group and word.

Cost for n rows and p permuted columns: p hash tables, sorts of what they hold, and about 20 ns a
value; with large groups p sorts of n rows.  Memory: some million values at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of
from voile.table.duckdb_columns import Stored
from voile.table.duckdb_relation import DuckDBRelation
from voile.table.duckdb_session import BATCH_ROWS
from voile.table.shuffling import expect, permute_within_runs
from voile_base.randomness import Key

__all__ = ["beside", "drawn_values"]

_AT_ONCE = 1 << 20
"""Places whose values are permuted at once."""
_LARGEST = 1 << 22
"""Rows of a group up to which it is permuted in memory."""
_GROUP, _VALUE, _ROWS, _WORD, _PLACE = "g", "v", "n", "w", "i"


def drawn_values(
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


def beside(
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
