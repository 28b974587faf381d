"""The engine on one machine keeps the contract of all engines."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.plan import Plan
from voile.table.codes import _sort_word_rows, encode, sort_rows, sort_words
from voile.table.engines.polars import PolarsRows
from voile.table.engines.shared import permute_within_runs, write_batches
from voile.table.keeping import KeptRows
from voile.table.looking import count_repeats, occurrences_of
from voile.table.opening import open_frame
from voile.table.private import PrivateTable
from voile.table.protocol import Format
from voile.table.published import PublishedTable
from voile_base.randomness import Randomness
from voile_base.values.expressions import Call, Column, Literal
from voile_tests.table.engine_contract import EngineContract


class TestPolarsTable(EngineContract):
    """Frames in memory."""

    def open(
        self,
        frame: pl.DataFrame,
        plan: Plan,
        *,
        record_key: str | None = None,
        carried: KeptRows | None = None,
    ) -> PrivateTable:
        return open_frame(frame, plan, record_key=record_key, carried=carried)

    def rows_of(self, published: PublishedTable) -> pl.DataFrame:
        assert isinstance(published, PublishedTable)
        return published.to_native()


VALUES = st.one_of(
    st.lists(st.none() | st.text(max_size=3), max_size=9).map(
        lambda v: pl.Series("c", v, pl.String)
    ),
    st.lists(st.none() | st.integers(-5, 5), max_size=9).map(lambda v: pl.Series("c", v, pl.Int64)),
    st.lists(st.none() | st.sampled_from([0.0, -0.0, 1.5, -2.0]), max_size=9).map(
        lambda v: pl.Series("c", v, pl.Float64)
    ),
    st.lists(st.none() | st.dates(), max_size=9).map(lambda v: pl.Series("c", v, pl.Date)),
    st.lists(st.none() | st.booleans(), max_size=9).map(lambda v: pl.Series("c", v, pl.Boolean)),
    st.lists(st.none() | st.decimals(-9, 9, places=2), max_size=9).map(
        lambda v: pl.Series("c", v, pl.Decimal(10, 2))
    ),
)


@given(VALUES)
def test_a_dictionary_gives_the_column_back(column: pl.Series) -> None:
    """Distinct values ascend, missing first, and decode to the column in its own type."""
    encoded = encode(column)
    distinct = encoded.values.to_list()
    assert len(set(distinct)) == len(distinct)
    present = [value for value in distinct if value is not None]
    assert distinct == [None] * (len(distinct) - len(present)) + sorted(present)
    decoded = encoded.decode(encoded.codes)
    if column.dtype == pl.String:
        decoded = decoded.cast(pl.String)
    assert decoded.to_list() == column.to_list()
    assert decoded.dtype == column.dtype


@given(VALUES, st.data())
def test_a_dictionary_of_chosen_rows_forgets_the_others(
    column: pl.Series, data: st.DataObject
) -> None:
    """Values that only dropped rows had are gone."""
    chosen = data.draw(st.lists(st.booleans(), min_size=len(column), max_size=len(column)))
    kept = encode(column).only(np.array(chosen, dtype=bool))
    rows = column.filter(pl.Series(chosen, dtype=pl.Boolean))
    assert kept.decode(kept.codes).to_list() == rows.to_list()
    assert len(kept.values) == rows.n_unique() if len(rows) else len(kept.values) == 0


@given(st.data(), st.sampled_from([[3, 2], [2**31, 5], [2**31, 2**31, 4], [1, 1]]))
def test_rows_sort_like_tuples(data: st.DataObject, distinct: list[int]) -> None:
    """Rows come in the order of their tuples, whether they fit in 32, in 64 or in more bits."""
    rows = data.draw(
        st.lists(st.tuples(*(st.integers(0, d - 1) for d in distinct)), min_size=1, max_size=20)
    )
    columns = [
        (np.array(codes), d) for codes, d in zip(zip(*rows, strict=True), distinct, strict=True)
    ]
    assert list(zip(*(part.tolist() for part in sort_rows(columns)), strict=True)) == sorted(rows)


def test_runs_are_permuted_alike_with_what_stands_before_them() -> None:
    """A run's permutation depends on the key and its places, not on the values of other runs."""
    key = Randomness.seeded(1).key("runs")
    one, other = np.arange(10), np.arange(10)
    other[:4] = 7
    for values in (one, other):
        permute_within_runs(values, np.array([4, 6]), key)
    assert np.array_equal(one[4:], other[4:])
    assert sorted(one[:4].tolist()) == [0, 1, 2, 3]
    assert sorted(one[4:].tolist()) == [4, 5, 6, 7, 8, 9]


def test_a_run_longer_than_a_part_is_one_permutation() -> None:
    """Long and short runs together: each keeps its values, and draws go on from run to run."""
    sizes = np.array([3, (1 << 20) + 5, 2, 1 << 19, 1 << 19, 1])
    values = np.repeat(np.arange(len(sizes)), sizes)
    marked = np.arange(len(values))
    key = Randomness.seeded(4).key("runs")
    permute_within_runs(values, sizes, key)
    permute_within_runs(marked, sizes, key)
    assert np.array_equal(values, np.repeat(np.arange(len(sizes)), sizes))
    assert np.array_equal(np.sort(marked), np.arange(len(marked)))
    assert abs(np.corrcoef(marked[3 : 3 + sizes[1]], np.arange(sizes[1]))[0, 1]) < 0.01


def test_many_rows_sort_like_few() -> None:
    """Rows that are counted, or sorted digit by digit, come out as if sorted at once."""
    rng = np.random.default_rng(3)
    for distinct in (1000, 1 << 30, 1 << 40):
        codes = rng.integers(0, distinct, (1 << 16) + 7)
        (ordered,) = sort_rows([(codes, distinct)])
        assert np.array_equal(ordered, np.sort(codes))


@pytest.mark.parametrize("ordered", [0, 17])
def test_words_sort_from_the_bits_that_ascend_already(ordered: int) -> None:
    """Words whose lowest bits number them are sorted by their other bits, places ascending."""
    rng = np.random.default_rng(4)
    places = np.arange(1 << 17, dtype=np.uint64)
    words = rng.integers(0, 50, 1 << 17).astype(np.uint64) << np.uint64(17) | places
    expected = np.sort(words)
    assert np.array_equal(sort_words(words, 23, ordered), expected)


@given(st.data(), st.integers(1, 3))
def test_rows_of_words_sort_stably(data: st.DataObject, width: int) -> None:
    """Rows come in the order of the bits that count, and keep their order where these agree."""
    bits = data.draw(st.lists(st.integers(0, 64), min_size=width, max_size=width))
    words = [st.integers(0, 2**used - 1) | st.integers(0, 1) for used in bits]
    rows = data.draw(st.lists(st.tuples(*words), min_size=1, max_size=20))
    array = np.array([(*row, place) for place, row in enumerate(rows)], dtype=np.uint64)
    shown = _sort_word_rows(array, [*bits, 0]).tolist()
    counted = [tuple(word % 2**used for word, used in zip(row, bits, strict=True)) for row in rows]
    order = sorted(range(len(rows)), key=counted.__getitem__)
    assert shown == [[*rows[place], place] for place in order]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_full_disk_is_said_to_be_full(tmp_path: Path, ending: Format) -> None:
    """Whatever Polars makes of it."""
    (tmp_path / f"data.{ending}").symlink_to("/dev/full")
    frame = pl.DataFrame({"x": range(100_000)})
    with pytest.raises(OSError, match="No space left") as caught:
        write_batches(iter([frame]), frame.schema, tmp_path, ending)
    assert caught.value.errno == errno.ENOSPC


@given(st.permutations(["d", "b", "a", "c", "ä", "B"]), st.sampled_from([1, 3]))
def test_a_file_does_not_tell_in_which_order_private_rows_stood(
    texts: list[str], times: int
) -> None:
    """Texts that a Parquet file lists stand in the order of texts, not in that of private rows."""
    rows = PolarsRows.of_frame(pl.DataFrame({"text": texts * times}))
    rows.count(["text"])
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / rows.write(Path(name), "parquet")[0]
        chunks = pq.read_table(path, read_dictionary=["text"])["text"].chunks
    assert [chunk.dictionary.to_pylist() for chunk in chunks] == [sorted(texts)] * len(chunks)


TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)


@given(st.lists(TEXTS, min_size=1, max_size=30))
def test_a_file_has_the_texts_of_its_rows_and_no_others(values: list[str | None]) -> None:
    """A Parquet file reads as plain texts, and none of a row that was left out stands in it."""
    out, count = "left out", len(values)
    rows = PolarsRows.of_frame(pl.DataFrame({"text": [*values, out], "row": range(count + 1)}))
    rows.count(["text"])  # from here on it has a dictionary of all texts
    kept = rows.filter(Call("<", (Column("row"), Literal(count))))
    shown = kept.map(lambda batch: [batch[0]], ["text"], pa.schema([("again", pa.large_string())]))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / shown.write(Path(name), "parquet")[0]
        read = pl.read_parquet(path)
        dictionaries = [
            set(chunk.dictionary.to_pylist())
            for column in ("text", "again")
            for chunk in pq.read_table(path, read_dictionary=["text", "again"])[column].chunks
        ]
    texts = pl.Series(values, dtype=pl.String)
    assert read.equals(pl.DataFrame({"text": texts, "row": range(count), "again": texts}))
    assert read.schema["text"] == read.schema["again"] == pl.String
    assert all(found <= set(values) for found in dictionaries)


def test_texts_that_no_row_has_are_not_written(tmp_path: Path) -> None:
    """What a function names beside the texts that it gives reaches no file."""
    texts = pa.DictionaryArray.from_arrays([0, 2, 0, 2], ["one", "left out", "two"])
    gives = pa.schema([("text", pa.large_string())])
    rows = PolarsRows.of_frame(pl.DataFrame({"number": [1, 2, 3, 4]}))
    rows.count(["number"])  # from here on a function is asked once for each value
    (written,) = rows.map(lambda batch: [texts], ["number"], gives).write(tmp_path, "parquet")
    (chunk,) = pq.read_table(tmp_path / written, read_dictionary=["text"])["text"].chunks
    assert chunk.to_pylist() == ["one", "two", "one", "two"]
    assert set(chunk.dictionary.to_pylist()) == {"one", "two"}


@pytest.mark.parametrize("repeated", [1, 10_001])
def test_values_that_repeat_late_are_counted(repeated: int) -> None:
    """One value that stands twice is found among the first rows and behind them."""
    values = pl.Series("id", [f"{row}" for row in range(20_000)] + [f"{repeated}", "", None])
    found = count_repeats(values, ())
    assert (found.rows, found.values, found.once) == (20_001, 20_000, 19_999)
    found = count_repeats(values.head(20_000), ())
    assert (found.rows, found.values, found.once) == (20_000, 20_000, 20_000)


@given(
    st.lists(st.sampled_from([None, "", "?", "a", "b"]), min_size=1, max_size=8),
    st.sampled_from([(), ("?",), ("a", "?")]),
)
def test_distinct_values_alone_tell_how_often_they_repeat(
    texts: list[str | None], missing: tuple[str, ...]
) -> None:
    """Missing ones, texts that mean it and empty texts count as they do in the rows themselves."""
    values = pl.Series("id", texts, dtype=pl.String)
    assert occurrences_of(encode(values), missing) == count_repeats(values, missing)
