"""Bins of the values of a column: readable ones for charts, even ones for divergences.

- Readable: numbers in steps of 1, 2 or 5 times a power of ten; dates and times in minutes, hours,
  days, weeks, months, quarters, years or several years; at most ``MOST_BINS``.  Numbers of few
  different values, texts and truth values one by one, the rarest texts together.  Where values are
  missing they are a bin more, which has no borders, so that none are given.
- Even: runs of ascending values that hold about as many original rows each, found one after the
  other, so that a value which stands in many rows has a bin of its own and leaves the others to the
  rest.  Missing values are a bin.

Cost: O(d) for d values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor, isclose, log10

import numpy as np
from numpy.typing import NDArray

from voile.utility.domain import OriginalDomain

__all__ = ["MOST_BINS", "MOST_TEXTS", "Bins", "even_bins", "readable_bins"]

MOST_BINS = 30
"""Bins of numbers and dates in a chart, the one of missing values not counted."""
MOST_TEXTS = 20
"""Values that are counted one by one; the others are one."""

_MISSING = "missing"
_FEW = 12
"""Different numbers up to which each is counted by itself."""

_STEPS = (1 / 1440, 5 / 1440, 15 / 1440, 1 / 24, 3 / 24, 6 / 24, 1.0, 7.0)
"""Minutes, hours, a day and a week, in days."""
_MONTHS = (1, 3, 12, 60, 120, 600, 1200, 6000, 12_000)
_EPOCH = 1970 * 12
"""Months from the year 0 to that from which days are counted."""

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_Line = tuple[list[float], list[str]]


@dataclass(frozen=True, eq=False)
class Bins:
    """The b bins of the d values of a column."""

    of_value: Indices
    """Shape (d,): the bin of each value."""
    labels: tuple[str, ...]
    line: tuple[float, ...] | None = None
    """Ascending borders of the bins of a line, which come first; None where there are none."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def edges(self) -> tuple[float, ...] | None:
        """Ascending borders, b + 1; None where bins are not all of one line."""
        return self.line if self.line and len(self.line) == len(self) + 1 else None

    def bins_of(self, points: Floats) -> Indices:
        """The bins of the line in which points lie; those beyond its ends in the outermost."""
        assert self.line is not None
        last = len(self.line) - 2
        return np.clip(np.searchsorted(self.line, points, side="right") - 1, 0, last)

    def counts(self, rows: NDArray[np.floating] | Indices) -> Floats:
        """Rows of each bin, shape (b,), from the rows of each value."""
        return np.bincount(self.of_value, rows, len(self)).astype(np.float64)

    @property
    def indicators(self) -> Floats:
        """Shape (d, b): 1 where a value lies in a bin."""
        return np.eye(len(self))[self.of_value]


def readable_bins(domain: OriginalDomain, reach: tuple[float, float] | None = None) -> Bins:
    """Bins for a chart; see the module.  ``reach`` is a part of the line that they cover, too."""
    points = domain.points
    first = int(domain.values.missing)
    if points is None or np.isnan(points).all():
        return _one_by_one(domain, MOST_TEXTS)
    if domain.values.numbers is not None and len(domain) - first <= _FEW and reach is None:
        return _one_by_one(domain, _FEW + 1)
    known = points[first:]
    low, high = reach or (np.inf, -np.inf)
    ends = min(low, float(known[0])), max(high, float(known[-1]))
    edges, labels = _line_bins(domain, *ends)
    bins = Bins(np.zeros(0, dtype=np.int64), tuple(labels), tuple(edges))
    index = bins.bins_of(known)
    if not first:
        return replace(bins, of_value=index)
    missing = np.append(len(labels), index)
    return replace(bins, of_value=missing, labels=(*labels, _MISSING))


def even_bins(domain: OriginalDomain, count: int, texts: int) -> Bins:
    """At most ``count`` bins of about as many rows, or ``texts`` texts and one of the others."""
    if domain.points is None:
        return _one_by_one(domain, texts)
    first = int(domain.values.missing)
    rows = np.cumsum(domain.rows[first:])
    stops: list[int] = []
    begin, counted = 0, 0
    for left in range(count, 0, -1):
        if begin == len(rows):
            break
        target = counted + (int(rows[-1]) - counted) / left
        stop = int(np.searchsorted(rows, target, side="left"))
        # Whichever border is nearer, as long as the bin holds a value.
        if stop == begin or rows[stop] - target <= target - rows[stop - 1]:
            stop += 1
        stops.append(stop)
        begin, counted = stop, int(rows[stop - 1])
    index = np.searchsorted(stops, np.arange(len(rows)), side="right")
    borders = zip([0, *stops], stops, strict=False)
    shown = domain.values.texts[first:]
    labels = [_run(shown[low], shown[high - 1]) for low, high in borders]
    if not first:
        return Bins(index, tuple(labels))
    return Bins(np.append(len(labels), index), (*labels, _MISSING))


def _run(low: str | None, high: str | None) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _one_by_one(domain: OriginalDomain, most: int) -> Bins:
    """The values that stand in most rows, in their order, and one bin of the others."""
    texts = [_MISSING if text is None else text for text in domain.values.texts]
    if len(texts) <= most:
        return Bins(np.arange(len(texts)), tuple(texts))
    common = np.sort(np.argsort(-domain.rows, kind="stable")[:most])
    index = np.full(len(texts), most)
    index[common] = np.arange(most)
    others = f"{len(texts) - most:,} other values"
    return Bins(index, (*(texts[value] for value in common), others))


def _line_bins(domain: OriginalDomain, low: float, high: float) -> _Line:
    """Borders from the lowest point to the highest, and the names of the bins between."""
    numbers = domain.values.numbers
    if numbers is not None or domain.values.kind == "duration":
        return _number_bins(low, high, whole=numbers is not None and numbers.scale == 0)
    least = 1.0 if domain.values.kind == "date" else 0.0
    for step in _STEPS:
        if step >= least and _multiple(high, step) - _multiple(low, step) < MOST_BINS:
            return _clock_bins(domain.values.kind, low, high, step)
    return _calendar_bins(low, high)


def _number_bins(low: float, high: float, *, whole: bool) -> _Line:
    """Borders at multiples of a round step; whole numbers are named by the first and the last."""
    least = 1.0 if whole or high == low else 0.0
    step = _round_step(max((high - low) / MOST_BINS, least))
    if _multiple(high, step) - _multiple(low, step) >= MOST_BINS:  # the ends lie badly
        step = _round_step(step * 1.01)
    digits = max(0, -floor(log10(step)))
    indices = range(_multiple(low, step), _multiple(high, step) + 2)
    edges = [round(index * step, digits) for index in indices]
    texts = [f"{edge:.{digits}f}" for edge in edges]
    if whole:
        labels = [
            _run(left, f"{edge - 1:.0f}") for left, edge in zip(texts, edges[1:], strict=False)
        ]
    else:
        labels = [f"{left} to {right}" for left, right in pairwise(texts)]
    return edges, labels


def _multiple(point: float, step: float) -> int:
    """How many steps lie below a point; 1.9 holds nineteen of 0.1, though a quotient holds less."""
    steps = point / step
    return round(steps) if isclose(steps, round(steps), rel_tol=1e-12) else floor(steps)


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below."""
    power = 10.0 ** floor(log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def _clock_bins(kind: str, low: float, high: float, step: float) -> _Line:
    """Bins of minutes, hours, days or weeks, named by their beginning."""
    indices = range(_multiple(low, step), _multiple(high, step) + 2)
    edges = [index * step for index in indices]
    seconds = np.round(np.array(edges[:-1]) * 86_400).astype("datetime64[s]")
    texts = [str(second).replace("T", " ")[:16] for second in seconds]
    if kind == "time":
        return edges, [text[11:] for text in texts]
    if step < 1:
        return edges, texts
    days = [text[:10] for text in texts]
    return edges, days if step == 1 else [f"week from {day}" for day in days]


def _calendar_bins(low: float, high: float) -> _Line:
    """Bins of months, quarters, years or several years."""
    first, last = (
        int(np.datetime64(floor(day), "D").astype("datetime64[M]").astype(np.int64)) + _EPOCH
        for day in (low, high)
    )
    step = next(step for step in _MONTHS if last // step - first // step < MOST_BINS)
    begins = [index * step for index in range(first // step, last // step + 2)]
    months = (np.array(begins) - _EPOCH).astype("datetime64[M]")
    edges = months.astype("datetime64[D]").astype(np.float64).tolist()
    return edges, [_period(begin, step) for begin in begins[:-1]]


def _period(begin: int, months: int) -> str:
    year, month = divmod(begin, 12)
    if months == 1:
        return f"{year:04d}-{month + 1:02d}"
    if months == 3:
        return f"{year:04d}-Q{month // 3 + 1}"
    return _run(f"{year:04d}", f"{year + months // 12 - 1:04d}")
