"""Trips that share a route and its timing, of one vehicle or of many: who averages over them.

What he does: finds trips in which all reports at the same time after the first one are about as far
apart as noise alone puts them, takes the mean of what is shown, and follows it (a convoy).

Two trips at the same places differ by the noise of each that they have not in common.  For noise
that stays with places that is the vehicles' own part and the fresh one; for other noise all of it.
The means of a and b trips of one route differ by 1 / a + 1 / b of that variance on average; the
two groups that differ least for it become one, as long as they differ by less than a limit and have
at least ``SHARED`` of the longer one's reports in common.  The limit is ``LIKELY`` for two trips,
and comes near ``LIKELY_MANY`` for large groups: these are what chance put together, so they lie
farther apart than by chance alone; but two near routes, that no two trips tell apart, lie
farther still.  Last, each trip goes over to the group whose others it is nearest to.

Claim: none of optimality.  He errs where routes are nearer together than the noise, and does not
find trips that share a part of their way, or drive it at another speed.

Cost: some t^2 n for t trips of n reports, and an inference for each convoy.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.attack.trajectory.adversaries import FieldKnown, RoadAdversary, RoadEstimate
from voile.attack.trajectory.reports import STEP, FollowedReports, Sighted
from voile_geo.geodesy import Floats
from voile_geo.planar.noise import CorrelatedGaussian, GaussianField, LocationNoise
from voile_geo.planar.steps import gaussian_scale
from voile_geo.roads.network import Indices

__all__ = ["LIKELY", "LIKELY_MANY", "SHARED", "convoys", "follow_convoys"]

LIKELY, LIKELY_MANY, SHARED = 1.7, 3.5, 0.75
_AGAIN = 2
"""How often all trips are looked at again."""
_SLOT = 30.0
"""Seconds between the places by which trips are compared."""


def follow_convoys(
    adversary: RoadAdversary,
    trips: Sequence[Sighted],
    vehicles: Sequence[str],
    noise: LocationNoise,
) -> list[RoadEstimate]:
    """Follow each trip by the mean of all that share its route; alone where none do.

    ``vehicles`` says which trips are of one vehicle: their noise has more in common.
    """
    found: list[RoadEstimate | None] = [None] * len(trips)
    for members in convoys(trips, noise):
        if len(members) == 1:
            continue
        longest = max(members, key=lambda i: len(trips[i].time))
        mean = _mean_of([trips[i] for i in members], trips[longest])
        of_vehicle = list(Counter(vehicles[i] for i in members).values())
        finding = _followed(adversary, mean, noise, of_vehicle)
        for i in members:
            found[i] = _at_times(finding, mean.time, trips[i])
    return [
        adversary.informed(one, noise) if made is None else made
        for one, made in zip(trips, found, strict=True)
    ]


def convoys(trips: Sequence[Sighted], noise: LocationNoise) -> list[list[int]]:
    """Trips by route and timing, each in one group."""
    single = _Groups.of_each([_each_slot(one) for one in trips], _own(noise))
    members = single.joined()
    for _ in range(_AGAIN):
        group = np.empty(len(trips), dtype=np.int64)
        for number, some in enumerate(members):
            group[some] = number
        groups = single.together(members)
        nearest = [groups.nearest(single, i, int(group[i])) for i in range(len(trips))]
        members = [np.flatnonzero(np.array(nearest) == n).tolist() for n in range(len(members))]
        members = [some for some in members if some]
    return members


@dataclass(frozen=True, eq=False)
class _Groups:
    """What g groups of trips show at each of n slots."""

    total: Floats
    """Shape (g, n, 2): sums over the trips."""
    count: Floats
    """Shape (g, n): of how many trips."""
    longest: Floats
    """Shape (g,): slots of the longest trip."""
    size: Floats
    """Shape (g,): trips."""
    own: float
    """The variance of one trip around the others, per axis."""

    @classmethod
    def of_each(cls, places: Sequence[Floats], own: float) -> _Groups:
        """Each trip by itself."""
        longest = np.array([len(one) for one in places], dtype=np.float64)
        total = np.zeros((len(places), int(longest.max()), 2))
        count = np.zeros(total.shape[:2])
        for i, one in enumerate(places):
            total[i, : len(one)], count[i, : len(one)] = one, 1
        return cls(total, count, longest, np.ones(len(places)), own)

    def together(self, members: Sequence[Sequence[int]]) -> _Groups:
        """Groups of these."""
        return _Groups(
            np.array([self.total[some].sum(axis=0) for some in members]),
            np.array([self.count[some].sum(axis=0) for some in members]),
            np.array([self.longest[some].max() for some in members]),
            np.array([self.size[some].sum() for some in members]),
            self.own,
        )

    def joined(self) -> list[list[int]]:
        """Those that are held for one route, the nearest first, as long as any are."""
        groups = copy.deepcopy(self)
        members = [[i] for i in range(len(self.size))]
        far = np.array([groups.beyond(groups, i) for i in range(len(members))])
        np.fill_diagonal(far, np.inf)
        while far.min() <= 1:
            one, other = np.unravel_index(int(far.argmin()), far.shape)
            for values in (groups.total, groups.count, groups.size):
                values[one] += values[other]
            groups.longest[one] = max(groups.longest[one], groups.longest[other])
            groups.size[other] = 0
            members[one] += members[other]
            far[other], far[:, other] = np.inf, np.inf
            row = groups.beyond(groups, int(one))
            row[[int(one), *np.flatnonzero(groups.size == 0)]] = np.inf
            far[one], far[:, one] = row, row
        return [some for some, size in zip(members, groups.size, strict=True) if size]

    def nearest(self, single: _Groups, trip: int, own: int) -> int:
        """The group whose other trips one is nearest to; its own, if there are no others."""
        total, count, size = self.total.copy(), self.count.copy(), self.size.copy()
        total[own] -= single.total[trip]
        count[own] -= single.count[trip]
        size[own] -= 1
        others = _Groups(total, count, self.longest, np.maximum(size, 1), self.own)
        far = others.beyond(single, trip)
        far[size == 0] = 1.0
        return int(far.argmin())

    def beyond(self, others: _Groups, which: int) -> Floats:
        """How far the means of groups are from that of another one, over the limit; (g,)."""
        here, there = others.count[which], self.count
        both = (here > 0) & (there > 0)
        one, other = np.maximum(here, 1), np.maximum(there, 1)
        mean = others.total[which] / one[:, np.newaxis]
        apart = ((self.total / other[..., np.newaxis] - mean) ** 2).mean(axis=2)
        apart = np.where(both, apart / (1 / one + 1 / other), 0.0).sum(axis=1)
        apart /= np.maximum(both.sum(axis=1), 1) * self.own
        trips = np.maximum(self.size + others.size[which], 2)
        limit = LIKELY_MANY - (LIKELY_MANY - LIKELY) * 2 / trips
        longest = np.maximum(self.longest, others.longest[which])
        alike = np.minimum(self.longest, others.longest[which]) >= SHARED * longest
        return np.where(alike & both.any(axis=1), apart / limit, np.inf)


def _each_slot(sighted: Sighted) -> Floats:
    """What is shown at whole slots after the first report, (m, 2)."""
    since = sighted.time - sighted.time[0]
    slots = np.arange(0.0, since[-1] + 1e-6, _SLOT)
    return sighted.shown[_last_until(since, slots)]


def _last_until(time: Floats, wanted: Floats) -> Indices:
    """The last of ascending times that is not after each wanted one."""
    found: NDArray[np.int64] = np.searchsorted(time, wanted + 1e-6, side="right") - 1
    return np.maximum(found, 0)


def _own(noise: LocationNoise) -> float:
    """The variance per axis of noise that two vehicles have not in common, in square metres."""
    epsilon = float(noise.zones.epsilons().min())
    if isinstance(noise, GaussianField):
        return (1 - noise.share * noise.shared) * gaussian_scale(epsilon) ** 2
    if isinstance(noise, CorrelatedGaussian):
        return gaussian_scale(epsilon) ** 2
    return 3 / epsilon**2


def _mean_of(trips: Sequence[Sighted], longest: Sighted) -> Sighted:
    """The mean of what is shown at the times of the longest trip, by who still reports."""
    since = longest.time - longest.time[0]
    total, count = np.zeros((len(since), 2)), np.zeros(len(since))
    for one in trips:
        own = one.time - one.time[0]
        there = since <= own[-1] + 1e-6
        total[there] += one.shown[_last_until(own, since[there])]
        count += there
    return Sighted(since, total / count[:, np.newaxis], longest.epsilon)


def _followed(
    adversary: RoadAdversary, mean: Sighted, noise: LocationNoise, of_vehicle: Sequence[int]
) -> RoadEstimate:
    """What he finds of the mean of trips, of which each vehicle has so many."""
    count = sum(of_vehicle)
    if not isinstance(noise, GaussianField):
        # The mean of n has the spread of noise of an epsilon that is larger by their root.
        return adversary.informed(replace(mean, epsilon=mean.epsilon * math.sqrt(count)), noise)
    some = FollowedReports.of(mean, stays=True, every=STEP)
    scale = gaussian_scale(float(mean.epsilon[0]))
    own = sum((one / count) ** 2 for one in of_vehicle)
    stays = noise.share * (noise.shared + (1 - noise.shared) * own)
    pieces = len(adversary.states)
    deviation = np.full(pieces, math.sqrt(stays) * scale)
    known = FieldKnown(np.zeros((pieces, 2)), deviation, days=float(count))
    law = adversary.staying(some.sighted, noise, known)
    return adversary.follow(some.sighted.time, law).for_all(some)


def _at_times(finding: RoadEstimate, time: Floats, trip: Sighted) -> RoadEstimate:
    """What was found at some times, at those of a trip; the time it took falls to no trip."""
    at = _last_until(time, trip.time - trip.time[0])
    spread = None if finding.spread is None else finding.spread[at]
    return replace(finding, position=finding.position[at], road=finding.road[at], spread=spread)
