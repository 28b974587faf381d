"""The processor time of a service is that of all its processes."""

import os
import subprocess
import sys

import pytest

from benchmarks.process_tree import Taken, machine_busy

BURN = "import time\nwhile time.process_time() < {}: pass\n"
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {burn!r} + "print(flush=True); input()"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print(flush=True)
input()
child.communicate(b"\\n")
print(flush=True)
input()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_a_child_takes_is_counted_while_it_lives_and_afterwards():
    """A child burns 0.6 s of processor while its parent waits: the two have taken it, not one."""
    before = machine_busy()
    program = PARENT.format(burn=BURN.format(0.6))
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        parent.stdout.readline()
        alive = Taken.by(parent.pid)
        parent.stdin.write(b"\n")
        parent.stdin.flush()
        parent.stdout.readline()
        ended = Taken.by(parent.pid)
        parent.communicate(b"\n")
    assert (alive.processes, ended.processes) == (2, 1)
    assert 0.55 <= alive.processor <= ended.processor + 0.02
    assert alive.memory > ended.memory > 2**20
    assert machine_busy() - before >= 0.5
    assert Taken.by(os.getpid()).processor > 0
