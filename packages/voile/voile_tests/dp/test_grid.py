"""Rounding numbers to a power-of-two grid, and what it does to sensitivity."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.dp.discrete_noise import Grid
from voile.schema.numbers import ExactNumbers
from voile_base.errors import PlanError

decimals = st.decimals(min_value=-(10**6), max_value=10**6, places=4)
grids = st.integers(-30, 12).map(Grid)


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
def test_a_grid_for_noise_is_the_coarsest_fine_enough(scale: Fraction) -> None:
    """The step is at most a 1024th of the scale, and more than a 2048th."""
    step = Grid.finer_than(scale).step
    assert scale / 2048 < step <= scale / 1024


@given(st.lists(decimals, max_size=8), grids)
def test_all_numbers_are_rounded_as_one_is(numbers: list[Decimal], grid: Grid) -> None:
    """Arrays are rounded half up, as floor(x / step + 1/2) in exact fractions."""
    units = grid.units(ExactNumbers.of(numbers))
    assert units.dtype == np.int64
    assert units.tolist() == [math.floor(Fraction(x) / grid.step + Fraction(1, 2)) for x in numbers]
    assert units.tolist() == [grid.unit(x) for x in numbers]


@given(decimals, decimals, grids)
def test_rounding_adds_nothing_to_the_steps_of_a_distance(
    x: Decimal, y: Decimal, grid: Grid
) -> None:
    """Two numbers are at most ``steps(distance)`` apart once rounded, and keep their order."""
    moved = grid.unit(max(x, y)) - grid.unit(min(x, y))
    assert 0 <= moved <= grid.steps(abs(Fraction(x) - Fraction(y)))


def test_halves_go_upwards() -> None:
    """0.5 and 1.5 are one apart and stay so; rounding to the even would make them two apart."""
    assert Grid(0).units(ExactNumbers.of(["0.5", "1.5", "-0.5"])).tolist() == [1, 2, 0]
    assert Grid(0).steps(1) == 1


@given(st.integers(-(2**62), 2**62), st.integers(-60, 60))
def test_numbers_on_the_grid_are_exact(unit: int, exponent: int) -> None:
    """The decimal of a multiple is the multiple, however many digits that takes."""
    grid = Grid(exponent)
    assert Fraction(grid.number(unit)) == unit * grid.step
    assert grid.unit(grid.number(unit)) == unit


def test_numbers_that_need_more_than_64_bits_on_the_way_are_exact() -> None:
    """Python integers take over where 64 bits would overflow."""
    numbers = ExactNumbers.of(["12345678.123456789012", "-0.000000000001"])
    assert Grid(-30).units(numbers).tolist() == [Grid(-30).unit(x) for x in numbers.decimals()]
    huge = ExactNumbers.of([10**30])
    assert Grid(60).units(huge).tolist() == [Grid(60).unit(10**30)]


def test_a_grid_too_fine_for_its_numbers_is_refused() -> None:
    """A number of 2^62 steps or more is an error that names no number."""
    with pytest.raises(PlanError, match="too large for a grid this fine") as raised:
        Grid(-40).units(ExactNumbers.of([123456789]))
    assert "123456789" not in str(raised.value)
