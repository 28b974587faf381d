"""Which columns of a table are trajectories, and the zones between which trips are counted.

    [roles]
    trip      = "trip"                # the defaults
    time      = "time"
    latitude  = "latitude"
    longitude = "longitude"
    destination = ["to_latitude", "to_longitude"]   # where each trip is bound for; optional
    vehicle   = "vehicle"             # whose trip it is; optional
    fleet     = "fleet"               # whose vehicle it is; optional

Only methods that publish trajectories look at them.  In a plan for such a method the defaults
hold; in any other plan these columns are like all others unless they are named.

Zones are a grid, or areas by name; they are public, and never from the data.

    zones = {south = 39.8, west = 116.2, north = 40.0, east = 116.5, rows = 4, columns = 5}
    zones = "districts.geojson"     # features with a polygon and a name

A position in no zone is in the last one, ``outside``.  Where areas overlap the first of the file
counts.  Areas are polygons in the plane of latitude and longitude (RFC 7946), with holes; one may
not reach across the date line.

Cost: O(1) a position in a grid, O(corners) among areas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, Strict

from voile.schema.roles import ColumnName
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json
from voile_base.values.value import Real, Says, checked, read

__all__ = ["OUTSIDE", "TrajectoryColumns", "Zoning", "zoning_of"]

_Column = Annotated[ColumnName, Says("the name of one column")]
_Pair = Annotated[
    tuple[ColumnName, ColumnName],
    Strict(False),
    Says(
        "two columns, the latitude and the longitude of the place that a trip is bound for: "
        '["to_latitude", "to_longitude"]'
    ),
]


@checked(PlanError)
@dataclass(frozen=True)
class TrajectoryColumns:
    """Names of columns; raises ``PlanError`` where two are the same."""

    trip: _Column = "trip"
    """What tells trips apart."""
    time: _Column = "time"
    """ISO 8601 with or without a zone, a time of the file's own type, or seconds since 1970."""
    latitude: _Column = "latitude"
    """Degrees, north positive."""
    longitude: _Column = "longitude"
    """Degrees, east positive."""
    destination: _Pair | None = None
    """Latitude and longitude of the place that each trip is bound for; never published."""
    vehicle: _Column | None = None
    """What tells vehicles apart, also those whose noise stays with places; never published."""

    fleet: _Column | None = None
    """What tells fleets apart, whose vehicles have noise in common; never published.  None: all
    vehicles are of one fleet."""

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise PlanError(self._same())

    def _same(self) -> str:
        """What is wrong where two roles have one column, and what to do."""
        taken = [role for role, name in self.named.items() if self.names.count(name) > 1]
        remedy = ""
        if {"trip", "vehicle"} <= set(taken) and self.trip == self.vehicle:
            remedy = (
                ". Where a table tells vehicles apart and no trips, add a column of trips, such as "
                "the vehicle and the day"
            )
        return f"{', '.join(taken)} must name different columns{remedy}"

    @property
    def named(self) -> Mapping[str, str]:
        """Columns by what they are, those of a destination included."""
        found = {name: getattr(self, name) for name in ("trip", "time", "latitude", "longitude")}
        ends = ("destination (latitude)", "destination (longitude)")
        found |= dict(zip(ends, self.destination or (), strict=False))
        optional = {"vehicle": self.vehicle, "fleet": self.fleet}
        return found | {name: value for name, value in optional.items() if value is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(self.named.values())

    def document(self) -> Json:
        """What a plan says of the columns."""
        found: Json = {
            name: getattr(self, name) for name in ("trip", "time", "latitude", "longitude")
        }
        optional = {
            "destination": self.destination, "vehicle": self.vehicle, "fleet": self.fleet,
        }  # fmt: skip
        return found | {name: value for name, value in optional.items() if value is not None}


OUTSIDE = "outside"
_MOST = 10_000

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class Zoning(Protocol):
    """Zones, numbered from 0; the last is outside all others."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all zones."""

    def locate(self, latitude: Floats, longitude: Floats) -> Codes:
        """The zone of each of n positions in degrees, shape (n,)."""

    def document(self) -> Json:
        """What a release states of them."""


@checked(PlanError)
@dataclass(frozen=True)
class _GridZones:
    """Rows and columns of equal degrees; a zone is called r1c1 in the south-west."""

    south: Real
    west: Real
    north: Real
    east: Real
    rows: Annotated[int, Field(ge=1)]
    columns: Annotated[int, Field(ge=1)]

    def __post_init__(self) -> None:
        inside = -90 <= self.south < self.north <= 90 and -180 <= self.west < self.east <= 180
        if not inside:
            msg = (
                "south must lie below north within 90 degrees, and west below east within "
                "180 degrees"
            )
            raise PlanError(msg)
        if self.rows * self.columns > _MOST:
            msg = f"rows and columns must make at most {_MOST:,} zones in all"
            raise PlanError(msg)

    @property
    def names(self) -> tuple[str, ...]:
        """Row by row from the south-west."""
        inside = [f"r{r + 1}c{c + 1}" for r in range(self.rows) for c in range(self.columns)]
        return (*inside, OUTSIDE)

    def locate(self, latitude: Floats, longitude: Floats) -> Codes:
        """The zone of each position."""
        row = np.floor((latitude - self.south) / (self.north - self.south) * self.rows)
        column = np.floor((longitude - self.west) / (self.east - self.west) * self.columns)
        inside = (row >= 0) & (row < self.rows) & (column >= 0) & (column < self.columns)
        index = np.where(inside, row * self.columns + column, self.rows * self.columns)
        return index.astype(np.int64)

    def document(self) -> Json:
        """As in a plan."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class _Areas:
    """Polygons by name."""

    source: str
    named: tuple[str, ...]
    rings: tuple[tuple[Floats, ...], ...]
    """Of each area its rings, each (k, 2): longitude and latitude."""

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of the file."""
        return (*self.named, OUTSIDE)

    def locate(self, latitude: Floats, longitude: Floats) -> Codes:
        """The zone of each position: that of the first area with an odd number of crossings."""
        found = np.full(len(latitude), len(self.named), dtype=np.int64)
        for index in reversed(range(len(self.named))):
            crossings = np.zeros(len(latitude), dtype=np.int64)
            for ring in self.rings[index]:
                for (x, y), (to_x, to_y) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
                    spans = (y > latitude) != (to_y > latitude)
                    if y != to_y:
                        at = x + (latitude - y) / (to_y - y) * (to_x - x)
                        crossings += spans & (longitude < at)
            found[crossings % 2 == 1] = index
        return found

    def document(self) -> Json:
        """The name of the file, and those of its areas."""
        return {"file": Path(self.source).name, "names": list(self.named)}


def zoning_of(value: object) -> Zoning:
    """The zones that a plan states; raises ``PlanError``."""
    if isinstance(value, str) and value:
        return _areas(Path(value))
    if isinstance(value, Mapping):
        grid: _GridZones = read(_GridZones, value, "zones", PlanError, public=True)
        return grid
    msg = (
        "zones must be a grid, {south, west, north, east, rows, columns}, or the name of a GeoJSON "
        'file with named areas, such as "districts.geojson"'
    )
    raise PlanError(msg)


def _areas(path: Path) -> _Areas:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        features = document["features"]
        found = [_area(feature, index) for index, feature in enumerate(features, start=1)]
    except FileNotFoundError:
        msg = f"zones: there is no file {path}"
        raise PlanError(msg) from None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        msg = (
            f"zones: {path.name} is no GeoJSON file of areas: a FeatureCollection whose features "
            "each have a Polygon or MultiPolygon and a name among their properties"
        )
        raise PlanError(msg) from None
    names = tuple(name for name, _ in found)
    if not names or len(set(names)) < len(names) or OUTSIDE in names:
        msg = f'zones: the areas of {path.name} must have names that differ, none "{OUTSIDE}"'
        raise PlanError(msg)
    return _Areas(str(path), names, tuple(rings for _, rings in found))


def _area(feature: Document, index: int) -> tuple[str, tuple[Floats, ...]]:
    geometry = feature["geometry"]
    polygons: Sequence[Any] = geometry["coordinates"]
    if geometry["type"] == "Polygon":
        polygons = [polygons]
    elif geometry["type"] != "MultiPolygon":
        msg = f"feature {index} is no area"
        raise ValueError(msg)
    rings = [np.array([point[:2] for point in ring], float) for it in polygons for ring in it]
    if any(ring.ndim != 2 or len(ring) < 4 or not np.isfinite(ring).all() for ring in rings):
        msg = f"feature {index} is no area"
        raise ValueError(msg)
    return str(feature["properties"]["name"]), tuple(rings)
