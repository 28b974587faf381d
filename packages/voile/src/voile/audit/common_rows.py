"""Which rows of a released file are of whom, in columns whose cells are values; private.

A row whose values nobody has together is of nobody.  A row that stands in the file more often than
there are people who have its values repeats somebody, and hides nobody better for it: a person
counts once, however many rows repeat him.

Cost: one reading of each distinct cell, and a counting of the rows for each set of columns that is
asked for.

Rows of a released file that stand for groups of people, as microaggregation makes them; private.

Means, medians, modes and medoids of groups stand in as many rows as their groups have.  What tells
them from rows that repeat for other reasons:

    repetition    nearly all rows stand in the file with others that show the same, and the rows of
                  most people do not stand so in the original
    counts        between k and 2 k - 1 rows show the same, for some k: no draws with replacement
    centres       people lie nearer to what is shown than to as many people who are drawn at random,
                  without those next to it: a bootstrap and a part that was repeated show such
                  people, and a synthetic file shows rows that are farther away

Rows that somebody has must be centres; rows of nobody are told by their counts, too.  Distances are
those of ranks, and of texts that differ; the null of the third test is exact, and it is rejected at
``_APART`` standard deviations, by chance one time in three hundred.

Source of the groups: Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation for
statistical disclosure control" (IEEE TKDE 14, 2002).

Cost: m^2 sorts for m columns of numbers; where rows repeat, ``_DRAWN`` times ``_LOOKED_AT`` people
times the different rows.

How far the numbers of a released column lie from the true ones, as far as files tell; private.

A mean distance, found by the first of these that tells it:

    people        rows that columns of values tell from all others, in the file and in the original
    order         rows at the same places, where numbers there go together
    variance      noise adds to it, averages of groups take from it: of values that are spread
                  evenly over their group the mean distance is sqrt(3) / 2 standard deviations, of
                  Laplace noise 1 / sqrt(2)

A variance of n people tells noise of standard deviation s beside their own d with a relative error
of 2 d / (s sqrt(n)), and that of other people with one more of the sample.  Where that is too much,
nothing tells the distance: one is supposed, for adversaries, and says so.

Cost: a sort of the columns of values.

What a plan says of columns, held against the file: which statements it contradicts; private.

A plan says how columns are shown where that is not to be found out, and so which rows an audit
looks at.  Whoever judges a file need not believe it.  Averages, noise and permuted values are those
of a row's own person by chance alone, or where a group shares them.  So the rows are asked that one
person alone fits in other columns: by all, by those of which the plan says nothing, and by all but
one, for one may be altered.  The statement is contradicted where this person's own value stands in
more than ``_MOST`` of those beyond chance, which the frequencies of the values in the file tell,
and by chance would in ``_UNLIKE`` of files: permuting pairs of rows leaves half of the values.

Cost: a sort of the rows for each such set of columns, and twice as many as columns at most for each
column of which the plan says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from voile.disclosure.foreign import Perturbed, Typical
from voile.release.reading import (
    People,
    Texts,
    distinct_texts_of,
    finite,
    floats_of,
    narrow_texts_of,
    texts_of,
)
from voile.schema.names import ShownAs
from voile.table.arrays import Values
from voile.table.codes import Combinations, count_pairs, encode, look_up
from voile_base.ondemand import dataclass
from voile_base.randomness import Draws, Randomness

__all__ = [
    "BothSides",
    "CommonRows",
    "JointTexts",
    "RowGroups",
    "are_of_groups",
    "contradicted",
    "distance_by_people",
    "distance_by_shape",
    "joint_texts",
]


Codes = NDArray[np.integer]

_RARE = 0.02
"""The share of rows whose values may be more or less frequent than in the original."""
_FOUND = 0.9
"""The share of rows that are of somebody, from which on the file shows rows of the original."""
_KINDS = 50
"""Different values of a column up to which they are categories; texts that tell distances."""
_DEVIATIONS = 3.0
"""By how many standard deviations counts of redrawn categories may differ."""
_FEWER = 0.9
"""The share of the different rows to be expected, below which rows are repeated."""


@dataclass(frozen=True, eq=False)
class JointTexts:
    """The values of one column on both sides as codes that are alike where their texts are."""

    sides: tuple[NDArray[np.integer], NDArray[np.integer]]
    """Of the n people and of the m rows of the file, in the narrowest type."""
    distinct: int
    missing: int | None
    """The code of a missing value; None where none is missing."""


def joint_texts(original: People, name: str, cells: Values) -> JointTexts:
    """A column of the original, and what a file shows of it, as codes."""
    own = original.coded_finite(name) if cells.dtype.is_numeric() else None
    sides: tuple[tuple[Values, NDArray[np.integer]], ...]
    if own is not None and own.values.dtype == cells.dtype:
        shown = encode(finite(cells))
        sides = (own.values, own.codes), (shown.values, shown.codes)
    else:
        sides = original.distinct_texts(name), narrow_texts_of(cells)
    both = encode(sides[0][0].alias("").append(sides[1][0].alias("")))
    tables = np.split(both.codes, [len(sides[0][0])])
    first, second = (look_up(table, at) for table, (_, at) in zip(tables, sides, strict=True))
    return JointTexts((first, second), len(both.values), 0 if both.has_missing else None)


@dataclass(frozen=True, eq=False)
class CommonRows:
    """Rows of the original and of the file in columns whose cells are values, as codes."""

    codes: Mapping[str, tuple[NDArray[np.integer], int]]
    """Of n people and then of m rows, shape (n + m,), in the narrowest type, and how many
    different ones there are."""
    people: int
    """Rows of the original."""
    missing: Mapping[str, int]
    """The code of a missing value, of the columns that lack some."""
    cells: Mapping[str, Values]
    """The columns of the file that were read."""
    _places: dict[tuple[str, ...], tuple[Codes, Codes]] = field(default_factory=dict)
    """What was asked last."""

    @classmethod
    def of(
        cls, columns: Mapping[str, Values], original: People, before: CommonRows | None = None
    ) -> CommonRows:
        """Both sides, coded alike; ``columns`` are those of the file, by the original's names.

        Columns that ``before`` has read are not read again.
        """
        if before is not None and [*map(id, columns.values())] == [*map(id, before.cells.values())]:
            return before
        codes: dict[str, tuple[NDArray[np.integer], int]] = {}
        missing: dict[str, int] = {}
        for name, cells in columns.items():
            if before is not None and before.cells.get(name) is cells:
                codes[name] = before.codes[name]
                missing |= {name: before.missing[name]} if name in before.missing else {}
                continue
            both = joint_texts(original, name, cells)
            codes[name] = np.concatenate(both.sides), both.distinct
            if both.missing is not None:
                missing[name] = both.missing
        return cls(codes, original.frame.height, missing, dict(columns))

    def places(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        """The code of each row in some columns, in the original and in the file."""
        asked = tuple(names)
        if asked not in self._places:
            self._places.clear()  # they are as long as the rows
            index = Combinations.of([self.codes[name] for name in names]).index
            self._places[asked] = index[: self.people], index[self.people :]
        return self._places[asked]

    def counts(self, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often each row of either side is there, in the original and in the file."""
        return _counted(*self.places(names))

    def shared(self, names: Sequence[str], least: int) -> tuple[float, float]:
        """The shares of the original's and of the file's rows that ``least`` rows or more show.

        Of a file of more rows than the original as many more, for it may repeat all of them.
        """
        own, seen = self.counts(names)
        most = least * max(1.0, float(seen.sum() / own.sum()))
        return float(own[own >= least].sum() / own.sum()), float(
            seen[seen >= most].sum() / seen.sum()
        )

    def found(self, names: Sequence[str]) -> float:
        """The share of the file's rows whose values somebody has, each person once."""
        own, seen = self.counts(names)
        return float(np.minimum(own, seen).sum() / seen.sum())

    def of_nobody(self, names: Sequence[str]) -> str:
        """Which rows are of nobody, as the beginning of "... has"."""
        share = 1 - self.found(names)
        return f"{share:.1%} of the rows nobody"

    def strangers(self, names: Sequence[str]) -> float:
        """The share of the file's rows beyond those that people have; cells may be missing.

        Where the file repeats rows, of those only whose values nobody has.
        """
        own, seen = self.places(names)
        known, shown = _counted(own, seen)
        complete = np.ones(len(seen), dtype=bool)
        for name in set(names) & set(self.missing):
            complete &= self.codes[name][0][self.people :] != self.missing[name]
        whole = np.bincount(seen[complete], minlength=len(known))
        beyond = np.maximum(whole - known, 0)
        if shown.sum() > known.sum() or self.are_repeated(names):
            beyond = np.where(known == 0, whole, 0)
        return float(beyond.sum() / len(seen))

    def are_of_somebody(self, names: Sequence[str]) -> bool:
        """Whether nearly all rows are of somebody."""
        return self.found(names) >= _FOUND

    def are_repeated(self, names: Sequence[str]) -> bool:
        """Whether rows are of somebody, and fewer are different than of people drawn at random.

        Permuted and synthetic values make more rows different, never fewer.
        """
        own, seen = self.counts(names)
        if seen[own > 0].sum() < _FOUND * seen.sum():
            return False
        drawn = min(float(seen.sum() / own.sum()), 1.0)
        expected = float((1 - (1 - drawn) ** own[own > 0]).sum())
        return int((seen > 0).sum()) < _FEWER * expected

    def persons(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Shape (n,): of how many persons each row of the file is, at most, for rows that repeat.

        That is 1, or the share q / r for each of r rows whose values q < r people have; rows whose
        values nobody has count 1, for they repeat nobody.
        """
        places = self.places(names)
        own, seen = _counted(*places)
        share = np.where(own > 0, np.minimum(own, seen) / np.maximum(seen, 1), 1.0)
        each: NDArray[np.float64] = share[places[1]]
        return each

    def permuted(self, names: Sequence[str]) -> set[str] | None:
        """The fewest columns without which rows are of somebody; None where there are none.

        One after another, always that without which most rows are found; at most half of them, and
        only such as hold the values of the original as often.
        """
        left, gone = list(names), set[str]()
        can = {name for name in names if self._as_often(name)}
        while not self.are_of_somebody(left):
            if len(left) < 3 or len(gone) + 1 > len(names) / 2:
                return None
            rates = {
                name: self.found([n for n in left if n != name]) for name in left if name in can
            }
            if not rates:
                return None
            best = max(rates, key=lambda name: rates[name])
            left.remove(best)
            gone.add(best)
            can.discard(best)
        return gone

    def _as_often(self, name: str) -> bool:
        """Whether the file holds the values of a column as often as the original.

        Where these are few they may have been redrawn one by one, as PRAM does: margins then differ
        as counts of draws do.
        """
        own, shown = self.counts([name])
        apart = np.abs(own - own.sum() / shown.sum() * shown)
        room = 2 * _RARE * own.sum()
        if (own > 0).sum() <= _KINDS and not (shown[own == 0] > 0).any():
            room += _DEVIATIONS * np.sqrt(own).sum()
        return bool(apart.sum() <= room)

    def row_groups(
        self, columns: Mapping[str, BothSides], *, of_somebody: bool
    ) -> RowGroups | None:
        """The columns in which rows stand for groups; None where they stand for people, or nobody.

        ``rows`` are those of ``columns``; texts stand with numbers of groups, or whole rows do,
        unless the rows are of somebody in the columns whose cells are values (``of_somebody``).
        """
        numbers = [name for name, column in columns.items() if column.is_number]
        names = _repeated(self, numbers)
        if not names and not of_somebody and _are_repeated(self, list(columns)):
            names = list(columns)
        elif names:
            texts = [name for name in columns if name not in numbers]
            names += _told_by(self, texts, names)
        if not names or self.shared(names, _LEAST)[0] >= _BY_CHANCE:
            return None
        own, seen = self.counts(names)
        counts = seen[seen > 0]
        whole = seen[own > 0].sum() >= (1 - _RARE) * seen.sum()
        chosen = {name: columns[name] for name in names}
        if (whole or not are_of_groups(counts)) and not _are_centres(chosen):
            return None
        return RowGroups(int(counts.min()), _shown(chosen))


def _counted(own: Codes, shown: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    kinds = int(max(own.max(), shown.max())) + 1
    return np.bincount(own, minlength=kinds), np.bincount(shown, minlength=kinds)


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_LEAST = 2
"""Rows that show the same, from which on they may be a group."""
_BY_CHANCE = 0.5
"""The share of people whose values others have, from which on repeated rows are no groups."""
_DRAWN = 39
"""Draws of people whom the centres are held against."""
_APART = 3.0
"""Standard deviations below them."""
_LOOKED_AT = 1_000
"""People whose distances are measured."""
_NEAREST = 1e-6
"""Ranks that are as near as this are the same."""


@dataclass(frozen=True, eq=False)
class BothSides:
    """One column of n people, and what the m rows of the file show of it."""

    original: People
    name: str
    shown: Values

    @property
    def own(self) -> Values:
        """Of the people; read anew, for the texts of a column are larger than all its codes."""
        return self.original.column(self.name)

    @cached_property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.original.dtype(self.name).is_numeric()


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Columns in which rows of a file stand for groups of people."""

    least: int
    """Rows of the smallest group."""
    shown: Mapping[str, Perturbed | Typical]
    """How each column shows it, for adversaries."""


def are_of_groups(counts: Indices) -> bool:
    """Whether groups have k to 2 k - 1 rows each, nearly all of them; k is 2 at least.

    ``counts`` are the rows of each group, none of them 0.
    """
    most = counts.sum()
    for least in np.unique(counts[counts >= _LEAST])[:5]:
        within = counts[(counts >= least) & (counts < 2 * least)].sum()
        if within >= (1 - _RARE) * most:
            return True
    return False


def _repeated(rows: CommonRows, numbers: Sequence[str]) -> list[str]:
    """The most columns of numbers in which nearly all rows of the file are repeated."""
    names = list(numbers)
    while names and not _are_repeated(rows, names):
        if len(names) == 1:
            return []
        rest = {n: rows.shared([o for o in names if o != n], _LEAST)[1] for n in names}
        names.remove(max(rest, key=lambda name: rest[name]))
    return names


def _are_repeated(rows: CommonRows, names: Sequence[str]) -> bool:
    return rows.shared(names, _LEAST)[1] >= 1 - _RARE


def _told_by(rows: CommonRows, others: Sequence[str], names: Sequence[str]) -> list[str]:
    """The other columns of which each group shows one value."""
    groups = Combinations.of([(seen := rows.places(names)[1], int(seen.max()) + 1)])
    most = (1 + _RARE) * len(groups.rows)
    told = []
    for name in others:
        codes, distinct = rows.codes[name]
        shown = codes[rows.people :], distinct
        if len(count_pairs((groups.index, len(groups.rows)), shown)[0]) <= most:
            told.append(name)
    return told


def _coordinates(
    columns: Mapping[str, BothSides], *, by_rank: bool
) -> tuple[Floats, Floats, Indices]:
    """Of the n people and of the c different rows of the file, shapes (n, d) and (c, d).

    Numbers or their ranks have variance 1; texts that differ are as far apart as 1.  Besides, a row
    of the file that shows each of the c, shape (c,).
    """
    people, centres = [], []
    for column in columns.values():
        if column.is_number:
            known = floats_of(column.own)
            order = np.sort(known[np.isfinite(known)])
            unit = _ranks if by_rank else _standard
            people.append(unit(order, known)[:, np.newaxis])
            centres.append(unit(order, floats_of(column.shown))[:, np.newaxis])
            continue
        texts, place = distinct_texts_of(column.own)
        if len(texts) <= _KINDS:
            own = np.eye(len(texts))[place] / np.sqrt(2)
            people.append(own)
            centres.append(_as(texts, column.shown))
    if not people:
        alike = next(iter(columns.values()))  # texts of many kinds alone: all are as far apart
        return np.zeros((alike.original.frame.height, 1)), np.zeros((1, 1)), np.zeros(1, np.int64)
    shown = np.concatenate(centres, axis=1)
    first = np.unique(shown.round(9), axis=0, return_index=True)[1]
    return np.concatenate(people, axis=1), shown[first], first


def _ranks(order: Floats, numbers: Floats) -> Floats:
    sides = (np.searchsorted(order, numbers, side) for side in ("left", "right"))
    ranks: Floats = np.add(*sides) * (np.sqrt(3) / max(len(order), 1))
    return np.where(np.isfinite(numbers), ranks, np.sqrt(3))


def _standard(known: Floats, numbers: Floats) -> Floats:
    unit = float(known.std()) if len(known) else 0.0
    return np.nan_to_num((numbers - (known.mean() if len(known) else 0.0)) / (unit or 1.0))


def _as(texts: Texts, shown: Values) -> Floats:
    """The texts of rows as those of people."""
    codes = {text: code for code, text in enumerate(texts)}
    seen, place = distinct_texts_of(shown)
    found = np.zeros((len(seen), len(texts)))
    for at, text in enumerate(seen):
        if text in codes:
            found[at, codes[text]] = 1 / np.sqrt(2)
    return found[place]


def _are_centres(columns: Mapping[str, BothSides]) -> bool:
    """Whether people lie nearer to the file's rows than to as many people, who are drawn."""
    people, centres, _ = _coordinates(columns, by_rank=True)
    if not len(centres) or len(centres) > len(people) // _LEAST:
        return False
    draws = Randomness.seeded(0).key("centres of groups").generator()
    rounded = people.round(9)
    found = _distance(people, centres, draws)
    drawn = np.zeros(_DRAWN)
    for turn in range(_DRAWN):
        order = draws.permutation(len(people))
        first = np.sort(np.unique(rounded[order], axis=0, return_index=True)[1])
        drawn[turn] = _distance(people, people[order[first[: len(centres)]]], draws)
    return bool(found < drawn.mean() - _APART * drawn.std(ddof=1))


def _distance(people: Floats, centres: Floats, draws: Draws) -> float:
    """The mean distance of some people from the nearest centre, without the one next to a centre.

    That one may be shown as it is, or all but a value of it, as in a synthetic file.
    """
    place, apart = _nearest(people[draws.permutation(len(people))[:_LOOKED_AT]], centres)
    chosen, of = np.unique(place, return_inverse=True)
    apart = apart[apart > _nearest(centres[chosen], people)[1][of] + _NEAREST]
    return float(apart.mean()) if len(apart) else 0.0


def _shown(columns: Mapping[str, BothSides]) -> dict[str, Perturbed | Typical]:
    """How far numbers are from those of the nearest group, and how often texts differ."""
    people, centres, first = _coordinates(columns, by_rank=False)
    draws = Randomness.seeded(0).key("people of groups").generator()
    some = draws.permutation(len(people))[: 2 * _LOOKED_AT]
    row = first[_nearest(people[some], centres)[0]]
    found: dict[str, Perturbed | Typical] = {}
    for name, column in columns.items():
        if column.is_number:
            own = floats_of(column.own)
            apart = np.abs(own[some] - floats_of(column.shown)[row])
            known = own[np.isfinite(own)]
            least = _NEAREST * (float(np.ptp(known)) if len(known) else 0.0) or _NEAREST
            apart = apart[np.isfinite(apart)]
            scale = float(apart.mean()) if len(apart) else least
            found[name] = Perturbed(scale=max(scale, least), grouped=True)
        else:
            own_texts, shown = texts_of(column.own.gather(some)), texts_of(column.shown.gather(row))
            others = sum(a != b for a, b in zip(own_texts, shown, strict=True))
            found[name] = Typical(differs=(others + 0.5) / (len(some) + 1))
    return found


def _nearest(people: Floats, centres: Floats) -> tuple[Indices, Floats]:
    """The nearest centre of each of some people, and its distance."""
    place, apart = np.zeros(len(people), np.int64), np.zeros(len(people))
    size, step = (centres**2).sum(axis=1), max(1, (1 << 22) // max(len(centres), 1))
    for first in range(0, len(people), step):
        some = people[first : first + step]
        squares = size - 2 * some @ centres.T
        best = squares.argmin(axis=1)
        place[first : first + step] = best
        apart[first : first + step] = ((some - centres[best]) ** 2).sum(axis=1)
    return place, np.sqrt(apart)


_FEWEST = 30
"""Rows from which on a mean distance is told."""
_SUPPOSED = 1 / 50
"""Of the extent of a column: the distance where nothing tells it."""
_LEAST_DISPLACEMENT = 1e-6
"""Of the extent: the least distance."""
_ERROR = 0.25
"""The largest relative error of a standard deviation of noise that is told."""


def distance_by_people(
    columns: dict[str, Perturbed], values: CommonRows, sides: tuple[People, dict[str, Floats]]
) -> dict[str, Perturbed]:
    """The same with distances of rows that ``values`` tells apart, where there are enough.

    ``sides`` are the original, and the numbers that the file's rows show of each column.
    """
    original, shown = sides
    own_row, row = _alone_on_both_sides(values, list(values.codes))
    found = dict(columns)
    for name, stated in columns.items():
        own = floats_of(original.column(name))
        apart = np.abs(own[own_row] - shown[name][row])
        apart = apart[np.isfinite(apart)]
        if len(apart) >= _FEWEST:
            least = _extent(own) * _LEAST_DISPLACEMENT
            found[name] = stated.model_copy(
                update={"scale": max(float(apart.mean()), least), "guessed": None}
            )
    return found


def distance_by_shape(own: Floats, shown: Floats) -> Perturbed:
    """From the places or the variances of the n numbers of a column, and those of its own."""
    known, seen = own[np.isfinite(own)], shown[np.isfinite(shown)]
    extent = _extent(own)
    if len(own) == len(shown):
        apart = np.abs(own - shown)
        apart = apart[np.isfinite(apart)]
        if len(apart) and apart.mean() < np.abs(known - known.mean()).mean() / 2:
            return Perturbed(scale=max(float(apart.mean()), extent * _LEAST_DISPLACEMENT))
    variance = float(np.var(known)) or 1.0
    more = float(np.var(seen)) - variance
    if abs(more) < variance * _uncertainty(known, len(seen), same=len(own) == len(shown)):
        scale = float(np.sqrt(more / 2)) if more > 0 else extent * _SUPPOSED
        return Perturbed(scale=max(scale, extent * _LEAST_DISPLACEMENT), guessed=True)
    return Perturbed(scale=float(np.sqrt(more / 2 if more > 0 else -more * 3 / 4)))


def _uncertainty(known: Floats, rows: int, *, same: bool) -> float:
    """The share of the variance below which a difference tells no distance."""
    least = (2 / _ERROR) ** 2 / max(rows, 1)
    if same:
        return least
    centred = known - known.mean()
    kurtosis = float((centred**4).mean()) / max(float((centred**2).mean()) ** 2, 1e-300)
    return least + 4 * float(np.sqrt(max(kurtosis - 1, 0) / max(rows, 1)))


def _alone_on_both_sides(
    values: CommonRows, names: Sequence[str]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the original, and those of the file that alone show the same."""
    if not names:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    own, seen = values.places(names)
    kinds = int(max(own.max(initial=0), seen.max(initial=0))) + 1
    both = (np.bincount(own, minlength=kinds) == 1) & (np.bincount(seen, minlength=kinds) == 1)
    at = np.zeros(kinds, dtype=np.intp)
    at[own] = np.arange(len(own))
    row = np.flatnonzero(both[seen])
    return at[seen[row]], row


def _extent(own: Floats) -> float:
    known = own[np.isfinite(own)]
    return (float(np.ptp(known)) if len(known) else 0.0) or 1.0


_OTHER_VALUES = ("averaged", "noisy", "permuted", "withheld")
"""What is said of columns whose cells are not the values of their rows."""
_MOST = 2 / 3
_UNLIKE = 1e-6
"""Over all columns and sets."""
_FEWEST_LINKED = 5
"""Persons, below which nothing is told."""
_COLUMNS = 40
"""Columns up to which each is left out once."""


@dataclass(frozen=True)
class _Linked:
    """Persons who alone fit some rows in some columns, and what these show in another one."""

    persons: int
    own: int
    """Of these, those whose own value stands there."""
    chance: float
    """How many would by chance."""

    def contradicts(self, tests: int) -> bool:
        """Whether values stand with their persons far more often than by chance."""
        if self.persons < _FEWEST_LINKED or self.own - self.chance <= _MOST * (
            self.persons - self.chance
        ):
            return False
        rate = min(self.chance / self.persons, 1.0)
        tail = float(special.bdtrc(self.own - 1, self.persons, rate))
        return tail * tests < _UNLIKE


def contradicted(
    said: Mapping[str, ShownAs], cells: Mapping[str, Values], original: People
) -> Mapping[str, str]:
    """Why statements of a plan are not believed, as sentences by the original's columns.

    ``cells`` are the columns of the file that have the name of one of the original.
    """
    names = list(cells)
    doubtful = [name for name in names if said.get(name) in _OTHER_VALUES]
    if not doubtful or len(names) < 2:
        return {}
    rows = CommonRows.of(cells, original)
    found = {}
    for name in doubtful:
        sets = list(_sets(names, name, said))
        each = (_linked(rows, columns, name) for columns in sets)
        tests = len(sets) * len(doubtful)
        if (linked := next((one for one in each if one.contradicts(tests)), None)) is not None:
            found[name] = (
                f"column {name!r}: the plan says that it is {said[name]}, and {linked.own:,} of "
                f"{linked.persons:,} persons who alone fit rows in other columns have their own "
                f"value there, by chance {linked.chance:,.0f}; it was judged as it looks"
            )
    return found


def _sets(names: Sequence[str], name: str, said: Mapping[str, ShownAs]) -> Iterator[list[str]]:
    """Other columns by which rows are linked with persons, each set once."""
    others = [one for one in names if one != name]
    yield others
    plain = [one for one in others if one not in said]
    if plain and len(plain) < len(others):
        yield plain
    if 2 < len(others) <= _COLUMNS:
        yield from ([one for one in others if one != left] for left in others)


def _linked(rows: CommonRows, columns: Sequence[str], name: str) -> _Linked:
    """Persons whom rows fit in some columns, and them alone, by whether any shows their value."""
    own, seen = rows.places(columns)
    alone = np.bincount(own, minlength=int(max(own.max(), seen.max())) + 1) == 1
    person_of = np.zeros(len(alone), dtype=np.int64)
    person_of[own] = np.arange(len(own))
    there = np.flatnonzero(alone[seen])
    codes: NDArray[np.int64] = rows.codes[name][0].astype(np.int64)
    value, shown = codes[: rows.people], codes[rows.people :]
    person = person_of[seen[there]]
    kept = value[person] != rows.missing.get(name, -1)
    person, there = person[kept], there[kept]
    different, place, times = np.unique(person, return_inverse=True, return_counts=True)
    same = np.bincount(place, value[person] == shown[there], len(different)) > 0
    often = np.bincount(shown, minlength=rows.codes[name][1]) / len(shown)
    chance = 1 - (1 - often[value[different]]) ** times
    return _Linked(len(different), int(same.sum()), float(chance.sum()))
