"""``voile study`` on the command line: what is written where, and how it fails."""

from __future__ import annotations

import json

import jsonschema
import pytest

from voile.ledger import Ledger
from voile.study.documents import record_schema

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
k = 3
"""
ATTACKS = ("--attacks", "prosecutor, homogeneity")


@pytest.fixture
def study(desk):
    """Run ``voile study`` on sixty people."""
    table, plan = desk.csv(PEOPLE), desk.plan(PLAN)
    return lambda *more, out="out": desk.run(
        "study", table, "--plan", plan, "--out", desk / out, *ATTACKS, *more
    )


@pytest.mark.usefixtures("undrawn")
def test_a_study(desk, study):
    """The release and the evidence stand apart; what is printed says first that it is private."""
    done = study("--targets", 50)
    assert done.status == 0, done.stderr
    assert sorted(p.name for p in (desk / "out").iterdir()) == ["private", "release"]
    assert done.stdout.startswith("PRIVATE")
    assert "prosecutor" in done.stdout
    assert "all 60 rows, in closed form" in done.stdout
    assert "50 drawn of 60 rows" in done.stdout
    assert "3-anonymous" in done.stderr
    assert "must stay private" in done.stderr
    assert "NOT fit" not in done.stderr
    assert desk.hidden() == []


@pytest.mark.usefixtures("undrawn")
def test_a_study_as_json(desk, study):
    """``--json`` is the record and its verdict; with one seed two are alike but for seconds."""
    first, second = (study("--json", "--seed", 4, out=out).document for out in ("a", "b"))
    written = json.loads((desk / "a" / "private" / "record.json").read_text())
    assert first["verdict"]
    assert {**written, "verdict": first["verdict"], "out": str(desk / "a")} == first
    jsonschema.validate(written, record_schema())
    assert next(iter(first)) == "private"
    for document in (first, second):
        del document["seconds"], document["seal"], document["out"]
    assert first == second


@pytest.mark.usefixtures("undrawn")
def test_a_study_in_a_series(desk, study):
    """A study enters its release in the ledger, once; its folder is one that the ledger knows."""
    desk.plan(
        PLAN[: PLAN.index("[method]")] + '[method]\nname = "ke-anonymity"\nk = 2\ne = 1\n'
        'series = "s"\n'
    )
    assert "needs a ledger" in study().stderr
    ledger = desk / "ledger.db"
    done = study("--ledger", ledger)
    assert done.status == 0, done.stderr
    assert len(Ledger(ledger).load("s").versions) == 1
    assert desk.run("ledger", "verify", desk / "out" / "release", "--ledger", ledger).status == 0


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        (("--attacks", "prosecuter"), 2, "did you mean 'prosecutor'"),
        (("--held-out", "1"), 2, "held-out"),
        (("--targets", "0"), 2, "targets"),
        (("--seed", "-1"), 2, "seed"),
    ],
)
def test_wrong_calls(desk, more, status, message):
    """A wrong call is met before anything is published, with nothing left."""
    table, plan = desk.csv(PEOPLE), desk.plan(PLAN)
    call = ("study", table, "--plan", plan, "--out", desk / "out", *ATTACKS, *more)
    assert message in desk.fails(status, *call)


@pytest.mark.parametrize(
    ("change", "status"),
    [(("k = 3", "k = 61"), 3), (("k = 3", "k = 1"), 2), (('"city"', '"town"'), 2)],
)
def test_wrong_plans(desk, change, status):
    """A plan that cannot be, or without any release, ends as it does for ``voile publish``."""
    table, plan = desk.csv(PEOPLE), desk.plan(PLAN.replace(*change))
    desk.fails(status, "study", table, "--plan", plan, "--out", desk / "out", *ATTACKS)


def test_the_report_is_in_the_folder(desk, study):
    """The report is one file, and says first that it is private."""
    pytest.importorskip("jinja2")
    assert study().status == 0
    report = (desk / "out" / "private" / "report.html").read_text()
    assert "PRIVATE" in report
    assert "prosecutor" in report.lower()


def test_without_the_libraries_for_reports(desk, study, monkeypatch):
    """Without them the record is written, and it is said how to get the report."""
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    done = study()
    assert done.status == 0
    assert "No report was drawn" in done.stderr
    assert "pip install 'voile[report]'" in done.stderr
    assert [p.name for p in (desk / "out" / "private").iterdir()] == ["record.json"]
