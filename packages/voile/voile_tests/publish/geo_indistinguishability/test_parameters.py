"""Parameters are checked one by one and against each other."""

from __future__ import annotations

import math

import pytest

from voile.publish.geo_indistinguishability import GeoIndistinguishability
from voile.publish.geo_indistinguishability.parameters import GRID
from voile.publish.registry import publisher_of
from voile.schema.plan import Method
from voile_base.errors import InfeasibleError, PlanError

LEVELS = {"levels": [1, 2], "radii": [400], "level_limits": [5000]}
ROADS = {"levels": 2, "roads": "city.osm"}


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 0.005},
        {"epsilon": 0.005, "mechanism": "planar-laplace"},
        {"epsilon": 0.005, "mechanism": "angle-selection", "epsilon_angle": 5},
        {"epsilon": 0.005, "mechanism": "remaining-distance", "destination": [48.85, 2.35]},
        {"levels": 1.39, "radii": 400},
        {**LEVELS, "destination": [1, 2], "zones_by": "true"},
        {**LEVELS, "radii": [400, 1000], "radius_limits": [5000], "centre": (48, 2), "tau": 60},
        {"epsilon": 0.005, "fleet": "vans", "budget": 3, "distance": 50, "differences": "shifted"},
        ROADS,
        {**ROADS, "roads_nodes": "nodes.csv", "roads_within": 5, "radius_bounds": [50, 900]},
        {**ROADS, "levels": [1, 2], "level_limits": [5000], "mechanism": "planar-laplace"},
    ],
)
def test_what_can_be(given):
    """A plan may ask for these."""
    assert isinstance(
        publisher_of(Method("geo-indistinguishability", given)), GeoIndistinguishability
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "either epsilon .* is needed, or levels and radii"),
        ({"epsilon": 0.1, "levels": 1, "radii": 1}, "not both"),
        ({"epsilon": 0}, "epsilon must be a number above 0"),
        ({"epsilon": "much"}, "epsilon must be a number above 0"),
        ({"epsilon": 0.1, "mechanism": "planar"}, "did you mean 'planar-laplace'"),
        ({"epsilon": 0.1, "mechanism": 7}, "mechanism must be one of"),
        ({"epsilon": 0.1, "tau": -1}, "tau must be a number above 0"),
        ({"epsilon": 0.1, "tau": 60, "mechanism": "planar-laplace"}, "tau is of use for mechanism"),
        ({"epsilon": 0.1, "differences": "shifted", "mechanism": "planar-laplace"}, "differences"),
        ({"epsilon": 0.1, "epsilon_angle": 5}, 'epsilon_angle is of use for .*"angle-selection"'),
        ({"epsilon": 0.1, "mechanism": "angle-selection"}, "needs 'epsilon_angle'"),
        ({"levels": 1}, "levels need radii"),
        ({"epsilon": 0.1, "radii": 400}, "radii is of use with levels only"),
        ({"epsilon": 0.1, "centre": [1, 2]}, "centre is of use with levels only"),
        ({**LEVELS, "level_limits": []}, "level_limits must ascend .* one fewer"),
        ({**LEVELS, "level_limits": [5, 6]}, "level_limits must ascend .* one fewer"),
        ({**LEVELS, "radii": [1, 2], "radius_limits": [3]}, "radii that differ need a centre"),
        ({**LEVELS, "mechanism": "remaining-distance"}, "levels is of use for mechanism"),
        ({"epsilon": 0.1, "destination": [200, 2]}, "a latitude lies between"),
        ({"epsilon": 0.1, "destination": [116.3, 39.9]}, "latitude and longitude seem to be swap"),
        ({"epsilon": 0.1, "destination": [1]}, "must be a latitude and a longitude"),
        ({"epsilon": 0.1, "destination": ["a", 1]}, "must be a latitude and a longitude"),
        ({"epsilon": 0.1, "budget": 3}, "budget is of use with fleet only"),
        ({"epsilon": 0.1, "fleet": "vans"}, "fleet needs a budget"),
        ({"epsilon": 0.1, "fleet": "", "budget": 3}, "fleet must be a text"),
        ({"epsilon": 0.1, "delta": 1}, "delta must be a number between 0 and 1"),
        ({"epsilon": 0.1, "trips": "hidden"}, "trips must be one of 'kept', 'numbered'"),
        ({**LEVELS, "zones_by": "true", "fleet": "v", "budget": 1}, "has no bound"),
        ({**ROADS, "radii": 400}, "roads says the radii .* and radii by the distance to a centre"),
        ({**ROADS, "centre": [1, 2]}, "and centre by the distance to a centre"),
        ({"epsilon": 0.1, "roads": "city.osm"}, "roads is of use with levels only"),
        ({**LEVELS, "roads_within": 5}, "roads_within is of use with roads only"),
        ({**ROADS, "roads": 7}, "roads must be the name of a file"),
        ({**ROADS, "roads_within": 0}, "roads_within must be a whole number of at least 1"),
        ({**ROADS, "roads_within": 2.5}, "roads_within must be a whole number of at least 1"),
        ({**ROADS, "radius_bounds": [900, 50]}, "radius_bounds must be the smallest and the larg"),
        ({**ROADS, "radius_bounds": 900}, "radius_bounds must be the smallest and the largest"),
        ({**ROADS, "levels": [1, 2]}, "level_limits must ascend .* one fewer"),
        ({**ROADS, "zones_by": "true", "fleet": "v", "budget": 1}, "has no bound"),
        ({"epsilon": 0.1, "taus": 1}, "unknown key 'taus'; did you mean 'tau'"),
    ],
)
def test_what_cannot_be(given, message):
    """Each mistake is told with the parameter and what would do."""
    with pytest.raises(PlanError, match=message):
        publisher_of(Method("geo-indistinguishability", given))


def test_the_grid_limits_epsilon():
    """Noise so wide that directions in double precision are coarser than the grid is refused."""
    for mechanism in ({"mechanism": "planar-laplace"}, {}):
        GeoIndistinguishability(epsilon=1e-4, **mechanism)
    with pytest.raises(InfeasibleError, match=r"use a larger epsilon|use a coarser grid"):
        GeoIndistinguishability(epsilon=1e-6, mechanism="planar-laplace")
    with pytest.raises(InfeasibleError, match=r"use a larger epsilon|use a coarser grid"):
        GeoIndistinguishability(
            mechanism="planar-laplace", levels=0.001, roads="city.osm", radius_bounds=(1, 1000)
        )
    assert pytest.approx(0.111132 * math.cos(math.radians(80))) == GRID
