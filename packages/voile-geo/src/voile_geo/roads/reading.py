"""Reading maps: OpenStreetMap files, GraphML, and tables of nodes and edges.

    .osm .osm.gz .osm.bz2 .osm.pbf    OpenStreetMap, read by the library osmium
    .graphml                          as OSMnx writes it, read by networkx; already directed
    .csv .csv.gz .tsv .txt            a table of edges, already directed, with its two ends and a
                                      line in ``wkt``, or with a table of nodes

The ends of an edge are the first of these pairs of columns that the table has, in any case of
letters: ``source`` and ``target``, ``u`` and ``v``, ``from`` and ``to``, ``s_node`` and ``e_node``,
``start_node`` and ``end_node``, ``from_node`` and ``to_node``.  Its line is ``wkt``, or
``geometry``.  A node is ``node_id``, ``id``, ``osmid`` or ``node``, with ``lat``, ``latitude`` or
``y`` and ``lon``, ``lng``, ``longitude`` or ``x``.

Only roads that cars can use are kept.  Cost: some 3 microseconds an edge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from voile_base.errors import InputError, TableError
from voile_geo.roads.building import NetworkBuilder, RoadChain
from voile_geo.roads.driving import DRIVABLE, Ways, is_drivable, said_ways
from voile_geo.roads.geojson import GEOJSON, geojson_chains
from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.tables import ENDINGS, MapTable

__all__ = ["OSM", "osm_objects", "read_roads"]

OSM = (".osm", ".osm.gz", ".osm.bz2", ".osm.pbf")
"""How the names of OpenStreetMap's files end."""
_LINE = re.compile(r"^\s*LINESTRING\s*Z?\s*\((?P<points>[^()]*)\)\s*$", re.IGNORECASE)
_FLOAT = re.compile(r"^(-?\d+)\.0+$")
_ENDS = (
    ("source", "target"),
    ("u", "v"),
    ("from", "to"),
    ("s_node", "e_node"),
    ("start_node", "end_node"),
    ("from_node", "to_node"),
)
"""Columns with the two ends of an edge: of the pairs that a table has, the first holds."""


def read_roads(path: str | Path, nodes: str | Path | None = None) -> RoadNetwork:
    """Read a map; ``nodes`` is the table of nodes that a table of edges refers to.

    Raises ``TableError`` where the file is no map, or a map without roads for cars; ``InputError``
    where a library is missing that reads it.
    """
    place = Path(path)
    if not place.exists():
        msg = f"{place}: there is no such map"
        raise TableError(msg)
    name = place.name.lower()
    builder = NetworkBuilder()
    if name.endswith(OSM):
        chains = _osm_chains(place)
    elif name.endswith(".graphml"):
        chains = _graphml_chains(place)
    elif name.endswith(GEOJSON):
        chains = geojson_chains(place)
    else:
        chains = _table_chains(place, None if nodes is None else Path(nodes))
    for chain in chains:
        builder.add(chain)
    return builder.build(str(place))


def _library(name: str) -> Any:
    """A library of the extra; raises ``InputError`` where it is absent."""
    try:
        return import_module(name)
    except ImportError:
        msg = f"reading this map needs {name}; install it with: pip install 'voile-geo[roads]'"
        raise InputError(msg) from None


def osm_objects(path: Path, key: str, *, ways: bool) -> Iterator[Any]:
    """What of an OpenStreetMap file has a key: nodes, and ways where these are asked for.

    Nodes of ways have positions then.  An object is good until the next one is asked for.  Raises
    ``TableError`` for a file that is none.
    """
    osmium = _library("osmium")
    try:
        objects = osmium.FileProcessor(
            str(path), osmium.osm.NODE | osmium.osm.WAY if ways else osmium.osm.NODE
        )
        located = objects.with_locations() if ways else objects
        yield from located.with_filter(osmium.filter.KeyFilter(key))
    except RuntimeError:  # what osmium raises for files that are damaged
        msg = f"{path}: this is not an OpenStreetMap file, or it is damaged"
        raise TableError(msg) from None


def _osm_chains(path: Path) -> Iterator[RoadChain]:
    for way in osm_objects(path, "highway", ways=True):
        tags = dict(way.tags) if way.is_way() else {}
        if is_drivable(tags):
            # Extracts cut ways at their border: nodes beyond it have no position.
            known = [node for node in way.nodes if node.location.valid()]
            yield RoadChain(
                tuple(node.ref for node in known),
                tuple(node.lat for node in known),
                tuple(node.lon for node in known),
                _ways(tags),
                tags["highway"],
                tags.get("maxspeed"),
                tags.get("name") or tags.get("ref"),
            )


def _ways(tags: Mapping[str, str]) -> Ways:
    """Which ways a road of OpenStreetMap can be driven, where it does not say so, too."""
    implied = tags.get("junction") in {"roundabout", "circular"} or tags["highway"] == "motorway"
    return said_ways(tags) or ("forward" if implied else "both")


def _graphml_chains(path: Path) -> Iterator[RoadChain]:
    networkx = _library("networkx")
    try:
        graph = networkx.read_graphml(path, force_multigraph=True)
        at = {name: (float(node["y"]), float(node["x"])) for name, node in graph.nodes(data=True)}
        edges = [(a, b, edge) for a, b, edge in graph.edges(data=True)]
    except (KeyError, ValueError, SyntaxError, networkx.NetworkXError):
        msg = f"{path}: this is not a GraphML file whose nodes have x (longitude) and y (latitude)"
        raise TableError(msg) from None
    for source, target, edge in edges:
        # Where roads were merged, OSMnx writes a list as a text.
        kind = _first(edge.get("highway"))
        if kind is None or kind in DRIVABLE:
            line = _line(edge.get("geometry"), f"{path}")
            yield _directed(source, target, line, (at[source], at[target]), kind, edge)


def _first(value: object) -> str | None:
    if value is None:
        return None
    found = re.search(r"[\w:.]+(?: (?:mph|km/h))?", str(value))
    return found[0] if found else None


def _table_chains(path: Path, nodes: Path | None) -> Iterator[RoadChain]:
    edges = _map_table(path)
    ends = next((pair for pair in _ENDS if set(pair) <= set(edges.columns)), None)
    if ends is None:
        pairs = ", or ".join(" and ".join(pair) for pair in _ENDS)
        msg = f"{path}: a table of roads needs columns with the two ends of an edge: {pairs}"
        raise TableError(msg)
    line_in = "wkt" if "wkt" in edges.columns else "geometry"
    at = {} if nodes is None else _positions(nodes)
    if not at and line_in not in edges.columns:
        msg = (
            f"{path}: the edges have no lines (column wkt); give the table of nodes as well, with "
            "--nodes, or in a plan with roads_nodes"
        )
        raise TableError(msg)
    for row, edge in enumerate(edges.rows(), start=1):
        kind = edge.get("highway")
        if kind is not None and kind not in DRIVABLE:
            continue
        source, target = (_node(edge.get(end)) for end in ends)
        line = _line(edge.get(line_in), f"{path}, row {row}")
        if line is None and not (source in at and target in at):
            msg = f"{path}: row {row} joins a node that the table of nodes does not have"
            raise TableError(msg)
        yield _directed(source, target, line, (at.get(source), at.get(target)), kind, edge)


def _map_table(path: Path) -> MapTable:
    if not path.name.lower().endswith(ENDINGS):
        others = ", ".join((*OSM, ".graphml", *GEOJSON))
        msg = (
            f"{path}: maps whose names end in {path.suffix or 'nothing'} are not known; tables of "
            f"roads and nodes are CSV files ({', '.join(ENDINGS)}), other maps end in {others}"
        )
        raise TableError(msg)
    return MapTable(path)


def _node(text: str | None) -> str | None:
    """The name of a node; a whole number that was written as a float is the whole number."""
    return text if text is None else _FLOAT.sub(r"\1", text)


def _positions(path: Path) -> dict[str | None, tuple[float, float]]:
    table = _map_table(path)
    node, lat, lon = (
        next((name for name in names if name in table.columns), None)
        for names in (
            ("node_id", "id", "osmid", "node"),
            ("lat", "latitude", "y"),
            ("lon", "lng", "longitude", "x"),
        )
    )
    if node is None or lat is None or lon is None:
        msg = f"{path}: a table of nodes needs columns node_id, lat and lon"
        raise TableError(msg)
    return {
        _node(row.get(node)): (
            table.number(row, lat, f"row {number}"),
            table.number(row, lon, f"row {number}"),
        )
        for number, row in enumerate(table.rows(), start=1)
    }


def _line(text: object, where: str) -> Sequence[tuple[float, float]] | None:
    """Latitudes and longitudes of a line in well-known text."""
    if text is None or text == "":
        return None
    found = _LINE.match(str(text))
    try:
        if found is None:
            raise ValueError
        pairs = [point.split()[:2] for point in found["points"].split(",")]
        return [(float(y), float(x)) for x, y in pairs]
    except ValueError:
        msg = f"{where}: a road's line must read LINESTRING (longitude latitude, ...)"
        raise TableError(msg) from None


def _directed(
    source: Any,
    target: Any,
    line: Sequence[tuple[float, float]] | None,
    ends: tuple[Any, Any],
    kind: str | None,
    edge: Mapping[str, Any],
) -> RoadChain:
    """A road of a map whose edges are directed already."""
    points = line or ends
    # Both directions of a road bend at the same places, which makes them each other's reverse.
    bends = tuple(tuple(point) for point in points[1:-1])
    sign = next((edge[key] for key in ("maxspeed", "maxspeed_kmh") if edge.get(key)), None)
    return RoadChain(
        (source, *bends, target),
        tuple(point[0] for point in points),
        tuple(point[1] for point in points),
        "forward",
        kind,
        _first(sign),
        _name(edge),
    )


def _name(edge: Mapping[str, Any]) -> str | None:
    """What a road is called; nothing where it was merged of several, which OSMnx lists."""
    name = edge.get("name") or edge.get("ref")
    return None if name is None or str(name).startswith("[") else str(name)
