"""Adversaries who know more of a drive than one trip's reports: many days of it, and its ends.

Many days: the same true drive on m days, with the same timing and fresh noise on each.  Given the
positions x, correlated Gaussian noise makes the reports y of a day a Gaussian vector around x with
the same covariance every day, so the product of the likelihoods of all days is, up to a factor
without x, the likelihood of their mean, whose noise is of the same kind and smaller by sqrt(m).
The adversary thus makes the best of all days by following their mean with m-fold information,
exactly.  That a truck is not in the middle of its piece of road is the same on all days, and does
not become smaller.  He is told how the days correspond, which days with another timing would leave
to him: what he finds is an upper bound of what those give.

Ends: he knows the road on which the truck is at its first and at its last report, and where on it
to a receiver's error.  He still supposes no route to be likelier than another one between them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import cast

import numpy as np

from benchmarks.trucks_attacks import USUAL, learned_elsewhere, trip_of
from benchmarks.trucks_data import RECEIVER, Drive
from voile.attack.trajectory.adversaries import Finding, RoadAdversary, Sighted, share_right
from voile.attack.trajectory.laws import Factors, NoiseLaw
from voile.dp.planar.noise import CorrelatedGaussian, perturb
from voile.dp.planar.zones import Zones
from voile.geodesy import Floats
from voile.randomness import Randomness
from voile.roads.network import RoadNetwork

__all__ = [
    "EPSILON",
    "INTERVAL",
    "NOISE",
    "SEED",
    "Case",
    "Follower",
    "Found",
    "follow_all",
    "mean_of_days",
]

SEED = 2025
EPSILON, INTERVAL = 0.005, 30.0
"""Per metre, and seconds between reports."""
NOISE = CorrelatedGaussian(Zones([EPSILON]))
"""The default."""
MOST_DAYS = 100


@dataclass(frozen=True)
class Case:
    """What an adversary has."""

    days: int = 1
    """Reports of so many days, fewer than ``MOST_DAYS``."""
    ends: bool = False
    """Whether he knows where the truck is at the first and the last report."""


@dataclass(frozen=True)
class Found:
    """What came out for one drive."""

    case: Case
    drive: int
    error: float
    """Mean metres between the estimate and the truth."""
    right: float
    """Share of reports at which the road is the true one."""
    error_between: float
    """The same without the first and the last report, which some adversaries know."""
    right_between: float
    seconds: float
    """Of processor time."""
    lost: int


@dataclass(frozen=True, eq=False)
class _WithEnds:
    """A law of noise, and what is known of some reports besides."""

    law: NoiseLaw
    known: Mapping[int, Floats]
    """For some reports, how likely each of s pieces is, shape (s,)."""

    def factors(self, report: int) -> Factors:
        """The law of a report, given the one before."""
        factors = self.law.factors(report)
        if report not in self.known:
            return factors
        density = factors.density * self.known[report]
        return replace(factors, density=density / density.max())


class Follower(RoadAdversary):
    """The adversaries of the package, who may be told where a truck is at some of its reports."""

    _known: Mapping[int, Floats] = MappingProxyType({})

    def told(self, places: Mapping[int, tuple[Floats, int]]) -> Follower:
        """The same who knows, for some reports, the truck's place and its road."""
        other = copy.copy(self)
        other._known = {report: self._near(*place) for report, place in places.items()}
        return other

    def follow(self, time: Floats, law: NoiseLaw) -> Finding:
        """The inference with any law of noise, and with what is known."""
        return super().follow(time, _WithEnds(law, self._known))

    def _near(self, place: Floats, road: int) -> Floats:
        """How likely pieces are of a truck that is on this road, about at this place."""
        pieces = np.flatnonzero(self.states.road == road)
        away = np.hypot(*(self.states.middle[pieces] - place).T)
        # It is anywhere on its piece.
        unsure = math.hypot(RECEIVER, float(self.states.length[pieces].mean()) / math.sqrt(12))
        likely = np.zeros(len(self.states))
        likely[pieces] = np.exp(-0.5 * (away**2 - away.min() ** 2) / unsure**2)
        return likely


def mean_of_days(roads: RoadNetwork, track: Floats, days: int, number: int) -> Sighted:
    """What the reports of some days tell of a track (n, 2); those of fewer days are among them.

    ``number`` tells drives apart.
    """
    key, shown = Randomness.seeded(SEED).key("days"), []
    for day in range(days):
        trip = trip_of(roads, track, INTERVAL, number * MOST_DAYS + day)
        moved = perturb(NOISE, trip, key)
        shown.append(roads.to_plane(moved.latitude, moved.longitude))
    together = EPSILON * math.sqrt(days)
    return Sighted(trip.time, np.mean(shown, axis=0), np.full(len(track), together))


def follow_all(
    roads: RoadNetwork, drives: Sequence[Drive], cases: Sequence[Case]
) -> Iterator[Found]:
    """Every case on every drive, by adversaries who learned from the other half of the people."""
    half, halves = learned_elsewhere(roads, drives)
    anybody = Follower(roads, piece=USUAL)
    followers = [cast(Follower, anybody.supposing(movement)) for movement in halves]
    for number, drive in enumerate(drives):
        reported = drive.every(INTERVAL)
        track, road = drive.track[reported], drive.road[reported]
        ends = {report: (track[report], int(road[report])) for report in (0, len(track) - 1)}
        for case in cases:
            follower = followers[half[drive.user]]
            sighted = mean_of_days(roads, track, case.days, number)
            finding = (follower.told(ends) if case.ends else follower).informed(sighted, NOISE)
            away = np.hypot(*(finding.position - track).T)
            yield Found(
                case,
                number,
                float(away.mean()),
                share_right(finding.road, road),
                float(away[1:-1].mean()),
                share_right(finding.road[1:-1], road[1:-1]),
                finding.seconds,
                finding.lost,
            )
