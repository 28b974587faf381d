"""Tables and queries of databases: read whole, or refused without a word of what drivers say."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

import voile
from voile.schema.plan import parse_plan
from voile.table.places import Address, place_of
from voile.table.reading import list_columns, read_frame
from voile_base.errors import InputError, VoileError
from voile_testing.processes import PostgresServer

SECRET = "hunter2"
ROWS = [(1, "a", 1.5), (2, None, 2.5), (3, "c", None), (4, "a", 4.0)]


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    """A table of stays."""
    file = tmp_path / "hospital.db"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE stays (id INTEGER, ward TEXT, pay REAL)")
    connection.executemany("INSERT INTO stays VALUES (?, ?, ?)", ROWS)
    connection.commit()
    connection.close()
    return file


@pytest.fixture
def duckdb_file(tmp_path: Path) -> Path:
    """The same, with exact decimals."""
    file = tmp_path / "hospital.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE stays (id HUGEINT, ward TEXT, pay DECIMAL(9, 2))")
        connection.executemany("INSERT INTO stays VALUES (?, ?, ?)", ROWS)
    return file


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request: pytest.FixtureRequest) -> str:
    """The address of a database, without what is asked of it."""
    return f"{request.param}:{request.getfixturevalue(f'{request.param}_file')}"


def message(address: str) -> str:
    """What is said of an address that is refused."""
    with pytest.raises(VoileError) as caught:
        read_frame(place_of(address))
    assert caught.value.exit_status == 2
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_a_table_and_a_select_are_read(database: str) -> None:
    """By its name, quoted or not, or as a query says; decimals and huge numbers as numbers."""
    for asked in ("stays", '"stays"', "SELECT * FROM stays;", "main.stays"):
        read = read_frame(place_of(f"{database}#{asked}"))
        assert read.frame.rows() == ROWS
    assert list(list_columns(place_of(f"{database}#stays"))) == ["id", "ward", "pay"]
    query = "with s as (select * from stays where id > 2) select pay, id from s order by id"
    assert read_frame(place_of(f"{database}#{query}")).frame.rows() == [(None, 3), (4.0, 4)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("SELECT * FROM stays WHERE id > 9", "has columns and no row"),
        ("SELECT id, ward, id FROM stays", "columns 1 and 3 are both named 'id'"),
        (f"SELECT {SECRET} FROM stays", "refuses what was asked"),
        ("none", "refuses what was asked"),
        ("WITH s AS (SELECT 1) DELETE FROM stays", "refuses what was asked|cannot be opened"),
        ("", "must say what to read"),
        ("DELETE FROM stays; --", "must say what to read"),
        (f"DELETE FROM {SECRET}", "must say what to read"),
        (f"SELECT * FROM stays; DROP TABLE {SECRET}", "2 statements"),
        (f"stays; DELETE FROM {SECRET}", "2 statements"),
        (f"SELECT ';' FROM stays /* ; */; -- {SECRET}\n SELECT 2", "2 statements"),
        (f"no such table of {SECRET}", "#a table: the database refuses"),
    ],
)
def test_what_gives_no_table_is_refused(database: str, asked: str, said: str) -> None:
    """No row, twins, a wrong name, no SELECT: told apart, and nothing of a query is repeated."""
    assert re.search(said, message(f"{database}#{asked}"))
    assert read_frame(place_of(f"{database}#stays")).frame.height == len(ROWS)


def test_looking_for_a_database_makes_none(database: str) -> None:
    """A file that is not there is said to be not there, and one of another kind refused."""
    scheme, _, file = database.partition(":")
    missing = Path(file).with_name("none.db")
    assert "no such database file" in message(f"{scheme}:{missing}#stays")
    assert not missing.exists()
    missing.write_bytes(b"no database " * 400)
    assert "#stays: the database" in message(f"{scheme}:{missing}#stays")


def test_a_database_that_is_cut_off_is_refused(sqlite_file: Path) -> None:
    """SQLite would read zeros, and so missing values, where pages are not there."""
    whole = sqlite_file.read_bytes()
    for length in (len(whole) - 1, len(whole) // 2 + 200, 600):
        sqlite_file.write_bytes(whole[:length])
        assert "the database file is cut off" in message(f"sqlite:{sqlite_file}#stays")


@pytest.mark.parametrize("source", ["'table.csv'", "'https://example.org/t.parquet'"])
def test_a_query_reaches_nothing_but_its_database(
    duckdb_file: Path, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB reads no other file, and fetches no extension that would."""
    (tmp_path / "table.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    assert "refuses" in message(f"duckdb:{duckdb_file}#SELECT * FROM {source}")


@pytest.mark.parametrize(
    "location",
    [f"//voile:{SECRET}@host/db", f"//host/db?password={SECRET}", f"dbname=x password={SECRET}"],
)
def test_an_address_with_a_password_is_refused(location: str) -> None:
    """Before anything is opened, and without the password."""
    said = message(f"postgresql:{location}#stays")
    assert "PGPASSWORD" in said
    assert "host" not in said


def test_addresses_name_no_query() -> None:
    """A query may quote values; messages name the database alone."""
    address = place_of(f"postgresql://host/db#select * from stays where name = '{SECRET}'")
    assert isinstance(address, Address)
    assert str(address) == "postgresql://host/db#a query"


def test_a_semicolon_in_a_text_or_at_the_end_parts_nothing(database: str) -> None:
    """Literals, quoted names and comments may hold one, and a statement may end in several."""
    for asked in (
        "SELECT id, 'a;b' AS \"c;d\" FROM stays -- ; e",
        "SELECT id /* f; g */, 'it''s;' AS x FROM stays ; ; -- done",
    ):
        assert read_frame(place_of(f"{database}#{asked}")).frame.height == len(ROWS)


@pytest.mark.parametrize("scheme", ["", "mysql:", "sqlite3:"])
def test_a_query_without_an_address_is_not_repeated(scheme: str) -> None:
    """Who forgets the scheme is told so, and the query stays where it is."""
    said = message(f"{scheme}hospital.db#SELECT * FROM stays WHERE name = '{SECRET}'")
    assert "begins with duckdb:" in said


def test_a_database_is_published(sqlite_file: Path, tmp_path: Path) -> None:
    """From an address to a release, as from a file; Parquet, since a database is no format."""
    plan = parse_plan(
        {
            "nulls": "category",
            "roles": {"quasi_identifiers": ["ward"], "sensitive": ["pay"], "person": "row"},
            "method": {"name": "generalization", "k": 2},
        }
    )
    voile.make_release(f"sqlite:{sqlite_file}#stays", plan, tmp_path / "out")
    assert (tmp_path / "out" / "data.parquet").is_file()


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL of our own."""
    made = PostgresServer()
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_a_server_is_read_and_not_written(server: PostgresServer) -> None:
    """Tables, schemas, exact decimals; whatever writes is refused."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE stays (id INT, ward TEXT, pay NUMERIC(9, 2), day DATE)")
        for row in ROWS:
            connection.execute("INSERT INTO stays VALUES (%s, %s, %s, '2020-01-02')", row)
    address = f"postgresql://voile@/postgres?host={server.folder}"
    for asked in ("stays", "public.stays", "SELECT * FROM stays ORDER BY id"):
        frame = read_frame(place_of(f"{address}#{asked}")).frame
        assert frame.drop("day").rows() == ROWS
        assert str(frame["day"][0]) == "2020-01-02"
    assert "both named" in message(f"{address}#SELECT id, id FROM stays")
    assert "no row" in message(f"{address}#SELECT * FROM stays WHERE id > 9")
    writing = "WITH gone AS (DELETE FROM stays RETURNING *) SELECT * FROM gone"
    assert "the database" in message(f"{address}#{writing}")
    assert read_frame(place_of(f"{address}#stays")).frame.height == len(ROWS)
    assert "cannot be opened" in message(
        f"postgresql://nobody@/postgres?host={server.folder}#stays"
    )


def test_a_server_that_goes_away_half_way_leaves_nothing(
    server: PostgresServer, tmp_path: Path
) -> None:
    """The connection ends after many rows were sent: no release, no part of one."""
    query = (
        "SELECT i, CASE WHEN i = 150000 THEN pg_terminate_backend(pg_backend_pid()) END AS gone "
        "FROM generate_series(1, 200000) AS i"
    )
    plan = parse_plan(
        {
            "nulls": "category",
            "roles": {"quasi_identifiers": ["i"], "person": "row"},
            "method": {"name": "generalization", "k": 2},
        }
    )
    address = f"postgresql://voile@/postgres?host={server.folder}#{query}"
    with pytest.raises(InputError, match="the database"):
        voile.make_release(address, plan, tmp_path / "out")
    assert not list(tmp_path.iterdir())
