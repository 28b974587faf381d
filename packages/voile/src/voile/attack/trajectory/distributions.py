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
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np

from voile.attack.trajectory.factors import (
    ALONE,
    REMEMBERING,
    STAYING,
    TURNING,
    Factors,
    square,
)
from voile.attack.trajectory.states import RoadLines
from voile_base.compiled import njit
from voile_geo.geodesy import Floats
from voile_geo.planar.angles import wrapped_density
from voile_geo.roads.nearest import distance_to_segment
from voile_geo.roads.network import Indices

__all__ = [
    "FAINT",
    "AndKnown",
    "Distances",
    "FieldBelief",
    "LaplaceNoise",
    "NoiseDistribution",
    "ReceiverError",
    "Remembering",
    "Turning",
]

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
        deviations = square(noise) / self.scale[report] ** 2
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
        deviations = square(noise) / variance
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
