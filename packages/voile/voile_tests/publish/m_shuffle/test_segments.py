"""Optimal k-means on a line, against all divisions and against scikit-learn."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from voile.publish.m_shuffle.clustering import Segments
from voile_testing.plugin import examples


def squares(numbers, weights):
    """Weighted squared distances to the mean, exactly."""
    numbers, weights = [Fraction(x) for x in numbers], [Fraction(w) for w in weights]
    mean = sum(w * x for w, x in zip(weights, numbers, strict=True)) / sum(weights)
    return sum(w * (x - mean) ** 2 for w, x in zip(weights, numbers, strict=True))


def best_of_all(numbers, weights, block, count):
    """The least cost of all divisions into ``count`` segments that cross no block; or infinite."""
    least = float("inf")
    for cuts in combinations(range(1, len(numbers)), count - 1):
        ends = [0, *cuts, len(numbers)]
        parts = [slice(*part) for part in pairwise(ends)]
        if all(len(set(block[part])) == 1 for part in parts):
            least = min(least, sum(squares(numbers[part], weights[part]) for part in parts))
    return least


def cost_of(numbers, weights, labels):
    """The cost of a division."""
    return sum(squares(numbers[labels == s], weights[labels == s]) for s in np.unique(labels))


blocks_of_numbers = st.lists(
    st.lists(st.integers(-60, 60), min_size=1, max_size=6, unique=True).map(sorted),
    min_size=1,
    max_size=3,
).filter(lambda blocks: sum(map(len, blocks)) <= 8)


@settings(max_examples=examples(60))
@given(blocks_of_numbers, st.data())
def test_no_division_is_better(blocks, data):
    """For every number of segments the cost is the least of all divisions that respect blocks."""
    numbers = np.array([x for block in blocks for x in block], dtype=np.float64)
    block = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    weight = st.integers(1, 9)
    size = len(numbers)
    weights = np.array(data.draw(st.lists(weight, min_size=size, max_size=size)), dtype=np.float64)
    found = Segments.optimal(numbers, weights, block, size)
    for count in range(1, size + 1):
        least = best_of_all(numbers, weights, block, count)
        assert found.cost[count - 1] == pytest.approx(float(least), rel=1e-12, abs=1e-12)
        if count >= len(blocks):
            labels = found.labels(count)
            assert labels.tolist() == sorted(labels)
            assert len(set(labels)) == count
            assert cost_of(numbers, weights, labels) == pytest.approx(float(least), rel=1e-12)
        else:
            assert least == float("inf")


@pytest.mark.parametrize("clusters", [2, 4, 8])
def test_scikit_learn_finds_nothing_better(clusters):
    """On 2,000 heavy-tailed numbers, 3 starts of Lloyd's algorithm cost as much or more."""
    numbers = np.exp(np.random.default_rng(1).normal(0, 1.5, 2000))
    numbers.sort()
    ones = np.ones(len(numbers))
    found = Segments.optimal(numbers, ones, np.zeros(len(numbers), dtype=np.int64), clusters)
    lloyd = KMeans(clusters, n_init=3, random_state=1).fit(numbers[:, np.newaxis])
    assert found.cost[-1] <= lloyd.inertia_ * (1 + 1e-9)


@pytest.mark.slow
def test_random_starts_miss_what_is_found_exactly():
    """Of 12 salaries in 4 clusters, Lloyd's algorithm misses the optimum in over half its starts.

    50 starts from a fixed seed.
    """
    salaries = np.array([3, 3.5, 4, 5, 6, 6.5, 8, 9, 11, 12, 25, 40]) * 1000
    found = Segments.optimal(salaries, np.ones(12), np.zeros(12, dtype=np.int64), 4)
    assert found.cost[3] == pytest.approx(
        float(best_of_all(salaries, np.ones(12), np.zeros(12), 4))
    )
    starts = [
        KMeans(4, init="random", n_init=1, random_state=seed).fit(salaries[:, np.newaxis]).inertia_
        for seed in range(50)
    ]
    assert min(starts) >= found.cost[3] * (1 - 1e-9)
    assert sum(start > found.cost[3] * (1 + 1e-9) for start in starts) > 25


def test_narrow_clusters_far_away_do_not_drown():
    """Numbers a thousand million apart leave differences of 1 visible beside them."""
    near = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
    numbers = np.concatenate((near, near + 1e9, near + 2e9))
    weights = np.full(len(numbers), 1e6)
    found = Segments.optimal(numbers, weights, np.zeros(len(numbers), dtype=np.int64), 6)
    assert found.labels(6).tolist() == np.repeat(np.arange(6), 3).tolist()
    assert found.cost[5] == pytest.approx(6 * 2e6, rel=1e-12)


def test_equal_divisions_are_told_apart_the_same_way():
    """Of two divisions with one cost, the last segment is the longest."""
    found = Segments.optimal(np.arange(3.0), np.ones(3), np.zeros(3, dtype=np.int64), 2)
    assert found.labels(2).tolist() == [0, 1, 1]
