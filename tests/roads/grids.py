"""Small road networks for tests."""

from __future__ import annotations

import numpy as np

from voile.roads.building import Chain, NetworkBuilder
from voile.roads.network import RoadNetwork


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
                        Chain(
                            ((i, j), (k, m)),
                            (latitude[i, j], latitude[k, m]),
                            (longitude[i, j], longitude[k, m]),
                            ("both", "both", "forward")[rng.integers(3)],
                            "residential",
                            str(rng.integers(20, 60)),
                        )
                    )
    return builder.build("a grid")
