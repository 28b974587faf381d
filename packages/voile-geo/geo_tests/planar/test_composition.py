"""What many reports cost together: against integrals over the plane, and drawn losses.

Drawn losses know nothing of grids and transforms: positions are moved in the plane, weighed so that
the losses that matter are not rare, and the true delta is their mean excess with an interval.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from voile_geo.planar.costs import (
    LARGEST_REACH,
    LossDistribution,
    _masses,
    composed_epsilon,
    gaussian_epsilon,
)

PLANAR, LINE = LossDistribution("planar-laplace", 0.5), LossDistribution("laplace", 0.5)
DELTA = 1e-5
LESS = 1 / 0.7
"""Epsilon of a mechanism with 30 % less noise, over that which it claims."""


def plane_delta(reach: float, epsilon: float) -> float:
    """The delta of one report: P less e^epsilon Q of the side where P prevails.

    In polar coordinates around either place, that side is within a radius for each direction.
    """

    def within(radius: float) -> float:
        return -math.expm1(-radius) - radius * math.exp(-radius)

    def border(angle: float, loss: float) -> float:
        slope = loss + reach * math.cos(angle)
        return within((reach**2 - loss**2) / (2 * slope)) if slope > 1e-300 else 1.0

    def share(loss: float) -> float:
        kink = math.acos(-loss / reach)
        parts = ((0.0, kink), (kink, math.pi))
        return (
            sum(
                integrate.quad(border, *part, (loss,), epsabs=1e-13, limit=200)[0] for part in parts
            )
            / math.pi
        )

    return share(epsilon) - math.exp(epsilon) * (1 - share(-epsilon))


def grid_delta(law: LossDistribution, step: float, epsilon: float) -> float:
    """The same of the law on a grid."""
    first, mass = _masses(law, step)
    losses = (first + np.arange(len(mass))) * step
    return float(mass @ np.maximum(1 - np.exp(epsilon - losses), 0.0))


def drawn_delta(
    law: LossDistribution, reports: int, epsilon: float, mu: float = 0.0
) -> tuple[float, float]:
    """The true delta with one standard error: 40,000 sums of losses, drawn with weights.

    A loss is drawn from its law times e^(t loss), by rejection from positions in the plane.
    """
    rng, draws = np.random.default_rng(8), 40_000
    orders = np.geomspace(0.01, 60, 400)
    moments = reports * law.log_moment(orders) + mu**2 / 2 * orders * (orders + 1)
    tilt = orders[np.argmin(moments - orders * epsilon)]
    pool = np.empty(0)
    while len(pool) < 400_000:
        if law.noise == "laplace":
            at = rng.laplace(size=200_000)
            loss = np.abs(at - law.reach) - np.abs(at)
        else:
            radius, angle = rng.gamma(2, size=200_000), rng.uniform(0, 2 * np.pi, 200_000)
            east, north = radius * np.cos(angle), radius * np.sin(angle)
            loss = np.hypot(east - law.reach, north) - radius
        keep = rng.uniform(size=len(loss)) < np.exp(tilt * (loss - law.reach))
        pool = np.append(pool, loss[keep])
    sums = np.zeros(draws)
    for _ in range(reports):
        sums += rng.choice(pool, draws)
    if mu:
        sums += rng.normal(mu**2 / 2 + tilt * mu**2, mu, draws)
    moment = reports * law.log_moment(np.array(tilt)) + mu**2 / 2 * tilt * (tilt + 1)
    excess = np.exp(moment - tilt * sums) * np.maximum(1 - np.exp(epsilon - sums), 0.0)
    return float(excess.mean()), float(excess.std() / math.sqrt(draws))


def test_what_the_issue_asks_for():
    """At .005 per metre, 100 m and delta 1e-5, 40 reports cost at most 11, and 960 at most 110."""
    assert composed_epsilon(((PLANAR, 40),), 0.0, DELTA) < 11
    assert composed_epsilon(((PLANAR, 960),), 0.0, DELTA) < 110


@pytest.mark.parametrize("reach", [0.05, 0.5, 3.0])
def test_the_law_of_one_report_is_that_of_the_plane(reach: float):
    """On a fine grid delta is that of an integral over the plane, and never below it."""
    law = LossDistribution("planar-laplace", reach)
    for share in (0.0, 0.3, 0.9):
        exact = plane_delta(reach, share * reach)
        fine = grid_delta(law, reach / 2_000, share * reach)
        assert fine == pytest.approx(exact, rel=1e-4, abs=1e-8)
        for cells in (1.5, 7, 40):
            assert grid_delta(law, reach / cells, share * reach) > exact - 1e-8


@pytest.mark.parametrize("reach", [1e-4, 0.5, LARGEST_REACH])
@pytest.mark.parametrize("noise", ["planar-laplace", "laplace"])
def test_a_law_and_its_moments_agree(noise: str, reach: float):
    """Masses sum to one under either neighbour, and have the moments of the closed form."""
    law = LossDistribution(noise, reach)
    orders = np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 4.0])
    assert law.log_moment(np.array([0.0, -1.0])) == pytest.approx([0, 0], abs=1e-12)
    first, mass = _masses(law, reach / 500)
    losses = (first + np.arange(len(mass))) * reach / 500
    found = [math.log(mass @ np.exp(order * losses)) for order in orders]
    assert found == pytest.approx(law.log_moment(orders), rel=1e-3, abs=1e-11)
    assert mass @ np.exp(-losses) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("law", "reports", "mu"),
    [
        pytest.param(PLANAR, 3, 0.0, marks=pytest.mark.slow),
        (PLANAR, 40, 0.0),
        pytest.param(PLANAR, 960, 0.0, marks=pytest.mark.slow),
        (LINE, 40, 0.0),
        (PLANAR, 10, 1.0),
    ],
)
def test_the_true_delta_is_below_the_claim_and_near_it(
    law: LossDistribution, reports: int, mu: float
):
    """Drawn losses exceed the claimed epsilon with at most the delta; 1 % less, more."""
    claim = composed_epsilon(((law, reports),), mu**2, DELTA)
    delta, error = drawn_delta(law, reports, claim, mu)
    assert delta - 4 * error < DELTA
    delta, error = drawn_delta(law, reports, 0.99 * claim, mu)
    assert delta + 4 * error > DELTA


@pytest.mark.parametrize("reports", [3, 40, 960])
def test_less_noise_is_caught(reports: int):
    """With 30 % less noise the same draws find a delta far above the claim."""
    claim = composed_epsilon(((PLANAR, reports),), 0.0, DELTA)
    delta, error = drawn_delta(LossDistribution("planar-laplace", 0.5 * LESS), reports, claim)
    assert delta - 4 * error > 2 * DELTA


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    reach=st.floats(0.01, 5),
    reports=st.integers(1, 300),
    squared_mu=st.sampled_from([0.0, 0.3, 9.0]),
    delta=st.sampled_from([1e-9, 1e-5, 1e-2]),
    other=st.sampled_from([(), ((LossDistribution("laplace", 0.2), 7),)]),
)
def test_more_never_costs_less(reach, reports, squared_mu, delta, other):
    """More reports, a longer way, more Gaussian noise, a smaller delta: none is cheaper."""

    def cost(reach=reach, reports=reports, squared_mu=squared_mu, delta=delta, other=other):
        return composed_epsilon(
            (*other, (LossDistribution("planar-laplace", reach), reports)), squared_mu, delta
        )

    least = cost() * (1 - 1e-6)
    assert cost(reports=reports + 1) >= least
    assert cost(reach=reach * 1.01) >= least
    assert cost(squared_mu=squared_mu + 0.1) >= least
    assert cost(delta=delta / 2) >= least
    assert cost(other=(*other, (LossDistribution("laplace", 0.3), 1))) >= least
    assert cost() <= reports * reach + sum(law.reach * n for law, n in other) + (
        gaussian_epsilon(math.sqrt(squared_mu), delta) if squared_mu else 0.0
    )


def test_ends():
    """Nothing costs nothing; Gaussian noise alone costs its own; without a delta reaches add up."""
    assert composed_epsilon((), 0.0, DELTA) == 0
    assert composed_epsilon((), 1.0, DELTA) == pytest.approx(gaussian_epsilon(1.0, DELTA))
    assert composed_epsilon((), math.inf, DELTA) == math.inf
    assert composed_epsilon(((PLANAR, 40),), 0.0, 0.0) == 20
    assert composed_epsilon(((PLANAR, 40),), 1.0, 0.0) == math.inf
    assert composed_epsilon(((LossDistribution("planar-laplace", 1e-7), 3),), 0.0, DELTA) == 0
    far = LossDistribution("planar-laplace", 2 * LARGEST_REACH)
    assert composed_epsilon(((far, 2),), 0.0, DELTA) == 4 * LARGEST_REACH


@pytest.mark.slow
def test_many_reports_come_near_the_central_limit():
    """A million reports cost what Gaussian noise with their variance costs, within 2 %."""
    law = LossDistribution("planar-laplace", 0.01)
    expected = gaussian_epsilon(math.sqrt(1e6 * 0.01**2 / 2), DELTA)
    assert composed_epsilon(((law, 1_000_000),), 0.0, DELTA) == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
def test_tiny_deltas_are_no_rounding():
    """At a delta of 1e-30 the claim still follows the draws."""
    claim = composed_epsilon(((PLANAR, 40),), 0.0, 1e-30)
    delta, error = drawn_delta(PLANAR, 40, claim)
    assert delta - 4 * error < 1e-30
    delta, error = drawn_delta(PLANAR, 40, 0.99 * claim)
    assert delta + 4 * error > 1e-30
