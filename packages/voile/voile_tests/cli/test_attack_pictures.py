"""``voile attack --pictures``: a map of each trip and a page of the fleet, private and whole."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from voile.attack.trajectory.reports import put, stops_of
from voile_testing.towns import write_fleet


@pytest.fixture
def folder(tmp_path: Path, desk, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_fleet(tmp_path)
    monkeypatch.chdir(tmp_path)
    made = desk.run("publish", "fleet.csv", "--plan", "plan.toml", "--out", "out")
    assert made.status == 0, made.stderr
    return tmp_path


@pytest.mark.slow
def test_each_trip_has_a_map_and_the_worst_comes_first(desk, folder):
    """Files for their owner alone, whose names tell nothing, and a page that asks for no more."""
    attack = ["attack", "out", "--against", "fleet.csv", "--plan", "plan.toml"]
    done = desk.run(*attack, "--roads", "town.csv", "--pictures", "maps")
    assert done.status == 0, done.stderr
    assert "2 maps (private): maps/fleet.html" in done.stderr
    made = sorted(path.name for path in (folder / "maps").iterdir())
    assert made == ["fleet.html", "trip-001.svg", "trip-002.svg"]
    assert {path.stat().st_mode & 0o77 for path in (folder / "maps").iterdir()} == {0}
    page = (folder / "maps" / "fleet.html").read_text()
    assert "PRIVATE" in page.splitlines()[0]
    assert "secret &lt;A&gt;" in page
    assert "<A>" not in page
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page)) == set(made) - {"fleet.html"}
    shares = [int(share) for share in re.findall(r"he puts (\d+)% on the right road", page)]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 2
    assert re.search(r"puts [01] of 1 stops to within 100 m", page)
    for name in made[1:]:
        drawn = (folder / "maps" / name).read_text()
        ElementTree.fromstring(drawn)
        assert "true path" in drawn
        assert "inferred" in drawn
    assert any("true stops (1)" in (folder / "maps" / name).read_text() for name in made[1:])


@pytest.mark.slow
def test_one_trip_is_one_map(desk, folder):
    """In words, too; the page has the share of all reports, and the mean of trips of the table."""
    attack = ["attack", "out", "--against", "fleet.csv", "--roads", "town.csv", "--targets", "1"]
    done = desk.run(*attack, "--pictures", "maps", "--json")
    assert done.status == 0, done.stderr
    assert "1 map (private): maps/fleet.html" in done.stderr
    page = (folder / "maps" / "fleet.html").read_text()
    assert "of 20 reports of 1 trip on the right road; the mean of the shares" in page


def test_pictures_need_a_map_and_a_new_folder(desk, folder):
    """Nothing is overwritten, and nothing is left behind by a call that is refused."""
    attack = ["attack", "out", "--against", "fleet.csv", "--pictures", "maps"]
    refused = desk.run(*attack)
    assert refused.status == 2
    assert "--pictures is of no use here" in refused.stderr
    (folder / "maps").mkdir()
    (folder / "maps" / "mine.txt").write_text("kept")
    refused = desk.run(*attack, "--roads", "town.csv")
    assert refused.status == 2
    assert "something is here already" in refused.stderr
    assert [path.name for path in (folder / "maps").iterdir()] == ["mine.txt"]


def test_stops_are_runs_of_reports_at_a_place():
    """Five minutes within 100 m are a stop; who infers a path puts it at the mean meanwhile."""
    time = np.arange(30) * 60.0
    place = np.zeros((30, 2))
    place[:, 0] = np.concatenate(
        (np.arange(10) * 500, np.full(10, 5_000), 5_000 + np.arange(10) * 500)
    )
    place[12, 0] += 90
    (stop,) = stops_of(time, place)
    assert (stop.first, stop.last) == (10, 20)
    assert put(stop, place + np.array([30, 40])) - stop.place == pytest.approx([30, 40])
    assert stops_of(time, np.arange(60).reshape(30, 2) * 500.0) == []
    assert len(stops_of(time[:6], np.zeros((6, 2)))) == 1
    assert stops_of(time[:5], np.zeros((5, 2))) == []
