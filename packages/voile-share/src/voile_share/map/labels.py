"""Names on a map: of streets, along straight pieces of them, and of places.

Each street's line is labelled every few hundred metres, at a piece that is nearly straight, so that
a name can be written along it however near one looks; which of them are shown is decided by who
draws, who knows the scale.  A street is what is connected and has one name.

Cost: O(e log e) for e edges with names, and some 50 microseconds a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from voile_geo.geodesy import Floats
from voile_share.map.trails import Integers, joined

__all__ = ["PLACES", "MapLabel", "labels_of"]

PLACES = ("city", "town", "suburb", "village")
"""Kinds of places, from the most important one."""
_EVERY = 700.0
"""Metres of a street for each time that its name is written, at most."""
_LONGEST, _SHORTEST = 400.0, 25.0
"""Metres of the piece along which a name is written, from one end to the other."""
_STRAIGHT = 0.97
"""Of a piece: the distance of its ends, in parts of its length."""


@dataclass(frozen=True)
class MapLabel:
    """A place with a name."""

    name: str
    kind: str
    """One of ``PLACES``."""
    latitude: float
    """Degrees."""
    longitude: float


def labels_of(
    plane: Floats, ends: Integers, rank: Integers, name: Integers, names: Sequence[str]
) -> tuple[list[str], list[tuple[int, int, Floats, Floats]]]:
    """The names that are written, and for each label its rank, its name, and from where to where.

    ``plane`` has shape (v, 2), metres; ``ends`` (e, 2), ``rank`` and ``name`` (e,), without edges
    from a node to itself; below 0 there is no name.  A label has the two ends of the piece along
    which it is written, points of the plane.  Most important ones come first.
    """
    named = name >= 0
    if not named.any():
        return [], []
    ends, rank, name = ends[named], rank[named], name[named]
    # A node of two streets is two nodes, so that no line goes from one into the other.
    key = name[:, np.newaxis] * len(plane) + ends
    nodes, at = np.unique(key, return_inverse=True)
    at = at.reshape(ends.shape)
    best = np.full(len(names), np.iinfo(np.int64).max)
    np.minimum.at(best, name, rank)
    places = plane[nodes % len(plane)]
    walked, first = joined(places, at)
    found = []
    for line in np.split(walked, first[1:-1]):
        called = int(nodes[line[0]] // len(plane))
        found += [(int(best[called]), called, *piece) for piece in _pieces(places[line])]
    found.sort(key=lambda one: one[:2])
    used = sorted({called for _, called, _, _ in found})
    order = {called: place for place, called in enumerate(used)}
    return [names[called] for called in used], [
        (place, order[called], start, end) for place, called, start, end in found
    ]


def _pieces(line: Floats) -> list[tuple[Floats, Floats]]:
    """Nearly straight pieces of a line, each as its two ends."""
    steps = np.hypot(*np.diff(line, axis=0).T)
    along = np.concatenate(([0.0], np.cumsum(steps)))
    parts = max(1, round(along[-1] / _EVERY))
    pieces = []
    for part in range(parts):
        middle = along[-1] * (part + 0.5) / parts
        size = min(along[-1] / parts, _LONGEST)
        while size >= _SHORTEST:
            start, end = _at(line, along, np.array([middle - size / 2, middle + size / 2]))
            if np.hypot(*(end - start)) >= _STRAIGHT * size:
                pieces.append((start, end))
                break
            size *= 0.7
    return pieces


def _at(line: Floats, along: Floats, where: Floats) -> Any:
    """Points of a line at distances from its beginning."""
    return np.stack([np.interp(where, along, side) for side in line.T], axis=1)
