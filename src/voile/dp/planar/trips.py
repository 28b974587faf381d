"""Trips as arrays: the reports of many trucks, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.geodesy import Floats
from voile.randomness import Blocks128, Key

__all__ = ["Positions", "Trips"]


@dataclass(frozen=True, eq=False)
class Trips:
    """The n true reports of t trips, each trip in the order of time; private."""

    latitude: Floats
    """Shape (n,), degrees."""
    longitude: Floats
    time: Floats
    """Shape (n,), seconds; never falls within a trip."""
    start: NDArray[np.int64]
    """Shape (t + 1,): the first report of each trip, and n at the end."""
    identity: NDArray[np.uint64]
    """Shape (t,): a word that tells trips apart, by which each draws for itself."""
    receiver: Floats | None = None
    """Shape (t, 2): where each trip is bound for, latitude and longitude; public."""

    def __len__(self) -> int:
        return len(self.latitude)

    def draws(self, key: Key, each: int = 1) -> list[Blocks128]:
        """For each report ``each`` blocks of 128 pseudorandom bits, (n, 2) words each.

        They are a function of the key, the trip and the number of the report in it.
        """
        reports = np.diff(self.start)
        trip = np.repeat(self.identity, reports)
        number = np.arange(len(self)) - np.repeat(self.start[:-1], reports)
        counter = number.astype(np.uint64) * np.uint64(each)
        return [key.blocks(trip, counter + np.uint64(i)) for i in range(each)]


@dataclass(frozen=True, eq=False)
class Positions:
    """What is published of n reports."""

    latitude: Floats
    longitude: Floats
    epsilon: Floats
    """Shape (n,), per metre: what the noise of each report was scaled by."""
