"""``voile ledger``: what it prints where, and how it fails."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

from voile.cli.ledger import ledger as command
from voile.errors import LedgerError
from voile.ledger import Ledger


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
def test_no_secret_is_shown(path, arguments):
    """Neither the key nor a mark of a row is printed."""
    history = Ledger(path).load("salaries")
    output = run(*arguments, "--ledger", path).output
    assert history.key.hex() not in output
    assert str(history.latest.published.identities[0]) not in output


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
    (tmp_path / "release.json").write_text(
        json.dumps({"release_id": "0" * 32, "series": {"name": "salaries", "version": 1}})
    )
    result = run("verify", tmp_path, "--ledger", path)
    assert isinstance(result.exception, LedgerError)
    assert "the ledger does not know this release" in str(result.exception)


def test_a_mistyped_ledger(tmp_path):
    """A path where no ledger stands is an error, and nothing is created there."""
    result = run("show", "--ledger", tmp_path / "ledgre.db")
    assert isinstance(result.exception, LedgerError)
    assert list(tmp_path.iterdir()) == []
