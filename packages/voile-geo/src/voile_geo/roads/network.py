"""A road network: nodes, and directed edges that are straight.

Roads with bends are chains of edges; ``road`` tells which edges belong to one road of the map.  A
road that can be driven both ways has two edges, one for each direction.

Distances are measured in a plane of metres around the middle of the map, azimuthal and true to
scale from there: 25 km away lengths across are off by 3 parts in a million.
"""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_geo.geodesy import Floats, displace, east_north, separation

__all__ = ["Indices", "RoadNetwork"]

Indices = NDArray[np.int64]
_HALF_TURN = 180.0


@dataclass(frozen=True, eq=False)
class RoadNetwork:
    """v nodes and e directed, straight edges; nothing in it is private."""

    latitude: Floats
    """Shape (v,), degrees."""
    longitude: Floats
    source: Indices
    """Shape (e,): the node at which each edge begins."""
    target: Indices
    road: Indices
    """Shape (e,): the road of the map that each edge is part of.

    Where a map lists the two directions of a road one by one, they are two roads.
    """
    speed: Floats
    """Shape (e,): in km/h, as signed or as usual for its class; above 0."""
    classes: tuple[str, ...] = ()
    """Names of the classes of roads: "residential", ..."""
    class_of: Indices | None = None
    """Shape (e,): the class of each edge; None where the map names none."""
    names: tuple[str, ...] = ()
    """What roads are called, each once."""
    name_of: Indices | None = None
    """Shape (e,): the name of each edge, -1 where it has none; None where the map has no names."""

    @property
    def nodes(self) -> int:
        """Number of nodes, v."""
        return len(self.latitude)

    @property
    def edges(self) -> int:
        """Number of directed edges, e."""
        return len(self.source)

    @cached_property
    def origin(self) -> tuple[float, float]:
        """The middle of the map, latitude and longitude; a map may lie across the date line."""
        east = self.longitude
        if np.ptp(east) > _HALF_TURN:
            east = east % (2 * _HALF_TURN)
        north, middle = ((side.min() + side.max()) / 2 for side in (self.latitude, east))
        return float(north), float(middle - 2 * _HALF_TURN * (middle >= _HALF_TURN))

    @cached_property
    def plane(self) -> Floats:
        """Shape (v, 2): metres east and north of the middle of the map."""
        return self.to_plane(self.latitude, self.longitude)

    @cached_property
    def length(self) -> Floats:
        """Shape (e,), metres."""
        ends = [(self.latitude[at], self.longitude[at]) for at in (self.source, self.target)]
        return separation(*ends[0], *ends[1])

    @cached_property
    def seconds(self) -> Floats:
        """Shape (e,): the time to drive each edge at its speed."""
        return np.asarray(self.length / (self.speed / 3.6))

    @cached_property
    def reverse(self) -> Indices:
        """Shape (e,): the edge that leads back; -1 for a one-way edge."""
        key = self.source * self.nodes + self.target
        back = self.target * self.nodes + self.source
        order = np.argsort(key, kind="stable")
        place = np.minimum(np.searchsorted(key[order], back), self.edges - 1)
        found = order[place]
        return np.where(key[found] == back, found, -1)

    @cached_property
    def digest(self) -> str:
        """Tells maps apart by where their roads lie: SHA-256, hexadecimal.

        Of the edges in order, each as the latitude and the longitude of both ends, in millionths of
        a degree, 32-bit little-endian.
        """
        sides = self.latitude, self.longitude
        ends = [side[at] for at in (self.source, self.target) for side in sides]
        micro = np.rint(np.stack(ends, axis=1) * 1e6).astype("<i4")
        return hashlib.sha256(micro.tobytes()).hexdigest()

    def to_plane(self, latitude: Floats, longitude: Floats) -> Floats:
        """Positions as metres east and north of the middle of the map, shape (n, 2)."""
        count = len(latitude)
        middle = [np.full(count, side) for side in self.origin]
        return np.stack(east_north(middle[0], middle[1], latitude, longitude), axis=1)

    def to_degrees(self, plane: Floats) -> tuple[Floats, Floats]:
        """Latitude and longitude of n points of the plane, shape (n, 2)."""
        middle = [np.full(len(plane), side) for side in self.origin]
        return displace(middle[0], middle[1], plane[:, 0].copy(), plane[:, 1].copy())

    def graph(self, weight: Floats) -> sparse.csr_array:
        """A sparse graph with one entry for each pair of joined nodes: the least weight."""
        order = np.lexsort((weight, self.target, self.source))
        pair = self.source[order] * self.nodes + self.target[order]
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        kept = order[first]
        # An entry of 0 is no entry: an edge without length costs next to nothing instead.
        entries = np.maximum(weight[kept], 1e-9)
        shape = (self.nodes, self.nodes)
        return sparse.csr_array((entries, (self.source[kept], self.target[kept])), shape=shape)

    def only(self, edges: NDArray[np.bool_]) -> RoadNetwork:
        """The network with some of its edges and the nodes that these join.

        Raises ``TableError`` where no edge is left.
        """
        if not edges.any():
            msg = "the map has no road of the kinds that were asked for"
            raise TableError(msg)
        used, place = np.unique(
            np.concatenate((self.source[edges], self.target[edges])), return_inverse=True
        )
        source, target = np.split(place.astype(np.int64), 2)
        return RoadNetwork(
            self.latitude[used],
            self.longitude[used],
            source,
            target,
            self.road[edges],
            self.speed[edges],
            self.classes,
            None if self.class_of is None else self.class_of[edges],
            self.names,
            None if self.name_of is None else self.name_of[edges],
        )

    def largest_connected(self) -> RoadNetwork:
        """The largest part in which every node can be driven to from every other."""
        _, part = sparse.csgraph.connected_components(
            self.graph(self.length), directed=True, connection="strong"
        )
        largest = part == np.bincount(part).argmax()
        return self.only(largest[self.source] & largest[self.target])
