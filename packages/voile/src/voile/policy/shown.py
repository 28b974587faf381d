"""k, l and t of published rows, whoever made them: counted, from what everybody sees.

Rows form a group where they show the same in all quasi-identifiers, and have one group's number
where the release numbers groups.  Where a sensitive column was permuted within groups, its values
belong to the group and to no row, so that its groups are those of the numbers alone.

Cost: a count of the distinct combinations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from voile.models.criteria import Groups, SensitiveCells
from voile.models.t_closeness import EqualCloseness, OrderedCloseness
from voile.policy.ruling import MeasuredFigure
from voile.table.published import PublishedTable
from voile_base.errors import TableError

__all__ = ["ShownRows"]


@dataclass(frozen=True, eq=False)
class ShownRows:
    """The rows of a release or of a file of another make."""

    table: PublishedTable
    roles: Mapping[str, tuple[str, ...]]
    """Published columns by role."""
    group: str | None
    """The column with the numbers of groups."""
    permuted: frozenset[str]
    """Columns whose values belong to groups and not to rows."""

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The published sensitive columns."""
        return tuple(self.roles.get("sensitive", ()))

    def smallest_group(self) -> MeasuredFigure | str:
        """The fewest rows that show the same."""
        columns = self._shared()
        if not columns:
            return "no published column is a quasi-identifier, so that nothing tells groups"
        sizes = self.table.group_sizes(columns)
        if not len(sizes):
            return "there are no published rows"
        least = int(sizes.min())
        return MeasuredFigure.exactly(
            least, f"rows of the smallest of {len(sizes):,} groups that show the same"
        )

    def least_diverse(self, column: str) -> MeasuredFigure | str:
        """The fewest different values of a sensitive column in a group."""
        cells = self._cells(column)
        if isinstance(cells, str):
            return cells
        values = np.bincount(cells.group)
        return MeasuredFigure.exactly(
            int(values.min()), f"values of {column!r} in the poorest of {len(values):,} groups"
        )

    def furthest(self, column: str) -> MeasuredFigure | str:
        """The largest distance of a sensitive column in a group from that in all published rows."""
        cells = self._cells(column)
        if isinstance(cells, str):
            return cells
        numbers = self.table.kinds()[column] in {"integer", "decimal", "single"}
        distance = (OrderedCloseness if numbers else EqualCloseness)(1, column)
        groups = Groups(np.bincount(cells.group, cells.rows).astype(np.int64), {column: cells})
        far = float(distance.distances(groups).max())
        ground = "ordered" if numbers else "equal"
        why = f"{ground} distance of {column!r} in the furthest of {len(groups.rows):,} groups"
        return MeasuredFigure.exactly(far, f"{why} from all published rows")

    def _cells(self, column: str) -> SensitiveCells | str:
        if column not in self.table.columns:
            return f"no published column is {column!r}"
        own = column in self.permuted and self.group is not None
        shared = [self.group] if own and self.group else self._shared(without=column)
        if not shared:
            return "no published column is a quasi-identifier, so that nothing tells groups"
        try:
            cells = self.table.cells(shared, column)
        except TableError as error:
            return str(error)
        if not len(cells.rows):
            return "there are no published rows"
        return SensitiveCells(cells.group, cells.value, cells.rows, cells.total)

    def _shared(self, without: str | None = None) -> list[str]:
        names = [one for one in self.roles.get("quasi_identifiers", ()) if one != without]
        return [*names, *([self.group] if names and self.group else [])]
