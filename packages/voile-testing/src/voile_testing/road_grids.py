"""Small road networks for tests."""

from __future__ import annotations

import numpy as np

from voile_geo.roads.building import NetworkBuilder, RoadChain
from voile_geo.roads.driving import Ways
from voile_geo.roads.network import RoadNetwork


def random_network(seed: int, size: int = 6, spacing: float = 0.002) -> RoadNetwork:
    """A crooked grid of size x size crossings some 200 m apart, a third of its roads one-way."""
    rng = np.random.default_rng(seed)
    latitude = 39.9 + spacing * (
        np.arange(size)[:, np.newaxis] + rng.uniform(-0.3, 0.3, (size, size))
    )
    longitude = 116.3 + spacing * (np.arange(size) + rng.uniform(-0.3, 0.3, (size, size)))
    builder = NetworkBuilder()
    for i in range(size):
        for j in range(size):
            for k, m in ((i + 1, j), (i, j + 1)):
                if k < size and m < size and rng.random() < 0.9:
                    builder.add(
                        RoadChain(
                            ((i, j), (k, m)),
                            (latitude[i, j], latitude[k, m]),
                            (longitude[i, j], longitude[k, m]),
                            ("both", "both", "forward")[rng.integers(3)],
                            "residential",
                            str(rng.integers(20, 60)),
                        )
                    )
    return builder.build("a grid")


def network_of(*chains: list[tuple[float, float]], ways: Ways = "both") -> RoadNetwork:
    """Roads through positions; equal positions are one node."""
    builder = NetworkBuilder()
    for chain in chains:
        latitude, longitude = zip(*chain, strict=True)
        builder.add(RoadChain(tuple(chain), latitude, longitude, ways))
    return builder.build("a map")


def split(roads: RoadNetwork, parts: int) -> RoadNetwork:
    """The same roads with each edge in equal parts; both directions share their new nodes."""
    low, high = np.minimum(roads.source, roads.target), np.maximum(roads.source, roads.target)
    pairs, pair = np.unique(low * roads.nodes + high, return_inverse=True)
    share = np.arange(1, parts) / parts
    sides = [
        (side[pairs // roads.nodes], side[pairs % roads.nodes])
        for side in (roads.latitude, roads.longitude)
    ]
    between = [(a[:, np.newaxis] + share * (b - a)[:, np.newaxis]).ravel() for a, b in sides]
    inner = roads.nodes + pair[:, np.newaxis] * (parts - 1) + np.arange(parts - 1)
    inner = np.where((roads.source == low)[:, np.newaxis], inner, inner[:, ::-1])
    way = np.concatenate((roads.source[:, np.newaxis], inner, roads.target[:, np.newaxis]), axis=1)
    return RoadNetwork(
        np.concatenate((roads.latitude, between[0])),
        np.concatenate((roads.longitude, between[1])),
        way[:, :-1].ravel(),
        way[:, 1:].ravel(),
        np.repeat(roads.road, parts),
        np.repeat(roads.speed, parts),
        roads.classes,
        None if roads.class_of is None else np.repeat(roads.class_of, parts),
    )
