"""GPX 1.0 and 1.1: the tracks of satellite receivers as a table of reports.

Each track is a trip, named after the track, or by its number in the file where it has no name or
shares it; its segments follow each other, with gaps between.  Elevations, speeds and whatever else
a receiver adds are left behind, as are routes and waypoints, which are no reports.

A point without a time has a missing value, which the plan decides on like any other.

Cost: some 20 microseconds a point (gpxpy).
"""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from voile.table.places import corrupt
from voile_base.errors import InputError, TableError

__all__ = ["GPX_COLUMNS", "read_gpx"]


GPX_COLUMNS = ("trip", "time", "latitude", "longitude")


def read_gpx(path: Path) -> pl.DataFrame:
    """The reports of all tracks, in the order of the file; times in UTC.

    Raises ``TableError`` for a file that is no GPX or has no track points, ``InputError`` where the
    reader is not installed, ``OSError`` where the file cannot be read.
    """
    tracks = _parsed(path).tracks
    names = [track.name for track in tracks]
    often = Counter(names)
    rows = [
        (_name(name, number, often), _instant(point.time), point.latitude, point.longitude)
        for number, (name, track) in enumerate(zip(names, tracks, strict=True), 1)
        for segment in track.segments
        for point in segment.points
    ]
    if not rows:
        msg = f"{path}: the GPX file has no track with points; routes and waypoints are no reports"
        raise TableError(msg)
    types: dict[str, pl.DataType | type[pl.DataType]] = {
        "trip": pl.String,
        "time": pl.Datetime("us", "UTC"),
        "latitude": pl.Float64,
        "longitude": pl.Float64,
    }
    return pl.DataFrame(rows, schema=types, orient="row")


def _parsed(path: Path) -> Any:
    """The GPX document."""
    gpxpy = _library()
    content = path.read_bytes()
    try:
        return gpxpy.parse(content)
    except (gpxpy.gpx.GPXException, UnicodeError, ValueError):
        raise corrupt(path, "GPX") from None


def _library() -> ModuleType:
    try:
        import gpxpy  # noqa: PLC0415 - an extra
    except ImportError:
        msg = "reading GPX needs gpxpy; install voile[gps], or save the tracks as CSV"
        raise InputError(msg) from None
    module: ModuleType = gpxpy
    return module


def _name(name: str | None, number: int, often: Counter[str | None]) -> str:
    """What a track is called; its number where the name does not tell it from others."""
    if not name:
        return str(number)
    return name if often[name] == 1 else f"{name} ({number})"


def _instant(time: datetime.datetime | None) -> datetime.datetime | None:
    """A time in UTC; GPX times are, also where they do not say so."""
    if time is None:
        return None
    if time.tzinfo is None:
        return time.replace(tzinfo=datetime.UTC)
    return time.astimezone(datetime.UTC)
