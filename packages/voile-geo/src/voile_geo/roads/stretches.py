"""Roads as people mean them: the stretch between two crossings, however many edges draw it.

A road that bends is one, in both directions, and one that passes a crossing is two.  Two
carriageways of one street are two where the map draws them as two.  Whatever is counted or scored
by road goes by this, for a map that draws more bends shows no more roads.

``stretches``  which road each edge is part of
``chains_of``  the edges in the order in which they are driven, from where one may turn to the next

Cost: sorting the edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from voile_base.compiled import njit
from voile_geo.geodesy import Floats
from voile_geo.roads.nearest import NearbyRoads
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = ["Chains", "MappedStretches", "chains_of", "stretches"]


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


def chains_of(roads: RoadNetwork) -> Chains:
    """The edges of a network in runs.

    A run goes on through every bend: a node that is joined to exactly two others and that is left
    in as many ways as it is reached.  It ends at crossings, at dead ends, and where a road becomes
    one-way.  A ring without a crossing is one run, from the node with the smallest number.
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
