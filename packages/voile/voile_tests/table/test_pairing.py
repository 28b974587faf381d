"""Rows of two tables, counted side by side."""

from __future__ import annotations

from collections import Counter
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.table.alignment import paired_counts
from voile.table.opening import published_rows
from voile_base.errors import TableError

SCHEMA = {"age": pl.Int64, "town": pl.String, "weight": pl.Float64}
ROWS = st.lists(
    st.tuples(
        st.sampled_from([20, 21, None]),
        st.sampled_from(["Aix", "", None]),
        st.sampled_from([0.0, -0.0, 1.5, float("nan"), None]),
    ),
    max_size=12,
)
COLUMNS = st.lists(st.sampled_from([*SCHEMA]), min_size=1, unique=True)


def frame_of(rows: list[Any]) -> pl.DataFrame:
    """A small table."""
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values that are equal where rows are: one NaN is another, and zero has no sign."""
    return tuple("NaN" if isinstance(value, float) and isnan(value) else value for value in row)


def pairs(*arguments: Any, **settings: Any) -> Counter[tuple[int, int]]:
    """All pairs of all parts."""
    found: Counter[tuple[int, int]] = Counter()
    for left, right in paired_counts(*arguments, **settings):
        found.update(zip(left.tolist(), right.tolist(), strict=True))
    return found


@given(left=ROWS, right=ROWS, columns=COLUMNS, parts=st.integers(1, 4))
def test_rows_are_counted_side_by_side(
    left: list[Any], right: list[Any], columns: list[str], parts: int
) -> None:
    """Any number of parts gives the pairs of all combinations in either table."""
    frames = [frame_of(rows) for rows in (left, right)]
    counts = [Counter(plain(row) for row in frame.select(columns).rows()) for frame in frames]
    expected = Counter((counts[0][row], counts[1][row]) for row in {*counts[0], *counts[1]})
    assert pairs(*frames, columns, parts=parts) == expected


def test_parts_share_the_rows() -> None:
    """Of 4,000 different rows each of 4 parts gets 1,000, give or take 200 (alarm 1e-12)."""
    frame = pl.DataFrame({"a": range(4_000), "b": "x"})
    sizes = [len(left) for left, _ in paired_counts(frame, frame, ["a", "b"], 4)]
    assert len(sizes) == 4
    assert all(800 < size < 1_200 for size in sizes)
    assert sum(sizes) == 4_000


def test_pairs_ascend() -> None:
    """The entries of a part do not depend on the order of the rows."""
    left, right = (pl.DataFrame({"a": list(text)}) for text in ("cabbac", "xbcxxcc"))
    ((rows, others),) = paired_counts(left, right, ["a"])
    assert rows.tolist() == [0, 2, 2, 2]
    assert others.tolist() == [3, 0, 1, 3]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.Series([7, 8]), pl.Series(["7", "9"])),
        (pl.Series([7, 8]), pl.Series([7.0, 9.5])),
        (pl.Series([7, 8], dtype=pl.Int8), pl.Series([7, 1 << 40])),
        (pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])), pl.Series(["a", "c"])),
        (pl.Series(["a", "b"], dtype=pl.Categorical), pl.Series(["a"]).cast(pl.Enum(["a", "x"]))),
        (pl.Series(["2020-01-01"]).str.to_date(), pl.Series(["2020-01-01", "x"])),
        (pl.Series([True, False]), pl.Series(["true", "x"])),
    ],
)
@pytest.mark.parametrize("parts", [1, 3])
def test_types_are_aligned(one: pl.Series, other: pl.Series, parts: int) -> None:
    """What reads the same is the same, whatever types the tables have."""
    left, right = one.to_frame("a"), other.to_frame("a")
    expected = Counter({(1, 1): 1, (1, 0): len(one) - 1, (0, 1): len(other) - 1})
    assert pairs(left, right, ["a"], parts=parts) == +expected
    assert pairs(right, left, ["a"], parts=parts) == +Counter(
        {(b, a): count for (a, b), count in expected.items()}
    )


def test_tables_come_in_all_forms(tmp_path: Path) -> None:
    """Frames of any library, lazy ones, releases, files and folders of files."""
    frame = pl.DataFrame({"a": [1, 2, 2, 3], "b": ["x", "y", "y", None]})
    other = frame.head(3)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ipc_stream(tmp_path / "s.arrow")
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "folder").mkdir()
    for number in range(2):
        frame[2 * number : 2 * number + 2].write_parquet(tmp_path / f"folder/{number}.parquet")
    names = ("t.parquet", "t.arrow", "s.arrow", "t.csv", "folder")
    paths: list[Any] = [tmp_path / name for name in names]
    native: list[Any] = [frame.lazy(), frame.to_pandas(), frame.to_arrow(), published_rows(frame)]
    for table in (*paths, str(paths[0]), *native):
        assert pairs(table, other, ["b", "a"], parts=2) == {(1, 1): 1, (2, 2): 1, (1, 0): 1}


def test_what_cannot_be_paired_is_refused(tmp_path: Path) -> None:
    """Columns that are not there are named, before anything is counted."""
    frame = pl.DataFrame({"age": [1]})
    with pytest.raises(TableError, match="right table has no column 'age'; did you mean 'ages'"):
        paired_counts(frame, frame.rename({"age": "ages"}), ["age"])
    with pytest.raises(TableError, match="no such file"):
        paired_counts(frame, tmp_path / "none.csv", ["age"])
    for columns, parts in (([], 1), (["age"], 0)):
        with pytest.raises(ValueError, match="at least one"):
            paired_counts(frame, frame, columns, parts)


def test_a_file_that_breaks_off_is_refused(tmp_path: Path) -> None:
    """What is wrong in the midst of a file is said without its values."""
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    pl.DataFrame({"a": rng.integers(0, 2**60, 50_000)}).write_parquet(path)
    whole = bytearray(path.read_bytes())
    whole[1_000:200_000] = bytes(199_000)
    path.write_bytes(whole)
    with pytest.raises(TableError, match="cannot be read side by side"):
        list(paired_counts(path, path, ["a"]))
