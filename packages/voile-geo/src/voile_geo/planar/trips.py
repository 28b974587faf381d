"""Trips as arrays: the reports of many trucks, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile_base.randomness import Blocks128, Key
from voile_geo.geodesy import Floats

__all__ = ["Positions", "Trips"]

_PART = 1 << 14


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
    vehicle: NDArray[np.uint64] | None = None
    """Shape (t,): a word that tells apart the vehicles that trips are of."""
    fleet: NDArray[np.uint64] | None = None
    """Shape (t,): a word that tells apart the fleets that trips are of; None: they are of one."""

    def __len__(self) -> int:
        return len(self.latitude)

    def draws(self, key: Key) -> Blocks128:
        """For each report 128 pseudorandom bits, (n, 2) words.

        They are a function of the key, the trip and the number of the report in it.
        """
        reports = np.diff(self.start)
        number = np.arange(len(self)) - np.repeat(self.start[:-1], reports)
        return key.blocks(np.repeat(self.identity, reports), number.astype(np.uint64))

    def parts(self) -> Iterator[tuple[slice, Trips]]:
        """Whole trips of some reports in turn, and where these stand.

        What is drawn for a part stays in the processor's cache, unless one trip alone is too long.
        """
        first = 0
        while first < len(self.start) - 1:
            limit = self.start[first] + _PART
            last = max(first + 1, int(np.searchsorted(self.start, limit, side="right")) - 1)
            rows = slice(int(self.start[first]), int(self.start[last]))
            yield (
                rows,
                Trips(
                    self.latitude[rows],
                    self.longitude[rows],
                    self.time[rows],
                    self.start[first : last + 1] - rows.start,
                    self.identity[first:last],
                    None if self.receiver is None else self.receiver[first:last],
                    None if self.vehicle is None else self.vehicle[first:last],
                    None if self.fleet is None else self.fleet[first:last],
                ),
            )
            first = last


@dataclass(frozen=True, eq=False)
class Positions:
    """What is published of n reports."""

    latitude: Floats
    longitude: Floats
    epsilon: Floats
    """Shape (n,), per metre: what the noise of each report was scaled by."""
