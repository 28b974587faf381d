"""How released files write intervals, sets and suppressed values: cells read for what they cover.

ARX writes ``[20, 30[``, sdcMicro ``[20,30)`` or ``(20,30]``, offices ``20-29``, ``90+``, ``>= 90``,
``under 5``; many write ``*`` for anything, R writes ``NA``, and ``021**`` is a prefix.  A half-open
end is moved to the next whole number where the column holds whole numbers, and to the next number
in double precision elsewhere.  Dates become years, months, decades, or two of these.

Cost: one look-up a distinct cell.

Numbers that were only shifted or scaled, and are read back; private.

Whoever knows two people of a file that shows ``a x + b`` knows a and b, and then all values.  It is
taken for such where every published number, but a few, is ``a x + b`` of a value of the original
within the rounding of the published ones, and

    rows as many as the original's   each number is that of the person at its place, or
    any rows                         the values so read stand in as many rows as in the original,
                                     or as in rows drawn of it, by a chi-squared test

Where rounding makes several values one number, rows in the order of the original alone tell it, and
what is read back is an interval.  Cost: O(e log e) for e distinct numbers, some dozens of times.

Numbers behind a curve, such as their logarithms, are read back by rank, where they are as many as
the original's and stand in as many rows.

Ciphers: values under each other's names, or under names of nobody's; private.

A cipher moves names and leaves counts, so what tells it does not ask for names.  Three tests, of
columns whose values are not as often under their own names:

    counts        of all rows, but 1 in 100, or of what chi-square takes for a sample
    nearness      sorted counts, of a column or of two together, lie nearer to the original's than
                  those of people who are drawn anew; those of other people, and of values that were
                  drawn, do not, so that the same people are found beside a tenth of others
    information   a column tells of the others as in the original (mutual information), less than a
                  third of it under its own names, and at least half of it more under the names that
                  fit all others best.  Other rows hide it where they are most

Honest files keep values under their own names, so that what they tell of each other stands there.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from voile.audit.common_rows import JointTexts
from voile.table.codes import count_table
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = [
    "ANYTHING",
    "DENSE",
    "OTHERWISE",
    "RENAMED",
    "DrawnCounts",
    "SetReader",
    "banded",
    "ends_of",
    "fit_sorted",
    "renamed",
    "rescaled",
    "sorted_counts",
    "stand_as_often",
    "stand_as_others",
]


ANYTHING = frozenset(
    {"*", "**", "***", "any", "all", "suppressed", "{*}", "withheld", "redacted"}
    | {"na", "n/a", "<na>", "nan", "null", "none", "?", "-", ".", "missing", "unknown", ""}
)
"""Cells, in lower case, that stand for any value, unless the original has them as values."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BRACKETS = re.compile(
    rf"([\[\]\(])\s*({_NUMBER}|-inf|)\s*[,;]\s*({_NUMBER}|inf|)\s*([\[\]\)])", re.IGNORECASE
)
_SPELLINGS = tuple(
    (re.compile(pattern, re.IGNORECASE), low, high)
    for pattern, low, high in (
        (rf"({_NUMBER})", "from", "to"),
        (rf"({_NUMBER})\s*(?:-|–|—|to|bis|\.\.\.?|:)\s*({_NUMBER})", "from", "to"),  # noqa: RUF001
        (rf"(?:>=|≥|from|at least|ab|mindestens)\s*({_NUMBER})", "from", "open"),
        (rf"({_NUMBER})\s*(?:\+|and (?:over|more|above)|or more)", "from", "open"),
        (rf"(?:<=|≤|up to|at most|bis|höchstens)\s*({_NUMBER})", "open", "to"),
        (rf"({_NUMBER})\s*(?:and (?:under|less|below)|or less)", "open", "to"),
        (rf"(?:>|over|above|more than|über)\s*({_NUMBER})", "after", "open"),
        (rf"(?:<|under|below|less than|unter)\s*({_NUMBER})", "open", "before"),
    )
)
"""Patterns, and what their first and last number says of the two ends."""
_DAY = r"\d{4}(?:-\d{2}(?:-\d{2})?)?|\d{3}0s|(?:\d{2}\.)?\d{2}\.\d{4}|\d{2}/\d{4}"
_PERIOD = re.compile(
    rf"([\[\]\(]?)\s*({_DAY})(?:\s*(?:-|–|—|to|bis|\.\.\.?|/|,|;)\s*({_DAY})\s*([\[\]\)]?))?"  # noqa: RUF001
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?")
_MASKED = re.compile(r"(?P<prefix>[^*]+)(?P<mask>\*+)")


@dataclass(frozen=True)
class _Ends:
    """A closed interval of numbers; infinite where an end is open to that side."""

    low: float
    high: float


def ends_of(text: str, *, whole: bool) -> _Ends | None:
    """The interval that a cell writes, a number being one of a single point; None where it is none.

    ``whole`` says that the column holds whole numbers, between which nothing lies.
    """
    text = text.strip()
    if found := _BRACKETS.fullmatch(text):
        left, low, high, right = found.groups()
        ends = float(low or "-inf"), float(high or "inf")
        return _closed(*ends, outside=(left in "](", right in "[)"), whole=whole)
    for pattern, first, last in _SPELLINGS:
        if found := pattern.fullmatch(text):
            numbers = [float(number) for number in found.groups()]
            low_end = -np.inf if first == "open" else numbers[0]
            high_end = np.inf if last == "open" else numbers[-1]
            outside = first == "after", last == "before"
            return _closed(low_end, high_end, outside=outside, whole=whole)
    return None


def _closed(low: float, high: float, *, outside: tuple[bool, bool], whole: bool) -> _Ends | None:
    """An interval whose ends may lie outside of it; None where it is empty."""
    if outside[0] and np.isfinite(low):
        low = np.floor(low) + 1 if whole else np.nextafter(low, np.inf)
    if outside[1] and np.isfinite(high):
        high = np.ceil(high) - 1 if whole else np.nextafter(high, -np.inf)
    return _Ends(float(low), float(high)) if low <= high else None


_END = "\U0010ffff"
"""Behind all that begins alike."""


def _iso(date: str) -> str:
    """How all dates within a year, a month, a day or a decade begin."""
    if date.endswith("0s"):
        return date[:3]
    return "-".join(reversed(re.split(r"[./]", date)))


@dataclass(frozen=True)
class SetReader:
    """Reads cells as sets of the values that a column may have."""

    values: AbstractSet[str]
    """All of them."""
    nodes: dict[str, frozenset[str]]
    """Labels of a hierarchy, and the values below each."""

    def read(self, text: str) -> Collection[str] | None:
        """The values that a cell names; all for one that stands for any, None for an unknown one.

        A cell that is a value names it; otherwise a label of the hierarchy names what lies below,
        ``021**`` what begins so, a year or two of them the dates within, and ``{a, b}``, ``a|b``,
        ``a, b`` or ``a;b`` what they list.
        """
        if text in self.values:
            return (text,)
        if text in self.nodes:
            return self.nodes[text]
        if text.strip().lower() in ANYTHING:
            return self.values
        if self._dates and (period := _PERIOD.fullmatch(text.strip())):
            return self._within(*period.groups()) or None
        if masked := _MASKED.fullmatch(text.strip()):
            return self._masked(masked["prefix"], len(masked["mask"])) or None
        return self._listed(text.strip())

    @cached_property
    def _dates(self) -> Sequence[str]:
        """All values in their order, where all are dates; else nothing."""
        return sorted(self.values) if all(map(_DATE.fullmatch, self.values)) else ()

    def _within(self, left: str, first: str, last: str | None, right: str | None) -> Sequence[str]:
        """The dates from one year, month or day to another, or within one."""
        low, high = _iso(first), _iso(last or first)
        after = last is not None and left in {"]", "("}
        before = last is not None and right in {"[", ")"}
        start = bisect_right(self._dates, low + _END) if after else bisect_left(self._dates, low)
        end = bisect_left(self._dates, high) if before else bisect_right(self._dates, high + _END)
        return self._dates[start:end]

    def _masked(self, prefix: str, mask: int) -> Sequence[str]:
        begin = [value for value in self.values if value.startswith(prefix)]
        as_long = [value for value in begin if len(value) == len(prefix) + mask]
        return as_long or begin

    def _listed(self, text: str) -> Sequence[str] | None:
        if text[:1] + text[-1:] in {"{}", "[]", "()"}:
            text = text[1:-1]
        for mark in ("|", ";", ","):
            parts = [part.strip().strip("\"'") for part in text.split(mark)]
            if len(parts) > 1 and all(part in self.values for part in parts):
                return parts
        return None


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


_MISTAKES = 0.002
"""The share of rows that may be anything."""
_ENDS = 3
"""How many of the outermost numbers of a part of the rows may be missing there."""
_FEWEST = 5
"""Different numbers from which on a straight line through all is no accident."""
_APART = 8
"""How many roundings the range of the numbers has at least."""
_FITTED = 1.05
"""Of half a unit: as far as rounded numbers may lie from a line that was fitted to them."""
_EXACT = 1e-9
_LEAST = 0.02


@dataclass(frozen=True, eq=False)
class _Rescaled:
    """Published numbers as those of the original times a factor and shifted."""

    factor: float
    shift: float
    low: Floats
    """Shape (e,): the least value of the original that each published number may be; NaN where it
    is none."""
    high: Floats
    """The largest."""

    @property
    def changes_nothing(self) -> bool:
        """Whether the numbers are those of the original."""
        reach = float(np.nanmax(np.abs(self.low), initial=1.0))
        return abs(self.factor - 1) < _EXACT and abs(self.shift) < _EXACT * reach

    @property
    def is_exact(self) -> bool:
        """Whether each number is of one value."""
        there = np.isfinite(self.low)
        return bool((self.low[there] == self.high[there]).all())


def rescaled(own: Floats, cells: Floats, place: Indices, unit: float) -> _Rescaled | None:
    """How published numbers come of those of the original by scaling and shifting; None: not so.

    ``own`` are those of all n people, ``cells`` the e different published ones, ``place`` the cell
    of each published row (m,), ``unit`` the last digit that is published: 1 for whole numbers.
    """
    values, count = np.unique(own[np.isfinite(own)], return_counts=True)
    rows = np.bincount(place, minlength=len(cells))
    there = np.isfinite(cells) & (rows > 0)
    if min(len(values), int(there.sum())) < _FEWEST:
        return None
    known = _Known(values, count, cells, np.where(there, rows, 0), unit)
    if len(own) == len(place) and (found := known.in_order(own, cells[place])) is not None:
        return found
    # Of few rows several lines may be true: numbers that can be as they are, are.
    lines = (known.as_often(a, b) for a, b in chain([(1.0, 0.0)], known.lines()))
    return next((one for one in lines if one is not None), None)


@dataclass(frozen=True, eq=False)
class _Known:
    """Distinct numbers of both sides, ascending for the original, and how many rows show each."""

    values: Floats
    count: Indices
    cells: Floats
    rows: Indices
    unit: float

    @property
    def near(self) -> float:
        """How far rounding moves a number."""
        there = self.cells[self.rows > 0]
        return self.unit / 2 * _FITTED + _EXACT * float(np.abs(there).max())

    def in_order(self, own: Floats, shown: Floats) -> _Rescaled | None:
        """Rows of the original in its order: a line through them, fitted again without the rest."""
        kept = np.isfinite(own) & np.isfinite(shown)
        total = int(kept.sum())
        for _ in range(3):
            x, y = own[kept], shown[kept]
            if not len(x) or len(x) < (1 - _MISTAKES) * total or not np.ptp(x):
                return None
            factor = float(np.mean((x - x.mean()) * (y - y.mean())) / x.var())
            shift = float(y.mean() - factor * x.mean())
            off = np.abs(factor * own + shift - shown)
            kept = np.isfinite(off) & (off <= np.nanquantile(off, 1 - _MISTAKES))
        right = off <= self.near
        if right.sum() < (1 - _MISTAKES) * total or not self._tells(factor):
            return None
        return self._read(factor, shift)

    def lines(self) -> Iterator[tuple[float, float]]:
        """Lines through the outermost numbers, up and down, then fitted to all of them."""
        shown = np.sort(self.cells[self.rows > 0])
        places = range(_ENDS if self.rows.sum() < self.count.sum() else 1)
        for up, low, high in product((1, -1), places, places):
            ends = shown[[0, -1]][::up]
            x = self.values[[low, -1 - high]]
            if x[0] >= x[1]:
                continue
            factor = (ends[1] - ends[0]) / (x[1] - x[0])
            shift = ends[0] - factor * x[0]
            # Rounding moves the ends: fit all numbers to the values next to them.
            values = self.values[self._next((shown - shift) / factor)]
            spread = values - values.mean()
            if (square := float((spread**2).sum())) > 0:
                factor = float((spread * shown).sum()) / square or factor
                shift = float(shown.mean() - factor * values.mean())
            yield float(factor), float(shift)

    def as_often(self, factor: float, shift: float) -> _Rescaled | None:
        """The values read back by a line, where they stand in as many rows as they should."""
        if not self._tells(factor) or np.diff(self.values).min() * abs(factor) < self.unit * (
            1 - 1e-6
        ):
            return None
        found = self._read(factor, shift)
        read = np.isfinite(found.low)
        if self.rows[~read].sum() > _MISTAKES * self.rows.sum() or not found.is_exact:
            return None
        seen = np.bincount(
            np.searchsorted(self.values, found.low[read]), self.rows[read], len(self.values)
        )
        share = self.rows.sum() / self.count.sum()
        return found if stand_as_often(seen, self.count, share) else None

    def _tells(self, factor: float) -> bool:
        """Whether the range of the published numbers is many roundings wide."""
        return abs(factor) * float(np.ptp(self.values)) >= _APART * self.near

    def _apart(self, factor: float) -> bool:
        """Whether different values stay different when they are rounded."""
        least = float(np.diff(self.values).min()) * abs(factor)
        return least >= self.unit * (1 - 1e-6)

    def _read(self, factor: float, shift: float) -> _Rescaled:
        """Of each published number the values that it may be."""
        ends = [(self.cells + side * self.near - shift) / factor for side in (-1, 1)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        first = np.searchsorted(self.values, low, side="left")
        last = np.searchsorted(self.values, high, side="right") - 1
        none = ~np.isfinite(self.cells) | (self.rows == 0) | (first > last)
        # Where rounding alone would let in a neighbour, the nearer one is meant.
        middle = self._next((self.cells - shift) / factor)
        if self._apart(factor):
            first = last = middle
        top = len(self.values) - 1
        lows, highs = (self.values[np.clip(one, 0, top)] for one in (first, last))
        return _Rescaled(factor, shift, np.where(none, np.nan, lows), np.where(none, np.nan, highs))

    def _next(self, at: Floats) -> Indices:
        """The place of the value that is nearest to each number."""
        at = np.nan_to_num(at)
        behind = np.clip(np.searchsorted(self.values, at), 1, len(self.values) - 1)
        before = self.values[behind - 1]
        return np.where(at - before <= self.values[behind] - at, behind - 1, behind)


def stand_as_often(seen: Indices, count: Indices, share: float | None = None) -> bool:
    """Whether values stand in so many rows as in a share of the original's, but for chance."""
    share = seen.sum() / count.sum() if share is None else share
    expected = count * share
    chi = ((seen - expected) ** 2 / expected).sum() / max(1 - share, _LEAST)
    return bool(chi <= len(count) + 4 * np.sqrt(2 * len(count)))


RENAMED = 10
"""Different values from which on it is no chance that all are as often as others."""
_ASTRAY = 0.01
"""The share of rows that may be left out, added or changed beside a cipher."""
_LEFT_OUT = 0.05
"""The share of rows by which files may differ that are compared so."""
OTHERWISE = 0.2
"""Of rows: how many count twice, here and there, where values stand under other names."""
_EACH = 20
"""Rows a value, from which on a sample tells how often values stand."""
_EXPECTED = 5
"""Rows of a value in a sample, below which values are taken together."""
_KINDS = 3
"""Values, from which on they are compared."""
_FITS, _NOT_THESE = 0.05, 1e-6
"""Probabilities: from which on a sample fits, and up to which it does not under these names."""
DENSE = 10
"""Rows for each combination of two columns, from which on their counts tell a cipher."""
_DRAWN, _TABLES = 60, 200
"""Tables that are drawn, for columns under their own names and under others."""
_BANDS = 8
"""Parts of a column beside which the values of another are looked at."""
_DEPENDENT, _SURE = 0.1, 10
"""Of columns that tell of each other: natural units of information, and standard deviations."""
_AS_MUCH, _NAMED, _BACK = 0.25, 1 / 3, 0.5
"""Shares of information: of the original's in the file; of the file's under its own names, at most,
and how much more under the best ones."""


def renamed(both: Mapping[str, JointTexts]) -> dict[str, str]:
    """Columns that show the original's under a cipher, each value in another's place, and why.

    A clause for each, by its name.  What tells a column of few values is how often they stand
    beside those of another: as often, one by one, as in the original, and under other names.
    """
    rows = max((len(texts.sides[1]) for texts in both.values()), default=0)
    told = "its values are as often, one by one, as those of the original under each other's names"
    remedy = "who undoes that has the column; leave it out"
    counts = {name: _pair_counts(texts) for name, texts in both.items()}
    found = {n: f"{told}: {remedy}" for n, rows_of in counts.items() if _are_renamed(*rows_of)}
    moved = {name for name, (own, file) in counts.items() if _counts_apart(own, file)}
    for (name, texts), (other, beside) in combinations(both.items(), 2):
        if found.keys() & {name, other} or texts.distinct * beside.distinct > DENSE * rows:
            continue
        pairs = _pair_counts(texts, beside)
        dense = all(DENSE * np.count_nonzero(count) <= rows for count in pairs)
        if dense and _are_renamed(*pairs):
            for one, two in ((name, other), (other, name)):
                if one in moved or two not in moved:
                    found[one] = f"beside column {two!r} {told}: {remedy}"
    informed = "its values go with those of other columns as in the original under other names"
    return {**dict.fromkeys(_misnamed(both, found), f"{informed}: {remedy}"), **found}


def _misnamed(both: Mapping[str, JointTexts], known: Collection[str]) -> list[str]:
    """Columns that tell of the others as much as in the original, and under other names.

    Columns that are ``known`` to be so are not held against others; nor is a column that was found.
    """
    found: list[str] = []
    left = {name: texts for name, texts in both.items() if name not in known}
    rows = min((min(map(len, texts.sides)) for texts in left.values()), default=0)
    few = {name: one for name, one in left.items() if one.distinct * _BANDS * DENSE <= rows}
    while True:
        moved: dict[str, float] = {}
        for name, texts in few.items():
            most = rows // DENSE // texts.distinct
            told = _Misnaming.of(texts, (banded(left[n], most) for n in left if n != name))
            moved |= {name: told.lost} if told.is_certain else {}
        if not moved:
            return found
        found.append(max(moved, key=lambda name: moved[name]))
        del left[found[-1]], few[found[-1]]


def banded(texts: JointTexts, most: int) -> JointTexts:
    """A column of more values in a few parts of those that follow each other, of as many people."""
    if texts.distinct <= most:
        return texts
    rows = np.cumsum(np.bincount(texts.sides[0], minlength=texts.distinct))
    band = np.minimum(_BANDS * rows // (len(texts.sides[0]) + 1), _BANDS - 1).astype(np.uint8)
    return JointTexts((band[texts.sides[0]], band[texts.sides[1]]), _BANDS, None)


@dataclass(frozen=True)
class _Misnaming:
    """What a column tells of others in a file; natural units, sums over the others."""

    usual: float
    """In the original."""
    told: float
    """In the file, under whatever names."""
    error: float
    """Its standard deviation where nothing was told."""
    named: float
    """Of it, under its own names."""
    best: float
    """The same under the names that fit best."""

    @classmethod
    def of(cls, texts: JointTexts, others: Iterable[JointTexts]) -> _Misnaming:
        """Of one column beside others; what chance tells is taken from what is told."""
        people, rows = map(len, texts.sides)
        gain = np.zeros((texts.distinct, texts.distinct))
        usual = told = variance = 0.0
        for beside in others:
            own, file = (
                counts.reshape(texts.distinct, -1).astype(float)
                for counts in _pair_counts(texts, beside)
            )
            by_chance = np.outer(own.sum(axis=1) + 0.5, own.sum(axis=0) + 0.5) / people
            gain += file @ np.log((own + by_chance / DENSE) / (1 + 1 / DENSE) / by_chance).T
            usual += _information(own)
            told += _information(file)
            variance += 2 * (texts.distinct - 1) * (beside.distinct - 1) / (2 * rows) ** 2
        best = gain[optimize.linear_sum_assignment(gain, maximize=True)].sum()
        return cls(usual, told, float(np.sqrt(variance)), np.trace(gain) / rows, best / rows)

    @property
    def lost(self) -> float:
        """What is not told under its own names."""
        return self.told - self.named

    @property
    def is_certain(self) -> bool:
        """Whether the names of its values are others."""
        told = max(_AS_MUCH * self.usual, _DEPENDENT, _SURE * self.error)
        return (
            self.told >= told
            and self.named <= _NAMED * self.told
            and self.best - self.named >= _BACK * self.told
        )


def _information(counts: Floats) -> float:
    """Mutual information of two columns by their counts, without what chance tells."""
    rows, columns = ((counts.sum(axis=axis) > 0).sum() - 1 for axis in (1, 0))
    total = counts.sum()
    usual = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    there = counts > 0
    told = (counts[there] * np.log(counts[there] / usual[there])).sum() / total
    return float(max(told - rows * columns / (2 * total), 0.0))


def _pair_counts(texts: JointTexts, beside: JointTexts | None = None) -> list[Indices]:
    """How many rows of the original and of the file have each value, or each two of two columns."""
    if beside is None:
        return [np.bincount(side, minlength=texts.distinct) for side in texts.sides]
    size = beside.distinct
    return [
        count_table(one, two, size, texts.distinct * size).astype(np.int64)
        for one, two in zip(texts.sides, beside.sides, strict=True)
    ]


def _counts_apart(held: Indices, shown: Indices) -> bool:
    """Whether values stand otherwise than in the original by more rows than may be others."""
    people = int(held.sum())
    most = max(abs(people - int(shown.sum())), _ASTRAY * people)
    return bool(np.abs(held - shown).sum() > most)


def _are_renamed(held: Indices, shown: Indices) -> bool:
    """Whether values, each with its rows in the original and in the file, are under other names."""
    people, rows = int(held.sum()), int(shown.sum())
    astray = abs(people - rows)
    if fit_sorted(held, shown):
        if astray <= _LEFT_OUT * people:
            if np.abs(held - shown).sum() >= max(OTHERWISE * people, 3 * astray):
                return True
        elif _fit(held, shown, of_others=True) < _NOT_THESE:
            return bool(np.abs(held * (rows / people) - shown).sum() >= OTHERWISE * rows)
    there = (held > 0) & (shown > 0)
    if _stand_otherwise(held, shown) and are_nearer_than_drawn(held, shown):
        return True
    many = np.count_nonzero(shown) >= RENAMED and 2 * there.sum() >= np.count_nonzero(shown)
    exactly = many and np.array_equal(np.sort(held), np.sort(shown))
    as_often = int(((held == shown) & there).sum())
    return bool(exactly and 2 * as_often < int(there.sum()))


def sorted_counts(held: Indices, shown: Indices) -> tuple[Indices, Indices]:
    """Counts of both sides in their order, as many."""
    size = max(len(held), len(shown))
    own, file = (np.pad(np.sort(each), (size - len(each), 0)) for each in (held, shown))
    return own, file


def _stand_otherwise(held: Indices, shown: Indices) -> bool:
    """Whether values are as often as others under other names, beyond what two samples differ."""
    scale = shown.sum() / max(int(held.sum()), 1)
    own, file = sorted_counts(held, shown)
    astray = float(np.abs(held * scale - shown).sum())
    least = max(OTHERWISE * int(shown.sum()), 3 * float(np.abs(own * scale - file).sum()))
    expected = held * scale
    often = expected >= _EXPECTED
    if astray < least or np.count_nonzero(often) < 2:
        return False
    chi = ((shown - expected)[often] ** 2 / expected[often]).sum() / (1 + scale)
    return bool(special.chdtrc(np.count_nonzero(often) - 1, chi) < _NOT_THESE)


def are_nearer_than_drawn(held: Indices, shown: Indices) -> bool:
    """Whether sorted counts are nearer to the original's than those of people drawn from it."""
    draws = Randomness.seeded(0).key("people drawn anew").generator()
    drawn = draws.multinomial(int(shown.sum()), np.sort(held) / held.sum(), size=_DRAWN)
    return DrawnCounts.of(held, drawn).chance(shown) < _NOT_THESE


@dataclass(frozen=True, eq=False)
class DrawnCounts:
    """How near sorted counts of tables that are drawn lie to those of the original.

    Distances are those of square roots, whose errors are alike; the gamma distribution that fits
    those of the tables tells how improbable so small a one is.  Counts are whole: an error of a
    half is added, so that few of them are not near by chance.
    """

    root: Floats
    """Of the counts that are expected in the file, ascending."""
    mean: float
    variance: float

    @classmethod
    def anew(cls, held: Indices, rows: int) -> DrawnCounts:
        """For so many rows of other people, who lie as far apart as halves of the original do.

        People drawn from it with replacement lie farther where combinations are of few rows: some
        of these are drawn several times, and others never.
        """
        people = int(held.sum())
        draws = Randomness.seeded(0).key("people drawn anew").generator()
        half = draws.multivariate_hypergeometric(held, people // 2, _TABLES, method="marginals")
        tables = np.stack([np.sort(half, axis=1), np.sort(held - half, axis=1)])
        usual = (np.diff(np.sqrt(tables), axis=0) ** 2).sum(axis=(0, 2)) * (1 + rows / people) / 2
        root = np.sqrt(np.sort(held) * (rows / people))
        return cls(root, float(usual.mean()), float(usual.var()))

    @classmethod
    def shuffled(cls, held: Indices, one: Indices, two: Indices) -> DrawnCounts:
        """For two columns of so many rows a value, each of which was shuffled by itself."""
        draws = Randomness.seeded(0).key("columns shuffled").generator()
        left = np.tile(two, (_TABLES, 1))
        tables = []
        for rows in one[:-1]:
            beside, missing = left.sum(axis=1), np.full(_TABLES, rows)
            part = np.empty_like(left)
            for place, there in enumerate(left.T):
                beside = beside - there
                part[:, place] = draws.hypergeometric(there, beside, missing)
                missing = missing - part[:, place]
            left = left - part
            tables.append(part)
        return cls.of(held, np.concatenate([*tables, left], axis=1))

    @classmethod
    def of(cls, held: Indices, drawn: Indices) -> DrawnCounts:
        """For tables that were drawn, shape (tables, combinations)."""
        cells = max(len(held), drawn.shape[1])
        root = np.sqrt(np.sort(held) * (drawn[0].sum() / held.sum()))
        root = np.pad(root, (cells - len(held), 0))
        tables = np.pad(np.sort(drawn, axis=1), ((0, 0), (cells - drawn.shape[1], 0)))
        usual = ((np.sqrt(tables) - root) ** 2).sum(axis=1)
        return cls(root, float(usual.mean()), float(usual.var()))

    def chance(self, shown: Indices) -> float:
        """Of counts that lie as near; 1 where all tables lie as near."""
        if not self.variance:
            return 1.0
        root, file = self.root, np.sqrt(np.sort(shown))
        both = min(len(root), len(file))
        found = ((file[len(file) - both :] - root[len(root) - both :]) ** 2).sum()
        found += (root[: len(root) - both] ** 2).sum() + (file[: len(file) - both] ** 2).sum()
        found += (1 / (16 * np.maximum(root, 1) ** 2)).sum() + (len(file) - both) / 16
        shape, scale = self.mean**2 / self.variance, self.mean / self.variance
        return float(special.gammainc(shape, found * scale))


def fit_sorted(held: Indices, shown: Indices) -> bool:
    """Whether values of a file stand as often as those of the original, whatever their names.

    All rows, but few that are others; or about as often, where the file is a sample or larger.
    """
    own, file = sorted_counts(held, shown)
    people, rows = int(own.sum()), int(file.sum())
    astray = abs(people - rows)
    if astray <= _LEFT_OUT * people:
        return bool(np.abs(own - file).sum() <= max(astray, _ASTRAY * people))
    as_many = int(file[own == 0].sum()) <= _ASTRAY * rows  # no more values than the original has
    return as_many and rows >= _EACH * int((file > 0).sum()) and _fit(own, file) > _FITS


def stand_as_others(held: Indices, shown: Indices) -> bool:
    """Whether values stand as often under their names as those of people who are drawn alike."""
    return _fit(held, shown, of_others=True) > _NOT_THESE


def _fit(held: Indices, shown: Indices, *, of_others: bool = False) -> float:
    """The probability of chi-square that values of a sample of the original stand as these do.

    ``of_others``: that those of people who are drawn as the original was stand so.
    1 where there are fewer than three values to compare; values of few rows are taken together.
    """
    people, rows = int(held.sum()), int(shown.sum())
    expected = held * (rows / max(people, 1))
    often = expected >= _EXPECTED
    pairs = [np.append(each[often], each[~often].sum()) for each in (expected, shown)]
    usual, seen = (each[pairs[0] > 0] for each in pairs)
    if len(usual) < _KINDS:
        return 1.0
    left = 1 - rows / people if rows < people else 1.0
    left = 1 + rows / people if of_others else left
    return float(special.chdtrc(len(usual) - 1, ((seen - usual) ** 2 / usual).sum() / left))
