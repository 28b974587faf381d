"""Reading maps in GeoJSON (RFC 7946): features whose lines are roads.

Read are ``LineString`` and ``MultiLineString`` of a feature collection or of one feature, two
dimensions of them.  Properties are those of OpenStreetMap where there are any: ``highway``,
``maxspeed``, ``oneway``, ``access``.  Features that say they are no road for cars are left out,
and so are points and areas; features that do not say what they are count as roads.

Roads meet where they share a position, to the last digit.  Where ``oneway`` is missing a road can
be driven both ways, motorways and roundabouts too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from voile_base.errors import TableError
from voile_geo.roads.building import RoadChain
from voile_geo.roads.driving import is_drivable, said_ways

__all__ = ["GEOJSON", "geojson_chains", "geojson_points"]

GEOJSON = (".geojson", ".json")
"""How the names of such files end."""


def geojson_chains(path: Path) -> Iterator[RoadChain]:
    """The roads of a file, one by one; raises ``TableError``."""
    for number, feature in enumerate(_features(path), start=1):
        where = f"{path}, feature {number}"
        geometry, tags = _parts(feature, where)
        if geometry is None or not (tags.get("highway") is None or is_drivable(tags)):
            continue
        kind, lines = geometry.get("type"), geometry.get("coordinates")
        if kind not in {"LineString", "MultiLineString"}:
            continue
        if not isinstance(lines, list):
            msg = f"{where}: the {kind} has no list of coordinates"
            raise TableError(msg)
        for line in [lines] if kind == "LineString" else lines:
            yield _chain(line, tags, where)


def geojson_points(path: Path) -> Iterator[tuple[tuple[float, float], Mapping[str, str]]]:
    """The points of a file, latitude and longitude, with their properties.

    Raises ``TableError``.
    """
    for number, feature in enumerate(_features(path), start=1):
        geometry, tags = _parts(feature, f"{path}, feature {number}")
        if geometry is None or geometry.get("type") != "Point":
            continue
        at: Any = geometry.get("coordinates")
        if _is_position(at):
            yield (float(at[1]), float(at[0])), tags


def _features(path: Path) -> list[Any]:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        msg = f"{path}: there is no such map"
        raise TableError(msg) from None
    except (OSError, ValueError, RecursionError):
        msg = f"{path}: this is not a GeoJSON file: it cannot be read as JSON"
        raise TableError(msg) from None
    kind = document.get("type") if isinstance(document, dict) else None
    features = document.get("features") if kind == "FeatureCollection" else [document]
    if kind not in {"FeatureCollection", "Feature"} or not isinstance(features, list):
        msg = f"{path}: this is not a GeoJSON file: it must be a FeatureCollection or a Feature"
        raise TableError(msg)
    return features


def _parts(feature: Any, where: str) -> tuple[Mapping[str, Any] | None, dict[str, str]]:
    """The geometry of a feature, and its properties as texts."""
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        msg = f"{where}: this is not a feature"
        raise TableError(msg)
    geometry, properties = feature.get("geometry"), feature.get("properties") or {}
    if not isinstance(geometry, dict | None) or not isinstance(properties, dict):
        msg = f"{where}: its geometry and its properties must be objects"
        raise TableError(msg)
    known = {name: value for name, value in properties.items() if value is not None}
    return geometry, {name: _text(value) for name, value in known.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _chain(line: Any, tags: Mapping[str, str], where: str) -> RoadChain:
    if not isinstance(line, list) or len(line) < 2 or not all(map(_is_position, line)):
        msg = f"{where}: a line must be a list of two positions or more, [longitude, latitude] each"
        raise TableError(msg)
    return RoadChain(
        tuple((float(point[0]), float(point[1])) for point in line),
        tuple(float(point[1]) for point in line),
        tuple(float(point[0]) for point in line),
        said_ways(tags) or "both",
        tags.get("highway"),
        tags.get("maxspeed"),
        tags.get("name") or tags.get("ref"),
    )


def _is_position(point: Any) -> bool:
    return (
        isinstance(point, list)
        and len(point) >= 2
        and all(type(side) in {int, float} and math.isfinite(side) for side in point[:2])
    )
