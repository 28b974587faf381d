"""People and published rows beside each other, column by column, as codes; private.

For every column that a file shows: the v different values that people have in it, the g different
cells of the file, which cells cover which value, and how near each is to each.  Where numbers are
more than some thousand, both sides are cut into as many parts of equally many published rows.

Cost: O(v g) a column; sets of texts with too many pairs are left out, and said.  Dates and texts of
which there are thousands count as numbers: their places in the order of all of them.

How well the closest of some rows fits each person, by how rare what agrees is; private.

A row agrees with a person in a column the better the fewer rows are as near to the person's value:
it is worth -log of the share of rows that are at least as near.  So a rare value weighs much, a
frequent one little, and a number next to the person's nearly as much as the same one.  What a row
is worth is added up over columns, as in Fisher's combination of independent tests; the closest row
is the one that is worth most.

Cost: p n m for p people and n rows of m columns; columns of few combinations count as one.

Rows that copying does not look at: those of groups that show the same averages; private.

A row of a group of averages is of nobody alone, and so is a copy of none.  But a plan may say of a
column that it is averaged where the file does not look so, and values that repeat by themselves are
no averages.  Where only the plan makes groups of more than a small share of the rows, copies among
these cannot be told, and copying is not assessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.audit.foreign import Foreign
from voile.audit.recognition import Recognised
from voile.audit.record import ROWS_OF_PEOPLE
from voile.release.reading import ColumnView, People, PublishedRows, floats_of, texts_of
from voile.schema.names import ShownAs
from voile.schema.plan import Plan
from voile.table.alignment import common_codes
from voile.table.codes import Combinations, encode
from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_base.randomness import Draws

__all__ = [
    "CONTROL",
    "ORIGINAL",
    "DistinctRows",
    "JointCodes",
    "JointColumn",
    "NearestRows",
    "groups_on_both_sides",
    "unseen_note",
    "unseen_refusal",
]


Floats = NDArray[np.float32]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

ORIGINAL, CONTROL = 0, 1
"""The groups of people in ``JointCodes``."""
_PARTS = 2000
"""Of numbers: more of them are taken together."""
_PAIRS = 20_000_000
_LEAST = 0.02
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
        published = PublishedRows.of(foreign.release)
        shown = [one for one in foreign.recognised if one.columns]
        names = [one.name for one in shown]
        everybody = People(pl.concat([each.select(names) for each in people]), plan)
        sizes = [each.height for each in people]
        columns, left_out = [], []
        for one in shown:
            column = _column(published, one, everybody, sizes)
            if column is None:
                left_out.append(one.name)
            else:
                columns.append(column)
        units = [
            np.arange(each.height) if unit is None else encode(each[unit]).codes.astype(np.int64)
            for each in people
        ]
        return cls(tuple(columns), published.frame.height, tuple(left_out), tuple(units))


def _column(
    published: PublishedRows,
    one: Recognised,
    everybody: People,
    sizes: Sequence[int],
    *,
    nearness: bool = True,
) -> JointColumn | None:
    """One column; None where it has too many texts to compare all with all.

    Without ``nearness`` a cell that covers a value is near, and no other.
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
    weights = view.evidence().log_weights(slice(None))
    covers = weights > -1
    near = np.maximum(np.exp(weights), _LEAST) if nearness else covers
    numbers = _numbers(values, cells)
    if numbers is not None and nearness:
        near = np.maximum(near, _nearness(numbers, cells, cell))
    ends = np.cumsum(sizes)[:-1]
    parts = tuple(np.split(value, ends))
    kept = whole and (tuple(np.split(whole[0], ends)), whole[1])
    wide = _are_wide(cells) if numbers is not None else np.zeros(cells.height, dtype=bool)
    return JointColumn(
        one.name,
        parts,
        cell,
        covers,
        near.astype(np.float32),
        numbers,
        wide,
        one.how,
        kept,
        one.stated,
    )


_CROWD = 100
"""Rows of all sides that may be together: who is alike in them with more has no row of the own."""


def groups_on_both_sides(
    foreign: Foreign, people: Sequence[People], draws: Draws
) -> tuple[list[Indices], Indices, float]:
    """Groups that hold a person and the person's row alike, as far as columns tell; private.

    They are of one value in columns of which each value has one cell: shown as they are, or
    generalized alike everywhere.  Groups of more than ``_CROWD`` rows are divided at random.

    The group of each row of each side of ``people``, and of each published row, and the share of
    the people of the first side whose row is in their group, where the file has it.
    """
    published = PublishedRows.of(foreign.release)
    sizes = [each.frame.height for each in people]
    rows = np.zeros(sum(sizes) + published.frame.height, dtype=np.int64)
    for one in foreign.recognised:
        if one.how not in {"exact", "interval", "set"}:
            continue
        values = pl.concat([each.column(one.name).alias(one.name) for each in people])
        everybody = People(values.to_frame(), people[0].plan)
        column = _column(published, one, everybody, sizes, nearness=False)
        del values, everybody  # one column at a time stands in full
        found = None if column is None else _as_groups(column)
        if column is None or found is None:
            continue
        of_value, of_cell = found
        each = np.concatenate([*(of_value[value] for value in column.value), of_cell[column.cell]])
        kinds = column.covers.shape[1] + 2
        rows = Combinations.of([(rows, int(rows.max()) + 1), (each, kinds)]).index.astype(np.int64)
    count = np.bincount(rows)
    small = float((count[rows[: sizes[0]]] <= _CROWD).mean())
    parts = -(-count // _CROWD)
    first = np.cumsum(parts) - parts
    rows = first[rows] + (draws.uniform(size=len(rows)) * parts[rows]).astype(np.int64)
    *sides, file = np.split(rows, np.cumsum(sizes))
    return sides, file, small


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
    finite = shown[np.isfinite(shown)]
    cuts = np.linspace(0, 1, _PARTS + 1)[1:-1]
    edges = np.unique(np.quantile(finite, cuts)) if len(finite) else finite
    both = np.concatenate((finite, known[np.isfinite(known)]))
    part = np.searchsorted(edges, both, side="right")
    total = np.bincount(part, both, len(edges) + 1)
    middle = total / np.maximum(np.bincount(part, minlength=len(edges) + 1), 1)

    def of(numbers: NDArray[np.float64]) -> pl.Series:
        parts = middle[np.searchsorted(edges, numbers, side="right")]
        return pl.Series(name, np.where(np.isfinite(numbers), parts, np.nan)).fill_nan(None)

    return of(known).to_frame(), of(shown).to_frame()


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


def _nearness(
    numbers: tuple[NDArray[np.float64], NDArray[np.float64]], cells: pl.DataFrame, cell: Indices
) -> NDArray[np.float64]:
    """How near values are to the ends of cells, by the share of published rows between them."""
    values, middle = numbers
    shown = np.sort(middle[cell][np.isfinite(middle[cell])])
    if not len(shown):
        return np.zeros((len(values), len(middle)))

    def rank(at: NDArray[np.float64]) -> NDArray[np.float64]:
        sides = (np.searchsorted(shown, at, side) for side in ("left", "right"))
        return sum(sides) / (2 * len(shown))  # type: ignore[return-value]

    ends = [rank(floats_of(cells[name])) for name in cells.columns]
    own = rank(values)[:, np.newaxis]
    below, above = np.maximum(ends[0] - own, 0), np.maximum(own - ends[-1], 0)
    near: NDArray[np.float64] = np.exp(-(below + above) / _REACH)
    missing = np.isnan(values)[:, np.newaxis] | np.isnan(middle)
    return np.where(missing, 0.0, near)


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


_LEVELS = 256
"""How many degrees of nearness are told apart."""


@dataclass(frozen=True, eq=False)
class _Agreement:
    """What it is worth that a cell stands beside a value, in one column."""

    worth: Floats
    """Shape (v, g), at least 0."""

    @classmethod
    def of(cls, near: NDArray[np.floating], rows: Indices) -> _Agreement:
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

    columns: tuple[_Agreement, ...]

    @classmethod
    def of(cls, columns: Sequence[JointColumn]) -> NearestRows:
        """Held against all published rows."""
        return cls(
            tuple(
                _Agreement.of(c.near, np.bincount(c.cell, minlength=c.covers.shape[1]))
                for c in columns
            )
        )

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
        groups = _together([one.worth.shape[1] for one in self.columns], cells)
        tables = [self.columns[place].worth for place, _ in groups.columns]
        starts = np.cumsum([0, *(table.size for table in tables)])[:-1]
        lines = np.stack(
            [
                start + table.shape[1] * values[place]
                for start, table, (place, _) in zip(starts, tables, groups.columns, strict=True)
            ],
            axis=1,
        )
        flat = np.concatenate([table.ravel() for table in tables])
        if owners is None:
            owners = np.full(len(lines), -1), np.full(groups.rows.shape[1], -2)
        shown = np.concatenate([cell for _, cell in groups.columns])
        return np.asarray(_closest(flat, lines, groups.starts, shown, groups.rows, *owners))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Columns of few cells taken together; the worth of combinations is added up once a person."""

    columns: tuple[tuple[int, NDArray[np.uint32]], ...]
    """Group after group the place of each column, and its cell in each of the combinations."""
    starts: Indices
    """Shape (2, groups + 1): the first column and the first combination of each, and how many."""
    rows: NDArray[np.uint32]
    """Shape (groups, n): the combination of each row, counted on from group to group."""


def _together(sizes: Sequence[int], cells: Sequence[Indices]) -> _Groups:
    """Groups of as few combinations as an eighth of the rows; those of most combinations first."""
    count = len(cells[0])
    groups: list[tuple[list[int], Indices, int]] = []
    for place in np.argsort(sizes, kind="stable"):
        joined = groups[-1][1] * sizes[place] + cells[place] if groups else cells[place]
        seen, code = np.unique(joined, return_inverse=True)
        if groups and len(seen) <= count // 8:
            groups[-1] = [*groups[-1][0], int(place)], code, len(seen)
        else:
            seen, code = np.unique(cells[place], return_inverse=True)
            groups.append(([int(place)], code, len(seen)))
    groups.reverse()
    columns, codes, starts = [], [], [(0, 0)]
    for places, code, combinations_of in groups:
        example = np.empty(combinations_of, dtype=np.int64)
        example[code] = np.arange(count)
        columns += [(place, cells[place][example].astype(np.uint32)) for place in places]
        before, shown = starts[-1]
        codes.append((code + shown).astype(np.uint32))
        starts.append((before + len(places), shown + combinations_of))
    rows = np.stack(codes)
    return _Groups(tuple(columns), np.array(starts).T, rows)


@njit(nogil=True)
def _closest(flat, lines, starts, shown, rows, people, owners):  # type: ignore[no-untyped-def]
    first, ends = starts
    count, width = len(lines), len(ends) - 1
    found = np.zeros(count)
    worths = np.zeros(ends[width], dtype=np.float32)
    total = np.zeros(len(owners), dtype=np.float32)
    for person in range(count):
        worths[:] = 0
        place = 0
        total[:] = 0
        for group in range(width):
            for column in range(first[group], first[group + 1]):
                line = np.uint64(lines[person, column])
                for combination in range(ends[group], ends[group + 1]):
                    worths[combination] += flat[line + shown[place]]
                    place += 1
            code = rows[group]
            for row in range(len(total)):
                total[row] += worths[code[row]]
        most = np.float32(0.0)
        for row in range(len(total)):
            if total[row] > most and owners[row] != people[person]:
                most = total[row]
        found[person] = most
    return found


_FEW = 0.02
"""The share of rows that may be left out by the word of a plan alone."""


def unseen_refusal(beside: JointCodes) -> str | None:
    """Why copying is not assessed; None where it is, or where the file itself shows groups."""
    stated = [column.name for column in beside.columns if column.stated]
    unseen = beside.rows - len(beside.rows_alone)
    if not stated or unseen <= _FEW * beside.rows:
        return None if len(beside.rows_alone) else ROWS_OF_PEOPLE
    named = ", ".join(map(repr, stated))
    return (
        f"the plan says that {named} is averaged, and the file does not look so: {unseen:,} of "
        f"{beside.rows:,} rows would not be looked at; leave shown out of the plan"
    )


def unseen_note(beside: JointCodes) -> str | None:
    """How many rows were not looked at; None where all were."""
    unseen = beside.rows - len(beside.rows_alone)
    if not unseen:
        return None
    return f"{unseen:,} of {beside.rows:,} rows are of groups of averages, and were not looked at"
