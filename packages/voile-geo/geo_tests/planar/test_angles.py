"""The law of turns under angle selection."""

from __future__ import annotations

import math

import numpy as np
import pytest

from voile_geo.planar.steps import (
    turn_constant,
    turn_deviation,
    turn_within,
    turn_within_truncated,
    wrapped_density,
)

REACHES = np.array([0.125, 0.25, 0.5]) * math.pi


def test_the_gaussian_calibration_is_that_of_eq_7() -> None:
    """sqrt(2 ln(1.25 / delta)) is 4.844805 at delta = 1e-5."""
    assert turn_deviation(1, 1e-5, 1) == pytest.approx(4.844805, abs=1e-6)


@pytest.mark.parametrize(
    ("spread", "within"),
    [
        (1, (0.3147, 0.5824, 0.8950)),
        (math.pi / 2, (0.2037, 0.3945, 0.6999)),
        (math.pi, (0.1274, 0.2544, 0.5062)),
        (2 * math.pi, (0.125, 0.25, 0.5)),
    ],
)
def test_figure_10_of_the_seed_in_numbers(spread: float, within: tuple[float, ...]) -> None:
    """At an epsilon of 5 a wrapped turn stays within pi/8, pi/4 and pi/2 as often as worked out."""
    deviation = turn_deviation(5, 1e-5, spread)
    found = [turn_within(reach, deviation) for reach in REACHES]
    assert found == pytest.approx(within, abs=5e-5)


def test_truncating_and_wrapping_are_different_laws() -> None:
    """Eq. 13 truncates where Algorithm 2 wraps: a difference of 0.06 at a spread of pi."""
    deviation = turn_deviation(5, 1e-5, math.pi)
    wrapped, truncated = (
        law(math.pi / 2, deviation) for law in (turn_within, turn_within_truncated)
    )
    assert truncated - wrapped > 0.05


@pytest.mark.parametrize("deviation", [0.05, 0.3, 1.0, 3.0, 3.2, 10.0])
def test_the_density_is_that_of_the_wrapped_turn(deviation: float) -> None:
    """It integrates to 1, and between two angles to what ``turn_within`` says."""
    turns = np.linspace(-math.pi, math.pi, 40_001)
    density = wrapped_density(turns, deviation)
    assert np.trapezoid(density, turns) == pytest.approx(1, abs=1e-9)
    inside = np.abs(turns) <= math.pi / 4 + 1e-12
    assert np.trapezoid(density[inside], turns[inside]) == pytest.approx(
        turn_within(math.pi / 4, deviation), abs=1e-6
    )


def test_kappa_does_not_vanish_and_never_overflows() -> None:
    """The constant ln f(0) / f(pi) falls with the deviation, is pi^2 / 2 sigma^2 - ln 2 at last."""
    constants = [turn_constant(deviation) for deviation in (0.01, 0.1, 0.5, 1.0, 2.0)]
    assert constants == sorted(constants, reverse=True)
    assert constants[0] == pytest.approx(math.pi**2 / (2 * 0.01**2) - math.log(2), rel=1e-12)
    assert constants[-1] > 0.1
