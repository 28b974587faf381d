"""What a custodian is told of a release of trips: its price, what is left out, what is refused."""

from __future__ import annotations

from collections.abc import Iterator

from voile.publish.geo_indistinguishability.promise import CostliestPublishedTrip
from voile.table.decisions import Relocated, TripAccounts
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_geo.planar.losses import LossDistribution
from voile_geo.planar.pricing import PROTECTS_NOTHING_ABOVE, largest_epsilon
from voile_geo.planar.radius import MEAN_RADIUS
from voile_geo.planar.zones import Zones

__all__ = [
    "costliest_of",
    "displacement_told",
    "protects_nothing",
    "refuse_row_budget",
    "told_of_thinning",
]


def costliest_of(
    trips: TripAccounts, delta: float, distribution: LossDistribution | None
) -> CostliestPublishedTrip:
    """The trip of the largest epsilon; private until the release appears, public afterwards."""
    alike = {distribution: trips.alike} if distribution else {}
    most, epsilon = largest_epsilon(trips.epsilon, trips.squared_mu, delta, alike)
    return CostliestPublishedTrip(int(trips.reports[most]), epsilon)


def protects_nothing(whose: str, epsilon: float, distance: float) -> str:
    """That the epsilon of a trip or a vehicle is no protection."""
    return (
        f"the costliest {whose} has epsilon = {epsilon:,.4g} at {distance:g} m, and above "
        f"{PROTECTS_NOTHING_ABOVE:g} such a number protects nothing: only attacks tell how well it "
        "is hidden; more noise, or fewer reports (every), cost less"
    )


def told_of_thinning(moved: Relocated) -> Iterator[str]:
    """How many reports were left out, and why."""
    if moved.thinned:
        yield (
            "reports left out, which came too soon after another one or which no budget buys: "
            f"{moved.thinned:,}"
        )
    if moved.near:
        yield (
            "reports left out because they were shown too near to the one before; they are paid "
            f"for: {moved.near:,}"
        )


def displacement_told(zones: Zones) -> str:
    """How far positions are moved on average."""
    epsilons = zones.epsilons()
    near, far = MEAN_RADIUS / epsilons.max(), MEAN_RADIUS / epsilons.min()
    metres = f"{near:,.0f}" if near == far else f"{near:,.0f} to {far:,.0f}"
    return f"moved by {metres} m on average"


def refuse_row_budget(table: PrivateTable) -> None:
    """Raise ``PlanError`` for a budget of rows, which this method does not spend."""
    if table.plan.budget is not None:
        msg = (
            "[budget] is about rows, and this method spends the budgets of trips; leave it out, "
            "and name a fleet and a budget in [method]"
        )
        raise PlanError(msg)
