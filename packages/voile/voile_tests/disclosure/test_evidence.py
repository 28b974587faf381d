"""Which cells a known value can belong to, by each kind whose cells fit or do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.disclosure.counted import Aggregate, Label
from voile.disclosure.evidence import CoverEvidence, IntervalEvidence, Labels, Sets
from voile.disclosure.exact import Exact, Withheld
from voile.disclosure.interval import Generalized, Interval
from voile_base.errors import InputError, TableError
from voile_testing.plugin import examples
from voile_tests.disclosure.sides import Knows, Shows, fits

TOWNS = [["Delft", "Gouda", "Bonn", None], ["NL", "NL", "DE", None], ["*", "*", "*", "*"]]
AGES = {"age.low": [10, 20, None, 30], "age.high": [19, 20, None, 39]}


def test_values_as_they_are_fit_those_that_read_alike():
    """Missing ones fit missing ones."""
    found = Exact().evidence(Knows(["a", "b", None, "c"]), Shows("x", {"x": ["b", None, "a", "a"]}))
    assert fits(found) == [[2, 3], [0], [1], []]
    assert fits(found, slice(1, 3)) == [[0], [1]]
    assert fits(found.only(np.array([2, 0]))) == [[0], [1], [], []]


def test_labels_fit_what_becomes_them_at_their_level():
    """One level where one is stated, and at level 0 the values themselves."""
    known, cells = Knows(TOWNS[0], levels=TOWNS), Shows("town", {"town": ["NL", "DE", "Bonn", "*"]})
    assert fits(Generalized(level=1).evidence(known, cells)) == [[0], [0], [1], []]
    assert fits(Generalized(level=0).evidence(known, cells)) == [[], [], [2], []]
    assert known.asked == [1]


def test_labels_fit_at_any_level_where_groups_differ():
    """A missing label is the missing value; of a column that has none it may be anything."""
    known = Knows(TOWNS[0], levels=TOWNS)
    cells = Shows("town", {"town": ["NL", "Bonn", "*", None, "FR"]})
    found = Generalized(level="differs").evidence(known, cells)
    assert fits(found) == [[0, 2], [0, 2], [1, 2], [2, 3]]
    assert fits(Generalized(level=2).evidence(known, cells)) == [[2]] * 4
    known = Knows(["Delft", "Bonn"], levels=[["Delft", "Bonn"], ["NL", "DE"], ["*", "*"]])
    found = Generalized(level="differs").evidence(known, cells)
    assert fits(found) == [[0, 2, 3], [1, 2, 3]]


def test_labels_without_a_hierarchy_may_stand_for_anything():
    """But for values of the column where groups differ; the notes say so, and only then."""
    known = Knows(["Delft", "Bonn"])
    cells = Shows("town", {"town": ["NL", "Bonn"]})
    assert fits(Generalized(level="differs").evidence(known, cells)) == [[0], [0, 1]]
    assert fits(Generalized(level=1).evidence(known, cells)) == [[0, 1], [0, 1]]
    (note,) = Generalized(level=1).notes(known, cells)
    assert note.startswith("column 'town' was generalized, and without its hierarchy")
    assert Generalized(level="differs").notes(known, cells) == [note]
    for quiet in (
        Generalized(level=0).notes(known, cells),
        Generalized(level=1).notes(Knows(["Bonn"], levels=TOWNS), cells),
        Generalized(level="differs").notes(known, Shows("town", {"town": ["Bonn"]})),
    ):
        assert quiet == []


def test_intervals_hold_their_ends():
    """Both included; missing values fit missing ones, and any value where groups may mix them."""
    known = Knows([9, 10, 19, 20, 39, 40, None])
    cells = Shows("age", AGES)
    assert fits(Interval(level=1).evidence(known, cells)) == [[], [0], [0], [1], [3], [], [2]]
    differs = fits(Interval(level="differs").evidence(known, cells))
    assert differs == [[2], [0, 2], [0, 2], [1, 2], [2, 3], [2], [2]]
    alone = fits(Interval(level="differs", missing="alone").evidence(known, cells))
    assert alone == [[], [0], [0], [1], [3], [], [2]]


def test_an_interval_with_one_end_is_no_missing_value():
    """Only where both ends are missing may it be one."""
    found = IntervalEvidence(np.array([1.0, np.nan]), np.array([np.nan, 0]), np.array([5, np.nan]))
    assert fits(found) == [[], []]
    whole = IntervalEvidence(np.array([1.0]), np.array([0.0, 2]), np.array([5.0, 3]))
    assert fits(whole.only(np.array([1, 0, 0]))) == [[1, 2]]


def test_intervals_may_be_texts():
    """``[low, high]``, either end missing; anything else is no interval, and the count is told."""
    known = Knows([1.5, -2])
    cells = Shows("pay", {"pay": ["[1, 2]", "[-3.5, -2]", None, "[, ]"]})
    assert fits(Interval(level=1, ends="text").evidence(known, cells)) == [[0], [1]]
    for strange in ("1, 2", "[1,2]", "[1, 2] ", "[1, 2, 3]", ""):
        cells = Shows("pay", {"pay": ["[1, 2]", strange, "x"]})
        with pytest.raises(TableError, match=r"column 'pay' holds 2 different texts that are no"):
            Interval(level=1, ends="text").evidence(known, cells)


def test_periods_hold_their_days():
    """Two days with a stroke between, or one alone; days that nobody named lie between them too."""
    known = Knows(["2020-02-01", "2020-02-15", "2020-03-01", None])
    cells = Shows("day", {"day": ["2020-02-01/2020-02-28", "2020-03-01", None, "2020-02-02"]})
    assert fits(Interval(level=1, ends="period").evidence(known, cells)) == [[0], [0], [1], [2]]
    differs = Interval(level="differs", ends="period")
    assert fits(differs.evidence(known, cells)) == [[0, 2], [0, 2], [1, 2], [2]]


def test_ranges_hold_the_texts_between_in_their_order():
    """``low to high`` or one alone; a range of other texts or turned round fits nothing."""
    order = ["none", "school", "college", "degree"]
    known = Knows(["none", "college", "degree", "other", None], order=order)
    shown = ["none to college", "degree", "school to degree", "degree to none", "x", None]
    cells = Shows("taught", {"taught": shown})
    found = Interval(level=1, ends="range").evidence(known, cells)
    # What is in no order is as good as missing, on both sides.
    assert fits(found) == [[0], [0, 2], [1, 2], [3, 4, 5], [3, 4, 5]]
    assert Interval(level=1, ends="range").notes(known, cells) == []


def test_ranges_without_an_order_are_read_as_labels():
    """Then nobody knows what lies between, and the notes say so; numbers everybody can read."""
    known, cells = Knows(["none", "degree"]), Shows("taught", {"taught": ["none to school"]})
    ranges = Interval(level=1, ends="range")
    assert fits(ranges.evidence(known, cells)) == [[0], [0]]
    assert len(ranges.notes(known, cells)) == 1
    assert Interval(level=1).notes(Knows([1]), Shows("age", AGES)) == []


def test_labels_tell_which_sides_have_a_fit():
    """Of all rows and of some targets; a text that may be anything fits everybody."""
    found = Labels.of([["a", "b", "c"], ["A", "A", "C"]], ["A", "c", "x"])
    assert found.fits_some_row().tolist() == [True, True, True]
    assert found.fits_some_target(slice(0, 2)).tolist() == [True, False, False]
    assert found.fits_some_target(np.array([2])).tolist() == [False, True, False]
    assert not found.is_exact
    wild = Labels.of([["a", "b"]], ["x", "a"], anything={"x"})
    assert wild.fits_some_row().tolist() == [True, True]
    assert wild.fits_some_target(slice(1, 2)).tolist() == [True, False]
    assert fits(wild) == [[0, 1], [0]]
    assert fits(wild.only(np.array([1]))) == [[0], []]
    assert not wild.is_exact
    plain = Labels.of([["a", "b"]], ["a"])
    assert plain.fits_some_row().tolist() == [True, False]
    assert plain.is_exact


COUNTS = Aggregate(confidence=0.9)


@pytest.mark.parametrize("shown", [Label(), COUNTS, Withheld()], ids=lambda shown: shown.kind)
def test_what_is_of_no_single_row_is_compared_with_none(shown):
    """Counts and columns that are withheld: the message names the column and says why."""
    cells = Shows("trips", {"trips": [3]})
    said = "shows nothing of" if shown.kind == "withheld" else "is about counts, not about rows"
    for compare in (shown.evidence, shown.covered):
        with pytest.raises(InputError, match=f"'trips'.*{said}|{said} column 'trips'"):
            compare(Knows([3]), cells)


@settings(max_examples=examples(60))
@given(st.data())
def test_evidence_of_distinct_values_and_cells_is_that_of_all(data):
    """Spread over targets and rows, or some rows: each pair is its value's and cell's."""
    text = st.sampled_from(["a", "b", "c", None])
    known, shown = (data.draw(st.lists(text, min_size=1, max_size=4)) for _ in range(2))
    kind = data.draw(st.sampled_from(["labels", "wild", "sets", "intervals"]))
    if kind == "sets":
        found = Sets.of(known, [(text, "a") for text in shown])
    elif kind == "intervals":
        low = np.arange(len(shown), dtype=float)
        found = IntervalEvidence(np.arange(len(known)) / 2, low, low + 0.7)
    else:
        found = Labels.of([known], shown, {"c"} if kind == "wild" else ())
    value = np.array(data.draw(st.lists(st.integers(0, len(known) - 1), min_size=1, max_size=9)))
    cell = np.array(data.draw(st.lists(st.integers(0, len(shown) - 1), min_size=1, max_size=9)))
    chosen = np.array(data.draw(st.lists(st.integers(0, len(cell) - 1), max_size=9)), dtype=int)
    covers = found.covers(slice(None))
    pairs = covers[np.ix_(value, cell)]
    spread = found.spread(value, cell)
    assert np.array_equal(spread.covers(slice(None)), pairs)
    assert np.array_equal(spread.covers(np.array([0])), pairs[[0]])
    assert np.array_equal(spread.packed(slice(None)), np.packbits(pairs, axis=1))
    assert np.array_equal(spread.packed_targets(slice(None)), np.packbits(pairs, axis=0).T)
    assert np.array_equal(found.packed_targets(slice(None)), np.packbits(covers, axis=0).T)
    assert np.array_equal(spread.only(chosen).covers(slice(None)), pairs[:, chosen])


def test_rows_hold_the_number_of_a_cell_in_the_narrowest_type():
    """A byte each of few cells, and some of the rows, or none, say what all say."""
    known, cells = Knows(["a", "b"]), Shows("x", {"x": ["b", "a"]})
    evidence = Exact().evidence(known, cells)
    cell = np.array([1, 0, 0, 1])
    found = CoverEvidence.spread(evidence, np.array([0, 1]), cell)
    assert vars(found)["cell"].itemsize == 1
    assert fits(found) == [[0, 3], [1, 2]]
    assert fits(found.only(np.array([3, 1]))) == [[0], [1]]
    assert fits(found.only(np.array([], dtype=np.int64))) == [[], []]
