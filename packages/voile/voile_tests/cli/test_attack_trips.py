"""``voile attack --roads`` on a release of trips."""

from __future__ import annotations

import numpy as np
import pytest

PLAN = '[method]\nname = "geo-indistinguishability"\nepsilon = 0.05\n'
NODES = "node_id,lat,lon\n" + "".join(
    f"{10 * i + j},{39.9 + 0.002 * i:.4f},{116.3 + 0.002 * j:.4f}\n"
    for i in range(10)
    for j in range(10)
)
EDGES = "source,target,highway\n" + "".join(
    f"{10 * i + j},{10 * k + m},residential\n"
    for i in range(10)
    for j in range(10)
    for k, m in ((i + 1, j), (i, j + 1), (i - 1, j), (i, j - 1))
    if 0 <= k < 10 and 0 <= m < 10
)


@pytest.fixture
def published(desk):
    """Three trucks along three roads, published; the folder, the trips, the map and its nodes."""
    rows = ["trip,time,latitude,longitude"]
    for trip in range(3):
        for report, along in enumerate(np.linspace(0, 0.016, 12)):
            place = f"{39.904 + 0.002 * trip:.6f},{116.3 + along:.6f}"
            rows.append(f"T{trip},{1_700_000_000 + 30 * report},{place}")
    trips = desk.file("\n".join(rows) + "\n", "trips.csv")
    folder, _ = desk.publish(trips, "--seed", 3, plan=desk.plan(PLAN), out="moved")
    return folder, trips, desk.file(EDGES, "edges.csv"), desk.file(NODES, "nodes.csv")


@pytest.mark.slow
def test_trips_are_followed_on_a_map(desk, published):
    """Five adversaries, each with metres and roads, in text and in JSON; the output is private."""
    folder, trips, edges, nodes = published
    call = ("attack", folder, "--against", trips, "--roads", edges, "--nodes", nodes, "--seed", 1)
    done = desk.run(*call)
    assert done.status == 0, done.stderr
    assert done.stdout.startswith("PRIVATE")
    assert "3 trips of 36 reports" in done.stdout
    found = desk.run(*call, "--json").document["adversaries"]
    assert [one["adversary"] for one in found] == [
        "none", "median", "smoother", "map-matching", "informed",
    ]  # fmt: skip
    assert all(one["error_metres"]["value"] < 150 for one in found)


@pytest.mark.slow
def test_columns_have_the_names_that_the_release_gives_them(desk, published):
    """Trips whose columns have other names are followed without a plan that names them again."""
    _, trips, edges, nodes = published
    roles = '[roles]\ntrip = "Fahrt"\ntime = "Uhr"\nlatitude = "Breite"\nlongitude = "Länge"\n'
    _, *reports = trips.read_text().splitlines()
    fahrten = desk.file("\n".join(["Fahrt,Uhr,Breite,Länge", *reports]) + "\n", "fahrten.csv")
    folder, _ = desk.publish(fahrten, "--seed", 3, plan=desk.plan(roles + PLAN), out="fahrten")
    call = ("attack", folder, "--roads", edges, "--nodes", nodes, "--seed", 1)
    done = desk.run(*call, "--against", fahrten)
    assert done.status == 0, done.stderr
    assert "3 trips of 36 reports" in done.stdout
    other = desk.run(*call, "--against", trips)
    assert other.status == 2
    assert "no column 'Fahrt'; name its columns in a plan ([roles])" in other.stderr


def test_one_trip_is_too_few_and_what_is_left_out_is_said(desk, published):
    """Of one trip values stand without intervals, JSON has no infinity, and notes are in both."""
    folder, trips, edges, nodes = published
    call = ("attack", folder, "--against", trips, "--roads", edges, "--nodes", nodes, "--seed", 1)
    done = desk.run(*call, "--targets", 1)
    assert done.status == 0, done.stderr
    assert "1 trip of 12 reports" in done.stdout
    assert done.stdout.count("too few trips to say") == 10
    assert "inf" not in done.stdout.replace("informed", "")
    assert "Note: 2 trips that were not drawn: not followed" in done.stdout
    made = desk.run(*call, "--targets", 1, "--json")
    assert "Infinity" not in made.stdout
    assert made.document["notes"][0] == "2 trips that were not drawn: not followed"
    assert made.document["adversaries"][0]["error_metres"]["high"] is None


@pytest.mark.slow
def test_figures_of_who_loses_trucks_are_marked_as_lower_bounds(desk, published):
    """With a limit of 10 km/h for trucks at 15: in the table, in the JSON and in a note."""
    folder, trips, edges, nodes = published
    call = ("attack", folder, "--against", trips, "--roads", edges, "--nodes", nodes, "--seed", 1)
    for more, bounded in (((), False), (("--fastest", 10), True)):
        done = desk.run(*call, *more)
        assert done.status == 0, done.stderr
        lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
        assert "lost" in lines["adversary"].split()
        assert ("at least" in lines["informed"]) is ("at most" in lines["informed"]) is bounded
        assert "at least" not in lines["none"]
        assert ("is a lower bound" in done.stdout) is bounded
        document = desk.run(*call, *more, "--json").document
        found = {one["adversary"]: one for one in document["adversaries"]}
        assert (found["informed"]["reports_beyond"] > 0) is bounded
        assert found["informed"]["lower_bound"] is bounded
        assert found["none"]["lower_bound"] is False
        assert all(isinstance(one["lost_reports"], int) for one in found.values())
        limit = "10 km/h" if bounded else "101 km/h"
        assert any(note.endswith(f"faster than {limit}") for note in document["notes"])


@pytest.mark.slow
def test_a_speed_that_cannot_be_is_refused(desk, published):
    """0, less, and no number; and a speed or nodes without a map."""
    folder, trips, edges, nodes = published
    call = ("attack", folder, "--against", trips)
    for speed in ("0", "-5", "nan", "inf"):
        done = desk.run(*call, "--roads", edges, "--nodes", nodes, "--fastest", speed)
        assert done.status == 2
        assert "fastest" in done.stderr
    for option in (("--fastest", 90), ("--nodes", nodes)):
        done = desk.run(*call, *option)
        assert done.status == 2
        assert f"{option[0]} is of no use here" in done.stderr


@pytest.mark.slow
def test_what_is_missing_is_said(desk, published):
    """A map and the original are needed, and a map that is none is refused: exit 2."""
    folder, trips, edges, _ = published
    for call, said in (
        (("--against", trips), "--roads"),
        (("--roads", edges), "--against"),
        (("--against", trips, "--roads", edges), "table of nodes"),
        (("--against", trips, "--roads", trips), "source and target"),
        (("--against", trips, "--roads", edges, "--link", "trip"), "--link"),
    ):
        done = desk.run("attack", folder, *call)
        assert done.status == 2
        assert said in done.stderr


@pytest.mark.slow
def test_a_van_over_days_from_plan_to_what_knowledge_adds(desk):
    """Noise that stays is published twice by one secret, and followed by who knows more.

    The second release of the same trips shows nearly the same positions; the table of adversaries
    has a row for each kind of knowledge, and one for all.
    """
    rows = ["trip,time,latitude,longitude,van"]
    for trip in range(3):
        for report, along in enumerate(np.linspace(0, 0.016, 12)):
            time = 1_700_000_000 + 86_400 * trip + 30 * report
            rows.append(f"T{trip},{time},{39.904 + 0.002 * trip:.6f},{116.3 + along:.6f},A")
    trips = desk.file("\n".join(rows) + "\n", "trips.csv")
    plan = desk.plan(
        '[roles]\nvehicle = "van"\n[method]\nname = "geo-indistinguishability"\nepsilon = 0.05\n'
        'mechanism = "gaussian-field"\nstays = 0.99\nsecret = "fields.secret"\n'
    )
    folder, _ = desk.publish(trips, plan=plan, out="moved")
    again, _ = desk.publish(trips, plan=plan, out="again")
    one, other = (
        np.loadtxt(out / "data.csv", delimiter=",", skiprows=1, usecols=(2, 3))
        for out in (folder, again)
    )
    assert 0 < np.abs(one - other).mean() < 1e-4
    assert "fields.secret" not in (folder / "release.json").read_text()
    assert "A" not in {line.split(",")[-1] for line in (folder / "data.csv").read_text().split()}
    places = desk.file("latitude,longitude\n39.904,116.308\n", "doors.csv")
    movement = desk.file("usual = 5\n", "movement.toml")
    call = ("attack", folder, "--against", trips, "--seed", 1)
    call += ("--roads", desk.file(EDGES, "edges.csv"), "--nodes", desk.file(NODES, "nodes.csv"))
    knows = ("--vehicle", "van", "--knows", "start", "--places", places, "--movement", movement)
    done = desk.run(*call, *knows)
    assert done.status == 0, done.stderr
    for name in ("start", "known places", "all days", "all of this"):
        assert f"informed, {name}" in done.stdout
    refused = desk.run("attack", folder, "--against", trips, "--vehicle", "van")
    assert refused.status == 2
    assert "--vehicle is of no use here" in refused.stderr
    absent = desk.run(*call, "--vehicle", "truck")
    assert absent.status == 2
    assert "no column 'truck'" in absent.stderr
