"""What a release of trips is off by: positions, distances to the destination, times of arrival.

What it does: compares each published report with the true one of the same trip and time; private.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
sections 8.1 and 8.2, Table 2: mean displacement, and the mean absolute errors of the distance to a
destination and of the time of arrival on the straight line at a constant speed.

Claim: means over all reports that are published and true, so that long trips count for more.
Errors of arrival along the roads, which need a map, are those of ``arrival.AlongRoads``.

Cost: a join of n reports.

How far off the time of arrival is, and the distance, taken from what is published of a truck.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 8.2, measures errors of arrival at a constant speed on the straight line; along the roads is
our own.

Who waits takes the published position for true and asks how long it is from there: on the straight
line at a constant speed (``ConstantSpeed``), or along the roads (``AlongRoads``).  Where a distance
is published, it is driven at the constant speed (``ConstantSpeed.for_distances``).  The error is
the time from the published position minus that from the true one.

Claim: none; these are measures, and they are private.  Along the roads a position is moved to the
nearest road first, which costs a minute where that is the other carriageway.

The distance to a destination is taken from published positions: the mean absolute error of section
8.1, Table 2.  Its distribution: planar Laplace noise at epsilon, seen from a destination at
distance D, has a mean absolute error that depends on a = epsilon D alone: c(a) / epsilon, with c =
2 at the destination, 1.2015 at a = 2, and 4 / pi far away.  The published distance is too long by
about 3 / (2 epsilon^2 D), since noise across the way lengthens it.

Departure: the seed's distances are 1.604 times those of the distribution at every epsilon, which
fits metres read as miles; the cause is not proven.

Cost: O(n) on the line; along the roads a search of the network for each destination, 5 ms for
27,000 nodes, and a microsecond a position.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol

import numpy as np

from voile.disclosure.exact import Numbered
from voile.disclosure.replaced import Moved, Remaining
from voile.release.recounting import paired_reports
from voile.release.release import Release
from voile.schema.trajectory import TrajectoryColumns
from voile.table.arrays import Frame
from voile.utility.protocol import Comparison, Measurement
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_geo.geodesy import Floats, separation
from voile_geo.roads.nearest import Ways, WaysTo

__all__ = [
    "AlongRoads",
    "ConstantSpeed",
    "Position",
    "TripErrors",
    "arrival_errors",
    "distance_errors",
    "expected_distance_error",
]


Position = tuple[float, float]
"""Latitude and longitude in degrees."""
_RADII, _ANGLES, _FARTHEST = 400, 2_000, 40.0


def distance_errors(
    latitude: Floats,
    longitude: Floats,
    published_latitude: Floats,
    published_longitude: Floats,
    destination: Position,
) -> Floats:
    """By how much n published positions seem further from a destination than true ones; private.

    All of shape (n,), degrees; the result is in metres and may be negative.
    """
    ends = [np.full(len(latitude), side) for side in destination]
    true = separation(latitude, longitude, ends[0], ends[1])
    return separation(published_latitude, published_longitude, ends[0], ends[1]) - true


def expected_distance_error(scaled: float) -> float:
    """Epsilon times the mean absolute error at a distance of ``scaled`` / epsilon, 0 or more.

    By Gauss and Legendre over radii up to 40 / epsilon, and over half a turn of directions.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_RADII)
    radius = _FARTHEST * (nodes + 1) / 2
    density = radius * np.exp(-radius) * weights * _FARTHEST / 2
    direction = (np.arange(_ANGLES) + 0.5) / _ANGLES * math.pi
    across, along = np.sin(direction), np.cos(direction)
    seen = np.hypot(scaled + np.outer(radius, along), np.outer(radius, across))
    return float(density @ np.abs(seen - scaled).mean(axis=1))


class _ArrivalTimes(Protocol):
    """How long it is from anywhere to one destination."""

    def seconds(self, latitude: Floats, longitude: Floats) -> Floats:
        """Seconds from n positions, shape (n,); infinite where no way leads there."""


@dataclass(frozen=True)
class ConstantSpeed:
    """On the straight line, at a constant speed."""

    destination: Position
    speed: float = 50.0
    """In km/h."""

    def seconds(self, latitude: Floats, longitude: Floats) -> Floats:
        """Seconds from n positions."""
        ends = [np.full(len(latitude), side) for side in self.destination]
        return self.for_distances(separation(latitude, longitude, ends[0], ends[1]))

    def for_distances(self, metres: Floats) -> Floats:
        """Seconds for distances."""
        return np.asarray(metres * 3.6 / self.speed)


class AlongRoads:
    """By the fastest way along the roads, from the road nearest to a position."""

    def __init__(self, ways: Ways, destination: Position) -> None:
        """Ways ``by="seconds"`` on a map, and where they lead."""
        self._to: WaysTo = ways.to(*destination)

    def seconds(self, latitude: Floats, longitude: Floats) -> Floats:
        """Seconds from n positions."""
        return self._to.of(latitude, longitude)


def arrival_errors(
    times: _ArrivalTimes, true: tuple[Floats, Floats], published: tuple[Floats, Floats]
) -> Floats:
    """By how many seconds a truck is expected too late at n reports; private.

    ``true`` and ``published`` are latitudes and longitudes, each of shape (n,).  Not a number where
    no way leads to the destination from either.
    """
    expected, actual = times.seconds(*published), times.seconds(*true)
    known = np.isfinite(expected) & np.isfinite(actual)
    late = np.full(len(expected), np.nan)
    np.subtract(expected, actual, out=late, where=known)
    return late


@dataclass(frozen=True)
class TripErrors:
    """How far off the reports of trips are; raises ``InputError`` for a speed that cannot be."""

    speed: float = 50.0
    """In km/h, above 0: how fast who waits supposes that a truck comes."""
    name: ClassVar[str] = "trips"

    def __post_init__(self) -> None:
        if not self.speed > 0:
            msg = "the speed must be a number above 0, in km/h"
            raise InputError(msg)

    def refusal(self, comparison: Comparison) -> str | None:
        """Trips are needed, and that their ids are those of the original."""
        release = comparison.published.release
        if "trip" not in release.roles or _columns(comparison) is None:
            return "the release does not show trips"
        (trip,) = release.roles["trip"]
        if isinstance(comparison.published.shown(trip), Numbered):
            return "its trips are numbered anew, so that their reports cannot be told apart"
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """The displacement where positions are shown, and errors where a destination is known."""
        release, named = comparison.published.release, _columns(comparison)
        assert named is not None, "was refused"
        reports = paired_reports(release, comparison.original.frame, named)
        return [*self._displaced(reports), *self._late(reports, release)]

    def _displaced(self, reports: Frame) -> Iterator[Measurement]:
        if "shown_latitude" not in reports.columns:
            return
        true = _place(reports, "true")
        middle = [np.full(len(reports), np.median(side)) for side in true]
        yield _measurement(
            ("trip-displacement", "Displacement of positions, m"),
            separation(*true, *_place(reports, "shown")),
            separation(*true, middle[0], middle[1]),
            "mean distance in metres between a published and the true position; useless is one "
            "place for all reports, the middle of the true ones",
        )

    def _late(self, reports: Frame, release: Release) -> Iterator[Measurement]:
        destination = _destination(reports, release)
        if destination is None:
            return
        true = separation(*_place(reports, "true"), *destination)
        if "shown_remaining" in reports.columns:
            shown = reports["shown_remaining"].to_numpy()
        else:
            shown = separation(*_place(reports, "shown"), *destination)
        error, guess = np.abs(shown - true), np.abs(true - np.median(true))
        useless = "useless is the same for all reports, the median of the true ones"
        yield _measurement(
            ("trip-distance", "Error of distance to destination, m"),
            error,
            guess,
            f"mean absolute error in metres of the distance to the destination; {useless}",
        )
        minutes = ConstantSpeed((0.0, 0.0), self.speed).for_distances
        yield _measurement(
            ("trip-arrival", "Error of time of arrival, min"),
            minutes(error) / 60,
            minutes(guess) / 60,
            "mean absolute error in minutes of the time of arrival, on the straight line at "
            f"{self.speed:g} km/h; {useless}",
        )


def _columns(comparison: Comparison) -> TrajectoryColumns | None:
    plan = comparison.original.plan
    return plan.trajectory if plan else None


def _place(reports: Frame, whose: str) -> tuple[Floats, Floats]:
    """Latitudes and longitudes, degrees."""
    return reports[f"{whose}_latitude"].to_numpy(), reports[f"{whose}_longitude"].to_numpy()


def _destination(reports: Frame, release: Release) -> tuple[Floats, Floats] | None:
    """Where each report's trip is bound for; None where nobody says."""
    if "to_latitude" in reports.columns:
        return _place(reports, "to")
    stated = (
        shown.destination
        for shown in release.disclosure.columns.values()
        if isinstance(shown, Moved | Remaining)
    )
    common = next(stated, None)
    if common is None:
        return None
    return np.full(len(reports), common[0]), np.full(len(reports), common[1])


def _measurement(
    names: tuple[str, str], errors: Floats, useless: Floats, meaning: str
) -> Measurement:
    return Measurement(
        measure=names[0],
        title=names[1],
        value=float(errors.mean()),
        better="lower",
        meaning=meaning,
        untouched=0.0,
        useless=float(useless.mean()),
    )
