"""How well the closest of some rows fits each person, by how rare what agrees is; private.

A row agrees with a person in a column the better the fewer rows are as near to the person's value:
it is worth -log of the share of rows that are at least as near.  So a rare value weighs much, a
frequent one little, and a number next to the person's nearly as much as the same one.  What a row
is worth is added up over columns, as in Fisher's combination of independent tests; the closest row
is the one that is worth most.

Cost: p n m for p people and n rows of m columns at worst; rows are given up as soon as the columns
that are left cannot make them the closest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit

__all__ = ["Agreement", "NearestRows"]

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]

_LEVELS = 256
_LEAST = 0.02
"""How near two values are that have nothing to do with each other."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """What it is worth that a cell stands beside a value, in one column."""

    worth: Floats
    """Shape (v, g), at least 0."""

    @classmethod
    def of(cls, near: NDArray[np.floating], rows: Indices) -> Agreement:
        """From how near each of g cells is to each of v values, and how many rows show each cell.

        ``near`` is between 0 and 1; below ``_LEAST`` nothing is told apart.
        """
        far = -np.log(np.maximum(near, _LEAST)) / -np.log(_LEAST)
        level = np.ceil(far * (_LEVELS - 1) - 1e-4).astype(np.int64)
        values = len(level)
        place = np.arange(values)[:, np.newaxis] * _LEVELS + level
        weights = np.broadcast_to(rows / max(rows.sum(), 1), level.shape)
        share = np.bincount(place.ravel(), weights.ravel(), values * _LEVELS)
        as_near = np.cumsum(share.reshape(values, _LEVELS), axis=1)
        least = 1 / max(int(rows.sum()), 1)
        worth = -np.log(np.clip(as_near.ravel()[place], least, 1))
        return cls(worth.astype(np.float32))


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Agreements of some columns, in which people are held against rows."""

    columns: tuple[Agreement, ...]

    def most(self, values: Sequence[Indices]) -> NDArray[np.float64]:
        """Shape (p,): what a row is worth at most to each of p people; ``values`` by column."""
        each = (c.worth.max(axis=1)[value] for c, value in zip(self.columns, values, strict=True))
        total: NDArray[np.float64] = np.sum([one.astype(np.float64) for one in each], axis=0)
        return total

    def closest(
        self,
        values: Sequence[Indices],
        cells: Sequence[Indices],
        owners: tuple[Indices, Indices] | None = None,
    ) -> NDArray[np.float64]:
        """Shape (p,): what the closest of n rows is worth to each of p people.

        ``values`` and ``cells`` are codes by column.  ``owners``: who each of the people is, and
        whose each row is; one's own rows are left out.  Without any rows it is 0.
        """
        order = np.argsort([-float(one.worth.max(initial=0)) for one in self.columns])
        tables = [self.columns[place].worth for place in order]
        starts = np.cumsum([0, *(table.size for table in tables)])[:-1]
        widths = np.array([table.shape[1] for table in tables])
        flat = np.concatenate([table.ravel() for table in tables])
        best = np.stack([t.max(axis=1)[values[p]] for t, p in zip(tables, order, strict=True)], 1)
        lines = np.stack(
            [s + w * values[p] for s, w, p in zip(starts, widths, order, strict=True)], axis=1
        )
        rows = np.stack([cells[place] for place in order], axis=1).astype(np.int32)
        if owners is None:
            owners = np.full(len(lines), -1), np.full(len(rows), -2)
        return np.asarray(_closest(flat, lines, best.astype(np.float32), rows, *owners))


@njit(nogil=True)
def _closest(flat, lines, best, rows, people, owners):  # type: ignore[no-untyped-def]
    count, width = lines.shape
    found = np.zeros(count)
    for person in range(count):
        left = np.zeros(width + 1, dtype=np.float32)
        for column in range(width - 1, -1, -1):
            left[column] = left[column + 1] + best[person, column]
        most = np.float32(0.0)
        for row in range(rows.shape[0]):
            if owners[row] == people[person]:
                continue
            worth = np.float32(0.0)
            for column in range(width):
                worth += flat[lines[person, column] + rows[row, column]]
                if worth + left[column + 1] <= most:
                    break
            most = max(most, worth)
        found[person] = most
    return found
