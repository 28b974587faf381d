"""Reading a large file some columns at a time."""

from __future__ import annotations

import polars as pl
import pytest

from voile.table import opening
from voile.table.opening import Read, plain, rows_in_memory
from voile_base.errors import TableError

ROWS = "age,town,born,note\n31,Oslo,2001-02-03,\n,Bern,,?\n45,Oslo,1999-12-31,x\n"


@pytest.mark.parametrize("size", [1, 20, 1 << 24])
def test_columns_read_some_at_a_time_are_those_read_at_once(tmp_path, monkeypatch, size):
    """However many columns a pass reads, values, types and what is seen of them are the same."""
    monkeypatch.setattr(opening, "_AT_A_TIME", size)
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    seen: list[str] = []
    read = Read.compactly(path, ["?"], look=lambda rows, notes: seen.extend(rows.columns))
    at_once, _ = rows_in_memory(str(path), missing=["?"])
    assert seen == at_once.columns
    assert read.types == at_once.schema
    assert pl.DataFrame([plain(column) for column in read.frame]).equals(at_once)


@pytest.mark.parametrize(
    "text",
    [
        'a;b;c\n"";1,5; x\n;2,5;"y;z"\n"?";;x\n',
        "a,b,c\n07,true,1\n8,false,\n9,,2.5\n",
        "a, b, c\n1, x, 2020-01-31\n2, y, 2020-02-30\n",
        "a\n" + "\n".join(str(number % 700) for number in range(2_000)) + "\n",
    ],
)
def test_distinct_texts_are_read_as_all_of_them_are(tmp_path, text):
    """Quotes, marks, spaces, and what only one cell tells of a type; few texts are dictionaries."""
    path = tmp_path / "people.csv"
    path.write_text(text)
    read = Read.compactly(path, ["?"])
    at_once, _ = rows_in_memory(str(path), missing=["?"])
    assert read.types == at_once.schema
    assert pl.DataFrame([plain(column) for column in read.frame]).equals(at_once)


def test_a_broken_file_is_refused_as_if_it_was_read_at_once(tmp_path, monkeypatch):
    """A line with too few fields is named, also where its column would be read later."""
    monkeypatch.setattr(opening, "_AT_A_TIME", 1)
    path = tmp_path / "people.csv"
    path.write_text("a,b,c\n1,2,3\n4,5\n")
    with pytest.raises(TableError, match="line 3 has 2 fields"):
        Read.compactly(path)


def test_columns_without_marks_are_not_read_again(tmp_path, monkeypatch):
    """Reading on with marks for missing values gives what reading with them at once gives."""
    cells = ("? 1 x 7 2020-01-05", "b 2 y ? ?", "c ? x 9 2020-02-05")
    path = tmp_path / "some.csv"
    rows = "\n".join(line.replace(" ", ",") for line in cells)
    path.write_text(f"letter,number,plain,other,day\n{rows}\n")
    at_once, first = Read.compactly(path, ["?"]), Read.compactly(path)
    asked = []
    whole = Read.compactly

    def compactly(path, missing=(), **options):
        asked.append(list(options["columns"]))
        return whole(path, missing, **options)

    monkeypatch.setattr(Read, "compactly", compactly)
    found = first.without(["?"], path)
    assert asked == [["letter", "number", "other", "day"]]
    assert found.types == at_once.types
    assert found.frame.rows() == at_once.frame.rows()
    assert first.without(["none"], path) is first


def test_texts_in_a_dictionary_are_taken_from_it(tmp_path, monkeypatch):
    """A column that is of texts without the marks, too, is not read again, and is the same."""
    cells = ["letter,number,truth,plain"] + ["?,?,?,b", "b,2,true,b", "?,2,true,b", "c,?,?,?"] * 3
    path = tmp_path / "some.csv"
    path.write_text("\n".join(cells) + "\n")
    at_once, first = Read.compactly(path, ["?", "b"]), Read.compactly(path)
    asked = []
    whole = Read.compactly

    def compactly(path, missing=(), **options):
        asked.extend(options["columns"])
        return whole(path, missing, **options)

    monkeypatch.setattr(Read, "compactly", compactly)
    found = first.without(["?", "b"], path)
    assert asked == ["number", "truth", "plain"]
    assert found.types == at_once.types
    assert found.frame.schema == at_once.frame.schema
    assert found.frame.equals(at_once.frame)
