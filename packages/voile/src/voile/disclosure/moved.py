"""Positions that were moved in the plane, or a noisy distance in their place.

The noise of a report has an epsilon per metre: the level of its zone over the radius of its zone,
times a factor by which it was lowered for the grid of degrees on which positions are shown.  Zones
are those of ``voile_geo.planar.zones``; where radii follow from the roads of a map, the map is
named by its digest.  An adversary who follows trips reads the distribution from here
(``voile.attack.trajectory``); one coordinate by itself is compared as it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from voile.disclosure.exact import AsItReads
from voile_base.values.value import Value

if TYPE_CHECKING:
    from decimal import Decimal

    from voile.disclosure.evidence import CheckedCells
    from voile.disclosure.shown import ComparedColumn, OriginalSide

__all__ = [
    "Distribution",
    "Moved",
    "PlanarZones",
    "Remaining",
    "StatedCorrelatedGaussian",
    "StatedGaussianField",
    "StatedPlanarLaplace",
    "StatedRoadMap",
    "TurningLaplace",
]

Positive = Annotated[float, Field(gt=0)]
Degrees = tuple[float, float]
"""Latitude and longitude."""


class StatedRoadMap(Value):
    """A public map whose roads say the radii."""

    name: str
    """Of its file."""
    digest: str
    """Of its roads: who has the same map finds the same radii."""
    within: Annotated[int, Field(ge=1)]
    """How many roads lie within a radius."""
    bounds: tuple[Positive, Positive]
    """The smallest and the largest radius, in metres."""
    cell_metres: Positive
    """Side of a cell of the grid of radii."""
    cells: tuple[int, int]
    """Rows and columns of the grid."""


class PlanarZones(Value):
    """How much noise where: levels by distance to the receiver, radii by place."""

    levels: Annotated[tuple[Positive, ...], Field(min_length=1)]
    """From near the receiver to far away, as promised; epsilon is level / radius."""
    radii: Annotated[tuple[Positive, ...], Field(min_length=1)] = (1.0,)
    """In metres; from near the centre to far away, or those of the map, ascending."""
    level_limits: tuple[Positive, ...] = ()
    """Metres from the receiver at which the next level begins."""
    radius_limits: tuple[Positive, ...] = ()
    """Metres from the centre at which the next radius begins."""
    centre: Degrees | None = None
    """From where radii are measured."""
    by: Literal["published", "true"] = "published"
    """Whose zone counts: that of the last published position, or that of the true one."""
    map: StatedRoadMap | None = None
    """The map that says the radii; None where none does."""
    factor: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Epsilons that noise was drawn with, over those of the levels."""


class StatedPlanarLaplace(Value):
    """Planar Laplace noise, drawn afresh for every report."""

    kind: Literal["planar-laplace"] = "planar-laplace"


class TurningLaplace(Value):
    """Planar Laplace radii in directions that hardly turn from one report to the next."""

    kind: Literal["angle-selection"] = "angle-selection"
    deviation: Positive
    """Of a turn, in radians."""
    start: Literal["uniform", "zero"] = "uniform"
    """The first direction: uniform, or turned from north."""


class StatedCorrelatedGaussian(Value):
    """Gaussian noise that remembers: first-order autoregressive."""

    kind: Literal["correlated-gaussian"] = "correlated-gaussian"
    tau: Positive
    """Seconds in which the correlation falls to 1 / e."""


class StatedGaussianField(Value):
    """Gaussian noise of which a share stays with the place, and the rest is fresh for each trip."""

    kind: Literal["gaussian-field"] = "gaussian-field"
    share: Annotated[float, Field(ge=0, le=1)]
    """Of the variance: a random field over places, the same for a vehicle and a period."""
    length: Positive
    """Metres in which the correlation of the field falls to 1 / e, exponentially."""
    period_days: Positive
    """How long a field holds; periods begin at multiples of it since 1970 (UTC)."""
    tau: Positive
    """Seconds of driving in which the correlation of what is fresh falls to 1 / e."""
    shared: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Of what stays, the share that all vehicles of a fleet have in common."""
    still_metres: Positive
    """A truck that is no further from where it last moved shows the same position again."""
    discloses: tuple[Literal["standing", "returns", "noise-at-known-places", "way-driven"], ...] = (
        "standing",
        "returns",
        "noise-at-known-places",
    )
    """What is shown beside positions: that a truck stands; but for what is fresh, that it is where
    it was before; to who knows the true place of one report, the field there for the period; and
    where reports are dense, how far it has driven."""


Distribution = Annotated[
    StatedPlanarLaplace | TurningLaplace | StatedCorrelatedGaussian | StatedGaussianField,
    Field(discriminator="kind"),
]
"""The distribution of planar noise."""


class Moved(AsItReads):
    """A coordinate of a position with planar noise; both state the same distribution."""

    kind: Literal["moved"] = "moved"
    coordinate: Literal["latitude", "longitude"]
    law: Distribution
    zones: PlanarZones
    decimals: Annotated[int, Field(ge=0)]
    """Of the grid of degrees on which positions are shown."""
    destination: Degrees | None = None
    """The place that all trips are bound for; None where the release names none."""

    @property
    def weighed(self) -> bool:
        """One coordinate by itself tells little; who follows trips uses both."""
        return False

    @property
    def promises(self) -> bool:
        """That positions lie on the grid, and on the earth."""
        return True

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Whether positions are where they were."""
        return compare.moved(name, self.coordinate, self.decimals)

    def breaches(self, cells: CheckedCells, confidence: Decimal | None = None) -> Iterator[str]:
        """Values with more decimals, or larger, than a coordinate may have."""
        del confidence
        column, limit = cells.name, 90 if self.coordinate == "latitude" else 180
        numbers = cells.values(column).numbers
        if numbers is None or numbers.scale > self.decimals:
            yield f"column {column!r} does not lie on the grid that it states"
        elif abs(numbers.units).max() > limit * 10**numbers.scale:
            yield f"column {column!r} shows what cannot be a {self.coordinate}"


class Remaining(AsItReads):
    """The distance that remains to the destination in metres, with noise, not below 0."""

    kind: Literal["remaining"] = "remaining"
    zones: PlanarZones
    destination: Degrees | None = None
    """The place that all trips are bound for; None where the release names none."""

    @property
    def weighed(self) -> bool:
        """The table has no such column."""
        return False

    @property
    def promises(self) -> bool:
        """That distances are whole metres."""
        return True

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Nothing of them is."""
        return compare.not_compared(name, "remaining distances are not compared")

    def breaches(self, cells: CheckedCells, confidence: Decimal | None = None) -> Iterator[str]:
        """Values that are no whole metres of at least 0."""
        del confidence
        column, numbers = cells.name, cells.values(cells.name).numbers
        if numbers is None or numbers.scale > 0:
            yield f"column {column!r} does not lie on the grid that it states"
        elif numbers.units.min() < 0:
            yield f"column {column!r} shows distances below 0"
