"""Which columns of a table are trajectories: the trip, the time and the place of each report.

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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Strict

from voile.schema.roles import ColumnName
from voile_base.errors import PlanError
from voile_base.values.value import Says, checked

__all__ = ["TrajectoryColumns"]

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

    def document(self) -> dict[str, Any]:
        """What a plan says of the columns."""
        found: dict[str, Any] = {
            name: getattr(self, name) for name in ("trip", "time", "latitude", "longitude")
        }
        optional = {
            "destination": self.destination, "vehicle": self.vehicle, "fleet": self.fleet,
        }  # fmt: skip
        return found | {name: value for name, value in optional.items() if value is not None}
