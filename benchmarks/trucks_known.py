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

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.trucks_attacks import USUAL, learned_elsewhere, trip_of
from benchmarks.trucks_data import Drive
from voile.attack.trajectory.adversaries import RoadAdversary, share_right
from voile.attack.trajectory.reports import Sighted
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats
from voile_geo.planar.noise import CorrelatedGaussian, perturb
from voile_geo.planar.steps import Zones
from voile_geo.roads.network import RoadNetwork

__all__ = [
    "EPSILON",
    "INTERVAL",
    "NOISE",
    "SEED",
    "Case",
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
    anybody = RoadAdversary(roads, piece=USUAL)
    followers = [anybody.supposing(movement) for movement in halves]
    for number, drive in enumerate(drives):
        reported = drive.every(INTERVAL)
        track, road = drive.track[reported], drive.road[reported]
        ends = {report: (track[report], int(road[report])) for report in (0, len(track) - 1)}
        for case in cases:
            follower = followers[half[drive.user]]
            sighted = mean_of_days(roads, track, case.days, number)
            finding = follower.informed(sighted, NOISE, ends if case.ends else {})
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
