"""Relocating: the reports of trips with noise in their positions, or with a distance instead.

Noise is drawn for the trip's id and the number of the report in it (``voile.dp.planar``), so a
trip that is moved again with the same key, elsewhere or as a live stream, shows the same.

Positions are rounded to a grid of degrees.  Rows stand by trip, then by time; several reports of a
trip at one time stand by what they show, so that the order of the file tells nothing of them.
Trips may be numbered: in the order in which they begin, which published times show anyway, and
where two begin together in an order that is drawn.

What trips cost is told before anything is drawn.  Where zones differ, the draws decide in which of
them a report falls, so that only the most that it can cost is known until then.

Cost in n reports and t trips: two sorts of n rows, the draws (some 80 ns a report), some 20
microseconds a trip for its price, and once more where zones differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.dp.planar.noise import perturb
from voile.dp.planar.remaining import noisy_distances
from voile.dp.planar.trips import Trips
from voile.dp.planar.zones import Zones
from voile.errors import PlanError, TableError
from voile.geodesy import Floats, separation
from voile.randomness import Key, Randomness
from voile.schema.plan import Plan
from voile.table.arranging import require_free_names
from voile.table.binding import BoundColumns
from voile.table.dictionary import DictionaryColumn, encode
from voile.table.identity import Words, row_words
from voile.table.protocol import Relocation, TripAccounts
from voile.table.reports import Reports, read_reports, row_number

__all__ = ["REMAINING", "MovedReports", "relocate"]

REMAINING = "remaining"
"""The column with the noisy distance that is left, in metres."""


@dataclass(frozen=True, eq=False)
class _Accounts:
    """What the published reports of each trip cost; see ``TripAccounts``."""

    epsilon: Floats
    squared_mu: Floats
    reports: NDArray[np.int64]
    first_row: NDArray[np.int64]
    ids: pl.Series
    """Shape (t,): private."""

    def marks(self, key: bytes) -> Words:
        """64 bits of a keyed pseudorandom function of each trip's id."""
        return _words(encode(self.ids), Key(key))


@dataclass(frozen=True, eq=False)
class MovedReports:
    """What is published, and what is private about it."""

    rows: pl.DataFrame
    trips: _Accounts
    left_out: int
    notices: tuple[str, ...]


def relocate(
    bound: BoundColumns,
    plan: Plan,
    relocation: Relocation,
    randomness: Randomness,
    charge: Callable[[TripAccounts], None],
) -> MovedReports:
    """The published rows of a table of trajectories; raises ``TableError`` and ``PlanError``.

    ``charge`` is told what trips cost at most, after all that can be wrong and before any draw.
    """
    zones = relocation.noise.zones
    reports = read_reports(
        bound,
        plan,
        destination=relocation.destination,
        centre=zones.grid.middle if zones.grid else zones.centre,
        one_at_a_time=relocation.one_at_a_time,
    )
    named = plan.trajectory
    assert named is not None, "reports were read by it"
    ids = bound.columns[named.trip]
    trips = Trips(
        latitude=reports.latitude,
        longitude=reports.longitude,
        time=reports.time,
        start=reports.start,
        identity=_words(ids, randomness.key("trip"))[reports.row[reports.start[:-1]]],
        receiver=reports.destination,
    )
    _require_destination(relocation, trips)
    told = tuple(_told_of_the_map(zones, trips))
    others = {name: bound.columns[name] for name in plan.roles.published}
    positions = [REMAINING] if relocation.remaining else [named.latitude, named.longitude]
    require_free_names(tuple(others), dict.fromkeys(positions, "what it shows of positions"))
    accounts = _accounts(bound, ids, reports, _at_most(relocation, reports))
    charge(accounts)
    key = randomness.key("relocate")
    epsilon: Floats
    if relocation.remaining:
        shown, epsilon = _remaining(relocation, trips, key)
    else:
        moved = perturb(relocation.noise, trips, key)
        epsilon = moved.epsilon
        shown = _rounded(named.latitude, moved.latitude, relocation.decimals)
        shown |= _rounded(named.longitude, moved.longitude, relocation.decimals, turn=True)
    shown_ids = _numbers(named.trip, trips) if relocation.numbered else _decoded(ids, reports)
    columns = {
        named.trip: shown_ids,
        named.time: _decoded(bound.columns[named.time], reports),
        **shown,
    }
    columns |= {name: _decoded(column, reports) for name, column in others.items()}
    if zones.epsilons().size > 1:
        costs = _costs(relocation, reports, epsilon)
        accounts = replace(accounts, epsilon=costs[:, 0], squared_mu=costs[:, 1])
    order = _order(shown_ids if relocation.numbered else None, reports, list(shown.values()))
    return MovedReports(
        rows=pl.DataFrame(list(columns.values()))[order],
        trips=accounts,
        left_out=reports.left_out,
        notices=(*reports.notices, *told),
    )


def _told_of_the_map(zones: Zones, trips: Trips) -> Iterator[str]:
    """How many reports lie beyond the map that says the radii; all of them are too many.

    Raises ``TableError`` where no report lies on the map.
    """
    if zones.grid is None:
        return
    beyond = int((~zones.grid.holds(trips.latitude, trips.longitude)).sum())
    if beyond == len(trips):
        msg = (
            "no report lies on the map that [method] roads names; give a map of where the trips "
            "are, and see that latitude and longitude are not swapped"
        )
        raise TableError(msg)
    if beyond:
        yield (
            f"reports beyond the map: {beyond:,} of {len(trips):,}; there the largest radius holds"
        )


def _words(ids: DictionaryColumn, key: Key) -> Words:
    """The word of each row's trip: a keyed function of the id and of nothing else."""
    distinct = DictionaryColumn(ids.values, np.arange(len(ids.values)))
    return row_words([distinct], key)[ids.codes]


def _require_destination(relocation: Relocation, trips: Trips) -> None:
    if trips.receiver is None and (relocation.remaining or relocation.noise.zones.needs_receiver):
        needs = "the remaining distance" if relocation.remaining else "a level by distance"
        msg = (
            f"{needs} needs the place that trips are bound for: [method] destination = [latitude, "
            "longitude] for all of them, or [roles] destination with the names of two columns"
        )
        raise PlanError(msg)


def _remaining(
    relocation: Relocation, trips: Trips, key: Key
) -> tuple[dict[str, pl.Series], Floats]:
    """The noisy distance to each report's destination, in whole metres, and its epsilon."""
    assert trips.receiver is not None, "was required"
    epsilon = np.full(len(trips), relocation.noise.zones.epsilons()[0, 0])
    latitude, longitude = np.repeat(trips.receiver, np.diff(trips.start), axis=0).T
    left = separation(
        trips.latitude,
        trips.longitude,
        np.ascontiguousarray(latitude),
        np.ascontiguousarray(longitude),
    )
    shown = np.rint(noisy_distances(left, epsilon, trips, key)).astype(np.int64)
    return {REMAINING: pl.Series(REMAINING, shown)}, epsilon


def _rounded(
    name: str, degrees: Floats, decimals: int, *, turn: bool = False
) -> dict[str, pl.Series]:
    rounded = np.round(degrees, decimals) + 0.0  # no minus zero
    if turn:
        rounded[rounded >= 180] -= 360
    return {name: pl.Series(name, rounded)}


def _decoded(column: DictionaryColumn, reports: Reports) -> pl.Series:
    return column.decode(column.codes[reports.row])


def _numbers(name: str, trips: Trips) -> pl.Series:
    """Numbers of the trips from 1, in the order in which they begin."""
    begins = trips.time[trips.start[:-1]]
    rank = np.empty(len(begins), dtype=np.int64)
    rank[np.lexsort((trips.identity, begins))] = np.arange(1, len(begins) + 1)
    return pl.Series(name, np.repeat(rank, np.diff(trips.start)))


def _order(numbers: pl.Series | None, reports: Reports, shown: list[pl.Series]) -> pl.Series:
    """Where the published rows come from: by trip, by time, and then by what they show."""
    trip = reports.trip if numbers is None else numbers.to_numpy()
    keys = [*(column.to_numpy() for column in reversed(shown)), reports.time, trip]
    return pl.Series(np.lexsort(keys))


def _at_most(relocation: Relocation, reports: Reports) -> Floats:
    """The most that the reports of each trip can cost, whatever is drawn; shape (t, 2)."""
    zones = relocation.noise.zones
    epsilons = zones.epsilons()
    least, most = float(epsilons.min()), float(epsilons.max())
    first = most if zones.by == "true" else least
    return np.array(
        [
            relocation.price.most(first, (least, most), reports.time[start:end])
            for start, end in pairwise(reports.start)
        ]
    )


def _costs(relocation: Relocation, reports: Reports, epsilon: Floats) -> Floats:
    """What the reports of each trip cost, drawn with these epsilons; shape (t, 2)."""
    return np.array(
        [
            relocation.price.cost(epsilon[first:last], reports.time[first:last])
            for first, last in pairwise(reports.start)
        ]
    )


def _accounts(
    bound: BoundColumns, ids: DictionaryColumn, reports: Reports, costs: Floats
) -> _Accounts:
    start = reports.start
    first = np.minimum.reduceat(reports.row, start[:-1])
    return _Accounts(
        epsilon=costs[:, 0],
        squared_mu=costs[:, 1],
        reports=np.diff(start),
        first_row=np.array([row_number(bound, int(row)) for row in first], dtype=np.int64),
        ids=ids.decode(ids.codes[reports.row[start[:-1]]]).cast(ids.values.dtype),
    )
