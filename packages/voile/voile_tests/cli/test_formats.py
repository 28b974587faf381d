"""Every usual way of writing a table down publishes the same release."""

from __future__ import annotations

import gzip
import random

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SEED = ("--seed", "7")


def text_of(rows, separator=",", end="\n"):
    """The table as delimited text."""
    lines = [("name", "age", "city", "salary"), *rows]
    return "".join(separator.join(map(str, line)) + end for line in lines)


DIALECTS = {
    "semicolons": lambda rows: text_of(rows, ";").encode(),
    "tabs": lambda rows: text_of(rows, "\t").encode(),
    "bars": lambda rows: text_of(rows, "|").encode(),
    "carriage returns": lambda rows: text_of(rows, end="\r\n").encode(),
    "a byte-order mark": lambda rows: text_of(rows).encode("utf-8-sig"),
    "Latin-1": lambda rows: text_of(rows).encode("latin-1"),
    "UTF-16": lambda rows: text_of(rows).encode("utf-16"),
    "all of it": lambda rows: text_of(rows, ";", "\r\n").encode("cp1252"),
    "quotes": lambda rows: text_of([(f'"{n}"', a, f'"{c}"', s) for n, a, c, s in rows]).encode(),
    "no line end at the end": lambda rows: text_of(rows).rstrip("\n").encode(),
    "gzip": lambda rows: gzip.compress(text_of(rows).encode()),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(desk, rows, dialect):
    """A table in any dialect and encoding gives, byte for byte, the release of the plain one."""
    accented = [
        (name, age, f"Zürich-{city}, Süd".replace(",", ""), s) for name, age, city, s in rows
    ]
    plain, _ = desk.publish(desk.file(text_of(accented)), *SEED, out="plain")
    other, _ = desk.publish(desk.file(DIALECTS[dialect](accented), "other.csv"), *SEED, out="other")
    assert (other / "data.csv").read_bytes() == (plain / "data.csv").read_bytes()
    assert "Zürich-York Süd" in (plain / "data.csv").read_text("utf-8")


def write_parquet(frame, folder):
    frame.write_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def write_arrow(frame, folder):
    frame.write_ipc(folder / "people.arrow")
    return folder / "people.arrow"


def write_stream(frame, folder):
    frame.write_ipc_stream(folder / "people.arrows")
    return folder / "people.arrows"


def write_parts(frame, folder):
    (folder / "parts").mkdir()
    for number, start in enumerate(range(0, frame.height, 3)):
        frame[start : start + 3].write_parquet(folder / "parts" / f"part-{number}.parquet")
    return folder / "parts"


@pytest.mark.parametrize("write", [write_parquet, write_arrow, write_stream, write_parts])
def test_columnar_files(desk, write):
    """Parquet, Arrow IPC and folders of Parquet give Parquet, with the rows of the CSV release."""
    table = desk.csv()
    plain, _ = desk.publish(table, *SEED, out="plain")
    source = write(pl.read_csv(table), desk.folder)
    folder, _ = desk.publish(source, *SEED, out="columnar")
    assert sorted(path.name for path in folder.iterdir()) == [
        "data.parquet",
        "release.json",
        "verify.html",
    ]
    released = pl.read_parquet(folder / "data.parquet")
    assert released.equals(pl.read_csv(plain / "data.csv", schema=released.schema))


def test_csv_gives_csv(desk):
    """A CSV file gives a CSV file that any reader reads, and nothing else but the document."""
    folder, _ = desk.publish(desk.csv())
    assert sorted(path.name for path in folder.iterdir()) == [
        "data.csv",
        "release.json",
        "verify.html",
    ]
    assert pl.read_csv(folder / "data.csv").columns == ["group", "age", "city", "salary"]


@pytest.mark.parametrize(("name", "other"), [("people.csv", "parquet"), ("people.parquet", "csv")])
def test_format_switches(desk, name, other):
    """``--format`` gives the rows in the other format."""
    table = desk.csv()
    pl.read_csv(table).write_parquet(desk / "people.parquet")
    same, _ = desk.publish(desk / name, *SEED, out="same")
    switched, _ = desk.publish(desk / name, *SEED, "--format", other, out="switched")
    (own,) = same.glob("data.*")
    (data,) = switched.glob("data.*")
    assert data.name == f"data.{other}"
    read = {".csv": pl.read_csv, ".parquet": pl.read_parquet}
    assert read[data.suffix](data).equals(read[own.suffix](own).cast({"group": pl.Int64})) or read[
        data.suffix
    ](data).cast({"group": pl.Int64}).equals(read[own.suffix](own).cast({"group": pl.Int64}))


def test_dictionary_columns(desk, rows):
    """Texts in a dictionary, in whatever order, are published as the texts they are."""
    table = desk.csv()
    frame = pl.read_csv(table)
    plain, _ = desk.publish(table, *SEED, "--format", "parquet", out="plain")
    arrow = frame.to_arrow()
    for number, values in enumerate(
        (["Bath", "Leeds", "Xanadu-7", "York"], ["York", "Xanadu-7", "Leeds", "Bath"])
    ):
        codes = pa.array([values.index(city) for _, _, city, _ in rows], pa.int8())
        cities = pa.DictionaryArray.from_arrays(codes, pa.array(values))
        path = desk / f"{number}.parquet"
        pq.write_table(arrow.set_column(2, "city", cities), path)
        folder, _ = desk.publish(path, *SEED, out=f"out{number}")
        released = pl.read_parquet(folder / "data.parquet")
        assert released.equals(pl.read_parquet(plain / "data.parquet"))


def test_row_order(desk, rows):
    """With a seed, rows in any order give the same release, byte for byte."""
    table = desk.csv()
    first, _ = desk.publish(table, *SEED, out="first")
    for number in range(3):
        shuffled = list(rows)
        random.Random(number).shuffle(shuffled)
        other, _ = desk.publish(desk.csv(shuffled, "other.csv"), *SEED, out=f"other{number}")
        for name in ("data.csv", "release.json"):
            assert (other / name).read_bytes() == (first / name).read_bytes()


def test_column_order(desk, plan_text):
    """The order of the columns in the file changes nothing but by the plan."""
    table = desk.csv()
    first, _ = desk.publish(table, *SEED, out="first")
    turned = desk / "turned.csv"
    frame = pl.read_csv(table)
    frame.select(frame.columns[::-1]).write_csv(turned)
    other, _ = desk.publish(turned, *SEED, out="other")
    assert (other / "data.csv").read_bytes() == (first / "data.csv").read_bytes()
