"""The publisher of moved trajectories, and how it shows columns; see the package's docstring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.exact import Exact, Numbered, Withheld
from voile.disclosure.replaced import (
    Distribution,
    Moved,
    PlanarZones,
    Remaining,
    StatedCorrelatedGaussian,
    StatedGaussianField,
    StatedPlanarLaplace,
    StatedRoadMap,
    TurningLaplace,
)
from voile.disclosure.shown import Disclosure, Shown
from voile.publish.assembled import exactly, shown_roles
from voile.publish.geo_indistinguishability.parameters import (
    DECIMALS,
    DrawnMechanism,
    Mechanism,
    Metres,
    Place,
    Positive,
    Seconds,
    Share,
    TripIds,
)
from voile.publish.geo_indistinguishability.promise import (
    CostliestPublishedTrip,
    Promise,
    displacement_told,
    protects_nothing,
    refuse_row_budget,
    told_of_thinning,
)
from voile.publish.publisher import Capabilities, SingleRelease, refuse_ranking
from voile.release.history import History
from voile.release.release import Pay, Price, PrivateRecord, Publication, Release, unaccounted
from voile.release.trips import BusiestVehicle, FleetTerms, TripCosts
from voile.schema.plan import Plan
from voile.schema.trajectory import TrajectoryColumns
from voile.table.decisions import Relocated, Relocation, TripAccounts
from voile.table.private import PrivateTable
from voile.table.trips.relocating import REMAINING
from voile_base.errors import PlanError, nearest
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Randomness
from voile_base.values import Document, Json
from voile_base.values.value import Says
from voile_geo.planar import noise as planar
from voile_geo.planar.costs import LossDistribution, Noise
from voile_geo.planar.field import STILL
from voile_geo.planar.pricing import TripPrice
from voile_geo.planar.steps import Zones

if TYPE_CHECKING:
    from voile_geo.planar import field as planar_field
    from voile_geo.planar import noise as planar_noise
else:
    planar_field = on_demand("voile_geo.planar.field")
    planar_noise = on_demand("voile_geo.planar.noise")

__all__ = ["GeoIndistinguishability"]

Coordinate = Literal["latitude", "longitude"]
_COORDINATES: tuple[Coordinate, ...] = ("latitude", "longitude")


_ONLY_WITH: Mapping[str, str] = {
    "radii": "levels",
    "level_limits": "levels",
    "radius_limits": "levels",
    "zones_by": "levels",
    "centre": "levels",
    "roads": "levels",
    "roads_nodes": "roads",
    "roads_within": "roads",
    "radius_bounds": "roads",
    "budget": "fleet",
    "budget_days": "budget",
    "reports": "budget",
}
"""Parameters that mean nothing without another one."""


@dataclass(frozen=True, eq=False)
class _Showing:
    """What is published of trips, besides what their columns hold; all of it is public."""

    drawn: DrawnMechanism
    zones: Zones
    """With the epsilons that are promised."""
    map: StatedRoadMap | None
    destination: tuple[float, float] | None
    remaining: bool
    """Whether distances take the place of positions."""
    numbered: bool
    """Whether numbers take the place of ids."""
    way_driven: bool = False
    """Whether reports are so dense that they show how far a truck has driven."""

    def disclosure(self, plan: Plan) -> Disclosure:
        """Times and all further columns as they are, ids too or as numbers, positions moved."""
        named = plan.trajectory
        assert named is not None, "the table was relocated by it"
        columns: dict[str, Shown] = {
            named.trip: Numbered() if self.numbered else Exact(),
            named.time: Exact(),
        }
        position = named.latitude, named.longitude
        if self.remaining:
            columns |= dict.fromkeys(position, Withheld())
            columns[REMAINING] = Remaining(zones=self._zones(), destination=self.destination)
        else:
            columns |= zip(position, map(self._moved, _COORDINATES), strict=True)
        return Disclosure(columns=columns | exactly(plan.roles.published))

    def _moved(self, coordinate: Coordinate) -> Moved:
        return Moved(
            coordinate=coordinate,
            law=self._law,
            zones=self._zones(),
            decimals=DECIMALS,
            destination=self.destination,
        )

    @property
    def _law(self) -> Distribution:
        law = _distribution(self.drawn.noise)
        if self.way_driven and isinstance(law, StatedGaussianField):
            return law.model_copy(update={"discloses": (*law.discloses, "way-driven")})
        return law

    def _zones(self) -> PlanarZones:
        zones = self.zones
        return PlanarZones(
            levels=tuple(map(float, zones.levels)),
            radii=tuple(map(float, zones.radii)),
            level_limits=tuple(map(float, zones.level_limits)),
            radius_limits=tuple(map(float, zones.radius_limits)),
            centre=zones.centre,
            by=zones.by,
            map=self.map,
            factor=self.drawn.factor,
        )


def _distribution(noise: planar.LocationNoise) -> Distribution:
    match noise:
        case planar.CorrelatedGaussian():
            return StatedCorrelatedGaussian(tau=noise.tau)
        case planar.GaussianField():
            return StatedGaussianField(
                share=noise.share,
                shared=noise.shared,
                length=noise.length,
                period_days=noise.period,
                tau=noise.tau,
                still_metres=STILL,
            )
        case planar.AngleSelection():
            return TurningLaplace(deviation=noise.deviation, start=noise.start)
    return StatedPlanarLaplace()


def _roles_of(table: PrivateTable, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns of the release by role, those of trajectories included."""
    roles = dict(shown_roles(table.plan.roles, columns))
    named = table.plan.trajectory
    assert named is not None, "the table was relocated by it"
    for name in ("trip", "time", "latitude", "longitude"):
        if getattr(named, name) in columns:
            roles[name] = (getattr(named, name),)
    if "latitude" not in roles:
        roles["remaining"] = ("remaining",)
    return roles


_NAME = "geo-indistinguishability"


@dataclass(frozen=True, kw_only=True, init=False)
class GeoIndistinguishability(SingleRelease):
    """Publish the reports of trips with noise in their positions.

    What is made is of the class of the mechanism that is asked for, which has further parameters;
    see ``mechanisms``.  Raises ``PlanError`` for parameters that cannot be, or contradict each
    other.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        trips=True,
        no_series=(
            "what trips tell over all releases is bounded by their fleet, with fleet and budget"
        ),
        no_rows_per_person=(
            "it protects trips, and vehicles with all their trips, report by report: say budget in "
            "[method], and vehicle in [roles]"
        ),
    )

    mechanism: Mechanism = "correlated-gaussian"
    """How positions are moved, or that distances are published in their place."""
    destination: Place | None = None
    """Latitude and longitude of the place that all trips are bound for."""
    distance: Positive = 100.0
    """Metres: the cost of a trip is about trajectories nowhere further apart."""
    delta: Share = 1e-5
    """At which Gaussian noise is priced."""
    fleet: Annotated[
        str | None,
        Field(min_length=1),
        Says('a text, the name of the fleet, for example "vans-2026"'),
    ] = None
    """The name under which a ledger adds up what each trip spends."""
    budget: Positive | None = None
    """The epsilon that a trip, or a vehicle in ``budget_days``, may spend over all releases."""
    budget_days: Annotated[int, Field(ge=1)] | None = None
    """Days on end in which a vehicle may spend the budget; None: each trip may."""
    every: Seconds | None = None
    """Seconds that published reports of a trip are apart at least, or a text such as "60 s"; for
    gaussian-field the seconds of a slot, of which the first report is published (30)."""
    at_least: Metres | None = None
    """Metres that published positions are apart at least, or a text such as "250 m"."""
    reports: Literal["all", "auto"] | None = None
    """Whether all reports are published (None: "all"), or as many as the budget buys."""
    trips: TripIds = "kept"
    """Whether ids of trips are published, or numbers in the order in which trips begin."""

    variants: ClassVar[dict[str, type[GeoIndistinguishability]]] = {}
    """The classes of the mechanisms, by their names."""
    checks_itself: ClassVar[bool] = True
    """Whether what a plan gives is checked here; see ``registry``."""

    if TYPE_CHECKING:

        def __init__(self, *, mechanism: Mechanism = ..., **parameters: object) -> None: ...

    def __new__(cls, *, mechanism: object = "correlated-gaussian", **parameters: object) -> Self:
        """An object of the class of the mechanism; raises ``PlanError`` where there is none."""
        if cls is not GeoIndistinguishability:
            return object.__new__(cls)
        known = cls.variants
        if not isinstance(mechanism, str) or mechanism not in known:
            hint = nearest(mechanism, known) if isinstance(mechanism, str) else ""
            msg = f"mechanism must be one of {', '.join(map(repr, known))}{hint}"
            raise PlanError(msg)
        for name in parameters:
            others = [other for other, made in known.items() if _has(made, name)]
            if others and mechanism not in others:
                of_use = " and ".join(f'"{other}"' for other in others)
                msg = (
                    f'{name} is of use for mechanism {of_use} only, not for "{mechanism}"; leave '
                    "it out"
                )
                raise PlanError(msg)
        return object.__new__(known[mechanism])  # type: ignore[return-value]

    @classmethod
    def chosen_for(
        cls, columns: TrajectoryColumns, given: Mapping[str, object]
    ) -> Mapping[str, object]:
        """The mechanism of a plan that names none: noise that stays, where trips have vehicles.

        Noise of one size alone can stay with places, and protects only paths moved as a whole: a
        plan with zones, or with ``differences = "any"``, has ``correlated-gaussian``.
        """
        fits = "epsilon" in given and given.get("differences", "shifted") == "shifted"
        if columns.vehicle is None or "mechanism" in given or "zones_by" in given or not fits:
            return {}
        return {"mechanism": "gaussian-field"}

    def __post_init__(self) -> None:
        _check_together({name: value for name, value in self._given() if value is not None})

    @property
    def trip_budget(self) -> FleetTerms | None:
        """What each trip of the fleet may spend over all releases."""
        if self.fleet is None or self.budget is None:
            return None
        return FleetTerms(
            self.fleet,
            self.budget,
            self.distance,
            self.delta,
            self._promise.differences,
            self.budget_days,
        )

    def get_ready(self) -> None:
        """Load compiled code while a table is read."""
        one, start = np.zeros(1), np.array([0, 1])
        word = np.zeros(1, np.uint64)
        trips = planar_field.Trips(one, one, one, start, word, np.zeros((1, 2)), word)
        planar_noise.perturb(self._drawn.noise, trips, Randomness.seeded(0).key("ready"))

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what each trip spends.

        Raises ``PlanError`` where the plan's roles do not fit, ``TableError`` for bad input.
        """
        refuse_ranking(table, _NAME)
        refuse_row_budget(table)
        self._require_vehicle(table)
        release_id = randomness.token("release")

        def charge(offers: Sequence[TripAccounts]) -> NDArray[np.int64] | None:
            return pay(Price(release_id, trip_costs=self._costs(offers)))

        moved = table.relocate(replace(self._relocation, fields=self._fields()), randomness, charge)
        spent = self._costs([moved.trips])
        costliest = CostliestPublishedTrip.among(moved.trips, self.delta, self._distribution)
        busiest = None
        if table.plan.trajectory is not None and table.plan.trajectory.vehicle:
            busiest = BusiestVehicle.find(
                moved.trips,
                self._distribution,
                self.delta,
                self.budget_days,
                of_fleet=self._promise.of_fleet,
            )
        thinned = {"every": moved.thinned, "at_least": moved.near}
        shown = moved.table
        release = Release(
            table=shown,
            method=self._method(thinned),
            disclosure=self._showing.disclosure(table.plan),
            guarantee=self._promise.guarantee(costliest, busiest),
            roles=_roles_of(table, shown.columns),
            release_id=release_id,
            publishable=randomness.publishable,
        )
        return Publication(
            release,
            self._private(table, moved, costliest, busiest),
            trip_costs=spent if spent.fleet else None,
        )

    def _costs(self, offers: Sequence[TripAccounts]) -> TripCosts:
        exact = self._zones.epsilons().size == 1
        return TripCosts(self.trip_budget, tuple(offers), self._distribution, exact)

    _composes: ClassVar[Noise | None] = None
    """The noise of a report, where each has its own and its losses are composed."""

    @property
    def _distribution(self) -> LossDistribution | None:
        """Of the loss of a report, where all are alike and each has noise of its own."""
        epsilons = self._zones.epsilons()
        if self._composes is None or epsilons.size > 1:
            return None
        return LossDistribution(self._composes, float(epsilons[0, 0]) * self.distance)

    def _require_vehicle(self, table: PrivateTable) -> None:
        named = table.plan.trajectory
        if self.budget_days is not None and self._promise.of_fleet:
            msg = (
                "budget_days bounds what a vehicle tells, and here vehicles of a fleet have noise "
                "in common, so that only the fleet's trips together have a price; say shared = 0 "
                "for noise of each vehicle alone, or leave budget_days out"
            )
            raise PlanError(msg)
        if self.budget_days is not None and (named is None or named.vehicle is None):
            msg = (
                "budget_days is about vehicles: [roles] vehicle must name the column that tells "
                "them apart"
            )
            raise PlanError(msg)

    @property
    def _zones(self) -> Zones:
        """Zones with the epsilons that are promised."""
        raise NotImplementedError

    @property
    def _map(self) -> StatedRoadMap | None:
        """The map that says the radii, if one does."""
        return None

    def _draw(self, zones: Zones) -> DrawnMechanism:
        """The noise for zones; raises ``InfeasibleError`` where it cannot be drawn."""
        raise NotImplementedError

    @cached_property
    def _drawn(self) -> DrawnMechanism:
        return self._draw(self._zones)

    @property
    def _price(self) -> TripPrice:
        """What trips cost; in proportion, as what is drawn with less is charged as promised."""
        return TripPrice(
            distance=self.distance / self._drawn.factor,
            tau=None,
            deviation=None,
            first_turn=False,
            differences="any",
            distribution=self._distribution,
        )

    def _fields(self) -> Randomness | None:
        """What draws noise that stays, if not the randomness of the release."""
        return None

    @property
    def _relocation(self) -> Relocation:
        destination = self.destination
        return Relocation(
            noise=self._drawn.noise,
            price=self._price,
            destination=None if destination is None else (destination[0], destination[1]),
            remaining=self._remaining,
            decimals=DECIMALS,
            one_at_a_time=self._one_at_a_time,
            numbered=self.trips == "numbered",
            spacings=self._spacings,
            at_least=float(self.at_least or 0.0),
            by_clock=self._by_clock,
        )

    _remaining: ClassVar[bool] = False
    """Whether distances are published in place of positions."""
    _one_at_a_time: ClassVar[bool] = False
    """Whether reports of a trip have noise that depends on each other's."""
    _by_clock: ClassVar[bool] = False
    """Whether reports are thinned by slots of the clock, the same for all trips."""

    @property
    def _spacings(self) -> tuple[float, ...]:
        """Seconds between reports, of which one is chosen for each trip."""
        least = float(self.every or 0.0)
        if self.reports != "auto":
            return (least,)
        return (least, *(spacing for spacing in _SPACINGS if spacing > least))

    @property
    def _promise(self) -> Promise:
        return Promise(
            mechanism=self.mechanism,
            zones=self._zones,
            distance=self.distance,
            delta=self.delta,
            tau=0.0,
            deviation=0.0,
            differences="any",
            uniform_start=True,
            composed=self._distribution is not None,
            examined=self.at_least is not None,
        )

    def _given(self) -> Iterator[tuple[str, Any]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    def _method(self, thinned: Mapping[str, int]) -> Json:
        """The method as it was asked for, and what follows for the noise; all of it is public.

        ``thinned`` says how many reports were left out for which reason.
        """
        given = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._given()
            if value is not None
        }
        decision = self._decision
        if self.every is not None or self.at_least is not None or self.reports == "auto":
            decision["left_out"] = dict(thinned)
        return {"name": _NAME, **given, "decision": decision}

    @property
    def _decision(self) -> Json:
        return {"epsilon_factor": self._drawn.factor, "decimals": DECIMALS}

    @property
    def _showing(self) -> _Showing:
        return _Showing(
            drawn=self._drawn,
            zones=self._zones,
            map=self._map,
            destination=self._relocation.destination,
            remaining=self._remaining,
            numbered=self.trips == "numbered",
            way_driven=self._promise.way_driven,
        )

    def _private(
        self,
        table: PrivateTable,
        moved: Relocated,
        costliest: CostliestPublishedTrip,
        busiest: BusiestVehicle | None,
    ) -> PrivateRecord:
        trips = len(moved.trips.reports)
        return PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=moved.table.rows,
            suppressed=table.dropped + moved.left_out,
            held=0,
            objective=f"{costliest.epsilon:.12g}",
            decision={"trips": trips, "costliest_trip": costliest.epsilon},
            notices=(
                *table.notes,
                *moved.notices,
                *told_of_thinning(moved),
                *self._notices(costliest, busiest),
            ),
            summary=f"in {trips:,} trip{'s' * (trips != 1)}, {self._displacement()}",
        )

    def _displacement(self) -> str:
        return displacement_told(self._zones)

    def _notices(
        self, costliest: CostliestPublishedTrip, busiest: BusiestVehicle | None
    ) -> Iterator[str]:
        whose = "trip" if busiest is None else "fleet" if busiest.of_fleet else "vehicle"
        if busiest is not None:
            costliest = CostliestPublishedTrip(busiest.reports, busiest.epsilon)
        if self._promise.unprotected:
            yield (
                'zones_by = "true" chooses the noise by the true position, as in the source: '
                "nothing is promised at the borders of zones"
            )
        elif costliest.protects_nothing:
            yield protects_nothing(whose, costliest.epsilon, self.distance)
        if self.fleet is None:
            yield (
                "what trips spend was not accounted, because [method] names no fleet with a "
                "budget: it adds to what all other releases of the same trips spend"
            )


def _check_together(given: Document) -> None:
    """Refuse parameters that contradict each other; ``given`` are those that are not None."""
    if ("epsilon" in given) == ("levels" in given):
        msg = (
            "either epsilon (per metre) is needed, or levels and radii (metres), whose quotient it "
            "is, or levels and roads, a map that says the radii; not both"
        )
        raise PlanError(msg)
    for name, other in _ONLY_WITH.items():
        if name in given and other not in given:
            msg = f"{name} is of use with {other} only; give {other} too, or leave {name} out"
            raise PlanError(msg)
    _check_radii(given)
    _check_at_least(given)
    if "fleet" in given and "budget" not in given:
        msg = "fleet needs a budget: the epsilon that a trip may spend over all releases"
        raise PlanError(msg)
    zones = max(len(given.get(name, ())) for name in ("levels", "radii"))
    differ = zones > 1 or "roads" in given
    if given.get("zones_by") == "true" and "budget" in given and differ:
        msg = (
            'zones_by = "true" chooses the noise by the true position, and what that costs at the '
            "border of two zones has no bound; leave out budget and fleet, or zones_by"
        )
        raise PlanError(msg)


def _check_at_least(given: Document) -> None:
    """Positions are thinned by what is published, where that is all that others follow from."""
    if "at_least" not in given:
        return
    if given["mechanism"] == "remaining-distance":
        msg = "at_least is about positions, and remaining-distance publishes none; take every"
        raise PlanError(msg)
    if "roads" in given or max(len(given.get(name, ())) for name in ("levels", "radii")) > 1:
        msg = (
            "at_least does not go with levels or radii that differ, which follow from the position "
            "published before; take every"
        )
        raise PlanError(msg)


def _check_radii(given: Mapping[str, object]) -> None:
    """Radii are numbers, by distance to a centre, or those that a map says."""
    by_distance = [name for name in ("radii", "radius_limits", "centre") if name in given]
    if "roads" in given and by_distance:
        msg = (
            f"roads says the radii by the roads of a map, and {by_distance[0]} by the distance to "
            "a centre; leave one of them out"
        )
        raise PlanError(msg)
    if "levels" in given and not {"radii", "roads"} & given.keys():
        msg = (
            "levels need radii: epsilon is level / radius, with the radius in metres; or roads, a "
            "map that says the radii"
        )
        raise PlanError(msg)


_SPACINGS = (2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1_800, 3_600)
"""Seconds, of which ``reports = "auto"`` takes one."""


def _has(made: Any, parameter: str) -> bool:
    return any(field.name == parameter for field in fields(made))
