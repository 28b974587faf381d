"""What a release of trips is off by: positions, distances to the destination, times of arrival.

What it does: compares each published report with the true one of the same trip and time; private.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
sections 8.1 and 8.2, Table 2: mean displacement, and the mean absolute errors of the distance to a
destination and of the time of arrival on the straight line at a constant speed.

Claim: means over all reports that are published and true, so that long trips count for more.
Errors of arrival along the roads, which need a map, are those of ``arrival.AlongRoads``.

Cost: a join of n reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from voile.disclosure.moved import Moved, Remaining
from voile.disclosure.numbered import Numbered
from voile.release.reading.tracks import paired_reports
from voile.release.release import Release
from voile.schema.trajectory import TrajectoryColumns
from voile.table.arrays import Frame
from voile.utility.arrival import ConstantSpeed
from voile.utility.measurement import Measurement
from voile.utility.protocol import Comparison
from voile_base.errors import InputError
from voile_geo.geodesy import Floats, separation

__all__ = ["TripErrors"]


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
