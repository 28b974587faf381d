"""Persons with several rows and differentially private methods, through the command line."""

from __future__ import annotations

import json

import pytest

ROWS = [(patient, 20 + 7 * (visit + patient) % 60) for patient in range(40) for visit in range(3)]
STAYS = "patient,age\n" + "".join(f"p{patient},{age}\n" for patient, age in ROWS)
PLAN = """
[roles]
{roles}
quasi_identifiers = ["age"]

[columns.age]
bounds = [0, 100]
intervals = {{ widths = [25, 50] }}

[method]
{method}
"""
METHODS = {
    "dp-generalization": 'name = "dp-generalization"\nk = 8\nbeta = 0.3\nepsilon_choice = 1\n',
    "clustered-laplace": 'name = "clustered-laplace"\nepsilon = 2\nshares = [1.0]\n',
}
PERSON = 'person = "patient"'
methods = pytest.mark.parametrize("name", METHODS)


def plan_of(desk, name, said, roles=PERSON, budget="", file="plan.toml"):
    text = PLAN.format(roles=roles, method=METHODS[name] + said)
    return desk.plan(text + budget, file)


@methods
@pytest.mark.parametrize(
    ("said", "roles", "told"),
    [
        ("rows_per_person = 0", PERSON, "rows_per_person must be a whole number of at least 1"),
        ("rows_per_person = 1.5", PERSON, "rows_per_person must be a whole number of at least 1"),
        ("rows_per_person = 2", 'identifiers = ["patient"]\nperson = "row"', "tells persons apart"),
        ("", PERSON, "rows_per_person is missing: some persons have several rows"),
    ],
)
def test_a_bound_that_cannot_be_exits_2_and_writes_nothing(desk, name, said, roles, told):
    """The message names the plan's file and the key."""
    plan = plan_of(desk, name, said, roles)
    message = desk.publish_fails(2, desk.file(STAYS), plan=plan)
    assert message.startswith(f"voile: {plan}: [method] ")
    assert "rows_per_person" in message
    assert told in message


@methods
def test_a_row_of_nobody_exits_2(desk, name):
    """The message names the plan's file, the column and the first such row."""
    plan = plan_of(desk, name, "rows_per_person = 2")
    message = desk.publish_fails(2, desk.file(STAYS.replace("p1,", ",", 1)), plan=plan)
    assert f"{plan}: [roles] person: column 'patient' misses its value" in message
    assert "row 4" in message


@pytest.mark.slow
@methods
def test_a_person_is_charged_for_all_rows_that_take_part(desk, name):
    """Releases of two and of three rows of a person add up to what they say, and no more.

    A limit about rows has no price for a person, nor one about persons for a row.
    """
    table, ledger = desk.file(STAYS), desk / "ledger.db"
    neighbours, delta = ("person", 0.9) if name == "dp-generalization" else ("replace-person", 0)

    def budget(relation, data_set="stays"):
        return (
            f'\n[budget]\ndata_set = "{data_set}"\nepsilon = 100\ndelta = {delta}\n'
            f'neighbours = "{relation}"\n'
        )

    def publish(rows, out):
        plan = plan_of(desk, name, f"rows_per_person = {rows}", PERSON, budget(neighbours))
        folder, _ = desk.publish(table, "--ledger", ledger, plan=plan, out=out)
        return json.loads((folder / "release.json").read_text())["guarantee"]

    said = [publish(rows, f"with-{rows}") for rows in (2, 3)]
    assert [it["rows_per_person"] for it in said] == [2, 3]
    assert {it["neighbours"] for it in said} == {neighbours}
    shown = desk.run("ledger", "show", "--ledger", ledger, "--json").document
    (account,) = shown["data_sets"]
    assert account["neighbours"] == neighbours
    spent = [event for entry in account["entries"] for event in entry["events"]]
    assert {event["neighbours"] for event in spent} == {neighbours}
    together = sum(it["epsilon"] for it in said)
    assert sum(float(event["epsilon"]) for event in spent) == pytest.approx(together)
    assert account["spent"] <= together * (1 + 1e-9)
    assert delta or account["spent"] == pytest.approx(together)
    rows = "add-remove" if neighbours == "person" else "replace"
    for relation, person, bound in (
        (rows, PERSON, "rows_per_person = 2"),
        (neighbours, 'identifiers = ["patient"]\nperson = "row"', ""),
    ):
        plan = plan_of(desk, name, bound, person, budget(relation, "others"), "other.toml")
        message = desk.publish_fails(2, table, "--ledger", ledger, plan=plan)
        assert message.startswith(f"voile: {plan}: [budget] data set 'others'")
        assert "need data sets of their own" in message
