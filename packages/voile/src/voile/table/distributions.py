"""How the values of a column are spread, for its custodian; private.

Columns of few values by value, the most frequent first; numbers and times of many values in bars of
one width.  Cost: one pass over the column, and its distinct values.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

__all__ = ["ValueBin", "ValueDistribution", "distribution_of"]

_BARS = 20


@dataclass(frozen=True)
class ValueBin:
    """Some values of a column, and the rows that hold them."""

    value: str
    """The value; of a bar of several, "lowest to highest"."""
    rows: int


@dataclass(frozen=True)
class ValueDistribution:
    """The rows of a column by value."""

    bars: tuple[ValueBin, ...]
    binned: bool
    """Whether a bar is a range of numbers or times, in ascending order."""
    others: int = 0
    """Rows of values that have no bar."""


def distribution_of(column: pl.Series, most: int) -> ValueDistribution:
    """The distribution of the values that are there, in at most ``most`` bars of single values."""
    there = column.drop_nulls()
    ordered = there.dtype.is_numeric() or there.dtype.is_temporal()
    if ordered and there.n_unique() > max(most, _BARS):
        return _in_ranges(there)
    counts = there.cast(pl.String, strict=False).value_counts(sort=True, name="rows")
    shown = counts.head(most)
    bars = tuple(ValueBin(str(value), rows) for value, rows in shown.iter_rows())
    return ValueDistribution(bars, binned=False, others=len(there) - sum(bar.rows for bar in bars))


def _in_ranges(there: pl.Series) -> ValueDistribution:
    """Bars of one width from the least to the greatest value."""
    numbers = there.to_physical().cast(pl.Float64).to_numpy()
    there, numbers = there.filter(np.isfinite(numbers)), numbers[np.isfinite(numbers)]
    if not len(numbers):
        return ValueDistribution((), binned=True)
    rows, edges = np.histogram(numbers, _BARS)
    if there.dtype.is_temporal():
        low = pl.Series(edges[:-1].astype(np.int64)).cast(there.to_physical().dtype)
        told = [str(value) for value in low.cast(there.dtype)]
    else:
        told = [f"{edge:.6g}" for edge in edges]
        told = [f"{low} to {high}" for low, high in pairwise(told)]
    bars = tuple(ValueBin(value, int(count)) for value, count in zip(told, rows, strict=True))
    return ValueDistribution(bars, binned=True)
