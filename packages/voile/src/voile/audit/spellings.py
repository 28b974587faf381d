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
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from voile_base.ondemand import dataclass

__all__ = [
    "ANYTHING",
    "SetReader",
    "behind_a_curve",
    "ends_of",
    "last_digit",
    "rescaled",
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
_DIGITS = 9
"""Behind the point, beyond which numbers are as fine as a machine has them."""
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


def last_digit(cells: Iterable[str | None]) -> float:
    """The unit of the last digit that texts of numbers have; 0 where they are not rounded."""
    digits = 0
    for text in cells:
        if text is not None:
            _, point, behind = text.strip().partition(".")
            digits = max(digits, len(behind) if point else 0)
            if digits > _DIGITS or "e" in text.lower():
                return 0.0
    return float(10.0**-digits)


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
        return found if _stand_as_often(seen, self.count, share) else None

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


def _stand_as_often(seen: Indices, count: Indices, share: float | None = None) -> bool:
    """Whether values stand in so many rows as in a share of the original's, but for chance."""
    share = seen.sum() / count.sum() if share is None else share
    expected = count * share
    chi = ((seen - expected) ** 2 / expected).sum() / max(1 - share, _LEAST)
    return bool(chi <= len(count) + 4 * np.sqrt(2 * len(count)))


def behind_a_curve(own: Floats, cells: Floats, rows: Indices) -> Floats | None:
    """The value of the original behind each of e different numbers; None: they are of no curve.

    ``own`` are those of all n people, and ``rows`` (e,) says how many rows show each number.  It is
    taken for a curve, up or down, where there are as many different numbers on both sides, and each
    stands in as many rows as that of its rank; where nearly all values differ nothing tells that.
    """
    values, count = np.unique(own[np.isfinite(own)], return_counts=True)
    there = np.flatnonzero(np.isfinite(cells) & (rows > 0))
    if len(there) != len(values) or (count > 1).sum() < _FEWEST:
        return None
    up = there[np.argsort(cells[there], kind="stable")]
    for order in (up, up[::-1]):
        if _stand_as_often(rows[order], count):
            read = np.full(len(cells), np.nan)
            read[order] = values
            return read
    return None
