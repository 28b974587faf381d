"""Tabs that race, folders of others, broken files and full disks: nothing is done twice or lost."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from studio_tests.studio import Visitor
from studio_tests.test_repeated import table
from voile_base.errors import InputError
from voile_studio.jobs import Jobs
from voile_studio.project import Start

PLAN = """
[roles]
quasi_identifiers = ["age", "sex"]
sensitive = ["diagnosis"]

[method]
name = "generalization"
k = 3
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Commands that are at work until they are killed, in the place of real ones."""
    running: list[subprocess.Popen[bytes]] = []

    def spawn(jobs: Jobs, folder: Path, lock: int) -> tuple[subprocess.Popen[bytes], None]:
        del jobs, folder
        running.append(subprocess.Popen(["sleep", "900"], pass_fds=(lock,)))
        return running[-1], None

    monkeypatch.setattr(Jobs, "_spawn", spawn)
    yield running
    for one in running:
        one.kill()
        one.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table, and a project with a plan."""
    table(tmp_path, rows=30)
    project = Start(tmp_path).project("people.csv")
    project.keep_plan(PLAN)
    return tmp_path


def offered(visitor: Visitor) -> dict[str, str]:
    """What the button of the page sends."""
    return {"digest": visitor.digest("/p/people/sign"), "number": "001"}


def released(folder: Path) -> list[Path]:
    """The commands that were to make a release."""
    jobs = sorted((folder / "people.voile" / "jobs").glob("[0-9]*/job.json"))
    return [path for path in jobs if json.loads(path.read_text())["purpose"] == "release"]


@pytest.mark.slow
def test_two_tabs_and_two_servers_publish_once(
    folder: Path, started: list[subprocess.Popen[bytes]]
):
    """Of those who press the button at once, and of those who press it again."""
    servers = [Visitor(folder), Visitor(folder)]
    form = offered(servers[0])
    tabs = [
        threading.Thread(target=server.post, args=("/p/people/release",), kwargs=form)
        for server in servers * 4
    ]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert len(started) == len(released(folder)) == 1


@pytest.mark.slow
def test_a_late_tab_publishes_no_second_release(
    folder: Path, started: list[subprocess.Popen[bytes]]
):
    """It is told that one was made meanwhile, and the same of a command that it would repeat."""
    visitor = Visitor(folder)
    form = offered(visitor)
    visitor.post("/p/people/release", **form)
    (folder / "people.voile" / "releases" / "001").mkdir(parents=True)
    started[0].kill()
    started[0].wait()
    late = visitor.post("/p/people/release", **form)
    assert (late.status_code, "meanwhile" in late.text) == (409, True)
    again = visitor.post("/p/people/job/1/again")
    assert (again.status_code, "stands" in again.text) == (409, True)
    assert len(started) == 1


@pytest.mark.slow
def test_what_is_published_is_the_plan_that_was_shown(
    folder: Path, started: list[subprocess.Popen[bytes]]
):
    """An edit of the file while the page is open is told; one after the start changes nothing."""
    visitor, plan = Visitor(folder), folder / "people.voile" / "plan.toml"
    form = offered(visitor)
    plan.write_text(PLAN.replace("k = 3", "k = 2"))
    late = visitor.post("/p/people/release", **form)
    assert (late.status_code, "plan was changed" in late.text) == (409, True)
    assert started == []
    visitor.post("/p/people/release", **offered(visitor))
    plan.write_text("[roles]\n")
    (job,) = released(folder)
    arguments = json.loads(job.read_text())["arguments"]
    named = folder / arguments[arguments.index("--plan") + 1]
    assert "k = 2" in named.read_text()


@pytest.mark.slow
def test_nothing_is_published_while_a_question_is_open(
    folder: Path, started: list[subprocess.Popen[bytes]]
):
    """The page says so in place of its button, and a form that is sent all the same is refused."""
    visitor, plan = Visitor(folder), folder / "people.voile" / "plan.toml"
    plan.write_text(PLAN.replace("[roles]\n", '[roles]\n# ? "sex": is it a group?\n'))
    page = visitor.get("/p/people/sign").text
    assert ("1 question is open" in page, 'class="deed"' in page) == (True, False)
    form = {"digest": visitor.digest("/p/people/plan"), "number": "001"}
    refused = visitor.post("/p/people/release", **form).text
    assert "answer them on the plan" in refused
    seeded = visitor.post("/p/people/release", **form, seed="1").text
    assert "answer them on the plan" in seeded
    assert (started, released(folder)) == ([], [])


@pytest.mark.slow
def test_what_a_killed_command_left_behind_is_removed(
    folder: Path, started: list[subprocess.Popen[bytes]]
):
    """The hidden folder of a release that never appeared holds private rows."""
    visitor = Visitor(folder)
    visitor.post("/p/people/release", **offered(visitor))
    releases = folder / "people.voile" / "releases"
    left, other = releases / ".001.abc", releases / ".002.abc"
    left.mkdir()
    other.mkdir()
    started[0].kill()
    started[0].wait()
    assert "Interrupted from outside" in visitor.get("/p/people/sign").text
    visitor.post("/p/people/job/1/again")
    assert (left.exists(), other.exists(), len(released(folder))) == (False, True, 2)


@pytest.mark.slow
def test_a_command_that_was_killed_before_it_began_is_none(folder: Path):
    """An empty or half-written file of it breaks no page."""
    jobs = folder / "people.voile" / "jobs"
    for number, text in enumerate(("", "{", "[]", '{"purpose": 3}'), start=1):
        (jobs / f"{number:04}").mkdir(parents=True)
        (jobs / f"{number:04}" / "job.json").write_text(text)
    (jobs / "0009").mkdir()
    visitor = Visitor(folder)
    for page in ("plan", "try", "evidence", "sign", "ledger", "audit"):
        assert visitor.get(f"/p/people/{page}").status_code == 200


@pytest.mark.parametrize("text", ["", "{", "[]", '{"source": ""}'])
def test_a_project_that_was_killed_before_it_stood_is_made_again(tmp_path: Path, text: str):
    """And the broken folder is no project."""
    table(tmp_path, rows=5)
    (tmp_path / "people.voile").mkdir(mode=0o700)
    (tmp_path / "people.voile" / "project.json").write_text(text)
    assert Start(tmp_path).projects() == []
    assert Start(tmp_path).project("people.csv").name == "people-2"
    assert Visitor(tmp_path).get("/").status_code == 200


def test_a_project_of_somebody_else_is_not_opened(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """One that others own, may write into, or that is a link."""
    start, ours = Start(folder), folder / "people.voile"
    assert [one.name for one in start.projects()] == ["people"]
    ours.chmod(0o770)
    assert start.projects() == []
    ours.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert start.projects() == []
    monkeypatch.undo()
    ours.rename(folder / "moved")
    ours.symlink_to(folder / "moved")
    assert start.projects() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", ["../outside.csv", "/etc/passwd", "sqlite:///x.db?table=t", "--help", "link.csv"]
)
def test_a_project_about_anything_but_a_file_here_runs_nothing(
    folder: Path, source: str, started: list[subprocess.Popen[bytes]]
):
    """Whatever its folder says that it is about."""
    (folder / "link.csv").symlink_to("/etc/passwd")
    (folder / "people.voile" / "project.json").write_text(json.dumps({"source": source}))
    visitor = Visitor(folder)
    for form in ("look", "plan/check"):
        answer = visitor.post(f"/p/people/{form}")
        assert answer.status_code == 400
        assert "root:" not in answer.text
    assert started == []


@pytest.mark.slow
def test_a_table_that_is_gone_is_told_and_its_releases_stay(folder: Path):
    """Also where it becomes a link while Studio runs."""
    visitor = Visitor(folder)
    (folder / "people.csv").unlink()
    (folder / "people.csv").symlink_to("/etc/passwd")
    answer = visitor.post("/p/people/look")
    assert (answer.status_code, "link" in answer.text) == (400, True)
    for page in ("plan", "try", "evidence", "sign", "ledger"):
        assert visitor.get(f"/p/people/{page}").status_code == 200


@pytest.mark.slow
def test_a_file_that_a_plan_names_outside_is_not_read(folder: Path, tmp_path: Path):
    """Neither as levels nor by a command."""
    visitor, plan = Visitor(folder), folder / "people.voile" / "plan.toml"
    outside = tmp_path.parent / f"{tmp_path.name}-secret.csv"
    outside.write_text("secret;all\n")
    for named in (f"../../{outside.name}", str(outside), "/etc/passwd"):
        plan.write_text(f"{PLAN}\n[columns.sex]\nhierarchy = {json.dumps(named)}\n")
        page = visitor.get("/p/people/sign").text
        assert "The levels of column “sex” on Plan: there is no such file in the folder" in page
        assert "secret" not in page.replace(outside.name, "")
        answer = visitor.post("/p/people/release", digest="x", number="001")
        assert answer.status_code == 400
    outside.unlink()


@pytest.mark.slow
def test_a_full_disk_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """And nothing runs; with room again it goes on."""

    def full(jobs: Jobs) -> Path:
        raise OSError(28, "No space left on device")

    visitor = Visitor(folder)
    monkeypatch.setattr(Jobs, "_new_folder", full)
    visitor.lenient()
    answer = visitor.post("/p/people/look")
    assert (answer.status_code, "No space left on device" in answer.text) == (507, True)
    assert visitor.get("/p/people/plan").status_code == 200


@pytest.mark.slow
def test_names_that_look_like_options_or_addresses_are_files(tmp_path: Path):
    """In commands they are paths; in addresses of pages they are quoted."""
    visitor = Visitor(tmp_path)
    for name in ("--out=x.csv", "a#b?c.csv", "a:b.csv", "two words.csv", "ä€.csv"):
        (tmp_path / name).write_text("age\n30\n40\n")
        page = visitor.post("/open", source=name)
        assert page.status_code == 200, name
        assert "<h1>Data</h1>" in page.text
    named = {project.source_name: project for project in Start(tmp_path).projects()}
    with pytest.raises(InputError):
        named["--out=x.csv"].start.inside("--help")
    job = named["--out=x.csv"].jobs.all()[0]
    assert "./--out=x.csv" in job.arguments


@pytest.mark.slow
def test_what_was_signed_is_not_ticked_any_more(folder: Path):
    """A late tab would change what somebody has put a signature to."""
    release = folder / "people.voile" / "releases" / "001"
    (release / "private").mkdir(parents=True)
    (release / "release").mkdir()
    ticks = release / "private" / "assumptions.toml"
    ticks.write_text('[[assumption]]\nsays = "x"\nticked = false\nby = ""\n')
    before = ticks.read_bytes()
    (release / "release" / "signatures.json").write_text("{}")
    path = "/p/people/releases/001/assumptions"
    late = Visitor(folder).post(path, ticked="x", by="officer")
    assert (late.status_code, "has signed" in late.text) == (409, True)
    assert ticks.read_bytes() == before
