"""How a file is laid out, as its first rows tell."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from voile.proposal.layout import ProposedLayout, headed, proposed_layout
from voile.schema.layout import column_names
from voile.table.profile import Inspected
from voile_base.errors import InputError, TableError

NAMES = ["name", "sex", "age", "town"]
BODY = [
    ["Anna Meyer", "F", "31", "Ulm"],
    ["Jonas Weber", "M", "45", "Bonn"],
    ["Lena Fuchs", "F", "27", "Ulm"],
    ["Paul Braun", "M", "52", "Kiel"],
]


def proposed(rows: list[list[Any]]) -> dict[str, object]:
    """The settings that differ from the usual."""
    return ProposedLayout.of_rows(list(enumerate(rows, 1)), "t.csv").layout.stated


@pytest.mark.parametrize(
    ("rows", "stated"),
    [
        ([NAMES, *BODY], {}),
        ([["Members"], [], NAMES, *BODY], {"header": 3}),
        ([["Members", "of 2024"], [None] * 4, NAMES, *BODY], {"header": 3}),
        ([["Person", None, None, "Home"], NAMES, *BODY], {"header": [1, 2]}),
        ([["List"], ["Person", None, None, "Home"], NAMES, *BODY], {"header": [2, 3]}),
        ([NAMES, ["text", "code", "years", "place"], *BODY], {"header": [1, 2]}),
        ([["n", "age", "pay"], ["", "years", "EUR"], ["a", "3", "4"], ["b", "5", "6"]],
         {"header": [1, 2]}),
        (BODY, {"header": "none"}),
        ([["Unnamed: 0", *NAMES, "remark"], *[[f"{n}", *row, None] for n, row in enumerate(BODY)]],
         {}),
        ([["Unnamed: 0", *NAMES], *[[f"{n}", *row[:3], None] for n, row in enumerate(BODY)]], {}),
        ([[*row[:3], None, f"0{n}-02-2024 13:49"] for n, row in enumerate(BODY, 1)]
         + [[*row, f"0{n}-03-2024 09:12"] for n, row in enumerate(BODY, 1)], {"header": "none"}),
        ([row[2:] for row in BODY], {"header": "none"}),
        ([["17", "3"], ["18", "4"], ["19", "5"]], {"header": "none"}),
        ([["town", "2019", "2020"], ["Ulm", "3", "4"], ["Bonn", "5", "6"]], {}),
        ([["name", "sex", "sex", "town"], *BODY], {"number_names": True}),
        ([["name", "", "age", "town"], *BODY], {"number_names": True}),
        ([["", "sex", "age", "town"], *BODY], {}),
        ([["age"], ["3"], ["4"]], {}),
        ([["3"], ["4"], ["5"]], {"header": "none"}),
        ([["a"], ["1.234,5"], ["7"]], {"decimal": ",", "thousands": "."}),
        ([["a"], ["1,234.5"], ["7"]], {"decimal": ".", "thousands": ","}),
        ([["a"], ["12 345"], ["7"]], {"thousands": " "}),
        ([["a"], ["1,00,441"], ["98,250"]], {"thousands": ","}),
        ([["a"], ["12,34,567.50"], ["7"]], {"decimal": ".", "thousands": ","}),
        ([["a"], ["1,5"], ["2,25"], ["n/a"]], {"decimal": ","}),
        ([["a"], ["1.234,56"], ["7.890,12"]], {"decimal": ",", "thousands": "."}),
        ([["a"], ["612 345 678"], ["611 222 333"]], {}),
        ([["a"], ["22 000"], ["37 500"], ["41 200"]], {"thousands": " "}),
        ([["a", "b"], ["1,234", "x"], ["5,678", "y"], ["7", "0.5"]], {}),
        ([["a", "b"], ["1,234", "0.5"], ["5,678", "2.25"]], {"thousands": ","}),
        ([["a", "b"], ["116,2", "433.426"], ["82,0", "772"]], {"decimal": ",", "thousands": "."}),
        ([["a", "b"], ["116,2", "0.426"], ["82,0", "772"]], {"decimal": ","}),
        ([["a"], *([f"{n},{n % 1000:03}"] for n in range(7, 47))], {"thousands": ","}),
        ([["a"], *([f"{n},{n % 1000:03}"] for n in range(40))], {}),
    ],
)  # fmt: skip
def test_the_layout_is_told_by_the_first_rows(rows: Any, stated: dict[str, object]) -> None:
    """Titles, two rows of names, none, twins, and how numbers are written."""
    assert proposed(rows) == stated


def test_numbers_beside_a_few_words_tell_how_they_are_written(tmp_path: Path) -> None:
    """Of many numbers beside few words; a column of many words tells nothing."""
    numbers = [f"{1 + n % 9}.{100 + n},{n % 90 + 10}" if n % 4 else "none" for n in range(200)]
    words = [f"{n},{n}" if n % 2 else "abcdefghijk"[n // 2 % 11] * 3 for n in range(200)]
    file = tmp_path / "t.csv"
    for column, told in ((numbers, (",", ".")), (words, (None, None))):
        file.write_text("\n".join(["a;b", *(f"x;{one}" for one in column)]), encoding="utf-8")
        _, found = proposed_layout(file)
        assert (found.layout.decimal, found.layout.thousands) == told


def test_what_can_be_read_in_two_ways_is_a_question() -> None:
    """1,234 is one thing or another: the column stays text until somebody says which."""
    rows = [["a", "b"], ["1,234", "x"], ["5,678", "y"]]
    found = ProposedLayout.of_rows(list(enumerate(rows, 1)), "t.csv")
    assert (found.layout.stated, found.questions) == ({}, ("a",))


def test_a_title_above_rows_without_names_is_refused() -> None:
    """Nothing says which row is the first person; the message quotes none."""
    with pytest.raises(TableError, match=r"put a line with names above row 2") as refusal:
        proposed([["Members"], *BODY])
    assert "Anna" not in str(refusal.value)


@pytest.mark.slow
def test_a_plan_for_a_file_with_a_title_is_published_unedited(desk) -> None:
    """The proposal states [input], and publish, inspect and recount read the file by it."""
    rows = "".join(f"{20 + n % 30};{'FM'[n % 2]};{['flu', 'gout'][n % 3 > 0]}\n" for n in range(90))
    table = desk.file("Ward 7\n\nage;sex;illness\n" + rows)
    plan = desk / "p.toml"
    assert desk.run("plan", table, "--out", plan).status == 0
    assert tomllib.loads(plan.read_text("utf-8"))["input"] == {"header": 3}
    assert desk.run("publish", table, "--plan", plan, "--out", desk / "out").status == 0
    shown = desk.run("inspect", table, "--plan", plan, "--json")
    assert json.loads(shown.stdout)["rows"] == 90
    counted = desk.run("recount", desk / "out", "--against", table, "--plan", plan)
    assert counted.status == 0, counted.stderr
    assert desk.run("recount", desk / "out", "--plan", plan).status == 2


def test_nobody_gives_a_column_its_name(desk) -> None:
    """A file without names: no value of the first row stands in plan, message or output."""
    rows = "".join(f"Zelda Moor{'abcdef'[n % 6]};{30 + n};Ulm\n" for n in range(40))
    table = desk.file(rows)
    outcome = desk.run("plan", table, "--out", desk / "p.toml")
    shown = desk.run("inspect", table)
    assert (outcome.status, shown.status) == (0, 0), outcome.stderr + shown.stderr
    told = (desk / "p.toml").read_text("utf-8") + outcome.stderr + shown.stdout + shown.stderr
    assert "Zelda" not in told
    assert '"column 1"' in told


def test_decimal_commas_behind_points_of_thousands_part_no_columns(desk) -> None:
    """A file whose rows commas part evenly, too, is parted as its line of names is."""
    table = desk.file(
        "amount;visits;ward\n" + "".join(f"1.{n},50;{n % 9};k\n" for n in range(100, 400))
    )
    assert desk.run("plan", table, "--out", desk / "p.toml").status == 0
    settings = tomllib.loads((desk / "p.toml").read_text("utf-8"))["input"]
    assert settings == {"thousands": ".", "decimal": ","}


@pytest.mark.parametrize(
    ("cells", "thousands"),
    [
        (("5 470", "5770", "6 580", "5130"), " "),
        (("625 214", "625106", "625218.0", "625107"), None),
    ],
)
def test_blanks_within_codes_part_no_thousands(desk, cells, thousands) -> None:
    """Postcodes of as many figures say nothing of amounts; of four figures, amounts have blanks."""
    rows = "".join(f"{cells[n % 4]};{n % 90};k\n" for n in range(200))
    assert (
        desk.run("plan", desk.file("code;age;ward\n" + rows), "--out", desk / "p.toml").status == 0
    )
    settings = tomllib.loads((desk / "p.toml").read_text("utf-8")).get("input", {})
    assert settings.get("thousands") == thousands


def test_notes_below_a_sheet_are_no_rows(tmp_path: Path) -> None:
    """They fill one cell each, behind an empty row or not; the table ends above them."""
    for gap in (0, 1):
        file = tmp_path / f"t{gap}.xlsx"
        with xlsxwriter.Workbook(file) as book:
            sheet = book.add_worksheet()
            for row, cells in enumerate([("sex", "age", "town"), *[("f", 31, "Ulm")] * 9]):
                sheet.write_row(row, 0, cells)
            for row in range(2):
                sheet.write(10 + gap + row, 0, "* estimated")
        place, found = proposed_layout(file)
        assert found.layout.last == 10
        assert Inspected.of_file(place).rows == 9


def test_totals_and_signatures_below_an_empty_row_are_no_rows(tmp_path: Path) -> None:
    """They fill a quarter of the cells at most; a row of few cells in the table stays."""
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        sheet = book.add_worksheet()
        for row, cells in enumerate([[f"c{n}" for n in range(8)], *[["f", *[31] * 7]] * 9]):
            sheet.write_row(row, 0, cells)
        sheet.write_row(10, 0, ["m", 44])
        sheet.write_row(12, 2, ["total", 10])
    place, found = proposed_layout(tmp_path / "t.xlsx")
    assert found.layout.last == 11
    assert Inspected.of_file(place).rows == 10


def test_merged_names_stand_above_their_columns_alone(tmp_path: Path) -> None:
    """Where each group is written above all its columns, a column without a group has none."""
    rows = [
        ("Area", "Area", None, "Pay"),
        ("code", "name", "Sex", "net"),
        ("H1", "Pest", "f", "12"),
    ]
    assert column_names(rows[:2], 4, numbered=False) == ("Area code", "Area name", "Sex", "Pay net")


def test_the_sheet_with_nearly_all_rows_is_taken_and_said(tmp_path: Path) -> None:
    """Beside a sheet of notes the plan names the table's; of two tables somebody has to choose."""
    for notes, sheet in ((3, "People"), (30, None)):
        file = tmp_path / f"{notes}.xlsx"
        with xlsxwriter.Workbook(file) as book:
            for name, rows in (("Notes", notes), ("People", 60)):
                page = book.add_worksheet(name)
                for row in range(rows):
                    page.write_row(row, 0, ["age", "sex"] if not row else [row, "mf"[row % 2]])
        before = file.read_bytes()
        if sheet is None:
            with pytest.raises(InputError, match="several sheets"):
                proposed_layout(file)
        else:
            place, found = proposed_layout(file)
            assert found.layout.sheet == sheet
            assert ("sheet", "the others have few rows") in found.reasons
            assert Inspected.of_file(place).rows == 59
        assert file.read_bytes() == before


def test_an_empty_workbook_is_told_and_no_fault(tmp_path: Path) -> None:
    """A sheet without a cell holds no table."""
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        book.add_worksheet("empty")
    with pytest.raises(TableError, match="empty"):
        Inspected.of_file(proposed_layout(tmp_path / "t.xlsx")[0])


def test_what_is_said_of_a_table_above_its_names_is_no_row_of_names() -> None:
    """A title that says who made the table and its unit, in two cells, beside a row of groups."""
    said = [["Payroll", None, None, None], ["made by: finance", None, None, "unit\uff1aEUR"]]
    assert proposed([*said, NAMES, *BODY]) == {"header": 3}
    groups = [["Payroll", None, None, None], ["Person", None, None, "Place"]]
    assert proposed([*groups, NAMES, *BODY]) == {"header": [2, 3]}


def test_a_heading_over_several_columns_does_not_decide_what_they_are(desk) -> None:
    """A course below "Enrolment" is one, and no number of an enrolment; units are no names."""
    path = desk / "school.csv"
    rows = ["Pupil,,Family,,Weight", "name,sex,brothers,custody,kg"]
    rows += [f"Anna {c}{c},{'fm'[n % 2]},{n % 4},{('both', 'one', 'none')[n % 3]},{40 + n % 9}"
             for n, c in enumerate("bcdfghklmnprst" * 9)]  # fmt: skip
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    place, _ = proposed_layout(path)
    assert headed(place) == {
        "Pupil name": "name",
        "Pupil sex": "sex",
        "Family brothers": "brothers",
        "Family custody": "custody",
    }
    assert headed(path) == {}
    out = desk / "plan.toml"
    assert desk.run("plan", path, "--out", out).status == 0
    roles = tomllib.loads(out.read_text(encoding="utf-8"))["roles"]
    assert {"Family brothers", "Family custody", "Pupil sex"} <= {
        *roles["quasi_identifiers"],
        *roles["sensitive"],
    }
    assert "Pupil name" not in roles["quasi_identifiers"]


@pytest.mark.parametrize(
    ("below", "last"),
    [
        ("Total;300 rows\n", 301),
        ("\nTotal;300 rows\nAll of 2024\n", 301),
        ("", None),
        ("Anna;31", None),
        ("Anna;31;F;Ulm;no\n", None),
        ('Anna;31;F;Ulm;no;"first\nsecond";x;y\n', None),
        ("Total;1\n" * 6, None),
    ],
)
def test_sums_and_notes_below_a_csv_table_are_no_rows(tmp_path, below, last):
    """Few short lines that end; a row that was cut off, or goes on, is left to reading."""
    row = 'Anna;31;F;Ulm;no;"a;b";x;y\n'
    path = tmp_path / "table.csv"
    path.write_text("name;age;sex;town;left;note;u;v\n" + 300 * row + below, "utf-8")
    assert proposed_layout(path)[1].layout.last == last
