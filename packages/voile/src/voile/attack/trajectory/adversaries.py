"""Who follows a truck, and how well: adversaries by what they know, and what they find.

An adversary sees the published positions of a trip (or distances to places), their times and the
parameters of the noise, and estimates where the truck was and on which road.

Success is measured against the true positions: metres between estimate and truth, and the share of
reports at which the road is the true one, from crossing to crossing and in either direction
(``roads.nearest``).  The true road is the nearest one to the true position, or better the one
that map matching of the exact track finds (``true_roads``).

Cost: that of ``inference``; filters cost next to nothing.

Filters that know nothing of roads: what averaging makes of noisy positions.

``median_filter``  the seed's filtering attack ("Trajectory Hiding and Sharing for Supply Chains
                   with Differential Privacy", ESORICS 2023, section 5): the median of each
                   coordinate over a window of reports
``smoother``       the Rauch-Tung-Striebel smoother (Rauch, Tung and Striebel 1965) of a Kalman
                   filter with constant velocity and white acceleration, for independent noise

Claim: for noise that does not remember, the smoother is the best linear estimate for its model of
movement.  Neither knows roads, so both are far from the best that an adversary can do.

Cost: O(n) for the smoother, O(n w) for a window of w reports.
"""

from __future__ import annotations

import copy
import math
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from scipy import sparse

from voile.attack.trajectory.distributions import (
    AndKnown,
    Distances,
    FieldBelief,
    LaplaceNoise,
    NoiseDistribution,
    ReceiverError,
    Remembering,
    Turning,
)
from voile.attack.trajectory.inference import Driven, Movement, Posterior, infer
from voile.attack.trajectory.reach import Reach, RoadStates
from voile.attack.trajectory.reports import ODOMETER_SPEED, STEP, FollowedReports, Sighted
from voile_base.ondemand import dataclass
from voile_geo.geodesy import Floats
from voile_geo.planar.noise import AngleSelection, CorrelatedGaussian, GaussianField, LocationNoise
from voile_geo.planar.steps import gaussian_scale
from voile_geo.roads.nearest import NearbyRoads
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = [
    "FieldKnown",
    "Known",
    "RoadAdversary",
    "RoadEstimate",
    "median_filter",
    "share_right",
    "smoother",
]


def median_filter(shown: Floats, window: int = 5) -> Floats:
    """Medians over ``window`` reports, an odd number, fewer at the ends; shapes (n, 2), metres."""
    half = window // 2
    padded = np.full((len(shown) + 2 * half, 2), np.nan)
    padded[half : half + len(shown)] = shown
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1, axis=0)
    return np.asarray(np.nanmedian(windows, axis=-1))


def smoother(time: Floats, shown: Floats, deviation: Floats, acceleration: float = 1.0) -> Floats:
    """Smoothed positions, shape (n, 2), metres.

    ``time`` (n,) in seconds, ``deviation`` (n,) of the noise per axis in metres; ``acceleration``
    is the root of the spectral density of the white acceleration, in m/s^1.5.
    """
    count = len(time)
    means, covariances = np.empty((count, 2, 2)), np.empty((count, 2, 2))
    predicted_means, predicted = np.empty((count, 2, 2)), np.empty((count, 2, 2))
    moves = np.empty((count, 2, 2))
    # Both axes share their covariance: one filter with two columns.
    mean, covariance = np.zeros((2, 2)), np.diag([1e12, 30.0**2])
    for i in range(count):
        elapsed = float(time[i] - time[i - 1]) if i else 0.0
        move = np.array([[1.0, elapsed], [0.0, 1.0]])
        drift = np.array([[elapsed**3 / 3, elapsed**2 / 2], [elapsed**2 / 2, elapsed]])
        mean, covariance = move @ mean, move @ covariance @ move.T + acceleration**2 * drift
        moves[i], predicted_means[i], predicted[i] = move, mean, covariance
        gain = covariance[:, :1] / (covariance[0, 0] + deviation[i] ** 2)
        mean = mean + gain * (shown[i] - mean[0])
        covariance = covariance - gain * covariance[:1]
        means[i], covariances[i] = mean, covariance
    for i in range(count - 2, -1, -1):
        back = covariances[i] @ moves[i + 1].T @ np.linalg.inv(predicted[i + 1])
        means[i] = means[i] + back @ (means[i + 1] - predicted_means[i + 1])
    return means[:, 0]


Known = Mapping[int, tuple[Floats, int | None]]
"""For some reports, the true place (2,) in metres of the plane, and the road if that is known."""

_SHORTEST = 200.0
"""Metres: a truck is looked for at least this far."""
_TRACKING_ERROR = 15.0
"""Metres: what exact positions of a receiver are off by."""
_MATCHED = 5.0
"""Seconds between positions of an exact track that are matched."""
_BY_WAY = Movement(
    usual=ODOMETER_SPEED, deviation=1.0, memory=0.0, fastest=1.5 * ODOMETER_SPEED, standing=1e-3,
    stop=1.0,
)  # fmt: skip
"""How far a truck gets where its own way is the clock."""


@dataclass(frozen=True, eq=False)
class RoadEstimate:
    """What an adversary makes of n reports."""

    position: Floats
    """Shape (n, 2), metres of the plane."""
    road: Indices
    """Shape (n,): roads, as ``RoadStates.road`` numbers them."""
    seconds: float
    """Processor time, without the look-up of what can be reached, which all who follow share."""
    spread: Floats | None = None
    """Shape (n,): the root of the mean squared distance per axis that he expects to be off, in
    metres; None where he does not tell."""
    held: Floats | None = None
    """Shape (s,): how many reports he expects on each piece of road."""
    lost: int = 0
    """At how many reports no way led on, and the inference began anew from this report alone."""
    belief: sparse.csr_array | None = None
    """Shape (n, roads): how likely each road is at each report; None where he does not tell."""

    def for_all(self, some: FollowedReports) -> RoadEstimate:
        """What was found of some reports of a trip, for all of them."""
        return self.of_several([(self, some)])

    @staticmethod
    def of_several(found: Sequence[tuple[RoadEstimate, FollowedReports]]) -> RoadEstimate:
        """What was found of several choices of a trip's reports, all alike, for all reports of it.

        Between two reports both count by the way, each with all that it believes.
        """
        one, some = found[0]
        position = np.mean([each.between(it.position) for it, each in found], axis=0)
        spreads = [it.spread[each.nearest] for it, each in found if it.spread is not None]
        beliefs = [each.weights @ it.belief for it, each in found if it.belief is not None]
        return replace(
            one,
            position=position,
            road=_likeliest(sum(beliefs[1:], beliefs[0])) if beliefs else one.road[some.nearest],
            spread=np.sqrt(np.mean(np.square(spreads), axis=0)) if spreads else None,
            seconds=math.fsum(it.seconds for it, _ in found),
            lost=sum(it.lost for it, _ in found),
            belief=None,
        )


def _likeliest(belief: sparse.csr_array) -> Indices:
    """The likeliest road of each report."""
    return np.asarray(belief.argmax(axis=1), dtype=np.int64).ravel()


@dataclass(frozen=True, eq=False)
class FieldKnown:
    """What is known of noise that stays, at each of s pieces of road."""

    mean: Floats
    """Shape (s, 2), metres."""
    deviation: Floats
    """Shape (s,): around it, per axis, in metres."""
    days: float = 1.0
    """Over how many trips at the same places the fresh part was averaged."""

    @classmethod
    def nothing(cls, pieces: int, noise: GaussianField, scale: float) -> FieldKnown:
        """Before anything is seen; ``scale`` is the deviation of all noise per axis, in metres."""
        deviation = np.full(pieces, math.sqrt(noise.share) * scale)
        return cls(np.zeros((pieces, 2)), deviation)


class RoadAdversary:
    """Adversaries on one map, who share what can be known of it beforehand."""

    def __init__(
        self,
        roads: RoadNetwork,
        movement: Movement | None = None,
        *,
        piece: float = 100.0,
        farthest: float = 15_000.0,
    ) -> None:
        """Pieces of roads and the farthest that a truck is looked for after one report, in metres.

        Where many roads are near it is looked for less far (``reach.Searches``).
        """
        self._roads = roads
        self._farthest = farthest
        self._reaches: dict[float, Reach] = {}
        self.states = RoadStates.of(roads, piece)
        self._suppose(movement or Movement())

    def supposing(self, movement: Movement) -> RoadAdversary:
        """The same adversary who supposes other movements; both share what they know of the map."""
        other = copy.copy(self)
        other._suppose(movement)
        return other

    def _suppose(self, movement: Movement) -> None:
        self.movement = movement
        traffic = movement.traffic_of(self._roads)[self.states.edge]
        self._driven = Driven(self.states.length * traffic)

    def more_on(self, times: Floats) -> RoadAdversary:
        """The same who supposes so many times the traffic on each piece, shape (s,)."""
        other = copy.copy(self)
        other._driven = Driven(self._driven.traffic * times)
        return other

    @property
    def roads(self) -> RoadNetwork:
        """The map."""
        return self._roads

    @cached_property
    def nearby(self) -> NearbyRoads:
        """The roads around any place."""
        return NearbyRoads(self._roads)

    def as_shown(self, sighted: Sighted) -> RoadEstimate:
        """Takes the published positions for true."""
        return self._filtered(lambda: sighted.shown)

    def median(self, sighted: Sighted, window: int = 5) -> RoadEstimate:
        """Filters by medians."""
        return self._filtered(lambda: median_filter(sighted.shown, window))

    def smoother(self, sighted: Sighted, acceleration: float = 1.0) -> RoadEstimate:
        """Smooths, knowing how strong the noise is."""
        deviation = math.sqrt(3) / sighted.epsilon
        return self._filtered(
            lambda: smoother(sighted.time, sighted.shown, deviation, acceleration)
        )

    def matching(self, sighted: Sighted, every: float = STEP) -> RoadEstimate:
        """Matches to the map, taking the noise for planar Laplace drawn afresh.

        Of dense reports those are followed that are ``every`` seconds apart at least.
        """
        some = FollowedReports.of(sighted, stays=False, every=every)
        seen = some.sighted
        distribution = LaplaceNoise(self.states.middle, seen.shown, seen.epsilon)
        return self.follow(seen.time, distribution).for_all(some)

    def informed(
        self,
        sighted: Sighted,
        noise: LocationNoise,
        known: Known = MappingProxyType({}),
        every: float = STEP,
    ) -> RoadEstimate:
        """Matches to the map with the true distribution of noise, and what he knows of reports.

        Of dense reports those are followed that are ``every`` seconds apart at least.
        """
        some = FollowedReports.of(sighted, isinstance(noise, GaussianField), every)
        distribution = self.distribution(some.sighted, noise)
        found = self.follow(some.sighted.time, distribution, some.known(known))
        return found.for_all(some)

    def odometer(self, sighted: Sighted, noise: LocationNoise) -> RoadEstimate | None:
        """The same by the way that dense reports show; None where they show none."""
        if not isinstance(noise, GaussianField):
            return None
        he = self.supposing(replace(_BY_WAY, traffic=self.movement.traffic))
        found = []
        for some in FollowedReports.by_odometer(sighted):
            law = he.distribution(some.sighted, noise)
            found.append((he.follow(some.sighted.time, law), some))
        return RoadEstimate.of_several(found) if found else None

    def colluding(
        self, time: Floats, places: Floats, distances: Floats, epsilon: Floats
    ) -> RoadEstimate:
        """Recipients at m places (m, 2) who pool their noisy distances (n, m)."""
        return self.follow(time, Distances(self.states.middle, places, distances, epsilon))

    def match(self, time: Floats, track: Floats, error: float = _TRACKING_ERROR) -> RoadEstimate:
        """An exact track (n, 2), matched to the map with a receiver's error in metres.

        Positions nearer together than ``_MATCHED`` seconds have the roads of those beside them.
        """
        every = FollowedReports.of(
            Sighted(time, track, np.ones(len(track))), stays=False, every=_MATCHED
        )
        some = every.sighted
        scale = np.full(len(some.shown), error)
        distribution = ReceiverError(self.states.line, len(self.states), some.shown, scale)
        return self.follow(some.time, distribution).for_all(every)

    def true_roads(self, time: Floats, track: Floats) -> Indices:
        """The roads of an exact track (n, 2), as ``match`` finds them."""
        return self.match(time, track).road

    def follow(
        self, time: Floats, distribution: NoiseDistribution, known: Known = MappingProxyType({})
    ) -> RoadEstimate:
        """The inference with any distribution of noise, and with what he knows of reports."""
        if known:
            distribution = AndKnown(
                distribution, {report: self._near(*place) for report, place in known.items()}
            )
        started, looked = clock.process_time(), self.looking
        posterior = infer(time, distribution, self.reach, self.movement, self._driven)
        position = self._positions(posterior)
        belief = self._of_roads(posterior)
        road = _likeliest(belief)
        seconds = clock.process_time() - started - (self.looking - looked)
        expected = self._expected(posterior, position)
        return RoadEstimate(position, road, seconds, *expected, posterior.lost, belief)

    def _expected(self, posterior: Posterior, position: Floats) -> tuple[Floats, Floats]:
        spread, held = np.empty(len(position)), np.zeros(len(self.states))
        for i, (piece, probability) in enumerate(self._beliefs(posterior)):
            away = self.states.middle[piece] - position[i]
            spread[i] = math.sqrt(probability @ (away * away).sum(axis=1) / 2)
            held[piece] += probability
        return spread, held

    def beyond(self, time: Floats, track: Floats) -> int:
        """How many reports of an exact track (n, 2) lie farther from the one before than he looks.

        On the straight line, so that roads may make it more.
        """
        moved = np.hypot(*np.diff(track, axis=0).T)
        gaps = [float(elapsed) for elapsed in np.diff(time)]
        most = [self.movement.most(elapsed, self.reach(elapsed)) for elapsed in gaps]
        return int((moved > most).sum())

    def reach(self, elapsed: float) -> Reach:
        """What a truck reaches in some seconds, and perhaps a fifth farther."""
        limit = min(self._farthest, max(_SHORTEST, self.movement.fastest * elapsed))
        # Rounded up by at most a fifth, so that different gaps share what was found.
        steps = math.ceil(math.log(limit / _SHORTEST) / math.log(1.2) - 1e-9)
        limit = min(self._farthest, _SHORTEST * 1.2**steps)
        if limit not in self._reaches:
            self._reaches[limit] = self.states.reach(limit)
        return self._reaches[limit]

    @property
    def looking(self) -> float:
        """Processor time spent so far on looking up what can be reached, in seconds."""
        return math.fsum(reach.seconds for reach in self._reaches.values())

    def nearest_roads(self, points: Floats) -> Indices:
        """The road nearest to each point, as ``RoadStates.road`` numbers them."""
        return self.states.stretch[self.nearby.nearest_in_plane(points).edge]

    @cached_property
    def blur(self) -> float:
        """By how much a truck may be off the middle of its piece: per axis, in metres."""
        return float(np.median(self.states.length)) / math.sqrt(24)

    def staying(
        self, sighted: Sighted, noise: GaussianField, known: FieldKnown | None = None
    ) -> FieldBelief:
        """The distribution of noise that stays with places, of which something may be known.

        The reports are those at which the truck moved (``FollowedReports``).
        """
        scale = np.array([gaussian_scale(float(e)) for e in sighted.epsilon])
        known = known or FieldKnown.nothing(len(self.states), noise, float(scale[0]))
        driven = sighted.time if sighted.driven is None else sighted.driven
        return FieldBelief(
            self.states.middle,
            sighted.shown,
            known.mean,
            known.deviation,
            (1 - noise.share) * scale**2 / known.days,
            np.exp(-np.diff(driven, prepend=-np.inf) / noise.tau),
            noise.length,
            self.blur,
        )

    def _near(self, place: Floats, road: int | None) -> Floats:
        """How likely pieces are of a truck that is about at this place, on this road if named."""
        pieces = np.arange(len(self.states))
        if road is not None:
            pieces = np.flatnonzero(self.states.road == road)
        away = np.hypot(*(self.states.middle[pieces] - place).T)
        # It is anywhere on its piece.
        unsure = math.hypot(_TRACKING_ERROR, float(self.states.length[pieces].mean()) / 12**0.5)
        likely = np.zeros(len(self.states))
        likely[pieces] = np.exp(-0.5 * (away**2 - away.min() ** 2) / unsure**2)
        return likely

    def distribution(self, sighted: Sighted, noise: LocationNoise) -> NoiseDistribution:
        """The mechanism's own distribution."""
        middle, shown, epsilon = self.states.middle, sighted.shown, sighted.epsilon
        blur = self.blur
        if isinstance(noise, AngleSelection):
            return Turning(
                middle, shown, epsilon, noise.deviation, blur, noise.start, sighted.number
            )
        if isinstance(noise, GaussianField):
            return self.staying(sighted, noise)  # of a truck that never stands
        if isinstance(noise, CorrelatedGaussian):
            scale = np.array([gaussian_scale(float(e)) for e in epsilon])
            kept = np.exp(-np.diff(sighted.time, prepend=-np.inf) / noise.tau)
            return Remembering(middle, shown, scale, kept, blur)
        return LaplaceNoise(middle, shown, epsilon)

    def _filtered(self, estimate: Callable[[], Floats]) -> RoadEstimate:
        started = clock.process_time()
        position = estimate()
        return RoadEstimate(position, self.nearest_roads(position), clock.process_time() - started)

    @staticmethod
    def _beliefs(posterior: Posterior) -> Sequence[tuple[Indices, Floats]]:
        return list(zip(posterior.piece, posterior.probability, strict=True))

    def _positions(self, posterior: Posterior) -> Floats:
        return np.array([self._centre(*of) for of in self._beliefs(posterior)])

    def _centre(self, piece: Indices, probability: Floats) -> Floats:
        """The point with the least expected distance to the truck (Weiszfeld's iteration)."""
        points = self.states.middle[piece]
        centre = probability @ points
        for _ in range(8):
            weight = probability / np.maximum(np.hypot(*(points - centre).T), 1.0)
            centre = weight @ points / weight.sum()
        return np.asarray(centre)

    def _of_roads(self, posterior: Posterior) -> sparse.csr_array:
        """How likely each road is at each report, in either direction."""
        report = np.repeat(np.arange(len(posterior.piece)), [len(one) for one in posterior.piece])
        road = self.states.road[np.concatenate(posterior.piece)]
        shape = len(posterior.piece), int(self.states.road.max()) + 1
        return sparse.csr_array((np.concatenate(posterior.probability), (report, road)), shape)


def share_right(found: Indices, true: Indices) -> float:
    """The share of reports at which the road is the true one."""
    return float((found == true).mean())
