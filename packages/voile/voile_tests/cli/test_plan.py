"""``voile plan``: a proposal that can be published with, and a plan held against a table."""

from __future__ import annotations

import json
import tomllib

import polars as pl
import pyreadstat
import pytest

PEOPLE = "id,age,sex,zip,illness\n" + "".join(
    f"{100 + n},{20 + n % 30},{1 + n % 2},{'ABCDE'[n % 5]}1,{['flu', 'gout', 'cold'][n % 3]}\n"
    for n in range(60)
)


def test_a_proposal_is_published_without_edits(desk):
    """From a table to a release by two commands; codes that are digits are no intervals."""
    table = desk.file(PEOPLE)
    outcome = desk.run("plan", table, "--out", desk / "proposed.toml", "--json")
    assert outcome.status == 0, outcome.stderr
    told = {one["name"]: one["role"] for one in json.loads(outcome.stdout)["columns"]}
    assert told == {
        "id": "identifier",
        "age": "quasi",
        "sex": "quasi",
        "zip": "quasi",
        "illness": "sensitive",
    }
    out = desk / "out"
    assert desk.run("publish", table, "--plan", desk / "proposed.toml", "--out", out).status == 0
    header = (out / "data.csv").read_text("utf-8").splitlines()[0].split(",")
    assert "sex" in header
    assert "id" not in header
    checked = desk.run("plan", "--check", desk / "proposed.toml", table)
    assert checked.status == 0, checked.stdout + checked.stderr


def test_a_plan_that_fits_badly_is_told_with_keys_and_rows(desk):
    """Bounds that cut, hierarchies that miss, kept columns that single out, digits like names."""
    plan = desk.plan("""
[roles]
quasi_identifiers = ["age", "sex", "zip"]
sensitive = ["illness"]
keep = ["id"]
[columns.age]
bounds = [20, 48]
outside = "clamp"
[columns.zip.tree]
near = ["A1", "B1", "C1", "D1"]
""")
    outcome = desk.run("plan", "--check", plan, desk.file(PEOPLE), "--json")
    assert outcome.status == 2
    found = {
        (one["column"], one["key"]): (one["refused"], one["row"])
        for one in json.loads(outcome.stdout)["findings"]
    }
    assert found == {
        ("zip", "hierarchy"): (True, 5),
        ("id", "keep"): (True, None),
        ("age", "bounds"): (False, 30),
        ("sex", "kind"): (False, None),
        ("id", "identifiers"): (False, None),
    }
    assert "would be refused, for 2 reasons" in outcome.stderr
    shown = desk.run("plan", "--check", plan, desk.file(PEOPLE)).stdout
    assert "bounds = [20, 48] cut 3.3% of the rows (2), first in row 30" in shown
    assert "misses 1 of 5 values, in 20.0% of the rows (12), first in row 5" in shown


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("age,sex\n", "no row"),
        ("age,age\n1,2\n", "age"),
        ("id\n1\n2\n3\n", "nothing to propose"),
        ("", "empty"),
    ],
)
def test_a_table_that_nothing_can_be_proposed_for(desk, table, words):
    """No rows, two columns of one name, nothing to publish: a message, and no file."""
    outcome = desk.run("plan", desk.file(table), "--out", desk / "proposed.toml")
    assert outcome.status == 2
    assert words in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not (desk / "proposed.toml").exists()


def test_a_plan_is_never_overwritten(desk):
    """A file that is there stays, and one of both options is needed."""
    plan, table = desk.plan("[roles]\n"), desk.file(PEOPLE)
    before = plan.read_bytes()
    assert desk.run("plan", table, "--out", plan).status == 2
    assert plan.read_bytes() == before
    assert desk.run("plan", table).status == 2
    assert desk.run("plan", table, "--out", desk / "new.toml", "--check", plan).status == 2


def test_a_table_of_one_column(desk):
    """One column is enough for a plan that can be read."""
    outcome = desk.run("plan", desk.file("age\n31\n52\n47\n"), "--out", desk / "one.toml")
    assert outcome.status == 0, outcome.stderr
    assert tomllib.loads((desk / "one.toml").read_text("utf-8"))["roles"] == {
        "quasi_identifiers": ["age"]
    }


def test_a_proposal_says_how_much_it_asks(desk):
    """As many questions as the plan has lines that ask, of columns and of persons."""
    rows = "".join(f"{n % 20},{n % 70}.25,{n % 90}.5\n" for n in range(200))
    table = desk.file(f"order_id,x,y\n{rows}")
    outcome = desk.run("plan", table, "--out", desk / "proposed.toml")
    asked = (desk / "proposed.toml").read_text("utf-8").count("\n# ?")
    assert asked > 1
    assert f"a proposal for 3 columns and asks {asked} questions" in outcome.stderr


@pytest.mark.parametrize("bound", ["", "rows_per_person = 3"])
def test_check_asks_how_many_rows_of_a_person_take_part(desk, bound):
    """A differentially private method would refuse persons of several rows without a bound."""
    rows = "".join(f"{n % 20},{20 + n % 30}\n" for n in range(60))
    plan = desk.plan(f"""
[roles]
person = "who"
quasi_identifiers = ["age"]
[columns.age]
bounds = [0, 99]
intervals = {{ widths = [10] }}
[method]
name = "dp-generalization"
k = 2
epsilon = 2
{bound}
""")
    outcome = desk.run("plan", "--check", plan, desk.file(f"who,age\n{rows}"))
    assert outcome.status == (0 if bound else 2)
    missing = f"refused: {plan}: [method] rows_per_person: it is missing"
    assert (missing in outcome.stdout) == (not bound)
    assert ("up to 3 rows" in outcome.stdout) == (not bound)


def test_labels_of_variables_say_what_names_do_not(desk):
    """A name that says nothing is read by its label; one that names somebody is left out by it."""
    frame = pl.DataFrame(
        {
            "age": [20 + n % 50 for n in range(200)],
            "q3_1": [n % 2 for n in range(200)],
            "v7": ["abcdefgh"[n % 8] * 3 for n in range(200)],
            "q9": [n % 4 for n in range(200)],
        }
    )
    labels = [
        "Age",
        "Chronic illness",
        "Name of the interviewer",
        "Did you tell the doctor your name?",
    ]
    pyreadstat.write_sav(frame, str(desk / "survey.sav"), column_labels=labels)
    desk.run("plan", desk / "survey.sav", "--out", desk / "plan.toml")
    roles = tomllib.loads((desk / "plan.toml").read_text("utf-8"))["roles"]
    assert roles["sensitive"] == ["q3_1", "q9"]
    assert "v7" not in str(roles)
