"""Which trips of a release are followed on a map, and what is left out of them.

A report is followed if the original has it, at the same time of the same trip, and its true
position lies in the box around the map's nodes.  A trip is followed if it has two such reports.
Everything else is left out, and counted in notes.

Cost: O(n log n) for n reports, and a copy of the trips that are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from voile.release.reading.tracks import paired_reports
from voile.release.release import Release
from voile.schema.trajectory import TrajectoryColumns
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_geo.roads.network import RoadNetwork

__all__ = ["Selection", "counted", "selected"]


@dataclass(frozen=True, eq=False)
class Selection:
    """Trips to follow; private."""

    trips: tuple[pl.DataFrame, ...]
    """The columns of ``paired_reports``, and ``followed``: all reports, in the order of time."""
    notes: tuple[str, ...]
    """What is left out, in words."""
    cut: int = 0
    """Of how many trips later reports are left out."""


def selected(
    release: Release,
    original: Any,
    named: TrajectoryColumns,
    roads: RoadNetwork,
    limits: tuple[int, int | None],
    randomness: Randomness,
) -> Selection:
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
    return Selection(tuple(chosen[(trip,)] for trip in drawn), notes, cut)


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
