"""People and published rows beside each other, column by column, as codes; private.

For every column that a file shows: the v different values that people have in it, the g different
cells of the file, which cells cover which value, and how near each is to each.  Where numbers are
more than some thousand, both sides are cut into as many parts of equally many published rows.

Cost: O(v g) a column; sets of texts with too many pairs are left out, and said.  Dates and texts of
which there are thousands count as numbers: their places in the order of all of them.

How likely each published row is a person's, by how near its cells are; private.

Nearness of columns is multiplied: the adversary takes them for independent, and lets no single cell
rule a row out, for rows of a synthesizer are of nobody and still resemble those it learnt from.

Rows that show the same are looked at once, with their number.  Of many people and rows some are
looked at at a time: memory is bounded, whatever their numbers.  Numbers of all people stand beside
each other for each row, so that a look-up copies a line.

Cost: t g look-ups for t people and g different rows, for each column and for each few columns that
have an eighth as many combinations; twice by parts of rows; as many again for each column that is
left out in turn.  Memory: t numbers for each combination that stands in place of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.audit.foreign import Foreign
from voile.audit.recognition import Recognised
from voile.disclosure.evidence import Evidence
from voile.release.reading import ColumnView, People, PublishedRows, floats_of, texts_of
from voile.schema.names import ShownAs
from voile.schema.plan import Plan
from voile.table.alignment import common_codes, places_in_order
from voile.table.codes import Combinations, code_type, encode, look_up
from voile_base.ondemand import dataclass
from voile_base.randomness import Draws, parts

__all__ = [
    "CONTROL",
    "LEAST",
    "ORIGINAL",
    "DistinctRows",
    "GroupedSample",
    "JointCodes",
    "JointColumn",
    "Likeness",
]


Floats = NDArray[np.float32]
Singles = NDArray[np.float32]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

ORIGINAL, CONTROL = 0, 1
"""The groups of people in ``JointCodes``."""
_PARTS = 2000
"""Of numbers: more of them are taken together."""
_PAIRS = 20_000_000
LEAST = 0.02
"""How near a cell is at least that does not fit: mistakes happen, and synthesizers vary."""
_NOTHING = 1e-6
_REACH = 0.05
"""The share of rows between two numbers at which they are a third as near as equal ones."""


@dataclass(frozen=True, eq=False)
class JointColumn:
    """One column on both sides."""

    name: str
    value: tuple[Indices, ...]
    """For each group of people, shape (p,): the value of each."""
    cell: Indices
    """Shape (n,): the cell of each published row."""
    covers: Mask
    """Shape (v, g)."""
    near: Floats
    """Shape (v, g), between 0 and 1."""
    numbers: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    """Of values (v,) and of cells (g,), the middle of intervals; None for texts."""
    wide: Mask
    """Shape (g,): whether a cell is an interval of more than one number."""
    how: ShownAs
    """How the file shows it."""
    whole: tuple[tuple[NDArray[np.float64], ...], NDArray[np.float64]] | None = None
    """Numbers that were taken together, as they are: for each group of people shape (p,), and of
    published rows (n,); None where none were."""
    stated: bool = False
    """Whether the plan alone says how it is shown, and the file does not look so."""
    order: tuple[Indices, ...] = ()
    """Of texts, the places of values (v,) and of cells (g,) in the order of all."""

    @cached_property
    def only_cell(self) -> Indices | None:
        """Shape (v,): the cell that covers each value, -1 without; None where several cover one."""
        if (self.covers.sum(axis=1) > 1).any():
            return None
        cell: Indices = np.where(self.covers.any(axis=1), self.covers.argmax(axis=1), -1)
        return cell

    @property
    def is_near(self) -> bool:
        """Whether its cells show numbers near those of people: with noise, or of several."""
        return self.how in {"noisy", "averaged"}

    @cached_property
    def narrow_cell(self) -> Indices:
        """Shape (v,): the cell that shows just this number, or else that covers fewest values.

        It is -1 without any, and without just this number where the file shows noise.
        """
        fewest = self.covers / np.maximum(self.covers.sum(axis=0), 1).astype(np.float32)
        covered = self.covers.any(axis=1) & (not self.is_near)
        cell: Indices = np.where(covered, fewest.argmax(axis=1), -1)
        if self.numbers is not None:
            values, shown = self.numbers
            just = np.flatnonzero(~self.wide & np.isfinite(shown))
            just = just[np.argsort(shown[just], kind="stable")]
            if len(just):
                at = np.minimum(np.searchsorted(shown[just], values), len(just) - 1)
                cell = np.where(shown[just[at]] == values, just[at], cell)
        return cell

    @property
    def values(self) -> int:
        """How many different values there are."""
        return len(self.covers)

    @property
    def fits(self) -> Floats:
        """Shape (v, g): 1 where a cell covers a value, and next to nothing elsewhere."""
        return np.where(self.covers, 1, _NOTHING).astype(np.float32)

    @cached_property
    def as_cell(self) -> Indices:
        """Shape (v,): the cell by which each value would be shown; the most frequent of several."""
        rows = np.bincount(self.cell, minlength=self.covers.shape[1])
        near = self.near * (1 + 1e-3 * rows / max(rows.max(), 1))
        return np.asarray(near.argmax(axis=1))

    def as_numbers(self, cells: Indices) -> NDArray[np.float64]:
        """Cells as numbers that a tree may cut: numbers by their size, texts by their codes."""
        if self.numbers is None:
            return cells.astype(np.float64)
        return np.nan_to_num(self.numbers[1][cells], nan=-1e18)


_GROUP = 3
"""Rows that show the same averages, from which on they are a group."""


@dataclass(frozen=True, eq=False)
class JointCodes:
    """All columns that a file shows, beside those of groups of people."""

    columns: tuple[JointColumn, ...]
    rows: int
    """Published rows that are looked at."""
    left_out: tuple[str, ...]
    """Columns of too many texts."""
    units: tuple[Indices, ...]
    """For each group of people, shape (p,): which person or household each row is of, from 0."""

    @cached_property
    def rows_alone(self) -> Indices:
        """The rows that are of no group that shows the same averages."""
        averaged = [column for column in self.columns if column.how == "averaged"]
        if not averaged:
            return np.arange(self.rows)
        rows = DistinctRows.of(averaged)
        return np.flatnonzero(rows.count[rows.place] < _GROUP)

    def people(self, group: int) -> int:
        """How many persons or households a group has."""
        return int(self.units[group].max()) + 1

    def drawn(self, group: int, count: int, draws: Draws) -> Indices:
        """Rows of ``count`` different persons of a group, drawn at random, and a row of each."""
        unit = self.units[group]
        order = draws.permutation(len(unit))
        if self.people(group) == len(unit):
            return order[:count]
        rows = order[np.unique(unit[order], return_index=True)[1]]
        return rows[draws.permutation(len(rows))[:count]]

    @classmethod
    def of(
        cls,
        foreign: Foreign,
        people: Sequence[pl.DataFrame],
        plan: Plan | None,
        unit: str | None = None,
    ) -> JointCodes:
        """A file beside groups of people, such as the original and the control.

        ``unit`` is the column that tells persons or households apart; None: each row is another.
        """
        shown = [one for one in foreign.recognised if one.columns]
        names = [one.name for one in shown]
        everybody = People(pl.concat([each.select(names) for each in people]), plan)
        sizes = [each.height for each in people]
        columns, left_out = [], []
        for one in shown:
            column = _column(foreign.rows_of(one), one, everybody, sizes)
            if column is None:
                left_out.append(one.name)
            else:
                columns.append(column)
        units = [
            np.arange(each.height) if unit is None else encode(each[unit]).codes.astype(np.int64)
            for each in people
        ]
        return cls(tuple(columns), foreign.release.rows, tuple(left_out), tuple(units))


def _column(
    published: PublishedRows,
    one: Recognised,
    everybody: People,
    sizes: Sequence[int],
    *,
    nearness: bool = True,
) -> JointColumn | None:
    """One column; None where it has too many texts to compare all with all.

    Without ``nearness`` only what covers what is found out.
    """
    names, whole = published.columns_of(one.name), None
    seen = published.frame.select(names)
    own = everybody.frame.select(one.name)
    values_alone = one.how in {"exact", "permuted", "synthetic", "averaged", "noisy"}
    if (values_alone or _are_points(one.how, seen)) and _many(own, seen):
        shown = seen.select(pl.first())
        if not own.to_series().dtype.is_numeric():
            own, shown = _in_order(own, shown)
        whole = floats_of(own.to_series()), floats_of(shown.to_series())
        own, shown = _in_parts(own, shown)
        seen = pl.DataFrame([shown.to_series().alias(name) for name in names])
        everybody = People(own, everybody.plan)
    cells, (cell,) = common_codes([seen])
    values, (value,) = common_codes([own])
    if values.height * cells.height > _PAIRS:
        return None
    first = np.unique(value, return_index=True)[1]
    counted = cells, np.bincount(cell, minlength=cells.height)
    view = ColumnView.of(published, counted, everybody, one.name, first)
    numbers = _numbers(values, cells)
    reach = _Reach.of(numbers, cells, cell) if nearness and numbers is not None else None
    covers, near = _pairs(view.evidence(), (values.height, cells.height), reach, nearness=nearness)
    ends = np.cumsum(sizes)[:-1]
    sides = tuple(np.split(value, ends))
    kept = whole and (tuple(np.split(whole[0], ends)), whole[1])
    wide = _are_wide(cells) if numbers is not None else np.zeros(cells.height, dtype=bool)
    order = () if numbers else tuple(places_in_order([f.to_series() for f in (values, cells)]))
    about = one.how, kept, one.stated, order
    return JointColumn(one.name, sides, cell, covers, near, numbers, wide, *about)


_WORDS = 1 << 63
"""Random numbers that tell rows apart are below it."""
_PIECES = 8
"""In which rows are sorted one after the other."""
_CROWD = 100
"""Rows of all sides that may be together: who is alike in them with more has no row of the own."""


@dataclass(frozen=True, eq=False)
class GroupedSample:
    """Rows of a file and of people beside it, drawn by groups of rows that are alike; private."""

    sides: tuple[Mask, ...]
    """Of each side of people, which rows were drawn."""
    file: Mask
    """Which published rows were."""
    beside: float
    """The share of people of the first side whose row is in their group, where the file has it."""

    @classmethod
    def drawn(
        cls, foreign: Foreign, people: Sequence[People], share: float, draws: Draws
    ) -> GroupedSample:
        """A share of the groups that hold a person and the person's row alike.

        Rows of a group are of one value in columns of which each value has one cell: shown as they
        are, or generalized alike everywhere.  Groups of more than ``_CROWD`` rows are divided at
        random.  Rows are told apart by sums of random numbers, one for each value.
        """
        ends = np.cumsum([0, *(each.frame.height for each in people), foreign.release.rows])
        rows = np.zeros(ends[-1], dtype=np.uint64)
        sides = [rows[start:end] for start, end in pairwise(ends)]
        for one in foreign.recognised:
            if one.how not in {"exact", "interval", "set"}:
                continue
            found = _groups_of_column(foreign.rows_of(one), one, people)
            if found is not None:
                numbers = draws.integers(0, _WORDS, 1 + int(max(map(np.max, found))))
                for side, group in zip(sides, found, strict=True):
                    np.add(side, look_up(numbers.astype(np.uint64), group), out=side)
                np.bitwise_and(rows, np.uint64(_WORDS - 1), out=rows)
        chosen, beside = _drawn(rows, int(ends[1]), share, draws)
        *few, last = np.split(chosen, ends[1:-1])
        return cls(tuple(few), last, beside)


def _large_groups(rows: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Indices]:
    """The numbers that more than ``_CROWD`` rows (n,) have, ascending, and how many have each."""
    keys, sizes = [], []
    step = -(-_WORDS // _PIECES)
    for low in range(0, _WORDS, step):  # sorted as a whole they would stand in memory twice
        some = np.sort(rows[(rows >= np.uint64(low)) & (rows < np.uint64(low + step))])
        large = np.unique(some[_CROWD:][some[_CROWD:] == some[:-_CROWD]])
        keys.append(large)
        sizes.append(np.searchsorted(some, large, "right") - np.searchsorted(some, large))
    return np.concatenate(keys), np.concatenate(sizes)


def _drawn(rows: NDArray[np.uint64], first: int, share: float, draws: Draws) -> tuple[Mask, float]:
    """Which rows (n,) were drawn, and how many of the first are of no large group."""
    keys, sizes = _large_groups(rows)
    cuts = -(-sizes // _CROWD)
    chosen = draws.uniform(size=int(cuts.sum())) < share
    before = np.cumsum(cuts) - cuts
    mask, small = np.empty(len(rows), dtype=np.bool_), 0
    for part in parts(len(rows)):
        some = rows[part]
        mask[part] = some < np.uint64(min(share, 1 - 1e-9) * _WORDS)
        if len(keys):
            place = np.minimum(np.searchsorted(keys, some), len(keys) - 1)
            of_large = np.flatnonzero(keys[place] == some)
            place = place[of_large]
            piece = (draws.uniform(size=len(place)) * cuts[place]).astype(np.int64)
            mask[part.start + of_large] = chosen[before[place] + piece]
            small -= int((of_large + part.start < first).sum())
    return mask, (first + small) / max(first, 1)


def _groups_of_column(
    published: PublishedRows, one: Recognised, people: Sequence[People]
) -> list[NDArray[np.integer]] | None:
    """The group of each row of each side, and of each published row; None where there are none."""
    seen = published.frame[published.columns_of(one.name)[0]]
    numeric = all(each.frame[one.name].dtype.is_numeric() for each in people)
    if one.how == "exact" and numeric and seen.dtype.is_numeric() and seen.n_unique() > _PARTS * 2:
        edges = _edges(floats_of(seen))
        sides = [each.column(one.name) for each in people]
        return [_parts_of(floats_of(each), edges) for each in (*sides, seen)]
    # Each different value stands once a side.
    coded = [each.coded(one.name) for each in people]
    values = People(pl.concat([each.values for each in coded]).to_frame(), people[0].plan)
    sizes = [len(each.values) for each in coded]
    column = _column(published, one, values, sizes, nearness=False)
    found = None if column is None else _as_groups(column)
    if column is None or found is None:
        return None
    of_value, of_cell = (table.astype(code_type(len(column.covers.T) + 2)) for table in found)
    both = zip(column.value, coded, strict=True)
    groups = [look_up(of_value[value], each.codes) for value, each in both]
    return [*groups, look_up(of_cell, column.cell)]


def _as_groups(column: JointColumn) -> tuple[Indices, Indices] | None:
    """The group of each value and of each cell, from 0; None where a value has several cells.

    Cells that cover all values are in a group of their own, and so are values without any cell.
    """
    anything = column.covers.all(axis=0) & (column.values > 1)
    covers = column.covers & ~anything
    if (covers.sum(axis=1) > 1).any():
        return None
    cells = covers.shape[1]
    of_value = np.where(covers.any(axis=1), covers.argmax(axis=1), cells)
    return of_value, np.where(anything, cells + 1, np.arange(cells))


def _are_points(how: ShownAs, seen: pl.DataFrame) -> bool:
    """Whether intervals are numbers, of which some are missing."""
    if how != "interval":
        return False
    low, high = (seen[name] for name in seen.columns)
    return bool((low == high).all())


def _many(own: pl.DataFrame, seen: pl.DataFrame) -> bool:
    return own.to_series().n_unique() > _PARTS or seen.n_unique() > _PARTS * 2


def _in_order(own: pl.DataFrame, seen: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Texts and dates as numbers: their places in the order of all of both sides."""
    name = own.columns[0]
    texts = [pl.Series(name, texts_of(each.to_series())) for each in (own, seen)]
    texts = [each.cast(pl.String) for each in texts]
    order = pl.concat(texts).drop_nulls().unique().sort()
    place = {text: number for number, text in enumerate(order)}
    numbers = (each.replace_strict(place, default=None, return_dtype=pl.Float64) for each in texts)
    first, second = (each.to_frame() for each in numbers)
    return first, second


def _in_parts(own: pl.DataFrame, seen: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Numbers as the middles of parts of equally many published rows, alike on both sides."""
    name = own.columns[0]
    shown, known = floats_of(seen.to_series()), floats_of(own.to_series())
    edges = _edges(shown)
    total, count = np.zeros(len(edges) + 2), np.zeros(len(edges) + 2)
    for numbers in (shown, known):
        part = _parts_of(numbers, edges)
        total += np.bincount(part, np.nan_to_num(numbers), len(total))
        count += np.bincount(part, minlength=len(count))
    middle = total / np.maximum(count, 1)
    middle[-1] = np.nan

    def of(numbers: NDArray[np.float64]) -> pl.Series:
        return pl.Series(name, look_up(middle, _parts_of(numbers, edges))).fill_nan(None)

    return of(known).to_frame(), of(shown).to_frame()


def _edges(shown: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between parts of equally many published rows."""
    finite = shown[np.isfinite(shown)]
    cuts = np.linspace(0, 1, _PARTS + 1)[1:-1]
    return np.unique(np.quantile(finite, cuts)) if len(finite) else finite


def _parts_of(
    numbers: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.unsignedinteger]:
    """The part of each number; those that are none are in one of their own, behind all others."""
    found = np.empty(len(numbers), dtype=np.uint16)
    for some in parts(len(numbers)):
        part = np.searchsorted(edges, numbers[some], side="right")
        found[some] = np.where(np.isfinite(numbers[some]), part, len(edges) + 1)
    return found


def _numbers(
    values: pl.DataFrame, cells: pl.DataFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    if not values.to_series().dtype.is_numeric():
        return None
    ends = [floats_of(cells[name]) for name in cells.columns]
    return floats_of(values.to_series()), np.mean(ends, axis=0)


def _are_wide(cells: pl.DataFrame) -> Mask:
    ends = [floats_of(cells[name]) for name in cells.columns]
    return np.asarray(ends[0] < ends[-1])


_AT_ONCE = 1 << 20
"""Pairs of a value and a cell that are compared at a time."""


def _pairs(
    evidence: Evidence, shape: tuple[int, int], reach: _Reach | None, *, nearness: bool
) -> tuple[Mask, Floats]:
    """Which of g cells cover each of v values, and how near they are; ``shape`` is (v, g).

    Without ``nearness`` the second is 0 everywhere, and takes no memory.
    """
    covers = np.empty(shape, dtype=np.bool_)
    near = np.empty(shape, dtype=np.float32) if nearness else np.zeros(1, dtype=np.float32)
    step = max(1, _AT_ONCE // max(shape[1], 1))
    for some in (slice(at, at + step) for at in range(0, shape[0], step)):
        weights = evidence.log_weights(some)
        np.greater(weights, -1, out=covers[some])
        if nearness:
            fits = np.maximum(np.exp(weights), LEAST)
            near[some] = fits if reach is None else np.maximum(fits, reach.nearness(some))
    return covers, near if nearness else np.broadcast_to(near, shape)


@dataclass(frozen=True, eq=False)
class _Reach:
    """Numbers of v values and of g cells, by the share of published rows between them."""

    own: NDArray[np.float64]
    """Shape (v,): the share of rows below each value; NaN for what is none."""
    low: NDArray[np.float64]
    """Shape (g,): the same of the lower ends of cells."""
    high: NDArray[np.float64]
    """The same of the upper ends."""

    @classmethod
    def of(
        cls,
        numbers: tuple[NDArray[np.float64], NDArray[np.float64]],
        cells: pl.DataFrame,
        cell: Indices,
    ) -> _Reach | None:
        """Of numbers of values and of cells, and the cell of each row (n,); None without any."""
        values, middle = numbers
        shown = np.flatnonzero(np.isfinite(middle))
        shown = shown[np.argsort(middle[shown], kind="stable")]
        below = np.cumsum([0, *np.bincount(cell, minlength=len(middle))[shown]])
        if not below[-1]:
            return None

        def rank(at: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
            sides = (below[np.searchsorted(middle[shown], at, side)] for side in ("left", "right"))
            return np.where(np.isnan(known), np.nan, np.add(*sides) / (2 * below[-1]))

        ends = [rank(floats_of(cells[name]), middle) for name in cells.columns]
        return cls(rank(values, values), ends[0], ends[-1])

    def nearness(self, some: slice) -> NDArray[np.float64]:
        """How near some of the values are to the ends of each cell, shape (values, g)."""
        own = self.own[some, np.newaxis]
        apart = np.maximum(self.low - own, 0) + np.maximum(own - self.high, 0)
        near: NDArray[np.float64] = np.exp(-apart / _REACH)
        return np.where(np.isnan(near), 0.0, near)


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
        found = Combinations.of([(column.cell, column.covers.shape[1]) for column in columns])
        return cls(tuple(found.codes), found.rows, found.index.astype(np.int64))


_FEWER = 8
"""By how many times combinations of columns are fewer than rows, to be looked at in their place."""
_NO_WEIGHT = np.float32(-70)
"""The logarithm of a weight, below which all rows of a file together tell nothing."""
_LIKENESS_PAIRS = 1 << 20
"""Of a person and a row, that are compared at a time: 4 megabytes for each number of theirs."""
_ADDED = 1 << 16
"""Of these, how many numbers of one column are added at a time: they stay in the caches."""
_PEOPLE = 256
"""Who are looked at together where votes for each of thousands of cells are counted."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """How likely rows are those of t people, beside a row that is likely for each person."""

    logs: tuple[tuple[Singles, Indices, NDArray[np.integer]], ...]
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
    ) -> Likeness:
        """Of some people of a group, by the columns of the rows.

        ``exact``: a cell fits or it does not, and numbers next to each other are no nearer than
        others.
        """
        group, chosen = people
        logs = (np.log(column.fits if exact else column.near) for column in columns)
        values = (column.value[group][chosen] for column in columns)
        return cls(tuple(zip(logs, values, rows.cells, strict=True)), rows.count, len(chosen))

    def in_blocks(self) -> Iterator[tuple[slice, Iterator[tuple[slice, Singles]]]]:
        """By all columns, for some people and some of the different rows at a time: (rows, people).

        A person's likeliest rows weigh 1, and the others in proportion.
        """
        for some in _parts(self.people, _PEOPLE):
            near = self._near(some)
            most = self._most(near)
            blocks = ((rows, _weights(self._sum(near, rows), most)) for rows in self._rows(some))
            yield some, blocks

    def without(self, place: int, people: slice, votes: Singles) -> Singles:
        """What rows weigh by all columns but one, where by all they weigh ``votes``, (cells, t).

        All rows of a cell are as near to a person in its column, which divides that out of their
        sum.  What weighs nothing by all columns is nothing beside the likeliest row by the others.
        """
        return np.asarray(votes / np.exp(self._column(place, people)), np.float32)

    def by_rows(self) -> Iterator[tuple[slice, Singles]]:
        """By all columns, for some of the different rows at a time, shape (rows, t).

        A person's likeliest rows weigh 1, and the others in proportion.
        """
        return ((rows, self.at(rows)) for rows in self._rows(slice(None)))

    def at(self, rows: slice | Indices) -> Singles:
        """The same of some of the different rows, by their places."""
        near, most = self._of_all
        return _weights(self._sum(near, rows), most)

    @property
    def total(self) -> Singles:
        """Shape (t,): what all published rows weigh for each person."""
        each = (self.count[rows].astype(np.float32) @ one for rows, one in self.by_rows())
        return sum(each, start=np.zeros(self.people, dtype=np.float32))

    @cached_property
    def _of_all(self) -> tuple[list[tuple[Singles, Indices]], Singles]:
        near = self._near(slice(None))
        return near, self._most(near)

    def _rows(self, people: slice) -> Iterator[slice]:
        step = max(1, _LIKENESS_PAIRS // max(len(range(self.people)[people]), 1))
        return _parts(len(self.count), step)

    def _most(self, near: Sequence[tuple[Singles, Indices]]) -> Singles:
        """The logarithm of the weight of each person's likeliest row."""
        people = near[0][0].shape[1] if near else self.people
        found = np.full(people, -np.inf, dtype=np.float32)
        for rows in self._rows(slice(0, people)):
            np.maximum(found, self._sum(near, rows).max(axis=0, initial=-np.inf), out=found)
        return found

    def _column(self, place: int, people: slice) -> Singles:
        """How near each cell of a column is to each of some people, shape (cells, people)."""
        log, value, _ = self.logs[place]
        return np.ascontiguousarray(log[value[people]].T)

    @cached_property
    def _groups(self) -> list[tuple[list[tuple[int, NDArray[np.integer]]], Indices, int]]:
        """Columns of few combinations as one: the cell of each column in each combination.

        Besides, the combination of each of the different rows, and how many there are.
        """
        found: list[tuple[list[tuple[int, NDArray[np.integer]]], Indices, int]] = []
        for place in sorted(range(len(self.logs)), key=lambda at: self.logs[at][0].shape[1]):
            log, _, cell = self.logs[place]
            cells = log.shape[1]
            if found:
                before, code, size = found[-1]
                both = Combinations.of([(code, size), (cell, cells)])
                if len(both.rows) <= len(self.count) // _FEWER:
                    first, second = both.codes
                    each = [*((at, shown[first]) for at, shown in before), (place, second)]
                    found[-1] = each, both.index.astype(np.int64), len(both.rows)
                    continue
            found.append(([(place, np.arange(cells))], cell.astype(np.int64), cells))
        return found

    def _near(self, people: slice) -> list[tuple[Singles, Indices]]:
        """How near combinations are to some people, (combinations, people), and each row's."""
        found = []
        for each, code, _ in self._groups:
            near = [np.take(self._column(place, people), cell, axis=0) for place, cell in each]
            found.append((sum(near[1:], start=near[0]), code))
        return found

    def _sum(self, near: Sequence[tuple[Singles, Indices]], rows: slice | Indices) -> Singles:
        """The logarithms of weights of some rows, shape (rows, people)."""
        if not near:  # without a column all rows are as likely
            return np.zeros((len(self.count[rows]), self.people), dtype=np.float32)
        total: Singles = np.take(near[0][0], near[0][1][rows], axis=0)
        step = max(1, _ADDED // max(total.shape[1], 1))
        for log, code in near[1:]:
            asked = code[rows]
            for part in _parts(len(total), step):
                total[part] += np.take(log, asked[part], axis=0)
        return total


def _weights(logs: Singles, most: Singles) -> Singles:
    """Exponentials of logarithms beside the greatest, in their place; below ``_NO_WEIGHT`` 0.

    Without that products would hold subnormal numbers, for which processors take a hundred times as
    long.
    """
    np.subtract(logs, most, out=logs)
    np.copyto(logs, -np.inf, where=logs < _NO_WEIGHT)
    return np.exp(logs, out=logs)


def _parts(count: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
