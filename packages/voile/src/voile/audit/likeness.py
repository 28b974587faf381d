"""How likely each published row is a person's, by how near its cells are; private.

Nearness of columns is multiplied: the adversary takes them for independent, and lets no single cell
rule a row out, for rows of a synthesizer are of nobody and still resemble those it learnt from.

Rows that show the same are looked at once, with their number.  Of many people and rows some are
looked at at a time: memory is bounded, whatever their numbers.

Cost: t g look-ups a column for t people and g different rows, twice by parts of rows; as many again
for each column that is left out in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.audit.beside import JointColumn
from voile.table.codes import combine

__all__ = ["DistinctRows", "Likeness"]

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]

_PAIRS = 1 << 22
"""Of a person and a row, that are compared at a time: 16 megabytes for each number of theirs."""


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The g different published rows in some columns."""

    cells: tuple[NDArray[np.integer], ...]
    """For each column, shape (g,)."""
    count: Indices
    """Shape (g,): how many rows show each."""
    place: Indices
    """Shape (n,): which of them each row is."""

    @classmethod
    def of(cls, columns: Sequence[JointColumn]) -> DistinctRows:
        """The rows of at least one column."""
        found = combine([(column.cell, column.covers.shape[1]) for column in columns])
        return cls(tuple(found.codes), found.rows, found.index.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Likeness:
    """How likely rows are those of t people; each person's add up to 1 over all published rows."""

    logs: tuple[tuple[Floats, Indices, NDArray[np.integer]], ...]
    """For each column how near its cells are to its values, the value of each person, and the cell
    of each different row."""
    count: Indices
    """Shape (g,): how many rows show each."""
    people: int
    """How many people there are."""

    @classmethod
    def of(
        cls,
        columns: Sequence[JointColumn],
        rows: DistinctRows,
        people: tuple[int, Indices],
        *,
        exact: bool = False,
        places: Sequence[int] | None = None,
    ) -> Likeness:
        """Of some people of a group, by columns that stand in the rows at ``places``.

        ``exact``: a cell fits or it does not, and numbers next to each other are no nearer than
        others.  ``places``: None for all in their order.
        """
        group, chosen = people
        cells = rows.cells if places is None else [rows.cells[place] for place in places]
        logs = (np.log(column.fits if exact else column.near) for column in columns)
        values = (column.value[group][chosen] for column in columns)
        return cls(tuple(zip(logs, values, cells, strict=True)), rows.count, len(chosen))

    def by_people(self) -> Iterator[tuple[slice, Floats]]:
        """For some people at a time, shape (people, g): of one of the rows that show the same."""
        every = slice(None)
        for some in _parts(self.people, len(self.count)):
            total = self._sum(some, every)
            weight = np.exp(total - total.max(axis=1, keepdims=True))
            weight /= (weight @ self.count.astype(np.float32))[:, np.newaxis]
            yield some, weight

    def without_each(self, places: Sequence[int]) -> Iterator[tuple[slice, int, Floats]]:
        """As by all columns but the one at a place, for each of these places."""
        every, rows = slice(None), self.count.astype(np.float32)
        for some in _parts(self.people, len(self.count)):
            total = self._sum(some, every)
            for place in places:
                log, value, cell = self.logs[place]
                others = np.take(log[value[some]], cell, axis=1)
                np.subtract(total, others, out=others)
                others -= others.max(axis=1, keepdims=True)
                weight = np.exp(others, out=others)
                weight /= (weight @ rows)[:, np.newaxis]
                yield some, place, weight

    def by_rows(self) -> Iterator[tuple[slice, Floats]]:
        """The same for some of the different rows at a time, shape (t, rows)."""
        every, scale = slice(None), self._log_totals()[:, np.newaxis]
        for some in _parts(len(self.count), self.people):
            yield some, np.exp(self._sum(every, some) - scale)

    def _log_totals(self) -> Floats:
        """What the weights of each person add up to, before they add up to 1."""
        found = np.empty(self.people, dtype=np.float32)
        for some in _parts(self.people, len(self.count)):
            total = self._sum(some, slice(None))
            most = total.max(axis=1)
            weight = np.exp(total - most[:, np.newaxis]) @ self.count.astype(np.float32)
            found[some] = most + np.log(weight)
        return found

    def _sum(self, people: slice, rows: slice) -> Floats:
        shape = (len(range(self.people)[people]), len(self.count[rows]))
        total = np.zeros(shape, dtype=np.float32)  # without a column all rows are as likely
        for number, (log, value, cell) in enumerate(self.logs):
            near = np.take(log[value[people]], cell[rows], axis=1)
            total = np.add(total, near, out=total) if number else near
        return total


def _parts(count: int, width: int) -> list[slice]:
    step = max(1, _PAIRS // max(width, 1))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]
