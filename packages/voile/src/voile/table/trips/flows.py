"""Counting flows: trips between zones, and passages of roads, by hour, bounded by vehicle.

A vehicle counts with some trips at most, drawn by a key among those that begin in the hours that
are counted; a trip with some passages of a road in an hour at most, drawn likewise.  Each of these
draws is a function of the vehicle's own rows and of the key, so that one vehicle more or less
changes nothing of what others count for.

Cost: a sort of n reports, and one of the distinct passages where roads are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.plan import Plan
from voile.schema.trajectory import TrajectoryColumns
from voile.table.arrays import array_of, numbers_of, series_of
from voile.table.decisions import FlowBounds, FlowCounts
from voile.table.keeping import with_words
from voile.table.protocol import Counted, Engine, Rows
from voile.table.published import PublishedTable
from voile.table.trips.reports import (
    FOREIGN,
    LATITUDE,
    LONGITUDE,
    ROW,
    SECONDS,
    begins,
    read_reports,
    require_one_vehicle,
)
from voile_base.errors import PlanError
from voile_base.randomness import Key, Randomness
from voile_base.values.expressions import Call, Column, Literal, both

__all__ = ["count_flows", "table_of_cells"]


_WORD, _RANK, _TIMES = "\1word", "\1rank", "\1times"
_VEHICLE = "\1vehicle"
_HOUR, _FROM, _TO, _ROAD = "\1hour", "\1from", "\1to", "\1road"
"""No file has columns whose names begin so."""

_OF_ROWS = pa.schema([pa.field(FOREIGN, pa.bool_())])
_OF_TRIPS = pa.schema(
    [
        *(pa.field(name, pa.int64()) for name in (_HOUR, _FROM, _TO)),
        pa.field(_VEHICLE, pa.string()),
    ]
)


def count_flows(
    rows: Rows,
    plan: Plan,
    bounds: FlowBounds,
    randomness: Randomness,
    pay: Callable[[], object],
) -> FlowCounts:
    """The exact counts of all cells, bounded by vehicle; private.

    ``pay`` is called after all that can be wrong, and before it is drawn which trips count.

    Raises ``TableError`` for bad input, and ``PlanError`` where the plan names no vehicle.
    """
    reports = read_reports(rows.numbered(ROW), plan)
    named = plan.trajectory
    assert named is not None, "reports were read by it"
    if named.vehicle is None:
        msg = (
            "flows protect vehicles: [roles] vehicle must name the column that tells them apart; "
            "where each trip is of another one, name the trip's column twice in the table"
        )
        raise PlanError(msg)
    columns = [named.trip, named.vehicle, SECONDS, LATITUDE, LONGITUDE, ROW]
    seen, trips = reports.rows.select(columns).map_groups(
        _Ends(named, bounds), named.trip, [SECONDS, ROW], _OF_ROWS, _OF_TRIPS
    )
    require_one_vehicle(seen, named)
    pay()
    counted = trips.filter(Call(">=", (Column(_HOUR), Literal(0))))
    key = randomness.key("bounded", named.trip)
    kept = _some(counted, [named.trip], _VEHICLE, bounds.trips, key)
    cells = (len(bounds.hours), len(bounds.zoning.names), len(bounds.zoning.names))
    between = _dense(kept.count([_HOUR, _FROM, _TO]), cells)
    on_roads = None
    if bounds.roads is not None:
        on_roads = _passages(seen, kept, named, bounds, randomness)
    left_out = trips.height - kept.height
    return FlowCounts(between, on_roads, reports.notices, trips.height, left_out)


class _Ends:
    """Where and when trips begin and end: a function of the batches of their reports."""

    def __init__(self, named: TrajectoryColumns, bounds: FlowBounds) -> None:
        assert named.vehicle is not None, "was required"
        self._trip, self._vehicle, self._bounds = named.trip, named.vehicle, bounds

    def __call__(self, batch: pa.RecordBatch) -> tuple[list[Any], list[Any]]:
        """Which reports name another vehicle than their trip's first, and the trips."""
        new, vehicle = begins(batch[self._trip]), _texts(batch[self._vehicle])
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(new)) - 1
        place = [np.ascontiguousarray(numbers_of(batch[name])) for name in (LATITUDE, LONGITUDE)]
        zone = self._bounds.zoning.locate(*place)
        hour = _hours_at(numbers_of(batch[SECONDS])[first], self._bounds)
        foreign = vehicle.ne_missing(vehicle[first[np.cumsum(new) - 1]]).to_numpy()
        ends = [array_of(it) for it in (hour, zone[first], zone[last])]
        return [array_of(foreign)], [*ends, vehicle[first].to_arrow().cast(pa.string())]


def _hours_at(seconds: NDArray[np.float64], bounds: FlowBounds) -> NDArray[np.int64]:
    """The place of each time among the hours that are counted; -1 for others.

    Hours are those of UTC.
    """
    hour = np.floor(seconds / 3_600).astype(np.int64)
    if bounds.any_day:
        return np.asarray(hour % 24, dtype=np.int64)
    place = hour - bounds.hours[0]
    return np.where((place >= 0) & (place < len(bounds.hours)), place, -1)


def _texts(array: pa.Array) -> pl.Series:
    return series_of(array).cast(pl.String)


def _some(rows: Rows, drawn_by: Sequence[str], within: str, most: int, key: Key) -> Rows:
    """Some rows of each group, drawn by a keyed function of some columns."""
    ranked = with_words(rows, drawn_by, key, _WORD).rank(_RANK, [within], [_WORD])
    return ranked.filter(Call("<", (Column(_RANK), Literal(most)))).select(rows.schema.names)


def _passages(
    seen: Rows,
    kept: Rows,
    named: TrajectoryColumns,
    bounds: FlowBounds,
    randomness: Randomness,
) -> NDArray[np.int64]:
    """How many trips passed each stretch of road in each hour, shape (hours, stretches)."""
    roads = bounds.roads
    assert roads is not None, "there is a map"

    def matched(batch: pa.RecordBatch) -> list[pa.Array]:
        place = [np.ascontiguousarray(numbers_of(batch[name])) for name in (LATITUDE, LONGITUDE)]
        hour = _hours_at(numbers_of(batch[SECONDS]), bounds)
        return [array_of(roads.stretch(*place)), array_of(hour)]

    gives = pa.schema([pa.field(name, pa.int64()) for name in (_ROAD, _HOUR)])
    on_roads = seen.select([named.trip, SECONDS, LATITUDE, LONGITUDE]).map(
        matched, [SECONDS, LATITUDE, LONGITUDE], gives
    )
    of_kept = on_roads.join_rows(kept.select([named.trip]), [named.trip], "inner")
    counted = both(*(Call(">=", (Column(name), Literal(0))) for name in (_ROAD, _HOUR)))
    passages = of_kept.filter(counted).distinct([named.trip, _ROAD, _HOUR], _TIMES)
    key = randomness.key("bounded", "passages")
    some = _some(passages, [named.trip, _ROAD, _HOUR], named.trip, bounds.passages, key)
    return _dense(some.count([_HOUR, _ROAD]), (len(bounds.hours), roads.stretches))


def _dense(counted: Counted, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Counts of all cells, also of those in which nothing is."""
    cells = np.zeros(shape, dtype=np.int64)
    if len(counted.rows):
        places = [
            series_of(values).to_numpy()[counted.codes[:, column]]
            for column, values in enumerate(counted.values)
        ]
        cells[tuple(place.astype(np.int64) for place in places)] = counted.rows
    return cells


def table_of_cells(engine: Engine, columns: Mapping[str, Sequence[object]]) -> PublishedTable:
    """A table to publish, of columns that are public."""
    frame = pl.DataFrame({name: pl.Series(name, values) for name, values in columns.items()})
    return PublishedTable(engine.of_arrow(frame.to_arrow()))
