"""Maps in every format that is read, and files that are none."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from voile_base.errors import TableError
from voile_geo.roads.reading import _speed_of, read_roads

OSM = """<?xml version="1.0"?>
<osm version="0.6">
 <node id="1" lat="60.0" lon="10.0"/><node id="2" lat="60.001" lon="10.0"/>
 <node id="3" lat="60.001" lon="10.002"/><node id="4" lat="60.0" lon="10.002"/>
 <way id="7"><nd ref="1"/><nd ref="2"/><nd ref="3"/><tag k="highway" v="residential"/></way>
 <way id="8"><nd ref="3"/><nd ref="4"/><tag k="highway" v="primary"/><tag k="oneway" v="yes"/>
  <tag k="maxspeed" v="30 mph"/></way>
 <way id="9"><nd ref="1"/><nd ref="4"/><tag k="highway" v="primary"/><tag k="oneway" v="-1"/></way>
 <way id="10"><nd ref="1"/><nd ref="3"/><tag k="highway" v="footway"/></way>
 <way id="11"><nd ref="2"/><nd ref="4"/><tag k="highway" v="service"/>
  <tag k="access" v="private"/></way>
 <way id="12"><nd ref="4"/><nd ref="99"/><tag k="highway" v="service"/></way>
</osm>
"""
GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="x" for="node" attr.name="x" attr.type="string"/>
<key id="y" for="node" attr.name="y" attr.type="string"/>
<key id="h" for="edge" attr.name="highway" attr.type="string"/>
<key id="s" for="edge" attr.name="maxspeed" attr.type="string"/>
<key id="g" for="edge" attr.name="geometry" attr.type="string"/>
<graph edgedefault="directed">
<node id="1"><data key="x">10.0</data><data key="y">60.0</data></node>
<node id="2"><data key="x">10.002</data><data key="y">60.001</data></node>
<edge source="1" target="2"><data key="h">residential</data><data key="s">['30', '50']</data>
<data key="g">LINESTRING (10.0 60.0, 10.0 60.001, 10.002 60.001)</data></edge>
<edge source="2" target="1"><data key="h">residential</data>
<data key="g">LINESTRING (10.002 60.001, 10.0 60.001, 10.0 60.0)</data></edge>
<edge source="1" target="2"><data key="h">footway</data></edge>
</graph></graphml>
"""


@pytest.mark.parametrize("packed", [False, True])
def test_openstreetmap_is_read_with_its_directions(tmp_path: Path, packed: bool) -> None:
    """Ways in both, one, or the other direction; paths, private ways and lost nodes left out."""
    path = tmp_path / ("map.osm.gz" if packed else "map.osm")
    path.write_bytes(gzip.compress(OSM.encode()) if packed else OSM.encode())
    roads = read_roads(path)
    at = [(round(a, 4), round(b, 4)) for a, b in zip(roads.latitude, roads.longitude, strict=True)]
    name = {(60.0, 10.0): 1, (60.001, 10.0): 2, (60.001, 10.002): 3, (60.0, 10.002): 4}
    edges = {
        (name[at[a]], name[at[b]]): speed
        for a, b, speed in zip(roads.source, roads.target, roads.speed, strict=True)
    }
    assert edges == {
        (1, 2): 30,
        (2, 1): 30,
        (2, 3): 30,
        (3, 2): 30,
        (3, 4): pytest.approx(48.28032),
        (4, 1): 60,
    }
    assert roads.length[0] == pytest.approx(111.4, abs=0.1)


def test_graphml_is_read_with_its_bends(tmp_path: Path) -> None:
    """Lines become chains that share their bends, so that each direction is the other's reverse."""
    path = tmp_path / "map.graphml"
    path.write_text(GRAPHML)
    roads = read_roads(path)
    assert (roads.nodes, roads.edges) == (3, 4)
    assert (roads.reverse[roads.reverse] == np.arange(4)).all()
    assert set(roads.speed) == {30.0}


@pytest.mark.parametrize("names", [("source", "target"), ("u", "v")])
def test_tables_of_edges_are_read(tmp_path: Path, names: tuple[str, str]) -> None:
    """With a table of nodes, and with lines instead."""
    (tmp_path / "nodes.csv").write_text("node_id,lat,lon\n1,60.0,10.0\n2,60.001,10.0\n")
    edges = tmp_path / "edges.csv"
    edges.write_text(f"{names[0]},{names[1]},highway,maxspeed_kmh\n1,2,primary,50\n2,1,steps,\n")
    roads = read_roads(edges, tmp_path / "nodes.csv")
    assert (roads.nodes, roads.edges, roads.speed[0]) == (2, 1, 50)
    edges.write_text(f'{names[0]},{names[1]},wkt\n1,2,"LINESTRING (10 60, 10 60.001)"\n')
    assert read_roads(edges).length[0] == pytest.approx(111.4, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "nodes", "edges"),
    [
        ("beijing-edges.csv", 23_599, None),
        ("helsinki.osm.pbf", None, None),
        ("andorra.osm.pbf", None, None),
        ("monaco.osm.gz", None, None),
        ("paris-trocadero.graphml", None, None),
        ("stockholm-edges.csv", None, None),
    ],
)
def test_real_maps_are_read(
    shared_data: Path, file: str, nodes: int | None, edges: int | None
) -> None:
    """Each has a connected part for cars; Beijing's has the 23,599 nodes that are known of it."""
    path = shared_data / "roads" / file
    table = path.with_name("beijing-nodes.csv") if file.startswith("beijing") else None
    largest = read_roads(path, table).largest_connected()
    assert largest.edges > 2_000
    assert nodes is None or largest.nodes == nodes


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("map.osm", "this is no map", "OpenStreetMap"),
        ("map.osm.pbf", "this is no map", "OpenStreetMap"),
        ("map.osm", '<osm version="0.6"><node id="1" lat="1" lon="1"/></osm>', "no road"),
        ("map.graphml", "<graphml", "GraphML"),
        ("map.shp", "this is no map", r"\.shp are not known.*\.osm\.pbf, \.graphml, \.geojson"),
        ("map.csv", "a,b\n1,2\n", "source and target"),
        ("map.csv", "source,target\n1,2\n", "table of nodes"),
        ("map.csv", "u,v,wkt\n1,2,POINT (1 2)\n", "LINESTRING"),
        ("map.csv", 'u,v,wkt\n1,2,"LINESTRING (500 100, 1 2)"\n', "degrees"),
        ("map.csv", 'u,v,highway,wkt\n1,2,steps,"LINESTRING (5 10, 1 2)"\n', "no road"),
    ],
)
def test_files_that_are_no_maps_say_so(tmp_path: Path, name: str, content: str, said: str) -> None:
    """Damaged files, those of other kinds, maps without roads, tables without positions."""
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(TableError, match=said):
        read_roads(path)


def test_a_map_that_is_not_there_says_so(tmp_path: Path) -> None:
    """A missing file is named."""
    with pytest.raises(TableError, match=r"nowhere\.osm"):
        read_roads(tmp_path / "nowhere.osm")


@pytest.mark.parametrize(
    ("sign", "kind", "speed"),
    [
        ("50", None, 50),
        ("30 mph", None, 48.28032),
        ("RU:urban", "primary", 60),
        (None, "service", 20),
        ("walk", "primary", 7),
        ("none", "motorway", 110),
        ("60;80", None, 60),
        (None, "trunk_link", 40),
        ("0", "residential", 30),
        ("DE:zone:30", "residential", 30),
    ],
)
def test_speeds_are_read_as_signed(sign: str | None, kind: str | None, speed: float) -> None:
    """Numbers with their units; anything else leaves the usual speed of the class."""
    assert _speed_of(sign, kind) == pytest.approx(speed)


@pytest.mark.parametrize(
    ("ends", "line"),
    [
        ("s_node,e_node", "wkt"),
        ("U,V", "geometry"),
        ("from,to", "WKT"),
        ("start_node,end_node", "wkt"),
    ],
)
def test_ends_of_edges_have_several_names(tmp_path, ends, line):
    """The first pair that the table has, in any case of letters; other names are refused."""
    path = tmp_path / "roads.csv"
    path.write_text(f'{ends},{line}\n1,2,"LINESTRING (2.3 48.8, 2.301 48.8)"\n')
    assert read_roads(path).edges == 1
    path.write_text(f'a,b,{line}\n1,2,"LINESTRING (2.3 48.8, 2.301 48.8)"\n')
    with pytest.raises(TableError, match=r"source and target, or u and v, .*s_node and e_node"):
        read_roads(path)
    path.write_text(f"{ends},{line},{ends.split(',')[0].swapcase()}\n1,2,x,3\n")
    with pytest.raises(TableError, match="two columns have one name but for"):
        read_roads(path)
