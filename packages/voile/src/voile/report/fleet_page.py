"""The page of a fleet: what an adversary makes of each trip, the worst first; private.

Pictures stand beside the page, one file a trip, and it asks for nothing else.  In the report of a
study the same stands as a section, which holds the pictures of the worst trips itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voile.report.words import Share

__all__ = ["FleetTrip", "FollowedFleet", "fleet_page", "worst_first"]

_COLUMNS = (
    "trip",
    "reports",
    "on the right road",
    "off by, m",
    "shown off by, m",
    "stops",
    "stops found",
)


@dataclass(frozen=True)
class FleetTrip:
    """What came of one trip."""

    trip: str
    reports: int
    right: float
    """Share of the reports at which the informed adversary names the true road."""
    error: float
    """By how many metres he is off on average."""
    shown: float
    """And by how many what is published is."""
    stops: int
    stops_found: int
    """Of these, how many he puts to within 100 m."""
    nearest: float | None
    """Metres by which he is off at the stop that he finds best; None without a stop."""
    lost: int
    """Reports at which he began anew."""
    picture: str
    """The name of the file with its map, or the picture itself as a ``data:`` address; empty
    without one."""

    @property
    def words(self) -> str:
        """What he would have done with it."""
        if self.stops:
            named = (
                f"puts {self.stops_found} of {self.stops} stops to within 100 m, the nearest to "
                f"{self.nearest:,.0f} m"
            )
        else:
            named = "there is no stop to find"
        often = "once" if self.lost == 1 else f"{self.lost} times"
        again = f", and lost the truck {often}" if self.lost else ""
        return (
            f"Of {self.reports} reports he puts {self.right:.0%} on the right road, is "
            f"{self.error:,.0f} m off where what is published is {self.shown:,.0f} m off, and "
            f"{named}{again}."
        )


@dataclass(frozen=True)
class FollowedFleet:
    """What came of following the trips of a release on a map."""

    trips: Sequence[FleetTrip]
    notes: Sequence[str]
    adversaries: Sequence[Mapping[str, Any]] = ()
    """The document of what each adversary made of all of them."""
    left_out: str = ""
    """Why trips were not followed, where they could not be."""


def worst_first(trips: Sequence[FleetTrip]) -> Sequence[FleetTrip]:
    """From the trip of which most is found."""
    return sorted(trips, key=lambda trip: (-trip.right, trip.error))


def fleet_page(name: str, trips: Sequence[FleetTrip], notes: Sequence[str]) -> Mapping[str, Any]:
    """What the template shows; trips from the one of which most is found."""
    worst = worst_first(trips)
    total = sum(trip.reports for trip in trips)
    right = sum(trip.right * trip.reports for trip in trips) / total
    stops, named = (sum(getattr(it, field) for it in trips) for field in ("stops", "stops_found"))
    summary = [
        f"An adversary who knows the map and the mechanism puts {right:.0%} of {total:,} reports "
        f"of {len(trips):,} {'trip' if len(trips) == 1 else 'trips'} on the right road; the mean "
        f"of the shares of trips is {sum(trip.right for trip in trips) / len(trips):.1%}.",
        f"Told when trucks stand, he puts {named:,} of {stops:,} stops of five minutes or more to "
        "within 100 m."
        if stops
        else "No trip has a stop of five minutes or more.",
        "Trips were drawn at random where there are more than were asked for; the worst come "
        "first.",
    ]
    rows = [
        (
            trip.trip,
            trip.reports,
            Share(trip.right),
            round(trip.error),
            round(trip.shown),
            trip.stops,
            trip.stops_found,
        )
        for trip in worst
    ]
    return {
        "name": name,
        "summary": summary,
        "columns": _COLUMNS,
        "rows": rows,
        "trips": worst,
        "notes": list(notes),
    }
