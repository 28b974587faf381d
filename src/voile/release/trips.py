"""What a release spends of the budgets of its trips; private.

The budget of a trip is an epsilon: how well all that is ever published of the trip may tell it from
any other that is nowhere more than ``distance`` metres away (``voile.dp.planar.costs``).
"""

from __future__ import annotations

from dataclasses import dataclass

from voile.dp.planar.costs import Differences
from voile.table.decisions import TripAccounts

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

    def __str__(self) -> str:
        return (
            f"budget = {self.budget:g} at distance = {self.distance:g} m, delta = {self.delta:g}, "
            f"differences = {self.differences!r}"
        )


@dataclass(frozen=True, eq=False)
class TripCosts:
    """What the trips of a release spend, and of which fleet."""

    fleet: FleetTerms
    accounts: TripAccounts
    exact: bool = True
    """Whether reports cost just that, or at most that: in which zones they fall is drawn."""
