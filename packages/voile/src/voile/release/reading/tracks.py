"""Reports of a release of trips beside the true ones: the same trip at the same time.

Trips are told apart by their ids, which a release shows unless it numbers them anew.  Of several
reports of a trip at one time only the first of each side counts.

Cost: a join of n reports.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from voile.release.release import Release
from voile.schema.trajectory import TrajectoryColumns
from voile.table.frames import from_native
from voile_base.errors import InputError

__all__ = ["columns_of", "paired_reports"]

_MILLISECONDS = 1e11
"""Larger numbers are milliseconds since 1970."""
_PLACES = ("latitude", "longitude")


def columns_of(release: Release) -> TrajectoryColumns:
    """The columns of trips as a release names them, which are those of its original."""
    trip, time, latitude, longitude = (
        release.roles.get(role, (role,))[0] for role in ("trip", "time", *_PLACES)
    )
    return TrajectoryColumns(trip, time, latitude, longitude)


def paired_reports(release: Release, original: object, named: TrajectoryColumns) -> pl.DataFrame:
    """Published and true reports side by side, by trip and time; private.

    Columns: ``trip`` (texts), ``time`` (seconds), ``shown_`` and ``true_`` ``latitude`` and
    ``longitude`` in degrees, or ``shown_remaining`` in metres in place of what is shown of
    positions, and where ``named`` has a destination, ``to_latitude`` and ``to_longitude``.

    ``original`` is the private table, a data frame of any kind.  Raises ``InputError`` where it
    lacks a column, or no report of the release is one of its own.
    """
    private, _ = from_native(original)
    for name in named.names:
        if name not in private.columns:
            msg = (
                f"the private original has no column {name!r}; name its columns in a plan ([roles])"
            )
            raise InputError(msg)
    true = {f"true_{role}": getattr(named, role) for role in _PLACES}
    true |= dict(zip(("to_latitude", "to_longitude"), named.destination or (), strict=False))
    shown = {
        f"shown_{role}": release.roles[role][0]
        for role in (*_PLACES, "remaining")
        if role in release.roles
    }
    public = pl.DataFrame(release.table.to_arrow())
    trip, time = (release.roles[role][0] for role in ("trip", "time"))
    pairs = (
        _side(public, (trip, time), shown)
        .join(_side(private, (named.trip, named.time), true), on=["trip", "time"])
        .sort("trip", "time")
    )
    if pairs.is_empty():
        msg = (
            "no report of the release is one of the original: their trips are numbered anew, or "
            "these are other trips"
        )
        raise InputError(msg)
    return pairs


def _side(frame: pl.DataFrame, keys: tuple[str, str], numbers: dict[str, str]) -> pl.DataFrame:
    """The reports of one side, its columns by what they are."""
    return frame.select(
        pl.col(keys[0]).cast(pl.String).alias("trip"),
        _seconds(frame[keys[1]]).alias("time"),
        *(pl.col(column).cast(pl.Float64).alias(name) for name, column in numbers.items()),
    ).unique(["trip", "time"], keep="first", maintain_order=True)


def _seconds(values: pl.Series) -> pl.Series:
    """Times in seconds since 1970."""
    if values.dtype == pl.String:
        values = values.str.to_datetime(strict=False)
    if values.dtype.is_temporal():
        return values.dt.epoch("ms").cast(pl.Float64) / 1000
    numbers = values.cast(pl.Float64)
    return numbers / 1000 if np.any(np.abs(numbers.to_numpy()) > _MILLISECONDS) else numbers
