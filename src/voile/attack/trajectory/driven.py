"""How much is driven within each distance of pieces of roads: what moves are weighed against.

A truck leaves a piece for any other that it reaches, by the distance and by how much is driven
there; what these weights sum to depends on the time between two reports.  How much is driven at
each distance does not: it is summed once from each piece, so that trips with many different times
between reports, and all adversaries who follow them, share it.

Cost: a pass over what a piece reaches, once; then for each time a product of bins and bands.
"""

from __future__ import annotations

import math

import numpy as np

from voile.attack.trajectory.loops import BIN
from voile.attack.trajectory.reach import Reach, with_room
from voile.compiled import njit
from voile.geodesy import Floats
from voile.roads.network import Indices

__all__ = ["Driven"]

KEPT = 1 << 23


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
            kept = self._rows, self._used, self._driven
            bins = math.ceil(reach.limit / BIN) + 1
            rows = reach.rows(new)
            self._driven, self._used = _drive(new, rows, reach.limit, bins, self.traffic, kept)
            self._limit[new] = reach.limit
        return np.asarray(_sums(pieces, self._rows, self._driven, weights))


@njit(cache=True, nogil=True, error_model="numpy")
def _drive(new, rows, most, bins, traffic, kept):  # type: ignore[no-untyped-def]
    """Write how much is driven in each bin of distance from new pieces behind what is kept."""
    run = rows[0]
    where, used, driven = kept
    a = 0
    while a < len(new):
        size = 1
        while a + size < len(new) and run[new[a + size]] == run[new[a]]:
            size += 1
        driven = with_room(driven, used + size * bins)
        some = driven[used : used + size * bins].reshape(size, bins)
        some[:] = 0.0
        _drive_from(new[a : a + size], rows, most, traffic, some)
        for g in range(size):
            where[0, new[a + g]] = used + g * bins
            where[1, new[a + g]] = used + (g + 1) * bins
        used += size * bins
        a += size
    return driven, used


@njit(cache=True, nogil=True, error_model="numpy")
def _drive_from(pieces, rows, most, traffic, driven):  # type: ignore[no-untyped-def]
    """Add how much is driven in each bin of distance from pieces of one run, to driven (n, bins).

    What is read of a run that is reached serves all of them.
    """
    run, first, step, begin, end, reached, distance = rows
    own = run[pieces[0]]
    beyond = first[own + 1]
    for g, i in enumerate(pieces):
        for j in range(i, min(beyond, i + 1 + int(most / step[own]))):
            driven[g, int((j - i) * step[own] / BIN)] += traffic[j]
    for k in range(begin[own], end[own]):
        there, far = reached[k], distance[k]
        if far > most:
            break
        for j in range(first[there], first[there + 1]):
            onward, much = far + (j - first[there]) * step[there], traffic[j]
            for g, i in enumerate(pieces):
                metres = onward + (beyond - 1 - i) * step[own]
                if metres <= most and (there != own or j < i):
                    driven[g, int(metres / BIN)] += much


@njit(cache=True, nogil=True, error_model="numpy")
def _sums(pieces, where, driven, weights):  # type: ignore[no-untyped-def]
    """What is driven in each bin, times the weight of the bin, summed."""
    sums = np.empty((len(pieces), weights.shape[1]))
    for a, i in enumerate(pieces):
        begin, end = where[0, i], where[1, i]
        end = min(end, begin + len(weights))
        sums[a] = driven[begin:end] @ weights[: end - begin]
    return sums
