"""``voile ledger``: what it prints where, and how it fails."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

from voile.cli.ledger import _ledger as command
from voile.ledger import Ledger
from voile_base.errors import LedgerError
from voile_tests.release.listing import write_listed


@pytest.fixture
def path(tmp_path, grown):
    """A ledger with two versions of one series."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None)
    ledger.commit(None, first)
    ledger.commit(first, grown(first))
    return ledger.path


def run(*arguments, **options):
    result = CliRunner().invoke(command, [str(argument) for argument in arguments], **options)
    if result.exception and not isinstance(result.exception, LedgerError | SystemExit):
        raise result.exception
    return result


def test_show_as_json(path):
    """``show --json`` gives each version with its blocks, rows and widths."""
    result = run("show", "--ledger", path, "--json")
    (series,) = json.loads(result.stdout)["series"]
    assert series["name"] == "salaries"
    assert series["method"]["k"] == "2"
    first, second = series["versions"]
    assert first["held"] is None
    assert second == {
        "version": 2,
        "release_id": Ledger(path).load("salaries").latest.release_id,
        "created": "2024-02-29T12:00:00+00:00",
        "blocks": 4,
        "rows": 24,
        "new_rows": 12,
        "held": 5,
        "sum_of_ranges": 2,
        "mean_width": 0.5,
        "max_width": 0.5,
        "stands": False,
    }


def test_show_as_a_table(path):
    """``show`` prints one row for each version, and says that it is private."""
    result = run("show", "--ledger", path)
    assert result.exit_code == 0
    assert "series 'salaries' (private): k = 2, e = 0.5" in result.stdout
    assert "rows are matched by 'person'" in result.stdout
    first, second = (line.split() for line in result.stdout.splitlines() if "2024-02-29" in line)
    assert first == ["1", "2024-02-29", "4", "12", "12", "2", "0.5", "0.5"]
    assert second == ["2", "2024-02-29", "4", "24", "12", "5", "2", "0.5", "0.5"]


@pytest.mark.parametrize("arguments", [("show",), ("show", "--json"), ("verify", "--json")])
def test_no_secret_is_shown(path, arguments, held_by):
    """Neither the key nor a mark of a row is printed."""
    history = Ledger(path).load("salaries")
    marks = held_by(history.latest.published)["\1identity"]
    assert len(marks) > 1
    output = run(*arguments, "--ledger", path).output
    assert history.key.hex() not in output
    assert not any(str(mark) in output for mark in marks)


def test_the_environment_names_the_ledger(path):
    """Without --ledger, the variable VOILE_LEDGER is read; without both, the call is wrong."""
    assert run("show", "--json", env={"VOILE_LEDGER": str(path)}).exit_code == 0
    assert run("show", env={"VOILE_LEDGER": ""}).exit_code == 2


def test_verify_a_sound_ledger(path):
    """``verify`` says what was checked on standard error, and prints data only if asked."""
    result = run("verify", "--ledger", path)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "sound. Checked: 1 series, 2 versions with 8 blocks and 24 published" in result.stderr
    assert "0 data sets with 0 entries, 0 release folders" in result.stderr
    document = json.loads(run("verify", "--ledger", path, "--json").stdout)
    assert document == {"sound": True, "findings": []}


def test_verify_a_ledger_that_is_not(path):
    """Findings are listed in the error, and as data."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE series SET key = zeroblob(32)")
        connection.commit()
    result = run("verify", "--ledger", path, "--json")
    assert isinstance(result.exception, LedgerError)
    assert "version 1: its seal does not match" in str(result.exception)
    document = json.loads(result.stdout)
    assert document["sound"] is False
    assert document["findings"][0]["where"] == "series 'salaries'"


def test_verify_an_unknown_release(path, tmp_path):
    """A release folder that the ledger does not know makes verification fail."""
    write_listed(tmp_path, {"release_id": "0" * 32, "series": {"name": "salaries", "version": 1}})
    result = run("verify", tmp_path, "--ledger", path)
    assert isinstance(result.exception, LedgerError)
    assert "the ledger does not know this release" in str(result.exception)


def test_a_mistyped_ledger(tmp_path):
    """A path where no ledger stands is an error, and nothing is created there."""
    result = run("show", "--ledger", tmp_path / "ledgre.db")
    assert isinstance(result.exception, LedgerError)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def charge(path, charged):
    """What a release asked of a data set in the ledger: 1 of 3, and to carry 1,234 rows over."""
    charge = charged(None, "1", rows=1234)
    Ledger(path).commit(None, None, charge)
    return charge


def test_show_data_sets(path, charge, charged):
    """``show`` tells the limit, what is spent and left, each release, and how many rows wait."""
    ledger = Ledger(path)
    ledger.settle("parcels", charge.release_id)
    ledger.commit(None, None, charged(ledger.budget("parcels"), "0.5", "0.25"))
    output = run("show", "--ledger", path).stdout
    assert "data set 'parcels' (private): epsilon = 3, delta = 0, neighbours" in output
    assert "spent 1.75, left 1.25; rows waiting in its pool: 1,234" in output
    assert "waits to be settled" not in output
    first, second = (
        line.split(maxsplit=4) for line in output.splitlines() if "discrete-laplace" in line
    )
    assert (first[0], first[2:4], first[4].strip()) == (
        "1",
        ["release", charge.release_id],
        "discrete-laplace 1",
    )
    assert second[4].strip() == "discrete-laplace 0.5, discrete-laplace 0.25"


def test_show_data_sets_as_json(path, charge):
    """``show --json`` gives the same as numbers, and the events as they were committed."""
    (told,) = json.loads(run("show", "--ledger", path, "--json").stdout)["data_sets"]
    (entry,) = told.pop("entries")
    assert told == {
        "name": "parcels",
        "epsilon": 3,
        "delta": 0,
        "neighbours": "add-remove",
        "spent": 1,
        "left": 2,
        "waiting": 1234,
        "unsettled": charge.release_id,
    }
    assert entry.pop("created")
    assert entry == {
        "entry": 1,
        "what": "release",
        "release_id": charge.release_id,
        "events": [event.document() for event in charge.events],
    }


def test_waiting_rows_are_not_shown(path, charge):
    """No command prints a row that waits."""
    rows = f"left by {charge.release_id}"
    for arguments in (("show",), ("show", "--json"), ("verify", "--json")):
        assert rows not in run(*arguments, "--ledger", path).output


def test_settle_a_release_that_stands(path, charge, tmp_path):
    """``settle --release`` takes the folder for proof, and only that of the right release."""
    folder = tmp_path / "release"
    folder.mkdir()
    document = folder / "release.json"
    document.write_text(json.dumps({"release_id": "0" * 32}))
    result = run("settle", "parcels", "--release", folder, "--ledger", path)
    assert isinstance(result.exception, LedgerError)
    assert Ledger(path).budget("parcels").unsettled == charge.release_id
    document.write_text(json.dumps({"release_id": charge.release_id}))
    result = run("settle", "parcels", "--release", folder, "--ledger", path)
    assert "the release stands" in result.stderr
    state = Ledger(path).budget("parcels")
    assert (state.unsettled, state.waiting.rows) == (None, 1234)


def test_settle_a_release_that_is_lost(path, charge):
    """``settle --lost`` restores the pool, and the account shows it."""
    assert "wait again" in run("settle", "parcels", "--lost", "--ledger", path).stderr
    state = Ledger(path).budget("parcels")
    assert (state.unsettled, state.waiting.rows, state.spent) == (None, 0, 1)
    assert "taken back" in run("show", "--ledger", path).stdout
    again = run("settle", "parcels", "--lost", "--ledger", path)
    assert "waits to be settled" in str(again.exception)


@pytest.mark.parametrize("options", [(), ("--lost", "--release", "x")])
def test_settle_says_one_thing(path, charge, options):
    """Without an answer, or with both, the call is wrong and nothing is settled."""
    assert run("settle", "parcels", *options, "--ledger", path).exit_code == 2
    assert Ledger(path).budget("parcels").unsettled == charge.release_id
