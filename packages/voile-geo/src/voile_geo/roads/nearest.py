"""The nearest road to a position, and all roads near it.

Edges are looked up in a grid of square cells of the plane: each cell lists the edges that pass it.
Distances are to the segment, by plane geometry.  Compiled, because attacks ask for all roads near
thousands of positions.

Cost: O(e + total length / cell) to build; a look-up examines the edges of the cells that a circle
covers, some microseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from voile_base.compiled import njit
from voile_geo.geodesy import Floats
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = ["NearbyRoads", "Nearest", "cells_around", "distance_to_segment"]


@dataclass(frozen=True, eq=False)
class Nearest:
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

    def nearest(self, latitude: Floats, longitude: Floats) -> Nearest:
        """The nearest edge to each of n positions, which may lie off the map."""
        return self.nearest_in_plane(self._roads.to_plane(latitude, longitude))

    def nearest_in_plane(self, points: Floats) -> Nearest:
        """The same for points of the network's plane, shape (n, 2)."""
        edge = np.empty(len(points), dtype=np.int64)
        along, distance = np.empty((2, len(points)))
        _nearest(points, self.grid, edge, along, distance)
        return Nearest(edge, along, distance)

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
def cells_around(point, radius, corner, cell, shape):  # type: ignore[no-untyped-def]
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
    low_x, high_x, low_y, high_y = cells_around(point, radius, corner, cell, shape)
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
