"""Studio and trips: a map is chosen where a plan is published, and the report shows maps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from studio_tests.studio import Visitor
from voile_testing.towns import write_fleet


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    """Somebody who has opened a fleet, with the plan that stands beside it."""
    write_fleet(tmp_path)
    found = Visitor(tmp_path)
    found.post("/open", source="fleet.csv")
    found.wait("/p/fleet/data", "<h2>Columns</h2>")
    found.post(
        "/p/fleet/plan/text",
        text=(tmp_path / "plan.toml").read_text(),
        digest=found.digest("/p/fleet/plan"),
    )
    return found


@pytest.mark.slow
def test_a_release_of_trips_is_followed_on_a_chosen_map(visitor: Visitor):
    """The evidence has what adversaries found, and the private report their maps."""
    page = visitor.get("/p/fleet/sign").text
    assert "<option>town.csv</option>" in page
    fields = {
        name: re.search(f'name="{name}" value="([^"]*)"', page)[1] for name in ("digest", "number")
    }
    refused = visitor.post("/p/fleet/release", **fields, roads="../town.csv")
    assert "no such map" in refused.text
    visitor.post("/p/fleet/release", **fields, roads="town.csv")
    visitor.wait("/p/fleet/sign", "Release 1</h2>")
    evidence = visitor.get("/p/fleet/evidence").text
    assert "Trips followed on a map" in evidence
    assert "<h3>Attacks</h3>" not in evidence  # none but these applied
    report = visitor.get("/p/fleet/releases/001/report").text
    assert report.count("data:image/svg+xml;base64,") == 2
    assert "PRIVATE" in report
