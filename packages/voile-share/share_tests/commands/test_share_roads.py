"""``voile share roads``: maps of every format in, the page's map out."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from voile_base.errors import InputError, TableError
from voile_share.commands.roads import _roads_command
from voile_testing.plugin import ROOT

LINE = {
    "type": "Feature",
    "properties": {"highway": "primary"},
    "geometry": {"type": "LineString", "coordinates": [[4.35, 52], [4.36, 52], [4.36, 52.01]]},
}
LANE = {
    "type": "Feature",
    "properties": {"highway": "service"},
    "geometry": {"type": "LineString", "coordinates": [[4.36, 52], [4.37, 52]]},
}
OSM = """<osm version="0.6"><node id="1" lat="52.0" lon="4.0"/><node id="2" lat="52.01" lon="4.0"/>
<way id="7"><nd ref="1"/><nd ref="2"/><tag k="highway" v="motorway"/></way></osm>"""
EDGES = 'source,target,highway,wkt\n1,2,residential,"LINESTRING (4 52, 4 52.01)"\n'
GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="x" for="node" attr.name="x" attr.type="string"/>
<key id="y" for="node" attr.name="y" attr.type="string"/>
<key id="h" for="edge" attr.name="highway" attr.type="string"/>
<graph edgedefault="directed"><node id="1"><data key="x">4.0</data><data key="y">52.0</data></node>
<node id="2"><data key="x">4.0</data><data key="y">52.01</data></node>
<edge source="1" target="2"><data key="h">tertiary</data></edge></graph></graphml>"""


@pytest.fixture
def city(tmp_path: Path) -> Path:
    """A primary road and a lane, in GeoJSON."""
    path = tmp_path / "city.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [LINE, LANE]}))
    return path


def run(*arguments: object) -> None:
    """Run the command; errors are raised."""
    _roads_command.main([str(one) for one in arguments], standalone_mode=False)


def layers(path: Path) -> list[str]:
    """The ranks of a map that was written."""
    document: dict[str, Any] = json.loads(path.read_bytes())
    return [layer["rank"] for layer in document["layers"]]


@pytest.mark.slow
def test_a_map_is_written_and_told_of(city: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file has the page's format; sizes and whose map it is are said."""
    out = city.with_name("roads.json")
    run(city, "--out", out)
    assert layers(out) == ["primary", "service"]
    document = json.loads(out.read_bytes())
    assert document["attribution"] == "\N{COPYRIGHT SIGN} OpenStreetMap contributors"
    said = capsys.readouterr().out
    assert "2 lines of 5 points" in said
    assert "OpenStreetMap contributors" in said


@pytest.mark.slow
def test_names_of_streets_and_places_are_taken_along(
    city: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of roads that are drawn, and of places; how many is told."""
    point = {"type": "Point", "coordinates": [4.357, 52.011]}
    place = {"type": "Feature", "properties": {"place": "city", "name": "Delft"}, "geometry": point}
    named = [{**one, "properties": {**one["properties"], "name": "Plein"}} for one in (LINE, LANE)]
    named[1]["properties"]["name"] = "Steeg"
    city.write_text(json.dumps({"type": "FeatureCollection", "features": [*named, place]}))
    run(city, "--out", city.with_name("roads.json"), "--smallest", "tertiary")
    document = json.loads(city.with_name("roads.json").read_bytes())
    assert document["names"] == ["Plein"]
    assert [one["name"] for one in document["places"]] == ["Delft"]
    assert "and 2 names" in capsys.readouterr().out


def test_the_result_is_told_in_json(city: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines, points and bytes, plain and packed."""
    out = city.with_name("roads.json")
    run(city, "--out", out, "--json")
    told = json.loads(capsys.readouterr().out)
    packed = len(gzip.compress(out.read_bytes(), 9, mtime=0))
    assert told == {
        **{"out": str(out), "lines": 2, "points": 5, "names": 0},
        **{"bytes": out.stat().st_size, "gzipped": packed},
    }


@pytest.mark.parametrize(
    ("name", "content", "rank"),
    [
        ("map.osm", OSM, "motorway"),
        ("map.graphml", GRAPHML, "tertiary"),
        ("map.csv", EDGES, "street"),
        ("map.json", json.dumps(LINE), "primary"),
    ],
)
def test_every_format_is_read(tmp_path: Path, name: str, content: str, rank: str) -> None:
    """OpenStreetMap, GraphML, a table of edges, GeoJSON."""
    (tmp_path / name).write_text(content)
    out = tmp_path / "roads.json"
    run(tmp_path / name, "--out", out)
    assert layers(out) == [rank]


def test_edges_may_refer_to_a_table_of_nodes(tmp_path: Path) -> None:
    """With --nodes, lines are not needed."""
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n")
    (tmp_path / "nodes.csv").write_text("node_id,lat,lon\n1,52,4\n2,52.01,4\n")
    out = tmp_path / "roads.json"
    run(tmp_path / "edges.csv", "--nodes", tmp_path / "nodes.csv", "--out", out)
    assert layers(out) == ["street"]


def test_lesser_roads_may_be_left_out(city: Path) -> None:
    """By --smallest; and the attribution may be another, or none."""
    out = city.with_name("roads.json")
    run(city, "--out", out, "--smallest", "street", "--attribution", "")
    assert layers(out) == ["primary"]
    assert json.loads(out.read_bytes())["attribution"] == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--smallest", "motorway"], "no road of rank motorway"),
        (["--smallest", "streets"], "did you mean 'street'"),
    ],
)
def test_what_cannot_be_done_is_told_and_writes_nothing(
    city: Path, options: list[str], said: str
) -> None:
    """Names that are unknown, and maps that would be empty."""
    out = city.with_name("roads.json")
    with pytest.raises(InputError, match=said):
        run(city, "--out", out, *options)
    assert [path.name for path in city.parent.iterdir()] == [city.name]


def test_files_are_neither_overwritten_nor_misnamed(city: Path) -> None:
    """The place of the map is judged before the map is read."""
    out = city.with_name("roads.json")
    out.write_text("mine")
    with pytest.raises(InputError, match="stands there already"):
        run("nowhere.osm", "--out", out)
    assert out.read_text() == "mine"
    with pytest.raises(InputError, match=r"must end in \.json"):
        run("nowhere.osm", "--out", city.with_name("roads.txt"))


def test_what_is_no_map_is_told(tmp_path: Path) -> None:
    """By the reader of its format."""
    (tmp_path / "map.geojson").write_text("{}")
    for name in ("map.geojson", "nowhere.osm.pbf"):
        with pytest.raises(TableError, match=name):
            run(tmp_path / name, "--out", tmp_path / "roads.json")


def test_a_map_that_is_large_is_warned_of(
    city: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written all the same, and what would make it smaller is said."""
    monkeypatch.setattr("voile_share.commands.roads._LARGE", 100)
    run(city, "--out", city.with_name("roads.json"))
    assert "--tolerance 10" in capsys.readouterr().err


def brought_by(distribution: str) -> set[str]:
    """The distributions that installing one of ours brings, by the pyproject.toml of each."""
    projects = {
        path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for path in ROOT.glob("packages/*/pyproject.toml")
    }
    waiting = [Requirement(distribution)]
    brought: dict[str, set[str]] = {}
    while waiting:
        one = waiting.pop()
        name, extras = canonicalize_name(one.name), one.extras | {""}
        if (one.marker and not one.marker.evaluate()) or extras <= brought.get(name, set()):
            continue
        brought.setdefault(name, set()).update(extras)
        if ours := projects.get(name):
            optional = ours.get("optional-dependencies", {})
            lines = [
                *ours["dependencies"],
                *(line for more in one.extras for line in optional[more]),
            ]
            waiting += map(Requirement, lines)
            continue
        for line in requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                needed.marker = None
                waiting.append(needed)
    return set(brought)


@pytest.mark.slow
def test_the_service_alone_reads_every_map(tmp_path: Path) -> None:
    """With what ``voile-share`` brings and nothing else, `voile share roads` reads each format."""
    osmium = pytest.importorskip("osmium")
    for name, content in (("map.osm", OSM), ("map.graphml", GRAPHML), ("map.csv", EDGES)):
        (tmp_path / name).write_text(content)
    with osmium.SimpleWriter(tmp_path / "map.osm.pbf") as writer:
        for one in osmium.FileProcessor(tmp_path / "map.osm"):
            writer.add(one)
    there = brought_by("voile-share") | {"voile-checkout"}
    hidden = {
        module
        for module, owners in packages_distributions().items()
        if not there & set(map(canonicalize_name, owners))
    }
    assert "pytest" in hidden
    assert not {"polars", "pyarrow", "voile"} & there
    sources = sorted(tmp_path.iterdir())
    program = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(hidden)!r}))
from voile_share.commands.roads import _roads_command
for path in {list(map(str, sources))!r}:
    _roads_command.main([path, "--out", f"{{path}}.json"], standalone_mode=False)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(layers(Path(f"{path}.json")) for path in sources)


def test_the_map_of_the_documentation_is_of_a_format_that_is_tried() -> None:
    """The walk-through names a map, and what reads such maps is tested to come with the extra."""
    page = (ROOT / "docs" / "sharing-service.md").read_text(encoding="utf-8")
    assert re.findall(r"voile share roads \w+(\.\S+)", page) == [".osm.pbf"]
