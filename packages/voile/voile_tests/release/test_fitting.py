"""Budgets buy reports: the finest spacing that fits, in every window of days."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from voile.release.trips import BusiestVehicle, FleetTerms, TripCosts, TripSums
from voile_base.errors import RefusedError
from voile_geo.planar.costs import LossDistribution, composed_epsilon

LAW = LossDistribution("planar-laplace", 0.5)
KEY = bytes(32)


def cost(reports: int) -> float:
    return composed_epsilon(((LAW, reports),), 0.0, 1e-5)


@dataclass
class Offer:
    """Trips with so many reports, of vehicles and days."""

    alike: np.ndarray
    vehicles: np.ndarray
    days: np.ndarray

    def __post_init__(self) -> None:
        self.epsilon = self.squared_mu = np.zeros(len(self.alike))
        self.reports = self.alike
        self.first_row = np.arange(len(self.alike)) + 1

    def marks(self, key: bytes) -> np.ndarray:
        return np.arange(len(self.alike), dtype=np.uint64) + np.uint64(key[0])

    def vehicle_marks(self, key: bytes) -> np.ndarray:
        return self.vehicles.astype(np.uint64) + np.uint64(key[0])


def costs_of(
    budget: float, reports: list[int], vehicles: list[int], days: list[int], within: int | None
) -> TripCosts:
    """Offers of all, half, a quarter and an eighth of the reports."""
    terms = FleetTerms("vans", budget, 100.0, 1e-5, "any", within)
    offers = [
        Offer(np.maximum(np.array(reports) // part, 1), np.array(vehicles), np.array(days))
        for part in (1, 2, 4, 8)
    ]
    return TripCosts(terms, offers, LAW)


def test_each_trip_has_the_finest_spacing_that_fits():
    """A budget of 20 reports: 20 stay as they are, 40 are halved, 100 become 12."""
    costs = costs_of(cost(20), [20, 40, 100], [0, 0, 1], [5, 5, 5], None)
    assert costs.fitting(TripSums.none(), KEY).tolist() == [0, 1, 3]


def test_trips_of_a_vehicle_share_its_days():
    """40 reports on each of three days: in any two days 40 fit, so that each day is halved."""
    costs = costs_of(cost(40), [40, 40, 40, 40], [0, 0, 0, 1], [1, 2, 3, 9], 2)
    assert costs.fitting(TripSums.none(), KEY).tolist() == [1, 1, 1, 0]
    assert costs_of(cost(40), [40] * 2, [0, 0], [1, 3], 2).fitting(
        TripSums.none(), KEY
    ).tolist() == [
        0,
        0,
    ]


def test_what_is_spent_counts():
    """On the day before 30 of 40 reports were spent: 8 are left, and two days later all."""
    spent, _ = costs_of(9, [30], [0], [1], 2).sums(None, KEY)
    terms = (cost(40), [64], [0])
    assert costs_of(*terms, [2], 2).fitting(spent, KEY).tolist() == [3]
    assert costs_of(*terms, [3], 2).fitting(spent, KEY).tolist() == [1]


def test_last_trips_are_left_out():
    """Where not even the coarsest spacing fits, trips are left out from the last day on."""
    costs = costs_of(cost(9), [32, 32, 32], [0, 0, 0], [1, 2, 3], 7)
    assert costs.fitting(TripSums.none(), KEY).tolist() == [3, 3, -1]
    spent, _ = costs_of(9, [8], [0], [1], 7).sums(None, KEY)
    with pytest.raises(RefusedError, match="nothing is left of the budgets of these vehicles"):
        costs.fitting(spent, KEY)


@pytest.mark.parametrize("within", [None, 1, 2, 5, 40])
def test_windows_are_those_of_every_day(within):
    """The most of a vehicle in so many days on end is that of a search over all windows."""
    rng = np.random.default_rng(4)
    reports, vehicles, days = (
        rng.integers(1, 50, 60),
        rng.integers(0, 4, 60),
        rng.integers(-9, 9, 60),
    )
    offer = Offer(reports, vehicles, days)
    expected = max(
        reports[(vehicles == vehicle) & (days >= day) & (days < day + (within or 100))].sum()
        for vehicle in range(4)
        for day in range(-9, 9)
    )
    found = BusiestVehicle.find(offer, LAW, 1e-5, within)
    assert (found.reports, found.days) == (expected, within)
    assert found.epsilon == cost(int(expected))
    terms = FleetTerms("vans", 9.0, 100.0, 1e-5, "any", within or 100)
    sums, first = TripCosts(terms, [offer], LAW).sums(None, KEY)
    assert sums.largest(terms) == found.epsilon
    assert first.min() == 1
    assert sums.each(terms)[1].max() == found.epsilon


@pytest.mark.parametrize("within", [None, 7])
def test_accounts_are_marked_by_the_key_of_the_fleet(within):
    """Under another key no account is one of before, of trips or of vehicles."""
    costs = costs_of(10.0, [5, 6, 7], [0, 1, 1], [3, 3, 4], within)
    marks = [set(costs.sums(None, bytes([at] * 32))[0].marks.tolist()) for at in (0, 100)]
    assert marks[0]
    assert {mark + 100 for mark in marks[0]} == marks[1]


def test_what_a_release_costs_more_than_another_is_told_for_each_part():
    """Epsilon, Gaussian noise and reports of one distribution, each by itself."""
    costs = costs_of(10.0, [5, 6], [0, 1], [3, 3], None)
    whole = costs.sums(None, KEY)[0]
    more = replace(whole, epsilon=whole.epsilon + 0.5, squared_mu=whole.squared_mu + 0.25)
    dearer = more.minus(whole)
    assert dearer.epsilon.tolist() == [0.5, 0.5]
    assert dearer.squared_mu.tolist() == [0.25, 0.25]
    assert [counts.tolist() for counts in dearer.alike.values()] == [[0, 0]]


def test_terms_of_vehicles_say_in_how_many_days():
    """And those of trips do not."""
    terms = FleetTerms("vans", 2.5, 100.0, 1e-5, "any", 7)
    said = "budget = 2.5 at distance = 100 m, delta = 1e-05, differences = 'any'"
    assert str(terms) == said + ", of a vehicle in 7 days on end"
    assert str(replace(terms, days=None)) == said
