"""Tables over public domains: counted with noise to come, made up row by row, read back.

Counting tables over public domains: how many rows have each combination of cells of columns.

Every row counts, or none of it: a row with a value that belongs to no cell of its column, or
without a number that is added up, is left out.  Which cells a row has is a function of its own
values, and nothing about rows is ever refused, so that how the count ends tells nothing about them.

Cost: one pass over n rows for t tables, some 4 nanoseconds for each of n t; the counts of all
cells, and parts of ``_ROWS`` rows.

Rows that are made up, part by part, from the cells of public domains.

The rows of a part are a function of the part's number, so that an engine may ask for any part, in
any order and again.  What an engine holds of them is their numbers until they are written.

Cost: one part at a time in memory, beside the numbers.

Noisy counts of all cells of tables, as rows of a table that is published; and read back.

Columns: ``column_1``, ``value_1``, ``column_2``, ``value_2``, ... (missing of tables with fewer
columns), ``count``, and ``variance`` as a fraction; ``level_1``, ... where some table has a level
above the cells of a column; ``sum_of``, the column whose numbers were added up, where some were:
then ``count`` is the sum in parts (``SumOfNumbers``).  A missing value is ``value`` without text,
of a column that is named.

Cost: the cells, sorted by their tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from math import prod
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.domain import ColumnDomain
from voile.schema.plan import ColumnPlan, Plan
from voile.table.arrays import PerValue, date_form, may_hold_dates, numbers_of, with_missing
from voile.table.binding import exact_numbers
from voile.table.engines.polars import PolarsEngine
from voile.table.protocol import Engine, Rows
from voile.table.published import PublishedTable
from voile_base.ondemand import dataclass
from voile_base.values import Json
from voile_base.values.expressions import Expression

__all__ = [
    "MadeRows",
    "NoisyCells",
    "SumOfNumbers",
    "TableCounts",
    "cells_of",
    "flagged_rows",
    "flagged_values",
    "measured_cells",
    "measured_table",
    "table_of_made_rows",
]


_ROWS = 1 << 18
Whole = TypeVar("Whole", np.int32, np.int64)
_ABSENT = np.iinfo(np.int64).min
Codes = NDArray[np.int32]
ColumnSet = tuple[int, ...]
"""Columns of a table, by their places in the domain."""


_HALF_RANGE = 10**9
"""In what sums are counted: numbers are within one half of their range of its middle, and exact to
a billionth of that, so that 2**18 of them add up exactly in double precision."""


@dataclass(frozen=True)
class SumOfNumbers:
    """The sums of a column of numbers, clamped to public bounds, over the cells of a table.

    A number counts as its distance from the middle of the bounds, in whole parts of half of their
    width: of a row, from -``parts`` to ``parts``.  The sum of the numbers themselves follows from
    that and from the count, and its noise is smaller than if they were measured from 0.
    """

    columns: ColumnSet
    """Of the table."""
    column: str
    """Whose numbers they are."""
    low: Decimal
    high: Decimal
    """Above ``low``."""
    parts: int
    """What one row changes a sum by at most."""

    def rounded(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums of billionths in parts, halves upwards: one row changes none by more than before."""
        whole, rest = np.divmod(sums, _HALF_RANGE)
        of_rest = (2 * rest * self.parts + _HALF_RANGE) // (2 * _HALF_RANGE)
        rounded: NDArray[np.int64] = whole * self.parts + of_rest
        return rounded


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """All cells of a table with noise, as they are published among the measurements."""

    columns: Sequence[ColumnDomain]
    levels: Sequence[int]
    """Of each column."""
    counts: NDArray[np.int64]
    """Or sums, in parts; see ``SumOfNumbers``."""
    variance: str
    """Of the noise of each, a fraction."""
    summed: str | None = None
    """The column whose numbers were added up; None: rows were counted."""


@dataclass(frozen=True, eq=False)
class TableCounts:
    """Private counts of tables, of all cells of each."""

    counts: tuple[NDArray[np.int64], ...]
    """For each table: shape, the numbers of cells of its columns."""
    rows: int
    """That were counted."""
    left_out: int
    """With a value that has no cell."""
    beyond: int = 0
    """That did not take part, because their person has others that do."""
    sums: tuple[NDArray[np.int64], ...] = ()
    """For each sum that was asked for, in its parts."""

    @staticmethod
    def count(
        rows: Rows | PublishedTable,
        plan: Plan,
        domain: Sequence[ColumnDomain],
        sets: Sequence[ColumnSet],
        sums: Sequence[SumOfNumbers] = (),
    ) -> TableCounts:
        """Count tables of some rows, and add up numbers, in one pass; no row is ever refused."""
        columns = list(dict.fromkeys([*(it.name for it in domain), *(it.column for it in sums)]))
        fold = _Counting([_Encoder(it, plan) for it in domain], domain, sets, sums, columns, plan)
        rows.fold(columns, fold)
        return fold.counted()


def cells_of(rows: Any, domain: Sequence[ColumnDomain], plan: Plan) -> Codes:
    """The cell of each row of a Polars frame in each column, shape (columns, rows); -1 for none."""
    each = [_Encoder(column, plan)(rows[column.name].to_arrow()) for column in domain]
    return _stacked(each, len(rows))


class _Encoder:
    """The cell of each value of a column, -1 for none: a function of the value alone."""

    def __init__(self, column: ColumnDomain, plan: Plan) -> None:
        self._column, self._missing = column, tuple(plan.missing)
        self._declared = plan.column(column.name)
        self._absent = column.present if column.missing else -1
        self._starts = column.first[: column.present]
        self._places = {text: place for place, text in enumerate(column.listed or ())}
        self._per_value = PerValue(self._cells)

    def __call__(self, array: pa.Array) -> Codes:
        return self._per_value(array)

    def _cells(self, values: pl.Series) -> Codes:
        values = with_missing(values, self._missing)
        if self._column.kind == "date":
            return self._ranged(_days(values, self._declared), self._column.origin)
        if self._column.listed is None:
            return self._ranged(_floats(values), None)
        if self._column.kind == "number":
            return self._listed_numbers(_floats(values))
        return self._listed_texts(_texts(values))

    def _ranged(self, numbers: pl.Series, origin: int | None) -> Codes:
        """The range of each number or day; those beyond the ends belong to the outermost."""
        column = self._column
        if origin is None:
            starts = (column.origin + column.step * self._starts) / 10**column.scale
        else:
            starts = self._starts + origin
        found = np.searchsorted(starts, numbers.to_numpy(), side="right") - 1
        cells = np.clip(found, 0, column.present - 1).astype(np.int32)
        cells[numbers.is_null().to_numpy()] = self._absent
        return cells

    def _listed_numbers(self, numbers: pl.Series) -> Codes:
        listed = self._column.numbers
        order = np.argsort(listed)
        wanted = numbers.fill_null(np.nan).to_numpy()
        place = np.minimum(np.searchsorted(listed[order], wanted), len(listed) - 1)
        leaf = order[place]
        cells = np.where(listed[leaf] == wanted, self._cell_of(leaf), -1).astype(np.int32)
        cells[numbers.is_null().to_numpy()] = self._absent
        return cells

    def _listed_texts(self, texts: pl.Series) -> Codes:
        unique = texts.unique()
        cells = np.array([self._of_text(text) for text in unique.to_list()], dtype=np.int32)
        place = texts.replace_strict(
            unique, pl.Series(np.arange(len(unique), dtype=np.int64)), return_dtype=pl.Int64
        )
        return cells[place.to_numpy()] if len(texts) else cells

    def _of_text(self, text: str | None) -> int:
        if text is None:
            return self._absent
        leaf = self._places.get(text)
        return self._column.other if leaf is None else int(self._cell_of(np.array([leaf]))[0])

    def _cell_of(self, leaf: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._starts, leaf, side="right") - 1


class _Centred:
    """Each number of a column in billionths of half its range, from the middle of that."""

    def __init__(self, summed: SumOfNumbers, plan: Plan) -> None:
        self._low, self._high = float(summed.low), float(summed.high)
        self._missing = tuple(plan.missing)
        self._per_value = PerValue(self._numbers)

    def __call__(self, array: pa.Array) -> NDArray[np.int64]:
        """Shape (rows,); ``_ABSENT`` where there is no number."""
        centred: NDArray[np.int64] = self._per_value(array)
        return centred

    def _numbers(self, values: pl.Series) -> NDArray[np.int64]:
        numbers = _floats(with_missing(values, self._missing)).fill_null(np.nan).to_numpy()
        inner = np.clip(numbers, self._low, self._high)
        share = ((inner - self._low) - (self._high - inner)) / (self._high - self._low)
        centred: NDArray[np.int64]
        centred = np.floor(np.nan_to_num(share) * _HALF_RANGE + 0.5).astype(np.int64)
        centred[np.isnan(numbers)] = _ABSENT
        return centred


def _floats(values: pl.Series) -> pl.Series:
    """Numbers in double precision; missing where a value is none."""
    if values.dtype.is_temporal():
        values = values.cast(pl.String)
    return values.cast(pl.Float64, strict=False).fill_nan(None)


def _texts(values: pl.Series) -> pl.Series:
    """Values as texts: numbers in plain decimal notation, as hierarchies list them."""
    if not (values.dtype.is_float() or values.dtype.is_decimal()):
        return values.cast(pl.String)
    if values.dtype.is_float():
        values = pl.select(pl.when(values.is_finite()).then(values)).to_series()
    unique = values.drop_nulls().unique()
    texts = pl.Series(exact_numbers(unique).texts(), dtype=pl.String)
    return values.replace_strict(unique, texts, default=None, return_dtype=pl.String)


def _days(values: pl.Series, declared: ColumnPlan) -> pl.Series:
    """Days since 1970; missing where a value names none."""
    if may_hold_dates(values.dtype) and declared.format:
        values = date_form(declared.format).read(values.cast(pl.String))
    elif values.dtype == pl.String:
        values = values.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    if values.dtype == pl.Datetime:
        values = values.dt.date()
    if values.dtype != pl.Date:
        return pl.Series([None] * len(values), dtype=pl.Int32)
    return values.to_physical()


class _Counting:
    """A fold that counts all tables, and adds up all sums, at once."""

    def __init__(
        self,
        encoders: Sequence[Callable[[pa.Array], Codes]],
        domain: Sequence[ColumnDomain],
        sets: Sequence[ColumnSet],
        sums: Sequence[SumOfNumbers],
        columns: Sequence[str],
        plan: Plan,
    ) -> None:
        self._encoders, self._sets, self._of_sums = encoders, sets, sums
        of_ranges = {(it.column, it.low, it.high): _Centred(it, plan) for it in sums}
        self._centred = [(columns.index(of[0]), it) for of, it in of_ranges.items()]
        self._number = [list(of_ranges).index((it.column, it.low, it.high)) for it in sums]
        self._sizes = [len(column) for column in domain]
        self._counts = [self._zeros(columns) for columns in sets]
        self._sums = [self._zeros(of.columns) for of in sums]
        self._waiting: list[tuple[NDArray[np.int32], NDArray[np.int64]]] = []
        self._rows = self._left_out = 0

    def take(self, batch: pa.RecordBatch, first: int) -> None:
        """Cells of some rows; they are counted when there are many."""
        del first
        cells = [encode(batch[place]) for place, encode in enumerate(self._encoders)]
        values = [centred(batch[place]) for place, centred in self._centred]
        self._waiting.append((_stacked(cells, batch.num_rows), _stacked(values, batch.num_rows)))
        if sum(part.shape[1] for part, _ in self._waiting) >= _ROWS:
            self._count()

    def merge(self, other: Self) -> None:
        """Add what was counted elsewhere."""
        other._count()
        pairs = zip(self._counts + self._sums, other._counts + other._sums, strict=True)
        for mine, more in pairs:
            np.add(mine, more, out=mine)
        self._rows += other._rows
        self._left_out += other._left_out

    def counted(self) -> TableCounts:
        """All counts and sums."""
        self._count()
        counts = tuple(map(self._shaped, self._counts, self._sets))
        sums = tuple(
            self._shaped(of.rounded(total), of.columns)
            for total, of in zip(self._sums, self._of_sums, strict=True)
        )
        return TableCounts(counts, self._rows, self._left_out, sums=sums)

    def _zeros(self, columns: ColumnSet) -> NDArray[np.int64]:
        return np.zeros(prod(self._sizes[place] for place in columns), dtype=np.int64)

    def _shaped(self, counts: NDArray[np.int64], columns: ColumnSet) -> NDArray[np.int64]:
        return counts.reshape([self._sizes[place] for place in columns])

    def _count(self) -> None:
        if not self._waiting:
            return
        cells = np.concatenate([part for part, _ in self._waiting], axis=1)
        values = np.concatenate([part for _, part in self._waiting], axis=1)
        self._waiting = []
        whole = (cells >= 0).all(axis=0) & (values != _ABSENT).all(axis=0)
        if not whole.all():
            cells, values = cells[:, whole], values[:, whole]
        self._rows += cells.shape[1]
        self._left_out += len(whole) - cells.shape[1]
        places: dict[ColumnSet, NDArray[np.int64]] = {}
        of_sums = {of.columns for of in self._of_sums}
        for count, columns in zip(self._counts, self._sets, strict=True):
            place = self._places(cells, columns)
            if columns in of_sums:
                places[columns] = place
            np.add(count, np.bincount(place, minlength=len(count)), out=count)
        for start in range(0, cells.shape[1] if self._sums else 0, _ROWS):
            part = slice(start, start + _ROWS)  # whose sums are exact in double precision
            for total, of, at in zip(self._sums, self._of_sums, self._number, strict=True):
                if of.columns not in places:
                    places[of.columns] = self._places(cells, of.columns)
                place = places[of.columns][part]
                more = np.bincount(place, values[at, part], minlength=len(total))
                np.add(total, more.astype(np.int64), out=total)

    def _places(self, cells: NDArray[np.int32], columns: ColumnSet) -> NDArray[np.int64]:
        """The cell of each row in a table, shape (rows,)."""
        if not columns:
            return np.zeros(cells.shape[1], dtype=np.int64)
        place: NDArray[np.int64] = cells[columns[0]].astype(np.int64)
        for column in columns[1:]:
            place *= self._sizes[column]
            place += cells[column]
        return place


def _stacked(arrays: Sequence[NDArray[Whole]], rows: int) -> NDArray[Whole]:
    """Shape (arrays, rows), also where there are none."""
    return np.array(arrays).reshape(len(arrays), rows)


_ROW = "\1row"
"""No file has a column whose name begins so."""


class MadeRows(Protocol):
    """Rows that somebody makes up."""

    @property
    def rows(self) -> int:
        """How many."""

    @property
    def rows_of_part(self) -> int:
        """How many each part has, but the last."""

    def part(self, number: int) -> NDArray[np.int64]:
        """The leaves of the rows of a part, shape (rows, columns), -1 for a missing value."""


def table_of_made_rows(
    engine: Engine,
    domain: Sequence[ColumnDomain],
    made: MadeRows,
    convert: Callable[[Rows], Any] | None,
) -> PublishedTable:
    """Made-up rows in their order, to be published."""
    numbers = pl.DataFrame({_ROW: pl.Series(np.arange(made.rows, dtype=np.int32))}).to_arrow()
    rows = engine.of_arrow(numbers).ordered([_ROW])
    gives = pa.schema([pa.field(column.name, _type_of(column)) for column in domain])
    shown = rows.map(_Rendering(domain, made), [_ROW], gives).select(gives.names)
    return PublishedTable(shown, convert)


class _Rendering:
    """The values of rows by their numbers; keeps the part that was asked for last."""

    def __init__(self, domain: Sequence[ColumnDomain], made: MadeRows) -> None:
        self._domain, self._made = tuple(domain), made
        self._last: tuple[int, NDArray[np.int64]] | None = None

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_last": None}

    def __call__(self, batch: pa.RecordBatch) -> list[pa.Array]:
        rows = numbers_of(batch[0]).astype(np.int64)
        cuts = np.flatnonzero(np.diff(rows // self._made.rows_of_part)) + 1
        pieces = [self._leaves(piece) for piece in np.split(rows, cuts) if len(piece)]
        none = np.empty((len(self._domain), 0), dtype=np.int64)
        leaves = np.concatenate([none, *pieces], axis=1)
        pairs = zip(self._domain, leaves, strict=True)
        return [_rendered(column, leaf).to_arrow() for column, leaf in pairs]

    def _leaves(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of rows of one part, shape (columns, rows)."""
        part = int(rows[0]) // self._made.rows_of_part
        own, at = self._part(part).T, rows - part * self._made.rows_of_part
        following = slice(int(at[0]), int(at[0]) + len(at))
        return own[:, following if (np.diff(at) == 1).all() else at]

    def _part(self, number: int) -> NDArray[np.int64]:
        last = self._last  # read once: several threads may ask
        if last is None or last[0] != number:
            last = number, self._made.part(number)
            self._last = last
        return last[1]


def _type_of(column: ColumnDomain) -> pa.DataType:
    return _rendered(column, np.zeros(0, dtype=np.int64)).to_arrow().type


def _rendered(column: ColumnDomain, leaves: NDArray[np.int64]) -> pl.Series:
    """The values that leaves stand for."""
    there = leaves >= 0
    whole = bool(there.all())
    if column.kind == "text":
        place = pl.Series(np.where(there, leaves, 0).astype(np.uint32))
        values = pl.Series(column.listed, dtype=pl.String).gather(place)
    elif column.kind == "date":
        values = pl.Series(leaves + column.origin).cast(pl.Int32).cast(pl.Date)
    else:
        values = pl.Series(column.numbers_of(leaves))
    if whole:
        return values
    return pl.select(pl.when(pl.Series(there)).then(values)).to_series()


_FEWEST = 2
"""Columns of tables that a file has room for."""
_PLACE = "\1place"
"""No file has a column whose name begins so."""
_TYPES: Mapping[str, pl.DataType] = {
    "integer": pl.Int64(), "decimal": pl.Float64(), "date": pl.Date(), "text": pl.String(),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class _MeasuredCells:
    """All noisy counts of a release."""

    labels: Mapping[tuple[str, int], tuple[str | None, ...]]
    """What the cells of each column and level are called, None for the missing value."""
    counts: Mapping[tuple[tuple[str, int], ...], NDArray[np.int64]]
    """Of each table by its columns and their levels; shape, the numbers of their cells."""
    sums: Mapping[tuple[str, tuple[tuple[str, int], ...]], NDArray[np.int64]]
    """The same of each sum, by the column whose numbers were added up."""


def measured_cells(measurements: PublishedTable) -> _MeasuredCells:
    """What ``measured_table`` made, read back; cells of a level in the order of their file."""
    cells = measurements.to_arrow()
    width = sum(name.startswith("column_") for name in cells.column_names)
    names, columns = _encoded(cells, "column", width)
    texts, values = _encoded(cells, "value", width)
    levels = np.zeros_like(columns)
    if "level_1" in cells.column_names:
        each = [cells[f"level_{number}"].to_numpy() for number in range(1, width + 1)]
        levels = np.stack(each).astype(np.int64)
    of, summed = [None], np.zeros((1, cells.num_rows), dtype=np.int64)
    if "sum_of" in cells.column_names:
        found = cells["sum_of"].cast(pa.large_string()).combine_chunks()
        coded = found.dictionary_encode(null_encoding="encode")
        of, summed = coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)[None]
    keys = np.concatenate([summed, columns, levels])
    order = np.lexsort(keys[::-1])  # stable: cells stay in their order
    changed = np.diff(keys[:, order], axis=1, prepend=-1).any(axis=0)
    places: dict[tuple[str, int], dict[int, int]] = {}
    counted, added = {}, {}
    counts = cells["count"].to_numpy()
    for part in np.split(order, np.flatnonzero(changed)[1:]):
        named = [(names[code], int(level)) for code, level in keys[1:, part[0]].reshape(2, -1).T]
        key = tuple((name, level) for name, level in named if name is not None)
        arranged = _arranged(counts[part], values[:, part], key, places)
        if (column := of[summed[0, part[0]]]) is None:
            counted[key] = arranged
        else:
            added[column, key] = arranged
    labels = {of: tuple(texts[code] for code in codes) for of, codes in places.items()}
    return _MeasuredCells(labels, counted, added)


def _encoded(cells: pa.Table, stem: str, width: int) -> tuple[list[str | None], NDArray[np.int64]]:
    """The texts in some columns of the cells, and the place of each, shape (width, cells)."""
    each = [cells[f"{stem}_{number}"].cast(pa.large_string()) for number in range(1, width + 1)]
    chunks = pa.chunked_array([chunk for column in each for chunk in column.chunks])
    found = chunks.combine_chunks().dictionary_encode(null_encoding="encode")
    codes = found.indices.to_numpy().astype(np.int64).reshape(width, -1)
    return found.dictionary.to_pylist(), codes


def _arranged(
    counts: NDArray[np.int64],
    values: NDArray[np.int64],
    key: Sequence[tuple[str, int]],
    places: dict[tuple[str, int], dict[int, int]],
) -> NDArray[np.int64]:
    """Counts by the places of their cells, which are those of their first appearance."""
    shape, at = [], []
    for value, of in zip(values, key, strict=False):  # a table of few columns has no further ones
        own = places.setdefault(of, {})
        codes, first, inverse = np.unique(value, return_index=True, return_inverse=True)
        for code in codes[np.argsort(first)].tolist():
            own.setdefault(code, len(own))
        at.append(np.array([own[code] for code in codes.tolist()])[inverse])
        shape.append(len(own))
    arranged = np.zeros(tuple(shape), dtype=np.int64)
    arranged[tuple(at)] = counts if key else counts[0]
    return arranged


def measured_table(tables: Iterable[NoisyCells]) -> PublishedTable:
    """Noisy counts and sums of all cells of tables, and their variances."""
    each = list(tables)
    width = max(_FEWEST, *(len(one.columns) for one in each))
    coarse = any(any(one.levels) for one in each)
    frames = [_cells_of(one, width, coarse=coarse) for one in each]
    if any(one.summed for one in each):
        frames = [
            frame.with_columns(pl.lit(one.summed, pl.String).alias("sum_of"))
            for frame, one in zip(frames, each, strict=True)
        ]
    return PublishedTable(PolarsEngine().of_frame(pl.concat(frames)))


def _cells_of(table: NoisyCells, width: int, *, coarse: bool) -> pl.DataFrame:
    columns, counts = table.columns, table.counts
    shown: Json = {}
    places = np.indices(counts.shape).reshape(len(columns), counts.size)
    for number in range(1, width + 1):
        there = number <= len(columns)
        level = table.levels[number - 1] if there else 0
        labels = columns[number - 1].labels_at(level) if there else (None,)
        place = places[number - 1] if there else np.zeros(counts.size, dtype=np.int64)
        shown[f"column_{number}"] = pl.lit(columns[number - 1].name if there else None, pl.String)
        if coarse:
            shown[f"level_{number}"] = pl.lit(level, pl.Int64)
        shown[f"value_{number}"] = pl.Series(labels, dtype=pl.String).gather(pl.Series(place))
    shown["count"] = pl.Series(counts.ravel())
    shown["variance"] = pl.lit(table.variance)
    cells: pl.DataFrame = pl.select(**shown)
    return cells


def flagged_values(
    predicate: Expression, columns: Mapping[str, tuple[str, Sequence[float | str | None]]]
) -> NDArray[np.bool_]:
    """For which combinations of values a predicate holds; shape, the numbers of values.

    ``columns`` has for each column the kind of its values (integer, decimal, date as days since
    1970, or text) and the values, None for a missing one.
    """
    shape = tuple(len(values) for _, values in columns.values())
    places = np.unravel_index(np.arange(int(np.prod(shape))), shape)
    shown = {
        name: _column_of(kind, values).gather(place)
        for (name, (kind, values)), place in zip(columns.items(), places, strict=True)
    }
    return _flagged(predicate, shown, int(np.prod(shape))).reshape(shape)


def flagged_rows(
    predicate: Expression, columns: Mapping[str, tuple[str, Sequence[float | str | None]]]
) -> NDArray[np.bool_]:
    """For which of n rows a predicate holds, shape (n,); columns as for ``flagged_values``."""
    shown = {name: _column_of(kind, values) for name, (kind, values) in columns.items()}
    return _flagged(predicate, shown, max((len(it) for it in shown.values()), default=1))


def _flagged(
    predicate: Expression, columns: Mapping[str, pl.Series], rows: int
) -> NDArray[np.bool_]:
    frame = pl.DataFrame({**columns, _PLACE: np.arange(rows)})
    matching = PublishedTable(PolarsEngine().of_frame(frame)).count_matching(predicate, _PLACE)
    flags = np.zeros(rows, dtype=np.bool_)
    flags[[*matching]] = True
    return flags


def _column_of(kind: str, values: Sequence[float | str | None]) -> pl.Series:
    if kind in {"integer", "date"}:
        values = [None if it is None else int(it) for it in values]
    series = pl.Series(values, dtype=pl.Int32 if kind == "date" else _TYPES[kind])
    return series.cast(_TYPES[kind])
