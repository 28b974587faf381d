"""What a person confirms is told from what was measured, and from what Studio knows otherwise."""

from __future__ import annotations

import html
import json
import os
import re
import time
import tomllib
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import voile

pytest.importorskip("fastapi")

from studio_tests.studio import Visitor
from studio_tests.test_remedies import studied
from voile.policy.case import Case
from voile.policy.checking import form_of, judge, keep
from voile.policy.ruling import ASSUMPTIONS, Ruling, read_ticks, tally_of
from voile.policy.stated import StatedPolicy
from voile.schema.plan import Method
from voile.study.documents import json_text, sealed
from voile_studio.commands import compare
from voile_studio.project import Project, Start
from voile_studio.screens.confirming import (
    is_withdrawn,
    label_of,
    other_releases,
    statements_of,
)
from voile_studio.screens.trying import _series_of, was_tried
from voile_studio.words import excess_told, in_percent, remedy_of
from voile_testing.processes import wait_until

UNPUBLISHED = "no other published data is derived from the same rows"
POLICY = '[[criteria]]\nkind = "group-size"\nleast = 3\n\n[[criteria]]\nkind = "assumptions"\n'
PLAN = '[roles]\nquasi_identifiers = ["age"]\n\n[method]\nname = "generalization"\nk = 2\n'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with two releases of the same table, each checked against a policy."""
    (tmp_path / "people.csv").write_text("age,sex,illness\n30,f,flu\n31,m,gout\n")
    project = Start(tmp_path).project("people.csv")
    (project.folder / "releases").mkdir()
    for number, k in (("001", 3), ("002", 5)):
        studied(project.folder / "releases" / number, k)
        check(project.folder / "releases" / number)
    return project


def check(folder: Path) -> None:
    """Hold a release against the policy, as the command does."""
    case = Case.open(folder)
    stated = StatedPolicy.of_text(f'name = "office"\nsource = "board"\n{POLICY}', "policy")
    form_of(case, stated)
    keep(case, judge(case, stated))


def tick(project: Project, says: list[str], by: str = "officer"):
    """What Studio answers to ticks of the second release."""
    visitor = Visitor(project.start.folder)
    return visitor.post("/p/people/releases/002/assumptions", asked=says, ticked=says, by=by)


def ticked(project: Project) -> dict[str, str]:
    """The statements of the second release that are ticked, and by whom."""
    path = project.folder / "releases" / "002" / "private" / ASSUMPTIONS
    return {one.says: one.by or "" for one in read_ticks(path) if one.ticked}


def test_what_other_releases_contradict_is_not_confirmed(project: Project) -> None:
    """Until each of them is withdrawn as never handed over, and a withdrawal can be taken back."""
    refused = tick(project, [UNPUBLISHED])
    assert refused.status_code == 400
    assert "release 1 of this project is made of the same table" in html.unescape(refused.text)
    assert ticked(project) == {}
    visitor = Visitor(project.start.folder)
    visitor.post("/p/people/releases/001/withdraw")
    first = project.folder / "releases" / "001"
    assert is_withdrawn(project, first)
    assert tick(project, [UNPUBLISHED]).status_code == 200
    assert ticked(project) == {UNPUBLISHED: "officer"}
    visitor.post("/p/people/releases/001/withdraw", back="yes")
    assert not is_withdrawn(project, first)
    (project.folder / "key").write_text("x")
    late = visitor.post("/p/people/releases/002/sign", role="officer")
    assert (late.status_code, "is confirmed, but" in late.text) == (409, True)


@pytest.mark.slow
def test_a_signed_release_is_not_withdrawn(project: Project) -> None:
    """It may have been handed over."""
    (project.folder / "releases" / "001" / "release" / "signatures.json").write_text("{}")
    answer = Visitor(project.start.folder).post("/p/people/releases/001/withdraw")
    assert answer.status_code == 409
    assert not is_withdrawn(project, project.folder / "releases" / "001")


@pytest.mark.slow
def test_a_second_click_signs_nothing_again(project: Project) -> None:
    """A role signs once; the page offers to sign in another one."""
    folder = project.folder / "releases" / "002"
    signatures = [{"role": "officer", "key": "x"}]
    (folder / "release" / "signatures.json").write_text(json.dumps({"signatures": signatures}))
    (project.folder / "key").write_text("x")
    visitor = Visitor(project.start.folder)
    assert visitor.post("/p/people/releases/002/sign", role=" officer ").status_code == 200
    assert project.jobs.latest("sign-002") is None


@pytest.mark.slow
def test_what_is_accepted_all_the_same_says_what_studio_knew(project: Project) -> None:
    """The ledger of jobs knows what was shown before; the verdict and the dossier repeat it."""
    folder = project.folder / "releases" / "002"
    ticks = read_ticks(folder / "private" / ASSUMPTIONS)
    said = next(one.says for one in ticks if "without looking" in one.says)
    made(project, 1, "solutions", ["inspect"])
    made(project, 2, "release", ["study", "--out", project.named(folder)])
    made(project, 3, "solutions", ["inspect", "later"])
    (one,) = (one for one in statements_of(project, folder, ticks) if one.says == said)
    assert one.contradiction == (
        "before this release was made, Studio had shown rows before and after, or solutions "
        "around the plan on these rows"
    )
    visitor = Visitor(project.start.folder)
    page = visitor.get("/p/people/evidence").text.partition('aria-label="Release 001"')[0]
    assert "<strong>not accepted</strong>" in page
    assert f"It does not hold: {one.contradiction}. A tick below accepts it" in page
    assert f"Does not hold here: {one.contradiction}" in visitor.get("/p/people/sign").text
    assert tick(project, [said]).status_code == 200
    assert ticked(project) == {said: f"officer, knowing that {one.contradiction}"}
    check(folder)
    verdict = json.loads((folder / "private" / "verdict.json").read_text())
    why = next(each["why"] for each in verdict["rulings"] if each["asks"] == said)
    assert one.contradiction in why


def opened(table: Path, lines: list[str]) -> tuple[Visitor, Project]:
    """A visitor of Studio who has opened a new table, when it was looked at, and its project."""
    table.write_text("\n".join(lines))
    visitor = Visitor(table.parent)
    visitor.post("/open", source=table.name)
    visitor.wait(f"/p/{table.stem}/data", "<h2>Columns</h2>")
    return visitor, Start(table.parent).project(table.name)


def made(project: Project, number: int, purpose: str, arguments: list[str]) -> None:
    """A command that was run and has ended well."""
    folder = project.folder / "jobs" / f"{number:04}"
    folder.mkdir(parents=True)
    said = {"purpose": purpose, "about": "", "arguments": arguments}
    (folder / "job.json").write_text(json.dumps(said))
    (folder / "ended.json").write_text('{"status": 0}')
    (folder / "out").write_text("")
    (folder / "err").write_text("")


def ended(project: Project, number: int, said: dict[str, object], found: object) -> None:
    """A command that has found something wrong."""
    folder = project.folder / "jobs" / f"{number:04}"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps(said))
    (folder / "ended.json").write_text('{"status": 1}')
    (folder / "out").write_text(json.dumps(found))
    (folder / "err").write_text("")


@pytest.mark.slow
def test_what_a_person_knows_to_be_untrue_is_accepted_with_the_reason(project: Project) -> None:
    """In the words of whoever accepts it, which are neither a confirmation nor ticked again."""
    says = next(one.says for one in read_ticks(_ticks_of(project)) if one.says != UNPUBLISHED)
    visitor, place = Visitor(project.start.folder), "/p/people/releases/002/assumptions"
    known = "every former employer knows the day of leaving"
    refused = visitor.post(place, asked=says, knowing=known)
    assert (refused.status_code, known in html.unescape(refused.text)) == (400, True)
    answer = visitor.post(place, asked=says, knowing=f" {known} ", by="officer")
    assert answer.status_code == 200
    assert ticked(project) == {says: f"officer, knowing that {known}"}
    (statement,) = (
        one
        for one in statements_of(project, _second(project), read_ticks(_ticks_of(project)))
        if one.says == says
    )
    ruling = {"kind": "assumptions", "asks": says, "passed": True, "why": ""}
    assert (statement.is_settled, label_of(ruling, [statement])) == (True, "accepted")
    assert known in html.unescape(visitor.get("/p/people/evidence").text)
    visitor.post(place, asked=says, knowing="", ticked=says, by="officer")
    assert ticked(project) == {says: "officer"}


def _second(project: Project) -> Path:
    return project.folder / "releases" / "002"


def _ticks_of(project: Project) -> Path:
    return _second(project) / "private" / ASSUMPTIONS


@pytest.mark.slow
def test_what_was_made_of_this_plan_already_is_told_beside_the_button(project: Project) -> None:
    """And what is lost of each column stands beside each release, before it is signed."""
    project.keep_plan(PLAN)
    visitor, folder = Visitor(project.start.folder), project.folder / "releases" / "002"
    assert 'class="deed">Publish<' in visitor.get("/p/people/sign").text
    arguments = ["study", "people.csv", "--out", project.named(folder)]
    project.jobs.record("release", arguments, project.digest, {})
    page = visitor.get("/p/people/sign").text
    assert "Release 2 below was made by this plan of this table already" in page
    assert 'class="deed"' not in page
    assert page.count("Information loss: <strong>") == 2
    assert re.search(r"<bdi>age</bdi>: .*information is lost", page)
    project.keep_plan(PLAN.replace("k = 2", "k = 3"))
    assert 'class="deed">Publish<' in visitor.get("/p/people/sign").text


@pytest.mark.slow
def test_why_a_column_is_not_published_stands_wherever_it_is_named(project: Project) -> None:
    """By the proposal, by who has left it out against the proposal, or by its role."""
    names = ["age", "sex", "illness", "name", "town", "id"]
    roles = ["quasi", "quasi", "sensitive", "identifier", "quasi", "quasi"]
    one = {"type": "text", "distinct": 2, "missing": 0, "once": 0}
    looked = {"rows": 2, "columns": [{"name": name, **one} for name in names]}
    why = "its name is that of names of persons"
    proposed = [{"name": n, "role": role, "why": why} for n, role in zip(names, roles, strict=True)]
    project.jobs.record("inspect", ["inspect"], "", looked)
    project.jobs.record("propose", ["plan"], "", {"columns": proposed})
    project.keep_plan(PLAN.replace("[roles]", '[roles]\nidentifiers = ["id"]'))
    visitor = Visitor(project.start.folder)
    for screen in ("sign", "evidence"):
        page = html.unescape(visitor.get(f"/p/people/{screen}").text)
        assert f"<li><bdi>name</bdi>: {why}</li>" in page
        chosen = "<bdi>{}</bdi>: left out by choice; it was proposed as quasi-identifier</li>"
        assert chosen.format("town") in page
        assert "<bdi>age</bdi>: left out" not in page


@pytest.mark.slow
def test_before_the_first_signature_it_is_told_what_it_binds_and_to_whom_the_release_goes(
    project: Project,
) -> None:
    """A policy that names nobody is told to, and each later release to be checked anew."""
    folder = project.folder / "releases" / "002"
    (project.folder / "key").write_text("x")
    for one in read_ticks(folder / "private" / ASSUMPTIONS):
        tick(project, [one.says])
    visitor = Visitor(project.start.folder)
    visitor.post("/p/people/releases/001/withdraw")
    tick(project, [one.says for one in read_ticks(folder / "private" / ASSUMPTIONS)])
    check(folder)
    page = visitor.get("/p/people/sign").text
    assert "This policy does not say to whom the release goes" in page
    assert "binds the series" not in page
    statement = json.loads((folder / "release" / "release.json").read_text())
    statement["series"] = {"name": "yearly", "version": 1}
    (folder / "release" / "release.json").write_text(json.dumps(statement))
    assert "release 2 binds the series" in visitor.get("/p/people/sign").text


@pytest.mark.slow
def test_a_withdrawn_release_is_told_to_count_in_its_series(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And another series is begun beside it, if no other release of the series stands."""
    series = 'k = 2\nseries = "yearly"\nrecord_key = "illness"\n'
    project.keep_plan(PLAN.replace("k = 2\n", series))
    (project.folder / "ledger.db").touch()
    folders = [project.folder / "releases" / number for number in ("001", "002")]
    ids = [json.loads((one / "release/release.json").read_text())["release_id"] for one in folders]
    known: list[str] = []

    class OneSeries:
        def __init__(self, path: Path) -> None:
            self.path = path

        def series(self) -> list[SimpleNamespace]:
            versions = [SimpleNamespace(release_id=one) for one in known]
            terms = SimpleNamespace(name="yearly")
            return [SimpleNamespace(terms=terms, versions=versions, unsettled=None)]

    monkeypatch.setattr("voile_studio.project.Ledger", OneSeries)
    visitor = Visitor(project.start.folder)
    visitor.post("/p/people/releases/001/withdraw")
    known[:] = ids[:1]
    page = visitor.get("/p/people/sign").text
    assert "after 1; withdrawn, and still counted in the series: release 1" in page
    assert "Its groups have at least 32 rows" in page
    assert "16 times k = 32 unless you say another number" in page
    assert "begin another series, here" in page
    assert "<details open><summary>Begin another series" in page
    known[:] = ids
    page = visitor.get("/p/people/sign").text
    assert "Other releases of the series were not withdrawn" in page
    assert "<details open><summary>Begin another series" not in page
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    assert "Go on to Sign off" in visitor.get("/p/people/data").text
    known.clear()
    assert "Go on to the plan" in visitor.get("/p/people/data").text


def test_a_risk_is_told_with_its_attempts_and_not_below_its_control() -> None:
    """50 % of six predicates is no figure without its interval; a negative excess is none."""
    ruling = {"value": 0.5, "low": -0.1, "high": 0.8, "why": "of x: 50% against control 0%"}
    assert excess_told(ruling, 6) == "50 %; 95 % interval 0 % to 80 %; 6 attempts"
    ruling |= {"value": -1.0, "low": -1.0, "high": -1.0}
    notes = ["0 of 40 predicates fit exactly one person"]
    assert excess_told(ruling | {"notes": notes}, 40) == f"not beyond the control; {notes[0]}"
    ruling |= {"why": "of x: 0% against guessing 20%"}
    assert excess_told(ruling, None) == "not beyond guessing"


@pytest.mark.slow
def test_a_dossier_of_before_is_outdated(project: Project) -> None:
    """After a newer verdict, tick or signature, and where Studio contradicts what was ticked."""
    project.keep_plan(PLAN)
    visitor, folder = Visitor(project.start.folder), project.folder / "releases" / "002"
    drawn = project.dossier_of(folder)
    drawn.write_text("<body></body>")
    told = [folder / "private" / name for name in ("verdict.json", ASSUMPTIONS)]
    told.append(folder / "release" / "signatures.json")
    told[-1].write_text('{"signatures": []}')

    def outdated() -> bool:
        return "outdated: draw it again" in visitor.get("/p/people/sign").text

    for path in (drawn, *told):
        os.utime(path, (1_000, 1_000))
    assert not outdated()
    for path in told:
        os.utime(path, (2_000, 2_000))
        assert outdated()
        os.utime(path, (1_000, 1_000))
    told[-1].unlink()
    path = folder / "private" / ASSUMPTIONS
    text = path.read_text()
    said = f'says = "{UNPUBLISHED}"\nticked = false\nby = ""'
    assert said in text
    path.write_text(text.replace(said, said.replace("false", "true").replace('""', '"officer"')))
    os.utime(path, (1_000, 1_000))
    assert outdated()


@pytest.mark.slow
def test_ticks_without_a_role_stay_on_the_page(project: Project) -> None:
    """With the refusal beside them, under the menu, and nothing is written."""
    folder = project.folder / "releases" / "002"
    says = [one.says for one in read_ticks(folder / "private" / ASSUMPTIONS)][:1]
    answer = tick(project, says, by=" ")
    page = html.unescape(answer.text)
    assert answer.status_code == 400
    assert f'value="{says[0]}" checked' in page
    assert "Say in which role" in page
    assert 'aria-label="Screens"' in page
    assert ticked(project) == {}


@pytest.mark.slow
def test_what_was_confirmed_of_a_signed_release_is_ticked_again_at_once(project: Project) -> None:
    """In the same words, by a button, and kept by another; not what anything contradicts."""
    first, second = (project.folder / "releases" / name for name in ("001", "002"))
    says = [one.says for one in read_ticks(second / "private" / ASSUMPTIONS)]
    visitor = Visitor(project.start.folder)
    assert "Tick what was confirmed" not in visitor.get("/p/people/evidence").text
    plain = [one for one in says if one != UNPUBLISHED][:2]
    (project.folder / "releases" / "002").rename(project.folder / "away")
    to = "/p/people/releases/001/assumptions"
    visitor.post(to, asked=plain, ticked=plain, by="officer")
    (project.folder / "away").rename(second)
    (first / "release" / "signatures.json").write_text("{}")
    page = visitor.get("/p/people/evidence").text
    assert "Tick what was confirmed for release 1" in page
    assert 'value="officer"' in page
    to = "/p/people/releases/002/assumptions"
    shown = visitor.post(to, asked=says, as_before="yes", by="officer")
    form = html.unescape(shown.text).partition('id="ticks-002"')[2].partition("</form>")[0]
    boxes = re.findall(r'name="ticked" value="([^"]*)" checked', form)
    assert boxes == plain
    assert (shown.status_code, ticked(project)) == (200, {})
    assert tick(project, plain).status_code == 200
    assert ticked(project) == dict.fromkeys(plain, "officer")


@pytest.mark.slow
def test_nothing_is_to_hand_over_before_it_is_signed(project: Project) -> None:
    """Each release says what is missing, and the ledger lists them with their states."""
    project.keep_plan(PLAN)
    visitor = Visitor(project.start.folder)
    page = visitor.get("/p/people/sign").text
    assert "Each person fits at least <strong>" in page
    assert "<dt>Hand over</dt>" not in page
    assert page.count("<dt>Not to hand over</dt>") == 2
    assert "What is published now would stand beside releases" in page
    ledger = visitor.get("/p/people/ledger").text
    assert ledger.count("<td>not signed</td>") == 2
    visitor.post("/p/people/releases/001/withdraw")
    assert "takes the tick back" not in visitor.get("/p/people/sign").text
    tick(project, [UNPUBLISHED])
    page = visitor.get("/p/people/sign").text
    assert "Of release 2 it was confirmed that no other published data" in page
    assert "takes the tick back" in page
    assert "<td>withdrawn</td>" in visitor.get("/p/people/ledger").text
    assert other_releases(project, project.folder / "releases" / "002") == ""


@pytest.mark.slow
def test_a_series_begins_with_a_button(project: Project) -> None:
    """It goes into the plan with the column that tells rows apart, and undo takes it back."""
    project.keep_plan(PLAN)
    visitor = Visitor(project.start.folder)
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    digest = visitor.digest("/p/people/sign")
    fields = {"digest": digest, "series": "yearly", "record_key": "age"}
    assert visitor.post("/p/people/series", **{**fields, "record_key": "none"}).status_code == 400
    visitor.post("/p/people/series", **fields)
    method = tomllib.loads(project.plan_text)["method"]
    assert method["series"] == "yearly"
    assert method["record_key"] == "age"
    assert visitor.post("/p/people/series", **fields).status_code == 409
    visitor.post("/p/people/undo")
    assert project.plan_text == PLAN


def test_what_a_series_does_not_keep_is_not_offered_on_try(project: Project) -> None:
    """Closeness to all rows is not kept of those who are left; outside of a series it is tried."""
    visitor = Visitor(project.start.folder)
    project.keep_plan(PLAN)
    assert 'name="generalization.t"' in visitor.get("/p/people/try").text
    project.keep_plan(PLAN + 'series = "yearly"\nrecord_key = "illness"\n')
    page = visitor.get("/p/people/try").text
    assert 'name="generalization.t"' not in page
    assert 'name="generalization.l"' in page


@pytest.mark.slow
def test_no_series_is_offered_where_the_plan_names_persons(project: Project) -> None:
    """Its rows could not be followed; the page says why, and the form is refused."""
    with project.source.open("a") as table:
        table.write("32,m,gout\n")
    project.keep_plan(PLAN.replace("[roles]\n", '[roles]\nperson = "illness"\n'))
    visitor = Visitor(project.start.folder)
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    page = visitor.get("/p/people/sign").text
    assert "No series can be begun: the plan names persons" in page
    assert "2 different values in 3 rows, up to 2 rows of one" in page
    assert "Put the series into the plan" not in page
    for before in ("plan", "try"):
        told = visitor.get(f"/p/people/{before}").text
        assert "no series can be begun as the plan stands, since the plan names persons" in told
        assert "begin a series</a> before you choose" not in told
    fields = {"digest": visitor.digest("/p/people/sign"), "series": "yearly", "record_key": "age"}
    refused = visitor.post("/p/people/series", **fields)
    assert (refused.status_code, "series" in project.plan_text) == (400, False)
    project.keep_plan(PLAN)


@pytest.mark.slow
def test_a_series_follows_persons_who_have_one_row_each(tmp_path: Path) -> None:
    """Rows are told apart by the column that named persons, which is still never published."""
    lines = [f"S{n:03},{20 + n % 30},{n % 7}" for n in range(60)]
    (tmp_path / "students.csv").write_text("\n".join(["student_no,age,marks", *lines]))
    visitor, place = Visitor(tmp_path), "/p/students"
    visitor.post("/open", source="students.csv")
    visitor.wait(f"{place}/data", "<h2>Columns</h2>")
    project = Start(tmp_path).project("students.csv")
    assert tomllib.loads(project.plan_text)["roles"]["person"] == "student_no"
    visitor.wait(f"{place}/sign", "Begin a series")
    fields = {"series": "yearly", "record_key": "student_no", "group_size": "few"}
    refused = visitor.post(f"{place}/series", digest=visitor.digest(f"{place}/sign"), **fields)
    assert (refused.status_code, "Persons in a group" in refused.text) == (400, True)
    fields["group_size"] = "2"
    small = visitor.post(f"{place}/series", digest=visitor.digest(f"{place}/sign"), **fields)
    assert (small.status_code, "2 is below k = 5" in small.text) == (400, True)
    fields["group_size"] = "12"
    visitor.post(f"{place}/series", digest=visitor.digest(f"{place}/sign"), **fields)
    said = tomllib.loads(project.plan_text)
    assert (said["roles"]["person"], said["roles"]["identifiers"]) == ("row", ["student_no"])
    assert (said["method"]["record_key"], said["method"]["group_size"]) == ("student_no", 12)
    page = visitor.get(f"{place}/sign").text
    assert "Begin another series in place of" in page
    assert "this one was not tried" in page
    fields |= {"series": "anew", "group_size": ""}
    visitor.post(f"{place}/series", digest=visitor.digest(f"{place}/sign"), **fields)
    assert tomllib.loads(project.plan_text)["method"]["series"] == "anew"
    tried = {"generalization": {"k": "5"}, "ke-anonymity": {"k": "3", "e": "2"}}
    for number, (method, values) in enumerate(tried.items(), 1):
        said = {f"{method}.{key}": value for key, value in values.items()}
        visitor.post(f"{place}/try", method=method, **said)
        visitor.wait(f"{place}/try", f"Studies of try {number}")
        text = (project.folder / f"try-{number:03}.toml").read_text()
        assert ("series" in tomllib.loads(text)["method"]) == (method == "generalization")


@pytest.mark.slow
def test_persons_are_counted_by_the_values_of_their_column(tmp_path: Path) -> None:
    """A series can be begun where each has one row, though the role was given after the look."""
    lines = [f"{n},{20 + n % 9},flu" for n in range(40)]
    visitor, project = opened(tmp_path / "people.csv", ["serial,age,illness", *lines])
    for column, refused in (("serial", False), ("age", True)):
        quasi = "age" if column == "serial" else "illness"
        roles = f'[roles]\nperson = "{column}"\nquasi_identifiers = ["{quasi}"]\n'
        project.keep_plan(roles + PLAN[PLAN.index("[method]") :])
        page = visitor.get("/p/people/sign").text
        assert ("No series can be begun" in page) == refused
        assert ("9 different values in 40 rows" in page) == refused
    repeats = '[roles]\nidentifiers = ["age"]\nquasi_identifiers = ["illness"]\n'
    project.keep_plan(repeats + PLAN[PLAN.index("[method]") :])
    page = html.unescape(visitor.get("/p/people/plan").text)
    assert "A direct identifier repeats (age: 9 different values in 40 rows)" in page
    assert "The plan is complete" not in page
    assert page.count("Each row is another person") == 1
    assert "Persons by <bdi>age</bdi>" in page
    assert 'class="deed"' not in visitor.get("/p/people/sign").text
    assert ">Try</button>" not in visitor.get("/p/people/try").text
    tried = visitor.post("/p/people/try", **{"method": "generalization", "generalization.k": "3"})
    assert tried.status_code == 400
    visitor.post("/p/people/plan/rows", digest=visitor.digest("/p/people/plan"))
    assert "The plan is complete" in visitor.get("/p/people/plan").text
    assert 'class="deed"' in visitor.get("/p/people/sign").text


@pytest.mark.slow
def test_values_of_ones_own_are_told_where_they_are_published(tmp_path: Path) -> None:
    """An exact amount that only one person has finds the row, whatever is done with the others."""
    lines = [f"{20 + n % 9},{1000 + 37 * n}" for n in range(60)]
    visitor, project = opened(tmp_path / "grants.csv", ["age,grant_eur", *lines])
    told = "Many rows have a value of their own"
    project.keep_plan(PLAN.replace("k = 2", "k = 5"))
    assert told not in visitor.get("/p/grants/plan").text
    project.keep_plan(PLAN.replace("[roles]\n", '[roles]\nsensitive = ["grant_eur"]\n'))
    page = visitor.get("/p/grants/plan").text
    assert told in page
    assert "Hide one number in groups" in page
    both = PLAN.replace('["age"]', "[]").replace(
        "[roles]\n", '[roles]\nsensitive = ["grant_eur", "age"]\n'
    )
    project.keep_plan(both)
    page = visitor.get("/p/grants/plan").text
    assert told in page
    assert "Hide one number in groups" not in page, "it hides one, and here are two"
    project.keep_plan(PLAN.replace("[roles]\n", '[roles]\nsensitive = ["grant_eur"]\n'))
    page = visitor.get("/p/grants/plan").text
    assert [f'id="bounds-{index}"' in page for index in (0, 1)] == [True, True]
    project.keep_plan(PLAN.replace("[roles]\n", '[roles]\nidentifiers = ["grant_eur"]\n'))
    page = visitor.get("/p/grants/plan").text
    assert [f'id="bounds-{index}"' in page for index in (0, 1)] == [True, False]
    said = {"purpose": "check", "about": project.digest, "arguments": ["plan"]}
    finding = {"refused": True, "column": "age", "told": "has no bounds"}
    ended(project, 99, said, {"findings": [finding]})
    page = visitor.get("/p/grants/plan").text
    assert "The plan does not fit the table yet." in page
    assert "This did not work" not in page


@pytest.mark.slow
def test_what_a_record_lacks_is_no_value_that_is_missing(project: Project) -> None:
    """Publishing again mends the first; of missing cells the reason itself says what would help."""
    ruling = {"kind": "attack", "passed": False, "limit": 0.1, "value": None, "asks": "x"}
    assert "Publish again" in remedy_of({**ruling, "why": "the figure is null"})[0]
    why = "missing cells may stand for other values; publish without nulls = category"
    assert "The line above" in remedy_of({**ruling, "why": why})[0]


@pytest.mark.slow
def test_a_table_that_was_replaced_is_told_on_each_screen(tmp_path: Path) -> None:
    """Until it is looked at again: what was counted before is of the table before."""
    table = tmp_path / "people.csv"
    table.write_text("age,illness\n" + "\n".join(f"{20 + n % 9},flu" for n in range(40)))
    visitor, told = Visitor(tmp_path), "was changed since it was looked at"
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    assert told not in visitor.get("/p/people/sign").text
    later = time.time() + 60
    os.utime(table, (later, later))
    for screen in ("data", "plan", "try", "evidence", "sign", "ledger"):
        assert told in visitor.get(f"/p/people/{screen}").text


@pytest.mark.slow
def test_rulings_are_told_apart_by_what_they_rest_on(project: Project) -> None:
    """Measured, confirmed, accepted, not applicable: the tally counts each for itself."""
    measured = {"kind": "group-size", "asks": "a", "passed": True, "why": "of 2", "waived": ""}
    void = {"kind": "copies", "asks": "b", "passed": True, "why": "does not apply: x", "waived": ""}
    said = {"kind": "assumptions", "asks": "c", "passed": True, "why": "ticked", "waived": ""}
    labels = [label_of(one, []) for one in (measured, void, said)]
    assert labels == ["met", "not applicable", "confirmed"]
    assert tally_of([*labels, "accepted", "not met"]) == (
        "3 of 4 criteria that apply are met: 1 measured, 1 confirmed and 1 accepted by a person "
        "alone, not measured; 1 not met. 1 does not apply."
    )


@pytest.mark.slow
def test_what_a_promise_leaves_open_is_accepted_and_not_confirmed(project: Project) -> None:
    """The release says which sentences are of that sort; no wording tells it."""
    folder = project.folder / "releases" / "002"
    found = statements_of(project, folder, read_ticks(folder / "private" / ASSUMPTIONS))
    limits = json.loads((folder / "release" / "release.json").read_text())["guarantee"]
    assert limits["leaves_open"]
    assert [one.says for one in found if one.is_limit] == limits["leaves_open"]
    assert UNPUBLISHED in {one.says for one in found if not one.is_limit}


@pytest.mark.slow
def test_a_drawn_page_leads_back(project: Project) -> None:
    """A dossier has a link to the screen that it was opened from, and runs nothing."""
    (project.folder / "dossier-002.html").write_text("<html><body><p>drawn</p></body></html>")
    answer = Visitor(project.start.folder).get("/p/people/releases/002/dossier")
    assert 'href="/p/people/sign#release-002"' in answer.text
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert "script-src" not in policy


@pytest.mark.slow
def test_what_waits_for_a_withdrawal_is_no_tick(project: Project) -> None:
    """A box that is not offered is not counted among those to tick, on Evidence and Sign off."""
    project.keep_plan(PLAN)
    visitor, folder = Visitor(project.start.folder), project.folder / "releases" / "002"
    asked = read_ticks(folder / "private" / ASSUMPTIONS)
    page = visitor.get("/p/people/evidence").text.partition("<h2")[2].partition("<h2")[0]
    assert page.count('<input type="checkbox" name="ticked"') == len(asked) - 1
    assert page.count("Tick it below") == 1
    assert "(the same for" in page
    assert f"0 of {len(asked) - 1} ticked and kept; a tick counts when" in page
    ticks = f"{len(asked) - 1} statements wait for a tick on Evidence"
    assert f"{ticks} and 1 statement waits for other releases to be withdrawn" in page.replace(
        ticks.capitalize(), ticks
    )
    tick(project, [one.says for one in asked if one.says != UNPUBLISHED])
    page = visitor.get("/p/people/evidence").text.partition("<h2")[2].partition("<h2")[0]
    assert "Tick it below" not in page  # what is ticked stands as confirmed before it is counted
    assert page.count("<strong>not confirmed</strong>") == 0
    assert "statements wait for a tick" not in page
    check(folder)
    signing = visitor.get("/p/people/sign").text
    assert "1 statement waits for other releases to be withdrawn" in signing
    assert "for a tick on Evidence" not in signing.partition("Release 1")[0]


@pytest.mark.slow
def test_the_ledger_says_how_many_criteria_are_met(project: Project) -> None:
    """And that a signed release is not to be handed over where Studio knows otherwise."""
    folder = project.folder / "releases" / "002"
    visitor = Visitor(project.start.folder)
    assert "office: <strong>1 of" in visitor.get("/p/people/ledger").text
    path = folder / "private" / ASSUMPTIONS
    said = f'says = "{UNPUBLISHED}"\nticked = false\nby = ""'
    now = said.replace("false", "true").replace('""', '"officer"')
    path.write_text(path.read_text().replace(said, now))
    signatures = [{"role": "officer", "key": "x"}]
    (folder / "release" / "signatures.json").write_text(json.dumps({"signatures": signatures}))
    told = visitor.get("/p/people/ledger").text
    assert "signed by officer, but not to hand over" in told
    visitor.post("/p/people/releases/001/withdraw")
    assert "but not to hand over" not in visitor.get("/p/people/ledger").text


@pytest.mark.slow
def test_the_recipient_that_a_policy_supposes_stands_on_the_screen(project: Project) -> None:
    """Nobody is asked whether it is so, so that it is said whose supposition it is."""
    project.keep_plan(PLAN)
    folder, visitor = project.folder / "releases" / "002", Visitor(project.start.folder)
    assert "This policy does not say to whom" in visitor.get("/p/people/evidence").text
    case = Case.open(folder)
    text = f'name = "office"\nsource = "board"\naudience = "the press"\n{POLICY}'
    stated = StatedPolicy.of_text(text, "policy")
    form_of(case, stated)
    keep(case, judge(case, stated))
    page = visitor.get("/p/people/evidence").text
    assert "supposes that the release goes to: <strong>the press</strong>" in page


@pytest.mark.slow
def test_a_policy_that_is_held_against_a_signed_release_tells_its_verdict(project: Project) -> None:
    """Beside that which was signed, which stays; the same policy tells nothing new."""
    mild = 'name = "mild"\nsource = "board"\n\n[[criteria]]\nkind = "group-size"\nleast = 2\n'
    (project.start.folder / "policy-mild.toml").write_text(mild)
    visitor = Visitor(project.start.folder)

    def did(path: str, **form: str) -> None:
        visitor.post(f"/p/people/{path}", **form)
        wait_until(lambda: all(job.state != "running" for job in project.jobs.all()))

    did("releases/002/check", policy="policy-mild.toml")
    did("key")
    did("releases/002/sign", role="officer")
    assert "after it was signed" not in visitor.get("/p/people/evidence").text
    did("releases/002/check", policy="ema")
    page = visitor.get("/p/people/evidence").text
    assert "Held against <strong>EMA: policy 0070</strong> after it was signed" in page
    assert "<strong>mild</strong>" in page
    did("releases/002/check", policy="policy-mild.toml")
    assert "after it was signed" not in visitor.get("/p/people/evidence").text


@pytest.mark.slow
def test_a_criterion_of_several_columns_is_labelled_for_each(project: Project) -> None:
    """The risk of one column is beyond the limit, that of another within: each says so."""
    path = project.folder / "releases" / "002" / "private" / "verdict.json"
    verdict = json.loads(path.read_text())
    asks = "inference finds at most 0.2 of what the control leaves open"
    for name, value in (("sex", 0.4), ("age", 0.0)):
        passed = value <= 0.2
        risk = Ruling("risk", asks, passed=passed, why=f"{name}: told", value=value, limit=0.2)
        verdict["rulings"].append(asdict(risk))
    path.write_text(json.dumps(verdict))
    page = html.unescape(Visitor(project.start.folder).get("/p/people/evidence").text)
    lines = [line for line in page.split("<li ") if in_percent(asks) in line]
    told = {
        name: re.findall(r"<strong>([a-z ]+)</strong>", line)[:1]
        for name in ("sex", "age")
        for line in lines
        if f"{name}: told" in line
    }
    assert told == {"sex": ["not met"], "age": ["met"]}


@pytest.mark.slow
def test_signed_releases_of_another_project_with_these_columns_are_known(project: Project) -> None:
    """A later state of a table under another name is not ticked as the only one of its rows."""
    visitor = Visitor(project.start.folder)
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    (project.start.folder / "later.csv").write_text("age,sex,illness\n30,f,flu\n31,m,gout\n")
    visitor.post("/open", source="later.csv")
    visitor.wait("/p/later/data", "<h2>Columns</h2>")
    later = project.start.find_project("later")
    folder = later.folder / "releases" / "001"
    folder.parent.mkdir()
    studied(folder, 3)
    check(folder)

    def known() -> list[tuple[str, bool]]:
        ticks = read_ticks(folder / "private" / ASSUMPTIONS)
        found = statements_of(later, folder, ticks)
        return [(one.contradiction, one.is_refused) for one in found if one.says == UNPUBLISHED]

    assert known() == [("", False)]
    (project.folder / "releases" / "001" / "release" / "signatures.json").write_text("{}")
    ((why, refused),) = known()
    assert "project people in this folder has signed a release of a table with the same" in why
    assert not refused


@pytest.mark.slow
def test_a_project_goes_on_with_the_file_of_the_new_state(project: Project) -> None:
    """Plan and releases stay; a file that lacks a column with a role is refused by its name.

    Data says how many rows came, left and stayed, by the column that the series follows.
    """
    visitor, folder = Visitor(project.start.folder), project.start.folder
    visitor.post("/open", source="people.csv")
    visitor.wait("/p/people/data", "<h2>Columns</h2>")
    told = "has releases of a table with the same columns"
    assert told not in visitor.get("/p/people/data").text
    (folder / "later.csv").write_text("age,sex,illness\n30,f,flu\n31,m,gout\n32,m,gout\n")
    (folder / "lacking.csv").write_text("age,illness\n30,flu\n")
    visitor.post("/open", source="later.csv")
    visitor.wait("/p/later/data", "<h2>Columns</h2>")
    for screen in ("data", "plan", "sign", "ledger"):
        page = visitor.get(f"/p/later/{screen}").text
        assert told in page
        assert "Go on with this file in project people" in page
    series = 'k = 2\nseries = "yearly"\nrecord_key = "age"\n'
    plan = PLAN.replace("[roles]\n", '[roles]\nsensitive = ["sex"]\n').replace("k = 2\n", series)
    project.keep_plan(plan)
    refused = visitor.post("/p/people/source", source="lacking.csv")
    assert (refused.status_code, "lacks column sex" in refused.text) == (400, True)
    assert visitor.post("/p/people/source", source="people.csv").status_code == 400
    plan = project.plan_text
    visitor.post("/p/people/source", source="later.csv")
    page = visitor.wait("/p/people/data", "<strong>3 rows</strong>")
    assert (project.source_name, project.earlier_sources) == ("later.csv", ("people.csv",))
    assert (project.plan_text, len(project.numbered("releases"))) == (plan, 2)
    assert "was changed since" not in page
    assert "Since people.csv, 1 rows came, 0 left and 2 stayed, told apart by age" in page
    assert (folder / "people.csv").read_text() == "age,sex,illness\n30,f,flu\n31,m,gout\n"
    assert "It has gone on with" in visitor.get("/p/later/sign").text
    for name in ("people.csv", "later.csv"):
        assert project.start.project(name).name == "people"
    second = project.folder / "releases" / "002" / "release" / "release.json"
    document = json.loads(second.read_text())
    second.write_text(json.dumps(document | {"series": {"name": "yearly", "version": 1}}))
    assert project.keeps_series
    assert not project.start.find_project("later").keeps_series
    assert "before: <bdi>people.csv</bdi>" in visitor.get("/").text
    assert '<th scope="col">Of the file</th>' in visitor.get("/p/people/ledger").text


@pytest.mark.slow
def test_a_try_that_is_taken_stays_in_the_series_of_the_plan(project: Project) -> None:
    """Tries are made without the series; the plan publishes in it all the same."""
    series = 'k = 2\nseries = "yearly"\nrecord_key = "age"\n'
    project.keep_plan(PLAN.replace("k = 2\n", series))
    assert _series_of(project, "generalization") == {"series": "yearly", "record_key": "age"}
    assert _series_of(project, "pram") == {}


@pytest.mark.slow
def test_the_form_of_a_method_keeps_what_was_tried_last(project: Project) -> None:
    """Offered values are ticked, and others stand in the field, of the newest try alone."""
    for number, tried in ((1, "[5, 10]"), (2, "[3, 20, 33]")):
        (project.folder / "tries" / f"00{number}").mkdir(parents=True)
        text = f'[method]\nname = "generalization"\nk = {tried}\n'
        (project.folder / f"try-00{number}.toml").write_text(text, encoding="utf-8")
    page = Visitor(project.start.folder).get("/p/people/try").text
    form = page.partition('aria-label="k-anonymity')[2].partition("</fieldset>")[0]
    ticked = re.findall(r'value="([0-9]+)" checked', form)
    assert ticked == ["3", "20"]
    assert 'value="33"' in form.partition("others")[2]


@pytest.mark.slow
def test_each_policy_says_to_whom_it_is_meant_and_how_large_its_groups_are(
    project: Project,
) -> None:
    """By the policies themselves; a file that is none is listed by its name, and says so."""
    (project.start.folder / "policy-broken.toml").write_text("name = ", encoding="utf-8")
    page = Visitor(project.start.folder).get("/p/people/evidence").text
    line = page.partition('<th scope="row">ema<br>')[2].partition("</tr>")[0]
    assert "agency" in line
    assert "groups of at least <strong>11</strong>" in line
    broken = page.partition('<th scope="row">policy-broken.toml<br>')[2].partition("</tr>")[0]
    assert "no policy that can be read" in broken
    answer = Visitor(project.start.folder).post(
        "/p/people/releases/001/check", policy="public-relaese"
    )
    assert answer.status_code == 400


@pytest.mark.slow
def test_the_policy_of_a_project_is_chosen_before_anything_is_tried(project: Project) -> None:
    """Plan asks for it, Try ticks the k that it allows, and a new release is checked against it."""
    project.keep_plan(PLAN)
    visitor = Visitor(project.start.folder)
    assert "No policy is chosen" in visitor.get("/p/people/try").text
    assert visitor.post("/p/people/plan/policy", policy="none").status_code == 400
    page = visitor.post("/p/people/plan/policy", policy="ema").text
    assert "groups of at least <strong>11</strong>" in page.partition('id="recipient"')[2]
    assert project.policy == "ema"
    page = visitor.get("/p/people/try").text
    form = page.partition('aria-label="k-anonymity')[2].partition("</fieldset>")[0]
    assert min(map(int, re.findall(r'value="([0-9]+)" checked', form))) == 11
    command = compare(project, project.folder / "tries" / "001", rehearsal=False)
    assert command[command.index("--policy") + 1] == "ema"
    studied(project.folder / "releases" / "003", 5)
    visitor.get("/p/people/sign")
    (job,) = (one for one in project.jobs.all() if one.purpose.startswith("check-"))
    assert (job.purpose, job.about) == ("check-003", "ema")
    (project.start.folder / "later.csv").write_text("age,sex,illness\n30,f,flu\n")
    wait_until(lambda: project.jobs.find(job.number).state != "running")
    project.go_on_with("later.csv")
    assert (project.policy, project.source_name) == ("ema", "later.csv")
    visitor.post("/p/people/plan/policy", policy="")
    assert project.policy == ""
    for policy, deed in (("ema", "policy ema"), ("", "policy ema")):
        visitor.post("/p/people/undo")
        assert project.policy == policy
        assert project.plan_text == PLAN
        assert deed in visitor.get("/p/people/plan").text
    visitor.post("/p/people/redo")
    assert project.policy == "ema"


@pytest.mark.slow
def test_a_try_says_nothing_of_a_policy_that_was_chosen_after_it(project: Project) -> None:
    """Neither its plans nor the next step are said to meet it; going back shows them again."""
    project.keep_plan(PLAN)
    visitor = Visitor(project.start.folder)
    visitor.post("/p/people/plan/policy", policy="ema")
    visitor.post("/p/people/try", **{"method": "generalization", "generalization.k": "2"})
    wait_until(lambda: all(job.state != "running" for job in project.jobs.all()))
    page = visitor.get("/p/people/try").text
    assert "what figures decide" in page
    visitor.post("/p/people/plan/policy", policy="gdpr")
    other = visitor.get("/p/people/try").text
    assert "Held against the policy “ema”" in other
    assert "what figures decide" not in other
    assert "meets the policy with" not in other
    visitor.post("/p/people/plan/policy", policy="ema")
    assert visitor.get("/p/people/try").text == page


@pytest.mark.slow
def test_a_withdrawn_release_is_folded(project: Project) -> None:
    """Sign off and Evidence show what stands; what was withdrawn is opened by a click."""
    visitor = Visitor(project.start.folder)
    visitor.post("/p/people/releases/001/withdraw")
    for screen, summary in (("sign", "What it was"), ("evidence", "Its evidence")):
        page = visitor.get(f"/p/people/{screen}").text
        assert page.count(f"<summary>{summary}</summary>") == 1
        assert page.count("<details") == page.count("</details>")


@pytest.mark.slow
def test_a_plan_was_tried_only_as_it_is(project: Project) -> None:
    """A try with other roles of columns says nothing of the plan, though its method is the same."""
    project.keep_plan(PLAN)
    attempt = project.folder / "tries" / "001"
    attempt.mkdir(parents=True)
    (project.folder / "try-001.toml").write_text(PLAN, encoding="utf-8")
    people = pl.DataFrame({"age": [30, 30, 31, 31], "sex": ["f", "f", "m", "m"]})
    voile.compare(people, [project.folder / "try-001.toml"], attempt / "compared", targets=2)
    assert ">Policy<" not in Visitor(project.start.folder).get("/p/people/try").text
    document = json.loads((attempt / "compared" / "comparison.json").read_text())
    document["points"][0]["unmet"] = ["groups of eleven"]
    (attempt / "compared" / "comparison.json").write_text(json_text(sealed(document)))
    page = Visitor(project.start.folder).get("/p/people/try").text
    assert "<summary>1 not met</summary><ul><li>groups of eleven</li>" in page
    method = Method("generalization", {"k": 2})
    assert was_tried(project, method)
    assert not was_tried(project, Method("generalization", {"k": 3}))
    project.keep_plan(PLAN.replace('["age"]', '["age", "sex"]'))
    assert not was_tried(project, method)


@pytest.mark.slow
def test_what_groups_show_and_what_is_not_counted_is_said_beside_the_plan(tmp_path: Path) -> None:
    """Numbers are true values unless all rows have one level; no sensitive column, no disclosure.

    Levels offers the intervals of the plan with a button.
    """
    lines = [f"{20 + n % 50},{'mf'[n % 2]}" for n in range(60)]
    visitor, project = opened(tmp_path / "people.csv", ["age,sex", *lines])
    project.keep_plan(PLAN)
    assert "No column is sensitive" in visitor.get("/p/people/plan").text
    assert "true values of two persons" in visitor.get("/p/people/plan/column/0").text
    assert visitor.post("/p/people/plan/one-level", digest="x").status_code == 409
    visitor.post("/p/people/plan/one-level", digest=project.digest)
    assert tomllib.loads(project.plan_text)["method"]["algorithm"] == "flash"
    assert "true values" not in visitor.get("/p/people/plan/column/0").text
    assert visitor.post("/p/people/plan/one-level", digest=project.digest).status_code == 400
    project.keep_plan(PLAN.replace('["age"]', '["age"]\nsensitive = ["sex"]'))
    assert "No column is sensitive" not in visitor.get("/p/people/plan").text
