"""How well a parcel of known weight is found again in releases of each method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

import voile
from benchmarks.parcel_instances import uniform
from benchmarks.parcel_publishing import NUMBER, WEIGHT, Parcels, Publisher, publish
from benchmarks.record import Table
from voile.attack.identification import IdentificationAttack
from voile.attack.protocol import AttackOutcome

__all__ = ["Identification", "identifications", "identifications_table"]

ROWS = 200
TABLES = 10
LEVELS: Mapping[str, Sequence[float]] = {"epsilon": (1.0, 5.0), "k": (3, 6)}


@dataclass(frozen=True)
class Identification:
    """What the adversary of eqs. 24, 25 and 30 reaches, over all tables."""

    method: str
    parameter: str
    value: float
    success: float
    """Share of the parcels for which the best guess is right."""
    probability: float
    """Mean probability that he gives to the right row."""
    checked: bool
    """Whether the truth was known; else the rates are what he believes."""


def identifications(
    methods: Mapping[str, Mapping[str, Callable[[float], Publisher]]], seed: int
) -> list[Identification]:
    """Attack releases of 200 parcels, all of them targets; methods by parameter and name."""
    found = []
    for parameter, methods_of in methods.items():
        for method, make in methods_of.items():
            for value in LEVELS[parameter]:
                outcomes = list(_outcomes(make(value), seed))
                success = float(np.mean([outcome.success.value for outcome in outcomes]))
                probability = float(np.mean([outcome.probability.value for outcome in outcomes]))
                checked = all(outcome.checked for outcome in outcomes)
                found.append(
                    Identification(method, parameter, value, success, probability, checked)
                )
    return found


def _outcomes(publisher: Publisher, seed: int) -> Iterator[AttackOutcome]:
    """The attack on each table; who is whose is told by numbers, where a release keeps them."""
    rng = np.random.default_rng(seed)
    link = None if isinstance(publisher, voile.DPGeneralization) else NUMBER
    attack = IdentificationAttack(columns=[WEIGHT], targets=None, link=link)
    for number in range(TABLES):
        parcels = uniform(ROWS, rng)
        release = publish(parcels, publisher, voile.Randomness.seeded(number)).release
        yield attack.run(release, _original(parcels), parcels.plan([NUMBER]))


def _original(parcels: Parcels) -> pl.DataFrame:
    return pl.DataFrame({WEIGHT: parcels.weights, NUMBER: np.arange(len(parcels.weights))})


def identifications_table(found: Sequence[Identification]) -> Table:
    """For people."""
    return Table(
        f"Identification: {ROWS} parcels of 100 to 400, each weight known exactly; {TABLES} tables "
        f"(blind guess: {1 / ROWS:.4f})",
        ("method", "parameter", "best guess is right", "mean probability of the truth",
         "counted"),
        [
            [f.method, f"{f.parameter} = {f.value:g}", f"{f.success:.4f}", f"{f.probability:.4f}",
             "yes" if f.checked else "no"]
            for f in found
        ],
    )  # fmt: skip
