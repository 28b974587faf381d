"""``voile attack`` on releases that generalize values or add noise to them."""

from __future__ import annotations

import re

import polars as pl
import pytest

from voile_testing.plugin import some_slow

PARCELS = "".join(f"{number},{100 + 37 * number % 400},{10 + number % 7}\n" for number in range(40))
TABLE = "parcel,weight,volume\n" + PARCELS

ROLES = """
[roles]
quasi_identifiers = ["weight", "volume"]
keep = ["parcel"]
keep_unique = ["parcel"]

[columns.weight]
bounds = [0, 1000]
intervals = { origin = 0, widths = [100, 1000] }

[columns.volume]
bounds = [0, 100]
intervals = { origin = 0, widths = [10, 100] }
"""
METHODS = {
    "generalization": 'name = "generalization"\nk = 4\n',
    "clustered-laplace": 'name = "clustered-laplace"\nepsilon = 2\nbounds = "data"\n',
    "public": 'name = "clustered-laplace"\nepsilon = 2\nshares = [1.0]\n',
    "dp-generalization": 'name = "dp-generalization"\nk = 2\nepsilon_choice = 9\n',
}


@pytest.fixture
def released(desk):
    """Publish the parcels by a method; the folder, the private original and the plan."""

    def release(method):
        table = desk.file(TABLE, "parcels.csv")
        kept = 'keep = ["parcel"]\nkeep_unique = ["parcel"]\n'
        roles = ROLES.replace(kept, "") if method.startswith("dp") else ROLES
        plan = desk.plan(f"{roles}\n[method]\n{METHODS[method]}")
        ledger = desk / f"{method}.db"
        folder, _ = desk.publish(table, "--ledger", ledger, "--seed", 3, plan=plan, out=method)
        return folder, table, plan

    return release


@pytest.mark.slow
@pytest.mark.parametrize("method", some_slow(METHODS, {"clustered-laplace", "public"}))
def test_people_are_looked_for_in_every_such_release(desk, released, method):
    """The first line says that the output is private; rates stand beside those of guessing."""
    folder, table, plan = released(method)
    done = desk.run("attack", folder, "--against", table, "--plan", plan)
    assert done.status == 0, done.stderr
    first, second, *others = done.stdout.splitlines()
    assert first.startswith("PRIVATE")
    if method == "generalization":  # the release tells what each row became
        assert re.match(r"Of all 40 rows, [\d.]+% \(counted on all.* were found: ", second)
    else:
        assert second.startswith("Of all 40 rows, the adversary believes to have found ")
    assert any(line.startswith("Guessing without looking finds ") for line in others)
    assert any(line.startswith("worst ") for line in others)
    document = desk.run("attack", folder, "--against", table, "--plan", plan, "--json").document
    assert next(iter(document)) == "private"
    assert document["attack"] == "identification"
    assert document["targets"] == 40
    assert document["success"]["value"] >= document["baseline"] * 0.9


def test_a_link_counts_right_guesses(desk, released):
    """Groups of k rows: found are as many as by guessing within them, and at most 1 / k."""
    folder, table, _ = released("generalization")
    document = desk.run("attack", folder, "--against", table, "--link", "parcel", "--json").document
    rows = pl.read_csv(folder / "data.csv")
    assert document["checked"] is True
    assert document["success"]["value"] == pytest.approx(rows["group"].n_unique() / 40)
    assert document["success"]["value"] <= 1 / 4
    text = desk.run("attack", folder, "--against", table, "--link", "parcel").stdout
    assert " were found: the best guess" in text


@pytest.mark.slow
def test_what_the_adversary_knows_can_be_chosen(desk, released):
    """Fewer columns tell him less; the parcel's own number tells him all."""
    folder, table, _ = released("clustered-laplace")
    asked = ("attack", folder, "--against", table, "--json")
    both = desk.run(*asked).document["probability"]["value"]
    one = desk.run(*asked, "--columns", "volume").document
    assert one["probability"]["value"] < both
    assert set(one["worst"]["known"]) == {"volume"}
    assert desk.run(*asked, "--columns", "parcel, volume").document["success"]["value"] > 0.99
    informed = desk.run(*asked, "--population").document
    assert any("distributed" in line for line in informed["assumptions"])


@pytest.mark.slow
def test_targets_can_be_drawn_again(desk, released):
    """A seed draws the same people."""
    folder, table, _ = released("clustered-laplace")
    asked = ("attack", folder, "--against", table, "--targets", 7, "--json", "--seed")
    first, again = (desk.run(*asked, 5).document for _ in range(2))
    assert first == again
    assert first["targets"] == 7


def test_codes_that_look_like_numbers_are_read_as_the_plan_says(desk):
    """Zip codes are text by the plan, in the release and in the original, with their zeros."""
    rows = "".join(f"{number:05d}\n" for number in (11, 12, 13, 201, 202, 203))
    table = desk.file("zip\n" + rows, "zips.csv")
    plan = desk.plan(
        '[roles]\nquasi_identifiers = ["zip"]\n[columns.zip]\ntype = "text"\nprefix = [3]\n'
        '[method]\nname = "generalization"\nk = 3\n'
    )
    folder, _ = desk.publish(table, plan=plan)
    found = desk.run("attack", folder, "--against", table, "--plan", plan, "--json").document
    assert found["success"]["value"] == pytest.approx(1 / 3)
    assert found["notes"] == []
    untold = desk.run("attack", folder, "--against", table, "--json").document
    assert untold["success"]["value"] == pytest.approx(1 / 6)
    assert "'zip'" in untold["notes"][0]


@pytest.mark.slow
def test_wrong_calls_are_told(desk, released, rows, plan_text):
    """The original is needed; options of the other adversary are refused, by name."""
    folder, table, _ = released("generalization")
    assert "--against" in desk.fails(2, "attack", folder)
    asked = ("attack", folder, "--against", table)
    assert "--k" in desk.fails(2, *asked, "--k", 3)
    assert "--most" in desk.fails(2, *asked, "--most", 3)
    assert "'no'" in desk.fails(2, *asked, "--link", "no")
    assert "'wieght'" in desk.fails(2, *asked, "--columns", "wieght")
    assert "at least 1" in desk.fails(2, *asked, "--targets", 0)
    permuted, _ = desk.publish(desk.csv(rows), plan=desk.plan(plan_text), out="permuted")
    assert "--link" in desk.fails(2, "attack", permuted, "--link", "age")
    assert "--targets" in desk.fails(2, "attack", permuted, "--targets", 4)
