"""Which pieces of roads are reached from which, and how far they are: bounded searches.

A run of pieces is entered at its beginning alone, and all that lies beyond it is reached by its
end: so one search from that end, which counts runs and not pieces, tells what each of its pieces
reaches.  A search to a limit finds all that a search to a lower one does, in the same order: so
steps of any length share one search from each run, the longest that was asked for.

Cost: a bounded search of Dijkstra from the end of each run that is asked for, some 0.2
microseconds for each run that it reaches.
"""

from __future__ import annotations

import math
import time as clock
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_geo.geodesy import Floats
from voile_geo.roads.network import Indices

__all__ = [
    "Graph",
    "Layout",
    "Reach",
    "Searches",
    "among",
    "room_for_spans",
    "spans_of",
    "with_room",
]

Graph = tuple[Indices, Indices, Floats]
"""A sparse matrix: where what follows each run begins, what follows, and metres to it."""

SURE, MANY = 5_000.0, 10_000
KEPT = 1 << 25
_TICKS, _RUN = 1e4, (1 << 32) - 1
"""Ticks to a metre, and where the run is, in entries of a heap."""


@dataclass(frozen=True, eq=False)
class Layout:
    """How pieces make up c runs, and which run follows which."""

    run: NDArray[np.int32]
    """Shape (s,): the run of each piece."""
    first: Indices
    """Shape (c + 1,): where the pieces of each run begin, in the order of driving."""
    step: Floats
    """Shape (c,): metres from the middle of each piece of a run to that of the next."""
    graph: Graph
    """From the middle of the last piece of a run to the middle of the first of another."""


class Searches:
    """What lies beyond the end of each run, searched for when it is asked for.

    Beyond ``SURE`` metres the search from a run ends as soon as it has reached ``MANY`` pieces:
    on motorways through the country a truck is found minutes later, and a city is not searched
    from end to end.

    What was found is kept, 8 bytes for each run reached from each that was asked for, and
    forgotten where it grows beyond ``KEPT`` of these.  Not to be shared between threads.
    """

    def __init__(self, layout: Layout) -> None:
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

    def __init__(self, searches: Searches, limit: float) -> None:
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
        """What some pieces reach, for ``spans_of`` and ``among``; true until the next call."""
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
        spans = room_for_spans(rows)
        count = spans_of(piece, self.limit, rows, spans)
        runs = list(zip(*(side[:count].tolist() for side in spans), strict=True))
        pieces = [np.arange(start, stop) for start, stop, _, _ in runs]
        metres = [far + np.arange(stop - start) * step for start, stop, far, step in runs]
        return np.concatenate(pieces), np.concatenate(metres)


@njit(cache=True, nogil=True)
def room_for_spans(rows):  # type: ignore[no-untyped-def]
    """Arrays that hold what ``spans_of`` finds of any piece: starts, stops, metres and steps."""
    most = 2 + (rows[4] - rows[3]).max()
    return (
        np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64),
        np.empty(most), np.empty(most),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def spans_of(piece, most, rows, spans):  # type: ignore[no-untyped-def]
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
    entries of ``reached`` and ``distance``, which grow; see ``Searches``.  Entries of the heap are
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
