"""People of a made-up town, and files that were made of them."""

from __future__ import annotations

import numpy as np
import polars as pl

EDUCATION = np.array(["none", "school", "college", "doctor"])


def people(count: int, seed: int) -> pl.DataFrame:
    """Columns that depend on each other as in life, more or less."""
    draws = np.random.default_rng(seed)
    age = draws.integers(18, 90, count)
    learnt = np.clip(draws.integers(0, 4, count) + (age > 30) - (age > 70), 0, 3)
    hours = np.clip(20 + 8 * learnt + draws.integers(-9, 10, count) - 15 * (age > 65), 0, 80)
    return pl.DataFrame(
        {
            "age": age,
            "sex": draws.choice(["f", "m"], count),
            "town": draws.choice([f"t{i}" for i in range(12)], count),
            "education": EDUCATION[learnt],
            "hours": hours,
            "income": (10 * learnt + hours // 8 + draws.integers(0, 4, count)).astype(int),
        }
    )


def marginals(original: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Each column drawn by itself: nothing of anybody is left."""
    draws = np.random.default_rng(seed)
    return pl.DataFrame(
        {each.name: draws.choice(each.to_numpy(), original.height) for each in original}
    )
