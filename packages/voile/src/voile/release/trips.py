"""What a release spends of the budgets of its trips; private.

The budget of a trip is an epsilon: how well all that is ever published of the trip may tell it from
any other that is nowhere more than ``distance`` metres away (``voile_geo.planar.pricing``).  That
of a vehicle over some days is the same for all trips together that it begins on these days (UTC).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.table.decisions import TripAccounts
from voile_geo.planar.costs import Differences
from voile_geo.planar.losses import LossDistribution

__all__ = ["FleetTerms", "TripCosts"]


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
    differences: Differences
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
    distribution: LossDistribution | None = None
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
