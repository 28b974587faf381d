"""Which reports of a trip are published, where not all are.

By time: the first of a trip, and then each that comes ``spacing`` seconds or more after the last
one that was kept.  That follows from times alone, which are public, and what is left out is not
drawn and costs nothing.

By place: the first, and then each whose *published* position lies ``metres`` or more from that of
the last one that was kept.  All noise is drawn, all reports are paid for, and what is left out
follows from published positions and such as might have been: it is computed from the noisy
positions alone, so that it tells nothing beyond them.  True positions are not looked at; a truck
that stands goes on to show new positions as its noise wanders.

Cost: some ns a report.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.compiled import njit
from voile.geodesy import Floats, metres_between

__all__ = ["far_apart", "spaced"]

Flags = NDArray[np.bool_]
Starts = NDArray[np.int64]


def spaced(time: Floats, start: Starts, spacing: float) -> Flags:
    """Which of n reports are kept; ``start`` (t + 1,) says where each trip begins."""
    kept = np.ones(len(time), dtype=np.bool_)
    if spacing > 0:
        _keep_spaced(time, start, spacing, kept)
    return kept


def far_apart(latitude: Floats, longitude: Floats, start: Starts, metres: float) -> Flags:
    """The same by the distance of published positions, in degrees."""
    kept = np.ones(len(latitude), dtype=np.bool_)
    if metres > 0:
        _keep_far(latitude, longitude, start, metres, kept)
    return kept


@njit(cache=True, nogil=True, error_model="numpy")
def _keep_spaced(time: Floats, start: Starts, spacing: float, kept: Flags) -> None:
    for trip in range(len(start) - 1):
        last = -np.inf
        for i in range(start[trip], start[trip + 1]):
            kept[i] = time[i] - last >= spacing
            if kept[i]:
                last = time[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _keep_far(
    latitude: Floats, longitude: Floats, start: Starts, metres: float, kept: Flags
) -> None:
    for trip in range(len(start) - 1):
        last = start[trip]
        for i in range(start[trip] + 1, start[trip + 1]):
            apart = metres_between(latitude[last], longitude[last], latitude[i], longitude[i])
            kept[i] = apart >= metres
            if kept[i]:
                last = i
