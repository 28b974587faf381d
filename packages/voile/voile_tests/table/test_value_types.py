"""Types of columns of text: what is inferred, and which row stands against it."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.table.arrays import (
    first_offending_row,
    infer_decimal_comma,
    infer_type,
    kind_of,
    kind_of_type,
    with_missing,
)


def text(*values: str | None) -> pl.Series:
    return pl.Series("column", values, dtype=pl.String)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["0", "-7", "9223372036854775807", None], [0, -7, 2**63 - 1, None]),
        (["1", "2.50", ".5", "5.", "-1e3", "1E+05"], [1.0, 2.5, 0.5, 5.0, -1000.0, 100000.0]),
        (["0.1", "0.30000000000000004"], [0.1, 0.30000000000000004]),
        (["-0", "1"], [-0.0, 1.0]),
        (["true", "FALSE", None], [True, False, None]),
        (["2024-02-29", "1999-12-31"], [date(2024, 2, 29), date(1999, 12, 31)]),
        (
            ["2024-02-29 10:11", "2024-02-29T10:11:12", "2024-02-29 10:11:12.5"],
            [
                datetime(2024, 2, 29, 10, 11),
                datetime(2024, 2, 29, 10, 11, 12),
                datetime(2024, 2, 29, 10, 11, 12, 500000),
            ],
        ),
        (
            ["2024-02-29T10:00Z", "2024-02-29 10:00:00+02", "2024-02-29T10:00:00-01:30"],
            [
                datetime(2024, 2, 29, 10, 0, tzinfo=UTC),
                datetime(2024, 2, 29, 8, 0, tzinfo=UTC),
                datetime(2024, 2, 29, 11, 30, tzinfo=UTC),
            ],
        ),
        ([" 1", "2 ", "", "  "], [1, 2, None, None]),
    ],
)
def test_columns_written_by_programs_get_their_type(values: list[Any], expected: list[Any]) -> None:
    """Canonical values of one type become that type, with blanks and nulls missing."""
    inferred = infer_type(text(*values))
    assert inferred.to_list() == expected
    assert inferred.name == "column"
    assert [type(v) for v in inferred] == [type(v) for v in expected]


@pytest.mark.parametrize(
    "values",
    [
        ["00123", "4567"],
        ["+33612345678", "7"],
        ["1", "two"],
        ["9223372036854775808", "1"],
        ["9007199254740993", "0.5"],
        ["1e400", "1"],
        ["0x10", "1"],
        ["1_000", "1"],
        ["1,5", "2"],
        ["NaN", "inf"],
        ["true", "1"],
        ["yes", "no"],
        ["2023-02-30", "2023-02-01"],
        ["2023-2-3", "2023-02-01"],
        ["2023-02-01", "2023-02-01 10:00"],
        ["2023-02-01 10:00", "2023-02-01 10:00Z"],
        ["2023-02-01 24:00", "2023-02-01 10:00"],
        ["2023-02-01 10:00:60", "2023-02-01 10:00"],
        ["0000-01-01", "2023-02-01"],
        ["", "a"],
        [" a", "b "],
        [None, None],
        [""],
    ],
)
def test_anything_else_stays_text_unchanged(values: list[str | None]) -> None:
    """Values whose text says more than a number or a date would keep every character."""
    inferred = infer_type(text(*values))
    assert inferred.dtype == pl.String
    assert inferred.to_list() == values


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [("NaN", "1", "decimal"), ("iNfinity", "1.5", "decimal"), ("TRUE", "false", "boolean"),
     ("true north", "1", "text"), ("n", "1", "text"), ("\u0660", "1", "text")],
)  # fmt: skip
def test_a_first_value_that_is_a_word_decides_nothing_but_words(first, second, kind) -> None:
    """Words that are numbers or truth values do not make a column text; any other word does."""
    assert kind_of(infer_type(text(None, first, second))) == kind


def test_not_a_number_and_infinity_are_numbers_beside_numbers() -> None:
    """NaN and inf in a numeric column are read as such, for the roles to refuse."""
    inferred = infer_type(text("NaN", "-Infinity", "inf", "1"))
    assert inferred.dtype == pl.Float64
    assert math.isnan(inferred[0])
    assert inferred.to_list()[1:] == [-math.inf, math.inf, 1.0]


def test_the_whole_column_decides() -> None:
    """One text after thousands of numbers makes the column text, and its row is told."""
    values = text(*["17"] * 5000, "unknown", "18")
    assert infer_type(values).dtype == pl.String
    assert first_offending_row(values) == 5001


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_survive_their_text(values: list[int | None]) -> None:
    """Integers of 64 bits, written by Python, are read back exactly."""
    inferred = infer_type(text(*[None if v is None else str(v) for v in values]))
    if any(v is not None for v in values):
        assert inferred.dtype == pl.Int64
    assert inferred.to_list() == [v if inferred.dtype == pl.Int64 else None for v in values]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_decimals_survive_their_text(values: list[float]) -> None:
    """Floats, written by Python in the shortest way, are read back exactly."""
    inferred = infer_type(text(*map(repr, values)))
    assert inferred.dtype == pl.Float64
    assert inferred.to_list() == values


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(1, 15))
def test_decimals_of_fifteen_digits_can_be_recovered(digits: int, places: int) -> None:
    """The shortest text of the Float64 is the decimal that stood in the file."""
    written = Decimal(digits).scaleb(-places)
    inferred = infer_type(text(f"{written:f}"))
    assert Decimal(repr(float(inferred[0]))) == written


@given(st.lists(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)), min_size=1))
def test_datetimes_survive_their_text(values: list[datetime]) -> None:
    """Datetimes in ISO format, with or without fractions of a second, are read back exactly."""
    inferred = infer_type(text(*[v.isoformat() for v in values]))
    assert inferred.to_list() == values


def test_nanoseconds_are_kept() -> None:
    """Fractions of more than six digits make a column of nanoseconds."""
    inferred = infer_type(text("2024-01-01 00:00:00.000000001", "2024-01-01 00:00"))
    assert inferred.dtype == pl.Datetime("ns")
    assert inferred.dt.nanosecond().to_list() == [1, 0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1,5", "2", None, "-0,25"], [1.5, 2.0, None, -0.25]),
        (["1,234", "1,5"], [1.234, 1.5]),
        (["0,234", "0,500"], [0.234, 0.5]),
        (["1,234", "56,789"], None),
        (["1.234,5", "2,5"], None),
        (["1", "2"], None),
        (["1,5", "a"], None),
        ([None], None),
    ],
)
def test_decimal_commas_only_where_they_cannot_be_thousands(
    values: list[str | None], expected: list[float | None] | None
) -> None:
    """A column of decimal commas is numeric unless it could be integers in thousands."""
    numbers = infer_decimal_comma(text(*values))
    assert (None if numbers is None else numbers.to_list()) == expected


@pytest.mark.parametrize(
    ("values", "wanted", "row"),
    [
        (["1", None, "", "x", "y"], "decimal", 4),
        (["1", "2.5"], "integer", 2),
        (["1", "2.5"], "decimal", None),
        (["x"], "decimal", 1),
        ([None, "007"], "integer", 2),
        (["1", "99999999999999999999"], "integer", 2),
        (["2024-01-01", "2024-13-01"], "date", 2),
        (["2024-01-01 10:00Z", "2024-01-02 10:00Z", "soon"], "datetime", 3),
        (["2024-01-01 10:00", "2024-01-02 10:00", "2024-01-02 10:00Z"], "datetime", 3),
        (["true", "maybe"], "boolean", 2),
        (["a"], "text", None),
        ([None, "a"], "duration", 2),
    ],
)
def test_the_first_offending_row_is_named(
    values: list[str | None], wanted: Any, row: int | None
) -> None:
    """The row named is the first that keeps the column from its wanted kind."""
    assert first_offending_row(text(*values), wanted) == row


def test_typed_columns_offend_as_a_whole() -> None:
    """A typed column is of the wanted kind, or its first value is already wrong."""
    assert first_offending_row(pl.Series([1, 2])) is None
    assert first_offending_row(pl.Series([1.5]), "integer") == 1
    assert first_offending_row(pl.Series([None, True])) == 2
    assert first_offending_row(pl.Series([None], dtype=pl.Null)) is None
    assert first_offending_row(pl.Series(["1", "a"], dtype=pl.Categorical)) == 2


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (pl.UInt8(), "integer"),
        (pl.Float32(), "decimal"),
        (pl.Decimal(10, 2), "decimal"),
        (pl.String(), "text"),
        (pl.Categorical(), "text"),
        (pl.Enum(["a"]), "text"),
        (pl.Boolean(), "boolean"),
        (pl.Date(), "date"),
        (pl.Datetime("us", "UTC"), "datetime"),
        (pl.Time(), "time"),
        (pl.Duration("us"), "duration"),
        (pl.Binary(), "binary"),
        (pl.List(pl.Int64), "nested"),
        (pl.Struct({"a": pl.Int64}), "nested"),
        (pl.Null(), "empty"),
    ],
)
def test_every_polars_type_has_a_name_for_people(dtype: pl.DataType, kind: str) -> None:
    """Kinds name what a column holds, whatever its width or encoding."""
    assert kind_of_type(dtype) == kind
    assert kind_of(pl.Series([None], dtype=dtype)) == kind


def test_missing_texts_become_null_in_text_columns_only() -> None:
    """Exactly the given texts are missing; other columns and the type are left alone."""
    assert with_missing(text("?", "a?", None, "NA"), ["?", "NA"]).to_list() == [
        None,
        "a?",
        None,
        None,
    ]
    categories = pl.Series("c", ["?", "a"], dtype=pl.Categorical)
    assert with_missing(categories, ["?"]).dtype == pl.Categorical
    assert with_missing(categories, ["?"]).to_list() == [None, "a"]
    numbers = pl.Series("n", [1, 2])
    assert with_missing(numbers, ["1"]).to_list() == [1, 2]


def test_a_column_may_have_the_name_of_a_pattern() -> None:
    """Polars takes ``^town$`` for a pattern; the column keeps its name and its other values."""
    named = pl.Series("^town$", ["?", "Ulm"])
    found = with_missing(named, ["?"])
    assert (found.name, found.to_list()) == ("^town$", [None, "Ulm"])
