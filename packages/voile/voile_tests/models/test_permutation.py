"""What permuting within clusters hides and costs, against all permutations of small tables."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.models.permutation import entropy, expected_divergence, whole_column_log_probability
from voile_testing.plugin import examples
from voile_tests.models.test_dependence import pairs_of

tables = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    min_size=1,
    max_size=6,
)
"""Rows of a cluster, a column that stays, and two that are permuted."""


def arrangements(cluster, column):
    """Every way to permute a column within clusters, as often as permutations lead to it."""
    places = [np.flatnonzero(cluster == c) for c in np.unique(cluster)]
    for moved in product(*(permutations(column[here]) for here in places)):
        whole = np.empty_like(column)
        for here, values in zip(places, moved, strict=True):
            whole[here] = values
        yield tuple(whole.tolist())


@given(tables)
def test_arrangements_and_chance_are_those_of_all_permutations(rows):
    """The number of distinct arrangements and the share of rows put right, by enumeration."""
    cluster, _, column, _ = np.array(rows).T
    every = list(arrangements(cluster, column))
    pairs = pairs_of(cluster, column)
    assert pairs.log_arrangements() == pytest.approx(math.log(len(set(every))), abs=1e-12)
    right = np.mean([np.mean(np.array(moved) == column) for moved in every])
    assert pairs.chance_per_row() == pytest.approx(right, rel=1e-12)
    alike = [len(set(column[cluster == c])) == 1 for c in np.unique(cluster)]
    assert pairs.constant_clusters() == sum(alike)


@settings(max_examples=examples(25))
@given(tables.filter(lambda rows: len(rows) <= 5))
def test_the_expected_divergence_is_that_of_the_average_release(rows):
    """KL of the original against the mean of the tables of all pairs of permutations."""
    cluster, stays, first, second = np.array(rows).T
    pairs = [pairs_of(cluster, first), pairs_of(cluster, second)]
    released: dict[tuple[int, ...], float] = {}
    both = list(product(arrangements(cluster, first), arrangements(cluster, second)))
    for moved in both:
        for row in zip(cluster.tolist(), stays.tolist(), *moved, strict=True):
            released[row] = released.get(row, 0) + 1 / (len(both) * len(rows))
    original = {row: rows.count(row) / len(rows) for row in rows}
    wanted = sum(p * math.log(p / released[row]) for row, p in original.items())
    kept = np.unique(np.column_stack((cluster, stays)), axis=0, return_counts=True)[1]
    together = np.unique(np.array(rows), axis=0, return_counts=True)[1]
    alone = [column.conditional_entropy for column in pairs]
    found = expected_divergence(alone, entropy(kept), entropy(together))
    assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("clusters", [1, 2, 3, 4])
def test_smaller_clusters_put_more_rows_right_by_chance(clusters):
    """Of twelve different zip codes, K clusters put K / 12 right; the seed's measure stands still.

    It is 12 ln 12 below 0 for every K.
    """
    cluster = np.arange(12) * clusters // 12
    assert pairs_of(cluster, np.arange(12)).chance_per_row() == pytest.approx(clusters / 12)
    assert whole_column_log_probability(12) == pytest.approx(-12 * math.log(12))


def test_logarithms_do_not_underflow():
    """A thousand million rows have a finite log probability; a column of one value has 0."""
    assert whole_column_log_probability(10**9) == pytest.approx(-(10**9) * math.log(10**9))
    assert whole_column_log_probability(0) == 0
    halves = np.array([5 * 10**8, 5 * 10**8])
    large = type(pairs_of([0], [0]))(np.zeros(2, int), np.arange(2), halves).log_arrangements()
    assert large == pytest.approx(10**9 * math.log(2), rel=1e-6)
    assert pairs_of([0, 0, 1, 1], [3, 3, 4, 4]).log_arrangements() == 0


def test_weighed_rows_have_as_many_arrangements_as_counted_ones():
    """Where each row weighs twelve and one weighs twelve, nothing but the units differs."""
    counted = pairs_of([0, 0, 0, 0, 1, 1, 1], [3, 3, 4, 5, 4, 4, 6])
    weighed = replace(counted, rows=12 * counted.rows, whole=12)
    assert weighed.log_arrangements() == pytest.approx(counted.log_arrangements())
    assert counted.log_arrangements() == pytest.approx(math.log(12 * 3))
