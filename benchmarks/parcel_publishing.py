"""Weights of parcels, published by any method, packed as published and weighed as they are.

The experiment knows which true weight stands behind each published row; no reader of a release
does.  A method that publishes other columns as they are is given the number of each row to keep.
``dp-generalization`` can keep none, but says which rows it left out: the rest, in ascending order
of weight, are those of its intervals in ascending order, and within an interval rows look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from time import process_time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import voile
from voile.disclosure.replaced import Noisy
from voile.release.release import Publication, Release
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan, parse_plan
from voile.table.engines.polars import PolarsEngine
from voile.table.private import PrivateTable
from voile_base.errors import InfeasibleError
from voile_pack import Instance, Stop
from voile_pack.distributions import PublishedNoise
from voile_pack.parcels import (
    Limit,
    ParcelMeasure,
    Task,
    Use,
    bin_loads,
    feasibility,
    heaviest_overload,
    objective_ratio,
)
from voile_pack.solve import solve

__all__ = ["Packed", "Parcels", "Published", "Publisher", "Way", "pack", "publish"]

WEIGHT, NUMBER = "weight", "number"

Publisher = voile.ClusteredLaplace | voile.DPGeneralization | voile.Generalization
Weights = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parcels:
    """Weights (n,) in whole units, the public bound on them, what a bin holds, and intervals."""

    weights: Weights
    heaviest: int
    capacity: int
    finest: int
    """Width of the narrowest intervals; those of the next levels double, then come all."""

    def table(self, numbered: bool) -> PrivateTable:
        """The private table of the weights, with the number of each row to keep or without."""
        columns = {WEIGHT: self.weights}
        keep = []
        if numbered:
            columns[NUMBER] = np.arange(len(self.weights))
            keep = [NUMBER]
        return voile.open_frame(pl.DataFrame(columns), self.plan(keep))

    def plan(self, keep: Sequence[str] = ()) -> Plan:
        """The plan for these weights."""
        widths, width = [], self.finest
        while width < self.heaviest:
            widths.append(width)
            width *= 2
        described = {"bounds": [0, self.heaviest], "intervals": {"widths": widths}}
        return parse_plan(
            {
                "roles": {
                    "quasi_identifiers": [WEIGHT],
                    "keep": list(keep),
                    "keep_unique": list(keep),
                },
                "columns": {WEIGHT: described},
            }
        )


@dataclass(frozen=True, eq=False)
class Published:
    """What a release shows of some parcels, and what they weigh; arrays have shape (r,)."""

    release: Release
    value: ExactNumbers | None
    low: ExactNumbers
    high: ExactNumbers
    true: Weights
    share: float
    """Published rows as a share of all."""
    seconds: float
    """Processor seconds of publishing: from the private table to the release."""


@dataclass(frozen=True)
class Way:
    """Which number to plan with, or which probability of overload each bin may have."""

    use: Use
    robust: float | None = None


@dataclass(frozen=True)
class Packed:
    """How a packing of published weights fares with the true ones."""

    bins: int
    true_bins: int
    """Bins of the true weights of the same rows."""
    feasible: float
    """Share of the bins that are within capacity."""
    overload: float
    """The largest excess, as a share of the capacity."""

    @property
    def ratio(self) -> float:
        """The seed's o / o_n."""
        return objective_ratio(self.bins, self.true_bins)


def publish(parcels: Parcels, publisher: Publisher, randomness: voile.Randomness) -> Published:
    """Publish, and find the true weight behind each published row.

    Raises ``InfeasibleError`` where there is no release, or none that shows a row.
    """
    numbered = True
    if isinstance(publisher, voile.DPGeneralization):
        assert publisher.suppressed == "carry", "else nothing tells which rows are left out"
        numbered = False
    table = parcels.table(numbered)
    started = process_time()
    publication = publisher.prepare(table, randomness)
    seconds = process_time() - started
    if not publication.release.rows:
        msg = "the release shows no row"
        raise InfeasibleError(msg)
    frame = publication.release.to_native()
    if numbered:
        true = parcels.weights[frame[NUMBER].to_numpy()]
    else:
        frame = frame.sort(_ends(frame)[0])
        true = _left_in(parcels.weights, publication)
    low, high = (ExactNumbers.of(frame[name].to_numpy()) for name in _ends(frame))
    noisy = isinstance(publisher, voile.ClusteredLaplace)
    return Published(
        release=publication.release,
        value=ExactNumbers.of(frame[WEIGHT].to_numpy()) if noisy else None,
        low=low,
        high=high,
        true=true,
        share=len(true) / len(parcels.weights),
        seconds=seconds,
    )


def _ends(frame: pl.DataFrame) -> tuple[str, str]:
    """The columns with the ends of intervals; where nothing was generalized, the values."""
    low, high = f"{WEIGHT}.low", f"{WEIGHT}.high"
    return (low, high) if low in frame.columns else (WEIGHT, WEIGHT)


def _left_in(weights: Weights, publication: Publication) -> Weights:
    """The weights that were published, ascending: all without those that were carried over."""
    if publication.carried is None:
        return np.sort(weights)
    carried = pl.DataFrame(publication.carried.open(PolarsEngine()).to_arrow())[WEIGHT].to_numpy()
    values, rows = np.unique(weights, return_counts=True)
    rows = rows - np.bincount(np.searchsorted(values, carried), minlength=len(values))
    return np.asarray(np.repeat(values, rows))


def pack(published: Published, capacity: int, way: Way, stop: Stop) -> Packed:
    """Pack what is published, and weigh the bins."""
    stated = published.release.disclosure.columns[WEIGHT]
    noise = PublishedNoise.of(stated) if isinstance(stated, Noisy) else None
    shown = ParcelMeasure(WEIGHT, published.value, published.low, published.high, noise)
    bin_of = _bins(shown, capacity, way, stop)
    exact = ParcelMeasure(WEIGHT, ExactNumbers.of(published.true))
    true_bins = _bins(exact, capacity, Way(Use()), stop)
    loads = bin_loads(published.true, bin_of)
    return Packed(
        bins=int(bin_of.max()) + 1,
        true_bins=int(true_bins.max()) + 1,
        feasible=feasibility(loads, capacity),
        overload=heaviest_overload(loads, capacity),
    )


def _bins(measure: ParcelMeasure, capacity: int, way: Way, stop: Stop) -> NDArray[Any]:
    limit = Limit(Decimal(capacity))
    if way.robust is not None:
        task = Task((measure,), (limit,), robust=way.robust)
        return task.pack(stop).outcome.packing.bin_of
    planned = measure.plan(limit, way.use)
    return solve(Instance(planned.units, planned.capacity), stop).packing.bin_of
