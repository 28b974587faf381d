"""What reports cost: against densities written out, and simulated losses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voile_geo.planar.costs import (
    _gaussian_delta,
    angle_selection_cost,
    gaussian_epsilon,
    independent_cost,
    squared_mu,
)
from voile_geo.planar.steps import gaussian_scale


def covariance(epsilons: np.ndarray, time: np.ndarray, tau: float) -> np.ndarray:
    """Of one axis of the noise of all reports."""
    scale = np.array([gaussian_scale(epsilon) for epsilon in epsilons])
    return np.outer(scale, scale) * np.exp(-np.abs(np.subtract.outer(time, time)) / tau)


@given(
    st.lists(st.floats(0.0005, 0.05), min_size=1, max_size=6),
    st.lists(st.floats(1, 600), min_size=6, max_size=6),
    st.floats(10, 1000),
    st.booleans(),
)
def test_mu_is_the_distance_of_two_normal_laws(
    epsilons: list[float], gaps: list[float], tau: float, shifted: bool
) -> None:
    """It is D' C^-1 D for the full covariance C; for any difference, with the worst signs."""
    rates = np.array(epsilons)
    time = np.cumsum(gaps)[: len(rates)]
    inverse = np.linalg.inv(covariance(rates, time, tau))
    difference = np.full(len(rates), 100.0)
    if not shifted:
        difference[1::2] *= -1
    expected = difference @ inverse @ difference
    found = squared_mu(rates, time, 100.0, tau, "shifted" if shifted else "any")
    assert found[-1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_no_difference_within_the_distance_costs_more() -> None:
    """20,000 random pairs of trajectories nowhere more than d apart have at most the stated mu."""
    rng = np.random.default_rng(5)
    time = np.cumsum(rng.uniform(5, 200, 6))
    rates = rng.uniform(0.001, 0.01, 6)
    inverse = np.linalg.inv(covariance(rates, time, 120.0))
    bound = squared_mu(rates, time, 50.0, 120.0)[-1]
    for differences in rng.uniform(-1, 1, (20_000, 2, 6)):
        scaled = 50 * differences / np.hypot(*differences).max()
        assert sum(axis @ inverse @ axis for axis in scaled) <= bound * (1 + 1e-9)


def test_a_report_at_the_same_time_is_free_only_for_a_truck_that_stands() -> None:
    """Twice the same noise shows how far a truck jumped, and nothing of where it stands."""
    twice = np.array([0.005, 0.005]), np.array([10.0, 10.0]), 100.0, 120.0
    assert np.isinf(squared_mu(*twice)[-1])
    shifted = squared_mu(*twice, "shifted")
    assert shifted[1] == shifted[0]


@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 3.0, 20.0])
def test_epsilon_and_delta_of_gaussian_dp_are_inverse(mu: float) -> None:
    """The smallest epsilon at a delta gives that delta again, and less epsilon more."""
    for delta in (1e-9, 1e-5, 1e-2):
        epsilon = gaussian_epsilon(mu, delta)
        assert _gaussian_delta(epsilon, mu) <= delta
        if epsilon:
            assert _gaussian_delta(epsilon * 0.999, mu) > delta


def test_delta_is_the_hockey_stick_of_two_normal_laws() -> None:
    """delta(epsilon) is the integral of the positive part of N(mu, 1) - e^epsilon N(0, 1)."""
    x = np.linspace(-12, 14, 400_001)
    for mu, epsilon in ((1.0, 0.5), (2.0, 3.0)):
        excess = stats.norm(mu).pdf(x) - math.exp(epsilon) * stats.norm.pdf(x)
        assert _gaussian_delta(epsilon, mu) == pytest.approx(
            np.trapezoid(np.maximum(excess, 0), x), abs=1e-8
        )


def test_losses_of_independent_reports_add_up_and_angles_never_come_free() -> None:
    """They come to d sum epsilon_i; with selected angles more, also at the distance 0."""
    rates = np.array([0.01, 0.02, 0.01])
    assert independent_cost(rates, 100) == pytest.approx([1, 3, 4])
    assert angle_selection_cost(rates, 0.0, 1.0) == pytest.approx([0, 4.241655, 8.48331], rel=1e-6)
