"""Combinations of codes are those of the tuples, however they are counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.table import codes
from voile.table import codes as table_codes
from voile.table.alignment import common_codes
from voile.table.codes import Combinations, count_codes, encode
from voile.table.engines.polars import PolarsRows, unique_words
from voile.table.keeping import WORDS, with_words
from voile_base import randomness
from voile_base.randomness import Randomness

SHAPES = [
    [3, 2],  # one table
    [1, 1],
    [500, 100, 2, 5000, 3],  # a table or a sort for each stage
    [2**31, 2**31, 4],  # a sort with the places of the rows in the words
    [2**63, 1, 2],  # words without room for places
]


def columns_of(rows: list[tuple[int, ...]], distinct: list[int]) -> list[Any]:
    columns = zip(zip(*rows, strict=True), distinct, strict=True)
    return [(np.array(codes, dtype=np.uint64), d) for codes, d in columns]


@given(st.data(), st.sampled_from(SHAPES), st.sampled_from([1, 64, codes._DENSE_COMBINATIONS]))
def test_combinations_are_those_of_tuples(
    data: st.DataObject, distinct: list[int], dense: int
) -> None:
    """Tuples are counted in ascending order, and each row knows its own, at any table size."""
    codes = st.tuples(*(st.sampled_from(sorted({0, d // 2, d - 1})) for d in distinct))
    rows = data.draw(st.lists(codes, min_size=1, max_size=30))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_codes, "_DENSE_COMBINATIONS", dense)
        found = Combinations.of(columns_of(rows, distinct))
    shown = list(zip(*(column.tolist() for column in found.codes), strict=True))
    assert shown == sorted(set(rows))
    assert dict(zip(shown, found.rows.tolist(), strict=True)) == Counter(rows)
    assert [shown[place] for place in found.index.tolist()] == rows


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [[70, 30, 60], [40_000, 50_000, 3], [9, 300_000, 300_000]])
def test_many_rows_are_combined_like_few(distinct: list[int]) -> None:
    """200,000 rows give what NumPy's sorting of tuples gives."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, d, 200_000) for d in distinct])
    found = Combinations.of([(column, d) for column, d in zip(rows.T, distinct, strict=True)])
    expected, place, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    assert np.array_equal(np.column_stack(found.codes), expected)
    assert np.array_equal(found.index, place.ravel())
    assert np.array_equal(found.rows, counts)


def test_codes_are_counted_in_parts() -> None:
    """Codes of more rows than are counted at a time add up."""
    codes = np.random.default_rng(1).integers(0, 50_000, 200_000).astype(np.uint16)
    for distinct in (50_000, 65_536):
        assert np.array_equal(count_codes(codes, distinct), np.bincount(codes, minlength=distinct))


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab")), min_size=1, max_size=20))
def test_the_words_of_a_row_count_how_often_it_stood_before(rows: list[tuple[int, str]]) -> None:
    """The i-th of equal rows has the word of (its contents, i), and no two rows share one."""
    key = Randomness.seeded(0).key("test")
    frame = pl.DataFrame(rows, schema=["number", "letter"], orient="row")
    seen: Counter[tuple[int, str]] = Counter()
    occurrence = []
    for row in rows:
        occurrence.append(seen[row])
        seen[row] += 1
    once = with_words(PolarsRows.of_frame(frame), frame.columns, key, WORDS[0]).frame()[WORDS[0]]
    expected = key.words(once.to_numpy(), np.array(occurrence, dtype=np.uint64))
    words = unique_words({one.name: encode(one) for one in frame}, key)
    assert np.array_equal(words, expected)
    assert len(set(words.tolist())) == len(rows)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 40)), min_size=1),
    st.booleans(),
)
def test_runs_are_combined_like_rows(runs: list[tuple[int, int, int]], in_parts: bool) -> None:
    """Rows in runs, which may come again, are counted as if each were counted alone."""
    rows = np.array([(one, other) for one, other, length in runs for _ in range(length)])
    with pytest.MonkeyPatch.context() as patch:
        if in_parts:
            patch.setattr(randomness, "_PART", 7)
        patch.setattr(table_codes, "_RUN", 2)
        found = Combinations.of(
            [(rows[:, 0].astype(np.uint8), 3), (rows[:, 1].astype(np.uint8), 2)]
        )
    expected, place, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    assert np.array_equal(np.column_stack(found.codes), expected)
    assert np.array_equal(found.index, place.ravel())
    assert np.array_equal(found.rows, counts)


def test_a_table_by_groups_is_counted_by_its_runs() -> None:
    """Of a million rows in a thousand runs only the beginnings of runs are sorted or looked up."""
    group = np.repeat(np.arange(1000, dtype=np.uint16), 1000)
    starts = codes._runs([group, (group % 7).astype(np.uint8)])
    assert starts is not None
    assert starts.tolist() == list(range(0, 1_000_000, 1000))
    mixed = np.random.default_rng(1).permutation(group)
    assert codes._runs([mixed]) is None


@pytest.mark.parametrize("distinct", [1, 255, 256, 257, 65_536, 65_537])
def test_as_many_combinations_as_a_type_holds_are_numbered(distinct):
    """By sorting, also where the number of the last is the greatest of its type."""
    draws = np.random.default_rng(distinct)
    order = np.concatenate([draws.permutation(distinct), draws.integers(0, distinct, 99)])
    columns = [(order.astype(np.uint32), 1 << 20), (order.astype(np.uint32), 1 << 20)]
    found = Combinations.of(columns)
    assert found.index.tolist() == order.tolist()
    assert found.rows.tolist() == np.bincount(order).tolist()
    assert [codes.tolist() for codes in found.codes] == [list(range(distinct))] * 2


def test_columns_in_dictionaries_are_compared_without_their_texts(monkeypatch):
    """Codes are those of plain texts, with what one side lacks and what is missing on another."""
    sides = [["b", "d", None, "b"], ["c", "a"], [], ["d", "d"]]
    plain = [pl.DataFrame({"x": pl.Series(side, dtype=pl.String)}) for side in sides]
    kinds = [pl.Enum(["d", "b", "z"]), pl.Enum(["a", "c"]), pl.Enum(["q"]), pl.Categorical()]
    coded = [side.cast(kind) for side, kind in zip(plain, kinds, strict=True)]
    expected, places = common_codes(plain)
    monkeypatch.setattr(table_codes, "_encode_text", lambda column: pytest.fail("texts were read"))
    found, same = common_codes(coded)
    assert found["x"].to_list() == expected["x"].to_list() == [None, "a", "b", "c", "d"]
    assert [each.tolist() for each in same] == [each.tolist() for each in places]
