"""The engine on one machine: rows in memory, each column coded by its dictionary.

Whatever concerns values is done once for each distinct value: a function of one column, an
expression over one, what is joined to the combinations of some.  Whatever concerns rows is
arithmetic on small integers (``columns``).  A table without row numbers is a multiset of machine
words: sorting these orders rows of which all columns count, with nothing carried along.

Cost in n rows and d distinct values: reading a column, one hash look-up a row; counting a pass for
each column; a function of one column d calls, of several one for each batch of rows, or for each
distinct combination where ``rank`` has just counted these; ordering a sort of n words.  Memory: one
to four bytes a row and column, and about 30 bytes a row while rows are sorted.

Columns of Parquet and Arrow IPC files are read one by one, when they are asked for; other files are
read as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.persons import Occurrences
from voile.table.arrays import array_of, series_of
from voile.table.codes import (
    Codes,
    Combinations,
    DictionaryColumn,
    code_type,
    count_codes,
    count_pairs,
    encode,
    look_up,
    sort_rows,
    sorted_order,
    without_minus_zero,
)
from voile.table.engines.expressions import matches
from voile.table.engines.polars.columns import BATCH_ROWS, PolarsColumn, computed_parts, several
from voile.table.engines.shared import OfEagerFrames, permute_within_runs, write_batches
from voile.table.keeping import WORDS, Words, with_row_words, words_of
from voile.table.looking import count_occurrences, count_repeats, occurrences_of
from voile.table.places import Place
from voile.table.protocol import (
    Counted,
    EngineSource,
    Fold,
    Format,
    Function,
    GroupFunction,
    How,
    Rows,
    Tally,
)
from voile.table.reading import (
    count_rows,
    is_whole,
    list_columns,
    read_batches,
    read_column,
    read_frame,
)
from voile_base.compiled import njit, pays, uncompiled
from voile_base.ondemand import dataclass
from voile_base.randomness import Key
from voile_base.values.expressions import Expression, columns_of

__all__ = ["PolarsEngine", "PolarsRows", "PolarsSource", "Scan", "unique_words"]

Scan = Callable[[Sequence[str]], Iterator[pl.DataFrame]]
"""Some columns of all rows of a source, in their order."""


class _Order:
    """Which rows a data set has, and where each stands: those that share one agree in both."""

    def __init__(self, numbers: Callable[[], NDArray[np.int64]] | None = None) -> None:
        self.numbers = numbers
        """Where the rows stand in their source, from 0; None: as they stand here."""
        self.combined: dict[tuple[str, ...], Combinations] = {}
        """Combinations of values that were counted in order to rank rows."""
        self.number: PolarsColumn | None = None
        """The numbers of the rows as a column, where they ascend."""
        self.by: tuple[PolarsColumn, ...] = ()
        """What the rows are ordered by."""
        self.stably_by: tuple[PolarsColumn, ...] = ()
        """The same, and their numbers where rows that agree stand by these."""


@dataclass(frozen=True, eq=False)
class _RowCodes:
    """Which combination each row has."""

    order: _Order
    found: Combinations
    columns: Sequence[DictionaryColumn]


class _EncodedRows:
    """Columns by their names, and which rows they are of."""

    def __init__(
        self,
        columns: Mapping[str, PolarsColumn],
        height: int | None = None,
        *,
        scan: Scan | None = None,
        order: _Order | None = None,
    ) -> None:
        self._columns = dict(columns)
        self._height = height
        self._scan = scan
        self._order = order or _Order()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._columns)})"

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        empty = [pl.Series(name, dtype=column.dtype) for name, column in self._columns.items()]
        return pl.DataFrame(empty).to_arrow().schema

    @property
    def height(self) -> int:
        """How many rows there are."""
        if self._height is None:
            self._height = len(next(iter(self._columns.values())))
        return self._height

    def _like(self, columns: Mapping[str, PolarsColumn]) -> Self:
        """The same rows with other columns."""
        return type(self)(columns, self._height, scan=self._scan, order=self._order)

    def _only(self, rows: NDArray[np.bool_]) -> Self:
        """The chosen rows."""
        if rows.all():
            return self
        before_all, before = self._order, self._order.numbers

        def numbers() -> NDArray[np.int64]:
            order = np.flatnonzero(rows)
            return before()[order] if before else order

        columns = {name: column.chosen(rows) for name, column in self._columns.items()}
        order = _Order(numbers)
        chosen = {id(self._columns[name]): column for name, column in columns.items()}
        if all(id(column) in chosen for column in before_all.stably_by):
            order.by = tuple(chosen[id(column)] for column in before_all.by)
            order.stably_by = tuple(chosen[id(column)] for column in before_all.stably_by)
        return type(self)(columns, int(rows.sum()), order=order)

    def _dictionaries(self, names: Sequence[str]) -> list[DictionaryColumn]:
        return [self._columns[name].dictionary for name in names]

    def _frame(self, names: Sequence[str]) -> pl.DataFrame:
        """Some columns as a frame, with few distinct texts in dictionaries (Enum)."""
        return pl.DataFrame(
            several(lambda name: self._columns[name].series(name), names, self._is_long)
        )

    @property
    def _is_long(self) -> bool:
        return self.height > BATCH_ROWS

    def _batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some columns of all rows, many rows at a time."""
        columns = {name: self._columns[name] for name in names}
        if self._scan is not None and not all(column.is_read for column in columns.values()):
            yield from self._scan(names)
            return
        for rows in _slices(self.height):
            yield pl.DataFrame([column.part(name, rows) for name, column in columns.items()])

    def _mask(self, holds: Expression) -> NDArray[np.bool_] | None:
        """The rows for which an expression holds; None where there is none."""
        names = list(dict.fromkeys(columns_of(holds)))
        if len(names) == 1 and (codes := self._columns[names[0]].codes) is not None:
            values = self._columns[names[0]].values.alias(names[0])
            chosen = matches(holds, values.to_frame())
            return look_up(chosen, codes) if chosen.any() else None
        parts = [
            matches(holds, pl.DataFrame([self._columns[name].part(name, rows) for name in names]))
            for rows in _slices(self.height)
        ]
        if not names:
            return np.repeat(parts[0], self.height) if parts else None
        return np.concatenate(parts) if parts else None

    def _indices(self, counted: Counted) -> tuple[Codes, bool]:
        """Which combination each row has, g where it was not counted; whether all rows were."""
        kept = counted.handle
        if isinstance(kept, _RowCodes) and kept.order is self._order:
            return kept.found.index, True
        height, combinations = self.height, len(counted.rows)
        columns = []
        for name, values, codes in zip(
            counted.columns, counted.values, counted.codes.T, strict=True
        ):
            others = PolarsColumn(series_of(values), codes)
            columns.append(self._columns[name].before(others).dictionary)
        found = _combined(columns)
        of_counted = np.full(len(found.rows), combinations, dtype=code_type(combinations + 1))
        of_counted[found.index[height:]] = np.arange(combinations)
        return look_up(of_counted, found.index[:height]), False

    def _multisets(self, within: str, name: str) -> tuple[Codes, NDArray[np.int64]]:
        """The values in each group, group by group and ascending: codes, and how often each."""
        group, column = self._columns[within], self._columns[name].dictionary
        counted = group.counted
        if counted is not None and name in counted.columns:
            kept, index = counted.handle, counted.columns.index(name)
            if group.codes is kept.found.index and kept.columns[index] is column:
                numbers = group.values.to_numpy()
                order = np.lexsort((counted.codes[:, index], numbers))
                return counted.codes[order, index], counted.rows[order]
        _, values, rows = count_pairs(group.sortable(), (column.codes, len(column.values)))
        return values, rows


def _slices(rows: int) -> Iterator[slice]:
    """Batches of rows; none where there are none."""
    return (slice(start, min(start + BATCH_ROWS, rows)) for start in range(0, rows, BATCH_ROWS))


def _starts_of_runs(codes: Codes) -> NDArray[np.int64]:
    """Where each run of equal codes begins."""
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.concatenate((np.zeros(min(len(codes), 1), dtype=np.int64), changes))


def _whole_groups(starts: NDArray[np.int64], rows: int) -> Iterator[slice]:
    """Batches of rows that stand by group, none of which is cut in two."""
    ends = np.append(starts[1:], rows)
    first = 0
    while first < rows:
        last = int(ends[min(int(np.searchsorted(ends, first + BATCH_ROWS)), len(ends) - 1)])
        yield slice(first, last)
        first = last


def _computed(
    function: Function,
    columns: Mapping[str, PolarsColumn],
    slices: Iterable[slice],
    gives: pa.Schema,
) -> list[pl.Series]:
    """What a function gives for all rows, which the slices cut into batches."""
    return computed_parts(lambda batch, _: function(batch), columns, slices, gives)


def _of_values(function: Function, name: str, column: PolarsColumn) -> list[PolarsColumn]:
    """What a function of one column gives, asked once for each of its values."""
    codes = column.codes
    assert codes is not None
    batch = pa.record_batch([column.arrow_values], [name])
    return [_with_codes(array, codes) for array in function(batch)]


def _with_codes(array: object, codes: Codes) -> PolarsColumn:
    """A column of values for codes; codes of codes become one."""
    if isinstance(array, pa.DictionaryArray) and not array.indices.null_count:
        indices = series_of(array.indices).to_numpy()
        narrow = indices.astype(np.min_scalar_type(max(len(array.dictionary) - 1, 0)))
        return PolarsColumn(series_of(array.dictionary), look_up(narrow, codes))
    return PolarsColumn(series_of(array), codes)


def _combined(columns: Sequence[DictionaryColumn]) -> Combinations:
    """The combinations of values of some columns, and which each row has."""
    if len(columns) == 1:
        codes = columns[0].codes
        rows = count_codes(codes, len(columns[0].values))
        if rows.all():
            return Combinations(rows, lambda: [np.arange(len(rows))], lambda: codes)
    return Combinations.of([(column.codes, len(column.values)) for column in columns])


_WORTH_LOADING = 10_000
"""Rows from which loading compiled code takes less time than doing without it."""


class PolarsRows(_EncodedRows):
    """Rows in memory, or to be read; see ``Rows``."""

    @classmethod
    def of_frame(
        cls,
        frame: pl.DataFrame,
        numbers: NDArray[np.int64] | None = None,
    ) -> PolarsRows:
        """The rows of a frame; ``numbers`` says where they stand in their source, from 0."""
        columns = {series.name: PolarsColumn(without_minus_zero(series)) for series in frame}
        order = None if numbers is None else _Order(lambda: numbers)
        return cls(columns, frame.height, order=order)

    # -- small answers ----------------------------------------------------------------------------

    def count(self, by: Sequence[str], *, keep: bool = False) -> Counted:
        """Rows by distinct combination of values of some columns; see ``Rows``."""
        columns = self._dictionaries(by)
        values = tuple(column.values.to_arrow() for column in columns)
        if len(columns) == 2 and not keep:
            one, other, rows = count_pairs(*((c.codes, len(c.values)) for c in columns))
            return Counted(tuple(by), values, np.column_stack((one, other)).astype(np.int32), rows)
        found = _combined(columns)
        codes = np.empty((len(found.rows), len(by)), dtype=np.int32)
        for index, of_column in enumerate(found.codes):
            codes[:, index] = of_column
        kept = _RowCodes(self._order, found, columns) if keep else None
        return Counted(tuple(by), values, codes, found.rows, kept)

    def tally(self, holds: Expression) -> Tally:
        """How many rows an expression holds for; one over one column asks its values alone."""
        mask = self._mask(holds)
        if mask is None or not mask.any():
            return Tally(0, None)
        first = int(mask.argmax())
        numbers = self._order.numbers
        return Tally(int(mask.sum()), (int(numbers()[first]) if numbers else first) + 1)

    def occurrences(self, column: str, ignored: Sequence[str] | None = None) -> Occurrences:
        """How often the values of a column stand in it; see ``Rows``."""
        held = self._columns[column]
        if held.is_read and held.codes is not None:
            return occurrences_of(held.dictionary, ignored)
        batches = [batch[column] for batch in self._batches([column])]
        if not batches:
            return Occurrences(0, 0, 0)
        values = pl.concat(batches)
        return count_occurrences(values) if ignored is None else count_repeats(values, ignored)

    def fold(self, columns: Sequence[str], fold: Fold) -> None:
        """Go through some columns of all rows; those that were not read are not kept either."""
        first = 0
        for rows in self._batches(columns):
            for batch in rows.to_arrow(compat_level=pl.CompatLevel.newest()).to_batches():
                if fold.take(batch, first):
                    return
                first += batch.num_rows

    # -- rows from rows ---------------------------------------------------------------------------

    def select(self, columns: Sequence[str]) -> PolarsRows:
        """Some columns, in this order."""
        kept = {name: self._columns[name] for name in columns}
        if self._scan is not None:  # what is made of them does not keep the columns of a file
            kept = {name: column.unread() for name, column in kept.items()}
        return self._like(kept)

    def read(self) -> PolarsRows:
        """The same rows, in memory and encoded."""
        several(lambda column: column.dictionary, [*self._columns.values()], self._is_long)
        return self

    def filter(self, holds: Expression) -> PolarsRows:
        """The rows for which an expression holds; the same data set where that is all of them."""
        mask = self._mask(holds)
        return self._only(np.zeros(self.height, dtype=np.bool_) if mask is None else mask)

    def map(self, function: Function, reads: Sequence[str], gives: pa.Schema) -> PolarsRows:
        """More columns, a function of some; see the module for how often it is asked."""
        columns = {name: self._columns[name] for name in reads}
        found = self._order.combined.get(tuple(reads))
        if len(columns) == 1 and columns[reads[0]].codes is not None:
            made = _of_values(function, reads[0], columns[reads[0]])
        elif found is not None:
            distinct = {
                name: PolarsColumn(column.dictionary.values, codes)
                for (name, column), codes in zip(columns.items(), found.codes, strict=True)
            }
            values = _computed(function, distinct, _slices(len(found.rows)), gives)
            made = [PolarsColumn(each, found.index) for each in values]
        else:
            values = _computed(function, columns, _slices(self.height), gives)
            made = [PolarsColumn(each) for each in values]
        return self._like(self._columns | dict(zip(gives.names, made, strict=True)))

    def map_groups(
        self,
        function: GroupFunction,
        within: str,
        by: Sequence[str],
        gives: pa.Schema,
        of_groups: pa.Schema,
    ) -> tuple[PolarsRows, PolarsRows]:
        """More columns, a function of whole groups of rows."""
        rows = self._stably_ordered([within, *by])
        group = rows._columns[within]
        starts = _starts_of_runs(group.sortable()[0])
        groups: dict[int, list[pa.Array]] = {}

        def of_rows(batch: pa.RecordBatch, first: int) -> Sequence[pa.Array]:
            made, groups[first] = map(list, function(batch))
            return made

        batches = list(_whole_groups(starts, rows.height))
        values = computed_parts(of_rows, rows._columns, batches, gives)
        made = {name: PolarsColumn(each) for name, each in zip(gives.names, values, strict=True)}
        columns = {within: group.gathered(starts)}
        for index, field in enumerate(of_groups):
            chunks = [groups[first][index] for first in sorted(groups)]
            columns[field.name] = PolarsColumn(series_of(pa.chunked_array(chunks, field.type)))
        return rows._like(rows._columns | made), PolarsRows(columns, len(starts))

    def numbered(self, name: str) -> PolarsRows:
        """One more column, the number of each row in its source, from 1."""
        numbers = self._order.numbers() if self._order.numbers else np.arange(self.height)
        self._order.number = PolarsColumn(pl.Series(numbers + 1))
        return self._like(self._columns | {name: self._order.number})

    def join(self, counted: Counted, columns: Mapping[str, pa.Array]) -> PolarsRows:
        """More columns, by combination of values.

        Nothing is done row by row where it was kept which combination each row has.
        """
        index, complete = self._indices(counted)
        made = {}
        for name, array in columns.items():
            values = series_of(array)
            if not complete:
                values = values.extend(pl.Series("", [None], dtype=values.dtype))
            made[name] = PolarsColumn(values, index, counted if complete else None)
        return self._like(self._columns | made)

    def join_rows(self, other: Rows, on: Sequence[str], how: How) -> PolarsRows:
        """The rows with the columns of the row of another data set that agrees in some columns."""
        assert isinstance(other, PolarsRows)
        index = _partners(self._frame(on), other._frame(on))
        if how == "anti":
            return self._only(index.is_null().to_numpy())
        rest = {name: column for name, column in other._columns.items() if name not in on}
        values = {name: column.series("").gather(index) for name, column in rest.items()}
        joined = self._like(
            self._columns | {name: PolarsColumn(each) for name, each in values.items()}
        )
        return joined if how == "left" else joined._only(index.is_not_null().to_numpy())

    def union(self, other: Rows) -> PolarsRows:
        """The rows of both."""
        assert isinstance(other, PolarsRows)
        columns = {name: it.before(other._columns[name]) for name, it in self._columns.items()}
        return PolarsRows(columns, self.height + other.height)

    def distinct(self, by: Sequence[str], rows: str) -> PolarsRows:
        """A row for each combination of values of some columns, and how many rows had it."""
        columns = self._dictionaries(by)
        found = _combined(columns)
        made = {
            name: PolarsColumn.of(DictionaryColumn(column.values, codes))
            for name, column, codes in zip(by, columns, found.codes, strict=True)
        }
        return PolarsRows(made | {rows: PolarsColumn(pl.Series(found.rows))}, len(found.rows))

    def rank(self, name: str, within: Sequence[str], by: Sequence[str]) -> PolarsRows:
        """One more column, the rank of each row among those that agree in some columns."""
        found = _combined(self._dictionaries(within)) if within else None
        if not by and found is not None:
            self._order.combined[tuple(within)] = found
            count = _occurrences if pays(self.height, _WORTH_LOADING) else uncompiled(_occurrences)
            ranks = np.empty(self.height, dtype=code_type(int(found.rows.max(initial=1))))
            count(found.index, np.zeros(len(found.rows), dtype=np.uint32), ranks)
        else:
            group = np.zeros(self.height, dtype=np.uint8) if found is None else found.index
            groups = 1 if found is None else len(found.rows)
            coded = [(group, groups), *(self._columns[other].sortable() for other in by)]
            number = _ranks if pays(self.height, _WORTH_LOADING) else uncompiled(_ranks)
            ranks = np.empty(self.height, dtype=np.int64)
            number(sorted_order(coded), group, ranks)
        return self._like(self._columns | {name: PolarsColumn(pl.Series(ranks))})

    def permuted(self, within: str, keys: Mapping[str, Key]) -> PolarsRows:
        """The rows with some columns permuted within groups, at the price of one sort of the rest.

        What is drawn from is the multiset of values of each group, which is counted, not sorted.
        """
        of_rows, groups = self._columns[within].sortable()
        sizes = count_codes(of_rows, groups)
        kept = [name for name in self._columns if name != within and name not in keys]

        def made_of(name: str) -> PolarsRows:
            if name == within:
                return self.select([within, *kept]).ordered([within, *kept])
            column = self._columns[name].dictionary
            values, rows = self._multisets(within, name)
            codes = np.repeat(values.astype(column.codes.dtype), rows)
            permute_within_runs(codes, sizes, keys[name])
            return self._like({name: PolarsColumn.of(DictionaryColumn(column.values, codes))})

        ordered, *drawn = several(made_of, [within, *keys], self._is_long)
        made = {
            name: column for rows in (ordered, *drawn) for name, column in rows._columns.items()
        }
        return ordered._like({name: made[name] for name in self._columns})

    def ordered(self, by: Sequence[str], descending: Sequence[str] = ()) -> PolarsRows:
        """The rows in the order of the values of some columns."""
        if self._is_ordered(by, descending):
            return self
        coded = {
            name: _turned(*self._columns[name].sortable(), turn=name in descending) for name in by
        }
        if set(by) == set(self._columns):
            columns = {}
            for (name, (_, size)), numbers in zip(
                coded.items(), sort_rows(list(coded.values())), strict=True
            ):
                codes, _ = _turned(numbers, size, turn=name in descending)
                columns[name] = self._columns[name].of_numbers(codes, size)
            columns = {name: columns[name] for name in self._columns}
        else:
            order = sorted_order(list(coded.values()))
            columns = {name: column.gathered(order) for name, column in self._columns.items()}
        return PolarsRows(columns, self.height)

    def _stably_ordered(self, by: Sequence[str]) -> PolarsRows:
        """The rows in an order that is noted, those that agree as they stood."""
        if self._order.stably_by == tuple(self._columns[name] for name in by):
            return self
        stand = by[:-1] if by and self._columns[by[-1]] is self._order.number else by
        order = sorted_order([self._columns[name].sortable() for name in stand])
        columns = {name: column.gathered(order) for name, column in self._columns.items()}
        ordered = PolarsRows(columns, self.height)
        ordered._order.by = tuple(columns[name] for name in stand)
        ordered._order.stably_by = tuple(columns[name] for name in by)
        return ordered

    def _is_ordered(self, by: Sequence[str], descending: Sequence[str]) -> bool:
        """Whether the rows are known to stand so: no two agree in what they were ordered by."""
        before = self._order.by
        if not before or descending or len(before) > len(by):
            return False
        if any(self._columns[name] is not one for name, one in zip(by, before, strict=False)):
            return False
        same = np.ones(max(self.height - 1, 0), dtype=np.bool_)
        for column in before:
            codes, _ = column.sortable()
            same &= codes[1:] == codes[:-1]
        return not same.any()

    # -- out --------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """All rows."""
        return self.frame().to_arrow()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, some at a time."""
        for frame in self._batches(list(self._columns)):
            yield from frame.to_arrow().to_batches()

    def write(self, folder: Path, file_format: Format) -> tuple[str, ...]:
        """Write the rows to one file, durably."""
        rows = self
        if file_format == "parquet" and self._scan is None:
            columns = {name: column.with_categories() for name, column in self._columns.items()}
            rows = self._like(columns)
        schema = pl.Schema({name: column.dtype for name, column in rows._columns.items()})
        batches = rows._batches(list(rows._columns))
        return (write_batches(batches, schema, folder, file_format).name,)

    def to_native(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        return self.frame()

    def frame(self, *, in_full: bool = True) -> pl.DataFrame:
        """The rows as a Polars frame, with texts as texts, or few distinct ones in dictionaries."""
        frame = self._frame(list(self._columns))
        if not in_full:
            return frame
        texts = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Enum)]
        return frame.with_columns(pl.col(name).cast(pl.String) for name in texts)


def _turned(codes: Codes, size: int, *, turn: bool) -> tuple[Codes, int]:
    """Codes that order rows the other way round, where that is wanted."""
    return (codes.dtype.type(max(size - 1, 0)) - codes if turn else codes), size


def _partners(left: pl.DataFrame, right: pl.DataFrame) -> pl.Series:
    """For each row the index of the row of another frame that agrees in all columns, or null."""
    texts = pl.selectors.categorical() | pl.selectors.enum()
    numbered = right.with_columns(texts.cast(pl.String)).with_row_index("\1place")
    plain = left.with_columns(texts.cast(pl.String))
    joined = plain.join(
        numbered, on=plain.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return joined["\1place"]


@njit(cache=True, nogil=True)
def _occurrences(index: Codes, seen: NDArray[np.uint32], occurrence: Codes) -> None:
    """How many rows before each have the same index; ``seen`` goes on counting."""
    for row in range(len(index)):
        occurrence[row] = seen[index[row]]
        seen[index[row]] += np.uint32(1)


@njit(cache=True, nogil=True)
def _ranks(order: NDArray[np.generic], group: Codes, ranks: NDArray[np.int64]) -> None:
    """The rank of each row in its group; in this order rows stand by group."""
    rank = 0
    for index in range(len(order)):
        if index and group[order[index]] != group[order[index - 1]]:
            rank = 0
        ranks[order[index]] = rank
        rank += 1


PolarsSource = EngineSource[PolarsRows]


class PolarsEngine(OfEagerFrames[PolarsRows]):
    """Tables in memory; see ``Engine``."""

    name = "polars"

    def scan(
        self,
        path: Place,
        *,
        columns: Sequence[str] | None = None,
        missing: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> PolarsSource:
        """A table in a file, a folder or a database; raises ``TableError`` where there is none."""
        if is_whole(path):
            read = read_frame(path, missing=missing, columns=columns, texts=texts)
            rows = PolarsRows.of_frame(read.frame)
            return PolarsSource(rows, read.names or (), read.written, read.notes)
        assert isinstance(path, Path)
        listed = list_columns(path)
        types = {name: dtype for name, dtype in listed.items() if dtype is not None}
        if len(types) == len(listed):
            return PolarsSource(_of_file(path, types), tuple(types))
        read = read_frame(path, missing=missing, columns=columns, texts=texts)
        return PolarsSource(PolarsRows.of_frame(read.frame), tuple(listed), "csv", read.notes)

    def of_frame(self, frame: pl.DataFrame, numbers: NDArray[Any] | None = None) -> PolarsRows:
        """The rows of a frame."""
        return PolarsRows.of_frame(frame, numbers=numbers)

    @staticmethod
    def frame_of(rows: Rows) -> pl.DataFrame:
        """All rows, which stand in memory."""
        shown: pl.DataFrame = rows.to_native()
        return shown


def unique_words(columns: Mapping[str, DictionaryColumn], key: Key) -> Words:
    """64 pseudorandom bits for each row, also of several equal ones, whatever their order."""
    coded = {name: PolarsColumn.of(column) for name, column in columns.items()}
    height = len(next(iter(coded.values())))
    rows = with_row_words(PolarsRows(coded, height), list(coded), key)
    gives = pa.schema([pa.field(WORDS[0], pa.uint64())])
    drawn = rows.map(lambda batch: [array_of(words_of(batch, key))], WORDS, gives)
    words: Words = series_of(drawn.select([WORDS[0]]).to_arrow()[WORDS[0]]).to_numpy()
    return words


def _of_file(path: Path, types: Mapping[str, pl.DataType]) -> PolarsRows:
    """The rows of a file whose columns can be read by themselves."""
    columns = {
        name: PolarsColumn.later(dtype, partial(_read, path, name)) for name, dtype in types.items()
    }
    rows = count_rows(path) or None  # of none, a reader says what is wrong
    return PolarsRows(columns, rows, scan=partial(read_batches, path))


def _read(path: Path, name: str) -> Any:
    column = read_column(path, name)
    if isinstance(column, pl.Series) and isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    return encode(column, name)
