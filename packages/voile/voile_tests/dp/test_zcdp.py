"""Rho: exact sums, one conversion rounded upwards, and budgets with other events."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from voile.dp.accounting import Budget, PrivacyEvent, epsilon_of, rho_within, spent
from voile_base.errors import PlanError

DELTA = Decimal("1e-6")
RHOS = st.fractions(min_value=Fraction(1, 10**6), max_value=20, max_denominator=10**6)
DELTAS = st.integers(1, 12).map(lambda places: Decimal(10) ** -places)


def event(rho: str | Fraction, neighbours: str = "add-remove") -> PrivacyEvent:
    return PrivacyEvent.concentrated("discrete-gaussian", Fraction(rho), neighbours)  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "rho"), [(1, 0.024356), (3, 0.18507), (10, 1.53928)])
def test_known_conversions_come_out(epsilon: int, rho: float) -> None:
    """The golden figures at delta = 1e-6, and back."""
    found = rho_within(Decimal(epsilon), DELTA)
    assert float(found) == pytest.approx(rho, rel=1e-5)
    assert epsilon - 1e-9 < epsilon_of(found, DELTA) <= epsilon


@given(RHOS, DELTAS)
def test_the_conversion_is_the_best_bound_from_above(rho: Fraction, delta: Decimal) -> None:
    """No alpha of a fine grid gives less by more than a billionth, and none is undercut."""
    found = epsilon_of(rho, delta)

    def bound(log_above: float) -> float:
        above = math.exp(log_above)
        logs = math.log(delta) + math.log1p(above)
        return float(rho) * (1 + above) + log_above - math.log1p(above) - logs / above

    best = min(bound(step / 500) for step in range(-6_000, 12_000))
    assert float(found) <= max(best, 0) + 1e-9
    assert float(found) >= max(best - 1e-4 * max(best, 1), 0) - 1e-9


@given(RHOS, DELTAS)
def test_an_independent_accountant_agrees_from_below(rho: Fraction, delta: Decimal) -> None:
    """dp-accounting's optimum over its orders is never below by more than the grid of orders."""
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    orders = [1 + math.exp(step / 20) for step in range(-120, 240)]
    theirs, _ = rdp.compute_epsilon(orders, [float(rho) * order for order in orders], float(delta))
    assert float(epsilon_of(rho, delta)) <= theirs + 1e-9


def test_an_epsilon_is_at_least_the_exact_one_of_gaussian_noise() -> None:
    """Rho = 1/64 at delta 1e-6: .788736, where the exact Gaussian of that rho needs .7537."""
    found = float(epsilon_of(Fraction(1, 64), DELTA))
    assert found == pytest.approx(0.788735906, abs=1e-9)
    mu = math.sqrt(2 / 64)
    exact = norm.cdf(mu / 2 - found / mu) - math.exp(found) * norm.cdf(-mu / 2 - found / mu)
    assert exact <= float(DELTA)


@given(st.lists(RHOS, min_size=1, max_size=8), DELTAS)
def test_rhos_add_up_exactly_and_are_converted_once(rhos: list[Fraction], delta: Decimal) -> None:
    """The price of all is that of the exact sum, in whatever order they come."""
    together = spent([event(rho) for rho in rhos], delta)
    assert together == epsilon_of(sum(rhos, Fraction(0)), delta)
    assert together == spent([event(rho) for rho in reversed(rhos)], delta)


@pytest.mark.parametrize("times", [10, 100])
def test_converting_once_is_far_below_converting_each(times: int) -> None:
    """Events of 1/64: beside their own prices, each of which has but its part of the delta."""
    together = spent([event("1/64")] * times, DELTA)
    apart = times * epsilon_of(Fraction(1, 64), DELTA / times)
    assert together < apart / 3


def test_a_binary_tenth_is_not_what_a_plan_says() -> None:
    """Ten tenths are one, in fractions; as doubles they are not."""
    assert spent([event("1/10")] * 10, DELTA) == epsilon_of(Fraction(1), DELTA)


def test_a_rho_has_no_price_without_a_delta() -> None:
    """A pure budget refuses it, and so does one whose delta others have spent."""
    assert spent([event("1/64")], Decimal(0)) == Decimal("Infinity")
    other = PrivacyEvent("sampled", Decimal(1), DELTA)
    assert spent([event("1/64"), other], DELTA) == Decimal("Infinity")
    assert not Budget(Decimal(100)).covers([event("1/64")])


def test_pure_events_join_whichever_way_is_less() -> None:
    """Many small epsilons are cheaper as rho; one large one is cheaper by itself."""
    small = [PrivacyEvent("laplace", Decimal("0.05"))] * 40
    joined = epsilon_of(Fraction(1, 64) + 40 * Fraction("0.05") ** 2 / 2, DELTA)
    assert spent([event("1/64"), *small], DELTA) == joined < 2
    large = PrivacyEvent("laplace", Decimal(8))
    apart = float(epsilon_of(Fraction(1, 64), DELTA)) + 8
    assert float(spent([event("1/64"), large], DELTA)) == pytest.approx(apart, rel=1e-12)


def test_replacing_is_two_steps_and_costs_four_times_the_rho() -> None:
    """Group privacy of rho is quadratic; rows have no price in a budget of persons."""
    assert spent([event("1/64")], DELTA, "replace") == epsilon_of(Fraction(1, 16), DELTA)
    with pytest.raises(PlanError, match="data sets of their own"):
        spent([event("1/64")], DELTA, "person")


@given(RHOS)
def test_an_event_survives_its_document(rho: Fraction) -> None:
    """What a ledger keeps is the exact fraction; events without a rho read as before."""
    assert PrivacyEvent.of_document(event(rho).document()) == event(rho)
    plain = PrivacyEvent("exponential", Decimal("0.5"))
    assert "rho" not in plain.document()
    assert PrivacyEvent.of_document(plain.document()) == plain


@pytest.mark.parametrize(("rho", "delta"), [(Fraction(-1), DELTA), (Fraction(1), Decimal(1))])
def test_numbers_out_of_range_are_refused(rho: Fraction, delta: Decimal) -> None:
    """A rho below 0 and a delta of 1."""
    with pytest.raises(ValueError, match="rho must be at least 0"):
        epsilon_of(rho, delta)
