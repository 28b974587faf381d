"""Functions of whole groups asked of rows of DuckDB, which stream by in the order of groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from voile.table.arrays import array_of
from voile.table.duckdb_columns import Stored, stored_array, stored_type
from voile.table.duckdb_pending import PendingRows
from voile.table.duckdb_relation import DuckDBRelation
from voile.table.duckdb_session import DuckDBHandle
from voile.table.protocol import GroupFunction
from voile.table.whole_groups import starts, whole_groups

__all__ = ["mapped_by_groups"]

Made = tuple[DuckDBRelation, Mapping[str, Stored]]


def mapped_by_groups(
    rows: PendingRows, function: GroupFunction, within: str, kinds: tuple[pa.Schema, pa.Schema]
) -> tuple[Made, Made]:
    """The rows with more columns, and a row for each group, both in tables.

    ``rows`` have no functions to come and stand by group; ``kinds`` are the columns that the
    function gives of the rows and of the groups.
    """
    gives, of_groups = kinds
    session = rows._session
    made = {field.name: Stored(session.name(), field.type) for field in gives}
    own = {name: replace(c, ident=session.name()) for name, c in rows._columns.items()}
    place = list(own).index(within)
    groups: list[list[pa.Array]] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in whole_groups(rows._stored_batches(), place):
            loaded = [c.loaded(a) for c, a in zip(own.values(), batch, strict=True)]
            given, of_these = function(pa.RecordBatch.from_arrays(loaded, names=list(own)))
            groups.append([batch[place].take(array_of(starts(batch[place]))), *of_these])
            stored = [stored_array(a, f.type) for a, f in zip(given, gives, strict=True)]
            yield pa.RecordBatch.from_arrays([*batch, *stored], schema=schema)

    schema = rows._stored_schema(own, made)
    table = session.filled(schema, batches())
    kind = schema.field(own[within].ident).type
    columns = {within: replace(own[within], ident=session.name())} | {
        field.name: Stored(session.name(), field.type) for field in of_groups
    }
    few = _table_of_groups(session, groups, kind, list(columns.values()))
    return (DuckDBRelation.of_table(table, session), own | made), (few, columns)


def _table_of_groups(
    session: DuckDBHandle, groups: list[list[pa.Array]], kind: pa.DataType, columns: list[Stored]
) -> DuckDBRelation:
    """A row for each group; the first column tells groups, and is stored as a kind already."""
    kinds = [kind, *(stored_type(column.type) for column in columns[1:])]
    schema = pa.schema([(c.ident, it) for c, it in zip(columns, kinds, strict=True)])

    def stored(part: list[pa.Array]) -> pa.RecordBatch:
        others = zip(part[1:], columns[1:], strict=True)
        arrays = [part[0], *(stored_array(array, column.type) for array, column in others)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    return DuckDBRelation.of_table(session.filled(schema, map(stored, groups)), session)
