"""Names of streets and of places, in every format that has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geo_tests.roads.test_reading import GRAPHML, OSM
from voile_base.errors import TableError
from voile_geo.roads.reading import NamedPlace, read_places, read_roads

PLACES = """
 <node id="20" lat="60.1" lon="10.1"><tag k="place" v="city"/><tag k="name" v="Ålesund"/></node>
 <node id="21" lat="60.2" lon="10.2"><tag k="place" v="quarter"/><tag k="name" v="Aspøya"/></node>
 <node id="22" lat="60.3" lon="10.3"><tag k="place" v="farm"/><tag k="name" v="Nowhere"/></node>
 <node id="23" lat="60.4" lon="10.4"><tag k="place" v="town"/></node>
</osm>"""


def named_edges(path: Path) -> set[tuple[float, str | None]]:
    """Speeds of edges, which tell the roads of the examples apart, with their names."""
    roads = read_roads(path)
    name_of = [-1] * roads.edges if roads.name_of is None else roads.name_of
    names = (*roads.names, None)
    return {(round(speed), names[at]) for speed, at in zip(roads.speed, name_of, strict=True)}


def test_streets_of_openstreetmap_have_names_or_numbers(tmp_path: Path) -> None:
    """The name, the number of the road where there is none, and nothing where neither is."""
    text = OSM.replace('v="residential"/>', 'v="residential"/><tag k="name" v="Storgata"/>')
    text = text.replace('v="30 mph"/>', 'v="30 mph"/><tag k="ref" v="E 136"/>')
    (tmp_path / "map.osm").write_text(text)
    assert named_edges(tmp_path / "map.osm") == {(30, "Storgata"), (48, "E 136"), (60, None)}
    (tmp_path / "plain.osm").write_text(OSM)
    assert read_roads(tmp_path / "plain.osm").name_of is None


def test_streets_of_the_other_formats_have_names(tmp_path: Path) -> None:
    """GraphML, where a list of merged names is none, GeoJSON, and tables of edges."""
    key = '<key id="n" for="edge" attr.name="name" attr.type="string"/>\n<graph'
    text = GRAPHML.replace("<graph", key, 2).replace(key + "ml", "<graphml", 1)
    text = text.replace("['30', '50']</data>", "['30', '50']</data><data key=\"n\">Storgata</data>")
    text = text.replace(
        'target="1"><data key="h">residential</data>',
        'target="1"><data key="h">residential</data><data key="n">[\'A\', \'B\']</data>',
    )
    (tmp_path / "map.graphml").write_text(text)
    assert {name for _, name in named_edges(tmp_path / "map.graphml")} == {"Storgata", None}
    line = {"type": "LineString", "coordinates": [[10, 60], [10.01, 60]]}
    feature = {"type": "Feature", "geometry": line, "properties": {"name": "Kirkegata"}}
    (tmp_path / "map.geojson").write_text(json.dumps(feature))
    assert {name for _, name in named_edges(tmp_path / "map.geojson")} == {"Kirkegata"}
    (tmp_path / "map.csv").write_text(
        'source,target,name,wkt\n1,2,Kaigata,"LINESTRING (10 60, 10.01 60)"\n'
        '2,3,,"LINESTRING (10.01 60, 10.02 60)"\n'
    )
    assert {name for _, name in named_edges(tmp_path / "map.csv")} == {"Kaigata", None}


def test_a_part_of_a_network_keeps_its_names(tmp_path: Path) -> None:
    """Edges that stay are called as they were."""
    (tmp_path / "map.csv").write_text(
        'source,target,name,wkt\n1,2,First,"LINESTRING (10 60, 10.01 60)"\n'
        '2,1,Second,"LINESTRING (10.01 60, 10 60)"\n8,9,Away,"LINESTRING (11 60, 11.01 60)"\n'
    )
    part = read_roads(tmp_path / "map.csv").largest_connected()
    assert [part.names[at] for at in part.name_of] == ["First", "Second"]


def test_places_are_read_with_their_size(tmp_path: Path) -> None:
    """Cities, towns, suburbs and villages; what is smaller, or has no name, is left out."""
    (tmp_path / "map.osm").write_text(OSM.replace("</osm>", PLACES))
    expected = [
        NamedPlace("Ålesund", "city", 60.1, 10.1),
        NamedPlace("Aspøya", "suburb", 60.2, 10.2),
    ]
    assert read_places(tmp_path / "map.osm") == expected
    point = {"type": "Point", "coordinates": [10.1, 60.1]}
    tags = [{"place": "city", "name": "Ålesund"}, {"place": "farm", "name": "Nowhere"}, None]
    features = [{"type": "Feature", "geometry": point, "properties": one} for one in tags]
    line = {"type": "LineString", "coordinates": [[10, 60], [10.01, 60]]}
    features.append({"type": "Feature", "geometry": line, "properties": {"place": "city"}})
    document = {"type": "FeatureCollection", "features": features}
    (tmp_path / "map.geojson").write_text(json.dumps(document))
    assert read_places(tmp_path / "map.geojson") == expected[:1]
    assert read_places(tmp_path / "map.csv") == []


def test_a_damaged_map_has_no_places(tmp_path: Path) -> None:
    """It is said that it is damaged."""
    (tmp_path / "map.osm").write_text("<osm><node")
    with pytest.raises(TableError, match="damaged"):
        read_places(tmp_path / "map.osm")
