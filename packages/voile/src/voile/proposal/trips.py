"""Reports of trips in a proposal: which columns are the trip, the time and the place of each.

A table of positions and times is one of trips.  Where all four roles of a trajectory are found,
noise for positions is proposed, and nothing else of the table; where one is missing, no method is.
"""

from __future__ import annotations

from collections.abc import Sequence

from voile.proposal.columns import ColumnProposal
from voile.schema.names import fits, named, words_of
from voile_base.ondemand import dataclass

__all__ = ["ProposedTrips", "proposed_trips"]

_LATITUDE = (
    "lat*",
    "breite*",
    "breiten*",
    "bredde*",
    "breedte*",
    "szerok*",
    "enlem",
    "leveys*",
    "szeles*",
    "sirka",
)
_LONGITUDE = (
    "lon*",
    "lng",
    "lange*",
    "laenge*",
    "lengde*",
    "langde*",
    "lengte*",
    "dlugosc*",
    "boylam",
    "pituus*",
    "hossz*",
    "delka",
)
_TIME = (
    *("time*", "*time", "tst", "ts", "timestamp*", "datetime*", "utc*", "epoch", "zeit*", "*zeit"),
    *("uhrzeit", "heure", "horodatage", "hora", "fecha*", "ora", "data+ora", "tijd*", "tidspunkt"),
    *("tid", "czas", "aika", "zaman", "cas", "ido"),
)
_TRIP = (
    *("trip*", "ride*", "journey*", "track*", "tour*", "route*", "run", "fahrt*", "trajet*"),
    *("course+id", "viaje*", "viaggio*", "viagem", "rit", "ritten", "przejazd*", "tur", "matka"),
)
_SECONDS = (1e8, 1e11)
"""Between these, numbers are seconds since 1970; up to a thousand times as much, milliseconds."""
_MOVING = frozenset({"vehicle", "device"})
_REPEATS = 3
"""Reports of a trip, on average, from which on a column may tell trips apart."""


@dataclass(frozen=True)
class ProposedTrips:
    """The columns of reports of trips; None for those that were not found."""

    time: ColumnProposal | None
    latitude: ColumnProposal | None
    longitude: ColumnProposal | None
    trip: ColumnProposal | None

    @property
    def roles(self) -> dict[str, ColumnProposal] | None:
        """The columns by role; None where one of the four is missing."""
        found = {
            "trip": self.trip,
            "time": self.time,
            "latitude": self.latitude,
            "longitude": self.longitude,
        }
        there = {role: column for role, column in found.items() if column is not None}
        return there if len(there) == len(found) else None


def proposed_trips(columns: Sequence[ColumnProposal]) -> ProposedTrips | None:
    """The trips that a table reports; None without positions, or without times and trips.

    Sentences of a receiver of positions hold their times themselves.
    """
    places = [column for column in columns if column.is_position]
    times = [column for column in columns if column not in places and _is_time(column)]
    tracks = any(one.recognition and one.recognition.key == "track" for one in places)
    if not places or not (times or tracks or any(map(_is_called_a_trip, columns))):
        return None
    degrees = [one for one in places if one.details.profile.type == "decimal"]
    latitude, longitude = (_only(degrees, words) for words in (_LATITUDE, _LONGITUDE))
    called = (one for one in times if fits(_TIME, words_of(one.name)))
    time = next(iter((*called, *times)), None)
    rest = [one for one in columns if one not in places and one is not time]
    trip = _trip(rest)
    if trip is None and not tracks and _is_of_persons(columns):
        return None
    return ProposedTrips(time, latitude, longitude, trip)


def _is_of_persons(columns: Sequence[ColumnProposal]) -> bool:
    """Whether facts about persons stand beside places, and nothing moves: answers, not reports."""
    moving = any(one.recognition and one.recognition.group == "movement" for one in columns)
    facts = [
        one
        for one in columns
        if one.role in {"quasi", "sensitive"} and not one.guessed and one.kind != "date"
    ]
    return len(facts) > 1 and not moving


def _only(places: Sequence[ColumnProposal], words: Sequence[str]) -> ColumnProposal | None:
    """The one column whose name has such a word; None where none or several have."""
    found = [one for one in places if fits(words, words_of(one.name))]
    return found[0] if len(found) == 1 else None


def _is_time(column: ColumnProposal) -> bool:
    """Whether a column holds times: with a clock, or as seconds since 1970."""
    details = column.details
    if details.profile.type == "datetime" or any("%H" in one for one in details.date_formats):
        return True
    if details.profile.type not in {"integer", "decimal"} or details.extremes is None:
        return False
    least, most = details.extremes
    low, high = _SECONDS
    return fits(_TIME, words_of(column.name)) and low < least and most < 1000 * high


def _trip(columns: Sequence[ColumnProposal]) -> ColumnProposal | None:
    """The column that tells trips apart, or else vehicles, devices or persons."""
    several = [
        one
        for one in columns
        if one.details.profile.distinct > 1
        and one.details.profile.distinct * _REPEATS <= one.details.rows
        and not one.details.profile.missing
    ]
    called = [one for one in several if _is_called_a_trip(one)]
    things = [one for one in several if one.recognition and one.recognition.key in _MOVING]
    return next(iter((*called, *things, *(one for one in several if named(one.name)))), None)


def _is_called_a_trip(column: ColumnProposal) -> bool:
    return fits(_TRIP, words_of(column.name))
