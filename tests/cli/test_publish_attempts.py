"""Attempts of private generalization are paid, whether or not a release comes of them."""

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


@pytest.mark.parametrize("rows", [9, 10])
def test_nobody_can_try_until_it_works(desk, rows):
    """With k = 10 nine rows never give a release and ten do now and then: whoever tries has paid.

    So there are three attempts, whatever comes of them, and the fourth is refused.
    """
    plan, table, ledger = desk.plan(PLAN + BUDGET), people(desk, rows), desk / "l"
    came = []
    for number in range(4):
        out = desk / f"out{number}"
        done = desk.run("publish", table, "--plan", plan, "--out", out, "--ledger", ledger)
        came.append(done.status)
        assert out.exists() == (done.status == 0)
        if done.status == 3:
            assert f"this attempt spent epsilon = 3 and delta = {delta(ledger)}" in done.stderr
            assert "Data set 'people' was charged for it: together " in done.stderr
            assert f"{spent(ledger)} of epsilon = 9 at delta = 0.00025 is spent" in done.stderr
    assert came[3] == 4
    assert set(came[:3]) <= ({3} if rows == 9 else {0, 3})
    told = desk.run("ledger", "show", "--ledger", ledger).stdout
    assert f"spent {spent(ledger)}, left " in told
    assert 8.5 < Ledger(ledger).budget("people").spent <= 9
    words = [line.split()[2] for line in told.splitlines() if line.strip()[:1].isdigit()]
    told_of = {0: ["release"], 3: ["attempt", "infeasible"]}
    assert words == [word for status in came[:3] for word in told_of[status]]
    (account,) = desk.run("ledger", "show", "--json", "--ledger", ledger).document["data_sets"]
    assert [entry["what"] for entry in account["entries"]] == words
    assert desk.run("ledger", "verify", "--ledger", ledger).status == 0


def spent(ledger):
    """What the account of the data set says to be spent."""
    return shown(Ledger(ledger).budget("people").spent)


def delta(ledger):
    """The delta of an attempt, as the account of the data set has it."""
    events = Ledger(ledger).budget("people").entries[0].events
    return f"{sum(event.delta for event in events):.3g}"


def test_without_a_ledger_the_price_is_said(desk):
    """What repeating costs is in the message; nothing is written."""
    message = desk.publish_fails(3, people(desk, 9), plan=desk.plan(PLAN))
    assert "Whether there is a release tells about the rows" in message
    assert "this attempt spent epsilon = 3" in message
    assert "each repetition spends as much again. No ledger counts it" in message


def test_a_seeded_attempt_in_a_ledger_of_its_own(desk):
    """An experiment is entered like any other, once."""
    plan, ledger = desk.plan(PLAN + BUDGET), desk / "trial"
    options = ("--ledger", ledger, "--seed", "3")
    done = desk.run("publish", people(desk, 9), "--plan", plan, "--out", desk / "o", *options)
    assert done.status == 3
    message = desk.publish_fails(4, people(desk, 9), *options, plan=plan)
    assert "already knows a release with this id" in message


def test_a_mistake_costs_nothing(desk):
    """What does not depend on a draw is told before anything is paid."""
    wrong = PLAN + BUDGET + '\n[columns.city]\nhierarchy = "cities.csv"\n'
    desk.file("York,North\n", "cities.csv")
    table = desk.csv([("a", 30, "Leeds", 1)] * 20)
    desk.publish_fails(2, table, "--ledger", desk / "l", plan=desk.plan(wrong))
    assert not (desk / "l").exists()


def test_a_study_that_finds_nothing_is_charged(desk):
    """A study pays as a publication does, and leaves nothing."""
    plan, ledger = desk.plan(PLAN + BUDGET), desk / "l"
    table = people(desk, 9)
    done = desk.run("study", table, "--plan", plan, "--out", desk / "s", "--ledger", ledger)
    assert done.status == 3
    assert f"charged for it: together {spent(ledger)} of epsilon = 9" in done.stderr
    assert not (desk / "s").exists()


def test_a_grid_charges_nobody(desk):
    """Points of a comparison are measured outside the budget, those that find nothing too."""
    grid = PLAN.replace("k = 10", "k = [2, 100]").replace("delta = 0.0001\n", "") + BUDGET
    done = desk.run("compare", people(desk, 90), desk.plan(grid), "--out", desk / "grid")
    assert done.status == 0, done.stderr
    comparison = json.loads((desk / "grid" / "comparison.json").read_text())
    found = {point["name"]: point for point in comparison["points"]}
    assert [point["status"] for point in found.values()] == ["done", "infeasible"]
    assert not (desk / "l").exists()
