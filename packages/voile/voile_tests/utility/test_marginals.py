"""Distributions before and after, of columns and of pairs."""

from __future__ import annotations

import datetime
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance

from voile.release.reading import People
from voile.utility import covering
from voile.utility.covering import OriginalDomain, coverings, joint_expectations
from voile.utility.marginals import (
    MOST_BINS,
    MOST_TEXTS,
    MarginalDivergence,
    PairDivergence,
    _even_bins,
    _readable_bins,
    distributions,
)
from voile_testing.plugin import examples
from voile_tests.utility.releases import METHODS, as_it_is, nothing_left, published, shown_by_hand

MARGINALS = (
    "marginal-total-variation",
    "marginal-jensen-shannon",
    "marginal-kullback-leibler",
    "marginal-wasserstein",
)
PAIRS = ("pair-total-variation", "pair-jensen-shannon")


def measured(measure, comparison):
    """The measurements of a measure, which must not be refused, by name."""
    assert measure.refusal(comparison) is None
    return {found.measure: found for found in measure.measure(comparison)}


def domain_of(values) -> OriginalDomain:
    return OriginalDomain.of(People(pl.DataFrame({"x": values})), "x")


# --- bins


@given(st.lists(st.integers(-3, 60), min_size=1, max_size=80), st.integers(1, 12))
def test_even_bins_are_runs_of_all_values(values, count):
    """Ascending, none empty, at most as many as asked for."""
    domain = domain_of(values)
    bins = _even_bins(domain, count, 5)
    assert len(bins) <= count
    assert np.unique(bins.of_value).tolist() == list(range(len(bins)))
    assert (np.diff(bins.of_value) >= 0).all()
    assert bins.counts(domain.rows).sum() == len(values)


def test_even_bins_hold_as_many_rows():
    """A thousand different values in ten bins of a hundred."""
    bins = _even_bins(domain_of(range(1000)), 10, 5)
    assert bins.counts(np.ones(1000)).tolist() == [100.0] * 10


def test_a_heavy_value_leaves_the_bins_to_the_others():
    """Nine tenths of zeros are one bin; the other nine share what is left."""
    domain = domain_of([0] * 900 + list(range(1, 91)))
    bins = _even_bins(domain, 10, 5)
    assert bins.counts(domain.rows).tolist() == [900.0] + [10.0] * 9
    amid = domain_of([-2, -1] + [0] * 900 + list(range(1, 99)))
    assert 900.0 in _even_bins(amid, 10, 5).counts(amid.rows)


@given(
    st.lists(
        st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3)), min_size=1, max_size=40
    )
)
def test_readable_bins_hold_their_values(values):
    """Each number lies between the borders of its bin; there are few of them, of one width."""
    domain = domain_of(values)
    bins = _readable_bins(domain)
    if bins.edges is None:
        assert len(bins) == len(set(values))
        return
    edges = np.array(bins.edges)
    assert len(bins) == len(edges) - 1 <= MOST_BINS
    assert (edges[bins.of_value] <= domain.points + 1e-9).all()
    assert (domain.points <= edges[bins.of_value + 1] + 1e-9).all()
    assert np.allclose(np.diff(edges), edges[1] - edges[0])


def test_readable_bins_have_names():
    """Whole numbers are named by the first and the last, others by their borders."""
    ages = _readable_bins(domain_of(range(18, 91)))
    assert ages.labels[:2] == ("15 to 19", "20 to 24")
    assert ages.edges[:2] == (15.0, 20.0)
    assert _readable_bins(domain_of(range(20))).labels[3] == "3"
    tenths = _readable_bins(domain_of([n / 10 for n in range(20)]))
    assert tenths.labels[-1] == "1.9 to 2.0"
    assert _readable_bins(domain_of([4.0, 4.5])).labels == ("4", "4.5")
    missing = _readable_bins(domain_of([*range(20), None]))
    assert missing.labels[-1] == "missing"
    assert missing.edges is None
    assert missing.counts(np.ones(21)).tolist() == [1.0] * 21


DAY = datetime.date(2019, 11, 5)
NOON = datetime.datetime(2019, 11, 5, 12, 0)


@pytest.mark.parametrize(
    ("values", "first", "last"),
    [
        ([DAY + datetime.timedelta(n) for n in range(20)], "2019-11-05", "2019-11-24"),
        ([DAY + datetime.timedelta(n) for n in range(60)], "week from 2019-10-31", None),
        ([DAY + datetime.timedelta(30 * n) for n in range(20)], "2019-11", "2021-05"),
        ([DAY + datetime.timedelta(30 * n) for n in range(40)], "2019-Q4", "2023-Q1"),
        ([DAY + datetime.timedelta(365 * n) for n in range(20)], "2019", "2038"),
        ([DAY + datetime.timedelta(365 * n) for n in range(99)], "2015 to 2019", "2115 to 2119"),
        ([NOON + datetime.timedelta(hours=n) for n in range(20)], "2019-11-05 12:00", None),
        ([NOON + datetime.timedelta(minutes=n) for n in range(20)], "2019-11-05 12:00", None),
        ([datetime.time(hour) for hour in range(24)], "00:00", "23:00"),
    ],
)
def test_bins_of_dates_and_times(values, first, last):
    """They begin where the calendar or the clock does, and hold each value."""
    domain = domain_of(values)
    bins = _readable_bins(domain)
    assert bins.labels[0] == first
    assert last in {None, bins.labels[-1]}
    assert len(bins) <= MOST_BINS
    edges = np.array(bins.edges)
    assert (edges[bins.of_value] <= domain.points + 1e-9).all()
    assert (domain.points < edges[bins.of_value + 1] + 1e-9).all()


def test_rare_texts_are_one():
    """The commonest twenty in their order, the others together, missing as itself."""
    common = [f"name {n:02d}" for n in range(19)] * 2
    bins = _readable_bins(domain_of([*common, None, None, "once", "only", "single"]))
    assert len(bins) == MOST_TEXTS + 1
    assert bins.labels[:2] == ("missing", "name 00")
    assert bins.labels[-1] == "3 other values"
    assert _readable_bins(domain_of([True, False, None])).labels == ("missing", "false", "true")
    assert _readable_bins(domain_of(pl.Series([None, None], dtype=pl.Int64))).labels == ("missing",)


# --- distributions


@pytest.mark.parametrize("method", METHODS)
def test_distributions_of_every_method(method):
    """Both add up to 1, by bins that borders fit to; columns of the release in their roles."""
    comparison = published(method)
    found = distributions(comparison)
    assert [one.column for one in found] == list(coverings(comparison))
    for one in found:
        assert len(one.labels) == len(set(one.labels)) == len(one.before) == len(one.after)
        assert sum(one.before) == pytest.approx(1)
        assert sum(one.after) == pytest.approx(1)
        if one.edges is not None:
            assert len(one.edges) == len(one.labels) + 1
            assert all(low < high for low, high in pairwise(one.edges))
    roles = {one.column: one.role for one in found}
    assert roles["age"] == "quasi-identifier"
    assert roles.get("id", "keep") == "keep"
    assert roles.get("salary", "sensitive") == "sensitive"
    kinds = {one.column: one.kind for one in found}
    assert (kinds["age"], kinds.get("work", "text"), kinds.get("since", "date")) == (
        "number",
        "text",
        "date",
    )


def test_a_set_of_values_is_spread():
    """Two of three rows show an interval of two values, each of which gets one of them."""
    (found,) = distributions(
        shown_by_hand({"x.low": [1, 1, 3], "x.high": [2, 2, 3]}, {"x": [1, 1, 2, 3]})
    )
    assert found.labels == ("1", "2", "3")
    assert found.before == pytest.approx((0.5, 0.25, 0.25))
    assert found.after == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_noise_lies_where_it_lies():
    """Values with noise have bins beyond the original's, and move as far as they were moved."""
    laws = {"step": 1, "clusters": [{"scale": 1, "half_width": 2}]}
    ages = list(range(20, 40))
    noisy = [age - 10 for age in ages]
    shown = {
        "x": noisy,
        "x.low": [value - 2 for value in noisy],
        "x.high": [value + 2 for value in noisy],
    }
    comparison = shown_by_hand(
        shown, {"x": ages}, kind="differential-privacy", decision={"columns": {"x": laws}}
    )
    (found,) = distributions(comparison)
    assert (found.edges[0], found.edges[-1]) == (10, 40)
    assert sum(found.after[:10]) == pytest.approx(0.5)
    assert sum(found.before[:10]) == 0
    moved = measured(MarginalDivergence(), comparison)["marginal-wasserstein"]
    assert moved.value == pytest.approx(10 / 19)


def test_no_rows_add_up_to_nothing():
    """A release without rows has shares of 0."""
    (found,) = distributions(shown_by_hand({"x": []}, {"x": [1, 2]}))
    assert found.after == (0.0, 0.0)
    assert MarginalDivergence().refusal(shown_by_hand({"x": []}, {"x": [1]})) == "it has no rows"


# --- divergences


columns = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=examples(50))
@given(columns, columns)
def test_divergences_equal_their_definitions(before, after):
    """Of texts that stay as they are, against SciPy and sums over values."""
    known = sorted(set(before))
    after = [text for text in after if text in known] or [before[0]]
    found = measured(MarginalDivergence(), shown_by_hand({"x": after}, {"x": before}))
    p, q = (np.array([rows.count(text) for text in known]) for rows in (before, after))
    variation = np.abs(p / p.sum() - q / q.sum()).sum() / 2
    assert found["marginal-total-variation"].value == pytest.approx(variation, abs=1e-12)
    shannon = jensenshannon(p, q, base=2) ** 2
    assert found["marginal-jensen-shannon"].value == pytest.approx(shannon, abs=1e-12)
    smooth = (p + 0.5) / (p + 0.5).sum(), (q + 0.5) / (q + 0.5).sum()
    assert found["marginal-kullback-leibler"].value == pytest.approx(
        (smooth[0] * np.log(smooth[0] / smooth[1])).sum(), abs=1e-12
    )
    assert "marginal-wasserstein" not in found


numbers = st.lists(st.integers(0, 30), min_size=1, max_size=12)


@settings(max_examples=examples(50))
@given(numbers, st.data())
def test_the_wasserstein_distance_is_that_of_scipy(before, data):
    """Of numbers that stay as they are, as a share of their extent."""
    after = data.draw(st.lists(st.sampled_from(before), min_size=1, max_size=12))
    found = measured(MarginalDivergence(), shown_by_hand({"x": after}, {"x": before}))
    extent = max(before) - min(before)
    expected = wasserstein_distance(before, after) / extent if extent else 0
    assert found["marginal-wasserstein"].value == pytest.approx(expected, abs=1e-12)


pair = st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 4))


@settings(max_examples=examples(40))
@given(st.lists(pair, min_size=2, max_size=15), st.data())
def test_pairs_of_spread_rows_equal_a_sum_over_rows(before, data):
    """Intervals and texts: each row spread over the products of what its two entries cover."""
    plain = {text for text, _ in before}, sorted({number for _, number in before})
    rows = data.draw(st.integers(1, 6))
    texts = [data.draw(st.sampled_from(sorted(plain[0]))) for _ in range(rows)]
    low = [data.draw(st.sampled_from(plain[1])) for _ in range(rows)]
    high = [data.draw(st.sampled_from([n for n in plain[1] if n >= end])) for end in low]
    original = {"t": [text for text, _ in before], "n": [number for _, number in before]}
    comparison = shown_by_hand({"t": texts, "n.low": low, "n.high": high}, original)
    p, q = {}, {}
    for cell in before:
        p[cell] = p.get(cell, 0) + 1 / len(before)
    (spread,) = (coverings(comparison)["n"].spread.matrix.toarray(),)
    entry = coverings(comparison)["n"].entry
    for row in range(rows):
        for place, number in enumerate(plain[1]):
            cell = texts[row], number
            q[cell] = q.get(cell, 0) + spread[entry[row], place] / rows
    expected = sum(abs(p.get(cell, 0) - q.get(cell, 0)) for cell in {*p, *q}) / 2
    found = measured(PairDivergence(), comparison)["pair-total-variation"]
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.parts.keys() == {"t, n"}


def test_the_original_as_it_is_does_not_diverge():
    """Every divergence is 0, of every column and pair."""
    for measure, names in ((MarginalDivergence(), MARGINALS), (PairDivergence(), PAIRS)):
        found = measured(measure, as_it_is())
        assert tuple(found) == names
        for one in found.values():
            assert one.value == one.untouched == 0
            assert set(one.parts.values()) == {0.0}
            assert one.useless > 0.01


def test_nothing_left_is_useless():
    """Whole domains in every cell are what is called useless."""
    for measure in (MarginalDivergence(), PairDivergence()):
        for one in measured(measure, nothing_left()).values():
            assert one.value == pytest.approx(one.useless)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_measured(method):
    """Divergences are bounded, with a part for each column or pair."""
    comparison = published(method)
    names = list(coverings(comparison))
    found = measured(MarginalDivergence(), comparison) | measured(PairDivergence(), comparison)
    for one in found.values():
        pairs = len(names) * (len(names) - 1) // 2
        lines = sum(covering.points is not None for covering in coverings(comparison).values())
        counts = {"marginal-wasserstein": lines}
        many = pairs if one.measure.startswith("pair") else len(names)
        assert len(one.parts) == counts.get(one.measure, many)
        assert one.value >= 0
        assert one.measure == "marginal-kullback-leibler" or one.value <= 1
        assert one.value == pytest.approx(np.mean(list(one.parts.values())))


def test_permuting_shows_in_pairs_only():
    """M-shuffle keeps every column as it is, and no pair of a permuted column with others."""
    comparison = published("m-shuffle")
    assert {one.value for one in measured(MarginalDivergence(), comparison).values()} == {0.0}
    parts = measured(PairDivergence(), comparison)["pair-total-variation"].parts
    assert parts["id, age"] > 0.1
    assert parts["id, income"] == 0


def test_independent_columns_are_told_beside():
    """The value of a table of the same columns whose rows do not go together, by hand."""
    original = {"x": ["a", "a", "b", "b"], "y": ["c", "c", "d", "d"]}
    comparison = shown_by_hand({"x": ["a", "a", "b", "b"], "y": ["c", "d", "c", "d"]}, original)
    found = measured(PairDivergence(), comparison)["pair-total-variation"]
    assert found.value == 0.5
    assert found.notes == (
        "independent columns that are distributed as in the original come to 0.5",
    )


def test_one_column_makes_no_pair():
    """Single columns are compared, and pairs refused."""
    alone = shown_by_hand({"x": [1, 2]}, {"x": [1, 2]})
    assert PairDivergence().refusal(alone) == "it shows fewer than two columns"
    assert MarginalDivergence().refusal(alone) is None


@pytest.mark.parametrize("entries", [3, 400])
@pytest.mark.parametrize("weighed", [False, True])
def test_products_of_functions_are_summed_over_rows(entries: int, weighed: bool) -> None:
    """Few entries and many, with weights and without: the sum over each row by itself."""
    draws = np.random.default_rng(entries)
    rows = 50
    left, right = draws.random((entries, 2)), draws.random((entries, 3))
    one, other = draws.integers(0, entries, (2, rows)).astype(np.int32)
    weights = draws.random(rows) if weighed else None
    found = joint_expectations((left, one), (right, other), weights)
    each = np.ones(rows) if weights is None else weights
    expected = sum(each[i] * np.outer(left[one[i]], right[other[i]]) for i in range(rows))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("weighed", [False, True])
def test_products_counted_in_parts(monkeypatch, weighed):
    """Where pairs are too many for one table, sums of parts are those of all at once."""
    draws = np.random.default_rng(5)
    one, other = draws.integers(0, 90, 4000).astype(np.uint8), draws.integers(0, 70, 4000)
    left, right = draws.random((90, 3)), draws.random((70, 2))
    weights = draws.random(4000) if weighed else None
    whole = joint_expectations((left, one), (right, other), weights)
    monkeypatch.setattr(covering, "_MOST_PAIRS", 500)
    found = joint_expectations((left, one), (right, other), weights)
    rows = left[one].T @ (right[other] * (1.0 if weights is None else weights[:, np.newaxis]))
    np.testing.assert_allclose(found, whole, rtol=1e-12)
    np.testing.assert_allclose(found, rows, rtol=1e-9)
