"""The codes of one quasi-identifier at every level of its hierarchy.

Only values that stand in counted rows are numbered, ascending by the hierarchy's own codes, so
that fields are narrow and tables small however large the public domain is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voile.publish.generalization.objective import ColumnLevels
from voile.schema.hierarchy.generalized import BoundHierarchy
from voile.table.decisions import RecodedColumn

__all__ = ["CodedColumn"]


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """One quasi-identifier of g counted combinations."""

    hierarchy: BoundHierarchy
    values: NDArray[np.int32]
    """Shape (g,): the value of each combination."""
    finest: NDArray[np.int64]
    """Shape (g,): its code at level 0."""
    codes: tuple[NDArray[np.int64], ...]
    """For each level, shape (q0,): the code there of each code at level 0."""
    originals: tuple[NDArray[np.int64], ...]
    """For each level, shape (q,): the hierarchy's own code of each code."""
    levels: ColumnLevels
    _tables: dict[tuple[int, int], NDArray[np.uint64]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, hierarchy: BoundHierarchy, values: NDArray[np.int32], rows: NDArray[np.int64]
    ) -> CodedColumn:
        """The column with ``values[i]`` in combination i, which ``rows[i]`` rows have."""
        present, place = np.unique(values, return_inverse=True)
        used = [np.unique(codes[present], return_inverse=True) for codes in hierarchy.codes]
        codes_of_present = used[0][1]
        # Level 0 may merge values already; one present value stands for each of its codes.
        _, sample = np.unique(codes_of_present, return_index=True)
        finest: NDArray[np.int64] = codes_of_present[place]
        originals = tuple(own.astype(np.int64) for own, _ in used)
        codes = tuple(inverse[sample].astype(np.int64) for _, inverse in used)
        totals = _summed(finest, rows, len(sample))
        levels = ColumnLevels(
            shares=tuple(
                generalized.share[own]
                for generalized, own in zip(hierarchy.values, originals, strict=True)
            ),
            rows=tuple(
                _summed(code, totals, len(own)) for code, own in zip(codes, originals, strict=True)
            ),
        )
        return cls(hierarchy, values, finest, codes, originals, levels)

    def table(self, low: int, high: int) -> NDArray[np.uint64]:
        """The code at level ``high`` of each code at level ``low``."""
        if (low, high) not in self._tables:
            table = np.empty(len(self.originals[low]), dtype=np.uint64)
            table[self.codes[low]] = self.codes[high].astype(np.uint64)
            self._tables[low, high] = table
        return self._tables[low, high]

    def recoded(self, level: int, members: NDArray[np.int64]) -> RecodedColumn:
        """What groups show at a level; ``members`` has one combination of each (p,)."""
        name, shown = self.hierarchy.column, self.hierarchy.values[level]
        values = self.values[members]
        if shown.texts is None and shown.low is None:
            return RecodedColumn(name, None, values)
        return RecodedColumn(name, shown, self.hierarchy.codes[level][values].astype(np.int32))


def _summed(codes: NDArray[np.int64], rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, codes, rows)
    return total
