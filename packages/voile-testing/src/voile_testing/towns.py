"""Small towns, their roads and a small fleet.

A small fleet in a small town, as files.

Small road networks for tests.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.reading import NetworkBuilder, RoadChain, Ways

__all__ = ["write_fleet"]


def write_fleet(folder: Path) -> None:
    """A town of 15 x 15 streets and two trips in it, of which one stands for ten minutes."""
    lines, number = ["S_Node,E_Node,wkt\n"], 0
    for row in range(15):
        for column in range(15):
            here = (48.80 + row / 500, 2.30 + column / 333)
            for there in ((here[0] + 1 / 500, here[1]), (here[0], here[1] + 1 / 333)):
                ends = [f"{longitude:.6f} {latitude:.6f}" for latitude, longitude in (here, there)]
                for one, two in (ends, ends[::-1]):
                    names = [name.replace(" ", "_") for name in (one, two)]
                    lines.append(f'{names[0]},{names[1]},"LINESTRING ({one}, {two})"\n')
                    number += 1
    (folder / "town.csv").write_text("".join(lines))
    rows = ["trip,time,latitude,longitude\n"]
    rows += [
        f"secret <A>,{60 * minute},{48.80 + minute / 1000:.6f},2.303003\n" for minute in range(20)
    ]
    places = [min(minute, 8) + max(minute - 18, 0) for minute in range(20)]
    rows += [
        f"B,{60 * minute},48.810000,{2.30 + at / 500:.6f}\n" for minute, at in enumerate(places)
    ]
    (folder / "fleet.csv").write_text("".join(rows))
    (folder / "plan.toml").write_text(
        '[method]\nname = "geo-indistinguishability"\nepsilon = 0.02\n'
    )


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
