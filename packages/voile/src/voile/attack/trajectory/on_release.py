"""Attacks on a release of trips: how far each adversary is off, and how often on the right road.

What it does: lets every adversary of ``adversaries`` follow the trips of a release on a road map,
and judges them by the true positions.

Adversary: has the published trips, the map, the method with its parameters, and a distribution of
movement.  The informed one uses the mechanism's own distribution; where zones depend on a receiver
he knows that place.

Claim: rates are counted.  The true road at a report is the one that map matching of the exact track
finds, with a receiver's error of 15 m; a road goes from crossing to crossing (``roads.nearest``).
Means are over trips, with intervals of confidence 95 % by Student's distribution over trips,
because the reports of one trip are not independent.  What is left out is counted in notes
(``selection``).

The informed one is the strongest of several (``strongest``).  Where an adversary on the map errs in
a way that can be seen, a better one finds more: his figures are marked as a lower bound of what is
found, with the reason (``strongest.doubts``).  What more the informed one may know, and what that
adds, is that of ``knowing``.

Cost: that of ``inference`` for each trip and adversary; drawn trips bound it.

Which trips of a release are followed on a map, and what is left out of them.

A report is followed if the original has it, at the same time of the same trip, and its true
position lies in the box around the map's nodes.  A trip is followed if it has two such reports.
Everything else is left out, and counted in notes.

Cost: O(n log n) for n reports, and a copy of the trips that are drawn.

How fast trucks may be for those who follow them: a limit of speed for trips on a map.

The limit is what adversaries and the matching of exact tracks suppose alike: a truck that is faster
is taken for another, and cannot be followed.  It is the largest of

- ``Movement.fastest``, which was found right for city traffic;
- ``SIGNED`` times the highest speed that the map signs on the roads nearest to the trips;
- ``OWN`` times the highest speed of the trips themselves, on the straight line.

Own speeds are those that are kept over two steps, for a single position that a receiver got wrong
is no speed; what is above ``IMPOSSIBLE`` is no truck's.  One limit holds on all roads: the signs of
a map are not good enough to forbid a road to a truck.

The limit is one number of private trips, which an adversary may well guess: his estimate is the
better for it, so that the audit errs on the safe side.

Cost: a look-up of the nearest road for each position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from voile.attack.protocol import Estimate
from voile.attack.trajectory.adversaries import Known, RoadAdversary, RoadEstimate, share_right
from voile.attack.trajectory.fleets import Day, follow_convoys, follow_days
from voile.attack.trajectory.inference import Movement
from voile.attack.trajectory.knowing import (
    StrongestWays,
    TrackedTrip,
    TripKnowledge,
    attempts,
    doubts,
)
from voile.attack.trajectory.reports import Sighted
from voile.disclosure import replaced as stating
from voile.disclosure.replaced import Moved
from voile.release.recounting import columns_of, paired_reports
from voile.release.release import Release
from voile.schema.trajectory import TrajectoryColumns
from voile.table.arrays import Frame, from_native
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Json
from voile_geo.geodesy import Floats
from voile_geo.planar.field import STILL
from voile_geo.planar.noise import (
    AngleSelection,
    CorrelatedGaussian,
    GaussianField,
    LocationNoise,
    PlanarLaplace,
)
from voile_geo.planar.steps import Zones, ZoneTable
from voile_geo.roads.nearest import NearbyRoads, RoadRadii
from voile_geo.roads.network import RoadNetwork

__all__ = [
    "IMPOSSIBLE",
    "OWN",
    "SIGNED",
    "Limits",
    "TripsOutcome",
    "Watch",
    "counted",
    "fastest_of",
    "follow_trips",
]


_AT = 100.0
"""Metres from a known place, within which a truck is there."""


@dataclass(frozen=True, eq=False)
class _Selection:
    """Trips to follow; private."""

    trips: tuple[pl.DataFrame, ...]
    """The columns of ``paired_reports``, and ``followed``: all reports, in the order of time."""
    notes: tuple[str, ...]
    """What is left out, in words."""
    cut: int = 0
    """Of how many trips later reports are left out."""


def _selected(
    release: Release,
    original: object,
    named: TrajectoryColumns,
    roads: RoadNetwork,
    limits: tuple[int, int | None],
    randomness: Randomness,
) -> _Selection:
    """Trips drawn by their ids and not by their places; at most ``limits`` of trips and reports.

    Raises ``InputError`` where no trip can be followed.
    """
    pairs = paired_reports(release, original, replace(named, destination=None))
    most_trips, most_reports = limits
    pairs = pairs.with_columns(on_map=_on_map(pairs, roads))
    place = pl.col("on_map").cast(pl.Int64).cum_sum().over("trip")
    early = pl.lit(True) if most_reports is None else place <= most_reports
    pairs = pairs.with_columns(followed=pl.col("on_map") & early)
    counts = pairs.group_by("trip").agg(
        reports=pl.len(), inside=pl.col("on_map").sum(), followed=pl.col("followed").sum()
    )
    several = counts.filter(pl.col("reports") > 1)
    if several.is_empty():
        msg = "no trip has two reports or more, so that there is nobody to follow"
        raise InputError(msg)
    able, off = several.filter(pl.col("inside") > 1), _off_the_map(counts)
    if able.is_empty():
        msg = f"no trip lies on the map: {', '.join(off)}: give a map of where the trucks were"
        raise InputError(msg)
    key = randomness.key("trips")
    drawn = sorted(able["trip"].to_list(), key=lambda trip: key.digest(trip.encode()))[:most_trips]
    chosen = pairs.filter(pl.col("trip").is_in(drawn)).partition_by("trip", as_dict=True)
    kept = able.filter(pl.col("trip").is_in(drawn))
    cut = kept.filter(pl.col("inside") > pl.col("followed")).height
    partly = kept.filter(pl.col("inside") < pl.col("reports"))
    beyond = int((partly["reports"] - partly["inside"]).sum())
    notes = (
        *_unmatched(release, pairs),
        *off,
        *_left_out(counts.height - several.height, "with one report only"),
        *_left_out(several.height - able.height, "with fewer than two reports on the map"),
        *_left_out(able.height - len(drawn), f"that {_were(able.height - len(drawn))} not drawn"),
        *(_beyond(beyond, partly.height) if beyond else ()),
        *(_cut(cut, most_reports) if most_reports is not None and cut else ()),
    )
    return _Selection(tuple(chosen[(trip,)] for trip in drawn), notes, cut)


def _on_map(pairs: pl.DataFrame, roads: RoadNetwork) -> pl.Series:
    """Whether true positions lie in the box around the nodes of a map; unknown ones do not."""
    true = roads.to_plane(pairs["true_latitude"].to_numpy(), pairs["true_longitude"].to_numpy())
    low, high = roads.plane.min(axis=0), roads.plane.max(axis=0)
    return pl.Series("on_map", ((true >= low) & (true <= high)).all(axis=1))


def _unmatched(release: Release, pairs: pl.DataFrame) -> tuple[str, ...]:
    """What the release shows and the original does not hold."""
    public = pl.DataFrame(release.table.to_arrow())
    trip = release.roles["trip"][0]
    shown = public.select(trip=pl.col(trip).cast(pl.String)).drop_nulls()
    held = shown.filter(pl.col("trip").is_in(pairs["trip"].unique().to_list()))
    strange = shown["trip"].n_unique() - held["trip"].n_unique()
    missing = held.height - pairs.height
    notes = _left_out(strange, "of the release that the original does not hold")
    if missing:
        notes += (
            f"{counted(missing, 'report')} {_were(missing)} left out: the original has the trip "
            "and no report of it at that time, or the release has several",
        )
    return notes


def _off_the_map(counts: pl.DataFrame) -> tuple[str, ...]:
    """How much of all trips, drawn or not, a map does not hold."""
    reports, inside = int(counts["reports"].sum()), int(counts["inside"].sum())
    if inside == reports:
        return ()
    share = (reports - inside) / reports
    shown = "less than 1%" if share < 0.01 else f"{share:.0%}"
    if share > 0.99 and inside:
        shown = "more than 99%"
    return (f"{reports - inside:,} of {counted(reports, 'report')} ({shown}) lie off the map",)


def _left_out(trips: int, which: str) -> tuple[str, ...]:
    return (f"{counted(trips, 'trip')} {which}: not followed",) if trips else ()


def _beyond(reports: int, trips: int) -> tuple[str]:
    return (
        f"{counted(reports, 'report')} of {counted(trips, 'trip')} {_were(reports)} left out, "
        "because the true position lies off the map",
    )


def _cut(trips: int, most: int) -> tuple[str]:
    has, its = ("has", "its") if trips == 1 else ("have", "their")
    return (f"{counted(trips, 'trip')} {has} more reports: {its} first {most:,} are followed",)


def counted(number: int, noun: str) -> str:
    """A number of things, in words: "1 report", "2,000 reports"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


SIGNED, OWN = 1.1, 1.2
IMPOSSIBLE = 70.0
"""m/s."""


def _own_speed(time: Floats, track: Floats) -> float:
    """The highest speed of an exact track (n, 2) in metres at times (n,) in seconds; m/s."""
    once = _speeds(time, track, 1)
    if len(time) > 2:
        twice = _speeds(time, track, 2)
        once[:-1] = np.minimum(once[:-1], twice)
        once[1:] = np.minimum(once[1:], twice)
    return float(once[once <= IMPOSSIBLE].max(initial=0.0))


def _speeds(time: Floats, track: Floats, steps: int) -> Floats:
    """Speeds from each position to that so many steps later; 0 where no time passes."""
    moved, elapsed = np.hypot(*(track[steps:] - track[:-steps]).T), time[steps:] - time[:-steps]
    return np.asarray(np.divide(moved, elapsed, out=np.zeros_like(moved), where=elapsed > 0))


def fastest_of(
    roads: RoadNetwork,
    nearby: NearbyRoads,
    trips: Sequence[tuple[Floats, Floats]],
    usual: float,
) -> float:
    """The limit in m/s for trips, each its times (n,) and its exact track (n, 2); private."""
    tracks = np.concatenate([track for _, track in trips])
    signed = float(roads.speed[np.unique(nearby.nearest_in_plane(tracks).edge)].max()) / 3.6
    own = max(_own_speed(time, track) for time, track in trips)
    return min(max(usual, SIGNED * signed, OWN * own), IMPOSSIBLE)


_ON_ROADS = ("map-matching", "informed")
Watch = Callable[[TrackedTrip, Mapping[str, RoadEstimate]], None]
"""Takes a trip, and what each adversary makes of it, by name; private."""


@dataclass(frozen=True)
class Limits:
    """How much is followed, and how fast; raises ``InputError`` for a speed that cannot be."""

    trips: int = 100
    """At most so many are drawn."""
    reports: int | None = None
    """At most so many of each trip, its first ones; None: all of them."""
    fastest: float | None = None
    """In m/s: for the adversaries no truck is faster; None for a limit by the map and the trips
    (``speeds``)."""
    movement: Movement | None = None
    """What adversaries on the map suppose of trucks; None for the usual."""

    def __post_init__(self) -> None:
        if self.fastest is not None and not 0 < self.fastest < math.inf:
            msg = "the fastest speed of trucks must be a number above 0, in km/h"
            raise InputError(msg)


@dataclass(frozen=True)
class TripsOutcome:
    """What one adversary makes of the trips of a release; private."""

    adversary: str
    trips: int
    reports: int
    error: Estimate
    """Mean distance between his estimate and the truth, in metres."""
    right: Estimate
    """Share of the reports at which he names the true road."""
    seconds: float
    """Processor time a trip, without the look-up of what can be reached on the map."""
    lost: int = 0
    """Reports at which he lost the truck, and began anew."""
    beyond: int = 0
    """Reports farther from the one before than he looks for a truck in that time."""
    reasons: tuple[str, ...] = ()
    """Why he finds less than his knowledge allows; empty where nothing is known against it."""
    notes: tuple[str, ...] = ()
    """What was left out, and what bounds figures; the same for all of a release."""

    @property
    def lower_bound(self) -> bool:
        """Whether he finds less than his knowledge allows: errors are smaller, shares larger."""
        return bool(self.reasons)

    def document(self) -> Json:
        """The outcome for JSON, without the notes."""
        return {
            "adversary": self.adversary,
            "trips": self.trips,
            "reports": self.reports,
            "error_metres": self.error.document(),
            "right_roads": self.right.document(),
            "lost_reports": self.lost,
            "reports_beyond": self.beyond,
            "lower_bound": self.lower_bound,
            "lower_bound_reasons": list(self.reasons),
            "seconds_per_trip": self.seconds,
        }


def follow_trips(  # noqa: PLR0913 - what is followed, and what is known
    release: Release,
    original: object,
    roads: RoadNetwork,
    named: TrajectoryColumns | None = None,
    *,
    limits: Limits | None = None,
    knowledge: TripKnowledge | None = None,
    randomness: Randomness | None = None,
    watch: Watch | None = None,
) -> tuple[TripsOutcome, ...]:
    """Let each adversary follow drawn trips within limits; private.

    What is left out is said in the notes of every outcome, and where adversaries lost a truck.
    What ``knowledge`` adds to the informed adversary are further outcomes.

    ``original`` is the private table, a data frame of any kind, with the columns of ``named``, by
    default those of the release.  ``watch`` is shown each trip with what each adversary makes of
    it.

    Raises ``InputError`` where the release shows no positions or has levels for receivers that it
    does not name, where its trips are not those of the original, have one report each or lie off
    the map, or where its noise was chosen by another map.
    """
    limits, knowledge = limits or Limits(), knowledge or TripKnowledge()
    moved = _positions(release)
    named = named or columns_of(release)
    randomness = randomness or Randomness.secure()
    followed = limits.trips, limits.reports
    chosen = _selected(release, original, named, roads, followed, randomness)
    noise = _noise_of(moved, roads)
    zones = _zones(noise, moved.destination)
    vehicle = knowledge.vehicle
    vehicle_of = {} if vehicle is None else _vehicles_of(original, named.trip, vehicle)
    sighted = [_sighted(trip, roads, zones) for trip in chosen.trips]
    judge, adversary = _judge_and_adversary(roads, sighted, limits)
    seen, unsure = _true_ways(judge, chosen.trips, sighted)
    beyond = [adversary.beyond(one.sighted.time, one.track) for one in seen]
    plain = [dict(_plainly_followed(adversary, one.sighted)) for one in seen]
    best = StrongestWays.choose(seen, [attempts(adversary, one.sighted, noise) for one in seen])
    made = {name: [one[name] for one in plain] for name in plain[0]}
    made["informed"] = list(best.findings)
    if watch is not None:
        for i, one in enumerate(seen):
            watch(one, {name: some[i] for name, some in made.items()})
    made |= {
        f"informed, {name}": some
        for name, some in _findings(adversary, seen, noise, knowledge, vehicle_of)
    }
    judged = _Judged(seen, beyond, chosen.cut, best)
    outcomes = [judged.outcome(name, some, made["none"]) for name, some in made.items()]
    notes = (
        *chosen.notes,
        *_unsure(unsure),
        *best.notes,
        *_bounded(outcomes),
        *_supposed(adversary),
        *_knew(knowledge, seen, vehicle_of),
    )
    return tuple(replace(outcome, notes=notes) for outcome in outcomes)


def _vehicles_of(original: object, trip: str, vehicle: str) -> Mapping[str, str]:
    """The vehicle of each trip of the private original; raises ``InputError``."""
    private, _ = from_native(original)
    if vehicle not in private.columns:
        msg = f"the private original has no column {vehicle!r}, by which vehicles are told apart"
        raise InputError(msg)
    pairs = private.select(
        trip=pl.col(trip).cast(pl.String), vehicle=pl.col(vehicle).cast(pl.String)
    ).unique()
    if pairs["trip"].n_unique() < pairs.height:
        msg = (
            f"some trips have several vehicles by column {vehicle!r}: vehicles share ids of trips; "
            "give each trip an id of its own"
        )
        raise InputError(msg)
    return dict(pairs.iter_rows())


def _findings(
    adversary: RoadAdversary,
    seen: Sequence[TrackedTrip],
    noise: LocationNoise,
    knowledge: TripKnowledge,
    vehicle_of: Mapping[str, str],
) -> Iterator[tuple[str, list[RoadEstimate]]]:
    """For each case its name, and what he finds of each trip."""
    for name, ends, places, days in knowledge.cases:
        known = [_known(adversary.roads, one, knowledge, ends, places) for one in seen]
        if days:
            yield name, _together(adversary, seen, known, noise, vehicle_of)
        else:
            yield (
                name,
                [
                    adversary.informed(one.sighted, noise, what)
                    for one, what in zip(seen, known, strict=True)
                ],
            )
    if knowledge.vehicle is not None:
        trips, of = [one.sighted for one in seen], [vehicle_of[one.trip] for one in seen]
        yield "all vehicles", follow_convoys(adversary, trips, of, noise)


def _together(
    adversary: RoadAdversary,
    seen: Sequence[TrackedTrip],
    known: Sequence[Known],
    noise: LocationNoise,
    vehicle_of: Mapping[str, str],
) -> list[RoadEstimate]:
    """All trips of each vehicle at once."""
    groups: dict[str, list[int]] = {}
    for i, one in enumerate(seen):
        groups.setdefault(vehicle_of[one.trip], []).append(i)
    found: dict[int, RoadEstimate] = {}
    for trips in groups.values():
        days = [Day(seen[i].sighted, seen[i].began, known[i]) for i in trips]
        found |= zip(trips, follow_days(adversary, days, noise), strict=True)
    return [found[i] for i in range(len(seen))]


def _known(
    roads: RoadNetwork, seen: TrackedTrip, knowledge: TripKnowledge, ends: bool, places: bool
) -> Known:
    """What he knows of one trip."""
    known: dict[int, tuple[Floats, int | None]] = {}
    if places and knowledge.places is not None:
        at = roads.to_plane(*(side.copy() for side in knowledge.places.T))
        far = np.hypot(*(seen.track[:, np.newaxis] - at).transpose(2, 0, 1))
        for report in np.flatnonzero(far.min(axis=1) < _AT).tolist():
            known[report] = (at[far[report].argmin()], None)
    if ends:
        last = len(seen.track) - 1
        reports = {0} if "start" in knowledge.ends else set()
        reports |= {last} if "destination" in knowledge.ends else set()
        reports |= set(_stops(seen.track)) if "stops" in knowledge.ends else set()
        known |= {i: (seen.track[i], int(seen.road[i])) for i in reports}
    return known


def _stops(track: Floats) -> list[int]:
    """At which reports a truck stands: where it was at the report before or will be at the next."""
    still = np.hypot(*np.diff(track, axis=0).T) < STILL
    return np.flatnonzero(np.append(still, False) | np.insert(still, 0, False)).tolist()


def _noise_of(moved: Moved, roads: RoadNetwork | None = None) -> LocationNoise:
    """The noise that a release states of its positions, as everybody can read it.

    Raises ``InputError`` where radii were chosen by the roads of a map, and this is another one.
    """
    stated = moved.zones
    radii, grid = stated.radii, None
    if stated.map is not None:
        found = _radii_of(stated.map, roads)
        radii, grid = found.radii, found.grid
    zones = Zones(
        levels=[level * stated.factor for level in stated.levels],
        radii=radii,
        level_limits=stated.level_limits,
        radius_limits=stated.radius_limits,
        centre=stated.centre,
        by=stated.by,
        grid=grid,
    )
    match moved.law:
        case stating.StatedCorrelatedGaussian(tau=tau):
            return CorrelatedGaussian(zones, tau)
        case stating.StatedGaussianField() as distribution:
            return GaussianField(
                zones,
                distribution.share,
                distribution.length,
                distribution.period_days,
                distribution.tau,
                distribution.shared,
            )
        case stating.TurningLaplace(deviation=deviation, start=start):
            return AngleSelection(zones, deviation, start)
        case stating.StatedPlanarLaplace():
            return PlanarLaplace(zones)


def _radii_of(stated: stating.StatedRoadMap, roads: RoadNetwork | None) -> RoadRadii:
    """The radii that a release chose by the roads of a map, found anew."""
    if roads is None or roads.digest != stated.digest:
        msg = (
            f"the release chose its noise by the roads of the map {stated.name}, and this is "
            "another map, or another version of it: the noise cannot be known without that one"
        )
        raise InputError(msg)
    return RoadRadii.of(roads, stated.within, stated.bounds)


def _positions(release: Release) -> Moved:
    """How a release moved its positions; raises ``InputError`` where it shows none."""
    for role in ("latitude", "longitude"):
        for column in release.roles.get(role, ()):
            shown = release.disclosure.columns.get(release.disclosure.owner(column) or "")
            if isinstance(shown, Moved):
                return shown
    msg = "the release shows no positions, so that no truck can be followed on a map"
    raise InputError(msg)


def _plainly_followed(
    adversary: RoadAdversary, sighted: Sighted
) -> Iterator[tuple[str, RoadEstimate]]:
    """Who do not know the mechanism."""
    yield "none", adversary.as_shown(sighted)
    yield "median", adversary.median(sighted)
    yield "smoother", adversary.smoother(sighted)
    yield "map-matching", adversary.matching(sighted)


def _judge_and_adversary(
    roads: RoadNetwork,
    seen: Sequence[tuple[Floats, Sighted]],
    limits: Limits,
) -> tuple[RoadAdversary, RoadAdversary]:
    """Who finds the true roads, and who follows trucks; both share what they know of the map.

    A movement that is given says how fast trucks are for who follows them, and at least so fast
    they are for who finds the true roads.
    """
    adversary, usual = RoadAdversary(roads), limits.movement or Movement()
    trips = [(sighted.time, track) for track, sighted in seen]
    limit = fastest_of(roads, adversary.nearby, trips, usual.fastest)
    judge = adversary.supposing(replace(usual, fastest=limit))
    if limits.fastest is None and limits.movement is None:
        return judge, judge
    fastest = limits.fastest or usual.fastest
    return judge, adversary.supposing(replace(usual, fastest=fastest))


def _true_ways(
    judge: RoadAdversary, trips: Sequence[Frame], sighted: Sequence[tuple[Floats, Sighted]]
) -> tuple[list[TrackedTrip], int]:
    """Trips with their true roads, and at how many reports these are not sure."""
    seen, unsure = [], 0
    for trip, (track, one) in zip(trips, sighted, strict=True):
        truth = judge.match(one.time, track)
        unsure += truth.lost
        began = float(trip["time"].filter(trip["followed"])[0])
        seen.append(TrackedTrip(trip["trip"][0], track, truth.road, one, began))
    return seen, unsure


def _unsure(reports: int) -> Iterator[str]:
    if reports:
        yield (
            f"no way led on at {counted(reports, 'report')} of the exact tracks themselves: the "
            "true roads before and after are less sure than elsewhere. A tunnel or a ferry that "
            "the map lacks does that, a clock that was set, and vehicles that share ids of trips"
        )


def _bounded(outcomes: Sequence[TripsOutcome]) -> Iterator[str]:
    """Why figures are lower bounds."""
    for outcome in outcomes:
        for reason in outcome.reasons:
            yield (
                f"{outcome.adversary}: {reason}: what it finds is a lower bound of what can be "
                "found"
            )


def _supposed(adversary: RoadAdversary) -> Iterator[str]:
    yield (
        "adversaries on the map suppose that no truck is faster than "
        f"{3.6 * adversary.movement.fastest:.0f} km/h"
    )
    yield (
        f"looking up what can be reached on the map took {adversary.looking:.2g} s in all, which "
        "the adversaries who match to it share and no trip's time holds"
    )


def _knew(
    knowledge: TripKnowledge, seen: Sequence[TrackedTrip], vehicle_of: Mapping[str, str]
) -> Iterator[str]:
    """Of how many trips there was something to know."""
    if knowledge.vehicle is not None:
        vehicles = len({vehicle_of[one.trip] for one in seen})
        yield (
            f"all days are those that are followed: {counted(len(seen), 'trip')} of "
            f"{counted(vehicles, 'vehicle')}; --targets follows more"
        )


def _zones(noise: LocationNoise, receiver: Any) -> ZoneTable:
    if noise.zones.needs_receiver and receiver is None:
        msg = "the noise depends on where each trip is bound for, and the release does not say that"
        raise InputError(msg)
    return noise.zones.table(None if receiver is None else (receiver[0], receiver[1]))


def _sighted(trip: Frame, roads: RoadNetwork, zones: ZoneTable) -> tuple[Floats, Sighted]:
    """The true track in the plane of the map, and what is seen of it, where it is followed."""
    true, shown = (
        roads.to_plane(trip[f"{side}_latitude"].to_numpy(), trip[f"{side}_longitude"].to_numpy())
        for side in ("true", "shown")
    )
    places = zip(trip["shown_latitude"].to_list(), trip["shown_longitude"].to_list(), strict=True)
    epsilons, last = [], None
    for place in places:
        epsilons.append(zones.epsilon(place, last))
        last = place
    kept = np.flatnonzero(trip["followed"].to_numpy())
    time = trip["time"].to_numpy()[kept]
    seen = Sighted(time - time[0], shown[kept], np.array(epsilons)[kept], number=kept)
    return true[kept], seen


@dataclass(frozen=True, eq=False)
class _Judged:
    """Trips by which findings are judged."""

    seen: Sequence[TrackedTrip]
    beyond: Sequence[int]
    """Of each trip, how many reports lie farther from the one before than adversaries look."""
    cut: int
    """Trips of which later reports are not followed."""
    best: StrongestWays

    def outcome(
        self, name: str, found: Sequence[RoadEstimate], shown: Sequence[RoadEstimate]
    ) -> TripsOutcome:
        """What came of an adversary; ``shown`` takes what is published for true."""
        pairs = list(zip(self.seen, found, strict=True))
        errors = [float(np.hypot(*(one.position - trip.track).T).mean()) for trip, one in pairs]
        right = [share_right(one.road, trip.road) for trip, one in pairs]
        on_roads = name.startswith(_ON_ROADS)
        outcome = TripsOutcome(
            name,
            trips=len(found),
            reports=sum(len(trip.track) for trip in self.seen),
            error=Estimate.of_units(errors),
            right=Estimate.of_units(right, most=1.0),
            seconds=math.fsum(one.seconds for one in found) / len(found),
            lost=sum(one.lost for one in found),
            beyond=sum(self.beyond) if on_roads else 0,
        )
        reasons = [*self._reasons(outcome)] if on_roads else []
        if name.startswith("informed"):
            reasons += doubts(self.seen, found, shown)
        if name == "informed":
            reasons += self.best.reasons
        return replace(outcome, reasons=tuple(reasons))

    def _reasons(self, outcome: TripsOutcome) -> Iterator[str]:
        if outcome.lost:
            yield f"it lost the truck at {counted(outcome.lost, 'report')} and began anew there"
        if outcome.beyond:
            yield (
                f"{counted(outcome.beyond, 'report')} {'lies' if outcome.beyond == 1 else 'lie'} "
                "farther from the one before than it looks for a truck"
            )
        if self.cut:
            yield f"of {counted(self.cut, 'trip')} only the first reports were followed"
