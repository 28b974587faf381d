"""Edges joined to long lines, so that a map has few beginnings.

Algorithm: walk from nodes where an odd number of edges meets, then from the others, each time over
the edge not yet used that turns least, until none is left.  That gives hardly more lines than
there must be (half the number of odd nodes), and lines that go straight on at crossings.

Cost: O(e) for e edges, as long as few edges meet at a node.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_geo.geodesy import Floats

__all__ = ["Integers", "joined"]

Integers = NDArray[np.int64]


def joined(plane: Floats, ends: Integers) -> tuple[Integers, Integers]:
    """Lines that together pass each edge once.

    ``plane`` has shape (v, 2); ``ends`` has shape (e, 2) and no edge from a node to itself.
    Returns the nodes of all lines one after another, and where each line begins, with the end.
    """
    count = len(ends)
    at = ends.T.ravel()
    order = np.argsort(at, kind="stable")
    start = np.zeros(len(plane) + 1, dtype=np.int64)
    np.cumsum(np.bincount(at, minlength=len(plane)), out=start[1:])
    nodes, first = np.empty(2 * count, dtype=np.int64), np.empty(count + 1, dtype=np.int64)
    lines = _walk(plane, ends, start, order % max(count, 1), nodes, first)
    return nodes[: first[lines]].copy(), first[: lines + 1].copy()


@njit(cache=True, nogil=True)
def _walk(
    plane: Any, ends: Any, start: Any, incident: Any, nodes: Any, first: Any
) -> int:  # pragma: no cover - compiled
    used = np.zeros(len(ends), dtype=np.bool_)
    left = start[1:] - start[:-1]
    lines, written = 0, 0
    first[0] = 0
    for odd in (1, 0):
        for origin in range(len(start) - 1):
            while left[origin] > 0 and (odd == 0 or left[origin] % 2 == 1):
                here, before = origin, -1
                nodes[written] = origin
                written += 1
                while left[here] > 0:
                    edge = _straightest(plane, ends, start, incident, used, here, before)
                    used[edge] = True
                    there = ends[edge, 0] + ends[edge, 1] - here
                    left[here] -= 1
                    left[there] -= 1
                    here, before = there, here
                    nodes[written] = here
                    written += 1
                lines += 1
                first[lines] = written
    return lines


@njit(cache=True, nogil=True)
def _straightest(
    plane: Any, ends: Any, start: Any, incident: Any, used: Any, here: int, before: int
) -> int:  # pragma: no cover - compiled
    """The edge not yet used at a node that turns least for who comes from ``before``."""
    best, least = -1, math.inf
    for index in range(start[here], start[here + 1]):
        edge = incident[index]
        if used[edge]:
            continue
        there = ends[edge, 0] + ends[edge, 1] - here
        turn = 0.0
        if before >= 0:
            ahead = plane[there] - plane[here]
            behind = plane[here] - plane[before]
            size = math.hypot(ahead[0], ahead[1]) * math.hypot(behind[0], behind[1])
            turn = -(ahead[0] * behind[0] + ahead[1] * behind[1]) / size if size > 0 else 0.0
        if turn < least:
            best, least = edge, turn
    return best
