"""The publisher of moved trajectories; see the package's docstring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.dp.planar.angles import turn_deviation
from voile.dp.planar.costs import Differences
from voile.dp.planar.losses import LossLaw, Noise
from voile.dp.planar.pricing import PROTECTS_NOTHING_ABOVE, TripPrice, largest_epsilon
from voile.dp.planar.radius import MEAN_RADIUS
from voile.dp.planar.zones import Zones
from voile.errors import PlanError
from voile.publish.geo_indistinguishability.decision import DECIMALS, Drawn, drawn_with
from voile.publish.geo_indistinguishability.fields import FieldTerms, read_secret
from voile.publish.geo_indistinguishability.mapped import MappedRadii, read_radii
from voile.publish.geo_indistinguishability.showing import Showing, road_map
from voile.publish.geo_indistinguishability.statement import Costliest, Promise, guarantee
from voile.publish.geo_indistinguishability.terms import (
    Mechanism,
    bounds,
    check_together,
    metres,
    numbers,
    place,
    positive,
    seconds,
    share,
    share_that_stays,
    text,
    whole,
)
from voile.publish.publisher import SingleRelease, refuse_ranking
from voile.publish.shown import shown_roles
from voile.randomness import Randomness
from voile.release.history import History
from voile.release.payment import Pay, Price, unaccounted
from voile.release.release import PrivateRecord, Publication, Release
from voile.release.trip_sums import Busiest, busiest_vehicle
from voile.release.trips import FleetTerms, TripCosts
from voile.schema.plan import one_of
from voile.schema.trajectory import MAP_PARAMETERS
from voile.table.decisions import Relocated, Relocation, TripAccounts
from voile.table.private import PrivateTable

__all__ = ["GeoIndistinguishability"]

_NAME = "geo-indistinguishability"
_TAU, _DELTA = 120.0, 1e-5
_ROADS_WITHIN, _RADIUS_BOUNDS = 20, (100.0, 2_000.0)
_CENTIMETRE = 0.01

Start = Literal["uniform", "zero"]
ZonesBy = Literal["published", "true"]
TripIds = Literal["kept", "numbered"]
Reports = Literal["all", "auto"]


@dataclass(frozen=True)
class GeoIndistinguishability(SingleRelease):
    """Publish the reports of trips with noise in their positions.

    Either ``epsilon``, or ``levels`` with ``radii`` or ``roads``.  Raises ``PlanError`` for
    parameters that cannot be, or contradict each other.
    """

    mechanism: Mechanism = "correlated-gaussian"
    """How positions are moved, or that distances are published in their place."""
    epsilon: float | None = None
    """Per metre, above 0: noise moves a position by 2 / epsilon metres on average."""
    levels: Sequence[float] | float | None = None
    """Instead of epsilon: how well places within a radius may be told apart; near to far."""
    radii: Sequence[float] | float | None = None
    """Metres; epsilon is level / radius.  From near the centre to far away."""
    level_limits: Sequence[float] | float | None = None
    """Metres from the destination at which the next level begins, one fewer than levels."""
    radius_limits: Sequence[float] | float | None = None
    """Metres from the centre at which the next radius begins, one fewer than radii."""
    centre: Sequence[float] | None = None
    """Latitude and longitude from which radii are measured."""
    roads: str | None = None
    """Instead of radii: a map, by whose roads they are chosen; a file that ``read_roads`` reads."""
    roads_nodes: str | None = None
    """The table of nodes that a table of roads refers to."""
    roads_within: int | None = None
    """How many roads lie within a radius; None: 20."""
    radius_bounds: Sequence[float] | None = None
    """Metres: the smallest and the largest radius that is chosen by roads; None: 100 and 2,000."""
    destination: Sequence[float] | None = None
    """Latitude and longitude of the place that all trips are bound for."""
    zones_by: ZonesBy | None = None
    """Whose zone counts: that of the last published position, or (the seed's) of the true one."""
    tau: float | None = None
    """Seconds in which the correlation of Gaussian noise falls to 1 / e, of driving for the fresh
    part of a field; None: 120."""
    stays: float | None = None
    """Of a field: the share of the variance that stays with the place, below 1; None: 0.8."""
    length: float | None = None
    """Metres in which the correlation of what stays falls to 1 / e; None: 700."""
    period: float | None = None
    """Days for which it stays; None: 28."""
    secret: str | None = None
    """A file with the secret by which fields are drawn, made where there is none, so that releases
    of one period share them; None: each release has fields of its own."""
    epsilon_angle: float | None = None
    """Of angle selection: the deviation of a turn is 2 pi sqrt(2 ln(1.25 / delta)) / epsilon."""
    delta_angle: float | None = None
    """Of angle selection, between 0 and 1; None: 1e-5."""
    start: Start | None = None
    """The first direction of angle selection: uniform (None), or (the seed's) zero."""
    distance: float = 100.0
    """Metres: the cost of a trip is about trajectories nowhere further apart."""
    delta: float = _DELTA
    """At which Gaussian noise is priced."""
    differences: Differences | None = None
    """Whether such trajectories differ anyhow (None: "any") or are moved as a whole; those of a
    field are."""
    fleet: str | None = None
    """The name under which a ledger adds up what each trip spends."""
    budget: float | None = None
    """The epsilon that a trip, or a vehicle in ``budget_days``, may spend over all releases."""
    budget_days: int | None = None
    """Days on end in which a vehicle may spend the budget; None: each trip may."""
    every: float | str | None = None
    """Seconds that published reports of a trip are apart at least, or a text such as "60 s"."""
    at_least: float | str | None = None
    """Metres that published positions are apart at least, or a text such as "250 m"."""
    reports: Reports | None = None
    """Whether all reports are published (None: "all"), or as many as the budget buys."""
    trips: TripIds = "kept"
    """Whether ids of trips are published, or numbers in the order in which trips begin."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if name in _ALWAYS or getattr(self, name) is not None:
                one_of(name, getattr(self, name), choices)
        for name, checked in _CHECKED.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checked(name, getattr(self, name)))
        if self.fleet is not None and (not isinstance(self.fleet, str) or not self.fleet):
            msg = 'fleet must be a text, the name of the fleet, for example "vans-2026"'
            raise PlanError(msg)
        check_together({name: value for name, value in self._given() if value is not None})
        if self.roads is None:
            self._drawn  # noqa: B018 - zones are checked, and whether the grid allows for them
        else:  # the map is read when the publisher gets ready
            self._draw(replace(self._by_level, radii=self._radius_bounds[1:]))

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
            self._differing,
            self.budget_days,
        )

    def get_ready(self) -> None:
        """Load compiled code while a table is read."""
        from voile.dp.planar.noise import perturb  # noqa: PLC0415 - compiled
        from voile.dp.planar.trips import Trips  # noqa: PLC0415

        one, start = np.zeros(1), np.array([0, 1])
        word = np.zeros(1, np.uint64)
        trips = Trips(one, one, one, start, word, np.zeros((1, 2)), word)
        perturb(self._drawn.noise, trips, Randomness.seeded(0).key("ready"))

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
        _refuse_row_budget(table)
        self._require_vehicle(table)
        release_id = randomness.token("release")

        def charge(offers: Sequence[TripAccounts]) -> NDArray[np.int64] | None:
            return pay(Price(release_id, trip_costs=self._costs(offers)))

        moved = table.relocate(self._relocation(self._secret()), randomness, charge)
        spent = self._costs([moved.trips])
        costliest = _costliest(moved.trips, self.delta, self._law)
        busiest = None
        if table.plan.trajectory is not None and table.plan.trajectory.vehicle:
            busiest = busiest_vehicle(moved.trips, self._law, self.delta, self.budget_days)
        thinned = {"every": moved.thinned, "at_least": moved.near}
        shown = moved.table
        release = Release(
            table=shown,
            method=self._method(thinned),
            disclosure=self._showing.disclosure(table.plan),
            guarantee=guarantee(self._promise, costliest, busiest),
            roles=_roles(table, shown.columns),
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
        return TripCosts(self.trip_budget, tuple(offers), self._law, exact)

    @property
    def _law(self) -> LossLaw | None:
        """Of the loss of a report, where all are alike and each has noise of its own."""
        kinds: Mapping[str, Noise] = {
            "planar-laplace": "planar-laplace",
            "remaining-distance": "laplace",
        }
        epsilons = self._zones.epsilons()
        if self.mechanism not in kinds or epsilons.size > 1:
            return None
        return LossLaw(kinds[self.mechanism], float(epsilons[0, 0]) * self.distance)

    def _require_vehicle(self, table: PrivateTable) -> None:
        named = table.plan.trajectory
        if self.budget_days is not None and (named is None or named.vehicle is None):
            msg = (
                "budget_days is about vehicles: [roles] vehicle must name the column that tells "
                "them apart"
            )
            raise PlanError(msg)

    @cached_property
    def _zones(self) -> Zones:
        """Zones with the epsilons that are promised."""
        if self.epsilon is not None:
            return Zones(levels=(self.epsilon,))
        if self._mapped is not None:
            found = self._mapped.found
            return replace(self._by_level, radii=found.radii, grid=found.grid)
        assert self.radii is not None
        return replace(
            self._by_level,
            radii=_listed(self.radii),
            radius_limits=_listed(self.radius_limits),
            centre=None if self.centre is None else (self.centre[0], self.centre[1]),
        )

    @property
    def _by_level(self) -> Zones:
        """Zones of one radius, a metre."""
        assert self.levels is not None
        return Zones(
            levels=_listed(self.levels),
            level_limits=_listed(self.level_limits),
            by=self.zones_by or "published",
        )

    @property
    def _radius_bounds(self) -> tuple[float, float]:
        least, most = self.radius_bounds or _RADIUS_BOUNDS
        return least, most

    @cached_property
    def _mapped(self) -> MappedRadii | None:
        """Radii by the roads of the map; None where none is named."""
        if self.roads is None:
            return None
        within = self.roads_within or _ROADS_WITHIN
        return read_radii(self.roads, self.roads_nodes, within, self._radius_bounds)

    @property
    def _deviation(self) -> float:
        """Of a turn, in radians; 0 where angles are not selected."""
        if self.mechanism != "angle-selection":
            return 0.0
        assert self.epsilon_angle is not None
        return turn_deviation(self.epsilon_angle, self.delta_angle or _DELTA)

    @cached_property
    def _drawn(self) -> Drawn:
        return self._draw(self._zones)

    def _draw(self, zones: Zones) -> Drawn:
        if self._field is not None:
            return Drawn(self._field.noise(zones, self.tau or _TAU), 1.0)
        return drawn_with(
            self.mechanism, zones, self.tau or _TAU, self._deviation, self.start or "uniform"
        )

    @property
    def _field(self) -> FieldTerms | None:
        """What stays with places; None for other mechanisms."""
        if self.mechanism != "gaussian-field":
            return None
        given = {"stays": self.stays, "length": self.length, "period": self.period}
        return FieldTerms(**{name: value for name, value in given.items() if value is not None})

    @property
    def _differing(self) -> Differences:
        return self.differences or ("any" if self._field is None else "shifted")

    def _secret(self) -> Randomness | None:
        """By what fields are drawn, if not by the randomness of the release."""
        return None if self.secret is None else read_secret(self.secret)

    def _relocation(self, secret: Randomness | None = None) -> Relocation:
        drawn, field = self._drawn, self._field
        remembers = field is not None or self.mechanism == "correlated-gaussian"
        price = TripPrice(
            # In proportion: what is drawn with a smaller epsilon is charged as promised.
            distance=self.distance / (drawn.factor if field is None else field.fresh_factor),
            tau=(self.tau or _TAU) if remembers else None,
            deviation=self._deviation or None,
            first_turn=self.start == "zero",
            differences=self._differing,
            law=self._law,
        )
        destination = self.destination
        return Relocation(
            noise=drawn.noise,
            price=price,
            destination=None if destination is None else (destination[0], destination[1]),
            remaining=self.mechanism == "remaining-distance",
            decimals=DECIMALS,
            one_at_a_time=remembers,
            numbered=self.trips == "numbered",
            fields=secret,
            spacings=self._spacings,
            at_least=float(self.at_least or 0.0),
        )

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
            tau=self.tau or _TAU,
            deviation=self._deviation,
            differences=self._differing,
            field=self._field,
            uniform_start=self.start != "zero",
            composed=self._law is not None,
            examined=self.at_least is not None,
        )

    def _given(self) -> Iterator[tuple[str, Any]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    def _method(self, thinned: Mapping[str, int]) -> dict[str, Any]:
        """The method as it was asked for, and what follows for the noise; all of it is public.

        ``thinned`` says how many reports were left out for which reason.
        """
        given = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._given()
            if value is not None
        }
        if self.mechanism in {"correlated-gaussian", "gaussian-field"}:
            given["tau"] = self.tau or _TAU
        if self._field is not None:
            given |= asdict(self._field)
            given.pop("secret", None)
        decision: dict[str, Any] = {"epsilon_factor": self._drawn.factor}
        if self._mapped is not None:
            # Where a map lies on the custodian's machine is nobody's business.
            given |= {name: Path(str(given[name])).name for name in MAP_PARAMETERS if name in given}
            given["roads_within"] = self.roads_within or _ROADS_WITHIN
            given["radius_bounds"] = list(self._radius_bounds)
            decision["map"] = self._mapped.document()
        if self.every is not None or self.at_least is not None or self.reports == "auto":
            decision["left_out"] = dict(thinned)
        if self.mechanism == "angle-selection":
            decision["deviation"] = self._deviation
        if self.mechanism != "remaining-distance":
            decision["decimals"] = DECIMALS
        return {"name": _NAME, **given, "decision": decision}

    @property
    def _showing(self) -> Showing:
        found, within = self._mapped, self.roads_within or _ROADS_WITHIN
        by_roads = road_map(str(self.roads), found, within, self._radius_bounds) if found else None
        return Showing(
            drawn=self._drawn,
            zones=self._zones,
            map=by_roads,
            destination=self._relocation().destination,
            remaining=self.mechanism == "remaining-distance",
            numbered=self.trips == "numbered",
        )

    def _private(
        self,
        table: PrivateTable,
        moved: Relocated,
        costliest: Costliest,
        busiest: Busiest | None,
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
                *_told_of_thinning(moved),
                *self._notices(costliest, busiest),
            ),
            summary=f"in {trips:,} trip{'s' * (trips != 1)}, {self._displacement()}",
        )

    def _displacement(self) -> str:
        epsilons = self._zones.epsilons()
        if self.mechanism == "remaining-distance":
            return f"as distances with a mean error of {1 / epsilons.min():,.0f} m"
        near, far = MEAN_RADIUS / epsilons.max(), MEAN_RADIUS / epsilons.min()
        metres = f"{near:,.0f}" if near == far else f"{near:,.0f} to {far:,.0f}"
        return f"moved by {metres} m on average"

    def _notices(self, costliest: Costliest, busiest: Busiest | None) -> Iterator[str]:
        whose = "trip" if busiest is None else "vehicle"
        if busiest is not None:
            costliest = Costliest(busiest.reports, busiest.epsilon)
        if self._promise.unprotected:
            yield (
                'zones_by = "true" chooses the noise by the true position, as in the source: '
                "nothing is promised at the borders of zones"
            )
        elif costliest.protects_nothing:
            yield (
                f"the costliest {whose} has epsilon = {costliest.epsilon:,.4g} at "
                f"{self.distance:g} m, and above {PROTECTS_NOTHING_ABOVE:g} such a number protects "
                "nothing: only attacks tell how well it is hidden; more noise, or fewer reports "
                "(every), cost less"
            )
        if self.mechanism == "angle-selection":
            yield (
                "angle-selection protects single reports, not trajectories; where directions "
                "hardly turn, an adversary who knows the mechanism follows a truck better than "
                "under other noise"
            )
        if self._field is not None:
            yield from self._field.notices(self.secret is not None)
        if self.fleet is None:
            yield (
                "what trips spend was not accounted, because [method] names no fleet with a "
                "budget: it adds to what all other releases of the same trips spend"
            )


_SPACINGS = (2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1_800, 3_600)
"""Seconds, of which ``reports = "auto"`` takes one."""
_ALWAYS = ("mechanism", "trips")
_CHOICES = {
    "mechanism": Mechanism,
    "trips": TripIds,
    "zones_by": ZonesBy,
    "start": Start,
    "differences": Differences,
    "reports": Reports,
}
_CHECKED = {
    "epsilon": positive,
    "levels": numbers,
    "radii": numbers,
    "level_limits": numbers,
    "radius_limits": numbers,
    "centre": place,
    "roads": text,
    "roads_nodes": text,
    "roads_within": whole,
    "radius_bounds": bounds,
    "destination": place,
    "tau": positive,
    "stays": share_that_stays,
    "length": positive,
    "period": positive,
    "secret": text,
    "epsilon_angle": positive,
    "delta_angle": share,
    "distance": positive,
    "delta": share,
    "budget": positive,
    "budget_days": whole,
    "every": seconds,
    "at_least": metres,
}
"""What numbers and names must be."""


def _listed(value: object) -> tuple[float, ...]:
    return tuple(value) if isinstance(value, tuple) else ()


def _costliest(trips: TripAccounts, delta: float, law: LossLaw | None) -> Costliest:
    """The trip of the largest epsilon; private until the release appears, public afterwards."""
    alike = {law: trips.alike} if law else {}
    most, epsilon = largest_epsilon(trips.epsilon, trips.squared_mu, delta, alike)
    return Costliest(int(trips.reports[most]), epsilon)


def _told_of_thinning(moved: Relocated) -> Iterator[str]:
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


def _roles(table: PrivateTable, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
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


def _refuse_row_budget(table: PrivateTable) -> None:
    if table.plan.budget is not None:
        msg = (
            "[budget] is about rows, and this method spends the budgets of trips; leave it out, "
            "and name a fleet and a budget in [method]"
        )
        raise PlanError(msg)
