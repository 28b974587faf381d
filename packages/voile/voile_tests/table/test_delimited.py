"""CSV files: encodings, dialects, strictness, and what a message may say."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voile.table.formats import delimited, encoding
from voile.table.formats.delimited import (
    _detect_dialect,
    _Dialect,
    _misplaced_quote,
    csv_names,
    read_csv,
)
from voile_base.errors import TableError

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes a text as UTF-8, or bytes as they are, and returns the path."""

    def write_file(content: str | bytes) -> Path:
        path = tmp_path / "table.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def rows_of(path: Path, **options: object) -> list[tuple[object, ...]]:
    return read_csv(path, **options)[0].rows()  # type: ignore[arg-type]


def error_of(path: Path) -> str:
    with pytest.raises(TableError) as caught:
        read_csv(path)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message


# Round trips ----------------------------------------------------------------------------------

ALPHABET = "abcXYZéüß 0123456789,;|\t\"'\n.-?"
CELL = st.text(ALPHABET, max_size=8)
STYLES = [  # Python's writer leaves \n without quotes where lines end in \r, which is ambiguous
    (csv.QUOTE_MINIMAL, "\n"),
    (csv.QUOTE_MINIMAL, "\r\n"),
    (csv.QUOTE_ALL, "\n"),
    (csv.QUOTE_ALL, "\r"),
]
SHAPE = st.tuples(st.integers(2, 5), st.integers(1, 12))


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """Rows of text as wide as the header, each with a letter so that no type is inferred."""
    width, height = draw(SHAPE)
    cells = CELL.map("t".__add__)
    return draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=height))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=tables(),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    style=st.sampled_from(STYLES),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    last_line_ends=st.booleans(),
)
def test_what_a_csv_writer_writes_is_read_back(
    tmp_path: Path,
    rows: list[list[str]],
    separator: str,
    style: tuple[int, str],
    codec: str,
    last_line_ends: bool,
) -> None:
    """Any table in any dialect and Unicode encoding is read back, cell by cell, in order."""
    header = [f"name{i}" for i in range(len(rows[0]))]
    out = io.StringIO()
    quoting, line_end = style
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=line_end)
    writer.writerows([header, *rows])
    written = out.getvalue() if last_line_ends else out.getvalue().removesuffix(line_end)
    path = tmp_path / "table.csv"
    path.write_bytes(written.encode(codec))
    frame, notes = read_csv(path)
    assert frame.columns == header
    assert frame.rows() == [tuple(row) for row in rows]
    assert notes == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(st.none() | st.text(ALPHABET), st.none() | st.integers(0, 9)), min_size=1)
)
def test_what_polars_writes_is_read_back(
    tmp_path: Path, rows: list[tuple[str | None, int | None]]
) -> None:
    """Null and the empty text stay apart, and a frame that Polars wrote comes back equal."""
    schema = {"text": pl.String, "number": pl.Int64}
    frame = pl.DataFrame([("t", 1), *rows], schema=schema, orient="row")
    path = tmp_path / "table.csv"
    frame.write_csv(path)
    assert read_csv(path)[0].equals(frame)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=tables(), separator=st.sampled_from([",", ";", "\t", "|"]), seed=st.randoms())
def test_no_damaged_file_loses_a_row_in_silence(
    tmp_path: Path, rows: list[list[str]], separator: str, seed: object
) -> None:
    """Deleting one quote from a file in which every field is quoted is always an error."""
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(
        [[f"name{i}" for i in range(len(rows[0]))], *rows]
    )
    written = out.getvalue()
    quotes = [i for i, symbol in enumerate(written) if symbol == '"']
    removed = seed.choice(quotes)  # type: ignore[attr-defined]
    path = tmp_path / "table.csv"
    path.write_text(written[:removed] + written[removed + 1 :], newline="")
    with pytest.raises(TableError):
        read_csv(path)


# Dialects -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("a\n1\n2\n", [(1,), (2,)]),
        ("'a'\n'x, y'\n", [("x, y",)]),
        ('a\n"x; ""y"""\n', [('x; "y"',)]),
        ("a\n1\n\n3\n", [(1,), (None,), (3,)]),
        ("a;b\n1,5;2,5\n3,5;4\n", [(1.5, 2.5), (3.5, 4.0)]),
        ("id;price, net;price, gross\n1;1,5;2,5\n2;3,5;4,5\n", [(1, 1.5, 2.5), (2, 3.5, 4.5)]),
        ('"a,b,c";d\n"x";1\n', [("x", 1)]),
        ('"a;b",c\n"x;y",1\n', [("x;y", 1)]),
        ("a|b\nx,y|1\n", [("x,y", 1)]),
        ("a\tb\nx\t1\n", [("x", 1)]),
        ("a,b\n\n1,x\n\n\n2,y\n\n", [(1, "x"), (2, "y")]),
        ("\n\na,b\n1,x\n", [(1, "x")]),
        ('a,b\n1,"x\ny"\n', [(1, "x\ny")]),
        ('a,b\n,""\n1,"x ""y"""\n', [(None, ""), (1, 'x "y"')]),
        ('a,b\n"","x"\n"1","y"\n', [(None, "x"), (1, "y")]),
        ("a,b\n39, State-gov\n50, Private\n", [(39, "State-gov"), (50, "Private")]),
        ("a,b\n'x, y','it'\n'z','w'\n", [("x, y", "it"), ("z", "w")]),
        ("a,b\n'tis,1\no'clock,2\n", [("'tis", 1), ("o'clock", 2)]),
        ('a,b\n"x \\"y\\", z","1"\n', [('x "y", z', 1)]),
        ('a,b\n"C:\\","x"\n', [("C:\\", "x")]),
        ('a\tb\n5" pipe\t1\n6"\t2\n', [('5" pipe', 1), ('6"', 2)]),
        (" a , b \n1,x\n", [(1, "x")]),
    ],
)
def test_usual_dialects_are_recognized(write: Write, content: str, rows: object) -> None:
    """Separator, quotes and spaces are found out, with decimal commas and blank lines in place."""
    assert rows_of(write(content)) == rows


def test_separator_within_quotes_in_the_header_does_not_count(write: Write) -> None:
    """A quoted name keeps its separator."""
    assert csv_names(write('"a,b";"c, d"\n1;2\n')) == ("a,b", "c, d")


def test_decimal_commas_are_noted(write: Write) -> None:
    """The reader says which columns it read with decimal commas."""
    path = write("name;pay\nx;1,5\n")
    assert read_csv(path)[1] == (f"{path}: column 'pay' holds numbers with decimal commas",)


def test_thousands_are_not_taken_for_decimals(write: Write) -> None:
    """A column that could be either keeps its text."""
    assert rows_of(write("name;pay\nx;1,500\n")) == [("x", "1,500")]


def test_a_header_of_numbers_is_noted(write: Write) -> None:
    """A file without a header line is suspected, not refused: its names might be years."""
    assert "header line missing" in read_csv(write("1,2.5\n3,4\n"))[1][0]
    assert read_csv(write("a,2\n3,4\n"))[1] == ()


def test_a_header_longer_than_the_sample_is_read(write: Write) -> None:
    """Very wide tables have headers of megabytes."""
    names = [f"column_number_{i}" for i in range(20_000)]
    assert csv_names(write(",".join(names) + "\n" + ",".join("1" * 20_000) + "\n")) == tuple(names)


def test_only_the_wanted_columns_are_kept_in_file_order(write: Write) -> None:
    """Columns come in the order of the file, and unknown names are left to the caller."""
    frame, _ = read_csv(write("a,b,c\n1,2,3\n"), columns=["c", "a", "unknown"])
    assert frame.to_dict(as_series=False) == {"a": [1], "c": [3]}


def test_missing_texts_are_null_before_types_are_inferred(write: Write) -> None:
    """A numeric column in which a text stands for missing values is numeric."""
    assert rows_of(write('a,b\n1,?\n"?",x\n'), missing=["?"]) == [(1, None), (None, "x")]


# Encodings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codec", "words"),
    [
        (
            "cp1252",
            ["Straße", "Köln", "élève", "à Orléans", "garçon", "São Paulo", "5 €", "l\u2019été"],
        ),
        ("latin-1", ["Málaga", "Ærø", "Åland", "Ñuñoa"]),
        ("cp1254", ["İstanbul", "Şişli", "doğum", "k\u0131z", "Çankaya", "göğüs"]),
        ("cp1250", ["győr", "fűtő", "nő", "férfi", "körút", "Székesfehérvár"]),
        ("cp1250", ["město", "Plzeň", "žena", "ulice Žižkova", "muž", "Liberec", "Děčín"]),
        ("cp1250", ["gęś", "Łódź", "Wąsik", "ćma", "żona", "Kraków", "imię"]),
        ("cp1250", ["Ioniţă", "Mureş", "mâine", "înalt", "Constanţa", "Braşov"]),
        ("iso8859_2", ["Strážce", "Jiřina", "Děčín", "muž", "Žižkova", "třída"]),
        ("iso8859_2", ["Wąsik", "Łódź", "Świdnica", "źródło", "żona", "imię"]),
        ("cp1257", ["Pļaviņas", "Kārlis", "Šķēle", "Rīga", "Jūrmala", "Ģirts"]),
        ("cp1257", ["Nausėda", "Šiauliai", "Žemaitė", "Kęstutis", "Jūratė", "ąžuolas"]),
        ("cp850", ["Mühldorf", "Straße", "Köln", "Äcker", "Öl", "Gäste"]),
        ("mac_roman", ["Adélaïde", "François", "là-bas", "août", "forêt", "1er étage"]),
        ("iso8859_7", ["Χρέωση (€)", "Επώνυμο", "Πληρωμή", "Δόντι", "Ιατρός", "Υπόλοιπο"]),
        ("cp1251", ["Москва", "Иванов", "улица", "город", "Петров", "работа"]),
        ("cp932", ["東京", "大阪", "ソース", "会社員"]),
        ("cp932", ["認知症 ①", "認知症 ②a", "スズキ カズコ", "新潟市西区", "要介護②", "身体介護"]),
        ("cp949", ["서울", "부산", "회사원", "똠방각하"]),
    ],
)
def test_other_encodings_are_told_and_said(write: Write, codec: str, words: list[str]) -> None:
    """Text that is not UTF-8 is read in its encoding, and a note names the assumption."""
    lines = "".join(f"{i},{words[i % len(words)]},{i % 97}\n" for i in range(60))
    path = write(f"id,word,age\n{lines}".encode(codec))
    frame, notes = read_csv(path)
    assert frame["word"].unique().sort().to_list() == sorted(words)
    assert frame["age"].dtype == pl.Int64
    assert len(notes) == 1
    assert notes[0].startswith(f"{path}: the text is not UTF-8; it was read as ")


@pytest.mark.parametrize(
    ("codec", "words"),
    [
        ("iso8859_7", ["Γεωργίου", "Λάρισας", "Πλήρης"]),
        ("cp1251", ["Иванов", "ул. Мира", "Тверь"]),
        ("koi8_u", ["Иванов", "ул. Мира", "Тверь"]),
        ("cp866", ["Иванов", "ул. Мира", "Тверь"]),
        ("cp1255", ["משה", "חיפה", "תל אביב"]),
        ("cp1256", ["محمد", "القاهرة", "شارع"]),
        ("cp874", ["ชื่อ", "จังหวัด", "เชียงใหม่"]),
    ],
)
def test_a_script_is_told_by_its_letters_where_no_library_tells_it(
    write: Write, monkeypatch: pytest.MonkeyPatch, codec: str, words: list[str]
) -> None:
    """By capitals and small letters where words have them, and by which letters begin words."""
    monkeypatch.setattr(encoding.charset_normalizer, "from_bytes", lambda _: _NothingTold())
    lines = "".join(f"{i},{words[i % len(words)]}\n" for i in range(60))
    frame, notes = read_csv(write(f"id,word\n{lines}".encode(codec)))
    assert frame["word"].unique().sort().to_list() == sorted(words)
    assert len(notes) == 1


class _NothingTold:
    def best(self) -> None:
        """No encoding."""


def test_characters_that_straddle_blocks_are_whole(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block borders inside characters, quotes and line ends change nothing."""
    content = 'a,b\r\n"Zoë""s Café",1\r\n"10 €\r\n",2\r\n'
    for codec, size in [(c, s) for c in ("utf-8", "utf-16", "cp1252") for s in (1, 2, 3, 5)]:
        monkeypatch.setattr(encoding, "_READ_AT_ONCE", size)
        assert rows_of(write(content.encode(codec))) == [('Zoë"s Café', 1), ("10 €\r\n", 2)]


def test_damaged_utf8_is_refused_with_its_line(write: Write) -> None:
    """One broken byte in a UTF-8 file is not a reason to read the rest as another encoding."""
    good = "".join(f"é{i},ü\n" for i in range(50)).encode()
    message = error_of(write(b"a,b\n" + good + b"x\xffy,1\n" + good))
    assert "line 52 is damaged" in message


def test_nul_bytes_are_refused_with_their_line(write: Write) -> None:
    """Binary files that pretend to be CSV are told apart from text."""
    assert "line 3 holds a NUL byte" in error_of(write(b"a,b\r\n1,2\r\n\x00,3\r\n"))
    assert "NUL byte" in error_of(write("a,b\n1,2\n".encode("utf-16-le")))


def test_truncated_utf16_is_refused(write: Write) -> None:
    """Half a character at the end of a UTF-16 file is an error."""
    assert "save the file as UTF-8" in error_of(write("a,b\n1,2\n".encode("utf-16")[:-1]))


@pytest.mark.parametrize(
    ("compression", "compress"),
    [
        ("gzip", gzip.compress),
        ("bz2", bz2.compress),
        ("zstd", lambda data: pa.compress(data, codec="zstd", asbytes=True)),
    ],
)
def test_compressed_files_are_read_and_must_be_whole(
    write: Write, compression: str, compress: Callable[[bytes], bytes]
) -> None:
    """Compressed CSV is CSV; half of it is an error, not half a table."""
    data = compress(b"a,b\n" + "".join(f"{i},é\n" for i in range(999)).encode("cp1252"))
    frame, notes = read_csv(write(data), compression=compression)
    assert frame["a"].to_list() == list(range(999))
    assert len(notes) == 1
    with pytest.raises(TableError, match="truncated or corrupt"):
        read_csv(write(data[: len(data) // 2]), compression=compression)


# Refusals -------------------------------------------------------------------------------------

SECRET = "99887766"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "the file is empty"),
        ("\r\n\n", "the file is empty"),
        ("\ufeff", "the file is empty"),
        ("a,b\n", "there is a header and no row after it"),
        ("a,b", "there is a header and no row after it"),
        ("a,b\n\r\n\n", "there is a header and no row after it"),
        (f"a,b\n1,2\n{SECRET}\n", "line 3 has 1 field where the header has 2 (separator: comma)"),
        (f"a;b\n1;2\n3;4;{SECRET}\n", "line 3 has 3 fields where the header has 2 (separator: s"),
        (f"a,b\n\n1,2\n\n{SECRET}\n1\n", "line 5 has 1 field where the header has 2"),
        (f'a,"b\n"\n"1\n",2\n\n{SECRET}\n', "line 6 has 1 field where the header has 2"),
        (f"a\rb,c\r{SECRET}\r", "line 2 has 2 fields where the header has 1"),
        ("a\n1,5\n", "line 2 has 2 fields where the header has 1"),
        (f'a,b\n1,"{SECRET}\n3,4\n', "line 2: a quotation mark"),
        (f'a,b\n1,"2\n{SECRET},4\n5,"6"\n', "line 4: a quotation mark"),
        (f'a,b\n"1"{SECRET},2\n', "line 2: a quotation mark"),
        ('"a,b\n1,2\n', "quotation mark"),
        ("a,b,a\n1,2,3\n", "columns 1 and 3 are both named 'a'"),
        ("a,,b\n1,2,3\n", "column 2 of 3 has no name"),
        ("a,b,\n1,2,\n", "column 3 of 3 has no name"),
    ],
)
def test_broken_files_are_refused_with_place_and_remedy(
    write: Write, content: str, expected: str
) -> None:
    """Each fault is named with its line and counts, and never with a value of the table."""
    message = error_of(write(content))
    assert expected in message
    assert ";" in message  # a remedy follows
    assert SECRET not in message


def test_ragged_rows_are_found_wherever_they_stand(write: Write) -> None:
    """The line is right far down the file, whatever came before it."""
    rows = "".join(f'{i},"x\n{i}"\n' for i in range(40_000))
    assert "line 80002 has 3 fields" in error_of(write(f"a,b\n{rows}1,2,3\n{rows}"))


def test_rows_longer_than_a_block_are_refused(write: Write) -> None:
    """A row beyond the parser's block is named as such, not as a broken quote."""
    with patch.object(delimited, "_BLOCK", 1000):
        assert "a row is longer than" in error_of(write('a,b\n1,2\n3,"' + "x\n" * 2000 + '"\n'))


# The structure of quotes ----------------------------------------------------------------------


def brute_force_structure(content: str, separator: str) -> bool:
    """Whether quotes only surround whole fields or are doubled, symbol by symbol."""
    inside, i = False, 0
    while i < len(content):
        if content[i] == '"':
            before = content[i - 1] if i else "\n"
            after = content[i + 1] if i + 1 < len(content) else "\n"
            if inside and after == '"':
                i += 1
            elif inside:
                if after not in f"{separator}\r\n":
                    return False
                inside = False
            elif before in f"{separator}\r\n":
                inside = True
            else:
                return False
        i += 1
    return not inside


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    return (content[i : i + size] for i in range(0, len(content), size))


@given(st.text('a"",;\n\r', max_size=14), st.integers(1, 6))
def test_the_vectorized_check_of_quotes_equals_one_symbol_at_a_time(
    content: str, size: int
) -> None:
    """Quotes are judged right for any text, cut into blocks of any size."""
    fault = _misplaced_quote(pieces(content.encode(), size), _Dialect(","))
    assert (fault is None) == brute_force_structure(content, ",")


def test_escaped_quotes_are_not_misplaced() -> None:
    """With a backslash dialect, escaped quotes and escaped backslashes are content."""
    dialect = _Dialect(",", '"', "\\")
    for size in range(1, 8):
        assert _misplaced_quote(pieces(rb'"a\"b","c\\","\\\""', size), dialect) is None
        assert _misplaced_quote(pieces(rb'"a\\"b","c"', size), dialect) is not None


@given(st.text("ab\",;\t|' 1\n\r\\", max_size=60), st.booleans())
def test_detection_never_fails(sample: str, whole: bool) -> None:
    """Any text gets a layout whose header lies within it, or none."""
    layout = _detect_dialect(sample, whole=whole)
    assert layout is None or 0 < layout.header_size <= len(sample.encode())


def test_threads_of_arrow_hold_nothing_of_python(tmp_path, monkeypatch):
    """They outlast the parsing; one that lets go of Python as the process leaves aborts it."""
    seen = []

    def watched(source, **options):
        seen.append((type(source), options["parse_options"].invalid_row_handler))
        return parse(source, **options)

    parse = delimited.csv.read_csv
    monkeypatch.setattr(delimited.csv, "read_csv", watched)
    (tmp_path / "plain.csv").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "latin.csv").write_bytes("a,b\n\u00e9,2\n".encode("latin-1"))
    for name in ("plain.csv", "latin.csv"):
        assert read_csv(tmp_path / name)[0].height == 1
    assert len(seen) == 2
    assert all(issubclass(kind, pa.NativeFile) and kind is not pa.PythonFile for kind, _ in seen)
    assert [handler for _, handler in seen] == [None, None]
