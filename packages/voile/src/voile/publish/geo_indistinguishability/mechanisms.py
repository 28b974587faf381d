"""The mechanisms: how each moves positions, its parameters, and what it promises and costs.

Positions are moved by zones: levels of indistinguishability by distance to the destination, radii
by distance to a centre or by the roads of a map.  The remaining distance has one zone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field

from voile.disclosure.replaced import StatedRoadMap
from voile.publish.geo_indistinguishability.parameters import (
    DECIMALS,
    GRID,
    WAY_HIDDEN,
    Bounds,
    DrawnMechanism,
    FieldTerms,
    MappedRadii,
    Place,
    Positive,
    Positives,
    Seconds,
    Share,
    ZonesBy,
)
from voile.publish.geo_indistinguishability.promise import (
    WAY_SHOWN,
    CostliestPublishedTrip,
    Promise,
)
from voile.publish.geo_indistinguishability.publisher import GeoIndistinguishability
from voile.release.trips import BusiestVehicle
from voile_base.errors import InfeasibleError, PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Json
from voile_base.values.value import File, Real, Says, checked
from voile_geo.planar import noise as planar
from voile_geo.planar.costs import Differences, Noise
from voile_geo.planar.pricing import TripPrice
from voile_geo.planar.steps import Zones, corrected_epsilon, turn_deviation
from voile_geo.roads.nearest import RoadRadii
from voile_geo.roads.reading import read_roads

__all__ = [
    "AngleSelectionMechanism",
    "CorrelatedGaussianMechanism",
    "GaussianFieldMechanism",
    "PlanarLaplaceMechanism",
    "RemainingDistance",
]

M = TypeVar("M", bound=type[GeoIndistinguishability])


_LARGEST_RADIUS = 52.0
"""Times 1 / epsilon: no radius that is drawn exceeds it."""
_ROOM = 1.2
"""How much larger than 1 / epsilon the reach may become by drawing with a smaller epsilon."""


def _mechanism(made: M) -> M:
    """Let a mechanism be asked for by the name that is its field's default."""
    checked(PlanError)(made)
    GeoIndistinguishability.variants[made.mechanism] = made
    return made


@dataclass(frozen=True, kw_only=True, init=False)
class _ByZones(GeoIndistinguishability):
    """What moves positions: either ``epsilon``, or ``levels`` with ``radii`` or ``roads``."""

    epsilon: Positive | None = None
    """Per metre, above 0: noise moves a position by 2 / epsilon metres on average."""
    levels: Positives | None = None
    """Instead of epsilon: how well places within a radius may be told apart; near to far."""
    radii: Positives | None = None
    """Metres; epsilon is level / radius.  From near the centre to far away."""
    level_limits: Positives | None = None
    """Metres from the destination at which the next level begins, one fewer than levels."""
    radius_limits: Positives | None = None
    """Metres from the centre at which the next radius begins, one fewer than radii."""
    centre: Place | None = None
    """Latitude and longitude from which radii are measured."""
    roads: File | None = None
    """Instead of radii: a map, by whose roads they are chosen; a file that ``read_roads`` reads."""
    roads_nodes: File | None = None
    """The table of nodes that a table of roads refers to."""
    roads_within: Annotated[int, Field(ge=1)] | None = None
    """How many roads lie within a radius; None: 20."""
    radius_bounds: Bounds | None = None
    """Metres: the smallest and the largest radius that is chosen by roads; None: 100 and 2,000."""
    zones_by: ZonesBy | None = None
    """Whose zone counts: that of the last published position, or (the seed's) of the true one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.roads is None:
            self._drawn  # noqa: B018 - zones are checked, and whether the grid allows for them
            return
        given = {"roads_within": self._within, "radius_bounds": self._radius_bounds}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        # The map is read when the publisher gets ready.
        self._draw(replace(self._by_level, radii=self._radius_bounds[1:]))

    @cached_property
    def _zones(self) -> Zones:
        if self.epsilon is not None:
            return Zones(levels=(self.epsilon,))
        if self._mapped is not None:
            found = self._mapped.found
            return replace(self._by_level, radii=found.radii, grid=found.grid)
        return replace(
            self._by_level,
            radii=_listed(self.radii),
            radius_limits=_listed(self.radius_limits),
            centre=None if self.centre is None else (self.centre[0], self.centre[1]),
        )

    @property
    def _by_level(self) -> Zones:
        """Zones of one radius, a metre."""
        return Zones(
            levels=_listed(self.levels),
            level_limits=_listed(self.level_limits),
            by=self.zones_by or "published",
        )

    @property
    def _within(self) -> int:
        return self.roads_within or 20

    @property
    def _radius_bounds(self) -> tuple[float, float]:
        least, most = self.radius_bounds or (100.0, 2_000.0)
        return least, most

    @cached_property
    def _mapped(self) -> MappedRadii | None:
        """Radii by the roads of the map; None where none is named."""
        if self.roads is None:
            return None
        return _read_radii(self.roads, self.roads_nodes, self._within, self._radius_bounds)

    @property
    def _map(self) -> StatedRoadMap | None:
        found = self._mapped
        if found is None:
            return None
        return _road_map(str(self.roads), found, self._within, self._radius_bounds)

    def _given(self) -> Iterator[tuple[str, Any]]:
        # Where a map lies on the custodian's machine is nobody's business.
        for name, value in super()._given():
            file = name in {"roads", "roads_nodes"} and value is not None
            yield name, Path(value).name if file else value

    @property
    def _decision(self) -> Json:
        made = super()._decision
        return {**made, "map": self._mapped.document()} if self._mapped else made


def _road_map(
    name: str, mapped: MappedRadii, within: int, bounds: tuple[float, float]
) -> StatedRoadMap:
    """The map that says the radii, without the folder of the custodian that it lies in."""
    rows, columns = mapped.found.grid.cells.shape
    return StatedRoadMap(
        name=Path(name).name,
        digest=mapped.digest,
        within=within,
        bounds=(float(bounds[0]), float(bounds[1])),
        cell_metres=float(mapped.found.cell),
        cells=(rows, columns),
    )


def _read_radii(
    roads: str, nodes: str | None, within: int, bounds: tuple[float, float]
) -> MappedRadii:
    """The radii within which so many roads of a map lie, between the bounds (metres).

    Raises ``PlanError`` where nowhere on the map so many roads lie within the largest radius, and
    as ``read_roads`` does.
    """
    network = read_roads(roads, nodes)
    found = RoadRadii.of(network, within, bounds)
    if found.grid.cells.min() == len(found.radii) - 1:
        msg = (
            f"[method] roads: nowhere on the map {Path(roads).name} do {within} roads lie within "
            f"{bounds[1]:g} m, so that every radius is the largest; ask for fewer with "
            "roads_within, or allow for more with radius_bounds"
        )
        raise PlanError(msg)
    return MappedRadii(found, network.digest)


def _lowered(zones: Zones) -> tuple[Zones, float]:
    """Zones with the epsilons that do for the grid, and their ratio to those that are promised.

    Raises ``InfeasibleError`` where the grid is too fine for them.
    """
    factor = min(_factor(epsilon) for epsilon in zones.epsilons().ravel().tolist())
    return replace(zones, levels=tuple(level * factor for level in zones.levels)), factor


def _factor(epsilon: float) -> float:
    drawn = corrected_epsilon(epsilon, GRID, _ROOM * _LARGEST_RADIUS / epsilon)
    if drawn * _ROOM < epsilon:
        msg = (
            f"epsilon = {epsilon:g} per metre is too small for positions on a grid of "
            f"10^-{DECIMALS} degrees; use a larger epsilon"
        )
        raise InfeasibleError(msg)
    return drawn / epsilon


@_mechanism
@dataclass(frozen=True, kw_only=True)
class CorrelatedGaussianMechanism(_ByZones):
    """Gaussian noise that follows the trip; see the package."""

    mechanism: Literal["correlated-gaussian"] = "correlated-gaussian"
    tau: Positive = 120.0
    """Seconds in which the correlation of the noise falls to 1 / e."""
    differences: Differences = "any"
    """Whether trajectories that are told apart differ anyhow, or are moved as a whole."""

    _one_at_a_time: ClassVar[bool] = True

    def _draw(self, zones: Zones) -> DrawnMechanism:
        return DrawnMechanism(planar.CorrelatedGaussian(zones, self.tau), 1.0)

    @property
    def _price(self) -> TripPrice:
        return replace(super()._price, tau=self.tau, differences=self.differences)

    @property
    def _promise(self) -> Promise:
        return replace(super()._promise, tau=self.tau, differences=self.differences)


@_mechanism
@dataclass(frozen=True, kw_only=True)
class GaussianFieldMechanism(GeoIndistinguishability):
    """Gaussian noise of which a share stays with the place, for a vehicle and a period.

    See ``fields`` for the secret behind it.
    """

    mechanism: Literal["gaussian-field"] = "gaussian-field"
    epsilon: Positive
    """Per metre, above 0: noise moves a position by 2 / epsilon metres on average."""
    tau: Positive = 120.0
    """Seconds of driving in which the correlation of the fresh part falls to 1 / e."""
    stays: Annotated[
        Real,
        Field(ge=0, lt=1),
        Says(
            "a number from 0 to below 1: the share of the noise that stays with the place; without "
            "a fresh part no number bounds what many reports tell"
        ),
    ] = 0.8
    """The share of the variance that stays with the place."""
    length: Positive = 700.0
    """Metres in which the correlation of what stays falls to 1 / e."""
    period: Positive = 28.0
    """Days for which it stays."""
    shared: Annotated[
        Real,
        Field(ge=0, lt=1),
        Says(
            "a number from 0 to below 1: the share of what stays that all vehicles of a fleet have "
            "in common; without a part of its own one vehicle whose places are known tells all "
            "others"
        ),
    ] = 0.75
    """Of what stays, the share that all vehicles of a fleet have in common."""
    every: Seconds | None = 30.0
    """Seconds of a slot by the clock of the day (UTC), or a text such as "60 s"; of each slot the
    first report of a trip is published."""
    secret: File | None = None
    """A file with the secret by which fields are drawn, made where there is none, so that releases
    of one period share them; None: each release has fields of its own."""
    differences: Annotated[
        Literal["shifted"],
        Says(
            '"shifted": when a truck comes back to a place is shown, so that only trips moved as a '
            "whole are hard to tell apart"
        ),
    ] = "shifted"
    """Trajectories that are told apart are moved as a whole."""

    _one_at_a_time: ClassVar[bool] = True
    _by_clock: ClassVar[bool] = True

    @property
    def _zones(self) -> Zones:
        return Zones(levels=(self.epsilon,))

    @property
    def _field(self) -> FieldTerms:
        return FieldTerms(self.stays, self.length, self.period, self.shared)

    def _draw(self, zones: Zones) -> DrawnMechanism:
        return DrawnMechanism(self._field.noise(zones, self.tau), 1.0)

    def _fields(self) -> Randomness | None:
        return None if self.secret is None else Randomness.in_file(self.secret, "[method] secret")

    @property
    def _price(self) -> TripPrice:
        distance = self.distance / self._field.fresh_factor
        return replace(
            super()._price, distance=distance, tau=self.tau, differences=self.differences
        )

    @property
    def _promise(self) -> Promise:
        return replace(
            super()._promise,
            tau=self.tau,
            differences=self.differences,
            field=self._field,
            way_driven=self.every is None or float(self.every) < WAY_HIDDEN,
        )

    def _given(self) -> Iterator[tuple[str, Any]]:
        # Where a secret lies is nobody's business.
        yield from (given for given in super()._given() if given[0] != "secret")

    def _notices(
        self, costliest: CostliestPublishedTrip, busiest: BusiestVehicle | None
    ) -> Iterator[str]:
        yield from super()._notices(costliest, busiest)
        yield from self._field.notices(self.secret is not None)
        if self._promise.way_driven:
            yield WAY_SHOWN


@_mechanism
@dataclass(frozen=True, kw_only=True)
class PlanarLaplaceMechanism(_ByZones):
    """Independent planar Laplace noise, on a grid."""

    mechanism: Literal["planar-laplace"] = "planar-laplace"

    _composes: ClassVar[Noise | None] = "planar-laplace"

    def _draw(self, zones: Zones) -> DrawnMechanism:
        smaller, factor = _lowered(zones)
        return DrawnMechanism(planar.PlanarLaplace(smaller), factor)


@_mechanism
@dataclass(frozen=True, kw_only=True)
class AngleSelectionMechanism(_ByZones):
    """Planar Laplace radii in directions that turn little from report to report, as in the seed."""

    mechanism: Literal["angle-selection"] = "angle-selection"
    epsilon_angle: Positive
    """The deviation of a turn is spread sqrt(2 ln(1.25 / delta_angle)) / epsilon_angle."""
    delta_angle: Share = 1e-5
    spread: Positive | None = None
    """The paper's Delta_2, in radians: the largest distance of two angles; None: 2 pi."""
    start: Literal["uniform", "zero"] = "uniform"
    """The first direction: uniform, or (the seed's) zero."""

    @property
    def _deviation(self) -> float:
        """Of a turn, in radians."""
        spread = 2 * math.pi if self.spread is None else self.spread
        return turn_deviation(self.epsilon_angle, self.delta_angle, spread)

    def _draw(self, zones: Zones) -> DrawnMechanism:
        smaller, factor = _lowered(zones)
        return DrawnMechanism(planar.AngleSelection(smaller, self._deviation, self.start), factor)

    @property
    def _price(self) -> TripPrice:
        first = self.start == "zero"
        return replace(super()._price, deviation=self._deviation, first_turn=first)

    @property
    def _promise(self) -> Promise:
        uniform = self.start == "uniform"
        return replace(super()._promise, deviation=self._deviation, uniform_start=uniform)

    @property
    def _decision(self) -> Json:
        return {**super()._decision, "deviation": self._deviation}

    def _notices(
        self, costliest: CostliestPublishedTrip, busiest: BusiestVehicle | None
    ) -> Iterator[str]:
        yield from super()._notices(costliest, busiest)
        yield (
            "angle-selection protects single reports, not trajectories; where directions hardly "
            "turn, an adversary who knows the mechanism follows a truck better than under other "
            "noise"
        )


@_mechanism
@dataclass(frozen=True, kw_only=True)
class RemainingDistance(GeoIndistinguishability):
    """The noisy distance that is left to the destination, in place of positions."""

    mechanism: Literal["remaining-distance"] = "remaining-distance"
    epsilon: Positive
    """Per metre, above 0: the mean error of a distance is 1 / epsilon metres."""

    _remaining: ClassVar[bool] = True
    _composes: ClassVar[Noise | None] = "laplace"

    @property
    def _zones(self) -> Zones:
        return Zones(levels=(self.epsilon,))

    def _draw(self, zones: Zones) -> DrawnMechanism:
        return DrawnMechanism(planar.PlanarLaplace(zones), 1.0)

    @property
    def _decision(self) -> Json:
        return {"epsilon_factor": self._drawn.factor}

    def _displacement(self) -> str:
        return f"as distances with a mean error of {1 / self.epsilon:,.0f} m"


def _listed(numbers: object) -> tuple[float, ...]:
    return tuple(numbers) if isinstance(numbers, tuple) else ()
