"""Files whose table does not begin with its names in the first row: titles, two rows, none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

from voile.schema.layout import InputLayout, column_names, layout_of_text
from voile.schema.plan import parse_plan
from voile.table import reading
from voile.table.opening import open_table
from voile.table.places import LaidOut, laid_out, place_of
from voile.table.reading import list_columns, read_frame
from voile_base.errors import InputError, PlanError, TableError

ROWS = [["ann", 31, 1200.5], ["bob", 45, 900], ["cy", 27, 12000.25]]
NAMES = ["who", "age", "pay"]


def book(file: Path, rows: list[list[Any]]) -> Path:
    """A workbook of one sheet; None leaves a cell empty."""
    whole = xlsxwriter.Workbook(file)
    sheet = whole.add_worksheet("Staff")
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            if value is not None:
                sheet.write(row, column, value)
    whole.close()
    return file


def text(file: Path, rows: list[list[Any]], separator: str = ";") -> Path:
    """A CSV file; None is an empty field."""
    lines = (separator.join("" if v is None else str(v) for v in row) for row in rows)
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def read(file: Path, **stated: Any) -> pl.DataFrame:
    """The rows as a plan with this [input] reads them."""
    return read_frame(laid_out(place_of(file), InputLayout(**stated))).frame


@pytest.mark.parametrize("write", [book, text])
def test_names_below_a_title_are_the_names(write: Any, tmp_path: Path) -> None:
    """Rows above the names are passed over, and rows below the last one, in sheets and CSV."""
    file = write(tmp_path / f"t.{'xlsx' if write is book else 'csv'}", [
        ["Staff of 2024"], ["printed in May"], NAMES, *ROWS, ["sum", None, 14100.75],
    ])  # fmt: skip
    assert read(file, header=3, last=6).rows() == [tuple(row) for row in ROWS]
    assert list(list_columns(place_of(f"{file}#header=3&last=6"))) == NAMES
    if write is book:
        with pytest.raises(TableError, match=r"header = 3 or \[3, 4\]"):
            read_frame(file)


@pytest.mark.parametrize("write", [book, text])
def test_names_in_two_rows_are_joined(write: Any, tmp_path: Path) -> None:
    """The upper name, which merged cells show once, is carried to the right."""
    file = write(tmp_path / f"t.{'xlsx' if write is book else 'csv'}", [
        ["Person", None, "Money"], ["name", "age", "pay"], *ROWS,
    ])  # fmt: skip
    frame = read(file, header=[1, 2])
    assert frame.columns == ["Person name", "Person age", "Money pay"]
    assert frame.rows() == [tuple(row) for row in ROWS]


@pytest.mark.parametrize("write", [book, text])
def test_without_names_columns_are_called_by_their_place(write: Any, tmp_path: Path) -> None:
    """The first person is a row, and names no column."""
    file = write(tmp_path / f"t.{'xlsx' if write is book else 'csv'}", ROWS)
    frame = read(file, header="none")
    assert frame.columns == ["column 1", "column 2", "column 3"]
    assert frame.height == 3


def test_equal_and_missing_names_are_numbered_where_that_is_asked(tmp_path: Path) -> None:
    """Each column has a name of its own, also where the file has one such as a number makes."""
    assert column_names([["a", "a", "", "a (2)"]], 4, numbered=True) == (
        "a",
        "a (3)",
        "column 3",
        "a (2)",
    )
    file = text(tmp_path / "t.csv", [["a", "b", "a"], [1, 2, 3]])
    with pytest.raises(TableError, match="both named 'a'"):
        read(file)
    assert read(file, number_names=True).columns == ["a", "b", "a (2)"]


@pytest.mark.parametrize(
    ("cells", "stated", "values"),
    [
        (["1.234,50", "7", "12.000,25"], {"decimal": ",", "thousands": "."}, [1234.5, 7, 12000.25]),
        (["1.234,50", "7.000,25"], {"decimal": ",", "thousands": "."}, [1234.5, 7000.25]),
        (["1.234", "7", "1.200.000"], {"thousands": "."}, [1234, 7, 1200000]),
        (["1 234", "7,5", "12 000"], {"decimal": ",", "thousands": " "}, [1234, 7.5, 12000]),
        (["1,00,441", "98,250", "7"], {"thousands": ","}, [100441, 98250, 7]),
        (["12,34,567.50", "1,250"], {"thousands": ","}, [1234567.5, 1250]),
        (["1'234", "7.5", "12'000"], {"thousands": "'"}, [1234, 7.5, 12000]),
        (["1,5", "n", "2"], {"decimal": ","}, ["1,5", "n", "2"]),
        (["1.5", "2.5", "3"], {"decimal": ","}, [1.5, 2.5, 3]),
        (["1.500", "2.5", "3"], {"decimal": ","}, ["1.500", "2.5", "3"]),
        (["612 345 678", "611 222 333"], {"thousands": " "}, ["612 345 678", "611 222 333"]),
        (["007", "1,5"], {"decimal": ","}, ["007", "1,5"]),
    ],
)
def test_marks_of_decimals_and_thousands(
    cells: list[str], stated: dict[str, Any], values: list[Any], tmp_path: Path
) -> None:
    """Numbers are read by the marks that are stated; what cannot be all numbers stays text."""
    sheet = book(tmp_path / "t.xlsx", [["x", "n"], *([cell, 1] for cell in cells)])
    file = text(tmp_path / "t.csv", [["x", "n"], *([cell, 1] for cell in cells)], "\t")
    for one in (sheet, file):
        assert read(one, **stated)["x"].to_list() == values


def test_a_text_for_nothing_in_a_column_of_numbers(tmp_path: Path) -> None:
    """Once the plan calls "n/a" missing, a column of a sheet is one of numbers again."""
    file = book(tmp_path / "t.xlsx", [["x", "y"], [1, 2.5], ["n/a", "k.A."], [3, 4]])
    assert read_frame(file).frame.rows() == [("1", "2.5"), ("n/a", "k.A."), ("3", "4")]
    frame = read_frame(file, missing=["n/a", "k.A."]).frame
    assert frame.rows() == [(1, 2.5), (None, None), (3, 4.0)]
    assert read_frame(file, missing=["n/a"], texts=["x"]).frame["x"].to_list() == ["1", None, "3"]


def test_tables_below_and_beside_are_refused_with_the_way_out(tmp_path: Path) -> None:
    """An empty row within a sheet is no person; the message says how to read the first table."""
    below = book(tmp_path / "below.xlsx", [NAMES, *ROWS, [], ["region", "n"], ["N", 3]])
    with pytest.raises(TableError, match=r"row 5 .* is empty .* last = 4 "):
        read_frame(below)
    assert read(below, last=4).height == 3
    beside = book(tmp_path / "beside.xlsx", [[*NAMES, None, "n"], [*ROWS[0], None, 4]])
    with pytest.raises(TableError, match=r"2 tables stand side by side .* Copy each"):
        read_frame(beside)


def test_an_encrypted_workbook_is_named_as_one(tmp_path: Path) -> None:
    """The directory of a compound file tells it ([MS-OFFCRYPTO] 2.3): no talk of damage."""
    head = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504))
    head[30], head[48] = 9, 1
    names = "EncryptedPackage".encode("utf-16-le")
    (tmp_path / "t.xlsx").write_bytes(bytes(head) + bytes(512) + bytes(128) + names + bytes(500))
    with pytest.raises(TableError, match="encrypted; open it with its password"):
        read_frame(tmp_path / "t.xlsx")


def test_a_file_that_grows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that another program appends meanwhile may be half of one."""
    file = text(tmp_path / "t.csv", [NAMES, *ROWS])
    parse = reading.read_csv

    def growing(*given: Any, **named: Any) -> Any:
        found = parse(*given, **named)
        with file.open("a", encoding="utf-8") as stream:
            stream.write("dan;3")
        os.utime(file)
        return found

    monkeypatch.setattr(reading, "read_csv", growing)
    with pytest.raises(TableError, match="changed while it was read"):
        read_frame(file)


def test_a_plan_says_it_for_every_command(tmp_path: Path) -> None:
    """[input] is read with the plan, the same as behind # of the file; two sheets are refused."""
    file = text(tmp_path / "t.csv", [["Staff"], NAMES, *ROWS])
    said = {"input": {"header": 2}, "roles": {"quasi_identifiers": ["age"], "person": "row"}}
    assert open_table(file, parse_plan(said)).rows == 3
    layout = InputLayout(header=[3, 4], decimal=",", thousands=" ", sheet="A & B")
    assert layout_of_text(str(layout)) == layout
    assert place_of(str(LaidOut(file, layout))) == LaidOut(file, layout)
    with pytest.raises(InputError, match="name two sheets"):
        laid_out(Path("b.xlsx#A"), InputLayout(sheet="B"))


@pytest.mark.parametrize(
    "stated",
    [
        {"header": [1, 3]},
        {"header": 0},
        {"header": "two"},
        {"header": [1, 2, 3, 4]},
        {"header": 3, "last": 3},
        {"decimal": ",", "thousands": ","},
        {"thousands": "_"},
        {"heading": 2},
    ],
)
def test_layouts_that_cannot_be_are_refused(stated: dict[str, Any]) -> None:
    """By the key of the plan."""
    with pytest.raises(PlanError, match=r"input"):
        parse_plan({"input": stated, "roles": {"quasi_identifiers": ["a"]}})


def test_a_layout_for_what_has_none_is_refused(tmp_path: Path) -> None:
    """Parquet has its names; a CSV file has no sheets, and no more lines than it has."""
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="neither"):
        read(tmp_path / "t.parquet", header=2)
    file = text(tmp_path / "t.csv", [NAMES, *ROWS])
    with pytest.raises(InputError, match="a CSV file has none"):
        read(file, sheet="A", header=2)
    with pytest.raises(TableError, match="fewer than"):
        read(file, header=20)
    with pytest.raises(TableError, match="ends above"):
        read(book(tmp_path / "t.xlsx", [NAMES]), header=4)


def test_tables_right_beside_or_below_each_other_are_refused(tmp_path: Path) -> None:
    """A column whose last values are missing is none; the message names the place of the other."""
    beside = [[n, "ab"[n % 2], *(("x", n) if n < 10 else (None, None))] for n in range(40)]
    late = [[n, "ab"[n % 2], n if n < 10 else None] for n in range(40)]
    lines = [[n, "ab"[n % 2], "cd"[n % 2]] for n in range(40)]
    others = [["dose", "drug", "unit"], *lines[:9]]
    again = [["age", "sex", "ward"], *lines[:9]]
    names = ["age", "sex", "ward"]
    read(book(tmp_path / "late.xlsx", [names, *late]))
    for name, rows, told in (
        ("beside", [[*names, "unit"], *beside], "columns 3 and 4"),
        ("below", [names, *lines, *others], "row 42"),
        ("again", [names, *lines, *again], "row 42"),
    ):
        with pytest.raises(TableError, match=told):
            read(book(tmp_path / f"{name}.xlsx", rows))


@pytest.mark.slow
def test_a_sheet_with_an_empty_column_is_read_in_silence(tmp_path: Path) -> None:
    """What the library that reads sheets remarks stays off the terminal."""
    sheet = book(tmp_path / "t.xlsx", [["x", "n"], *([n, None] for n in range(5))])
    code = "import pathlib, sys; from voile.table.reading import read_frame"
    code += "; read_frame(pathlib.Path(sys.argv[1]))"
    said = subprocess.run(
        [sys.executable, "-c", code, str(sheet)], capture_output=True, text=True, check=True
    )
    assert said.stderr == ""
