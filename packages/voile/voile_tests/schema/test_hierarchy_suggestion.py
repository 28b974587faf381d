"""Suggested hierarchies: valid plans, from public facts alone."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.hierarchy.ranges import Dates, Intervals, Prefixes
from voile.schema.hierarchy.suggestion import Suggestion
from voile.schema.plan import ColumnPlan, parse_plan


def read_back(suggestion: Suggestion) -> ColumnPlan:
    """The plan of the column as the suggested TOML has it."""
    document = tomllib.loads(suggestion.text(), parse_float=Decimal)
    return parse_plan(document).columns[suggestion.column]


def test_ages():
    """Widths of 5, 10 and 20 years for ages from 17 to 90."""
    suggestion = Suggestion.of("age", "integer", None, ColumnPlan((Decimal(17), Decimal(90))))
    assert suggestion.text() == (
        "# intervals from the declared bounds\n"
        "[columns.age]\n"
        "bounds = [17, 90]\n"
        "intervals = {origin = 0, widths = [5, 10, 20]}\n"
    )


@given(
    st.decimals(-(10**6), 10**6, places=2),
    st.decimals(Decimal("0.01"), 10**7, places=2),
    st.sampled_from(["integer", "decimal"]),
)
def test_widths_are_round_nest_and_cut_the_bounds_into_a_handful(low, span, kind):
    """At most twenty and some intervals, widths of 1, 2 or 5 times a power of ten."""
    column = ColumnPlan((low, low + span))
    suggestion = Suggestion.of("x", kind, None, column)
    if suggestion.keys is None:
        assert kind == "integer"
        assert span < 4
        return
    written = read_back(suggestion)
    assert written.bounds == column.bounds
    assert isinstance(written.hierarchy, Intervals)
    widths = written.hierarchy.widths
    assert 1 <= len(widths) <= 5
    assert all(width.normalize().as_tuple().digits in {(1,), (2,), (5,)} for width in widths)
    assert all(upper % lower == 0 for lower, upper in pairwise(widths))
    assert span / 20 <= widths[0]
    assert widths[-1] <= span / 2
    assert widths[0] <= max(span / 4, 2)
    assert written.hierarchy.unit == (None if kind == "integer" else 0)


def test_without_bounds_they_are_asked_for():
    """The data is never looked at for bounds; what is said is a comment in TOML."""
    suggestion = Suggestion.of("age", "integer", 2, ColumnPlan())
    assert suggestion.keys is None
    assert "declare bounds" in suggestion.note
    assert tomllib.loads(suggestion.text()) == {}


@pytest.mark.parametrize(
    ("digits", "kept"),
    [(2, (1,)), (5, (4, 3, 2, 1)), (6, (4, 2)), (9, (7, 5, 3, 1)), (13, (10, 7, 4, 1))],
)
def test_codes_of_digits(digits, kept):
    """Texts of digits keep their first ones, in at most four steps."""
    written = read_back(Suggestion.of("zip", "text", digits, ColumnPlan()))
    assert written == ColumnPlan(type="text", hierarchy=Prefixes(kept))


def test_numbers_that_the_plan_calls_text():
    """A zip code without zeros in front looks like a number, and the plan knows better."""
    written = read_back(Suggestion.of("zip", "integer", 5, ColumnPlan(type="text")))
    assert written.hierarchy == Prefixes((4, 3, 2, 1))


def test_dates_and_times():
    """Months, years and decades, as of births; for times days come first."""
    assert read_back(Suggestion.of("since", "date", None, ColumnPlan())).hierarchy == Dates(
        ("month", "year", "decade")
    )
    assert read_back(Suggestion.of("at", "datetime", None, ColumnPlan())).hierarchy == Dates(
        ("day", "month", "year", "decade")
    )


@pytest.mark.parametrize(
    ("kind", "digits", "words"),
    [
        ("text", None, "Paris;France;*"),
        ("text", 1, "Paris;France;*"),
        ("boolean", None, "without a hierarchy"),
        ("nested", None, "leave the column out"),
    ],
)
def test_where_nothing_can_be_suggested(kind, digits, words):
    """The note says what to do instead."""
    suggestion = Suggestion.of("x", kind, digits, ColumnPlan())
    assert suggestion.keys is None
    assert words in suggestion.note


def test_a_hierarchy_that_is_there_stays():
    """Nothing is suggested for a column whose plan has a hierarchy."""
    suggestion = Suggestion.of("zip", "text", 5, ColumnPlan(hierarchy=Prefixes((2,))))
    assert suggestion.keys is None
    assert "has a hierarchy" in suggestion.note


@pytest.mark.parametrize("name", ["hours-per-week", "a b", "a.b", 'q"\\', "été", "\x7f\n", ""])
def test_names_and_what_the_plan_says_survive(name):
    """The suggested table replaces the one of the plan, whatever the column is called."""
    column = ColumnPlan((Decimal("-0.5"), Decimal(10**6)), nulls="drop", outside="clamp")
    written = read_back(Suggestion.of(name, "decimal", None, column))
    assert (written.bounds, written.nulls, written.outside) == (
        column.bounds,
        column.nulls,
        column.outside,
    )
