"""``voile table``: what it writes, what stays private, what is recounted, what is refused."""

from __future__ import annotations

import csv
import json
import re
import stat
from pathlib import Path

import pytest

ROWS = "".join(
    f"{region},{sector},{company},{value}\n"
    for region, sector, company, value in [
        ("north", "mills", "c1", 900),
        ("north", "mills", "c2", 30),
        ("north", "farms", "c3", 200),
        ("north", "farms", "c4", 220),
        ("north", "farms", "c5", 240),
        ("south", "mills", "c6", 310),
        ("south", "mills", "c7", 330),
        ("south", "mills", "c1", 350),
        ("south", "farms", "c8", 410),
        ("south", "farms", "c9", 420),
        ("south", "farms", "c4", 430),
    ]
)
TABLE = "region,sector,company,value\n" + ROWS
PLAN = """
[[tables]]
dimensions = ["region", "sector"]
sum = ["value"]
contributor = "company"

[protection]
p = 10
minimum = 3
"""
COUNTS = """
[roles]
person = "row"

[[tables]]
name = "by region"
dimensions = ["region", "sector"]

[[tables]]
name = "by sector"
dimensions = ["sector"]

[protection]
minimum = 3
"""


@pytest.fixture
def made(desk):
    """A folder of tables, as the command made it, and what it said."""
    done = desk.run(
        "table", desk.file(TABLE, "rows.csv"), "--plan", desk.plan(PLAN), "--out", desk / "out",
        "--json", "--cells", desk / "cells.csv",
    )  # fmt: skip
    assert done.status == 0, done.stderr
    return desk / "out", done


def cells_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "tables.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_cell_stands_there_once_and_hidden_ones_are_empty(made) -> None:
    """All totals are there; a suppressed cell has no value, and nothing tells why it is one."""
    folder, done = made
    rows = cells_of(folder)
    assert len(rows) == 9 == done.document["cells"]
    assert list(rows[0]) == ["table", "region", "sector", "value", "status"]
    hidden = [row for row in rows if row["status"] == "suppressed"]
    assert all(row["value"] == "" for row in hidden)
    assert len(hidden) == done.document["primary"] + done.document["secondary"] == 4
    assert done.document["least"]
    private = {"primary", "secondary", "dominance", "by hand", "c1", "company"}
    for file in folder.iterdir():
        # By whole words: hashes hold any two letters sooner or later.
        assert not [word for word in private if re.search(rf"\b{word}\b", file.read_text())], file


def test_the_private_list_says_the_rule_and_the_interval_of_each_cell(made, desk) -> None:
    """It is its owner's alone, and holds the true value within what an outsider knows."""
    place = desk / "cells.csv"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with place.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["suppression"] for row in rows].count("primary") == made[1].document["primary"]
    for row in rows:
        assert float(row["value.low"]) <= float(row["value"]) <= float(row["value.high"])
        assert float(row["value.high"]) > float(row["value.low"])


@pytest.mark.parametrize("file_format", ["csv", "parquet", "xlsx"])
def test_the_folder_is_recounted_from_itself(desk, file_format: str) -> None:
    """In each format, with two tables that share cells, every claim is measured again."""
    done = desk.run(
        "table", desk.file(TABLE, "rows.csv"), "--plan", desk.plan(COUNTS), "--out", desk / "out",
        "--format", file_format,
    )  # fmt: skip
    assert done.status == 0, done.stderr
    again = desk.run("recount", desk / "out", "--json")
    assert again.status == 0, again.stderr
    (claim,) = again.document["claims"]
    assert claim["holds"]
    assert claim["kind"] == "cell-suppression"
    assert claim["units"] == "count"
    assert any("which cells are primary" in one for one in claim["not_visible"])


def altered(folder: Path, change) -> None:
    """Change the cells of a folder, with hashes that fit."""
    import hashlib  # noqa: PLC0415

    rows = cells_of(folder)
    change(rows)
    with (folder / "tables.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    document = json.loads((folder / "release.json").read_text())
    content = (folder / "tables.csv").read_bytes()
    document["data"][0] |= {
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    hidden = sum(row["status"] == "suppressed" for row in rows)
    document["guarantee"]["suppressed"] = hidden
    (folder / "release.json").write_text(json.dumps(document))


def publish_again(rows) -> None:
    row = next(row for row in rows if row["status"] == "suppressed")
    row |= {"status": "published", "value": "930"}


def wrong_sum(rows) -> None:
    row = next(row for row in rows if row["region"] == row["sector"] == "Total")
    row["value"] = str(int(row["value"]) + 1)


def forget(rows) -> None:
    rows.pop()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (publish_again, "can be recomputed"),
        (wrong_sum, "do not add up"),
        (forget, "its file has 8 cells, and it states 9"),
    ],
)
def test_a_folder_that_was_mended_to_fit_is_refused(made, desk, change, told: str) -> None:
    """A cell shown again uncovers others, sums must be sums, and no cell may be missing."""
    folder, _ = made
    altered(folder, change)
    again = desk.run("recount", folder)
    assert again.status == 4
    assert told in again.stderr


def test_other_commands_say_what_the_folder_is(made, desk) -> None:
    """A reader of rows is told that there are none."""
    message = desk.fails(2, "attack", made[0], "--against", desk / "people.csv")
    assert "does not hold rows, but tables" in message


BAD = {
    "no tables": ("[protection]\nminimum = 3\n", "has no [[tables]]"),
    "no rules": (PLAN.partition("[protection]")[0], "has no [protection]"),
    "a rule that is none": (PLAN + "minimum = 4\n", "not valid TOML"),
    "an unknown column": (PLAN.replace('"sector"]', '"sektor"]'), "sektor"),
    "a person's id as a dimension": (
        '[roles]\nperson = "company"\n'
        + PLAN.replace('["region", "sector"]', '["company"]').replace(
            'contributor = "company"\n', ""
        ),
        "tells those who are protected apart",
    ),
    "levels that do not add up": (
        PLAN.replace('["region", "sector"]', '[["region", "sector"]]'),
        "stand below more than one value of 'region'",
    ),
    "contradictory cells": (
        PLAN + 'publish = [{ region = "north", sector = "mills" }]\n',
        "forces 1 cell that may not be shown",
    ),
    "persons in several cells": (
        COUNTS.replace('"row"', '"company"'),
        "persons, some of whom stand in several cells",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_plan_that_cannot_be_is_refused_and_nothing_is_written(desk, name: str) -> None:
    """What is wrong, and where; no folder, no list of cells."""
    plan, told = BAD[name]
    arguments = ("--plan", desk.plan(plan), "--out", desk / "out", "--cells", desk / "cells.csv")
    status = 3 if name == "contradictory cells" else 2
    assert told in desk.fails(status, "table", desk.file(TABLE, "rows.csv"), *arguments)


@pytest.mark.parametrize(
    ("value", "told"),
    [("-5", "negative numbers"), ("many", "not all of its values are numbers")],
)
def test_numbers_that_cannot_be_added_up_are_refused(desk, value: str, told: str) -> None:
    """By their column, without the value."""
    table = desk.file(TABLE.replace("900", value), "rows.csv")
    told_of = desk.fails(2, "table", table, "--plan", desk.plan(PLAN), "--out", desk / "out")
    assert told in told_of
    assert "value" in told_of


def test_the_private_list_cannot_stand_among_what_is_published(desk) -> None:
    """Nor in place of a file that is there."""
    arguments = ("--plan", desk.plan(PLAN), "--out", desk / "out")
    table = desk.file(TABLE, "rows.csv")
    inside = desk.fails(2, "table", table, *arguments, "--cells", desk / "out" / "cells.csv")
    assert "is private" in inside
    assert "stands there already" in desk.fails(2, "table", table, *arguments, "--cells", table)


PERSONS = "who,region,sector\n" + "".join(
    f"p{number},{'north' if number % 3 else 'south'},{'ab'[number % 2]}\n" for number in range(60)
)


def noisy_plan(desk, **rules: object):
    """A plan of counts of persons with noise; its secret stands beside it."""
    stated = "".join(f"{name} = {value}\n" for name, value in rules.items())
    return desk.plan(
        '[roles]\nperson = "who"\n[[tables]]\ndimensions = ["region", "sector"]\n'
        f'[protection]\nkind = "cell-key"\nsecret = "{desk / "record.keys"}"\n{stated}'
    )


def test_counts_with_noise_are_the_same_again_and_are_recounted(desk) -> None:
    """By one secret, which is made and is its owner's; nothing of it stands in the folder."""
    rows = desk.file(PERSONS, "rows.csv")
    for out in ("one", "two"):
        done = desk.run(
            "table", rows, "--plan", noisy_plan(desk, minimum=3), "--out", desk / out
        )  # fmt: skip
        assert done.status == 0, done.stderr
        assert "do not add up" in done.stderr + done.stdout
    assert cells_of(desk / "one") == cells_of(desk / "two")
    secret = desk / "record.keys"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    for file in (desk / "one").iterdir():
        assert secret.read_text().strip() not in file.read_text()
    again = desk.run("recount", desk / "one", "--json")
    assert again.status == 0, again.stderr
    (claim,) = again.document["claims"]
    assert claim["kind"] == "cell-key"
    assert claim["holds"]


def test_noise_needs_persons_and_suppresses_nothing(desk) -> None:
    """Without persons, with sums, or with a list of suppressed cells: refused, nothing written."""
    rows = desk.file(PERSONS, "rows.csv")
    plan = noisy_plan(desk)
    done = desk.run("table", rows, "--plan", plan, "--out", desk / "out", "--cells", desk / "c.csv")
    assert done.status == 2
    assert "this protection suppresses none" in done.stderr
    text = plan.read_text().replace('person = "who"', 'person = "row"')
    done = desk.run("table", rows, "--plan", desk.plan(text), "--out", desk / "out")
    assert done.status == 2
    assert "needs [roles] person" in done.stderr
    assert not (desk / "out").exists()


PEOPLE = "who,region,sex,income\n" + "".join(
    f"p{number},{'ABC'[number % 3]},{'FM'[number % 2]},{number * 7 % 100}\n"
    for number in range(240)
)
OF_PEOPLE = """
[roles]
person = "who"

[columns.region]
values = ["A", "B", "C"]

[columns.sex]
values = ["F", "M"]

[columns.income]
bounds = [0, 100]

[[tables]]
dimensions = ["region", "sex"]
"""
NOISE = """
[protection]
kind = "differential-privacy"
epsilon = 2
rows_per_person = 1
"""
BUDGET = """
[budget]
data_set = "people"
epsilon = 3
neighbours = "person"
"""


@pytest.mark.slow
def test_tables_with_noise_are_paid_recounted_and_have_intervals(desk) -> None:
    """Totals at every level, each with an interval; a second one exceeds the budget."""
    rows = desk.file(PEOPLE, "rows.csv")
    plan = desk.plan(OF_PEOPLE + 'mean = ["income"]\n' + NOISE + BUDGET)
    made = ["table", rows, "--plan", plan, "--ledger", desk / "ledger.db"]
    done = desk.run(*made, "--out", desk / "out")
    assert done.status == 0, done.stderr
    assert "is left" in done.stderr
    shown = cells_of(desk / "out")
    assert len(shown) == 3 * 2 + 3 + 2 + 1
    assert {"count.low", "sum(income)", "mean(income).high"} <= set(shown[0])
    assert all(float(one["count.low"]) <= float(one["count.high"]) for one in shown)
    assert desk.run("recount", desk / "out").status == 0
    assert "[" in (desk / "out" / "index.html").read_text()
    again = desk.run(*made, "--out", desk / "again")
    assert again.status == 4
    assert not (desk / "again").exists()


@pytest.mark.parametrize(
    ("table", "more", "options", "problem"),
    [
        ("", "", ["--ledger", "l.db"], "the plan has none to charge"),
        ("", BUDGET, ["--data-set", "people"], "name it in the plan"),
        ('filter = ["income < 5"]', "", [], "filter has no form with noise"),
        ('count = "income"', "", [], "count has no form with noise"),
        ('weight = "income"', "", [], "weight has no form with noise"),
        ("", "", ["--cells", "cells.csv"], "this protection suppresses none"),
    ],
)
def test_what_has_no_form_with_noise_is_refused(desk, table, more, options, problem) -> None:
    """Exit status 2, the remedy, and nothing written."""
    plan = desk.plan(OF_PEOPLE + table + NOISE + more)
    rows = desk.file(PEOPLE, "rows.csv")
    done = desk.run("table", rows, "--plan", plan, "--out", desk / "out", *options)
    assert done.status == 2
    assert problem in done.stderr
    assert not (desk / "out").exists()


def test_messages_about_noise_name_the_table_of_the_plan(desk) -> None:
    """What the method asks for stands in [protection] here."""
    plan = desk.plan(OF_PEOPLE + NOISE.replace("rows_per_person = 1", ""))
    rows = desk.file(PEOPLE, "rows.csv")
    done = desk.run("table", rows, "--plan", plan, "--out", desk / "out")
    assert done.status == 2
    assert "[protection] rows_per_person is missing" in done.stderr
    assert "[method]" not in done.stderr


@pytest.mark.slow
def test_protections_stand_side_by_side_beside_the_truth(desk) -> None:
    """Five of one table at a glance, marked as private; nothing is published or charged."""
    rows = desk.file(PEOPLE, "rows.csv")
    plans = {
        "hide": "minimum = 41",
        "keys": f'kind = "cell-key"\nsecret = "{desk / "secret"}"',
        "round": 'kind = "rounding"\nbase = 7',
        "adjust": 'kind = "adjustment"\nminimum = 41',
    }
    files = [desk.plan(OF_PEOPLE + f"[protection]\n{one}\n", f"{name}.toml")
             for name, one in plans.items()]  # fmt: skip
    noise = desk.plan(OF_PEOPLE + NOISE + BUDGET, "noise.toml")
    others = [it for one in (*files[1:], noise) for it in ("--compare", one)]
    done = desk.run("table", rows, "--plan", files[0], *others, "--json", "--out", desk / "out")
    assert done.status == 0, done.stderr
    assert done.document["private"].startswith("PRIVATE")
    by_name = {one["name"]: one for one in done.document["protections"]}
    assert list(by_name) == [
        "suppression", "cell-key", "rounding", "adjustment", "differential-privacy",
    ]  # fmt: skip
    assert by_name["suppression"]["shown"] < 1
    assert by_name["suppression"]["mean_error"] == 0
    assert by_name["rounding"]["additive"]
    assert by_name["adjustment"]["additive"]
    assert by_name["rounding"]["largest_error"] < 7
    whole = next(one for one in done.document["cells"] if one["cell"] == "Total")
    assert whole["truth"] == 240
    assert whole["shown"][-1].endswith("]")
    files_made = {file.name for file in (desk / "out").iterdir()}
    assert files_made == {"comparison.csv", "comparison.html"}
    assert "PRIVATE" in (desk / "out" / "comparison.html").read_text()


def test_other_tables_are_not_compared(desk) -> None:
    """Plans that are compared differ in their protection alone."""
    rows = desk.file(PEOPLE, "rows.csv")
    one = desk.plan(OF_PEOPLE + "[protection]\nminimum = 3\n", "one.toml")
    other = desk.plan(OF_PEOPLE + NOISE.replace("[prot", '[[tables]]\ndimensions = ["sex"]\n[prot'),
                      "other.toml")  # fmt: skip
    done = desk.run("table", rows, "--plan", one, "--compare", other)
    assert done.status == 2
    assert "the same [[tables]]" in done.stderr
    missing = desk.run("table", rows, "--plan", one)
    assert missing.status == 2
    assert "--out is missing" in missing.stderr
