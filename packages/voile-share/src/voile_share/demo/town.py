"""A town and drives through it, made up: crossings near a grid, some streets missing.

Nothing in it is anybody's: it is drawn from a fixed seed.  Drives take the shortest way and stop
at some crossings, a position every second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats, displace
from voile_share.map import RANKS, Streets

__all__ = ["Drive", "Town"]

_SEED = 20
_MIDDLE = (52.5, 1.8)
"""In the sea, where no street is."""
_ACROSS, _DOWN, _GAP = 26, 18, 210.0
_SPEEDS = {"primary": 13.0, "street": 8.5}
_STOP_SECONDS = 25


@dataclass(frozen=True, eq=False)
class Drive:
    """Where a truck is, second by second."""

    seconds: Floats
    """Since the start, shape (n,), ascending."""
    latitude: Floats
    longitude: Floats

    def __post_init__(self) -> None:
        if len(self.seconds) < 2 or not (np.diff(self.seconds) > 0).all():
            msg = "a drive has at least two positions, whose times ascend"
            raise InputError(msg)

    @property
    def duration(self) -> float:
        """Seconds from start to end."""
        return float(self.seconds[-1] - self.seconds[0])

    @property
    def end(self) -> tuple[float, float]:
        """Where it ends, in degrees."""
        return float(self.latitude[-1]), float(self.longitude[-1])

    def at(self, seconds: float) -> tuple[float, float]:
        """Where the truck is so long after the start; at the end from then on."""
        time = self.seconds[0] + seconds
        return (
            float(np.interp(time, self.seconds, self.latitude)),
            float(np.interp(time, self.seconds, self.longitude)),
        )


class Town:
    """The town, always the same."""

    def __init__(self) -> None:
        self._key = Randomness.seeded(_SEED)

    @cached_property
    def places(self) -> Floats:
        """Crossings, shape (n, 2): metres east and north."""
        grid = np.stack(np.meshgrid(np.arange(_ACROSS), np.arange(_DOWN)), axis=-1)
        places = grid.reshape(-1, 2) * _GAP
        moved = self._uniform("places", 2 * len(places)).reshape(-1, 2) - 0.5
        bent = 60 * np.sin(places[:, ::-1] / 700)  # streets are not straight
        return np.asarray(places + 0.45 * _GAP * moved + bent)

    @cached_property
    def streets(self) -> Streets:
        """Its roads, as the map of the page takes them."""
        latitude, longitude = self._degrees(self.places)
        source, target = self._edges
        return Streets(latitude, longitude, source, target, self._ranks)

    def drives(self, count: int) -> Sequence[Drive]:
        """Long drives from one side of the town to another."""
        source, target = self._edges
        length = np.hypot(*(self.places[target] - self.places[source]).T)
        speed = np.where(self._ranks == _PRIMARY, _SPEEDS["primary"], _SPEEDS["street"])
        shape = (len(self.places), len(self.places))
        graph = csr_array((length / speed, (source, target)), shape=shape)
        _, part = connected_components(graph, directed=False)
        inside = np.flatnonzero(part == np.bincount(part).argmax())
        drawn = self._uniform("ends", 2 * count)
        drives = []
        for start, end in drawn.reshape(-1, 2):
            # From the west to the east, or so: the grid's columns follow each other.
            columns = inside % _ACROSS
            west, east = inside[columns < 5], inside[columns > _ACROSS - 6]
            ends = int(west[int(start * len(west))]), int(east[int(end * len(east))])
            _, before = dijkstra(graph, directed=False, indices=ends[0], return_predecessors=True)
            drives.append(self._drive(_way(before, *ends)))
        return drives

    def _drive(self, way: list[int]) -> Drive:
        places = self.places[way]
        legs = np.hypot(*np.diff(places, axis=0).T) / _SPEEDS["street"]
        stops = np.where(np.arange(len(legs)) % 7 == 6, _STOP_SECONDS, 0.0)
        arrive = np.concatenate(([0.0], np.cumsum(legs + stops)))
        leave = arrive.copy()
        leave[:-1] += stops
        times = np.stack((arrive, leave), axis=1).ravel()
        seconds = np.arange(0.0, arrive[-1] + 1)
        where = np.repeat(places, 2, axis=0)
        spots = np.stack([np.interp(seconds, times, side) for side in where.T], axis=1)
        return Drive(seconds, *self._degrees(spots))

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Between neighbours of the grid; one in ten is missing, main roads are not."""
        number = np.arange(_ACROSS * _DOWN).reshape(_DOWN, _ACROSS)
        source = np.concatenate((number[:, :-1].ravel(), number[:-1].ravel()))
        target = np.concatenate((number[:, 1:].ravel(), number[1:].ravel()))
        kept = self._uniform("streets", len(source)) > 0.1
        kept |= _is_main(source, target)
        return source[kept], target[kept]

    @cached_property
    def _ranks(self) -> np.ndarray:
        return np.where(_is_main(*self._edges), _PRIMARY, RANKS.index("street"))

    def _degrees(self, places: Floats) -> tuple[Floats, Floats]:
        latitude, longitude = displace(
            np.full(len(places), _MIDDLE[0]),
            np.full(len(places), _MIDDLE[1]),
            places[:, 0],
            places[:, 1],
        )
        return latitude, longitude

    def _uniform(self, purpose: str, count: int) -> Floats:
        words = self._key.key("town", purpose).stream(count)
        return np.asarray((words >> np.uint64(11)) * 2.0**-53)


_PRIMARY = RANKS.index("primary")


def _is_main(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Whether streets lie on every sixth row or column of the grid."""
    rows, columns = (source // _ACROSS, target // _ACROSS), (source % _ACROSS, target % _ACROSS)
    along_row = (rows[0] == rows[1]) & (rows[0] % 6 == 3)
    return np.asarray(along_row | ((columns[0] == columns[1]) & (columns[0] % 6 == 3)))


def _way(before: np.ndarray, start: int, end: int) -> list[int]:
    """Crossings from start to end, by the predecessors of a shortest way."""
    way = [end]
    while way[-1] != start:
        way.append(int(before[way[-1]]))
    return way[::-1]
