"""Relocating: the reports of trips with noise in their positions, or with a distance instead.

Noise is drawn for the trip's id and the number of the report in it (``voile_geo.planar``), so a
trip that is moved again with the same key, elsewhere or as a live stream, shows the same.

Positions are rounded to a grid of degrees.  Rows stand by trip, then by time; several reports of a
trip at one time stand by what they show, so that the order of the file tells nothing of them.
Trips may be numbered: in the order in which they begin, which published times show anyway, and
where two begin together in an order that is drawn.

What trips cost is told before anything is drawn.  Where zones differ, the draws decide in which of
them a report falls, so that only the most that it can cost is known until then.

Cost in n reports and t trips: a sort of n rows by trip and time, and another where reports of a
trip share a time; the draws (some 80 ns a report), some 20 microseconds a trip for its price, and
once more where zones differ.

What is refused of trips that are to be moved, and what is said of them beside a release.

Reports carry what was found of them (``AGAIN``, ``BACK``, ``STRAY``): here it is counted and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.plan import Plan
from voile.schema.trajectory import TrajectoryColumns
from voile.table.applying import require_free_names
from voile.table.arrays import array_of, numbers_of, series_of
from voile.table.decisions import Charge, Relocation
from voile.table.keeping import with_words
from voile.table.protocol import Rows
from voile.table.trips.accounts import (
    BEGINS,
    COSTS,
    COUNT,
    WORD_OF_TRIP,
    Accounts,
    Flags,
    Integers,
    Starts,
    of_trips,
    spaced,
)
from voile.table.trips.reports import (
    FOREIGN,
    LATITUDE,
    LONGITUDE,
    ROW,
    SECONDS,
    TO_LATITUDE,
    TO_LONGITUDE,
    begins,
    first_row,
    read_reports,
    require_one_vehicle,
)
from voile_base.compiled import njit
from voile_base.errors import PlanError, TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values.expressions import Column
from voile_geo.geodesy import Floats, metres_between, separation
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import noisy_distances, perturb
from voile_geo.planar.steps import FIELD, Zones

__all__ = ["AGAIN", "ALIEN", "BACK", "REMAINING", "STRAY", "relocate"]


AGAIN, BACK, STRAY, ALIEN = "\1again", "\1back in time", "\1stray", "\1alien"
"""Whether a report is at a time that its trip has already, is earlier than the one before it in the
source, stands for another destination, or for another fleet; or, of all reports, lies beyond the
map."""


def _require_destination(relocation: Relocation, named: TrajectoryColumns) -> None:
    """Raise ``PlanError`` where noise needs a destination that nobody names."""
    known = named.destination is not None or relocation.destination is not None
    if not known and (relocation.remaining or relocation.noise.zones.needs_receiver):
        needs = "the remaining distance" if relocation.remaining else "a level by distance"
        msg = (
            f"{needs} needs the place that trips are bound for: [method] destination = [latitude, "
            "longitude] for all of them, or [roles] destination with the names of two columns"
        )
        raise PlanError(msg)


def _require_vehicle(relocation: Relocation, named: TrajectoryColumns) -> None:
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


def _require_one_destination(moved: Rows, named: TrajectoryColumns) -> None:
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


def _require_one_fleet(moved: Rows, named: TrajectoryColumns) -> None:
    """Raise ``TableError`` where the reports of a trip name several fleets."""
    alien = moved.filter(Column(ALIEN))
    if alien.height:
        msg = (
            f"column {named.fleet!r}: row {first_row(alien)} names another fleet than the first "
            "report of its trip; a trip is of one fleet: begin a new trip where a vehicle changes "
            "fleets"
        )
        raise TableError(msg)


def _require_several(reports: NDArray[np.int64], examined: int, spacing: float) -> None:
    """Raise ``TableError`` where thinning leaves one report of every trip, and there were more."""
    if spacing > 0 and len(reports) < examined and reports.max(initial=0) <= 1:
        msg = (
            f"[method] every: one report in {spacing:.10g} s leaves one of each trip, for no trip "
            'goes on longer; give a smaller every (seconds, or a text such as "60 s")'
        )
        raise TableError(msg)


def _told_of_order(moved: Rows, named: TrajectoryColumns) -> Iterator[str]:
    """Whether times run backwards within a trip, in the order of the source."""
    back = moved.tally(Column(BACK)).rows
    if back:
        trips = moved.select([named.trip, BACK]).filter(Column(BACK)).distinct([named.trip], COUNT)
        yield (
            f"times run backwards {'once' if back == 1 else f'{back:,} times'}, in "
            f"{trips.height:,} {'trip' if trips.height == 1 else 'trips'}; the reports of each "
            "trip were sorted by time"
        )


def _told_of_twins(moved: Rows, relocation: Relocation, named: TrajectoryColumns) -> Iterator[str]:
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


def _told_of_the_map(reports: Rows, zones: Zones) -> Iterator[str]:
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


REMAINING = "remaining"
"""The column with the noisy distance that is left, in metres."""
_WORD, _VEHICLE, _FLEET = WORD_OF_TRIP, "\1word of the vehicle", "\1word of the fleet"
_KEPT, _FAR, _NUMBER = "\1kept", "\1far", "\1number"
"""No file has columns whose names begin so."""

_FLAGS = pa.schema(
    [
        *(pa.field(name, pa.bool_()) for name in (AGAIN, BACK, STRAY, FOREIGN, ALIEN)),
        # A bit for each spacing.
        pa.field(_KEPT, pa.int64()),
    ]
)


@dataclass(frozen=True, eq=False)
class _RelocatedTrips:
    """What is published, and what is private about it."""

    rows: Rows
    trips: Accounts
    left_out: int
    thinned: int
    near: int
    notices: tuple[str, ...]


def relocate(
    rows: Rows,
    plan: Plan,
    relocation: Relocation,
    randomness: Randomness,
    charge: Charge,
) -> _RelocatedTrips:
    """The published rows of a table of trajectories; raises ``TableError`` and ``PlanError``.

    ``charge`` is told what trips cost at most, after all that can be wrong and before any draw, and
    says how each trip is thinned.
    """
    zones = relocation.noise.zones
    reports = read_reports(
        rows.numbered(ROW),
        plan,
        destination=relocation.destination,
        centre=zones.grid.middle if zones.grid else zones.centre,
    )
    named = plan.trajectory
    assert named is not None, "reports were read by it"
    _require_destination(relocation, named)
    _require_vehicle(relocation, named)
    shown = (REMAINING,) if relocation.remaining else (named.latitude, named.longitude)
    published = plan.roles.published
    require_free_names(published, dict.fromkeys(shown, "what it shows of positions"))
    ids, own = _with_identities(reports.rows, relocation, named, randomness)
    places = (LATITUDE, LONGITUDE, *own)
    columns = [named.trip, named.time, *published, SECONDS, ROW, _WORD, *places]
    by, offers = [SECONDS, ROW], len(relocation.spacings)
    seen, trips = ids.select(list(dict.fromkeys(columns))).map_groups(
        _Examiner(relocation, named), named.trip, by, _FLAGS, of_trips(offers)
    )
    _require_one_destination(seen, named)
    require_one_vehicle(seen, named)
    _require_one_fleet(seen, named)
    notices = [*_told_of_order(seen, named), *_told_of_twins(seen, relocation, named)]
    notices += _told_of_the_map(reports.rows, zones)
    accounts, kept, twins = _kept(seen, trips, relocation, charge)
    mover = _Mover(relocation, named, shown, randomness)  # not before it is paid
    moved, costs = kept.map_groups(mover, named.trip, by, mover.gives, COSTS)
    far = moved.filter(Column(_FAR))
    near = moved.height - far.height
    accounts = accounts.with_costs(costs, exact=zones.epsilons().size == 1)
    moved = _in_order(far, trips, relocation, named, [*shown, named.time, *published])
    return _RelocatedTrips(
        rows=moved.select([named.trip, named.time, *shown, *published]),
        trips=accounts,
        left_out=rows.height - moved.height,
        thinned=seen.height - kept.height - twins,
        near=near,
        notices=(*reports.notices, *notices),
    )


def _with_identities(
    rows: Rows, relocation: Relocation, named: TrajectoryColumns, randomness: Randomness
) -> tuple[Rows, tuple[str, ...]]:
    """The reports with the words by which they draw, and the further columns that movers read."""
    ids = with_words(rows, [named.trip], randomness.key("trip"), _WORD)
    own: tuple[str, ...] = (TO_LATITUDE, TO_LONGITUDE) if named.destination else ()
    fields, of_vehicles = relocation.fields or randomness, _tells_vehicles(relocation, named)
    if of_vehicles is not None:
        ids = with_words(ids, [of_vehicles], fields.key("vehicle"), _VEHICLE)
        own += (_VEHICLE,)
    if named.fleet is not None:
        ids = with_words(ids, [named.fleet], fields.key("fleet"), _FLEET)
        own += (_FLEET,)
    return ids, own if named.vehicle is None else (*own, named.vehicle)


def _in_order(
    moved: Rows,
    trips: Rows,
    relocation: Relocation,
    named: TrajectoryColumns,
    columns: Sequence[str],
) -> Rows:
    """Reports by trip and time, trips under their own names or under numbers."""
    trip = named.trip
    if relocation.numbered:
        numbers = trips.rank(_NUMBER, (), [BEGINS, _WORD]).select([named.trip, _NUMBER])
        moved, trip = moved.join_rows(numbers, [named.trip], "left"), _NUMBER
    moved = moved.select([trip, SECONDS, *columns]).ordered([trip, SECONDS, *columns])
    if relocation.numbered:
        moved = moved.map(_from_one, [_NUMBER], pa.schema([pa.field(named.trip, pa.int64())]))
    return moved


def _kept(
    seen: Rows, trips: Rows, relocation: Relocation, charge: Charge
) -> tuple[Accounts, Rows, int]:
    """What trips are charged, the reports whose noise is drawn, and how many were twins."""
    offered = Accounts.of(trips, len(relocation.spacings))
    _require_several(offered[0].reports, seen.height, relocation.spacings[0])
    choice = charge(offered)
    if choice is None:
        choice = np.zeros(len(offered[0].reports), np.int64)
    order = np.argsort(offered[0].words)
    words, bits = offered[0].words[order], choice[order]

    def holds(batch: pa.RecordBatch) -> list[pa.Array]:
        bit = bits[np.searchsorted(words, numbers_of(batch[_WORD]))]
        kept = numbers_of(batch[_KEPT]) >> np.maximum(bit, 0) & 1
        return [array_of((kept > 0) & (bit >= 0))]

    kept = seen.map(holds, [_WORD, _KEPT], pa.schema([pa.field(_FAR, pa.bool_())]))
    kept = kept.filter(Column(_FAR))
    twins = seen.tally(Column(AGAIN)).rows if relocation.one_at_a_time else 0
    columns = [name for name in kept.schema.names if name != _FAR]
    return Accounts.chosen(offered, choice), kept.select(columns), twins


class _Examiner:
    """Looks along trips before they are moved: what is to be said of them, and what they cost."""

    def __init__(self, relocation: Relocation, named: TrajectoryColumns) -> None:
        self._relocation = relocation
        self._named = named

    def __call__(self, batch: pa.RecordBatch) -> tuple[list[Any], list[Any]]:
        """Flags of the reports, and what is known of trips before anything is drawn."""
        time, row = numbers_of(batch[SECONDS]), numbers_of(batch[ROW])
        new = begins(batch[self._named.trip])
        again = ~new & (np.diff(time, prepend=np.nan) == 0)
        single = ~again if self._relocation.one_at_a_time else np.ones(len(time), dtype=np.bool_)
        bits, costs = np.zeros(len(time), dtype=np.int64), []
        starts, clock = _starts(new), self._relocation.by_clock
        for place, spacing in enumerate(self._relocation.spacings):
            kept = single & spaced(time, starts, spacing, by_clock=clock)
            bits |= kept.astype(np.int64) << place
            start = _starts(new[kept])
            costs.append((self._at_most(time[kept], start), np.diff(start)))
        first = np.flatnonzero(new)
        known = [
            np.minimum.reduceat(np.where(single, row, row.max()), first),
            time[first],
            numbers_of(batch[_WORD])[first],
        ]
        vehicles = self._vehicles(batch)
        flags = [again, _back_in_time(new, row, time), self._stray(batch, new)]
        flags.append((vehicles.ne_missing(vehicles[first[np.cumsum(new) - 1]])).to_numpy())
        flags.append(self._of_another_fleet(batch, new))
        return [*map(array_of, flags), array_of(bits)], _columns_of(costs, known, vehicles[first])

    def _vehicles(self, batch: pa.RecordBatch) -> pl.Series:
        """The id of each report's vehicle, as a text; missing without vehicles."""
        if self._named.vehicle is None:
            return pl.Series([None] * batch.num_rows, dtype=pl.String)
        ids = series_of(batch[self._named.vehicle])
        if ids.dtype.is_float() and (ids == ids.round(0)).all():
            ids = ids.cast(pl.Int64)  # as they were before the column became one of decimals
        return ids.cast(pl.String)

    def _of_another_fleet(self, batch: pa.RecordBatch, new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which reports name another fleet than the first of their trip."""
        if self._named.fleet is None:
            return np.zeros(len(new), dtype=np.bool_)
        fleets = numbers_of(batch[_FLEET])
        return np.asarray(fleets != fleets[np.flatnonzero(new)][np.cumsum(new) - 1])

    def _at_most(self, time: Floats, start: NDArray[np.int64]) -> Floats:
        """The most that the reports of each trip can cost, whatever is drawn; shape (t, 3)."""
        zones = self._relocation.noise.zones
        epsilons = zones.epsilons()
        least, most = float(epsilons.min()), float(epsilons.max())
        first = most if zones.by == "true" else least
        price = self._relocation.price.most
        costs = [price(first, (least, most), time[one:end]) for one, end in pairwise(start)]
        return np.array(costs, dtype=np.float64).reshape(-1, 3)

    def _stray(self, batch: pa.RecordBatch, new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which reports name another destination than the first of their trip."""
        if self._named.destination is None:
            return np.zeros(len(new), dtype=np.bool_)
        found = np.column_stack([numbers_of(batch[name]) for name in (TO_LATITUDE, TO_LONGITUDE)])
        first = found[np.flatnonzero(new)][np.cumsum(new) - 1]
        return np.asarray((found != first).any(axis=1))


def _far_apart(latitude: Floats, longitude: Floats, start: Starts, metres: float) -> Flags:
    """The same by the distance of published positions, in degrees."""
    kept = np.ones(len(latitude), dtype=np.bool_)
    if metres > 0:
        _keep_far(latitude, longitude, start, metres, kept)
    return kept


@njit(cache=True, nogil=True, error_model="numpy")
def _keep_far(
    latitude: Floats, longitude: Floats, start: Starts, metres: float, kept: Flags
) -> None:
    for trip in range(len(start) - 1):
        last = start[trip]
        for i in range(start[trip] + 1, start[trip + 1]):
            apart = metres_between(latitude[last], longitude[last], latitude[i], longitude[i])
            kept[i] = apart >= metres
            if kept[i]:
                last = i


def _columns_of(
    costs: Sequence[tuple[Floats, Integers]],
    known: Sequence[NDArray[np.generic]],
    vehicles: pl.Series,
) -> list[pa.Array]:
    """The arrays of ``of_trips``: for each way costs (t, 3) and numbers of reports, then the rest.

    ``known`` are the first row, the time at which a trip begins, and its word.
    """
    arrays: list[NDArray[Any]] = []
    for cost, reports in costs:
        arrays += [cost[:, 0], cost[:, 1], cost[:, 2].astype(np.int64), reports]
    texts = vehicles.cast(pl.String).to_arrow().cast(pa.string())
    return [*(array_of(array) for array in (*arrays, *known)), texts]


class _Mover:
    """Moves whole trips: a function of the batches of their reports."""

    def __init__(
        self,
        relocation: Relocation,
        named: TrajectoryColumns,
        shown: Sequence[str],
        randomness: Randomness,
    ) -> None:
        self._relocation = relocation
        self._named = named
        self._key = randomness.key("relocate")
        self._fields = (relocation.fields or randomness).key("relocate")
        """By what noise that stays with places is drawn."""
        self._of_vehicles = _tells_vehicles(relocation, named) is not None
        self._of_fleets = named.fleet is not None
        dtype = pa.int64() if relocation.remaining else pa.float64()
        far = pa.field(_FAR, pa.bool_())
        self.gives = pa.schema([*(pa.field(name, dtype) for name in shown), far])

    def __call__(self, batch: pa.RecordBatch) -> tuple[list[Any], list[Any]]:
        """What is shown of each report, and what the trips cost."""
        start = _starts(begins(batch[self._named.trip]))
        trips = Trips(
            latitude=np.ascontiguousarray(numbers_of(batch[LATITUDE])),
            longitude=np.ascontiguousarray(numbers_of(batch[LONGITUDE])),
            time=numbers_of(batch[SECONDS]),
            start=start,
            identity=numbers_of(batch[_WORD])[start[:-1]],
            receiver=self._receivers(batch, start),
            vehicle=numbers_of(batch[_VEHICLE])[start[:-1]] if self._of_vehicles else None,
            fleet=numbers_of(batch[_FLEET])[start[:-1]] if self._of_fleets else None,
        )
        shown, epsilon = self._shown(trips)
        far = np.ones(len(trips), dtype=np.bool_)
        if self._relocation.at_least:
            latitude, longitude = shown
            far = _far_apart(latitude, longitude, start, self._relocation.at_least)
        costs = np.zeros((len(start) - 1, 2))
        if self._relocation.noise.zones.epsilons().size > 1:
            cost = self._relocation.price.cost
            pairs = pairwise(start)
            costs[:] = [cost(epsilon[one:end], trips.time[one:end])[:2] for one, end in pairs]
        reports = np.add.reduceat(far.astype(np.int64), start[:-1])
        shown = [*shown, far]
        return [array_of(it) for it in shown], [array_of(it) for it in (*costs.T, reports)]

    def _receivers(self, batch: pa.RecordBatch, start: NDArray[np.int64]) -> Floats | None:
        """Where each trip is bound for, shape (t, 2)."""
        if self._named.destination is not None:
            first = [numbers_of(batch[name])[start[:-1]] for name in (TO_LATITUDE, TO_LONGITUDE)]
            return np.column_stack(first)
        common = self._relocation.destination
        return None if common is None else np.tile(np.array(common), (len(start) - 1, 1))

    def _shown(self, trips: Trips) -> tuple[list[NDArray[Any]], Floats]:
        """What is published of the reports, and the epsilon of each."""
        if self._relocation.remaining:
            return self._remaining(trips)
        moved = perturb(self._relocation.noise, trips, self._key, self._fields)
        decimals = self._relocation.decimals
        latitude = np.round(moved.latitude, decimals) + 0.0  # no minus zero
        longitude = np.round(moved.longitude, decimals) + 0.0
        longitude[longitude >= 180] -= 360
        return [latitude, longitude], moved.epsilon

    def _remaining(self, trips: Trips) -> tuple[list[NDArray[Any]], Floats]:
        """The noisy distance to each report's destination, in whole metres."""
        assert trips.receiver is not None, "was required"
        epsilon = np.full(len(trips), self._relocation.noise.zones.epsilons()[0, 0])
        latitude, longitude = np.repeat(trips.receiver, np.diff(trips.start), axis=0).T
        left = separation(
            trips.latitude,
            trips.longitude,
            np.ascontiguousarray(latitude),
            np.ascontiguousarray(longitude),
        )
        shown = np.rint(noisy_distances(left, epsilon, trips, self._key)).astype(np.int64)
        return [shown], epsilon


def _starts(new: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where each trip begins, and at the end the number of reports."""
    return np.append(np.flatnonzero(new), len(new))


def _back_in_time(
    new: NDArray[np.bool_], row: NDArray[np.int64], time: Floats
) -> NDArray[np.bool_]:
    """Which reports, in the order of the source, are earlier than the one before in their trip."""
    trip = np.cumsum(new)
    order = np.lexsort((row, trip))
    before = np.diff(time[order], prepend=np.nan) < 0
    back = np.zeros(len(time), dtype=np.bool_)
    back[order] = before & (np.diff(trip[order], prepend=0) == 0)
    return back


def _from_one(batch: pa.RecordBatch) -> list[pa.Array]:
    return [array_of(numbers_of(batch[0]).astype(np.int64) + 1)]


def _tells_vehicles(relocation: Relocation, named: TrajectoryColumns) -> str | None:
    """The column that tells vehicles apart, where noise depends on them."""
    return named.vehicle if relocation.noise.kind == FIELD else None
