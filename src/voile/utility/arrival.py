"""How far off the time of arrival is, when it is taken from what is published of a truck.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 8.2, measures errors of arrival at a constant speed on the straight line; along the roads is
our own.

Who waits takes the published position for true and asks how long it is from there: on the straight
line at a constant speed (``ConstantSpeed``), or along the roads (``AlongRoads``).  Where a distance
is published, it is driven at the constant speed (``ConstantSpeed.for_distances``).  The error is
the time from the published position minus that from the true one.

Claim: none; these are measures, and they are private.  Along the roads a position is moved to the
nearest road first, which costs a minute where that is the other carriageway.

Cost: O(n) on the line; along the roads a search of the network for each destination, 5 ms for
27,000 nodes, and a microsecond a position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from voile.geodesy import Floats, separation
from voile.roads.ways import Ways, WaysTo
from voile.utility.destination import Position

__all__ = [
    "AlongRoads",
    "ArrivalError",
    "ArrivalTimes",
    "ConstantSpeed",
    "arrival_errors",
    "errors_by_level",
]


class ArrivalTimes(Protocol):
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
    times: ArrivalTimes, true: tuple[Floats, Floats], published: tuple[Floats, Floats]
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
class ArrivalError:
    """The absolute errors of arrival of the reports at one level of noise; private."""

    epsilon: float
    """Per metre."""
    reports: int
    unknown: int
    """Further reports from which, or from whose true position, no way leads to the destination."""
    mean: float
    """Seconds; not a number where there is no report."""
    median: float
    most: float
    """Seconds that 95 % of the reports stay below."""


def errors_by_level(errors: Floats, epsilon: Floats) -> Sequence[ArrivalError]:
    """Summaries of n errors in seconds by the epsilon of their report, from small to large."""
    found = []
    for level in np.unique(epsilon):
        these = np.abs(errors[epsilon == level])
        known = these[~np.isnan(these)]
        mean, median, most = (
            (float(known.mean()), *(float(q) for q in np.quantile(known, [0.5, 0.95])))
            if len(known)
            else (np.nan, np.nan, np.nan)
        )
        unknown = len(these) - len(known)
        found.append(ArrivalError(float(level), len(known), unknown, mean, median, most))
    return found
