"""A long series costs its rows: its ledger grows with them, and old marks are folded."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from voile.ledger import Ledger
from voile.release.history import Blocks, LivedBlocks
from voile.schema.numbers import ExactNumbers
from voile_base.errors import LedgerError

pytestmark = pytest.mark.slow

RELEASES = 21


@pytest.fixture(name="long")
def long_fixture(tmp_path, grown):
    """A ledger with many releases of a series of sealed blocks, each of 4 new ones."""
    ledger, committed = Ledger(tmp_path / "ledger.db"), []
    for _ in range(RELEASES):
        before = ledger.load("salaries")
        after = _sealed(grown(before, held=0))
        ledger.commit(before, after)
        ledger.settle_series("salaries", after.latest.release_id)
        committed.append(after.latest)
    return ledger, committed


def _sealed(history):
    """The newest version with the blocks before it, and its own 4 beside them."""
    *earlier, newest = history.versions
    own = replace(newest.blocks, batch=np.full(4, newest.number), rows=np.full(4, 3))
    blocks = Blocks.joined([earlier[-1].blocks, own] if earlier else [own])
    return replace(history, versions=(*earlier, replace(newest, blocks=blocks)))


def _stored(ledger, query):
    with closing(sqlite3.connect(ledger.path)) as connection:
        return connection.execute(query).fetchall()


def test_each_release_adds_what_it_changes(long):
    """The records of a release are as many, and as long, as those of the one before."""
    ledger, _ = long
    lengths = _stored(
        ledger,
        "SELECT number, sum(length(bytes)) FROM chunk JOIN part ON part.id = part JOIN version "
        "ON version.id = version GROUP BY number ORDER BY number",
    )
    assert [length for _, length in lengths] == [5 * 4 * 8] * RELEASES


def test_folded_marks_are_those_of_each_release(long, held_by):
    """Few data sets hold the marks of all releases, and each release still has its own."""
    ledger, committed = long
    assert len(list(ledger.path.with_name("ledger.db.rows").iterdir())) <= 10
    history = ledger.load("salaries")
    assert sum(version.folded for version in history.versions) > RELEASES / 2
    for loaded, version in zip(history.versions, committed, strict=True):
        assert sorted(held_by(loaded.published).items()) == sorted(
            held_by(version.published).items()
        )
    assert sum(each.height for each in history.known.published) == RELEASES * 12
    assert history.known.versions == RELEASES


def test_blocks_of_any_release_are_given_back(long):
    """Blocks that are stored once are those of each release that had them."""
    ledger, committed = long
    for loaded, version in zip(ledger.load("salaries").versions, committed, strict=True):
        assert isinstance(loaded.blocks, LivedBlocks)
        for which in ("low", "high"):
            borders = getattr(loaded.blocks, which), getattr(version.blocks, which)
            assert borders[0].decimals() == borders[1].decimals()
        assert loaded.blocks.batch.tolist() == version.blocks.batch.tolist()
    assert [one.blocks for one in ledger.series()[0].versions] == [
        4 * number for number in range(1, RELEASES + 1)
    ]
    assert ledger.verify() == []


def test_changed_folded_marks_are_found(long):
    """Folded marks are sealed: a ledger with others is used no more."""
    ledger, _ = long
    (name,) = _stored(
        ledger, "SELECT name FROM row_set JOIN folded ON folded.version = row_set.version"
    )[0]
    folder = ledger.path.with_name("ledger.db.rows") / name
    file = next(file for file in folder.rglob("*") if file.is_file())
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(LedgerError, match="put together of several versions were changed"):
        ledger.load("salaries")
    assert any("put together" in str(fault) for fault in ledger.verify())


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE folded SET seal = x'00' WHERE version = 2",
        "UPDATE folded SET rows = rows + 1 WHERE version = 2",
        "DELETE FROM folded WHERE version = 3",
    ],
)
def test_changed_records_of_folded_marks_are_found(long, edit):
    """What a version was sealed by before its marks were folded is sealed with it."""
    ledger, _ = long
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute(edit)
        connection.commit()
    with pytest.raises(LedgerError, match="voile ledger verify"):
        ledger.load("salaries")
    assert ledger.verify()


def test_a_release_that_may_be_lost_is_never_folded(tmp_path, grown):
    """Marks of releases that are not known to stand stay apart, for they may yet be lost."""
    ledger = Ledger(tmp_path / "ledger.db")
    for _ in range(RELEASES):
        before = ledger.load("salaries")
        ledger.commit(before, _sealed(grown(before, held=0)))
    history = ledger.load("salaries")
    assert not any(version.folded for version in history.versions)
    newest = history.latest.release_id
    ledger.lose("salaries", newest)
    left = ledger.load("salaries")
    assert left.next_number == RELEASES
    assert left.latest.held.height == 12
    assert ledger.verify() == []


def test_a_lost_release_leaves_the_blocks_before_it(long, grown):
    """After a loss the series goes on from the release before, folded marks and all."""
    ledger, committed = long
    before = ledger.load("salaries")
    after = _sealed(grown(before, held=0))
    ledger.commit(before, after)
    ledger.lose("salaries", after.latest.release_id)
    again = _sealed(grown(ledger.load("salaries"), held=0))
    ledger.commit(ledger.load("salaries"), again)
    found = ledger.load("salaries")
    assert len(found.latest.blocks) == 4 * (RELEASES + 1)
    assert found.versions[-2].release_id == committed[-1].release_id
    assert ledger.verify() == []


def test_a_finer_unit_is_stored_anew(tmp_path, grown):
    """Borders with more decimals than before are stored as they are, and read as they were."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = _sealed(grown(None, held=0))
    ledger.commit(None, first)
    before = ledger.load("salaries")
    second = _sealed(grown(before, held=0))
    blocks = second.latest.blocks.rescaled(4)
    high = blocks.high.units.copy()
    high[-1] += 1
    blocks = replace(blocks, high=ExactNumbers(high, 4))
    second = replace(second, versions=(before.versions[0], replace(second.latest, blocks=blocks)))
    ledger.commit(before, second)
    found = ledger.load("salaries")
    assert found.versions[0].blocks.high.decimals() == first.latest.blocks.high.decimals()
    assert found.latest.blocks.high.decimals() == blocks.high.decimals()
