"""``voile study`` on the command line: what is written where, and how it fails."""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema
import pytest

from voile.ledger import Ledger
from voile.policy.remedies import HUMAN
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_report_is_in_the_folder(desk, study):
    """The report is one file, and says first that it is private."""
    pytest.importorskip("jinja2")
    assert study().status == 0
    report = (desk / "out" / "private" / "report.html").read_text()
    assert "PRIVATE" in report
    assert "prosecutor" in report.lower()


@pytest.mark.slow
def test_without_the_libraries_for_reports(desk, study, monkeypatch):
    """Without them the record is written, and it is said how to get the report."""
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    done = study()
    assert done.status == 0
    assert "No report was drawn" in done.stderr
    assert "pip install 'voile[report]'" in done.stderr
    assert [p.name for p in (desk / "out" / "private").iterdir()] == ["record.json"]


def survey(folder: Path) -> Path:
    """A survey of made-up persons, with weights, a name of nobody, and answers as codes."""
    draw = random.Random(35)
    lines = ["respondent,weight,sex,age,region,employment,income,satisfied"]
    for number in range(400):
        chosen = [draw.choice(one) for one in (("f", "m"), ("N", "S", "E"), ("job", "none"))]
        age, income = draw.randrange(18, 90), round(draw.lognormvariate(10, 0.5))
        sex, region, job = chosen
        lines.append(
            f"{number + 1},{draw.uniform(0.5, 3):.3f},{sex},{age},{region},{job},{income},"
            f"{draw.randrange(1, 6)}"
        )
    (folder / "survey.csv").write_text("\n".join(lines) + "\n")
    return folder / "survey.csv"


@pytest.mark.slow
def test_each_criterion_that_a_survey_misses_names_what_would_meet_it(desk, tmp_path):
    """By a proposed plan with accepted questions; what humans confirm asks for no other plan."""
    table, plan, out = survey(tmp_path), tmp_path / "p.toml", tmp_path / "study"
    desk.run("plan", table, "--out", plan)
    plan.write_text("accept_questions = true\n" + plan.read_text())
    assert desk.run("study", table, "--plan", plan, "--out", out, "--targets", 50).status == 0
    checked = desk.run("check", out, "--policy", "gdpr")
    assert checked.status == 4
    rulings = json.loads((out / "private" / "verdict.json").read_text())["rulings"]
    told = (
        checked.stderr.partition("What would meet what is not met:")[2]
        or (checked.stdout.partition("What would meet what is not met:")[2])
    )
    missed = [ruling for ruling in rulings if not ruling["passed"]]
    assert missed
    for ruling in missed:
        behind = told.partition(f"  {ruling['asks']}:")[2].splitlines()
        remedy = next(one.strip() for one in behind if one and not one.endswith(":"))
        known = ("try ", "count it first", "confirm it", "leave ", "audit ", "no parameter of")
        assert remedy.startswith(known)
        if ruling["kind"] in HUMAN - {"publishable"}:
            assert remedy.startswith("confirm it in assumptions.toml")
