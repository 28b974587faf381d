"""What a release spends of the budgets of its trips; private.

The budget of a trip is an epsilon: how well all that is ever published of the trip may tell it from
any other that is nowhere more than ``distance`` metres away (``voile_geo.planar.pricing``).  That
of a vehicle over some days is the same for all trips together that it begins on these days (UTC).

Sums of what trips cost, or vehicles on each day: parallel arrays.

A row is a mark and a day; where a budget is that of a trip all days are 0.  Days count from 1970,
UTC.  A vehicle may spend its budget in any window of so many days on end, so what counts is the
window, from each of its days on, in which it spent most.

As many evenly spaced reports as budgets buy: which of several spacings each trip has.

All trips of one account, which is a trip or a vehicle, have the same: the finest whose cost fits,
on top of what the account has spent already.  Where not even the coarsest does, trips are left out,
the last ones first.  It follows from times of reports and from the ledger, which holds nothing
about places, so it tells nothing of them.

Cost: log2 of the number of spacings times what accounts cost to add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.table.decisions import TripAccounts
from voile_base.errors import RefusedError
from voile_base.ondemand import dataclass, on_demand

if TYPE_CHECKING:
    from voile_geo.planar import costs as planar_costs
    from voile_geo.planar import pricing
else:
    planar_costs = on_demand("voile_geo.planar.costs")
    pricing = on_demand("voile_geo.planar.pricing")

__all__ = [
    "BusiestVehicle",
    "FleetTerms",
    "TripCosts",
    "TripSums",
]


@dataclass(frozen=True)
class FleetTerms:
    """What every trip of a fleet may spend over all releases."""

    name: str
    """Under which a ledger adds up."""
    budget: float
    """The epsilon of a trip; above 0."""
    distance: float
    """Metres between trajectories that are hard to tell apart; above 0."""
    delta: float
    """At which Gaussian noise is priced; between 0 and 1."""
    differences: planar_costs.Differences
    """How trajectories may differ."""
    days: int | None = None
    """In how many days on end a vehicle may spend it; None: it is the budget of a trip."""

    @property
    def unit(self) -> str:
        """Whose budget it is."""
        return "trip" if self.days is None else "vehicle"

    def __str__(self) -> str:
        of = "" if self.days is None else f", of a vehicle in {self.days} days on end"
        return (
            f"budget = {self.budget:g} at distance = {self.distance:g} m, delta = {self.delta:g}, "
            f"differences = {self.differences!r}{of}"
        )


@dataclass(frozen=True, eq=False)
class TripCosts:
    """What the trips of a release spend, and of which fleet."""

    fleet: FleetTerms | None
    offers: Sequence[TripAccounts]
    """What they cost for each way to thin them; one, where there is nothing to choose."""
    distribution: planar_costs.LossDistribution | None = None
    """Of the reports that are alike."""
    exact: bool = True
    """Whether reports cost just that, or at most that: in which zones they fall is drawn."""

    @property
    def accounts(self) -> TripAccounts:
        """What the trips spend of which most is published."""
        return self.offers[0]

    def marks(self, key: bytes) -> NDArray[np.uint64]:
        """The accounts that trips are charged to, shape (t,)."""
        of_vehicles = self.fleet is not None and self.fleet.days is not None
        return self.accounts.vehicle_marks(key) if of_vehicles else self.accounts.marks(key)

    def sums(self, choice: NDArray[np.int64] | None, key: bytes) -> tuple[TripSums, Counts]:
        """What a release costs, and where each row of that first stands in the table, from 1.

        ``choice`` says which offer each trip takes, -1 for none; None: the first.
        """
        place = np.zeros(len(self.accounts.days), np.int64) if choice is None else choice

        def chosen(column: str) -> NDArray[Any]:
            arrays = [getattr(offer, column) for offer in self.offers]
            taken = np.choose(np.maximum(place, 0), arrays)
            return np.where(place < 0, np.zeros_like(taken), taken)

        of_vehicles = self.fleet is not None and self.fleet.days is not None
        days = self.accounts.days if of_vehicles else np.zeros(len(place), np.int64)
        alike = {self.distribution: chosen("alike")} if self.distribution else {}
        sums = TripSums(self.marks(key), chosen("epsilon"), chosen("squared_mu"), days, alike)
        return sums.plus(TripSums.none()), sums.least(self.accounts.first_row)

    def fitting(self, spent: TripSums, key: bytes) -> Choice:
        """The place of a spacing for each trip, or -1 for a trip that is left out; shape (t,).

        Raises ``RefusedError`` where no trip may have a single report.
        """
        assert self.fleet is not None, "budgets say how many reports there may be"
        offers = len(self.offers)
        marks = self.marks(key)
        accounts, account = np.unique(marks, return_inverse=True)
        fits = _Fits(self, self.fleet, spent, key)
        low, high = np.zeros(len(accounts), np.int64), np.full(len(accounts), offers)
        while (low < high).any():
            middle = (low + high) // 2
            good = fits(np.minimum(middle, offers - 1)[account], accounts) & (middle < offers)
            low, high = (
                np.where(good, low, np.minimum(middle + 1, high)),
                np.where(good, middle, high),
            )
        choice = np.minimum(high, offers - 1)[account]
        begins = np.argsort(-self.accounts.days, kind="stable")
        out_of = high == offers
        while out_of.any():
            last = _last_of(begins, account, choice, out_of)
            choice[last] = -1
            left = np.bincount(account, choice >= 0, len(accounts)) > 0
            out_of &= left & ~fits(choice, accounts)
        if (choice < 0).all():
            msg = (
                f"fleet {self.fleet.name!r}: nothing is left of the budgets of these "
                f"{self.fleet.unit}s, not for a single report; what is spent does not come back: "
                "publish later days, or ask for more noise"
            )
            raise RefusedError(msg)
        return np.asarray(choice, dtype=np.int64)


Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Marks = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class TripSums:
    """What each of t trips costs, by mark, or each vehicle on each day."""

    marks: Marks
    epsilon: Floats
    squared_mu: Floats
    days: Counts = field(default_factory=lambda: np.empty(0, np.int64))
    alike: Mapping[planar_costs.LossDistribution, Counts] = field(default_factory=dict)
    """How many reports of each distribution."""

    def __post_init__(self) -> None:
        if len(self.days) != len(self.marks):
            object.__setattr__(self, "days", np.zeros(len(self.marks), np.int64))

    def __len__(self) -> int:
        return len(self.marks)

    @classmethod
    def none(cls) -> TripSums:
        """No trips."""
        return cls(np.empty(0, np.uint64), np.empty(0), np.empty(0))

    def plus(self, other: TripSums) -> TripSums:
        """All rows of both, ascending by mark and day, each with what it costs in both."""
        keys = np.concatenate((self._keys, other._keys))
        different, place = np.unique(keys, return_inverse=True)

        def summed(one: NDArray[np.generic], two: NDArray[np.generic]) -> NDArray[Any]:
            total = np.zeros(len(different), one.dtype)
            np.add.at(total, place, np.concatenate((one, two)))
            return total

        nothing = np.zeros(len(self), np.int64), np.zeros(len(other), np.int64)
        alike = {
            distribution: summed(
                self.alike.get(distribution, nothing[0]), other.alike.get(distribution, nothing[1])
            )
            for distribution in sorted({*self.alike, *other.alike})
        }
        return TripSums(
            different["mark"],
            summed(self.epsilon, other.epsilon),
            summed(self.squared_mu, other.squared_mu),
            different["day"],
            alike,
        )

    def least(self, values: Counts) -> Counts:
        """The least of the values of each different row, ascending by mark and day."""
        different, place = np.unique(self._keys, return_inverse=True)
        found = np.full(len(different), np.iinfo(np.int64).max)
        np.minimum.at(found, place, values)
        return found

    def of(self, marks: Marks) -> TripSums:
        """The rows of these marks."""
        return self._of_rows(np.isin(self.marks, marks))

    def minus(self, other: TripSums) -> TripSums:
        """What each row costs more than in another account of the same rows in the same order."""
        if not np.array_equal(self._keys, other._keys):
            msg = "what a release costs is about the trips that were charged for it"
            raise ValueError(msg)
        nothing = np.zeros(len(self), np.int64)
        alike = {
            distribution: self.alike.get(distribution, nothing)
            - other.alike.get(distribution, nothing)
            for distribution in sorted({*self.alike, *other.alike})
        }
        return TripSums(
            self.marks,
            self.epsilon - other.epsilon,
            self.squared_mu - other.squared_mu,
            self.days,
            alike,
        )

    def totals(self, delta: float) -> Floats:
        """The epsilon of each row at a delta."""
        return pricing.total_epsilons(self.epsilon, self.squared_mu, delta, self.alike)

    def each(self, terms: FleetTerms) -> tuple[Marks, Floats]:
        """The marks, ascending, and what each has spent at most in the days of a budget."""
        if not len(self):
            return self.marks, np.empty(0)
        windows = self.windows(terms.days)
        totals = windows.totals(terms.delta)
        begins = np.flatnonzero(np.diff(windows.marks, prepend=windows.marks[0]) != 0)
        begins = np.concatenate(([0], begins))
        return windows.marks[begins], np.maximum.reduceat(totals, begins)

    def largest(self, terms: FleetTerms) -> float:
        """The most that any of them has spent in the days of a budget; 0 for none."""
        if not len(self):
            return 0.0
        windows = self.windows(terms.days)
        _, most = pricing.largest_epsilon(
            windows.epsilon, windows.squared_mu, terms.delta, windows.alike
        )
        return most

    def windows(self, days: int | None) -> TripSums:
        """Sums over the days from each row's on, as many as are given; rows ascend."""
        rows = self.plus(TripSums.none())
        if days is None:
            return rows
        vehicle = np.cumsum(np.diff(rows.marks, prepend=rows.marks[0]) != 0)
        first = int(rows.days.min())
        span = int(rows.days.max()) - first + days + 1
        at = vehicle * span + (rows.days - first)
        end = np.searchsorted(at, at + days)
        start = np.arange(len(rows))

        def summed(column: NDArray[np.generic]) -> NDArray[Any]:
            total = np.zeros_like(column)
            for step in range(int((end - start).max())):
                within = start + step < end
                total[within] += column[start[within] + step]
            return total

        return rows._map(summed)

    def _of_rows(self, rows: NDArray[np.bool_]) -> TripSums:
        return TripSums(
            self.marks[rows],
            self.epsilon[rows],
            self.squared_mu[rows],
            self.days[rows],
            {distribution: counts[rows] for distribution, counts in self.alike.items()},
        )

    def _map(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> TripSums:
        """The same rows with other costs."""
        return TripSums(
            self.marks,
            function(self.epsilon),
            function(self.squared_mu),
            self.days,
            {distribution: function(counts) for distribution, counts in self.alike.items()},
        )

    @property
    def _keys(self) -> NDArray[Any]:
        keys = np.empty(len(self), np.dtype([("mark", "<u8"), ("day", "<i8")]))
        keys["mark"], keys["day"] = self.marks, self.days
        return keys


class BusiestVehicle(NamedTuple):
    """The vehicle that spends most in a release, or all of its trips where these are a unit."""

    reports: int
    """In the days in which it does."""
    epsilon: float
    days: int | None
    """On end; None: all those of the release."""
    of_fleet: bool = False
    """Whether it is all trips of the release, which no fleet exceeds."""

    @staticmethod
    def find(
        trips: TripAccounts,
        distribution: planar_costs.LossDistribution | None,
        delta: float,
        days: int | None,
        *,
        of_fleet: bool = False,
    ) -> BusiestVehicle:
        """What the vehicle of the largest epsilon spends, in so many days on end or in all.

        Or what all trips spend, where vehicles of a fleet have noise in common.
        """
        at = trips.days if days is not None else np.zeros(len(trips.days), np.int64)
        marks = trips.vehicle_marks(bytes(32))
        marks = np.zeros_like(marks) if of_fleet else marks
        # Published reports ride along as a distribution of no loss.
        reports = planar_costs.LossDistribution("planar-laplace", 0.0)
        alike = {distribution: trips.alike} if distribution else {}
        rows = TripSums(
            marks, trips.epsilon, trips.squared_mu, at, {**alike, reports: trips.reports}
        )
        windows = rows.windows(days)
        shown = windows.alike[reports]
        priced = {distribution: windows.alike[distribution] for distribution in alike}
        most, epsilon = pricing.largest_epsilon(windows.epsilon, windows.squared_mu, delta, priced)
        return BusiestVehicle(int(shown[most]), epsilon, days, of_fleet)


Choice = NDArray[np.int64]


def _last_of(
    begins: Choice, account: Choice, choice: Choice, wanted: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The last trip of each wanted account that is not left out yet."""
    there = begins[(choice[begins] >= 0) & wanted[account[begins]]]
    _, first = np.unique(account[there], return_index=True)
    return np.asarray(there[first], dtype=np.int64)


class _Fits:
    """Whether accounts keep their budgets with some choice."""

    def __init__(self, costs: TripCosts, terms: FleetTerms, spent: TripSums, key: bytes) -> None:
        self._costs, self._terms, self._spent, self._key = costs, terms, spent, key

    def __call__(self, choice: Choice, accounts: NDArray[np.uint64]) -> NDArray[np.bool_]:
        charged, _ = self._costs.sums(choice, self._key)
        marks, totals = self._spent.plus(charged).of(accounts).each(self._terms)
        assert np.array_equal(marks, accounts)
        return np.asarray(totals <= self._terms.budget)
