"""Theorem 1, eqs. 8 to 11 and Lemma 1 of the trajectory paper: as printed, and where they fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from voile_geo.planar.pricing import (
    composed_deviation,
    composed_epsilon_as_printed,
    composed_epsilon_of_turns,
    guessed_distance_density,
    guessed_distance_density_as_printed,
    midpoint_displacement,
    vector_displacement,
)
from voile_geo.planar.steps import turn_deviation

DELTA = 1e-5
DAY = 72
"""Six hours of reports every five minutes (section 7.1)."""


def test_half_a_day_of_reports_is_what_section_7_1_says() -> None:
    """72 rounds multiply an epsilon by about 8.5, as printed."""
    assert composed_epsilon_as_printed(DAY, 1) == pytest.approx(8.485281, abs=1e-6)


def test_theorem_1_gives_twice_what_the_paper_reads_from_it() -> None:
    """The noise of eq. 7 is that of Theorem 1 at 2.16 sqrt(k) epsilon_a where the paper has 1."""
    each = 0.5
    whole = composed_epsilon_as_printed(DAY, each)
    low, high = whole, 10 * whole
    for _ in range(80):
        middle = (low + high) / 2
        wide = composed_deviation(DAY, middle, DELTA, 1) > turn_deviation(each, DELTA, 1)
        low, high = (middle, high) if wide else (low, middle)
    by_hand = math.sqrt(4 * math.log(math.e + low / DELTA) / math.log(1.25 / DELTA))
    assert low / whole == pytest.approx(by_hand)
    assert by_hand == pytest.approx(2.16, abs=0.01)


@pytest.mark.parametrize("each", [0.1, 0.5, 5.0])
def test_turns_of_a_day_cost_what_one_gaussian_of_their_mu_does(each: float) -> None:
    """At the exact epsilon of 72 turns the delta of their Gaussian is the one asked for.

    At the paper's epsilon_a = 5 it is 1.8 times the printed sqrt(k) epsilon_a.
    """
    found = composed_epsilon_of_turns(DAY, each, DELTA)
    mu = math.sqrt(DAY) / turn_deviation(each, DELTA, 1)
    above = norm.cdf(mu / 2 - found / mu)
    below = math.exp(found + norm.logcdf(-mu / 2 - found / mu))
    assert above - below == pytest.approx(DELTA, rel=1e-6)
    if each == 5.0:
        assert found / composed_epsilon_as_printed(DAY, each) == pytest.approx(1.765, abs=1e-3)


def test_eq_8_is_the_law_of_a_line_and_not_of_the_plane() -> None:
    """Both are densities; the printed one is largest at 0, where the plane's is 0."""
    epsilon = 0.005
    for density in (guessed_distance_density, guessed_distance_density_as_printed):
        assert quad(lambda d, f=density: float(f(d, epsilon)), 0, 20_000)[0] == pytest.approx(1)
    assert guessed_distance_density(np.array([0.0]), epsilon)[0] == 0
    distances = np.linspace(0, 2_000, 2_001)
    assert distances[np.argmax(guessed_distance_density(distances, epsilon))] == 1 / epsilon
    assert np.argmax(guessed_distance_density_as_printed(distances, epsilon)) == 0


def test_eqs_9_and_11_are_distances_of_midpoints() -> None:
    """The closed forms equal the midpoints and their average computed from positions."""
    generator = np.random.default_rng(9)
    radius, angle = generator.gamma(2, 200, (50, 3)), generator.uniform(0, 2 * math.pi, (50, 3))
    noise = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=-1)
    middles = (noise[:, 1:] + noise[:, :-1]) / 2
    assert midpoint_displacement(radius, angle) == pytest.approx(np.linalg.norm(middles, axis=-1))
    mean = middles.mean(axis=1)
    assert vector_displacement(radius, angle)[:, 0] == pytest.approx(np.linalg.norm(mean, axis=-1))


def test_lemma_1_holds_of_its_two_measures_alone() -> None:
    """Both measures are larger for noise that hardly turns, and largest where it does not turn.

    That this is less private against who knows the mechanism is measured on roads:
    ``benchmarks/trucks_laws`` and docs/papers/trajectories.md.
    """
    generator = np.random.default_rng(1)
    radius = generator.gamma(2, 200, (20_000, 3))
    start = generator.uniform(0, 2 * math.pi, (20_000, 1))
    turns = np.cumsum(generator.normal(0, 0.5, (20_000, 2)), axis=1)
    hardly = np.concatenate((start, start + turns), axis=1)
    anew = generator.uniform(0, 2 * math.pi, (20_000, 3))
    same = np.repeat(start, 3, axis=1)
    for measure in (midpoint_displacement, vector_displacement):
        afresh, turning, fixed = (measure(radius, angle).mean() for angle in (anew, hardly, same))
        assert afresh < 0.95 * turning < 0.95 * fixed
