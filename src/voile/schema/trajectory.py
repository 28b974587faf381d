"""Which columns of a table are trajectories: the trip, the time and the place of each report.

    [roles]
    trip      = "trip"                # the defaults
    time      = "time"
    latitude  = "latitude"
    longitude = "longitude"
    destination = ["to_latitude", "to_longitude"]   # where each trip is bound for; optional
    vehicle   = "vehicle"             # whose trip it is; optional

Only methods that publish trajectories look at them.  In a plan for such a method the defaults
hold; in any other plan these columns are like all others unless they are named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from voile.errors import PlanError

__all__ = ["FILE_PARAMETERS", "MAP_PARAMETERS", "TRAJECTORY_METHODS", "TrajectoryColumns"]

TRAJECTORY_METHODS = ("geo-indistinguishability", "flows")
"""Methods whose plans have trajectories without saying so."""
MAP_PARAMETERS = ("roads", "roads_nodes")
"""Their parameters that name maps."""
FILE_PARAMETERS = (*MAP_PARAMETERS, "secret", "zones")
"""Their parameters that name files, which are looked for in the folder of the plan."""


@dataclass(frozen=True)
class TrajectoryColumns:
    """Names of columns; raises ``PlanError`` where one is no text, or two are the same."""

    trip: str = "trip"
    """What tells trips apart."""
    time: str = "time"
    """ISO 8601 with or without a zone, a time of the file's own type, or seconds since 1970."""
    latitude: str = "latitude"
    """Degrees, north positive."""
    longitude: str = "longitude"
    """Degrees, east positive."""
    destination: tuple[str, str] | None = None
    """Latitude and longitude of the place that each trip is bound for; never published."""
    vehicle: str | None = None
    """What tells vehicles apart, also those whose noise stays with places; never published."""

    def __post_init__(self) -> None:
        for name in ("trip", "time", "latitude", "longitude", "vehicle"):
            if name == "vehicle" and self.vehicle is None:
                continue
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                msg = f'[roles] {name} must be the name of one column, for example "{name}"'
                raise PlanError(msg)
        if self.destination is not None:
            object.__setattr__(self, "destination", _pair(self.destination))
        if len(set(self.names)) < len(self.names):
            msg = (
                "[roles] trip, time, latitude, longitude, destination and vehicle must name "
                "different columns"
            )
            raise PlanError(msg)

    @property
    def named(self) -> Mapping[str, str]:
        """Columns by what they are, those of a destination included."""
        found = {name: getattr(self, name) for name in ("trip", "time", "latitude", "longitude")}
        ends = ("destination (latitude)", "destination (longitude)")
        found |= dict(zip(ends, self.destination or (), strict=False))
        return found if self.vehicle is None else {**found, "vehicle": self.vehicle}

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(self.named.values())

    def document(self) -> dict[str, Any]:
        """What a plan says of the columns."""
        found: dict[str, Any] = {
            name: getattr(self, name) for name in ("trip", "time", "latitude", "longitude")
        }
        optional = {"destination": self.destination, "vehicle": self.vehicle}
        return found | {name: value for name, value in optional.items() if value is not None}


def _pair(value: object) -> tuple[str, str]:
    names = tuple(value) if isinstance(value, list | tuple) else ()
    if len(names) != 2 or not all(isinstance(name, str) and name for name in names):
        msg = (
            "[roles] destination must name two columns, the latitude and the longitude of the "
            'place that a trip is bound for: ["to_latitude", "to_longitude"]'
        )
        raise PlanError(msg)
    return names[0], names[1]
