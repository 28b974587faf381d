"""Small tables of persons as a publisher meets them, counted in memory instead of by an engine.

``voile_tests.models.test_units`` compares what engines count with the same definitions, on all
small tables; so a decision that is right on these counts is right on theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan
from voile.table.decisions import Treatment
from voile.table.summaries import CombinationCounts, CountedRows, UnitCounts
from voile_tests.models.small_persons import Row, persons

COLUMNS = ("patient", "quasi", "illness")


class MadeUpUnits(UnitCounts):
    """The persons of g combinations, from a matrix of their rows, shape (g, persons)."""

    def __init__(self, rows: np.ndarray) -> None:
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "there", rows > 0)
        object.__setattr__(self, "shared", self.there[:, self.there.sum(axis=0) > 1])

    rows: np.ndarray
    there: np.ndarray
    shared: np.ndarray

    @property
    def units(self) -> int:
        return self.rows.shape[1]

    @cached_property
    def within(self) -> np.ndarray:
        return self.there.sum(axis=1)

    @cached_property
    def alone(self) -> np.ndarray:
        return self.within - self.shared.sum(axis=1)

    @cached_property
    def whole(self) -> int:
        return math.lcm(*range(1, int(self.rows.sum(axis=0).max()) + 1))

    @cached_property
    def weight(self) -> np.ndarray:
        return (self.rows * (self.whole // self.rows.sum(axis=0))).sum(axis=1)

    def weigh(self, label: np.ndarray, cell: np.ndarray, cells: int) -> np.ndarray:
        found = np.zeros((cells, self.rows.shape[1]), dtype=np.int64)
        of_group = np.zeros((int(label.max(initial=-1)) + 1, self.rows.shape[1]), dtype=np.int64)
        group = np.zeros(cells, dtype=np.int64)
        inside = label >= 0
        np.add.at(found, cell[inside], self.rows[inside])
        np.add.at(of_group, label[inside], self.rows[inside])
        group[cell[inside]] = label[inside]
        return (found * (self.whole // np.maximum(of_group[group], 1))).sum(axis=1)

    def some(self, label: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
        found = self._in_groups(label, int(label.max(initial=-1)) + 1)
        group, unit = np.nonzero(found & (found.cumsum(axis=1) <= limit))
        return group, unit

    def _shared_in(self, label: np.ndarray, groups: int) -> np.ndarray:
        return self._in_groups(label, groups).sum(axis=1)

    def _in_groups(self, label: np.ndarray, groups: int) -> np.ndarray:
        found = np.zeros((groups, self.shared.shape[1]), dtype=np.bool_)
        np.logical_or.at(found, label[label >= 0], self.shared[label >= 0])
        return found


class Decided(Exception):  # noqa: N818 - no error
    """A publisher has decided."""

    def __init__(self, treatment: Treatment) -> None:
        self.treatment = treatment


@dataclass(frozen=True, eq=False)
class CountedInMemory:
    """A private table of a few rows, up to the decision; numbers may take the place of illness."""

    table: Sequence[Row]
    plan: Plan
    numbers: bool = False
    notes: tuple[str, ...] = ()
    counts: dict[tuple[str, ...], CombinationCounts] = field(default_factory=dict)
    """What was counted."""

    @property
    def rows(self) -> int:
        return len(self.table)

    @property
    def units(self) -> int:
        return persons(self.table)

    def count_combinations(self, columns: Sequence[str]) -> CombinationCounts:
        """As an engine counts them."""
        if tuple(columns) not in self.counts:
            self.counts[tuple(columns)] = self._count(columns)
        return self.counts[tuple(columns)]

    def _count(self, columns: Sequence[str]) -> CombinationCounts:
        places = [COLUMNS.index(column) for column in columns]
        cells = [tuple(row[place] for place in places) for row in self.table]
        found, people = sorted(set(cells)), sorted({row[0] for row in self.table})
        rows = np.zeros((len(found), len(people)), dtype=np.int64)
        for cell, row in zip(cells, self.table, strict=True):
            rows[found.index(cell), people.index(row[0])] += 1
        values = [sorted({cell[j] for cell in cells}) for j in range(len(columns))]
        codes = [[v.index(x) for v, x in zip(values, cell, strict=True)] for cell in found]
        return CombinationCounts(
            columns=tuple(columns),
            values=tuple(map(self._values, columns, values)),
            codes=np.array(codes, dtype=np.int32),
            rows=rows.sum(axis=1),
            of=CountedRows(None, SimpleNamespace(rows=rows)),  # type: ignore[arg-type]
            units=MadeUpUnits(rows),
        )

    def apply_counted(self, treatment: Treatment, randomness: Any) -> Any:
        """Raises ``Decided``."""
        raise Decided(treatment)

    def _values(self, column: str, texts: Sequence[str]) -> DistinctValues:
        if column == "illness" and self.numbers:
            numbers = ExactNumbers(np.array([int(text) for text in texts]), 0)
            return DistinctValues("number", tuple(texts), numbers)
        return DistinctValues("text", tuple(texts))
