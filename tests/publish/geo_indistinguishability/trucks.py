"""Small tables of trucks."""

from __future__ import annotations

import numpy as np
import polars as pl

from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.schema.trajectory import TrajectoryColumns
from voile.table.opening import open_frame
from voile.table.protocol import PrivateTable

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
