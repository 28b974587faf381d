"""Noisy counts of all cells of tables, as rows of a table that is published; and read back.

Columns: ``column_1``, ``value_1``, ``column_2``, ``value_2`` (missing of one column), ``count``,
and ``variance`` as a fraction.  A missing value is ``value`` without text, of a column that is
named.

Cost: the cells, sorted by their tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.domain import ColumnDomain
from voile.table.polars_engine import PolarsEngine
from voile.table.published import PublishedTable
from voile_base.values.expressions import Expression

__all__ = ["MeasuredCells", "flagged_values", "measured_cells", "measured_table"]

_PLACE = "\1place"
"""No file has a column whose name begins so."""
_TYPES: Mapping[str, pl.DataType] = {
    "integer": pl.Int64(), "decimal": pl.Float64(), "date": pl.Date(), "text": pl.String(),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class MeasuredCells:
    """All noisy counts of a release."""

    labels: Mapping[str, tuple[str | None, ...]]
    """The cells of each column, None for the missing value."""
    counts: Mapping[tuple[str, ...], NDArray[np.int64]]
    """Of each table by its columns; shape, the numbers of their cells."""


def measured_cells(measurements: PublishedTable) -> MeasuredCells:
    """What ``measured_table`` made, read back; cells of a column in the order of its own table."""
    cells = measurements.to_arrow()
    names, columns = _encoded(cells, "column")
    texts, values = _encoded(cells, "value")
    order = np.lexsort((columns[1], columns[0]))  # stable: cells stay in their order
    changed = np.diff(columns[:, order], axis=1, prepend=-1).any(axis=0)
    parts = {
        tuple(name for code in columns[:, part[0]] if (name := names[code]) is not None): part
        for part in np.split(order, np.flatnonzero(changed)[1:])
    }
    codes = {key[0]: values[0, part] for key, part in parts.items() if len(key) == 1}
    counts = cells["count"].to_numpy()
    return MeasuredCells(
        {name: tuple(texts[code] for code in own) for name, own in codes.items()},
        {
            key: _arranged(counts[part], values[:, part], [codes[name] for name in key])
            for key, part in parts.items()
        },
    )


def _encoded(cells: pa.Table, stem: str) -> tuple[list[str | None], NDArray[np.int64]]:
    """The texts in two columns of the cells, and the place of each among them, shape (2, cells)."""
    both = [cells[f"{stem}_{number}"].cast(pa.large_string()) for number in (1, 2)]
    chunks = pa.chunked_array([chunk for column in both for chunk in column.chunks])
    found = chunks.combine_chunks().dictionary_encode(null_encoding="encode")
    return found.dictionary.to_pylist(), found.indices.to_numpy().astype(np.int64).reshape(2, -1)


def _arranged(
    counts: NDArray[np.int64], values: NDArray[np.int64], codes: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Counts by the places of their cells; values, and those of each column, are codes."""
    places = []
    for value, own in zip(values, codes, strict=False):  # a table of one column has no second
        place = np.zeros(int(own.max()) + 1, dtype=np.int64)
        place[own] = np.arange(len(own))
        places.append(place[value])
    arranged = np.zeros(tuple(map(len, codes)), dtype=np.int64)
    arranged[tuple(places)] = counts
    return arranged


def measured_table(
    tables: Iterable[tuple[Sequence[ColumnDomain], NDArray[np.int64], str]],
) -> PublishedTable:
    """Noisy counts of all cells of tables of one or two columns, and their variances."""
    frames = [_cells_of(columns, counts, variance) for columns, counts, variance in tables]
    return PublishedTable(PolarsEngine().of_frame(pl.concat(frames)))


def _cells_of(
    columns: Sequence[ColumnDomain], counts: NDArray[np.int64], variance: str
) -> pl.DataFrame:
    shown: dict[str, Any] = {}
    places = np.unravel_index(np.arange(counts.size), counts.shape)
    for number in (1, 2):
        there = number <= len(columns)
        labels = columns[number - 1].labels if there else (None,)
        place = places[number - 1] if there else np.zeros(counts.size, dtype=np.int64)
        shown[f"column_{number}"] = pl.lit(columns[number - 1].name if there else None, pl.String)
        shown[f"value_{number}"] = pl.Series(labels, dtype=pl.String).gather(pl.Series(place))
    shown["count"] = pl.Series(counts.ravel())
    shown["variance"] = pl.lit(variance)
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
    frame = pl.DataFrame({**shown, _PLACE: np.arange(int(np.prod(shape)))})
    matching = PublishedTable(PolarsEngine().of_frame(frame)).count_matching(predicate, _PLACE)
    flags = np.zeros(int(np.prod(shape)), dtype=np.bool_)
    flags[[*matching]] = True
    return flags.reshape(shape)


def _column_of(kind: str, values: Sequence[float | str | None]) -> pl.Series:
    if kind in {"integer", "date"}:
        values = [None if it is None else int(it) for it in values]
    series = pl.Series(values, dtype=pl.Int32 if kind == "date" else _TYPES[kind])
    return series.cast(_TYPES[kind])
