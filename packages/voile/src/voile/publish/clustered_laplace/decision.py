"""The decision: from counts of values and a budget to clusters, draws and noise.

Pure functions on small arrays; see the package's docstring for the method.

Clusters of values: neighbouring intervals that hold given shares of the rows.

``bounds = "public"``: the borders are private quantiles between the column's public bounds, each
drawn by the exponential mechanism; everything else about the clusters follows from them.

``bounds = "data"`` (the seed's Algorithm 2): the sorted rows are cut at the given shares, and a
cluster reaches from its least to its largest value.  Departures: rows with one value stay in one
cluster, that in which the middle of them falls; and a cluster whose rows all hold one value is
joined to its neighbour, because the seed gives it no noise at all and so publishes it.

Cost: O(d) for d distinct values.

How a row's budget is divided between drawing its cluster and drawing its noise.

With public bounds a row's cluster is itself a secret, so it is drawn: its own cluster with
probability e^m / (e^m + c - 1), every other with 1 / (e^m + c - 1), where m is the budget for it
(k-ary randomized response; Kairouz, Oh and Viswanath 2014).  The value is then moved into the
drawn cluster and gets noise of scale width / (budget that is left).

The more goes into the draw of the cluster, the fewer rows end in a wrong one, and the more noise
each gets.  The split taken is that with the least expected error among 40, for values that lie
uniformly in their clusters.  It is computed from the borders, which are differentially private,
and from the shares, which are public: it costs nothing.  Where no clusters at all would do better,
one cluster is taken.

Cost: O(c^2) for c clusters.

One column decided: its grid, its clusters, and what its budget buys.

With public bounds everything is computed from the bounds, the budget and private quantiles; with
clusters from the data, from the data.  A tenth of the budget draws the borders.  How the rest is
divided follows from the borders, so before they are drawn only the sum is known.

Several rows of a person.  Budgets here are those of a row.  Neighbours that differ in m rows cost m
times as much, and nothing less would do: given the borders, rows are drawn independently, so the
losses of m rows add up, and all of them may be the largest; and m rows may move the count below a
border by m, so its draw has m times the sensitivity, at m times the budget.

Cost: O(d) for d distinct values, and some 100 ns for each value and border.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.noise import Cluster
from voile.disclosure.replaced import Noisy
from voile.dp.accounting import PrivacyEvent
from voile.dp.discrete_noise import DiscreteLaplace, Grid, epsilon_for
from voile.dp.exact import Categorical, PrivateQuantiles
from voile.publish.contribution import EACH_PERSON_A_ROW, Contribution
from voile.schema.numbers import ExactNumbers
from voile.table.decisions import Perturbation
from voile.table.summaries import ValueCounts
from voile_base.errors import InfeasibleError
from voile_base.ondemand import dataclass
from voile_base.values import Json

__all__ = [
    "ColumnTerms",
    "NoisyColumn",
]


@dataclass(frozen=True, eq=False)
class _Clusters:
    """c clusters, ascending: cluster j reaches from ``low[j]`` to ``high[j]``, both inclusive.

    Numbers are in units of the grid, as Python or NumPy integers.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.low)

    @property
    def width(self) -> NDArray[np.int64]:
        """The range of each cluster."""
        return self.high - self.low

    def of(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cluster in which each value lies; a border belongs to the upper one."""
        found: NDArray[np.int64] = np.searchsorted(self.low[1:], units, side="right")
        return found

    def clamped(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each of d values moved into each of the c clusters: shape (d, c)."""
        moved: NDArray[np.int64] = np.clip(units[:, np.newaxis], self.low, self.high)
        return moved


def _clusters_of_data(
    units: NDArray[np.int64], rows: NDArray[np.int64], shares: NDArray[np.float64]
) -> _Clusters:
    """Cut d ascending values, each held by ``rows`` rows, at cumulative shares; private."""
    middle = np.cumsum(rows) - rows / 2
    cut = np.cumsum(shares)[:-1] * rows.sum()
    cluster = np.searchsorted(cut, middle)
    first = np.flatnonzero(np.diff(cluster, prepend=-1))
    last = np.append(first[1:], len(units)) - 1
    return _without_points(units[first], units[last])


def _without_points(low: NDArray[np.int64], high: NDArray[np.int64]) -> _Clusters:
    """Join each cluster of one value to the next one, the last one to the one before it."""
    joined: list[list[int]] = []
    for start, end in zip(low.tolist(), high.tolist(), strict=True):
        if joined and joined[-1][0] == joined[-1][1]:
            joined[-1][1] = end
        else:
            joined.append([start, end])
    if len(joined) > 1 and joined[-1][0] == joined[-1][1]:
        *_, last = joined.pop()
        joined[-1][1] = last
    borders = np.array(joined, dtype=np.int64)
    return _Clusters(borders[:, 0], borders[:, 1])


_STEPS = 40


@dataclass(frozen=True)
class _BudgetSplit:
    """What of a row's budget goes where; the sum is the whole."""

    membership: Decimal
    noise: Decimal
    clustered: bool
    """Whether to use the clusters; otherwise ``membership`` is 0."""

    def weights(self, clusters: int) -> tuple[int, int]:
        """Whole weights of a row's own cluster and of every other one.

        Their ratio is at most e^membership, so that the draw never costs more than it says.
        """
        other = 1 << 40
        return int(Fraction(self.membership.exp()) * other * (1 - Fraction(1, 1 << 80))), other


def _best_split(clusters: _Clusters, shares: NDArray[np.float64], epsilon: Decimal) -> _BudgetSplit:
    """The split of ``epsilon`` with the least expected error."""
    best = _BudgetSplit(Decimal(0), epsilon, clustered=False)
    if len(clusters) == 1:
        return best
    whole = _Clusters(clusters.low[:1], clusters.high[-1:])
    least = float(_noise(whole, best)[0])
    for step in range(1, _STEPS):
        membership = (epsilon * step / _STEPS).quantize(Decimal("1e-9"))
        split = _BudgetSplit(membership, epsilon - membership, clustered=True)
        error = _expected_error(clusters, shares, split)
        if error < least:
            best, least = split, error
    return best


def _expected_error(clusters: _Clusters, shares: NDArray[np.float64], split: _BudgetSplit) -> float:
    """Mean distance by which a value is moved, plus the mean noise.

    Published values are clamped, so that no noise counts for more than half of the whole range.
    """
    count = len(clusters)
    own, other = split.weights(count)
    chance = np.full((count, count), other / (own + (count - 1) * other))
    np.fill_diagonal(chance, own / (own + (count - 1) * other))
    middle = (clusters.low + clusters.high) / 2
    border = np.clip(middle[:, np.newaxis], clusters.low, clusters.high)
    error = np.abs(border - middle[:, np.newaxis]) + _noise(clusters, split)
    return float(shares @ (chance * error).sum(axis=1))


def _noise(clusters: _Clusters, split: _BudgetSplit) -> NDArray[np.float64]:
    """Mean size of the noise in each cluster."""
    most = (clusters.high[-1] - clusters.low[0]) / 2
    noise: NDArray[np.float64] = np.minimum(clusters.width / float(split.noise), most)
    return noise


@dataclass(frozen=True, eq=False)
class NoisyColumn:
    """What is decided for one column: clusters, the split of the budget, the grid."""

    column: str
    clusters: _Clusters
    split: _BudgetSplit
    grid: Grid
    confidence: Decimal
    borders: Decimal = Decimal(0)
    """Budget of the borders; 0 where there are none, or where they come from the data."""
    public: bool = False
    """Whether the clusters may be told: they come from public bounds and private quantiles."""
    contribution: Contribution = EACH_PERSON_A_ROW
    """How many rows neighbours differ in; budgets here are those of a row."""

    @property
    def noise(self) -> DiscreteLaplace:
        """Noise of scale width / budget for each cluster, in steps."""
        budget = Fraction(self.split.noise)
        return DiscreteLaplace(tuple(int(width) / budget for width in self.clusters.width.tolist()))

    @property
    def half_width(self) -> tuple[int, ...]:
        """The smallest radius that holds the noise with the asked confidence, in steps."""
        return self.noise.radius(self.confidence)

    @property
    def widest(self) -> Decimal:
        """Half of the widest interval, in units of the column."""
        steps = self.grid.number(max(self.half_width))
        return (
            steps.to_integral_value() if steps == steps.to_integral_value() else steps.normalize()
        )

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What is spent where bounds are public: on borders, clusters of rows, and noise."""
        spent = {
            "exponential": self.borders,
            "randomized-response": self.split.membership,
            "discrete-laplace": self.split.noise,
        }
        return self.contribution.replaced(spent)

    def document(self) -> Json:
        """What a release tells of the noise.

        For each cluster the scale and the half-width, which its intervals show anyway; with public
        bounds also its borders, and the probability of a row's own cluster and of any other.
        """
        clusters = [
            {
                "scale": float(scale * self.grid.step),
                "half_width": float(self.grid.number(radius)),
                **(self._borders_of(cluster) if self.public else {}),
            }
            for cluster, (scale, radius) in enumerate(
                zip(self.noise.scales, self.half_width, strict=True)
            )
        ]
        return {"step": float(self.grid.step), "clusters": clusters}

    def shown(self, shares: Sequence[Decimal], bounds: tuple[Decimal, Decimal] | None) -> Noisy:
        """What a release states of the column: ``document``, public shares and public bounds.

        Where fewer clusters are used than were asked for, rows are equally likely in each.
        """
        found = self.document()
        count = len(found["clusters"])
        shared = shares if len(shares) == count else [Decimal(1) / count] * count
        clusters = tuple(
            Cluster(share=float(share), **stated)
            for share, stated in zip(shared, found["clusters"], strict=True)
        )
        clamp = bounds and (float(bounds[0]), float(bounds[1]))
        return Noisy(step=found["step"], clusters=clusters, clamp=clamp)

    def _borders_of(self, cluster: int) -> dict[str, float]:
        own, other = self.split.weights(len(self.clusters))
        if not self.split.membership:
            own, other = 1, 0
        everything = own + (len(self.clusters) - 1) * other
        return {
            "low": float(self.grid.number(int(self.clusters.low[cluster]))),
            "high": float(self.grid.number(int(self.clusters.high[cluster]))),
            "own": own / everything,
            "other": other / everything,
        }

    def perturbation(
        self, values: ExactNumbers, bounds: tuple[Decimal, Decimal] | None
    ) -> Perturbation:
        """What the engine is to do with the rows of a column that holds these d distinct values.

        What is published is clamped to public bounds, where there are any.
        """
        steps = self.grid.units(values)
        clusters = self.clusters
        return Perturbation(
            column=self.column,
            values=values,
            membership=_membership(clusters.of(steps), len(clusters), self.split),
            start=clusters.clamped(steps),
            noise=self.noise,
            exponent=self.grid.exponent,
            half_width=np.array(self.half_width, dtype=np.int64),
            clamp=bounds and (self.grid.unit(bounds[0]), self.grid.unit(bounds[1])),
        )


def _membership(own: NDArray[np.int64], clusters: int, split: _BudgetSplit) -> Categorical:
    """The distribution by which each of d values draws a cluster; ``own`` is where it lies."""
    if not split.membership:
        return Categorical.certain(own, clusters)
    favoured, other = split.weights(clusters)
    weights = np.full((clusters, clusters), other, dtype=object)
    np.fill_diagonal(weights, favoured)
    distributions = Categorical.of_weights(weights)
    # One distribution for each cluster serves all its values.
    return replace(distributions, only=distributions.only[own])


_BORDERS = Decimal("0.1")
_FINENESS = 2**14
"""With the grid's own 2**10, steps that 2**24 of fit into the range, or into the noise."""


@dataclass(frozen=True)
class ColumnTerms:
    """What is asked of one column."""

    column: str
    shares: tuple[Decimal, ...]
    confidence: Decimal
    epsilon: Decimal | None
    """The budget of a row; None: what the error costs."""
    error: Decimal | None
    """The half-width of the widest interval, in units of the column; None: what comes of it."""
    bounds: tuple[Decimal, Decimal] | None
    """Public bounds; None: clusters and their ranges come from the data."""
    contribution: Contribution = EACH_PERSON_A_ROW
    """How many rows neighbours differ in; a budget is spent that many times."""

    def price(self, counts: ValueCounts) -> tuple[PrivacyEvent, ...]:
        """What a column spends, from public facts alone; nothing where clusters come from the data.

        Raises ``PlanError`` where its values are too large for the grid, so that no draw ends
        there.
        """
        if self.bounds is None:
            return ()
        grid, (low, high) = _public_grid(self)
        grid.units(counts.values)
        epsilon = _epsilon(self, high - low, grid)
        spent = {"discrete-laplace": epsilon}
        if len(self.shares) > 1:
            borders = epsilon * _BORDERS
            spent = {"exponential": borders, "clustered-laplace": epsilon - borders}
        return self.contribution.replaced(spent)

    def decide(self, counts: ValueCounts, words: Iterator[int]) -> NoisyColumn:
        """Clusters and noise of a column; ``words`` are uniform, for the private borders.

        Raises ``InfeasibleError`` where clusters come from data that hold one value only.
        """
        if self.bounds is None:
            return _from_data(self, counts)
        grid, ends = _public_grid(self)
        epsilon = _epsilon(self, ends[1] - ends[0], grid)
        if len(self.shares) == 1:
            whole = _noisy(self, _whole(*ends), _unsplit(epsilon), grid)
            return replace(whole, public=True)
        borders = epsilon * _BORDERS
        rows = self.contribution.rows
        drawn = _PrivateCounts(grid, counts, rows * borders, rows, words)
        clusters = _between(ends, self.shares, drawn)
        shares = np.full(len(clusters), 1 / len(clusters))
        if len(clusters) == len(self.shares):
            shares = np.array(self.shares, dtype=np.float64)
        split = _best_split(clusters, shares, epsilon - borders)
        used = clusters if split.clustered else _whole(*ends)
        return replace(_noisy(self, used, split, grid), borders=borders, public=True)


@dataclass(frozen=True, eq=False)
class _PrivateCounts:
    """What borders are drawn from, and with which budget."""

    grid: Grid
    counts: ValueCounts
    epsilon: Decimal
    rows: int
    """By which neighbours differ."""
    words: Iterator[int]


def _between(
    ends: tuple[int, int], shares: tuple[Decimal, ...], drawn: _PrivateCounts
) -> _Clusters:
    """Clusters that hold about these shares, between public ends, in steps.

    A cluster of one point is joined to its neighbour: a width of 0 would mean no noise.
    """
    cuts = tuple(Fraction(share) for share in accumulate(shares[:-1]))
    quantiles = PrivateQuantiles(cuts, *ends, drawn.epsilon, "replace", drawn.rows)
    steps = drawn.grid.units(drawn.counts.values)
    borders = quantiles.draw(steps, drawn.counts.total, drawn.words)
    inner, _ = np.unique(borders[borders < ends[1]], return_counts=True)  # loads no masked arrays
    edges = np.concatenate(([ends[0]], inner, [ends[1]])).astype(np.int64)
    return _Clusters(edges[:-1], edges[1:])


def _from_data(terms: ColumnTerms, counts: ValueCounts) -> NoisyColumn:
    """The seed's Algorithm 2."""
    values = counts.values
    spread = Fraction(int(values.units[-1] - values.units[0]), 10**values.scale)
    if not spread:
        msg = (
            f"column {terms.column!r}: all rows hold the same value, so their range gives no scale "
            'for the noise; declare bounds in the plan and use bounds = "public"'
        )
        raise InfeasibleError(msg)
    grid = _grid(terms, spread)
    shares = np.array(terms.shares, dtype=np.float64)
    clusters = _clusters_of_data(grid.units(values), counts.total, shares)
    epsilon = _epsilon(terms, int(clusters.width.max()), grid)
    return _noisy(terms, clusters, _unsplit(epsilon), grid)


def _public_grid(terms: ColumnTerms) -> tuple[Grid, tuple[int, int]]:
    """The grid of a column with public bounds, and where on it they lie."""
    assert terms.bounds is not None
    low, high = terms.bounds
    grid = _grid(terms, Fraction(high) - Fraction(low))
    return grid, (grid.unit(low), grid.unit(high))


def _grid(terms: ColumnTerms, spread: Fraction) -> Grid:
    """A grid that is fine beside the range of the column and beside the noise."""
    if terms.epsilon is not None:
        noise = spread / max(Fraction(terms.epsilon), Fraction(1))
    else:
        assert terms.error is not None
        noise = min(spread, Fraction(terms.error))
    return Grid.finer_than(noise / _FINENESS)


def _epsilon(terms: ColumnTerms, width: int, grid: Grid) -> Decimal:
    """The budget of a row that is given, or what noise with the wanted error costs."""
    if terms.epsilon is not None:
        return terms.epsilon
    assert terms.error is not None
    radius = (Fraction(terms.error) / grid.step).__floor__()
    return epsilon_for(width, radius, terms.confidence)


def _unsplit(epsilon: Decimal) -> _BudgetSplit:
    return _BudgetSplit(Decimal(0), epsilon, clustered=False)


def _whole(low: int, high: int) -> _Clusters:
    return _Clusters(np.array([low], dtype=np.int64), np.array([high], dtype=np.int64))


def _noisy(terms: ColumnTerms, clusters: _Clusters, split: _BudgetSplit, grid: Grid) -> NoisyColumn:
    return NoisyColumn(
        terms.column, clusters, split, grid, terms.confidence, contribution=terms.contribution
    )
