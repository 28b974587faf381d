"""What becomes of the newest release of a series: it stands, or nobody saw it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from click.testing import CliRunner

from voile.cli.ledger import _ledger as command
from voile.ledger import Ledger
from voile.release.history import History
from voile_base.errors import LedgerError
from voile_tests.release.listing import write_listed


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    """A ledger that does not exist yet."""
    return Ledger(tmp_path / "ledger.db")


@pytest.fixture
def two(ledger, grown) -> tuple[Ledger, History, History]:
    """A ledger with two versions of a series, the first of which stands."""
    first = grown(None)
    ledger.commit(None, first)
    ledger.settle_series("salaries", first.latest.release_id)
    second = grown(first)
    ledger.commit(first, second)
    return ledger, first, second


def run(*arguments):
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, LedgerError | SystemExit):
        raise result.exception
    return result


def test_a_lost_release_is_forgotten_and_recorded(two, grown):
    """The next release follows the one before it and gets its number; that it was stays."""
    ledger, first, second = two
    lost = ledger.lose("salaries", second.latest.release_id)
    assert (lost.number, lost.release_id) == (2, second.latest.release_id)
    left = ledger.load("salaries")
    assert [version.release_id for version in left.versions] == [first.latest.release_id]
    assert ledger.verify() == []
    third = grown(left)
    ledger.commit(left, third)
    assert third.latest.number == 2
    assert ledger.verify() == []
    (summary,) = ledger.series()
    assert summary.lost == (lost,)
    assert [version.number for version in summary.versions] == [1, 2]


def test_rows_of_a_lost_release_count_as_held_back(two, held_by):
    """They were seen and never published; so were those that it held back."""
    ledger, first, second = two
    ledger.lose("salaries", second.latest.release_id)
    left = ledger.load("salaries").latest
    seen = [held_by(second.latest.published), held_by(second.latest.held)]
    held = held_by(left.held)
    assert held.keys() == seen[0].keys()
    assert held == {name: seen[0][name] + seen[1][name] for name in held}
    assert held_by(left.published) == held_by(first.latest.published)
    assert ledger.verify() == []


def test_nothing_of_a_lost_release_stays_in_the_file(two):
    """Not its groups, and its marks only as held ones: there is nothing to compare with."""
    ledger, _, second = two
    ledger.lose("salaries", second.latest.release_id)
    with closing(sqlite3.connect(ledger.path)) as connection:
        assert connection.execute("SELECT count(*) FROM version").fetchone() == (1,)
        parts = connection.execute("SELECT count(*), count(DISTINCT version) FROM part").fetchone()
        kept = connection.execute("SELECT role FROM row_set ORDER BY id").fetchall()
    assert parts == (5, 1)
    assert kept == [("published",), ("held",), ("held",)]


def test_a_series_whose_first_release_was_lost_begins_anew(ledger, grown):
    """Nobody saw it, so that not even the terms were promised."""
    first = grown(None)
    ledger.commit(None, first)
    ledger.lose("salaries", first.latest.release_id)
    assert ledger.load("salaries") is None
    assert ledger.verify() == []
    again = grown(None)
    other = replace(again, terms=replace(again.terms, method={"k": "2", "e": "0.1"}))
    ledger.commit(None, other)
    loaded = ledger.load("salaries")
    assert (loaded.terms, loaded.key) == (other.terms, other.key)
    assert ledger.verify() == []
    assert [lost.number for lost in ledger.series()[0].lost] == [1]


def test_a_release_that_stands_cannot_be_lost(two):
    """Somebody may have it: that is refused, and the ledger stays as it is."""
    ledger, _, second = two
    release_id = second.latest.release_id
    assert ledger.open_version("salaries") == release_id
    ledger.settle_series("salaries", release_id)
    assert ledger.open_version("salaries") is None
    content = ledger.path.read_bytes()
    with pytest.raises(LedgerError, match=r"release 2 .* stands.*cannot be lost"):
        ledger.lose("salaries", release_id)
    assert ledger.path.read_bytes() == content
    assert ledger.verify() == []


def test_only_the_newest_can_be_lost(two):
    """An earlier release is what later ones were compared with."""
    ledger, first, second = two
    with pytest.raises(LedgerError, match="is not its newest"):
        ledger.lose("salaries", first.latest.release_id)
    with pytest.raises(LedgerError, match="is not its newest"):
        ledger.lose("salaries", "0" * 32)
    ledger.lose("salaries", second.latest.release_id)
    with pytest.raises(LedgerError, match=r"release 1 .* stands"):
        ledger.lose("salaries", first.latest.release_id)


def test_two_that_never_appeared(ledger, grown):
    """Where a second one was committed on top of a lost one, both can be lost, newest first."""
    first = grown(None)
    ledger.commit(None, first)
    second = grown(first)
    ledger.commit(first, second)
    ledger.lose("salaries", second.latest.release_id)
    ledger.lose("salaries", first.latest.release_id)
    assert ledger.load("salaries") is None
    assert [lost.number for lost in ledger.series()[0].lost] == [2, 1]
    assert ledger.verify() == []


def test_a_series_that_is_not_known(two, tmp_path):
    """Neither settles, and a ledger without the file has no series."""
    ledger, _, second = two
    for deed in (ledger.lose, ledger.settle_series):
        with pytest.raises(LedgerError, match="knows no series 'letters'"):
            deed("letters", second.latest.release_id)
    with pytest.raises(LedgerError, match="knows no release 0000"):
        ledger.settle_series("salaries", "0" * 32)
    assert Ledger(tmp_path / "other.db").open_version("salaries") is None


def test_a_lost_id_is_never_given_again(two):
    """A seed that repeats the id of a lost release is told to choose another."""
    ledger, first, second = two
    ledger.lose("salaries", second.latest.release_id)
    with pytest.raises(LedgerError, match="already knows a release with this id"):
        ledger.commit(first, second)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE lost_version SET settled = '1999-01-01T00:00:00+00:00'",
        "UPDATE lost_version SET release_id = '00000000000000000000000000000000'",
        "DELETE FROM lost_version",
        "UPDATE version SET stands = 0",
    ],
)
def test_edits_are_found(two, edit):
    """Records of what was lost and of what stands are sealed like all others."""
    ledger, _, second = two
    ledger.lose("salaries", second.latest.release_id)
    with closing(sqlite3.connect(ledger.path)) as connection:
        assert connection.execute(edit).rowcount == 1
        connection.commit()
    assert ledger.verify()
    with pytest.raises(LedgerError, match="cannot vouch for series 'salaries'"):
        ledger.load("salaries")


def test_a_lost_release_that_turns_up_is_found(two, tmp_path):
    """A folder with its id shows that somebody may have seen it after all."""
    ledger, _, second = two
    described = {
        "release_id": second.latest.release_id,
        "series": {"name": "salaries", "version": 2},
    }
    release = tmp_path / "release"
    write_listed(release, described)
    assert ledger.verify_release(release) == []
    ledger.lose("salaries", second.latest.release_id)
    (finding,) = ledger.verify_release(release)
    assert "was told that it never appeared" in str(finding)


def test_settle_by_command(two):
    """``settle --lost`` says what it forgot and what comes next; ``show`` keeps the record."""
    ledger, first, second = two
    lost = second.latest.release_id
    shown = run("show", "--ledger", ledger.path).stdout
    assert f"release 2 ({lost}) is not known to stand" in shown
    told = run("settle", "salaries", "--lost", "--ledger", ledger.path)
    assert told.exit_code == 0
    assert f"release 2 of series 'salaries' ({lost}, of 2024-02-29) is forgotten" in told.stderr
    assert "the next release is compared with release 1" in told.stderr
    shown = run("show", "--ledger", ledger.path).stdout
    assert f"release 2 of 2024-02-29 ({lost}) never appeared: it was settled as lost" in shown
    assert "not known to stand" not in shown
    (series,) = json.loads(run("show", "--json", "--ledger", ledger.path).stdout)["series"]
    assert [entry["release_id"] for entry in series["lost"]] == [lost]
    assert [entry["stands"] for entry in series["versions"]] == [True]
    again = run("settle", "salaries", "--lost", "--ledger", ledger.path)
    assert "stands: its folder appeared" in str(again.exception)
    assert len(ledger.load("salaries").versions) == 1
    assert ledger.load("salaries").latest.release_id == first.latest.release_id


def test_settle_a_release_that_stands_by_command(two, tmp_path):
    """``settle --release`` takes the folder for proof that the release cannot be lost."""
    ledger, _, second = two
    described = {
        "release_id": second.latest.release_id,
        "series": {"name": "salaries", "version": 2},
    }
    write_listed(tmp_path, described)
    told = run("settle", "salaries", "--release", tmp_path, "--ledger", ledger.path)
    assert "cannot be lost any more" in told.stderr
    assert ledger.open_version("salaries") is None


def test_settle_nothing(two):
    """A name that nothing has is no release to be settled."""
    ledger, *_ = two
    failed = run("settle", "letters", "--lost", "--ledger", ledger.path)
    assert "nothing named 'letters' has a release that waits to be settled" in str(failed.exception)


def test_a_name_that_two_have(two, charged):
    """Where a series and a data set of one name both wait, nothing is settled unasked."""
    ledger, *_ = two
    limit = replace(charged(None).limit, data_set="salaries")
    charge = charged(None, "1", limit=limit, rows=3)
    ledger.commit(None, None, charge)
    assert run("settle", "salaries", "--lost", "--ledger", ledger.path).exit_code == 2
    run("settle", "salaries", "--lost", "--of", "series", "--ledger", ledger.path)
    assert ledger.budget("salaries").unsettled == charge.release_id
    assert len(ledger.load("salaries").versions) == 1
    run("settle", "salaries", "--lost", "--of", "data-set", "--ledger", ledger.path)
    assert ledger.budget("salaries").unsettled is None
