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
(``voile_geo.roads.nearest.RoadRadii``).

From parameters to noise: the mechanism, what it is drawn with, and what its reports cost.

Positions are published on a grid of degrees, so planar Laplace radii are drawn with a smaller
epsilon than is promised (eq. 3 of the seed), by the same factor in all zones: the largest that does
for each of them.  The grid is narrowest in the north, so its step is taken at 80 degrees.  Gaussian
noise and remaining distances are rounded after the draw, which costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict
from pydantic_core import PydanticCustomError

from voile_base.ondemand import dataclass
from voile_base.values import Json, usable_number
from voile_base.values.value import KeptAs, Real, Says, Several
from voile_geo.planar.noise import GaussianField, LocationNoise
from voile_geo.planar.steps import Zones
from voile_geo.roads.nearest import RoadRadii

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


DECIMALS = 6
"""Of published degrees: 0.11 m.  A finer grid would cost 13 % of an epsilon of 0.0001 (eq. 3)."""
FARTHEST_LATITUDE = 80
"""To the north and south, within which the grid is at least as wide as is promised."""
_METRES_PER_DEGREE = 111_132
GRID = 10.0**-DECIMALS * _METRES_PER_DEGREE * math.cos(math.radians(FARTHEST_LATITUDE))
"""The least step of the grid in metres."""


@dataclass(frozen=True)
class DrawnMechanism:
    """A mechanism as it is drawn."""

    noise: LocationNoise
    factor: float
    """Epsilons that are drawn with, over those that are promised; at most 1."""
