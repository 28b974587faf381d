"""Trajectories through the command line: files in, releases out, and what goes wrong."""

from __future__ import annotations

import json

import polars as pl
import pytest

PLAN = """
[method]
name = "geo-indistinguishability"
mechanism = "{mechanism}"
epsilon = 0.005
{more}
"""
LINES = """trip,time,latitude,longitude,driver,load
north-7,2024-05-01T08:00:00Z,48.8566,2.3522,Wilhelmina,3
north-7,2024-05-01T08:00:30Z,48.8576,2.3532,Wilhelmina,3
south-1,2024-05-01T08:00:10Z,48.8466,2.3422,Ann,5
north-7,2024-05-01T08:01:00Z,48.8586,2.3542,Wilhelmina,3
"""
SECRETS = ("48.85", "2.352", "Wilhelmina", "north-7")


@pytest.fixture(autouse=True)
def secrets(desk):
    """What no message may say."""
    object.__setattr__(desk, "secrets", SECRETS)


def plan(desk, mechanism="planar-laplace", more="", name="plan.toml", top=""):
    return desk.plan(top + PLAN.format(mechanism=mechanism, more=more), name)


def budget(desk, epsilon=3.0):
    return plan(desk, more=f'fleet = "vans"\nbudget = {epsilon}', name=f"b{epsilon}.toml")


def rows_of(folder, name="data.csv"):
    read = pl.read_csv if name.endswith("csv") else pl.read_parquet
    return read(folder / name)


@pytest.mark.parametrize(
    "mechanism", ["correlated-gaussian", "planar-laplace", "remaining-distance"]
)
def test_csv(desk, mechanism):
    """Trip and time stay, positions do not, and columns without a role are dropped."""
    more = "destination = [48.9, 2.4]" if mechanism == "remaining-distance" else ""
    folder, done = desk.publish(
        desk.file(LINES, "trips.csv"),
        plan=plan(desk, mechanism, more, top="[roles]\nkeep=['load']\n"),
    )
    rows = rows_of(folder)
    places = ["remaining"] if more else ["latitude", "longitude"]
    assert rows.columns == ["trip", "time", *places, "load"]
    assert rows["trip"].to_list() == ["north-7"] * 3 + ["south-1"]
    assert rows["load"].to_list() == [3, 3, 3, 5]
    assert done.document["decision"]["trips"] == 2
    text = (folder / "data.csv").read_text() + (folder / "release.json").read_text()
    assert "Wilhelmina" not in text
    assert "48.8566," not in text


def test_parquet(desk):
    """A Parquet file becomes one, with the types of trip and time that it had."""
    frame = pl.read_csv(desk.file(LINES, "trips.csv"), try_parse_dates=True)
    frame.write_parquet(desk / "trips.parquet")
    folder, _ = desk.publish(desk / "trips.parquet", plan=plan(desk))
    rows = rows_of(folder, "data.parquet")
    assert rows.schema["time"] == frame.schema["time"]
    assert rows["time"].sort().equals(frame["time"].sort())


def test_gpx(desk):
    """Tracks of receivers become CSV; elevations stay behind."""
    pytest.importorskip("gpxpy")
    points = "".join(
        f'<trkpt lat="48.8{i}" lon="2.3{i}"><ele>35</ele>'
        f"<time>2024-05-01T08:0{i}:00Z</time></trkpt>"
        for i in range(3)
    )
    track = f"<trk><name>run</name><trkseg>{points}</trkseg></trk>"
    head = '<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1">'
    folder, _ = desk.publish(desk.file(f"{head}{track}</gpx>", "run.gpx"), plan=plan(desk))
    rows = rows_of(folder)
    assert rows.columns == ["trip", "time", "latitude", "longitude"]
    assert rows["trip"].to_list() == ["run"] * 3


def test_a_release_can_be_attacked_and_read(desk):
    """What release.json says is enough for somebody who knows the mechanism."""
    folder, _ = desk.publish(desk.file(LINES, "trips.csv"), plan=plan(desk, "correlated-gaussian"))
    document = json.loads((folder / "release.json").read_text())
    assert document["method"]["tau"] == 120
    assert document["method"]["epsilon"] == 0.005
    assert document["guarantee"]["kind"] == "geo-indistinguishability"
    assert document["roles"]["trip"] == ["trip"]
    assert document["columns"]["latitude"]["law"] == {"kind": "correlated-gaussian", "tau": 120}
    assert document["publishable"]


@pytest.mark.slow
def test_the_budget_of_trips(desk):
    """A trip that would spend more than its budget stops all: exit 4, and nothing is published."""
    table, ledger = desk.file(LINES, "trips.csv"), desk / "ledger.db"
    _, done = desk.publish(table, "--ledger", ledger, plan=budget(desk), out="one")
    assert "trips charged: 2; the most that one of them has now spent is 1.48333" in done.stderr
    desk.publish(table, "--ledger", ledger, plan=budget(desk), out="two")
    message = desk.publish_fails(4, table, "--ledger", ledger, plan=budget(desk))
    assert "1 of 2 trips would spend more than their budget epsilon = 3" in message
    assert "begins in row 1" in message
    lines = LINES.split("\n")
    short = desk.file(f"{lines[0]}\n{lines[3]}\n", "short.csv")
    desk.publish(short, "--ledger", ledger, plan=budget(desk), out="three")
    verified = desk.run("ledger", "verify", desk / "one", desk / "three", "--ledger", ledger)
    assert verified.status == 0
    assert "1 fleets with 2 trips" in verified.stderr
    assert not any(secret.encode() in ledger.read_bytes() for secret in SECRETS)


ZONES = """
[method]
name = "geo-indistinguishability"
mechanism = "planar-laplace"
levels = [2, 1]
level_limits = [600]
radii = [200]
destination = [48.8566, 2.3522]
fleet = "vans"
budget = {budget}
"""


@pytest.mark.slow
def test_no_draw_decides_whether_trips_may_be_published(desk):
    """Where zones differ, trips are charged at the dearest before a draw, and given back the rest.

    Of three reports the first costs 0.5 and each other one 0.5 or 1, by where the one before it is
    drawn: a budget of 2.4 is refused every time, and one of 2.5 never.
    """
    table, ledger = desk.file(LINES, "trips.csv"), desk / "ledger.db"
    small, enough = (desk.plan(ZONES.format(budget=b), f"{b}.toml") for b in (2.4, 2.5))
    for _ in range(3):
        message = desk.publish_fails(4, table, "--ledger", ledger, plan=small)
        assert "1 of 2 trips might spend more than their budget" in message
        assert "count as if they fell into the zones where they cost most" in message
    assert not ledger.exists()
    for number in range(4):
        folder, done = desk.publish(
            table, "--ledger", desk / f"{number}.db", plan=enough, out=f"out{number}"
        )
        stated = json.loads((folder / "release.json").read_text())["guarantee"]["costliest_trip"]
        spent = stated["epsilon"]
        assert 1.5 <= spent <= 2.5
        assert f"the most that one of them has now spent is {spent:.6g}" in done.stderr
        shown = desk.run("ledger", "show", "--json", "--ledger", desk / f"{number}.db")
        (fleet,) = shown.document["fleets"]
        assert fleet["largest_spent"] == pytest.approx(spent)
        assert [entry["what"] for entry in fleet["entries"]] == ["release", "given back"]
        verified = desk.run("ledger", "verify", folder, "--ledger", desk / f"{number}.db")
        assert verified.status == 0


def test_trips_of_a_release_that_never_appears_stay_charged(desk, monkeypatch):
    """Who interrupts what was drawn has paid for the dearest that it could be."""

    def stop(*_arguments):
        raise KeyboardInterrupt

    table, ledger = desk.file(LINES, "trips.csv"), desk / "ledger.db"
    plan = desk.plan(ZONES.format(budget=2.5))
    with monkeypatch.context() as patched:
        patched.setattr("voile.study.run.check_release", stop)
        done = desk.run("publish", table, "--plan", plan, "--out", desk / "o", "--ledger", ledger)
    assert done.status == 130
    (fleet,) = desk.run("ledger", "show", "--json", "--ledger", ledger).document["fleets"]
    assert fleet["largest_spent"] == 2.5
    assert [entry["what"] for entry in fleet["entries"]] == ["attempt", "abandoned"]
    assert "1 of 2 trips might" in desk.publish_fails(4, table, "--ledger", ledger, plan=plan)


def test_other_terms_of_a_fleet(desk):
    """A budget that changed is refused with both."""
    table, ledger = desk.file(LINES, "trips.csv"), desk / "ledger.db"
    desk.publish(table, "--ledger", ledger, plan=budget(desk))
    message = desk.publish_fails(4, table, "--ledger", ledger, plan=budget(desk, 30.0))
    assert "fleet 'vans' was begun with budget = 3 at distance = 100 m" in message
    assert "the plan says budget = 30" in message


def test_a_fleet_needs_a_ledger(desk):
    """A budget of trips needs a file that remembers it; a plan without one says so."""
    table = desk.file(LINES, "trips.csv")
    message = desk.publish_fails(2, table, plan=budget(desk))
    assert "[method] fleet 'vans' needs a ledger" in message
    _, done = desk.publish(table, plan=plan(desk))
    assert "what trips spend was not accounted" in done.stderr


def test_a_budget_of_rows(desk):
    """[budget] is about rows, and is refused."""
    top = '[budget]\ndata_set = "x"\nepsilon = 3\n'
    table, ledger = desk.file(LINES, "trips.csv"), desk / "ledger.db"
    message = desk.publish_fails(2, table, "--ledger", ledger, plan=plan(desk, top=top))
    assert "name a fleet and a budget in [method]" in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("48.8576,", "98.8576,", "columns 'latitude' and 'longitude' seem to be swapped"),
        ("48.8576,", "198.8576,", "'latitude': row 2 is no latitude"),
        ("2.3532", "-190", "'longitude': row 2 is no longitude"),
        ("48.8576,", "north,", "column 'latitude' must hold degrees, and row 2 is no number"),
        ("48.8576,", ",", "'latitude' misses its value in 1 of 4 rows, first in row 2"),
        ("48.8576,2.3532", "0,0", "row 2 lies at latitude 0, longitude 0 (1 rows do)"),
        ("2024-05-01T08:00:30Z", "soon", "'time': row 2 is no time like the others"),
        ("08:00:30Z", "08:00:30", "'time': row 2 is no time like the others"),
        ("2024-05-01T08:00:00Z", "01.05.2024 08:00", "'time': row 1 is no time that can be read"),
        (",time,", ",when,", "[roles] time is the column 'time', which the table does not have"),
        ("\nsouth-1", "\n", "'trip' misses its value in 1 of 4 rows, first in row 3"),
    ],
)
def test_bad_rows(desk, old, new, message):
    """Each is told with its column and row, nothing is written, and no value is said."""
    assert message in desk.publish_fails(
        2, desk.file(LINES.replace(old, new, 1), "trips.csv"), plan=plan(desk)
    )


def test_what_is_out_of_the_ordinary(desk):
    """Times that run backwards, twins, gaps and single reports are published, and told."""
    lines = LINES + (
        "north-7,2024-05-01T08:00:30Z,48.8577,2.3533,Wilhelmina,3\n"
        "north-7,2024-05-03T08:00:30Z,48.8577,2.3533,Wilhelmina,3\n"
    )
    table = desk.file(lines, "trips.csv")
    folder, done = desk.publish(table, plan=plan(desk), out="all")
    assert len(rows_of(folder)) == 6
    assert "times run backwards once, in 1 trip;" in done.stderr
    assert "already: 1; each has noise of its own" in done.stderr
    folder, done = desk.publish(table, plan=plan(desk, "correlated-gaussian"), out="one")
    assert len(rows_of(folder)) == 5
    assert (done.document["rows_in"], done.document["suppressed"]) == (6, 1)
    assert "were left out: 1 (noise at one time is the same" in done.stderr
    assert "name their column in [roles] vehicle" in done.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("tau = 60", 'tau is of use for mechanism "correlated-gaussian" and "gaussian-field" only'),
        ("levels = 1\nradii = 400", "not both"),
        ("destination = [2.35, 48.85]", "seem to be swapped"),
        ("mechanisms = 3", "unknown key 'mechanisms'; did you mean 'mechanism'"),
    ],
)
def test_bad_plans(desk, more, message):
    """Parameters that contradict each other, or do not exist."""
    table = desk.file(LINES, "trips.csv")
    assert message in desk.publish_fails(2, table, plan=plan(desk, more=more))


def test_an_unknown_mechanism(desk):
    """The nearest one is named."""
    said = desk.publish_fails(2, desk.file(LINES, "trips.csv"), plan=plan(desk, "planar-laplce"))
    assert "did you mean 'planar-laplace'" in said


@pytest.mark.slow
def test_a_study_of_trips_says_what_it_cannot_do(desk):
    """A study publishes the trips; attacks and measures of tables that do not fit are skipped."""
    table = desk.file(LINES, "trips.csv")
    done = desk.run("study", table, "--plan", plan(desk), "--out", desk / "study", "--seed", 1)
    assert done.status == 0, done.stderr
    lines = done.stdout.splitlines()
    left_out = [line for line in lines if line.startswith("Left out: ")]
    assert left_out[0].startswith("Left out: all attacks on people (identification, prosecutor, ")
    assert len({line.rpartition(": ")[2] for line in left_out}) == len(left_out) < 6
    (header,) = (i for i, line in enumerate(lines) if line.startswith("utility "))
    measured = next(line for line in lines[header + 1 :] if "---" not in line)
    assert measured.startswith("Displacement of positions, m")


@pytest.mark.slow
def test_plans_for_trips_are_compared_by_what_trips_lose(desk):
    """By the error of arrival where a destination is known, and else by the displacement."""
    table = desk.file(LINES, "trips.csv")
    for number, (more, loss) in enumerate(
        [("", "trip-displacement"), ("destination = [48.9, 2.4]", "trip-arrival")]
    ):
        chosen = plan(desk, more=more, name=f"compared-{number}.toml")
        out = desk / f"compared-{number}"
        done = desk.run("compare", table, chosen, "--out", out, "--seed", 1, "--jobs", 1)
        assert done.status == 0, done.stderr
        assert f"loss: {loss}" in done.stdout
