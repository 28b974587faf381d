"""Processes end with the one that began them, even where that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from voile_testing.processes import wait_until

pytestmark = pytest.mark.slow

PROGRAM = """
import multiprocessing, sys, time
from voile_share.platform.writers import end_with_parent

def child(watched):
    if watched:
        end_with_parent()
    print("begun", flush=True)
    time.sleep(600)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=child, args=(sys.argv[1] == "watched",))
    process.start()
    print(process.pid, flush=True)
    time.sleep(600)
"""


def is_there(number: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("watched", [True, False])
def test_a_child_ends_when_its_parent_is_killed(tmp_path, watched):
    """By SIGKILL, which lets nobody say goodbye; without the watch it stays, which is noticed."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    parent = subprocess.Popen(
        [sys.executable, program, "watched" if watched else "alone"],
        stdout=subprocess.PIPE,
        text=True,
    )
    child = int(parent.stdout.readline())
    try:
        assert parent.stdout.readline() == "begun\n"
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        if watched:
            wait_until(lambda: not is_there(child), "the child lives on")
        else:
            assert is_there(child)
    finally:
        parent.stdout.close()
        if is_there(child):
            os.kill(child, signal.SIGKILL)
