"""Commands outlive the server that started them, and tell how they ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from voile_studio.jobs import Job, Jobs
from voile_testing import processes


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    """None yet."""
    return Jobs(tmp_path / "jobs", tmp_path)


def ended(job: Job) -> Job:
    """Wait until a job has ended."""
    wait_for(lambda: job.state != "running")
    return job


def wait_for(done: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + processes.PATIENCE
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.mark.slow
def test_a_command_is_done_and_its_result_is_found(jobs: Jobs, tmp_path: Path):
    """By another object too, as after a restart."""
    (tmp_path / "people.csv").write_text("age\n30\n40\n")
    job = ended(jobs.start("inspect", ["inspect", "people.csv", "--json"], "now"))
    assert job.state == "done"
    again = Jobs(tmp_path / "jobs", tmp_path)
    assert again.found("inspect")["rows"] == 2
    assert again.latest("inspect", "then") is None
    assert job.command == "voile inspect people.csv --json"


@pytest.mark.slow
def test_a_command_that_fails_says_why(jobs: Jobs):
    """In the words of the command line."""
    job = ended(jobs.start("inspect", ["inspect", "nothing.csv", "--json"]))
    assert job.state == "failed"
    assert "nothing.csv" in job.message
    assert jobs.found("inspect") == {}


def test_what_is_killed_is_interrupted_and_what_is_cancelled_is_cancelled(jobs: Jobs):
    """A second start for the same purpose is the one at work."""
    first = ended(jobs.start("help", ["inspect", "--help"]))
    assert first.state == "done"
    (first.folder / "ended.json").unlink()
    assert first.state == "interrupted"


@pytest.mark.slow
def test_a_running_command_is_cancelled_or_killed(jobs: Jobs, tmp_path: Path):
    """A second start for the same purpose is the one at work."""
    for purpose, state in (("cancel", "cancelled"), ("kill", "interrupted")):
        job = jobs.start(purpose, ["studio", "--no-browser", "--folder", str(tmp_path)])
        assert job.state == "running"
        assert jobs.start(purpose, ["studio"]).number == job.number
        wait_for(lambda job=job: "http" in job.message)
        if state == "cancelled":
            job.cancel()
        else:
            os.kill(int((job.folder / "pid").read_text()), signal.SIGKILL)
        assert ended(job).state == state


def test_what_another_command_found_out_is_found_as_if_it_had_been_run(jobs: Jobs):
    """It is done, with the command that tells the same."""
    jobs.record("inspect", ["inspect", "people.csv", "--json"], "now", {"rows": 2})
    assert jobs.found("inspect") == {"rows": 2}
    job = jobs.latest("inspect", "now")
    assert job is not None
    assert (job.state, job.command) == ("done", "voile inspect people.csv --json")


@pytest.mark.parametrize(
    ("stages", "left"),
    [
        ([("reading", 100), ("counting: column 1 of 5", 20), ("counting: column 3 of 5", 10)], 20),
        ([("reading", 100), ("counting: column 1 of 5", 20)], None),
        ([("counting: column 1 of 5", 20), ("counting groups", 10)], None),
    ],
)
def test_time_left_is_told_by_the_parts_and_not_by_what_came_before(
    jobs: Jobs, stages: list[tuple[str, float]], left: float | None
):
    """Two parts in twenty seconds, and two are left; a first part tells nothing yet."""
    job = ended(jobs.start("help", ["inspect", "--help"]))
    lines = [f"{said}\t{time.time() - ago:.3f}\n" for said, ago in stages]
    (job.folder / "progress").write_text("".join(lines))
    assert job.stage == stages[-1][0]
    assert job.left == (None if left is None else pytest.approx(left, abs=5))
