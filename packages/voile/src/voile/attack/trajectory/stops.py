"""Where a truck stood, and where an adversary puts that.

A stop begins at a report and lasts while further ones stay within ``WITHIN`` metres of it; it
counts from ``LASTS`` seconds on.  The adversary is told when a truck stands, for times, silence or
noise that stays with the place may show it; he puts it at the mean of what he infers meanwhile.

Cost: O(n) for n reports, and O(n) for each stop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voile_geo.geodesy import Floats

__all__ = ["LASTS", "WITHIN", "TruckStop", "put", "stops_of"]

WITHIN, LASTS = 100.0, 300.0
"""Metres, and seconds."""


@dataclass(frozen=True, eq=False)
class TruckStop:
    """Where and when a truck stands."""

    place: Floats
    """Shape (2,), metres of the plane: the mean of its reports."""
    first: int
    """The report at which it begins."""
    last: int


def stops_of(time: Floats, place: Floats) -> list[TruckStop]:
    """The stops of a track: ``time`` (n,) in seconds, ``place`` (n, 2) in metres."""
    stops, first = [], 0
    while first < len(time):
        apart = np.hypot(*(place[first:] - place[first]).T) > WITHIN
        last = first + (int(np.argmax(apart)) if apart.any() else len(apart)) - 1
        if time[last] - time[first] >= LASTS:
            stops.append(TruckStop(place[first : last + 1].mean(axis=0), first, last))
            first = last + 1
        else:
            first += 1
    return stops


def put(stop: TruckStop, inferred: Floats) -> Floats:
    """Where somebody puts a stop who infers (n, 2) of the reports: shape (2,), metres."""
    return np.asarray(inferred[stop.first : stop.last + 1].mean(axis=0))
