"""A released file of another make as adversaries and measures see any release.

It promises nothing, and its columns are shown as they were recognised.  Columns of the file that
show no column of the original are left out, and said; so are rows' numbers of groups unless values
were permuted: then rows of one number in the column ``group`` are a group, or all rows.

Rows that a released file repeats, and how many persons its groups are; private.

Whoever writes each row of a file five times makes five rows that show the same, and hides nobody.
Columns whose cells are values of the original, in rows that somebody has, tell how many people a
row can be of: rows beyond that repeat somebody.  Rows of nobody, permuted values, noise, and files
that show no value as it is, tell nothing of it; nor do rows where a cell is missing, which may
stand for any value.  Of rows of nobody the quasi-identifiers alone are asked: a group of eleven
rows whose values one person has is no group of eleven persons.

People whose row stands as it is in a file of rows that are said to be of nobody; private.

A single row that a synthesizer has copied is too little for a rate: one person in thousands changes
none of the three risks.  It is counted instead: people whom the columns of values tell from
everybody else, and who have a row that shows just these, beside people of the control.  How many of
them chance explains is for who reads it to judge, since that hangs on how fine the columns are.

Cost: two sorts a column.

Whether the rows of a released file stand in the order of the original; private.

Who knows at which place a person stood, such as from a list in the order of names, finds the row by
its place, whatever its columns show.  A file of as many rows is taken to be in order where a column
agrees with the original's at the same places more than it does some places off: files that were
sorted agree there, too.  Of a file with more or fewer rows, and where no column agrees so, the
longest common subsequence tells.

A column that counts up or down in the file tells nothing by itself: numbers that were given anew,
from whatever start, and values by which both files were sorted, go together whoever the rows are
of.  Only the other columns are asked.

Cost: some 20 comparisons a row and column.

Whether the rows of a released file stand in the original's order, some being left out; private.

Who leaves rows out, or writes some twice, leaves the others in their order, and a place in the
original still tells about where a row stands.  The rows that fit each other in order, the longest
common subsequence, are counted beside that of the same rows shuffled; rows of which a column was
sorted are shuffled among those that show the same there, or among neighbours where it tells most
rows apart.

Of a large table a window is looked at: ``_ROWS`` rows of the file from its beginning, and about the
part of the original that they are of; a file that begins elsewhere is not seen.

Source: Hunt and Szymanski, "A fast algorithm for computing longest common subsequences" (CACM 20,
1977), for the problem; computed row by row here, all shuffles at once.

Cost: rows of the file times rows of the original within the window, for each shuffle and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.audit.common_rows import CommonRows, joint_texts
from voile.audit.recognition import Recognised
from voile.audit.spellings import (
    DENSE,
    OTHERWISE,
    RENAMED,
    DrawnCounts,
    fit_sorted,
    sorted_counts,
    stand_as_others,
)
from voile.disclosure.exact import Permuted
from voile.disclosure.foreign import Perturbed
from voile.disclosure.interval import named_values
from voile.disclosure.shown import Disclosure, GroupNumbering, Shown
from voile.release.claims import UnknownClaim
from voile.release.reading import People, PublishedRows, distinct_texts_of, floats_of
from voile.release.release import Guarantee, Release
from voile.table.alignment import coded_column, common_places
from voile.table.arrays import frame_of
from voile.table.codes import DictionaryColumn
from voile.table.opening import published_rows
from voile.table.published import GROUP
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = [
    "Foreign",
    "Repetition",
    "StandingTogether",
    "as_release",
    "order_notices",
    "stand_together",
    "stands_for",
]


_PROMISE = Guarantee(
    (UnknownClaim(kind="none", parameters={}),),
    "Nothing is promised: the file comes from elsewhere, and how it was made is not stated",
)


@dataclass(frozen=True, eq=False)
class Foreign:
    """A released file read as a release; private, since it was read beside the original."""

    release: Release
    recognised: tuple[Recognised, ...]
    unused: tuple[str, ...]
    """Columns of the file that show no column of the original."""

    def without_rows(self) -> Foreign:
        """The same with all columns and no rows."""
        table = published_rows(frame_of(self.release.table.no_rows()))
        columns = (
            replace(one, columns=tuple(column.clear() for column in one.columns))
            for one in self.recognised
        )
        return replace(self, release=replace(self.release, table=table), recognised=tuple(columns))

    def rows_of(self, one: Recognised) -> PublishedRows:
        """All rows in the columns that show one of the original, as they were recognised."""
        return PublishedRows(self.release, frame_of(one.columns))

    def repetition(self, original: People) -> Repetition:
        """What a file repeats, in the columns that show values as they are."""
        exact = {one.name: one.columns[0] for one in self.recognised if one.how == "exact"}
        if any(one.how == "synthetic" for one in self.recognised):
            return self._filled_groups(original)
        if not exact:
            return Repetition()
        persons = CommonRows.of(exact, original).persons(list(exact))
        for cells in exact.values():
            persons[cells.is_null().to_numpy()] = 1
        beyond = round(len(persons) - float(persons.sum()))
        if not beyond:
            return Repetition()
        table = self.release.table
        known = self.release.roles.get("quasi_identifiers", ())
        fewest = None
        if known:
            shown = {column.name: column for one in self.recognised for column in one.columns}
            (group,) = common_places([frame_of(shown[name] for name in known)])
            fewest = int(np.floor(np.bincount(group, persons).min() + 1e-6))
        return Repetition(beyond, beyond / table.rows, fewest)

    def _filled_groups(self, original: People) -> Repetition:
        """Rows of nobody that make groups of quasi-identifiers larger than people could.

        Rows count for the people who have their values, where these are a third of them or fewer:
        a synthesizer draws small groups more or less often than that.
        """
        known = self.release.roles.get("quasi_identifiers", ())
        shown = [one for one in self.recognised if one.how in {"exact", "synthetic"}]
        cells = {one.name: one.columns[0] for one in shown if one.columns[0].name in known}
        if not cells:
            return Repetition()
        persons = CommonRows.of(cells, original).persons(list(cells))
        persons[persons > _FILLED] = 1
        columns = {column.name: column for one in self.recognised for column in one.columns}
        (group,) = common_places([frame_of(columns[name] for name in known)])
        fewest = int(np.floor(np.bincount(group, persons).min() + 1e-6))
        if fewest >= int(np.bincount(group).min()):
            return Repetition()
        beyond = round(len(persons) - float(persons.sum()))
        return Repetition(beyond, beyond / len(persons), fewest)

    def copy_notices(self, original: People, control: People | None) -> list[str]:
        """A sentence without a full stop, where somebody's row stands among rows of nobody."""
        shown = [one for one in self.recognised if one.how in {"exact", *_OF_NOBODY}]
        if len(shown) < 2 or not any(one.how in _OF_NOBODY for one in shown):
            return []
        columns = {one.name: one.columns[0] for one in shown}

        def copied(people: People) -> int:
            own, seen = CommonRows.of(columns, people).counts(list(columns))
            return int(((own == 1) & (seen > 0)).sum())

        count = copied(original)
        if not count:
            return []
        beside = ""
        if control is not None:
            expected = copied(control) * original.frame.height / control.frame.height
            beside = f", and of as many people of the control {expected:,.0f}"
        people = "people" if count > 1 else "person"
        has = "have" if count > 1 else "has"
        return [
            f"{count:,} {people} of the original, whom these {len(columns)} columns tell from "
            f"everybody else, {has} a row in the file that shows just that{beside}: what chance "
            "does not explain was copied, and no rate of thousands shows a few such rows"
        ]


def as_release(
    released: pl.DataFrame,
    recognised: Sequence[Recognised],
    roles: Mapping[str, Sequence[str]],
) -> Foreign:
    """The rows of a file in the columns that were recognised; ``roles`` are the original's."""
    columns: dict[str, Shown] = {one.name: one.shown for one in recognised}
    if GROUP not in released.columns or GROUP in columns:
        swapped = (n for n, shown in columns.items() if shown.permuted)
        columns |= {name: Permuted(within="file") for name in swapped}
    frame = pl.DataFrame([column for one in recognised for column in one.columns])
    groups = None
    permuted = [one.name for one in recognised if one.how == "permuted"]
    others = [one.name for one in recognised if one.columns and one.name not in permuted]
    if permuted:
        numbers = _groups(released, taken=GROUP in columns)
        frame = frame.insert_column(0, numbers)
        groups = GroupNumbering(
            column=numbers.name, made="clusters", by=tuple(others) or tuple(permuted)
        )
    disclosure = Disclosure(columns=columns, groups=groups)
    used = {name for one in recognised for name in one.of}
    release = Release(
        table=published_rows(frame.select(disclosure.published)),
        method={"name": "of another make"},
        disclosure=disclosure,
        guarantee=_PROMISE,
        roles={
            role: tuple(column for name in names for column in disclosure.columns_of(name))
            for role, names in roles.items()
        },
        release_id="",
        publishable=False,
    )
    unused = tuple(name for name in released.columns if name not in used)
    return Foreign(release, tuple(recognised), unused)


def _groups(released: pl.DataFrame, *, taken: bool) -> pl.Series:
    """The number of each row's group: as the file says it, or one for all rows."""
    if GROUP in released.columns and not taken:
        return released[GROUP].rank("dense").cast(pl.Int64).alias(GROUP)
    name = GROUP + "'" * taken
    return pl.Series(name, [1], dtype=pl.Int64).new_from_index(0, released.height).alias(name)


_FILLED = 1 / 3
"""The share of a group's rows that are people, up to which the others fill it."""
_TOLD = 0.01
"""The share of rows beyond which it is told."""


@dataclass(frozen=True)
class Repetition:
    """How many rows repeat others."""

    rows: int = 0
    share: float = 0.0
    fewest: int | None = None
    """Persons of the smallest group; None where no row is repeated, or nothing tells groups."""

    @property
    def notices(self) -> list[str]:
        """A sentence without a full stop, where there is something to tell."""
        if self.share < _TOLD and self.fewest is None:
            return []
        return [
            f"{self.rows:,} rows ({self.share:.1%}) repeat others more often than people of the "
            "original have their values: they hide nobody, and groups of them count for fewer "
            "persons"
        ]


_OF_NOBODY = {"synthetic", "permuted"}


Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_ROWS, _OWN, _MOST = 300, 3000, 20_000
_SHUFFLES = 9
_BEYOND = 0.05
"""Of the file's rows: by how much more of them fit in order than in any shuffle."""
_ASTRAY = 0.05
"""Of the steps of a column that counts up: how many may go down."""
_NEIGHBOURS = 20
"""Rows that are shuffled among each other where a column that counts up tells them apart."""


def _columns_in_subsequence(recognised: Sequence[Recognised], original: People) -> list[str]:
    """The columns that fit the original's in order, all together or each by itself."""
    rows, people = len(recognised[0].columns[0]), original.frame.height
    few = min(rows, _ROWS)
    most = min(people, max(_OWN, min(2 * few * people // rows, _MOST)))
    begun = [replace(one, columns=tuple(c[:few] for c in one.columns)) for one in recognised]
    fits = {one.name: _fits(one, original, most) for one in begun if not _counts(one)}
    fits = {name: mask for name, mask in fits.items() if not mask.all()}
    if not fits:
        return []
    runs = [_runs(one.columns[0]) for one in begun if _counts(one)]
    if _in_order(np.logical_and.reduce(list(fits.values())), runs):
        return list(fits)
    return [name for name, mask in fits.items() if _in_order(mask, runs)]


def _fits(one: Recognised, original: People, most: int) -> Mask:
    """Which rows of the file fit which of the first of the original, shape (rows, most)."""
    own = People(original.frame.head(most), original.plan).column(one.name)
    cells = one.columns
    if one.how == "interval":
        low, high = map(floats_of, cells)
        numbers = floats_of(own)
        outside = (numbers < low[:, np.newaxis]) | (numbers > high[:, np.newaxis])
        return ~outside
    if isinstance(one.shown, Perturbed):
        apart = np.abs(floats_of(own) - floats_of(cells[0])[:, np.newaxis])
        return ~(apart > 2 * one.shown.scale)
    texts, place = distinct_texts_of(own)
    labels, cell = distinct_texts_of(cells[0])
    named = [named_values(label) if one.how == "set" else (label,) for label in labels]
    held = [[n is None or text in (set(n) - {None}) for text in texts] for n in named]
    return np.array(held, dtype=np.bool_).reshape(len(labels), len(texts))[cell][:, place]


def _counts(one: Recognised) -> bool:
    """Whether a column goes up or down in the file, but for one step in twenty."""
    texts, place = distinct_texts_of(one.columns[0])
    plain = pl.Series(texts, dtype=pl.String)
    ranks = plain.rank("dense").cast(pl.Float64)
    numbered = plain.str.replace_all(r"\D+", "").cast(pl.Float64, strict=False)
    keys = (floats_of(plain), ranks.to_numpy(), numbered.to_numpy())
    if one.columns[0].dtype.is_numeric() and _goes_one_way(floats_of(one.columns[0])):
        return True
    return any(_goes_one_way(key[place]) for key in keys)


def _goes_one_way(numbers: Floats) -> bool:
    numbers = numbers[np.isfinite(numbers)]
    steps = np.diff(numbers)
    up, down = np.count_nonzero(steps > 0), np.count_nonzero(steps < 0)
    return bool(max(up, down) > (1 - _ASTRAY) * (up + down))


def _runs(cells: pl.Series) -> Indices:
    """The runs of equal cells; where most rows have their own, of neighbours."""
    changes = np.diff(distinct_texts_of(cells)[1], prepend=-1) != 0
    if 2 * np.count_nonzero(changes) > len(cells):
        return np.arange(len(cells)) // _NEIGHBOURS
    return np.cumsum(changes)


def _in_order(fits: Mask, runs: Sequence[Indices]) -> bool:
    """Whether more rows fit in order than in any shuffle within the runs."""
    rows = len(fits)
    draws = Randomness.seeded(0).key("shuffles").generator()
    orders = [np.arange(rows)]
    orders += [np.lexsort((draws.uniform(size=rows), *runs)) for _ in range(_SHUFFLES)]
    as_they_stand, shuffled = _longest(fits, np.array(orders[:2]))
    if as_they_stand <= shuffled + _BEYOND * rows:  # the others only raise what is to be passed
        return False
    found = _longest(fits, np.array(orders))
    return bool(found[0] > found[1:].max() + max(_BEYOND * rows, 4 * found[1:].std()))


def _longest(fits: Mask, orders: NDArray[np.intp]) -> NDArray[np.int64]:
    """The length of the longest common subsequence for each order of the file's rows."""
    length = np.zeros((len(orders), len(fits) + 1), dtype=np.int64)
    for own in fits.T:
        if own.any():
            better = np.maximum(length[:, 1:], length[:, :-1] + own[orders])
            length[:, 1:] = np.maximum.accumulate(better, axis=1)
    return length[:, -1]


_FEWEST = 30
"""Rows from which on an order tells something."""
_OFF = 10
"""Places off, to both sides, at which columns are compared."""
_POSITIONS_BEYOND = 6
"""Standard deviations by which columns agree better at the same places."""


def order_notices(recognised: Sequence[Recognised], original: People) -> list[str]:
    """A sentence without a full stop, where rows stand in the order of the original."""
    names = _columns_in_order(recognised, original)
    if not names:
        return []
    told = f"{', '.join(map(repr, names))} tell{'s' * (len(names) == 1)}"
    return [
        f"rows stand in the order of the original, as {told}: whoever "
        "knows a person's place there finds the row, and no attack looks at that; shuffle the rows"
    ]


def _columns_in_order(recognised: Sequence[Recognised], original: People) -> list[str]:
    """The columns that agree with those of the original row by row."""
    rows = original.frame.height
    shown = [one for one in recognised if one.columns]
    if not shown or min(rows, len(shown[0].columns[0])) < _FEWEST:
        return []
    same = len(shown[0].columns[0]) == rows
    agreeing = [one.name for one in shown if same and not _counts(one) and _agrees(one, original)]
    return agreeing or _columns_in_subsequence(shown, original)


def _agrees(one: Recognised, original: People) -> bool:
    if one.how in {"interval", "averaged", "noisy"}:
        own = original.column(one.name)
        middle = np.mean([floats_of(column) for column in one.columns], axis=0)
        return _peaks(*(_standard_ranks(side) for side in (floats_of(own), middle)))
    if one.how == "set":
        return False
    return _same(*joint_texts(original, one.name, one.columns[0]).sides)


def _same(own: NDArray[np.integer], shown: NDArray[np.integer]) -> bool:
    """Whether values are equal more often at the same places."""

    def agreement(by: int) -> float:
        first, second = (own[by:], shown) if by > 0 else (own, shown[-by:])
        equal = np.equal(first[: len(second)], second[: len(first)])
        return np.count_nonzero(equal) / len(equal)

    at, off = _at_and_off(agreement)
    share = min(max(float(np.mean(off)), 1 / len(own)), 1.0)
    return bool(at - max(off) > _POSITIONS_BEYOND * np.sqrt(share * (1 - share) / len(own)))


def _peaks(own: Floats, shown: Floats) -> bool:
    """Whether standardized numbers go together at the same places."""
    rows = len(own)

    def agreement(by: int) -> float:
        first = by % rows  # the place to which the first number moves, the last ones before it
        both = own[first:] @ shown[: rows - first], own[:first] @ shown[rows - first :]
        return float(sum(both)) / rows

    at, off = _at_and_off(agreement)
    return bool(at - max(off) > _POSITIONS_BEYOND / np.sqrt(len(own)))


def _at_and_off(agreement: Callable[[int], float]) -> tuple[float, list[float]]:
    """How well columns agree at the same places, and some places off."""
    off = [by for by in range(-_OFF, _OFF + 1) if by]
    return agreement(0), [agreement(by) for by in off]


def _standard_ranks(numbers: Floats) -> Floats:
    """Ranks with the mean 0 and the variance 1, equal ones alike; 0 where nothing is known."""
    found = np.zeros(len(numbers))
    there = np.isfinite(numbers)
    if not there.any():
        return found
    _, place, count = np.unique(numbers[there], return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - count / 2)[place]
    found[there] = (ranks - ranks.mean()) / (ranks.std() or 1.0)
    return found


def stands_for(cells: pl.Series, original: People, among: Iterable[str]) -> str | None:
    """The column of the original, of some, whose values stand as often, one by one, as the cells.

    None where there is none, and where nothing tells it: of fewer than ten different cells that
    stand in several rows, and where all are about as often and some rows were left out or added.
    """
    rows = _counted(coded_column(cells))
    for name in among:
        own = _counted(original.coded(name))
        if name == cells.name:
            own, rows = _under_other_names(own, rows)
        counts, shown = (np.sort(side["rows"].to_numpy().astype(np.int64)) for side in (own, rows))
        if np.count_nonzero(shown > 1) < RENAMED:
            continue
        even = bool(np.abs(shown - shown.mean()).sum() < OTHERWISE * shown.sum())
        if np.array_equal(counts, shown) or (not even and fit_sorted(counts, shown)):
            return name
    return None


def _under_other_names(own: pl.DataFrame, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Values of both sides, but those that both have, where these stand as often as other people's.

    Files of other people show as often, one by one, what is frequent: that is no cipher.
    """
    both = own.join(rows, on="value", suffix="_shown")
    left = [side.join(both, on="value", how="anti") for side in (own, rows)]
    rest = [int(side["rows"].sum()) for side in left]
    unseen = max(rest[0], int((own["rows"] == 1).sum()))  # as values of one row tell (Good)
    share = int(own["rows"].sum()) / max(int(rows["rows"].sum()), 1)
    rest[0] = int(np.clip(round(rest[1] * share), rest[0], unseen))
    counts = [
        np.append(both[name].to_numpy(), most).astype(np.int64)
        for name, most in zip(("rows", "rows_shown"), rest, strict=True)
    ]
    alike = both.height >= _ALIKE and stand_as_others(counts[0], counts[1])
    return (left[0], left[1]) if alike else (own, rows)


_ALIKE = 3
"""Values from which on it is asked whether they stand under their own names."""
_TOGETHER = "columns that no adversary could read are, taken together, none of the original's"


@dataclass(frozen=True)
class StandingTogether:
    """Columns of few values that stand for some of the original's, two or three together."""

    names: Mapping[str, str]
    """By the name of each in the file, that in the original."""
    unasked: int
    """Sets of columns that were not held against the original's, where there were too many."""
    undecided: int
    """Sets that lie near, which may be by chance: among so many, or since one was shuffled."""

    @property
    def not_assessed(self) -> Mapping[str, str]:
        """Why nobody can say that other columns are none of the original's, by what is asked."""
        counts = (
            (self.unasked, "were not held against the original, of too many"),
            (self.undecided, "agree with the original's, which chance may explain"),
        )
        told = " and ".join(f"{n:,} sets of two or three columns {why}" for n, why in counts if n)
        remedy = "name the hierarchy of their labels in a plan, or leave out what nobody needs"
        return {_TOGETHER: f"{told}; {remedy}"} if told else {}


def stand_together(cells: Mapping[str, pl.Series], original: People) -> StandingTogether:
    """Which columns of a file are columns of the original under other names, by two or three.

    Each by itself has about as many rows a value as the other.  Together they lie nearer to it than
    people who are drawn anew, and than they would if one of them were shuffled by itself.
    """
    file, own = (
        {name: codes for name, codes in each if 1 < len(codes.values) <= len(codes.codes) // DENSE}
        for each in (
            ((name, coded_column(column)) for name, column in cells.items()),
            ((name, original.coded(name)) for name in original.frame.columns),
        )
    )
    search = _JointSearch(file, own)
    search.ask_threes(search.near_pairs())
    undecided = sum(not few <= search.found.keys() for few in search.undecided)
    return StandingTogether(search.found, search.unasked, undecided)


_FALSELY = 0.001
"""Of files with columns that are none of the original's: how many are told by chance."""
_UNSURE = 1e-5
"""How improbable a set is that is undecided where it is not told."""
_NEAR = 0.05
"""How improbable it is that people who are drawn anew lie as near, of each two of three columns."""
_MOST_ASKED, _MOST_LOOKS = 100_000, 2_000_000_000
"""Sets of columns that are held against each other, and rows that are looked at for it."""

_Pair = tuple[str, str]
"""A column of the file and one of the original, or two columns."""


class _JointSearch:
    """Two columns of a file, then three, held against as many of the original.

    Columns that stand together by three do so by two, so that three are asked about where each two
    of them lie near.  Those that fit a column of the original best by themselves are asked first.
    """

    def __init__(
        self, file: Mapping[str, DictionaryColumn], own: Mapping[str, DictionaryColumn]
    ) -> None:
        self.found: dict[str, str] = {}
        self.unasked = 0
        self.undecided: set[frozenset[str]] = set()
        self._file, self._own = file, own
        self._drawn: dict[frozenset[str], DrawnCounts | None] = {}
        self._asked = self._looks = 0
        apart = {
            name: {n: by for n in own if (by := _apart(own[n], codes)) <= OTHERWISE}
            for name, codes in file.items()
        }
        names = sorted((n for n in apart if apart[n]), key=lambda n: min(apart[n].values()))
        self._alike = {name: sorted(apart[name], key=apart[name].__getitem__) for name in names}

    def near_pairs(self) -> dict[tuple[_Pair, _Pair], float]:
        """Pairs of columns, each with that of the original, by how near they lie."""
        names = list(self._alike)
        near: dict[tuple[_Pair, _Pair], float] = {}
        pairs = [(first, second) for n, second in enumerate(names) for first in names[:n]]
        level = _FALSELY / 2 / max(1, sum(len(self._kinds(few)) for few in pairs))
        for few in pairs:
            kinds = self._kinds(few)
            if self._asked > _MOST_ASKED or self._looks > _MOST_LOOKS:
                self.unasked += len(kinds)
                continue
            shown = self._counts(self._file, few)
            for kind, (named, *others) in kinds.items():
                chance = self._chance(kind, shown)
                if chance < _NEAR:
                    for first, second in (named, *others):
                        near[(few[0], first), (few[1], second)] = chance
                    self._judge((few, named), shown, chance, level)
        return near

    def ask_threes(self, near: Mapping[tuple[_Pair, _Pair], float]) -> None:
        """Hold three columns against three of the original, the nearest first."""
        beside: dict[_Pair, set[_Pair]] = {}
        for one, two in near:
            beside.setdefault(one, set()).add(two)
            beside.setdefault(two, set()).add(one)
        once, twice, thrice = (sum(len(n) ** k for n in self._alike.values()) for k in (1, 2, 3))
        level = 3 * _FALSELY / max(1, once**3 - 3 * once * twice + 2 * thrice)
        for one, two in sorted(near, key=near.__getitem__):
            beside[one].discard(two)
            beside[two].discard(one)
            thirds = beside[one] & beside[two]
            if self._asked > _MOST_ASKED or self._looks > _MOST_LOOKS:
                self.unasked += len(thirds)
                continue
            for third in sorted(thirds):
                few, named = zip(one, two, third, strict=True)
                if self.found.keys() >= set(few):
                    continue
                shown = self._counts(self._file, few)
                chance = self._chance(frozenset(named), shown)
                self._judge((few, named), shown, chance, level)

    def _kinds(self, few: _Pair) -> dict[frozenset[str], list[_Pair]]:
        """Pairs of columns of the original that two of the file may be, in either order."""
        kinds: dict[frozenset[str], list[_Pair]] = {}
        for named in product(*(self._alike[name] for name in few)):
            if named[0] != named[1]:
                kinds.setdefault(frozenset(named), []).append((named[0], named[1]))
        return kinds

    def _counts(self, side: Mapping[str, DictionaryColumn], names: Iterable[str]) -> Indices:
        columns = [side[name] for name in names]
        self._looks += len(columns[0].codes) * len(columns)
        return _combined(columns)

    def _chance(self, kind: frozenset[str], shown: Indices) -> float:
        """Of people drawn anew who lie as near; 1 where there are too many combinations."""
        self._asked += 1
        if kind not in self._drawn:
            held = self._counts(self._own, sorted(kind))
            dense = len(held) * DENSE <= shown.sum()
            self._drawn[kind] = DrawnCounts.anew(held, int(shown.sum())) if dense else None
        drawn = self._drawn[kind]
        if drawn is None or len(shown) * DENSE > shown.sum():
            return 1.0
        return drawn.chance(shown)

    def _judge(
        self, sets: tuple[Sequence[str], ...], shown: Indices, chance: float, level: float
    ) -> None:
        """Tell columns that lie nearer than by chance, also than if one of them was shuffled.

        Where one of both holds, or too many were asked about, nobody can decide it.
        """
        few, named = sets
        held = self._counts(self._own, named)
        if chance >= max(level, _UNSURE) and not np.array_equal(*sorted_counts(held, shown)):
            return
        by_itself = 0.0
        for name in few if len(few) > 2 else few[:1]:
            others = _combined([self._file[n] for n in few if n != name])
            drawn = DrawnCounts.shuffled(held, _combined([self._file[name]]), others)
            by_itself = max(by_itself, drawn.chance(shown))
        if max(chance, by_itself) < level:
            self.found = {**dict(zip(few, named, strict=True)), **self.found}
        elif chance < level or by_itself < _FALSELY:
            self.undecided.add(frozenset(few))


def _apart(own: DictionaryColumn, file: DictionaryColumn) -> float:
    """The share of rows by which values have other counts, one by one, whatever their names."""
    held, shown = sorted_counts(*(_combined([one]) for one in (own, file)))
    apart = np.abs(held * (shown.sum() / held.sum()) - shown).sum()
    return float(apart / shown.sum())


def _combined(columns: Sequence[DictionaryColumn]) -> Indices:
    """How many rows have each combination of values that some have."""
    index = np.zeros(len(columns[0].codes), dtype=np.int64)
    for one in columns:
        index = index * len(one.values) + one.codes
    if np.prod([len(one.values) for one in columns]) > DENSE * len(index):
        return np.unique_counts(index).counts
    counts = np.bincount(index)
    return counts[counts > 0]


def _counted(column: DictionaryColumn) -> pl.DataFrame:
    """How many rows have each value of a column that is not missing, as a text."""
    rows = np.bincount(column.codes, minlength=len(column.values))
    values = column.values  # 3 is 3.0
    values = values.cast(pl.Float64) if values.dtype.is_numeric() else values
    counts = pl.DataFrame([values.cast(pl.String).alias("value"), pl.Series("rows", rows)])
    return counts.drop_nulls("value")
