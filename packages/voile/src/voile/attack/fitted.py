"""Which published combinations each row of the original fits.

What it does: numbers the g different combinations that a release shows in some columns, and finds
for each of the d different rows of the original, as far as these columns tell them apart, all that
it fits.  That is what risks in closed form are counted from (``closed_form``).

Claim: there is an answer only where every combination is fitted by as many rows as are published
with it, or more.  So it is where the original is the one that was published.  Where groups overlap,
as those of missing values and of small children of a node may, a row fits several combinations.

Algorithm: where each column has one text for a value, as in full-domain generalization, rows and
combinations are joined by these texts.  Elsewhere the rows of each value of the column that fits
fewest meet the combinations that fit it, and large blocks of both are parted again by the next
column.  In a block each distinct value of a column has one bit for each combination that covers
it; the bits of a row are those of its values together.

Cost: O(N log N) for N rows, or for d different rows, m columns and s the share of combinations that
a row fits in the first column, s d m g / 8 bytes passed over, v c bytes held for v distinct values
and c distinct cells of each column, and 16 for each of the p pairs of a row and a combination that
it fits.  Beyond ``_MOST``, ``_MOST_KEPT`` and ``_MOST_PAIRS`` there is no answer, and risks are
estimated from a sample.

Where each row of the original stands in a release, as far as its custodian can tell.

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

How missing cells are read that may stand for missing values alone, or for others, too.

What it does: where a release does not state which, a linker may read each such cell of a
combination either way.  A row of the original is looked for among the combinations that it fits
however they are read, and the one that it was published with: no linker who picks one of those that
fit picks from fewer and finds it (``Fitted.fewest``).  So the risk of each is the greatest of all
readings, and the mean is at least that of any one.  Where it is not told for certain where rows
stand, a row that fits nothing for certain has the smallest combination that it may stand in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from voile.attack.posterior import (
    Crowd,
    MatchingColumn,
    first_of_each,
    rows_of_people,
    telling_columns,
)
from voile.disclosure.evidence import Labels, numbered, places_of_bits
from voile.release.reading import People, Place, PublishedRows, exact_labels_as_one
from voile.release.release import Release
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Key

__all__ = ["Fitted", "Standing", "spread", "unclear_columns"]


Codes = NDArray[np.int64]

_MOST = 20_000_000_000
_MOST_KEPT = 1 << 29
"""Bytes that say which values fit which cells."""
_AT_A_TIME = 1 << 22
"""Bytes of bits that are looked at together."""
_MOST_PAIRS = 1 << 25
"""Pairs of a row of the original and a combination that it fits."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Rows of the original and of the release, by the g combinations that are published."""

    shown: Place
    """Shape (n,): the combination of each published row."""
    rows: Codes
    """Shape (g,): how many published rows show each."""
    crowd: Crowd
    """The d different rows of the original, and which of them each of all N is."""
    start: Codes
    """Shape (d + 1,): where in ``combinations`` those of each different row begin."""
    combinations: Codes
    """Those that each different row fits, ascending."""
    standings: dict[bytes, Standing | None] = field(default_factory=dict, init=False, repr=False)
    """Where the rows stand, by what draws them: the last answer, which several attacks ask for."""

    @classmethod
    def of(cls, published: PublishedRows, people: People, columns: Sequence[str]) -> Fitted | None:
        """Compare all rows in these columns; None where too many fit too much.

        None, too, where a column is permuted, noisy or cannot be read, or where fewer rows of the
        original fit than are published.  The last answer about a release is kept as long as the
        release is: several attacks ask the same.
        """
        known = _LAST.get(published.release)
        if known is not None and known.answers(people, columns):
            return known.fitted
        found = cls._compared(published, people, columns)
        _LAST[published.release] = _LastAnswer(people, tuple(columns), found)
        return found

    @classmethod
    def _compared(
        cls, published: PublishedRows, people: People, columns: Sequence[str]
    ) -> Fitted | None:
        if not published.frame.height or any(name in published.permuted for name in columns):
            return None
        crowd = Crowd.of(people, columns)
        seen = [MatchingColumn.of(published, people, name) for name in columns]
        read = [column for column in seen if column is not None]
        if len(read) < len(seen):
            return None
        cells, shown = published.cells([c for name in columns for c in published.columns_of(name)])
        first = first_of_each(shown, cells.height)
        joined = _joined(read, crowd.first, first)
        if joined is None:
            return None
        row, combinations = joined
        degree = np.bincount(row, minlength=len(crowd.first))
        start = np.concatenate([[0], np.cumsum(degree)])
        rows = np.bincount(shown, minlength=len(first))
        found = cls(shown, rows, crowd, start, combinations)
        if int(degree[crowd.number].sum()) > _MOST_PAIRS:
            return None
        return found if (found.people >= rows).all() else None

    @staticmethod
    def forget(release: Release) -> None:
        """Let go of the last answer about a release."""
        _LAST.pop(release, None)

    @cached_property
    def degree(self) -> Codes:
        """Shape (d,): how many combinations each different row fits."""
        return np.diff(self.start)

    @property
    def overlap(self) -> bool:
        """Whether some row fits several combinations."""
        return bool((self.degree > 1).any())

    @property
    def fitting(self) -> int:
        """How many rows of the original fit some combination."""
        return int(self.crowd.count[self.degree > 0].sum())

    @cached_property
    def people(self) -> Codes:
        """Shape (g,): how many rows of the original fit each combination."""
        count = np.repeat(self.crowd.count, self.degree)
        counted = np.bincount(self.combinations, weights=count, minlength=len(self.rows))
        return counted.astype(np.int64)

    @cached_property
    def pairs(self) -> tuple[Codes, Codes]:
        """All pairs of a row of the original and a combination that it fits, by row; (p,) each."""
        return spread(self.start, self.combinations, self.crowd.number)

    @cached_property
    def published_alike(self) -> Codes:
        """Shape (d,): how many published rows each different row fits."""
        running = np.concatenate([[0], np.cumsum(self.rows[self.combinations])])
        alike: Codes = running[self.start[1:]] - running[self.start[:-1]]
        return alike

    def doubtful(
        self, published: PublishedRows, people: People, unclear: Sequence[str]
    ) -> NDArray[np.uint64]:
        """Shape (p,), of ``combinations``: which columns a row fits on one reading alone.

        That is a bit for each unclear column whose missing cell must stand for other values, too.
        """
        row = np.repeat(np.arange(len(self.degree)), self.degree)
        first = first_of_each(self.shown, len(self.rows))
        found = np.zeros(len(row), dtype=np.uint64)
        for bit, name in enumerate(unclear):
            column = MatchingColumn.of(published, people, name)
            strict = None if column is None else column.evidence.strict
            assert column is not None, "the rows were compared in it"
            assert strict is not None, "its missing cells have two readings"
            value, cell = column.value[self.crowd.first][row], column.cell[first]
            covers = strict.covers(slice(None))[value, cell[self.combinations]]
            found |= np.where(covers, 0, 1 << bit).astype(np.uint64)
        return found

    def only(self, fits: NDArray[np.bool_]) -> Fitted:
        """The same where some of the pairs (p,) of a row and a combination fit alone."""
        row = np.repeat(np.arange(len(self.degree)), self.degree)
        start = _starts(row[fits], len(self.degree))
        return replace(self, start=start, combinations=self.combinations[fits])

    def fewest(self, certain: NDArray[np.bool_], place: Codes | None) -> Fitted:
        """The combinations (p,) that each row fits for ``certain``, and that at its ``place`` (N,).

        Rows of different places are different.  None: what fits nothing for certain fits the
        smallest that it may stand in.
        """
        row = np.repeat(np.arange(len(self.degree)), self.degree)
        if place is None:
            order = np.lexsort((self.rows[self.combinations], row))
            smallest = order[self.start[:-1][self.degree > 0]]
            lost = np.bincount(row[certain], minlength=len(self.degree))[row[smallest]] == 0
            fits = certain.copy()
            fits[smallest[lost]] = True
            return self.only(fits)
        places = len(self.rows) + 1
        apart, number, count = np.unique(
            self.crowd.number * np.int64(places) + place + 1,
            return_inverse=True,
            return_counts=True,
        )
        own = apart % places - 1
        sure = self.only(certain)
        one, combination = spread(sure.start, sure.combinations, apart // places)
        there = np.flatnonzero(own >= 0)
        pairs = np.unique(np.concatenate((one * places + combination, there * places + own[there])))
        crowd = Crowd(self.crowd.first[apart // places], count, number)
        start = _starts(pairs // places, len(apart))
        return replace(self, crowd=crowd, start=start, combinations=pairs % places)


def _starts(row: Codes, rows: int) -> Codes:
    """Shape (rows + 1,): where the pairs of each row begin."""
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])


@dataclass(frozen=True, eq=False)
class _LastAnswer:
    """What was last asked about a release, and what the answer was; private."""

    people: People
    columns: tuple[str, ...]
    fitted: Fitted | None

    def answers(self, people: People, columns: Sequence[str]) -> bool:
        """Whether the same is asked: these columns, of the same rows under the same plan."""
        known = self.people
        same = self.columns == tuple(columns) and known.plan is people.plan
        return same and (known.frame is people.frame or known.frame.equals(people.frame))


_LAST: WeakKeyDictionary[Release, _LastAnswer] = WeakKeyDictionary()


def spread(start: Codes, member: Codes, chosen: Place) -> tuple[Codes, Codes]:
    """The members of each of some owners: places in ``chosen``, ascending, and members.

    ``start`` (owners + 1,) says where in ``member`` those of each owner begin.
    """
    degree = (start[1:] - start[:-1])[chosen]
    place = np.repeat(np.arange(len(chosen)), degree)
    within = np.arange(len(place)) - np.repeat(np.cumsum(degree) - degree, degree)
    return place, member[start[chosen][place] + within]


def unclear_columns(
    published: PublishedRows, people: People, columns: Sequence[str]
) -> tuple[str, ...]:
    """Columns whose missing cells may stand for missing values alone, or for others, too."""
    shown = ((name, published.shown(name)) for name in columns)
    asked = [name for name, how in shown if how is not None and how.mixes_missing]
    seen = ((name, MatchingColumn.of(published, people, name)) for name in asked)
    return tuple(name for name, one in seen if one is not None and one.evidence.strict is not None)


def _joined(
    columns: Sequence[MatchingColumn], people: Codes, first: Codes
) -> tuple[Codes, Codes] | None:
    """Pairs of one of d people and a combination that fits; None where it costs too much.

    ``people`` (d,) and ``first`` (g,) are a row of the original and of the release for each.
    """
    exact = [(one, labels) for one in columns if (labels := one.labels) is not None]
    if len(exact) == len(columns):
        place = _joined_by_labels(exact, people, first)
        there = np.flatnonzero(place >= 0)
        return there, place[there]
    if sum(column.compared for column in columns) > _MOST_KEPT:
        return None
    each = sorted((_Compared.of(column, people, first) for column in columns), key=_Compared.share)
    work = len(people) * len(columns) * len(first) / 8
    if work * each[0].share() > _MOST:
        return None
    rows, fits, pairs = [], [], 0
    for row, fit in _in_blocks(each, np.arange(len(people)), np.arange(len(first))):
        pairs += len(row)
        if pairs > _MOST_PAIRS:
            return None
        rows.append(row)
        fits.append(fit)
    row, fit = np.concatenate([np.empty(0, np.int64), *rows]), np.concatenate([*fits, ()])
    order = np.lexsort((fit, row))
    return row[order], fit[order].astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Compared:
    """A column of d people and g combinations: which of its values fit which of its cells."""

    fits: NDArray[np.bool_]
    """Shape (v, c)."""
    value: NDArray[np.integer[Any]]
    """Shape (d,)."""
    cell: NDArray[np.integer[Any]]
    """Shape (g,)."""

    @classmethod
    def of(cls, column: MatchingColumn, people: Codes, first: Codes) -> _Compared:
        return cls(column.evidence.covers(slice(None)), column.value[people], column.cell[first])

    def share(self) -> float:
        """The share of all pairs of a person and a combination that fit."""
        values, cells = np.bincount(self.value), np.bincount(self.cell)
        fitting = values @ (self.fits[: len(values), : len(cells)] @ cells.astype(np.float64))
        return float(fitting) / max(len(self.value) * len(self.cell), 1)


def _in_blocks(
    columns: Sequence[_Compared], people: Codes, combinations: Codes
) -> Iterator[tuple[Codes, Codes]]:
    """Pairs of some people and some combinations that fit in these columns, in blocks.

    Where a block is large it is parted by the first column, the one that fits fewest: the people of
    each value meet the combinations that fit it.
    """
    if not len(people) or not len(combinations):
        return
    width = (len(combinations) + 7) // 8
    if len(columns) == 1 or len(people) * len(columns) * width <= _AT_A_TIME:
        step = max(1, _AT_A_TIME // width)
        for begin in range(0, len(people), step):
            part = people[begin : begin + step]
            row, fit = places_of_bits(_bits(columns, part, combinations))
            yield part[row], combinations[fit]
        return
    first, others = columns[0], columns[1:]
    ordered = people[np.argsort(first.value[people], kind="stable")]
    values, begins = np.unique(first.value[ordered], return_index=True)
    cells = first.cell[combinations]
    for value, part in zip(values, np.split(ordered, begins[1:]), strict=True):
        yield from _in_blocks(others, part, combinations[first.fits[value, cells]])


def _bits(columns: Sequence[_Compared], people: Codes, combinations: Codes) -> NDArray[np.uint8]:
    """One bit for each pair of a person and a combination that fit in all columns."""
    found: NDArray[np.uint8] | None = None
    for column in columns:
        values, which = numbered(column.value[people], len(column.fits))
        cells = column.cell[combinations]
        fits = np.take(column.fits[values], cells, axis=1, mode="clip")
        bits = np.packbits(fits, axis=1)[which]
        found = bits if found is None else np.bitwise_and(found, bits, out=found)
    assert found is not None
    return found


def _joined_by_labels(
    columns: Sequence[tuple[MatchingColumn, Labels]], people: Codes, first: Codes
) -> Codes:
    """The combination whose texts are those of each of d people; -1 for none."""
    each = [
        Labels(
            labels.known[:, column.value[people]],
            labels.shown[column.cell[first]],
            np.zeros(len(first), dtype=np.bool_),
        )
        for column, labels in columns
    ]
    one = exact_labels_as_one(each)
    place_of = np.full(int(max(one.known.max(initial=-1), one.shown.max(initial=-1))) + 1, -1)
    place_of[one.shown] = np.arange(len(first))
    place: Codes = place_of[one.known[0]]
    return place


sparse = on_demand("scipy.sparse")
csgraph = on_demand("scipy.sparse.csgraph")


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
        if key.secret not in fitted.standings:
            found = cls._found(fitted, published, people, columns, key)
            fitted.standings.clear()
            fitted.standings[key.secret] = found
        return fitted.standings[key.secret]

    @classmethod
    def _found(
        cls,
        fitted: Fitted,
        published: PublishedRows,
        people: People,
        columns: Sequence[str],
        key: Key,
    ) -> Standing | None:
        if not fitted.overlap and (fitted.people == fitted.rows).all():
            place = np.full(len(fitted.degree), -1)
            place[fitted.degree > 0] = fitted.combinations
            return cls(place[fitted.crowd.number], "told")
        alone = np.zeros(people.frame.height, np.int64), np.zeros(len(fitted.shown), np.int64)
        others = _as_they_are(published, people, columns)
        # Should a value read otherwise than it was published, what was fitted still counts.
        found = cls._in(_Cells.of(fitted, *others), key) if others is not None else None
        return found or cls._in(_Cells.of(fitted, *alone), key)

    @classmethod
    def told(
        cls, published: PublishedRows, people: People, columns: Sequence[str], key: Key
    ) -> Codes | None:
        """The combination that each row of the original was published with, shape (N,).

        Combinations are numbered as ``PublishedRows.cells`` does; -1 for a row that was not
        published.  None where that cannot be told for certain.
        """
        fitted = Fitted.of(published, people, columns)
        standing = None if fitted is None else cls.of(fitted, published, people, columns, key)
        return standing.place if standing is not None and standing.known == "told" else None

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
        names, room = np.unique(fitted.shown * np.int64(kinds) + theirs, return_counts=True)
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
        if (fitting == self.room).all():
            return self._standing(self.row, self.cell, told=True, drawn=True)
        order = np.argsort(key.stream(len(self.row)))
        order = order[np.argsort(self.cell[order], kind="stable")]
        within = np.arange(len(order)) - np.repeat(np.cumsum(fitting) - fitting, fitting)
        chosen = order[within < np.repeat(self.room, fitting)]
        return self._standing(self.row[chosen], self.cell[chosen], told=False, drawn=True)

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
