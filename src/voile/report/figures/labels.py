"""Names beside points of a chart, so that they hide neither points nor each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from typing import Literal

from voile.report.words import width_of

__all__ = ["Placed", "place_labels"]

Side = Literal["left", "right", "center"]

_GAP = 9.0
_AROUND: tuple[tuple[float, float, Side], ...] = (
    (1, 0.9, "left"),
    (1, -0.9, "left"),
    (-1, 0.9, "right"),
    (-1, -0.9, "right"),
    (1.2, 0, "left"),
    (-1.2, 0, "right"),
    (0, 1.5, "center"),
    (0, -1.5, "center"),
    (1, 2.4, "left"),
    (1, -2.4, "left"),
    (-1, 2.4, "right"),
    (-1, -2.4, "right"),
)
"""Places around a point in multiples of the gap, the best first."""


@dataclass(frozen=True)
class Placed:
    """Where a name stands, in units of the drawing from the point."""

    right: float
    up: float
    side: Side
    """Which end of the text, or its middle, is there."""


@dataclass(frozen=True)
class _Box:
    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def within(self, other: _Box) -> bool:
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.bottom >= other.bottom
            and self.top <= other.top
        )


def place_labels(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    size: tuple[float, float],
    font: float,
    joined: int,
) -> list[Placed | None]:
    """A place for each of p names, earlier ones first; None where there is no room.

    ``points`` are (p, 2) from the lower left corner of a field of ``size`` (width, height); a line
    joins the first ``joined`` of them, and no name stands on it.  Cost: O(p²).
    """
    field = _Box(0, 0, *size)
    taken = [_Box(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    taken += [_Box(x - 1, y - 1, x + 1, y + 1) for x, y in _along(points[:joined])]
    placed: list[Placed | None] = []
    for (x, y), text in zip(points, texts, strict=True):
        for across, up, side in _AROUND:
            found = Placed(across * _GAP, up * _GAP, side)
            box = _box(x + found.right, y + found.up, width_of(text, font), font, side)
            if box.within(field) and not any(map(box.meets, taken)):
                placed.append(found)
                taken.append(box)
                break
        else:
            placed.append(None)
    return placed


def _along(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Points along the line through some points, a few units apart."""
    for (x, y), (to_x, to_y) in pairwise(points):
        steps = max(1, int(hypot(to_x - x, to_y - y) / 5))
        for step in range(1, steps):
            yield x + (to_x - x) * step / steps, y + (to_y - y) * step / steps


def _box(x: float, y: float, width: float, font: float, side: Side) -> _Box:
    left = {"left": x, "right": x - width, "center": x - width / 2}[side]
    return _Box(left, y - 0.62 * font, left + width, y + 0.62 * font)
