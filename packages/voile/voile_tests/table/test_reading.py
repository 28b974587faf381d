"""The door in: formats, folders, real files, and refusals."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voile.table.arrays import kind_of
from voile.table.codes import encode
from voile.table.engines import engine_of
from voile.table.places import place_of
from voile.table.reading import count_rows, list_columns, read_column, read_frame
from voile_base.errors import TableError
from voile_base.operating_system import user

SECRET = "99887766"
FRAME = pl.DataFrame(
    {
        "id": [3, 1, 2],
        "name": ["?", None, "Zoë"],
        "pay": [1.5, 2.0, None],
        "since": [datetime(2020, 1, 1), None, datetime(2021, 1, 1)],
    }
)
WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "table.csv": pl.DataFrame.write_csv,
    "table.parquet": pl.DataFrame.write_parquet,
    "table.arrow": pl.DataFrame.write_ipc,
    "table.arrows": pl.DataFrame.write_ipc_stream,
    "table.feather": lambda frame, path: pa.feather.write_feather(frame.to_arrow(), str(path)),
    "odd [name]* of a file": pl.DataFrame.write_parquet,
    "odd [name]*.ipc": pl.DataFrame.write_ipc,
    "wrong.csv": pl.DataFrame.write_parquet,
}


def error_of(path: Path) -> str:
    with pytest.raises(TableError) as caught:
        read_frame(path)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    message = str(caught.value)
    assert message.startswith(str(path))
    assert SECRET not in message
    return message


@pytest.fixture(params=WRITERS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The path of ``FRAME`` in each format."""
    path = tmp_path / str(request.param)
    WRITERS[request.param](FRAME, path)
    return path


def test_every_format_gives_the_same_frame(written: Path) -> None:
    """Rows, order, types and nulls are those that were written."""
    source = read_frame(written)
    assert source.frame.equals(FRAME)
    assert source.frame.schema == FRAME.schema
    assert source.name == str(written)
    assert source.notes == ()


def test_missing_texts_are_null_in_every_format(written: Path) -> None:
    """A text that stands for a missing value is one wherever the table comes from."""
    frame = read_frame(written, missing=["?"]).frame
    assert frame["name"].to_list() == [None, None, "Zoë"]


def test_only_wanted_columns_are_read(written: Path) -> None:
    """Columns come in the file's order; unknown names are left to the caller."""
    frame = read_frame(written, columns=["pay", "unknown", "id"]).frame
    assert frame.equals(FRAME.select("id", "pay"))


def test_columns_are_listed_with_their_types(written: Path) -> None:
    """Names always, types where the format tells them without reading rows."""
    listed = list_columns(written)
    assert list(listed) == FRAME.columns
    if read_frame(written).format == "csv":
        assert set(listed.values()) == {None}
    else:
        assert listed == dict(FRAME.schema)


def test_rows_of_parquet_files_are_counted_without_reading_a_column(tmp_path, monkeypatch):
    """A release that is read back for its check costs nothing for columns that promise nothing."""
    for name, rows in (("a", 3), ("b", 4)):
        pl.DataFrame({"x": range(rows)}).write_parquet(tmp_path / f"{name}.parquet")
    monkeypatch.setattr("voile.table.engines.polars.read_column", None)
    assert count_rows(tmp_path) == 7
    assert engine_of("polars").scan(place_of(tmp_path)).rows.height == 7


def test_rows_of_other_formats_are_counted_by_reading_them(tmp_path: Path) -> None:
    """What their files do not say is not guessed."""
    pl.DataFrame({"x": [1, 2]}).write_ipc(tmp_path / "t.arrow")
    assert count_rows(tmp_path / "t.arrow") is None
    assert engine_of("polars").scan(place_of(tmp_path / "t.arrow")).rows.height == 2


def test_the_format_is_the_content_not_the_name(tmp_path: Path) -> None:
    """The first bytes of a file decide how it is read."""
    for name, expected in [("a.parquet", "parquet"), ("b.arrow", "arrow"), ("c.csv", "csv")]:
        path = tmp_path / name
        WRITERS[f"table{path.suffix}"](FRAME, path)
        renamed = path.rename(path.with_suffix(".txt"))
        assert read_frame(renamed).format == expected


@pytest.mark.parametrize("name", ["PAR1", "PARENTS", "FEA1", "ARROW1", "BZhours"])
def test_columns_named_like_a_format_are_columns(tmp_path: Path, name: str) -> None:
    """A CSV file whose first name begins like a binary file is a CSV file."""
    path = tmp_path / "table.csv"
    path.write_text(f"{name},other column\n1,2\n")
    assert read_frame(path).frame.columns == [name, "other column"]


def test_compressed_csv_is_csv(tmp_path: Path) -> None:
    """A gzip file is recognized by its content."""
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,x\n"))
    source = read_frame(path)
    assert (source.format, source.frame.rows()) == ("csv", [(1, "x")])


# Folders --------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12).filter(any))
def test_a_folder_is_its_files_in_natural_order(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    """However rows are cut into files, empty ones too, the table is the same."""
    folder = tmp_path_factory.mktemp("folder")
    frame = pl.DataFrame({"row": range(sum(sizes))})
    start = 0
    for number, size in enumerate(sizes):
        frame.slice(start, size).write_parquet(folder / f"part-{number}.parquet")
        start += size
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").touch()
    (folder / "_metadata.parquet").touch()
    assert read_frame(folder).frame.equals(frame)
    assert read_frame(folder).format == "parquet"


def test_files_of_a_folder_must_share_names_and_types(tmp_path: Path) -> None:
    """The file and the column that differ are named, whichever way they differ."""
    pl.DataFrame({"a": [1], "b": [1]}).write_parquet(tmp_path / "1.parquet")
    other = tmp_path / "2.parquet"
    for frame, expected in [
        (pl.DataFrame({"a": [1], "b": ["x"]}), "column 'b' is text (String) here and integer"),
        (pl.DataFrame({"a": [1]}), "column 'b' is not there here and integer (Int64) in 1.parquet"),
        (pl.DataFrame({"a": [1], "b": [1], "c": [1]}), "column 'c' is integer (Int64) here and no"),
    ]:
        frame.write_parquet(other)
        with pytest.raises(TableError) as caught:
            read_frame(tmp_path)
        assert str(caught.value).startswith(f"{other}: {expected}")
    pl.DataFrame({"b": [20], "a": [2]}).write_parquet(other)
    assert read_frame(tmp_path).frame.rows() == [(1, 1), (2, 20)]


def test_folders_that_are_not_one_table_are_refused(tmp_path: Path) -> None:
    """No Parquet file, one that is none, or folders inside folders."""
    assert "holds no Parquet file" in error_of(tmp_path)
    (tmp_path / "1.parquet").write_bytes(b"a,b\n1,2\n")
    assert "not valid Parquet" in error_of(tmp_path)
    FRAME.write_parquet(tmp_path / "1.parquet")
    (tmp_path / "year=2020").mkdir()
    FRAME.write_parquet(tmp_path / "year=2020" / "1.parquet")
    assert "folders inside the folder" in error_of(tmp_path)


# Refusals -------------------------------------------------------------------------------------


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    """Missing files, files used as folders, loops of links and devices each have a message."""
    assert "there is no such file or folder" in error_of(tmp_path / "none.csv")
    (tmp_path / "file.csv").write_text("a\n1\n")
    assert "cannot be read (not a directory)" in error_of(tmp_path / "file.csv" / "x.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    assert "cannot be read" in error_of(tmp_path / "loop.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "neither a file nor a folder" in error_of(tmp_path / "pipe.csv")


@pytest.mark.skipif(user() in {None, 0}, reason="the superuser may read every file")
def test_files_without_permission_are_refused(tmp_path: Path) -> None:
    """A file that its owner has locked is reported as such, in every format."""
    for name in ("table.csv", "table.parquet"):
        path = tmp_path / name
        WRITERS[name](FRAME, path)
        path.chmod(0)
        assert "cannot be read (permission denied)" in error_of(path)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.parquet", b"", "the file is empty"),
        ("a.parquet", b"a,b\n1,2\n", "not valid Parquet"),
        ("a.feather", b"a,b\n1,2\n", "not valid Arrow IPC"),
        ("a.csv.gz", b"a,b\n1,2\n", "not valid gzip"),
        ("a.csv", b"PK\x03\x04 and more", "a ZIP archive or a spreadsheet"),
        ("a.json", b"[1]", "neither a list of JSON objects nor a GeoJSON collection"),
        ("a.parquet", b"PAR1" + b"x" * 50, "not valid Parquet"),
        ("a.arrow", b"ARROW1\0\0" + b"x" * 50, "not valid Arrow IPC"),
        ("a.arrow", b"\xff\xff\xff\xff" + b"x" * 50, "not valid Arrow IPC"),
    ],
)
def test_files_that_hold_no_table_are_refused(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    """The message says what the file is, or what it is not."""
    path = tmp_path / name
    path.write_bytes(content)
    assert expected in error_of(path)


@pytest.mark.parametrize("name", ["table.parquet", "table.arrow", "table.arrows"])
def test_truncated_files_are_refused_at_any_length(tmp_path: Path, name: str) -> None:
    """No beginning of a binary file passes for a table: an error, or all the rows."""
    path = tmp_path / name
    frame = pl.DataFrame({"a": range(500), "b": [SECRET] * 500})
    WRITERS[name](frame, path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 16, max(1, len(whole) // 23)):
        path.write_bytes(whole[:length])
        error_of(path)


def test_tables_without_rows_or_columns_are_refused(tmp_path: Path) -> None:
    """An empty Parquet or IPC table is as useless as a header without rows."""
    for name in ("table.parquet", "table.arrow", "table.arrows"):
        WRITERS[name](FRAME.clear(), tmp_path / name)
        assert "no row" in error_of(tmp_path / name)
    pq.write_table(pa.table({}), tmp_path / "none.parquet")
    assert "no columns" in error_of(tmp_path / "none.parquet")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """Formats that can hold twins are checked before a reader trips over them."""
    twins = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"])
    pq.write_table(twins, tmp_path / "twins.parquet")
    assert "two columns have one name" in error_of(tmp_path / "twins.parquet")
    with pa.ipc.new_file(str(tmp_path / "twins.arrow"), twins.schema) as writer:
        writer.write(twins)
    assert "columns 1 and 3 are both named 'a'" in error_of(tmp_path / "twins.arrow")


# Real files -----------------------------------------------------------------------------------


def test_adult_is_read_as_its_readme_says(shared_data: Path) -> None:
    """Counts of rows and of missing values are those of the data's description."""
    frame = read_frame(shared_data / "census" / "adult.csv", missing=["?"]).frame
    assert frame.shape == (48_842, 16)
    assert frame["workclass"].null_count() == 2_799
    assert frame["occupation"].null_count() == 2_809
    assert frame["native-country"].null_count() == 857
    assert frame.filter(pl.col("capital-loss") > 0).height == 2_282
    assert kind_of(frame["capital-loss"]) == "integer"


def test_semicolons_and_carriage_returns_are_read(shared_data: Path) -> None:
    """The complete cases as ARX ships them."""
    frame = read_frame(shared_data / "census" / "adult-arx.csv").frame
    assert frame.shape == (30_162, 9)
    assert frame["salary-class"].unique().sort().to_list() == ["<=50K", ">50K"]
    assert kind_of(frame["age"]) == "integer"


def test_zip_codes_keep_their_zeros(shared_data: Path) -> None:
    """Zip prefixes are text of five digits."""
    frame = read_frame(shared_data / "releases" / "olist-customers.csv").frame
    assert frame.height == 8_135
    zips = frame["customer_zip_code_prefix"]
    assert zips.str.len_chars().unique().to_list() == [5]
    assert zips.str.starts_with("0").any()


def test_other_tables_have_the_kinds_one_expects(shared_data: Path) -> None:
    """Dates, decimals, words that look like nulls, and a Parquet file of points."""
    orders = read_frame(shared_data / "releases" / "olist-orders.csv").frame
    assert kind_of(orders["order_purchase_timestamp"]) == "datetime"
    players = read_frame(shared_data / "rankings" / "nba-seasons.csv").frame
    assert players.shape == (12_844, 22)
    assert [kind_of(players[c]) for c in ("pts", "gp", "draft_year")] == [
        "decimal",
        "integer",
        "text",
    ]
    taxis = read_frame(shared_data / "trajectories" / "beijing-taxi-sparse.csv").frame
    assert taxis.height == 1_173
    assert [kind_of(taxis[c]) for c in ("t", "lon")] == ["integer", "decimal"]
    geolife = shared_data / "trajectories" / "geolife-beijing-a.parquet"
    assert read_frame(geolife, columns=["lat", "lon"]).frame.shape == (859_391, 2)


@pytest.mark.parametrize("writer", ["polars", "pyarrow", "dictionary"])
def test_texts_of_parquet_come_as_they_are(tmp_path, writer):
    """A column of texts read by itself holds what was written, by whichever writer and file."""
    parts = [["b", None, "a"], [], ["a", "c", ""]]
    for number, values in enumerate(parts):
        path = tmp_path / f"part-{number}.parquet"
        texts = pa.array(values, pa.string())
        if writer == "polars":
            pl.DataFrame({"t": pl.Series(values, dtype=pl.String)}).write_parquet(path)
        elif writer == "pyarrow":
            pq.write_table(pa.table({"t": texts}), path)
        else:
            pq.write_table(pa.table({"t": texts.dictionary_encode()}), path)
    read = read_column(tmp_path, "t")
    # Dictionaries of Arrow come as categories, which binding turns to text.
    column = encode(read.cast(pl.String) if isinstance(read, pl.Series) else read, "t")
    assert column.decode(column.codes).to_list() == ["b", None, "a", "a", "c", ""]


def test_a_column_of_an_empty_parquet_file_is_refused_as_empty(tmp_path):
    """A file with columns and no row is named as such, not as broken."""
    path = tmp_path / "empty.parquet"
    pl.DataFrame({"t": pl.Series([], dtype=pl.String)}).write_parquet(path)
    with pytest.raises(TableError, match=r"empty\.parquet.*no row"):
        read_column(path, "t")
