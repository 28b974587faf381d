"""How much of the association of columns a release keeps."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import contingency

from voile.utility.divergence import (
    CorrelationDistance,
    _association,
    _ColumnFeatures,
    _correlation_ratio,
    _cramers_v,
    _pearson,
)
from voile_tests.utility.adult_samples import over_samples
from voile_tests.utility.releases import as_it_is, nothing_left, shown_by_hand

TABLES = st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=2, max_size=5).map(
    np.array
)


def full(table) -> bool:
    """Whether no row and no column of a table is empty."""
    return bool((table.sum(axis=0) > 0).all() and (table.sum(axis=1) > 0).all())


def column(values) -> _ColumnFeatures:
    """Exact values, each an entry of its own; NaN or None is missing."""
    series = pl.Series(values)
    if series.dtype.is_numeric():
        numbers = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
        known = ~np.isnan(numbers)
        x = np.where(known, numbers, 0)
        return _ColumnFeatures(True, np.column_stack([known, x, x * x]), np.arange(len(x)))
    codes = series.rank("dense").to_numpy() - 1
    return _ColumnFeatures(False, np.eye(int(codes.max()) + 1), codes.astype(np.int64))


def pair(comparison, name) -> float:
    """The part of a pair of columns."""
    (found,) = CorrelationDistance().measure(comparison)
    return found.parts[name]


# --- coefficients


@given(TABLES.filter(full))
def test_cramers_v_is_that_of_scipy_with_bergsmas_correction(table):
    """The correction is applied to the squared coefficient of scipy."""
    r, c = table.shape
    rows = table.sum()
    plain = contingency.association(table, method="cramer")
    phi2 = plain**2 * min(r - 1, c - 1)
    corrected = max(0.0, phi2 - (r - 1) * (c - 1) / (rows - 1))
    sides = [size - (size - 1) ** 2 / (rows - 1) - 1 for size in (r, c)]
    expected = min(1.0, (corrected / min(sides)) ** 0.5) if min(sides) > 0 else 0.0
    assert _cramers_v(table.astype(float)) == pytest.approx(expected, abs=1e-9)


def test_cramers_v_of_columns_that_have_nothing_to_do_with_each_other_is_about_0():
    """20 by 20 texts in 400 rows, 50 tables: without correction the mean is above 0.2."""
    draws = np.random.default_rng(1)
    found = []
    for _ in range(50):
        table = np.zeros((20, 20))
        np.add.at(table, (draws.integers(0, 20, 400), draws.integers(0, 20, 400)), 1)
        found.append((_cramers_v(table), contingency.association(table.astype(int))))
    corrected, plain = np.mean(found, axis=0)
    assert corrected < 0.04
    assert plain > 0.2


def test_cramers_v_of_the_same_column_is_1():
    """However the texts are distributed."""
    assert _cramers_v(np.diag([3.0, 40.0, 7.0])) == pytest.approx(1)


def test_correlation_ratio_of_a_worked_example():
    """Scores of students in three subjects: eta squared is 6780 / 9640."""
    scores = {
        "algebra": [45, 70, 29, 15, 21],
        "geometry": [40, 20, 30, 42],
        "statistics": [65, 95, 80, 70, 85, 73],
    }
    sums = np.array(
        [[len(x), sum(x), sum(n * n for n in x)] for x in scores.values()], dtype=np.float64
    )
    assert _correlation_ratio(sums) == pytest.approx((6780 / 9640) ** 0.5)
    subjects = [name for name, x in scores.items() for _ in x]
    numbers = [n for x in scores.values() for n in x]
    for one, other in [(subjects, numbers), (numbers, subjects)]:
        assert _association(column(one), column(other)) == pytest.approx((6780 / 9640) ** 0.5)


@given(
    st.lists(st.tuples(*[st.one_of(st.none(), st.integers(-50, 50))] * 2), min_size=2, max_size=30)
)
def test_pearson_is_that_of_numpy_over_rows_that_have_both_numbers(rows):
    """Rows where one is missing are left out; constant numbers have no association."""
    known = np.array([row for row in rows if None not in row], dtype=float).reshape(-1, 2)
    varied = len(known) > 1 and (known.std(axis=0) > 0).all()
    expected = np.corrcoef(known.T)[0, 1] if varied else 0.0
    one, other = ([row[side] for row in rows] for side in (0, 1))
    columns = (column(pl.Series(side, dtype=pl.Float64)) for side in (one, other))
    assert _association(*columns) == pytest.approx(expected, abs=1e-7)


@given(st.data())
def test_entries_are_spread_independently(data):
    """Brute force: every row is every combination of values, as often as both entries allow."""
    n, sizes = data.draw(st.integers(2, 6)), (3, 4)
    points = np.array([1.0, 2.0, 5.0]), np.array([0.0, 1.0, 4.0, 5.0])
    law, entry = [], []
    for d in sizes:
        e = data.draw(st.integers(1, 3))
        weights = np.array(
            [[data.draw(st.integers(0, 3)) for _ in range(d)] for _ in range(e)], dtype=float
        )
        weights[weights.sum(axis=1) == 0] = 1
        law.append(weights / weights.sum(axis=1, keepdims=True))
        entry.append(np.array([data.draw(st.integers(0, e - 1)) for _ in range(n)]))
    table = np.zeros(sizes)
    for row in range(n):
        a, b = law[0][entry[0][row]], law[1][entry[1][row]]
        for i, j in product(range(sizes[0]), range(sizes[1])):
            table[i, j] += a[i] * b[j]

    def features(side, numeric):
        x = points[side]
        values = np.column_stack([np.ones(len(x)), x, x * x]) if numeric else np.eye(sizes[side])
        return _ColumnFeatures(numeric, law[side] @ values, entry[side])

    assert _association(features(0, False), features(1, False)) == pytest.approx(
        _cramers_v(table), abs=1e-7
    )
    powers = [np.array([p**i for i in range(3)]) for p in points]
    moments = powers[0] @ table @ powers[1].T
    assert _association(features(0, True), features(1, True)) == pytest.approx(
        _pearson(moments), abs=1e-7
    )
    sums = table @ powers[1].T
    assert _association(features(0, False), features(1, True)) == pytest.approx(
        _correlation_ratio(sums), abs=1e-7
    )


# --- releases


def test_the_original_keeps_all_associations():
    """A release of the table as it is has a distance of 0 in every pair."""
    (found,) = CorrelationDistance().measure(as_it_is())
    assert found.value == found.untouched == 0
    assert len(found.parts) == 15
    assert set(found.parts.values()) == {0.0}


def test_a_release_that_shows_nothing_loses_all_associations():
    """Then the distance is the value that stands for uselessness."""
    (found,) = CorrelationDistance().measure(nothing_left())
    assert found.value == pytest.approx(found.useless)
    assert found.useless > 0


def test_intervals_shrink_a_correlation_by_the_variance_inside_them():
    """Twice the numbers 0 to 99 in tens: the share of variance between tens, for both columns."""
    numbers = list(range(100))
    low = [n // 10 * 10 for n in numbers]
    comparison = shown_by_hand(
        {
            "a.low": low,
            "a.high": [n + 9 for n in low],
            "b.low": low,
            "b.high": [n + 9 for n in low],
        },
        {"a": numbers, "b": numbers},
    )
    between = np.var(np.array(low)) / np.var(np.array(numbers))
    assert pair(comparison, "a, b") == pytest.approx(1 - between)


def test_columns_of_names_are_left_out():
    """A note says so, and with one column left there is no pair."""
    names = [f"n{i}" for i in range(30)]
    shown = {"name": names, "age": list(range(30)), "sex": ["f", "m"] * 15}
    comparison = shown_by_hand(shown, shown)
    (found,) = CorrelationDistance(most_texts=29).measure(comparison)
    assert list(found.parts) == ["age, sex"]
    assert "'name'" in found.notes[0]
    alone = shown_by_hand({"name": names, "sex": ["f", "m"] * 15}, shown)
    assert CorrelationDistance(most_texts=29).refusal(alone) is not None
    assert CorrelationDistance(most_texts=30).refusal(alone) is None


def test_association_is_lost_as_groups_grow(shared_data):
    """Adult, mean of 3 samples of 1,500 rows: k = 2, 25, 300 differ by far more than samples do."""

    def distance(comparison):
        (found,) = CorrelationDistance().measure(comparison)
        return found.value

    small, middle, large = over_samples(shared_data, distance, (2, 25, 300))
    assert 0 < small < middle < large
