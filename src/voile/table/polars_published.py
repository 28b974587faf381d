"""The rows of a release in a Polars frame; nothing in it is private."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors

from voile.durable import sync
from voile.errors import QueryError, TableError, refuse_out_of_memory
from voile.table.combinations import Combinations, combine, count_pairs
from voile.table.dictionary import Codes, DictionaryColumn, count_codes, encode
from voile.table.numeric import distinct_values, exact_numbers
from voile.table.protocol import Format, GroupedValues, PublishedCells
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
        of_group, of_value, rows = count_pairs(
            (groups.codes, len(groups.values)), (values.codes, len(values.values))
        )
        return GroupedValues(
            group=groups.values.cast(pl.Int64).to_numpy()[of_group],
            values=exact_numbers(values.values)[of_value],
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

    def group_sizes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Rows of each distinct combination of values of some columns, ascending."""
        return self._combined(columns).rows

    def cells(self, columns: Sequence[str], sensitive: str) -> PublishedCells:
        """How often each value of a column stands in each combination of values of others."""
        values = self._encoded(sensitive)
        if values.values.dtype.is_float() and not values.values.drop_nulls().is_finite().all():
            msg = f"column {sensitive!r} of the release holds NaN or an infinity"
            raise TableError(msg)
        group, value, rows = count_pairs(
            self._numbered(columns), (values.codes, len(values.values))
        )
        return PublishedCells(
            group=group,
            value=value,
            rows=rows,
            values=distinct_values(values.values),
            total=count_codes(values.codes, len(values.values)),
        )

    def count_matching(self, predicate: str | None, group: str = GROUP) -> Mapping[int, int]:
        """Rows of each group for which a predicate in Polars SQL holds; None holds for all."""
        rows = self._plain()
        try:
            if predicate is not None:
                rows = rows.filter(pl.sql_expr(predicate))
            counted = rows.group_by(group).agg(pl.len().alias("rows")).collect()
        except pl.exceptions.PolarsError as fault:
            refuse_out_of_memory(fault)
            msg = (
                "the predicate cannot be evaluated; compare numbers with numbers and texts with "
                "texts in single quotes"
            )
            raise QueryError(msg) from None
        return dict(zip(counted[group].to_list(), counted["rows"].to_list(), strict=True))

    def with_intervals_as_text(self, names: Collection[str] | None = None) -> PolarsPublished:
        """The rows with each interval in one column of texts ``[low, high]``; see the protocol."""
        shown = {name: pl.col(name) for name in self.columns}
        for name in self.columns:
            stem = name.removesuffix(".low")
            text = stem if stem not in shown else f"{stem}.interval"
            if names is not None and stem not in names:
                continue
            if stem != name and f"{stem}.high" in shown and text not in shown:
                shown[name] = _interval_text(stem).alias(text)
                del shown[f"{stem}.high"]
        return PolarsPublished(self._frame.select(shown.values()), self._to_native)

    def without(self, columns: Sequence[str]) -> PolarsPublished:
        """The rows without some columns."""
        return PolarsPublished(self._frame.drop(columns), self._to_native)

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
        sync(path)
        return path

    def to_native(self) -> Any:
        """The rows as a data frame of the kind that the private table came from."""
        return self._to_native(self.frame) if self._to_native else self.frame

    def _combined(self, columns: Sequence[str]) -> Combinations:
        encoded = [self._encoded(name) for name in columns]
        return combine([(column.codes, len(column.values)) for column in encoded])

    def _numbered(self, columns: Sequence[str]) -> tuple[Codes, int]:
        """Which combination of values each row has, and how many combinations there are."""
        if len(columns) == 1:
            column = self._encoded(columns[0])
            return column.codes, len(column.values)
        found = self._combined(columns)
        return found.place, len(found.rows)

    def _encoded(self, name: str) -> DictionaryColumn:
        column = self._frame[name]
        if not isinstance(column.dtype, pl.Enum):
            return encode(column)
        places = encode(column.to_physical())
        return places.mapped(column.dtype.categories.gather(places.values).alias(name))

    def _plain(self) -> pl.LazyFrame:
        """The rows with texts as texts: an engine may keep them in dictionaries."""
        return self._frame.lazy().with_columns(selectors.enum().cast(pl.String))


def _interval_text(stem: str) -> pl.Expr:
    """``[low, high]`` of each row; nothing where both ends are missing."""
    ends = [pl.col(f"{stem}.{end}") for end in ("low", "high")]
    text = pl.format("[{}, {}]", *(end.cast(pl.String).fill_null("") for end in ends))
    return pl.when(pl.any_horizontal(end.is_not_null() for end in ends)).then(text)
