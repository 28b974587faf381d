"""Releases of a series that never appeared, and ledgers that have forgotten some that did."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from voile.ledger import Ledger
from voile.release import folder as release_folder
from voile.study import run
from voile.study.transaction import ReleaseTransaction
from voile_base.errors import LedgerError

FIRST = [(f"p{i}", 20 + i, "York", 100 * i) for i in range(1, 9)]
MORE = [*FIRST, ("p9", 40, "Bath", 350), ("p10", 41, "Bath", 5000)]
CORRECTED = [("p1", 20, "Leeds", 100), *FIRST[1:]]
SERIES = 'series = "pay"\nrecord_key = "name"\nbatch = 2\n'


class Pay:
    """Publishes versions of a table in one series."""

    def __init__(self, desk, text) -> None:
        self.desk, self.ledger = desk, desk / "ledger.db"
        self.plan = desk.plan(text + SERIES)

    def order(self, rows, out, *options):
        table = self.desk.csv(rows)
        place = ("--plan", self.plan, "--out", self.desk / out)
        return ("publish", table, *place, "--ledger", self.ledger, *options)

    def publish(self, rows, out, *options):
        done = self.desk.run(*self.order(rows, out, *options))
        assert done.status == 0, done.stderr
        return self.described(out)

    def described(self, out):
        return json.loads((self.desk / out / "release.json").read_text())["series"]["version"]

    def fails(self, status, rows, out="never", *options):
        order = self.order(rows, out, *options)
        return self.desk.fails(status, *order)

    def settle(self, *options):
        return self.desk.run("ledger", "settle", "pay", *options, "--ledger", self.ledger)

    def lose(self, rows, out, monkeypatch):
        """A publisher that is killed after the commit and before its folder appears."""
        with monkeypatch.context() as patched:
            patched.setattr(run, "write_document", _stop)
            patched.setattr(ReleaseTransaction, "take_back", lambda *_: [])
            assert self.desk.run(*self.order(rows, out)).status == 130
        assert not (self.desk / out).exists()


def _stop(*_arguments, **_named):
    raise KeyboardInterrupt


@pytest.fixture
def pay(desk, plan_text) -> Pay:
    """A series with k = 2 and e = 100."""
    return Pay(desk, plan_text)


@pytest.mark.slow
def test_a_release_that_never_appeared_blocks_nobody_once_it_is_settled(pay, monkeypatch):
    """A row may be corrected: nobody saw it.  The message says how, and the number comes again."""
    pay.lose(FIRST, "one", monkeypatch)
    message = pay.fails(4, CORRECTED)
    assert "0 published rows are missing and 1 have changed since release 1" in message
    assert "not known whether its folder appeared" in message
    assert "`voile ledger settle pay --lost`" in message
    done = pay.settle("--lost")
    assert (done.status, done.stdout) == (0, "")
    assert "release 1 of series 'pay'" in done.stderr
    assert "the series begins anew" in done.stderr
    assert pay.publish(CORRECTED, "again") == 1
    assert pay.desk.run("ledger", "verify", pay.desk / "again", "--ledger", pay.ledger).status == 0
    shown = pay.desk.run("ledger", "show", "--ledger", pay.ledger).stdout
    assert "never appeared: it was settled as lost" in shown


@pytest.mark.slow
def test_a_lost_release_leaves_those_before_it(pay, monkeypatch):
    """The next release is compared with what appeared: what it showed stays promised."""
    pay.publish(FIRST, "one")
    pay.lose(MORE, "two", monkeypatch)
    assert pay.settle("--lost").status == 0
    assert "1 have changed" in pay.fails(4, [*CORRECTED, *MORE[8:]])
    corrected = [*FIRST, ("p9", 40, "Ely", 350), ("p10", 41, "Ely", 5100)]
    assert pay.publish(corrected, "two") == 2
    attacked = pay.desk.run("attack", pay.desk / "two", "--previous", pay.desk / "one", "--json")
    assert attacked.document["exposed"] == 0
    verified = pay.desk.run(
        "ledger", "verify", pay.desk / "one", pay.desk / "two", "--ledger", pay.ledger
    )
    assert verified.status == 0


def test_a_release_that_appeared_cannot_be_lost(pay):
    """Exit 4: somebody may have it."""
    pay.publish(FIRST, "one")
    message = pay.desk.fails(4, "ledger", "settle", "pay", "--lost", "--ledger", pay.ledger)
    assert "release 1" in message
    assert "stands: its folder appeared" in message
    assert "settle pay --lost" not in pay.fails(4, CORRECTED)


@pytest.mark.parametrize("broken", ["the disk", "the user"])
def test_what_voile_sees_fail_it_settles_itself(pay, monkeypatch, broken):
    """Where no folder appeared, the series forgets the release without being told to."""
    with monkeypatch.context() as patched:
        failing = _stop if broken == "the user" else _full
        patched.setattr(release_folder, "sync", failing)
        outcome = pay.desk.run(*pay.order(FIRST, "one"))
    assert outcome.status == (130 if broken == "the user" else 2)
    assert pay.publish(CORRECTED, "one") == 1


def _full(_):
    raise OSError(28, os.strerror(28))


def test_what_cannot_be_settled_is_told(pay, monkeypatch):
    """A disk on which the ledger cannot be written either: the message says what to do."""

    def busy(*_):
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(release_folder, "sync", _full)
        patched.setattr(Ledger, "lose", busy)
        outcome = pay.desk.run(*pay.order(FIRST, "one"))
    assert outcome.status == 2
    assert "run `voile ledger settle pay --lost`" in outcome.stderr
    assert pay.settle("--lost").status == 0
    assert pay.publish(CORRECTED, "one") == 1


@pytest.mark.slow
def test_a_limit_on_the_size_of_files(desk, plan_text):
    """``ulimit -f``: the rows do not fit, and no ledger learns of them; the next table goes on."""
    pay = Pay(
        desk, plan_text.replace('"city"]', '"city"]\nkeep = ["note"]\nkeep_unique = ["note"]')
    )
    header = "name,age,city,salary,note\n"
    lines = [f"p{i},{20 + i % 60},York,{i % 900},{'note ' * 400}{i}\n" for i in range(2_000)]
    table = desk.file(header + "".join(lines), "people.csv")
    program = "from voile_base.main import main; main()"
    command = [sys.executable, "-c", program, "publish", table, "--plan", pay.plan]
    place = ["--out", desk / "one", "--ledger", pay.ledger]
    resource = pytest.importorskip("resource")
    limit = 3_000_000  # below the rows
    failed = subprocess.run(
        [*command, *place],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert failed.returncode == 2, failed.stderr
    assert "cannot be written" in failed.stderr
    assert not (desk / "one").exists()
    assert desk.hidden() == []
    assert not pay.ledger.exists()
    table.write_text(header + lines[0].replace("York", "Bath") + "".join(lines[1:]))
    done = desk.run("publish", table, "--plan", pay.plan, *place)
    assert done.status == 0, done.stderr
    assert pay.described("one") == 1


@pytest.fixture
def restored(pay):
    """A series of two releases whose ledger was restored from a backup of after the first."""
    pay.publish(FIRST, "one")
    shutil.copy(pay.ledger, pay.desk / "backup.db")
    pay.publish(MORE, "two")
    shutil.copy(pay.desk / "backup.db", pay.ledger)
    return pay


@pytest.mark.slow
def test_a_ledger_from_a_backup_is_found_by_its_releases(restored):
    """Exit 4 names the folder of the release that it has forgotten, and nothing is written."""
    message = restored.fails(4, MORE)
    assert f"{restored.desk / 'two'}: this is release 2 of series 'pay'" in message
    assert "does not know it" in message


def test_a_ledger_begun_anew_is_found_too(pay):
    """A series whose ledger is gone cannot be begun beside its releases."""
    pay.publish(FIRST, "one")
    pay.ledger = pay.desk / "new.db"
    assert "this is release 1 of series 'pay'" in pay.fails(4, FIRST)
    assert not pay.ledger.exists()


def test_releases_elsewhere_are_found_where_they_are_named(pay, tmp_path_factory):
    """--known names a release, or a folder of releases; a folder that is none is refused."""
    archive = tmp_path_factory.mktemp("archive")
    pay.publish(FIRST, "one")
    shutil.move(pay.desk / "one", archive / "one")
    pay.ledger = pay.desk / "new.db"
    for named in (archive, archive / "one"):
        done = pay.desk.run(*pay.order(FIRST, "two"), "--known", named)
        assert done.status == 4
        assert f"{archive / 'one'}: this is release 1 of series 'pay'" in done.stderr
    done = pay.desk.run(*pay.order(FIRST, "two"), "--known", archive / "nowhere")
    assert done.status == 2
    assert "there is no such folder" in done.stderr
    assert pay.desk.run(*pay.order(FIRST, "two")).status == 0


def test_a_release_that_stands_cannot_be_said_to_be_lost(pay):
    """Settled as lost, a release that somebody has would be compared with no later one."""
    pay.publish(FIRST, "one")
    done = pay.settle("--lost")
    assert done.status == 4
    assert "stands: its folder appeared" in done.stderr


def test_a_release_that_was_settled_as_lost_and_stands(pay, monkeypatch):
    """It is found, whoever said that nobody had seen it."""
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "settle_series", _busy)
        done = pay.desk.run(*pay.order(FIRST, "one"))
        assert "run `voile ledger settle pay --release FOLDER`" in done.stderr
    assert pay.settle("--lost").status == 0
    message = pay.fails(4, FIRST)
    assert "this is release 1 of series 'pay'" in message
    assert "was told that it never appeared" in message


def test_the_command_that_settles_can_be_pasted(pay, monkeypatch):
    """Also where the name of the series has spaces."""
    pay.plan.write_text(pay.plan.read_text().replace('"pay"', '"pay of May"'))
    pay.lose(FIRST, "one", monkeypatch)
    found = re.search(r"`voile (ledger settle [^`]+)`", pay.fails(4, CORRECTED))
    assert found is not None
    command = shlex.split(found[1])
    assert pay.desk.run(*command, "--ledger", pay.ledger).status == 0


def _busy(*_):
    raise LedgerError("another process is using the ledger")


def test_a_release_in_the_folder_of_a_study(restored):
    """A study keeps its release one level deeper."""
    (restored.desk / "study").mkdir()
    (restored.desk / "two").rename(restored.desk / "study" / "release")
    assert f"{restored.desk / 'study' / 'release'}: this is release 2" in restored.fails(4, MORE)
    study = restored.order(MORE, "other")
    assert "this is release 2" in restored.desk.fails(4, "study", *study[1:])


@pytest.mark.slow
def test_what_is_no_release_of_the_series_stands_in_nobodys_way(restored):
    """Other series, releases elsewhere, made with a seed, unfinished, or that cannot be read."""
    elsewhere = restored.desk / "elsewhere" / "deep"
    elsewhere.mkdir(parents=True)
    (restored.desk / "two").rename(elsewhere / "two")
    document = json.loads((elsewhere / "two" / "release.json").read_text())
    others = {
        "other series": {**document, "series": {"name": "others", "version": 2}},
        "no series": {"rows": 3},
        "seeded": {**document, "publishable": False},
        ".voile-x.partial": document,
        "a list": [document],
    }
    for name, described in others.items():
        (restored.desk / name).mkdir()
        (restored.desk / name / "release.json").write_text(json.dumps(described))
    (restored.desk / "no JSON").mkdir()
    (restored.desk / "no JSON" / "release.json").write_bytes(b"\xff{")
    assert restored.publish(MORE, "three") == 2


@pytest.mark.slow
def test_an_experiment_minds_no_release(restored):
    """What is made with a seed is no publication, and breaks no promise."""
    assert restored.publish(MORE, "trial", "--seed", "7") == 2
