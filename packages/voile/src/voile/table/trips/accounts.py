"""Which reports of each trip are published, and what these cost; private.

The columns of trips that an examination of their reports leaves, and their arrays.

Where not all reports are published, they are thinned.  By time: the first of a trip, and then each
that comes ``spacing`` seconds or more after the last one that was kept.  That follows from times
alone, which are public, and what is left out is not drawn and costs nothing.

By place: the first, and then each whose *published* position lies ``metres`` or more from that of
the last one that was kept.  All noise is drawn, all reports are paid for, and what is left out
follows from published positions and such as might have been: it is computed from the noisy
positions alone, so that it tells nothing beyond them.  True positions are not looked at; a truck
that stands goes on to show new positions as its noise wanders.

Cost: some ns a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.keeping import Words, with_words
from voile.table.protocol import Rows
from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_base.randomness import Key
from voile_geo.geodesy import Floats

__all__ = ["BEGINS", "COSTS", "COUNT", "WORD_OF_TRIP", "Accounts", "of_trips", "spaced"]


Integers = NDArray[np.int64]

BEGINS, WORD_OF_TRIP, COUNT = "\1begins", "\1word of the trip", "\1reports"
_EPSILON, _SQUARED_MU, _ALIKE = "\1epsilon", "\1squared mu", "\1alike"
_FIRST, _MARK, _VEHICLE = "\1first row", "\1mark", "\1vehicle"
"""No file has columns whose names begin so."""

COSTS = pa.schema(
    [
        pa.field(_EPSILON, pa.float64()),
        pa.field(_SQUARED_MU, pa.float64()),
        pa.field(COUNT, pa.int64()),
    ]
)
"""What is known of each trip once its noise was drawn."""
_DAY = 86_400
Flags = NDArray[np.bool_]
Starts = NDArray[np.int64]


def spaced(time: Floats, start: Starts, spacing: float, *, by_clock: bool = False) -> Flags:
    """Which of n reports are kept; ``start`` (t + 1,) says where each trip begins.

    Those that are so many seconds apart at least; or by the clock the first report of each slot of
    so many seconds, slots being the same for all trips (they begin with the day, UTC).
    """
    kept = np.ones(len(time), dtype=np.bool_)
    if spacing > 0 and by_clock:
        kept[1:] = np.diff(_slots_of(time, spacing)) != 0
        kept[start[:-1]] = True
    elif spacing > 0:
        _keep_spaced(time, start, spacing, kept)
    return kept


def _slots_of(time: Floats, spacing: float) -> Floats:
    """The number of the slot of each time."""
    if spacing >= _DAY:
        return np.floor(time / spacing)
    day = np.floor(time / _DAY)
    return np.asarray(day * np.ceil(_DAY / spacing) + np.floor((time - day * _DAY) / spacing))


@njit(cache=True, nogil=True, error_model="numpy")
def _keep_spaced(time: Floats, start: Starts, spacing: float, kept: Flags) -> None:
    for trip in range(len(start) - 1):
        last = -np.inf
        for i in range(start[trip], start[trip + 1]):
            kept[i] = time[i] - last >= spacing
            if kept[i]:
                last = time[i]


def of_trips(offers: int) -> pa.Schema:
    """The columns of trips, each with what it costs for every way to thin it."""
    costs = [
        pa.field(f"{name}{offer}", dtype)
        for offer in range(offers)
        for name, dtype in (
            (_EPSILON, pa.float64()),
            (_SQUARED_MU, pa.float64()),
            (_ALIKE, pa.int64()),
            (COUNT, pa.int64()),
        )
    ]
    known = [
        pa.field(_FIRST, pa.int64()),
        pa.field(BEGINS, pa.float64()),
        pa.field(WORD_OF_TRIP, pa.uint64()),
        pa.field(_VEHICLE, pa.string()),
    ]
    return pa.schema([*costs, *known])


@dataclass(frozen=True, eq=False)
class Accounts:
    """See ``voile.table.decisions.TripAccounts``."""

    epsilon: Floats
    squared_mu: Floats
    alike: Integers
    reports: Integers
    first_row: Integers
    begins: Floats
    trips: Rows
    """A row for each trip, with its id and that of its vehicle."""
    words: Words

    @classmethod
    def of(cls, trips: Rows, offers: int) -> list[Accounts]:
        """The accounts for each way to thin trips."""
        names = [name for name in of_trips(offers).names if name != _VEHICLE]
        found = trips.select(names).to_arrow()
        arrays = {name: pl.Series(found[name]).to_numpy() for name in names}
        return [
            cls(
                epsilon=arrays[f"{_EPSILON}{offer}"],
                squared_mu=arrays[f"{_SQUARED_MU}{offer}"],
                alike=arrays[f"{_ALIKE}{offer}"],
                reports=arrays[f"{COUNT}{offer}"],
                first_row=arrays[_FIRST],
                begins=arrays[BEGINS],
                words=arrays[WORD_OF_TRIP],
                trips=trips,
            )
            for offer in range(offers)
        ]

    @staticmethod
    def chosen(offers: Sequence[Accounts], choice: Integers) -> Accounts:
        """Of each trip what it costs in the way that was chosen for it; nothing for -1."""
        first = offers[0]

        def picked(arrays: Sequence[NDArray[np.generic]]) -> NDArray[Any]:
            taken = np.choose(np.maximum(choice, 0), list(arrays))
            return np.where(choice < 0, np.zeros_like(taken), taken)

        return replace(
            first,
            epsilon=picked([offer.epsilon for offer in offers]),
            squared_mu=picked([offer.squared_mu for offer in offers]),
            alike=picked([offer.alike for offer in offers]),
            reports=picked([offer.reports for offer in offers]),
        )

    def with_costs(self, costs: Rows, *, exact: bool) -> Accounts:
        """The accounts with what is known of trips once their noise was drawn, in their order.

        ``exact`` keeps what they were charged.
        """
        found = costs.select([*COSTS.names]).to_arrow()
        epsilon, squared_mu, reports = (pl.Series(found[name]).to_numpy() for name in COSTS.names)
        published = self.reports > 0
        counts = np.zeros_like(self.reports)
        counts[published] = reports
        if exact:
            return replace(self, reports=counts)
        spent = np.zeros((2, len(counts)))
        spent[:, published] = epsilon, squared_mu
        return replace(self, epsilon=spent[0], squared_mu=spent[1], reports=counts)

    @property
    def days(self) -> Integers:
        """On which day each trip begins, from 1970, UTC."""
        return np.floor(self.begins / _DAY).astype(np.int64)

    def marks(self, key: bytes) -> Words:
        """64 bits of a keyed pseudorandom function of each trip's id."""
        return self._marked(self.trips.schema.names[0], key)

    def vehicle_marks(self, key: bytes) -> Words:
        """The same of the id of each trip's vehicle; without vehicles each trip is one."""
        vehicles = self.trips.select([_VEHICLE]).to_arrow()[_VEHICLE]
        return self.marks(key) if vehicles.null_count else self._marked(_VEHICLE, key)

    def _marked(self, name: str, key: bytes) -> Words:
        marked = with_words(self.trips, [name], Key(key), _MARK).select([_MARK]).to_arrow()
        return pl.Series(marked[_MARK]).to_numpy()
