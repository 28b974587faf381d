"""What systems differ in does the same on those that lack it, or raises."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from contextlib import nullcontext

import pytest

from voile_base import operating_system
from voile_base.operating_system import available_memory, cores, let_open_files, lock, sync

WITHOUT = "import voile_testing.without_posix\n"


def python(code, *arguments):
    """What a process prints that runs some code."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


HOLDER = """
    import sys
    from voile_base.operating_system import lock
    held = open(sys.argv[1], "w")
    try:
        lock(held, wait=False)
    except BlockingIOError:
        print("held")
    else:
        print("free")
"""


@pytest.mark.parametrize("before", ["", WITHOUT], ids=["posix", "without"])
def test_a_lock_keeps_another_process_out(before, tmp_path):
    """A lock is held against other processes until its file is closed, on both kinds of systems."""
    place = tmp_path / "lock"
    taking = before + textwrap.dedent(HOLDER)
    nested = f"""
import subprocess, sys
{before}
from voile_base.operating_system import lock
with open(sys.argv[1], "w") as held:
    lock(held)
    print(subprocess.run([sys.executable, "-c", {taking!r}, sys.argv[1]], capture_output=True,
                         text=True, check=True).stdout)
print(subprocess.run([sys.executable, "-c", {taking!r}, sys.argv[1]], capture_output=True,
                     text=True, check=True).stdout)
"""
    assert python(nested, place) == ["held", "free"]


def test_a_shared_lock_is_shared(tmp_path):
    """Two may look at once whether somebody works, and neither is taken for him; not on Windows."""
    place = tmp_path / "lock"
    place.touch()
    sharing = importlib.util.find_spec("fcntl") is not None
    with place.open() as one, place.open() as other:
        lock(one, shared=True, wait=False)
        with nullcontext() if sharing else pytest.raises(BlockingIOError):
            lock(other, shared=True, wait=False)
        with place.open("w") as third, pytest.raises(BlockingIOError):
            lock(third, wait=False)


def test_without_locks_nothing_pretends_to_hold_one(tmp_path, monkeypatch):
    """A system with neither kind of lock raises, so that nobody believes to be alone."""
    monkeypatch.setattr(operating_system, "_optional", lambda name: None)
    with (tmp_path / "lock").open("w") as held, pytest.raises(OSError, match="no locks of files"):
        lock(held)


def test_a_fault_of_the_disk_is_no_missing_call(tmp_path, monkeypatch):
    """A folder that cannot be flushed is passed over; a disk that fails is not."""

    def fails(number):
        def fsync(descriptor):
            raise OSError(number, "fault")

        monkeypatch.setattr(os, "fsync", fsync)

    fails(22)  # EINVAL: such a file system flushes no folders
    sync(tmp_path)
    fails(5)  # EIO
    with pytest.raises(OSError, match="fault"):
        sync(tmp_path)
    (tmp_path / "file").touch()
    fails(22)
    with pytest.raises(OSError, match="fault"):
        sync(tmp_path / "file")


def test_figures_of_the_machine_are_said_without_proc():
    """Cores, memory and open files are numbers above zero with and without what Linux says."""
    said = """
        from voile_base.operating_system import available_memory, cores, let_open_files, user
        print(cores(), available_memory(), let_open_files(64), user())
    """
    here = (cores(), available_memory(), let_open_files(64))
    assert all(number > 0 for number in here)
    *numbers, who = python(WITHOUT + textwrap.dedent(said))
    assert all(int(number) > 0 for number in numbers)
    assert who == "None"
