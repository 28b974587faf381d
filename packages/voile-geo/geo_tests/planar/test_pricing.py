"""Prices of trips are those of ``costs``, and totals those of its scalar laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile_geo.planar.costs import (
    LossDistribution,
    angle_selection_cost,
    composed_epsilon,
    gaussian_epsilon,
    squared_mu,
)
from voile_geo.planar.pricing import TripCost, TripPrice, largest_epsilon, total_epsilons
from voile_geo.planar.steps import turn_constant

EPSILONS, TIME = np.array([0.005, 0.01, 0.005]), np.array([0.0, 30.0, 90.0])


def test_each_mechanism_has_its_price():
    """Independent reports add up, turns add kappa, correlated noise has a mu."""
    assert TripPrice(100).cost(EPSILONS, TIME) == pytest.approx((2.0, 0.0, 0))
    distribution = LossDistribution("planar-laplace", 0.5)
    assert TripPrice(100, distribution=distribution).cost(EPSILONS, TIME) == (0.0, 0.0, 3)
    turned = angle_selection_cost(EPSILONS, 100, 0.97)[-1]
    assert TripPrice(100, deviation=0.97).cost(EPSILONS, TIME) == pytest.approx((turned, 0.0, 0))
    known = TripPrice(100, deviation=0.97, first_turn=True).cost(EPSILONS, TIME)
    assert known == pytest.approx((turned + turn_constant(0.97), 0.0, 0))
    for differences in ("any", "shifted"):
        price = TripPrice(100, tau=120, differences=differences)
        mu = squared_mu(EPSILONS, TIME, 100, 120, differences)[-1]
        assert price.cost(EPSILONS, TIME) == pytest.approx((0.0, mu, 0))
    assert TripPrice(100).cost(np.empty(0), np.empty(0)) == TripCost(0.0, 0.0)


@given(
    trips=st.lists(st.tuples(st.floats(0, 20), st.floats(0, 60)), min_size=1, max_size=5),
    delta=st.sampled_from([1e-9, 1e-5, 0.01, 0.4]),
)
def test_totals_are_those_of_the_scalar_law(trips, delta):
    """Bisection for many trips at once finds what root finding finds for one, rounded up."""
    epsilon, mu = np.array(trips).T
    totals = total_epsilons(epsilon, mu**2, delta)
    for found, pure, one in zip(totals, epsilon, mu, strict=True):
        expected = pure + (gaussian_epsilon(one, delta) if one else 0.0)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_reports_alike_are_composed():
    """Reports of one distribution cost less together than their sum, beside what else is spent."""
    distribution, other = LossDistribution("planar-laplace", 0.5), LossDistribution("laplace", 0.2)
    alike = {distribution: np.array([0, 40, 40]), other: np.array([0, 0, 3])}
    epsilon, mu_squared = np.array([1.0, 2.0, 0.0]), np.array([0.25, 0.0, 0.25])
    found = total_epsilons(epsilon, mu_squared, 1e-5, alike)
    expected = [
        1 + gaussian_epsilon(0.5, 1e-5),
        2 + composed_epsilon(((distribution, 40),), 0.0, 1e-5),
        composed_epsilon(((other, 3), (distribution, 40)), 0.25, 1e-5),
    ]
    assert found == pytest.approx(expected, rel=1e-6)
    assert total_epsilons(epsilon, 0 * mu_squared, 0.0, alike) == pytest.approx([1, 22, 20.6])


def test_totals_without_end():
    """No epsilon bounds Gaussian noise at delta 0, nor two positions under the same noise."""
    zero, one = np.zeros(2), np.array([0.0, 1.0])
    assert total_epsilons(zero, one, 0.0).tolist() == [0.0, math.inf]
    assert total_epsilons(zero, np.array([0.0, math.inf]), 1e-5).tolist() == [0.0, math.inf]


def test_noise_that_tells_nearly_nothing_costs_nothing():
    """Where delta alone covers a mu, epsilon is 0 and not nearly 0."""
    assert total_epsilons(np.zeros(2), np.array([1e-20, 1e-12]), 1e-5).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("epsilon", "mu_squared", "reports"),
    [
        ([1.0, 3.0, 2.0], [0.0, 0.0, 0.0], [0, 0, 0]),
        ([1.0, 3.0, 2.0], [9.0, 0.0, 1.0], [0, 0, 0]),
        ([0.0, 0.0, 0.0], [0.25, 0.0, 0.25], [3, 40, 7]),
        ([2.0, 2.0, 2.0], [0.5, 0.5, 0.5], [4, 4, 4]),
    ],
)
def test_the_costliest_trip_is_that_of_all_totals(epsilon, mu_squared, reports):
    """Whether trips differ in one number, in several or in none."""
    trips = np.array(epsilon), np.array(mu_squared), 1e-5
    alike = {LossDistribution("planar-laplace", 0.5): np.array(reports)}
    totals = total_epsilons(*trips, alike)
    most, found = largest_epsilon(*trips, alike)
    assert found == totals[most] == max(totals)


_PRICES = {
    "independent": TripPrice(100),
    "angles": TripPrice(100, deviation=0.97, first_turn=True),
    "correlated": TripPrice(100, tau=120),
    "shifted": TripPrice(100, tau=120, differences="shifted"),
}


@pytest.mark.parametrize("name", _PRICES)
@given(
    epsilons=st.lists(st.floats(1e-4, 0.1), min_size=1, max_size=6),
    gaps=st.lists(st.floats(0.1, 1e4), min_size=5, max_size=5),
)
def test_no_draw_of_zones_costs_more_than_the_most(name, epsilons, gaps):
    """Whatever epsilons reports get between two, they cost at most what is charged beforehand."""
    price, time = _PRICES[name], np.cumsum([0.0, *gaps[: len(epsilons) - 1]])
    between = min(epsilons), max(epsilons)
    most = price.most(epsilons[0], between, time)
    cost = price.cost(np.array(epsilons), time)
    assert cost.epsilon <= most.epsilon * (1 + 1e-12)
    assert cost.squared_mu <= most.squared_mu * (1 + 1e-12)


@pytest.mark.parametrize("name", _PRICES)
def test_without_zones_the_most_is_what_it_costs(name):
    """Where all reports have one epsilon, nothing is charged that is not spent."""
    price, epsilons = _PRICES[name], np.full(3, 0.005)
    time = np.array([0.0, 30.0, 90.0])
    assert price.most(0.005, (0.005, 0.005), time) == price.cost(epsilons, time)
    assert price.most(0.005, (0.005, 0.005), time[:0]) == TripCost(0.0, 0.0)


def test_the_most_is_not_far_off():
    """Where all reports fall into the dearest zone it is what they cost."""
    time = np.array([0.0, 30.0, 60.0])
    for name in ("independent", "angles", "correlated"):
        dear = np.array([0.002, 0.02, 0.02])
        most = _PRICES[name].most(0.002, (0.002, 0.02), time)
        assert most == pytest.approx(_PRICES[name].cost(dear, time))
    back_and_forth = _PRICES["shifted"].cost(np.array([0.02, 0.002, 0.02]), time).squared_mu
    most = _PRICES["shifted"].most(0.002, (0.002, 0.02), time).squared_mu
    assert back_and_forth < most < 2 * back_and_forth
