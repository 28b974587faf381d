"""People for the methods that draw values row by row, and how they are published."""

from __future__ import annotations

import numpy as np
import polars as pl

import voile
from voile_base.randomness import Randomness

__all__ = ["FAR", "ROLES", "people", "published", "shown"]

FAR = 5.0
"""Standard deviations: a normal variable is farther out 6 times in ten million."""
ROLES = {
    "quasi_identifiers": ("age", "sex", "town"),
    "sensitive": ("pay",),
    "keep": ("row",),
    "keep_unique": ("row",),
}


def people(rows=4000, seed=5):
    """Each with a number by which the row is found again, which only tests keep."""
    draws = np.random.default_rng(seed)
    age = draws.integers(18, 80, rows)
    return pl.DataFrame(
        {
            "row": np.arange(rows),
            "age": age,
            "sex": draws.choice(["f", "m"], rows, p=[0.7, 0.3]),
            "town": draws.choice(["Bonn", "Kiel", "Ulm"], rows, p=[0.5, 0.3, 0.2]),
            "pay": (age * 50 * draws.lognormal(0, 0.4, rows)).round(),
            "who": np.arange(rows) // 2,
        }
    )


def published(publisher, frame=None, seed=1, columns=None, **roles):
    """What a publisher makes of people, each of whom is a row unless roles say otherwise."""
    chosen = voile.Roles(**{**ROLES, "person": "row", **roles})
    plan = voile.Plan(roles=chosen, columns=columns or {})
    table = voile.open_frame(people() if frame is None else frame, plan)
    return publisher.prepare(table, Randomness.seeded(seed))


def shown(publication):
    """The published rows, in the order of the table."""
    return pl.DataFrame(publication.release.table.to_arrow()).sort("row")
