"""The command line as a process among others: rivals, full disks, signals and closed pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from voile.ledger import Ledger
from voile_testing.processes import PATIENCE, wait_until

VOILE = "from voile_base.main import main; main()"
SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))"


def start(arguments, *, stdout=subprocess.PIPE, program=VOILE):
    """A process that runs the command line."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, text=True, stdout=stdout, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_python_runs_the_package_like_the_command(tmp_path):
    """``python -m voile`` says and exits as ``voile`` does, where it works and where it fails."""
    for arguments in (["--version"], ["inspect", str(tmp_path / "no.csv")]):
        ends = []
        for command in (["-c", VOILE], ["-m", "voile"]):
            ended = subprocess.run(
                [sys.executable, *command, *arguments], capture_output=True, text=True, check=False
            )
            ends.append((ended.returncode, ended.stdout, ended.stderr))
        assert ends[0] == ends[1]
        assert ends[0][0] == (0 if arguments[-1].startswith("--") else 2)


@pytest.mark.slow
@pytest.mark.parametrize("same_place", [pytest.param(False, marks=pytest.mark.slow), True])
def test_two_publishers_at_once(desk, order, same_place):
    """Of two publishers at once both publish one after the other, or one does and one exits 4."""
    outs = ["one", "one" if same_place else "two"]
    publishers = [start(order(out)) for out in outs]
    ends = [
        (*publisher.communicate(timeout=PATIENCE), publisher.returncode) for publisher in publishers
    ]
    succeeded = [out for out, (_, _, status) in zip(outs, ends, strict=True) if status == 0]
    assert succeeded
    for _, stderr, status in ends:
        assert status in ((0, 2, 4) if same_place else (0, 4)), stderr
        assert "Traceback" not in stderr
    there = {p.name for p in desk.folder.iterdir() if p.is_dir()}
    assert there - {"ledger.db.rows"} == set(succeeded)
    assert desk.hidden() == []
    folders = [desk / out for out in succeeded]
    versions = [json.loads((f / "release.json").read_text())["series"]["version"] for f in folders]
    assert sorted(versions) == [1, 2][: len(versions)] or (same_place and versions == [2])
    ledger = desk / "ledger.db"
    assert desk.run("ledger", "verify", *folders, "--ledger", ledger).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_disk_that_fills(desk, order, file_format):
    """Where the disk takes no more, exit 2 says so, and nothing stands at --out."""
    desk.plan((desk / "plan.toml").read_text().replace('series = "s"\n', ""))
    assert desk.run(*order("small")[:-2]).status == 0  # what is compiled has its place on disk
    arguments = [*order("out")[:-2], "--format", file_format]  # the ledger would fill it earlier
    desk.csv((f"p{i}", i, "York", 1000 + i) for i in range(3000))
    publisher = start(arguments, program=f"{SMALL_FILES}; {VOILE}")
    _, stderr = publisher.communicate(timeout=PATIENCE)
    assert publisher.returncode == 2, stderr
    assert "the release cannot be written" in stderr
    assert not (desk / "out").exists()
    assert desk.hidden() == []


@pytest.mark.slow
def test_interrupt_of_a_process(desk, order):
    """Ctrl-C while a process waits for a ledger that another holds: no trace, no traceback."""
    assert desk.run(*order("first")).status == 0
    before = desk.files()
    with Ledger(desk / "ledger.db")._file.writing():
        publisher = start(order("out"))
        ledger = desk / "ledger.db"
        wait_until(lambda: publisher.poll() is not None or _waits_for(publisher.pid, ledger))
        publisher.send_signal(signal.SIGINT)
    # SQLite waits in C; Python hears of the signal when the wait ends, before anything is stored.
    _, stderr = publisher.communicate(timeout=PATIENCE)
    assert publisher.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert desk.files() == before


def _waits_for(process, path):
    """Whether a process has a file open."""
    try:
        return any(os.path.samefile(fd, path) for fd in Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return False


@pytest.mark.slow
def test_standard_output_that_is_full(desk, order):
    """A release that stands is no failure, though telling of it fails."""
    with Path("/dev/full").open("w") as full:
        publisher = start([*order("out"), "--json"], stdout=full)
        _, stderr = publisher.communicate(timeout=PATIENCE)
    assert publisher.returncode == 0, stderr
    assert (desk / "out" / "release.json").is_file()
    assert "the release stands at" in stderr


def test_standard_output_that_is_closed(desk, order):
    """A reader that went away is no failure of a release that stands."""
    reading, writing = os.pipe()
    os.close(reading)
    publisher = start([*order("out"), "--json"], stdout=writing)
    os.close(writing)
    _, stderr = publisher.communicate(timeout=PATIENCE)
    assert publisher.returncode == 0, stderr
    assert (desk / "out" / "release.json").is_file()
    assert "Traceback" not in stderr


@pytest.mark.slow
def test_process(desk, order):
    """The installed command publishes, with the document alone on standard output."""
    publisher = start([*order("out"), "--json"])
    stdout, stderr = publisher.communicate(timeout=PATIENCE)
    assert publisher.returncode == 0, stderr
    assert json.loads(stdout)["rows_out"] == 10
    assert stderr.count("\n") == 1
    assert "knew no release of series 's': this is its first" in stderr
