"""What is left when something fails: the disk, the user's patience, or Voile itself."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from numba import njit

from voile.ledger import records
from voile.release import folder as release_folder
from voile.study import run
from voile.study import run as corridor
from voile.table.published import PublishedTable

STEPS = [
    (corridor, "open_table"),
    (run, "check_release"),
    (PublishedTable, "write"),
    (records, "append"),
    (run, "write_document"),
    (release_folder, "sync"),
]
"""Where things may go wrong, from reading to the last flush."""


def failing(number):
    """A function that raises an error of the operating system with this number."""

    def fail(*_arguments, **_named):
        raise OSError(number, os.strerror(number))

    return fail


def test_no_room_for_the_ledger(desk, order, monkeypatch):
    """A ledger that cannot be written ends the run before anything appears."""
    monkeypatch.setattr("voile.ledger.file.os.link", failing(errno.EPERM))
    message = desk.fails(4, *order("out"))
    assert "a ledger cannot be created" in message


@pytest.mark.parametrize("broken", ["mkdtemp", "write", "document", "flush", "rename"])
def test_failures_of_the_disk(desk, order, monkeypatch, broken):
    """Whatever fails while a release is written: exit 2, nothing at --out; the next run works."""
    with monkeypatch.context() as patch:
        match broken:
            case "mkdtemp":
                patch.setattr(release_folder.tempfile, "mkdtemp", failing(errno.ENOSPC))
            case "write":
                patch.setattr(PublishedTable, "write", failing(errno.ENOSPC))
            case "document":
                patch.setattr(release_folder, "DOCUMENT", "no/release.json")
            case "flush":
                patch.setattr(release_folder, "sync", failing(errno.EIO))
            case "rename":
                patch.setattr(Path, "rename", failing(errno.ENOSPC))
        outcome = desk.run(*order("out"))
    assert outcome.status == 2
    assert str(desk / "out") in outcome.stderr
    assert "nothing was published" not in outcome.stderr
    assert not (desk / "out").exists()
    assert desk.hidden() == []
    assert desk.run(*order("out")).status == 0
    assert desk.run("ledger", "verify", desk / "out", "--ledger", desk / "ledger.db").status == 0


def beyond_numpy():
    np.empty(1 << 56, dtype=np.uint8)


def beyond_arrow():
    pa.allocate_buffer(1 << 56)


@njit
def beyond_numba():  # pragma: no cover - compiled
    return np.empty(1 << 50)


def as_polars_says_it():
    raise OSError("Cannot allocate memory (os error 12)")


def as_polars_panics():
    raise pl.exceptions.ComputeError("memory allocation of 987656 bytes failed")


def as_the_system_says_it():
    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def as_the_loader_says_it():
    raise ImportError("libarrow.so: failed to map segment from shared object")


def behind_another():
    try:
        raise MemoryError
    except MemoryError:
        raise OSError("could not load the library")  # noqa: B904 - as llvmlite does it


BEYOND = [
    beyond_numpy,
    beyond_arrow,
    beyond_numba,
    as_polars_says_it,
    as_polars_panics,
    as_the_system_says_it,
    as_the_loader_says_it,
    behind_another,
]
"""Ways in which libraries tell that memory ran out; the first three ask for too much of it."""


@pytest.mark.parametrize("beyond", BEYOND, ids=lambda beyond: beyond.__name__)
def test_memory_that_runs_out_is_no_fault_of_voile(desk, order, monkeypatch, beyond):
    """Exit 2 with a remedy, nothing at --out, and a ledger in which the next run works."""
    for place, name in STEPS[:2]:
        with monkeypatch.context() as patch:
            patch.setattr(place, name, lambda *_arguments, **_named: beyond())
            message = desk.fails(2, *order("out"))
        assert "memory ran out; give the process more of it" in message
        assert "Nothing was published" in message
        assert "fault" not in message
    assert desk.run(*order("out")).status == 0


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_memory_may_run_out_at_every_step(desk, order, monkeypatch, step):
    """Nothing stands at --out, no private value is repeated, and the next run works."""
    with monkeypatch.context() as patch:
        patch.setattr(*step, raising(MemoryError("salary of Wilhelmina in Xanadu-7: 987654321")))
        outcome = desk.run(*order("out"))
    assert outcome.status == 2
    assert "memory ran out" in outcome.stderr
    for secret in desk.secrets:
        assert secret not in outcome.stderr + outcome.stdout
    assert not (desk / "out").exists()
    assert desk.hidden() == []
    assert desk.run(*order("out")).status == 0


def test_a_fault_is_not_called_a_lack_of_memory(desk, order, monkeypatch):
    """Other errors stay faults of Voile, whatever they were raised behind."""
    for error in (OSError("no such device"), ImportError("no module"), RuntimeError("memory")):
        with monkeypatch.context() as patch:
            patch.setattr(*STEPS[0], raising(error))
            assert "a fault of Voile" in desk.fails(1, *order("out"))


@pytest.mark.parametrize(
    "error",
    [
        pa.ArrowMemoryError("malloc of size 493824 failed"),
        OSError("Cannot allocate memory (os error 12)"),
        pl.exceptions.ComputeError("out of memory"),
    ],
)
def test_a_table_too_large_to_read_is_not_called_corrupt(desk, monkeypatch, error):
    """A reader that runs out of memory says nothing against the file."""
    table = desk / "people.parquet"
    pl.read_csv(desk.csv()).write_parquet(table)
    plan = desk.plan()
    with monkeypatch.context() as patch:
        patch.setattr("voile.table.reading.pq.ParquetFile", raising(error))
        patch.setattr("voile.table.reading.pl.read_parquet", raising(error))
        message = desk.publish_fails(2, table, plan=plan)
        assert "memory ran out" in message
        assert "not whole" not in message
        patch.setattr("voile.table.formats.delimited.csv.read_csv", raising(error))
        if isinstance(error, pa.ArrowException | OSError):
            assert "memory ran out" in desk.publish_fails(2, desk / "people.csv", plan=plan)
    desk.publish(table, plan=plan)


def raising(error):
    """A function that raises an error."""

    def fail(*_arguments, **_named):
        raise error

    return fail


def test_failure_after_the_rename(desk, order, monkeypatch):
    """A release whose appearance cannot be made durable is taken back."""
    flush, place = release_folder.sync, desk / "out"

    def fails_once_it_stands(folder):
        if place.exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flush(folder)

    monkeypatch.setattr(release_folder, "sync", fails_once_it_stands)
    outcome = desk.run(*order("out"))
    assert outcome.status == 2
    assert not place.exists()
    assert desk.hidden() == []


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_interrupts(desk, order, monkeypatch, step):
    """An interrupt at any step leaves nothing at --out, and the next run works."""

    def interrupt(*_arguments, **_named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*step, interrupt)
        outcome = desk.run(*order("out"))
    assert outcome.status == 130
    assert "interrupted" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not (desk / "out").exists()
    assert desk.hidden() == []
    assert desk.run(*order("out")).status == 0


class Panic(BaseException):
    """What a compiled library raises when it panics is no ``Exception``."""


@pytest.mark.parametrize("kind", [ValueError, KeyError, RuntimeError, Panic])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_faults(desk, order, monkeypatch, step, kind):
    """A fault of Voile exits with 1, says where it happened, and repeats no private value."""

    def fail(*_arguments, **_named):
        raise kind("salary of Wilhelmina in Xanadu-7: 987654321")

    with monkeypatch.context() as patch:
        patch.setattr(*step, fail)
        outcome = desk.run(*order("out"))
    assert outcome.status == 1
    assert f"a fault of Voile: {kind.__name__} in test_failures.py" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    for secret in desk.secrets:
        assert secret not in outcome.stderr + outcome.stdout
    assert not (desk / "out").exists()
    assert desk.hidden() == []


def test_broken_guarantee(desk, order, monkeypatch):
    """A release that has not what it claims is a fault, and reaches neither ledger nor disk."""
    publish = PublishedTable.group_values

    def too_narrow(self, *arguments):
        pairs = publish(self, *arguments)
        pairs.group[:] = range(len(pairs.group))
        return pairs

    monkeypatch.setattr(PublishedTable, "group_values", too_narrow)
    message = desk.fails(1, *order("out"))
    assert "GuaranteeBrokenError" in message


def test_permissions_of_a_release(desk, order):
    """A release has the permissions of any new folder, and is read by whoever may read those."""
    old = os.umask(0o027)
    try:
        assert desk.run(*order("out")).status == 0
    finally:
        os.umask(old)
    assert (desk / "out").stat().st_mode & 0o777 == 0o750
    assert {path.stat().st_mode & 0o777 for path in (desk / "out").iterdir()} == {0o640}
