"""Roads near a place: the nearest one, stretches between crossings, density, and ways.

The nearest road to a position, and all roads near it.

Edges are looked up in a grid of square cells of the plane: each cell lists the edges that pass it.
Distances are to the segment, by plane geometry.  Compiled, because attacks ask for all roads near
thousands of positions.

Cost: O(e + total length / cell) to build; a look-up examines the edges of the cells that a circle
covers, some microseconds.

Roads as people mean them: the stretch between two crossings, however many edges draw it.

A road that bends is one, in both directions, and one that passes a crossing is two.  Two
carriageways of one street are two where the map draws them as two.  Whatever is counted or scored
by road goes by this, for a map that draws more bends shows no more roads.

``stretches``  which road each edge is part of
``Chains``     the edges in the order in which they are driven, from where one may turn to the next

Cost: sorting the edges.

How far one must look from a place to see so many different roads: public facts for radii.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 5, which names the option of radii by the density of roads and takes rings around a centre.

A road is a stretch between two crossings (``stretches``).

A radius is computed from the map alone, so it is public.  A grid has one for the middle of each of
its cells, rounded up to a ladder of radii that are at most a tenth apart.

Cost: sorting the edges, and for each place a look at the edges near it: 15 microseconds a cell.

The shortest and the fastest way between places on a road network.

Source: Dijkstra's algorithm, by SciPy.

Cost: one search of the network a place of departure or arrival, 5 ms for 27,000 nodes.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_geo.geodesy import Floats
from voile_geo.planar.steps import MICRODEGREES, RadiusGrid
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = [
    "CELL",
    "MOST_CELLS",
    "Chains",
    "MappedStretches",
    "NearbyRoads",
    "RoadRadii",
    "Ways",
    "distance_to_segment",
    "stretches",
]


@dataclass(frozen=True, eq=False)
class _Nearest:
    """Where n positions are on the network: the nearest edge to each."""

    edge: Indices
    """Shape (n,); of the two directions of a road, the one with the smaller number."""
    along: Floats
    """Shape (n,): metres from the beginning of the edge."""
    distance: Floats
    """Shape (n,): metres from the position to the edge."""


class NearbyRoads:
    """A grid over the edges of a network; ``cell`` is its width in metres."""

    def __init__(self, roads: RoadNetwork, cell: float = 250.0) -> None:
        self._roads = roads
        self._cell = cell
        ends = roads.plane[roads.source], roads.plane[roads.target]
        self._segments = np.concatenate(ends, axis=1)
        low = roads.plane.min(axis=0)
        self._corner = (float(low[0]), float(low[1]))
        shape = np.floor((roads.plane.max(axis=0) - low) / cell).astype(np.int64) + 1
        self._shape = (int(shape[0]), int(shape[1]))
        counts = np.zeros(self._shape[0] * self._shape[1] + 1, dtype=np.int64)
        _count_cells(self._segments, self._corner, cell, self._shape, counts)
        self._start = np.cumsum(counts)
        self._members = np.empty(int(self._start[-1]), dtype=np.int64)
        _fill_cells(
            self._segments, self._corner, cell, self._shape, self._start[:-1].copy(), self._members
        )

    @property
    def grid(self) -> tuple[Any, ...]:
        """Segments, corner, cell, shape, where each cell's members start, and they; for loops."""
        return self._segments, self._corner, self._cell, self._shape, self._start, self._members

    def nearest(self, latitude: Floats, longitude: Floats) -> _Nearest:
        """The nearest edge to each of n positions, which may lie off the map."""
        return self.nearest_in_plane(self._roads.to_plane(latitude, longitude))

    def nearest_in_plane(self, points: Floats) -> _Nearest:
        """The same for points of the network's plane, shape (n, 2)."""
        edge = np.empty(len(points), dtype=np.int64)
        along, distance = np.empty((2, len(points)))
        _nearest(np.ascontiguousarray(points), self.grid, edge, along, distance)
        return _Nearest(edge, along, distance)

    def within(self, point: tuple[float, float], radius: float) -> Indices:
        """The edges that come within ``radius`` metres of a point of the plane, ascending."""
        found = np.empty(256, dtype=np.int64)
        count = _within(point, radius, self.grid, found)
        if count > len(found):
            found = np.empty(count, dtype=np.int64)
            count = _within(point, radius, self.grid, found)
        return np.unique(found[:count])


@njit(cache=True, nogil=True)
def _box(segment: Floats, corner, cell, shape):  # type: ignore[no-untyped-def]
    """The cells around a segment, first and last in both directions."""
    low_x = int((min(segment[0], segment[2]) - corner[0]) // cell)
    high_x = int((max(segment[0], segment[2]) - corner[0]) // cell)
    low_y = int((min(segment[1], segment[3]) - corner[1]) // cell)
    high_y = int((max(segment[1], segment[3]) - corner[1]) // cell)
    return low_x, min(high_x, shape[0] - 1), low_y, min(high_y, shape[1] - 1)


@njit(cache=True, nogil=True)
def _passes(segment: Floats, corner, cell, column, row) -> bool:  # type: ignore[no-untyped-def]
    """Whether a segment comes within half a cell's diagonal of the middle of a cell."""
    middle_x = corner[0] + (column + 0.5) * cell
    middle_y = corner[1] + (row + 0.5) * cell
    distance, _ = distance_to_segment(middle_x, middle_y, segment)
    return bool(distance <= cell * 0.7072)


@njit(cache=True, nogil=True)
def _count_cells(segments, corner, cell, shape, counts):  # type: ignore[no-untyped-def]
    for edge in range(len(segments)):
        low_x, high_x, low_y, high_y = _box(segments[edge], corner, cell, shape)
        for column in range(low_x, high_x + 1):
            for row in range(low_y, high_y + 1):
                if _passes(segments[edge], corner, cell, column, row):
                    counts[column * shape[1] + row + 1] += 1


@njit(cache=True, nogil=True)
def _fill_cells(segments, corner, cell, shape, free, members):  # type: ignore[no-untyped-def]
    for edge in range(len(segments)):
        low_x, high_x, low_y, high_y = _box(segments[edge], corner, cell, shape)
        for column in range(low_x, high_x + 1):
            for row in range(low_y, high_y + 1):
                if _passes(segments[edge], corner, cell, column, row):
                    place = column * shape[1] + row
                    members[free[place]] = edge
                    free[place] += 1


@njit(cache=True, nogil=True)
def distance_to_segment(x: float, y: float, segment: Floats) -> tuple[float, float]:
    """Distance to a segment, and the metres along it at which it is nearest."""
    east, north = segment[2] - segment[0], segment[3] - segment[1]
    length = math.sqrt(east * east + north * north)
    along = 0.0
    if length > 0:
        along = ((x - segment[0]) * east + (y - segment[1]) * north) / length
        along = min(max(along, 0.0), length)
        east, north = east / length, north / length
    return math.hypot(x - segment[0] - along * east, y - segment[1] - along * north), along


@njit(cache=True, nogil=True)
def _nearest(points, grid, edges, along, distance):  # type: ignore[no-untyped-def]
    segments, corner, cell, shape, start, members = grid
    for i in range(len(points)):
        x, y = points[i]
        column = min(max(int((x - corner[0]) // cell), 0), shape[0] - 1)
        row = min(max(int((y - corner[1]) // cell), 0), shape[1] - 1)
        # A position off the map looks from the nearest cell; nothing is nearer than the map.
        beyond_x = max(corner[0] - x, x - corner[0] - shape[0] * cell, 0.0)
        beyond_y = max(corner[1] - y, y - corner[1] - shape[1] * cell, 0.0)
        beyond = max(beyond_x, beyond_y)
        best, chosen, at = math.inf, -1, 0.0
        reach = 0
        while reach <= max(shape) and best > max(beyond, (reach - 1) * cell):
            for c in range(max(column - reach, 0), min(column + reach, shape[0] - 1) + 1):
                for r in range(max(row - reach, 0), min(row + reach, shape[1] - 1) + 1):
                    if max(abs(c - column), abs(r - row)) < reach:
                        continue  # looked at before
                    place = c * shape[1] + r
                    for k in range(start[place], start[place + 1]):
                        edge = members[k]
                        far, here = distance_to_segment(x, y, segments[edge])
                        if far < best or (far == best and edge < chosen):
                            best, chosen, at = far, edge, here
            reach += 1
        edges[i], along[i], distance[i] = chosen, at, best


@njit(cache=True, nogil=True)
def _cells_around(point, radius, corner, cell, shape):  # type: ignore[no-untyped-def]
    """The cells that a circle may touch, first and last in both directions."""
    low_x = max(int((point[0] - radius - corner[0]) // cell), 0)
    high_x = min(int((point[0] + radius - corner[0]) // cell), shape[0] - 1)
    low_y = max(int((point[1] - radius - corner[1]) // cell), 0)
    high_y = min(int((point[1] + radius - corner[1]) // cell), shape[1] - 1)
    return low_x, high_x, low_y, high_y


@njit(cache=True, nogil=True)
def _within(point, radius, grid, found):  # type: ignore[no-untyped-def]
    """Edges within a radius, those of several cells repeatedly; how many, though few may fit."""
    segments, corner, cell, shape, start, members = grid
    count = 0
    low_x, high_x, low_y, high_y = _cells_around(point, radius, corner, cell, shape)
    for column in range(low_x, high_x + 1):
        for row in range(low_y, high_y + 1):
            place = column * shape[1] + row
            for k in range(start[place], start[place + 1]):
                far, _ = distance_to_segment(point[0], point[1], segments[members[k]])
                if far <= radius:
                    if count < len(found):
                        found[count] = members[k]
                    count += 1
    return count


def stretches(roads: RoadNetwork) -> Indices:
    """The stretch between crossings that each edge is part of, shape (e,), numbered from 0.

    A crossing is a node that is not joined to exactly two others.
    """
    low, high = np.minimum(roads.source, roads.target), np.maximum(roads.source, roads.target)
    pairs, pair_of = np.unique(low * roads.nodes + high, return_inverse=True)
    ends = np.concatenate((pairs // roads.nodes, pairs % roads.nodes))
    order = np.argsort(ends, kind="stable")
    joined = np.concatenate((np.arange(len(pairs)), np.arange(len(pairs))))[order]
    first = np.flatnonzero(np.diff(ends[order], prepend=-1))
    bends = first[np.diff(first, append=len(ends)) == 2]
    links = (np.ones(len(bends)), (joined[bends], joined[bends + 1]))
    graph = sparse.coo_array(links, shape=(len(pairs), len(pairs)))
    _, part = sparse.csgraph.connected_components(graph, directed=False)
    return np.asarray(part[pair_of], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Chains:
    """c runs of directed edges that are driven one after another, without a choice between."""

    edge: Indices
    """The edges of each run in the order of driving, run by run; of equal edges the first alone."""
    start: Indices
    """Shape (c + 1,): where each run begins in ``edge``."""

    @staticmethod
    def of(roads: RoadNetwork) -> Chains:
        """The edges of a network in runs.

        A run goes on through every bend: a node that is joined to exactly two others and that is
        left in as many ways as it is reached.  It ends at crossings, at dead ends, and where a road
        becomes one-way.  A ring without a crossing is one run, from the node with the smallest
        number.
        """
        key = roads.source * roads.nodes + roads.target
        _, kept = np.unique(key, return_index=True)
        kept = kept[roads.source[kept] != roads.target[kept]]
        source, target = roads.source[kept], roads.target[kept]
        reached = np.bincount(target, minlength=roads.nodes)
        left = np.bincount(source, minlength=roads.nodes)
        pairs = np.unique(np.minimum(source, target) * roads.nodes + np.maximum(source, target))
        joined = np.bincount(pairs // roads.nodes, minlength=roads.nodes)
        joined += np.bincount(pairs % roads.nodes, minlength=roads.nodes)
        bend = (joined == 2) & (reached == left)
        # Sorted by source, so that what leaves a node stands in a row.
        begins = np.searchsorted(source, np.arange(roads.nodes + 1))
        onward = begins[target]
        back = target[np.minimum(onward, len(kept) - 1)] == source
        onward = np.where(bend[target], onward + back, -1)
        order, start = _walked(onward.astype(np.int64))
        return Chains(kept[order], start)


@njit(cache=True, nogil=True)
def _walked(onward):  # type: ignore[no-untyped-def]
    """Edges run by run, and where runs begin; ``onward`` is the edge after each, or -1."""
    count = len(onward)
    follows = np.zeros(count, dtype=np.bool_)
    for edge in onward:
        if edge >= 0:
            follows[edge] = True
    order, start = np.empty(count, dtype=np.int64), np.empty(count + 1, dtype=np.int64)
    done = np.zeros(count, dtype=np.bool_)
    walked, runs = 0, 0
    for rings in (False, True):
        for head in range(count):
            if done[head] or (follows[head] and not rings):
                continue
            start[runs] = walked
            runs += 1
            edge = head
            while edge >= 0 and not done[edge]:
                done[edge] = True
                order[walked] = edge
                walked += 1
                edge = onward[edge]
    start[runs] = walked
    return order, start[: runs + 1]


@dataclass(frozen=True, eq=False)
class MappedStretches:
    """Stretches between crossings, and who is on them."""

    roads: RoadNetwork
    reach: float
    """Metres within which a position counts as on the nearest road."""

    @cached_property
    def _of_edge(self) -> Indices:
        return stretches(self.roads)

    @cached_property
    def _nearest(self) -> NearbyRoads:
        return NearbyRoads(self.roads)

    @property
    def stretches(self) -> int:
        """How many there are."""
        return int(self._of_edge.max()) + 1

    def stretch(self, latitude: Floats, longitude: Floats) -> Indices:
        """That of each position; -1 where none is near."""
        found = self._nearest.nearest(latitude, longitude)
        return np.where(found.distance <= self.reach, self._of_edge[found.edge], -1)

    @cached_property
    def ends(self) -> list[tuple[str, str]]:
        """Of each stretch the positions of its two ends, as texts; of a ring one twice."""
        edges, of_edge = self.roads, self._of_edge
        low, high = (side(edges.source, edges.target) for side in (np.minimum, np.maximum))
        _, once = np.unique(low * edges.nodes + high, return_index=True)
        stretch = np.concatenate((of_edge[once], of_edge[once]))
        node = np.concatenate((low[once], high[once]))
        different, times = np.unique(stretch * edges.nodes + node, return_counts=True)
        of, at = different // edges.nodes, different % edges.nodes
        found: list[tuple[str, str]] = []
        begins = np.searchsorted(of, np.arange(self.stretches + 1))
        for one, end in pairwise(begins):
            outer = at[one:end][times[one:end] == 1]
            nodes = outer if len(outer) else at[one : one + 1]
            found.append((self._text(nodes[0]), self._text(nodes[-1])))
        return found

    def _text(self, node: int) -> str:
        return f"{self.roads.latitude[node]:.6f} {self.roads.longitude[node]:.6f}"


CELL = 250.0
"""Metres: height and width of a cell, unless the map is too large for it."""
MOST_CELLS = 250_000
_STEP = 1.1
_METRES_PER_DEGREE = 111_132.0


@dataclass(frozen=True, eq=False)
class RoadRadii:
    """Radii by the density of roads, for ``voile_geo.planar.noise``; public."""

    radii: tuple[float, ...]
    """Metres, ascending; the last is the largest that is allowed, and holds beyond the map."""
    grid: RadiusGrid
    """Which of them holds where."""
    cell: float
    """Metres: about the height and width of a cell."""

    @staticmethod
    def of(roads: RoadNetwork, count: int, bounds: tuple[float, float]) -> RoadRadii:
        """The radii within which ``count`` roads lie, in a grid over a map.

        ``bounds`` are the smallest and the largest radius that is allowed, in metres, ascending.
        """
        ladder = _ladder(*bounds)
        cell, step, corner, shape = _layout(roads)
        middles = [
            (start + size * (np.arange(cells) + 0.5)) / MICRODEGREES
            for start, size, cells in zip(corner, step, shape, strict=True)
        ]
        latitude, longitude = (side.ravel() for side in np.meshgrid(*middles, indexing="ij"))
        points = roads.to_plane(latitude, longitude)
        found = _radius_of_roads(roads, points, count, bounds[1], cell)
        # To the centimetre, so that the last digits of a machine's arithmetic do not matter.
        cells = np.searchsorted(ladder, np.round(found, 2)).reshape(shape).astype(np.int16)
        return RoadRadii(tuple(ladder.tolist()), RadiusGrid(corner, step, cells), cell)


def _radius_of_roads(
    roads: RoadNetwork, points: Floats, count: int, most: float = 20_000.0, cell: float = CELL
) -> Floats:
    """For points of the plane (n, 2), the radius in metres within which ``count`` roads lie.

    A road counts as soon as a point of it lies within; ``most`` where there are not enough.  Roads
    are looked up in cells of ``cell`` metres.
    """
    radii = np.empty(len(points))
    _radii(points, NearbyRoads(roads, cell).grid, stretches(roads), count, most, radii)
    return radii


def _ladder(least: float, most: float) -> Floats:
    """Radii from the smallest to the largest, each at most a tenth above the one before."""
    steps = math.ceil(math.log(most / least) / math.log(_STEP))
    between = np.geomspace(least, most, steps + 1)[1:-1]
    return np.unique([least, *np.round(between, 2), most])


def _layout(roads: RoadNetwork) -> tuple[float, tuple[int, int], tuple[int, int], tuple[int, int]]:
    """The size of a cell in metres; step and corner in millionths of a degree; rows and columns."""
    sides = roads.latitude, roads.longitude
    low = [math.floor(float(side.min()) * MICRODEGREES) for side in sides]
    high = [math.ceil(float(side.max()) * MICRODEGREES) for side in sides]
    narrow = max(0.01, math.cos(math.radians(roads.origin[0])))
    cell = CELL
    while True:
        degrees = cell / _METRES_PER_DEGREE * MICRODEGREES
        step = round(degrees), round(degrees / narrow)
        shape = (high[0] - low[0]) // step[0] + 1, (high[1] - low[1]) // step[1] + 1
        if shape[0] * shape[1] <= MOST_CELLS:
            return cell, step, (low[0], low[1]), shape
        cell *= 2


@njit(cache=True, nogil=True)
def _radii(points, grid, stretch, count, most, radii):  # type: ignore[no-untyped-def]
    """How far one must look from each point; ``grid`` is that of ``NearbyRoads``."""
    cell = grid[2]
    nearest = np.full(stretch.max() + 1, np.inf)
    seen = np.empty(len(nearest), np.int64)
    reach = cell
    for i in range(len(points)):
        while True:
            found = _look(points[i], min(reach, most), grid, stretch, nearest, seen)
            far = nearest[seen[:found]]
            nearest[seen[:found]] = np.inf
            if found >= count or reach >= most:
                break
            reach *= 2
        radii[i] = np.partition(far, count - 1)[count - 1] if found >= count else most
        # The next place is probably near by, and needs to look about as far.
        reach = max(cell / 2, 1.25 * radii[i])


@njit(cache=True, nogil=True)
def _look(point, reach, grid, stretch, nearest, seen):  # type: ignore[no-untyped-def]
    """How many roads come within a reach; which, and how near, in ``seen`` and ``nearest``."""
    segments, corner, cell, shape, start, members = grid
    found = 0
    low_x, high_x, low_y, high_y = _cells_around(point, reach, corner, cell, shape)
    for column in range(low_x, high_x + 1):
        for row in range(low_y, high_y + 1):
            place = column * shape[1] + row
            for edge in members[start[place] : start[place + 1]]:
                far, _ = distance_to_segment(point[0], point[1], segments[edge])
                road = stretch[edge]
                if far <= reach and far < nearest[road]:
                    if nearest[road] == np.inf:
                        seen[found] = road
                        found += 1
                    nearest[road] = far
    return found


By = Literal["length", "seconds"]


class Ways:
    """Ways over a network, by metres or by seconds."""

    def __init__(self, roads: RoadNetwork, by: By = "length") -> None:
        self._roads = roads
        self._weight = roads.length if by == "length" else roads.seconds
        self._graph = roads.graph(self._weight)

    @cached_property
    def _nearby(self) -> NearbyRoads:
        return NearbyRoads(self._roads)

    def to(self, latitude: float, longitude: float) -> WaysTo:
        """The ways to one place: to the point of a road that is nearest to it."""
        at = self._nearby.nearest(np.array([latitude]), np.array([longitude]))
        return WaysTo(self._roads, self._weight, self._graph, self._nearby, at)

    def between(self, source: int, target: int) -> Indices:
        """The nodes of the least way from one node to another; empty where there is none."""
        _, before = csgraph.dijkstra(self._graph, indices=source, return_predecessors=True)
        way = [target]
        while way[-1] != source:
            if before[way[-1]] < 0:
                return np.empty(0, dtype=np.int64)
            way.append(int(before[way[-1]]))
        return np.array(way[::-1], dtype=np.int64)


class WaysTo:
    """How far it is from anywhere to one place; made by ``Ways.to``."""

    def __init__(
        self,
        roads: RoadNetwork,
        weight: Floats,
        graph: object,
        nearby: NearbyRoads,
        at: _Nearest,
    ) -> None:
        self._roads, self._weight, self._nearby = roads, weight, nearby
        self._edge, self._along = int(at.edge[0]), float(at.along[0])
        self._goal_share = self._share(at)[0]
        backward = csgraph.dijkstra(graph.T, indices=roads.source[self._edge])  # type: ignore[attr-defined]
        self.of_node: Floats = backward + self._goal_share * weight[self._edge]
        """Shape (v,): from each node; infinite where no way leads."""
        back = int(roads.reverse[self._edge])
        if back >= 0:
            other = csgraph.dijkstra(graph.T, indices=roads.source[back])  # type: ignore[attr-defined]
            self.of_node = np.minimum(self.of_node, other + (1 - self._goal_share) * weight[back])

    def of(self, latitude: Floats, longitude: Floats) -> Floats:
        """From n positions, each from the point of a road that is nearest to it; shape (n,).

        A road that can be driven both ways is left in the better direction.  Infinite where no
        way leads to the place.
        """
        at = self._nearby.nearest(latitude, longitude)
        share = self._share(at)
        ahead = self._onward(at.edge, share)
        back = self._roads.reverse[at.edge]
        turned = np.where(back >= 0, self._onward(back, 1 - share), np.inf)
        return np.asarray(np.minimum(ahead, turned))

    def _onward(self, edge: Indices, share: Floats) -> Floats:
        """From points of edges, in the direction of these; ``share`` of the edge lies behind."""
        weight = self._weight[edge]
        onward = (1 - share) * weight + self.of_node[self._roads.target[edge]]
        same = (edge == self._edge) & (share <= self._goal_share)
        direct = (self._goal_share - share) * weight
        back = int(self._roads.reverse[self._edge])
        if back >= 0:
            goal = 1 - self._goal_share
            on_back = (edge == back) & (share <= goal)
            direct = np.where(on_back, (goal - share) * weight, direct)
            same |= on_back
        return np.where(same, np.minimum(onward, direct), onward)

    def _share(self, at: _Nearest) -> Floats:
        length = self._roads.length[at.edge]
        return np.clip(
            np.divide(at.along, length, out=np.zeros_like(length), where=length > 0), 0, 1
        )
