"""``voile study --roads``: trips are followed with the study, and what is found stays private."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from voile_testing.towns import write_fleet


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_fleet(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


STUDY = ("study", "fleet.csv", "--plan", "plan.toml", "--out", "out")


@pytest.mark.slow
def test_a_study_shows_maps_of_its_trips(desk, folder):
    """In the private folder alone: figures for programs, and a report that holds its maps."""
    done = desk.run(*STUDY, "--roads", "town.csv")
    assert done.status == 0, done.stderr
    assert "2 trips were followed on the map" in done.stderr
    assert "secret" not in done.stderr
    lines = done.stdout.splitlines()
    assert "PRIVATE" in lines[0].upper()
    assert [line for line in lines if line.startswith("informed")], "what they find is printed"
    assert "95% intervals over trips" in done.stdout
    private, release = folder / "out" / "private", folder / "out" / "release"
    found = json.loads((private / "trips.json").read_text())
    assert next(iter(found)) == "private"
    assert {one["adversary"] for one in found["adversaries"]} >= {"none", "informed"}
    report = (private / "report.html").read_text()
    assert "PRIVATE" in report.splitlines()[0]
    assert "secret &lt;A&gt;" in report
    maps = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', report)
    assert len(maps) == 2
    for one in maps:
        drawn = base64.b64decode(one).decode()
        ElementTree.fromstring(drawn)
        assert "PRIVATE" in drawn
        assert "inferred" in drawn
    assert sorted(path.name for path in release.iterdir()) == [
        "data.csv",
        "release.json",
        "verify.html",
    ]
    assert "inferred" not in (release / "release.json").read_text()
    assert {path.stat().st_mode & 0o77 for path in [private, private / "trips.json"]} == {0}


@pytest.mark.slow
def test_trips_off_the_map_are_said_and_the_study_stands(desk, folder):
    """A map of another city spoils nothing: the study says that no trip lies on it."""
    town = (folder / "town.csv").read_text()
    (folder / "elsewhere.csv").write_text(re.sub(r"\b48\.", "58.", town))
    done = desk.run(*STUDY, "--roads", "elsewhere.csv")
    assert done.status == 0, done.stderr
    assert "No trip was followed: no trip lies on the map" in done.stderr
    assert "(100%) lie off the map" in done.stderr
    private = folder / "out" / "private"
    assert "left_out" in json.loads((private / "trips.json").read_text())
    assert "No trip was followed" in (private / "report.html").read_text()


def test_a_map_that_is_none_is_met_before_anything_is_published(desk, folder):
    """And so are nodes without a map; nothing stands at the place of the study."""
    for more, said in ((("--roads", "none.osm"), "no such map"), (("--nodes", "n"), "--roads")):
        assert said in desk.fails(2, *STUDY, *more)
        assert not (folder / "out").exists()
