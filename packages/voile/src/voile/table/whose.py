"""Whose the rows of a release are: what a check counts before they are published, and no reader.

The rows are those of the release, in what they show and in their order, with the column of persons
or households beside; they are private, and never leave the engine but as counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.table.arrays import series_of
from voile.table.numeric import distinct_values
from voile.table.protocol import Rows
from voile.table.summaries import CombinationCounts, CountedRows
from voile.table.units import UnitCounts

__all__ = ["PublishedUnits"]


@dataclass(frozen=True, eq=False)
class PublishedUnits:
    """Published rows and the persons or households that they are of; private."""

    _rows: Rows
    _unit: str
    _of_units: Rows
    """How many rows each has in the private table."""

    def count(self, columns: Sequence[str]) -> CombinationCounts:
        """Rows, and those whose they are, by distinct combination of published values."""
        counted = self._rows.count(columns, keep=True)
        return CombinationCounts(
            columns=tuple(columns),
            values=tuple(distinct_values(series_of(each)) for each in counted.values),
            codes=counted.codes,
            rows=counted.rows,
            of=CountedRows(self._rows, counted),
            units=UnitCounts.of(self._rows, counted, self._unit, self._of_units),
        )

    def in_groups(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Persons or households of each distinct combination of published values, shape (p,)."""
        found = self.count(columns)
        assert found.units is not None
        return found.units.within
