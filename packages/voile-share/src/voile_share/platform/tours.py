"""Past drives as a company keeps them, and the tours that they are of.

What teaches is a tour: a truck and its day.  That begins with the first parcel that it delivers and
lasts ``_TOUR_SECONDS``, whatever the clock says: at midnight UTC half the world's vans are under
way.  A tour that is not over teaches nothing, since its early parcels are no sample of it.  Of one
with many parcels some are kept, evenly over its time; caps count tours.  Drives that an earlier
Voile kept do not say whose they are: then all of a company within a day are one tour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from voile_base.errors import InputError
from voile_share.arrival import Past, SharedPosition

__all__ = ["Drives", "drive_document", "has_ended", "past_of", "since", "with_drive"]

Drives = Sequence[dict[str, Any]]
"""What ``drive_document`` made."""

_TOUR_SECONDS = 16 * 3_600.0
_MOST_TOURS = 120
_BEGUN_AT_MOST = 12
"""Tours of so many hours as one lasts: a large fleet's day is not all there is to learn."""
_MOST_OF_TOUR = 20
"""Drives of one tour."""
_MOST_OF_DRIVE = 12
"""Positions of one drive."""
_OLDEST_SECONDS = 366 * 86_400.0


def drive_document(shown: Sequence[SharedPosition], arrived: float, truck: bytes) -> dict[str, Any]:
    """One drive for JSON: distances and times, no place, and a digest of the truck's number."""
    those = [one for one in shown if one.tells and one.time <= arrived]
    every = max(1, -(-len(those) // _MOST_OF_DRIVE))
    kept = those[::-1][::every][::-1]
    return {
        "truck": sha256(truck).hexdigest()[:16],
        "arrived": int(arrived),
        "shown": [[int(arrived - one.time), round(one.metres), one.stops] for one in kept],
    }


def past_of(drives: Drives, now: float) -> list[Past]:
    """What tours that are over teach; raises ``InputError`` where this is none of drives."""
    try:
        over = [tour for tour in _tours(drives) if tour[0]["arrived"] + _TOUR_SECONDS <= now]
        return [
            Past.of(
                [
                    SharedPosition(one["arrived"] - seconds, float(metres), stops=stops)
                    for seconds, metres, stops in one["shown"]
                ],
                one["arrived"],
                f"{number}",
            )
            for number, tour in enumerate(over)
            for one in tour
        ]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        msg = "these are no past drives of `voile share truck history`"
        raise InputError(msg) from None


def has_ended(drives: Drives, after: float, until: float) -> bool:
    """Whether a tour was over at the one time and not yet at the other."""
    ends = (tour[0]["arrived"] + _TOUR_SECONDS for tour in _tours(drives))
    return any(after < end <= until for end in ends)


def with_drive(drives: Drives, drive: dict[str, Any]) -> Drives:
    """With one more, within what is kept; the same where it is not."""
    arrived, tours = drive["arrived"], _tours(since(drives, drive["arrived"] - _OLDEST_SECONDS))
    mine = [tour for tour in tours if _is_of(tour, drive)]
    if mine:
        mine[-1].append(drive)
        if len(mine[-1]) > _MOST_OF_TOUR:
            _thin(mine[-1])
    elif sum(tour[0]["arrived"] > arrived - _TOUR_SECONDS for tour in tours) >= _BEGUN_AT_MOST:
        return drives
    else:
        tours = [*sorted(tours, key=_began), [drive]][-_MOST_TOURS:]
    return sorted((one for tour in tours for one in tour), key=_arrived)


def since(drives: Drives, time: float) -> Drives:
    """Without the tours that began before a time."""
    return [one for tour in _tours(drives) if tour[0]["arrived"] >= time for one in tour]


def _tours(drives: Drives) -> list[list[dict[str, Any]]]:
    """Drives by tours, those of each in the order of time."""
    tours: dict[str, list[list[dict[str, Any]]]] = {}
    for one in sorted(drives, key=_arrived):
        of_truck = tours.setdefault(_truck(one), [])
        if of_truck and _is_of(of_truck[-1], one):
            of_truck[-1].append(one)
        else:
            of_truck.append([one])
    return [tour for of_truck in tours.values() for tour in of_truck]


def _is_of(tour: Drives, drive: dict[str, Any]) -> bool:
    began, truck = tour[0]["arrived"], _truck(tour[0])
    return truck == _truck(drive) and 0 <= drive["arrived"] - began < _TOUR_SECONDS


def _thin(tour: list[dict[str, Any]]) -> None:
    """Take out the drive whose neighbours in time are the nearest; the ends stay."""
    gaps = [
        after["arrived"] - before["arrived"] for before, after in zip(tour, tour[2:], strict=False)
    ]
    del tour[1 + min(range(len(gaps)), key=gaps.__getitem__)]


def _truck(drive: dict[str, Any]) -> str:
    return str(drive.get("truck", ""))


def _arrived(drive: dict[str, Any]) -> float:
    arrived = float(drive["arrived"])
    if not math.isfinite(arrived):
        raise ValueError
    return arrived


def _began(tour: Drives) -> float:
    return _arrived(tour[0])
