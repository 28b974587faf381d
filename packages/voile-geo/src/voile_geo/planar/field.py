"""A Gaussian random field over the earth, drawn from a key: the same value at the same place.

The distribution: two independent stationary Gaussian fields, noise to the east and to the north,
with variance 1 and the covariance ``_kernel`` of places r metres apart, which is e^(-r / length)
but for an error that is known (``_kernel``).  A value is a function of the key and the place
alone: it can be asked for at any place, in any order, on any day and on any machine, and no history
is kept.

How it is sampled: turning bands (Matheron 1973; Mantoglou and Wilson 1982).  The field is the sum
of ``BANDS`` independent processes on lines through the earth's centre, each read where the place
projects to, over sqrt(``BANDS``).  For lines in all directions of space a process of covariance
(1 - |t|) e^(-|t|) gives e^(-r).  That process is the velocity of a Matern process of smoothness
3/2, which with its position is Markov; so each line is drawn by halving: states at nodes 32 lengths
apart, taken for independent (their correlation is 4e-13), then the state in the middle of two given
both, down to nodes length / 256 apart, each from a block of bits that the key has for that node.
Places are rounded to these nodes.

Why so, and not otherwise.  Given the key's uniform bits the finite-dimensional distribution is
Gaussian and known exactly, for the lines are fixed and public: an accountant and an adversary can
compute with it.  Random Fourier features as expensive (4,096) miss the covariance by .03 to .06 in
a way that depends on the key, and have finite rank: who knows noise at some thousands of places
knows the frequencies, and then the noise everywhere.  Here the error is at most .005 within one
length and .025 beyond, and the rank is that of the lattice.  Circulant embedding is exact, and
needs a table of the whole region for each key.  Conditioning on all earlier draws is exact and
needs a history of true places, which is the secret itself.

What its repetition gives away, exactly: two reports with the same noise were at the same place, and
who knows the true place of one knows that of all others there.  The kernel has a kink at 0, so that
noise 100 m further is off by .43 deviations: a smooth one would show the shape of the path.

Cost: some 60 microseconds a place: 2 ``BANDS`` (15) blocks of AES and as many pairs of normals, of
whose time half are logarithms.

Noise that stays with the place: a field of the vehicle's key, and fresh noise while it drives.

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

Secrets: the key of a vehicle and a period (``_field_key``) gives the field everywhere, and with it
every position of the vehicle in the period to within the fresh part; the table's key gives all.

Cost: that of ``field`` for each place at which trucks moved.

Trips as arrays: the reports of many trucks, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_base.randomness import Blocks128, Key
from voile_geo.geodesy import Floats, cartesian, displace, metres_between
from voile_geo.planar.steps import gaussian_scale, normal_pair, normal_pairs

__all__ = [
    "BANDS",
    "DAY",
    "RESOLUTION",
    "STILL",
    "FieldDistribution",
    "Positions",
    "Trips",
    "fields_at",
]


BANDS = 128
RESOLUTION = 256
"""Nodes of a line to a length."""
_LEVELS = 13
_APART = (1 << _LEVELS) // RESOLUTION
"""Lengths between nodes whose states are independent."""
_AXES = 2
_ENDS = 2
_DRAWS = _ENDS + _LEVELS
"""Nodes that are drawn for a place, an axis and a line: both ends, and the middle at each level."""
_BLOCKS = _AXES * _DRAWS * BANDS
_GOLDEN = (math.sqrt(5) - 1) / 2


@lru_cache(maxsize=1)
def _bands() -> Floats:
    """Unit vectors along the lines, shape (``BANDS``, 3): Fibonacci's lattice on a half-sphere."""
    place = np.arange(BANDS) + 0.5
    height, turn = place / BANDS, 2 * math.pi * _GOLDEN * place
    radius = np.sqrt(1 - height * height)
    return np.stack((radius * np.cos(turn), radius * np.sin(turn), height), axis=1)


def _kernel(
    east: Floats, north: Floats, latitude: float, longitude: float, length: float
) -> Floats:
    """The covariance of places some metres apart around a position, before rounding; shape (n,).

    It differs from e^(-r / length) by at most .005 within one length and by .025 further away.
    """
    phi, turn = math.radians(latitude), math.radians(longitude)
    to_east = np.array([-math.sin(turn), math.cos(turn), 0.0])
    to_north = np.array(
        [-math.sin(phi) * math.cos(turn), -math.sin(phi) * math.sin(turn), math.cos(phi)]
    )
    step = np.outer(east, to_east) + np.outer(north, to_north)
    along = np.abs(step @ _bands().T) / length
    return np.asarray(((1 - along) * np.exp(-along)).mean(axis=1))


def _field_at(latitude: Floats, longitude: Floats, length: float, key: Key) -> Floats:
    """The field of a key at n places in degrees: noise east and north, standardized; (n, 2)."""
    found: Floats = fields_at(latitude, longitude, length, [key])[0]
    return found


def fields_at(latitude: Floats, longitude: Floats, length: float, keys: Sequence[Key]) -> Floats:
    """The fields of k keys at the same n places, shape (k, n, 2); they share the way to places."""
    found = np.empty((len(keys), len(latitude), _AXES))
    along = cartesian(latitude, longitude) @ _bands().T
    nodes, asked = np.empty(BANDS, dtype=np.int64), np.empty((_BLOCKS, 2), dtype=np.uint64)
    for place in range(len(latitude)):
        _ask(along[place], RESOLUTION / length, nodes, asked)
        for key, field in zip(keys, found, strict=True):
            _descend(nodes, key.drawn(asked), _bridges(), field[place])
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _ask(along, scale, nodes, asked):  # type: ignore[no-untyped-def]
    """The nodes to which a place is rounded, and the blocks to draw for it, shape (n, 2).

    Of each axis the two outermost nodes, and then that in the middle at each level; of each of them
    all lines.  The second word is the node, the first tells axis, line and level.
    """
    for band in range(BANDS):
        nodes[band] = int(np.rint(along[band] * scale))
    at = 0
    for axis in range(_AXES):
        for draw in range(_DRAWS):
            level = max(draw - 1, 0)
            for band in range(BANDS):
                if draw < _ENDS:
                    node = (nodes[band] >> _LEVELS) + draw
                else:
                    node = 2 * (nodes[band] >> (_LEVELS - draw + _ENDS)) + 1
                asked[at, 0] = np.uint64((axis << 16) + (band << 8) + level)
                asked[at, 1] = np.uint64(node)
                at += 1


@lru_cache(maxsize=1)
def _bridges() -> tuple[Floats, Floats, Floats]:
    """For each level, the state in the middle given both ends.

    Weights of the left and of the right end, and a root of the covariance; shape (levels, 2, 2).
    """
    left, right, root = (np.empty((_LEVELS, 2, 2)) for _ in range(3))
    for level in range(_LEVELS):
        step, noise = _transition(_APART / 2 ** (level + 1))
        precise = np.linalg.inv(noise)
        covariance = np.linalg.inv(precise + step.T @ precise @ step)
        left[level] = covariance @ precise @ step
        right[level] = covariance @ step.T @ precise
        root[level] = np.linalg.cholesky(covariance)
    return left, right, root


def _transition(far: float) -> tuple[Floats, Floats]:
    """How position and velocity go on over so many lengths: the matrix, and what is new.

    Both have variance 1 and are independent at one point.
    """
    fades, twice = math.exp(-far), math.exp(-2 * far)
    step = fades * np.array([[1 + far, far], [-far, 1 - far]])
    both = 2 * far * far * twice
    # 1 - e^(-2 h) (1 + 2 h + 2 h^2), written so that little is lost where h is small.
    place = -math.expm1(-2 * far) - twice * (2 * far + 2 * far * far)
    speed = -math.expm1(-2 * far) + twice * (2 * far - 2 * far * far)
    return step, np.array([[place, both], [both, speed]])


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(nodes, words, bridges, found):  # type: ignore[no-untyped-def]
    """What the lines add up to at a place on each axis, into ``found`` of shape (axes,).

    ``words`` are the blocks of bits, in the order of ``_ask``.  All lines go one level down
    together, which a processor does for several at once.
    """
    turns, work, at = np.empty(BANDS, dtype=np.uint64), np.empty((3, BANDS)), 0
    left, right, drawn = np.empty((2, BANDS)), np.empty((2, BANDS)), np.empty((2, BANDS))
    for axis in range(_AXES):
        for draw in range(_DRAWS):
            pairs = left if draw == 0 else right if draw == 1 else drawn
            normal_pairs(words[at : at + BANDS], turns, work, pairs)
            at += BANDS
            if draw >= _ENDS:
                level = draw - _ENDS
                _middle(bridges, level, left, right, drawn, work)
                _choose(nodes, _LEVELS - level - 1, work, left, right)
        total = 0.0
        for band in range(BANDS):
            total += left[1, band]
        found[axis] = total / math.sqrt(BANDS)


@njit(cache=True, nogil=True, error_model="numpy")
def _middle(bridges, level, left, right, drawn, middle):  # type: ignore[no-untyped-def]
    """Position and velocity in the middle of all lines' intervals, given both ends.

    States, and the standard normal pairs ``drawn``, have shape (2, lines).
    """
    a, b, c = bridges[0][level], bridges[1][level], bridges[2][level]
    x, u, y, v = left[0], left[1], right[0], right[1]
    p, q, place, speed = drawn[0], drawn[1], middle[0], middle[1]
    a00, a01, b00, b01, c00 = a[0, 0], a[0, 1], b[0, 0], b[0, 1], c[0, 0]
    for i in range(BANDS):
        place[i] = a00 * x[i] + a01 * u[i] + b00 * y[i] + b01 * v[i] + c00 * p[i]
    a10, a11, b10, b11, c10, c11 = a[1, 0], a[1, 1], b[1, 0], b[1, 1], c[1, 0], c[1, 1]
    for i in range(BANDS):
        speed[i] = a10 * x[i] + a11 * u[i] + b10 * y[i] + b11 * v[i] + c10 * p[i] + c11 * q[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _choose(nodes, bit, middle, left, right):  # type: ignore[no-untyped-def]
    """Let the middle take the place of the end that is further from the line's node."""
    for part in range(2):
        new, before, after = middle[part], left[part], right[part]
        for i in range(BANDS):
            is_right = (nodes[i] >> bit) & 1 != 0
            begin, end = before[i], after[i]
            before[i] = new[i] if is_right else begin
            after[i] = end if is_right else new[i]


_PART = 1 << 14


@dataclass(frozen=True, eq=False)
class Trips:
    """The n true reports of t trips, each trip in the order of time; private."""

    latitude: Floats
    """Shape (n,), degrees."""
    longitude: Floats
    time: Floats
    """Shape (n,), seconds; never falls within a trip."""
    start: NDArray[np.int64]
    """Shape (t + 1,): the first report of each trip, and n at the end."""
    identity: NDArray[np.uint64]
    """Shape (t,): a word that tells trips apart, by which each draws for itself."""
    receiver: Floats | None = None
    """Shape (t, 2): where each trip is bound for, latitude and longitude; public."""
    vehicle: NDArray[np.uint64] | None = None
    """Shape (t,): a word that tells apart the vehicles that trips are of."""
    fleet: NDArray[np.uint64] | None = None
    """Shape (t,): a word that tells apart the fleets that trips are of; None: they are of one."""

    def __len__(self) -> int:
        return len(self.latitude)

    def draws(self, key: Key) -> Blocks128:
        """For each report 128 pseudorandom bits, (n, 2) words.

        They are a function of the key, the trip and the number of the report in it.
        """
        reports = np.diff(self.start)
        number = np.arange(len(self)) - np.repeat(self.start[:-1], reports)
        return key.blocks(np.repeat(self.identity, reports), number.astype(np.uint64))

    def parts(self) -> Iterator[tuple[slice, Trips]]:
        """Whole trips of some reports in turn, and where these stand.

        What is drawn for a part stays in the processor's cache, unless one trip alone is too long.
        """
        first = 0
        while first < len(self.start) - 1:
            limit = self.start[first] + _PART
            last = max(first + 1, int(np.searchsorted(self.start, limit, side="right")) - 1)
            rows = slice(int(self.start[first]), int(self.start[last]))
            yield (
                rows,
                Trips(
                    self.latitude[rows],
                    self.longitude[rows],
                    self.time[rows],
                    self.start[first : last + 1] - rows.start,
                    self.identity[first:last],
                    None if self.receiver is None else self.receiver[first:last],
                    None if self.vehicle is None else self.vehicle[first:last],
                    None if self.fleet is None else self.fleet[first:last],
                ),
            )
            first = last

    def move_with_field(
        self, epsilon: float, distribution: FieldDistribution, key: Key, fields: Key
    ) -> Positions:
        """Move all reports of many trips: fresh noise by one key, and what stays by another.

        Raises ``ValueError`` where it is not said which vehicle each trip is of.
        """
        at, clock = _driven(self)
        # Another distribution has other fields: of one field in two sizes the position could be
        # computed.
        own = fields.within("law", f"{epsilon!r}", *distribution.name)
        noise = _staying(self, at, distribution, own)
        fresh = np.empty_like(noise)
        _remember(self.start, clock, self.draws(key), distribution.tau, fresh)
        noise += math.sqrt(1 - distribution.share) * fresh
        east, north = gaussian_scale(epsilon) * noise.T
        # What is shown of a truck that stands is that of the report at which it last moved.
        moved = displace(self.latitude, self.longitude, east.copy(), north.copy())
        return Positions(moved[0][at], moved[1][at], np.full(len(self), epsilon))


@dataclass(frozen=True, eq=False)
class Positions:
    """What is published of n reports."""

    latitude: Floats
    longitude: Floats
    epsilon: Floats
    """Shape (n,), per metre: what the noise of each report was scaled by."""


STILL = 50.0
"""Metres from where it last moved, within which a truck stands."""
DAY = 86_400.0

Indices = NDArray[np.int64]


def _field_key(key: Key, vehicle: int, period: int) -> Key:
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


def _staying(trips: Trips, at: Indices, distribution: FieldDistribution, key: Key) -> Floats:
    """What stays with the place of each report, of vehicle and fleet, in deviations; (n, 2)."""
    if trips.vehicle is None:
        msg = "noise that stays with the place needs to know which vehicle each trip is of"
        raise ValueError(msg)
    share, shared = distribution.share, distribution.shared
    span = distribution.length, distribution.period
    noise = math.sqrt(share * (1 - shared)) * _field_noise(trips, at, trips.vehicle, *span, key)
    if shared:
        fleet = np.zeros_like(trips.vehicle) if trips.fleet is None else trips.fleet
        common = _field_noise(trips, at, fleet, *span, key.within("fleet"))
        noise += math.sqrt(share * shared) * common
    return noise


def _driven(trips: Trips) -> tuple[Indices, Floats]:
    """For each report, that at which its truck last moved, and the trip's driving time; (n,)."""
    at, clock = np.empty(len(trips), dtype=np.int64), np.empty(len(trips))
    _follow(trips.latitude, trips.longitude, trips.time, trips.start, at, clock)
    return at, clock


def _field_noise(
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
        of = _field_key(key, int(vehicle[part[0]]), int(which[part[0]]))
        found[rows] = _field_at(trips.latitude[rows], trips.longitude[rows], length, of)
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
