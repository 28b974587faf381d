"""Real parcels, published at epsilon = 1 by every method and packed into trucks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import polars as pl

import voile
from benchmarks.data import shared_file
from benchmarks.parcel_publishing import Packed, Parcels, Published, Publisher, Way, pack, publish
from benchmarks.record import Measurement, Table
from benchmarks.timing import seconds_text
from voile_pack import Stop
from voile_pack.parcels import Use

__all__ = ["run"]

SEED = 2022
TRUCK = 500_000
HEAVIEST = 50_000
FINEST = 50
K = 53
EPSILON = 1
BETA = 0.5
PACKING = 10.0
"""Processor seconds for the search of each packing."""
WAYS = {
    "mean": Way(Use()),
    "upper end": Way(Use.of("upper")),
    "90 % quantile": Way(Use.of("quantile:0.9")),
    "robust, 5 %": Way(Use(), robust=0.05),
}


def _private(choice: str) -> Publisher:
    return voile.DPGeneralization(
        k=K,
        epsilon=EPSILON,
        beta=BETA,
        choice=choice,  # type: ignore[arg-type]
        suppressed="carry",
    )


def _syntactic(algorithm: str, limit: float = 0) -> Publisher:
    return voile.Generalization(
        k=K,
        algorithm=algorithm,  # type: ignore[arg-type]
        suppression_limit=limit,
    )


def _noisy(bounds: str, **more: Any) -> Publisher:
    return voile.ClusteredLaplace(epsilon=EPSILON, bounds=bounds, **more)  # type: ignore[arg-type]


METHODS: Mapping[str, Publisher] = {
    "clusters, public bounds": _noisy("public"),
    "one cluster, public bounds": _noisy("public", shares=[1]),
    "dp-generalization": _private("expected"),
    "clusters from data, the seed's": _noisy("data"),
    "one cluster from data": _noisy("data", shares=[1]),
    "dp-generalization, the seed's": _private("sampled"),
    "flash, none left out": _syntactic("flash"),
    **{f"{name}, 2 % left out": _syntactic(name, 0.02) for name in ("flash", "ola", "datafly")},
    **{name: _syntactic(name) for name in ("k-optimize", "mondrian")},
}


@dataclass(frozen=True)
class Shipped:
    """A method's release, and how its packings fare, by what was planned with."""

    method: str
    published: Published
    packed: Mapping[str, Packed]

    @property
    def guarantee(self) -> str:
        """Kind and parameters, as the release states them."""
        stated = self.published.release.guarantee
        numbers = ", ".join(
            f"{name} = {_number(stated.parameters[name])}"
            for name in ("epsilon", "delta", "k")
            if name in stated.parameters
        )
        return f"{stated.kind} ({numbers})"


def run() -> Measurement:
    """Publish, pack by means and by upper ends, and weigh the trucks."""
    parcels, missing = _parcels()
    shipped = [_ship(method, publisher, parcels) for method, publisher in METHODS.items()]
    return Measurement(
        question="How much do trucks carry too much, that were planned on private weights?",
        data=f"Olist products: {len(parcels.weights):,} weights in grams ({missing} more without a "
        f"weight); trucks of {TRUCK // 1000:,} kg; public bounds 0 to {HEAVIEST:,} g; intervals of "
        f"{FINEST} g, doubling",
        seeds=f"releases {SEED}",
        protocol=f"epsilon = {EPSILON} in all; dp-generalization with beta = {BETA} and k = {K}, "
        f"the k-anonymous ones with k = {K}; packed by the mean of the interval or the noisy "
        "value; by the upper end (confidence 0.7 for noise); by the number below which the true "
        "one is in 90 % of cases; and so that no truck is overloaded with a probability above 5 %; "
        f"each within {PACKING:.0f} s of processor. o: trucks by published weights, o_n: trucks by "
        "the true weights of the same rows; overload of the heaviest truck as a share of its "
        "capacity, and trucks within capacity, on true weights",
        answer=" ".join(_answer(way, shipped) for way in ("mean", "robust, 5 %")),
        tables=[
            Table("Releases", ("method", "guarantee", "parcels published", "time"),
                  [[one.method, one.guarantee, f"{len(one.published.true):,}",
                    seconds_text(one.published.seconds)] for one in shipped]),
            *(_table(way, shipped) for way in WAYS),
        ],
    )  # fmt: skip


def _answer(way: str, shipped: list[Shipped]) -> str:
    found = (
        f"{one.method} {one.packed[way].ratio:.3f}, {one.packed[way].overload:.1%}"
        for one in shipped
    )
    return f"o/o_n and the heaviest overload, packed by {way}: {'; '.join(found)}."


def _parcels() -> tuple[Parcels, int]:
    """The parcels that have a weight, and how many have none."""
    weights = pl.read_csv(shared_file("parcels/olist-products.csv"))["product_weight_g"]
    known = weights.drop_nulls().to_numpy().astype(np.int64)
    return Parcels(known, HEAVIEST, TRUCK, FINEST), weights.null_count()


def _ship(method: str, publisher: Publisher, parcels: Parcels) -> Shipped:
    published = publish(parcels, publisher, voile.Randomness.seeded(SEED))
    stop = Stop(PACKING, process_time)
    packed = {name: pack(published, TRUCK, way, stop) for name, way in WAYS.items()}
    return Shipped(method, published, packed)


def _table(way: str, shipped: list[Shipped]) -> Table:
    return Table(
        f"Trucks, packed by {way}",
        ("method", "o", "o_n", "o/o_n", "heaviest truck over", "trucks within capacity"),
        [[one.method, *_cells(one.packed[way])] for one in shipped],
    )


def _cells(packed: Packed) -> Iterator[str]:
    yield from (f"{packed.bins:,}", f"{packed.true_bins:,}", f"{packed.ratio:.3f}")
    yield from (f"{packed.overload:.2%}", f"{packed.feasible:.1%}")


def _number(value: object) -> str:
    return f"{float(value):.3g}" if isinstance(value, int | float) else f"{value}"
