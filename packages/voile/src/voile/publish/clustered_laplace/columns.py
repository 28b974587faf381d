"""One column decided: its grid, its clusters, and what its budget buys.

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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np

from voile.dp.accuracy import epsilon_for
from voile.dp.events import PrivacyEvent
from voile.dp.grid import Grid
from voile.dp.quantiles import PrivateQuantiles
from voile.publish.clustered_laplace.budget_split import BudgetSplit, best_split
from voile.publish.clustered_laplace.clusters import Clusters, clusters_of_data
from voile.publish.clustered_laplace.decision import NoisyColumn
from voile.publish.contribution import EACH_PERSON_A_ROW, Contribution
from voile.table.summaries import ValueCounts
from voile_base.errors import InfeasibleError

__all__ = ["ColumnTerms", "decide_column", "price_of"]

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


def price_of(terms: ColumnTerms, counts: ValueCounts) -> tuple[PrivacyEvent, ...]:
    """What a column spends, from public facts alone; nothing where clusters come from the data.

    Raises ``PlanError`` where its values are too large for the grid, so that no draw ends there.
    """
    if terms.bounds is None:
        return ()
    grid, (low, high) = _public_grid(terms)
    grid.units(counts.values)
    epsilon = _epsilon(terms, high - low, grid)
    spent = {"discrete-laplace": epsilon}
    if len(terms.shares) > 1:
        borders = epsilon * _BORDERS
        spent = {"exponential": borders, "clustered-laplace": epsilon - borders}
    return terms.contribution.replaced(spent)


def decide_column(terms: ColumnTerms, counts: ValueCounts, words: Iterator[int]) -> NoisyColumn:
    """Clusters and noise of a column; ``words`` are uniform, for the private borders.

    Raises ``InfeasibleError`` where clusters come from data that hold one value only.
    """
    if terms.bounds is None:
        return _from_data(terms, counts)
    grid, ends = _public_grid(terms)
    epsilon = _epsilon(terms, ends[1] - ends[0], grid)
    if len(terms.shares) == 1:
        whole = _noisy(terms, _whole(*ends), _unsplit(epsilon), grid)
        return replace(whole, public=True)
    borders = epsilon * _BORDERS
    rows = terms.contribution.rows
    drawn = _PrivateCounts(grid, counts, rows * borders, rows, words)
    clusters = _between(ends, terms.shares, drawn)
    shares = np.full(len(clusters), 1 / len(clusters))
    if len(clusters) == len(terms.shares):
        shares = np.array(terms.shares, dtype=np.float64)
    split = best_split(clusters, shares, epsilon - borders)
    used = clusters if split.clustered else _whole(*ends)
    return replace(_noisy(terms, used, split, grid), borders=borders, public=True)


@dataclass(frozen=True, eq=False)
class _PrivateCounts:
    """What borders are drawn from, and with which budget."""

    grid: Grid
    counts: ValueCounts
    epsilon: Decimal
    rows: int
    """By which neighbours differ."""
    words: Iterator[int]


def _between(ends: tuple[int, int], shares: tuple[Decimal, ...], drawn: _PrivateCounts) -> Clusters:
    """Clusters that hold about these shares, between public ends, in steps.

    A cluster of one point is joined to its neighbour: a width of 0 would mean no noise.
    """
    cuts = tuple(Fraction(share) for share in accumulate(shares[:-1]))
    quantiles = PrivateQuantiles(cuts, *ends, drawn.epsilon, "replace", drawn.rows)
    steps = drawn.grid.units(drawn.counts.values)
    borders = quantiles.draw(steps, drawn.counts.rows.sum(axis=1), drawn.words)
    inner = np.unique(borders[borders < ends[1]])
    edges = np.concatenate(([ends[0]], inner, [ends[1]])).astype(np.int64)
    return Clusters(edges[:-1], edges[1:])


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
    clusters = clusters_of_data(grid.units(values), counts.rows.sum(axis=1), shares)
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


def _unsplit(epsilon: Decimal) -> BudgetSplit:
    return BudgetSplit(Decimal(0), epsilon, clustered=False)


def _whole(low: int, high: int) -> Clusters:
    return Clusters(np.array([low], dtype=np.int64), np.array([high], dtype=np.int64))


def _noisy(terms: ColumnTerms, clusters: Clusters, split: BudgetSplit, grid: Grid) -> NoisyColumn:
    return NoisyColumn(
        terms.column, clusters, split, grid, terms.confidence, contribution=terms.contribution
    )
