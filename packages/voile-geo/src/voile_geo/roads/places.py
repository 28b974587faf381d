"""Names of cities, towns and villages of a map, where its format has them.

    .osm .osm.gz .osm.bz2 .osm.pbf    nodes with ``place`` and ``name``
    .geojson .json                    points with the properties ``place`` and ``name``

Other formats are of roads alone and have none.  Kinds are values of OpenStreetMap's key ``place``;
what is smaller than a hamlet, such as a farm, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from voile_geo.roads.geojson import GEOJSON, geojson_points
from voile_geo.roads.reading import OSM, osm_objects

__all__ = ["NamedPlace", "read_places"]

_KINDS = {
    "city": "city",
    "town": "town",
    "borough": "suburb",
    "suburb": "suburb",
    "quarter": "suburb",
    "village": "village",
    "neighbourhood": "village",
    "hamlet": "village",
}


@dataclass(frozen=True)
class NamedPlace:
    """Where a place lies, and how large it is."""

    name: str
    kind: str
    """``city``, ``town``, ``suburb`` or ``village``."""
    latitude: float
    longitude: float


def read_places(path: str | Path) -> list[NamedPlace]:
    """The named places of a map, in the order of the file.

    Raises ``TableError`` where the file is no map, and ``InputError`` where a library is missing
    that reads it.
    """
    place = Path(path)
    name = place.name.lower()
    found: Iterator[NamedPlace | None] = iter(())
    if name.endswith(OSM):
        nodes = osm_objects(place, "place", ways=False)
        found = (_place(dict(node.tags), node.lat, node.lon) for node in nodes)
    elif name.endswith(GEOJSON):
        found = (_place(tags, *at) for at, tags in geojson_points(place))
    return [one for one in found if one is not None]


def _place(tags: Mapping[str, str], latitude: float, longitude: float) -> NamedPlace | None:
    kind, name = _KINDS.get(tags.get("place", "")), tags.get("name")
    return NamedPlace(name, kind, latitude, longitude) if kind and name else None
