"""The format of a ledger: its tables."""

from __future__ import annotations

import sqlite3

__all__ = ["APPLICATION_ID", "FORMAT", "create_tables", "format_of"]

APPLICATION_ID = 0x566F696C  # "Voil", at byte 68 of the file
FORMAT = 1

_TABLES = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    """CREATE TABLE series (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE CHECK (typeof(name) = 'text'),
        key BLOB NOT NULL CHECK (typeof(key) = 'blob'),
        terms TEXT NOT NULL CHECK (typeof(terms) = 'text'),
        head BLOB NOT NULL CHECK (typeof(head) = 'blob')
    )""",
    """CREATE TABLE version (
        id INTEGER PRIMARY KEY,
        series INTEGER NOT NULL REFERENCES series (id),
        number INTEGER NOT NULL CHECK (typeof(number) = 'integer' AND number >= 1),
        release_id TEXT NOT NULL UNIQUE CHECK (typeof(release_id) = 'text'),
        created TEXT NOT NULL CHECK (typeof(created) = 'text'),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        stands INTEGER NOT NULL CHECK (stands IN (0, 1)),
        UNIQUE (series, number)
    )""",
    """CREATE TABLE part (
        id INTEGER PRIMARY KEY,
        version INTEGER NOT NULL REFERENCES version (id),
        name TEXT NOT NULL CHECK (typeof(name) = 'text'),
        kind TEXT NOT NULL CHECK (kind IN ('uint64', 'int64', 'hexadecimal')),
        scale INTEGER NOT NULL CHECK (typeof(scale) = 'integer'),
        length INTEGER NOT NULL CHECK (typeof(length) = 'integer' AND length >= 0),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        UNIQUE (version, name)
    )""",
    """CREATE TABLE chunk (
        part INTEGER NOT NULL REFERENCES part (id) ON DELETE CASCADE,
        position INTEGER NOT NULL CHECK (typeof(position) = 'integer' AND position >= 0),
        bytes BLOB NOT NULL CHECK (typeof(bytes) = 'blob'),
        PRIMARY KEY (part, position)
    )""",
    """CREATE TABLE lost_version (
        id INTEGER PRIMARY KEY,
        series INTEGER NOT NULL REFERENCES series (id),
        number INTEGER NOT NULL CHECK (typeof(number) = 'integer' AND number >= 1),
        release_id TEXT NOT NULL UNIQUE CHECK (typeof(release_id) = 'text'),
        created TEXT NOT NULL CHECK (typeof(created) = 'text'),
        settled TEXT NOT NULL CHECK (typeof(settled) = 'text'),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob')
    )""",
    """CREATE TABLE data_set (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE CHECK (typeof(name) = 'text'),
        limits TEXT NOT NULL CHECK (typeof(limits) = 'text'),
        head BLOB NOT NULL CHECK (typeof(head) = 'blob')
    )""",
    """CREATE TABLE spending (
        id INTEGER PRIMARY KEY,
        data_set INTEGER NOT NULL REFERENCES data_set (id),
        number INTEGER NOT NULL CHECK (typeof(number) = 'integer' AND number >= 1),
        kind TEXT NOT NULL CHECK (kind IN ('release', 'taken back', 'infeasible', 'abandoned')),
        release_id TEXT NOT NULL CHECK (typeof(release_id) = 'text'),
        created TEXT NOT NULL CHECK (typeof(created) = 'text'),
        events TEXT NOT NULL CHECK (typeof(events) = 'text'),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        UNIQUE (data_set, number),
        UNIQUE (release_id, kind)
    )""",
    """CREATE TABLE pool (
        id INTEGER PRIMARY KEY,
        data_set INTEGER NOT NULL REFERENCES data_set (id),
        state TEXT NOT NULL CHECK (state IN ('waiting', 'taken up')),
        release_id TEXT NOT NULL CHECK (typeof(release_id) = 'text'),
        rows INTEGER NOT NULL CHECK (typeof(rows) = 'integer' AND rows >= 0),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        UNIQUE (data_set, state)
    )""",
    """CREATE TABLE fleet (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE CHECK (typeof(name) = 'text'),
        terms TEXT NOT NULL CHECK (typeof(terms) = 'text'),
        key BLOB NOT NULL CHECK (typeof(key) = 'blob'),
        head BLOB NOT NULL CHECK (typeof(head) = 'blob')
    )""",
    """CREATE TABLE trip_entry (
        id INTEGER PRIMARY KEY,
        fleet INTEGER NOT NULL REFERENCES fleet (id),
        number INTEGER NOT NULL CHECK (typeof(number) = 'integer' AND number >= 1),
        release_id TEXT NOT NULL CHECK (typeof(release_id) = 'text'),
        created TEXT NOT NULL CHECK (typeof(created) = 'text'),
        trips INTEGER NOT NULL CHECK (typeof(trips) = 'integer' AND trips >= 0),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        kind TEXT NOT NULL
            CHECK (kind IN ('release', 'given back', 'infeasible', 'abandoned')),
        laws TEXT NOT NULL CHECK (typeof(laws) = 'text'),
        UNIQUE (fleet, number),
        UNIQUE (release_id, kind)
    )""",
    """CREATE TABLE trip_chunk (
        entry INTEGER NOT NULL REFERENCES trip_entry (id) ON DELETE CASCADE,
        position INTEGER NOT NULL CHECK (typeof(position) = 'integer' AND position >= 0),
        bytes BLOB NOT NULL CHECK (typeof(bytes) = 'blob'),
        PRIMARY KEY (entry, position)
    )""",
    """CREATE TABLE row_set (
        id INTEGER PRIMARY KEY,
        version INTEGER REFERENCES version (id) ON DELETE CASCADE,
        pool INTEGER REFERENCES pool (id) ON DELETE CASCADE,
        role TEXT NOT NULL CHECK (role IN ('published', 'held', 'pool')),
        name TEXT NOT NULL UNIQUE CHECK (typeof(name) = 'text'),
        rows INTEGER NOT NULL CHECK (typeof(rows) = 'integer' AND rows >= 1),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        CHECK ((version IS NULL) <> (pool IS NULL))
    )""",
    # Begins the names of the folders of this ledger, wherever it is copied to.
    "CREATE TABLE row_folder (id TEXT NOT NULL CHECK (typeof(id) = 'text'))",
    "INSERT INTO row_folder SELECT lower(hex(randomblob(8)))",
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty file a ledger, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def format_of(connection: sqlite3.Connection) -> int:
    """The format of a ledger; 0 for an empty file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
