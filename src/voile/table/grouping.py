"""Groups of rows, and how often each value of a column stands in each of them.

A decision groups combinations of values; here it is applied to the rows.

Cost for n rows: a look-up a row for the groups; for each column a pass and a count of a number a
row, or a sort of n words where pairs of group and value are many.  Two columns are counted at a
time, with four or eight bytes a row each.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.table.combinations import count_pairs
from voile.table.dictionary import Codes, DictionaryColumn, code_type, look_up
from voile.table.protocol import CombinationCounts, GroupCounts

__all__ = ["RowGroups", "count_in_groups"]


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The group of each of n rows."""

    of_rows: Codes
    """Shape (n,): from 0; -1 leaves a row out."""
    sizes: NDArray[np.int64]
    """Shape (p,): how many rows each of the p groups has."""

    @classmethod
    def of(cls, counts: CombinationCounts, group: NDArray[np.int64], rows: int) -> RowGroups:
        """The groups of all rows of a table, from those of the combinations, shape (g,).

        Raises ``ValueError`` where some row has none.
        """
        if group.min(initial=0) < 0 or counts.rows.sum() != rows:
            msg = "groups must leave no row out, and be of combinations of all rows of the table"
            raise ValueError(msg)
        sizes = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(sizes, group, counts.rows)
        return cls(look_up(group.astype(code_type(len(sizes))), counts.handle), sizes)

    def count(self, column: DictionaryColumn) -> GroupCounts:
        """Rows by group and value, where no row is left out."""
        coded = (self.of_rows, len(self.sizes)), (column.codes, len(column.values))
        return GroupCounts(column.name, *count_pairs(*coded))


def count_in_groups(
    columns: Sequence[DictionaryColumn], groups: RowGroups
) -> tuple[GroupCounts, ...]:
    """Rows by group and value, for each column."""
    with ThreadPoolExecutor(2) as pool:  # counting releases the interpreter's lock
        return tuple(pool.map(groups.count, columns))
