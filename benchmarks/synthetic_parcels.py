"""Trucks that are planned on synthetic parcels, and loaded with the true ones by rank of weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np
import polars as pl
from numpy.typing import NDArray

import voile
from benchmarks.data import shared_file
from benchmarks.record import Measurement, Table, Target
from voile.schema.plan import parse_plan
from voile_pack.heuristics import first_fit_decreasing

__all__ = ["run"]

SEEDS = range(10)
TRUCK = 500_000
MARGINS = (0.0, 0.05, 0.1)
PLANNED = 0.05
MOST_TRUCKS, MOST_OVERLOADED = 1.15, 0.05
WEIGHTS = [0, 100, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 8_000, 12_000, 20_000,
           30_000]  # fmt: skip
LITRES = [0, 5, 20, 60]
PLAN = {
    "roles": {"quasi_identifiers": ["weight", "litres"]},
    "columns": {
        "weight": {"bounds": [0, 30_000], "edges": WEIGHTS},
        "litres": {"bounds": [0, 300], "edges": LITRES},
    },
    "method": {"name": "dp-synthesis", "epsilon": 1, "delta": 1e-6},
}


@dataclass(frozen=True)
class Loaded:
    """How trucks fare that were planned on synthetic parcels."""

    ratio: float
    """Trucks over those that the true weights need."""
    overloaded: float
    """Share of trucks."""
    heaviest: float
    """Load of the heaviest over what a truck holds."""


def run() -> Measurement:
    """Publish with each seed, plan with each margin, load."""
    items = _items()
    true = np.sort(items["weight"].to_numpy())[::-1]
    needed = _trucks(first_fit_decreasing(true, TRUCK))
    found: dict[float, list[Loaded]] = {margin: [] for margin in MARGINS}
    for seed in SEEDS:
        release = voile.make_release(items, parse_plan(PLAN), None, seed=seed).release
        made = np.sort(release.to_native()["weight"].to_numpy().astype(np.int64))[::-1]
        for margin, loads in found.items():
            loads.append(_loaded(true, made, margin, needed))
    planned = found[PLANNED]
    ratio, overloaded = max(it.ratio for it in planned), mean(it.overloaded for it in planned)
    return Measurement(
        question="How many trucks do synthetic parcels ask for, and how many are overloaded?",
        data=f"Olist order items with a weight: {len(true):,} parcels, {needed} trucks of "
        f"{TRUCK // 1000} kg by their true weights; weights in {len(WEIGHTS) - 1} ranges, litres "
        f"in {len(LITRES)}",
        seeds=f"{SEEDS.start} to {SEEDS.stop - 1}",
        protocol="dp-synthesis at epsilon 1, delta 1e-6, of weights and litres. Synthetic parcels "
        "are packed by first fit decreasing into trucks of which a margin stays free; then the "
        "true parcels, by rank of weight, take the places of the synthetic ones",
        answer=f"With a margin of {PLANNED:.0%}: {mean(it.ratio for it in planned):.3f} times the "
        f"trucks that true weights need, {overloaded:.1%} of them overloaded, the heaviest by "
        f"{max(it.heaviest for it in planned) - 1:.1%}.",
        targets=[
            Target("trucks over those of true weights, the worst seed",
                   f"at most {MOST_TRUCKS}", f"{ratio:.3f}", ratio <= MOST_TRUCKS),
            Target("trucks overloaded, mean of seeds", f"at most {MOST_OVERLOADED:.0%}",
                   f"{overloaded:.1%}", overloaded <= MOST_OVERLOADED),
        ],
        tables=[Table(
            "Trucks", ("margin", "o/o_n, mean", "o/o_n, worst", "overloaded, mean",
                       "overloaded, worst", "heaviest load"),
            [[f"{margin:.0%}", f"{mean(it.ratio for it in loads):.3f}",
              f"{max(it.ratio for it in loads):.3f}", f"{mean(it.overloaded for it in loads):.1%}",
              f"{max(it.overloaded for it in loads):.1%}",
              f"{max(it.heaviest for it in loads):.1%}"] for margin, loads in found.items()],
        )],
    )  # fmt: skip


def _items() -> pl.DataFrame:
    products = pl.read_csv(shared_file("parcels/olist-products.csv")).select(
        "product_id",
        weight="product_weight_g",
        litres=pl.col("product_length_cm")
        * pl.col("product_height_cm")
        * pl.col("product_width_cm")
        / 1000,
    )
    items = pl.read_csv(shared_file("parcels/olist-order-items.csv"))
    joined = items.join(products, on="product_id").select("weight", "litres").drop_nulls()
    return joined.filter(pl.col("weight") > 0)


def _trucks(bins: NDArray[np.int64]) -> int:
    return int(bins.max()) + 1


def _loaded(true: NDArray[np.int64], made: NDArray[np.int64], margin: float, needed: int) -> Loaded:
    """True parcels in the places of synthetic ones, of which there are fewer or more."""
    bins = first_fit_decreasing(made, int(TRUCK * (1 - margin)))
    place: Sequence[int] | NDArray[np.int64] = np.arange(len(true)) * len(made) // len(true)
    loads = np.bincount(bins[place], weights=true) / TRUCK
    return Loaded(_trucks(bins) / needed, float((loads > 1).mean()), float(loads.max()))
