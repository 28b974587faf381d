"""Where each row of the original stands in a release, as far as its custodian can tell.

What it does: names, for the N rows of the original, the combination that each was published with.
Nobody sees in a release whose its rows are; but a risk for persons is one over the persons who
stand where somebody looks, so whoever counts them must know where they stand.

Truth, the first that applies:

- A link, a column that the release and the original share, **tells** it.
- Rows that fit one combination stand there or nowhere.  Where no more fit a cell than it has, all
  of them stand in it: **told**.  A cell is a combination together with all other columns that the
  release shows as they are.
- Where more fit than were published, since rows were sampled or left out, nobody can tell which:
  they are **drawn**, each as likely as another that fits the cell, as a sample is.  A figure from
  them is that of a release like this one, and no closed form.
- Where groups overlap and every row that fits was published, each cell is full.  A row stands where
  it does in one way of filling all of them, if there is no other: **told**.  Where there is, one
  such way is **possible**, and no more than that.  Rows that cells have no room for are ruled out
  first; what remains is a maximum flow, and a row may stand elsewhere just where both cells lie on
  a circle of moves, that is in one strongly connected component of the graph of cells with an edge
  for each row that could move (Regin, "A filtering algorithm for constraints of difference", AAAI
  1994, section 4).
- Where groups overlap and rows were left out, there is no answer.

Cost: for the p pairs of a row and a combination that it fits O(p log p), some 60 bytes a pair; the
flow, O(p r^0.5) for the r rows that remain, is mostly of few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.attack.fitted import Fitted, MatchingColumn
from voile.attack.owners import telling_columns
from voile.attack.posterior import rows_of_people
from voile.disclosure.evidence import Labels
from voile.release.reading.sightings import People, PublishedRows, exact_labels_as_one
from voile_base.ondemand import on_demand
from voile_base.randomness import Key

__all__ = ["Standing"]

sparse = on_demand("scipy.sparse")
csgraph = on_demand("scipy.sparse.csgraph")

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Standing:
    """Where the rows of the original stand; private."""

    place: Codes
    """Shape (N,): the combination that each was published with; -1 where it was not published."""
    known: Literal["told", "drawn", "possible"]
    """How well that is known; see the module."""

    @classmethod
    def linked(
        cls, fitted: Fitted, published: PublishedRows, people: People, link: str
    ) -> Standing | None:
        """By a column that tells rows apart; None where a row does not fit what it is said to be.

        Raises ``InputError`` where the column does not tell rows apart.
        """
        row_of = rows_of_people(published, people, link, np.arange(people.frame.height))
        if np.count_nonzero(row_of >= 0) < published.frame.height:
            return None
        place = np.append(fitted.shown, -1)[row_of]
        row, combination = fitted.pairs
        own = np.count_nonzero(place[row] == combination)
        return cls(place, "told") if own == published.frame.height else None

    @classmethod
    def of(
        cls,
        fitted: Fitted,
        published: PublishedRows,
        people: People,
        columns: Sequence[str],
        key: Key,
    ) -> Standing | None:
        """By what the release shows; ``columns`` are those that were fitted."""
        alone = np.zeros(people.frame.height, np.int64), np.zeros(len(fitted.shown), np.int64)
        if not fitted.overlap and (fitted.people == fitted.rows).all():
            return cls._in(_Cells.of(fitted, *alone), key)
        others = _as_they_are(published, people, columns)
        # Should a value read otherwise than it was published, what was fitted still counts.
        found = cls._in(_Cells.of(fitted, *others), key) if others is not None else None
        return found or cls._in(_Cells.of(fitted, *alone), key)

    @classmethod
    def _in(cls, cells: _Cells, key: Key) -> Standing | None:
        if cells.overlap:
            return cells.filled() if cells.all_published else None
        return cells.drawn(key)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The rows of the original, and the cells that each fits."""

    combination: Codes
    """Shape (c,): of each cell."""
    room: Codes
    """Shape (c,): how many published rows are in each."""
    row: Codes
    """Shape (p,): the rows of the original that fit something, ascending."""
    cell: Codes
    """Shape (p,): what they fit."""
    rows: int
    """Of the original, N."""

    @classmethod
    def of(cls, fitted: Fitted, mine: Codes, theirs: Codes) -> _Cells:
        """``mine`` (N,) and ``theirs`` (n,) are what rows hold and show in all other columns."""
        kinds = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
        names, room = np.unique(fitted.shown * kinds + theirs, return_counts=True)
        row, combination = fitted.pairs
        name = combination * kinds + mine[row]
        cell = np.minimum(np.searchsorted(names, name), len(names) - 1)
        there = names[cell] == name
        return cls(names // kinds, room, row[there], cell[there], len(mine))

    @property
    def overlap(self) -> bool:
        return bool((self.row[1:] == self.row[:-1]).any())

    @property
    def all_published(self) -> bool:
        """Whether as many rows fit something as were published."""
        return len(np.unique(self.row)) == int(self.room.sum())

    def drawn(self, key: Key) -> Standing | None:
        """So many of the rows that fit each cell as it has, where rows fit one cell at most."""
        fitting = np.bincount(self.cell, minlength=len(self.room))
        if (fitting < self.room).any():
            return None
        told = bool((fitting == self.room).all())
        order = np.arange(len(self.row)) if told else np.argsort(key.stream(len(self.row)))
        order = order[np.argsort(self.cell[order], kind="stable")]
        within = np.arange(len(order)) - np.repeat(np.cumsum(fitting) - fitting, fitting)
        chosen = order[within < np.repeat(self.room, fitting)]
        return self._standing(self.row[chosen], self.cell[chosen], told=told, drawn=True)

    def filled(self) -> Standing | None:
        """One way of filling every cell with all rows; None where there is none."""
        ruled = self._ruled_out()
        if ruled is None:
            return None
        row, cell, left, open_row, open_cell = ruled
        told = True
        if len(open_row):
            rows, number = np.unique(open_row, return_inverse=True)
            found = _flow(number, open_cell, left)
            if found is None:
                return None
            told = not _may_move(number, open_cell, found, len(left))
            row, cell = np.concatenate([row, rows]), np.concatenate([cell, found])
        return self._standing(row, cell, told=told, drawn=False)

    def _ruled_out(self) -> tuple[Codes, Codes, Codes, Codes, Codes] | None:
        """Rows that can stand in one cell only, and it; the room left; all pairs that are open.

        None where a row is left without a cell, or a cell without rows.
        """
        row, cell, left = self.row, self.cell, self.room.copy()
        done: list[tuple[Codes, Codes]] = []
        while True:
            fitting = np.bincount(cell, minlength=len(left))
            if (fitting < left).any() or (left < 0).any():
                return None
            degree = np.bincount(row, minlength=self.rows)
            settled = (degree[row] == 1) | (fitting == left)[cell]
            if not settled.any():
                break
            if len(np.unique(row[settled])) < np.count_nonzero(settled):
                return None
            done.append((row[settled], cell[settled]))
            left = left - np.bincount(cell[settled], minlength=len(left))
            gone = np.zeros(self.rows, dtype=np.bool_)
            gone[row[settled]] = True
            stays = ~gone[row]
            waiting = np.unique(row[stays])
            stays &= (left > 0)[cell]
            row, cell = row[stays], cell[stays]
            if len(np.unique(row)) < len(waiting):
                return None
        rows = np.concatenate([np.empty(0, np.int64), *(pair[0] for pair in done)])
        cells = np.concatenate([np.empty(0, np.int64), *(pair[1] for pair in done)])
        return rows, cells, left, row, cell

    def _standing(self, row: Codes, cell: Codes, *, told: bool, drawn: bool) -> Standing:
        place = np.full(self.rows, -1)
        place[row] = self.combination[cell]
        return Standing(place, "told" if told else "drawn" if drawn else "possible")


def _flow(row: Codes, cell: Codes, room: Codes) -> Codes | None:
    """A cell for each of the rows from 0, none fuller than it has room; None where none can be."""
    rows, cells = int(row.max()) + 1, len(room)
    source, sink = rows + cells, rows + cells + 1
    begin = np.concatenate([np.full(rows, source), row, rows + np.arange(cells)])
    end = np.concatenate([np.arange(rows), rows + cell, np.full(cells, sink)])
    most = np.concatenate([np.ones(rows + len(row), np.int64), room]).astype(np.int32)
    graph = sparse.csr_array((most, (begin, end)), shape=(sink + 1, sink + 1))
    found = csgraph.maximum_flow(graph, source, sink)
    if found.flow_value < rows:
        return None
    taken = sparse.coo_array(found.flow)
    used = (taken.data > 0) & (taken.row < rows)
    place = np.empty(rows, dtype=np.int64)
    place[taken.row[used]] = taken.col[used] - rows
    return place


def _may_move(row: Codes, cell: Codes, place: Codes, cells: int) -> bool:
    """Whether some row could stand in another cell that it fits, all cells being full."""
    moves = place[row] != cell
    begin, end = place[row[moves]], cell[moves]
    graph = sparse.csr_array((np.ones(len(begin)), (begin, end)), shape=(cells, cells))
    _, part = csgraph.connected_components(graph, directed=True, connection="strong")
    return bool((part[begin] == part[end]).any())


def _as_they_are(
    published: PublishedRows, people: People, columns: Sequence[str]
) -> tuple[Codes, Codes] | None:
    """What rows of the original hold and published rows show in other columns; None without any.

    Of those columns whose values are shown as one text each.
    """
    names = (name for name in telling_columns(published, people) if name not in columns)
    each = []
    for name in names:
        column = None if name in published.permuted else MatchingColumn.of(published, people, name)
        if column is not None and (labels := column.labels) is not None:
            known = labels.known[:, column.value]
            anything = np.zeros(len(column.cell), dtype=np.bool_)
            each.append(Labels(known, labels.shown[column.cell], anything))
    if not each:
        return None
    one = exact_labels_as_one(each)
    return one.known[0].astype(np.int64), one.shown.astype(np.int64)
