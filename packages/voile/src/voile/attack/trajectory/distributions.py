"""How likely a truck's reports are from given roads: the distributions of noise that he assumes.

``Memoryless``     each report by itself: planar Laplace noise, a receiver's error around
                   a road, distances to places
``Turning``        planar Laplace radii, whose direction is that of the report before, turned
``Remembering``    first-order autoregressive Gaussian noise
``FieldBelief``        a Gaussian field over places, of which something may be known, and fresh
noise

Densities of a report are relative to that of the likeliest piece; what lies below ``FAINT`` of it
is taken for impossible.

Cost: O(s) for each report, s pieces.

What the distribution of one report says of pieces, and of pairs of pieces at two reports.

Where noise is drawn afresh, a report depends on the piece alone; where it remembers, turns or stays
with places, on the piece at the report before too.

Powers of e for many numbers at once, in a loop that compilers turn into vector instructions.

Algorithm: e^x = 2^n e^r for a whole number n and |r| <= log(2) / 2; the first factor is written as
the exponent of a floating-point number, the second is a sum of powers of r up to the 11th.

Claim: within 1e-13 of the power, relative to it, for x from -700 to 700; 0 below -709.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np

from voile.attack.trajectory.reach import RoadLines
from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_geo.geodesy import Floats
from voile_geo.planar.steps import wrapped_density
from voile_geo.roads.nearest import distance_to_segment
from voile_geo.roads.network import Indices

__all__ = [
    "ALONE",
    "FAINT",
    "REMEMBERING",
    "STAYING",
    "TURNING",
    "AndKnown",
    "Distances",
    "Factors",
    "FieldBelief",
    "LaplaceNoise",
    "NoiseDistribution",
    "ReceiverError",
    "Remembering",
    "Turning",
    "pair_factor",
    "times_pair_factors",
]


_HALVINGS, _LOG_2 = 1 / math.log(2), math.log(2)
_FAINTEST = -745.0
_C2, _C3, _C4, _C5, _C6 = (1 / math.factorial(n) for n in range(2, 7))
_C7, _C8, _C9, _C10, _C11 = (1 / math.factorial(n) for n in range(7, 12))


@njit(cache=True, nogil=True)
def _exponentials(values, room, count):  # type: ignore[no-untyped-def]
    """Put e^x in the place of each x among the first ``count`` of values (k,), at most 700.

    ``room`` (k,) of int64 is to work in.
    """
    scale = room.view(np.float64)
    for k in range(count):
        power = max(values[k], _FAINTEST) * _HALVINGS
        whole = math.floor(power + 0.5)
        r = (power - whole) * _LOG_2
        high = _C6 + r * (_C7 + r * (_C8 + r * (_C9 + r * (_C10 + r * _C11))))
        values[k] = 1 + r * (1 + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * high)))))
        room[k] = np.int64(max(whole, -1023) + 1023) << 52
    for k in range(count):
        values[k] *= scale[k]


ALONE, TURNING, REMEMBERING, STAYING = range(4)
_NOTHING = np.zeros((1, 2))
_LEVEL = np.ones((1, 1))


@dataclass(frozen=True, eq=False)
class Factors:
    """The distribution of one report: a factor for each piece, and perhaps for each pair."""

    piece: Indices
    """Shape (m,), ascending: the pieces from which the report is not all but impossible."""
    density: Floats
    """Shape (m,): of the report from each of these, at most 1."""
    kind: int = ALONE
    memory: float = 0.0
    """How much of the noise before is left, for remembering noise; for noise that stays, what two
    reports have in common of the fresh part, in square metres."""
    precision: float = 0.0
    """Half the inverse variance of what is new in remembering noise; for noise that stays, one over
    its length."""
    turns: Floats = field(default_factory=lambda: _LEVEL)
    """Shape (q, b): for turning noise, the density of a turn in b equal parts of the circle.

    By how much of what is seen of a turn is the mechanism's own, in q equal steps up to all.
    """
    noise: Floats = field(default_factory=lambda: _NOTHING)
    """Shape (m, 2), as pairs need it: the noise from each piece; or its direction in turns, and the
    variance of that because a truck is not in the middle, in units of the variance of a turn; or,
    shape (m, 6), what is not known of noise that stays (``Staying``)."""

    def pair(self, now: Factors) -> tuple[Any, ...]:
        """What ``pair_factor`` needs of two reports in a row."""
        return now.kind, now.memory, now.precision, now.turns, self.noise, now.noise

    def most_of_pairs(self, now: Factors, former: Indices) -> Floats:
        """Bounds from above, shape (m,), of each piece's factors.

        Each is its density times the factor of any pair with a piece before, among those at the
        places ``former`` of the report before.
        """
        if now.kind == TURNING:
            return np.asarray(now.density * now.turns.max())
        if now.kind == REMEMBERING:
            expected = now.memory * self.noise[former]
            centre = (expected.min(axis=0) + expected.max(axis=0)) / 2
            around = float(np.sqrt(_square(expected - centre).max()))
            off = np.maximum(0.0, np.sqrt(_square(now.noise - centre)) - around)
            return np.asarray(now.density * np.exp(-now.precision * off * off))
        if now.kind == STAYING:
            return now.density * _most_staying(self.noise[former], now)
        return now.density


@njit(cache=True, nogil=True, error_model="numpy")
def pair_factor(pair: Any, i: int, j: int) -> float:
    """The factor of going from piece i at the report before to piece j at this one.

    These are places among the pieces of each report's ``Factors``.
    """
    kind, memory, precision, turns, before, now = pair
    if kind == TURNING:
        turn = now[j, 0] - before[i, 0]
        place = int((turn - math.floor(turn)) * turns.shape[1]) % turns.shape[1]
        own = 1 / (1 + before[i, 1] + now[j, 1])
        return float(turns[int(own * (len(turns) - 1) + 0.5), place])
    if kind == REMEMBERING:
        east = now[j, 0] - memory * before[i, 0]
        north = now[j, 1] - memory * before[i, 1]
        return math.exp(-precision * (east * east + north * north))
    if kind == STAYING:
        x, y = now[j, 4] - before[i, 4], now[j, 5] - before[i, 5]
        far = math.sqrt(x * x + y * y)
        common = memory + before[i, 3] * now[j, 3] * math.exp(-far * precision)
        kept = common / before[i, 2]
        variance = now[j, 2] - common * kept
        east = now[j, 0] - kept * before[i, 0]
        north = now[j, 1] - kept * before[i, 1]
        return float(math.exp(-0.5 * (east * east + north * north) / variance) / variance)
    return 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def times_pair_factors(pair, i, noise, room, count, product):  # type: ignore[no-untyped-def]
    """Multiply the first ``count`` numbers of ``product`` (k,) by factors of going from piece i.

    ``noise`` (c, k) is what pairs need of the pieces one goes to, and ``room`` are arrays (k,) to
    work in.  What is 0 stays so, whatever the factor.
    """
    kind, memory, precision, turns, before, _ = pair
    powers = room[0]
    if kind == TURNING:
        steps, parts = len(turns) - 1, turns.shape[1]
        for k in range(count):
            turn = noise[0, k] - before[i, 0]
            place = int((turn - math.floor(turn)) * parts) % parts
            own = 1 / (1 + before[i, 1] + noise[1, k])
            product[k] *= turns[int(own * steps + 0.5), place]
        return
    if kind == REMEMBERING:
        east, north = memory * before[i, 0], memory * before[i, 1]
        for k in range(count):
            x, y = noise[0, k] - east, noise[1, k] - north
            powers[k] = -precision * (x * x + y * y)
    else:
        _staying(before[i], memory, precision, noise, room, count, product)
    _exponentials(powers, room[1], count)
    for k in range(count):
        product[k] *= powers[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _staying(before, memory, precision, noise, room, count, product):  # type: ignore[no-untyped-def]
    """Divide by variances given the noise before, and leave in ``room`` what is to be a power."""
    powers = room[0]
    for k in range(count):
        x, y = noise[4, k] - before[4], noise[5, k] - before[5]
        powers[k] = -precision * math.sqrt(x * x + y * y)
    _exponentials(powers, room[1], count)
    for k in range(count):
        common = memory + before[3] * noise[3, k] * powers[k]
        kept = common / before[2]
        variance = noise[2, k] - common * kept
        # Pieces that no report can be from have none.
        inverse = 1 / variance if variance > 0 else 0.0
        east, north = noise[0, k] - kept * before[0], noise[1, k] - kept * before[1]
        powers[k] = -0.5 * (east * east + north * north) * inverse
        product[k] *= inverse


def _most_staying(before: Floats, now: Factors) -> Floats:
    """By the farthest noise before, the nearest piece before, and what is least sure there."""
    apart = np.maximum(before[:, 4:].min(axis=0) - now.noise[:, 4:], 0.0)
    apart = np.maximum(apart, now.noise[:, 4:] - before[:, 4:].max(axis=0))
    alike = np.exp(-np.sqrt(_square(apart)) * now.precision)
    least, variance = before[:, 2].min(), now.noise[:, 2]
    common = now.memory + before[:, 3].max() * now.noise[:, 3] * alike
    kept = common / least * np.sqrt(_square(before[:, :2]).max())
    off = np.maximum(0.0, np.sqrt(_square(now.noise[:, :2])) - kept)
    # Whatever is known, a piece is some metres long.
    sure = np.maximum(variance - common * common / least, 1.0)
    return np.asarray(np.exp(-0.5 * off * off / variance) / sure)


def _square(vectors: Floats) -> Floats:
    """Squared lengths of s vectors; written out, which is five times as fast as a sum of pairs."""
    east, north = vectors.T
    return np.asarray(east * east + north * north)


FAINT = 1e-12
_TURNS, _SHARPNESS = 1024, 64


class NoiseDistribution(Protocol):
    """The distribution of the reports of one trip."""

    def factors(self, report: int, among: Indices | None = None) -> Factors:
        """The distribution of a report, given the one before; perhaps among some pieces alone.

        One of these is possible, however unlikely it is beside all others.
        """


@dataclass(frozen=True, eq=False)
class AndKnown:
    """A distribution of noise, and what is known of some reports besides."""

    distribution: NoiseDistribution
    known: Mapping[int, Floats]
    """For some reports, how likely each of s pieces is, shape (s,); one of them at least."""

    def factors(self, report: int, among: Indices | None = None) -> Factors:
        """The distribution of a report, given the one before."""
        if report not in self.known:
            return self.distribution.factors(report, among)
        known = self.known[report]
        likely = np.flatnonzero(known > FAINT * known.max())
        factors = self.distribution.factors(report, likely)
        density = factors.density * known[factors.piece]
        return replace(factors, density=density / density.max())


@dataclass(frozen=True, eq=False)
class LaplaceNoise:
    """Planar Laplace noise, drawn afresh: density proportional to e^(-epsilon r)."""

    middle: Floats
    """Shape (s, 2): the pieces, in metres."""
    shown: Floats
    """Shape (n, 2): the published positions, in metres."""
    epsilon: Floats
    """Shape (n,), per metre."""

    def factors(self, report: int, among: Indices | None = None) -> Factors:
        """The distribution of a report."""
        noise = self.shown[report] - _some(self.middle, among)
        far = np.hypot(noise[:, 0], noise[:, 1])
        return Factors(*_at(among, *_relative(-self.epsilon[report] * far)))


@dataclass(frozen=True, eq=False)
class ReceiverError:
    """Gaussian errors that are small beside a piece: by the distance to the piece, not its middle.

    Source: Newson and Krumm (2009), section 4.1: the usual distribution of map matching.
    """

    line: RoadLines
    """The straight parts of the pieces."""
    pieces: int
    """How many there are, s."""
    shown: Floats
    """Shape (n, 2): the positions of the receiver, in metres."""
    scale: Floats
    """Shape (n,): metres per axis."""

    def factors(self, report: int, among: Indices | None = None) -> Factors:
        """The distribution of a report."""
        far, scale = np.full(self.pieces, np.inf), float(self.scale[report])
        faint = np.inf if among is not None else -2 * math.log(FAINT) * scale**2
        _nearest_parts(self.shown[report], self.line.ends, self.line.piece, faint, far)
        return Factors(*_at(among, *_relative(-0.5 * (_some(far, among) / scale) ** 2)))


@njit(cache=True, nogil=True)
def _nearest_parts(point, ends, piece, faint, far):  # type: ignore[no-untyped-def]
    """Metres to each piece; infinite where its square is ``faint`` above the least one."""
    x, y = point
    least = np.inf
    for k in range(len(piece)):
        east = max(min(ends[k, 0], ends[k, 2]) - x, x - max(ends[k, 0], ends[k, 2]), 0.0)
        north = max(min(ends[k, 1], ends[k, 3]) - y, y - max(ends[k, 1], ends[k, 3]), 0.0)
        if east * east + north * north > least * least + faint:
            continue
        metres, _ = distance_to_segment(x, y, ends[k])
        far[piece[k]] = min(far[piece[k]], metres)
        least = min(least, metres)


@dataclass(frozen=True, eq=False)
class Distances:
    """Noisy distances to m places, each with Laplace noise; those who know them pool them."""

    middle: Floats
    places: Floats
    """Shape (m, 2): the places, in metres."""
    shown: Floats
    """Shape (n, m): the published distances; 0 stands for all that fell below."""
    epsilon: Floats
    """Shape (n,), per metre."""

    def factors(self, report: int, among: Indices | None = None) -> Factors:
        """The distribution of a report."""
        middle = _some(self.middle, among)
        log = np.zeros(len(middle))
        for place, shown in zip(self.places, self.shown[report], strict=True):
            far = np.hypot(*(middle - place).T)
            if shown > 0:
                log -= self.epsilon[report] * np.abs(shown - far)
            else:  # the chance of a value at or below 0
                log += np.log(0.5) - self.epsilon[report] * far
        return Factors(*_at(among, *_relative(log)))


@dataclass(frozen=True, eq=False)
class Turning:
    """Planar Laplace radii in directions that turn from report to report."""

    middle: Floats
    shown: Floats
    epsilon: Floats
    deviation: float
    """Of a turn, in radians."""
    blur: float = 0.0
    """Metres per axis by which a truck may be off the middle of its piece."""
    start: Literal["uniform", "zero"] = "uniform"
    """The first direction of the trip: anywhere, or one turn from north."""
    number: Indices | None = None
    """Shape (n,): of each among all reports of the trip, from 0; None where none was left out."""

    def factors(self, report: int, among: Indices | None = None) -> Factors:
        """The distribution of a report, given the one before."""
        noise = self.shown[report] - _some(self.middle, among)
        radius = np.hypot(noise[:, 0], noise[:, 1])
        log_density = -self.epsilon[report] * radius
        direction = np.arctan2(noise[:, 0], noise[:, 1]) / (2 * math.pi)
        # Seen from nearby, the direction to a truck that is off the middle is off by more.
        unsure = (self.blur / np.maximum(radius, self.blur + 1e-9) / self.deviation) ** 2
        turns = _turn_densities(self.deviation, self._steps(report))
        if not report and self.start == "zero":
            likely = _looked_up(turns, direction, 1 / (1 + unsure))
            log_density += np.log(np.maximum(likely, np.finfo(np.float64).tiny))
        kind = TURNING if report else ALONE
        which, density = _relative(log_density)
        pairs = np.stack((direction[which], unsure[which]), axis=1)
        return Factors(*_at(among, which, density), kind, turns=turns, noise=pairs)

    def _steps(self, report: int) -> int:
        """How many turns there were since the report before, or since north."""
        if self.number is None:
            return 1
        return int(self.number[report] - (self.number[report - 1] if report else -1))


@dataclass(frozen=True, eq=False)
class Remembering:
    """First-order autoregressive Gaussian noise."""

    middle: Floats
    shown: Floats
    scale: Floats
    """Shape (n,): standard deviation per axis, in metres."""
    kept: Floats
    """Shape (n,): the correlation with the noise before, in deviations; unused for the first."""
    blur: float = 0.0
    """Metres per axis by which a truck may be off the middle of its piece."""

    def factors(self, report: int, among: Indices | None = None) -> Factors:
        """The distribution of a report, given the one before."""
        noise = self.shown[report] - _some(self.middle, among)
        deviations = _square(noise) / self.scale[report] ** 2
        if not report:
            which, density = _relative(-0.5 * deviations)
            return Factors(*_at(among, which, density), noise=noise[which])
        # The distribution given the noise before is a factor of pairs; alone, only the impossible
        # is out.
        which = _possible(deviations, among)
        possible = _at(among, which, np.ones(len(which)))
        kept = float(self.kept[report])
        memory = kept * float(self.scale[report] / self.scale[report - 1])
        variance = self.scale[report] ** 2 * (1 - kept * kept)
        variance = max(variance + self.blur**2 * (1 + memory * memory), 1e-6)
        precision = float(0.5 / variance)
        return Factors(*possible, REMEMBERING, memory, precision, noise=noise[which])


@dataclass(frozen=True, eq=False)
class FieldBelief:
    """A Gaussian field over places and fresh noise, of which a report and the one before tell.

    What is known of the field beforehand is its mean and its deviation at each piece; how the rest
    of it hangs together between two pieces is taken for e^(-r / length), as without any knowledge.
    The distribution of a report is taken given the one before alone, though it depends on all of
    them.
    """

    middle: Floats
    shown: Floats
    mean: Floats
    """Shape (s, 2): of the field at each piece, in metres; 0 where nothing is known."""
    deviation: Floats
    """Shape (s,): of the field around its mean, per axis, in metres."""
    fresh: Floats
    """Shape (n,): variance of the fresh part of each report, per axis, in square metres."""
    kept: Floats
    """Shape (n,): its correlation with that of the report before; unused for the first."""
    length: float
    """Metres."""
    blur: float = 0.0
    """Metres per axis by which a truck may be off the middle of its piece."""

    def factors(self, report: int, among: Indices | None = None) -> Factors:
        """The distribution of a report, given the one before."""
        middle, own = _some(self.middle, among), _some(self.deviation, among)
        noise = self.shown[report] - middle - _some(self.mean, among)
        # Above 0 even where all is known and nothing fresh.
        variance = own * own + (self.fresh[report] + self.blur**2 + 1.0)
        deviations = _square(noise) / variance
        if report:
            which = _possible(deviations, among)
            density = np.ones(len(which))
        else:
            which, density = _relative(-0.5 * deviations - np.log(variance))
        rest = np.column_stack((noise[which], variance[which], own[which], middle[which]))
        alone = Factors(*_at(among, which, density), noise=rest)
        if not report:
            return alone
        common = float(self.kept[report] * np.sqrt(self.fresh[report] * self.fresh[report - 1]))
        return replace(alone, kind=STAYING, memory=common, precision=1 / self.length)


@lru_cache(maxsize=16)
def _turn_densities(deviation: float, steps: int) -> Floats:
    """Densities of some turns in a row, as ``Factors.turns`` has them.

    Own is the share of one turn's variance in that of a turn as it is seen.
    """
    angle = (np.arange(_TURNS) + 0.5) / _TURNS * 2 * math.pi
    own = np.maximum(np.arange(_SHARPNESS), 0.5) / (_SHARPNESS - 1)
    deviations = deviation * np.sqrt(1 / own + (steps - 1))
    return np.stack([wrapped_density(angle, float(each)) for each in deviations])


def _looked_up(turns: Floats, turn: Floats, own: Floats) -> Floats:
    """The densities of turns from north, in parts of the circle, as ``pair_factor`` finds them."""
    place = ((turn - np.floor(turn)) * turns.shape[1]).astype(np.int64) % turns.shape[1]
    return np.asarray(turns[(own * (len(turns) - 1) + 0.5).astype(np.int64), place])


def _some(values: Floats, among: Indices | None) -> Floats:
    """Those of some pieces, or of all."""
    return values if among is None else values[among]


def _at(among: Indices | None, which: Indices, density: Floats) -> tuple[Indices, Floats]:
    """Pieces by their numbers, where these are places among some."""
    return which if among is None else among[which], density


def _possible(deviations: Floats, among: Indices | None) -> Indices:
    """Which pieces are not all but impossible, by squared deviations; of chosen ones all."""
    if among is not None:
        return np.arange(len(deviations))
    return np.flatnonzero(deviations < -2 * math.log(FAINT))


def _relative(log_density: Floats) -> tuple[Indices, Floats]:
    """Which pieces are not faint, and their densities relative to the largest."""
    log_density = log_density - log_density.max()
    clear = np.flatnonzero(log_density >= math.log(FAINT))
    return clear, np.exp(log_density[clear])
