"""The types of the parameters of geo-indistinguishability, and which of them go together.

Noise that stays with places, as a plan asks for it: its parameters, and the secret behind it.

Releases that share a secret share the fields of each vehicle and period.  The secret lies in a file
of its own, 32 bytes in hexadecimal that only its owner may read; where there is none it is made.
Whoever has the file can compute what stays with every place, for every vehicle and all periods, and
take it off all releases made with it.  Deleting the file, and its copies, ends that; what is
published afterwards has new fields.

Radii by the roads of a map, as a plan asks for them and as a release states them.

The map is public, and so is the grid of radii that follows from it.  A release names the file and
states the digest of its roads: who has the same map finds the same radii
(``voile_geo.roads.nearest.radii_of_roads``).

From parameters to noise: the mechanism, what it is drawn with, and what its reports cost.

Positions are published on a grid of degrees, so planar Laplace radii are drawn with a smaller
epsilon than is promised (eq. 3 of the seed), by the same factor in all zones: the largest that does
for each of them.  The grid is narrowest in the north, so its step is taken at 80 degrees.  Gaussian
noise and remaining distances are rounded after the draw, which costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict
from pydantic_core import PydanticCustomError

from voile_base.errors import InfeasibleError, PlanError
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json, usable_number
from voile_base.values.value import KeptAs, Real, Says, Several
from voile_geo.planar.noise import GaussianField, LocationNoise
from voile_geo.planar.steps import Zones, corrected_epsilon
from voile_geo.roads.nearest import RoadRadii, radii_of_roads
from voile_geo.roads.reading import read_roads

__all__ = [
    "DECIMALS",
    "FARTHEST_LATITUDE",
    "GRID",
    "WAY_HIDDEN",
    "Bounds",
    "DrawnMechanism",
    "FieldTerms",
    "MappedRadii",
    "Mechanism",
    "Metres",
    "Place",
    "Positive",
    "Positives",
    "Seconds",
    "Share",
    "TripIds",
    "ZonesBy",
    "check_together",
    "lowered",
    "read_radii",
]


Mechanism = Literal[
    "correlated-gaussian",
    "gaussian-field",
    "planar-laplace",
    "angle-selection",
    "remaining-distance",
]
ZonesBy = Literal["published", "true"]
TripIds = Literal["kept", "numbered"]

Positive = Annotated[Real, Field(gt=0)]
Share = Annotated[Real, Field(gt=0, lt=1)]


def _listed(given: object) -> object:
    return given if isinstance(given, list | tuple) else (given,)


Positives = Annotated[
    Sequence[float] | float,
    KeptAs(
        Annotated[
            Several[Positive], BeforeValidator(_listed, json_schema_input_type=float | list[float])
        ]
    ),
    Says("a number above 0, or a list of such numbers"),
]
"""One number or a list of them."""


def _in_units(units: Mapping[str, int]) -> Callable[[object], object]:
    """Reads a number, or a text with a number and one of these units, of which the first is 1."""

    def read(given: object) -> object:
        if not isinstance(given, str):
            return given
        text, _, unit = given.strip().partition(" ")
        size = usable_number(text, texts=True)
        if size is None or unit.strip() not in units:
            raise PydanticCustomError("unit", "a unit is needed")
        return float(size) * units[unit.strip()]

    return read


Seconds = Annotated[
    float | str,
    KeptAs(
        Annotated[
            Positive,
            BeforeValidator(
                _in_units({"s": 1, "min": 60, "h": 3_600}), json_schema_input_type=float | str
            ),
        ]
    ),
    Says('a number of seconds above 0, or a text with its unit (s, min, h), such as "60 s"'),
]
Metres = Annotated[
    float | str,
    KeptAs(
        Annotated[
            Positive,
            BeforeValidator(_in_units({"m": 1, "km": 1_000}), json_schema_input_type=float | str),
        ]
    ),
    Says('a number of metres above 0, or a text with its unit (m, km), such as "250 m"'),
]


def _ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if not ends[0] < ends[1]:
        raise PydanticCustomError("ascending", "the smallest comes first")
    return ends


Bounds = Annotated[
    Sequence[float],
    KeptAs(Annotated[tuple[Positive, Positive], Strict(False), AfterValidator(_ascending)]),
    Says("the smallest and the largest radius in metres, such as [100, 2000]"),
]


def _on_earth(place: tuple[float, float]) -> tuple[float, float]:
    latitude, longitude = place
    if abs(latitude) > 90 and abs(latitude) <= 180 and abs(longitude) <= 90:
        msg = "the latitude comes first; latitude and longitude seem to be swapped"
        raise ValueError(msg)
    if abs(latitude) > 90 or abs(longitude) > 180:
        msg = "a latitude lies between -90 and 90, a longitude between -180 and 180 degrees"
        raise ValueError(msg)
    return place


Place = Annotated[
    Sequence[float],
    KeptAs(Annotated[tuple[Real, Real], Strict(False), AfterValidator(_on_earth)]),
    Says("a latitude and a longitude in degrees, for example [48.86, 2.29]"),
]

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


def check_together(given: Document) -> None:
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


WAY_HIDDEN = 30.0
"""Seconds between reports, below which they show how far a truck has driven."""


@dataclass(frozen=True)
class FieldTerms:
    """What stays with places; the parameters of ``GaussianField`` as a plan names them."""

    stays: float = 0.8
    length: float = 700.0
    period: float = 28.0
    shared: float = 0.75

    @property
    def fresh_factor(self) -> float:
        """The deviation of the fresh part over that of all noise."""
        return math.sqrt(1 - self.stays)

    def noise(self, zones: Zones, tau: float) -> GaussianField:
        """The mechanism; raises ``PlanError`` for several zones."""
        return GaussianField(zones, self.stays, self.length, self.period, tau, self.shared)

    def notices(self, kept: bool) -> Iterator[str]:
        """What the custodian must know; ``kept`` says whether releases share a secret."""
        yield (
            "gaussian-field shows exactly when a truck stands, and nearly exactly that it is where "
            "it was before; who knows one true position knows most of the noise there for the "
            f"{self.period:g} days of a period"
        )
        if self.shared:
            yield (
                f"{self.shared * self.stays:.2g} of the noise at a place is the same for all "
                "vehicles of a fleet, so that their mean does not find it. Fleets are told apart "
                "by the column of [roles] fleet, and without one all vehicles are of one fleet. "
                "Vehicles of two companies must not be of one fleet, nor two companies have one "
                "name in that column: a driver of the one would tell of the other"
            )
        if not kept:
            yield (
                "this release has fields of its own: published again, or day by day, the same "
                "places get new noise, which averages away; [method] secret names a file by "
                "which releases share them"
            )


@dataclass(frozen=True, eq=False)
class MappedRadii:
    """Radii, and the map that they are of."""

    found: RoadRadii
    digest: str
    """Of the roads, as ``RoadNetwork.digest`` has it."""

    def document(self) -> Json:
        """What a release states of them beside what the plan asked for."""
        rows, columns = self.found.grid.cells.shape
        return {
            "digest": self.digest,
            "cell_metres": self.found.cell,
            "cells": [rows, columns],
            "radii": list(self.found.radii),
        }


def read_radii(
    roads: str, nodes: str | None, within: int, bounds: tuple[float, float]
) -> MappedRadii:
    """The radii within which so many roads of a map lie, between the bounds (metres).

    Raises ``PlanError`` where nowhere on the map so many roads lie within the largest radius, and
    as ``read_roads`` does.
    """
    network = read_roads(roads, nodes)
    found = radii_of_roads(network, within, bounds)
    if found.grid.cells.min() == len(found.radii) - 1:
        msg = (
            f"[method] roads: nowhere on the map {Path(roads).name} do {within} roads lie within "
            f"{bounds[1]:g} m, so that every radius is the largest; ask for fewer with "
            "roads_within, or allow for more with radius_bounds"
        )
        raise PlanError(msg)
    return MappedRadii(found, network.digest)


DECIMALS = 6
"""Of published degrees: 0.11 m.  A finer grid would cost 13 % of an epsilon of 0.0001 (eq. 3)."""
FARTHEST_LATITUDE = 80
"""To the north and south, within which the grid is at least as wide as is promised."""
_METRES_PER_DEGREE = 111_132
GRID = 10.0**-DECIMALS * _METRES_PER_DEGREE * math.cos(math.radians(FARTHEST_LATITUDE))
"""The least step of the grid in metres."""
_LARGEST_RADIUS = 52.0
"""Times 1 / epsilon: no radius that is drawn exceeds it."""
_ROOM = 1.2
"""How much larger than 1 / epsilon the reach may become by drawing with a smaller epsilon."""


@dataclass(frozen=True)
class DrawnMechanism:
    """A mechanism as it is drawn."""

    noise: LocationNoise
    factor: float
    """Epsilons that are drawn with, over those that are promised; at most 1."""


def lowered(zones: Zones) -> tuple[Zones, float]:
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
