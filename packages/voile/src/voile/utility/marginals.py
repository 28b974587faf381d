"""How columns, and pairs of columns, are distributed before and after; private.

What it does: counts the original rows in the bins of each column, and the published rows, each
spread over what its entry stands for (``covering``); for pairs, in the products of two bins, as if
what a row hides of one column were independent of what it hides of the other.

Sources: total variation, Jensen-Shannon and Kullback-Leibler as in ``models.divergence``; the
first-order distance of Wasserstein, or earth mover's distance, of numbers, dates and times.
Divergences of low-dimensional marginals as utility: Kifer and Gehrke, "Injecting utility into
anonymized datasets" (SIGMOD 2006); McKenna, Miklau and Sheldon, "Winning the NIST contest" (2021).

What is compared:

- Bins.  Numbers and dates: bins of about as many original rows each (``binning.even_bins``), 20 for
  single columns and 10 for pairs; texts: the 20 commonest, or 10, and one bin of the others;
  missing values are a bin.
- Values with noise are compared as the values nearest to them; Wasserstein distances and charts
  take them as the numbers they are.
- Only shares of rows are compared: a release of every second row may have all marginals right.
- Kullback-Leibler is smoothed by half a row in each bin that some row lies in, because it is
  infinite otherwise; compare it between releases of one table only.
- Useless is a release that shows no value of any column: each spread over its whole domain as
  ``covering`` spreads it, texts evenly, numbers over the line.  It is no bound: much noise, or rows
  that were chosen for what they hold, can be further away.

Cost: O(d + e) a column of d values and e entries.  For each pair of columns with b bins a sort of
the n rows by their pairs of entries, and O(n b).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.stats import wasserstein_distance

from voile.models.divergence import jensen_shannon, kl_smoothed, total_variation
from voile.utility.binning import Bins, even_bins, readable_bins
from voile.utility.covering import ColumnCovering, coverings, published_columns
from voile.utility.expectation import expectations
from voile.utility.measurement import Measurement
from voile.utility.protocol import Comparison
from voile.utility.roles import columns_in_role

__all__ = ["ColumnDistribution", "MarginalDivergence", "PairDivergence", "distributions"]

Floats = NDArray[np.float64]

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


def _readable(covering: ColumnCovering) -> tuple[Bins, Floats]:
    """Bins of a chart, and published rows in each: those with noise where they lie on the line."""
    value = covering.low if covering.noisy and len(covering.rows) else None
    if value is None or np.isnan(value).any():
        bins = readable_bins(covering.domain)
        return bins, bins.counts(covering.spread.spread(covering.rows))
    bins = readable_bins(covering.domain, (float(value.min()), float(value.max())))
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
        found = coverings(comparison)
        marginals = {
            name: _Marginal.of(covering, even_bins(covering.domain, self.bins, self.texts))
            for name, covering in found.items()
        }
        measured = [_divergence("marginal", kind, marginals) for kind in _KINDS]
        lines = {
            name: _Line.of(covering)
            for name, covering in found.items()
            if covering.points is not None
        }
        return [*measured, _wasserstein(lines)] if lines else measured


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
        binned = {
            name: _Binned.of(covering, even_bins(covering.domain, self.bins, self.texts))
            for name, covering in coverings(comparison).items()
        }
        pairs = {
            f"{a}, {b}": _Marginal.of_pair(binned[a], binned[b]) for a, b in combinations(binned, 2)
        }
        return [_divergence("pair", kind, pairs) for kind in _KINDS[:2]]


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
    def of(cls, covering: ColumnCovering, bins: Bins) -> _Marginal:
        """One column."""
        domain = covering.domain
        after = covering.spread.spread(covering.rows)
        unknown = domain.weight / domain.weight.sum() * domain.rows.sum()
        return cls(*(bins.counts(rows) for rows in (domain.rows, after, unknown)))

    @classmethod
    def of_pair(cls, one: _Binned, other: _Binned) -> _Marginal:
        """Two columns."""
        sides = len(one.bins), len(other.bins)
        cell = one.own * sides[1] + other.own
        before = np.bincount(cell, minlength=sides[0] * sides[1]).astype(np.float64)
        entries = coo_array(
            (np.ones(len(one.entry)), (one.entry, other.entry)),
            shape=(len(one.distributions), len(other.distributions)),
        ).tocsr()
        after: Floats = one.distributions.T @ (entries @ other.distributions)
        total = len(one.own)
        unknown = np.outer(one.unknown, other.unknown) * total
        independent = np.outer(one.marginal, other.marginal) / total
        return cls(before, after.ravel(), unknown.ravel(), independent.ravel())


@dataclass(frozen=True, eq=False)
class _Binned:
    """A column in bins: of original rows, of entries, and of a row of which nothing is known."""

    bins: Bins
    own: NDArray[np.int32]
    """The bin of each original row."""
    entry: NDArray[np.int32]
    """The entry of each published row."""
    distributions: Floats
    """Shape (e, b): shares of each entry."""
    unknown: Floats
    """Shape (b,), adds up to 1."""
    marginal: Floats
    """Shape (b,): original rows."""

    @classmethod
    def of(cls, covering: ColumnCovering, bins: Bins) -> _Binned:
        """A column in these bins."""
        domain = covering.domain
        return cls(
            bins=bins,
            own=bins.of_value.astype(np.int32)[covering.own],
            entry=covering.entry,
            distributions=expectations(covering.spread, bins.indicators),
            unknown=bins.counts(domain.weight / domain.weight.sum()),
            marginal=bins.counts(domain.rows),
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


def _divergence(of: str, kind: _Kind, marginals: Mapping[str, _Marginal]) -> Measurement:
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
        notes=notes if independent else (),
    )


@dataclass(frozen=True, eq=False)
class _Line:
    """The distances by which the values of a column moved, as shares of their extent."""

    moved: float
    unknown: float
    """Where all rows stand for the whole domain."""

    @classmethod
    def of(cls, covering: ColumnCovering) -> _Line:
        """Of the values that are not missing; those with noise are where they lie on the line."""
        domain = covering.domain
        assert domain.points is not None
        before = domain.points, domain.rows.astype(np.float64)
        after = domain.points, covering.spread.spread(covering.rows)
        if covering.noisy and covering.low is not None:
            after = covering.low, covering.rows.astype(np.float64)
        return cls(_moved(before, after), _moved(before, (domain.points, domain.weight)))


def _wasserstein(lines: Mapping[str, _Line]) -> Measurement:
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
