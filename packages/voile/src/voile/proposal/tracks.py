"""The trips that a table reports: which columns tell place, time and trip.

A table of positions and times is one of trips.  Where all four roles of a trajectory are found,
noise for positions is proposed, and nothing else of the table; where one is missing, no method is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from voile.proposal.proposed import ColumnProposal
from voile.recognisers.values import share_of
from voile.schema.names import DEVICE_STATE, fits, meaning_of, named, words_of, words_told
from voile.schema.persons import ALONE, FEW_PERSONS
from voile_base.ondemand import dataclass, pattern_on_demand

__all__ = ["ProposedTrips", "proposed_trips"]

_CLOCK = pattern_on_demand(
    r"(?i)\d{1,2}[:.h]\d{2}(?:[:.]\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?| uhr)?"
)
_SECONDS = (1e8, 1e11)
"""Between these, numbers are seconds since 1970; up to a thousand times as much, milliseconds."""
_MOVING = frozenset({"vehicle", "device"})
_STATES = 0.5
"""The share of rows with another value, up to which numbers are states that repeat."""
_OF_THINGS = 10_000
"""Numbers from which on a state may be the number of a thing, such as that of an engine."""
_SHORT = 2
"""Letters and figures of a state such as "4G"."""
_FACTS = 3
"""Columns beside places, times and devices, beyond which a table is none of reports of trips."""
_REPEATS = 3
"""Reports of a trip, on average, from which on a column may tell trips apart."""


@dataclass(frozen=True)
class ProposedTrips:
    """The columns of reports of trips; None for those that were not found."""

    time: ColumnProposal | None
    latitude: ColumnProposal | None
    longitude: ColumnProposal | None
    trip: ColumnProposal | None
    beside: tuple[ColumnProposal, ...] = ()
    """States of the device, which are published as they are: they tell nothing about places."""
    parted: tuple[ColumnProposal, ...] = ()
    """A column of days and one of clocks, where two together tell the time of a report."""

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
    if sum(fits(words_told("latitude"), words_of(one.name)) for one in places) > 1:
        return None  # where a ride began and where it ended: an event a row, and no report of a way
    if all(one.details.profile.distinct <= FEW_PERSONS for one in places):
        return None  # the state of a receiver, and nowhere
    parted = () if times else _parted_time(columns)
    if not places or not (times or parted or tracks or any(map(_is_called_a_trip, columns))):
        return None
    degrees = [one for one in places if one.details.profile.type == "decimal"]
    latitude, longitude = (_only(degrees, words_told(one)) for one in ("latitude", "longitude"))
    called = (one for one in times if fits(words_told("time_of_report"), words_of(one.name)))
    time = next(iter((*called, *times)), None)
    rest = [one for one in columns if one not in places and one is not time]
    trip = _trip(rest)
    if not tracks and _is_of_events(rest, trip):
        return None
    states = (one for one in rest if one is not trip and _is_of_a_device(one))
    beside = tuple(replace(one, why=DEVICE_STATE) for one in states)
    return ProposedTrips(time, latitude, longitude, trip, beside, parted)


def _parted_time(columns: Sequence[ColumnProposal]) -> tuple[ColumnProposal, ...]:
    """A column of days and one of clocks beside what moves; none where a table has not both.

    Without what moves they are as likely the days of accidents, of which nobody tells a way.
    """
    days = [one for one in columns if one.kind == "date"]
    clocks = [one for one in columns if share_of(one.details.sample, _CLOCK.fullmatch) >= ALONE]
    found = (*days[:1], *(one for one in clocks if one not in days[:1]))[:2]
    return found if len(found) > 1 and any(map(_moves, columns)) else ()


def _is_of_a_device(column: ColumnProposal) -> bool:
    """Whether a column is the state of a device by its name, and its values repeat as such do.

    Speeds, directions, distances and heights are none: with times they tell the way.
    """
    details, meaning = column.details, meaning_of(column.name)
    if column.recognition is not None:
        return False
    few = details.profile.distinct <= FEW_PERSONS
    numbers = details.profile.type in {"integer", "decimal"}
    if meaning is not None and meaning.reason == DEVICE_STATE:
        return few or (numbers and details.look().share < _STATES)
    if not fits(words_told("receiver"), words_of(column.name)):
        return False
    if numbers and details.extremes is not None:
        return max(map(abs, details.extremes)) < _OF_THINGS
    long = (text for text in details.sample if len(text) > _SHORT)  # "4G" and "3D" are states
    return few and not any(map(str.isdigit, "".join(long)))


def _is_of_events(columns: Sequence[ColumnProposal], trip: ColumnProposal | None) -> bool:
    """Whether rows are events with a place, such as answers and calls, and no reports of a way.

    Nothing moves, and facts stand beside the places: some that are understood where no column tells
    trips apart, or so many that no receiver of positions writes them.
    """
    facts = [one for one in columns if one.role in {"quasi", "sensitive"} and one.kind != "date"]
    facts = [one for one in facts if not _is_of_a_device(one)]
    several = trip is None and sum(not one.guessed for one in facts) > 1
    return not any(map(_moves, columns)) and (several or len(facts) > _FACTS)


def _moves(column: ColumnProposal) -> bool:
    """Whether a column tells a way beside positions; the height of a place does not alone."""
    told = column.recognition is not None and column.recognition.group == "movement"
    return told and not fits(words_told("height"), words_of(column.name))


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
    named_so = fits(words_told("time_of_report"), words_of(column.name))
    return named_so and low < least and most < 1000 * high


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
    return fits(words_told("trip"), words_of(column.name))
