"""The compact map: what it holds of the roads, and how small it is."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile_base.errors import InputError
from voile_geo.geodesy import separation
from voile_geo.roads.reading import read_roads
from voile_share.map import RANKS, MapFile, Streets, rank_of

UNIT = 1e-5


def streets(latitude, longitude, ends, rank=None) -> Streets:
    """Roads from lists."""
    source, target = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    places = np.zeros(len(source)) if rank is None else rank
    degrees = [np.array(side, dtype=np.float64) for side in (latitude, longitude)]
    return Streets(*degrees, source, target, np.array(places, dtype=np.int64))


def lines_of(document) -> dict[str, list[np.ndarray]]:
    """The lines of each rank in degrees, read back from the steps."""
    found = {}
    for layer in document["layers"]:
        steps = np.array(layer["steps"]).reshape(-1, 2)
        points = (np.cumsum(steps, axis=0) + document["middle"]) * UNIT
        found[layer["rank"]] = np.split(points, np.cumsum(layer["counts"])[:-1])
    return found


@st.composite
def networks(draw):
    """Crossings of a grid of 1e-3 degrees, joined at random, with doubles, both ways and loops."""
    count = draw(st.integers(2, 12))
    place = st.tuples(st.integers(0, 5), st.integers(0, 5))
    at = draw(st.lists(place, min_size=count, max_size=count))
    edge = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    ends = draw(st.lists(edge, min_size=1, max_size=30))
    rank = draw(st.lists(st.integers(0, 5), min_size=len(ends), max_size=len(ends)))
    return at, ends, rank


@given(networks())
def test_every_road_is_in_the_map_once_at_its_best_rank(network) -> None:
    """Without simplification the pieces of each layer are those of the roads, and no others."""
    at, ends, rank = network
    expected: dict[tuple, int] = {}
    for (a, b), place in zip(ends, rank, strict=True):
        if at[a] != at[b]:
            piece = tuple(sorted((at[a], at[b])))
            expected[piece] = min(place, expected.get(piece, len(RANKS)))
    latitude, longitude = np.array(at).T * 1e-3
    given_ = streets(latitude + 52, longitude + 4, ends, rank)
    if not expected:
        with pytest.raises(InputError, match="no road"):
            given_.compact(tolerance=0)
        return
    found = [
        (tuple(tuple((np.rint(end / 1e-3) - (52_000, 4_000)).astype(int)) for end in piece), rank)
        for rank, lines in enumerate(map(lines_of(given_.compact(0).document).get, RANKS))
        for line in lines or []
        for piece in pairwise(line)
    ]
    assert _unit_pieces(found) == _unit_pieces(expected.items())


def _unit_pieces(ranked) -> Counter:
    """Pieces cut at the points of the grid, since a map may join those that go straight on."""
    cut: Counter = Counter()
    for piece, rank in ranked:
        (y, x), (v, u) = sorted(piece)
        parts = math.gcd(v - y, u - x)
        step = ((v - y) // parts, (u - x) // parts)
        cut.update((y + at * step[0], x + at * step[1], *step, rank) for at in range(parts))
    return cut


@given(networks(), st.sampled_from([20.0, 80.0, 200.0]))
def test_no_road_is_farther_off_than_the_tolerance(network, tolerance: float) -> None:
    """Every crossing lies within the tolerance of a line of the map, up to the map's unit."""
    at, ends, _ = network
    latitude, longitude = np.array(at).T * 1e-3
    try:
        made = streets(latitude, longitude, ends).compact(tolerance)
    except InputError:
        return
    lines = [line for lines in lines_of(made.document).values() for line in lines]
    used = {place for a, b in ends if at[a] != at[b] for place in (at[a], at[b])}
    for north, east in used:
        point = np.array([north * 1e-3, east * 1e-3]) * 111_000
        away = min(_to_segment(point, a, b) for line in lines for a, b in pairwise(line * 111_000))
        assert away <= tolerance * 1.01 + 1.2


def _to_segment(point, a, b) -> float:
    way = b - a
    share = np.clip((point - a) @ way / max(way @ way, 1e-9), 0, 1)
    return float(np.hypot(*(point - a - share * way)))


def test_simplification_drops_bends_that_nobody_sees() -> None:
    """A wiggle of 1 m goes, a bend of 30 m stays; crossings that go straight on make one line."""
    longitude = 4 + np.arange(11) * 1e-3
    latitude = np.full(11, 52.0)
    latitude[3] += 1e-5
    latitude[7] += 3e-4
    ends = [(place, place + 1) for place in range(10)]
    made = streets(latitude, longitude, ends).compact()
    assert (made.lines, made.points) == (1, 5)
    assert streets(latitude, longitude, ends).compact(0.5).points == 8
    assert streets(latitude, longitude, ends).compact(100).points == 2


def test_tolerance_is_in_metres_at_every_latitude() -> None:
    """Where Mercator stretches the map twofold, a bend of 5 m is still one of 5 m."""
    for latitude in (0.0, 60.0, 75.0):
        bend = 6 / 111_320
        line = streets([latitude, latitude + bend, latitude], [4, 4.01, 4.02], [(0, 1), (1, 2)])
        assert line.compact(5).points == 3
        assert line.compact(8).points == 2


def test_maps_may_lie_across_the_date_line() -> None:
    """Longitudes are steps from the middle: no line goes round the world."""
    made = streets([-17, -17.01], [179.99, -179.99], [(0, 1)]).compact()
    (line,) = lines_of(made.document)["motorway"]
    assert abs(line[1, 1] - line[0, 1]) == pytest.approx(0.02, abs=2e-5)
    south, west, north, east = made.document["reach"]
    assert (north - south, east - west) == (1_000, 2_000)


def test_the_same_roads_give_the_same_bytes() -> None:
    """In any order of edges' directions, and again."""
    ends = [(0, 1), (1, 2), (2, 0)]
    triangle = streets([52, 52.01, 52], [4, 4, 4.01], ends)
    turned = streets([52, 52.01, 52], [4, 4, 4.01], [(b, a) for a, b in ends])
    made = triangle.compact(attribution="\N{COPYRIGHT SIGN} Cartographers")
    assert made.encoded == turned.compact(attribution="\N{COPYRIGHT SIGN} Cartographers").encoded
    assert json.loads(made.encoded) == made.document
    assert gzip.decompress(made.gzipped) == made.encoded


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("motorway", "motorway"),
        ("trunk", "motorway"),
        ("trunk_link", "tertiary"),
        ("secondary", "secondary"),
        ("residential", "street"),
        ("living_street", "street"),
        ("service", "service"),
        ("FIXME", "street"),
        (None, "street"),
    ],
)
def test_classes_have_ranks(name: str | None, rank: str) -> None:
    """The classes of OpenStreetMap, and what is unknown."""
    assert RANKS[rank_of(name)] == rank


@pytest.mark.parametrize("tolerance", [-1.0, math.nan, 2_000.0])
def test_tolerances_that_are_no_lengths_are_refused(tolerance: float) -> None:
    """Said before anything is computed."""
    with pytest.raises(InputError, match="tolerance"):
        streets([52, 53], [4, 4], [(0, 1)]).compact(tolerance)


def test_a_map_is_read_for_sending(tmp_path: Path) -> None:
    """As it was written, packed, and named by its content."""
    made = streets([52, 52.1], [4, 4], [(0, 1)]).compact()
    path = tmp_path / "roads.json"
    path.write_bytes(made.encoded)
    sent = MapFile.read(path)
    assert sent.body == made.encoded == gzip.decompress(sent.gzipped)
    path.write_bytes(made.encoded.replace(b"motorway", b"street"))
    assert MapFile.read(path).etag != sent.etag


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}", b'{"format": "x", "version": 1}'])
def test_what_is_no_map_is_not_sent(tmp_path: Path, content: bytes | None) -> None:
    """Missing files, other JSON and no JSON are named."""
    path = tmp_path / "roads.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"roads\.json"):
        MapFile.read(path)


@pytest.mark.slow
def test_a_city_is_small(shared_data: Path) -> None:
    """Beijing within the fifth ring: at most 0.15 MB packed, and all of its roads within 3 m."""
    roads = shared_data / "roads"
    network = read_roads(roads / "beijing-edges.csv", roads / "beijing-nodes.csv")
    rank = np.array([rank_of(name) for name in network.classes])[network.class_of]
    given_ = Streets(network.latitude, network.longitude, network.source, network.target, rank)
    made = given_.compact()
    assert len(made.gzipped) < 150_000
    drawn = sum(
        float(separation(*line[:-1].T.copy(), *line[1:].T.copy()).sum())
        for lines in lines_of(made.document).values()
        for line in lines
    )
    once = network.reverse < np.arange(network.edges)
    assert drawn == pytest.approx(float(network.length[once].sum()), rel=0.01)
