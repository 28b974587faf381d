"""Intervals, prefixes and dates: what they show, and what they refuse."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from voile.schema.hierarchy.declared import plain
from voile.schema.hierarchy.forms import WrittenDays, year_of
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.hierarchy.ranges import (
    TWO_DIGIT_FORMATS,
    USUAL_FORMATS,
    Dates,
    Intervals,
    Prefixes,
)
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import parse_plan
from voile_base.errors import PlanError, TableError


def numbers(*values: Any) -> DistinctValues:
    """Distinct numbers."""
    exact = ExactNumbers.of([Decimal(str(value)) for value in values])
    return DistinctValues("number", tuple(exact.texts()), exact)


def texts(*values: str | None, kind: str = "text") -> DistinctValues:
    """Distinct values that are no numbers."""
    return DistinctValues(kind, values)


def bounds(low: Any, high: Any) -> tuple[Decimal, Decimal]:
    """Public bounds."""
    return Decimal(str(low)), Decimal(str(high))


def shown(bound: BoundHierarchy, level: int) -> list[Any]:
    """What each distinct value becomes: a text, or an interval in words."""
    values = bound.values[level]
    if values.texts is not None:
        read: list[Any] = list(values.texts)
    else:
        assert values.low is not None
        assert values.high is not None
        pairs = zip(values.low.texts(), values.high.texts(), strict=True)
        read = [*([None] if values.missing else []), *(f"{low}..{high}" for low, high in pairs)]
    return [read[code] for code in bound.codes[level]]


def shares(bound: BoundHierarchy, level: int) -> list[float]:
    """The share that what each distinct value becomes covers."""
    return [float(bound.values[level].share[code]) for code in bound.codes[level]]


class TestIntervals:
    """Closed intervals between public borders."""

    def test_ages(self):
        """The example of the module: whole numbers, and the bounds in place of what lies beyond."""
        bound = Intervals((5, 10, 20)).bind("age", numbers(17, 19, 20, 23, 90), bounds(17, 90))
        assert bound.height == 4
        assert shown(bound, 1) == ["17..19", "17..19", "20..24", "20..24", "90..90"]
        assert shown(bound, 2) == ["17..19", "17..19", "20..29", "20..29", "90..90"]
        assert shown(bound, 3) == ["17..19", "17..19", "20..39", "20..39", "80..90"]
        assert shown(bound, 4) == ["17..90"] * 5
        assert shares(bound, 0) == [1 / 74] * 5
        assert shares(bound, 1) == [3 / 74, 3 / 74, 5 / 74, 5 / 74, 1 / 74]

    def test_widths_that_do_not_nest(self):
        """Borders 12, 24, 36, 48, 60 move down to 10, 20, 35, 45, 60; negative ones move alike."""
        values = numbers(-13, -1, 0, 9, 10, 19, 20, 34, 35, 45, 59, 60)
        bound = Intervals((5, 12)).bind("x", values)
        assert shown(bound, 2) == [
            *("-15..-1", "-15..-1", "0..9", "0..9", "10..19", "10..19", "20..34", "20..34"),
            *("35..44", "45..59", "45..59", "60..69"),
        ]
        assert shown(bound, 3) == ["*"] * 12

    def test_the_origin_moves_all_borders(self):
        """Borders lie at the origin and at multiples of the width from there."""
        bound = Intervals((10,), origin=18).bind("x", numbers(7, 8, 17, 18, 27, 28))
        assert shown(bound, 1) == ["-2..7", "8..17", "8..17", "18..27", "18..27", "28..37"]

    def test_the_unit_follows_from_what_is_declared(self):
        """Bounds in cents make intervals that end one cent below the next."""
        bound = Intervals((5,)).bind("x", numbers("4.99", "5"), bounds(0, "99.99"))
        assert shown(bound, 1) == ["0..4.99", "5..9.99"]
        assert shares(bound, 1) == [pytest.approx(0.05)] * 2

    def test_a_declared_unit(self):
        """Numbers in steps of 0.25 make intervals that end one step below the next."""
        bound = Intervals((1, 2), unit=Decimal("0.25")).bind("x", numbers("0.75", "1", "1.5"))
        assert shown(bound, 1) == ["0..0.75", "1..1.75", "1..1.75"]

    def test_continuous_numbers(self):
        """With unit = 0 neighbours share a border, and a value on it belongs to the upper one."""
        values = numbers("0.3", "4.999999999", "5", "9.5")
        bound = Intervals((5,), unit=0).bind("x", values, bounds(0, 10))
        assert shown(bound, 1) == ["0..5", "0..5", "5..10", "5..10"]
        assert shares(bound, 1) == [0.5] * 4
        assert all(0 < share < 1e-12 for share in shares(bound, 0))

    @pytest.mark.parametrize("value", ["0.5", "-17.25"])
    def test_numbers_finer_than_the_unit_are_refused(self, value):
        """They could lie between two intervals; the message counts them and tells the way out."""
        with pytest.raises(PlanError, match=r"'x': 1 distinct values .*unit") as caught:
            Intervals((5,)).bind("x", numbers(value, "3"))
        assert value not in str(caught.value).replace("unit = 0.01", "")

    def test_shares_without_bounds(self):
        """The domain counts as twice the largest width, and no interval as more than all of it."""
        bound = Intervals((10, 11, 12)).bind("x", numbers(*range(200)))
        longest = max(bound.values[3].high.units - bound.values[3].low.units) + 1
        assert longest == 30
        assert set(shares(bound, 1)) == {10 / 24}
        assert max(shares(bound, 3)) == 1

    def test_levels_stop_where_one_interval_holds_the_bounds(self):
        """No two levels say the same of everything."""
        bound = Intervals((5, 50, 100, 200)).bind("x", numbers(3, 41), bounds(0, 42))
        assert bound.height == 2
        assert shown(bound, 2) == ["0..42", "0..42"]
        assert (
            Intervals((5, 50)).bind("x", numbers(3), bounds(40, 60)[::-1][:0] or None).height == 3
        )

    def test_numbers_beyond_64_bits(self):
        """Large numbers are as exact as small ones."""
        huge = 10**30
        bound = Intervals((10, 25)).bind("x", numbers(huge + 3, huge + 12, huge + 24))
        assert shown(bound, 1) == [
            f"{huge}..{huge + 9}",
            f"{huge + 10}..{huge + 19}",
            f"{huge + 20}..{huge + 29}",
        ]
        assert shown(bound, 2) == [f"{huge}..{huge + 19}"] * 2 + [f"{huge + 20}..{huge + 49}"]

    def test_a_missing_number_joins_the_others_at_the_top(self):
        """Below, it is missing: the intervals are those of the other values."""
        values = DistinctValues("number", (None, "3"), ExactNumbers.of([3]))
        bound = Intervals((5,)).bind("x", values, bounds(0, 9))
        assert shown(bound, 1) == [None, "0..4"]
        assert shares(bound, 1) == [0.1, 0.5]
        assert shown(bound, 2) == ["0..9", "0..9"]

    def test_a_column_of_missing_values(self):
        """Where no row has a value there is a hierarchy all the same."""
        bound = Intervals((5,)).bind("x", texts(None), bounds(0, 9))
        assert [codes.tolist() for codes in bound.codes] == [[0]] * 3

    def test_texts_are_refused(self):
        """Intervals are those of numbers."""
        with pytest.raises(PlanError, match=r"'x' holds values of kind 'text'.*numbers"):
            Intervals((5,)).bind("x", texts("a"))

    def test_numbers_outside_the_bounds_are_refused(self):
        """No interval within the bounds holds them; the message counts them."""
        with pytest.raises(TableError, match=r"'x': 2 distinct values lie outside .*\[0, 9\]"):
            Intervals((5,)).bind("x", numbers(-1, 3, 10), bounds(0, 9))

    @pytest.mark.parametrize(
        ("declared", "words"),
        [
            ({"widths": ()}, "widths must be a list of numbers"),
            ({"widths": (0,)}, "above 0"),
            ({"widths": (5, "ten")}, "widths must be a list of numbers"),
            ({"widths": 5}, "widths must be a list of numbers"),
            ({"widths": (True,)}, "widths must be a list of numbers"),
            ({"widths": (Decimal("1e9999"),)}, "widths must be a list of numbers"),
            ({"widths": (10, 5)}, "widths must ascend"),
            ({"widths": (5, 5)}, "widths must ascend"),
            ({"widths": tuple(range(1, 15))}, "widths are 14"),
            ({"widths": (5,), "origin": "zero"}, "origin must be a number"),
            ({"widths": (5,), "unit": -1}, "unit must be"),
            ({"widths": (5,), "unit": "cent"}, "unit must be"),
            ({"widths": (5,), "unit": 2}, "multiples of the unit 2"),
        ],
    )
    def test_a_mistake_is_named(self, declared, words):
        """Widths, origin and unit are checked when they are declared."""
        with pytest.raises(PlanError, match=words):
            Intervals(**declared)


class TestPrefixes:
    """First characters of texts."""

    def test_zip_codes(self):
        """What is not kept becomes asterisks, one for each character."""
        bound = Prefixes((3, 1)).bind("zip", texts("80123", "80177", "81", "9"))
        assert shown(bound, 1) == ["801**", "801**", "81", "9"]
        assert shown(bound, 2) == ["8****", "8****", "8*", "9"]
        assert shown(bound, 3) == ["*"] * 4

    def test_shares_are_tenths_by_character(self):
        """Each character kept counts for ten possibilities."""
        bound = Prefixes((3, 1)).bind("zip", texts(None, "80123", "81"))
        assert shares(bound, 0)[1:] == pytest.approx([1e-5, 1e-2])
        assert shares(bound, 1)[1:] == pytest.approx([1e-3, 1e-2])
        assert shares(bound, 2)[1:] == pytest.approx([1e-1, 1e-1])
        assert 0 < shares(bound, 0)[0] < 1e-12

    def test_numbers_are_refused(self):
        """A zip code that became a number has lost its zeros."""
        with pytest.raises(PlanError, match=r"'zip'.*type = \"text\""):
            Prefixes((3,)).bind("zip", numbers(1234))

    @pytest.mark.parametrize("kept", [(), (1, 3), (3, 3), (0,), (3, -1), (True,), ("3",), 3])
    def test_a_mistake_is_named(self, kept):
        """Counts of characters descend and are above 0."""
        with pytest.raises(PlanError, match=r"fewer from level to level, for example \[3, 1\]"):
            Prefixes(kept)


class TestDates:
    """Periods of the calendar."""

    def test_dates(self):
        """Months, quarters, years and decades, as they read."""
        days = texts("1999-12-31", "2020-01-01", "2020-03-31", "2020-04-01", kind="date")
        bound = Dates(("month", "quarter", "year", "decade")).bind("since", days)
        assert shown(bound, 1) == ["1999-12", "2020-01", "2020-03", "2020-04"]
        assert shown(bound, 2) == ["1999-Q4", "2020-Q1", "2020-Q1", "2020-Q2"]
        assert shown(bound, 3) == ["1999", "2020", "2020", "2020"]
        assert shown(bound, 4) == ["1990s", "2020s", "2020s", "2020s"]
        assert shown(bound, 5) == ["*"] * 4

    @pytest.mark.parametrize("text", ["2020-02-28T14:05:06", "2020-02-28 14:05:06.25+00:00"])
    def test_times(self, text):
        """Hours and days, however ISO 8601 is written."""
        bound = Dates(("hour", "day")).bind("at", texts(text, kind="datetime"))
        assert shown(bound, 1) == ["2020-02-28T14"]
        assert shown(bound, 2) == ["2020-02-28"]

    def test_shares_are_those_of_a_century(self):
        """A year is a hundredth, whatever years the table holds."""
        bound = Dates(("year", "decade")).bind("since", texts("2020-01-01", kind="date"))
        assert [shares(bound, level) for level in range(4)] == [[1 / 36525], [0.01], [0.1], [1]]

    @pytest.mark.parametrize(
        ("values", "periods", "error", "words"),
        [
            (texts("a"), ("year",), PlanError, "kind 'text', not dates"),
            (texts("2020-01-01", kind="date"), ("day", "year"), PlanError, "days already"),
            (texts("2020-01-01", kind="date"), ("hour",), PlanError, "days already"),
            (texts("-0044-03-15", kind="date"), ("year",), TableError, "1 distinct values"),
            (texts("+12020-01-01", kind="date"), ("year",), TableError, "1 distinct values"),
        ],
    )
    def test_what_is_no_date_is_refused(self, values, periods, error, words):
        """The message names the column and quotes no value."""
        with pytest.raises(error, match=words) as caught:
            Dates(periods).bind("since", values)
        assert "'since'" in str(caught.value)
        assert (
            values.texts[0] not in str(caught.value).replace("'since'", "")[3:]
            or error is PlanError
        )

    @pytest.mark.parametrize(
        ("periods", "words"),
        [
            ((), "must be a list of periods"),
            ("year", "must be a list of periods"),
            (("year", "month"), "longer than the one before"),
            (("month", "month"), "longer than the one before"),
            (("moth",), "did you mean 'month'"),
            (("fortnight",), "must be one of 'hour'"),
            (("week", "year"), "none behind week"),
            ((1,), "must be one of 'hour'"),
        ],
    )
    def test_a_mistake_is_named(self, periods, words):
        """Periods are known ones, each longer than the one before."""
        with pytest.raises(PlanError, match=words):
            Dates(periods)


def test_plain_values_stay_or_go():
    """Without a hierarchy there are two levels, and no share is taken from the data."""
    bound = plain("city", texts(None, "Aix", "York"))
    assert shown(bound, 1) == ["*"] * 3
    assert shares(bound, 0) == shares(plain("city", texts(None, "Bath", "Leeds")), 0)
    assert shares(plain("paid", texts("false", "true", kind="boolean")), 0) == [0.5, 0.5]
    assert shown(plain("age", numbers(3, 4), bounds(0, 9)), 1) == ["0..9", "0..9"]
    assert shown(plain("zip", texts("3"), bounds(0, 9)), 1) == ["*"]


class TestWrittenDays:
    """Days as other calendars and languages write them, by the year that stands in them."""

    @pytest.mark.parametrize(
        ("at", "day", "year", "wider"),
        [
            ("first", "1369/05/12", "1369", "1360 to 1369"),
            ("first", "102/05/22", "102", "100 to 109"),
            ("first", "2024.01.02. 07:06", "2024", "2020 to 2029"),
            ("last", "23/05/1390 AH", "1390", "1390 to 1399"),
            ("last", "31 Enero 1990", "1990", "1990 to 1999"),
            ("era", "昭和8年7月16日", "昭和8", "昭和"),
            ("era", "R5.5.17", "R5", "R"),
        ],
    )
    def test_a_day_shows_its_year_then_its_decade_or_era(self, at, day, year, wider):
        """Level by level, the last of which is everything; what has no year is a group."""
        bound = WrittenDays(at).bind("born", texts("none", day))
        assert [shown(bound, level)[1] for level in (1, 2, 3)] == [year, wider, "*"]
        assert [shown(bound, level)[0] for level in (1, 2, 3)] == ["other", "other", "*"]
        assert shares(bound, 1)[1] < shares(bound, 2)[1] < shares(bound, 3)[1] == 1

    @pytest.mark.parametrize(("at", "usual"), [("last", "28.08.1953"), ("first", "1953-08-28")])
    def test_a_day_written_the_other_way_round_shows_its_year(self, at, usual):
        """Few such days stand in many tables, and are none of "other"."""
        other = {"last": "1962-03-21", "first": "21.3.1962"}[at]
        assert year_of([usual] * 99 + [other]) == at
        bound = WrittenDays(at).bind("born", texts(*sorted([usual, other, "97/10/19"])))
        assert {"1953", "1962"} <= set(shown(bound, 1))

    def test_days_of_which_some_have_two_figures_show_those_years_that_are_told(self):
        """Where three of four have all figures; two figures are no year, and may be a day."""
        days = ["2007-12-10", "2004-03-01", "1998-06-30", "06/11/05"]
        assert year_of(days * 10) == "last"
        assert year_of([*days * 10, *["06/11/05"] * 10]) is None
        assert year_of([*days[:3] * 10, *["37 years"] * 8]) is None
        bound = WrittenDays("last").bind("born", texts(*sorted(days)))
        assert set(shown(bound, 1)) == {"1998", "2004", "2007", "other"}

    def test_years_alone_among_days_are_shown(self) -> None:
        """As courts keep them: a day of birth where it is known, and else the year."""
        days = ["06/10/1969", "22/02/1980", "06/07/1976", "1995"]
        at = year_of(days * 10)
        assert at == "last"
        assert WrittenDays(at).parts("1995") == ("", "1995")
        assert WrittenDays("first").parts("1995") == ("", "1995")
        assert year_of(["06/10/1969", "1995", "1987", "2001"] * 10) is None

    def test_a_missing_day_stays_one_below_everything(self):
        """As in every hierarchy: below the top it shows that the day is missing."""
        bound = WrittenDays("last").bind("born", texts(None, "31 Enero 1990"))
        assert [shown(bound, level)[0] for level in (1, 2, 3)] == [None, None, "*"]

    def test_other_values_than_texts_are_refused(self):
        """The message says what to write into the plan."""
        with pytest.raises(PlanError, match='type = "text"'):
            WrittenDays("last").bind("born", numbers(19900131))

    @pytest.mark.parametrize(
        ("days", "at"),
        [
            (["1369/05/12", "1370/11/31", "1322/02/30"], "first"),
            (["97/10/19", "102/05/22", "45/01/02"], "first"),
            (["12/05/1390", "31/02/1401"], "last"),
            (["S8.7.16", "R5.5.17"], "era"),
            (["12/05/98", "01/02/03"], None),  # which end is the year is not clear
            (["12 Main 1990", "14 High 0042"], None),  # no years of one life
            (["2023/12/4567", "2024/01/0081"], None),  # numbers of cases
            (["078-05-1120"], None),  # of a person
            ([], None),
        ],
    )
    def test_where_the_year_stands_is_told_by_the_days(self, days, at):
        """By numbers that are no days of a month, and lie within some lives of each other."""
        assert year_of(days * 10) == at


def test_a_plan_can_say_each_format_that_is_proposed():
    """What `voile plan` tells of dates by themselves, a plan takes: with an offset, too."""
    for each in (*USUAL_FORMATS, *TWO_DIGIT_FORMATS, "%Y%m%d%H%M", "%Y%m%d%H%M%S"):
        column = {"kind": "date", "format": each}
        document = {"roles": {"quasi_identifiers": ["born"]}, "columns": {"born": column}}
        assert parse_plan(document).columns["born"].format == each
