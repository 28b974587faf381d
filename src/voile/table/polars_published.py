"""The rows of a release in a Polars frame; nothing in it is private."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors

from voile.errors import QueryError
from voile.table.dictionary import count_rows, encode
from voile.table.numeric import exact_numbers
from voile.table.protocol import Format, GroupedValues
from voile.table.value_types import kind_of_type

__all__ = ["GROUP", "PolarsPublished"]

GROUP = "group"
"""The column that numbers the groups of a release."""


class PolarsPublished:
    """Published rows in memory; see ``PublishedTable``."""

    def __init__(
        self, frame: pl.DataFrame, to_native: Callable[[pl.DataFrame], Any] | None = None
    ) -> None:
        self._frame = frame
        self._to_native = to_native

    def __repr__(self) -> str:
        return f"PolarsPublished({self.rows} rows)"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._frame.columns)

    def kinds(self) -> Mapping[str, str]:
        """Kind of the values of each column; "single" stands for decimals of 32 bits."""
        return {
            name: "single" if dtype == pl.Float32 else kind_of_type(dtype)
            for name, dtype in self._frame.schema.items()
        }

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._frame.height

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        return self._plain().collect()

    def group_values(self, column: str, group: str = GROUP) -> GroupedValues:
        """How often each value of a numeric column stands in each group."""
        groups, values = encode(self._frame[group]), encode(self._frame[column])
        shape = (len(groups.values), len(values.values))
        pairs, rows = count_rows([(groups.codes, shape[0]), (values.codes, shape[1])])
        return GroupedValues(
            group=groups.values.cast(pl.Int64).to_numpy()[pairs[0]],
            values=exact_numbers(values.values)[pairs[1]],
            rows=rows,
        )

    def group_members(
        self, columns: Sequence[str], group: str = GROUP
    ) -> tuple[pl.DataFrame, NDArray[np.int64], NDArray[np.int64]]:
        """Which tuples of values of some columns stand in which group, and how often."""
        pairs = self._frame.group_by(*columns, group).len("\0rows")  # no file has such a column
        return (
            pairs.select(columns),
            pairs[group].cast(pl.Int64).to_numpy(),
            pairs["\0rows"].cast(pl.Int64).to_numpy(),
        )

    def count_matching(self, predicate: str | None, group: str = GROUP) -> Mapping[int, int]:
        """Rows of each group for which a predicate in Polars SQL holds; None holds for all."""
        rows = self._plain()
        try:
            if predicate is not None:
                rows = rows.filter(pl.sql_expr(predicate))
            counted = rows.group_by(group).agg(pl.len().alias("rows")).collect()
        except pl.exceptions.PolarsError:
            msg = (
                "the predicate cannot be evaluated; compare numbers with numbers and texts with "
                "texts in single quotes"
            )
            raise QueryError(msg) from None
        return dict(zip(counted[group].to_list(), counted["rows"].to_list(), strict=True))

    def write(self, folder: Path, file_format: Format) -> Path:
        """Write the rows to ``data.csv`` or ``data.parquet`` in a folder, durably.

        Raises ``OSError`` where the disk refuses.
        """
        path = folder / f"data.{file_format}"
        try:
            if file_format == "csv":
                self._plain().sink_csv(path)
            else:
                self._plain().sink_parquet(path)
        except pl.exceptions.PolarsError:  # a full disk is not always an OSError to Polars
            raise OSError(errno.EIO, os.strerror(errno.EIO)) from None
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return path

    def to_native(self) -> Any:
        """The rows as a data frame of the kind that the private table came from."""
        return self._to_native(self.frame) if self._to_native else self.frame

    def _plain(self) -> pl.LazyFrame:
        """The rows with texts as texts: an engine may keep them in dictionaries."""
        return self._frame.lazy().with_columns(selectors.enum().cast(pl.String))
