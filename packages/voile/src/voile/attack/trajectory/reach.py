"""Which pieces of roads are reached from which, and how far they are: bounded searches.

A run of pieces is entered at its beginning alone, and all that lies beyond it is reached by its
end: so one search from that end, which counts runs and not pieces, tells what each of its pieces
reaches.  A search to a limit finds all that a search to a lower one does, in the same order: so
steps of any length share one search from each run, the longest that was asked for.

Cost: a bounded search of Dijkstra from the end of each run that is asked for, some 0.2
microseconds for each run that it reaches.

Where a truck can be: pieces of directed roads, and which pieces it can reach from which.

Each run of edges between crossings (``roads.nearest``) is cut into equal pieces; a truck is in
the middle of one.  From a piece it goes on to the next of its run, or to the first of a run that
leaves the crossing; to turn round at the end of a road that can be driven both ways costs
``U_TURN`` metres more.  So it does not matter how many edges a map draws a road with: neither what
a truck can do nor which road it is on.

Cost: O(pieces) to build; searches are those of ``reach``.
"""

from __future__ import annotations

import math
import time as clock
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_geo.geodesy import Floats
from voile_geo.roads.nearest import Chains, stretches
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = ["Graph", "Reach", "RoadLines", "RoadStates", "among", "most_reached", "with_room"]


Graph = tuple[Indices, Indices, Floats]
"""A sparse matrix: where what follows each run begins, what follows, and metres to it."""

SURE, MANY = 5_000.0, 10_000
KEPT = 1 << 25
_TICKS, _RUN = 1e4, (1 << 32) - 1
"""Ticks to a metre, and where the run is, in entries of a heap."""


@dataclass(frozen=True, eq=False)
class _Layout:
    """How pieces make up c runs, and which run follows which."""

    run: NDArray[np.int32]
    """Shape (s,): the run of each piece."""
    first: Indices
    """Shape (c + 1,): where the pieces of each run begin, in the order of driving."""
    step: Floats
    """Shape (c,): metres from the middle of each piece of a run to that of the next."""
    graph: Graph
    """From the middle of the last piece of a run to the middle of the first of another."""


class _Searches:
    """What lies beyond the end of each run, searched for when it is asked for.

    Beyond ``SURE`` metres the search from a run ends as soon as it has reached ``MANY`` pieces:
    on motorways through the country a truck is found minutes later, and a city is not searched
    from end to end.

    What was found is kept, 8 bytes for each run reached from each that was asked for, and
    forgotten where it grows beyond ``KEPT`` of these.  Not to be shared between threads.
    """

    def __init__(self, layout: _Layout) -> None:
        """For pieces of runs."""
        self.layout = layout
        size = len(layout.step)
        self.limit = np.zeros(size)
        """Shape (c,): all within so many metres is known; infinite where the search has ended."""
        self.seconds = 0.0
        """Processor time of all searches so far."""
        self._run: NDArray[np.int32] = np.empty(1 << 16, dtype=np.int32)
        self._distance: NDArray[np.float32] = np.empty(1 << 16, dtype=np.float32)
        self._rows = np.zeros((2, size), dtype=np.int64)
        self._used = 0

    def rows(self, runs: Indices, limit: float) -> tuple[Any, ...]:
        """What some runs reach within a limit, and perhaps beyond; true until the next call."""
        if self._used > KEPT:
            self._rows[:], self.limit[:], self._used = 0, 0.0, 0
            # Anew, for somebody may still read the former ones.
            self._run, self._distance = np.empty_like(self._run), np.empty_like(self._distance)
        layout = self.layout
        new = runs[self.limit[runs] < limit]
        if len(new):
            started = clock.process_time()
            runs_apart = *layout.graph, layout.first, layout.step
            kept = self._rows, self.limit, self._used, self._run, self._distance
            self._run, self._distance, self._used = _search(runs_apart, limit, new, kept)
            self.seconds += clock.process_time() - started
        return (
            layout.run, layout.first, layout.step, self._rows[0], self._rows[1],
            self._run, self._distance,
        )  # fmt: skip


class Reach:
    """Which pieces are reached from each within a distance."""

    def __init__(self, searches: _Searches, limit: float) -> None:
        """By searches that others may share; metres."""
        self.limit = limit
        self._searches = searches
        self._layout = searches.layout
        length = self._layout.step[self._layout.run]
        # Both ends are anywhere on their pieces: a difference of two uniform variables.
        self.coarseness = float(np.median(length)) / math.sqrt(6)
        """Standard deviation, in metres, of a distance between places around that of the pieces."""
        self.widest = float(length.max())
        """Metres from a piece to the next one, at most."""
        self.seconds = 0.0
        """Processor time of all searches that were needed here."""

    def __len__(self) -> int:
        return len(self._layout.run)

    @property
    def searched(self) -> int:
        """From how many runs all within the limit is known so far."""
        return int((self._searches.limit >= self.limit).sum())

    def rows(self, pieces: Indices) -> tuple[Any, ...]:
        """What some pieces reach, for ``_spans_of`` and ``among``; true until the next call."""
        searches, before = self._searches, self._searches.seconds
        rows = searches.rows(np.unique(self._layout.run[pieces]), self.limit)
        self.seconds += searches.seconds - before
        return rows

    def known(self, pieces: Indices) -> Floats:
        """Metres within which all that some pieces reach is known by now, shape (n,).

        Infinite where a search has ended: then there is no more to know.
        """
        return self._searches.limit[self._layout.run[pieces]]

    def reached(self, piece: int) -> tuple[Indices, Floats]:
        """The pieces that one reaches, itself first, and metres along the roads to each."""
        rows = self.rows(np.array([piece]))
        spans = _room_for_spans(rows)
        count = _spans_of(piece, self.limit, rows, spans)
        runs = list(zip(*(side[:count].tolist() for side in spans), strict=True))
        pieces = [np.arange(start, stop) for start, stop, _, _ in runs]
        metres = [far + np.arange(stop - start) * step for start, stop, far, step in runs]
        return np.concatenate(pieces), np.concatenate(metres)


@njit(cache=True, nogil=True)
def _room_for_spans(rows):  # type: ignore[no-untyped-def]
    """Arrays that hold what ``_spans_of`` finds of any piece: starts, stops, metres and steps."""
    most = 2 + most_reached(rows)
    return (
        np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64),
        np.empty(most), np.empty(most),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def most_reached(rows):  # type: ignore[no-untyped-def]
    """How many runs the run reaches that reaches most; ``max`` of an array is long to compile."""
    most = 0
    for run in range(len(rows[3])):
        most = max(most, rows[4][run] - rows[3][run])
    return most


@njit(cache=True, nogil=True)
def _spans_of(piece, most, rows, spans):  # type: ignore[no-untyped-def]
    """Which pieces one reaches within some metres, as spans of pieces in a row; how many spans.

    ``rows`` are those of ``Reach.rows``.  A span has pieces from a start to before a stop, metres
    to the first of them, and metres from each to the next.
    """
    run, first, step, begin, end, reached, distance = rows
    starts, stops, fars, steps = spans
    own = run[piece]
    beyond = first[own + 1]
    starts[0], fars[0], steps[0] = piece, 0.0, step[own]
    stops[0] = min(beyond, piece + 1 + int(most / step[own]))
    count = 1
    offset = (beyond - 1 - piece) * step[own]
    for k in range(begin[own], end[own]):
        far = offset + distance[k]
        if far > most:
            break
        there = reached[k]
        stop = piece if there == own else first[there + 1]
        stop = min(stop, first[there] + 1 + int((most - far) / step[there]))
        if first[there] < stop:
            starts[count], stops[count] = first[there], stop
            fars[count], steps[count] = far, step[there]
            count += 1
    return count


@njit(cache=True, nogil=True)
def among(own, rows, most, index, some, metres):  # type: ignore[no-untyped-def]
    """Of what a run reaches within some metres, what is wanted, and metres to it; how many.

    ``index`` (c,) has a number for each run that is wanted, and -1 for all others.
    """
    begin, end, reached, distance = rows[3], rows[4], rows[5], rows[6]
    count = 0
    for k in range(begin[own], end[own]):
        if distance[k] > most:
            break
        # Written in any case, and kept where it is wanted: there is nothing to foresee.
        number = index[reached[k]]
        some[count], metres[count] = number, distance[k]
        count += number >= 0
    return count


@njit(cache=True, nogil=True)
def _search(layout, limit, origins, kept):  # type: ignore[no-untyped-def]
    """Dijkstra's search from the end of each origin up to a limit, in the order of distance.

    The runs that are reached, and metres to the first piece of each, are written behind ``used``
    entries of ``reached`` and ``distance``, which grow; see ``_Searches``.  Entries of the heap are
    one number each, ticks and the run, so that distances are told apart to a tick.
    """
    start, next_, step, first, apart = layout
    rows, found, used, reached, distance = kept
    size = len(start) - 1
    best = np.full(size, np.inf)
    # A run enters it at most once from each other, and once more from the origin.
    heap = np.empty(len(next_) + size, dtype=np.int64)
    touched = np.empty(size, dtype=np.int64)
    done = np.zeros(size, dtype=np.bool_)
    for origin in origins:
        # Here and not further in: that an array takes another's place costs as much as a step.
        reached, distance = with_room(reached, used + size), with_room(distance, used + size)
        waiting, seen, pieces = 0, 0, 0
        found[origin] = limit
        rows[0, origin] = used
        here, end = origin, 0.0
        while True:
            for k in range(start[here], start[here + 1]):
                there, further = next_[k], end + step[k]
                if further <= limit and further < best[there]:
                    if best[there] == np.inf:
                        touched[seen] = there
                        seen += 1
                    best[there] = further
                    _sift_up(heap, waiting, (np.int64(further * _TICKS) << 32) | there)
                    waiting += 1
            while waiting and done[heap[0] & _RUN]:
                waiting -= 1
                _sift_down(heap, waiting, heap[waiting])
            if not waiting:
                break
            here = heap[0] & _RUN
            far = best[here]
            if far > SURE and pieces >= MANY:
                found[origin] = np.inf
                break
            waiting -= 1
            _sift_down(heap, waiting, heap[waiting])
            done[here] = True
            reached[used], distance[used] = here, far
            used += 1
            pieces += first[here + 1] - first[here]
            end = far + (first[here + 1] - first[here] - 1) * apart[here]
        rows[1, origin] = used
        for k in range(seen):
            best[touched[k]] = np.inf
            done[touched[k]] = False
    return reached, distance, used


@njit(cache=True, nogil=True)
def with_room(array, needed):  # type: ignore[no-untyped-def]
    """An array that begins with this one, and has room for so many numbers."""
    if len(array) >= needed:
        return array
    more = np.empty(max(needed, 2 * len(array)), dtype=array.dtype)
    more[: len(array)] = array
    return more


@njit(cache=True, nogil=True)
def _sift_up(heap, place, entry):  # type: ignore[no-untyped-def]
    """Put an entry at the end of a heap in its place."""
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent] <= entry:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = entry


@njit(cache=True, nogil=True)
def _sift_down(heap, size, entry):  # type: ignore[no-untyped-def]
    """Put an entry at the top of a heap of ``size`` entries in its place."""
    place, child = 0, 1
    while child < size:
        if child + 1 < size:
            child += int(heap[child + 1] < heap[child])
        if heap[child] >= entry:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = entry


U_TURN = 60.0
"""Metres that turning round costs."""


@dataclass(frozen=True, eq=False)
class RoadLines:
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

    def lines(self, starts: Floats) -> RoadLines:
        """The straight parts of pieces that start at some places, ascending."""
        cuts = np.unique(np.concatenate((starts, self.passed)))
        middle = (cuts[:-1] + cuts[1:]) / 2
        edge = self.edges_at(middle)
        ends = self.points(edge, cuts[:-1]), self.points(edge, cuts[1:])
        piece = np.searchsorted(starts, middle, side="right") - 1
        return RoadLines(np.concatenate(ends, axis=1), piece)


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
    line: RoadLines
    """The straight parts of the pieces, which may bend."""
    layout: _Layout

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def road(self) -> Indices:
        """Shape (s,): the road of each piece, the same for both directions."""
        return self.stretch[self.edge]

    @classmethod
    def of(cls, roads: RoadNetwork, piece: float = 150.0) -> RoadStates:
        """Cut the roads into pieces of at most ``piece`` metres."""
        runs = _Runs(roads, Chains.of(roads))
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
            _Layout(
                run.astype(np.int32),
                first,
                (end - begin) / counts,
                _steps(roads, runs.chains, (end - begin) / counts),
            ),
        )

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.middle)

    def nearest(self, points: Floats) -> Indices:
        """The piece whose middle is nearest to each of n points (n, 2)."""
        return np.asarray(self._tree.query(points)[1], dtype=np.int64)

    def reach(self, limit: float) -> Reach:
        """Pieces within ``limit`` metres of each along the roads."""
        return Reach(self._searches, limit)

    @cached_property
    def _searches(self) -> _Searches:
        return _Searches(self.layout)


def _steps(roads: RoadNetwork, runs: Chains, length: Floats) -> Graph:
    """What follows each run, and how far it is from its last piece to the other's first one.

    ``length`` (c,) is that of the pieces of each run.
    """
    head, tail = runs.edge[runs.start[:-1]], runs.edge[runs.start[1:] - 1]
    order = np.argsort(roads.source[head], kind="stable")
    begins = np.searchsorted(roads.source[head][order], np.arange(roads.nodes + 1))
    leaving = begins[roads.target[tail] + 1] - begins[roads.target[tail]]
    run = np.repeat(np.arange(len(tail)), leaving)
    offset = np.arange(len(run)) - np.repeat(np.cumsum(leaving) - leaving, leaving)
    onward = order[begins[roads.target[tail[run]]] + offset]
    turns = roads.source[tail[run]] == roads.target[head[onward]]
    step = (length[run] + length[onward]) / 2 + np.where(turns, U_TURN, 0.0)
    start = np.searchsorted(run, np.arange(len(tail) + 1))
    return start.astype(np.int64), onward, step
