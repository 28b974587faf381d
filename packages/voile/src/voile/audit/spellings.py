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
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile_base.ondemand import dataclass

__all__ = ["ANYTHING", "SetReader", "ends_of"]


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
