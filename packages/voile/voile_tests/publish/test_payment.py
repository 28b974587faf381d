"""What a release spends is said before anything is drawn for it, by every method that spends."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import voile
from voile.publish.flows import Flows
from voile.release.release import Price
from voile_base.errors import PlanError, RefusedError, VoileError
from voile_base.randomness import Key, Randomness

PARCELS = voile.Plan(
    roles=voile.Roles(quasi_identifiers=("weight", "height")),
    columns={
        name: voile.ColumnPlan(bounds=(Decimal(0), Decimal(100))) for name in ("weight", "height")
    },
)
TRIPS = voile.Plan(
    roles=voile.Roles(),
    trajectory=voile.TrajectoryColumns(vehicle="van"),
)
FLEET = {"fleet": "vans", "budget": 1e9}
ZONES = {"levels": [2, 1], "level_limits": [500], "radii": [400], "destination": [48.9, 2.4]}
METHODS: dict[str, Any] = {
    "dp-generalization": voile.DPGeneralization(k=2, epsilon=3),
    "dp-generalization, sampled": voile.DPGeneralization(k=2, epsilon=3, choice="sampled"),
    "clustered-laplace": voile.ClusteredLaplace(epsilon=2),
    "clustered-laplace, one cluster": voile.ClusteredLaplace(epsilon=2, shares=[1.0]),
    "correlated-gaussian": voile.GeoIndistinguishability(epsilon=0.005, **FLEET),
    "planar-laplace": voile.GeoIndistinguishability(
        mechanism="planar-laplace", epsilon=0.005, **FLEET
    ),
    "planar-laplace, zones": voile.GeoIndistinguishability(
        mechanism="planar-laplace", **ZONES, **FLEET
    ),
    "angle-selection": voile.GeoIndistinguishability(
        mechanism="angle-selection", epsilon=0.005, epsilon_angle=31.4, **FLEET
    ),
    "remaining-distance": voile.GeoIndistinguishability(
        mechanism="remaining-distance", epsilon=0.005, destination=[48.9, 2.4], **FLEET
    ),
    "planar-laplace, as many as the budget buys": voile.GeoIndistinguishability(
        mechanism="planar-laplace", epsilon=0.005, reports="auto", fleet="vans", budget=1.3
    ),
    "flows": Flows(1, {"south": 48, "west": 2, "north": 49, "east": 3, "rows": 2, "columns": 2}),
}
_NAMES = {("token", "release"), ("trip",)}
"""Keys that name a release and its trips, and draw nothing."""


class Watched(Randomness):
    """Randomness that remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__(bytes(32), publishable=True)
        self.asked: list[tuple[str, ...]] = []

    def key(self, *purpose: str) -> Key:
        self.asked.append(purpose)
        return super().key(*purpose)


def table_for(publisher: Any) -> Any:
    """Parcels, or trips, that the publisher can publish."""
    if isinstance(publisher, voile.GeoIndistinguishability | Flows):
        reports = range(12)
        frame = pl.DataFrame(
            {
                "trip": [f"T{report % 2}" for report in reports],
                "van": ["V"] * len(reports),
                "time": [60.0 * report for report in reports],
                "latitude": [48.85 + report / 200 for report in reports],
                "longitude": [2.35 + report / 200 for report in reports],
            }
        )
        return voile.open_frame(frame, TRIPS)
    frame = pl.DataFrame({"weight": [5.0, 7.5] * 200, "height": [20, 30] * 200})
    return voile.open_frame(frame, PARCELS)


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_drawn_before_it_is_paid(name):
    """Before it has paid, once and what it states, a method asks for no key that draws."""
    publisher, randomness = METHODS[name], Watched()
    paid: list[Price] = []

    def pay(price: Price) -> None:
        assert set(randomness.asked) <= _NAMES
        paid.append(price)

    publication = publisher.prepare(table_for(publisher), randomness, None, pay)
    (price,) = paid
    assert set(randomness.asked) - _NAMES, "something is drawn afterwards"
    assert price.release_id == publication.release.release_id
    assert price.events == publication.events
    assert bool(price.events) != bool(price.trip_costs)
    assert (price.trip_costs is None) == (publication.trip_costs is None)


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_drawn_where_the_price_is_refused(name):
    """A budget that is spent ends a release before its first draw."""
    publisher, randomness = METHODS[name], Watched()

    def refuse(price: Price) -> None:
        raise RefusedError("nothing is left")

    with pytest.raises(RefusedError):
        publisher.prepare(table_for(publisher), randomness, None, refuse)
    assert set(randomness.asked) <= _NAMES


HEIGHTS_UNBOUNDED = voile.Plan(
    PARCELS.roles, columns={"weight": PARCELS.columns["weight"], "height": voile.ColumnPlan()}
)
TOO_LARGE = pl.DataFrame({"weight": [5.0, 7.5] * 9, "height": [20.0, 1e300] * 9})
TEXTS = pl.DataFrame({"weight": ["a", "b"] * 9, "height": [20, 30] * 9})


@pytest.mark.parametrize(
    ("frame", "plan"),
    [(TEXTS, PARCELS), (TOO_LARGE, PARCELS), (TOO_LARGE[:1], HEIGHTS_UNBOUNDED)],
    ids=["a text", "a number beyond the grid", "no bounds"],
)
def test_what_is_wrong_is_told_before_it_is_paid(frame, plan):
    """A mistake in the plan or the table, also in the last column, costs nothing."""

    def pay(price: Price) -> None:
        pytest.fail("nothing was to be paid")

    with pytest.raises(VoileError):
        voile.ClusteredLaplace(epsilon=2).prepare(
            voile.open_frame(frame, plan), Watched(), None, pay
        )


def test_a_lattice_too_large_costs_nothing():
    """Nodes are counted before a sample is drawn, also where the sample chooses the node."""
    names = [f"c{i}" for i in range(24)]
    plan = voile.Plan(roles=voile.Roles(quasi_identifiers=tuple(names)))
    table = voile.open_frame(pl.DataFrame({name: ["a", "b"] * 5 for name in names}), plan)
    randomness = Watched()
    with pytest.raises(PlanError, match="16,777,216 nodes"):
        voile.DPGeneralization(k=2, epsilon=3, choice="sampled").prepare(table, randomness)
    assert set(randomness.asked) <= _NAMES
