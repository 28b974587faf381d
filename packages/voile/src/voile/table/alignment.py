"""Values of several tables, coded by numbers that all of them share.

Cost: that of ``dictionary`` for each column, and of ``combinations`` for the rows; one column at a
time is held as texts.

Two tables side by side: how many rows of each show the same, for tables of any size.

Rows are equal where they agree in all compared columns; columns of different types are compared as
``voile.table.alignment`` says.  Rows that are equal have the same hash, so the hash deals the rows
of both tables into parts that have no combination in common; each part is counted by itself.  The
hash decides where a row is counted and never whether two rows are equal.

What comes out is private where one of the tables is.

Cost for n rows in both tables, p parts and m columns: p passes over the data, each of which hashes
m values a row, and a hash table of the distinct rows of a part: about n / p rows of m values.
Files in Parquet or Arrow IPC are streamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile.table.arrays import from_native
from voile.table.codes import Combinations, DictionaryColumn, code_type, encode, sort_words
from voile.table.places import is_place, place_of
from voile.table.published import PublishedTable
from voile.table.reading import scan_rows
from voile_base.errors import TableError, nearest, refuse_out_of_memory

__all__ = [
    "Codes",
    "Counts",
    "coded_column",
    "codes_of_rows",
    "common_codes",
    "common_places",
    "joint_codes",
    "paired_counts",
    "places_in_order",
    "rows_of",
]


Codes = NDArray[np.int64]

_RELAXED: Final = "vertical_relaxed"


def common_codes(frames: Sequence[pl.DataFrame]) -> tuple[pl.DataFrame, list[Codes]]:
    """Distinct rows of frames with the same columns, ascending, and the code of each row.

    Columns of different types are compared as the type that holds both, or else as text; few
    distinct texts stand in a dictionary (Enum).
    """
    columns, found = _combined(frames)
    return _distinct(columns, found), _of_frames(found, frames)


def codes_of_rows(
    columns: Mapping[str, DictionaryColumn],
) -> tuple[pl.DataFrame, NDArray[np.integer[Any]]]:
    """The same of one table, whose columns ``coded_column`` has encoded; in the narrowest type."""
    found = _combinations(columns)
    return _distinct(columns, found), found.index


def coded_column(column: pl.Series) -> DictionaryColumn:
    """The distinct values of a column as ``common_codes`` has them, and the code of each row."""
    return _encoded([column], _common_type([column.dtype]))


def common_places(frames: Sequence[pl.DataFrame]) -> list[Codes]:
    """The code of each row alone, as ``common_codes`` has it."""
    return _of_frames(_combined(frames)[1], frames)


def joint_codes(numbers: Sequence[ExactNumbers]) -> tuple[ExactNumbers, list[Codes]]:
    """Distinct numbers of several arrays, ascending, and the code of each number."""
    scale = max(array.scale for array in numbers)
    units = np.concatenate([array.rescaled(scale).units for array in numbers])
    levels, codes = np.unique(units, return_inverse=True)
    ends = np.cumsum([len(array) for array in numbers])[:-1]
    return ExactNumbers(levels, scale), np.split(codes.astype(np.int64), ends)


def _common_types(schemas: Sequence[Mapping[str, pl.DataType]]) -> dict[str, pl.DataType]:
    """The types in which columns of several tables are compared, by the names in the first.

    That is the type which holds both, or else text; a number and a text are both text, so that 7
    and "7" are one.
    """
    return {name: _common_type([schema[name] for schema in schemas]) for name in schemas[0]}


def _common_type(types: Sequence[pl.DataType]) -> pl.DataType:
    coded = (pl.Categorical, pl.Enum)
    plain = [pl.String() if isinstance(dtype, coded) else dtype for dtype in types]
    if len({dtype.is_numeric() for dtype in plain}) > 1:
        return pl.String()
    try:
        empty = pl.concat([pl.Series(dtype=dtype).to_frame() for dtype in plain], how=_RELAXED)
    except pl.exceptions.PolarsError:
        return pl.String()
    return empty.dtypes[0]


def _combined(
    frames: Sequence[pl.DataFrame],
) -> tuple[dict[str, DictionaryColumn], Combinations]:
    types = _common_types([frame.schema for frame in frames])
    columns = {n: _encoded([frame[n] for frame in frames], dtype) for n, dtype in types.items()}
    return columns, _combinations(columns)


def _combinations(columns: Mapping[str, DictionaryColumn]) -> Combinations:
    return Combinations.of([(column.codes, len(column.values)) for column in columns.values()])


def _distinct(columns: Mapping[str, DictionaryColumn], found: Combinations) -> pl.DataFrame:
    """The combinations as rows."""
    distinct = [
        column.decode(codes).alias(name)
        for (name, column), codes in zip(columns.items(), found.codes, strict=True)
    ]
    return pl.DataFrame(distinct)


def _of_frames(found: Combinations, frames: Sequence[pl.DataFrame]) -> list[Codes]:
    ends = np.cumsum([frame.height for frame in frames])[:-1]
    return np.split(found.index.astype(np.int64), ends)


def _encoded(parts: Sequence[pl.Series], dtype: pl.DataType) -> DictionaryColumn:
    """The values of several columns, one after another, as one type; without their name.

    Polars takes some names for patterns.
    """
    columns = [part.alias("") for part in parts]
    if len(parts) == 1 and isinstance(parts[0].dtype, pl.Categorical | pl.Enum):
        return encode(columns[0])
    known = pl.String() if dtype == pl.Null else dtype
    if known == pl.String and all(isinstance(p.dtype, pl.Categorical | pl.Enum) for p in parts):
        return _joined([encode(column) for column in columns])
    return encode(pl.concat([column.cast(known) for column in columns]))


def _joined(parts: Sequence[DictionaryColumn]) -> DictionaryColumn:
    """The values of several columns of one type, one after another, without spelling them out."""
    starts = np.cumsum([0, *(len(part.values) for part in parts)])
    codes = np.empty(sum(len(part.codes) for part in parts), dtype=code_type(int(starts[-1])))
    end = 0
    for part, first in zip(parts, starts[:-1], strict=True):
        end += len(part.codes)
        np.add(part.codes, first, out=codes[end - len(part.codes) : end], casting="unsafe")
    whole = DictionaryColumn(pl.Series("", np.zeros(0)), codes)
    return whole.mapped(pl.concat([part.values for part in parts]))


Counts = NDArray[np.int64]

_LEFT, _RIGHT = "\0left", "\0right"
"""No file has columns of these names."""
_HALF_WORD = 32


def paired_counts(
    left: object, right: object, columns: Sequence[str], parts: int = 1
) -> Iterator[tuple[Counts, Counts]]:
    """Rows of two tables by distinct combination of values, part by part; private.

    Yields for each part two arrays of shape (c,), one entry for each of the c combinations that
    stand in either table: its rows in ``left`` and in ``right``, not both 0.  Entries ascend, so
    that sums over them can be repeated.  A missing value is a value like others.

    A table is a data frame, a lazy frame of Polars, the rows of a release, or the path of a file
    or folder.  Raises ``TableError`` where a column is not there or a file cannot be read,
    ``ValueError`` without columns or parts.
    """
    if not columns or parts < 1:
        msg = "tables are paired by at least one column and in at least one part"
        raise ValueError(msg)
    tables = [_lazy(table, columns) for table in (left, right)]
    schemas = [table.collect_schema() for table in tables]
    for schema, side in zip(schemas, ("left", "right"), strict=True):
        for name in columns:
            if name not in schema:
                msg = f"the {side} table has no column {name!r}{nearest(name, schema)}"
                raise TableError(msg)
    types = _common_types([{name: schema[name] for name in columns} for schema in schemas])
    sides = [
        table.select(
            *(pl.col(name).cast(dtype) for name, dtype in types.items()),
            *(pl.lit(side == own).alias(side) for side in (_LEFT, _RIGHT)),
        )
        for table, own in zip(tables, (_LEFT, _RIGHT), strict=True)
    ]
    return _counted(pl.concat(sides), list(types), parts)


def rows_of(table: object, columns: Sequence[str]) -> int:
    """How many rows a table has, of any kind that ``paired_counts`` takes."""
    return int(_lazy(table, columns).select(pl.len()).collect().item())


def _counted(rows: pl.LazyFrame, columns: list[str], parts: int) -> Iterator[tuple[Counts, Counts]]:
    for part in range(parts):
        dealt = pl.struct(columns).hash() % parts == part if parts > 1 else pl.lit(value=True)
        counts = rows.filter(dealt).group_by(columns).agg(pl.col(_LEFT, _RIGHT).sum())
        try:
            found = counts.select(_LEFT, _RIGHT).collect(engine="streaming")
        except pl.exceptions.PolarsError as error:  # its text may quote values
            refuse_out_of_memory(error)
            msg = (
                f"the tables cannot be read side by side ({type(error).__name__}); write them "
                "again from their sources"
            )
            raise TableError(msg) from None
        yield _ascending(*(found[side].to_numpy().astype(np.int64) for side in (_LEFT, _RIGHT)))


def _ascending(left: Counts, right: Counts) -> tuple[Counts, Counts]:
    """Pairs of numbers below 2**31, sorted."""
    words = sort_words((left << _HALF_WORD | right).view(np.uint64), 2 * _HALF_WORD).view(np.int64)
    return words >> _HALF_WORD, words & (1 << _HALF_WORD) - 1


def _lazy(table: object, columns: Sequence[str]) -> pl.LazyFrame:
    if isinstance(table, pl.LazyFrame):
        return table
    if is_place(table):
        return scan_rows(place_of(table), columns)
    if isinstance(table, PublishedTable):
        return pl.DataFrame(table.to_arrow()).lazy()
    return from_native(table)[0].lazy()


def places_in_order(columns: Sequence[pl.Series]) -> list[NDArray[np.int64]]:
    """The place of each cell in the order of the texts of all: numbers by their size, then others.

    It is -1 where a cell is missing.
    """
    texts = [column.cast(pl.String) for column in columns]
    every = pl.concat([text.alias("text") for text in texts]).drop_nulls().unique().to_frame()
    number = pl.col("text").cast(pl.Float64, strict=False)
    order = every.sort(number, "text", nulls_last=True)["text"].to_list()
    place = {text: at for at, text in enumerate(order)}
    return [
        text.replace_strict(place, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
        for text in texts
    ]
