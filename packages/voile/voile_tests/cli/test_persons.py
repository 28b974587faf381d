"""A person taken for a row: what no method publishes, and what ``voile inspect`` shows of it."""

from __future__ import annotations

import json

import pytest

from voile_testing.plugin import some_slow

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


@pytest.mark.parametrize(
    "method", some_slow(sorted({*METHODS} - {"dp-generalization"}), {"ranking"})
)
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


@pytest.mark.slow
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
        (
            HOMES.replace("A,f1,32", " \u200b,f1,32"),  # nothing that shows
            ["person: column 'patient' misses", "1 of 5", "row 2"],
        ),
        (HOMES.replace("C,f2", "C,"), ["household: column 'family' misses its value in 1 of 5"]),
        (
            HOMES.replace("A,f1,32", "A,f2,32"),
            ["household: 1 person stands in several households, first in row", "one household"],
        ),
        (HOMES.replace("patient", "person"), ["person names the column 'patient'", "not have"]),
    ],
)
def test_rows_that_do_not_say_whose_they_are(desk, table, words):
    """Exit 2, plan and table, the key, the column and the row; no value, and nothing written."""
    plan = desk.plan('missing = ["?"]\n' + FAMILIES)
    message = desk.publish_fails(2, desk.file(table), plan=plan)
    assert f": {plan}: [roles] " in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (HOMES, "household names the column 'row', which"),
        (HOMES.replace("family", "row").replace("C,f2", "C,"), "column 'row' misses its value"),
        (HOMES.replace("family", "row").replace("A,f1,32", "A,f2,32"), "in several households"),
    ],
)
def test_a_column_of_households_may_be_called_row(desk, table, words):
    """That word means nothing but the column: looked at as any other, and never published."""
    plan = FAMILIES.replace('"family"', '"row"')
    assert words in desk.publish_fails(2, desk.file(table), plan=desk.plan(plan))
    kept = desk.plan(plan.replace("[columns", 'keep = ["row"]\n[columns', 1))
    message = desk.publish_fails(2, desk.file(HOMES.replace("family", "row")), plan=kept)
    assert "household says that it tells households apart: it is never published" in message


@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_a_missing_person_is_no_category(desk, nulls):
    """Whatever becomes of other missing values."""
    plan = desk.plan(f'nulls = "{nulls}"\n' + FAMILIES)
    message = desk.publish_fails(2, desk.file(HOMES.replace("A,f1,32", ",f1,32")), plan=plan)
    assert "column 'patient' misses its value" in message


COUNTING = ("generalization", "mondrian", "m-shuffle", "ranking", "ke-anonymity")
"""Methods that count persons."""


@pytest.mark.parametrize("method", COUNTING)
def test_no_method_takes_rows_that_do_not_say_whose_they_are(desk, method):
    """Null persons and divided households are refused whatever counts them; nothing is written."""
    plan = plan_of(desk, method, 'person = "patient"')
    message = desk.publish_fails(2, desk.file(STAYS.replace("\nA,32", "\n,32")), plan=plan)
    assert f"{plan}: [roles] person: column 'patient' misses its value in 1 of 6" in message
    assert "first in row 2" in message
    header, *rows = STAYS.splitlines()
    homes = [f"family,{header}", *(f"f{number},{row}" for number, row in enumerate(rows))]
    plan = plan_of(desk, method, 'person = "patient"\nhousehold = "family"')
    message = desk.publish_fails(2, desk.file("\n".join(homes) + "\n"), plan=plan)
    assert (
        f"{plan}: [roles] household: 1 person stands in several households, first in row "
        in message
    )


@pytest.mark.parametrize("method", sorted({*METHODS} - {*COUNTING}))
def test_private_methods_ask_how_many_rows_of_a_person_take_part(desk, method):
    """A plan that names persons is not answered with a promise about rows."""
    plan = plan_of(desk, method, 'person = "patient"')
    message = desk.publish_fails(2, desk.file(STAYS), plan=plan)
    assert f"{plan}: [method] rows_per_person is missing" in message
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


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("customer_id", [1000 + n % 50 for n in range(200)], "looks like an id"),
        (
            "token",
            [f"{n * 2654435761 % 2**64:016x}" for n in range(200)],
            "holds numbers of records",
        ),
        ("remark", [f"word {n}" for n in range(200)], "looks like an id"),
    ],
)
def test_a_sensitive_column_that_is_an_id_is_refused(desk, name, values, says):
    """By its name and repetition, by how programs write, by a text of its own in each row."""
    rows = "".join(f"{20 + n % 40},{value}\n" for n, value in enumerate(values))
    table = desk.file(f"age,{name}\n{rows}")
    roles = f'quasi_identifiers = ["age"]\nsensitive = ["{name}"]\n'
    rest = '[columns.age]\nbounds = [0, 99]\n[method]\nname = "generalization"\nk = 2\n'
    plan = desk.plan(f"[roles]\n{roles}{rest}")
    message = desk.publish_fails(2, table, plan=plan)
    assert f"{plan}: [roles] sensitive: column '{name}' {says}" in message
    assert f'person = "{name}"' in message
    assert f'keep_unique = ["{name}"]' in message
    assert not any(str(value) in message for value in values[:5])
    checked = desk.run("plan", "--check", plan, table)
    assert checked.status == 2
    assert f'[roles] sensitive, column "{name}": column' in checked.stdout
    assert "in row " in checked.stdout
    rows_are_persons = desk.plan(f'[roles]\nperson = "row"\n{roles}{rest}')
    assert says in desk.publish_fails(2, table, plan=rows_are_persons)
    desk.publish(table, plan=desk.plan(f'[roles]\nkeep_unique = ["{name}"]\n{roles}{rest}'))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("salary", [1000 + 37 * n for n in range(200)]),
        ("diagnosis", [f"{250 + n % 90}.{n % 10}" for n in range(200)]),
        ("illness", [("flu", "gout", "cold")[n % 3] for n in range(200)]),
        ("visits_id", [n % 7 for n in range(200)]),
        ("weight", [50 + n / 7 for n in range(200)]),
    ],
)
def test_what_is_no_id_is_published(desk, name, values):
    """Amounts that no two rows share, codes of many values, few values: as before."""
    rows = "".join(f"{20 + n % 40},{value}\n" for n, value in enumerate(values))
    roles = f'[roles]\nquasi_identifiers = ["age"]\nsensitive = ["{name}"]\n'
    rest = '[columns.age]\nbounds = [0, 99]\n[method]\nname = "generalization"\nk = 2\n'
    desk.publish(desk.file(f"age,{name}\n{rows}"), plan=desk.plan(roles + rest))


@pytest.mark.parametrize(
    ("first", "second"), [("7", "7.0"), ("A ", "A"), ("\uff21\uff22", "AB"), ("a b", "a  b")]
)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_ids_that_differ_only_in_form_are_refused(desk, first, second, engine):
    """One person must not count as two: exit 2, with how many and the first row, without the id."""
    several = STAYS.replace("\nA,31", "\n@,31").replace("\nA", f"\n{first}")
    table = desk.file(several.replace("\n@", f"\n{second}"))
    plan = plan_of(desk, "mondrian", 'person = "patient"')
    out = desk / "never"
    failed = desk.run("publish", table, "--plan", plan, "--out", out, "--engine", engine)
    message = failed.stderr
    assert failed.status == 2
    assert not out.exists()
    assert f"{plan}: [roles] person: column 'patient': 1 id differs from another only in" in message
    assert "first in row 1" in message
    assert "in one form" in message
    assert second not in message.replace(str(plan), "").replace(str(table), "").split()
    assert "refused: " in desk.run("plan", "--check", plan, table).stdout


@pytest.mark.parametrize(("first", "second"), [("a", "A"), ("007", "7"), ("a-01", "a-1")])
def test_ids_that_may_be_one_are_told(desk, first, second):
    """A program may tell by letters; offices do not. It is published, and said with the row."""
    table = desk.file(STAYS.replace("\nA", f"\n{first}").replace("\nC,", f"\n{second},"))
    plan = plan_of(desk, "mondrian", 'person = "patient"')
    told = desk.publish(table, plan=plan)[1].stderr
    assert "1 id differs from another only in capital letters or zeros in front" in told
    assert "first in row 1" in told
    checked = desk.run("plan", "--check", plan, table)
    assert checked.status == 0
    assert "doubtful: " in checked.stdout
    assert "zeros in front" in checked.stdout


@pytest.mark.parametrize("mark", ["?", "NA", "Unknown", "unbekannt"])
def test_a_person_who_is_nobody_is_questioned(desk, mark):
    """Unless the plan says that it stands for a missing value, which is refused."""
    table = desk.file(STAYS.replace("\nC,64", f"\n{mark},64"))
    plan = plan_of(desk, "mondrian", 'person = "patient"')
    told = desk.publish(table, plan=plan)[1].stderr
    assert "in 1 of 6 rows, first in row 5, stands a mark such as" in told
    assert "stands a mark" in desk.run("plan", "--check", plan, table).stdout
    others, parameters = METHODS["mondrian"]
    said = f'missing = ["{mark}"]\n[roles]\nperson = "patient"\n{others}\n[method]\n{parameters}\n'
    assert "misses its value" in desk.publish_fails(2, table, plan=desk.plan(said))


@pytest.mark.slow
def test_a_ranking_counts_households(desk):
    """Four players of three families: a group of three families, and none of four."""
    table = desk.file("player,family,score\nA,f,9\nA,f,8\nB,f,8\nC,g,9\nD,h,7\n")
    plan = """
[roles]
person = "player"
household = "family"
ranking = ["score"]
[method]
name = "ranking"
top = 3
precision = 1
k = 3
"""
    folder, _ = desk.publish(table, plan=desk.plan(plan))
    release = json.loads((folder / "release.json").read_text())
    assert release["guarantee"]["unit"] == "household"
    assert "2 other households" in release["guarantee"]["statement"]
    fewer = plan.replace("k = 3", "k = 2").replace("top = 3", "top = 2")
    folder, _ = desk.publish(table, plan=desk.plan(fewer), out=desk / "fewer")
    release = json.loads((folder / "release.json").read_text())
    assert "at least 1 other household," in release["guarantee"]["statement"]
    message = desk.publish_fails(2, table, plan=desk.plan(plan.replace("top = 3", "top = 4")))
    assert "number of households, 3" in message
