"""The ledger's file: private, recognised, migrated, and never damaged by a failed write."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from voile.ledger import Ledger, file, records, row_sets
from voile_base.errors import LedgerError
from voile_base.operating_system import user

SMALL_DISK = """
import resource, signal, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from voile_tests.ledger.conftest import grown
from voile_base.errors import LedgerError
from voile.ledger import Ledger

ledger = Ledger(Path(sys.argv[1]))
before = ledger.load("salaries")
after = grown(before, rows=100_000)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2**21, 2**21))
try:
    ledger.commit(before, after)
except LedgerError as error:
    print(error)
"""


@pytest.fixture
def ledger(tmp_path, grown):
    """A ledger that holds one version."""
    ledger = Ledger(tmp_path / "ledger.db", timeout=0.2)
    ledger.commit(None, grown(None))
    return ledger


def _refusals(ledger: Ledger, grown) -> list[str]:
    """The messages of every method that opens the file."""
    messages = []
    for attempt in (
        lambda: ledger.load("salaries"),
        lambda: ledger.commit(None, grown(None)),
        ledger.series,
        ledger.verify,
    ):
        with pytest.raises(LedgerError) as caught:
            attempt()
        messages.append(str(caught.value))
    return messages


def _modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_only_its_owner_may_read_it(tmp_path, grown):
    """The file is created with mode 0600 whatever the umask; so is all that stands beside it."""
    umask = os.umask(0)
    try:
        Ledger(tmp_path / "ledger.db").commit(None, grown(None))
    finally:
        os.umask(umask)
    assert _modes(tmp_path) == {"ledger.db": 0o600, "ledger.db.rows": 0o700}
    for rows in (tmp_path / "ledger.db.rows").iterdir():
        assert stat.S_IMODE(rows.stat().st_mode) == 0o700
        assert set(_modes(rows).values()) == {0o600}


def test_the_journal_is_as_private_as_the_ledger(ledger, grown):
    """While a version is committed, the journal beside the ledger has mode 0600 too."""
    umask = os.umask(0)
    try:
        with ledger._file.writing() as connection:
            connection.execute("UPDATE series SET head = x'00'")
            modes = _modes(ledger.path.parent)
    finally:
        os.umask(umask)
    rows = {"ledger.db.rows": 0o700}
    assert modes == {"ledger.db": 0o600, "ledger.db-journal": 0o600} | rows


def test_a_commit_is_on_the_disk_when_it_returns(ledger):
    """SQLite flushes the file, and then the folder from which the journal is gone: EXTRA."""
    with ledger._file.writing() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_no_other_user_ever_sees_a_half_made_ledger(tmp_path, grown, monkeypatch):
    """While the ledger is being made, its name is free and what is there has mode 0600."""
    seen = []
    link = os.link

    def watched(source, target):
        seen.append(_modes(tmp_path))
        link(source, target)

    monkeypatch.setattr(os, "link", watched)
    Ledger(tmp_path / "ledger.db").commit(None, grown(None))
    (modes,) = seen
    assert "ledger.db" not in modes
    assert set(modes.values()) == {0o600}


def test_a_rival_who_created_the_ledger_first_is_respected(tmp_path, grown, monkeypatch):
    """Where another publisher links its ledger just before, that one is used."""
    path = tmp_path / "ledger.db"
    rival = grown(None, name="rival")
    link = os.link

    def late(source, target):
        monkeypatch.setattr(os, "link", link)
        Ledger(path).commit(None, rival)
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    Ledger(path).commit(None, grown(None))
    assert [summary.terms.name for summary in Ledger(path).series()] == ["rival", "salaries"]
    assert set(_modes(tmp_path)) == {"ledger.db", "ledger.db.rows"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_ledger_open_to_others_is_refused(ledger, grown, mode):
    """Permissions for others are refused, not silently repaired, and the remedy is named."""
    ledger.path.chmod(mode)
    for message in _refusals(ledger, grown):
        assert f"{mode:04o}" in message
        assert "chmod 600" in message
    assert stat.S_IMODE(ledger.path.stat().st_mode) == mode


def test_a_symbolic_link_is_followed(tmp_path, grown):
    """A link to a place that does not exist yet creates the ledger there."""
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "ledger.db"
    link.symlink_to(tmp_path / "elsewhere" / "real.db")
    Ledger(link).commit(None, grown(None))
    assert link.is_symlink()
    assert _modes(tmp_path / "elsewhere") == {"real.db": 0o600, "real.db.rows": 0o700}
    assert Ledger(link).verify() == []


@pytest.mark.parametrize("content", [b"", b"age,salary\n30,1000\n" * 400, b"SQLite format 3\0"])
def test_another_file_is_not_taken_for_a_ledger(tmp_path, grown, content):
    """An empty, foreign or truncated file is refused and left alone."""
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    path.chmod(0o600)
    for message in _refusals(Ledger(path), grown):
        assert str(path) in message
        assert "this is not a ledger of Voile" in message
        assert "restore" in message
    assert path.read_bytes() == content


def test_another_database_is_not_taken_for_a_ledger(tmp_path, grown):
    """A SQLite file of another program is refused."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE series (id INTEGER)")
    path.chmod(0o600)
    assert all("not a ledger of Voile" in message for message in _refusals(Ledger(path), grown))


def test_a_folder_is_not_a_ledger(tmp_path, grown):
    """A folder in the ledger's place is refused as such."""
    assert all("a ledger is one file" in message for message in _refusals(Ledger(tmp_path), grown))


def test_a_ledger_in_a_missing_folder(tmp_path, grown):
    """A ledger cannot be created in a folder that does not exist, and the message says so."""
    with pytest.raises(LedgerError, match=r"No such file or directory.*existing folder"):
        Ledger(tmp_path / "missing" / "ledger.db").commit(None, grown(None))


@pytest.mark.slow
def test_a_ledger_that_is_busy(ledger, grown):
    """A lock that is not released in time is an error that changes nothing."""
    before = ledger.load("salaries")
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for message in _refusals(ledger, grown):
            assert "another process is using the ledger" in message
    ledger.commit(before, grown(before))
    assert len(ledger.load("salaries").versions) == 2


def test_a_reader_sees_one_state(ledger, grown):
    """A writer cannot finish while a snapshot is read, so no reader sees half a version."""
    before = ledger.load("salaries")
    with ledger._file.reading() as connection:
        connection.execute("SELECT count(*) FROM version").fetchone()
        with pytest.raises(LedgerError, match="another process is using"):
            ledger.commit(before, grown(before))
        assert connection.execute("SELECT count(*) FROM version").fetchone() == (1,)
    assert len(ledger.load("salaries").versions) == 1


def test_a_newer_format_is_refused(ledger, grown):
    """A ledger of a later Voile is not touched."""
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert all("has format 99" in message for message in _refusals(ledger, grown))


def _killed(*_):
    raise KeyboardInterrupt


def test_what_a_dead_publisher_wrote_is_removed_by_the_next(ledger, grown, monkeypatch):
    """Rows that no record refers to go as soon as somebody writes to the ledger."""
    before, folder = ledger.load("salaries"), ledger.path.with_name("ledger.db.rows")
    standing = set(folder.iterdir())
    with monkeypatch.context() as patched:
        patched.setattr(records, "_update_head", _killed)
        patched.setattr(row_sets.RowFolder, "remove", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            ledger.commit(before, grown(before))
    left = set(folder.iterdir()) - standing
    assert len(left) == 2
    assert ledger.verify() == []
    ledger.settle_series("salaries", before.latest.release_id)
    assert set(folder.iterdir()) == standing


@pytest.mark.parametrize(
    ("limit", "message"),
    [("max_page_count = 1", "no room on the disk"), ("query_only = ON", "cannot be written")],
)
def test_a_version_that_cannot_be_written(ledger, grown, monkeypatch, limit, message):
    """A full or read-only database is a clean error, and the old state stays."""
    before = ledger.load("salaries")
    monkeypatch.setattr(file, "_PRAGMAS", (*file._PRAGMAS, limit))
    with pytest.raises(LedgerError, match=f"{message}.*nothing was changed"):
        ledger.commit(before, grown(before, blocks=20_000))
    monkeypatch.undo()
    assert ledger.verify() == []
    ledger.commit(before, grown(before))


@pytest.mark.skipif(user() in {None, 0}, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written(ledger, grown):
    """Without leave to write beside the ledger, a version is refused and reading goes on."""
    before = ledger.load("salaries")
    ledger.path.parent.chmod(0o500)
    try:
        with pytest.raises(LedgerError):
            ledger.commit(before, grown(before))
        assert ledger.verify() == []
    finally:
        ledger.path.parent.chmod(0o700)


@pytest.mark.slow
def test_a_disk_that_fills_up_during_a_commit(ledger, grown):
    """Where the operating system refuses to write on, the old state stays and is sound."""
    before = ledger.load("salaries")
    run = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, ledger.path, Path(__file__).parents[2]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "the disk failed to read or write" in run.stdout
    assert ledger.verify() == []
    assert len(ledger.load("salaries").versions) == 1
    ledger.commit(before, grown(before))
