"""How a release of moved trips shows its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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
from voile.publish.geo_indistinguishability.parameters import DECIMALS, DrawnMechanism, MappedRadii
from voile.publish.shown import exactly, shown_roles
from voile.schema.plan import Plan
from voile.table.private import PrivateTable
from voile.table.trips.relocating import REMAINING
from voile_geo.planar import noise as planar
from voile_geo.planar.field import STILL
from voile_geo.planar.zones import Zones

__all__ = ["Showing", "road_map"]

Coordinate = Literal["latitude", "longitude"]
_COORDINATES: tuple[Coordinate, ...] = ("latitude", "longitude")


@dataclass(frozen=True, eq=False)
class Showing:
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


def road_map(
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


def roles_of(table: PrivateTable, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
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
