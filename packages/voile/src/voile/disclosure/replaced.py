"""Columns that show something in the place of their values: averages, noise, other values.

Averages of groups
------------------
Whoever reads it knows how far values lie from their middle on average, and supposes that they do so
as a normal variable does: the value that is nearest to the middle is hardly likelier the owner's
than the others of its group.

Noise, beside an interval
-------------------------
A value is moved into the range of a cluster, its own or with a stated probability another, gets
noise of the cluster's scale, and is clamped; the interval around it has the cluster's half-width.
``disclosure.noise`` says what that tells of a value that somebody knows.

Positions that were moved, or a noisy distance in their place
-------------------------------------------------------------
The noise of a report has an epsilon per metre: the level of its zone over the radius of its zone,
times a factor by which it was lowered for the grid of degrees on which positions are shown.  Zones
are those of ``voile_geo.planar.noise``; where radii follow from the roads of a map, the map is
named by its digest.  An adversary who follows trips reads the distribution from here
(``voile.attack.trajectory``); one coordinate by itself is compared as it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from voile.disclosure.evidence import (
    CheckedCells,
    DistinctCells,
    Domain,
    Floats,
    Known,
)
from voile.disclosure.exact import AsItReads
from voile.disclosure.foreign import NearEvidence
from voile.disclosure.noise import Cluster, StatedNoise
from voile.disclosure.shown import ShownColumn
from voile.dp.discrete_noise import radius
from voile_base.ondemand import on_demand
from voile_base.values.value import Value

if TYPE_CHECKING:
    from decimal import Decimal

    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure import interval as disclosure_interval
    from voile.disclosure import noise as disclosure_noise
    from voile.disclosure.covering import Covered
    from voile.disclosure.shown import ComparedColumn, OriginalSide
    from voile.schema.coding import Coding
else:
    disclosure_covering = on_demand("voile.disclosure.covering")
    disclosure_interval = on_demand("voile.disclosure.interval")
    disclosure_noise = on_demand("voile.disclosure.noise")

__all__ = [
    "Averaged",
    "Cluster",
    "Distribution",
    "Moved",
    "Noisy",
    "PlanarZones",
    "Remaining",
    "StatedCorrelatedGaussian",
    "StatedGaussianField",
    "StatedPlanarLaplace",
    "StatedRoadMap",
    "TurningLaplace",
]


_ROUNDING = 1e-5
"""Relative: releases state some numbers with six digits."""


class Averaged(AsItReads):
    """Each row shows the middle of its group."""

    kind: Literal["averaged"] = "averaged"
    scale: Annotated[float, Field(gt=0)]
    """The mean distance of a row's number from the one that it shows, to two digits."""

    @property
    def graded(self) -> bool:
        """A middle fits a number the better the nearer it is."""
        return True

    @property
    def set_refusal(self) -> str:
        """Any value may be in a group."""
        return "the middle of a group stands for no set of values"

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "four times the mean distance of numbers from the middle of their group"

    def coded(self, coding: Coding) -> ShownColumn | None:
        """A rounded middle lies further away, by a quarter of the base on average."""
        if coding.kind != "rounding":
            return None
        return self.model_copy(
            update={"scale": float(f"{self.scale + float(coding.base) / 4:.2g}")}
        )

    def evidence(self, known: Known, cells: DistinctCells) -> NearEvidence:
        """A cell fits a number the better the nearer it is."""
        return NearEvidence(known.numbers, cells.numbers(cells.name), self.scale, normal=True)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A middle stands for the nearest value, and is as wide as four mean distances."""
        covered = disclosure_covering.labels_covered(
            domain, cells, super().evidence(domain.known, cells), level=0
        )
        return disclosure_covering.near_covered(
            domain, covered, cells.numbers(cells.name), 4 * self.scale
        )


class Noisy(ShownColumn):
    """Each row shows its value with noise, and an interval around that."""

    kind: Literal["noisy"] = "noisy"
    family: Literal["laplace"] = "laplace"
    """The distribution of the noise, on the grid."""
    step: Annotated[float, Field(gt=0)]
    """Published values are multiples of it."""
    clusters: Annotated[tuple[Cluster, ...], Field(min_length=1)]
    """Ascending by value."""
    clamp: tuple[float, float] | None = None
    """The least and the largest value that may be published; None where there are none."""
    ends: Literal["columns", "text"] = "columns"
    """How the intervals are shown."""

    @property
    def graded(self) -> bool:
        """A cell fits a number the better the nearer it is."""
        return True

    @property
    def noise(self) -> Noisy:
        """It is stated here."""
        return self

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Whether values are those of the original."""
        return compare.noisy(name, self)

    def breaches(self, cells: CheckedCells, confidence: Decimal | None = None) -> Iterator[str]:
        """Values off the grid, and intervals other than those of the noise."""
        value, ends = cells.numbers(cells.name), self._around(cells)
        yield from _cell_breaches(cells.name, self, value, *ends)
        if confidence is not None:
            scales = [Fraction(c.scale) / Fraction(self.step) for c in self.clusters]
            widths = [Fraction(c.half_width) / Fraction(self.step) for c in self.clusters]
            yield from _width_breaches(cells.name, scales, widths, confidence)

    @property
    def set_refusal(self) -> str:
        """Noise may lead anywhere."""
        return "values with noise stand for no set of values"

    @property
    def size_basis(self) -> str:
        """The published intervals."""
        return "the intervals around noise"

    def published(self, name: str) -> tuple[str, ...]:
        """The value, and its interval in two columns or in one of texts."""
        if self.ends == "columns":
            return name, f"{name}.low", f"{name}.high"
        return name, f"{name}.interval"

    def with_intervals_as_text(self) -> Noisy:
        """The same with each interval in one column of texts."""
        return self.model_copy(update={"ends": "text"})

    def evidence(self, known: Known, cells: DistinctCells) -> disclosure_noise.NoisyEvidence:
        """How well each noisy value fits each known one."""
        readings = disclosure_noise.Readings(
            cells.numbers(cells.name), *self._around(cells), cells.rows
        )
        declared = self.clamp
        if known.bounds is not None:
            declared = float(known.bounds[0]), float(known.bounds[1])
        return disclosure_noise.NoisyEvidence.of(
            cells.name, known.numbers, readings, self._distributions(), declared
        )

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """Each value stands for the nearest one, and is as wide as its interval."""
        return disclosure_covering.Covered.noisy(domain, cells, self.evidence(domain.known, cells))

    def _distributions(self) -> disclosure_noise.NoiseDistributions:
        """Those of the clusters, as numbers."""

        def numbers(name: str) -> Floats:
            return np.array([float(getattr(cluster, name)) for cluster in self.clusters])

        borders = own = None
        if all(c.low is not None and c.high is not None for c in self.clusters):
            borders, own = (numbers("low"), numbers("high")), numbers("own")
        scale = np.maximum(numbers("scale"), disclosure_noise.LEAST_SCALE * self.step)
        return disclosure_noise.NoiseDistributions(
            self.step, scale, numbers("half_width"), borders, own
        )

    def _around(self, cells: DistinctCells) -> tuple[Floats, Floats]:
        _, *shown = self.published(cells.name)
        if self.ends == "text":
            return disclosure_interval.ends_of_texts(shown[0], cells.texts(shown[0]))
        low, high = map(cells.numbers, shown)
        return low, high


def _cell_breaches(
    name: str, shown: StatedNoise, value: Floats, low: Floats, high: Floats
) -> Iterator[str]:
    """Values off the grid or beyond the bounds, and intervals of no cluster; shape (g,) each."""
    absent = np.isnan(value)
    if (absent != np.isnan(low)).any() or (absent != np.isnan(high)).any():
        yield f"column {name!r} shows values without intervals, or intervals without values"
    value, low, high = value[~absent], low[~absent], high[~absent]
    slack = shown.step * 1e-3 + np.abs(value) * 1e-7
    off = np.abs(value - np.round(value / shown.step) * shown.step) > slack
    if off.any():
        yield f"column {name!r} has {off.sum():,} values that do not lie on the grid of its noise"
    least, most = shown.clamp or (-np.inf, np.inf)
    if ((value < least - slack) | (value > most + slack)).any():
        yield f"column {name!r} has values beyond its public bounds"
    fits = np.zeros(len(value), dtype=np.bool_)
    for cluster in shown.clusters:
        around = np.maximum(value - cluster.half_width, least), value + cluster.half_width
        near = np.abs(low - around[0]) <= slack
        fits |= near & (np.abs(high - np.minimum(around[1], most)) <= slack)
    if not fits.all():
        yield f"column {name!r} has {(~fits).sum():,} intervals other than those of its noise"


def _width_breaches(
    name: str, scales: list[Fraction], widths: list[Fraction], confidence: Decimal
) -> Iterator[str]:
    """Intervals that are not as wide as their confidence asks, all in steps of the grid."""
    for scale, width in zip(scales, widths, strict=True):
        asked = radius(scale.limit_denominator(10**12), confidence)
        if abs(width - asked) > 1 + asked * _ROUNDING:
            yield (
                f"column {name!r} has intervals that are not of confidence {confidence}, which "
                "it states"
            )


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
