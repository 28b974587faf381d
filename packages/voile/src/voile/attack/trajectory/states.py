"""Where a truck can be: pieces of directed roads, and which pieces it can reach from which.

Each run of edges between crossings (``roads.stretches``) is cut into equal pieces; a truck is in
the middle of one.  From a piece it goes on to the next of its run, or to the first of a run that
leaves the crossing; to turn round at the end of a road that can be driven both ways costs
``U_TURN`` metres more.  So it does not matter how many edges a map draws a road with: neither what
a truck can do nor which road it is on.

Cost: O(pieces) to build; searches are those of ``reach``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import KDTree

from voile.attack.trajectory.reach import Graph, Layout, Reach, Searches
from voile_geo.geodesy import Floats
from voile_geo.roads.network import Indices, RoadNetwork
from voile_geo.roads.stretches import Chains, chains_of, stretches

__all__ = ["RoadLines", "RoadStates"]

U_TURN = 60.0
"""Metres that turning round costs."""


@dataclass(frozen=True, eq=False)
class RoadLines:
    """The q straight parts of pieces of roads."""

    ends: Floats
    """Shape (q, 4): metres of the plane, from and to."""
    piece: Indices
    """Shape (q,): the piece that each is part of, ascending."""


@dataclass(frozen=True, eq=False)
class _Runs:
    """All runs of edges one after another, as places along one line of metres."""

    roads: RoadNetwork
    chains: Chains

    @cached_property
    def passed(self) -> Floats:
        """Metres before each edge in the order of the chains, and in all."""
        return np.concatenate(([0.0], np.cumsum(self.roads.length[self.chains.edge])))

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Where each run begins and ends."""
        at = self.passed[self.chains.start]
        return at[:-1], at[1:]

    def edges_at(self, along: Floats) -> Indices:
        """Numbers, in the order of the chains, of the edges at some places."""
        place = np.searchsorted(self.passed, along, side="right") - 1
        return np.minimum(place, len(self.chains.edge) - 1)

    def points(self, edge: Indices, along: Floats) -> Floats:
        """Points of the plane at places on these edges, shape (n, 2)."""
        width = np.maximum(self.passed[edge + 1] - self.passed[edge], 1e-9)
        share = np.clip((along - self.passed[edge]) / width, 0, 1)[:, np.newaxis]
        roads, which = self.roads, self.chains.edge[edge]
        source, target = roads.plane[roads.source[which]], roads.plane[roads.target[which]]
        return np.asarray(source + share * (target - source))

    def lines(self, starts: Floats) -> RoadLines:
        """The straight parts of pieces that start at some places, ascending."""
        cuts = np.unique(np.concatenate((starts, self.passed)))
        middle = (cuts[:-1] + cuts[1:]) / 2
        edge = self.edges_at(middle)
        ends = self.points(edge, cuts[:-1]), self.points(edge, cuts[1:])
        piece = np.searchsorted(starts, middle, side="right") - 1
        return RoadLines(np.concatenate(ends, axis=1), piece)


@dataclass(frozen=True, eq=False)
class RoadStates:
    """The s pieces of a road network."""

    roads: RoadNetwork
    middle: Floats
    """Shape (s, 2): metres in the network's plane."""
    length: Floats
    """Shape (s,): metres."""
    edge: Indices
    """Shape (s,): the directed edge that the middle of each piece lies on."""
    stretch: Indices
    """Shape (e,): the road that each edge of the network is part of, from crossing to crossing."""
    line: RoadLines
    """The straight parts of the pieces, which may bend."""
    layout: Layout

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def road(self) -> Indices:
        """Shape (s,): the road of each piece, the same for both directions."""
        return self.stretch[self.edge]

    @classmethod
    def of(cls, roads: RoadNetwork, piece: float = 150.0) -> RoadStates:
        """Cut the roads into pieces of at most ``piece`` metres."""
        runs = _Runs(roads, chains_of(roads))
        begin, end = runs.ends
        counts = np.maximum(1, np.ceil((end - begin) / piece)).astype(np.int64)
        first = np.concatenate(([0], np.cumsum(counts)))
        run = np.repeat(np.arange(len(counts)), counts)
        length = ((end - begin) / counts)[run]
        starts = begin[run] + (np.arange(first[-1]) - first[run]) * length
        edge = runs.edges_at(starts + length / 2)
        return cls(
            roads,
            runs.points(edge, starts + length / 2),
            length,
            runs.chains.edge[edge],
            stretches(roads),
            runs.lines(starts),
            Layout(
                run.astype(np.int32),
                first,
                (end - begin) / counts,
                _steps(roads, runs.chains, (end - begin) / counts),
            ),
        )

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.middle)

    def nearest(self, points: Floats) -> Indices:
        """The piece whose middle is nearest to each of n points (n, 2)."""
        return np.asarray(self._tree.query(points)[1], dtype=np.int64)

    def reach(self, limit: float) -> Reach:
        """Pieces within ``limit`` metres of each along the roads."""
        return Reach(self._searches, limit)

    @cached_property
    def _searches(self) -> Searches:
        return Searches(self.layout)


def _steps(roads: RoadNetwork, runs: Chains, length: Floats) -> Graph:
    """What follows each run, and how far it is from its last piece to the other's first one.

    ``length`` (c,) is that of the pieces of each run.
    """
    head, tail = runs.edge[runs.start[:-1]], runs.edge[runs.start[1:] - 1]
    order = np.argsort(roads.source[head], kind="stable")
    begins = np.searchsorted(roads.source[head][order], np.arange(roads.nodes + 1))
    leaving = begins[roads.target[tail] + 1] - begins[roads.target[tail]]
    run = np.repeat(np.arange(len(tail)), leaving)
    offset = np.arange(len(run)) - np.repeat(np.cumsum(leaving) - leaving, leaving)
    onward = order[begins[roads.target[tail[run]]] + offset]
    turns = roads.source[tail[run]] == roads.target[head[onward]]
    step = (length[run] + length[onward]) / 2 + np.where(turns, U_TURN, 0.0)
    start = np.searchsorted(run, np.arange(len(tail) + 1))
    return start.astype(np.int64), onward, step
