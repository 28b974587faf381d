"""The plane of a road network, wherever on earth it lies."""

from __future__ import annotations

import numpy as np
import pytest

from voile_geo.roads.nearest import NearbyRoads
from voile_testing.towns import network_of


@pytest.mark.parametrize("middle", [10.0, -179.995, 179.999, -180.0])
def test_a_map_may_lie_across_the_date_line(middle: float) -> None:
    """Positions within it are metres from its middle; the nearest road is found on either side."""
    longitude = [(middle + step + 180) % 360 - 180 for step in (-0.02, -0.01, 0.01, 0.02)]
    roads = network_of([(-17.0, east) for east in longitude], [(-16.9, east) for east in longitude])
    assert roads.origin[0] == pytest.approx(-16.95)
    assert -180 <= roads.origin[1] < 180
    assert abs((roads.origin[1] - middle + 180) % 360 - 180) < 1e-9
    assert np.abs(roads.plane[:, 0]).max() < 2_200
    assert np.abs(roads.plane[:, 1]).max() < 5_600
    assert roads.length.max() < 2_200
    at = np.full(4, -17.001), np.array(longitude)
    near = NearbyRoads(roads).nearest(*at)
    assert (near.distance < 112).all()
    assert (near.edge < 6).all()
    back = roads.to_degrees(roads.plane)
    assert back[1] == pytest.approx(roads.longitude, abs=1e-7)
