"""What a control tells nothing of, and whether the file was made with it; private.

Where a control is a year older, values come and go: surveys code the highest ages by their mean,
which is another number each year.  A file that shows the new number fits dozens of people, and
nobody of the control, though nobody was copied; one that shows the old number voids the comparison.
So a value of one column that one side has more often than the other, by more than ``TIMES`` and by
more than chance, is not compared: it fits every row and is worth nothing, and people are held
against rows by their other columns (``_Drift.compared``).  As many people of the other side, drawn
at random, lose their value of the column, so that both sides are compared in as many columns.
People with less than half of the columns, or two, are left out; where more of them stand whole in
the file than of the control, copying is not assessed.  Which values these are is decided by the
original and the control alone; the file has no part in it.

A value's share is held against a binomial distribution in which one side has it ``TIMES`` times as
often, at a level of ``_UNLIKE`` over the number of values in which as few people as it has could
tell the sides apart (Tarone, "A modified Bonferroni method for discrete data", Biometrics 1990).

Whether no column and no two tell the sides apart is asked of all people (``are_alike``).

Who made the file did not have the control.  So where people of it stand whole in the file, in all
columns of values or all but one or two, more often than chance has it, the file was made with it,
and nothing can be told beside it (``made_with_control``).  What chance has is told by the original,
a file that was made without the control: by how many people of the control stand whole in it or
share a row with another of them, for as many different rows as the file has.  The file may have
``TIMES`` as many, by a binomial distribution; half of ``ALARM`` is for all columns, half for the
others together (Bonferroni).  Nor does a control hold people who were made like those whom the file
copies, so that these stand out no more: rows that are alike but for a column, one of which stands
whole in the file, are divided by chance between both sides (``AlikePairs``).

Cost: a sort of the values of each column; a count of each pair of columns; a sort of the rows of
all sides for each set of columns, up to ``_WORK`` rows.

Whether a few rows of two files are the same people's, or nearly.  Of pairs of rows that alone are
alike in all columns, or in all but one, chance divides a known share between the files.  Who puts
copies of rows of one file into the other divides more of them, and chance makes few of rare values:
so the rarest m are asked, m = 8, 11, 16, ..., by a binomial distribution (Bonferroni), of which no
two have a row in common: where each of the people of a crowd is like the next, chance divides many
or none of their pairs.  Files in
which repeated rows were left out have no undivided pairs of all columns; those are asked there only
where pairs of all but one column do not explain them.

Cost: a sort of the rows for each two columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy import special

from voile.audit.beside import CONTROL, ORIGINAL, JointCodes, JointColumn
from voile.audit.excess import ALARM, TIMES
from voile.audit.record import ROWS_OF_PEOPLE
from voile_base.ondemand import dataclass
from voile_base.randomness import Draws, Randomness

__all__ = ["AlikePairs", "ComparedSides", "nearly_all", "stand_in", "unseen_note", "unseen_refusal"]

_UNLIKE = 0.05
"""How improbable it must be that any value is found to be more frequent by chance."""
_MOST = 0.1
"""The share of people of whom a value may not be compared."""
_KINDS = 8
"""As which columns are compared: parts of numbers, and the most frequent texts."""
_EXPECTED = 20
"""People of both sides from which on a kind is compared by itself."""

_SIDES = (ORIGINAL, CONTROL)
_VALUES = {"exact", "synthetic", "permuted"}
"""How columns are shown in which a row is looked for whole: with those of numbers that may be
near, for one number of nobody makes a column such, and without."""

_RARE = 0.05
"""The share of the control that has a row by chance, up to which chance grows as rows do."""
_COMPARED = 4
"""Columns from which on people are looked for in the control who are like those in the file."""
_WORK = 10_000_000
"""Rows that are compared in all but two columns."""

_Mask = NDArray[np.bool_]
_Hashes = NDArray[np.uint64]
_Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Drift:
    """Which values are far more frequent on one side, and who has them."""

    values: tuple[_Mask, ...]
    """By column, shape (v,): values that are not compared."""
    rows: tuple[_Mask, _Mask]
    """For the original and the control, shape (p,): rows of which too few columns are left."""
    columns: tuple[str, ...]
    """The columns of these values."""
    people: tuple[int, int]
    """How many people of each side have such a value."""
    left_out: tuple[int, int]
    """How many people of each side have no row of which enough columns are left."""

    @classmethod
    def of(cls, beside: JointCodes) -> _Drift:
        """All columns, each by itself."""
        units = [beside.units[side] for side in _SIDES]
        sizes = [beside.people(side) for side in _SIDES]
        values = tuple(_more_frequent(_persons_with(c, units), sizes) for c in beside.columns)
        lost = [
            sum(
                (more[c.value[side]].astype(np.int64) for c, more in _each(beside, values)),
                np.zeros(len(units[side]), dtype=np.int64),
            )
            for side in _SIDES
        ]
        few = max(2, len(values) / 2)
        rows = [(some > 0) & (len(values) - some < few) for some in lost]
        some, judged = (
            [len(np.unique(unit[mask])) for unit, mask in zip(units, masks, strict=True)]
            for masks in ([each > 0 for each in lost], [~each for each in rows])
        )
        return cls(
            values,
            (rows[ORIGINAL], rows[CONTROL]),
            tuple(c.name for c, more in _each(beside, values) if more.any()),
            (some[ORIGINAL], some[CONTROL]),
            (sizes[ORIGINAL] - judged[ORIGINAL], sizes[CONTROL] - judged[CONTROL]),
        )

    def compared(self, beside: JointCodes, draws: Draws) -> JointCodes:
        """The same people, of whom values that are not compared fit all rows and are worth none."""
        if not self.columns:
            return beside
        columns = [
            _not_compared(column, more, beside, draws) if more.any() else column
            for column, more in _each(beside, self.values)
        ]
        return replace(beside, columns=tuple(columns))

    @property
    def note(self) -> str | None:
        """What is not compared, for the reader; None where everything is."""
        if not any(self.people):
            return None
        few = ""
        if any(self.left_out):
            few = (
                f", and of {self.left_out[ORIGINAL]:,} and {self.left_out[CONTROL]:,} of these "
                "people too few columns are left: they are not judged"
            )
        return (
            f"{self.people[ORIGINAL]:,} people of the original and {self.people[CONTROL]:,} of the "
            f"control {self.why}: these values are not compared{few}"
        )

    @property
    def why(self) -> str:
        """What such people have, as a clause."""
        named = ", ".join(map(repr, self.columns))
        return f"have a value that the other side has far less often ({named})"


def _each(beside: JointCodes, values: Sequence[_Mask]) -> Iterator[tuple[JointColumn, _Mask]]:
    """Each column with its values that are not compared."""
    return zip(beside.columns, values, strict=True)


def _not_compared(
    column: JointColumn, more: _Mask, beside: JointCodes, draws: Draws
) -> JointColumn:
    """A column in which such values are not compared, nor those of as many people of each side."""
    units = [beside.units[side] for side in _SIDES]
    left_out = [more[column.value[side]] for side in _SIDES]
    persons = [np.unique(unit[mask]) for unit, mask in zip(units, left_out, strict=True)]
    share = max(len(persons[side]) / beside.people(side) for side in _SIDES)
    value = list(column.value)
    for side in _SIDES:
        others = np.setdiff1d(np.arange(beside.people(side)), persons[side])
        missing = round(share * beside.people(side)) - len(persons[side])
        chosen = draws.permutation(others)[:missing]
        mask = left_out[side] | np.isin(units[side], chosen)
        value[side] = np.where(mask, column.values, value[side])
    every = np.ones((1, column.covers.shape[1]))
    numbers = column.numbers and (np.append(column.numbers[0], np.nan), column.numbers[1])
    return replace(
        column,
        value=tuple(value),
        covers=np.vstack((column.covers, every.astype(bool))),
        near=np.vstack((column.near, every.astype(column.near.dtype))),
        numbers=numbers,
        order=column.order and (np.append(column.order[0], -1), column.order[1]),
    )


@dataclass(frozen=True, eq=False)
class _WholeRows:
    """Rows of both sides and of the file as sums of a random number for each cell of a column."""

    people: tuple[_Hashes, _Hashes]
    """For the original and the control, shape (m, p)."""
    file: _Hashes
    """Shape (m, n)."""
    units: tuple[_Indices, _Indices]
    places: tuple[int, ...]
    """Which m columns of the file these are."""

    @classmethod
    def of(cls, beside: JointCodes) -> _WholeRows:
        """Of columns that show values as they are, or such as might be."""
        draws = Randomness.seeded(0).key("whole rows").generator()
        places = tuple(
            at for at, one in enumerate(beside.columns) if one.is_near or one.how in _VALUES
        )
        people = [
            np.zeros((len(places), len(beside.units[side])), dtype=np.uint64) for side in _SIDES
        ]
        file = np.zeros((len(places), beside.rows), dtype=np.uint64)
        for at, place in enumerate(places):
            column = beside.columns[place]
            cells = column.covers.shape[1]
            numbers = draws.integers(0, 2**63, cells + column.values).astype(np.uint64)
            # A value that no cell shows has a number of its own.
            cell, alone = column.narrow_cell, cells + np.arange(column.values)
            own = np.where(cell < 0, alone, cell)
            file[at] = numbers[column.cell]
            for side in _SIDES:
                people[side][at] = numbers[own[column.value[side]]]
        units = beside.units[ORIGINAL], beside.units[CONTROL]
        return cls((people[ORIGINAL], people[CONTROL]), file, units, places)

    @cached_property
    def totals(self) -> tuple[NDArray[np.uint64], ...]:
        """The sums of all columns: of both sides, and of the file."""
        return tuple(each.sum(axis=0) for each in (*self.people, self.file))

    def people_in_file(self, side: int, rows: _Mask) -> int:
        """How many people have one of these rows whole in the file."""
        if len(self.file) < 2:
            return 0
        there = np.isin(self.people[side].sum(axis=0), self.file.sum(axis=0)) & rows
        return len(np.unique(self.units[side][there]))

    def sets(self, beside: JointCodes) -> Iterator[tuple[int, ...]]:
        """Places of the columns in which rows are looked for: of all, then of all but some."""
        near = [beside.columns[place].is_near for place in self.places]
        return nearly_all(near, self.file.shape[1] + sum(side.shape[1] for side in self.people))

    def control_in_file(
        self, kept: Sequence[int], left_out: Sequence[_Mask]
    ) -> tuple[int, int, float]:
        """How many people of the control stand whole in the file and in what is made without it.

        Besides, how probable as many are by chance.  ``left_out``: by column, shape (p,), rows
        whose value is not compared.
        """
        gone = [at for at in range(len(self.places)) if at not in kept]
        own, other, file = (
            total - each[gone].sum(axis=0)
            for total, each in zip(self.totals, (*self.people, self.file), strict=True)
        )
        own, file = np.unique(own), np.unique(file)
        compared = ~np.any([left_out[at] for at in kept], axis=0)
        unit = self.units[CONTROL][compared]
        distinct, other = np.unique(other[compared], return_inverse=True)
        in_own, in_file = (stand_in(distinct, side) for side in (own, file))

        def persons(mask: _Mask) -> int:
            return int(_marked(unit[mask], len(self.units[CONTROL])).sum())

        found, chance = persons(in_file[other]), persons(in_own[other])
        sizes = len(file), len(own)
        owners = np.bincount(
            np.unique(other * len(self.units[CONTROL]) + unit) // len(self.units[CONTROL]),
            minlength=len(distinct),
        )
        several = persons(in_own[other] | (owners > 1)[other])
        scale = max(1.0, sizes[0] / max(sizes[1], 1))
        if several <= _RARE * len(unit):
            scale *= sizes[1] / max(sizes[1] + int((~in_own).sum()), 1)
            chance = several
        share = TIMES * scale / (1 + TIMES * scale)
        probability = float(special.bdtrc(found - 1, found + chance, share)) if found else 1.0
        return found, chance, probability


def nearly_all(near: Sequence[bool], size: int) -> Iterator[tuple[int, ...]]:
    """Sets of columns: all, and those that show no numbers ``near`` others; all but one; but two.

    Of less than four columns none is left out, and of less than six one; and not two where so many
    rows, ``size``, would be more than ``_WORK`` in all of these sets.
    """
    every = tuple(range(len(near)))
    plain = tuple(at for at in every if not near[at])
    wholes = [some for some in dict.fromkeys((every, plain)) if len(some) > 1]
    yield from wholes
    for some in wholes:
        count = len(some)
        if count > 3:
            yield from combinations(some, count - 1)
        if count > 5 and size * count * (count - 1) // 2 <= _WORK:
            yield from combinations(some, count - 2)


def stand_in(distinct: NDArray[np.uint64], sums: NDArray[np.uint64]) -> _Mask:
    """Which of some numbers stand among others; both ascend."""
    if not len(sums):
        return np.zeros(len(distinct), dtype=np.bool_)
    found: _Mask = sums[np.minimum(np.searchsorted(sums, distinct), len(sums) - 1)] == distinct
    return found


def _marked(codes: _Indices, size: int) -> _Mask:
    """Shape (size,): which of the codes below a size are there."""
    found = np.zeros(size, dtype=np.bool_)
    found[codes] = True
    return found


_FEWEST, _LEFT_OUT = 8, 2
"""Pairs that are looked at first; and pairs of all columns for each of all but one, beyond which
repeated rows are no explanation."""


@dataclass(frozen=True)
class AlikePairs:
    """Pairs of rows of two files that alone are alike in some columns, by the file of each row."""

    rows: _Indices
    """Shape (2, k)."""
    crowd: NDArray[np.float32]
    """Shape (k,): how many rows are like one of the two."""
    divided: NDArray[np.bool_]
    """Shape (k,): which of them have a row in either file."""
    share: float
    """Of pairs, that chance divides."""
    times: _Indices
    """Shape (k,): how often each counts."""

    @classmethod
    def of(cls, keys: NDArray[np.uint64], crowd: NDArray[np.float32], first: int) -> AlikePairs:
        """Of rows (n,), the first of which are one file's."""
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]))
        alone = starts[np.diff(starts, append=len(keys)) == 2]
        one, two = order[alone], order[alone + 1]
        size, others = len(keys), len(keys) - first
        share = 2 * first * others / max(size * (size - 1), 1)
        divided = (one < first) != (two < first)
        rows = np.stack((one, two))
        return cls(rows, crowd[one] + crowd[two], divided, share, np.ones_like(one))

    def counted(self, times: _Indices, share: float) -> AlikePairs:
        """The same, of which each counts so often; the fewer, the more rows are like none."""
        some = np.flatnonzero(times)
        crowd = self.crowd[some] * np.float32(times.sum())
        return AlikePairs(self.rows[:, some], crowd, self.divided[some], share, times[some])

    @classmethod
    def shared(
        cls,
        columns: Sequence[NDArray[np.uint64]],
        first: int,
        asked: NDArray[np.bool_] | None = None,
    ) -> tuple[float, float]:
        """How many of the rarest pairs are divided beyond chance, and how probable so many are.

        Pairs of all columns, or of all but one in which they differ; ``columns`` are hashes of the
        values of all rows, shape (n,) each.  Of ``asked`` rows of the first file, shape (n,), such
        as those that somebody else shows, each is asked with which other row it is a pair.
        """
        whole: NDArray[np.uint64] = np.stack(columns).sum(axis=0)
        crowd = np.zeros(len(whole), dtype=np.float32)
        for some in combinations(columns, 2):
            crowd += _as_many(whole - some[0] - some[1])
        near = []
        for names in (whole, *(whole - column for column in columns)):
            found = cls.of(names, crowd, first)
            (one, two), share = found.rows, found.share
            times = np.asarray((names is whole) | (whole[one] != whole[two]), dtype=np.int64)
            if asked is not None:
                times *= asked[one].astype(np.int64) + asked[two]
                share = 1 - (first - 1) / max(len(whole) - 1, 1)
            near.append(found.counted(times, share))
        every = near.pop(0)
        undivided = sum(int(pairs.times[~pairs.divided].sum()) for pairs in near)
        compared = not every.divided.all()
        compared |= every.times.sum() > _FEWEST + 2 * _LEFT_OUT * undivided
        lists = [some for some in (near, [every] if compared else []) if some]
        beyond, chance = min((_rarest(some) for some in lists), key=lambda one: one[1])
        return beyond, min(chance * len(lists), 1.0)


def _rarest(pairs: Sequence[AlikePairs]) -> tuple[float, float]:
    """The same of the pairs that fewest rows are like."""
    order = np.argsort(np.concatenate([some.crowd for some in pairs]), kind="stable")
    if not len(order):
        return 0.0, 1.0
    order = order[_disjoint(np.concatenate([some.rows for some in pairs], axis=1)[:, order])]
    order = np.repeat(order, np.concatenate([some.times for some in pairs])[order])
    divided = np.cumsum(np.concatenate([some.divided for some in pairs])[order])
    tops = np.array([int(_FEWEST * 2 ** (step / 2)) for step in range(2 * 32)])
    tops = np.append(tops[tops < len(order)], len(order))
    share = min(pairs[0].share, 1 - 1e-12)
    chances = special.bdtrc(divided[tops - 1] - 1.0, tops, share)
    best = int(chances.argmin())
    beyond = float(divided[tops[best] - 1] - share * tops[best])
    return beyond, float(chances[best]) * len(tops)


def _disjoint(pairs: _Indices) -> _Indices:
    """Places of the pairs (2, k) that have no row in common with one before that is kept."""
    kept, left = [], np.arange(pairs.shape[1])
    size = int(pairs.max(initial=0)) + 1
    while len(left):
        first = np.full((2, size), pairs.shape[1])
        for side in (0, 1):
            first[side, pairs[side, left[::-1]]] = left[::-1]  # the last that is written stays
        leads = (first.min(axis=0)[pairs[:, left]] == left).all(axis=0)
        kept.append(left[leads])
        taken = _marked(pairs[:, left[leads]].ravel(), size)
        left = left[~taken[pairs[:, left]].any(axis=0)]
    return np.sort(np.concatenate([*kept, left]))


def _as_many(keys: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Shape (n,): how many rows have each row's key."""
    _, place, rows = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(rows[place], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class ComparedSides:
    """The original beside the control; what several ask of both is worked out once."""

    beside: JointCodes

    @cached_property
    def drift(self) -> _Drift:
        """What is not compared."""
        return _Drift.of(self.beside)

    @cached_property
    def are_alike(self) -> bool:
        """Whether no column and no two columns tell people of both sides apart.

        Numbers of persons are compared as coarse as ``_KINDS`` parts, by the distribution of
        chi-square at a level of ``_UNLIKE`` over the number of comparisons. Several rows of a
        person are alike and make it less likely.
        """
        coarse = [_coarsely(column) for column in self.beside.columns]
        pairs = [
            [one * _KINDS + two for one, two in zip(first, second, strict=True)]
            for first, second in combinations(coarse, 2)
        ]
        compared = [*coarse, *pairs]
        return all(_same_law(*sides) * len(compared) >= _UNLIKE for sides in compared)

    @property
    def made_with_control(self) -> str | None:
        """Why the file was made with the control, without a full stop; None where it was not."""
        return self._of_whole_rows[0]

    @property
    def refusal(self) -> str | None:
        """Why the control is one of other people; None where it will do."""
        drift, sides = self.drift, (ORIGINAL, CONTROL)
        sizes = [self.beside.people(side) for side in sides]
        if any(drift.people[side] > _MOST * sizes[side] for side in sides):
            return (
                f"{drift.people[ORIGINAL]:,} of {sizes[ORIGINAL]:,} people of the original and "
                f"{drift.people[CONTROL]:,} of {sizes[CONTROL]:,} of the control {drift.why}; take "
                "a control of the same kind of people, or files without these columns"
            )
        return self._of_whole_rows[1] if drift.left_out[ORIGINAL] else None

    @cached_property
    def _of_whole_rows(self) -> tuple[str | None, str | None]:
        """Whether the file was made with the control, and holds people who are left out.

        Both are asked of the same rows, which take as much memory as the sides.
        """
        rows = _WholeRows.of(self.beside)
        made = self._made_with_control(rows) or self._like_copies(rows)
        return made, self._copies_left_out(rows)

    def _made_with_control(self, rows: _WholeRows) -> str | None:
        """That people of the control stand whole in the file more often than by chance."""
        if len(rows.places) < 2:
            return None
        columns = self.beside.columns
        values = self.drift.values
        left_out = [values[place][columns[place].value[CONTROL]] for place in rows.places]
        asked = list(dict.fromkeys(rows.sets(self.beside)))
        for at, some in enumerate(asked):
            found, chance, probability = rows.control_in_file(some, left_out)
            if probability * 2 * (1 if at == 0 else len(asked) - 1) < ALARM:
                return (
                    f"{found:,} people of the control stand in the file in {len(some)} of "
                    f"{len(columns)} columns, and {chance:,} in the original or in another of "
                    "the control, more than chance explains: a file that was made with the control "
                    "voids the comparison with it; give a control that its maker did not have"
                )
        return None

    def _like_copies(self, rows: _WholeRows) -> str | None:
        """That the control has people like those whom the file shows, more often than by chance."""
        size = sum(side.shape[1] for side in rows.people)
        if len(rows.places) < _COMPARED or size * len(rows.places) > _WORK:
            return None
        columns = [*np.concatenate(rows.people, axis=1)]
        file = np.unique(rows.totals[2])
        shown = np.zeros(size, dtype=np.bool_)
        shown[: rows.people[0].shape[1]] = stand_in(rows.totals[0], file)
        beyond, chance = AlikePairs.shared(columns, rows.people[0].shape[1], shown)
        if chance >= ALARM:
            return None
        return (
            f"some {beyond:,.0f} rows of the control are like rows of the original that the file "
            "shows, in all columns or all but one, more than chance explains: that voids the "
            "comparison with the control; give one of people who were not in the data"
        )

    def _copies_left_out(self, rows: _WholeRows) -> str | None:
        """That people of whom too few columns are left stand whole in the file; None if not so."""
        drift = self.drift
        if not drift.left_out[ORIGINAL]:
            return None
        own = rows.people_in_file(ORIGINAL, drift.rows[ORIGINAL])
        other = rows.people_in_file(CONTROL, np.ones_like(drift.rows[CONTROL]))
        size = TIMES * drift.left_out[ORIGINAL]
        chance = special.bdtrc(own - 1, own + other, size / (size + self.beside.people(CONTROL)))
        if not own or chance >= _UNLIKE:
            return None
        return (
            f"{drift.left_out[ORIGINAL]:,} people of the original cannot be compared with the "
            f"control, since they {drift.why}, and {own:,} of them stand whole in the file; take a "
            "control that has these values"
        )


def _persons_with(column: JointColumn, units: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """How many people of each side have each value, shape (2, v)."""
    found = []
    for value, unit in zip(column.value, units, strict=False):
        once = np.unique(unit * column.values + value) % column.values
        found.append(np.bincount(once, minlength=column.values))
    return np.stack(found)


def _more_frequent(counts: NDArray[np.int64], sizes: Sequence[int]) -> _Mask:
    """Which values one side has more often, shape (v,)."""
    both = counts.sum(axis=0)
    more = np.zeros(both.shape, dtype=bool)
    shares = [TIMES * sizes[at] / (TIMES * sizes[at] + sizes[1 - at]) for at in (0, 1)]
    # The least probability that so many people could have, on the side that reaches a lower one.
    least = np.minimum(*(share ** both.astype(np.float64) for share in shares))
    tried = _tried(least)
    for share, own in zip(shares, counts, strict=True):
        chance = np.where(own > 0, special.bdtrc(own - 1.0, both, share), 1.0)
        more |= chance * 2 * tried < _UNLIKE
    return more


def _tried(least: NDArray[np.float64]) -> int:
    """The least number m of values such that at most m could be told at ``_UNLIKE`` / 2m."""
    lowest = np.sort(least)
    numbers = np.arange(1, len(lowest) + 2)
    could = np.searchsorted(lowest, _UNLIKE / 2 / numbers, side="right")
    return int(numbers[np.argmax(could <= numbers)])


def _coarsely(column: JointColumn) -> list[_Indices]:
    """The values of both sides as less than ``_KINDS`` kinds; rare ones are together."""
    both = np.concatenate(column.value[: CONTROL + 1])
    if column.numbers is not None:
        edges = np.unique(np.nanquantile(column.numbers[0][both], np.linspace(0, 1, _KINDS)[1:-1]))
        code = np.searchsorted(edges, np.nan_to_num(column.numbers[0], nan=-inf))
    else:
        order = np.argsort(-np.bincount(both, minlength=column.values), kind="stable")
        code = np.empty(column.values, dtype=np.int64)
        code[order] = np.minimum(np.arange(column.values), _KINDS - 1)
    return [code[value] for value in column.value[: CONTROL + 1]]


def _same_law(own: _Indices, other: _Indices) -> float:
    """The probability of chi-square that two sides differ as much by chance."""
    kinds = int(max(own.max(initial=0), other.max(initial=0))) + 1
    counts = np.stack([np.bincount(side, minlength=kinds) for side in (own, other)])
    often = counts.sum(axis=0) >= _EXPECTED
    counts = np.column_stack((counts[:, often], counts[:, ~often].sum(axis=1)))
    counts = counts[:, counts.sum(axis=0) > 0].astype(np.float64)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
    apart = float(((counts - expected) ** 2 / np.maximum(expected, 1e-9)).sum())
    return float(special.chdtrc(max(counts.shape[1] - 1, 1), apart))


_BY_WORD = 0.02
"""The share of rows that may be left out by the word of a plan alone."""


def unseen_refusal(beside: JointCodes) -> str | None:
    """Why copying is not assessed; None where it is, or where the file itself shows groups."""
    stated = [column.name for column in beside.columns if column.stated]
    unseen = beside.rows - len(beside.rows_alone)
    if not stated or unseen <= _BY_WORD * beside.rows:
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
