"""Bends that nobody sees, dropped: Douglas and Peucker's algorithm.

Source: D. Douglas and T. Peucker, "Algorithms for the reduction of the number of points required to
represent a digitized line or its caricature", Cartographica 10 (1973), 112-122.

Guarantee: every point that was dropped lies within the tolerance of the segment that replaces it;
the ends of lines stay.  Lines that meet at a crossing may part there by as much.

Cost: O(n log n) for n points as a rule, O(n^2) at worst.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.compiled import njit
from voile.geodesy import Floats
from voile.sharing.map.trails import Integers

__all__ = ["kept_points"]


def kept_points(points: Floats, first: Integers, tolerance: Floats) -> NDArray[np.bool_]:
    """Which points of m lines stay, shape (n,).

    ``points`` has shape (n, 2), ``first`` shape (m + 1,), as ``trails.joined`` has it;
    ``tolerance`` has shape (m,), in the unit of the points.
    """
    kept = np.zeros(len(points), dtype=np.bool_)
    _keep(points, first, tolerance, kept)
    return kept


@njit(cache=True, nogil=True)
def _keep(points: Any, first: Any, tolerance: Any, kept: Any) -> None:  # pragma: no cover
    waiting = np.empty((64, 2), dtype=np.int64)
    for line in range(len(first) - 1):
        low, high = first[line], first[line + 1] - 1
        kept[low] = kept[high] = True
        waiting[0] = low, high
        count = 1
        while count > 0:
            count -= 1
            low, high = waiting[count]
            far, at = _farthest(points, low, high)
            if far <= tolerance[line]:
                continue
            kept[at] = True
            # The longer half waits, so that there are never more than log2(n) of them.
            if at - low > high - at:
                waiting[count], waiting[count + 1] = (low, at), (at, high)
            else:
                waiting[count], waiting[count + 1] = (at, high), (low, at)
            count += 2


@njit(cache=True, nogil=True)
def _farthest(points: Any, low: int, high: int) -> tuple[float, int]:  # pragma: no cover - compiled
    """The greatest distance of points between two others to their segment, and whose it is."""
    x, y = points[low]
    across, along = points[high, 0] - x, points[high, 1] - y
    square = across * across + along * along
    far, found = -1.0, low
    for at in range(low + 1, high):
        right, up = points[at, 0] - x, points[at, 1] - y
        share = (right * across + up * along) / square if square > 0 else 0.0
        share = min(1.0, max(0.0, share))
        distance = math.hypot(right - share * across, up - share * along)
        if distance > far:
            far, found = distance, at
    return far, found
