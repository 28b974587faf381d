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

Road networks from chains of positions, which is what every format comes down to.

Chains are cut at every position: each edge is straight.  Positions with the same name are one node.

Which roads of a map are for cars, and how fast these drive where no sign says it.

Classes are the values of OpenStreetMap's key ``highway``.  Speeds without a sign are rough
European values in km/h, for travel times and nothing else.

Rows of a CSV file with roads or nodes, as texts by the name of their column.

The service that shares positions reads maps and no tables, so this stands on Python's own reader.
The delimiter is the most frequent of comma, semicolon, tab and bar in the first line; where it is a
semicolon, numbers may have decimal commas.  A file is UTF-8, and may be compressed with gzip.

Reading maps in GeoJSON (RFC 7946): features whose lines are roads.

Read are ``LineString`` and ``MultiLineString`` of a feature collection or of one feature, two
dimensions of them.  Properties are those of OpenStreetMap where there are any: ``highway``,
``maxspeed``, ``oneway``, ``access``.  Features that say they are no road for cars are left out,
and so are points and areas; features that do not say what they are count as roads.

Roads meet where they share a position, to the last digit.  Where ``oneway`` is missing a road can
be driven both ways, motorways and roundabouts too.

Names of cities, towns and villages of a map, where its format has them.

    .osm .osm.gz .osm.bz2 .osm.pbf    nodes with ``place`` and ``name``
    .geojson .json                    points with the properties ``place`` and ``name``

Other formats are of roads alone and have none.  Kinds are values of OpenStreetMap's key ``place``;
what is smaller than a hamlet, such as a farm, is left out.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from voile_base.errors import InputError, TableError
from voile_base.ondemand import dataclass
from voile_base.values import Document
from voile_geo.roads.network import RoadNetwork

__all__ = [
    "DRIVABLE",
    "ENDINGS",
    "GEOJSON",
    "OSM",
    "NamedPlace",
    "NetworkBuilder",
    "RoadChain",
    "Ways",
    "read_places",
    "read_roads",
]


Ways = Literal["both", "forward", "backward"]
"""Which ways a road can be driven, seen along its line."""

_SPEEDS: Mapping[str, float] = {
    "motorway": 110,
    "trunk": 90,
    "primary": 60,
    "secondary": 50,
    "tertiary": 45,
    "unclassified": 40,
    "residential": 30,
    "service": 20,
    "living_street": 10,
    "road": 40,
}
_LINK_SPEED = 40.0
_WALKING = 7.0
_USUAL = 40.0
_MILE = 1.609344
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(mph|knots|km/h|kmh|kph)?(?![\w.])")

DRIVABLE = (
    *_SPEEDS,
    "motorway_link",
    "trunk_link",
    "primary_link",
    "secondary_link",
    "tertiary_link",
)
"""The classes that cars use."""


def _is_drivable(tags: Mapping[str, str]) -> bool:
    """Whether the tags of a way say that the public may drive there."""
    barred = {"no", "private"}
    use = tags.get("motor_vehicle", tags.get("vehicle", tags.get("access", "yes")))
    return tags.get("highway") in DRIVABLE and use not in barred and tags.get("area") != "yes"


def _said_ways(tags: Mapping[str, str]) -> Ways | None:
    """Which ways a road can be driven, by its key ``oneway``; None where it has none."""
    said = tags.get("oneway")
    if said in {"-1", "reverse"}:
        return "backward"
    if said in {"yes", "1", "true"}:
        return "forward"
    return None if said is None else "both"


def _speed_of(sign: str | None, road_class: str | None) -> float:
    """Speed in km/h: as signed, where a sign can be read ("50", "30 mph"), else as usual."""
    for text in (sign or "").split(";"):
        if text.strip() == "walk":
            return _WALKING
        if (found := _NUMBER.search(text)) and float(found[1]) > 0:
            factor = {"mph": _MILE, "knots": 1.852}.get(found[2] or "", 1.0)
            return float(found[1]) * factor
    name = road_class or ""
    return _LINK_SPEED if name.endswith("_link") else _SPEEDS.get(name, _USUAL)


@dataclass(frozen=True)
class RoadChain:
    """One road of a map: positions in order, and which ways it can be driven."""

    names: tuple[Hashable, ...]
    """What each position is called; the same name is the same node."""
    latitude: tuple[float, ...]
    longitude: tuple[float, ...]
    ways: Ways = "both"
    road_class: str | None = None
    speed: str | None = None
    """As signed."""
    name: str | None = None
    """What the road is called."""


@dataclass
class NetworkBuilder:
    """Collects chains; ``build`` makes the network of them."""

    _places: dict[Hashable, int] = field(default_factory=dict)
    _positions: list[tuple[float, float]] = field(default_factory=list)
    _classes: dict[str, int] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _edges: list[tuple[int, int, int, float, int]] = field(default_factory=list)
    _name_of_road: list[int] = field(default_factory=list)
    _roads: int = 0

    def add(self, chain: RoadChain) -> None:
        """Add a road; positions that follow one another at one node are one."""
        speed = _speed_of(chain.speed, chain.road_class)
        kind = -1
        if chain.road_class is not None:
            kind = self._classes.setdefault(chain.road_class, len(self._classes))
        called = self._names.setdefault(chain.name, len(self._names)) if chain.name else -1
        self._name_of_road.append(called)
        places = [
            self._place(name, position)
            for name, *position in zip(chain.names, chain.latitude, chain.longitude, strict=True)
        ]
        for here, there in pairwise(places):
            if here == there:
                continue
            if chain.ways != "backward":
                self._edges.append((here, there, self._roads, speed, kind))
            if chain.ways != "forward":
                self._edges.append((there, here, self._roads, speed, kind))
        self._roads += 1

    def build(self, where: str) -> RoadNetwork:
        """The network; raises ``TableError`` where it has no road or a position is none."""
        if not self._edges:
            msg = f"{where}: the map has no road that cars can use"
            raise TableError(msg)
        latitude, longitude = np.array(self._positions).T
        if not ((np.abs(latitude) <= 90) & (np.abs(longitude) <= 180)).all():
            msg = f"{where}: positions of the map must be degrees, longitude and latitude"
            raise TableError(msg)
        source, target, road, speed, kind = zip(*self._edges, strict=True)
        kinds = np.array(kind, dtype=np.int64)
        return RoadNetwork(
            latitude.copy(),
            longitude.copy(),
            np.array(source, dtype=np.int64),
            np.array(target, dtype=np.int64),
            np.array(road, dtype=np.int64),
            np.array(speed, dtype=np.float64),
            tuple(self._classes),
            kinds if (kinds >= 0).all() else None,
            tuple(self._names),
            np.array(self._name_of_road, dtype=np.int64)[np.array(road)] if self._names else None,
        )

    def _place(self, name: Hashable, position: list[float]) -> int:
        if name not in self._places:
            self._places[name] = len(self._positions)
            self._positions.append((position[0], position[1]))
        return self._places[name]


ENDINGS = (".csv", ".csv.gz", ".tsv", ".txt")
_DELIMITERS = ",;\t|"
_LONGEST = 2**31 - 1
"""Characters of a cell: a line of a road may be long."""


class _MapTable:
    """A CSV file with a row of names, read row by row.

    Raises ``TableError`` where the file is no such table, and while reading where a row has other
    cells than there are names.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        names = next(self._lines(), None)
        if not names or not any(names):
            msg = f"{path}: this is no table; its first line needs the names of its columns"
            raise TableError(msg)
        lower = [name.strip().lower() for name in names]
        if len(set(lower)) < len(lower):
            msg = f"{path}: two columns have one name but for upper and lower case; rename one"
            raise TableError(msg)
        self.columns = tuple(lower)
        """Names in lower case."""

    def rows(self) -> Iterator[Mapping[str, str]]:
        """Each row below the names: its cells without blanks around them; empty ones are absent."""
        lines = self._lines()
        next(lines)
        for number, cells in enumerate(lines, start=1):
            if not cells:
                continue
            if len(cells) != len(self.columns):
                msg = (
                    f"{self._path}: row {number} has {len(cells)} cells and the first line "
                    f"{len(self.columns)} names; mend the row"
                )
                raise TableError(msg)
            named = zip(self.columns, map(str.strip, cells), strict=True)
            yield {name: cell for name, cell in named if cell}

    def number(self, row: Mapping[str, str], column: str, place: str) -> float:
        """A cell as a number; raises ``TableError``, which names ``place``, where it is none."""
        text = row.get(column, "")
        try:
            return float(text.replace(",", ".") if self._delimiter == ";" else text)
        except ValueError:
            msg = f"{self._path}: {place} needs a number in column {column}"
            raise TableError(msg) from None

    def _lines(self) -> Iterator[list[str]]:
        opened = gzip.open if self._path.name.lower().endswith(".gz") else open
        csv.field_size_limit(_LONGEST)
        try:
            with opened(self._path, "rt", encoding="utf-8-sig", newline="") as file:
                first = file.readline()
                self._delimiter = max(_DELIMITERS, key=first.count)
                yield from csv.reader(_with(first, file), delimiter=self._delimiter)
        except UnicodeDecodeError:
            msg = f"{self._path}: the file is not UTF-8; save it in this encoding"
            raise TableError(msg) from None
        except (csv.Error, EOFError, gzip.BadGzipFile) as error:
            msg = f"{self._path}: this is no CSV file, or it is damaged ({error})"
            raise TableError(msg) from None
        except OSError as error:
            msg = f"{self._path}: cannot be read ({error.strerror}); check the file"
            raise TableError(msg) from None


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


GEOJSON = (".geojson", ".json")
"""How the names of such files end."""


def _geojson_chains(path: Path) -> Iterator[RoadChain]:
    """The roads of a file, one by one; raises ``TableError``."""
    for number, feature in enumerate(_features(path), start=1):
        where = f"{path}, feature {number}"
        geometry, tags = _parts(feature, where)
        if geometry is None or not (tags.get("highway") is None or _is_drivable(tags)):
            continue
        kind, lines = geometry.get("type"), geometry.get("coordinates")
        if kind not in {"LineString", "MultiLineString"}:
            continue
        if not isinstance(lines, list):
            msg = f"{where}: the {kind} has no list of coordinates"
            raise TableError(msg)
        for line in [lines] if kind == "LineString" else lines:
            yield _chain(line, tags, where)


def _geojson_points(path: Path) -> Iterator[tuple[tuple[float, float], Mapping[str, str]]]:
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


def _parts(feature: object, where: str) -> tuple[Document | None, dict[str, str]]:
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


def _chain(line: object, tags: Mapping[str, str], where: str) -> RoadChain:
    if not isinstance(line, list) or len(line) < 2 or not all(map(_is_position, line)):
        msg = f"{where}: a line must be a list of two positions or more, [longitude, latitude] each"
        raise TableError(msg)
    return RoadChain(
        tuple((float(point[0]), float(point[1])) for point in line),
        tuple(float(point[1]) for point in line),
        tuple(float(point[0]) for point in line),
        _said_ways(tags) or "both",
        tags.get("highway"),
        tags.get("maxspeed"),
        tags.get("name") or tags.get("ref"),
    )


def _is_position(point: object) -> bool:
    return (
        isinstance(point, list)
        and len(point) >= 2
        and all(type(side) in {int, float} and math.isfinite(side) for side in point[:2])
    )


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
        chains = _geojson_chains(place)
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


def _osm_objects(path: Path, key: str, *, ways: bool) -> Iterator[Any]:
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
    for way in _osm_objects(path, "highway", ways=True):
        tags = dict(way.tags) if way.is_way() else {}
        if _is_drivable(tags):
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
    return _said_ways(tags) or ("forward" if implied else "both")


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


def _map_table(path: Path) -> _MapTable:
    if not path.name.lower().endswith(ENDINGS):
        others = ", ".join((*OSM, ".graphml", *GEOJSON))
        msg = (
            f"{path}: maps whose names end in {path.suffix or 'nothing'} are not known; tables of "
            f"roads and nodes are CSV files ({', '.join(ENDINGS)}), other maps end in {others}"
        )
        raise TableError(msg)
    return _MapTable(path)


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
    edge: Document,
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


def _name(edge: Mapping[str, object]) -> str | None:
    """What a road is called; nothing where it was merged of several, which OSMnx lists."""
    name = edge.get("name") or edge.get("ref")
    return None if name is None or str(name).startswith("[") else str(name)


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
        nodes = _osm_objects(place, "place", ways=False)
        found = (_place(dict(node.tags), node.lat, node.lon) for node in nodes)
    elif name.endswith(GEOJSON):
        found = (_place(tags, *at) for at, tags in _geojson_points(place))
    return [one for one in found if one is not None]


def _place(tags: Mapping[str, str], latitude: float, longitude: float) -> NamedPlace | None:
    kind, name = _KINDS.get(tags.get("place", "")), tags.get("name")
    return NamedPlace(name, kind, latitude, longitude) if kind and name else None
