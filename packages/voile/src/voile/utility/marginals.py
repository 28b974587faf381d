"""How columns, and pairs of columns, are distributed before and after; private.

What it does: counts the original rows in the bins of each column, and the published rows, each
spread over what its entry stands for (``covering``); for pairs, in the products of two bins, as if
what a row hides of one column were independent of what it hides of the other.

Sources: total variation, Jensen-Shannon and Kullback-Leibler as in ``utility.divergence``; the
first-order distance of Wasserstein, or earth mover's distance, of numbers, dates and times.
Divergences of low-dimensional marginals as utility: Kifer and Gehrke, "Injecting utility into
anonymized datasets" (SIGMOD 2006); McKenna, Miklau and Sheldon, "Winning the NIST contest" (2021).

What is compared:

- Bins.  Numbers and dates: bins of about as many original rows each (``binning.even_bins``), 20 for
  single columns and 10 for pairs; texts: the 20 commonest, or 10, and one bin of the others;
  missing values are a bin.
- Values with noise are compared as the values nearest to them; Wasserstein distances and charts
  take them as the numbers they are.
- Where the plan names sampling weights that the release shows, rows count by them, a mean of 1;
  bins are of rows all the same.
- Only shares of rows are compared: a release of every second row may have all marginals right.
- Kullback-Leibler is smoothed by half a row in each bin that some row lies in, because it is
  infinite otherwise; compare it between releases of one table only.
- Useless is a release that shows no value of any column: each spread over its whole domain as
  ``covering`` spreads it, texts evenly, numbers over the line.  It is no bound: much noise, or rows
  that were chosen for what they hold, can be further away.

Cost: O(d + e) a column of d values and e entries.  For each pair of columns with b bins a sort of
the n rows by their pairs of entries, and O(n b).

Bins of the values of a column: readable ones for charts, even ones for divergences.

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import floor, isclose, log, log10
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from voile.utility.covering import (
    ColumnCovering,
    OriginalDomain,
    columns_in_role,
    coverings,
    expectations,
    joint_expectations,
    published_columns,
    sampling_weights,
)
from voile.utility.divergence import jensen_shannon, kl_smoothed, total_variation
from voile.utility.protocol import Comparison, Measurement
from voile_base.ondemand import dataclass

__all__ = [
    "MOST_BINS",
    "MOST_TEXTS",
    "ColumnDistribution",
    "MarginalDivergence",
    "PairDivergence",
    "distributions",
]


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
class _Bins:
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


def _readable_bins(domain: OriginalDomain, reach: tuple[float, float] | None = None) -> _Bins:
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
    bins = _Bins(np.zeros(0, dtype=np.int64), tuple(labels), tuple(edges))
    index = bins.bins_of(known)
    if not first:
        return replace(bins, of_value=index)
    missing = np.append(len(labels), index)
    return replace(bins, of_value=missing, labels=(*labels, _MISSING))


def _even_bins(domain: OriginalDomain, count: int, texts: int) -> _Bins:
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
        return _Bins(index, tuple(labels))
    return _Bins(np.append(len(labels), index), (*labels, _MISSING))


def _run(low: str | None, high: str | None) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _one_by_one(domain: OriginalDomain, most: int) -> _Bins:
    """The values that stand in most rows, in their order, and one bin of the others."""
    texts = [_MISSING if text is None else text for text in domain.values.texts]
    if len(texts) <= most:
        return _Bins(np.arange(len(texts)), tuple(texts))
    common = np.sort(np.argsort(-domain.rows, kind="stable")[:most])
    index = np.full(len(texts), most)
    index[common] = np.arange(most)
    others = f"{len(texts) - most:,} other values"
    return _Bins(index, (*(texts[value] for value in common), others))


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


_ROLES = {
    "quasi_identifiers": "quasi-identifier",
    "sensitive": "sensitive",
    "ranking": "ranking",
    "keep": "keep",
}


@dataclass(frozen=True)
class ColumnDistribution:
    """How the values of one column are distributed, before and after; private."""

    column: str
    role: str
    """"quasi-identifier", "sensitive", "ranking" or "keep"."""
    kind: str
    """Of the original's values: "number", "text", "date", ..."""
    labels: tuple[str, ...]
    """What each of the b bins or values is called."""
    edges: tuple[float, ...] | None
    """Ascending borders of the b bins, b + 1, dates as days since 1970; None where values were
    counted one by one, or some are missing."""
    before: tuple[float, ...]
    """Shares of the original rows, (b,); they add up to 1."""
    after: tuple[float, ...]
    """Shares of the published rows, (b,), which add up to 1, or to 0 where there is none."""


def distributions(comparison: Comparison) -> tuple[ColumnDistribution, ...]:
    """All published columns, in readable bins, in the order of the original; private.

    Raises ``TableError`` or ``PlanError`` where release, original and plan disagree.
    """
    roles = {
        name: title for role, title in _ROLES.items() for name in columns_in_role(comparison, role)
    }
    found = []
    for name, covering in coverings(comparison).items():
        bins, after = _readable(covering)
        found.append(
            ColumnDistribution(
                column=name,
                role=roles.get(name, "keep"),
                kind=covering.values.kind,
                labels=bins.labels,
                edges=bins.edges,
                before=tuple(_shares(bins.counts(covering.domain.rows)).tolist()),
                after=tuple(_shares(after).tolist()),
            )
        )
    return tuple(found)


def _readable(covering: ColumnCovering) -> tuple[_Bins, Floats]:
    """Bins of a chart, and published rows in each: those with noise where they lie on the line."""
    value = covering.low if covering.noisy and len(covering.rows) else None
    if value is None or np.isnan(value).any():
        bins = _readable_bins(covering.domain)
        return bins, bins.counts(covering.spread.spread(covering.rows))
    bins = _readable_bins(covering.domain, (float(value.min()), float(value.max())))
    return bins, np.bincount(bins.bins_of(value), covering.rows, len(bins)).astype(np.float64)


@dataclass(frozen=True)
class MarginalDivergence:
    """How far each column's distribution in the release is from the original's."""

    bins: int = 20
    """Bins of numbers and dates."""
    texts: int = 20
    """Texts that are counted one by one."""
    name: ClassVar[str] = "marginal-divergence"

    def refusal(self, comparison: Comparison) -> str | None:
        """Some column must be published, and some row."""
        return _nothing_to_compare(comparison, columns=1)

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Total variation, Jensen-Shannon, Kullback-Leibler, and Wasserstein where there is a line.

        The mean over columns; parts by column.
        """
        found, weights = coverings(comparison), _weights(comparison)
        marginals = {
            name: _Marginal.of(
                covering, _even_bins(covering.domain, self.bins, self.texts), weights
            )
            for name, covering in found.items()
        }
        notes = () if weights is None else (_WEIGHED,)
        measured = [_divergence("marginal", kind, marginals, notes) for kind in _KINDS]
        lines = {
            name: _MarginalsLine.of(covering, weights)
            for name, covering in found.items()
            if covering.points is not None
        }
        return [*measured, _wasserstein(lines, notes)] if lines else measured


@dataclass(frozen=True)
class PairDivergence:
    """How far the joint distribution of each pair of columns is from the original's."""

    bins: int = 10
    """Bins of numbers and dates."""
    texts: int = 10
    """Texts that are counted one by one."""
    name: ClassVar[str] = "pair-divergence"

    def refusal(self, comparison: Comparison) -> str | None:
        """Some pair of columns must be published, and some row."""
        return _nothing_to_compare(comparison, columns=2)

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Total variation and Jensen-Shannon: the mean over pairs; parts by pair."""
        weights = _weights(comparison)
        binned = {
            name: _Binned.of(covering, _even_bins(covering.domain, self.bins, self.texts), weights)
            for name, covering in coverings(comparison).items()
        }
        pairs = {
            f"{a}, {b}": _Marginal.of_pair(binned[a], binned[b], weights)
            for a, b in combinations(binned, 2)
        }
        notes = () if weights is None else (_WEIGHED,)
        return [_divergence("pair", kind, pairs, notes) for kind in _KINDS[:2]]


_Weights = tuple[Floats, Floats] | None
"""Of the N original and the n published rows, a mean of 1 each; None: rows count 1 each."""
_WEIGHED = "rows count by their sampling weights"


def _weights(comparison: Comparison) -> _Weights:
    found = sampling_weights(comparison)
    return None if found is None else (found[0] / found[0].mean(), found[1] / found[1].mean())


def _counted(covering: ColumnCovering, weights: _Weights) -> tuple[Floats, Floats]:
    """Original rows of each value (d,), and published rows of each entry (e,), by weights."""
    if weights is None:
        return covering.domain.rows.astype(np.float64), covering.rows.astype(np.float64)
    before = np.bincount(covering.own, weights[0], len(covering.values))
    after = np.bincount(covering.entry, weights[1], len(covering.rows))
    return before.astype(np.float64), after.astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Marginal:
    """Rows of the b bins of a column, or of the products of two columns' bins; shape (b,) each."""

    before: Floats
    after: Floats
    unknown: Floats
    """Where all rows stand for the whole domain."""
    independent: Floats | None = None
    """Of pairs: the original's rows if its columns were independent."""

    @classmethod
    def of(cls, covering: ColumnCovering, bins: _Bins, weights: _Weights) -> _Marginal:
        """One column."""
        domain = covering.domain
        before, rows = _counted(covering, weights)
        after = covering.spread.spread(rows)
        unknown = domain.weight / domain.weight.sum() * before.sum()
        return cls(*(bins.counts(rows) for rows in (before, after, unknown)))

    @classmethod
    def of_pair(cls, one: _Binned, other: _Binned, weights: _Weights) -> _Marginal:
        """Two columns."""
        sides = len(one.bins), len(other.bins)
        cell = one.own * sides[1] + other.own
        of_rows, of_shown = weights or (None, None)
        before = np.bincount(cell, of_rows, sides[0] * sides[1]).astype(np.float64)
        after = joint_expectations(
            (one.distributions, one.entry), (other.distributions, other.entry), of_shown
        )
        total = len(one.own)
        unknown = np.outer(one.unknown, other.unknown) * total
        independent = np.outer(one.marginal, other.marginal) / total
        return cls(before, after.ravel(), unknown.ravel(), independent.ravel())


@dataclass(frozen=True, eq=False)
class _Binned:
    """A column in bins: of original rows, of entries, and of a row of which nothing is known."""

    bins: _Bins
    own: NDArray[np.int32]
    """The bin of each original row."""
    entry: NDArray[np.integer]
    """The entry of each published row."""
    distributions: Floats
    """Shape (e, b): shares of each entry."""
    unknown: Floats
    """Shape (b,), adds up to 1."""
    marginal: Floats
    """Shape (b,): original rows."""

    @classmethod
    def of(cls, covering: ColumnCovering, bins: _Bins, weights: _Weights) -> _Binned:
        """A column in these bins."""
        domain = covering.domain
        return cls(
            bins=bins,
            own=bins.of_value.astype(np.int32)[covering.own],
            entry=covering.entry,
            distributions=expectations(covering.spread, bins.indicators),
            unknown=bins.counts(domain.weight / domain.weight.sum()),
            marginal=bins.counts(_counted(covering, weights)[0]),
        )


@dataclass(frozen=True)
class _Kind:
    """A divergence of two distributions, from counts."""

    name: str
    title: str
    meaning: str
    of: Callable[[Floats, Floats], float]


_KINDS = (
    _Kind(
        "total-variation",
        "total variation",
        "the share of rows that would have to move for the release to be distributed like the "
        "original",
        total_variation,
    ),
    _Kind(
        "jensen-shannon",
        "Jensen-Shannon divergence",
        "how well a row tells whether it comes from the original or the release, in bits",
        lambda before, after: jensen_shannon(before, after) / log(2),
    ),
    _Kind(
        "kullback-leibler",
        "Kullback-Leibler divergence",
        "nats lost by expecting the release where the original comes, smoothed by half a row a bin",
        kl_smoothed,
    ),
)


def _divergence(
    of: str, kind: _Kind, marginals: Mapping[str, _Marginal], weighed: tuple[str, ...]
) -> Measurement:
    """One divergence, of columns or of pairs, as the mean over all."""
    parts = {name: kind.of(found.before, found.after) for name, found in marginals.items()}
    useless = [kind.of(found.before, found.unknown) for found in marginals.values()]
    independent = [
        kind.of(found.before, found.independent)
        for found in marginals.values()
        if found.independent is not None
    ]
    many = "columns" if of == "marginal" else "pairs of columns"
    notes = (
        "independent columns that are distributed as in the original come to "
        f"{_mean(independent):.4g}",
    )
    return Measurement(
        measure=f"{of}-{kind.name}",
        title=f"{of.capitalize()} {kind.title}",
        value=_mean(list(parts.values())),
        better="lower",
        meaning=f"{kind.meaning}, on average over {many}",
        untouched=0.0,
        useless=_mean(useless),
        parts=parts,
        notes=(*weighed, *notes) if independent else weighed,
    )


@dataclass(frozen=True, eq=False)
class _MarginalsLine:
    """The distances by which the values of a column moved, as shares of their extent."""

    moved: float
    unknown: float
    """Where all rows stand for the whole domain."""

    @classmethod
    def of(cls, covering: ColumnCovering, weights: _Weights) -> _MarginalsLine:
        """Of the values that are not missing; those with noise are where they lie on the line."""
        domain = covering.domain
        assert domain.points is not None
        own, rows = _counted(covering, weights)
        before = domain.points, own
        after = domain.points, covering.spread.spread(rows)
        if covering.noisy and covering.low is not None:
            after = covering.low, rows
        return cls(_moved(before, after), _moved(before, (domain.points, domain.weight)))


def _wasserstein(lines: Mapping[str, _MarginalsLine], notes: tuple[str, ...]) -> Measurement:
    """How far values move along the line, as a share of its length."""
    return Measurement(
        measure="marginal-wasserstein",
        title="Marginal Wasserstein distance",
        value=_mean([line.moved for line in lines.values()]),
        better="lower",
        meaning=(
            "how far values would have to move for the release to be distributed like the "
            "original, as a share of their extent, on average over columns of numbers and dates"
        ),
        untouched=0.0,
        useless=_mean([line.unknown for line in lines.values()]),
        parts={name: line.moved for name, line in lines.items()},
        notes=notes,
    )


def _moved(before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> float:
    """The distance between two distributions of points with weights, over the extent of the first.

    0 where the first holds a single point, or either none.
    """
    (points, rows), (others, of_others) = (
        (points[~np.isnan(points)], rows[~np.isnan(points)]) for points, rows in (before, after)
    )
    if len(points) < 2 or points[0] == points[-1] or not of_others.sum() > 0:
        return 0.0
    return float(wasserstein_distance(points, others, rows, of_others) / np.ptp(points))


def _shares(counts: Floats) -> Floats:
    """Counts as shares; all 0 where there is nothing."""
    total = counts.sum()
    return counts / total if total > 0 else counts


def _nothing_to_compare(comparison: Comparison, columns: int) -> str | None:
    if len(published_columns(comparison)) < columns:
        return (
            "it shows no column of the original"
            if columns == 1
            else "it shows fewer than two columns"
        )
    return None if comparison.published.frame.height else "it has no rows"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
