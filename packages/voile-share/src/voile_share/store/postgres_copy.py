"""A store in PostgreSQL as a store in one file, and back: what backups are made of.

A backup of either engine is a store in SQLite, so that one that was made of the one restores to the
other, and no program of the database's version is needed.  Reading is of one state of the database,
while others write; filling is one transaction, into empty tables, so that whoever is killed in it
has changed nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from voile_base.durable import sync
from voile_base.errors import InputError
from voile_share.store.postgres import PostgresStore
from voile_share.store.postgres_connection import DatabaseAddress, explained
from voile_share.store.protocols import StoreError
from voile_share.store.schema import FORMAT, TABLES
from voile_share.store.sql import Row, marks
from voile_share.store.sqlite import SQLiteStore

__all__ = ["file_to_postgres", "postgres_to_file"]

_ROWS = 1_000
"""At a time."""


def postgres_to_file(url: str, path: Path) -> None:
    """Write all that is committed now to a new store in a file.

    Raises ``InputError`` where either cannot be, and where the store has another format than this
    Voile writes: upgrade it first; ``StoreError`` where the server or the disk fails.
    """
    if PostgresStore.format_of(url) != FORMAT:
        msg = "the store in PostgreSQL has an older format: voile share upgrade"
        raise InputError(msg)
    address = DatabaseAddress.of(url)
    SQLiteStore.open(path).close()
    try:
        with closing(sqlite3.connect(path)) as copy:
            copy.execute("PRAGMA journal_mode = DELETE")
            with explained(address.shown), closing(address.connect()) as source:
                source.change("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                for table in TABLES:
                    columns = _columns(copy, table)
                    statement = _insert(table, columns, "")
                    for rows in source.pages(f"SELECT {', '.join(columns)} FROM {table}", _ROWS):  # noqa: S608
                        copy.executemany(statement, rows)
            copy.commit()
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "no code")
        msg = f"{path}: the copy cannot be written ({name}); check the disk and its free space"
        raise StoreError(msg) from None
    sync(path)


def file_to_postgres(path: Path, url: str) -> None:
    """Fill an empty database from a store in a file, in one step.

    Raises ``InputError`` where there is a store in the database already, and ``StoreError``.
    """
    PostgresStore.open(url).close()  # makes the tables
    address = DatabaseAddress.of(url)
    with (
        closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as source,
        explained(address.shown),
        closing(address.connect()) as database,
    ):
        database.change("BEGIN")
        for table in TABLES:
            database.change(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
            if database.rows(f"SELECT 1 FROM {table} LIMIT 1"):  # noqa: S608 - our names
                msg = f"{address.shown}: there is a store in this database; name an empty one"
                raise InputError(msg)
        for table in TABLES:
            columns = _columns(source, table)
            statement = _insert(table, columns, "OVERRIDING SYSTEM VALUE")
            for rows in _pages(source, table, columns):
                database.change_many(statement, rows)
            if columns[0] == "seq":
                database.rows(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'seq'), "  # noqa: S608
                    f"COALESCE(MAX(seq), 1), COUNT(*) > 0) FROM {table}"
                )
        database.change("COMMIT")


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _insert(table: str, columns: Sequence[str], how: str) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) {how} VALUES ({marks(len(columns))})"  # noqa: S608


def _pages(
    connection: sqlite3.Connection, table: str, columns: Sequence[str]
) -> Iterator[Sequence[Row]]:
    cursor = connection.execute(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608 - ours
    while rows := cursor.fetchmany(_ROWS):
        yield rows
