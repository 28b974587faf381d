"""The shortest and the fastest way between places on a road network.

Source: Dijkstra's algorithm, by SciPy.

Cost: one search of the network a place of departure or arrival, 5 ms for 27,000 nodes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import csgraph

from voile_geo.geodesy import Floats
from voile_geo.roads.nearest import NearbyRoads, Nearest
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = ["Ways"]

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
        at: Nearest,
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

    def _share(self, at: Nearest) -> Floats:
        length = self._roads.length[at.edge]
        return np.clip(
            np.divide(at.along, length, out=np.zeros_like(length), where=length > 0), 0, 1
        )
