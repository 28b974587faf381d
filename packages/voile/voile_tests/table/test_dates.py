"""Dates as the office writes them: read in a declared format, or in the only usual one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

import voile
from voile.schema.hierarchy.ranges import USUAL_FORMATS
from voile.schema.plan import ColumnPlan, parse_plan
from voile.table.arrays import as_dates, date_form
from voile.table.opening import open_frame
from voile_base.errors import PlanError, TableError

STAYS = pl.DataFrame(
    {
        "seen": ["10/13/2014", "10/14/2014", "11/02/2014", "2/3/2015", "12/31/2015", "1/1/2016"],
        "illness": ["flu", "cold", "gout", "flu", "cold", "gout"],
    }
)


def _plan(**said: object) -> voile.Plan:
    roles = {"quasi_identifiers": ["seen"], "sensitive": ["illness"]}
    return parse_plan({"roles": roles, "columns": {"seen": said}})


def _texts(frame: pl.DataFrame, **said: object) -> tuple[str | None, ...]:
    (values,) = open_frame(frame, _plan(**said)).count_combinations(["seen"]).values
    return values.texts


def test_dates_are_read_in_the_declared_format() -> None:
    """Texts of the format become dates, which read as ISO 8601."""
    assert _texts(STAYS, format="%m/%d/%Y") == (
        "2014-10-13",
        "2014-10-14",
        "2014-11-02",
        "2015-02-03",
        "2015-12-31",
        "2016-01-01",
    )


@pytest.mark.slow
def test_the_only_usual_format_is_recognised_and_said() -> None:
    """Without a format the one that all fit is taken, and the custodian is told."""
    table = open_frame(STAYS, _plan(kind="date"))
    assert table.kinds(["seen"]) == {"seen": "date"}
    assert any('"%m/%d/%Y", which all fit' in note for note in table.notes)


@pytest.mark.slow
def test_a_column_that_fits_two_formats_is_not_guessed_at() -> None:
    """Where no day is above 12, the plan has to say which number is the month."""
    unclear = STAYS.with_columns(seen=pl.lit("03/04/2014"))
    with pytest.raises(PlanError, match=r'fit "%m/%d/%Y" and "%d/%m/%Y", and mean different days'):
        _texts(unclear, kind="date")


@pytest.mark.slow
def test_a_format_that_values_do_not_fit_names_the_row_and_one_that_fits() -> None:
    """The message has the first row, the number of values and the format they fit; no value."""
    with pytest.raises(TableError) as told:
        _texts(STAYS, format="%d/%m/%Y")
    assert str(told.value).startswith(
        "column 'seen': 3 values do not fit the format \"%d/%m/%Y\" of the plan, first in row 1; "
        'all of them fit "%m/%d/%Y"'
    )
    assert "10/13" not in str(told.value)
    with pytest.raises(TableError, match="row 1 is none in any usual"):
        _texts(STAYS.with_columns(seen=pl.lit("yesterday")), kind="date")


def test_numbers_that_spell_dates_are_read_and_others_are_not() -> None:
    """20140513 is a date where the plan says so; a fraction never is."""
    digits = STAYS.with_columns(seen=pl.lit(20140513))
    assert _texts(digits, format="%Y%m%d") == ("2014-05-13",)
    with pytest.raises(TableError, match="values of kind 'decimal', and the plan says"):
        _texts(STAYS.with_columns(seen=pl.lit(2.5)), kind="date")


def test_missing_and_blank_dates_are_missing() -> None:
    """A declared text and a blank one stand for no date."""
    frame = STAYS.with_columns(seen=pl.Series(["?", " ", "10/13/2014", None, "1/2/2014", "?"]))
    plan = parse_plan(
        {
            "nulls": "category",
            "missing": ["?"],
            "roles": {"quasi_identifiers": ["seen"], "sensitive": ["illness"]},
            "columns": {"seen": {"format": "%m/%d/%Y"}},
        }
    )
    (values,) = open_frame(frame, plan).count_combinations(["seen"]).values
    assert values.texts == (None, "2014-01-02", "2014-10-13")


def test_years_of_two_digits_are_those_from_1969_to_2068() -> None:
    """As POSIX reads them: the first and the last."""
    frame = pl.DataFrame({"seen": ["1/2/69", "12/31/68", "2/29/00"], "illness": ["a", "b", "c"]})
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["seen"], "sensitive": ["illness"]},
            "columns": {"seen": {"format": "%m/%d/%y"}},
        }
    )
    (values,) = open_frame(frame, plan).count_combinations(["seen"]).values
    assert values.texts == ("1969-01-02", "2000-02-29", "2068-12-31")


def test_dates_of_a_format_are_published_by_week(tmp_path: Path) -> None:
    """A week reads as ISO 8601 writes it, and nothing but ``*`` stands above it."""
    bound = _plan(format="%m/%d/%Y", dates=["week"])
    (values,) = open_frame(STAYS, bound).count_combinations(["seen"]).values
    hierarchy = bound.columns["seen"].bind_hierarchy("seen", values)
    weeks = hierarchy.values[1].texts
    assert weeks is not None
    assert set(weeks) == {"2014-W42", "2014-W44", "2015-W06", "2015-W53"}
    assert hierarchy.values[2].texts == ("*",)
    with pytest.raises(PlanError, match="none behind week"):
        _plan(dates=["week", "month"])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("%d.%m.", "tells a whole date"),
        ("%m/%d/%Q", "of the codes"),
        ("tomorrow", "tells a whole date"),
        ("%m/%d/%Y%", "of the codes"),
    ],
)
def test_a_format_that_tells_no_day_is_refused(wrong: str, why: str) -> None:
    """Whatever is not the format of a whole date is refused when the plan is read."""
    with pytest.raises(PlanError, match=why):
        _plan(format=wrong)


def test_a_format_belongs_to_dates() -> None:
    """A format beside a kind that is not of dates is a contradiction."""
    with pytest.raises(PlanError, match="format is that of dates"):
        ColumnPlan(kind="nominal", format="%m/%d/%Y")


@pytest.mark.parametrize("date_format", USUAL_FORMATS)
def test_usual_formats_read_what_they_write(date_format: str) -> None:
    """Every usual format reads back its own texts, and nothing shorter."""
    zone = UTC if "%z" in date_format else None
    moments = [datetime(2014, 10, 13, 17, 45, tzinfo=zone), datetime(1999, 2, 1, 5, tzinfo=zone)]
    read = date_form(date_format).read(pl.Series([each.strftime(date_format) for each in moments]))
    days = [each.date() for each in moments]
    assert read.to_list() == (moments if read.dtype == pl.Datetime else days)
    assert date_form(date_format).misses(pl.Series(["14", "2014", "10/13", ""])).sum() == 3


def test_the_adversary_reads_dates_as_the_plan_does() -> None:
    """The same function reads a column of a data frame, and leaves dates as they are."""
    declared = ColumnPlan(format="%m/%d/%Y")
    read = as_dates(STAYS["seen"], declared)
    assert read[0] == date(2014, 10, 13)
    assert as_dates(read, declared).equals(read)
