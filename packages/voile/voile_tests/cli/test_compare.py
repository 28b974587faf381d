"""``voile compare`` on the command line: what is written where, and how it fails."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from voile.report.words import reidentified
from voile.study.documents import comparison_schema, read_comparison

PEOPLE = [
    (f"person {i}", 20 + i % 20, ["York", "Bath", "Leeds"][i % 3], 1000 + 70 * i) for i in range(60)
]
PLAN = """
[roles]
identifiers = ["name"]
quasi_identifiers = ["age", "city"]
sensitive = ["salary"]

[columns.age]
intervals = { origin = 0, widths = [5, 20] }

[method]
name = "generalization"
k = [3, 10, 61]
"""
OPTIONS = ("--attacks", "prosecutor,homogeneity", "--jobs", "1")


@pytest.fixture
def call(desk):
    """The arguments that compare plans for sixty people."""
    table, plan = desk.csv(PEOPLE), desk.plan(PLAN)
    return ("compare", table, plan, "--out", desk / "out", *OPTIONS)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_comparison(desk, call):
    """Each study is a line of the table, and what cannot be says why."""
    done = desk.run(*call)
    assert done.status == 0, done.stderr
    assert done.stdout.startswith("PRIVATE")
    lines = [line for line in done.stdout.splitlines() if line.startswith("k = ")]
    assert [line.split()[-1] for line in lines[:3]] == ["done", "done", "infeasible"]
    assert "k = 61: " in done.stdout
    assert "no release exists" in done.stdout
    assert "2 done, 1 infeasible; all of it must stay private" in done.stderr
    assert sorted(p.name for p in desk.folder.iterdir()) == ["out", "people.csv", "plan.toml"]


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_comparison_as_json(desk, call):
    """``--json`` prints comparison.json, which follows the schema and can be read back."""
    done = desk.run(*call, "--json", "--seed", 1, "--risk", "prosecutor", "--loss", "precision")
    written = json.loads((desk / "out" / "comparison.json").read_text())
    assert {**written, "out": str(desk / "out")} == done.document
    jsonschema.validate(written, comparison_schema())
    read = read_comparison(desk / "out")
    assert read.risk == "prosecutor"
    assert (read.loss, read.loss_better) == ("precision", "higher")
    assert read.points[0].risk == read.points[0].record.attacks[0]["success"]["value"]


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_other_columns_add_is_counted_where_it_is_asked_for(desk, call, jobs):
    """An exact salary finds each person, in whatever group; no other risk is counted."""
    done = desk.run(*call[:-1], jobs, "--other-columns")
    assert done.status == 0, done.stderr
    for point in read_comparison(desk / "out").points[:2]:
        assert {one["risk"] for one in point.record.risks} == {"re-identification"}
        found = reidentified(point.record)
        assert found.worst < 1 == found.beyond["worst"]
        assert found.beyond["of"].endswith(": salary")


@pytest.mark.slow
def test_the_report_is_in_the_folder(desk, call):
    """The report of a grid is one file, and says first that it is private."""
    pytest.importorskip("jinja2")
    assert desk.run(*call).status == 0
    assert "PRIVATE" in (desk / "out" / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_an_interruption_keeps_what_is_done(desk, call, monkeypatch):
    """After Ctrl-C it is said where finished studies are; the same command goes on from there."""
    from voile.study import grid  # noqa: PLC0415 - to stand in the way of one study

    study, studied = grid._study_point, []

    def interrupted(original, point, shared):
        studied.append(point.stated.name)
        if len(studied) == 2:
            raise KeyboardInterrupt
        return study(original, point, shared)

    monkeypatch.setattr(grid, "_study_point", interrupted)
    stopped = desk.run(*call)
    assert stopped.status == 130
    assert "1 finished study is kept in" in stopped.stderr
    assert "the same command goes on from there" in stopped.stderr
    assert not (desk / "out").exists()
    assert desk.run(*call).status == 0
    assert studied == ["k = 3", "k = 10", "k = 10", "k = 61"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--risk", "prosecuter"), "did you mean 'prosecutor'"),
        (("--jobs", "0"), "jobs"),
        (("--attacks", "x"), "no attack 'x'"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_wrong_calls(desk, call, more, message):
    """A wrong call is met before anything is studied, with nothing left."""
    assert message in desk.fails(2, *call, *more)


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        (("[3, 10, 61]", "[61, 62]"), 3, "2 infeasible"),
        (("[3, 10, 61]", "[1, 0]"), 2, "k must be a whole number"),
        (("[3, 10, 61]", "[3, 3]"), 2, "lists 3 more than once"),
        (('"city"', '"town"'), 2, "'town'"),
    ],
)
def test_wrong_plans(desk, change, status, message):
    """Where no study can be made the exit status is that of the first, and nothing is left."""
    table, plan = desk.csv(PEOPLE), desk.plan(PLAN.replace(*change))
    call = ("compare", table, plan, "--out", desk / "out", *OPTIONS)
    assert message in desk.fails(status, *call)


def test_a_comparison_needs_a_plan(desk):
    """At least one plan is to be named."""
    assert "PLAN" in desk.fails(2, "compare", desk.csv(PEOPLE), "--out", desk / "out")


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_what_is_not_met_of_a_policy_has_its_figure_and_what_may_help(desk, call):
    """For each study; what figures decide alone, since nobody has confirmed anything."""
    policy = desk.file(
        'name = "office"\nsource = "board"\n[[criteria]]\nkind = "group-size"\nleast = 40\n'
        '[[criteria]]\nkind = "assumptions"\n',
        "policy.toml",
    )
    done = desk.run(*call, "--policy", policy, "--seed", 1)
    assert done.status == 0, done.stderr
    document = json.loads((desk / "out" / "comparison.json").read_text())
    told = [point["unmet"] for point in document["points"] if point["record"]]
    assert len(told) == 2
    for (one,) in told:
        assert one.startswith("at least 40 persons share their quasi-identifiers (k): ")
        assert re.search(r"\(k\): \d+ rows of the smallest of \d+ groups", one)
        assert ". What may help: try k = 40" in one
