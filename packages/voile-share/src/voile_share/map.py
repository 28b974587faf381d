"""The road map that the tracking page draws: one small JSON document for a whole city.

The page gets the whole map or none: asking for a part of it would tell where one looks.  The
document has integers that are steps from one point to the next, by rank of road:

    {"format": "voile-road-map", "version": 1, "attribution": "...",
     "middle": [latitude, longitude],            1e-5 degrees, as all numbers here
     "reach": [south, west, north, east],        from the middle
     "layers": [{"rank": "motorway",             only ranks that the map has, in the order of RANKS
                 "counts": [3, 2, ...],          points of each line, 2 or more
                 "steps": [y, x, ...]}],         latitude and longitude, from the point before
     "names": ["Main Street", ...],              what follows is left out where there are no names
     "labels": [rank, name, y, x, y, x, ...],    of streets: places in RANKS and in names, and the
                                                 ends of a nearly straight piece, from the middle
     "places": [{"kind": "town", "name": "...", "at": [y, x]}]}

The first step of a layer starts at the middle, that of a line at the last point of the line before.
Longitudes are within 180 degrees of the middle, so that maps may lie across the date line.

Lines are in the order of a Z-order curve: the next one begins nearby.  1e-5 degrees are 1.1 m.
Simplification is in Mercator's projection, which is what the page draws.

Cost: some 0.1 s for the 50,000 edges of a city, and 3 bytes an edge once packed by gzip.

A service sends it checked once, packed once, and named by its content.

Bends that nobody sees are dropped, by Douglas and Peucker's algorithm ("Algorithms for the
reduction of the number of points required to represent a digitized line or its caricature",
Cartographica 10 (1973), 112-122): every point that was dropped lies within the tolerance of the
segment that replaces it; the ends of lines stay.  Lines that meet at a crossing may part there by
as much.  O(n log n) for n points as a rule, O(n^2) at worst.

Names on a map: of streets, along straight pieces of them, and of places.

Each street's line is labelled every few hundred metres, at a piece that is nearly straight, so that
a name can be written along it however near one looks; which of them are shown is decided by who
draws, who knows the scale.  A street is what is connected and has one name.

Cost: O(e log e) for e edges with names, and some 50 microseconds a label.

How important a class of roads is: what the page draws first, wider, and from farther away.

Edges joined to long lines, so that a map has few beginnings.

Algorithm: walk from nodes where an odd number of edges meets, then from the others, each time over
the edge not yet used that turns least, until none is left.  That gives hardly more lines than
there must be (half the number of odd nodes), and lines that go straight on at crossings.

Cost: O(e) for e edges, as long as few edges meet at a node.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit
from voile_base.errors import InputError
from voile_base.values import Json
from voile_geo.geodesy import Floats

__all__ = [
    "FORMAT",
    "MAP_PATH",
    "PLACES",
    "RANKS",
    "VERSION",
    "Integers",
    "MapFile",
    "MapLabel",
    "RoadMap",
    "Streets",
    "rank_of",
]

RANKS = ("motorway", "primary", "secondary", "tertiary", "street", "service")
"""From the most important one; each is named for a class of OpenStreetMap's key ``highway``."""
_ALIKE = {"trunk": "motorway"}
_USUAL, _RAMP = RANKS.index("street"), RANKS.index("tertiary")


def rank_of(road_class: str | None) -> int:
    """The rank of a class of roads: its place in ``RANKS``.

    Classes that are unknown, or not named, are streets; ramps are tertiary at most.
    """
    name = road_class or ""
    # Ramps are short and narrow, and would crowd the crossings of motorways.
    least = _RAMP if name.endswith("_link") else 0
    name = name.removesuffix("_link")
    name = _ALIKE.get(name, name)
    return max(least, RANKS.index(name) if name in RANKS else _USUAL)


Integers = NDArray[np.int64]


def _joined(plane: Floats, ends: Integers) -> tuple[Integers, Integers]:
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


def _labels_of(
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
    walked, first = _joined(places, at)
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


FORMAT, VERSION = "voile-road-map", 1
_UNITS = 100_000
_EARTH = 6_378_137.0
_NORTHERNMOST = 85.0
"""Mercator's projection has no poles."""
MAP_PATH = "/map/roads.json"
"""Where the page asks for it."""


@dataclass(frozen=True, eq=False)
class Streets:
    """Roads as plain arrays: v nodes and e straight edges between them, in either direction."""

    latitude: Floats
    """Shape (v,), degrees."""
    longitude: Floats
    source: Integers
    """Shape (e,): nodes."""
    target: Integers
    rank: Integers
    """Shape (e,): places in ``ranks.RANKS``."""
    names: tuple[str, ...] = ()
    """What streets are called."""
    name_of: Integers | None = None
    """Shape (e,): places in ``names``, -1 where a street has no name; None: no street has one."""
    places: tuple[MapLabel, ...] = ()

    def compact(self, tolerance: float = 3.0, attribution: str = "") -> RoadMap:
        """The compact map of some roads; ``tolerance`` is how far a line may be off, in metres.

        Raises ``InputError`` where no road is left to draw, or the tolerance is no length.
        """
        if not 0 <= tolerance <= 1_000:
            msg = "the tolerance of a map must be from 0 to 1,000 metres"
            raise InputError(msg)
        middle = _middle(self)
        units = _units(self.latitude, self.longitude, middle)
        plane = _mercator(units, middle)
        ends = _ends(self, units)
        edges = _edges(ends, self.rank)
        ends, rank = ends[edges], self.rank[edges]
        layers = []
        for index, name in enumerate(RANKS):
            lines = _lines(plane, ends[rank == index], tolerance)
            layer = _layer(units, *lines)
            if layer["counts"]:
                layers.append({"rank": name, **layer})
        if not layers:
            msg = (
                "the map has no road that could be drawn: its roads are shorter than the tolerance"
            )
            raise InputError(msg)
        used = units[np.unique(ends)]
        document = {
            "format": FORMAT,
            "version": VERSION,
            "attribution": attribution,
            "middle": list(middle),
            "reach": [*used.min(axis=0).tolist(), *used.max(axis=0).tolist()],
            "layers": layers,
            **_labels(self, edges, ends, plane, middle),
            **_places(self.places, middle),
        }
        return RoadMap(document)


@dataclass(frozen=True, eq=False)
class RoadMap:
    """A map in its compact form."""

    document: Json

    @cached_property
    def encoded(self) -> bytes:
        """As JSON without spaces; the same map gives the same bytes."""
        return json.dumps(self.document, separators=(",", ":"), ensure_ascii=False).encode()

    @cached_property
    def gzipped(self) -> bytes:
        """What travels to a browser."""
        return gzip.compress(self.encoded, 9, mtime=0)

    @property
    def lines(self) -> int:
        """Number of lines in all layers."""
        return sum(len(layer["counts"]) for layer in self.document["layers"])

    @property
    def points(self) -> int:
        """Number of points in all layers."""
        return sum(sum(layer["counts"]) for layer in self.document["layers"])

    @property
    def names(self) -> int:
        """Number of names of streets and places."""
        return len(self.document.get("names", ())) + len(self.document.get("places", ()))


def _labels(
    streets: Streets, edges: Integers, ends: Integers, plane: Floats, middle: tuple[int, int]
) -> Json:
    """Names of streets, as parts of the document."""
    if streets.name_of is None:
        return {}
    scale = math.cosh(float(np.median(plane[:, 1])) / _EARTH)
    about = streets.rank[edges], streets.name_of[edges], streets.names
    names, labels = _labels_of(plane / scale, ends, *about)
    if not labels:
        return {}
    pieces = np.array([label[2:] for label in labels]).reshape(-1, 2) * scale
    numbers = np.array([label[:2] for label in labels])
    where = _from_mercator(pieces, middle).reshape(-1, 4)
    return {"names": names, "labels": np.hstack((numbers, where)).ravel().tolist()}


def _places(places: tuple[MapLabel, ...], middle: tuple[int, int]) -> Json:
    """Places, as a part of the document."""
    if not places:
        return {}
    latitude, longitude = np.array([(one.latitude, one.longitude) for one in places]).T
    at = _units(latitude, longitude, middle).tolist()
    return {
        "places": [
            {"kind": one.kind, "name": one.name, "at": units}
            for one, units in zip(places, at, strict=True)
        ]
    }


def _middle(streets: Streets) -> tuple[int, int]:
    """Between north and south, and in the mean direction of longitudes."""
    north = (streets.latitude.min() + streets.latitude.max()) / 2
    turn = np.exp(1j * np.radians(streets.longitude)).mean()
    east = math.degrees(math.atan2(turn.imag, turn.real))
    return round(north * _UNITS), round(east * _UNITS)


def _units(latitude: Floats, longitude: Floats, middle: tuple[int, int]) -> Integers:
    """Shape (v, 2): latitude and longitude from the middle."""
    latitude = np.clip(latitude, -_NORTHERNMOST, _NORTHERNMOST)
    east = (longitude - middle[1] / _UNITS + 180) % 360 - 180
    both = (latitude * _UNITS - middle[0], east * _UNITS)
    return np.stack([np.rint(side) for side in both], axis=1).astype(np.int64)


def _mercator(units: Integers, middle: tuple[int, int]) -> Floats:
    """Shape (v, 2): metres east and north at the scale of the equator."""
    latitude = np.radians((units[:, 0] + middle[0]) / _UNITS)
    return _EARTH * np.stack(
        (np.radians(units[:, 1] / _UNITS), np.arcsinh(np.tan(latitude))), axis=1
    )


def _from_mercator(plane: Floats, middle: tuple[int, int]) -> Integers:
    """The inverse of ``_mercator``, shape (n, 2)."""
    latitude = np.degrees(np.arctan(np.sinh(plane[:, 1] / _EARTH))) * _UNITS - middle[0]
    east = np.degrees(plane[:, 0] / _EARTH) * _UNITS
    units: Integers = np.rint(np.stack((latitude, east), axis=1)).astype(np.int64)
    return units


def _ends(streets: Streets, units: Integers) -> Integers:
    """Shape (e, 2): the nodes of each edge, the lower one first."""
    # Nodes at one place are one node: maps repeat them.
    _, same = np.unique(units, axis=0, return_inverse=True)
    name = np.full(same.max() + 1, len(units))
    np.minimum.at(name, same.ravel(), np.arange(len(units)))
    place: Integers = name[same.ravel()]
    ends: Integers = np.stack((place[streets.source], place[streets.target]), axis=1)
    ends.sort(axis=1)
    return ends


def _edges(ends: Integers, rank: Integers) -> Integers:
    """Which edges are drawn: each in one direction and once, with the best rank that it has."""
    order = np.lexsort((rank, ends[:, 1], ends[:, 0]))
    order = order[ends[order, 0] != ends[order, 1]]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(ends[order], axis=0) != 0).any(axis=1)
    return np.asarray(order[new])


def _lines(plane: Floats, ends: Integers, tolerance: float) -> tuple[Integers, Integers]:
    """Nodes of simplified lines, and where each begins; as ``trails.joined`` has them."""
    nodes, first = _joined(plane, ends)
    if not len(nodes):
        return nodes, first
    # Mercator's scale grows to the north: metres there are longer on the map.
    stretch = np.cosh(plane[nodes[first[:-1]], 1] / _EARTH)
    kept = _kept_points(plane[nodes], first, tolerance * stretch)
    before = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(kept, out=before[1:])
    return nodes[kept], before[first]


def _layer(units: Integers, nodes: Integers, first: Integers) -> dict[str, list[int]]:
    """Lines in an order in which the next one begins nearby, as steps."""
    if not len(nodes):
        return {"counts": [], "steps": []}
    lines = np.split(units[nodes], first[1:-1])
    order = np.argsort(_z_order(units[nodes[first[:-1]]]), kind="stable")
    lines = [line for line in (lines[place] for place in order) if _has_length(line)]
    if not lines:
        return {"counts": [], "steps": []}
    points = np.concatenate(lines)
    steps = points.copy()
    steps[1:] -= points[:-1]
    return {"counts": [len(line) for line in lines], "steps": steps.ravel().tolist()}


def _has_length(line: Integers) -> bool:
    """Loops that were smaller than the tolerance end where they begin."""
    return len(line) > 2 or bool((line[0] != line[-1]).any())


def _z_order(units: Integers) -> Integers:
    """Shape (n,): places on a curve that keeps near points near; bits of both sides in turn."""
    sides = (units - units.min(axis=0)) >> 4
    code = np.zeros(len(units), dtype=np.int64)
    for bit in range(24):
        for side in range(2):
            code |= ((sides[:, side] >> bit) & 1) << (2 * bit + side)
    return code


@dataclass(frozen=True)
class MapFile:
    """The body of an answer, in both forms; send ``gzipped`` to who accepts gzip."""

    body: bytes = field(repr=False)
    gzipped: bytes = field(repr=False)
    etag: str
    """A strong one, with its quotes."""
    content_type: str = "application/json"

    @staticmethod
    def read(path: str | Path) -> MapFile:
        """Read what ``voile share roads`` wrote; raises ``InputError`` on anything else."""
        place = Path(path)
        try:
            body = place.read_bytes()
        except OSError as error:
            msg = f"{place}: the road map cannot be read ({error.strerror or 'input error'})"
            raise InputError(msg) from None
        try:
            document = json.loads(body)
            known = (document["format"], document["version"]) == (FORMAT, VERSION)
        except (ValueError, TypeError, KeyError, RecursionError):
            known = False
        if not known:
            msg = f"{place}: this is no road map of the page; make one with: voile share roads"
            raise InputError(msg)
        return MapFile(body, gzip.compress(body, 9, mtime=0), f'"{sha256(body).hexdigest()[:32]}"')


def _kept_points(points: Floats, first: Integers, tolerance: Floats) -> NDArray[np.bool_]:
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
