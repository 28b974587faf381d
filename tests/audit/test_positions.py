"""Rows that stand in the order of the original are told, and no others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.audit.tables import marginals, people
from voile.audit.positions import columns_in_order, order_notices
from voile.audit.recognition import recognise
from voile.release.reading.rows import People

ORIGINAL = people(600, 1)
DRAWN = marginals(ORIGINAL, 3)


def _in_order(released: pl.DataFrame, original: pl.DataFrame = ORIGINAL) -> list[str]:
    return columns_in_order(recognise(released, People(original)), People(original))


def test_one_column_in_order_is_told() -> None:
    """Of columns drawn by themselves, the one whose rows correspond by their places."""
    kept = DRAWN.with_columns(ORIGINAL["education"])
    assert _in_order(kept) == ["education"]
    (notice,) = order_notices(recognise(kept, People(ORIGINAL)), People(ORIGINAL))
    assert "'education' tells" in notice


def test_noise_and_intervals_in_order_are_told() -> None:
    """Numbers need not be equal to tell whose they are."""
    noise = np.random.default_rng(4).normal(0, 9, 600)
    low = pl.col("age") // 10 * 10
    kept = DRAWN.with_columns(
        ORIGINAL["hours"] + noise,
        ORIGINAL.select(age=pl.format("[{}, {}]", low, low + 9))["age"],
    )
    assert _in_order(kept) == ["age", "hours"]


@pytest.mark.parametrize("seed", range(5))
def test_other_orders_are_none(seed: int) -> None:
    """Shuffled rows, independent draws, and fewer rows."""
    assert not _in_order(ORIGINAL.sample(fraction=1, shuffle=True, seed=seed))
    assert not _in_order(marginals(ORIGINAL, seed))
    assert not _in_order(ORIGINAL.head(500))


def test_rows_sorted_on_both_sides_are_no_order() -> None:
    """A file that somebody has sorted agrees with a sorted original at every place nearby."""
    original = ORIGINAL.sort("age")
    assert "age" not in _in_order(marginals(original, 5).sort("age"), original)
