"""Clusters of values, and how a budget is divided between drawing them and noise."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.publish.clustered_laplace.decision import (
    _best_split,
    _BudgetSplit,
    _Clusters,
    _clusters_of_data,
    _expected_error,
)

SHARES = np.array([0.05, 0.3, 0.3, 0.3, 0.05])


@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=40, unique=True).map(sorted),
    st.data(),
)
def test_clusters_of_data_cover_the_values_and_always_have_a_width(
    values: list[int], data: st.DataObject
) -> None:
    """Every value lies in one cluster, clusters ascend, and none is a single point."""
    rows = data.draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values)))
    clusters = _clusters_of_data(np.array(values), np.array(rows), SHARES)
    assert (clusters.width > 0).all()
    assert (clusters.low[1:] > clusters.high[:-1]).all()
    inside = [((clusters.low <= v) & (v <= clusters.high)).sum() for v in values]
    assert inside == [1] * len(values)
    np.testing.assert_array_equal(
        clusters.of(np.array(values)),
        [int(np.flatnonzero((clusters.low <= v) & (v <= clusters.high))[0]) for v in values],
    )


def test_clusters_of_data_hold_their_shares() -> None:
    """One hundred rows of different values are cut into 5, 30, 30, 30 and 5."""
    clusters = _clusters_of_data(np.arange(100), np.ones(100, dtype=np.int64), SHARES)
    assert clusters.low.tolist() == [0, 5, 35, 65, 95]
    assert clusters.high.tolist() == [4, 34, 64, 94, 99]


def test_a_cluster_of_one_value_joins_its_neighbour() -> None:
    """A value that half of the rows hold gets noise: the seed would publish it as it is."""
    values, rows = np.array([1, 2, 3, 4]), np.array([1, 50, 1, 1])
    clusters = _clusters_of_data(values, rows, np.array([0.02, 0.9, 0.08]))
    assert (clusters.width > 0).all()


@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=6, unique=True).map(sorted),
    st.decimals("0.01", "20", places=2),
)
def test_a_split_spends_the_budget_and_no_more(edges: list[int], epsilon: Decimal) -> None:
    """The parts add up to the whole, and the weights of the draw keep to their part."""
    clusters = _Clusters(np.array(edges[:-1]), np.array(edges[1:]))
    shares = np.full(len(clusters), 1 / len(clusters))
    split = _best_split(clusters, shares, epsilon)
    assert split.membership + split.noise == epsilon
    own, other = split.weights(len(clusters))
    assert math.log(own) - math.log(other) <= float(split.membership) + 1e-12
    assert Decimal(own) / Decimal(other) <= split.membership.exp()


def test_one_cluster_leaves_the_whole_budget_to_the_noise() -> None:
    """Without clusters nothing is spent on drawing one."""
    clusters = _Clusters(np.array([0]), np.array([10]))
    split = _best_split(clusters, np.array([1.0]), Decimal(2))
    assert split == _BudgetSplit(Decimal(0), Decimal(2), clustered=False)


def test_skewed_values_are_clustered_and_equal_widths_at_a_small_budget_are_not() -> None:
    """Clusters are used where they promise less error: narrow ones for most rows."""
    skewed = _Clusters(np.array([0, 10, 30, 100, 1_000]), np.array([10, 30, 100, 1_000, 50_000]))
    assert _best_split(skewed, SHARES, Decimal(5)).clustered
    even = _Clusters(np.array([0, 100]), np.array([100, 200]))
    assert not _best_split(even, np.array([0.5, 0.5]), Decimal("0.01")).clustered


@pytest.mark.parametrize("epsilon", [Decimal("0.5"), Decimal(4)])
def test_the_expected_error_is_that_of_a_simulation(epsilon: Decimal) -> None:
    """The error by which splits are compared lies within a factor of two of a simulated one.

    20,000 values that lie uniformly in their clusters; the bound ignores that moves and noise
    partly cancel.
    """
    clusters = _Clusters(np.array([0, 100, 500]), np.array([100, 500, 5_000]))
    shares = np.array([0.3, 0.4, 0.3])
    split = _BudgetSplit(epsilon / 2, epsilon / 2, clustered=True)
    generator = np.random.default_rng(7)
    own = generator.choice(3, 20_000, p=shares)
    values = generator.uniform(clusters.low[own], clusters.high[own])
    favoured, other = split.weights(3)
    stays = generator.random(20_000) < (favoured - other) / (favoured + 2 * other)
    drawn = np.where(stays, own, generator.integers(0, 3, 20_000))
    start = np.clip(values, clusters.low[drawn], clusters.high[drawn])
    noise = generator.laplace(0, clusters.width[drawn] / float(split.noise))
    simulated = np.abs(np.clip(start + noise, 0, 5_000) - values).mean()
    assert 0.5 < _expected_error(clusters, shares, split) / simulated < 2
