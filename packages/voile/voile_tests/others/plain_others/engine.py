"""An engine of plain Python lists: the kernel as its docstrings say it, and no faster.

It is what an engine from another package looks like, and what the engine on one machine is compared
with.  Batches are of three rows, so that nothing leans on getting a table at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.persons import Occurrences
from voile.table.arrays import from_native
from voile.table.protocol import (
    Counted,
    EngineSource,
    Fold,
    Format,
    Function,
    GroupFunction,
    How,
    Tally,
)
from voile.table.reading import list_columns, read_frame
from voile_base.randomness import Key
from voile_base.values.expressions import Expression, columns_of, evaluate, order_key

BATCH = 3
Values = dict[str, list[Any]]


class PlainRows:
    """Lists of Python's values by column."""

    def __init__(self, schema: pa.Schema, values: Values, numbers: list[int | None]) -> None:
        self.schema = schema
        self._values = values
        self._numbers = numbers

    @property
    def height(self) -> int:
        return len(self._numbers)

    # -- small answers

    def count(self, by: Sequence[str], *, keep: bool = False) -> Counted:
        distinct = [sorted({order_key(v): v for v in self._values[name]}.items()) for name in by]
        code = [{key: place for place, (key, _) in enumerate(pairs)} for pairs in distinct]
        counted = Counter(
            tuple(of[key] for of, key in zip(code, keys, strict=True)) for keys in self._keys(by)
        )
        found = sorted(counted)
        return Counted(
            columns=tuple(by),
            values=tuple(
                pa.array([value for _, value in pairs], self.schema.field(name).type)
                for name, pairs in zip(by, distinct, strict=True)
            ),
            codes=np.array(found, dtype=np.int32).reshape(len(found), len(by)),
            rows=np.array([counted[codes] for codes in found], dtype=np.int64),
        )

    def tally(self, holds: Expression) -> Tally:
        there = self._holding(holds)
        return Tally(len(there), self._numbers[there[0]] if there else None)

    def occurrences(self, column: str, ignored: Sequence[str] | None = None) -> Occurrences:
        left_out = () if ignored is None else (None, "", *ignored)
        counts = Counter(order_key(v) for v in self._values[column] if v not in left_out)
        once = sum(rows == 1 for rows in counts.values())
        return Occurrences(counts.total(), len(counts), once)

    def fold(self, columns: Sequence[str], fold: Fold) -> None:
        for start, batch in self._batches(columns):
            fold.take(batch, start)

    # -- rows from rows

    def read(self) -> PlainRows:
        return self

    def select(self, columns: Sequence[str]) -> PlainRows:
        names = list(columns)
        schema = pa.schema([self.schema.field(name) for name in names])
        return PlainRows(schema, {name: self._values[name] for name in names}, self._numbers)

    def filter(self, holds: Expression) -> PlainRows:
        return self._taken(self._holding(holds))

    def map(self, function: Function, reads: Sequence[str], gives: pa.Schema) -> PlainRows:
        made: Values = {name: [] for name in gives.names}
        for _, batch in self._batches(reads):
            for name, array in zip(gives.names, function(batch), strict=True):
                made[name] += array.to_pylist()
        return self._with(gives, made)

    def map_groups(
        self,
        function: GroupFunction,
        within: str,
        by: Sequence[str],
        gives: pa.Schema,
        of_groups: pa.Schema,
    ) -> tuple[PlainRows, PlainRows]:
        rows = self.ordered([within, *by])
        ends = [0]
        keys = list(rows._keys([within]))
        for place in range(1, rows.height + 1):
            if place == rows.height or keys[place] != keys[place - 1]:
                ends += [place]
        made: Values = {name: [] for name in gives.names}
        groups: Values = {name: [] for name in of_groups.names}
        for start, end in pairwise(ends):
            found = function(rows._batch(list(self._values), start, end))
            for columns, arrays in zip((made, groups), found, strict=True):
                for name, array in zip(columns, arrays, strict=True):
                    columns[name] += array.to_pylist()
        groups = {within: [rows._values[within][start] for start in ends[:-1]], **groups}
        schema = pa.schema([self.schema.field(within), *of_groups])
        return rows._with(gives, made), PlainRows(schema, groups, [None] * (len(ends) - 1))

    def numbered(self, name: str) -> PlainRows:
        return self._with(pa.schema([pa.field(name, pa.int64())]), {name: list(self._numbers)})

    def join(self, counted: Counted, columns: Mapping[str, pa.Array]) -> PlainRows:
        keys = [[order_key(v) for v in values.to_pylist()] for values in counted.values]
        place = {
            tuple(of[code] for of, code in zip(keys, codes, strict=True)): index
            for index, codes in enumerate(counted.codes.tolist())
        }
        found = [place.get(key) for key in self._keys(counted.columns)]
        gives = pa.schema([pa.field(name, array.type) for name, array in columns.items()])
        values = {name: array.to_pylist() for name, array in columns.items()}
        made = {n: [None if f is None else v[f] for f in found] for n, v in values.items()}
        return self._with(gives, made)

    def join_rows(self, other: PlainRows, on: Sequence[str], how: How) -> PlainRows:
        place = {key: index for index, key in enumerate(other._keys(on))}
        found = [place.get(key) for key in self._keys(on)]
        if how == "anti":
            return self._taken([index for index, at in enumerate(found) if at is None])
        names = [name for name in other._values if name not in on]
        gives = pa.schema([other.schema.field(name) for name in names])
        made = {n: [None if f is None else other._values[n][f] for f in found] for n in names}
        joined = self._with(gives, made)
        if how == "left":
            return joined
        return joined._taken([index for index, at in enumerate(found) if at is not None])

    def union(self, other: PlainRows) -> PlainRows:
        values = {name: [*mine, *other._values[name]] for name, mine in self._values.items()}
        numbers: list[int | None] = list(range(1, self.height + other.height + 1))
        return PlainRows(self.schema, values, numbers)

    def distinct(self, by: Sequence[str], rows: str) -> PlainRows:
        counted = self.count(by)
        columns = {
            name: values.take(pa.array(codes)).to_pylist()
            for name, values, codes in zip(by, counted.values, counted.codes.T, strict=True)
        }
        schema = pa.schema([*(self.schema.field(name) for name in by), pa.field(rows, pa.int64())])
        return PlainRows(
            schema, {**columns, rows: counted.rows.tolist()}, [None] * len(counted.rows)
        )

    def rank(self, name: str, within: Sequence[str], by: Sequence[str]) -> PlainRows:
        order = sorted(range(self.height), key=list(self._keys([*within, *by])).__getitem__)
        seen: Counter[tuple[Any, ...]] = Counter()
        groups = list(self._keys(within))
        ranks: list[Any] = [0] * self.height
        for place in order:
            ranks[place] = seen[groups[place]]
            seen[groups[place]] += 1
        return self._with(pa.schema([pa.field(name, pa.int64())]), {name: ranks})

    def permuted(self, within: str, keys: Mapping[str, Key]) -> PlainRows:
        kept = [name for name in self._values if name != within and name not in keys]
        ordered = self.ordered([within, *kept])
        values = dict(ordered._values)
        for name, key in keys.items():
            drawn = self.ordered([within, name])._values[name]
            words = key.stream(self.height).tolist()
            places = defaultdict(list)
            for place, group in enumerate(ordered._keys([within])):
                places[group].append(place)
            values[name] = [None] * self.height
            for members in places.values():
                by_word = sorted(members, key=words.__getitem__)
                for to, source in zip(members, by_word, strict=True):
                    values[name][to] = drawn[source]
        return PlainRows(self.schema, values, [None] * self.height)

    def ordered(self, by: Sequence[str], descending: Sequence[str] = ()) -> PlainRows:
        order = list(range(self.height))
        for name in reversed(by):
            keys = [order_key(value) for value in self._values[name]]
            order.sort(key=keys.__getitem__, reverse=name in descending)
        return self._taken(order)

    # -- out

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_batches([self._batch(list(self._values), 0, self.height)], self.schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield self._batch(list(self._values), 0, self.height)

    def write(self, folder: Path, file_format: Format) -> tuple[str, ...]:
        frame, name = pl.DataFrame(self.to_arrow()), f"data.{file_format}"
        (frame.write_csv if file_format == "csv" else frame.write_parquet)(folder / name)
        return (name,)

    def to_native(self) -> pa.Table:
        return self.to_arrow()

    # -- its own

    def _keys(self, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        if not names:
            return iter([()] * self.height)
        columns = [[order_key(value) for value in self._values[name]] for name in names]
        return zip(*columns, strict=True)

    def _holding(self, holds: Expression) -> list[int]:
        names = set(columns_of(holds))
        rows = ({n: self._values[n][i] for n in names} for i in range(self.height))
        return [place for place, row in enumerate(rows) if evaluate(holds, row) is True]

    def _taken(self, places: Sequence[int]) -> PlainRows:
        values = {name: [column[i] for i in places] for name, column in self._values.items()}
        return PlainRows(self.schema, values, [self._numbers[i] for i in places])

    def _with(self, gives: pa.Schema, made: Values) -> PlainRows:
        fields = {field.name: field for field in [*self.schema, *gives]}
        return PlainRows(pa.schema(fields.values()), self._values | made, self._numbers)

    def _batch(self, names: Sequence[str], start: int, end: int) -> pa.RecordBatch:
        fields = [self.schema.field(name) for name in names]
        arrays = [pa.array(self._values[f.name][start:end], f.type) for f in fields]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _batches(self, names: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        for start in range(0, self.height, BATCH):
            yield start, self._batch(names, start, min(start + BATCH, self.height))


class PlainEngine:
    """Makes tables of lists."""

    name = "plain"

    def scan(
        self,
        path: Path,
        *,
        columns: Sequence[str] | None = None,
        missing: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> EngineSource[PlainRows]:
        read = read_frame(path, missing=missing, columns=columns, texts=texts)
        form: Format = "csv" if read.format == "csv" else "parquet"
        rows = self.of_arrow(read.frame.to_arrow())
        return EngineSource(rows, tuple(list_columns(path)), form, read.notes)

    def of_native(self, frame: Any) -> EngineSource[PlainRows]:
        rows, _ = from_native(frame)
        return EngineSource(self.of_arrow(rows.to_arrow()), rows.columns)

    def of_arrow(self, table: pa.Table, numbers: NDArray[np.int64] | None = None) -> PlainRows:
        texts = [pa.types.is_dictionary(field.type) for field in table.schema]
        fields = [
            field.with_type(pa.large_string()) if text else field
            for field, text in zip(table.schema, texts, strict=True)
        ]
        values = {name: _without_minus_zero(table[name].to_pylist()) for name in table.column_names}
        places = range(table.num_rows) if numbers is None else numbers.tolist()
        return PlainRows(pa.schema(fields), values, [place + 1 for place in places])


def _without_minus_zero(values: list[Any]) -> list[Any]:
    return [value + 0.0 if isinstance(value, float) else value for value in values]
