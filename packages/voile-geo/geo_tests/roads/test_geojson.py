"""Maps in GeoJSON, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from voile_base.errors import TableError
from voile_geo.roads.reading import read_roads


def feature(coordinates: Any, kind: str = "LineString", **tags: Any) -> dict[str, Any]:
    """A feature with a geometry."""
    return {
        "type": "Feature",
        "properties": tags or None,
        "geometry": {"type": kind, "coordinates": coordinates},
    }


def written(folder: Path, *features: Any) -> Path:
    """A file with a collection of features."""
    path = folder / "map.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def test_lines_become_roads_that_meet_where_they_share_a_position(tmp_path: Path) -> None:
    """Lines of all features, their heights dropped; classes, speeds and directions as tagged."""
    path = written(
        tmp_path,
        feature([[10, 60, 5.0], [10, 60.001], [10.002, 60.001]], highway="residential"),
        feature([[10.002, 60.001], [10.002, 60]], highway="primary", oneway=True, maxspeed=70),
        feature([[[10, 60], [9.9, 60]], [[9.8, 60], [9.7, 60]]], "MultiLineString", oneway="-1"),
        feature([10, 60], "Point", highway="residential"),
        feature([[10, 60], [10.002, 60]], highway="footway"),
        feature([[10, 60], [10.001, 60]], highway="service", access="private"),
        {"type": "Feature", "properties": None, "geometry": None},
    )
    roads = read_roads(path)
    places = [(float(x), float(y)) for x, y in zip(roads.longitude, roads.latitude, strict=True)]
    found = {
        (places[a], places[b]): speed
        for a, b, speed in zip(roads.source, roads.target, roads.speed, strict=True)
    }
    bend, corner, end = (10, 60.001), (10.002, 60.001), (10.002, 60)
    assert found == {
        ((10, 60), bend): 30,
        (bend, (10, 60)): 30,
        (bend, corner): 30,
        (corner, bend): 30,
        (corner, end): 70,
        ((9.9, 60), (10, 60)): 40,
        ((9.7, 60), (9.8, 60)): 40,
    }
    assert roads.nodes == 7


def test_one_feature_is_a_map(tmp_path: Path) -> None:
    """Without a collection around it, and without properties."""
    path = tmp_path / "map.json"
    path.write_text(json.dumps(feature([[10, 60], [10, 60.001]])))
    assert np.allclose(read_roads(path).length, 111.4, atol=0.1)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no map", "cannot be read as JSON"),
        ("[1, 2]", "FeatureCollection or a Feature"),
        ('{"type": "Polygon"}', "FeatureCollection or a Feature"),
        ('{"type": "FeatureCollection", "features": {}}', "FeatureCollection or a Feature"),
        ('{"type": "FeatureCollection", "features": [7]}', "feature 1: this is not a feature"),
        (feature("10 60"), "feature 1: the LineString has no list"),
        (feature([[10, 60]]), "feature 1: a line must be a list of two positions"),
        (feature([[10, 60], [10, None]]), "feature 1: a line must be"),
        (feature([[10, 60], [10, float("nan")]]), "feature 1: a line must be"),
        (feature([[10, 60], [500, 60]]), "must be degrees"),
        (feature([[10, 60], [10, 61]], highway="footway"), "no road that cars can use"),
        (
            {"type": "Feature", "geometry": 3, "properties": {}},
            "feature 1: its geometry and its properties must be objects",
        ),
    ],
)
def test_files_that_are_no_maps_say_what_is_wrong(tmp_path: Path, content: Any, said: str) -> None:
    """Which feature, and what about it."""
    path = tmp_path / "map.geojson"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(TableError, match=said):
        read_roads(path)


def test_a_map_that_is_not_there_says_so(tmp_path: Path) -> None:
    """A missing file is named."""
    with pytest.raises(TableError, match=r"nowhere\.geojson"):
        read_roads(tmp_path / "nowhere.geojson")
