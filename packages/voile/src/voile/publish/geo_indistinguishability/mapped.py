"""Radii by the roads of a map, as a plan asks for them and as a release states them.

The map is public, and so is the grid of radii that follows from it.  A release names the file and
states the digest of its roads: who has the same map finds the same radii
(``voile_geo.roads.density.radii_of_roads``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile_base.errors import PlanError
from voile_geo.roads.density import RoadRadii, radii_of_roads
from voile_geo.roads.reading import read_roads

__all__ = ["MappedRadii", "read_radii"]


@dataclass(frozen=True, eq=False)
class MappedRadii:
    """Radii, and the map that they are of."""

    found: RoadRadii
    digest: str
    """Of the roads, as ``RoadNetwork.digest`` has it."""

    def document(self) -> dict[str, Any]:
        """What a release states of them beside what the plan asked for."""
        rows, columns = self.found.grid.cells.shape
        return {
            "digest": self.digest,
            "cell_metres": self.found.cell,
            "cells": [rows, columns],
            "radii": list(self.found.radii),
        }


def read_radii(
    roads: str, nodes: str | None, within: int, bounds: tuple[float, float]
) -> MappedRadii:
    """The radii within which so many roads of a map lie, between the bounds (metres).

    Raises ``PlanError`` where nowhere on the map so many roads lie within the largest radius, and
    as ``read_roads`` does.
    """
    network = read_roads(roads, nodes)
    found = radii_of_roads(network, within, bounds)
    if found.grid.cells.min() == len(found.radii) - 1:
        msg = (
            f"[method] roads: nowhere on the map {Path(roads).name} do {within} roads lie within "
            f"{bounds[1]:g} m, so that every radius is the largest; ask for fewer with "
            "roads_within, or allow for more with radius_bounds"
        )
        raise PlanError(msg)
    return MappedRadii(found, network.digest)
