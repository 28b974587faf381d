"""The page of a fleet: what an adversary makes of each trip, the worst first; private.

Pictures stand beside the page, one file a trip, and it asks for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voile.report.words import Share

__all__ = ["FleetTrip", "fleet_page"]

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
    """The name of the file with its map."""

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
        again = f", and lost the truck {self.lost} times" if self.lost else ""
        return (
            f"Of {self.reports} reports he puts {self.right:.0%} on the right road, is "
            f"{self.error:,.0f} m off where what is published is {self.shown:,.0f} m off, and "
            f"{named}{again}."
        )


def fleet_page(name: str, trips: Sequence[FleetTrip], notes: Sequence[str]) -> Mapping[str, Any]:
    """What the template shows; trips from the one of which most is found."""
    worst = sorted(trips, key=lambda trip: (-trip.right, trip.error))
    total = sum(trip.reports for trip in trips)
    right = sum(trip.right * trip.reports for trip in trips) / total
    stops, named = (sum(getattr(it, field) for it in trips) for field in ("stops", "stops_found"))
    summary = [
        f"An adversary who knows the map and the mechanism puts {right:.0%} of {total:,} reports "
        f"of {len(trips):,} trips on the right road.",
        f"Told when trucks stand, he puts {named:,} of {stops:,} stops of five minutes or more to "
        "within 100 m.",
        "Trips were drawn at random where there are more than --targets; the worst come first.",
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
