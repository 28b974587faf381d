"""Small tables of trucks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.schema.trajectory import TrajectoryColumns
from voile.table.opening import open_frame
from voile.table.private import PrivateTable
from voile_geo.geodesy import displace

PLAN = Plan(Roles(), trajectory=TrajectoryColumns())
PARIS = (48.85, 2.35)


def trucks(
    trips: int = 3, reports: int = 4, *, gap: float = 30.0, east: float = 0.0, stride: float = 0.001
) -> pl.DataFrame:
    """Trucks that drive north from Paris, with a report every ``gap`` seconds."""
    number = np.tile(np.arange(reports), trips)
    return pl.DataFrame(
        {
            "trip": np.repeat(np.arange(trips), reports),
            "time": number * gap,
            "latitude": PARIS[0] + number * stride,
            "longitude": np.full(trips * reports, PARIS[1] + east),
        }
    )


def table_of(frame: pl.DataFrame, plan: Plan = PLAN) -> PrivateTable:
    """A private table of trips."""
    return open_frame(frame, plan)


def write_town(folder: Path, half: float = 6_000.0, spacing: float = 100.0) -> Path:
    """A map: streets from north to south around Paris, and a village 15 km away in the north-east.

    Within ``half`` metres of Paris a street every ``spacing`` metres, and none beyond.
    """
    streets = [((at, -half), (at, half)) for at in np.arange(-half, half + 1, spacing)] + [
        ((15_000.0, 15_000.0), (15_050.0, 15_000.0))
    ]
    lines = ["source,target,wkt\n"]
    for number, street in enumerate(streets):
        east, north = np.array(street).T
        home = np.full(2, PARIS[0]), np.full(2, PARIS[1])
        points = [
            f"{lon:.7f} {lat:.7f}" for lat, lon in zip(*displace(*home, east, north), strict=True)
        ]
        lines.append(f'{2 * number},{2 * number + 1},"LINESTRING ({", ".join(points)})"\n')
    path = folder / "town.csv"
    path.write_text("".join(lines))
    return path
