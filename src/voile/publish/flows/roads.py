"""The stretches of a map, as flows count by them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from voile.geodesy import Floats
from voile.roads.nearest import NearbyRoads
from voile.roads.network import Indices, RoadNetwork
from voile.roads.stretches import stretches

__all__ = ["MappedStretches"]


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
