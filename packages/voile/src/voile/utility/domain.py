"""The values that a column of the original holds, over which entries are laid; private.

Cost: one hash look-up a row and a sort of the d distinct values; O(d h) texts for a hierarchy of
height h, made when they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.release.reading.rows import People, finite
from voile.release.reading.views import KnownValues
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.plan import ColumnPlan
from voile.table.binding import distinct_values
from voile.table.codes import DictionaryColumn, encode
from voile_base.errors import TableError, nearest

__all__ = ["OriginalDomain"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, eq=False)
class OriginalDomain:
    """The d distinct values of one column of the original, with what the plan says of it."""

    column: DictionaryColumn
    """The values, ascending, missing first, and the code of each original row."""
    values: DistinctValues
    people: People
    """A table of one row for each value."""

    @classmethod
    def of(cls, original: People, name: str) -> OriginalDomain:
        """The values of a column; raises ``TableError`` where it is absent or empty."""
        if name not in (known := original.frame.columns):
            msg = f"the private original has no column {name!r}{nearest(name, known)}"
            raise TableError(msg)
        column = encode(finite(original.column(name)))
        if not len(column.codes):
            msg = "the private original has no rows, so that nothing can be compared with it"
            raise TableError(msg)
        people = People(column.values.alias(name).to_frame(), original.plan)
        return cls(column, distinct_values(column.values), people)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def described(self) -> ColumnPlan:
        """What the plan says of the column."""
        return self.people.described(self.name)

    @cached_property
    def rows(self) -> Indices:
        """Shape (d,): original rows of each value."""
        return np.bincount(self.column.codes, minlength=len(self))

    @cached_property
    def points(self) -> Floats | None:
        """Where values lie on the line, NaN where missing; None for texts and truth values.

        Numbers within their public bounds, dates and instants as days since 1970, times as days.
        """
        values = self.column.values
        if values.dtype.is_numeric():
            return self.people.numbers(self.name)
        if not values.dtype.is_temporal():
            return None
        # A time of day is counted in nanoseconds, a date in days, all others as their type says.
        if values.dtype == pl.Time:
            days = values.to_physical() / (_DAY * 1000)
        elif values.dtype == pl.Date:
            days = values.to_physical().cast(pl.Float64)
        elif isinstance(values.dtype, pl.Duration):
            days = values.dt.total_microseconds() / _DAY
        else:
            days = values.dt.epoch("us") / _DAY
        return days.fill_null(np.nan).to_numpy()

    @cached_property
    def extent(self) -> tuple[float, float] | None:
        """Ends of the line: public bounds of numbers, else the outermost values (private)."""
        points = self.points
        if points is None:
            return None
        bounds = self.described.bounds if self.values.numbers is not None else None
        if bounds is not None:
            return float(bounds[0]), float(bounds[1])
        known = points[~np.isnan(points)]
        return (float(known[0]), float(known[-1])) if len(known) else (np.nan, np.nan)

    @cached_property
    def weight(self) -> Floats:
        """Shape (d,): how much of an entry that covers it falls to each value; see ``covering``.

        A missing value weighs as much as others on average.
        """
        points = self.points
        if points is None:
            return np.ones(len(self))
        known = points[~np.isnan(points)]
        gaps = np.diff(known)
        if not len(gaps) or not (gaps > 0).all():  # one value, or several clamped to one bound
            return np.ones(len(self))
        ends = np.concatenate([gaps[:1], gaps, gaps[-1:]])
        weight = np.full(len(self), float(ends.mean()))
        weight[~np.isnan(points)] = (ends[:-1] + ends[1:]) / 2
        return weight

    @cached_property
    def hierarchy(self) -> BoundHierarchy | None:
        """The hierarchy of the column; None where no plan is given."""
        if self.people.plan is None:
            return None
        return self.described.bind_hierarchy(self.name, self.values)

    @cached_property
    def generalized(self) -> list[list[str | None]]:
        """The texts that values become at each level; at level 0, and as intervals, their own."""
        own = list(self.values.texts)
        if self.hierarchy is None:
            return [own]
        levels = zip(self.hierarchy.codes, self.hierarchy.values, strict=True)
        return [
            own if shown.texts is None else [shown.texts[code] for code in codes.tolist()]
            for codes, shown in levels
        ]

    @cached_property
    def leaf_order(self) -> Indices:
        """The values in an order in which every group of the hierarchy is a run."""
        if self.hierarchy is None:
            return np.arange(len(self))
        return np.lexsort(self.hierarchy.codes)  # the last key, the highest level, leads

    @cached_property
    def known(self) -> KnownValues:
        """The values as somebody knows them who knows the plan."""
        return KnownValues(self.people, self.name, np.arange(len(self)))

    def nearest(self, numbers: Floats) -> Indices:
        """The index of the value that is nearest to each number; numbers without any give -1."""
        points = self.points
        if points is None or np.isnan(points).all():
            return np.full(len(numbers), -1)
        first = int(self.values.missing)
        known = points[first:]
        borders = (known[1:] + known[:-1]) / 2
        found = np.searchsorted(borders, numbers, side="left") + first
        return np.where(np.isnan(numbers), -1, found)
