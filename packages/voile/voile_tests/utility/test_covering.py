"""What published entries stand for, against evidence pair by pair and by hand."""

from __future__ import annotations

import datetime
import gc
import weakref

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.disclosure.covering import Spread
from voile.disclosure.exact import Permuted
from voile.disclosure.replaced import Noisy
from voile.release.reading import ColumnView, People
from voile.schema.plan import parse_plan
from voile.utility.covering import ColumnCovering, OriginalDomain, coverings
from voile_base.errors import InputError, TableError
from voile_testing.plugin import some_slow
from voile_tests.utility.releases import (
    METHODS,
    PEOPLE,
    as_it_is,
    nothing_left,
    published,
    shown_by_hand,
)

EVERY = pytest.mark.parametrize("method", METHODS)


def of(comparison, name) -> ColumnCovering:
    return coverings(comparison, [name])[name]


def own_positions(covering: ColumnCovering) -> np.ndarray:
    """Where the value of each original row lies in the order of the runs."""
    place = np.empty(len(covering.values), dtype=int)
    place[covering.spread.order] = np.arange(len(place))
    return place[covering.own]


# --- the laws


@given(st.data())
def test_products_without_the_matrix_are_those_with_it(data):
    """Runs over values in any order, with any weights: the law of every entry adds up to 1."""
    d, e = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 6))
    start = np.array([data.draw(st.integers(0, d - 1)) for _ in range(e)])
    stop = np.array([data.draw(st.integers(int(low) + 1, d)) for low in start])
    order = np.array(data.draw(st.permutations(range(d))))
    weight = np.array([data.draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in range(d)])
    spread = Spread(order, start, stop, weight)
    rows = np.array([data.draw(st.integers(0, 9)) for _ in range(e)])
    dense = np.zeros((e, d))
    for entry in range(e):
        covered = order[start[entry] : stop[entry]]
        dense[entry, covered] = weight[covered] / weight[covered].sum()
    assert np.allclose(spread.matrix.toarray(), dense)
    assert np.allclose(spread.matrix.sum(axis=1), 1)
    assert np.allclose(spread.spread(rows), rows @ dense)


def test_values_that_stay_are_counted_exactly():
    """Where every entry is one value no rounding enters, however unlike the weights are."""
    weight = np.array([1e-9, 1e9, 1.0])
    spread = Spread(np.array([2, 0, 1]), np.arange(3), np.arange(1, 4), weight)
    assert spread.spread(np.array([7, 1, 3])).tolist() == [1.0, 3.0, 7.0]


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 9)), min_size=2, max_size=5),
    st.sampled_from([0.1, 0.3, 0.7]),
)
def test_no_value_gets_less_than_no_rows(runs, weight):
    """Beyond the last of some runs that begin together there is nothing, for all the rounding."""
    stop = np.array([1 + length for length, _ in runs])
    spread = Spread(np.arange(9), np.zeros(len(runs), int), stop, np.full(9, weight))
    found = spread.spread(np.array([rows for _, rows in runs]) / 7)
    assert (found >= 0).all()
    assert found[stop.max() :] == pytest.approx(0, abs=1e-12)


def test_a_weight_beside_far_larger_ones_is_its_own():
    """A sum over one value is that value, and not the difference of two sums with all before."""
    spread = Spread(np.arange(2), np.array([0, 1]), np.array([2, 2]), np.array([1e17, 1.0]))
    assert spread.matrix.toarray()[1].tolist() == [0.0, 1.0]


# --- every method


@pytest.mark.parametrize(
    "method",
    some_slow(sorted(METHODS.keys() - {"dp-generalization"}), {"k-optimize", "clustered-laplace"}),
)
def test_the_entry_of_a_row_covers_its_own_value(method):
    """In every release that shows which row is whose, but where noise is added or rows permuted."""
    comparison = published(method)
    who = comparison.published.frame["id"].to_numpy()
    for covering in coverings(comparison).values():
        if isinstance(covering.stated, Noisy | Permuted):
            continue
        own = own_positions(covering)[who]
        entry, spread = covering.entry, covering.spread
        assert (spread.start[entry] <= own).all()
        assert (own < spread.stop[entry]).all()


@EVERY
def test_entries_cover_what_the_evidence_says(method):
    """Value by value and entry by entry, the covered values are those that adversaries weigh."""
    comparison = published(method)
    for name, covering in coverings(comparison).items():
        if covering.noisy:
            assert (covering.spread.covered == 1).all()
            continue
        view = ColumnView.of(
            comparison.published,
            (covering.shown, covering.rows),
            covering.domain.people,
            name,
            np.arange(len(covering.values)),
        )
        expected = np.exp(view.evidence().log_weights(slice(None))).T > 0
        found = covering.spread.matrix.toarray() > 0
        known = np.array([label is not None for label in covering.labels])
        assert (found[known] == expected[known]).all()
        assert (found[~known] <= expected[~known]).all()


@EVERY
def test_rows_and_sizes_are_kept(method):
    """Every published row has an entry, every entry a size between 0 and 1, 0 for one value."""
    comparison = published(method)
    for covering in coverings(comparison).values():
        assert (np.bincount(covering.entry) == covering.rows).all()
        assert covering.rows.sum() == comparison.published.frame.height
        assert ((covering.size >= 0) & (covering.size <= 1)).all()
        if not covering.noisy and covering.domain.hierarchy.height <= 1:
            assert (covering.size[covering.spread.covered > 1] > 0).all()


def test_the_original_as_it_is_covers_itself():
    """Each value is one entry of size 0, with the rows that the original has of it."""
    for covering in coverings(as_it_is()).values():
        assert (covering.size == 0).all()
        assert (covering.spread.spread(covering.rows) == covering.domain.rows).all()
        assert (covering.level == 0).all()


def test_nothing_left_covers_everything():
    """Whole domains cover all values and have size 1."""
    for covering in coverings(nothing_left()).values():
        assert (covering.spread.covered == len(covering.values)).all()
        assert (covering.size == 1).all()


# --- by hand


def test_an_interval_is_spread_over_the_line():
    """Values 0, 1, 2 and 10 reach half-way to their neighbours, the outer ones as far out as in."""
    covering = of(shown_by_hand({"x.low": [0, 2], "x.high": [10, 10]}, {"x": [0, 1, 2, 10]}), "x")
    assert covering.shares.toarray().tolist() == pytest.approx(
        np.array([[1 / 14.5, 1 / 14.5, 4.5 / 14.5, 8 / 14.5], [0, 0, 4.5 / 12.5, 8 / 12.5]])
    )
    assert covering.size.tolist() == [1.0, 0.8]
    assert covering.low.tolist() == [0, 2]
    assert covering.high.tolist() == [10, 10]


def test_whole_numbers_share_evenly():
    """Ages without gaps have equal shares of an interval."""
    covering = of(shown_by_hand({"x.low": [3], "x.high": [6]}, {"x": range(10)}), "x")
    assert covering.shares.toarray()[0].tolist() == pytest.approx([0, 0, 0, *[0.25] * 4, 0, 0, 0])
    assert covering.size == pytest.approx([3 / 9])


def test_public_bounds_are_the_domain():
    """The width counts by the plan's bounds, and values beyond them by the bounds."""
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["x"]},
            "columns": {"x": {"bounds": [0, 100], "outside": "clamp"}},
        }
    )
    covering = of(shown_by_hand({"x": ["[0, 25]"]}, {"x": [5, 20, 25]}, plan), "x")
    assert covering.size == pytest.approx([0.25])
    assert covering.labels == ("[0, 25]",)
    beyond = of(shown_by_hand({"x.low": [90], "x.high": [100]}, {"x": [5, 250]}, plan), "x")
    assert beyond.shares.toarray().tolist() == [[0.0, 1.0]]


TREE = {
    "roles": {"quasi_identifiers": ["x"]},
    "columns": {"x": {"tree": {"vowel": ["a", "e", "i", "o"], "z": [], "rest": ["b", "c"]}}},
}


def test_labels_count_leaves_of_the_hierarchy():
    """Four of seven leaves are vowels though the table has two; one leaf alone costs nothing."""
    shown = {"x": ["vowel", "z", "b", "*", "rest"]}
    covering = of(shown_by_hand(shown, {"x": ["a", "b", "e", "c", "z"]}, parse_plan(TREE)), "x")
    sizes = dict(zip(covering.labels, covering.size.tolist(), strict=True))
    assert sizes == pytest.approx({"vowel": 4 / 7, "z": 0, "b": 0, "*": 1, "rest": 2 / 7})
    levels = dict(zip(covering.labels, covering.level.tolist(), strict=True))
    assert levels == {"vowel": 1, "z": 0, "b": 0, "*": 2, "rest": 1}
    shares = dict(zip(covering.labels, covering.shares.toarray().tolist(), strict=True))
    assert shares["vowel"] == [0.5, 0, 0, 0.5, 0]  # a, b, c, e, z
    assert shares["*"] == pytest.approx([0.2] * 5)


def test_a_missing_label_is_missing():
    """Texts that are missing stand for missing ones, even where groups differ in detail."""
    plan = parse_plan({**TREE, "nulls": "category"})
    covering = of(shown_by_hand({"x": [None, "a"]}, {"x": ["a", None]}, plan), "x")
    assert covering.shares.toarray().tolist() == [[1, 0], [0, 1]]
    assert covering.size.tolist() == [0, 0]


@pytest.mark.parametrize(("shown", "anything"), [(2, False), (3, True)])
def test_missing_numbers_may_be_mixed_groups(shown, anything):
    """More rows without a number than the original misses: they may be anything, or missing."""
    low, high = [*[None] * shown, 1], [*[None] * shown, 3]
    original = {"x": [None, None, 1, 3]}
    covering = of(shown_by_hand({"x.low": low, "x.high": high}, original), "x")
    assert covering.size.tolist() == [float(anything), 1.0]
    assert covering.spread.covered.tolist() == [3 if anything else 1, 2]
    assert np.isnan(covering.low[0]) != anything


def test_without_a_plan_unknown_labels_may_stand_for_anything():
    """A text that the original has is itself, every other one is of size 1, and that is noted."""
    covering = of(shown_by_hand({"x": ["a", "vowel"]}, {"x": ["a", "b", "e"]}), "x")
    assert covering.size.tolist() == [0, 1]
    assert covering.spread.covered.tolist() == [1, 3]
    assert "without its hierarchy" in covering.notes[0]


def test_periods_of_dates_count_by_the_days_of_the_table():
    """A period covers the dates in it; its size is its days over those of the whole table."""
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=n) for n in (0, 10, 20, 100)]
    covering = of(shown_by_hand({"x": ["2020-01-01/2020-01-21", "2020-04-10"]}, {"x": days}), "x")
    assert covering.size == pytest.approx([0.2, 0])
    assert covering.spread.covered.tolist() == [3, 1]
    assert covering.low.tolist() == [18262, 18262 + 100]
    assert covering.high.tolist() == [18262 + 20, 18262 + 100]


def test_ranges_of_ordered_texts():
    """``C to B`` covers both and what lies between in the declared order."""
    plan = parse_plan(
        {"roles": {"ranking": ["x"]}, "columns": {"x": {"order": ["D", "C", "B", "A"]}}}
    )
    comparison = shown_by_hand(
        {"x": ["C to A", "D"]},
        {"x": ["A", "B", "C", "D"]},
        plan,
        kind="ranking",
        orders={"x": ["D", "C", "B", "A"]},
        roles={"ranking": ("x",)},
    )
    covering = of(comparison, "x")
    shares = dict(zip(covering.labels, covering.shares.toarray().tolist(), strict=True))
    assert shares["C to A"] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert shares["D"] == [0, 0, 0, 1]
    assert covering.size.tolist() == [0.75, 0]


def test_noise_is_the_nearest_value():
    """A noisy value stands for the nearest one; the interval around it gives its size."""
    laws = {"step": 0.5, "clusters": [{"scale": 1, "half_width": 2}]}
    shown = {"x": [-1.0, 3.5, 9.0], "x.low": [-3.0, 1.5, 7.0], "x.high": [1.0, 5.5, 11.0]}
    comparison = shown_by_hand(
        shown, {"x": [0, 2, 4, 8]}, kind="differential-privacy", decision={"columns": {"x": laws}}
    )
    covering = of(comparison, "x")
    assert covering.shares.toarray().argmax(axis=1).tolist() == [0, 2, 3]
    assert covering.size == pytest.approx([0.5, 0.5, 0.5])
    assert covering.low.tolist() == covering.high.tolist() == [-1.0, 3.5, 9.0]


def test_numbers_of_other_tables_are_the_nearest_ones():
    """Rows that were carried over from another table may hold numbers that the original lacks."""
    carried = shown_by_hand({"x": [7, 40]}, {"x": [5, 8, 30]})
    assert of(carried, "x").shares.toarray().argmax(axis=1).tolist() == [1, 2]
    between = shown_by_hand({"x.low": [10, 1], "x.high": [12, 9]}, {"x": [5, 8, 30]})
    assert (of(between, "x").spread.covered == [2, 1]).all()


def test_what_nothing_explains_is_refused():
    """A text that stands for no value, a column that is not there, a table without rows."""
    plan = parse_plan(TREE)
    with pytest.raises(TableError, match="1 of its 2 different published entries"):
        coverings(shown_by_hand({"x": ["a", "consonant"]}, {"x": ["a", "b"]}, plan))
    with pytest.raises(InputError, match="no column 'y'"):
        coverings(shown_by_hand({"x": ["a"]}, {"x": ["a"]}), ["y"])
    with pytest.raises(TableError, match="has no rows"):
        OriginalDomain.of(People(pl.DataFrame({"x": pl.Series([], dtype=pl.Int64)})), "x")


def test_numbers_that_are_none_are_missing():
    """NaN and infinities of the original are missing values, as in a release."""
    comparison = shown_by_hand(
        {"x": [None, 1.5]}, {"x": [1.5, np.nan, np.inf]}, decision={"levels": {"x": 0}}
    )
    assert of(comparison, "x").domain.rows.tolist() == [2, 1]


def test_a_wide_column_needs_no_matrix():
    """28,000 values below intervals over all of them: the memory is that of the values."""
    many = np.arange(28_000)
    covering = of(shown_by_hand({"x.low": many * 0, "x.high": many + 1}, {"x": many.tolist()}), "x")
    assert covering.spread.covered.sum() > 3e8
    counts = covering.spread.spread(covering.rows)
    assert counts.sum() == pytest.approx(28_000)
    assert (np.diff(counts) <= 1e-9).all()


def test_coverings_are_found_once_and_let_go():
    """Measures that look at one release share what was found, and nothing keeps it alive."""
    comparison = shown_by_hand({"x": [1, 2]}, {"x": [1, 2]})
    first = of(comparison, "x")
    assert of(comparison, "x") is first
    trace = weakref.ref(first)
    del comparison, first
    gc.collect()
    assert trace() is None


def test_only_published_columns_are_read():
    """A column of the original that the release does not show is left alone, whatever its name."""
    comparison = shown_by_hand(
        {"group": [1, 1], "x": [1, 2]}, {"x": [1, 2], "group": ["secret", "other"]}
    )
    assert list(coverings(comparison)) == ["x"]
    assert "income" not in coverings(published("flash"))
    assert PEOPLE.width == 7
