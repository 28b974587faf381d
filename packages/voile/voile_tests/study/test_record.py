"""``voile.run_study``: one release, the evidence about it, and the ledger."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import polars as pl
import pytest

from voile.attack.protocol import AttackOutcome
from voile.ledger import Ledger
from voile.release.release import read_release
from voile.schema.budget import BudgetPlan
from voile.schema.plan import ColumnPlan, Method, Plan, read_plan
from voile.schema.roles import Roles
from voile.study.documents import read_record, record_document, record_of_document, record_schema
from voile.study.evidence import EvidenceTerms
from voile.study.record import AttackDocument, MeasureDocument
from voile.study.run import make_release
from voile.study.single import make_study
from voile.utility.protocol import Measurement
from voile_base.errors import InfeasibleError, InputError, PlanError, RefusedError
from voile_tests.study.instruments import Crowd, Fails, HeldOut, Linked, Refuses, Rows, instruments
from voile_tests.study.small_groups import known_to_the_corridor

PEOPLE = pl.DataFrame(
    {
        "name": [f"person {i}" for i in range(40)],
        "age": [20 + i % 20 for i in range(40)],
        "city": ["York", "Bath", "Leeds", "York"] * 10,
        "salary": [1000 + 70 * i for i in range(40)],
    }
)
PLAN = """
[roles]
identifiers = ["name"]
quasi_identifiers = ["age", "city"]
sensitive = ["salary"]

[columns.age]
bounds = [16, 80]
intervals = { origin = 0, widths = [5, 20] }

[method]
name = "generalization"
k = 4
suppression_limit = 0.05
"""
TOOLS = instruments(Crowd())


@pytest.fixture
def desk(tmp_path) -> Path:
    """A folder with the people and a plan."""
    PEOPLE.write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def study(desk, out="out", plan="plan.toml", tools=TOOLS, **options):
    """Make a study at the desk."""
    return make_study(
        desk / "people.csv", desk / plan, desk / out, instruments=tools, **{"seed": 1, **options}
    )


def test_what_stands_in_the_folder(desk):
    """What may be published stands apart from what must stay private, which others cannot enter."""
    made = study(desk, render=lambda record: f"<p>{record.name}</p>")
    files = sorted(str(p.relative_to(desk / "out")) for p in (desk / "out").rglob("*.*"))
    assert files == [
        "private/record.json",
        "private/report.html",
        "release/data.csv",
        "release/release.json",
        "release/verify.html",
    ]
    assert (desk / "out" / "private").stat().st_mode & 0o077 == 0
    assert (desk / "out" / "private" / "report.html").read_text() == "<p>plan</p>"
    first = (desk / "out" / "private" / "record.json").read_text().splitlines()[1]
    assert "PRIVATE" in first
    assert read_release(desk / "out" / "release").release_id == made.record.release["release_id"]
    assert [p for p in desk.iterdir() if p.name.startswith(".")] == []


def test_the_release_is_that_of_publish(desk):
    """With one seed a study publishes the bytes that ``make_release`` publishes."""
    study(desk)
    make_release(desk / "people.csv", desk / "plan.toml", desk / "published", seed=1)
    for name in ("data.csv", "release.json"):
        assert (desk / "out/release" / name).read_bytes() == (
            desk / "published" / name
        ).read_bytes()


@pytest.mark.slow
def test_record_is_plain_and_has_a_schema(desk):
    """A written record is read back as the one that was made, and the published schema holds."""
    made = study(desk, tools=instruments(Crowd(), Refuses()))
    document = json.loads((desk / "out/private/record.json").read_text())
    jsonschema.validate(document, record_schema())
    assert record_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert read_record(desk / "out/private/record.json") == made.record
    assert record_of_document(json.loads(json.dumps(record_document(made.record)))) == made.record
    for broken in ({"attacks": [{"attack": 3}]}, {"format": "x"}, {"seed": "1"}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**document, **broken}, record_schema())
    (desk / "other.json").write_text('{"format": "another"}')
    with pytest.raises(InputError, match="not the record of a study"):
        read_record(desk / "other.json")


def test_what_the_record_says(desk):
    """A record has the plan as its file states it, the release as release.json, and versions."""
    record = study(desk, terms=EvidenceTerms(targets=5)).record
    assert record.name == "plan"
    assert record.plan["method"] == {"name": "generalization", "k": 4, "suppression_limit": 0.05}
    assert record.plan["columns"]["age"]["intervals"] == {"origin": 0, "widths": [5, 20]}
    written = json.loads((desk / "out/release/release.json").read_text())
    assert dict(record.release) == {key: written[key] for key in record.release}
    assert record.publication["rows_in"] == 40
    assert record.evidence["targets"] == record.attacks[0]["targets"] == 5
    assert {"voile", "python", "polars", "numpy"} <= set(record.versions)
    assert set(record.seconds) >= {"publish", "attacks", "utility"}
    assert record.utility[2]["value"] is None  # it was no number


def test_plan_from_python(desk):
    """A plan made in Python stands in the record in the words of a file that says the same."""
    plan = Plan(
        Roles(identifiers=["name"], quasi_identifiers=["age", "city"], sensitive=["salary"]),
        Method("generalization", {"k": 4}),
        columns={
            "age": replace(read_plan(desk / "plan.toml").columns["age"], outside="clamp"),
            "city": ColumnPlan(nulls="category"),
        },
        budget=BudgetPlan("people", 0),
    )
    made = make_study(PEOPLE, plan, instruments=TOOLS, ledger=desk / "ledger.db").record
    assert made.plan["columns"]["age"]["bounds"] == [16, 80]
    assert made.plan["columns"]["age"]["outside"] == "clamp"
    assert made.plan["columns"]["age"]["intervals"] == {"widths": [5, 20], "origin": 0}
    assert made.plan["columns"]["city"] == {"nulls": "category"}
    assert made.plan["budget"]["data_set"] == "people"
    assert made.plan["method"] == {"name": "generalization", "k": 4}


@pytest.mark.slow
def test_equal_runs_give_equal_records(desk):
    """Two studies with one seed differ in their seconds alone; another seed draws other targets."""
    first, second, other = (
        replace(study(desk, f"out{seed}{i}", seed=seed).record, seconds={})
        for i, seed in enumerate((1, 1, 2))
    )
    assert first == second
    assert first.attacks[0]["notes"] != other.attacks[0]["notes"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("k = 4", "k = 1"), PlanError),
        (("k = 4", "k = 41"), InfeasibleError),
        (('"age", "city"', '"age", "town"'), PlanError),
        (("[method]", "[methods]"), PlanError),
    ],
)
def test_nothing_stands_after_an_error(desk, change, error):
    """Where a study cannot be made, nothing stands at its place nor beside it."""
    (desk / "plan.toml").write_text(PLAN.replace(*change))
    before = sorted(desk.rglob("*"))
    with pytest.raises(error):
        study(desk)
    assert sorted(desk.rglob("*")) == before


def test_a_report_that_cannot_be_drawn(desk):
    """Where a library for reports is missing, the record is written and it is said what helps."""

    def render(record):
        raise InputError("a report needs jinja2")

    made = study(desk, render=render)
    assert made.no_report == "a report needs jinja2"
    assert sorted(p.name for p in (desk / "out/private").iterdir()) == ["record.json"]


SERIES = (
    PLAN[: PLAN.index("[method]")] + '[method]\nname = "ke-anonymity"\nk = 2\ne = 1\nseries = "s"\n'
)


@pytest.mark.slow
def test_a_series_grows_once(desk):
    """A study makes one release of its series, whatever is rehearsed for it; so does the next."""
    (desk / "plan.toml").write_text(SERIES)
    ledger = desk / "ledger.db"
    tools = instruments(Crowd(), Linked(), measures=(Rows(), HeldOut()))
    made = study(desk, ledger=ledger, tools=tools)
    assert made.record.evidence["rehearsed"] == ["linked", "held-out"]
    assert [v.release_id for v in Ledger(ledger).load("s").versions] == [
        made.publication.release.release_id
    ]
    assert study(desk, "next", ledger=ledger, seed=2).publication.release.series.version == 2
    with pytest.raises(PlanError, match="needs a ledger"):
        study(desk, "without")


def test_a_budget_is_charged_once(tmp_path):
    """A study spends what its release spends, says so in its record, and is refused beyond that."""
    frame = pl.DataFrame({"zip": list("aabbcc")})
    budget = BudgetPlan("parcels", 3)
    plan = Plan(
        Roles(quasi_identifiers=["zip"]), Method("small-groups", {"epsilon": 2}), budget=budget
    )
    ledger = tmp_path / "ledger.db"
    tools = instruments(Crowd(), measures=())
    with known_to_the_corridor():
        made = make_study(frame, plan, tmp_path / "out", ledger=ledger, instruments=tools)
        assert Ledger(ledger).budget("parcels").spent == 2
        assert any("this release spends 2" in told for told in made.record.publication["notices"])
        with pytest.raises(RefusedError, match="would spend 2, and 1 is left"):
            make_study(frame, plan, tmp_path / "out2", ledger=ledger, instruments=tools)
    assert not (tmp_path / "out2").exists()
    assert len(Ledger(ledger).budget("parcels").entries) == 1


@pytest.mark.parametrize("where", ["an attack", "the report"])
def test_a_fault_costs_nothing(desk, where):
    """What goes wrong with the evidence does so before the commit: nothing is charged or left."""
    (desk / "plan.toml").write_text(SERIES)
    before = sorted(desk.rglob("*"))

    def render(record):
        raise RuntimeError

    tools = instruments(Fails(faulty=True)) if where == "an attack" else TOOLS
    with pytest.raises((KeyError, RuntimeError)):
        study(desk, ledger=desk / "ledger.db", tools=tools, render=render)
    assert sorted(desk.rglob("*")) == before


def test_a_disk_that_fails_leaves_nothing(desk, monkeypatch):
    """Where writing fails after the commit, nothing stands, and the series forgets the release."""

    def fails(path, text):
        raise OSError(28, "No space left on device")

    (desk / "plan.toml").write_text(SERIES)
    monkeypatch.setattr("voile.study.single.write_text", fails)
    with pytest.raises(InputError, match="the study cannot be written"):
        study(desk, ledger=desk / "ledger.db")
    ledger = ["ledger.db", "ledger.db.rows"]
    assert sorted(p.name for p in desk.iterdir()) == [*ledger, "people.csv", "plan.toml"]
    ledger = Ledger(desk / "ledger.db")
    assert ledger.load("s") is None
    assert [lost.number for series in ledger.series() for lost in series.lost] == [1]


@pytest.mark.parametrize(
    ("document", "made", "follows"),
    [(AttackDocument, AttackOutcome, {"advantage"}), (MeasureDocument, Measurement, set())],
)
def test_a_record_holds_all_that_was_found(document: type, made: type, follows: set[str]) -> None:
    """What a record declares of attacks and measures are their fields, and what follows."""
    assert set(document.__annotations__) == {one.name for one in fields(made)} | follows
