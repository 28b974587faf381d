"""A command leaves its process at once, and leaves nothing undone."""

import subprocess
import sys

import pytest

COMMAND = """
import atexit, sys, threading, time
from voile_base.main import command, run

class Torn:
    def __del__(self):
        print("taken apart")

kept = Torn()

@command.command("end")
def end():
    print("output")
    atexit.register(print, "done at the end")
    if "thread" in {kind!r}:
        threading.Thread(target=lambda: (time.sleep(0.2), print("work done"))).start()
    if "library" in {kind!r}:
        sys.modules["duckdb"] = sys
    raise SystemExit(3) if "three" in {kind!r} else SystemExit(0)

command.get_command = lambda context, name: end
sys.argv = ["voile", "end"]
run()
"""


@pytest.mark.parametrize(
    ("kind", "status", "lines"),
    [
        ("plain", 0, ["output", "done at the end"]),
        ("three", 3, ["output", "done at the end"]),
        ("thread", 0, ["output", "work done", "done at the end", "taken apart"]),
        ("library", 0, ["output", "done at the end", "taken apart"]),
    ],
)
def test_what_is_due_at_the_end_is_done(kind, status, lines):
    """Output, work of threads and what is due at the end are there; nothing else is waited for."""
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND.format(kind=kind)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout.split("\n")[:-1]) == (status, lines), ended.stderr
