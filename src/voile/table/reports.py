"""The reports of trips in a table: their times and places read, checked and put in order.

Rules, each of them said to the custodian where it applies:

- rows of a trip are sorted by time, whatever order they have in the file;
- several reports of a trip at one time keep the order of the file; where the method can publish
  only one of them, the first stays;
- a position at latitude 0, longitude 0 is a receiver without a fix, and counts as missing;
- gaps need no rule, nor does a trip of one report.

Everything else that cannot be true is refused: a latitude or longitude out of range, columns that
were swapped, times that cannot be read.

Cost: a sort of n rows; times and places are read once for each distinct value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.errors import PlanError, TableError
from voile.geodesy import Floats, separation
from voile.schema.plan import Plan
from voile.schema.trajectory import TrajectoryColumns
from voile.table.binding import BoundColumns
from voile.table.dictionary import DictionaryColumn
from voile.table.numeric import require_finite
from voile.table.value_types import first_offending_row, infer_type, kind_of

__all__ = ["Reports", "read_reports"]

_YEAR_5000 = 1e11
"""In seconds since 1970; larger numbers are milliseconds."""
_FAR, _MUCH_NEARER = 1e6, 5
"""Metres from where positions belong, and how many times nearer swapped ones must be."""

Place = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Reports:
    """The n published reports of t trips, by trip and time; private."""

    row: NDArray[np.int64]
    """Shape (n,): places among the rows of the table."""
    trip: NDArray[np.int64]
    """Shape (n,): codes of the trip's id."""
    latitude: Floats
    longitude: Floats
    time: Floats
    """Shape (n,), seconds since 1970."""
    start: NDArray[np.int64]
    """Shape (t + 1,): the first report of each trip, and n at the end."""
    destination: Floats | None
    """Shape (t, 2)."""
    left_out: int
    notices: tuple[str, ...]


def read_reports(
    bound: BoundColumns,
    plan: Plan,
    *,
    destination: Place | None = None,
    centre: Place | None = None,
    one_at_a_time: bool = False,
) -> Reports:
    """The reports of a table, checked; raises ``TableError`` and ``PlanError``.

    Positions are expected near ``destination`` and ``centre``, which tells swapped columns.
    """
    named = plan.trajectory
    if named is None:
        msg = (
            "the plan names no trajectories; say in [roles] which columns are trip, time, latitude "
            "and longitude (in Python, Plan(..., trajectory=TrajectoryColumns()))"
        )
        raise PlanError(msg)
    for name in named.names:
        _require_present(bound, bound.columns[name])
    trip = bound.columns[named.trip].codes.astype(np.int64)
    time = _seconds(bound, bound.columns[named.time])
    place = _Positions(bound, named.latitude, named.longitude)
    place.check([it for it in (destination, centre) if it])
    kept = _with_a_fix(place, plan, named)
    order = np.flatnonzero(kept)
    order = order[np.lexsort((time[order], trip[order]))]  # stable: then as in the file
    notices = [*_told_of_fixes(kept), *_told_of_order(trip[kept], time[kept])]
    again = _again(trip[order], time[order])
    if again.any():
        notices.append(_told_of_twins(int(again.sum()), one_at_a_time=one_at_a_time))
    if one_at_a_time:
        order = order[~again]
    start = np.flatnonzero(np.diff(trip[order], prepend=-1))
    bounds = np.append(start, len(order))
    return Reports(
        row=order,
        trip=trip[order],
        latitude=place.latitude[order],
        longitude=place.longitude[order],
        time=time[order],
        start=bounds,
        destination=_destinations(bound, named, destination, order, bounds),
        left_out=bound.rows - len(order),
        notices=tuple(notices),
    )


class _Positions:
    """Latitudes and longitudes of all rows."""

    def __init__(self, bound: BoundColumns, latitude: str, longitude: str) -> None:
        self._bound = bound
        self._names = (latitude, longitude)
        self.latitude, self.longitude = (
            _numbers(bound, bound.columns[name]) for name in self._names
        )

    @property
    def origin(self) -> NDArray[np.bool_]:
        """Rows at latitude 0, longitude 0."""
        return np.asarray((self.latitude == 0) & (self.longitude == 0))

    def check(self, near: Sequence[Place]) -> None:
        """Raise ``TableError`` for degrees out of range, and for columns that were swapped."""
        first, second = self._names
        swapped = (
            f"columns {first!r} and {second!r} seem to be swapped: {{}}; exchange the two in "
            f'[roles], latitude = "{second}" and longitude = "{first}"'
        )
        if first.lower().startswith("lon") and second.lower().startswith("lat"):
            raise TableError(swapped.format("their names say so"))
        north, east = np.abs(self.latitude) > 90, np.abs(self.longitude) > 180
        if north.any() and not (np.abs(self.latitude) > 180).any():
            fitting = np.abs(self.longitude[north]) <= 90
            if fitting.all() and not (np.abs(self.longitude) > 90).any():
                why = f"in row {self._row(north)} the latitude is beyond 90 degrees"
                raise TableError(swapped.format(f"{why}, and no longitude is"))
        for name, outside, limit in ((first, north, 90), (second, east, 180)):
            if outside.any():
                what = "latitude" if limit == 90 else "longitude"
                msg = (
                    f"column {name!r}: row {self._row(outside)} is no {what}, which lies between "
                    f"-{limit} and {limit} degrees ({outside.sum():,} rows); mend the rows or "
                    "leave them out"
                )
                raise TableError(msg)
        for place in near:
            if self._nearer_when_swapped(place):
                why = (
                    "exchanged, they lie near the place that the plan names; as they are, far away"
                )
                raise TableError(swapped.format(why))

    def _row(self, chosen: NDArray[np.bool_]) -> int:
        return row_number(self._bound, int(chosen.argmax()))

    def _nearer_when_swapped(self, place: Place) -> bool:
        """Whether most positions are far from a place, and would be near with columns swapped."""
        there = ~self.origin
        latitude, longitude = self.latitude[there], self.longitude[there]
        if not there.any() or (np.abs(longitude) > 90).any():
            return False
        at = [np.full(len(latitude), degrees) for degrees in place]
        as_is = float(np.median(separation(latitude, longitude, *at)))
        turned = float(np.median(separation(longitude, latitude, *at)))
        return as_is > _FAR and turned * _MUCH_NEARER < as_is


def row_number(bound: BoundColumns, place: int) -> int:
    """The number of a row in the input, from 1."""
    return place + 1 if bound.kept is None else int(bound.kept[place]) + 1


def _require_present(bound: BoundColumns, column: DictionaryColumn) -> None:
    if column.has_missing:
        row = bound.first_row(column, column.values.is_null())
        msg = (
            f"column {column.name!r} misses its value in row {row}, and a report needs a trip, a "
            'time and a place; declare nulls = "drop" to leave such rows out, or fill them in'
        )
        raise TableError(msg)


def _numbers(bound: BoundColumns, column: DictionaryColumn) -> Floats:
    """Degrees of all rows."""
    if not column.values.dtype.is_numeric():
        texts = column.decode(column.codes).cast(pl.String)
        place = first_offending_row(texts) or 1
        msg = (
            f"column {column.name!r} must hold degrees, and row {row_number(bound, place - 1)} is "
            "no number; write degrees as decimals, such as 51.4779, or leave the row out"
        )
        raise TableError(msg)
    require_finite(bound, column)
    numbers: Floats = column.values.cast(pl.Float64).to_numpy()[column.codes]
    return numbers


def _seconds(bound: BoundColumns, column: DictionaryColumn) -> Floats:
    """Seconds since 1970 of all rows."""
    values = column.values
    if values.dtype == pl.String:
        values = infer_type(values)
    if values.dtype.is_numeric():
        require_finite(bound, column)
        seconds = values.cast(pl.Float64).to_numpy()
        large = np.abs(seconds) > _YEAR_5000
        if large.any():
            row = bound.first_row(column, pl.Series(large))
            msg = (
                f"column {column.name!r}: row {row} is no time in seconds since 1970, unless it is "
                "in milliseconds; divide them by 1000"
            )
            raise TableError(msg)
        return np.asarray(seconds[column.codes], dtype=np.float64)
    if not isinstance(values.dtype, pl.Datetime):
        _refuse_times(bound, column)
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(values.dtype, "time_unit", "us")]
    ticks = values.to_physical().cast(pl.Int64).to_numpy()
    whole, rest = np.divmod(ticks, per_second)
    return np.asarray((whole + rest / per_second)[column.codes], dtype=np.float64)


def _refuse_times(bound: BoundColumns, column: DictionaryColumn) -> None:
    """Raise ``TableError`` for a column that holds no times."""
    where, kind = f"column {column.name!r}", kind_of(column.values)
    if kind == "text":
        place = first_offending_row(column.decode(column.codes).cast(pl.String), "datetime") or 1
        msg = (
            f"{where}: row {row_number(bound, place - 1)} is no time like the others; times are "
            "ISO 8601, such as 2024-05-01T08:30:00Z, with a zone in all rows or in none, or "
            "seconds since 1970"
        )
    else:
        msg = (
            f"{where} must hold times, and it holds values of kind {kind}; give ISO 8601 with a "
            "time of day, or seconds since 1970"
        )
    raise TableError(msg)


def _with_a_fix(place: _Positions, plan: Plan, named: TrajectoryColumns) -> NDArray[np.bool_]:
    """Rows that are not at 0, 0; raises ``TableError`` unless such rows are to be left out."""
    origin = place.origin
    policies = {plan.nulls_of(named.latitude), plan.nulls_of(named.longitude)}
    if origin.any() and policies != {"drop"}:
        msg = (
            f"columns {named.latitude!r} and {named.longitude!r}: row {place._row(origin)} "
            f"lies at latitude 0, longitude 0 ({origin.sum():,} rows do), which is what a receiver "
            'without a fix says; declare nulls = "drop" to leave such rows out, or mend them'
        )
        raise TableError(msg)
    if origin.all():
        msg = "every row lies at latitude 0, longitude 0; there is nothing to publish"
        raise TableError(msg)
    return ~origin


def _told_of_fixes(kept: NDArray[np.bool_]) -> Iterator[str]:
    if not kept.all():
        yield (
            "reports at latitude 0, longitude 0, from receivers without a fix, were left out: "
            f"{(~kept).sum():,}"
        )


def _told_of_order(trip: NDArray[np.int64], time: Floats) -> Iterator[str]:
    """Whether times run backwards within a trip, in the order of the file."""
    order = np.argsort(trip, kind="stable")
    same = np.diff(trip[order]) == 0
    back = same & (np.diff(time[order]) < 0)
    if back.any():
        trips = len(np.unique(trip[order][1:][back]))
        yield (
            f"times run backwards {back.sum():,} times, in {trips:,} trips; the reports of each "
            "trip were sorted by time"
        )


def _again(trip: NDArray[np.int64], time: Floats) -> NDArray[np.bool_]:
    """Reports at the time of the one before them in the same trip."""
    return np.asarray((np.diff(trip, prepend=-1) == 0) & (np.diff(time, prepend=np.nan) == 0))


def _told_of_twins(count: int, *, one_at_a_time: bool) -> str:
    if one_at_a_time:
        return (
            "reports at a time that an earlier report of the same trip has already were left out: "
            f"{count:,} (noise at one time is the same, so two positions would give away "
            "exactly how they differ)"
        )
    return (
        "reports at a time that an earlier report of the same trip has already: "
        f"{count:,}; each has noise of its own, and costs as much as any other"
    )


def _destinations(
    bound: BoundColumns,
    named: TrajectoryColumns,
    common: Place | None,
    order: NDArray[np.int64],
    start: NDArray[np.int64],
) -> Floats | None:
    """Where each trip is bound for, shape (t, 2); None where nobody says."""
    if named.destination is None:
        return None if common is None else np.tile(np.array(common), (len(start) - 1, 1))
    if common is not None:
        msg = (
            "[roles] destination and [method] destination both say where trips are bound for; "
            "leave one of them out"
        )
        raise PlanError(msg)
    place = _Positions(bound, *named.destination)
    place.check([])
    found = np.column_stack((place.latitude[order], place.longitude[order]))
    first = np.repeat(found[start[:-1]], np.diff(start), axis=0)
    differs = (found != first).any(axis=1)
    if differs.any():
        row = row_number(bound, int(order[differs].min()))
        msg = (
            f"columns {named.destination[0]!r} and {named.destination[1]!r}: row {row} names "
            "another destination than the first report of its trip; a trip has one"
        )
        raise TableError(msg)
    return found[start[:-1]]
