"""The ledger keeps what was committed, and commits only on top of what was loaded."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.ledger import Ledger, row_sets
from voile.release.history import Blocks, History, SeriesTerms, Version
from voile.schema.numbers import ExactNumbers
from voile.table.engines import AUTO, engine_of
from voile.table.keeping import KeptRows
from voile_base.errors import LedgerError
from voile_testing.plugin import examples
from voile_tests.marks import marks_of_arrays


def assert_same_array(one: Any, other: Any) -> None:
    assert one.dtype == other.dtype
    assert one.tolist() == other.tolist()


def assert_same(one: History, other: History) -> None:
    """Compare every value of two histories; borders as numbers, whatever their unit."""
    assert one.terms == other.terms
    assert one.key == other.key
    assert len(one.versions) == len(other.versions)
    for mine, theirs in zip(one.versions, other.versions, strict=True):
        assert (mine.number, mine.release_id, mine.created) == (
            theirs.number,
            theirs.release_id,
            theirs.created,
        )
        for name in ("low", "high"):
            numbers, others = getattr(mine.blocks, name), getattr(theirs.blocks, name)
            scale = max(numbers.scale, others.scale)
            same = numbers.rescaled(scale).units.tolist() == others.rescaled(scale).units.tolist()
            assert same, name
        for name in ("rows", "distinct", "batch"):
            assert_same_array(getattr(mine.blocks, name), getattr(theirs.blocks, name))
        for name in ("published", "held"):
            assert_same_rows(getattr(mine, name), getattr(theirs, name))


def assert_same_rows(one: KeptRows, other: KeptRows) -> None:
    """Compare rows wherever they are, types included."""
    assert one.height == other.height
    if one.height:
        engine = engine_of(AUTO)
        assert one.open(engine).to_arrow().equals(other.open(engine).to_arrow())


def _array(numbers: list[int], dtype: Any) -> Any:
    array = np.empty(len(numbers), dtype=dtype)
    array[:] = numbers
    return array


_small = st.integers(-(2**63), 2**63 - 1)
_large = st.builds(lambda n, p: n * 10**p, _small, st.sampled_from([0, 30, 6000]))
_words = st.integers(0, 2**64 - 1)


def _marks(keyed: bool, number: int) -> st.SearchStrategy[KeptRows]:
    """Marks of some rows, with contents where a record key identifies them."""
    pairs = st.lists(st.tuples(_words, _words), max_size=6)
    return pairs.map(
        lambda rows: marks_of_arrays(
            _array([one for one, _ in rows], np.uint64),
            _array([other for _, other in rows] if keyed else [], np.uint64),
            number,
        )
    )


def _numbers(size: int) -> st.SearchStrategy[ExactNumbers]:
    def of(strategy: st.SearchStrategy[int], dtype: Any) -> st.SearchStrategy[ExactNumbers]:
        units = st.lists(strategy, min_size=size, max_size=size).map(lambda n: _array(n, dtype))
        return st.builds(ExactNumbers, units, st.integers(0, 400))

    return of(_small, np.int64) | of(_large, object)


@st.composite
def _blocks(draw: st.DrawFn) -> Blocks:
    size = draw(st.integers(0, 5))
    counts = [
        _array(draw(st.lists(_small, min_size=size, max_size=size)), np.int64) for _ in range(3)
    ]
    return Blocks(draw(_numbers(size)), draw(_numbers(size)), *counts)


_text = st.text(max_size=8)  # no lone surrogates, but control characters and all planes
_terms = st.builds(
    SeriesTerms,
    name=_text,
    method=st.dictionaries(_text, _text, max_size=3),
    columns=st.dictionaries(_text, _text, max_size=3),
    roles=st.dictionaries(_text, st.lists(_text, max_size=3).map(tuple), max_size=3),
    record_key=st.none() | _text,
)


@st.composite
def _histories(draw: st.DrawFn) -> History:
    """Any history that its type allows; whether it keeps its promises is not the point here."""
    history = History(draw(_terms), draw(st.binary(min_size=32, max_size=32)))
    keyed = draw(st.booleans())
    for number in range(1, draw(st.integers(1, 3)) + 1):
        version = Version(
            number,
            f"{number:032x}",
            draw(_text),
            draw(_blocks()),
            draw(_marks(keyed, number)),
            draw(_marks(keyed, number)),
        )
        history = history.appended(version)
    return history


def commit_all(ledger: Ledger, history: History) -> None:
    """Commit the versions of a history one after the other."""
    before = None
    for version in history.versions:
        base = before or replace(history, versions=())
        after = base.appended(version)
        ledger.commit(before, after)
        before = ledger.load(history.terms.name)


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(history=_histories())
def test_round_trip(history: History) -> None:
    """Whatever history is committed, the same one is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db")
        commit_all(ledger, history)
        loaded = ledger.load(history.terms.name)
        assert loaded is not None
        assert_same(loaded, history)


def rows_beside(ledger: Ledger) -> set[str]:
    """The data sets that stand beside a ledger."""
    return {place.name for place in ledger.path.with_name("ledger.db.rows").iterdir()}


def referred(ledger: Ledger, role: str) -> set[str]:
    """The data sets that a ledger refers to in a role."""
    with closing(sqlite3.connect(ledger.path)) as connection:
        query = "SELECT name FROM row_set WHERE role = ?"
        return {name for (name,) in connection.execute(query, (role,))}


def test_the_ledger_itself_does_not_grow_with_rows(tmp_path, grown):
    """Ten thousand marks stand beside the file, and cost the same few bytes in it as ten."""
    sizes = []
    for rows in (10, 10_000):
        ledger = Ledger(tmp_path / f"{rows}.db")
        ledger.commit(None, grown(None, blocks=1, rows=rows, held=rows))
        sizes.append(ledger.path.stat().st_size)
        beside = ledger.path.with_name(f"{rows}.db.rows").rglob("*.parquet")
        assert sum(file.stat().st_size for file in beside) > 16 * rows
    assert sizes[0] == sizes[1]


def test_arrays_longer_than_a_chunk(tmp_path, grown, monkeypatch):
    """Arrays that need several chunks come back whole and in order."""
    monkeypatch.setattr(row_sets, "_CHUNK", 100)
    ledger = Ledger(tmp_path / "ledger.db")
    history = grown(None, blocks=300)
    ledger.commit(None, history)
    assert_same(ledger.load("salaries"), history)
    assert ledger.verify() == []


def test_nothing_is_created_before_a_commit(tmp_path):
    """Loading from a missing file finds nothing and makes nothing."""
    ledger = Ledger(tmp_path / "ledger.db")
    assert ledger.load("salaries") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ask", [Ledger.series, Ledger.verify])
def test_a_missing_ledger_is_an_error_to_whoever_asks_about_it(tmp_path, ask):
    """A mistyped path is not taken for an empty ledger that is sound."""
    with pytest.raises(LedgerError, match="there is no such ledger"):
        ask(Ledger(tmp_path / "ledger.db"))


def test_series_are_independent(tmp_path, grown):
    """Two series in one file do not see each other's versions."""
    ledger = Ledger(tmp_path / "ledger.db")
    one, other = grown(None, name="one"), grown(None, name="other")
    ledger.commit(None, one)
    ledger.commit(None, other)
    longer = grown(one)
    ledger.commit(one, longer)
    assert_same(ledger.load("one"), longer)
    assert_same(ledger.load("other"), other)
    assert ledger.load("third") is None


def test_commit_from_an_outdated_state_is_refused(tmp_path, grown):
    """Of two versions made from the same state, only the first is committed."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None)
    ledger.commit(None, first)
    winner, loser = grown(first), grown(first)
    ledger.commit(first, winner)
    with pytest.raises(LedgerError, match="committed meanwhile; nothing was published; run again"):
        ledger.commit(first, loser)
    assert_same(ledger.load("salaries"), winner)


def test_a_series_is_begun_once(tmp_path, grown):
    """Two publishers that both found no history cannot both begin the series."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None)
    ledger.commit(None, first)
    with pytest.raises(LedgerError, match="committed meanwhile"):
        ledger.commit(None, grown(None))
    assert_same(ledger.load("salaries"), first)


def test_a_lost_ledger_is_not_begun_anew(tmp_path, grown):
    """A publisher whose ledger disappears after it was loaded does not create another one."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None)
    ledger.commit(None, first)
    ledger.path.unlink()
    standing = rows_beside(ledger)
    with pytest.raises(LedgerError, match="there is no such ledger"):
        ledger.commit(first, grown(first))
    assert not ledger.path.exists()
    assert rows_beside(ledger) == standing


def test_another_ledger_of_the_same_name_touches_no_rows_of_the_first(tmp_path, grown):
    """A ledger that was moved away for a while finds its rows again."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None)
    ledger.commit(None, first)
    moved = ledger.path.rename(tmp_path / "away.db")
    ledger.commit(None, grown(None, name="other"))
    ledger.path.unlink()
    moved.rename(ledger.path)
    assert ledger.verify() == []
    ledger.commit(first, grown(first))
    assert ledger.verify() == []


def test_commit_takes_one_version_of_the_same_series(tmp_path, grown):
    """A commit of two versions, of none, or on top of another series is a fault of the caller."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None)
    second = grown(first)
    for before, after in ((None, second), (first, first), (grown(None), second), (second, first)):
        with pytest.raises(ValueError, match="appends one version"):
            ledger.commit(before, after)
    assert not ledger.path.exists()


def test_a_release_id_is_used_once(tmp_path, grown):
    """A repeated id, as an experiment with the same seed may draw, is refused by name."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None)
    ledger.commit(None, first)
    other = grown(None, name="other")
    same = replace(other.versions[0], release_id=first.versions[0].release_id)
    with pytest.raises(LedgerError, match="already knows a release with this id"):
        ledger.commit(None, replace(other, versions=(same,)))
    assert ledger.load("other") is None


def test_a_failed_commit_leaves_no_trace(tmp_path, grown):
    """Arrays that cannot be stored leave the ledger as it was."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None)
    ledger.commit(None, first)
    second = grown(first)
    wrong = replace(second.versions[1].blocks, batch=np.array([0.5] * 4))
    wrong = replace(second.versions[1], blocks=wrong)
    standing = rows_beside(ledger)
    with pytest.raises(ValueError, match="not float64"):
        ledger.commit(first, replace(second, versions=(first.versions[0], wrong)))
    assert_same(ledger.load("salaries"), first)
    assert ledger.verify() == []
    assert rows_beside(ledger) == standing


def test_only_the_newest_held_rows_stay(tmp_path, grown):
    """Held marks of an earlier version are gone from the records and from the files."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None, held=400)
    ledger.commit(None, first)
    (held,) = referred(ledger, "held")
    assert rows_beside(ledger) == {held, *referred(ledger, "published")}
    second = grown(first, held=0)
    ledger.commit(first, second)
    assert referred(ledger, "held") == set()
    assert held not in rows_beside(ledger)
    assert rows_beside(ledger) == referred(ledger, "published")
    assert len(rows_beside(ledger)) == 2


def test_summaries_show_blocks_widening(tmp_path, grown):
    """Each version is shown with its rows, its held rows if newest, and its widths."""
    ledger = Ledger(tmp_path / "ledger.db")
    first = grown(None)
    second = grown(first, held=7)
    wide = replace(
        second.versions[1].blocks, high=ExactNumbers(np.array([50, 150, 275, 350], np.int64), 2)
    )
    second = replace(
        second, versions=(second.versions[0], replace(second.versions[1], blocks=wide))
    )
    ledger.commit(None, first)
    ledger.commit(first, second)
    (summary,) = ledger.series()
    assert summary.terms == first.terms
    old, new = summary.versions
    assert (old.blocks, old.rows, old.new_rows, old.held) == (4, 12, 12, None)
    assert (new.blocks, new.rows, new.new_rows, new.held) == (4, 24, 12, 7)
    assert (str(old.sum_of_ranges), old.mean_width, str(old.max_width)) == ("2", 0.5, "0.5")
    assert (str(new.sum_of_ranges), new.mean_width, str(new.max_width)) == ("2.25", 0.5625, "0.75")
