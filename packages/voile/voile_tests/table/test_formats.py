"""Workbooks, JSON lines, SPSS, Stata and SAS: read whole or refused, and written to be read."""

from __future__ import annotations

import datetime
import importlib
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat
import pytest
import xlsxwriter

import voile
from voile.release.release import read_release
from voile.schema.plan import parse_plan
from voile.table.formats.registry import WRITTEN, format_named, refusal
from voile.table.reading import list_columns, read_frame
from voile_base.errors import InputError, TableError, VoileError

SECRET = "99887766"
FRAME = pl.DataFrame(
    {
        "id": [3, 1, None],
        "code": ["007", None, "Zoë, |"],
        "pay": [1.5, 1e-17, 2.0],
        "born": [datetime.date(2020, 1, 2), None, datetime.date(1950, 12, 31)],
        "seen": [datetime.datetime(2020, 1, 2, 3, 4, 5)] * 3,
        "hour": [datetime.time(3, 4, 5), datetime.time(23, 59, 59), None],
        "well": [True, False, None],
    }
)
WHOLE = WRITTEN[2:]


def write(frame: pl.DataFrame, file: Path) -> Path:
    """A file in the format of its ending, in two batches."""
    batches = iter([frame.head(2), frame.tail(-2)])
    format_named(file.suffix[1:]).write(batches, frame.schema, file)
    return file


def message(path: Path | str, **asked: Any) -> str:
    """What is said of a file that is refused: it names the file, and no value."""
    with pytest.raises(VoileError) as caught:
        read_frame(Path(path), **asked)
    assert str(Path(path)).partition("#")[0] in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.exit_status == 2
    return str(caught.value)


@pytest.mark.parametrize("ending", WHOLE)
def test_what_was_written_is_read(ending: str, tmp_path: Path) -> None:
    """Numbers, codes that look like numbers, dates, instants, times, truth values, missing ones."""
    file = write(FRAME, tmp_path / f"table.{ending}")
    read = read_frame(file)
    assert read.frame.columns == FRAME.columns
    for name in FRAME.columns:
        found = read.frame[name].cast(FRAME[name].dtype)
        bare = ending == "xpt" and name == "well"  # no labels, so that 0 and 1 stay
        assert bare or type(read.frame[name].dtype) is type(FRAME[name].dtype), name
        assert found.to_list() == FRAME[name].to_list(), name
    assert list(list_columns(file)) == FRAME.columns
    assert read_frame(file, columns=["pay", "id", "none"]).frame.columns == ["id", "pay"]
    assert read_frame(file, missing=["007"]).frame["code"].null_count() == 2


@pytest.mark.parametrize("ending", WHOLE)
def test_releases_are_written_and_read_back(ending: Any, tmp_path: Path) -> None:
    """The rows of a release in every format, and all that is said of them."""
    frame = pl.DataFrame({"sex": list("mfmfmf"), "town": ["a", "a", "b", "b", "c", "c"]})
    source = write(frame, tmp_path / f"people.{ending}")
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["sex", "town"], "person": "row"},
            "method": {"name": "generalization", "k": 2, "algorithm": "flash"},
        }
    )
    publication = voile.make_release(source, plan, tmp_path / "out")
    assert (tmp_path / "out" / f"data.{ending}").is_file()
    again = read_release(tmp_path / "out")
    rows = pl.DataFrame(publication.release.to_native())
    assert pl.DataFrame(again.to_native()).cast(rows.schema).equals(rows)


def test_json_lines_that_lack_keys_have_missing_values(tmp_path: Path) -> None:
    """Columns are the keys of all lines."""
    file = tmp_path / "table.ndjson"
    file.write_text('{"a": 1, "b": "x"}\n{"a": 2.5}\n{"b": "2020-13-01", "c": true}\n')
    frame = read_frame(file).frame
    assert frame.rows() == [(1.0, "x", None), (2.5, None, None), (None, "2020-13-01", True)]


@pytest.mark.slow
def test_instants_of_json_lines_are_those_of_csv(tmp_path: Path) -> None:
    """With Z, an offset or neither, with and without fractions; one that is none makes texts."""
    forms = {
        "utc": ["2023-01-01T01:25:20Z", "2023-06-01T01:25:20.5Z"],
        "offset": ["2023-01-01T01:25:20+02:00", "2023-06-01T01:25:20+0100"],
        "local": ["2023-01-01 01:25:20", "2023-06-01 01:25:20"],
        "none": ["2023-01-01T01:25:20Z", "2023-13-01T01:25:20Z"],
    }
    lines = [dict(zip(forms, row, strict=True)) for row in zip(*forms.values(), strict=True)]
    json_lines, comma = tmp_path / "table.jsonl", tmp_path / "table.csv"
    json_lines.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    pl.DataFrame(lines).write_csv(comma)
    found = read_frame(json_lines).frame
    assert found.equals(read_frame(comma).frame)
    assert [dtype == pl.String for dtype in found.dtypes] == [False, False, False, True]


def _feature(geometry: object, **properties: object) -> dict[str, object]:
    return {"type": "Feature", "id": 7, "geometry": geometry, "properties": properties}


@pytest.mark.parametrize("lines", [True, False])
def test_features_of_maps_are_rows(lines: bool, tmp_path: Path) -> None:
    """Of a collection, or one a line: points in degrees, dates as dates, all else as texts."""
    line = {"type": "LineString", "coordinates": [[8.5, 47.3], [8.6, 47.4]]}
    features = [
        _feature({"type": "Point", "coordinates": [8.5, 47, 410]}, day="2024-02-29", tags=["a"]),
        _feature(line, day="2024-03-01"),
        _feature(None, day=None, id=9),
    ]
    file = tmp_path / "map.geojson"
    collection = [{"type": "FeatureCollection", "features": features}]
    file.write_text("\n".join(map(json.dumps, features if lines else collection)), "utf-8")
    frame = read_frame(file).frame
    assert frame["longitude"].to_list() == [8.5, None, None]
    assert frame["latitude"].to_list() == [47.0, None, None]
    assert frame["id"].to_list() == [7, 7, 9]
    assert frame["day"].to_list() == [datetime.date(2024, 2, 29), datetime.date(2024, 3, 1), None]
    assert frame["tags"].to_list() == ['["a"]', None, None]
    assert json.loads(frame["geometry"][1]) == line


@pytest.mark.parametrize("within", [True, False])
def test_a_list_of_objects_is_a_table(within: bool, tmp_path: Path) -> None:
    """Alone or in a document; keys of several types, objects and lists are texts."""
    rows: list[dict[str, object]] = [
        {"id": 1, "paid": 2, "day": "2024-02-29", "mixed": 7, "tags": {"a": [1]}, "long": 1},
        {
            "id": 2,
            "paid": 2.5,
            "day": None,
            "mixed": "n/a" + "[" * 900,
            "late": True,
            "long": 10**30,
        },
    ]
    file = tmp_path / "table.json"
    file.write_text(json.dumps({"count": 2, "data": rows, "tags": ["x"]} if within else rows))
    frame = read_frame(file).frame
    assert frame.to_dict(as_series=False) == {
        "id": [1, 2],
        "paid": [2.0, 2.5],
        "day": [datetime.date(2024, 2, 29), None],
        "mixed": ["7", "n/a" + "[" * 900],
        "tags": ['{"a": [1]}', None],
        "long": ["1", str(10**30)],
        "late": [None, True],
    }


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "[[]]", "{}", '{"a": [{"b": 1}], "c": [{"d": 1}]}', "[" * 100_000, f"[{SECRET}]"],
)
def test_what_is_no_list_of_objects_is_refused(text: str, tmp_path: Path) -> None:
    """Two lists leave open which of them is the table."""
    file = tmp_path / "table.json"
    file.write_text(text)
    message(file)


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"features": [{"properties": {}}]}', f'{{"features": {SECRET}}}']
)
def test_what_is_no_map_is_refused(text: str, tmp_path: Path) -> None:
    """With the file, and without what stands in it."""
    file = tmp_path / "map.geojson"
    file.write_text(text)
    message(file)


@pytest.mark.parametrize("text", ["", "[1]\n", f'{{"a": {SECRET}}}\n{{"a":\n', "nothing\n", "{}\n"])
def test_what_is_no_json_lines_is_refused(text: str, tmp_path: Path) -> None:
    """With the file, and without what stands in it."""
    file = tmp_path / "table.jsonl"
    file.write_text(text)
    message(file)


def workbook(file: Path, **sheets: list[list[Any]]) -> Path:
    """A workbook with these rows in its sheets; None leaves a cell empty."""
    book = xlsxwriter.Workbook(file)
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for row, values in enumerate(rows):
            for column, value in enumerate(values):
                if isinstance(value, str) and value.startswith("="):
                    sheet.write_formula(row, column, value, None, "#DIV/0!")
                elif value is not None:
                    sheet.write(row, column, value)
    book.close()
    return file


def test_the_only_sheet_that_holds_anything_is_read(tmp_path: Path) -> None:
    """Empty sheets are no choice; a column of numbers and texts is one of texts."""
    rows = [["id", "code"], [1, 7], [2, "x"], [3, None]]
    file = workbook(tmp_path / "book.xlsx", Notes=[], People=rows)
    assert read_frame(file).frame.rows() == [(1, "7"), (2, "x"), (3, None)]


def test_one_of_several_sheets_must_be_named(tmp_path: Path) -> None:
    """The refusal says which there are and how to say which; the name behind # is taken."""
    file = workbook(tmp_path / "book.xlsx", People=[["a"], [1]], Staff=[["b"], [2]])
    assert "'People', 'Staff'" in (said := message(file))
    assert f"{file}#People" in said
    assert read_frame(Path(f"{file}#Staff")).frame.columns == ["b"]
    assert "did you mean 'Staff'" in message(f"{file}#Stafff")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["a", None, "c"], [1, 2, 3]], "column 2 .* has no name in the first row"),
        ([["Visits", None], ["2020", "2021"], [1, 2]], "column 2 .* has no name"),
        ([["a", "b", "a"], [1, 2, 3]], "columns 1 and 3 are both named 'a'"),
        ([["a", "b"]], "no row"),
        ([["a", "b"], [1, 5], [SECRET, "=1/0"]], "row 3 of column 'b' holds an error"),
        ([], "no table|is empty"),
    ],
)
def test_sheets_that_are_no_table_are_refused(rows: Any, said: str, tmp_path: Path) -> None:
    """Merged headers, twins, no rows, cells with errors: named by their place."""
    assert re.search(said, message(workbook(tmp_path / "book.xlsx", Sheet=rows)))


def test_a_first_column_without_a_name_holds_the_rows(tmp_path: Path) -> None:
    """As Pandas writes its index; refused beside another without a name, or one called so."""
    file = workbook(tmp_path / "book.xlsx", Sheet=[[None, "a"], [0, 5], [1, 6]])
    found = read_frame(file)
    assert found.frame.columns == ["row", "a"]
    assert found.notes == (f"{file}: column 1 has no name; it is called 'row', as row names are",)
    for names in ([None, "a", None], [None, "row"]):
        said = message(workbook(tmp_path / "other.xlsx", Sheet=[names, [1, 2, 3][: len(names)]]))
        assert "column 1 of sheet 'Sheet' has no name" in said


@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta", "xpt", "sas7bdat", "xls"])
@pytest.mark.parametrize("length", [0, 5, 700])
def test_files_that_are_not_whole_are_refused(ending: str, length: int, tmp_path: Path) -> None:
    """Cut off, or of another kind."""
    source = ending if ending in WRITTEN else "xlsx"
    whole = write(FRAME, tmp_path / f"whole.{source}").read_bytes()
    file = tmp_path / f"table.{ending}"
    file.write_bytes(whole[:length])
    message(file)


LABELS = {"sex": {1: "male", 2: "female"}, "age": {98: "refused", 99: "unknown"}}
SURVEY = pl.DataFrame({"sex": [1, 2, 2, None], "age": [34, 98, 40, 41], "n": [1.5, 2, 3, 4]})


@pytest.fixture(params=["sav", "dta"])
def survey(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Four answers: each sex has a label, and of the ages only what is none."""
    file = tmp_path / f"survey.{request.param}"
    writer = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[request.param]
    writer(SURVEY, str(file), variable_value_labels=LABELS)
    return file


def test_labels_are_read_where_every_value_has_one(survey: Path) -> None:
    """And codes elsewhere; both are noted, without values."""
    read = read_frame(survey)
    assert read.frame["sex"].to_list() == ["male", "female", "female", None]
    assert read.frame["age"].to_list() == [34, 98, 40, 41]
    assert len(read.notes) == 2
    assert "'sex'" in read.notes[0]
    assert "'age'" in read.notes[1]
    assert not any(label in " ".join(read.notes) for label in ("male", "refused", "98"))


def test_codes_and_labels_can_be_asked_for(survey: Path) -> None:
    """Codes throughout; labels only where none is lacking, and the refusal names the column."""
    assert read_frame(Path(f"{survey}#codes")).frame["sex"].to_list() == [1, 2, 2, None]
    assert read_frame(Path(f"{survey}#labels"), columns=["sex"]).frame["sex"][0] == "male"
    assert "column 'age' holds values that its value labels do not name" in message(
        f"{survey}#labels"
    )
    assert "as #labels or as #codes" in message(f"{survey}#answers")


def test_labels_of_two_values_that_read_alike_stay_codes(tmp_path: Path) -> None:
    """Otherwise the two values would become one without a word."""
    file = tmp_path / "survey.sav"
    frame = pl.DataFrame({"town": [1, 2]})
    labels = {"town": {1: "Paris", 2: "Paris"}}
    pyreadstat.write_sav(frame, str(file), variable_value_labels=labels)
    assert read_frame(file).frame["town"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("table.xlsx", "fastexcel", "excel"),
        ("table.sav", "pyreadstat", "stats"),
    ],
)
def test_what_is_not_installed_is_said_with_the_line_that_installs_it(
    name: str, module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extra that is not there is no fault of the file."""
    file = write(FRAME, tmp_path / name)
    found = importlib.import_module

    def without(asked: str, package: str | None = None) -> Any:
        if asked == module:
            raise ImportError(asked)
        return found(asked, package)

    monkeypatch.setattr("voile.table.formats.registry.import_module", without)
    with pytest.raises(InputError, match=rf"needs {module}: pip install 'voile\[{extra}\]'"):
        read_frame(file)


def test_a_format_that_cannot_hold_a_release_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    """Stata knows no name with a dot: asked for, it is refused; as a default, Parquet is taken."""
    assert "'age.low'" in str(refusal("dta", ["age.low"], 3))
    assert refusal("sav", ["age.low"], 3) is None
    assert "at most 1,048,575 rows" in str(refusal("xlsx", ["a"], 2_000_000))
    frame = pl.DataFrame({"age": [20, 21, 22, 40, 41, 43]})
    source = write(frame, tmp_path / "people.dta")
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["age"], "person": "row"},
            "method": {"name": "generalization", "k": 2, "algorithm": "mondrian"},
        }
    )
    with pytest.raises(InputError, match="--format dta: column 'age"):
        voile.make_release(source, plan, tmp_path / "out", file_format="dta")
    assert not (tmp_path / "out").exists()
    voile.make_release(source, plan, tmp_path / "out")
    assert (tmp_path / "out" / "data.parquet").is_file()


def test_a_file_whose_name_holds_a_sign_is_taken_as_it_is(tmp_path: Path) -> None:
    """What stands behind # is a part only where there is no such file."""
    file = tmp_path / "people #2.jsonl"
    file.write_text('{"a": 1}\n')
    assert read_frame(file).frame.rows() == [(1,)]
    with pytest.raises(TableError, match="no such file"):
        read_frame(tmp_path / "people.xlsx#Sheet")
