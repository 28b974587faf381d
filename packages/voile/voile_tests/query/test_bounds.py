"""Bounds and expectations of aggregates against all assignments of values to rows."""

from fractions import Fraction
from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.query.answer import (
    MatchedGroups,
)
from voile.schema.numbers import ExactNumbers
from voile.table.summaries import GroupedValues
from voile_testing.plugin import examples

HUGE = 10**30


def grouped(values_of_groups):
    """What a published table tells about groups numbered from 1."""
    group, units, rows = [], [], []
    for number, values in enumerate(values_of_groups, start=1):
        for value in sorted(set(values)):
            group.append(number)
            units.append(value)
            rows.append(values.count(value))
    large = any(abs(unit) >= 2**61 for unit in units)
    return GroupedValues(
        np.array(group, np.int64),
        ExactNumbers(np.array(units, dtype=object if large else np.int64), 0),
        np.array(rows, np.int64),
    )


@st.composite
def small_problems(draw, largest=6):
    """Values of up to three groups, which may overlap and hold ties, and how many rows match."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    factor = draw(st.sampled_from([1, 1, HUGE]))
    values = [
        [factor * draw(st.integers(-largest, largest)) for _ in range(size)] for size in sizes
    ]
    return values, [draw(st.integers(0, size)) for size in sizes]


def outcomes(values, matching):
    """The values of the matching rows under each assignment of values to rows."""
    # All rows of a group are alike before the values are dealt, so let the first ones match.
    deals = [[deal[:c] for deal in permutations(v)] for v, c in zip(values, matching, strict=True)]
    for chosen in product(*deals):
        yield [value for group in chosen for value in group]


def mean(numbers):
    return Fraction(sum(numbers), len(numbers))


@settings(max_examples=examples(150), deadline=None)
@given(small_problems())
def test_sums_are_the_extremes_and_the_mean_over_all_assignments(problem):
    """The bounds of SUM are reached, never passed, and its estimate is the mean of all."""
    values, matching = problem
    groups = MatchedGroups.of(grouped(values), dict(enumerate(matching, start=1)))
    sums = [sum(outcome) for outcome in outcomes(values, matching)]
    assert (groups.least_sum(), -groups.mirrored.least_sum()) == (min(sums), max(sums))
    assert abs(groups.expected_sum() - mean(sums)) < Fraction(1, 10**11)


@settings(max_examples=examples(150), deadline=None)
@given(small_problems())
def test_minima_and_maxima_are_the_extremes_and_the_mean_over_all_assignments(problem):
    """The bounds of MIN and MAX are reached and never passed; estimates are the means."""
    values, matching = problem
    if not any(matching):
        return
    groups = MatchedGroups.of(grouped(values), dict(enumerate(matching, start=1)))
    minima = [min(outcome) for outcome in outcomes(values, matching)]
    maxima = [max(outcome) for outcome in outcomes(values, matching)]
    assert (groups.least_minimum(), groups.greatest_minimum()) == (min(minima), max(minima))
    mirrored = groups.mirrored
    assert (-mirrored.greatest_minimum(), -mirrored.least_minimum()) == (min(maxima), max(maxima))
    span = max(max(v) for v in values) - min(min(v) for v in values)
    assert abs(groups.expected_minimum() - mean(minima)) <= Fraction(span, 10**12)
    assert abs(-mirrored.expected_minimum() - mean(maxima)) <= Fraction(span, 10**12)


@pytest.mark.parametrize(("size", "matching"), [(100, 3), (3000, 7), (3000, 2990), (100_000, 2)])
def test_expected_minimum_is_stable_in_large_groups(size, matching):
    """Against exact binomials: relative error under 1e-11 where factorials overflow a double."""
    rng = np.random.default_rng(5)
    values = np.arange(60)
    rows = rng.multinomial(size - len(values), np.ones(len(values)) / len(values)) + 1
    published = GroupedValues(
        np.ones(len(values), np.int64), ExactNumbers(values, 0), rows.astype(np.int64)
    )
    groups = MatchedGroups.of(published, {1: matching})
    left = [int(n) for n in size - np.cumsum(rows)]
    exact = sum(Fraction(comb(n, matching), comb(size, matching)) for n in left[:-1])
    assert abs(groups.expected_minimum() - exact) <= max(exact, Fraction(1, 10**3)) / 10**11


@pytest.mark.slow
def test_expected_minimum_of_uniform_values_is_the_known_one():
    """The least of c out of 1..n is (n + 1) / (c + 1) on average, in a group of a million."""
    n, c = 1_000_000, 9
    published = GroupedValues(
        np.ones(n, np.int64), ExactNumbers(np.arange(1, n + 1), 0), np.ones(n, np.int64)
    )
    expected = MatchedGroups.of(published, {1: c}).expected_minimum()
    assert float(expected) == pytest.approx((n + 1) / (c + 1), rel=1e-9)


def test_sums_beyond_64_bits_are_exact():
    """Units that fit in 64 bits do not make their sum wrap round."""
    published = GroupedValues(
        np.array([1, 1]), ExactNumbers(np.array([2**60, 2**60 + 1]), 0), np.array([50, 50])
    )
    groups = MatchedGroups.of(published, {1: 60})
    assert groups.least_sum() == 60 * 2**60 + 10
    assert -groups.mirrored.least_sum() == 60 * 2**60 + 50
    assert groups.expected_sum() == 60 * 2**60 + 30


def test_expected_minimum_of_numbers_beyond_a_double():
    """Units of 400 digits are computed with, as when tiny and large floats share a column."""
    large = 10**400
    groups = MatchedGroups.of(grouped([[0, large]]), {1: 1})
    assert abs(groups.expected_minimum() - Fraction(large, 2)) < Fraction(large, 10**14)


def test_groups_without_a_match_play_no_part():
    """A group with no matching row changes nothing, and no match at all gives empty groups."""
    values = [[1, 5], [-100, 100]]
    assert MatchedGroups.of(grouped(values), {1: 1}).least_minimum() == 1
    nobody = MatchedGroups.of(grouped(values), {})
    assert (nobody.matching_rows, nobody.least_sum(), nobody.expected_sum()) == (0, 0, 0)


@pytest.mark.parametrize("matching", [{1: 3}, {7: 1}])
def test_more_matches_than_rows_are_an_error(matching):
    """Counts that contradict the groups are not answered."""
    with pytest.raises(ValueError, match="more rows match"):
        MatchedGroups.of(grouped([[1, 2]]), matching)
