"""How spread columns are and how strongly they are tied."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    adjusted_mutual_info_score,
    mutual_info_score,
    normalized_mutual_info_score,
)

from voile.models.permutation import PairCounts, chance_information, entropy

labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


def pairs_of(first, second) -> PairCounts:
    """Counts of the pairs of two columns of whole numbers."""
    both, rows = np.unique(np.column_stack((first, second)), axis=0, return_counts=True)
    return PairCounts(both[:, 0], both[:, 1], rows)


def test_entropy_of_known_distributions():
    """Four equal shares have ln 4 nats, shares of 1/2, 1/4, 1/4 have 1.5 bits, one value none."""
    assert entropy(np.array([5, 5, 5, 5])) == pytest.approx(math.log(4), rel=1e-14)
    assert entropy(np.array([2, 1, 1])) == pytest.approx(1.5 * math.log(2), rel=1e-14)
    assert entropy(np.array([7, 0])) == 0
    assert entropy(np.array([], dtype=np.int64)) == 0


@given(labels)
def test_information_is_that_of_scikit_learn(rows):
    """Mutual, normalized and adjusted information agree with scikit-learn's.

    Its adjusted information is divided by the mean of both entropies, ours by the second's.
    """
    first, second = np.array(rows).T
    pairs = pairs_of(first, second)
    assert pairs.mutual_information == pytest.approx(mutual_info_score(first, second), abs=1e-12)
    trivial = min(len(set(first)), len(set(second))) == 1
    unique = max(len(set(first)), len(set(second))) == len(first)
    if trivial or unique:
        assert pairs.adjusted_information == pytest.approx(0, abs=1e-9)
        return
    normalized = normalized_mutual_info_score(first, second)
    assert pairs.normalized_information == pytest.approx(normalized, abs=1e-12)
    chance = chance_information(*(np.unique(one, return_counts=True)[1] for one in (first, second)))
    mean = (pairs.first_entropy + pairs.second_entropy) / 2
    theirs = adjusted_mutual_info_score(first, second) * (mean - chance)
    ours = pairs.adjusted_information * (pairs.second_entropy - chance)
    assert ours == pytest.approx(theirs, abs=1e-9)


@given(labels)
def test_the_chain_rule_holds(rows):
    """What is left of the second column where the first is known, and what both share, is all."""
    pairs = pairs_of(*np.array(rows).T)
    whole = pairs.conditional_entropy + pairs.mutual_information
    assert whole == pytest.approx(entropy(pairs.second_rows), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 2, 2]), ([0, 1, 1, 1, 1, 1], [0, 1, 2, 2, 2, 2])],
)
def test_chance_information_is_the_mean_over_all_permutations(first, second):
    """The closed form is the average of what every single permutation shares, to 1e-12."""
    every = [mutual_info_score(first, list(moved)) for moved in permutations(second)]
    rows = [np.bincount(column) for column in (first, second)]
    assert chance_information(*rows) == pytest.approx(np.mean(every), rel=1e-12)


def test_chance_information_of_large_tables_needs_no_factorials():
    """At 20 million rows it is still (r - 1)(c - 1) / 2n, its limit for many rows a value."""
    first, second = np.full(5, 4_000_000), np.full(4, 5_000_000)
    assert chance_information(first, second) == pytest.approx(12 / (2 * 20_000_000), rel=1e-3)


def test_a_column_of_unique_values_is_tied_to_nothing():
    """A row number scores high when normalized, and 0 once chance is taken off."""
    cluster = np.repeat(np.arange(4), 25)
    pairs = pairs_of(cluster, np.arange(100))
    assert pairs.normalized_information > 0.4
    assert pairs.adjusted_information == pytest.approx(0, abs=1e-12)


def test_adjusted_information_is_one_where_a_column_gives_the_other():
    """Two columns that name the same groups are tied with 1."""
    cluster = np.repeat(np.arange(4), 25)
    assert pairs_of(cluster, 3 - cluster).adjusted_information == pytest.approx(1, abs=1e-12)


def test_a_tie_stays_where_clusters_are_divided_and_tell_nothing_more():
    """From 4 to 64 clusters, the dependence being the same; normalized information drifts."""
    draw = np.random.default_rng(5)
    coarse = draw.integers(0, 4, 40_000)
    column = np.where(draw.random(40_000) < 0.3, coarse, draw.integers(0, 4, 40_000))
    ties, normalized = [], []
    for parts in (1, 2, 4, 16):
        pairs = pairs_of(coarse * parts + draw.integers(0, parts, 40_000), column)
        ties.append(pairs.adjusted_information)
        normalized.append(pairs.normalized_information)
    assert ties[0] > 0.05
    assert ties == pytest.approx([ties[0]] * 4, rel=0.05)
    assert normalized[-1] < 0.7 * normalized[0]
