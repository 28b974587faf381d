"""Road networks from chains of positions, which is what every format comes down to.

Chains are cut at every position: each edge is straight.  Positions with the same name are one node.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from voile_base.errors import TableError
from voile_geo.roads.driving import Ways, speed_of
from voile_geo.roads.network import RoadNetwork

__all__ = ["NetworkBuilder", "RoadChain"]


@dataclass(frozen=True)
class RoadChain:
    """One road of a map: positions in order, and which ways it can be driven."""

    names: tuple[Hashable, ...]
    """What each position is called; the same name is the same node."""
    latitude: tuple[float, ...]
    longitude: tuple[float, ...]
    ways: Ways = "both"
    road_class: str | None = None
    speed: str | None = None
    """As signed."""
    name: str | None = None
    """What the road is called."""


@dataclass
class NetworkBuilder:
    """Collects chains; ``build`` makes the network of them."""

    _places: dict[Hashable, int] = field(default_factory=dict)
    _positions: list[tuple[float, float]] = field(default_factory=list)
    _classes: dict[str, int] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _edges: list[tuple[int, int, int, float, int]] = field(default_factory=list)
    _name_of_road: list[int] = field(default_factory=list)
    _roads: int = 0

    def add(self, chain: RoadChain) -> None:
        """Add a road; positions that follow one another at one node are one."""
        speed = speed_of(chain.speed, chain.road_class)
        kind = -1
        if chain.road_class is not None:
            kind = self._classes.setdefault(chain.road_class, len(self._classes))
        called = self._names.setdefault(chain.name, len(self._names)) if chain.name else -1
        self._name_of_road.append(called)
        places = [
            self._place(name, position)
            for name, *position in zip(chain.names, chain.latitude, chain.longitude, strict=True)
        ]
        for here, there in pairwise(places):
            if here == there:
                continue
            if chain.ways != "backward":
                self._edges.append((here, there, self._roads, speed, kind))
            if chain.ways != "forward":
                self._edges.append((there, here, self._roads, speed, kind))
        self._roads += 1

    def build(self, where: str) -> RoadNetwork:
        """The network; raises ``TableError`` where it has no road or a position is none."""
        if not self._edges:
            msg = f"{where}: the map has no road that cars can use"
            raise TableError(msg)
        latitude, longitude = np.array(self._positions).T
        if not ((np.abs(latitude) <= 90) & (np.abs(longitude) <= 180)).all():
            msg = f"{where}: positions of the map must be degrees, longitude and latitude"
            raise TableError(msg)
        source, target, road, speed, kind = zip(*self._edges, strict=True)
        kinds = np.array(kind, dtype=np.int64)
        return RoadNetwork(
            latitude.copy(),
            longitude.copy(),
            np.array(source, dtype=np.int64),
            np.array(target, dtype=np.int64),
            np.array(road, dtype=np.int64),
            np.array(speed, dtype=np.float64),
            tuple(self._classes),
            kinds if (kinds >= 0).all() else None,
            tuple(self._names),
            np.array(self._name_of_road, dtype=np.int64)[np.array(road)] if self._names else None,
        )

    def _place(self, name: Hashable, position: list[float]) -> int:
        if name not in self._places:
            self._places[name] = len(self._positions)
            self._positions.append((position[0], position[1]))
        return self._places[name]
