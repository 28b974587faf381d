"""How likely a truck's reports are from given roads: the distributions of noise that he assumes.

``Memoryless``     each report by itself: planar Laplace noise, a receiver's error around
                   a road, distances to places
``Turning``        planar Laplace radii, whose direction is that of the report before, turned
``Remembering``    first-order autoregressive Gaussian noise
``Staying``        a Gaussian field over places, of which something may be known, and fresh noise

Densities of a report are relative to that of the likeliest piece; what lies below ``FAINT`` of it
is taken for impossible.

Cost: O(s) for each report, s pieces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np

from voile.attack.trajectory.states import Lines
from voile.compiled import njit
from voile.dp.planar.angles import wrapped_density
from voile.geodesy import Floats
from voile.roads.nearest import distance_to_segment
from voile.roads.network import Indices

__all__ = [
    "FAINT",
    "AndKnown",
    "Distances",
    "Factors",
    "LaplaceNoise",
    "NoiseDistribution",
    "ReceiverError",
    "Remembering",
    "Staying",
    "Turning",
    "pair_factor",
]

FAINT = 1e-12
_ALONE, _TURNING, _REMEMBERING, _STAYING = range(4)
_NOTHING = np.zeros((1, 2))
_LEVEL = np.ones((1, 1))
_TURNS, _SHARPNESS = 1024, 64


@dataclass(frozen=True, eq=False)
class Factors:
    """The distribution of one report: a factor for each piece, and perhaps for each pair."""

    density: Floats
    """Shape (s,): of the report from each piece, at most 1."""
    kind: int = _ALONE
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
    """Shape (s, 2), as pairs need it: the noise from each piece; or its direction in turns, and the
    variance of that because a truck is not in the middle, in units of the variance of a turn; or,
    shape (s, 6), what is not known of noise that stays (``Staying``)."""


class NoiseDistribution(Protocol):
    """The distribution of the reports of one trip."""

    def factors(self, report: int) -> Factors:
        """The distribution of a report, given the one before."""


@dataclass(frozen=True, eq=False)
class AndKnown:
    """A distribution of noise, and what is known of some reports besides."""

    distribution: NoiseDistribution
    known: Mapping[int, Floats]
    """For some reports, how likely each of s pieces is, shape (s,); one of them at least."""

    def factors(self, report: int) -> Factors:
        """The distribution of a report, given the one before."""
        factors = self.distribution.factors(report)
        if report not in self.known:
            return factors
        density = factors.density * self.known[report]
        if not density.any():  # what is shown is very unlikely there, and what is known holds
            density = self.known[report]
        return replace(factors, density=density / density.max())


@njit(cache=True, nogil=True, error_model="numpy")
def pair_factor(pair: Any, i: int, j: int) -> float:
    """The factor of going from piece i at the report before to piece j at this one."""
    kind, memory, precision, turns, before, now = pair
    if kind == _TURNING:
        turn = now[j, 0] - before[i, 0]
        place = int((turn - math.floor(turn)) * turns.shape[1]) % turns.shape[1]
        own = 1 / (1 + before[i, 1] + now[j, 1])
        return float(turns[int(own * (len(turns) - 1) + 0.5), place])
    if kind == _REMEMBERING:
        east = now[j, 0] - memory * before[i, 0]
        north = now[j, 1] - memory * before[i, 1]
        return math.exp(-precision * (east * east + north * north))
    if kind == _STAYING:
        far = math.hypot(now[j, 4] - before[i, 4], now[j, 5] - before[i, 5])
        common = memory + before[i, 3] * now[j, 3] * math.exp(-far * precision)
        kept = common / before[i, 2]
        variance = now[j, 2] - common * kept
        east = now[j, 0] - kept * before[i, 0]
        north = now[j, 1] - kept * before[i, 1]
        return float(math.exp(-0.5 * (east * east + north * north) / variance) / variance)
    return 1.0


@dataclass(frozen=True, eq=False)
class LaplaceNoise:
    """Planar Laplace noise, drawn afresh: density proportional to e^(-epsilon r)."""

    middle: Floats
    """Shape (s, 2): the pieces, in metres."""
    shown: Floats
    """Shape (n, 2): the published positions, in metres."""
    epsilon: Floats
    """Shape (n,), per metre."""

    def factors(self, report: int) -> Factors:
        """The distribution of a report."""
        noise = self.shown[report] - self.middle
        return Factors(_relative(-self.epsilon[report] * np.hypot(noise[:, 0], noise[:, 1])))


@dataclass(frozen=True, eq=False)
class ReceiverError:
    """Gaussian errors that are small beside a piece: by the distance to the piece, not its middle.

    Source: Newson and Krumm (2009), section 4.1: the usual distribution of map matching.
    """

    line: Lines
    """The straight parts of the pieces."""
    pieces: int
    """How many there are, s."""
    shown: Floats
    """Shape (n, 2): the positions of the receiver, in metres."""
    scale: Floats
    """Shape (n,): metres per axis."""

    def factors(self, report: int) -> Factors:
        """The distribution of a report."""
        far, scale = np.full(self.pieces, np.inf), float(self.scale[report])
        faint = -2 * math.log(FAINT) * scale**2
        _nearest_parts(self.shown[report], self.line.ends, self.line.piece, faint, far)
        return Factors(_relative(-0.5 * (far / scale) ** 2))


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

    def factors(self, report: int) -> Factors:
        """The distribution of a report."""
        log = np.zeros(len(self.middle))
        for place, shown in zip(self.places, self.shown[report], strict=True):
            far = np.hypot(*(self.middle - place).T)
            if shown > 0:
                log -= self.epsilon[report] * np.abs(shown - far)
            else:  # the chance of a value at or below 0
                log += np.log(0.5) - self.epsilon[report] * far
        return Factors(_relative(log))


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

    def factors(self, report: int) -> Factors:
        """The distribution of a report, given the one before."""
        noise = self.shown[report] - self.middle
        radius = np.hypot(noise[:, 0], noise[:, 1])
        log_density = -self.epsilon[report] * radius
        direction = np.arctan2(noise[:, 0], noise[:, 1]) / (2 * math.pi)
        # Seen from nearby, the direction to a truck that is off the middle is off by more.
        unsure = (self.blur / np.maximum(radius, self.blur + 1e-9) / self.deviation) ** 2
        turns = _turn_densities(self.deviation, self._steps(report))
        if not report and self.start == "zero":
            likely = _looked_up(turns, direction, 1 / (1 + unsure))
            log_density += np.log(np.maximum(likely, np.finfo(np.float64).tiny))
        kind = _TURNING if report else _ALONE
        pairs = np.stack((direction, unsure), axis=1)
        return Factors(_relative(log_density), kind, turns=turns, noise=pairs)

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

    def factors(self, report: int) -> Factors:
        """The distribution of a report, given the one before."""
        noise = self.shown[report] - self.middle
        deviations = _square(noise) / self.scale[report] ** 2
        if not report:
            return Factors(_relative(-0.5 * deviations), noise=noise)
        # The distribution given the noise before is a factor of pairs; alone, only the impossible
        # is out.
        possible = (deviations < -2 * math.log(FAINT)).astype(np.float64)
        kept = float(self.kept[report])
        memory = kept * float(self.scale[report] / self.scale[report - 1])
        variance = self.scale[report] ** 2 * (1 - kept * kept)
        variance = max(variance + self.blur**2 * (1 + memory * memory), 1e-6)
        return Factors(possible, _REMEMBERING, memory, float(0.5 / variance), noise=noise)


@dataclass(frozen=True, eq=False)
class Staying:
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

    def factors(self, report: int) -> Factors:
        """The distribution of a report, given the one before."""
        rest = np.empty((len(self.middle), 6))
        rest[:, :2] = self.shown[report] - self.middle - self.mean
        # Above 0 even where all is known and nothing fresh.
        rest[:, 2] = self.deviation**2 + self.fresh[report] + self.blur**2 + 1.0
        rest[:, 3] = self.deviation
        rest[:, 4:] = self.middle
        deviations = _square(rest[:, :2]) / rest[:, 2]
        if not report:
            density = _relative(-0.5 * deviations - np.log(rest[:, 2]))
            return Factors(density, noise=rest)
        possible = (deviations < -2 * math.log(FAINT)).astype(np.float64)
        common = float(self.kept[report] * np.sqrt(self.fresh[report] * self.fresh[report - 1]))
        return Factors(possible, _STAYING, common, 1 / self.length, noise=rest)


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


def _square(vectors: Floats) -> Floats:
    """Squared lengths of s vectors; written out, which is five times as fast as a sum of pairs."""
    east, north = vectors.T
    return np.asarray(east * east + north * north)


def _relative(log_density: Floats) -> Floats:
    """Densities relative to the largest; 0 for the faint ones."""
    log_density = log_density - log_density.max()
    clear = log_density >= math.log(FAINT)
    density = np.zeros(len(log_density))
    density[clear] = np.exp(log_density[clear])
    return density
