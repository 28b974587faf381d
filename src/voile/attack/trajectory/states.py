"""Where a truck can be: pieces of directed roads, and which pieces it can reach from which.

Each directed edge of a road network is cut into equal pieces; a truck is in the middle of one.
From a piece it goes on to the next of its edge, or to the first of an edge that leaves the
crossing; to turn round on a road that can be driven both ways costs ``U_TURN`` metres more.

Cost: O(pieces) to build; a bounded search of Dijkstra from each piece that is asked for, some 0.2
microseconds for each piece that it reaches.
"""

from __future__ import annotations

import math
import time as clock
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from voile.geodesy import Floats
from voile.roads.network import Places, RoadNetwork

__all__ = ["Reach", "RoadStates"]

Graph = tuple[Places, Places, Floats]
"""A sparse matrix: where what follows each piece begins, what follows, and metres to it."""

U_TURN = 60.0
"""Metres that turning round costs."""


class Reach:
    """Which pieces are reached from each within a distance; searched for when they are asked for.

    What was found is kept: 8 bytes for each piece reached from each that was asked for.  Not to be
    shared between threads.
    """

    def __init__(self, graph: Graph, limit: float, coarseness: float = 0.0) -> None:
        self.limit = limit
        self.coarseness = coarseness
        """Standard deviation, in metres, of a distance between places around that of the pieces."""
        self.piece: NDArray[np.int32] = np.empty(1 << 16, dtype=np.int32)
        """Pieces reached, those of one piece in a row, itself first."""
        self.distance: NDArray[np.float32] = np.empty(1 << 16, dtype=np.float32)
        """Metres along the roads to each."""
        self.seconds = 0.0
        """Processor time of all searches so far."""
        self._graph = graph
        self._rows = np.full((2, len(graph[0]) - 1), -1, dtype=np.int64)
        self._used = 0

    def __len__(self) -> int:
        return self._rows.shape[1]

    def rows(self, pieces: Places) -> tuple[Places, Places]:
        """Where what some pieces reach begins and ends in ``piece`` and ``distance``."""
        new = pieces[self._rows[0, pieces] < 0]
        if len(new):
            started = clock.process_time()
            found = self.piece, self.distance
            self.piece, self.distance, self._used = _search(
                self._graph, self.limit, new, self._rows, self._used, *found
            )
            self.seconds += clock.process_time() - started
        return self._rows[0, pieces], self._rows[1, pieces]


@dataclass(frozen=True, eq=False)
class RoadStates:
    """The s pieces of a road network."""

    roads: RoadNetwork
    middle: Floats
    """Shape (s, 2): metres in the network's plane."""
    length: Floats
    """Shape (s,): metres."""
    edge: Places
    """Shape (s,): the directed edge of each piece."""
    road: Places
    """Shape (s,): the same for an edge and its reverse."""
    _start: Places
    _next: Places
    _step: Floats

    def __len__(self) -> int:
        return len(self.length)

    @classmethod
    def of(cls, roads: RoadNetwork, piece: float = 150.0) -> RoadStates:
        """Cut the edges into pieces of at most ``piece`` metres."""
        counts = np.maximum(1, np.ceil(roads.length / piece)).astype(np.int64)
        first = np.concatenate(([0], np.cumsum(counts)))
        edge = np.repeat(np.arange(roads.edges), counts)
        share = (np.arange(first[-1]) - first[edge] + 0.5) / counts[edge]
        source, target = roads.plane[roads.source[edge]], roads.plane[roads.target[edge]]
        middle = source + share[:, np.newaxis] * (target - source)
        length = roads.length[edge] / counts[edge]
        twin = roads.reverse
        own = np.arange(roads.edges)
        start, next_, step = _steps(roads, first, length)
        return cls(
            roads,
            middle,
            length,
            edge,
            np.where(twin >= 0, np.minimum(own, twin), own)[edge],
            start,
            next_,
            step,
        )

    def reach(self, limit: float) -> Reach:
        """Pieces within ``limit`` metres of each along the roads."""
        # Both ends are anywhere on their pieces: a difference of two uniform variables.
        coarseness = float(np.median(self.length)) / math.sqrt(6)
        return Reach((self._start, self._next, self._step), limit, coarseness)


def _steps(roads: RoadNetwork, first: Places, length: Floats) -> tuple[Places, Places, Floats]:
    """What follows each piece, and how far it is from middle to middle; a sparse matrix."""
    last = first[1:] - 1
    pieces = np.arange(first[-1])
    inner = np.ones(len(pieces), dtype=np.bool_)
    inner[last] = False
    from_, to = [pieces[inner]], [pieces[inner] + 1]
    extra = [np.zeros(int(inner.sum()))]
    order = np.argsort(roads.source, kind="stable")
    begins = np.searchsorted(roads.source[order], np.arange(roads.nodes + 1))
    leaving = begins[roads.target + 1] - begins[roads.target]
    edge = np.repeat(np.arange(roads.edges), leaving)
    offset = np.arange(len(edge)) - np.repeat(np.cumsum(leaving) - leaving, leaving)
    onward = order[begins[roads.target[edge]] + offset]
    from_.append(last[edge])
    to.append(first[onward])
    extra.append(np.where(roads.reverse[edge] == onward, U_TURN, 0.0))
    source, target = np.concatenate(from_), np.concatenate(to)
    step = (length[source] + length[target]) / 2 + np.concatenate(extra)
    order = np.argsort(source, kind="stable")
    start = np.searchsorted(source[order], np.arange(first[-1] + 1))
    return start.astype(np.int64), target[order], step[order]


@njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    graph, limit, origins, rows, used, piece, distance
):
    """Dijkstra's search from each origin up to a limit, in the order of distance.

    What is reached is written behind ``used`` entries of ``piece`` and ``distance``, which grow.
    """
    start, next_, step = graph
    size = len(start) - 1
    best = np.full(size, np.inf)
    heap = np.empty(1 << 16)
    queued = np.empty(1 << 16, dtype=np.int64)
    touched = np.empty(size, dtype=np.int64)
    done = np.zeros(size, dtype=np.bool_)
    for origin in origins:
        waiting, seen = 1, 1
        heap[0], queued[0] = 0.0, origin
        best[origin], touched[0] = 0.0, origin
        rows[0, origin] = used
        while waiting:
            far, here = heap[0], queued[0]
            waiting -= 1
            _sift_down(heap, queued, waiting, heap[waiting], queued[waiting])
            if done[here]:
                continue
            done[here] = True
            if used == len(piece):
                piece = np.concatenate((piece, np.empty(used, dtype=np.int32)))
                distance = np.concatenate((distance, np.empty(used, dtype=np.float32)))
            piece[used], distance[used] = here, far
            used += 1
            for k in range(start[here], start[here + 1]):
                there, further = next_[k], far + step[k]
                if further <= limit and further < best[there]:
                    if best[there] == np.inf:
                        touched[seen] = there
                        seen += 1
                    best[there] = further
                    if waiting == len(heap):
                        heap = np.concatenate((heap, np.empty(len(heap))))
                        queued = np.concatenate((queued, np.empty(len(queued), dtype=np.int64)))
                    _sift_up(heap, queued, waiting, further, there)
                    waiting += 1
        rows[1, origin] = used
        for k in range(seen):
            best[touched[k]] = np.inf
            done[touched[k]] = False
    return piece, distance, used


@njit(cache=True, nogil=True)
def _sift_up(heap, queued, place, key, value):  # type: ignore[no-untyped-def]
    """Put an entry at the end of a heap in its place."""
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent] <= key:
            break
        heap[place], queued[place] = heap[parent], queued[parent]
        place = parent
    heap[place], queued[place] = key, value


@njit(cache=True, nogil=True)
def _sift_down(heap, queued, size, key, value):  # type: ignore[no-untyped-def]
    """Put an entry at the top of a heap of ``size`` entries in its place."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place], queued[place] = heap[child], queued[child]
        place = child
    heap[place], queued[place] = key, value
