"""Clusters of values: neighbouring intervals that hold given shares of the rows.

``bounds = "public"``: the borders are private quantiles between the column's public bounds, each
drawn by the exponential mechanism; everything else about the clusters follows from them.

``bounds = "data"`` (the seed's Algorithm 2): the sorted rows are cut at the given shares, and a
cluster reaches from its least to its largest value.  Departures: rows with one value stay in one
cluster, that in which the middle of them falls; and a cluster whose rows all hold one value is
joined to its neighbour, because the seed gives it no noise at all and so publishes it.

Cost: O(d) for d distinct values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Clusters", "clusters_of_data"]


@dataclass(frozen=True, eq=False)
class Clusters:
    """c clusters, ascending: cluster j reaches from ``low[j]`` to ``high[j]``, both inclusive.

    Numbers are in units of the grid, as Python or NumPy integers.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.low)

    @property
    def width(self) -> NDArray[np.int64]:
        """The range of each cluster."""
        return self.high - self.low

    def of(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cluster in which each value lies; a border belongs to the upper one."""
        found: NDArray[np.int64] = np.searchsorted(self.low[1:], units, side="right")
        return found

    def clamped(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each of d values moved into each of the c clusters: shape (d, c)."""
        moved: NDArray[np.int64] = np.clip(units[:, np.newaxis], self.low, self.high)
        return moved


def clusters_of_data(
    units: NDArray[np.int64], rows: NDArray[np.int64], shares: NDArray[np.float64]
) -> Clusters:
    """Cut d ascending values, each held by ``rows`` rows, at cumulative shares; private."""
    middle = np.cumsum(rows) - rows / 2
    cut = np.cumsum(shares)[:-1] * rows.sum()
    cluster = np.searchsorted(cut, middle)
    first = np.flatnonzero(np.diff(cluster, prepend=-1))
    last = np.append(first[1:], len(units)) - 1
    return _without_points(units[first], units[last])


def _without_points(low: NDArray[np.int64], high: NDArray[np.int64]) -> Clusters:
    """Join each cluster of one value to the next one, the last one to the one before it."""
    joined: list[list[int]] = []
    for start, end in zip(low.tolist(), high.tolist(), strict=True):
        if joined and joined[-1][0] == joined[-1][1]:
            joined[-1][1] = end
        else:
            joined.append([start, end])
    if len(joined) > 1 and joined[-1][0] == joined[-1][1]:
        *_, last = joined.pop()
        joined[-1][1] = last
    borders = np.array(joined, dtype=np.int64)
    return Clusters(borders[:, 0], borders[:, 1])
