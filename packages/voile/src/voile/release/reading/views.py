"""One column of a table and what a release shows of it, as its kind of disclosure compares them.

Cost: one look-up a value, of t targets and g rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.evidence import Evidence
from voile.disclosure.shown import Shown
from voile.release.reading.rows import People, PublishedRows, Texts, finite, floats_of, texts_of
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.table.arrays import Frame, series_of
from voile.table.binding import distinct_values
from voile.table.codes import encode
from voile.table.protocol import Counted
from voile.table.published import PublishedTable
from voile_base.errors import InputError

__all__ = ["ColumnView", "CountedCells", "KnownValues", "ShownCells"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KnownValues:
    """Values of some rows of a table in one column, as somebody knows them; private."""

    people: People
    name: str
    targets: NDArray[np.int64]

    @cached_property
    def texts(self) -> Texts:
        """The values as texts."""
        return texts_of(self.people.column(self.name).gather(self.targets))

    @property
    def numbers(self) -> Floats:
        """The values as numbers within public bounds; NaN for what is none."""
        return self.people.numbers(self.name)[self.targets]

    @cached_property
    def vocabulary(self) -> AbstractSet[str | None]:
        """All values of the column."""
        return set(texts_of(self.people.column(self.name).unique()))

    @property
    def order(self) -> Sequence[str] | None:
        """The order that the plan declares."""
        return self.people.described(self.name).order

    @property
    def bounds(self) -> tuple[Decimal, Decimal] | None:
        """The bounds that the plan declares."""
        return self.people.described(self.name).bounds

    @property
    def has_hierarchy(self) -> bool:
        """Whether there is a plan; without a declared hierarchy it means the plain one."""
        return self.people.plan is not None

    def generalized(self, level: int | None) -> list[Texts] | None:
        """What the values become at a level of the hierarchy, or at each."""
        if self.people.plan is None:
            return None
        column = encode(finite(self.people.column(self.name)))
        values = distinct_values(column.values)
        hierarchy = self.people.described(self.name).bind_hierarchy(self.name, values)
        codes = column.codes[self.targets].astype(np.int64)
        levels = range(hierarchy.height + 1) if level is None else [level]
        generalized = [_generalized(hierarchy, number, values.texts) for number in levels]
        return [[texts[code] for code in codes] for texts in generalized]


@dataclass(frozen=True, eq=False)
class ShownCells:
    """The g different cells of the published columns that show one column of a table."""

    name: str
    shown: Frame
    rows: NDArray[np.int64]
    """Shape (g,): how many published rows show each."""

    def texts(self, column: str) -> Texts:
        """What a published column shows, as texts."""
        return texts_of(self.shown[column])

    def numbers(self, column: str) -> Floats:
        """What a published column shows, as numbers."""
        return floats_of(self.shown[column])


@dataclass(frozen=True, eq=False)
class CountedCells:
    """The cells of a release that show a column, counted when a check asks for them."""

    table: PublishedTable
    name: str
    columns: tuple[str, ...]
    """Published columns that show it."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """Shape (g,): how many rows show each."""
        return self._counted.rows

    def texts(self, column: str) -> Texts:
        """What a published column shows, as texts."""
        distinct = texts_of(series_of(self._counted.values[self._place(column)]))
        return [distinct[code] for code in self._codes(column).tolist()]

    def numbers(self, column: str) -> Floats:
        """What a published column shows, as numbers."""
        return floats_of(series_of(self._counted.values[self._place(column)]))[self._codes(column)]

    def values(self, column: str) -> DistinctValues:
        """The distinct values of a published column."""
        return self.table.cells([column], column).values

    @cached_property
    def _counted(self) -> Counted:
        return self.table.count(self.columns)

    def _place(self, column: str) -> int:
        return self.columns.index(column)

    def _codes(self, column: str) -> NDArray[np.int64]:
        codes: NDArray[np.int64] = self._counted.codes[:, self._place(column)].astype(np.int64)
        return codes


@dataclass(frozen=True, eq=False)
class ColumnView:
    """One column of a table and what a release shows of it."""

    shown: Shown
    known: KnownValues
    cells: ShownCells

    @classmethod
    def of(
        cls,
        published: PublishedRows,
        cells: tuple[Frame, NDArray[np.int64]],
        people: People,
        name: str,
        targets: NDArray[np.int64],
    ) -> ColumnView:
        """A column that the release shows; ``cells`` are g rows and how often each is published."""
        shown = published.release.disclosure.columns[name]
        return cls(shown, KnownValues(people, name, targets), ShownCells(name, *cells))

    @property
    def name(self) -> str:
        """Name of the table's column."""
        return self.cells.name

    def evidence(self) -> Evidence:
        """How the targets' values compare with what the cells show."""
        return self.shown.evidence(self.known, self.cells)

    def notes(self) -> list[str]:
        """What could not be compared."""
        return self.shown.notes(self.known, self.cells)


def _generalized(hierarchy: BoundHierarchy, level: int, own: Sequence[str | None]) -> Texts:
    """What each distinct value of a column becomes at a level, as text."""
    if not 0 <= level <= hierarchy.height:
        msg = (
            f"column {hierarchy.column!r} was generalized to level {level}, which the plan's "
            "hierarchy does not have; give the plan of this release"
        )
        raise InputError(msg)
    texts = hierarchy.values[level].texts
    return list(own) if texts is None else [texts[code] for code in hierarchy.codes[level].tolist()]
