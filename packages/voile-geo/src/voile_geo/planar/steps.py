"""One report after the other: how much noise where, and what each kind of it does to positions.

Tables and live streams go through the same functions, so that a trip that is published again with
the same key shows the same positions, however it is published.

A report draws two words of pseudorandom bits.  They give a radius from 75 bits, so that none
exceeds 52 / epsilon, and from the other 53 a uniform direction, or, by its quantile, the normal
turn of angle selection; or a pair of normal variables (Box and Muller).

A table is moved in blocks of some reports, and each block in three passes: draw, remember, move.
A pass by itself keeps the processor busy where one report after the other would have it wait for
each result; the numbers are the same.

Cost: some 30 ns a report; 15 ns more for selected angles, and 5 ns for correlated noise where the
gaps between reports differ.  Where zones follow what was published, each report waits for the one
before it (``Zones``).

Quantiles of the standard normal distribution: M. J. Wichura, "Algorithm AS 241: The percentage
points of the normal distribution", Applied Statistics 37 (1988), 477-484, whose coefficients these
are: three quotients of polynomials, right to 16 digits, in 5 to 10 ns.

Angle selection: the direction of a report's noise is that of the one before, hardly turned.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 5: eqs. 7 and 13, Algorithms 1 and 2, Figure 10.

The distribution: angle i = angle (i - 1) + sigma z, z standard normal, wrapped to a circle, with
sigma = spread sqrt(2 ln(1.25 / delta)) / epsilon (eq. 7, the Gaussian mechanism, which holds for
epsilon below 1; ``spread`` is the seed's Delta_2, the largest distance of two angles).

Claim: none for trajectories.  The angle does not depend on the position, so its epsilon protects
nothing about it.  The log-ratio of the densities of n reports from two trajectories that are
nowhere more than d apart is at most n epsilon d + (n - 1) kappa, where kappa = ln f(0) / f(pi) for
the density f of a wrapped turn.  Kappa does not vanish with d: there is no geo-indistinguishability
of trajectories at any epsilon.  A single report is planar Laplace, because the first direction is
uniform.

Departures: Algorithm 1 starts at the angle 0, and then the first report is not planar Laplace
(``start = "zero"`` keeps it reachable).  Eq. 13 truncates the normal distribution at half a turn
where Algorithm 2 wraps it; the two differ, and the mechanism wraps.

The radius of planar Laplace noise, and what finite precision costs.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 2 and eqs. 2 and 3, after Andrés, Bordenabe, Chatzikokolakis and Palamidessi,
"Geo-indistinguishability" (CCS 2013), sections 4 and 5.

The distribution: noise with density (epsilon^2 / 2 pi) e^(-epsilon r) in the plane has a uniform
direction and a radius r with epsilon r ~ Gamma(2, 1): distribution 1 - (1 + x) e^(-x), mean 2,
standard deviation sqrt(2), at x = epsilon r.

Mechanisms draw the sum of two exponential variables, -ln(u v) with u and v uniform.  The inverse of
the distribution, -(W(-1, (p - 1) / e) + 1) by Lambert's W, loses all digits for small p; the seed
prints the "+ 1" inside W, which is a slip.

Finite precision (eq. 3): where positions are rounded to a grid of step u and directions come in
steps of delta_theta, a mechanism run at epsilon' is epsilon-geo-indistinguishable within r_max if

    epsilon' + (1 / u) ln((q + 2 e^(epsilon' u)) / (q - 2 e^(epsilon' u))) <= epsilon,
    q = u / (r_max delta_theta).

There is such an epsilon' only where q > 2 and epsilon is large enough.

Zones: levels by distance to the receiver, radii by distance to the centre or map
---------------------------------------------------------------------------------
Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 5, eqs. 4 to 6: a position is to be hidden among all places within a radius r at a level l,
so that epsilon = l / r.  The level may rise as the truck comes near the receiver, who must know
when to be at the door; the radius grows with the distance to the centre, where roads are sparse, or
is looked up in a public grid (``RadiusGrid``), such as one made of the roads of a map
(``voile_geo.roads.nearest``), which the seed names as an option.

Claim: where the zone is that of the last published position, each report is epsilon-geo-
indistinguishable for the epsilon of its zone, which everybody can compute, and the losses of a trip
add up over the reports.  The seed takes the zone of the true position (``by = "true"``): at the
border of two zones the likelihood ratio is then unbounded, and nothing is claimed.

The first report of a trip has no position before it and takes the smallest epsilon of all zones.

A grid is in whole millionths of a degree, and positions are looked up to as many digits, so that
rounding a position to six decimals before it appears does not change its cell.

Cost: a report in a grid takes 60 ns more than one where nothing varies, and one in rings 150 ns.

Departure: thresholds and values are the custodian's; the seed's 400, 1,000 and 2,000 m do not
follow from its rule of five roads (in Beijing 20 segments lie within 156 m near the centre).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.errors import InfeasibleError, PlanError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Blocks128
from voile_geo.geodesy import Floats, displaced, metres_between, sine_cosine, sines_cosines

__all__ = [
    "ANGLES",
    "ANGLE_STEP",
    "CORRELATED",
    "FIELD",
    "LAPLACE",
    "MEAN_RADIUS",
    "MICRODEGREES",
    "Memory",
    "Position",
    "RadiusGrid",
    "ZoneTable",
    "Zones",
    "corrected_epsilon",
    "gaussian_scale",
    "move_trips",
    "normal_pair",
    "normal_pairs",
    "step",
    "turn_constant",
    "turn_deviation",
    "turn_within",
    "turn_within_truncated",
    "wrapped_density",
]

MICRODEGREES = 1_000_000
"""In a degree."""

Position = tuple[float, float]
"""Latitude and longitude in degrees."""
Cells = NDArray[np.int16]
GridArrays = tuple[tuple[int, int], tuple[int, int], Cells]
"""Corner and step in millionths of a degree, and places among the radii; no cells for no grid."""
ZoneArrays = tuple[Position, Floats, Floats, Floats, bool, GridArrays]
"""Centre, limits of levels and radii, epsilons, whether true positions count, and the grid."""
_NOWHERE = (math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class RadiusGrid:
    """Which radius holds in each cell of a grid; public.  Beyond the grid the last radius holds."""

    corner: tuple[int, int]
    """The south-western one: latitude and longitude in millionths of a degree."""
    step: tuple[int, int]
    """Height and width of a cell in millionths of a degree, at least 1."""
    cells: Cells
    """Shape (rows, columns), from the south-west: places among the radii of the zones."""

    @property
    def arrays(self) -> GridArrays:
        """The grid as compiled code takes it."""
        return self.corner, self.step, self.cells

    @property
    def middle(self) -> Position:
        """The position in its middle."""
        sides = zip(self.corner, self.step, self.cells.shape, strict=True)
        south, west = ((corner + step * count / 2) / MICRODEGREES for corner, step, count in sides)
        return south, west

    def holds(self, latitude: Floats, longitude: Floats) -> NDArray[np.bool_]:
        """Whether each of n positions lies on the grid."""
        found = np.empty(len(latitude), dtype=np.bool_)
        _hold(latitude, longitude, self.arrays, found)
        return found


_NO_GRID: GridArrays = ((0, 0), (1, 1), np.empty((0, 0), dtype=np.int16))


@dataclass(frozen=True)
class Zones:
    """Levels and radii by distance; raises ``PlanError`` where they do not fit together."""

    levels: Sequence[float]
    """From near the receiver to far away; each above 0."""
    radii: Sequence[float] = (1.0,)
    """From near the centre to far away, in metres; each above 0."""
    level_limits: Sequence[float] = ()
    """Metres from the receiver at which the next level begins; ascending, one fewer than levels."""
    radius_limits: Sequence[float] = ()
    """Metres from the centre at which the next radius begins; ascending, one fewer than radii."""
    centre: Position | None = None
    by: Literal["published", "true"] = "published"
    """Whose zone counts: that of the last published position, or that of the true one."""
    grid: RadiusGrid | None = None
    """Says which of the radii, which then ascend, holds where, in place of centre and limits."""

    def __post_init__(self) -> None:
        for names, limits in (("levels", "level_limits"), ("radii", "radius_limits")):
            values, borders = (np.asarray(getattr(self, n), float) for n in (names, limits))
            if not len(values) or not (np.isfinite(values).all() and (values > 0).all()):
                msg = f"{names} must be numbers above 0, at least one"
                raise PlanError(msg)
            if names == "radii" and self.grid is not None:
                self._check_grid(self.grid, values)
            elif len(borders) != len(values) - 1 or not (np.diff(borders, prepend=0) > 0).all():
                msg = f"{limits} must ascend from above 0, one fewer than there are {names}"
                raise PlanError(msg)
        if len(self.radii) > 1 and self.centre is None and self.grid is None:
            msg = "radii that differ need a centre to be measured from"
            raise PlanError(msg)

    def _check_grid(self, grid: RadiusGrid, radii: Floats) -> None:
        if self.centre is not None or len(self.radius_limits):
            msg = "radii are looked up in a grid, or by the distance to a centre; not both"
            raise PlanError(msg)
        if not (np.diff(radii) > 0).all():
            msg = "the radii of a grid must ascend"
            raise PlanError(msg)
        cells = grid.cells
        if not cells.size or cells.min() < 0 or cells.max() >= len(radii) or min(grid.step) < 1:
            msg = "the cells of a grid must be places among the radii, at least one"
            raise PlanError(msg)

    @property
    def needs_receiver(self) -> bool:
        """Whether the place that a truck is bound for matters."""
        return len(self.levels) > 1

    def epsilons(self) -> Floats:
        """Epsilon of each zone, per metre; shape (levels, radii)."""
        levels, radii = np.asarray(self.levels, float), np.asarray(self.radii, float)
        return np.asarray(levels[:, np.newaxis] / radii)

    def table(self, receiver: Position | None) -> ZoneTable:
        """The zones of a trip, which is bound for the receiver if one is given."""
        limits = (np.asarray(self.level_limits, float), np.asarray(self.radius_limits, float))
        centre = self.centre or _NOWHERE
        grid = self.grid.arrays if self.grid else _NO_GRID
        arrays = (centre, *limits, self.epsilons(), self.by == "true", grid)
        return ZoneTable(arrays, np.array(receiver or _NOWHERE))


@dataclass(frozen=True, eq=False)
class ZoneTable:
    """The zones of one trip, as compiled code takes them."""

    arrays: ZoneArrays
    receiver: Floats
    """Shape (2,); NaN where there is none."""

    def epsilon(self, true: Position, last: Position | None) -> float:
        """Epsilon of the next report, ``last`` being the position published before, if one was."""
        here = float(true[0]), float(true[1])  # one type to compile for
        before = here if last is None else (float(last[0]), float(last[1]))
        return float(_zone_epsilon(last is None, here, before, self.receiver, self.arrays))


@njit(cache=True, nogil=True, error_model="numpy")
def _zone_epsilon(
    first: bool, true: Position, last: Position, receiver: Floats, zones: ZoneArrays
) -> float:
    """Epsilon of a report at ``true``, whose trip last showed ``last`` unless this is its first."""
    centre, level_limits, radius_limits, epsilons, by_true, grid = zones
    if epsilons.size == 1:
        return float(epsilons[0, 0])
    if first and not by_true:
        return float(epsilons.min())
    at = true if by_true else last
    level = _zone(at, (receiver[0], receiver[1]), level_limits)
    if not grid[2].size:
        return float(epsilons[level, _zone(at, centre, radius_limits)])
    row, column = _cell(at, grid)
    return float(epsilons[level, epsilons.shape[1] - 1 if row < 0 else grid[2][row, column]])


@njit(cache=True, nogil=True, error_model="numpy")
def _zone(at: Position, origin: Position, limits: Floats) -> int:
    """In which ring around an origin a position lies."""
    if not len(limits):
        return 0
    distance = metres_between(at[0], at[1], origin[0], origin[1])
    return int(np.searchsorted(limits, distance, side="right"))


@njit(cache=True, nogil=True, error_model="numpy")
def _cell(at: Position, grid: GridArrays) -> tuple[int, int]:
    """The row and the column of a position in a grid; -1 for both beyond it."""
    corner, step, cells = grid
    row = (int(np.rint(at[0] * MICRODEGREES)) - corner[0]) // step[0]
    column = (int(np.rint(at[1] * MICRODEGREES)) - corner[1]) // step[1]
    if 0 <= row < cells.shape[0] and 0 <= column < cells.shape[1]:
        return row, column
    return -1, -1


@njit(cache=True, nogil=True, error_model="numpy")
def _hold(latitude: Floats, longitude: Floats, grid: GridArrays, found: NDArray[np.bool_]) -> None:
    for i in range(len(found)):
        found[i] = _cell((latitude[i], longitude[i]), grid)[0] >= 0


LAPLACE, ANGLES, CORRELATED, FIELD = range(4)
"""Kinds of noise: planar Laplace, with selected angles, and correlated Gaussian; a field depends
on places and vehicles, and is moved elsewhere (``staying``)."""

Memory = tuple[float, float]
"""What is remembered of the last noise: its direction in turns, or east and north in deviations."""
Pair = tuple[float, float]

_UNIT37, _UNIT38, _UNIT53 = 2.0**-37, 2.0**-38, 2.0**-53
_MIDDLE, _LARGEST = 2.0**-54, 1 - 2.0**-53
"""Take a direction of 53 bits to the middle of its step, which is neither 0 nor 1."""
_BLOCK = 256
_GAUSSIAN = 2 / math.sqrt(math.pi / 2)
"""Standard deviation per axis times epsilon, for a mean displacement of 2 / epsilon."""
_CENTRAL, _TAIL = 0.425, 5.0
_NEAR = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_AWAY = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
     1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959,
     1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
     0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187,
     1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
     0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699,
     6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
     7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
     0.59983220655588793769, 1.0),
)  # fmt: skip
"""Coefficients of numerators and denominators, from the highest power down."""


@njit(cache=True, nogil=True, error_model="numpy")
def gaussian_scale(epsilon: float) -> float:
    """Standard deviation per axis, in metres, for a mean displacement of 2 / epsilon."""
    return _GAUSSIAN / epsilon


@njit(cache=True, nogil=True, error_model="numpy")
def step(  # noqa: PLR0913 - compiled code takes plain numbers
    kind: int,
    parameter: float,
    true: Pair,
    epsilon: float,
    elapsed: float,
    memory: Memory,
    first: Any,
    second: Any,
) -> tuple[float, float, Memory]:
    """The position to publish for a true one, and what to remember of its noise.

    ``parameter`` is the deviation of a turn, in turns, or the time constant in seconds; ``elapsed``
    are the seconds since the report before, infinite for the first; ``first`` and ``second`` are
    the words drawn.
    """
    weights = _weights(kind, parameter, elapsed)
    east, north, memory = _remember(kind, weights, _draw(kind, first, second), memory)
    scale = _scale(kind, epsilon)
    latitude, longitude = displaced(true[0], true[1], scale * east, scale * north)
    return latitude, longitude, memory


@njit(cache=True, nogil=True, error_model="numpy")
def move_trips(  # noqa: PLR0913
    kind: int,
    parameter: float,
    fresh: Memory,
    place: tuple[Floats, Floats, Floats],
    trips: tuple[Any, Floats],
    zones: ZoneArrays,
    words: Blocks128,
    shown: tuple[Floats, Floats, Floats],
) -> None:
    """Move all reports of many trips.

    ``place`` is latitude, longitude and time; ``trips`` where each begins, and its receiver;
    ``shown`` takes latitude, longitude and epsilon.
    """
    start, receivers = trips
    noise = np.empty((2, _BLOCK))
    for trip in range(len(start) - 1):
        begin, end = start[trip], start[trip + 1]
        memory = fresh
        for block in range(begin, end, _BLOCK):
            rows = (begin, block, min(block + _BLOCK, end))
            for i in range(rows[1], rows[2]):
                noise[0, i - block], noise[1, i - block] = _draw(kind, words[i, 0], words[i, 1])
            memory = _remember_block(kind, parameter, memory, place[2], rows, noise)
            _move_block(kind, place, receivers[trip], zones, rows, noise, shown)


@njit(cache=True, nogil=True, error_model="numpy")
def _remember_block(
    kind: int, parameter: float, memory: Memory, time: Floats, rows: Any, noise: Floats
) -> Memory:
    """Make noise east and north, in units of its scale, of what a block of reports drew.

    ``rows`` are where the trip begins, and where the block begins and ends.
    """
    begin, block, end = rows
    before = math.inf
    weights = _weights(kind, parameter, before)
    for i in range(block, end):
        elapsed = time[i] - time[i - 1] if i > begin else math.inf
        if elapsed != before:  # mostly reports come at regular intervals
            weights, before = _weights(kind, parameter, elapsed), elapsed
        drawn = (noise[0, i - block], noise[1, i - block])
        noise[0, i - block], noise[1, i - block], memory = _remember(kind, weights, drawn, memory)
    return memory


@njit(cache=True, nogil=True, error_model="numpy")
def _move_block(
    kind: int,
    place: tuple[Floats, Floats, Floats],
    receiver: Floats,
    zones: ZoneArrays,
    rows: Any,
    noise: Floats,
    shown: tuple[Floats, Floats, Floats],
) -> None:
    """Publish a block of reports, each with the epsilon of its zone."""
    begin, block, end = rows
    latitude, longitude, _ = place
    epsilon = zones[3][0, 0]
    several, scale = zones[3].size > 1, _scale(kind, epsilon)
    for i in range(block, end):
        true = (latitude[i], longitude[i])
        if several:
            last = (shown[0][i - 1], shown[1][i - 1]) if i > begin else true
            epsilon = _zone_epsilon(i == begin, true, last, receiver, zones)
            scale = _scale(kind, epsilon)
        east, north = scale * noise[0, i - block], scale * noise[1, i - block]
        shown[0][i], shown[1][i] = displaced(true[0], true[1], east, north)
        shown[2][i] = epsilon


@njit(cache=True, nogil=True, error_model="numpy")
def _scale(kind: int, epsilon: float) -> float:
    """Metres for each unit of noise."""
    return gaussian_scale(epsilon) if kind == CORRELATED else 1 / epsilon


@njit(cache=True, nogil=True, error_model="numpy")
def _draw(kind: int, first: Any, second: Any) -> Pair:
    """What two words give: two normal variables, or a radius times epsilon and a direction."""
    if kind == CORRELATED:
        return normal_pair(first, second)
    return _scaled_radius(first, second), float(first >> np.uint64(11)) * _UNIT53


@njit(cache=True, nogil=True, error_model="numpy")
def _weights(kind: int, parameter: float, elapsed: float) -> Pair:
    """The weights of what is remembered and of what was drawn."""
    if kind != CORRELATED:
        return 1.0, parameter
    kept = math.exp(-elapsed / parameter)
    return kept, math.sqrt(1 - kept * kept)


@njit(cache=True, nogil=True, error_model="numpy")
def _remember(kind: int, weights: Pair, drawn: Pair, memory: Memory) -> tuple[float, float, Memory]:
    """Noise east and north, in units of its scale, and what to remember of it."""
    kept, new = weights
    if kind == CORRELATED:
        east, north = kept * memory[0] + new * drawn[0], kept * memory[1] + new * drawn[1]
        return east, north, (east, north)
    turns = drawn[1]
    if kind == ANGLES and not math.isnan(memory[0]):
        turns = memory[0] + new * _normal_quantile(min(turns + _MIDDLE, _LARGEST))
        turns -= math.floor(turns)
    sine, cosine = sine_cosine(turns)
    return drawn[0] * sine, drawn[0] * cosine, (turns, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _scaled_radius(first: Any, second: Any) -> float:
    """Epsilon times a radius, from two words: Gamma(2, 1), as the sum of two exponentials."""
    # Both factors lie in (0, 1]; the bits that give the direction are not used again.
    factor = (float(second >> np.uint64(26)) + 1) * _UNIT38
    low = (first & np.uint64(0x7FF)) << np.uint64(26) | (second & np.uint64(0x3FFFFFF))
    return -math.log(factor * (float(low) + 1) * _UNIT37)


@njit(cache=True, nogil=True, error_model="numpy")
def normal_pair(first: Any, second: Any) -> tuple[float, float]:
    """Two independent standard normal variables from two words (Box and Muller)."""
    length = math.sqrt(-2 * math.log((float(second >> np.uint64(11)) + 1) * _UNIT53))
    sine, cosine = sine_cosine(float(first >> np.uint64(11)) * _UNIT53)
    return length * sine, length * cosine


@njit(cache=True, nogil=True, error_model="numpy")
def normal_pairs(words, turns, work, pairs):  # type: ignore[no-untyped-def]
    """``normal_pair`` of n blocks, shape (n, 2), digit by digit, into ``pairs`` of shape (2, n).

    ``turns``, n unsigned words, and ``work``, of shape (3, n), are to work in.
    """
    length, sine, cosine = work[2], pairs[0], pairs[1]
    for i in range(len(words)):
        turns[i] = words[i, 0] >> np.uint64(11)
    sines_cosines(turns, work[:2], sine, cosine)
    for i in range(len(words)):
        length[i] = (float(np.int64(words[i, 1] >> np.uint64(11))) + 1) * _UNIT53
    for i in range(len(words)):
        length[i] = math.log(length[i])
    for i in range(len(words)):
        length[i] = math.sqrt(-2 * length[i])
    for i in range(len(words)):
        sine[i], cosine[i] = length[i] * sine[i], length[i] * cosine[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _normal_quantile(probability: float) -> float:
    """The value that a standard normal variable stays below with a probability within (0, 1)."""
    centred = probability - 0.5
    if abs(centred) <= _CENTRAL:
        return centred * _quotient(_CENTRAL * _CENTRAL - centred * centred, _NEAR)
    tail = math.sqrt(-math.log(min(probability, 1 - probability)))
    size = _quotient(tail - 1.6, _AWAY) if tail <= _TAIL else _quotient(tail - _TAIL, _FAR)
    return math.copysign(size, centred)


@njit(cache=True, nogil=True, error_model="numpy")
def _quotient(x: float, terms: tuple[tuple[float, ...], tuple[float, ...]]) -> float:
    above, below = terms[0][0], terms[1][0]
    for i in range(1, 8):
        above, below = above * x + terms[0][i], below * x + terms[1][i]
    return above / below


special = on_demand("scipy.special")


def turn_deviation(epsilon: float, delta: float, spread: float = 2 * math.pi) -> float:
    """Sigma of eq. 7 in radians, for an epsilon of angles above 0 and a delta between 0 and 1."""
    return spread * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def wrapped_density(turn: Floats, deviation: float) -> Floats:
    """Density, per radian, of a normal turn wrapped to the circle; radians, any shape."""
    turn = np.asarray(turn, dtype=np.float64)
    if deviation > math.pi:  # the Fourier series converges where the sum over turns is slow
        waves = np.arange(1, 2 + math.ceil(9 / deviation))
        terms = np.exp(-0.5 * (waves * deviation) ** 2) * np.cos(turn[..., np.newaxis] * waves)
        return np.asarray((1 + 2 * terms.sum(axis=-1)) / (2 * math.pi))
    rounds = 2 * math.pi * np.arange(-_rounds(deviation), _rounds(deviation) + 1)
    shifted = (turn[..., np.newaxis] + rounds) / deviation
    scale = deviation * math.sqrt(2 * math.pi)
    return np.asarray(np.exp(-0.5 * shifted**2).sum(axis=-1) / scale)


def turn_within(reach: float, deviation: float) -> float:
    """The chance that a wrapped turn stays within ``reach`` radians to either side, up to pi."""
    rounds = 2 * math.pi * np.arange(-_rounds(deviation), _rounds(deviation) + 1)
    ends = special.ndtr((rounds + reach) / deviation) - special.ndtr((rounds - reach) / deviation)
    return float(ends.sum())


def turn_within_truncated(reach: float, deviation: float) -> float:
    """The same for a turn truncated at half a turn, as eq. 13 has it."""

    def inside(limit: float) -> float:
        return float(special.erf(limit / (deviation * math.sqrt(2))))

    return inside(reach) / inside(math.pi)


def turn_constant(deviation: float) -> float:
    """Kappa: the logarithm of how much likelier no turn is than a reversal."""
    ahead, back = wrapped_density(np.array([0.0, math.pi]), deviation)
    # Far out the density is that of two equal terms, whose logarithm does not underflow.
    far = math.log(2) - math.pi**2 / (2 * deviation**2) - math.log(deviation)
    last = math.log(back) if back > 0 else far - 0.5 * math.log(2 * math.pi)
    return math.log(ahead) - last


def _rounds(deviation: float) -> int:
    """How many times round the circle matters."""
    return 1 + math.ceil(9 * deviation / (2 * math.pi))


optimize = on_demand("scipy.optimize")

MEAN_RADIUS = 2.0
"""Mean radius times epsilon."""
ANGLE_STEP = 2 * math.pi * 2.0**-53
"""Between the directions that are drawn, in radians."""


def corrected_epsilon(
    epsilon: float, step: float, reach: float, angle_step: float = ANGLE_STEP
) -> float:
    """The largest epsilon' (1/m) to draw with, so that rounded positions keep ``epsilon``; eq. 3.

    ``step`` is the grid of published positions and ``reach`` the largest radius, in metres;
    ``angle_step`` is in radians.  Raises ``InfeasibleError`` where no epsilon' does.
    """
    fineness = step / (reach * angle_step)

    def excess(drawn: float) -> float:
        growth = 2 * math.exp(drawn * step)
        return drawn + math.log((fineness + growth) / (fineness - growth)) / step - epsilon

    if fineness <= 2 or excess(0.0) > 0:
        msg = (
            f"positions on a grid of {step:g} m within {reach:g} m cannot keep epsilon = "
            f"{epsilon:g} per metre; use a coarser grid, a larger epsilon or a smaller reach"
        )
        raise InfeasibleError(msg)
    largest = min(epsilon, math.log(fineness / 2) / step * (1 - 1e-12))
    if excess(largest) <= 0:
        return largest
    # Rounded down: the excess of what is returned is not above 0.
    found = float(optimize.brentq(excess, 0.0, largest, xtol=1e-18, rtol=1e-15))
    return found * (1 - 1e-12)
