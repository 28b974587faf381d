"""Public bounds of a column: values outside are refused, or clamped exactly."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.plan import ColumnPlan, Nulls, Outside, Plan
from voile.schema.roles import Roles
from voile.table.binding import BoundTable
from voile.table.engines.polars import PolarsRows
from voile_base.errors import TableError


def rows_of(columns: dict[str, Any]) -> PolarsRows:
    """Rows of an engine."""
    return PolarsRows.of_frame(pl.DataFrame(columns))


def bound(
    values: pl.Series,
    bounds: tuple[Any, Any],
    outside: Outside = "clamp",
    nulls: Nulls = "category",
) -> pl.Series:
    """The rows of a column as its plan has them."""
    columns = {"x": ColumnPlan(bounds=bounds, outside=outside)}
    plan = Plan(Roles(keep=("x",)), nulls=nulls, columns=columns)
    return BoundTable.bind(rows_of({"x": values}), plan).rows.to_native()["x"]


INTEGERS = {pl.Int64: range(-300, 300), pl.Int16: range(-300, 300), pl.UInt8: range(256)}
"""Types, and those of their numbers that may be the nearest to a value of the test below."""


@given(
    st.lists(st.integers(0, 120), min_size=1),
    st.sampled_from(list(INTEGERS)),
    st.tuples(st.decimals(-50, 150, places=1), st.decimals(1, 60, places=1)),
)
def test_integers_are_clamped_to_the_nearest_integer_within(values, dtype, ends):
    """A whole number outside becomes the nearest whole number within, of the same type."""
    bounds = (ends[0], ends[0] + ends[1])
    within = [n for n in INTEGERS[dtype] if bounds[0] <= n <= bounds[1]]
    if not within:
        with pytest.raises(TableError, match="outside the public bounds"):
            bound(pl.Series(values, dtype=dtype), bounds)
        return
    clamped = bound(pl.Series(values, dtype=dtype), bounds)
    assert clamped.dtype == dtype
    assert clamped.to_list() == [min(within, key=lambda n: abs(n - value)) for value in values]


def test_large_integers_are_compared_exactly():
    """Beyond 2**53 a bound is not rounded to a float."""
    values = pl.Series([2**60, 2**60 + 1, 2**60 + 2])
    assert bound(values, (0, 2**60 + 1)).to_list() == [2**60, 2**60 + 1, 2**60 + 1]
    with pytest.raises(TableError, match="1 values lie outside"):
        bound(values, (0, 2**60 + 1), "refuse")


def test_decimals_are_clamped_exactly():
    """A decimal becomes the nearest decimal of its scale within the bounds."""
    values = pl.Series([Decimal("0.10"), Decimal("0.35"), Decimal("9.99")])
    clamped = bound(values, (Decimal("0.125"), Decimal("1.999")))
    assert clamped.to_list() == [Decimal("0.13"), Decimal("0.35"), Decimal("1.99")]


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32])
def test_a_float_stands_for_its_shortest_decimal(dtype):
    """0.1 lies within bounds of 0.1, and not within bounds that are a little narrower."""
    values = pl.Series([0.1, 0.2, 0.3], dtype=dtype)
    assert bound(values, (Decimal("0.1"), Decimal("0.3")), "refuse").to_list() == values.to_list()
    narrower = (Decimal("0.1") + Decimal("1e-25"), Decimal("0.3") - Decimal("1e-25"))
    clamped = bound(values, narrower)
    assert [Decimal(str(v)) for v in clamped.cast(pl.String).to_list()] != [
        Decimal(v) for v in ("0.1", "0.2", "0.3")
    ]
    assert all(narrower[0] <= Decimal(v) <= narrower[1] for v in clamped.cast(pl.String))
    with pytest.raises(TableError, match="2 values lie outside"):
        bound(values, narrower, "refuse")


def test_infinite_values_are_clamped_and_nan_is_refused():
    """Infinity is beyond a bound; what is no number has no nearest one."""
    assert bound(pl.Series([1.5, float("inf"), float("-inf")]), (0, 2)).to_list() == [1.5, 2, 0]
    with pytest.raises(TableError, match=r"1 values lie outside.*row 2"):
        bound(pl.Series([1.5, float("nan")]), (0, 2))


def test_missing_values_are_not_outside():
    """A missing value is left to the policy on missing values."""
    assert bound(pl.Series([None, 7, 99]), (0, 10)).to_list() == [None, 7, 10]


def test_bounds_beyond_the_type_do_no_harm():
    """Bounds that the type of the column cannot hold allow all its values."""
    values = pl.Series([0, 255], dtype=pl.UInt8)
    assert bound(values, (-(10**30), 10**30), "refuse").to_list() == [0, 255]
    floats = pl.Series([0.0, 1e300])
    assert bound(floats, (Decimal("-1e399"), Decimal("1e399")), "refuse").to_list() == [0, 1e300]


def test_refusing_counts_rows_and_names_the_way_out():
    """The message counts rows, names the first, and quotes no value of the table."""
    with pytest.raises(
        TableError, match=r"'x': 2 values .* row 2; .*outside = \"clamp\""
    ) as caught:
        bound(pl.Series([1, 987654, 987654]), (0, 10), "refuse")
    assert "987654" not in str(caught.value)


def test_clamped_values_meet_those_that_were_there():
    """Clamping may make distinct values equal; the dictionary stays sorted and distinct."""
    plan = Plan(Roles(keep=("x",)), columns={"x": ColumnPlan(bounds=(2, 4), outside="clamp")})
    rows = BoundTable.bind(rows_of({"x": [9, 1, 4, 3, 0, 2]}), plan).rows
    assert rows.count(["x"]).values[0].to_pylist() == [2, 3, 4]
    assert rows.to_native()["x"].to_list() == [4, 2, 4, 3, 2, 2]


def test_clamping_is_not_silent():
    """A note counts the values that were clamped; where none was, there is none."""
    plan = Plan(Roles(keep=("x",)), columns={"x": ColumnPlan(bounds=(2, 4), outside="clamp")})
    (note,) = BoundTable.bind(rows_of({"x": [3, 987654, 0]}), plan).notes
    assert "'x': 2 values lie outside" in note
    assert "987654" not in note
    assert BoundTable.bind(rows_of({"x": [2, 4]}), plan).notes == ()


@pytest.mark.parametrize("wrong", [0, -3, float("nan"), float("inf"), 1e300])
def test_sampling_weights_that_are_shown_must_be_numbers_above_0(wrong):
    """The message names the column and the first row, never the weight."""
    plan = Plan(Roles(keep=("x",), weight="x"))
    assert BoundTable.bind(rows_of({"x": pl.Series([2.5, 7.0])}), plan).rows.height == 2
    with pytest.raises(TableError, match=r"'x': a sampling weight .* 1 values .* first in row 2"):
        BoundTable.bind(rows_of({"x": pl.Series([2.5, float(wrong)])}), plan)


def test_sampling_weights_that_are_texts_are_refused():
    """A text stands for no people."""
    with pytest.raises(TableError, match="a sampling weight is a number above 0"):
        BoundTable.bind(rows_of({"x": pl.Series(["a", "b"])}), Plan(Roles(keep=("x",), weight="x")))
