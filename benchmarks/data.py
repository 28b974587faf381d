"""The real tables that benchmarks use, from the folder of shared data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers

__all__ = [
    "AbsentDataError",
    "NotHereError",
    "adult_batches",
    "adult_losses",
    "olist_batches",
    "shared_file",
]

LOSS = "capital-loss"
APPENDS = 10
FIRST_MONTHS = ("2016-09", "2016-10", "2017-01")
LAST_MONTH = "2018-08"


class NotHereError(Exception):
    """What a benchmark needs is not on this machine."""


class AbsentDataError(NotHereError):
    """A table that a benchmark needs is not on this machine."""


def adult_losses() -> pl.DataFrame:
    """Adult's 2,282 people with a capital loss, in the order of the file."""
    table = pl.read_csv(shared_file("census/adult.csv"), infer_schema_length=None)
    return table.filter(pl.col(LOSS) > 0)


def adult_batches() -> list[NDArray[np.int64]]:
    """The seed's setting: losses of the complete training rows, half of them and ten appends."""
    table = adult_losses().filter(pl.col("part") == "train")
    table = table.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))
    losses = table[LOSS].to_numpy().astype(np.int64)
    half = len(losses) // 2
    return [losses[:half], *np.array_split(losses[half:], APPENDS)]


def olist_batches() -> list[ExactNumbers]:
    """Payments of an online market by month of purchase, to the cent.

    The few payments before 2017 go with the first month; those after August 2018, twenty orders
    that were entered late, are left out.
    """
    payments = pl.read_csv(
        shared_file("releases/olist-payments.csv"), schema_overrides={"payment_value": pl.String}
    )
    month = pl.col("order_purchase_timestamp").str.slice(0, 7).alias("month")
    orders = pl.read_csv(shared_file("releases/olist-orders.csv")).select("order_id", month)
    paid = payments.join(orders, on="order_id", maintain_order="left")
    paid = paid.filter(pl.col("month") <= LAST_MONTH).with_columns(
        pl.col("month").replace(FIRST_MONTHS, [FIRST_MONTHS[-1]] * len(FIRST_MONTHS))
    )
    months = paid.sort("month", maintain_order=True).partition_by("month", maintain_order=True)
    return [ExactNumbers.of(batch["payment_value"].to_list()) for batch in months]


def shared_file(name: str) -> Path:
    """A file of the folder of shared data; raises ``AbsentDataError``."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    path = Path(os.environ.get("VOILE_SHARED_DATA", beside)) / name
    if not path.is_file():
        msg = f"{name} is not in the folder of shared data (set VOILE_SHARED_DATA)"
        raise AbsentDataError(msg)
    return path
