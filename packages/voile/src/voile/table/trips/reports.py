"""The reports of trips in a table: their times and places read, checked, and counted as flows.

Rules, each of them said to the custodian where it applies:

- rows of a trip are sorted by time, whatever order they have in the file;
- several reports of a trip at one time keep the order of the file; where the method can publish
  only one of them, the first stays;
- a position at latitude 0, longitude 0 is a receiver without a fix, and counts as missing;
- gaps need no rule, nor does a trip of one report.

Everything else that cannot be true is refused: a latitude or longitude out of range, columns that
were swapped, times that cannot be read.

Cost: times and places are read once for each distinct value, where an engine knows these.

Flows
-----
They are trips between zones, and passages of roads, by hour, bounded by vehicle.

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
from voile.table.arrays import (
    Kind,
    array_of,
    forms_of,
    kind_of_arrow,
    numbers_of,
    polars_type,
    series_of,
)
from voile.table.binding import flagged, mapped, require_finite
from voile.table.decisions import FlowBounds, FlowCounts
from voile.table.keeping import with_words
from voile.table.protocol import Counted, Engine, Rows
from voile.table.published import PublishedTable
from voile_base.errors import PlanError, TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key, Randomness
from voile_base.values.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    both,
    is_missing,
    negated,
)
from voile_geo.geodesy import separation

__all__ = [
    "FOREIGN",
    "LATITUDE",
    "LONGITUDE",
    "ROW",
    "SECONDS",
    "TO_LATITUDE",
    "TO_LONGITUDE",
    "begins",
    "count_flows",
    "first_row",
    "read_reports",
    "require_one_vehicle",
    "table_of_cells",
]

ROW = "\1row"
"""The column with the number of each report in its source, from 1."""
FOREIGN = "\1foreign"
"""The column that says which reports name another vehicle than the first of their trip."""

SECONDS = "\1seconds"
"""The column with times in seconds since 1970."""
LATITUDE, LONGITUDE = "\1latitude", "\1longitude"
"""The columns with positions in degrees."""
TO_LATITUDE, TO_LONGITUDE = "\1to latitude", "\1to longitude"
"""The columns with the places that trips are bound for, where the table says so."""
_SWAPPED = "\1seems swapped"
"""No file has columns whose names begin so."""

_YEAR_5000 = 1e11
"""In seconds since 1970; larger numbers are milliseconds."""
_FAR, _MUCH_NEARER = 1e6, 5
"""Metres from where positions belong, and how many times nearer swapped ones must be."""

Place = tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Reports:
    """The reports of a table, each with its time and place as numbers; private."""

    rows: Rows
    """In no order; with the columns that are named above."""
    left_out: int
    """Reports without a fix."""
    notices: tuple[str, ...]


def read_reports(
    rows: Rows, plan: Plan, *, destination: Place | None = None, centre: Place | None = None
) -> _Reports:
    """The reports of a table, checked; raises ``TableError`` and ``PlanError``.

    Positions are expected near ``destination`` and ``centre``, which tells swapped columns.
    """
    named = _named(plan, destination)
    for name in named.names:
        _require_present(rows, name)
    rows = _with_seconds(rows, named.time)
    rows = _with_degrees(rows, (named.latitude, named.longitude), (LATITUDE, LONGITUDE))
    _require_positions(rows, (named.latitude, named.longitude), (LATITUDE, LONGITUDE))
    for place in (destination, centre):
        if place:
            _refuse_swapped_places(rows, named, place)
    fixed = _with_a_fix(rows, plan, named)
    if named.destination:
        made = (TO_LATITUDE, TO_LONGITUDE)
        fixed = _with_degrees(fixed, named.destination, made)
        _require_positions(fixed, named.destination, made)
    left_out = rows.height - fixed.height
    told = (
        "reports at latitude 0, longitude 0, from receivers without a fix, were left out: "
        f"{left_out:,}"
    )
    return _Reports(fixed, left_out, (told,) if left_out else ())


def _named(plan: Plan, destination: Place | None) -> TrajectoryColumns:
    if plan.trajectory is None:
        msg = (
            "the plan names no trajectories; say in [roles] which columns are trip, time, latitude "
            "and longitude (in Python, Plan(..., trajectory=TrajectoryColumns()))"
        )
        raise PlanError(msg)
    if destination is not None and plan.trajectory.destination is not None:
        msg = (
            "[roles] destination and [method] destination both say where trips are bound for; "
            "leave one of them out"
        )
        raise PlanError(msg)
    return plan.trajectory


def _require_present(rows: Rows, name: str) -> None:
    missing = rows.tally(is_missing(name))
    if missing.rows:
        msg = (
            f"column {name!r} misses its value in row {missing.first}, and a report needs a trip, "
            'a time and a place; declare nulls = "drop" to leave such rows out, or fill them in'
        )
        raise TableError(msg)


# -- places ---------------------------------------------------------------------------------------


def _with_degrees(rows: Rows, names: Sequence[str], made: Sequence[str]) -> Rows:
    """Rows with degrees as numbers in double precision, in columns of other names."""
    for name, degrees in zip(names, made, strict=True):
        if not polars_type(rows.schema.field(name).type).is_numeric():
            row = _first_offending(rows, name, "decimal") or 1
            msg = (
                f"column {name!r} must hold degrees, and row {row} is no number; write degrees as "
                "decimals, such as 51.4779, or leave the row out"
            )
            raise TableError(msg)
        require_finite(rows, name)
        rows = mapped(rows, name, lambda values: values.cast(pl.Float64), pl.Float64(), degrees)
    return rows


def _beyond(name: str, limit: float) -> Expression:
    return Call(">", (Call("abs", (Column(name),)), Literal(limit)))


def _swapped(names: Sequence[str], why: str) -> TableError:
    first, second = names
    return TableError(
        f"columns {first!r} and {second!r} seem to be swapped: {why}; exchange the two in "
        f'[roles], latitude = "{second}" and longitude = "{first}"'
    )


def _require_positions(rows: Rows, names: Sequence[str], degrees: Sequence[str]) -> None:
    """Raise ``TableError`` for degrees out of range, and for columns that were swapped."""
    first, second = names
    latitude, longitude = degrees
    if first.lower().startswith("lon") and second.lower().startswith("lat"):
        raise _swapped(names, "their names say so")
    north, east = rows.tally(_beyond(latitude, 90.0)), rows.tally(_beyond(longitude, 180.0))
    if north.rows and not rows.tally(_beyond(latitude, 180.0)).rows:
        elsewhere = rows.tally(_beyond(longitude, 90.0)).rows
        if not elsewhere:
            why = f"in row {north.first} the latitude is beyond 90 degrees, and no longitude is"
            raise _swapped(names, why)
    for name, outside, what, limit in (
        (first, north, "latitude", 90),
        (second, east, "longitude", 180),
    ):
        if outside.rows:
            msg = (
                f"column {name!r}: row {outside.first} is no {what}, which lies between -{limit} "
                f"and {limit} degrees ({outside.rows:,} rows); mend the rows or leave them out"
            )
            raise TableError(msg)


def _at_origin() -> Expression:
    return both(*(Call("=", (Column(name), Literal(0.0))) for name in (LATITUDE, LONGITUDE)))


def _refuse_swapped_places(rows: Rows, named: TrajectoryColumns, place: Place) -> None:
    """Raise ``TableError`` where most positions are far from a place, and near when swapped."""
    there = rows.filter(negated(_at_origin()))
    if not there.height or there.tally(_beyond(LONGITUDE, 90.0)).rows:
        return

    def seems(batch: pa.RecordBatch) -> list[pa.Array]:
        latitude, longitude = (
            np.ascontiguousarray(numbers_of(batch[name])) for name in (LATITUDE, LONGITUDE)
        )
        at = [np.full(batch.num_rows, degrees) for degrees in place]
        as_is = separation(latitude, longitude, *at)
        turned = separation(longitude, latitude, *at)
        return [array_of((as_is > _FAR) & (turned * _MUCH_NEARER < as_is))]

    gives = pa.schema([pa.field(_SWAPPED, pa.bool_())])
    swapped = there.map(seems, [LATITUDE, LONGITUDE], gives).tally(Column(_SWAPPED)).rows
    if 2 * swapped > there.height:
        why = "exchanged, they lie near the place that the plan names; as they are, far away"
        raise _swapped((named.latitude, named.longitude), why)


def _with_a_fix(rows: Rows, plan: Plan, named: TrajectoryColumns) -> Rows:
    """Rows that are not at 0, 0; raises ``TableError`` unless such rows are to be left out."""
    origin = rows.tally(_at_origin())
    policies = {plan.nulls_of(named.latitude), plan.nulls_of(named.longitude)}
    if origin.rows and policies != {"drop"}:
        msg = (
            f"columns {named.latitude!r} and {named.longitude!r}: row {origin.first} lies at "
            f"latitude 0, longitude 0 ({origin.rows:,} rows do), which is what a receiver without "
            'a fix says; declare nulls = "drop" to leave such rows out, or mend them'
        )
        raise TableError(msg)
    if origin.rows == rows.height:
        msg = "every row lies at latitude 0, longitude 0; there is nothing to publish"
        raise TableError(msg)
    return rows.filter(negated(_at_origin())) if origin.rows else rows


# -- times ----------------------------------------------------------------------------------------


def _with_seconds(rows: Rows, name: str) -> Rows:
    """Rows with seconds since 1970."""
    dtype = polars_type(rows.schema.field(name).type)
    read = None
    if dtype == pl.String:
        forms = forms_of("integer", "decimal", "datetime")
        fitting = [form for form in forms if not flagged(rows, name, form.misses).rows]
        if not fitting:
            raise _no_times(rows, name)
        read = fitting[0].read
    elif not dtype.is_numeric() and not isinstance(dtype, pl.Datetime):
        raise _no_times(rows, name)
    require_finite(rows, name)

    def seconds(values: pl.Series) -> pl.Series:
        return _seconds(read(values) if read else values)

    rows = mapped(rows, name, seconds, pl.Float64(), SECONDS)
    blank = rows.tally(is_missing(SECONDS))
    if blank.rows:
        raise TableError(f"column {name!r}: row {blank.first} has no time, and a report needs one")
    if dtype.is_numeric() or read is not None:
        rows = _with_whole_seconds(rows, name)
    return rows


def _with_whole_seconds(rows: Rows, name: str) -> Rows:
    """Rows whose milliseconds since 1970 are seconds; raises ``TableError`` where both stand."""
    large = rows.tally(_beyond(SECONDS, _YEAR_5000))
    if large.rows and large.rows < rows.height:
        msg = (
            f"column {name!r}: row {large.first} is no time in seconds since 1970, unless it is in "
            "milliseconds, which other rows are not; write all of them in seconds"
        )
        raise TableError(msg)
    if not large.rows:
        return rows
    return mapped(rows, SECONDS, lambda values: values / 1000, pl.Float64(), SECONDS)


def _seconds(values: pl.Series) -> pl.Series:
    """Numbers, or times of any unit, in seconds."""
    if values.dtype.is_numeric():
        return values.cast(pl.Float64)
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(values.dtype, "time_unit", "us")]
    ticks = values.to_physical().cast(pl.Int64)
    return (ticks // per_second).cast(pl.Float64) + (ticks % per_second) / per_second


def _no_times(rows: Rows, name: str) -> TableError:
    """What is to be said of a column that holds no times."""
    where, kind = f"column {name!r}", kind_of_arrow(rows.schema.field(name).type)
    if kind == "text":
        row = _first_offending(rows, name, "datetime") or 1
        what = "no time like the others" if row > 1 else "no time that can be read"
        return TableError(
            f"{where}: row {row} is {what}; times are ISO 8601, such as "
            "2024-05-01T08:30:00Z, with a zone in all rows or in none, or seconds since 1970"
        )
    return TableError(
        f"{where} must hold times, and it holds values of kind {kind}; give ISO 8601 with a time "
        "of day, or seconds since 1970"
    )


def _first_offending(rows: Rows, name: str, wanted: Kind) -> int | None:
    """The first row whose value is not of the wanted kind; None where all are.

    Of two ways to write the kind, the values are meant in the one that lasts longer.
    """
    if polars_type(rows.schema.field(name).type) != pl.String:
        return flagged(rows, name, lambda values: values.is_not_null()).first
    found = [flagged(rows, name, form.misses).first for form in forms_of(wanted)]
    return None if None in found else max(row for row in found if row is not None)


def begins(trip: pa.Array) -> NDArray[np.bool_]:
    """Which reports are the first of their trip; those of a trip stand together."""
    if isinstance(trip, pa.DictionaryArray):
        trip = trip.indices
    ids = series_of(trip)
    new = ids.ne_missing(ids.shift(1)).to_numpy(writable=True)
    new[:1] = True
    return new


def first_row(some: Rows) -> int:
    """The number of the first of some reports in their source."""
    return int(some.select([ROW]).ordered([ROW]).to_arrow()[ROW][0].as_py())


def require_one_vehicle(rows: Rows, named: TrajectoryColumns) -> None:
    """Raise ``TableError`` where the reports of a trip name several vehicles."""
    foreign = rows.filter(Column(FOREIGN))
    if foreign.height:
        msg = (
            f"columns {named.trip!r} and {named.vehicle!r}: row {first_row(foreign)} has a trip "
            "that another vehicle has, too; a trip is of one vehicle: give trips ids of their own, "
            "such as those of vehicle and trip joined"
        )
        raise TableError(msg)


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
