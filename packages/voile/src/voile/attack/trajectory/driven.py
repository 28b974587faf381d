"""How much is driven within each distance of pieces of roads: what moves are weighed against.

A truck leaves a piece for any other that it reaches, by the distance and by how much is driven
there; what these weights sum to depends on the time between two reports.  How much is driven at
each distance does not: it is summed once from each piece, so that trips with many different times
between reports, and all adversaries who follow them, share it.

Cost: a pass over what a piece reaches, once; then for each time a product of bins and bands.
"""

from __future__ import annotations

import numpy as np

from voile.attack.trajectory.loops import BIN
from voile.attack.trajectory.reach import Reach, with_room
from voile_base.compiled import njit
from voile_geo.geodesy import Floats
from voile_geo.roads.network import Indices

__all__ = ["Driven"]

KEPT = 1 << 23
AHEAD = 2.0
"""Times the distance that is asked for: what is known by then within so many metres is summed."""


class Driven:
    """How much is driven at each distance from s pieces, by the traffic on each piece.

    What was found is kept, 8 bytes for each bin of distance from each piece that was asked for,
    and forgotten where it grows beyond ``KEPT`` of these.  Not to be shared between threads.
    """

    def __init__(self, traffic: Floats) -> None:
        """How much is driven on each piece, shape (s,), in any unit."""
        self.traffic = traffic
        self._limit = np.zeros(len(traffic))
        self._rows = np.zeros((2, len(traffic)), dtype=np.int64)
        self._driven = np.empty(1 << 16)
        self._used = 0

    def sums(self, pieces: Indices, reach: Reach, weights: Floats) -> Floats:
        """Sums over all that each piece reaches, shape (n, v), of weights by distance (bins, v)."""
        if self._used > KEPT:
            self._limit[:], self._used = 0.0, 0
        new = pieces[self._limit[pieces] < reach.limit]
        if len(new):
            rows, known = reach.rows(new), reach.known(new)
            kept = self._rows, self._limit, self._used, self._driven
            # What was searched further is summed as far, so that it is not summed again.
            farthest = AHEAD * reach.limit
            self._driven, self._used = _drive(new, rows, (known, farthest), self.traffic, kept)
        return np.asarray(_sums(pieces, self._rows, self._driven, weights))


@njit(cache=True, nogil=True, error_model="numpy")
def _drive(new, rows, within, traffic, kept):  # type: ignore[no-untyped-def]
    """Write how much is driven in each bin of distance from new pieces behind what is kept.

    ``within`` are metres within which it is known from each, infinite where that is all there is,
    and metres beyond which nothing is written.
    """
    run, first, step = rows[:3]
    where, limit, used, driven = kept
    listed = np.empty(len(run)), np.empty(len(run))
    own, ends = -1, (0, 0.0, 0.0)
    for a, i in enumerate(new):
        most = min(within[0][a], within[1])
        if run[i] != own:
            own = run[i]
            ends = _list(own, rows, within[1], traffic, listed)
        metres = max(ends[2], 0.0) + (first[own + 1] - 1 - first[own]) * step[own]
        if within[0][a] == np.inf and metres <= most:
            most, limit[i] = metres, np.inf
        else:
            limit[i] = most
        bins = int(most / BIN) + 1
        driven = with_room(driven, used + bins + 1)
        some = driven[used : used + bins + 1]  # the last one for all beyond
        some[:] = 0.0
        _drive_from(i, rows, most, traffic, ends, listed, some)
        where[0, i], where[1, i] = used, used + bins
        used += bins
    return driven, used


@njit(cache=True, nogil=True)
def _list(own, rows, most, traffic, listed):  # type: ignore[no-untyped-def]
    """List pieces of other runs that the end of a run reaches: metres, and how much is driven.

    How many; metres to its own first piece, infinite if it is not reached; metres to the farthest,
    infinite if some are beyond ``most``.
    """
    first, step, begin, end, reached, distance = rows[1:]
    far, much = listed
    count, around, farthest = 0, np.inf, 0.0
    for k in range(begin[own], end[own]):
        there, onward = reached[k], np.float64(distance[k])
        if onward > most:
            farthest = np.inf  # farther than was looked
            break
        farthest = max(farthest, onward + (first[there + 1] - 1 - first[there]) * step[there])
        if there == own:
            around = onward
            continue
        for j in range(first[there], first[there + 1]):
            far[count], much[count] = onward + (j - first[there]) * step[there], traffic[j]
            count += 1
    return count, around, farthest


@njit(cache=True, nogil=True, error_model="numpy")
def _drive_from(piece, rows, most, traffic, ends, listed, driven):  # type: ignore[no-untyped-def]
    """Add how much is driven in each bin of distance from a piece, the last bin for all beyond."""
    run, first, step = rows[:3]
    count, around, _ = ends
    far, much = listed
    own, beyond = run[piece], np.uint32(len(driven) - 1)
    offset = (first[own + 1] - 1 - piece) * step[own]
    for k in range(count):
        metres = far[k] + offset
        driven[np.uint32(metres / BIN) if metres <= most else beyond] += much[k]
    for j in range(first[own], first[own + 1]):
        metres = (j - piece) * step[own]
        if j < piece:
            metres = offset + around + (j - first[own]) * step[own]
        if metres <= most:
            driven[int(metres / BIN)] += traffic[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _sums(pieces, where, driven, weights):  # type: ignore[no-untyped-def]
    """What is driven in each bin, times the weight of the bin, summed."""
    sums = np.empty((len(pieces), weights.shape[1]))
    for a, i in enumerate(pieces):
        begin, end = where[0, i], where[1, i]
        end = min(end, begin + len(weights))
        sums[a] = driven[begin:end] @ weights[: end - begin]
    return sums
