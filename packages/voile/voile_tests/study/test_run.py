"""``voile.publish`` in Python: any data frame in, the same kind out, and files as well."""

from __future__ import annotations

import json
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import voile
from voile.study.run import make_release
from voile_base.errors import InputError, PlanError, RefusedError, TableError

PLAN = voile.Plan(
    roles=voile.Roles(
        identifiers=["name"], quasi_identifiers=["age", "city"], sensitive=["salary"]
    ),
    method=voile.Method("ke-anonymity", {"k": 2, "e": 100}),
)
COLUMNS = {
    "name": [f"person {i}" for i in range(12)],
    "age": list(range(30, 42)),
    "city": ["York", "Bath", "Leeds"] * 4,
    "salary": [1000 + 70 * i for i in range(12)],
    "note": ["private"] * 12,
}
STRANGE = [7, 7, "x", None, 3.5, -1, "x", 0, 10**9, "person 3", 2, 1]

FRAMES = {
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with a strange index": lambda: pd.DataFrame(COLUMNS, pd.Index(STRANGE, dtype=object)),
    "pandas with a multi-index": lambda: pd.DataFrame(COLUMNS).set_index(
        pd.MultiIndex.from_product([["salary", "name"], range(6)])
    ),
    "pandas with categories": lambda: pd.DataFrame(COLUMNS).astype({"city": "category"}),
    "pandas of Arrow": lambda: pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "pyarrow": lambda: pa.table(COLUMNS),
}


def as_polars(frame) -> pl.DataFrame:
    """A published frame of any kind, with texts as texts."""
    frame = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
    return frame.with_columns(pl.col("city").cast(pl.String))


@pytest.mark.parametrize("kind", FRAMES)
def test_same_kind_out(kind):
    """A release of a data frame is a data frame of the same kind, with the same rows in each."""
    frame = FRAMES[kind]()
    released = make_release(frame, PLAN, seed=5).release.to_native()
    assert type(released) is type(frame)
    assert list(as_polars(released).columns) == ["group", "age", "city", "salary"]
    expected = make_release(FRAMES["polars"](), PLAN, seed=5).release.to_native()
    assert as_polars(released).equals(expected)


def test_lazy_frame():
    """A lazy frame of Polars is collected; its release is an eager one."""
    assert isinstance(
        make_release(FRAMES["polars"]().lazy(), PLAN).release.to_native(), pl.DataFrame
    )


def test_index_of_a_release():
    """A release in pandas has a fresh index, which says nothing of the old one."""
    frame = FRAMES["pandas with a strange index"]()
    released = make_release(frame, PLAN).release.to_native()
    assert list(released.index) == list(range(12))


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_order_of_rows(kind):
    """With a seed, rows in any order give the same release."""
    order = np.random.default_rng(3).permutation(12)
    frame = FRAMES[kind]()
    take = {"polars": lambda: frame[order], "pandas": lambda: frame.iloc[order]}
    turned = take.get(kind, lambda: frame.take(order))()
    first, second = (make_release(f, PLAN, seed=5).release.to_native() for f in (frame, turned))
    assert as_polars(first).equals(as_polars(second))


def test_frame_is_left_alone():
    """Publishing changes nothing in the frame that came in."""
    frame = FRAMES["pandas with a strange index"]()
    before = frame.copy()
    make_release(frame, PLAN)
    pd.testing.assert_frame_equal(frame, before)


def test_file_and_frame_agree(tmp_path):
    """A file gives the release of the frame that it holds, and a frame is written as Parquet."""
    frame = FRAMES["polars"]()
    frame.write_csv(tmp_path / "people.csv")
    make_release(tmp_path / "people.csv", PLAN, tmp_path / "csv", seed=5)
    make_release(frame, PLAN, tmp_path / "frame", seed=5)
    released = pl.read_parquet(tmp_path / "frame" / "data.parquet")
    assert released.equals(pl.read_csv(tmp_path / "csv" / "data.csv", schema=released.schema))


def test_release_can_be_read_back(tmp_path):
    """What was written is read back as the same release."""
    made = make_release(FRAMES["pandas"](), PLAN, tmp_path / "out").release
    read = voile.read_release(tmp_path / "out")
    assert read.release_id == made.release_id
    assert read.guarantee == made.guarantee
    assert read.rows == 12
    assert as_polars(read.to_native()).equals(as_polars(made.to_native()))


def test_public_names_are_not_hidden_by_rooms():
    """Every public name stays what it is, however often it is used and whatever was imported."""
    for _ in range(2):
        assert voile.make_release(FRAMES["polars"](), PLAN).release.rows == 12
    assert not any(isinstance(getattr(voile, name), ModuleType) for name in voile.__all__)


def test_missing_values_of_pandas():
    """NaN in a data frame of pandas is a missing value, and refused like any other."""
    frame = FRAMES["pandas"]()
    frame.loc[3, "age"] = np.nan
    with pytest.raises(TableError, match=r"'age' misses its value in 1 of 12 rows, first in row 4"):
        make_release(frame, PLAN)


def test_missing_texts_in_categories():
    """A text that stands for a missing value does so in a dictionary as well."""
    plan = voile.Plan(PLAN.roles, PLAN.method, nulls="drop", missing=("Bath",))
    for kind in ("polars", "pandas with categories"):
        assert make_release(FRAMES[kind](), plan).private.suppressed == 4


def test_mixed_types_in_pandas():
    """A column of objects of mixed types is refused without a word of what it holds."""
    frame = FRAMES["pandas"]()
    frame["salary"] = [*COLUMNS["salary"][:-1], "987654321 dollars"]
    with pytest.raises(TableError, match="mixed types") as caught:
        make_release(frame, PLAN)
    assert "987654321" not in str(caught.value)


@pytest.mark.parametrize("thing", [None, 5, [1, 2], {"age": [1]}, np.zeros((3, 3))])
def test_what_is_no_table(thing):
    """What is neither a file nor a data frame is refused by its type."""
    with pytest.raises(TableError, match=type(thing).__name__):
        make_release(thing, PLAN)


def test_two_columns_of_one_name():
    """A data frame with two columns of one name is refused."""
    frame = pd.DataFrame([[30, 1, 5], [31, 2, 200]], columns=["age", "age", "salary"])
    with pytest.raises(TableError, match="two columns of one name"):
        make_release(frame, PLAN)


def test_frame_without_rows():
    """A data frame without rows is refused."""
    with pytest.raises(TableError, match="no rows"):
        make_release(pl.DataFrame(COLUMNS).clear(), PLAN)


def test_nothing_is_written_without_a_place(tmp_path, monkeypatch):
    """Without a place to write to, the release stays in memory."""
    monkeypatch.chdir(tmp_path)
    make_release(FRAMES["polars"](), PLAN)
    assert list(tmp_path.iterdir()) == []


def test_stages_are_told(tmp_path):
    """A caller is told each stage, and none of them twice."""
    stages: list[str] = []
    plan = voile.Plan(PLAN.roles, voile.Method("ke-anonymity", {"k": 2, "e": 1, "series": "s"}))
    make_release(
        FRAMES["polars"](), plan, tmp_path / "out", ledger=tmp_path / "l", progress=stages.append
    )
    assert stages == ["reading", "publishing", "writing", "checking", "committing the ledger"]


@pytest.mark.slow
def test_series_of_frames(tmp_path):
    """A series may come from frames of different kinds; it is still refused what it lost."""
    plan = voile.Plan(
        PLAN.roles,
        voile.Method("ke-anonymity", {"k": 2, "e": 100, "series": "s", "record_key": "name"}),
    )
    for number, frame in enumerate(FRAMES.values()):
        publication = make_release(
            frame(), plan, tmp_path / str(number), ledger=tmp_path / "ledger"
        )
        assert publication.release.series.version == number + 1
        assert publication.private.held == 0
    with pytest.raises(RefusedError, match="1 published rows are missing"):
        make_release(FRAMES["polars"]()[1:], plan, tmp_path / "gone", ledger=tmp_path / "ledger")
    assert not (tmp_path / "gone").exists()


def test_order_of_complaints(tmp_path):
    """A wrong plan, and then a taken place, are told before a table is opened."""
    nowhere = tmp_path / "nowhere.csv"
    bad = voile.Plan(PLAN.roles, voile.Method("ke-anonymity", {"k": 1, "e": 100}))
    with pytest.raises(PlanError, match="k must be"):
        make_release(nowhere, bad, tmp_path)
    with pytest.raises(InputError, match="something stands there"):
        make_release(nowhere, PLAN, tmp_path)
    with pytest.raises(TableError, match="no such file"):
        make_release(nowhere, PLAN, tmp_path / "out")


def test_single_release_with_a_publisher():
    """The publisher's own ``publish`` makes the same release as the corridor."""
    table = voile.open_frame(FRAMES["polars"](), PLAN)
    release = voile.KEAnonymity(k=2, e=100).publish(table, voile.Randomness.seeded(5))
    corridor = make_release(FRAMES["polars"](), PLAN, seed=5).release
    assert as_polars(release.to_native()).equals(as_polars(corridor.to_native()))
    with pytest.raises(PlanError, match="needs a ledger"):
        voile.KEAnonymity(k=2, e=100, series="s").publish(table)


@pytest.mark.parametrize(
    "dtype",
    [
        *(pl.Float32, pl.Float64, pl.Int8, pl.UInt64, pl.Boolean, pl.Date, pl.Time, pl.Duration),
        *(pl.Datetime("us"), pl.Datetime("us", "Europe/Berlin"), pl.Categorical),
    ],
    ids=str,
)
def test_columns_of_every_type_are_published_and_described(dtype, tmp_path):
    """What ``release.json`` says of a column's type is read again, whatever the type."""
    shown = pl.Series(["a" if dtype is pl.Categorical else 0] * 12).cast(dtype)
    plan = voile.Plan(roles=replace(PLAN.roles, keep=("shown",)), method=PLAN.method)
    frame = pl.DataFrame(COLUMNS).with_columns(shown=shown)
    make_release(frame, plan, tmp_path / "out", seed=5, file_format="parquet")
    document = json.loads((tmp_path / "out" / "release.json").read_text())
    assert document["types"].keys() == {"group", "age", "city", "salary", "shown"}
    again = voile.read_release(tmp_path / "out").to_native()
    assert again["shown"].to_list() == shown.to_list()
