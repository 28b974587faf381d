"""What is refused of trips that are to be moved, and what is said of them beside a release.

Reports carry what was found of them (``AGAIN``, ``BACK``, ``STRAY``): here it is counted and told.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.trajectory import TrajectoryColumns
from voile.table.arrays import array_of, numbers_of
from voile.table.decisions import Relocation
from voile.table.protocol import Rows
from voile.table.reports import LATITUDE, LONGITUDE, first_row
from voile.table.trip_accounts import COUNT
from voile_base.errors import PlanError, TableError
from voile_base.values.expressions import Column
from voile_geo.planar.steps import FIELD
from voile_geo.planar.zones import Zones

__all__ = [
    "AGAIN",
    "ALIEN",
    "BACK",
    "STRAY",
    "require_destination",
    "require_one_destination",
    "require_one_fleet",
    "require_several",
    "require_vehicle",
    "told_of_order",
    "told_of_the_map",
    "told_of_twins",
]

AGAIN, BACK, STRAY, ALIEN = "\1again", "\1back in time", "\1stray", "\1alien"
"""Whether a report is at a time that its trip has already, is earlier than the one before it in the
source, stands for another destination, or for another fleet; or, of all reports, lies beyond the
map."""


def require_destination(relocation: Relocation, named: TrajectoryColumns) -> None:
    """Raise ``PlanError`` where noise needs a destination that nobody names."""
    known = named.destination is not None or relocation.destination is not None
    if not known and (relocation.remaining or relocation.noise.zones.needs_receiver):
        needs = "the remaining distance" if relocation.remaining else "a level by distance"
        msg = (
            f"{needs} needs the place that trips are bound for: [method] destination = [latitude, "
            "longitude] for all of them, or [roles] destination with the names of two columns"
        )
        raise PlanError(msg)


def require_vehicle(relocation: Relocation, named: TrajectoryColumns) -> None:
    """Raise ``PlanError`` where noise is that of a vehicle, and no column tells these apart."""
    if relocation.noise.kind != FIELD and named.fleet is not None:
        msg = (
            f"[roles] fleet = {named.fleet!r} is of use for noise that stays with places only "
            '(mechanism = "gaussian-field"); leave it out, or name its column in identifiers'
        )
        raise PlanError(msg)
    if relocation.noise.kind == FIELD and named.vehicle is None:
        msg = (
            "noise that stays with places is that of a vehicle: [roles] vehicle must name the "
            "column that tells vehicles apart"
        )
        raise PlanError(msg)


def require_one_destination(moved: Rows, named: TrajectoryColumns) -> None:
    """Raise ``TableError`` where a trip has two destinations."""
    if named.destination is None:
        return
    stray = moved.filter(Column(STRAY))
    if stray.height:
        msg = (
            f"columns {named.destination[0]!r} and {named.destination[1]!r}: row "
            f"{first_row(stray)} names another destination than the first report of its trip; a "
            "trip has one"
        )
        raise TableError(msg)


def require_one_fleet(moved: Rows, named: TrajectoryColumns) -> None:
    """Raise ``TableError`` where the reports of a trip name several fleets."""
    alien = moved.filter(Column(ALIEN))
    if alien.height:
        msg = (
            f"column {named.fleet!r}: row {first_row(alien)} names another fleet than the first "
            "report of its trip; a trip is of one fleet: begin a new trip where a vehicle changes "
            "fleets"
        )
        raise TableError(msg)


def require_several(reports: NDArray[np.int64], examined: int, spacing: float) -> None:
    """Raise ``TableError`` where thinning leaves one report of every trip, and there were more."""
    if spacing > 0 and len(reports) < examined and reports.max(initial=0) <= 1:
        msg = (
            f"[method] every: one report in {spacing:.10g} s leaves one of each trip, for no trip "
            'goes on longer; give a smaller every (seconds, or a text such as "60 s")'
        )
        raise TableError(msg)


def told_of_order(moved: Rows, named: TrajectoryColumns) -> Iterator[str]:
    """Whether times run backwards within a trip, in the order of the source."""
    back = moved.tally(Column(BACK)).rows
    if back:
        trips = moved.select([named.trip, BACK]).filter(Column(BACK)).distinct([named.trip], COUNT)
        yield (
            f"times run backwards {'once' if back == 1 else f'{back:,} times'}, in "
            f"{trips.height:,} {'trip' if trips.height == 1 else 'trips'}; the reports of each "
            "trip were sorted by time"
        )


def told_of_twins(moved: Rows, relocation: Relocation, named: TrajectoryColumns) -> Iterator[str]:
    """Whether a trip has several reports at one time."""
    count = moved.tally(Column(AGAIN)).rows
    shared = "; if vehicles share ids of trips, name their column in [roles] vehicle"
    remedy = shared if named.vehicle is None else ""
    if count and relocation.one_at_a_time:
        yield (
            "reports at a time that an earlier report of the same trip has already were left out: "
            f"{count:,} (noise at one time is the same, so two positions would give away "
            f"exactly how they differ){remedy}"
        )
    elif count:
        yield (
            "reports at a time that an earlier report of the same trip has already: "
            f"{count:,}; each has noise of its own, and costs as much as any other{remedy}"
        )


def told_of_the_map(reports: Rows, zones: Zones) -> Iterator[str]:
    """How many reports lie beyond the map that says the radii; all of them are too many.

    Raises ``TableError`` where no report lies on the map.
    """
    grid = zones.grid
    if grid is None:
        return

    def beyond(batch: pa.RecordBatch) -> list[pa.Array]:
        places = (np.ascontiguousarray(numbers_of(batch[name])) for name in (LATITUDE, LONGITUDE))
        return [array_of(~grid.holds(*places))]

    gives = pa.schema([pa.field(STRAY, pa.bool_())])
    count = reports.map(beyond, [LATITUDE, LONGITUDE], gives).tally(Column(STRAY)).rows
    if count == reports.height:
        msg = (
            "no report lies on the map that [method] roads names; give a map of where the trips "
            "are, and see that latitude and longitude are not swapped"
        )
        raise TableError(msg)
    if count:
        yield (
            f"reports beyond the map: {count:,} of {reports.height:,}; there the largest radius "
            "holds"
        )
