"""What is not met of a policy says which change would meet it."""

from __future__ import annotations

import html
import json
import re
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("fastapi")

from studio_tests.studio import Visitor
from voile.policy.case import Case
from voile.policy.checking import judge
from voile.policy.ruling import Ruling
from voile.policy.stated import StatedPolicy, template_names
from voile.schema.plan import parse_plan
from voile.study.evidence import EvidenceTerms
from voile.study.single import make_study
from voile_base.errors import InputError
from voile_studio import commands
from voile_studio.jobs import Job
from voile_studio.project import Start
from voile_studio.screens.remedying import _PolicySearch, tip_of
from voile_studio.screens.trying import looks
from voile_studio.words import (
    alternatives,
    change_text,
    excess_told,
    in_percent,
    numbers_of,
    remedy_of,
    without_toml,
)

PEOPLE = pl.DataFrame(
    {
        "age": [20 + number % 40 for number in range(240)],
        "sex": ["f", "m"] * 120,
        "illness": ["flu", "gout", "none"] * 80,
    }
)


def studied(folder: Path, k: int) -> Case:
    """A study of a generalization with the prosecutor and the others who count groups."""
    plan = parse_plan(
        {
            "roles": {
                "person": "row",
                "quasi_identifiers": ["age", "sex"],
                "sensitive": ["illness"],
            },
            "columns": {"age": {"bounds": [0, 99]}},
            "method": {"name": "generalization", "k": k},
        }
    )
    terms = EvidenceTerms(("prosecutor", "journalist", "marketer"), held_out=0.2)
    make_study(PEOPLE, plan, folder, terms=terms)
    return Case.open(folder)


def unmet(case: Case) -> list[Ruling]:
    """What the templates ask and the case lacks."""
    policies = [StatedPolicy.read(name) for name in template_names()]
    return [one for each in policies for one in judge(case, each).rulings if not one.passed]


@pytest.mark.slow
def test_following_the_remedies_of_groups_meets_every_template(tmp_path: Path) -> None:
    """The largest k that is named is enough for each criterion of groups in all templates."""
    before = unmet(studied(tmp_path / "one", k=3))
    told = [remedy_of(asdict(one)) for one in before]
    assert all(words and "[" not in words for words, _ in told)
    counted = {"group-size", "attack"}
    named = [int(change["k"]) for _, change in told if "k" in change]
    assert max(named) == 20
    after = unmet(studied(tmp_path / "two", k=max(named)))
    left = [one.asks for one in after if one.kind in counted and "membership" not in one.asks]
    assert left == []


def test_a_release_of_a_series_is_not_told_to_change_what_its_series_keeps() -> None:
    """k, roles and levels are those of its first release: what is left is said in their place."""
    missed = asdict(
        Ruling("risk", "singling out", passed=False, why="", value=0.3, limit=0.2, side="most")
    )
    alone, later = (remedy_of(missed, in_series=each)[0] for each in (False, True))
    assert "Find the least change" in alone
    assert "Find the least change" not in later
    assert "policy" in later


@pytest.mark.slow
def test_in_a_series_that_is_begun_try_ticks_the_k_of_the_series_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other is refused; before the first release the usual ones are ticked."""
    (tmp_path / "people.csv").write_text("age,sex\n30,f\n31,m\n")
    project = Start(tmp_path).project("people.csv")
    project.keep_plan(
        '[roles]\nquasi_identifiers = ["age"]\n[method]\nname = "generalization"\nk = 5\n'
        'series = "yearly"\nrecord_key = "sex"\n'
    )
    ticks = re.compile(r'name="generalization\.k" value="(\d+)" checked')
    begun = [0]
    monkeypatch.setattr(type(project), "releases_of_series", lambda *_: (begun[0], []))
    visitor = Visitor(tmp_path)
    assert len(ticks.findall(visitor.get("/p/people/try").text)) > 1
    begun[0] = 1
    assert ticks.findall(visitor.get("/p/people/try").text) == ["5"]


def test_what_is_met_needs_no_remedy() -> None:
    """And what is measured and straddles its limit says so."""
    risk = Ruling("risk", "singling out", passed=True, why="", value=0.0, limit=0.1, side="most")
    assert remedy_of(asdict(risk)) == ("", {})
    near = Ruling(
        "risk",
        "inference",
        passed=False,
        why="",
        value=0.1,
        low=0,
        high=0.3,
        limit=0.2,
        side="most",
    )
    assert "limit lies within the interval" in remedy_of(asdict(near))[0]
    beyond = replace(near, value=0.3, high=0.9)
    assert beyond.is_undecided
    assert near.is_undecided
    assert excess_told(asdict(beyond), 22).endswith("undecided: the limit lies within the interval")
    surely = replace(near, value=0.3, low=0.25)
    assert not surely.is_undecided
    assert "undecided" not in excess_told(asdict(surely), 22)
    missing = Ruling(
        "risk", "inference", passed=False, why="inference was not counted: run", limit=0.2
    )
    assert "Publish again" in remedy_of(asdict(missing))[0]


@pytest.mark.slow
def test_a_button_puts_what_is_missed_into_the_plan(tmp_path: Path) -> None:
    """The strictest of all that criteria ask of a parameter, and undo takes it back."""
    (tmp_path / "people.csv").write_text("age,sex\n30,f\n31,m\n")
    visitor = Visitor(tmp_path)
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    project = tmp_path / "people.voile"
    plan = '[roles]\nquasi_identifiers = ["age"]\n\n[method]\nname = "generalization"\nk = 2\n'
    visitor.post("/p/people/plan/text", text=plan, digest=visitor.digest("/p/people/plan"))
    missed = [
        Ruling("group-size", "asks", passed=False, why="", value=2.0, limit=11.0, side="least"),
        Ruling("diversity", "asks", passed=False, why="", value=1.0, limit=2.0, side="least"),
        Ruling("attack", "the attack prosecutor finds", passed=False, why="", limit=0.05, value=1),
    ]
    (project / "releases" / "001" / "private").mkdir(parents=True)
    verdict = project / "releases" / "001" / "private" / "verdict.json"
    verdict.write_text(json.dumps({"rulings": [asdict(one) for one in missed]}))
    visitor.post("/p/people/releases/001/remedy")
    kept = tomllib.loads((project / "plan.toml").read_text())["method"]
    assert kept == {"name": "generalization", "k": 20, "l": 2}
    again = visitor.post("/p/people/releases/001/remedy")
    assert again.status_code == 400
    visitor.post("/p/people/undo")
    assert (project / "plan.toml").read_text() == plan


STUDY = """
[roles]
person = "row"
quasi_identifiers = ["age", "sex"]
sensitive = ["illness"]

[columns.age]
bounds = [0, 99]

[method]
name = "generalization"
k = 2
"""
STRICT = """
name = "strict"
source = "decision of the board"
audience = "researchers"

[[criteria]]
kind = "attack"
name = "prosecutor"
figure = "worst"
most = 0.09
"""


def _with_plan(folder: Path) -> Visitor:
    """Of a project of people, with the plan of a study, beside a strict policy."""
    PEOPLE.write_csv(folder / "people.csv")
    (folder / "policy.toml").write_text(STRICT)
    visitor = Visitor(folder)
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    visitor.post("/p/people/plan/text", text=STUDY, digest=visitor.digest("/p/people/plan"))
    return visitor


@pytest.mark.slow
def test_the_least_change_that_meets_a_policy_is_searched_and_taken(tmp_path: Path) -> None:
    """What was tried is listed; what is taken is the plan of the release with the change."""
    visitor = _with_plan(tmp_path)
    visitor.post("/p/people/release", digest=visitor.digest("/p/people/sign"), number="001")
    visitor.wait("/p/people/evidence", "Check against this policy")
    assert visitor.post("/p/people/releases/001/choose").status_code == 400
    visitor.post("/p/people/releases/001/check", policy="policy.toml")
    visitor.wait("/p/people/evidence", "Find the least change that meets this policy")
    visitor.post("/p/people/releases/001/choose")
    page = visitor.wait("/p/people/evidence", "The least change that meets this policy: ")
    assert "plans that were tried" in page
    visitor.post("/p/people/plan/text", text=STUDY, digest=visitor.digest("/p/people/plan"))
    found = re.search(r'name="plan" value="([^"]+)"><button>Take it as the plan', page)
    assert found is not None
    visitor.post("/p/people/releases/001/take", plan=html.unescape(found[1]))
    kept = tomllib.loads((tmp_path / "people.voile" / "plan.toml").read_text())
    assert kept["method"]["k"] >= 11
    assert kept["roles"] == tomllib.loads(STUDY)["roles"]


@pytest.mark.slow
def test_the_least_change_is_searched_before_anything_is_published(tmp_path: Path) -> None:
    """On Try, once a policy is chosen; it goes into the plan at which the search began."""
    visitor = _with_plan(tmp_path)
    button = "Find the least change that meets this policy"
    assert button not in visitor.get("/p/people/try").text
    assert visitor.post("/p/people/try/choose").status_code == 400
    visitor.post("/p/people/plan/policy", policy="policy.toml")
    assert button in visitor.get("/p/people/try").text
    visitor.post("/p/people/try/choose")
    page = visitor.wait("/p/people/try", "The least change that meets this policy: ")
    assert "Searched around an earlier plan" not in page
    found = re.search(r'name="plan" value="([^"]+)"><button>Take it as the plan', page)
    assert found is not None
    assert visitor.post("/p/people/try/take", plan="k = 1").status_code == 400
    other = STUDY.replace("k = 2", "k = 3")
    visitor.post("/p/people/plan/text", text=other, digest=visitor.digest("/p/people/plan"))
    page = visitor.get("/p/people/try").text
    assert "Searched around an earlier plan" in page
    assert button in page
    visitor.post("/p/people/try/take", plan=html.unescape(found[1]))
    kept = tomllib.loads((tmp_path / "people.voile" / "plan.toml").read_text())
    assert kept["method"]["k"] >= 11
    assert kept["roles"] == tomllib.loads(STUDY)["roles"]
    page = visitor.get("/p/people/try").text
    assert "Go on to publish it" in page
    assert "Searched around an earlier plan" not in page
    cells = r'<summary>(?:at least )?\d+ not met(?:(?!</tr>).)*value="([^"]+)"'
    failing = [html.unescape(one) for one in re.findall(cells, page, re.DOTALL)]
    visitor.post("/p/people/try/take", plan=next(one for one in failing if "as it is" not in one))
    page = visitor.get("/p/people/try").text
    assert "It does not meet the policy. What it misses:" in page
    assert "</strong> Asked: " in page
    assert ". Measured: " in page
    assert 'class="button quiet" href="/p/people/sign"' in page


@pytest.mark.slow
def test_a_change_that_leaves_out_or_groups_a_column_is_taken_with_it(tmp_path: Path) -> None:
    """It goes into the plan of the release, whatever the plan says now; so does the nearest one."""
    (tmp_path / "people.csv").write_text("age,sex\n30,f\n31,m\n")
    visitor = Visitor(tmp_path)
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    project = Start(tmp_path).project("people.csv")
    (project.folder / "releases" / "001").mkdir(parents=True)
    (project.folder / "release-001.toml").write_text(STUDY)
    project.jobs.record("check-001", ["check"], "ema", {})
    change = "k = 11, without column 'sex'"
    tried = {"change": change, "method": {"k": 11}, "without": ["sex"], "problem": None}
    failed = {**tried, "change": "k = 20", "meets": False, "problem": "no release"}
    plans = [{**tried, "meets": False}, failed]
    document = {"found": None, "nearest": change, "plans": plans, "in_the_way": ["x"]}
    project.jobs.record("choose-001", ["choose"], "ema", document)
    for none in ("k = 20", "k = 3"):
        refused = visitor.post("/p/people/releases/001/take", plan=none)
        assert refused.status_code == 400
    visitor.post("/p/people/releases/001/take", plan=change)
    kept = tomllib.loads(project.plan.read_text())
    assert (kept["method"]["k"], kept["roles"]["quasi_identifiers"]) == (11, ["age"])
    assert looks(project) == (0, 2)  # a plan that a search has tried is one that was looked at
    visitor.post("/p/people/undo")
    assert "k = 11" not in project.plan.read_text()
    grouped = {**plans[0], "change": "'sex' a quasi-identifier", "without": [], "grouped": ["sex"]}
    told = STUDY.replace('["age", "sex"]', '["age"]').replace("illness", "sex")
    (project.folder / "release-001.toml").write_text(told)
    project.jobs.record("choose-001", ["choose"], "ema", {**document, "plans": [grouped]})
    visitor.post("/p/people/releases/001/take", plan=grouped["change"])
    roles = tomllib.loads(project.plan.read_text())["roles"]
    assert (roles["quasi_identifiers"], roles.get("sensitive", [])) == (["age", "sex"], [])


def test_a_change_that_was_searched_is_told_in_words() -> None:
    """Levels by their names, shares in percent, columns by what becomes of them."""
    method = {"k": 11, "levels": {"race": 0, "born": 2, "town": 1}, "suppression_limit": 0.05}
    tried = {"method": {**method, "t": None}, "without": ["cost"], "grouped": ["illness"]}
    levels = {"born": ["as it is", "month", "year", "*"], "race": ["as it is", "*"]}
    assert change_text(tried, levels) == (
        "k = 11, race as it is, born by year, town at level 1, up to 5 % of the rows left out, "
        "without t; illness becomes a quasi-identifier; left out: cost"
    )
    assert change_text({"method": {}, "without": []}, {}) == "the plan as it is"


@pytest.mark.slow
def test_the_loss_of_a_change_tells_what_it_leaves_out(tmp_path: Path) -> None:
    """The mean over what is published, and beside it with columns left out counted as lost."""
    (tmp_path / "people.csv").write_text("age,sex,illness\n30,f,flu\n31,m,gout\n")
    visitor = Visitor(tmp_path)
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    visitor.post("/p/people/plan/text", text=STUDY, digest=visitor.digest("/p/people/plan"))
    visitor.post("/p/people/plan/policy", policy="ema")
    project = Start(tmp_path).project("people.csv")
    (project.folder / "searched.toml").write_text(project.plan_text)
    tried = {"change": "c", "method": {"k": 11}, "without": ["sex"], "problem": None, "worst": 0.1}
    tried |= {"meets": True, "information_loss": 0.2, "narrow": ["inference: 19 % of 20 %"]}
    missing = {**tried, "change": "d", "method": {"k": 3}, "meets": False, "unmet": ["x"]}
    found = {"found": "c", "plans": [missing, tried]}
    project.jobs.record("choose-plan", ["choose"], "ema", found)
    page = html.unescape(visitor.get("/p/people/try").text)
    assert "The least change that meets this policy: k = 11; left out: sex." in page
    assert "information loss 20 % over the quasi-identifiers that are published" in page
    assert "60 % with the 1 column that it leaves out counted as 100 %" in page
    assert "It meets narrowly, so that a release" in page
    first, second = re.findall(r'<tr><th scope="row">(k = \d+)', page.partition("Change</th>")[2])
    assert (first, second) == ("k = 11", "k = 3")  # what meets the policy stands first


@pytest.mark.slow
def test_a_search_tells_a_last_remedy_and_what_it_cannot_decide(tmp_path: Path) -> None:
    """Beside what is missed: what is met without sensitive columns, as no finding."""
    (tmp_path / "people.csv").write_text("age,sex,illness\n30,f,flu\n31,m,gout\n")
    visitor = Visitor(tmp_path)
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    visitor.post("/p/people/plan/text", text=STUDY, digest=visitor.digest("/p/people/plan"))
    visitor.post("/p/people/plan/policy", policy="ema")
    project = Start(tmp_path).project("people.csv")
    (project.folder / "searched.toml").write_text(project.plan_text)
    bare = {"change": "c", "method": {"k": 11}, "without": ["illness"], "problem": None}
    bare |= {"worst": 0.1, "meets": True, "information_loss": 0.2}
    near = {**bare, "change": "d", "method": {"k": 3}, "without": [], "meets": False}
    near |= {"unmet": ["inference at most 20 %"]}
    document = {"found": None, "nearest": "d", "in_the_way": ["x"], "plans": [near, bare]}
    told = {**document, "last_remedy": "c", "undecided": True}
    for said, shown in ((document, False), (told, True)):
        project.jobs.record("choose-plan", ["choose"], "ema", said)
        page = html.unescape(visitor.get("/p/people/try").text)
        assert "None of 2 plans that were tried meets this policy." in page
        assert (
            "Without any sensitive column it is met: k = 11; left out: illness" in page
        ) is shown
        assert ("Undecided: each of these limits" in page) is shown
    assert "The least change that meets" not in page
    out = project.folder / "releases" / "001"
    assert '<input type="hidden" name="more" value="true">' in page
    for arguments, asked in ((["choose"], False), (["choose", "--held-out", "0.5"], True)):
        project.jobs.record("choose-plan", arguments, "ema", told)
        page = html.unescape(visitor.get("/p/people/try").text)
        assert ("Search again, asking more people" not in page) is asked
        assert ("--held-out" in commands.study(project, out)) is asked
    assert "this one was not tried" in visitor.get("/p/people/sign").text
    visitor.post("/p/people/try/take", plan="c")
    assert "k = 11" in project.plan.read_text()
    assert "this one was not tried" not in visitor.get("/p/people/sign").text
    met = {"found": "c", "plans": [{**bare, "without": []}], "warning": "nobody counts 'illness'"}
    project.jobs.record("choose-plan", ["choose"], "ema", met)
    assert "Nobody counts 'illness'." in html.unescape(visitor.get("/p/people/try").text)


def test_a_tip_names_a_change_that_meets_the_criterion_or_says_that_none_does() -> None:
    """Of the plans that were judged whole: those judged by their groups alone say nothing."""
    plans = [
        {"change": "k = 3", "method": {"k": 3}, "judged": False, "unmet": []},
        {"change": "k = 5", "method": {"k": 5}, "judged": True, "unmet": ["a", "b"]},
        {"change": "k = 9", "method": {"k": 9}, "judged": True, "unmet": ["b"], "objective": 0.5},
    ]
    search = _PolicySearch(Job(Path("0001")), plans, None, None, ())
    assert tip_of(search, "a").startswith("Met by this change: k = 9, and misses 1 other.")
    assert tip_of(search, "b") == "None of the 2 plans that the search has tried in full meets it."
    assert tip_of(replace(search, plans=[]), "a") == ""
    assert tip_of(None, "a") == tip_of(replace(search, plans=plans[:1]), "a") == ""


def test_what_criteria_ask_is_told_in_percent_as_the_figures_are() -> None:
    """Measures of utility and t keep their scale; cells of several values read as people say."""
    told = in_percent("inference finds at most 0.2 of what the control leaves open")
    assert told == "inference finds at most 20 % of what the control leaves open"
    nobody = "nobody outside picks a person's row with a probability above 0.2, on average"
    assert "above 20 %, on average" in in_percent(nobody)
    for same in ("the measure m is at most 0.3", "groups at most 0.3 from all rows (t)"):
        assert in_percent(same) == same
    assert alternatives("|Asian|White") == "Asian, White or missing"
    assert alternatives("Asian") == "Asian"


def test_a_decimal_comma_is_not_taken_for_two_numbers() -> None:
    """A nought before a comma and a digit may begin a decimal: the message says how to write it."""
    assert numbers_of("5, 10,20; 0, 3", "k") == [5, 10, 20, 0, 3]
    with pytest.raises(InputError, match=r"write decimals with a point, 0\.3"):
        numbers_of("0,3", "t")


def test_messages_of_commands_name_no_tables_of_toml() -> None:
    """They speak of roles and fields as the screens name them; other brackets stay."""
    told = without_toml("[roles] quasi_identifiers names no column; see [columns.age] bounds")
    assert told == (
        "The role “quasi-identifier” on Plan names no column; see the public bounds of column "
        "“age” on Plan"
    )
    counted = without_toml("[columns.cost] 1,195 distinct values")
    assert counted == "Column “cost” on Plan 1,195 distinct values"
    lacking = "plan.toml: [method] no release with k = 9 was found"
    assert without_toml(lacking) == "plan.toml: no release with k = 9 was found"
    assert without_toml(lacking[11:]) == "No release with k = 9 was found"
    assert without_toml("[method] k must be 2 or more") == "k must be 2 or more"
    assert without_toml("k lies in [2, 5] of [method]") == "k lies in [2, 5] of the method"
