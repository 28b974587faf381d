"""Budget and accuracy of discrete Laplace noise, each from the other."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.dp.discrete_noise import Sides, _scale_for, epsilon_for, radius
from voile_testing.plugin import examples

scales = st.fractions(min_value=Fraction(1, 50), max_value=30, max_denominator=50)
confidences = st.integers(501, 999).map(lambda c: Decimal(c) / 1000)
sides = st.sampled_from(get_args(Sides))


def inside(scale: Fraction, r: int, sides: Sides) -> float:
    """P(abs(Z) <= r) or P(Z <= r), summed over the integers."""
    q = math.exp(-1 / scale)
    first = -r if sides == 2 else -2000
    return math.fsum((1 - q) / (1 + q) * q ** abs(z) for z in range(first, r + 1))


@given(scales, confidences, sides)
def test_the_radius_is_the_smallest_that_holds(
    scale: Fraction, confidence: Decimal, sides: Sides
) -> None:
    """Summing the law, the radius reaches the confidence and one step less does not."""
    r = radius(scale, confidence, sides)
    assert inside(scale, r, sides) >= float(confidence) - 1e-12
    assert r == 0 or inside(scale, r - 1, sides) < float(confidence) + 1e-12


@pytest.mark.parametrize(("sides", "factor"), [(2, -math.log(1 - 0.7)), (1, math.log(1 / 0.6))])
def test_on_a_fine_grid_the_radius_is_that_of_laplace_noise(sides: Sides, factor: float) -> None:
    """Two sides give -b ln(1 - c), one side b ln(1/(2(1 - c))), at scale 10^9 to nine digits."""
    assert radius(Fraction(10**9), Decimal("0.7"), sides) == pytest.approx(factor * 1e9, rel=2e-9)


@settings(max_examples=examples(30))
@given(st.integers(0, 10**6), confidences, sides)
def test_the_scale_for_a_radius_is_the_largest(r: int, confidence: Decimal, sides: Sides) -> None:
    """The scale has that radius or less, and a scale larger by 10^-11 of itself has more."""
    scale = _scale_for(r, confidence, sides)
    assert radius(scale, confidence, sides) <= r
    assert radius(scale * (1 + Fraction(1, 10**11)), confidence, sides) > r


@settings(max_examples=examples(30))
@given(st.integers(1, 10**6), st.integers(1, 10**6), confidences, sides)
def test_the_epsilon_for_an_accuracy_is_the_smallest(
    sensitivity: int, r: int, confidence: Decimal, sides: Sides
) -> None:
    """Noise of that epsilon keeps to the radius; with a billionth less of it, it does not."""
    epsilon = Fraction(epsilon_for(sensitivity, r, confidence, sides))
    assert radius(sensitivity / epsilon, confidence, sides) <= r
    assert radius(sensitivity / (epsilon * (1 - Fraction(1, 10**9))), confidence, sides) > r


@pytest.mark.parametrize("confidence", ["-0.1", "1", "1.5"])
def test_impossible_confidences_are_refused(confidence: str) -> None:
    """Certainty and shares outside of 0 to 1 have no radius."""
    with pytest.raises(ValueError, match="confidence"):
        radius(Fraction(1), Decimal(confidence))
    with pytest.raises(ValueError, match="confidence"):
        _scale_for(1, Decimal(confidence))


def test_promises_that_any_noise_keeps_give_no_scale() -> None:
    """P(Z <= r) >= 1/2 holds for any scale, so that no largest one exists."""
    with pytest.raises(ValueError, match="confidence"):
        _scale_for(5, Decimal("0.5"), sides=1)
    with pytest.raises(ValueError, match="radius"):
        _scale_for(-1, Decimal("0.9"))


def test_a_radius_has_two_sides_unless_one_is_asked_for() -> None:
    """What is said of noise by default is said of both of its directions."""
    scale, confidence = Fraction(7, 2), Decimal("0.9")
    both, one = radius(scale, confidence, 2), radius(scale, confidence, 1)
    assert radius(scale, confidence) == both > one
    assert _scale_for(both, confidence) == _scale_for(both, confidence, 2)
    assert epsilon_for(3, both, confidence) == epsilon_for(3, both, confidence, 2)
