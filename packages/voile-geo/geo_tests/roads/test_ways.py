"""Nearest roads and shortest ways, against independent libraries."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx
import numpy as np
import pytest
import shapely

from voile_geo.roads.nearest import NearbyRoads, Ways
from voile_geo.roads.network import RoadNetwork
from voile_testing.towns import random_network


def segments(roads: RoadNetwork) -> Any:
    """The edges as lines of the plane."""
    ends = roads.plane[roads.source], roads.plane[roads.target]
    return shapely.linestrings(np.stack(ends, axis=1))


def graph_of(roads: RoadNetwork, weight: np.ndarray) -> networkx.MultiDiGraph:
    graph = networkx.MultiDiGraph()
    for edge, (a, b) in enumerate(zip(roads.source, roads.target, strict=True)):
        graph.add_edge(int(a), int(b), weight=float(weight[edge]))
    return graph


@pytest.mark.parametrize("cell", [40.0, 250.0, 5000.0])
def test_the_nearest_road_is_the_nearest_of_all(cell: float) -> None:
    """300 positions on and off the map: the distance is shapely's least over all edges."""
    roads = random_network(1)
    lines = segments(roads)
    low, high = roads.plane.min(axis=0), roads.plane.max(axis=0)
    points = np.random.default_rng(2).uniform(low - 3000, high + 3000, (300, 2))
    found = NearbyRoads(roads, cell).nearest_in_plane(points)
    far = shapely.distance(shapely.points(points)[:, np.newaxis], lines)
    assert found.distance == pytest.approx(far.min(axis=1), abs=1e-6)
    at = shapely.line_interpolate_point(lines[found.edge], found.along)
    assert shapely.distance(at, shapely.points(points)) == pytest.approx(found.distance, abs=1e-6)


@pytest.mark.parametrize("radius", [5.0, 150.0, 900.0])
def test_roads_within_a_radius_are_all_of_them(radius: float) -> None:
    """At 50 places, the edges within a radius are exactly those that shapely finds."""
    roads = random_network(3)
    lines = segments(roads)
    nearby = NearbyRoads(roads, 120.0)
    points = np.random.default_rng(4).uniform(
        roads.plane.min(0) - 300, roads.plane.max(0) + 300, (50, 2)
    )
    for x, y in points:
        far = shapely.distance(shapely.Point(x, y), lines)
        assert list(nearby.within((x, y), radius)) == list(np.flatnonzero(far <= radius))


@pytest.mark.parametrize("by", ["length", "seconds"])
def test_ways_to_a_place_are_those_of_a_graph_cut_there(by: Any) -> None:
    """40 departures and 5 goals on edges: the way equals networkx's on a graph split at both."""
    roads = random_network(5, size=5)
    weight = roads.length if by == "length" else roads.seconds
    rng = np.random.default_rng(6)
    latitude = rng.uniform(roads.latitude.min(), roads.latitude.max(), 45)
    longitude = rng.uniform(roads.longitude.min(), roads.longitude.max(), 45)
    at = NearbyRoads(roads).nearest(latitude, longitude)
    ways = Ways(roads, by)
    for goal in range(40, 45):
        found = ways.to(latitude[goal], longitude[goal]).of(latitude[:40], longitude[:40])
        for i in range(40):
            assert found[i] == pytest.approx(split_way(roads, weight, at, i, goal), abs=1e-6)


def split_way(roads: RoadNetwork, weight: np.ndarray, at: Any, start: int, goal: int) -> float:
    """The least way between two points of edges, by cutting these and their reverses."""
    graph = graph_of(roads, weight)
    cuts: dict[int, list[tuple[float, str]]] = {}
    for place, name in ((start, "start"), (goal, "goal")):
        edge, share = int(at.edge[place]), at.along[place] / roads.length[at.edge[place]]
        cuts.setdefault(edge, []).append((share, name))
        if roads.reverse[edge] >= 0:
            cuts.setdefault(int(roads.reverse[edge]), []).append((1 - share, name))
    for edge, points in cuts.items():
        stops = [(0.0, int(roads.source[edge])), *sorted(points), (1.0, int(roads.target[edge]))]
        for (a, here), (b, there) in pairwise(stops):
            graph.add_edge(here, there, weight=(b - a) * weight[edge])
    try:
        return float(networkx.dijkstra_path_length(graph, "start", "goal"))
    except networkx.NetworkXNoPath:
        return float("inf")


def test_the_nodes_of_a_way_are_joined_and_no_way_is_shorter() -> None:
    """Between all pairs of 16 crossings the way is connected and as short as networkx's."""
    roads = random_network(7, size=4)
    graph, ways = graph_of(roads, roads.length), Ways(roads)
    least = dict(networkx.all_pairs_dijkstra_path_length(graph))
    steps = {(a, b): w for a, b, w in zip(roads.source, roads.target, roads.length, strict=True)}
    for a in range(roads.nodes):
        for b in range(roads.nodes):
            way = ways.between(a, b)
            if b not in least.get(a, {}):
                assert not len(way)
                continue
            pairs = pairwise(int(node) for node in way)
            assert sum(steps[pair] for pair in pairs) == pytest.approx(least[a][b])


def test_the_plane_and_the_globe_agree() -> None:
    """Positions go to the plane and back; lengths in the plane are those on the ellipsoid."""
    roads = random_network(10)
    back = roads.to_degrees(roads.plane)
    assert back[0] == pytest.approx(roads.latitude, abs=1e-9)
    assert back[1] == pytest.approx(roads.longitude, abs=1e-9)
    plane = np.hypot(*(roads.plane[roads.target] - roads.plane[roads.source]).T)
    assert plane == pytest.approx(roads.length, rel=1e-5)


def test_the_largest_connected_part_is_networkx_s() -> None:
    """Its nodes are the largest strongly connected component."""
    for seed in range(5):
        roads = random_network(seed, size=5)
        graph = graph_of(roads, roads.length)
        largest = max(networkx.strongly_connected_components(graph), key=len)
        assert roads.largest_connected().nodes == len(largest)
