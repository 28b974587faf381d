"""The seed's seven settings of parcels; its table of them is lost, so the numbers are ours."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import shared_file
from benchmarks.parcel_publishing import Parcels

__all__ = ["SETTINGS", "instances", "uniform"]

SMALL_BIN, LARGE_BIN = 500, 2500
HEAVIEST, HEAVIEST_SMALL, HEAVIEST_HARD = 400, 500, 35_000
"""What the laws allow: the public bounds."""
SPREAD = 50
"""Standard deviation of setting V."""
SETTINGS = {
    "I": "25 items uniform on 100 to 400, capacity 500",
    "II": "50 items uniform on 100 to 400, capacity 500",
    "III": "25 items uniform on 25 to 500, capacity 2,500",
    "IV": "50 items uniform on 25 to 500, capacity 2,500",
    "V": "50 items normal with mean 250 and standard deviation 50, rounded, within 100 to 400, "
    "capacity 500",
    "VI": "13 items uniform on 250 to 400 and 37 uniform on 25 to 150, capacity 500",
    "VII": "Scholl's HARD0 to HARD9: 200 items of 20,000 to 35,000, capacity 100,000",
}


def instances(setting: str, repetitions: int, seed: int) -> Iterator[Parcels]:
    """Instances of one setting; of VII there are ten."""
    if setting == "VII":
        yield from list(_hard())[:repetitions]
        return
    rng = np.random.default_rng([seed, list(SETTINGS).index(setting)])
    for _ in range(repetitions):
        small = setting in {"III", "IV"}
        bound, capacity = (HEAVIEST_SMALL, LARGE_BIN) if small else (HEAVIEST, SMALL_BIN)
        yield Parcels(_weights(setting, rng), bound, capacity, bound // 100)


def uniform(rows: int, rng: np.random.Generator) -> Parcels:
    """Parcels like those of settings I and II."""
    return Parcels(rng.integers(100, 401, rows), HEAVIEST, SMALL_BIN, HEAVIEST // 100)


def _weights(setting: str, rng: np.random.Generator) -> NDArray[np.int64]:
    match setting:
        case "I" | "II":
            return rng.integers(100, 401, 25 if setting == "I" else 50)
        case "III" | "IV":
            return rng.integers(25, 501, 25 if setting == "III" else 50)
        case "V":
            return np.clip(np.rint(rng.normal(250, SPREAD, 50)), 100, 400).astype(np.int64)
        case "VI":
            return np.concatenate((rng.integers(250, 401, 13), rng.integers(25, 151, 37)))
    raise ValueError(setting)


def _hard() -> Iterator[Parcels]:
    with zipfile.ZipFile(shared_file("bin-packing/scholl-3.zip")) as archive:
        for name in sorted(archive.namelist()):
            numbers = [int(word) for word in archive.read(name).split()]
            weights = np.array(numbers[2:], dtype=np.int64)
            yield Parcels(weights, HEAVIEST_HARD, numbers[1], HEAVIEST_HARD // 100)
