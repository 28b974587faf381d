"""Where a truck can be: pieces of directed roads, and which pieces it can reach from which.

Each run of edges between crossings (``roads.stretches``) is cut into equal pieces; a truck is in
the middle of one.  From a piece it goes on to the next of its run, or to the first of a run that
leaves the crossing; to turn round at the end of a road that can be driven both ways costs
``U_TURN`` metres more.  So it does not matter how many edges a map draws a road with: neither what
a truck can do nor which road it is on.

Cost: O(pieces) to build; a bounded search of Dijkstra from each piece that is asked for, some 0.2
microseconds for each piece that it reaches.
"""

from __future__ import annotations

import math
import time as clock
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from voile.compiled import njit
from voile.geodesy import Floats
from voile.roads.network import Indices, RoadNetwork
from voile.roads.stretches import Chains, chains_of, stretches

__all__ = ["Reach", "RoadStates"]

Graph = tuple[Indices, Indices, Floats]
"""A sparse matrix: where what follows each piece begins, what follows, and metres to it."""

U_TURN = 60.0
"""Metres that turning round costs."""
SURE, MANY = 5_000.0, 10_000
KEPT = 1 << 26


class Reach:
    """Which pieces are reached from each within a distance; searched for when they are asked for.

    Beyond ``SURE`` metres the search from a piece ends as soon as it has reached ``MANY`` pieces:
    on motorways through the country a truck is found minutes later, and a city is not searched
    from end to end.

    What was found is kept, 8 bytes for each piece reached from each that was asked for, and
    forgotten where it grows beyond ``KEPT`` of these.  Not to be shared between threads.
    """

    def __init__(self, graph: Graph, limit: float, length: Floats) -> None:
        """Pieces of some lengths, shape (s,), and what follows each; metres."""
        self.limit = limit
        # Both ends are anywhere on their pieces: a difference of two uniform variables.
        self.coarseness = float(np.median(length)) / math.sqrt(6)
        """Standard deviation, in metres, of a distance between places around that of the pieces."""
        self.widest = float(length.max())
        """Metres from a piece to the next one, at most."""
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

    def rows(self, pieces: Indices) -> tuple[Indices, Indices]:
        """Where what some pieces reach begins and ends in ``piece`` and ``distance``."""
        if self._used > KEPT:
            self._rows[:], self._used = -1, 0
            # Anew, for somebody may still read the former ones.
            self.piece, self.distance = np.empty_like(self.piece), np.empty_like(self.distance)
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
class Lines:
    """The q straight parts of pieces of roads."""

    ends: Floats
    """Shape (q, 4): metres of the plane, from and to."""
    piece: Indices
    """Shape (q,): the piece that each is part of, ascending."""


@dataclass(frozen=True, eq=False)
class _Runs:
    """All runs of edges one after another, as places along one line of metres."""

    roads: RoadNetwork
    chains: Chains

    @cached_property
    def passed(self) -> Floats:
        """Metres before each edge in the order of the chains, and in all."""
        return np.concatenate(([0.0], np.cumsum(self.roads.length[self.chains.edge])))

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Where each run begins and ends."""
        at = self.passed[self.chains.start]
        return at[:-1], at[1:]

    def edges_at(self, along: Floats) -> Indices:
        """Numbers, in the order of the chains, of the edges at some places."""
        place = np.searchsorted(self.passed, along, side="right") - 1
        return np.minimum(place, len(self.chains.edge) - 1)

    def points(self, edge: Indices, along: Floats) -> Floats:
        """Points of the plane at places on these edges, shape (n, 2)."""
        width = np.maximum(self.passed[edge + 1] - self.passed[edge], 1e-9)
        share = np.clip((along - self.passed[edge]) / width, 0, 1)[:, np.newaxis]
        roads, which = self.roads, self.chains.edge[edge]
        source, target = roads.plane[roads.source[which]], roads.plane[roads.target[which]]
        return np.asarray(source + share * (target - source))

    def lines(self, starts: Floats) -> Lines:
        """The straight parts of pieces that start at some places, ascending."""
        cuts = np.unique(np.concatenate((starts, self.passed)))
        middle = (cuts[:-1] + cuts[1:]) / 2
        edge = self.edges_at(middle)
        ends = self.points(edge, cuts[:-1]), self.points(edge, cuts[1:])
        piece = np.searchsorted(starts, middle, side="right") - 1
        return Lines(np.concatenate(ends, axis=1), piece)


@dataclass(frozen=True, eq=False)
class RoadStates:
    """The s pieces of a road network."""

    roads: RoadNetwork
    middle: Floats
    """Shape (s, 2): metres in the network's plane."""
    length: Floats
    """Shape (s,): metres."""
    edge: Indices
    """Shape (s,): the directed edge that the middle of each piece lies on."""
    stretch: Indices
    """Shape (e,): the road that each edge of the network is part of, from crossing to crossing."""
    line: Lines
    """The straight parts of the pieces, which may bend."""
    _start: Indices
    _next: Indices
    _step: Floats

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def road(self) -> Indices:
        """Shape (s,): the road of each piece, the same for both directions."""
        return self.stretch[self.edge]

    @classmethod
    def of(cls, roads: RoadNetwork, piece: float = 150.0) -> RoadStates:
        """Cut the roads into pieces of at most ``piece`` metres."""
        runs = _Runs(roads, chains_of(roads))
        begin, end = runs.ends
        counts = np.maximum(1, np.ceil((end - begin) / piece)).astype(np.int64)
        first = np.concatenate(([0], np.cumsum(counts)))
        run = np.repeat(np.arange(len(counts)), counts)
        length = ((end - begin) / counts)[run]
        starts = begin[run] + (np.arange(first[-1]) - first[run]) * length
        edge = runs.edges_at(starts + length / 2)
        return cls(
            roads,
            runs.points(edge, starts + length / 2),
            length,
            runs.chains.edge[edge],
            stretches(roads),
            runs.lines(starts),
            *_steps(roads, runs.chains, first, length),
        )

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.middle)

    def nearest(self, points: Floats) -> Indices:
        """The piece whose middle is nearest to each of n points (n, 2)."""
        return np.asarray(self._tree.query(points)[1], dtype=np.int64)

    def reach(self, limit: float) -> Reach:
        """Pieces within ``limit`` metres of each along the roads."""
        return Reach((self._start, self._next, self._step), limit, self.length)


def _steps(
    roads: RoadNetwork, runs: Chains, first: Indices, length: Floats
) -> tuple[Indices, Indices, Floats]:
    """What follows each piece, and how far it is from middle to middle; a sparse matrix."""
    last = first[1:] - 1
    pieces = np.arange(first[-1])
    inner = np.ones(len(pieces), dtype=np.bool_)
    inner[last] = False
    from_, to = [pieces[inner]], [pieces[inner] + 1]
    extra = [np.zeros(int(inner.sum()))]
    head, tail = runs.edge[runs.start[:-1]], runs.edge[runs.start[1:] - 1]
    order = np.argsort(roads.source[head], kind="stable")
    begins = np.searchsorted(roads.source[head][order], np.arange(roads.nodes + 1))
    leaving = begins[roads.target[tail] + 1] - begins[roads.target[tail]]
    run = np.repeat(np.arange(len(tail)), leaving)
    offset = np.arange(len(run)) - np.repeat(np.cumsum(leaving) - leaving, leaving)
    onward = order[begins[roads.target[tail[run]]] + offset]
    from_.append(last[run])
    to.append(first[onward])
    turns = roads.source[tail[run]] == roads.target[head[onward]]
    extra.append(np.where(turns, U_TURN, 0.0))
    source, target = np.concatenate(from_), np.concatenate(to)
    step = (length[source] + length[target]) / 2 + np.concatenate(extra)
    order = np.argsort(source, kind="stable")
    start = np.searchsorted(source[order], np.arange(first[-1] + 1))
    return start.astype(np.int64), target[order], step[order]


@njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    graph, limit, origins, rows, used, piece, distance
):
    """Dijkstra's search from each origin up to a limit, in the order of distance; see ``Reach``.

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
            if far > SURE and used - rows[0, origin] >= MANY:
                break
            done[here] = True
            piece, distance = _with_room(piece, used), _with_room(distance, used)
            piece[used], distance[used] = here, far
            used += 1
            for k in range(start[here], start[here + 1]):
                there, further = next_[k], far + step[k]
                if further <= limit and further < best[there]:
                    if best[there] == np.inf:
                        touched[seen] = there
                        seen += 1
                    best[there] = further
                    heap, queued = _with_room(heap, waiting), _with_room(queued, waiting)
                    _sift_up(heap, queued, waiting, further, there)
                    waiting += 1
        rows[1, origin] = used
        for k in range(seen):
            best[touched[k]] = np.inf
            done[touched[k]] = False
    return piece, distance, used


@njit(cache=True, nogil=True)
def _with_room(array, used):  # type: ignore[no-untyped-def]
    """The array, or one of twice its size where all of it is used."""
    return array if used < len(array) else np.concatenate((array, np.empty_like(array)))


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
