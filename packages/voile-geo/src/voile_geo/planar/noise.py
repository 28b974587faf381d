"""Which noise: planar Laplace, with angles selected or not, correlated Gaussian, and a field.

A mechanism moves whole tables of trips (``perturb``), and one position at a time in a live stream
(``Live``); both show the same positions for the same key.  A field is for tables only.

Guarantees, for two trajectories that are nowhere more than d metres apart:

- ``PlanarLaplace``: each report is epsilon-geo-indistinguishable; n reports cost n epsilon d.
- ``AngleSelection``: one report is; a trajectory is not at any epsilon (``angles``).
- ``CorrelatedGaussian``: N_i = a N_(i-1) + sqrt(1 - a^2) s xi with a = e^(-dt / tau) and
  s = 2 / (epsilon sqrt(pi / 2)), the same mean displacement as planar Laplace noise.  Exactly
  Gaussian-DP with mu^2 = (|D_1|^2 + sum |D_i - a D_(i-1)|^2 / (1 - a^2)) / s^2 for trajectories
  that differ by D_i (``costs``).
- ``GaussianField``: sqrt(w) F(place) + sqrt(1 - w) G(driving time), s as above (``staying``).
  Moving all trips of a vehicle and period as a whole is mu-Gaussian-DP, with a mu of at most that
  of G alone over sqrt(1 - w), by driving time: F is stationary, so that it has the same
  distribution after the move.  Where vehicles of a fleet share a part of F, that is true of all
  trips of the fleet together, and of no vehicle by itself.  Trajectories that differ otherwise
  come back to places, or stand, elsewhere, which is shown exactly: for these nothing is claimed.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
sections 2 and 5; the correlated noise is our own.

Cost: 40 to 60 ns a report in a table, some microseconds in a stream.

The noisy remaining distance is all that somebody needs who waits at a door, and no position is
published: how far a truck still has to go, with Laplace noise of scale 1 / epsilon, and never
below 0.  It is our own; the seed (section 8) measures arrival times from noisy positions.  The
distance |x - f| to a fixed place f is 1-Lipschitz in the position x, and so is the shortest way
along roads in the metric of the roads; a report is therefore epsilon-geo-indistinguishable, and n
reports cost n epsilon d.  A single recipient locates the truck on a ring, no better; recipients at
different places who pool their reports locate it like anybody with several bearings.  The mean
error is 1 / epsilon, where planar Laplace noise moves a position by 2 / epsilon; 15 ns a report.

A field in a live stream
------------------------
The distribution, and the numbers for the same keys, are those that a table gets for one trip of the
vehicle; a stream is one trip, however long.  Who calls says with each position by which keys the
fields of vehicle and fleet are drawn, and so begins and ends periods.

The state (true and shown position of where the vehicle last moved, the fresh noise, the time) is as
secret as the keys.  A stream that goes on without its state draws its fresh noise anew, and shows a
vehicle that stands at another position, by the same field.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from voile_base.compiled import njit
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Blocks128, Key
from voile_base.values import Document, Json
from voile_geo.geodesy import Floats, displaced, metres_between
from voile_geo.planar.field import STILL, FieldDistribution, Positions, Trips, fields_at
from voile_geo.planar.steps import (
    ANGLES,
    CORRELATED,
    FIELD,
    LAPLACE,
    Memory,
    Position,
    Zones,
    gaussian_scale,
    move_trips,
    normal_pair,
    step,
)

__all__ = [
    "AngleSelection",
    "CorrelatedGaussian",
    "GaussianField",
    "Live",
    "LiveField",
    "LocationNoise",
    "PlanarLaplace",
    "noisy_distances",
    "perturb",
]

_UNIT63 = 2.0**-63


class LocationNoise(Protocol):
    """A mechanism that moves positions; an immutable object."""

    name: ClassVar[str]
    kind: ClassVar[int]
    """The kind of its steps."""

    @property
    def zones(self) -> Zones:
        """How much noise where."""

    @property
    def parameter(self) -> float:
        """The parameter of its steps."""

    @property
    def fresh(self) -> Memory:
        """What is remembered before the first report."""


def perturb(noise: LocationNoise, trips: Trips, key: Key, fields: Key | None = None) -> Positions:
    """Move all reports of many trips; ``fields`` is the key of what stays with places, if another.

    Reports of one trip at equal times are the caller's to leave out where noise is correlated: they
    would share one noise, and show exactly how far apart they are.

    Raises ``ValueError`` where zones need to know where trips are bound for, or a field which
    vehicle they are of, and that is missing.
    """
    zones = noise.zones
    if isinstance(noise, GaussianField):
        one = float(zones.epsilons()[0, 0])
        distribution = FieldDistribution(
            noise.share, noise.length, noise.period, noise.tau, noise.shared
        )
        return trips.move_with_field(one, distribution, key, fields or key)
    unknown = trips.receiver is None or np.isnan(trips.receiver).any()
    if zones.needs_receiver and unknown:
        msg = "levels that differ need the place that each trip is bound for"
        raise ValueError(msg)
    table = zones.table(None).arrays
    shown = np.empty((3, len(trips)))
    for rows, part in trips.parts():
        receivers = part.receiver
        if receivers is None:
            receivers = np.full((len(part.identity), 2), math.nan)
        move_trips(
            noise.kind,
            noise.parameter,
            noise.fresh,
            (part.latitude, part.longitude, part.time),
            (part.start, receivers),
            table,
            part.draws(key),
            (shown[0, rows], shown[1, rows], shown[2, rows]),
        )
    return Positions(*shown)


class Live:
    """The reports of one trip as they come: the same positions as in a table.

    ``identity`` is the trip's word in ``Trips``, and ``state`` that of a stream to be resumed.
    Not to be shared between threads.
    """

    def __init__(
        self,
        noise: LocationNoise,
        key: Key,
        identity: int,
        receiver: Position | None = None,
        state: Document | None = None,
    ) -> None:
        if noise.kind == FIELD:
            msg = "a field moves whole tables, in which the vehicles of trips are known"
            raise ValueError(msg)
        self._noise = noise
        self._key = key
        self._identity = identity
        self._zones = noise.zones.table(receiver)
        state = state or {}
        self._count = int(state.get("reports", 0))
        self._memory: Memory = tuple(state.get("memory", noise.fresh))
        self._last: Position | None = tuple(state["last"]) if "last" in state else None
        self._time = float(state.get("time", -math.inf))

    @property
    def state(self) -> Json:
        """What a stream needs to go on elsewhere, as JSON can hold it.

        Secret, like the key: the noise in it tells the true position from the published one.
        """
        if self._last is None:
            return {}
        return {
            "reports": self._count,
            "memory": list(self._memory),
            "last": list(self._last),
            "time": self._time,
        }

    def rekey(self, key: Key) -> None:
        """Draw the noise of later reports by another key; the one before may be forgotten."""
        self._key = key

    @property
    def next_number(self) -> int:
        """The lowest number that the next report may have."""
        return self._count

    def epsilon(self, latitude: float, longitude: float) -> float:
        """Epsilon, per metre, that the next report will have if the truck is there."""
        return self._zones.epsilon((latitude, longitude), self._last)

    def report(
        self, latitude: float, longitude: float, time: float, number: int | None = None
    ) -> Position:
        """The position to publish for a true one; ``time`` in seconds.

        ``number`` is the report's own, which chooses its noise: the next one (None), or any later
        one, such as that of a time slot.  A stream that is resumed from a state that lags behind
        then never draws the same noise for another position.

        Raises ``ValueError``, and changes nothing, where time or numbers run backwards, where a
        position is none (latitude within 90, longitude within 180 degrees), and, with correlated
        noise, where time stands still: two reports at one time would have one noise, and their
        difference would be that of the true positions.
        """
        number = self._count if number is None else number
        self._check(latitude, longitude, time, number)
        noise = self._noise
        first, second = self._key.block(self._identity, number)
        new_latitude, new_longitude, self._memory = step(
            noise.kind,
            noise.parameter,
            (float(latitude), float(longitude)),
            self.epsilon(latitude, longitude),
            time - self._time,
            self._memory,
            np.uint64(first),
            np.uint64(second),
        )
        self._last, self._time, self._count = (new_latitude, new_longitude), time, number + 1
        return self._last

    def _check(self, latitude: float, longitude: float, time: float, number: int) -> None:
        """Refuse what cannot be reported, in words without the position."""
        # Written so that what is not a number fails.
        if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
            msg = "a position needs a latitude within 90 and a longitude within 180 degrees"
            raise ValueError(msg)
        if not math.isfinite(time):
            msg = "the time of a report is not a finite number of seconds"
            raise ValueError(msg)
        if time < self._time or number < self._count:
            msg = "a report lies before the one that was made before it"
            raise ValueError(msg)
        if time == self._time and self._noise.kind == CORRELATED:
            msg = (
                "two reports at one time would share their correlated noise, and show how far "
                "apart they are: leave the second out"
            )
            raise ValueError(msg)


@dataclass(frozen=True)
class PlanarLaplace:
    """Planar Laplace noise, drawn afresh for every report."""

    zones: Zones
    name: ClassVar[str] = "planar-laplace"
    kind: ClassVar[int] = LAPLACE
    parameter: ClassVar[float] = 0.0
    fresh: ClassVar[Memory] = (math.nan, 0.0)


@dataclass(frozen=True)
class AngleSelection:
    """Planar Laplace radii, in directions that hardly turn from one report to the next."""

    zones: Zones
    deviation: float
    """Of a turn, in radians: ``angles.turn_deviation``."""
    start: Literal["uniform", "zero"] = "uniform"
    """The first direction: uniform, or turned from north as in the seed."""
    name: ClassVar[str] = "angle-selection"
    kind: ClassVar[int] = ANGLES

    @property
    def parameter(self) -> float:
        """The deviation in turns."""
        return self.deviation / (2 * math.pi)

    @property
    def fresh(self) -> Memory:
        """The direction before the first; NaN where it is uniform."""
        return (math.nan if self.start == "uniform" else 0.0, 0.0)


@dataclass(frozen=True)
class CorrelatedGaussian:
    """Gaussian noise that remembers: first-order autoregressive with a time constant."""

    zones: Zones
    tau: float = 120.0
    """Seconds in which the correlation falls to 1 / e; above 0."""
    name: ClassVar[str] = "correlated-gaussian"
    kind: ClassVar[int] = CORRELATED
    fresh: ClassVar[Memory] = (0.0, 0.0)

    @property
    def parameter(self) -> float:
        """The time constant."""
        return self.tau


@dataclass(frozen=True)
class GaussianField:
    """Gaussian noise that stays with the place, and some that is fresh; see ``staying``.

    Raises ``PlanError`` for several zones: of a place that is shown with two sizes of one noise the
    position could be computed.
    """

    zones: Zones
    share: float = 0.8
    """Of the variance, that stays with the place; from 0 to 1."""
    length: float = 700.0
    """Metres in which the correlation of what stays falls to 1 / e; above 0."""
    period: float = 28.0
    """Days for which it stays; above 0."""
    tau: float = 120.0
    """Seconds of driving in which the correlation of what is fresh falls to 1 / e; above 0."""
    shared: float = 0.0
    """Of what stays, the share that all vehicles of a fleet have in common; from 0 to below 1."""
    name: ClassVar[str] = "gaussian-field"
    kind: ClassVar[int] = FIELD
    fresh: ClassVar[Memory] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if self.zones.epsilons().size > 1:
            msg = (
                "noise that stays with the place has one size everywhere: of a place that is shown "
                "with the same noise in two sizes the position can be computed"
            )
            raise PlanError(msg)
        if not 0 <= self.shared < 1:
            msg = (
                "the share of what stays that a fleet has in common must lie between 0 and below 1"
            )
            raise PlanError(msg)
        if not 0 <= self.share <= 1:
            msg = "the share of the noise that stays must lie between 0 and 1"
            raise PlanError(msg)

    @property
    def parameter(self) -> float:
        """The time constant of what is fresh."""
        return self.tau


def noisy_distances(distance: Floats, epsilon: Floats, trips: Trips, key: Key) -> Floats:
    """Distances to publish, in metres, for the n true ones of ``trips``; ``epsilon`` per metre."""
    drawn = trips.draws(key)
    shown = np.empty(len(distance))
    _add_noise(distance, epsilon, drawn, shown)
    return shown


@njit(cache=True, nogil=True, error_model="numpy")
def _add_noise(distance: Floats, epsilon: Floats, drawn: Blocks128, shown: Floats) -> None:
    for i in range(len(distance)):
        shown[i] = max(0.0, distance[i] + _laplace(drawn[i, 0]) / epsilon[i])


@njit(cache=True, nogil=True, error_model="numpy")
def _laplace(word: Any) -> float:
    """A standard Laplace variable from a word: an exponential with the sign of the lowest bit."""
    size = -math.log((float(word >> np.uint64(1)) + 1) * _UNIT63)
    return size if word & np.uint64(1) else -size


class LiveField:
    """The reports of a vehicle, one at a time.  Not to be shared between threads."""

    def __init__(self, noise: GaussianField, identity: int, state: Document | None = None) -> None:
        """``identity`` is the trip's word in ``Trips``; ``state`` of a stream to be resumed."""
        state = state or {}
        self._noise = noise
        self._identity = identity
        self._scale = gaussian_scale(float(noise.zones.epsilons()[0, 0]))
        self._place: Position | None = tuple(state["place"]) if "place" in state else None
        self._shown: Position = tuple(state.get("shown", (math.nan, math.nan)))
        self._memory: Position = tuple(state.get("memory", (0.0, 0.0)))
        self._time = float(state.get("time", -math.inf))
        self._count = int(state.get("reports", 0))

    @property
    def state(self) -> Json:
        """What the stream needs to go on elsewhere; secret."""
        if self._place is None:
            return {}
        return {
            "reports": self._count,
            "place": list(self._place),
            "shown": list(self._shown),
            "memory": list(self._memory),
            "time": self._time,
        }

    @property
    def next_number(self) -> int:
        """The lowest number that the next report may have."""
        return self._count

    def stands(self, latitude: float, longitude: float) -> bool:
        """Whether a vehicle there is where it last moved, and is shown there again."""
        if self._place is None:
            return False
        return bool(metres_between(*self._place, latitude, longitude) <= STILL)

    def report(
        self, place: Position, time: float, number: int, fresh: Key, fields: tuple[Key, Key]
    ) -> Position:
        """The position to publish for a true one, in degrees; ``time`` in seconds.

        ``number`` is the report's own and chooses, with the key ``fresh``, the fresh noise;
        ``fields`` are the keys of the fields of the vehicle and of its fleet in the period.

        Raises ``ValueError``, and changes nothing, where time or numbers run backwards, where a
        position is none, and where time stands still.
        """
        self._check(place, time, number)
        if not self.stands(*place):
            kept = 0.0
            if self._place is not None:
                kept = math.exp(-(time - self._time) / self._noise.tau)
            new = math.sqrt(1 - kept * kept)
            words = fresh.block(self._identity, number)
            drawn = normal_pair(np.uint64(words[0]), np.uint64(words[1]))
            memory = [kept * was + new * now for was, now in zip(self._memory, drawn, strict=True)]
            self._memory = memory[0], memory[1]
            self._shown = self._moved(place, fields)
            self._place = place
        self._time, self._count = time, number + 1
        return self._shown

    def _moved(self, place: Position, fields: tuple[Key, Key]) -> Position:
        share, shared, length = self._noise.share, self._noise.shared, self._noise.length
        here = np.array([place[0]]), np.array([place[1]])
        read = fields_at(*here, length, fields if shared else fields[:1])
        stays = math.sqrt(share * (1 - shared)) * read[0, 0]
        if shared:
            stays += math.sqrt(share * shared) * read[1, 0]
        stays += math.sqrt(1 - share) * np.array(self._memory)
        east, north = self._scale * stays
        moved: Position = displaced(*place, float(east), float(north))
        return moved

    def _check(self, place: Position, time: float, number: int) -> None:
        """Refuse what cannot be reported, in words without the position."""
        # Written so that what is not a number fails.
        if not (-90 <= place[0] <= 90 and -180 <= place[1] <= 180):
            msg = "a position needs a latitude within 90 and a longitude within 180 degrees"
            raise ValueError(msg)
        if not (math.isfinite(time) and time > self._time and number >= self._count):
            msg = "a report must be later than the one before it, at a time that is a number"
            raise ValueError(msg)
