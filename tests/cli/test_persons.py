"""A person taken for a row: what no method publishes, and what ``voile inspect`` shows of it."""

from __future__ import annotations

import json

import pytest

STAYS = """\
patient,age,illness,score
A,31,flu,1
A,32,flu,2
A,34,gout,3
B,62,cold,4
C,64,flu,5
D,65,gout,6
"""
PEOPLE = """
quasi_identifiers = ["age"]
sensitive = ["illness"]

[columns.age]
bounds = [0, 120]
intervals = { widths = [10, 60] }
"""
METHODS = {
    "generalization": (PEOPLE, 'name = "generalization"\nalgorithm = "flash"\nk = 3'),
    "mondrian": (PEOPLE, 'name = "generalization"\nk = 3\nalgorithm = "mondrian"'),
    "ke-anonymity": (
        'quasi_identifiers = ["illness"]\nsensitive = ["age"]\n',
        'name = "ke-anonymity"\nk = 3\ne = 2',
    ),
    "m-shuffle": (PEOPLE, 'name = "m-shuffle"\nclusters = 3'),
    "clustered-laplace": (
        'quasi_identifiers = ["age"]\n[columns.age]\nbounds = [0, 120]\n',
        'name = "clustered-laplace"\nepsilon = 1\nshares = [1.0]',
    ),
    "dp-generalization": (PEOPLE, 'name = "dp-generalization"\nk = 2\nepsilon_choice = 9'),
    "ranking": ('ranking = ["score"]\n', 'name = "ranking"\nk = 2\ntop = 4'),
}
TRIPS = "trip,time,latitude,longitude,patient\n" + "".join(
    f"{trip},{time},40.{time},2.{time},{patient}\n"
    for trip, patient in (("t1", "A"), ("t2", "B"))
    for time in (1, 2)
)


def plan_of(desk, method, roles):
    """A plan for the stays in which the patients have these roles."""
    others, parameters = METHODS[method]
    return desk.plan(f"[roles]\n{roles}\n{others}\n[method]\n{parameters}\n")


@pytest.mark.parametrize("method", METHODS)
def test_six_rows_of_which_three_are_one_persons_do_not_pass(desk, method):
    """At k = 3 patient A would be a group alone; exit 2 names plan, key, column and ways out."""
    table = desk.file(STAYS)
    plan = plan_of(desk, method, 'identifiers = ["patient"]')
    message = desk.publish_fails(2, table, plan=plan)
    assert message.startswith(f"voile: {plan}: [roles] identifiers: column 'patient' repeats (6 ro")
    assert 'person = "row"' in message
    plan = plan_of(desk, method, 'keep = ["patient"]')
    message = desk.publish_fails(2, table, plan=plan)
    assert message.startswith(f"voile: {plan}: [roles] keep: column 'patient' singles out rows (3 ")
    assert 'keep_unique = ["patient"]' in message


@pytest.mark.parametrize("method", sorted({*METHODS} - {"dp-generalization"}))
def test_the_ways_out(desk, method):
    """Who says so publishes: each row is a person, and the column may single out rows."""
    table = desk.file(STAYS)
    said = plan_of(desk, method, 'identifiers = ["patient"]\nperson = "row"')
    desk.publish(table, "--seed", 1, plan=said, out="rows")
    said = plan_of(desk, method, 'keep = ["patient"]\nkeep_unique = ["patient"]')
    desk.publish(table, "--seed", 1, plan=said, out="kept")
    assert "patient" in (desk / "kept" / "data.csv").read_text().splitlines()[0].split(",")


def test_what_would_have_passed(desk):
    """The refused release has two groups of three rows, and one of them is patient A alone."""
    said = plan_of(desk, "generalization", 'identifiers = ["patient"]\nperson = "row"')
    folder, _ = desk.publish(desk.file(STAYS), plan=said)
    rows = [line.split(",")[:3] for line in (folder / "data.csv").read_text().splitlines()[1:]]
    assert rows == [["1", "30", "39"]] * 3 + [["2", "60", "69"]] * 3


def test_trips(desk):
    """Columns of trajectories repeat by nature; an identifier beside them is held to the rule."""
    table = desk.file(TRIPS)
    method = '\n[method]\nname = "geo-indistinguishability"\nepsilon = 0.01\n'
    plan = desk.plan('[roles]\nidentifiers = ["patient"]\n' + method)
    message = desk.publish_fails(2, table, plan=plan)
    assert "column 'patient' repeats (4 rows, 2 different values)" in message
    assert "several reports or trips" in message
    desk.publish(table, plan=desk.plan("[roles]\n" + method))
    desk.publish(
        table,
        plan=desk.plan('[roles]\nidentifiers = ["patient"]\nperson = "row"\n' + method),
        out="said",
    )
    plan = desk.plan('[roles]\nkeep = ["load"]\n' + method)
    loads = TRIPS.replace("patient", "load").replace(",A\n", ",l1\n", 1)
    loads = loads.replace(",B\n", ",l2\n", 1)
    message = desk.publish_fails(2, desk.file(loads, "loads.csv"), plan=plan)
    assert "keep: column 'load' singles out rows (4 of its 4" in message


@pytest.mark.parametrize("command", ["study", "compare"])
def test_studies_refuse_it_too(desk, command):
    """Whoever makes a release is told; a comparison none of whose studies can be made, too."""
    table, plan = desk.file(STAYS), plan_of(desk, "generalization", 'identifiers = ["patient"]')
    named = [plan] if command == "compare" else ["--plan", plan]
    message = desk.fails(2, command, table, *named, "--out", desk / "out")
    assert f"{plan}: [roles] identifiers: column 'patient' repeats" in message


def test_a_rehearsal_asks_for_nothing_more(desk):
    """What the release was allowed its rehearsal is: rows with their numbers, fewer than all."""
    rows = "".join(f"P{i},{30 + i % 4},{i % 3},{i // 2}\n" for i in range(80))
    table = desk.file("patient,age,illness,room\n" + rows)
    plan = desk.plan(
        '[roles]\nidentifiers = ["patient"]\nquasi_identifiers = ["age"]\nkeep = ["room"]\n'
        '[columns.age]\nbounds = [0, 120]\n[method]\nname = "generalization"\nk = 4\n'
    )
    asked = ["--out", desk / "out", "--seed", 1, "--attacks", "membership", "--held-out", 0.5]
    done = desk.run("study", table, "--plan", plan, *asked, "--json")
    assert done.status == 0, done.stderr
    assert done.document["evidence"]["rehearsed"][0] == "membership"


def test_inspect_shows_both(desk):
    """Identifiers that repeat, kept columns that single out rows, and whether they may."""
    table = desk.file(STAYS)
    roles = 'identifiers = ["patient"]\nkeep = ["score", "illness"]\nquasi_identifiers = ["age"]\n'
    silent = desk.plan(f"[roles]\n{roles}")
    done = desk.run("inspect", table, "--plan", silent)
    assert done.status == 0, done.stderr
    assert "identifiers: column 'patient' repeats (6 rows, 4 different values)" in done.stdout
    assert "keep: column 'score' singles out rows (6 of its 6 different values" in done.stdout
    assert "'illness'" not in done.stdout
    assert 'person = "patient", if it tells persons apart, or person = "row"' in done.stdout
    assert 'needs keep_unique = ["score"]' in done.stdout
    document = desk.run("inspect", table, "--plan", silent, "--json").document
    assert [(d["column"], d["allowed"]) for d in document["rows_as_persons"]] == [
        ("patient", False),
        ("score", False),
    ]
    once = {column["name"]: column["once"] for column in document["columns"]}
    assert once == {"patient": 3, "age": 6, "illness": 1, "score": 6}
    said = desk.plan(f'[roles]\nperson = "row"\nkeep_unique = ["score"]\n{roles}')
    document = desk.run("inspect", table, "--plan", said, "--json").document
    assert [d["allowed"] for d in document["rows_as_persons"]] == [True, True]
    assert "each row is another person" in desk.run("inspect", table, "--plan", said).stdout
    assert "rows_as_persons" not in desk.run("inspect", table, "--json").document


def test_a_suggested_plan_publishes(desk):
    """What ``inspect --suggest`` prints, pasted below the roles, makes a plan that works."""
    rows = "".join(f"P{i},{20 + i % 40},{10115 + i % 5}\n" for i in range(200))
    table = desk.file("patient,age,zip\n" + rows)
    roles = '[roles]\nidentifiers = ["patient"]\nquasi_identifiers = ["age", "zip"]\n'
    bounds = "[columns.age]\nbounds = [0, 120]\n"
    asked = desk.run("inspect", table, "--plan", desk.plan(roles + bounds), "--suggest")
    plan = desk.plan(f'{roles}{asked.stdout}\n[method]\nname = "generalization"\nk = 5\n')
    desk.publish(table, plan=plan)


def test_inspect_shows_persons(desk):
    """How many there are, how many rows they have, and how few of them share a group."""
    table = desk.file(STAYS)
    roles = '[roles]\nperson = "patient"\nidentifiers = ["patient"]\nquasi_identifiers = ["age"]\n'
    plan = desk.plan(roles)
    shown = desk.run("inspect", table, "--plan", plan).stdout
    assert "4 persons by column 'patient'; 3 have one row, and nobody has more than 3" in shown
    assert "fewest persons   1 in a group; 6 groups are of one person alone" in shown
    assert "the plan names the person of each row" in shown
    document = desk.run("inspect", table, "--plan", plan, "--json").document
    assert document["units"] == {
        "protected": "person",
        "column": "patient",
        "units": 4,
        "once": 3,
        "most_rows": 3,
    }
    assert document["exposure"]["fewest_units"] == 1


HOMES = """\
patient,family,age,illness
A,f1,31,flu
A,f1,32,flu
B,f1,34,gout
C,f2,32,cold
D,f3,34,flu
"""
FAMILIES = """
[roles]
person = "patient"
household = "family"
quasi_identifiers = ["age"]
sensitive = ["illness"]

[columns.age]
bounds = [0, 120]
intervals = { widths = [10, 60] }

[method]
name = "generalization"
k = 3
"""


def test_households_are_counted_where_they_are_named(desk):
    """Four patients are three families: k = 3 publishes, k = 4 cannot."""
    folder, _ = desk.publish(desk.file(HOMES), plan=desk.plan(FAMILIES))
    release = json.loads((folder / "release.json").read_text())
    assert release["guarantee"]["unit"] == "household"
    assert "2 other households" in release["guarantee"]["statement"]
    header = (folder / "data.csv").read_text().splitlines()[0]
    assert header == "group,age.low,age.high,illness"
    message = desk.publish_fails(
        3, desk.file(HOMES), plan=desk.plan(FAMILIES.replace("= 3", "= 4"))
    )
    assert "the table has 3 households, and k = 4" in message


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            HOMES.replace("A,f1,32", ",f1,32"),
            ["person: column 'patient' misses", "1 of 5", "row 2"],
        ),
        (
            HOMES.replace("A,f1,32", "?,f1,32"),
            ["person: column 'patient' misses", "first in row 2"],
        ),
        (HOMES.replace("C,f2", "C,"), ["household: column 'family' misses its value in 1 of 5"]),
        (HOMES.replace("A,f1,32", "A,f2,32"), ["household: 1 more pairs", "(4)", "one household"]),
        (HOMES.replace("patient", "person"), ["person names the column 'patient'", "not have"]),
    ],
)
def test_rows_that_do_not_say_whose_they_are(desk, table, words):
    """Exit 2, the plan, the key, the column and the row; no value, and nothing written."""
    plan = desk.plan('missing = ["?"]\n' + FAMILIES)
    message = desk.publish_fails(2, desk.file(table), plan=plan)
    assert message.startswith(f"voile: {plan}: [roles] ")
    for word in words:
        assert word in message


@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_a_missing_person_is_no_category(desk, nulls):
    """Whatever becomes of other missing values."""
    plan = desk.plan(f'nulls = "{nulls}"\n' + FAMILIES)
    message = desk.publish_fails(2, desk.file(HOMES.replace("A,f1,32", ",f1,32")), plan=plan)
    assert "column 'patient' misses its value" in message


@pytest.mark.parametrize("method", sorted({*METHODS} - {"generalization", "mondrian"}))
def test_methods_that_count_rows_refuse_persons(desk, method):
    """A plan that names persons is not answered with a promise about rows."""
    plan = plan_of(desk, method, 'person = "patient"')
    message = desk.publish_fails(2, desk.file(STAYS), plan=plan)
    assert f"{plan}: [roles] person names a column, and the method {method} counts" in message
    assert 'person = "row"' in message


def test_a_kept_column_that_stands_for_persons(desk):
    """A value that stands with one person only singles that person out, in however many rows."""
    rows = "".join(f"P{i // 2},N{i // 2},{30 + i % 3},x\n" for i in range(20))
    table = desk.file("patient,alias,age,illness\n" + rows)
    roles = '[roles]\nperson = "patient"\nkeep = ["alias"]\nquasi_identifiers = ["age"]\n'
    method = '[columns.age]\nbounds = [0, 99]\n[method]\nname = "generalization"\nk = 2\n'
    message = desk.publish_fails(2, table, plan=desk.plan(roles + method))
    assert "keep: column 'alias' singles out persons (10 of its 10" in message
    assert "finds the person" in message
