"""Small tables for M-Shuffle, and how they are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

import voile
from voile.publish.m_shuffle import MShuffle
from voile.release.release import Publication
from voile.table.private import PrivateTable

__all__ = ["opened", "published", "staff"]


def opened(
    rows: Mapping[str, Any] | pl.DataFrame, sensitive: Sequence[str], **plan: Any
) -> PrivateTable:
    """A private table in which all other columns are quasi-identifiers, but for those to keep."""
    frame = pl.DataFrame(rows)
    keep, unique = tuple(plan.pop("keep", ())), tuple(plan.pop("keep_unique", ()))
    others = tuple(name for name in frame.columns if name not in {*sensitive, *keep})
    roles = voile.Roles(
        quasi_identifiers=others, sensitive=tuple(sensitive), keep=keep, keep_unique=unique
    )
    return voile.open_frame(frame, voile.Plan(roles=roles, **plan))


def published(table: PrivateTable, seed: int = 1, **parameters: Any) -> Publication:
    """A release of a table, made with a seed."""
    return MShuffle(**parameters).prepare(table, voile.Randomness.seeded(seed))


def staff(rows: int = 300) -> pl.DataFrame:
    """People whose grade follows their salary, and whose zip code and age do not."""
    draws = np.random.default_rng(5)
    salary = draws.integers(20, 90, rows) * 1000
    return pl.DataFrame(
        {
            "zip": [f"{code:05}" for code in draws.integers(0, 40, rows)],
            "age": draws.integers(18, 66, rows),
            "grade": [f"G{pay // 15000}" for pay in salary],
            "sex": draws.choice(["f", "m"], rows),
            "country": ["DE"] * rows,
            "salary": salary,
        }
    )
