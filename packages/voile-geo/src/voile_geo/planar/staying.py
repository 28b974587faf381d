"""Noise that stays with the place: a field of the vehicle's key, and fresh noise while it drives.

The distribution (``noise.GaussianField``): the noise of a report, in deviations, is

    sqrt(w c) A(place) + sqrt(w (1 - c)) F(place) + sqrt(1 - w) G(driving time)

where w is the share that stays, and c that of it which is shared.  A and F are random fields
(``field``) of the period in which the report lies: A of the fleet, F of the vehicle.  G is
first-order autoregressive, drawn for each trip, with a correlation that
falls to 1 / e in tau seconds of driving.

- **Standing.**  A truck within ``STILL`` metres of the place at which it last moved stands: it
  shows that place's position again, digit by digit, and its clock of driving time stops.  So
  neither hours nor a receiver's errors of some metres add anything, and what is shown is a
  function of the places at which it moved on.
- **The same place on another day** of the period has the same A and F.  Only G is new, so that the
  mean over days keeps share of the variance.
- **Another vehicle of the fleet** has the same A, so that the mean over M vehicles at one place
  keeps w (c + (1 - c) / M) of the variance.  Without A, M vehicles would do to each other what M
  days did; without F, one vehicle whose places are known would tell all of the others.
- **Another vehicle, period, key or distribution** has another field: of a place that is shown with
  one field in two sizes the position could be computed.  Periods begin at multiples of their length
  since 1970 (UTC).

What that gives away, exactly: when a truck stands (within ``STILL`` metres), and, but for the fresh
part, that a place is seen again.  Whoever knows the true position of one report knows the field
there, but for the fresh part, for the rest of the period.

Secrets: the key of a vehicle and a period (``field_key``) gives the field everywhere, and with it
every position of the vehicle in the period to within the fresh part; the table's key gives all.

Cost: that of ``field`` for each place at which trucks moved.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.randomness import Blocks128, Key
from voile_geo.geodesy import Floats, displace, metres_between
from voile_geo.planar.field import field_at
from voile_geo.planar.steps import gaussian_scale, normal_pair
from voile_geo.planar.trips import Positions, Trips

__all__ = [
    "DAY",
    "STILL",
    "FieldDistribution",
    "driven",
    "field_key",
    "field_noise",
    "move_with_field",
]

STILL = 50.0
"""Metres from where it last moved, within which a truck stands."""
DAY = 86_400.0

Indices = NDArray[np.int64]


def field_key(key: Key, vehicle: int, period: int) -> Key:
    """The key of the field of a vehicle in a period."""
    return key.within("field", f"{vehicle:x}", f"{period}")


@dataclass(frozen=True)
class FieldDistribution:
    """The parameters of the distribution."""

    share: float
    """Of the variance, that stays with the place."""
    length: float
    """Metres."""
    period: float
    """Days."""
    tau: float
    """Seconds of driving."""
    shared: float = 0.0
    """Of what stays, the share that all vehicles of a fleet have in common; below 1."""

    @property
    def name(self) -> tuple[str, ...]:
        """What tells it from other distributions, in keys; without fleets as before there were."""
        numbers = astuple(self) if self.shared else astuple(self)[:-1]
        return tuple(f"{number!r}" for number in numbers)


def move_with_field(
    trips: Trips, epsilon: float, distribution: FieldDistribution, key: Key, fields: Key
) -> Positions:
    """Move all reports of many trips: fresh noise by one key, and what stays by another.

    Raises ``ValueError`` where it is not said which vehicle each trip is of.
    """
    at, clock = driven(trips)
    # Another distribution has other fields: of one field in two sizes the position could be
    # computed.
    own = fields.within("law", f"{epsilon!r}", *distribution.name)
    noise = _staying(trips, at, distribution, own)
    fresh = np.empty_like(noise)
    _remember(trips.start, clock, trips.draws(key), distribution.tau, fresh)
    noise += math.sqrt(1 - distribution.share) * fresh
    east, north = gaussian_scale(epsilon) * noise.T
    # What is shown of a truck that stands is that of the report at which it last moved.
    moved = displace(trips.latitude, trips.longitude, east.copy(), north.copy())
    return Positions(moved[0][at], moved[1][at], np.full(len(trips), epsilon))


def _staying(trips: Trips, at: Indices, distribution: FieldDistribution, key: Key) -> Floats:
    """What stays with the place of each report, of vehicle and fleet, in deviations; (n, 2)."""
    if trips.vehicle is None:
        msg = "noise that stays with the place needs to know which vehicle each trip is of"
        raise ValueError(msg)
    share, shared = distribution.share, distribution.shared
    span = distribution.length, distribution.period
    noise = math.sqrt(share * (1 - shared)) * field_noise(trips, at, trips.vehicle, *span, key)
    if shared:
        fleet = np.zeros_like(trips.vehicle) if trips.fleet is None else trips.fleet
        common = field_noise(trips, at, fleet, *span, key.within("fleet"))
        noise += math.sqrt(share * shared) * common
    return noise


def driven(trips: Trips) -> tuple[Indices, Floats]:
    """For each report, that at which its truck last moved, and the trip's driving time; (n,)."""
    at, clock = np.empty(len(trips), dtype=np.int64), np.empty(len(trips))
    _follow(trips.latitude, trips.longitude, trips.time, trips.start, at, clock)
    return at, clock


def field_noise(
    trips: Trips, at: Indices, owner: NDArray[np.uint64], length: float, period: float, key: Key
) -> Floats:
    """The field at each report's place, of a trip's owner and period, standardized; shape (n, 2).

    Owners (t,) are vehicles, or fleets.  Reports at which a truck stands count for the one at which
    it last moved, whenever that was.
    """
    moving = np.flatnonzero(at == np.arange(len(at)))
    vehicle = np.repeat(owner, np.diff(trips.start))[moving]
    which = np.floor(trips.time[moving] / (period * DAY)).astype(np.int64)
    order = np.lexsort((which, vehicle))
    new = np.diff(vehicle[order]) != 0
    new |= np.diff(which[order]) != 0
    found = np.zeros((len(at), 2))
    for part in np.split(order, np.flatnonzero(new) + 1) if len(order) else ():
        rows = moving[part]
        of = field_key(key, int(vehicle[part[0]]), int(which[part[0]]))
        found[rows] = field_at(trips.latitude[rows], trips.longitude[rows], length, of)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _follow(  # type: ignore[no-untyped-def]
    latitude, longitude, time, start, at, clock
):
    for trip in range(len(start) - 1):
        moved, driving = start[trip], 0.0
        for i in range(start[trip], start[trip + 1]):
            far = metres_between(latitude[moved], longitude[moved], latitude[i], longitude[i])
            if i > start[trip] and far > STILL:
                driving += time[i] - time[i - 1]
                moved = i
            at[i], clock[i] = moved, driving


@njit(cache=True, nogil=True, error_model="numpy")
def _remember(start: Indices, clock: Floats, words: Blocks128, tau: float, fresh: Floats) -> None:
    """Fresh noise by driving time; reports without any between them share it."""
    for trip in range(len(start) - 1):
        east, north = 0.0, 0.0
        for i in range(start[trip], start[trip + 1]):
            kept = 0.0 if i == start[trip] else math.exp(-(clock[i] - clock[i - 1]) / tau)
            new = math.sqrt(1 - kept * kept)
            drawn = normal_pair(words[i, 0], words[i, 1])
            east, north = kept * east + new * drawn[0], kept * north + new * drawn[1]
            fresh[i, 0], fresh[i, 1] = east, north
