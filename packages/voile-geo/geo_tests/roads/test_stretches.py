"""Roads between crossings: which edges are one road, and in which order they are driven."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile_geo.roads.nearest import Chains, stretches
from voile_geo.roads.network import RoadNetwork
from voile_testing.plugin import examples
from voile_testing.towns import network_of, random_network, split

BEND = [(0.0, 0.0), (0.001, 0.0), (0.001, 0.001), (0.002, 0.001)]


def runs(roads: RoadNetwork) -> list[list[int]]:
    """The nodes that each run passes."""
    chains = Chains.of(roads)
    parts = np.split(chains.edge, chains.start[1:-1])
    for part in parts:
        assert (roads.target[part[:-1]] == roads.source[part[1:]]).all()
    return [[int(roads.source[part[0]]), *roads.target[part].tolist()] for part in parts]


def test_a_road_that_bends_is_one_and_a_crossing_parts_it() -> None:
    """Bends, both directions and rings are one road each; where roads meet they end."""
    assert stretches(network_of(BEND)).max() == 0
    assert stretches(network_of([*BEND, (0.0, 0.0)], ways="forward")).max() == 0
    crossed = network_of(BEND, [(0.001, 0.001), (0.001, 0.002)])
    assert stretches(crossed).max() == 2
    assert len(set(stretches(crossed)[:4])) == 1  # two edges with their reverses


def test_a_run_passes_bends_and_ends_at_crossings() -> None:
    """A road that bends has one run for each direction; where a third road meets it, two."""
    assert sorted(runs(network_of(BEND))) == [[0, 1, 2, 3], [3, 2, 1, 0]]
    assert runs(network_of(BEND, ways="forward")) == [[0, 1, 2, 3]]
    crossed = sorted(runs(network_of(BEND, [(0.001, 0.001), (0.001, 0.002)])))
    assert crossed == [[0, 1, 2], [2, 1, 0], [2, 3], [2, 4], [3, 2], [4, 2]]


def test_a_run_ends_where_a_road_becomes_one_way() -> None:
    """Who may not go on can turn there; as a road it is one all the same."""
    two_way, one_way = network_of(BEND), network_of(BEND, ways="forward")
    away = RoadNetwork(
        two_way.latitude,
        two_way.longitude,
        np.concatenate((one_way.source, [1])),
        np.concatenate((one_way.target, [0])),
        np.zeros(4, dtype=np.int64),
        np.full(4, 50.0),
    )
    assert sorted(runs(away)) == [[0, 1], [1, 0], [1, 2, 3]]
    assert stretches(away).max() == 0


@pytest.mark.parametrize(("ways", "count"), [("both", 2), ("forward", 1)])
def test_a_ring_without_a_crossing_is_a_run_from_its_first_node(ways, count) -> None:
    """All around and back to where it began."""
    found = runs(network_of([*BEND, (0.0, 0.0)], ways=ways))
    assert len(found) == count
    assert all(run[0] == run[-1] == 0 and len(run) == 5 for run in found)


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 10**6), parts=st.sampled_from([1, 2, 5]))
def test_each_edge_is_in_one_run_of_its_road(seed: int, parts: int) -> None:
    """Every directed edge once; a run stays on one road, and no crossing lies within it."""
    roads = split(random_network(seed, size=5), parts)
    chains, road = Chains.of(roads), stretches(roads)
    assert sorted(chains.edge.tolist()) == list(range(roads.edges))
    others = [set[int]() for _ in range(roads.nodes)]
    for a, b in zip(roads.source.tolist(), roads.target.tolist(), strict=True):
        others[a].add(b)
        others[b].add(a)
    for first, last in pairwise(chains.start.tolist()):
        part = chains.edge[first:last]
        assert len(set(road[part])) == 1
        within = roads.target[part[:-1]].tolist()
        assert all(len(others[node]) == 2 for node in within)


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_more_shape_points_make_no_more_roads_and_no_more_runs(seed: int) -> None:
    """Each edge in five: the same roads and the same runs, by where they begin and end."""
    roads = random_network(seed, size=5)
    finer = split(roads, 5)
    assert stretches(roads).max() == stretches(finer).max()
    assert (stretches(finer).reshape(-1, 5) == stretches(finer)[::5, np.newaxis]).all()
    ends = [Counter((run[0], run[-1]) for run in runs(network)) for network in (roads, finer)]
    assert ends[0] == ends[1]


def test_an_edge_that_a_map_has_twice_is_driven_once() -> None:
    """Of equal edges the first alone is in a run."""
    roads = network_of(BEND, BEND, ways="forward")
    assert Chains.of(roads).edge.tolist() == [0, 1, 2]
