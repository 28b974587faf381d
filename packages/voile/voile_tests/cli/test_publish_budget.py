"""Budgets through the command line: what is spent, and what is refused."""

from __future__ import annotations

import pytest

from voile_tests.study.small_groups import known_to_the_corridor

PLAN = """
[roles]
identifiers = ["name"]
quasi_identifiers = ["city"]

[method]
name = "small-groups"
k = 2
epsilon = {epsilon}

[budget]
data_set = "people"
epsilon = {limit}
"""
PEOPLE = [("Ann", 31, "York", 1), ("Bea", 44, "York", 2), ("Cid", 27, "Leeds", 3)]


@pytest.fixture(autouse=True)
def corridor():
    """The corridor knows the method of the tests."""
    with known_to_the_corridor():
        yield


def plan(desk, epsilon=2, limit=3, name="plan.toml", extra=""):
    text = PLAN.format(epsilon=epsilon, limit=limit)
    return desk.plan(text.replace("k = 2\n", f"k = 2\n{extra}"), name)


def test_a_spent_budget_is_refused(desk):
    """The release that would exceed the limit exits 4, says by how much, and writes nothing."""
    table, ledger = desk.csv(PEOPLE), desk / "ledger.db"
    _, done = desk.publish(table, "--ledger", ledger, plan=plan(desk))
    assert "this release spends 2; together 2 of epsilon = 3" in done.stderr
    message = desk.publish_fails(4, table, "--ledger", ledger, plan=plan(desk))
    assert "data set 'people': this release would spend 2, and 1 is left" in message
    assert "2 is spent" in message
    smaller = plan(desk, epsilon=1, name="smaller.toml")
    desk.publish(table, "--ledger", ledger, plan=smaller, out="smaller")
    verified = desk.run("ledger", "verify", desk / "out", desk / "smaller", "--ledger", ledger)
    assert verified.status == 0
    assert "1 data sets with 2 entries, 2 release folders" in verified.stderr


def test_another_limit_is_refused(desk):
    """A limit that changed exits 4 with both limits, whatever the release would spend."""
    table, ledger = desk.csv(PEOPLE), desk / "ledger.db"
    desk.publish(table, "--ledger", ledger, plan=plan(desk))
    raised = plan(desk, epsilon=1, limit=30, name="raised.toml")
    message = desk.publish_fails(4, table, "--ledger", ledger, plan=raised)
    assert "the limit epsilon = 3, delta = 0, neighbours = 'add-remove'" in message
    assert "the plan says epsilon = 30, delta = 0" in message


def test_a_budget_without_a_ledger(desk):
    """A plan with a budget needs a file that remembers it."""
    message = desk.publish_fails(2, desk.csv(PEOPLE), plan=plan(desk))
    assert "[budget] data set 'people' needs a ledger" in message
    assert "--ledger FILE" in message


def test_a_wrong_budget(desk):
    """A mistake in the budget is a mistake of the plan."""
    message = desk.publish_fails(2, desk.csv(PEOPLE), plan=plan(desk, limit=-3))
    assert "plan.toml: [budget] epsilon must be a number of at least 0" in message


def test_a_ledger_without_need(desk):
    """A plan with neither series nor budget says that the ledger was of no use."""
    text = PLAN.format(epsilon=1, limit=3).split("[budget]")[0]
    _, done = desk.publish(desk.csv(PEOPLE), "--ledger", desk / "ledger.db", plan=desk.plan(text))
    assert "the ledger was not used" in done.stderr
    assert "was not accounted" in done.stderr
    assert not (desk / "ledger.db").exists()


def test_rows_left_out_are_told(desk):
    """Rows that the method drops, and rows that it carries over, are told apart."""
    table, ledger = desk.csv(PEOPLE), desk / "ledger.db"
    done = desk.run("publish", table, "--plan", plan(desk), "--out", desk / "a", "--ledger", ledger)
    assert '1 row was left out, by nulls = "drop" or by the method.' in done.stderr
    carrying = plan(desk, epsilon=1, name="carry.toml", extra='suppressed = "carry"\n')
    _, done = desk.publish(table, "--ledger", ledger, plan=carrying, out="b")
    told = done.document
    assert (told["rows_in"], told["rows_out"], told["suppressed"], told["carried"]) == (3, 2, 0, 1)
    assert "wait in the ledger for the next release of data set 'people': 1." in done.stderr
    shown = desk.run("ledger", "show", "--ledger", ledger).stdout
    assert "spent 3, left 0; rows waiting in its pool: 1" in shown


def test_a_crash_is_settled(desk, monkeypatch):
    """After a publisher was stopped, the next one is told what to do, and can go on then."""
    from voile.ledger import Ledger  # noqa: PLC0415 - patched here only

    table, ledger = desk.csv(PEOPLE), desk / "ledger.db"
    carrying = plan(desk, epsilon=1, extra='suppressed = "carry"\n')
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "settle", lambda *_: None)  # as if it had been killed before it
        desk.publish(table, "--ledger", ledger, plan=carrying, out="first")
    message = desk.publish_fails(4, table, "--ledger", ledger, plan=carrying)
    assert "voile ledger settle people --release FOLDER" in message
    wrong = desk.fails(2, "ledger", "settle", "people", "--release", desk / "x", "--ledger", ledger)
    assert "there is no such file" in wrong
    first = desk / "first"
    assert not desk.run("ledger", "settle", "people", "--release", first, "--ledger", ledger).status
    desk.publish(table, "--ledger", ledger, plan=carrying, out="second")


def test_intervals_must_be_known(desk):
    """There are two ways to show an interval."""
    desk.publish_fails(
        2, desk.csv(PEOPLE), "--intervals", "words", "--ledger", desk / "l", plan=plan(desk)
    )
