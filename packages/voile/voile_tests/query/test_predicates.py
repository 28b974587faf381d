"""Predicates mean in Polars what they mean in SQL: against SQLite, and where dialects differ."""

import sqlite3
from datetime import date, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.query.parsing import QueriedColumns, parse_predicate
from voile.table.arrays import kind_of_type
from voile.table.opening import published_rows
from voile_testing.plugin import examples

INTEGERS = st.none() | st.integers(-4, 4)
DECIMALS = st.none() | st.sampled_from([-1.5, 0.0, 0.1, 0.5, 2.0])
TEXTS = st.none() | st.sampled_from(["", "a", "A", "ab", "it's", "b%", "b_c", "é", " a ", "1"])
TRUTHS = st.none() | st.booleans()

SCHEMA = {
    "i": pl.Int64,
    "j": pl.Int8,
    "x": pl.Float64,
    "s": pl.String,
    "t": pl.String,
    "b": pl.Boolean,
}


def matching(frame, predicate, sensitive="salary"):
    """The indices of the rows for which a predicate holds."""
    kinds = {name: kind_of_type(dtype) for name, dtype in frame.schema.items()}
    if "f" in kinds and frame.schema["f"] == pl.Float32:
        kinds["f"] = "single"
    sql = parse_predicate(predicate, QueriedColumns({**kinds, sensitive: "integer"}, sensitive))
    counted = published_rows(frame.with_row_index("row")).count_matching(sql, "row")
    return sorted(counted)


def matching_in_sqlite(frame, predicate):
    database = sqlite3.connect(":memory:")
    try:
        database.execute("PRAGMA case_sensitive_like = ON")
        database.execute(f"CREATE TABLE people (row, {', '.join(frame.columns)})")
        slots = ", ".join("?" * (frame.width + 1))
        rows = frame.with_row_index("row").rows()
        database.executemany(f"INSERT INTO people VALUES ({slots})", rows)
        found = database.execute(f"SELECT row FROM people WHERE {predicate} ORDER BY row")
        return [row for (row,) in found]
    finally:
        database.close()


@st.composite
def frames(draw):
    kinds = {"i": INTEGERS, "j": INTEGERS, "x": DECIMALS, "s": TEXTS, "t": TEXTS, "b": TRUTHS}
    rows = draw(st.integers(1, 8))
    columns = {
        name: draw(st.lists(values, min_size=rows, max_size=rows)) for name, values in kinds.items()
    }
    return pl.DataFrame(columns, schema=SCHEMA)


def sql_text(text):
    return "'" + text.replace("'", "''") + "'"


def combine(template, *parts):
    return st.tuples(*parts).map(lambda chosen: template.format(*chosen))


def one_of(*choices):
    return st.sampled_from(choices)


NUMBER_ATOMS = one_of("i", "j", "x", "0", "1", "2", "-3", "0.5", "NULL", "1e0")
NUMBERS = st.recursive(
    NUMBER_ATOMS,
    lambda number: st.one_of(
        combine("{} {} {}", number, one_of("+", "-", "*"), number),
        combine("({})", number),
        combine("CAST({} AS REAL) / {}", number, number),
        combine("(({}) % 3)", one_of("i", "j", "i - 4")),
        combine("- {}", number),
        combine("ABS({})", number),
        combine("COALESCE({}, {})", number, number),
        combine("NULLIF({}, {})", number, number),
        combine("CASE WHEN {} > {} THEN {} ELSE {} END", number, number, number, number),
    ),
    max_leaves=4,
)
STRINGS = st.recursive(
    one_of("s", "t", "NULL") | TEXTS.filter(bool).map(sql_text),
    lambda text: st.one_of(
        combine("{} || {}", text, text),
        combine("LOWER({})", one_of("s", "t")).map(
            lambda sql: f"LOWER(REPLACE({sql[6:-1]}, 'é', 'e'))"
        ),
        combine("TRIM({})", text),
        combine("SUBSTR({}, {}, {})", text, one_of(1, 2), one_of(0, 1, 9)),
        combine("REPLACE({}, 'a', '$0.')", text),
        combine("COALESCE({}, {})", text, text),
        combine("CASE {} WHEN 'a' THEN {} END", text, text),
    ),
    max_leaves=3,
)
COMPARISON = one_of("=", "<>", "!=", "<", "<=", ">", ">=")
CONDITION_ATOMS = st.one_of(
    combine("{} {} {}", NUMBERS, COMPARISON, NUMBERS),
    combine("{} {} {}", STRINGS, COMPARISON, STRINGS),
    combine("{} {}BETWEEN {} AND {}", NUMBERS, one_of("", "NOT "), NUMBERS, NUMBERS),
    combine("{} {}IN ({}, {})", NUMBERS, one_of("", "NOT "), NUMBERS, NUMBERS),
    combine("{} {}IN ('a', {})", STRINGS, one_of("", "NOT "), one_of("'ab'", "NULL", "t")),
    combine("{} {}LIKE {}", STRINGS, one_of("", "NOT "), one_of("'a%'", "'_'", "'%b\\%'", "'b_c'")),
    combine("{} IS {}NULL", one_of("i", "x", "s", "b", "i + j"), one_of("", "NOT ")),
    combine("{} IS {}DISTINCT FROM {}", one_of("i", "x"), one_of("", "NOT "), NUMBER_ATOMS),
    combine("LENGTH({}) {} {}", STRINGS, COMPARISON, one_of(0, 1, 2)),
    one_of("b", "NOT b", "b = TRUE", "b IS TRUE", "b IS NOT FALSE", "NULL", "TRUE", "1 = 1"),
)
CONDITIONS = st.recursive(
    CONDITION_ATOMS,
    lambda condition: st.one_of(
        combine("{} {} {}", condition, one_of("AND", "OR"), condition),
        combine("({})", condition),
        combine("NOT {}", condition),
        combine("({}) IS {}TRUE", condition, one_of("", "NOT ")),
        combine("CASE WHEN {} THEN {} ELSE b END", condition, condition),
    ),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(frames(), CONDITIONS)
def test_predicates_match_the_rows_that_sqlite_matches(frame, predicate):
    """Random predicates select the same rows in a second evaluator of SQL."""
    assert matching(frame, predicate) == matching_in_sqlite(frame, predicate)


PEOPLE = pl.DataFrame(
    {
        "age": [17, 52, None],
        "hours-per-week": [20, 41, 60],
        "native country": ["Peru", "Cuba", "Peru"],
        "Sex": ["F", "M", None],
        "f": [0.1, 0.5, 1.0],
        "born": [date(2006, 1, 1), date(1971, 5, 2), None],
        "seen": [datetime(2024, 1, 1, 8), datetime(2024, 1, 2), None],
        "level": ["low", "high", None],
        "id": [2**64 - 1, 2**63, 7],
        "nothing": [None, None, None],
    },
    schema_overrides={
        "age": pl.UInt8,
        "f": pl.Float32,
        "level": pl.Enum(["low", "high"]),
        "id": pl.UInt64,
    },
)


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        ("age - 50 < 0", [0]),
        ("-age < -20", [1]),
        ("age * age * age > 5000", [1]),
        ("id > 18446744073709551614", [0]),
        ("id + 1 = 18446744073709551616", [0]),
        ("id * id * id > 1e50", [0, 1]),
        ("age / 2 = 8.5", [0]),
        ("age / 0 > 1", []),
        ("age % 0 = 1", []),
        ("f % 0 > 1 OR f % 0 <= 1", []),
        ("-age % 3 = -2", [0]),
        ("MOD(age, 10) = 2", [1]),
        ("FLOOR(age / 10) = 1 OR CEIL(f) = 1 AND age = 52", [0, 1]),
        ("f = 0.1", [0]),
        ("f IN (0.1, 1)", [0, 2]),
        ("hours-per-week > 40", [1, 2]),
        ("hours-per-week*2 > 100 OR age=17", [0, 2]),
        ('"hours-per-week" > 40 AND "native country" = \'Cuba\'', [1]),
        ("sex = 'M'", [1]),
        ("SEX ILIKE 'm'", [1]),
        ("level > 'high'", [0]),
        ("level LIKE 'hi%'", [1]),
        ("born > '2000-01-01'", [0]),
        ("born IN (DATE '1971-05-02', NULL)", [1]),
        ("born BETWEEN '1971-01-01' AND CAST('1972-01-01' AS DATE)", [1]),
        ("EXTRACT(YEAR FROM born) * 1000000 = 1971000000 AND MONTH(born) = 5", [1]),
        ("seen > '2024-01-01 12:00'", [1]),
        ("seen > TIMESTAMP '2024-01-01 07:59:59.5'", [0, 1]),
        ("seen > born", [0, 1]),
        ("CAST(seen AS DATE) = '2024-01-01'", [0]),
        ("EXTRACT(HOUR FROM seen) = 8", [0]),
        ("nothing IS NULL AND (nothing > 3) IS NOT TRUE", [0, 1, 2]),
        ("LEFT(sex, 1) || RIGHT(level, 2) = 'Mgh'", [1]),
        ("CONCAT(sex, '!') = '!'", [2]),
        ("STARTS_WITH(level, 'lo') OR ENDS_WITH(level, 'gh')", [0, 1]),
        ("CAST(age AS VARCHAR) = '17' OR CAST('52' AS INTEGER) = age", [0, 1]),
        ("TRIM(LEADING 'P' FROM \"native country\") = 'eru'", [0, 2]),
        ("SIGN(age - 20) = -1", [0]),
        ("age NOT IN (17)", [1]),
        ("age::int > 18", [1]),
        (" OR ".join(f"age = {number}" for number in range(3000)), [0, 1]),
        (f"age IN ({', '.join(map(str, range(20, 3000)))})", [1]),
    ],
)
def test_meaning_where_dialects_or_types_differ(predicate, rows):
    """Narrow types never wrap round, names are found, dates are read, unknown never matches."""
    assert matching(PEOPLE, predicate) == rows


@pytest.mark.parametrize(
    "name", ["a b", 'say "hi"', "semi;colon", "--", "it's", "select", "hours per-week", "é", "a.b"]
)
def test_any_name_works_in_double_quotes(name):
    """Whatever a column is called, a predicate can speak of it."""
    frame = pl.DataFrame({name: [1, 2]})
    quoted = '"' + name.replace('"', '""') + '"'
    assert matching(frame, f"{quoted} = 2") == [1]


def test_a_subtraction_stays_one_where_its_parts_are_columns():
    """With columns a, b and a-b, the text a-b is the difference and "a-b" the column."""
    frame = pl.DataFrame({"a": [5], "b": [3], "a-b": [100]})
    assert matching(frame, "a-b = 2") == [0]
    assert matching(frame, '"a-b" = 100') == [0]
