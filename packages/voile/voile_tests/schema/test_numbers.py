"""Exact numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.numbers import ExactNumbers, decimals_of, exact_decimal, units_of, unscaled
from voile_base.errors import TableError

decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20)
floats = st.floats(allow_nan=False, allow_infinity=False)


def exact(numbers: ExactNumbers) -> list[Fraction]:
    """The numbers as fractions."""
    return [Fraction(int(unit), 10**numbers.scale) for unit in numbers.units]


@given(st.lists(floats, max_size=8))
def test_floats_are_the_decimals_a_reader_sees(values: list[float]) -> None:
    """A float stands for the shortest decimal that reads back as it, however large or small."""
    numbers = ExactNumbers.of(np.array(values, dtype=np.float64))
    assert exact(numbers) == [Fraction(Decimal(repr(value))) for value in values]


@given(st.lists(st.integers(-(10**6), 10**6).map(lambda i: i / 1000), min_size=1, max_size=20))
def test_decimals_of_everyday_size_are_machine_integers(values: list[float]) -> None:
    """Amounts with a few decimals take the vectorized path and stay exact."""
    numbers = ExactNumbers.of(np.array(values))
    assert numbers.units.dtype == np.int64
    assert exact(numbers) == [Fraction(Decimal(repr(value))) for value in values]


@given(st.lists(decimals, max_size=8))
def test_decimals_are_kept_exactly(values: list[Decimal]) -> None:
    """Decimals with more digits than a context holds lose none."""
    numbers = ExactNumbers.of(values)
    assert exact(numbers) == [Fraction(value) for value in values]
    assert [Fraction(text) for text in numbers.texts()] == exact(numbers)


@given(st.lists(st.integers(-(2**70), 2**70), max_size=8))
def test_units_beyond_the_safe_range_are_python_integers(values: list[int]) -> None:
    """Differences of machine integers cannot overflow: larger ones are Python's."""
    numbers = ExactNumbers.of(values)
    safe = all(abs(value) < 2**61 for value in values)
    assert (numbers.units.dtype == np.int64) == safe
    assert exact(numbers) == values


@given(st.lists(decimals, min_size=1, max_size=5), st.integers(0, 5))
def test_rescaling_keeps_the_numbers(values: list[Decimal], more: int) -> None:
    """A finer unit changes the units and not the numbers."""
    numbers = ExactNumbers.of(values)
    assert exact(numbers.rescaled(numbers.scale + more)) == exact(numbers)


def test_a_range_is_compared_exactly() -> None:
    """0.3 - 0.1 reaches 0.2 although it does not in binary."""
    numbers = ExactNumbers.of(np.array([0.1, 0.3]))
    assert int(numbers.units[1] - numbers.units[0]) >= units_of(Decimal("0.2"), numbers.scale)
    assert not 0.3 - 0.1 >= 0.2


@given(decimals)
def test_units_and_decimals_are_inverse(number: Decimal) -> None:
    """Units at the number's own scale give the number back, without an exponent."""
    scale = decimals_of(number)
    again = unscaled(units_of(number, scale), scale)
    assert Fraction(again) == Fraction(number)
    assert "E" not in format(again, "f")


def test_a_scale_that_is_too_coarse_is_refused() -> None:
    """Units never round."""
    with pytest.raises(ValueError, match="more decimals"):
        units_of(Decimal("0.25"), 1)


def test_exact_decimal_of_a_float() -> None:
    """0.1 is one tenth."""
    assert exact_decimal(0.1) == Decimal("0.1")


@given(st.lists(st.floats(-1e90, 1e90), max_size=8))
def test_floats_are_those_that_were_read(values: list[float]) -> None:
    """Also where the units of a column are beyond what a float holds."""
    read = ExactNumbers.of(np.array([*values, 1e-30])).floats("x")
    assert read == pytest.approx([*values, 1e-30], rel=1e-15, abs=0)


@pytest.mark.parametrize("values", [[1e300, 1.0], [-1e300, 1e-300], [1e101]])
def test_numbers_of_which_no_float_holds_squares_are_refused(values: list[float]) -> None:
    """The column is named, and no number."""
    with pytest.raises(TableError, match="column 'x' holds a number beyond 1e100") as caught:
        ExactNumbers.of(np.array(values)).floats("x")
    assert "1e300" not in str(caught.value)
