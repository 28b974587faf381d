"""``voile inspect``: what a table holds, and exposure against brute force."""

from __future__ import annotations

import random
import tomllib
from collections import Counter
from statistics import median

import polars as pl
import pytest


def measured(desk, table, *options):
    outcome = desk.run("inspect", table, "--json", *options)
    assert outcome.status == 0, outcome.stderr
    return outcome.document


def test_columns(desk):
    """Each column has its type, its missing values and its distinct ones."""
    table = desk.file("city,age,since,pay\nYork,31,2020-01-01,1.5\nYork,,2020-02-01,2\n?,31,,1.5\n")
    document = measured(desk, table)
    assert document["rows"] == 3
    told = {c["name"]: (c["type"], c["missing"], c["distinct"]) for c in document["columns"]}
    assert told == {
        "city": ("text", 0, 2),
        "age": ("integer", 1, 1),
        "since": ("date", 1, 2),
        "pay": ("decimal", 0, 2),
    }
    (city,) = [c for c in document["columns"] if c["name"] == "city"]
    assert (city["placeholder"], city["placeholders"]) == ("?", 1)


def test_for_people(desk):
    """People are shown a table that says it is private, and a hint at placeholders."""
    table = desk.file("city,age\nYork,31\nYork,32\n?,31\n")
    outcome = desk.run("inspect", table)
    assert outcome.status == 0
    assert "3 rows, 2 columns (private)" in outcome.stdout
    assert 'missing = ["?"]' in outcome.stdout
    assert "unique rows      3 of 3 (100.0%)" in outcome.stdout


@pytest.mark.parametrize("seed", range(5))
def test_exposure(desk, seed):
    """Unique rows, smallest and median groups equal those counted one by one."""
    rng = random.Random(seed)
    rows = [(rng.randrange(4), rng.choice("xyz"), rng.choice(["", "n"])) for _ in range(30)]
    table = desk.file("age,city,note\n" + "".join(f"{a},{c},{n}\n" for a, c, n in rows))
    for columns in (["age"], ["age", "city"], ["age", "city", "note"]):
        keys = [tuple(row[: len(columns)]) for row in rows]
        sizes = Counter(keys)
        exposure = measured(desk, table, "--quasi-identifiers", ",".join(columns))["exposure"]
        unique = sum(size == 1 for size in sizes.values())
        assert exposure == {
            "quasi_identifiers": columns,
            "assumed": False,
            "unique_share": unique / len(rows),
            "rows": len(rows),
            "groups": len(sizes),
            "unique": unique,
            "smallest": min(sizes.values()),
            "median_group": median(sizes.values()),
            "median_row": median(sizes[key] for key in keys),
        }


def test_quasi_identifiers_of_a_plan(desk):
    """With a plan, exposure is measured on its quasi-identifiers."""
    exposure = measured(desk, desk.csv(), "--plan", desk.plan())["exposure"]
    assert exposure["quasi_identifiers"] == ["age", "city"]
    assert exposure["assumed"] is False


def test_without_quasi_identifiers(desk):
    """Without a plan, columns of few values are assumed, and that is said."""
    assert measured(desk, desk.csv())["exposure"]["assumed"] is True
    assert (
        "name others with --plan or --quasi-identifiers" in desk.run("inspect", desk.csv()).stdout
    )


@pytest.mark.parametrize("names", ["age, city", "age,city,age", " age,city "])
def test_names_as_people_write_them(desk, names):
    """Spaces after commas and names that are repeated do no harm."""
    exposure = measured(desk, desk.csv(), "--quasi-identifiers", names)["exposure"]
    assert exposure["quasi_identifiers"] == ["age", "city"]


def test_unknown_column(desk):
    """A column that is not there is named, with the nearest that is."""
    message = desk.fails(2, "inspect", desk.csv(), "--quasi-identifiers", "agee,city")
    assert "no column 'agee'" in message
    assert "did you mean 'age'?" in message


def test_plan_that_does_not_fit(desk, plan_text):
    """A plan for another table is refused."""
    plan = desk.plan(plan_text.replace('"city"', '"town"'))
    assert "'town'" in desk.fails(2, "inspect", desk.csv(), "--plan", plan)


def test_bad_table(desk):
    """A table that cannot be read is refused as by ``voile publish``."""
    message = desk.fails(2, "inspect", desk.file("age,city\n1,2,3\n"))
    assert "line 2 has 3 fields" in message


@pytest.mark.parametrize("name", ["rows", "group", "[bold]x[/bold]", "name", "len", "count"])
def test_names_of_columns(desk, name):
    """A column may have any name."""
    table = desk.file(f"{name},age\n1,31\n2,31\n2,31\n")
    outcome = desk.run("inspect", table)
    assert outcome.status == 0, outcome.stderr
    assert name in outcome.stdout
    assert measured(desk, table)["exposure"]["quasi_identifiers"] == [name]


def test_columns_of_lists(desk):
    """A column of lists is shown, though it cannot be published."""
    pl.DataFrame({"age": [1, 2, 2], "tags": [[1], [1], []]}).write_parquet(desk / "t.parquet")
    (_, tags) = measured(desk, desk / "t.parquet", "--quasi-identifiers", "age")["columns"]
    assert tags["type"] == "nested"
    assert tags["distinct"] == 2


SUGGESTED = """
[roles]
quasi_identifiers = ["age", "zip", "since", "city", "weight"]

[columns.age]
bounds = [17, 90]
outside = "clamp"
"""


def test_suggested_hierarchies_can_be_pasted(desk):
    """With --suggest, standard output is TOML: what is known as tables, what is not as comments."""
    table = desk.file(
        "age,zip,since,city,weight\n31,00120,2020-01-31,York,987.5\n52,00257,2020-02-01,,12\n"
    )
    outcome = desk.run("inspect", table, "--plan", desk.plan(SUGGESTED), "--suggest")
    assert outcome.status == 0, outcome.stderr
    assert tomllib.loads(outcome.stdout)["columns"] == {
        "age": {
            "kind": "number",
            "bounds": [17, 90],
            "outside": "clamp",
            "intervals": {"origin": 0, "widths": [5, 10, 20]},
        },
        "zip": {"kind": "geography", "prefix": [4, 3, 2, 1]},
        "since": {"kind": "date", "dates": ["month", "year", "decade"]},
        "city": {"kind": "geography"},
        "weight": {"kind": "number"},
    }
    assert "# declare bounds" in outcome.stdout
    assert "write hierarchy" in outcome.stdout
    for private in ("31", "52", "00120", "York", "987", "12"):
        assert private not in outcome.stdout
    plan = desk.plan('[roles]\nquasi_identifiers = ["age"]\n' + outcome.stdout)
    assert desk.run("inspect", table, "--plan", plan, "--suggest").status == 0


def test_suggestions_as_json(desk):
    """With --json suggestions stand beside everything else; without --suggest there are none."""
    table = desk.file("age,zip\n31,00120\n52,00257\n")
    document = measured(desk, table, "--suggest")
    assert document["rows"] == 2
    assert document["suggestions"][1] == {
        "column": "zip",
        "keys": {"kind": "geography", "prefix": [4, 3, 2, 1]},
        "note": "codes of 5 digits, of which the first ones are kept",
    }
    assert document["suggestions"][0]["keys"]["bounds"] == [0, 120]
    assert "suggestions" not in measured(desk, table)


@pytest.mark.parametrize(
    ("codes", "suggested"),
    [("00120 00257", True), ("0012 00257", False), ("0012a 00257", False), ("00120 -0257", False)],
)
def test_codes_are_texts_of_digits_of_one_length(desk, codes, suggested):
    """One text that is longer, or holds something else, and no prefix is suggested."""
    table = desk.file("zip\n" + "".join(f"{code}\n" for code in codes.split()))
    (suggestion,) = measured(desk, table, "--suggest")["suggestions"]
    assert ("prefix" in suggestion["keys"]) == suggested


def test_a_proposal_looks_at_the_table_as_inspect_does(desk):
    """With --look, what is told beside a proposal is what ``inspect --plan`` tells, marks too."""
    lines = [f"{20 + n % 50},{'fm'[n % 2]},{['flu', 'cold', '?'][n % 3]}" for n in range(120)]
    table = desk.file("age,sex,illness\n" + "\n".join(lines) + "\n")
    plan = desk.folder / "proposed.toml"
    outcome = desk.run("plan", table, "--out", plan, "--look", "20", "3", "--json")
    assert outcome.status == 0, outcome.stderr
    assert tomllib.loads(plan.read_text())["missing"] == ["?"]
    looked = measured(desk, table, "--plan", plan, "--values", "20", "--rows", "3")
    assert outcome.document["look"] == looked


def test_looking_beside_a_proposal_is_for_programs(desk):
    """Without --json it is refused, and nothing is written."""
    table = desk.file("age,sex\n30,f\n40,m\n")
    plan = desk.folder / "proposed.toml"
    outcome = desk.run("plan", table, "--out", plan, "--look", "20", "3")
    assert outcome.status == 2
    assert "--json" in outcome.stderr
    assert not plan.exists()
