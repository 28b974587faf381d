"""Releases of private generalization are paid, whether or not they show a row."""

from __future__ import annotations

import json

import pytest

from voile.ledger import Ledger
from voile.ledger.budget import shown

PLAN = """
[roles]
quasi_identifiers = ["city"]

[method]
name = "dp-generalization"
k = 10
epsilon = 3
beta = 0.3
delta = 0.0001
"""
BUDGET = """
[budget]
data_set = "people"
epsilon = 9
delta = 0.00025
"""


def people(desk, rows):
    return desk.csv([(f"p{i}", 30, "York", 1) for i in range(rows)], f"{rows}.csv")


@pytest.mark.slow
@pytest.mark.parametrize("rows", [9, 10])
def test_nobody_can_try_until_it_works(desk, rows):
    """With k = 10 nine rows never show any and ten do now and then: all looks alike but the rows.

    So there are three releases, whatever is in them, and the fourth is refused.
    """
    plan, table, ledger = desk.plan(PLAN + BUDGET), people(desk, rows), desk / "l"
    came = []
    for number in range(4):
        out = desk / f"out{number}"
        done = desk.run("publish", table, "--plan", plan, "--out", out, "--ledger", ledger)
        came.append(done.status)
        assert out.exists() == (done.status == 0)
        if done.status == 0:
            shown = json.loads((out / "release.json").read_text())["rows"]
            assert shown in ({0} if rows == 9 else {0, 10})
            assert ("leaves no group of 10 sampled rows" in done.stderr) == (shown == 0)
    assert came == [0, 0, 0, 4]
    told = desk.run("ledger", "show", "--ledger", ledger).stdout
    assert f"spent {spent(ledger)}, left " in told
    assert 8.5 < Ledger(ledger).budget("people").spent <= 9
    (account,) = desk.run("ledger", "show", "--json", "--ledger", ledger).document["data_sets"]
    assert [entry["what"] for entry in account["entries"]] == ["release"] * 3
    assert desk.run("ledger", "verify", "--ledger", ledger).status == 0


def spent(ledger):
    """What the account of the data set says to be spent."""
    return shown(Ledger(ledger).budget("people").spent)


def test_a_release_without_rows_is_read_as_such(desk):
    """Whoever attacks or asks it is told that there is nothing in it."""
    out = desk / "out"
    done = desk.run("publish", people(desk, 9), "--plan", desk.plan(PLAN), "--out", out)
    assert done.status == 0, done.stderr
    for command in (("attack", out, "--against", people(desk, 9)), ("query", out, "COUNT(*)")):
        done = desk.run(*command)
        assert done.status == 2
        assert "this release shows no row, which is what its method found" in done.stderr


def test_a_seeded_attempt_in_a_ledger_of_its_own(desk):
    """An experiment is entered like any other, once."""
    plan, ledger = desk.plan(PLAN + BUDGET), desk / "trial"
    options = ("--ledger", ledger, "--seed", "3")
    done = desk.run("publish", people(desk, 9), "--plan", plan, "--out", desk / "o", *options)
    assert done.status == 0
    message = desk.publish_fails(4, people(desk, 9), *options, plan=plan)
    assert "already knows a release with this id" in message


def test_a_mistake_costs_nothing(desk):
    """What does not depend on a draw is told before anything is paid."""
    wrong = PLAN + BUDGET + '\n[columns.city]\nhierarchy = "cities.csv"\n'
    desk.file("York,North\n", "cities.csv")
    table = desk.csv([("a", 30, "Leeds", 1)] * 20)
    desk.publish_fails(2, table, "--ledger", desk / "l", plan=desk.plan(wrong))
    assert not (desk / "l").exists()


def test_a_study_of_no_rows_is_charged(desk):
    """A study pays as a publication does, and says that there was nothing to attack."""
    plan, ledger = desk.plan(PLAN + BUDGET), desk / "l"
    table = people(desk, 9)
    done = desk.run("study", table, "--plan", plan, "--out", desk / "s", "--ledger", ledger)
    assert done.status == 0, done.stderr
    assert Ledger(ledger).budget("people").spent > 2.8
    record = json.loads((desk / "s" / "private" / "record.json").read_text())
    assert record["attacks"] == record["utility"] == []
    skipped = record["attacks_skipped"] + record["utility_skipped"]
    assert {one["reason"] for one in skipped} == {"the release shows no row"}


@pytest.mark.usefixtures("undrawn")
def test_a_rehearsed_grid_charges_nobody(desk):
    """Points of a comparison on a public table cost no budget, those that show nothing neither."""
    grid = PLAN.replace("k = 10", "k = [2, 100]").replace("delta = 0.0001\n", "") + BUDGET
    less = ("--jobs", 1, "--attacks", "homogeneity", "--rehearsal")
    done = desk.run("compare", people(desk, 90), desk.plan(grid), "--out", desk / "grid", *less)
    assert done.status == 0, done.stderr
    comparison = json.loads((desk / "grid" / "comparison.json").read_text())
    found = {point["name"]: point for point in comparison["points"]}
    assert [point["status"] for point in found.values()] == ["done", "done"]
    assert not (desk / "l").exists()
