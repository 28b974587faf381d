"""All trips of one vehicle at once: who learns its noise from everything that it showed.

What he does: follows each trip by itself (``RoadAdversary.informed``), then again given
what the other trips of the period tell, ``ROUNDS`` times.  Two things tell:

- **The field.**  Where noise stays with places, what a trip's reports say of the noise at their
  places is a Gaussian site for each report, its posterior over the prior that it was found with
  (expectation propagation).  The field given the sites of all other trips is a Gaussian process
  posterior; its mean and its deviation at each piece of road enter the distribution of the trip
  (``distributions.FieldBelief``).  True places that he knows are sites, too, with a receiver's
  error, and the trip's own ones count for it as well.
- **Habits.**  Roads on which the vehicle is believed to have been on other days are likelier for
  it: their traffic counts ``HABIT`` times more for each trip that is believed to be there.

Claim: none of optimality.  Sites are taken at the middle of what is believed, and errors of one
trip's reports are supposed to hang together over ``LASTING`` seconds; the field's correlation given
all sites is taken for its prior one.  So his figures are lower bounds of what can be found.  From
known places he learns a field well; from trips alone hardly: without ``DOUBT`` and with more rounds
he confirms his own errors, and finds less than trip by trip (7 drives of one person).

Cost: in each round an inference for each trip, and for r sites of other trips O(r^3) and O(r^2) for
each cell of a grid around the trip, a tenth of the length wide.

Trips that share a route and its timing, of one vehicle or of many: who averages over them.

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
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, ndimage

from voile.attack.trajectory.adversaries import (
    FieldKnown,
    Known,
    RoadAdversary,
    RoadEstimate,
)
from voile.attack.trajectory.reports import STEP, FollowedReports, Sighted
from voile_base.ondemand import dataclass
from voile_geo.geodesy import Floats
from voile_geo.planar.field import DAY
from voile_geo.planar.noise import CorrelatedGaussian, GaussianField, LocationNoise
from voile_geo.planar.steps import gaussian_scale
from voile_geo.roads.network import Indices

__all__ = [
    "HABIT",
    "LIKELY",
    "LIKELY_MANY",
    "ROUNDS",
    "SHARED",
    "Day",
    "follow_convoys",
    "follow_days",
]


ROUNDS = 1
HABIT = 4.0
LASTING = 1_200.0
"""Seconds over which errors of what is believed of a trip's places hang together."""
DOUBT = 10.0
"""How many times the variance of a site is taken for what it comes out as: a path that is matched
to the wrong streets is surer of itself than it should be.  Known places are not doubted."""
_RECEIVER = 15.0
"""Metres: by what a known true place is off, per axis."""
_AROUND = 2_500.0
"""Metres around what is shown within which the field is looked up."""
_CELLS_TO_A_LENGTH = 10
_LEAST, _MOST = 1.0, 0.9
"""Square metres, and the share of the prior variance above which a report tells nothing."""
_MOST_SITES = 1_500
"""More of them are thinned; each costs."""


@dataclass(frozen=True, eq=False)
class Day:
    """One trip of the vehicle, and what he knows of it beforehand."""

    sighted: Sighted
    began: float = 0.0
    """Seconds since 1970."""
    known: Known = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Sites:
    """What r reports tell of the field, each at a place."""

    place: Floats
    """Shape (r, 2), metres of the plane."""
    value: Floats
    """Shape (r, 2), metres."""
    variance: Floats
    """Shape (r,): of the value around all noise there, per axis; the fresh part comes on top."""
    time: Floats
    """Shape (r,): seconds since 1970."""
    day: Indices
    """Shape (r,): of which trip."""
    period: Indices
    sure: Floats
    """Shape (r,): 1 where the place is known, and errors do not last."""

    @classmethod
    def joined(cls, some: Sequence[_Sites]) -> _Sites:
        """All of them in a row."""
        names = ("place", "value", "variance", "time", "day", "period", "sure")
        return cls(*(np.concatenate([getattr(one, name) for one in some]) for name in names))

    def chosen(self, which: Indices) -> _Sites:
        """Some of them."""
        names = ("place", "value", "variance", "time", "day", "period", "sure")
        return _Sites(*(getattr(self, name)[which] for name in names))


def follow_days(
    adversary: RoadAdversary,
    days: Sequence[Day],
    noise: LocationNoise,
    *,
    rounds: int = ROUNDS,
    habit: float = HABIT,
) -> list[RoadEstimate]:
    """Follow all trips of one vehicle together; a finding for each."""
    stays = isinstance(noise, GaussianField)
    moves = [FollowedReports.of(day.sighted, stays, STEP) for day in days]
    some = [
        Day(one.sighted, day.began, one.known(day.known))
        for one, day in zip(moves, days, strict=True)
    ]
    found = _together(adversary, some, noise, rounds, habit)
    return [finding.for_all(one) for one, finding in zip(moves, found, strict=True)]


def _together(
    adversary: RoadAdversary, days: Sequence[Day], noise: LocationNoise, rounds: int, habit: float
) -> list[RoadEstimate]:
    """The same of reports that are all followed, and at which trucks never stand."""
    found = [
        adversary.follow(day.sighted.time, adversary.distribution(day.sighted, noise), day.known)
        for day in days
    ]
    learner = _Learner(adversary, days, noise) if isinstance(noise, GaussianField) else None
    sites = [learner.sites(i, one, None) for i, one in enumerate(found)] if learner else []
    for _ in range(rounds):
        held = np.sum([_share(one) for one in found], axis=0)
        for i, day in enumerate(days):
            he = adversary
            if habit and len(days) > 1:
                he = adversary.more_on(1 + habit * (held - _share(found[i])))
            known = learner.known(i, sites) if learner else None
            distribution = he.distribution(day.sighted, noise) if known is None else None
            if known is not None:
                assert isinstance(noise, GaussianField)
                distribution = he.staying(day.sighted, noise, known)
            assert distribution is not None
            again = he.follow(day.sighted.time, distribution, day.known)
            held += _share(again) - _share(found[i])
            found[i] = replace(again, seconds=found[i].seconds + again.seconds)
            if learner is not None:
                sites[i] = learner.sites(i, again, known)
    return found


def _share(finding: RoadEstimate) -> Floats:
    """How surely a trip passed each piece of road, at most 1."""
    assert finding.held is not None
    return np.minimum(finding.held, 1.0)


class _Learner:
    """Learns the field of one vehicle."""

    def __init__(self, adversary: RoadAdversary, days: Sequence[Day], noise: GaussianField) -> None:
        self._adversary, self._days, self._noise = adversary, days, noise
        self._scale = gaussian_scale(float(noise.zones.epsilons()[0, 0]))
        self._prior = noise.share * self._scale**2
        self._fresh = (1 - noise.share) * self._scale**2
        self._told = [self._known_sites(i) for i in range(len(days))]

    def sites(self, day: int, finding: RoadEstimate, known: FieldKnown | None) -> _Sites:
        """What a trip tells: its posterior, over the prior with which it was found."""
        seen, spread = self._days[day].sighted, finding.spread
        assert spread is not None
        noise = seen.shown - finding.position
        mean, variance = np.zeros_like(noise), np.full(len(noise), self._prior)
        if known is not None:
            piece = self._nearest(finding.position)
            mean, variance = known.mean[piece], known.deviation[piece] ** 2
        variance = variance + self._fresh
        own = np.maximum(spread**2 + self._adversary.blur**2, _LEAST)
        tells = np.flatnonzero(own < _MOST * variance)
        own, mean, variance = own[tells], mean[tells], variance[tells]
        precision = 1 / own - 1 / variance
        value = (noise[tells] / own[:, None] - mean / variance[:, None]) / precision[:, None]
        unknown = ~np.isin(tells, list(self._days[day].known))
        tells, value, precision = tells[unknown], value[unknown], precision[unknown]
        return self._of(day, tells, finding.position[tells], value, DOUBT / precision, 0.0)

    def known(self, day: int, sites: Sequence[_Sites]) -> FieldKnown:
        """The field at each piece, given what all other trips tell and what he knows."""
        others = [*(one for i, one in enumerate(sites) if i != day), *self._told]
        seen = _Sites.joined(others)
        nothing = FieldKnown.nothing(len(self._adversary.states), self._noise, self._scale)
        period = self._period(self._days[day].began)
        which = np.flatnonzero(seen.period == period)
        shown = self._days[day].sighted.shown
        low, high = shown.min(axis=0) - _AROUND, shown.max(axis=0) + _AROUND
        near = 3 * self._noise.length
        inside = (seen.place[which] > low - near) & (seen.place[which] < high + near)
        which = which[inside.all(axis=1)]
        if not len(which):
            return nothing
        which = which[:: math.ceil(len(which) / _MOST_SITES)]
        return self._given(seen.chosen(which), low, high, nothing)

    def _given(self, seen: _Sites, low: Floats, high: Floats, nothing: FieldKnown) -> FieldKnown:
        """The posterior of a Gaussian process on a grid, looked up at each piece."""
        step = self._noise.length / _CELLS_TO_A_LENGTH
        count = np.ceil((high - low) / step).astype(np.int64) + 1
        sides = [low[axis] + np.arange(count[axis]) * step for axis in (0, 1)]
        grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
        root = linalg.cholesky(self._covariance(seen), lower=True)
        across = self._kernel(seen.place, grid)
        half = linalg.solve_triangular(root, across, lower=True)
        mean = half.T @ linalg.solve_triangular(root, seen.value, lower=True)
        variance = np.maximum(self._prior - (half * half).sum(axis=0), 0.0)
        middle = self._adversary.states.middle
        place = ((middle - low) / step).T
        inside = ((middle > low) & (middle < high)).all(axis=1)
        told = [*mean.T, variance]
        at = [
            ndimage.map_coordinates(one.reshape(count), place[:, inside], order=1) for one in told
        ]
        found, deviation = nothing.mean.copy(), nothing.deviation.copy()
        found[inside] = np.stack(at[:2], axis=1)
        deviation[inside] = np.sqrt(np.maximum(at[2], 0.0))
        return FieldKnown(found, deviation)

    def _covariance(self, seen: _Sites) -> Floats:
        """Of what sites tell: the field, and their errors, which last within a trip."""
        apart = np.abs(seen.time[:, None] - seen.time)
        same = seen.day[:, None] == seen.day
        fresh = self._fresh * np.exp(-apart / self._noise.tau) * same
        error = np.maximum(seen.variance, 0.0)
        unsure = np.sqrt(np.outer(error, error) * np.outer(1 - seen.sure, 1 - seen.sure))
        lasting = unsure * np.exp(-apart / LASTING) * same
        np.fill_diagonal(lasting, error + _LEAST)
        return np.asarray(self._kernel(seen.place, seen.place) + fresh + lasting)

    def _kernel(self, one: Floats, other: Floats) -> Floats:
        far = np.hypot(one[:, 0][:, None] - other[:, 0], one[:, 1][:, None] - other[:, 1])
        return np.asarray(self._prior * np.exp(-far / self._noise.length))

    def _known_sites(self, day: int) -> _Sites:
        known = self._days[day].known
        reports = np.array(sorted(known), dtype=np.int64)
        place = np.array([known[int(i)][0] for i in reports]).reshape(-1, 2)
        value = self._days[day].sighted.shown[reports] - place
        return self._of(day, reports, place, value, np.full(len(reports), _RECEIVER**2), 1.0)

    def _of(
        self,
        day: int,
        reports: Indices,
        place: Floats,
        value: Floats,
        variance: Floats,
        sure: float,
    ) -> _Sites:
        began, count = self._days[day].began, len(reports)
        time = began + self._days[day].sighted.time[reports]
        return _Sites(
            place,
            value,
            variance,
            time,
            np.full(count, day),
            np.full(count, self._period(began)),
            np.full(count, sure),
        )

    def _period(self, began: float) -> int:
        return math.floor(began / (self._noise.period * DAY))

    def _nearest(self, places: Floats) -> Indices:
        return self._adversary.states.nearest(places)


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
    for members in _convoys(trips, noise):
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


def _convoys(trips: Sequence[Sighted], noise: LocationNoise) -> list[list[int]]:
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
