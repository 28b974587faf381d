"""The fleet as a picture: circles that hold a truck nine times out of ten, over great roads.

Pure functions from degrees to the numbers of an SVG, whose colours are the style sheet's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["DrawnTruck", "MapPicture", "Mark", "picture"]

WIDTH, HEIGHT = 960.0, 540.0
_MARGIN = 40.0
_METRES = 111_320.0
"""Of a degree of latitude."""
_LEAST_SPAN = 0.05
_MOST_POINTS = 20_000
_GREAT = ("motorway", "trunk", "primary", "secondary")
_NINE_OF_TEN = math.sqrt(2 * math.log(10)) / math.sqrt(math.pi / 2)
"""Times the mean displacement of Gaussian noise."""


@dataclass(frozen=True)
class DrawnTruck:
    """A truck that is to be drawn."""

    latitude: float
    longitude: float
    displacement: float
    """Metres that the position is off on average."""
    title: str
    href: str
    state: str


@dataclass(frozen=True)
class Mark:
    """A truck in the picture."""

    x: float
    y: float
    radius: float
    title: str
    href: str
    state: str


@dataclass(frozen=True)
class MapPicture:
    """What the page draws."""

    marks: Sequence[Mark]
    roads: Sequence[str]
    """Paths of lines."""
    kilometre: float
    """How long one is."""
    attribution: str = ""
    """Whose roads they are."""
    width: float = WIDTH
    height: float = HEIGHT


@dataclass(frozen=True)
class _Frame:
    south: float
    west: float
    scale: float
    """Units for a degree of latitude."""
    squeeze: float

    def place(self, latitude: float, longitude: float) -> tuple[float, float]:
        x = (longitude - self.west) * self.scale * self.squeeze
        return _MARGIN + x, HEIGHT - _MARGIN - (latitude - self.south) * self.scale


def picture(trucks: Sequence[DrawnTruck], roads: bytes | None) -> MapPicture | None:
    """All trucks in one frame; None where there are none.  ``roads``: a ``MapFile``'s body."""
    if not trucks:
        return None
    frame = _frame(trucks)
    marks = []
    for truck in trucks:
        x, y = frame.place(truck.latitude, truck.longitude)
        radius = truck.displacement * _NINE_OF_TEN / _METRES * frame.scale
        marks.append(
            Mark(round(x, 1), round(y, 1), round(radius, 1), truck.title, truck.href, truck.state)
        )
    lines = () if roads is None else tuple(_paths(roads, frame))
    whose = "" if roads is None else _read(roads)[1]
    return MapPicture(marks, lines, round(1000 / _METRES * frame.scale, 1), whose)


def _frame(trucks: Sequence[DrawnTruck]) -> _Frame:
    around = max(one.displacement for one in trucks) * _NINE_OF_TEN / _METRES
    souths = [one.latitude + side for one in trucks for side in (-around, around)]
    wests = [one.longitude for one in trucks]
    middle = (min(souths) + max(souths)) / 2
    squeeze = max(math.cos(math.radians(middle)), 0.01)
    tall = max(max(souths) - min(souths), _LEAST_SPAN)
    wide = max((max(wests) - min(wests)) * squeeze, _LEAST_SPAN)
    scale = min((HEIGHT - 2 * _MARGIN) / tall, (WIDTH - 2 * _MARGIN) / wide)
    south = middle - (HEIGHT - 2 * _MARGIN) / scale / 2
    west = (min(wests) + max(wests)) / 2 - (WIDTH - 2 * _MARGIN) / scale / squeeze / 2
    return _Frame(south, west, scale, squeeze)


def _paths(roads: bytes, frame: _Frame) -> Iterator[str]:
    """Great roads within the frame; in the order of their rank, as many as are drawn at once."""
    drawn = 0
    for line in _read(roads)[0]:
        points = [frame.place(*point) for point in line]
        across, down = [x for x, _ in points], [y for _, y in points]
        if min(across) > WIDTH or max(across) < 0 or min(down) > HEIGHT or max(down) < 0:
            continue
        drawn += len(points)
        if drawn > _MOST_POINTS:
            return
        yield "M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in points)


@lru_cache(maxsize=1)
def _read(roads: bytes) -> tuple[Sequence[Sequence[tuple[float, float]]], str]:
    """The great roads of a map (``map.document``), in degrees, and whose they are."""
    document = json.loads(roads)
    lines = []
    for layer in document["layers"]:
        if layer["rank"] not in _GREAT:
            continue
        latitude, longitude = document["middle"]
        steps = iter(layer["steps"])
        for count in layer["counts"]:
            line = []
            for _ in range(count):
                latitude, longitude = latitude + next(steps), longitude + next(steps)
                line.append((latitude / 1e5, longitude / 1e5))
            lines.append(line)
    return lines, str(document.get("attribution", ""))
