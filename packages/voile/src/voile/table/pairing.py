"""Two tables side by side: how many rows of each show the same, for tables of any size.

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

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.table.alignment import common_types
from voile.table.frames import from_native
from voile.table.places import Address, place_of
from voile.table.published import PublishedTable
from voile.table.reading import scan_rows
from voile.table.sorting import sort_words
from voile_base.errors import TableError, nearest, refuse_out_of_memory

__all__ = ["Counts", "paired_counts", "rows_of"]

Counts = NDArray[np.int64]

_LEFT, _RIGHT = "\0left", "\0right"
"""No file has columns of these names."""
_HALF_WORD = 32


def paired_counts(
    left: Any, right: Any, columns: Sequence[str], parts: int = 1
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
    types = common_types([{name: schema[name] for name in columns} for schema in schemas])
    sides = [
        table.select(
            *(pl.col(name).cast(dtype) for name, dtype in types.items()),
            *(pl.lit(side == own).alias(side) for side in (_LEFT, _RIGHT)),
        )
        for table, own in zip(tables, (_LEFT, _RIGHT), strict=True)
    ]
    return _counted(pl.concat(sides), list(types), parts)


def rows_of(table: Any, columns: Sequence[str]) -> int:
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


def _lazy(table: Any, columns: Sequence[str]) -> pl.LazyFrame:
    if isinstance(table, pl.LazyFrame):
        return table
    if isinstance(table, str | Path | Address):
        return scan_rows(place_of(table), columns)
    if isinstance(table, PublishedTable):
        return pl.DataFrame(table.to_arrow()).lazy()
    return from_native(table)[0].lazy()
