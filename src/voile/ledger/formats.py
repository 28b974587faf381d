"""The formats of a ledger: its tables, and how a ledger of an older format becomes one of the next.

1 knew series.  2 brought data sets and their pools, 3 fleets and their trips.  4 knows what became
of what was charged, which releases of a series are known to stand, and which never appeared.  5
counts reports of trips by the distribution of their loss, and keeps accounts of vehicles by day.  6
refers to rows in files beside it (``row_sets``), where earlier formats kept their bytes:
``file`` moves these.
"""

from __future__ import annotations

import sqlite3

__all__ = [
    "APPLICATION_ID",
    "KNOWS_DATA_SETS",
    "KNOWS_DISTRIBUTIONS",
    "KNOWS_FLEETS",
    "KNOWS_OUTCOMES",
    "KNOWS_ROW_SETS",
    "MIGRATIONS",
    "NAMES_OF_ROWS",
    "format_of",
]

APPLICATION_ID = 0x566F696C  # "Voil", at byte 68 of the file

KNOWS_DATA_SETS, KNOWS_FLEETS, KNOWS_OUTCOMES, KNOWS_DISTRIBUTIONS, KNOWS_ROW_SETS = 2, 3, 4, 5, 6
"""The first formats that know them; older ledgers are read as they are."""

_SCHEMA_1 = (
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
)

_SCHEMA_2 = (
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
        kind TEXT NOT NULL CHECK (kind IN ('release', 'taken back')),
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
        length INTEGER NOT NULL CHECK (typeof(length) = 'integer' AND length >= 0),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        UNIQUE (data_set, state)
    )""",
    """CREATE TABLE pool_chunk (
        pool INTEGER NOT NULL REFERENCES pool (id) ON DELETE CASCADE,
        position INTEGER NOT NULL CHECK (typeof(position) = 'integer' AND position >= 0),
        bytes BLOB NOT NULL CHECK (typeof(bytes) = 'blob'),
        PRIMARY KEY (pool, position)
    )""",
)

_SCHEMA_3 = (
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
        release_id TEXT NOT NULL UNIQUE CHECK (typeof(release_id) = 'text'),
        created TEXT NOT NULL CHECK (typeof(created) = 'text'),
        trips INTEGER NOT NULL CHECK (typeof(trips) = 'integer' AND trips >= 0),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        UNIQUE (fleet, number)
    )""",
    """CREATE TABLE trip_chunk (
        entry INTEGER NOT NULL REFERENCES trip_entry (id) ON DELETE CASCADE,
        position INTEGER NOT NULL CHECK (typeof(position) = 'integer' AND position >= 0),
        bytes BLOB NOT NULL CHECK (typeof(bytes) = 'blob'),
        PRIMARY KEY (entry, position)
    )""",
)

_SCHEMA_4 = (
    # What became of what was charged, and releases of series that never appeared.
    """CREATE TABLE new_spending (
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
    "INSERT INTO new_spending SELECT * FROM spending",
    "DROP TABLE spending",
    "ALTER TABLE new_spending RENAME TO spending",
    """CREATE TABLE new_trip_entry (
        id INTEGER PRIMARY KEY,
        fleet INTEGER NOT NULL REFERENCES fleet (id),
        number INTEGER NOT NULL CHECK (typeof(number) = 'integer' AND number >= 1),
        release_id TEXT NOT NULL CHECK (typeof(release_id) = 'text'),
        created TEXT NOT NULL CHECK (typeof(created) = 'text'),
        trips INTEGER NOT NULL CHECK (typeof(trips) = 'integer' AND trips >= 0),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        kind TEXT NOT NULL DEFAULT 'release'
            CHECK (kind IN ('release', 'given back', 'infeasible', 'abandoned')),
        UNIQUE (fleet, number),
        UNIQUE (release_id, kind)
    )""",
    "INSERT INTO new_trip_entry SELECT *, 'release' FROM trip_entry",
    "DROP TABLE trip_entry",
    "ALTER TABLE new_trip_entry RENAME TO trip_entry",
    # Null for releases of older formats: it is not known.
    "ALTER TABLE version ADD COLUMN stands INTEGER CHECK (stands IN (0, 1))",
    """CREATE TABLE lost_version (
        id INTEGER PRIMARY KEY,
        series INTEGER NOT NULL REFERENCES series (id),
        number INTEGER NOT NULL CHECK (typeof(number) = 'integer' AND number >= 1),
        release_id TEXT NOT NULL UNIQUE CHECK (typeof(release_id) = 'text'),
        created TEXT NOT NULL CHECK (typeof(created) = 'text'),
        settled TEXT NOT NULL CHECK (typeof(settled) = 'text'),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob')
    )""",
)

_SCHEMA_5 = (
    # Null for entries of older formats, whose records have neither days nor distributions.
    "ALTER TABLE trip_entry ADD COLUMN laws TEXT CHECK (typeof(laws) IN ('text', 'null'))",
)

NAMES_OF_ROWS = (
    # Begins the names of the folders of this ledger, wherever it is copied to.  It has it before
    # there is any, so that what a failed upgrade leaves behind is known again.
    "CREATE TABLE IF NOT EXISTS row_folder (id TEXT NOT NULL CHECK (typeof(id) = 'text'))",
    "INSERT INTO row_folder SELECT lower(hex(randomblob(8))) "
    "WHERE NOT EXISTS (SELECT id FROM row_folder)",
)

_SCHEMA_6 = (
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
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _SCHEMA_1,
    _SCHEMA_2,
    _SCHEMA_3,
    _SCHEMA_4,
    _SCHEMA_5,
    _SCHEMA_6,
)
"""Statements that lead from ``user_version`` i to i + 1.  Append; never change an old entry."""


def format_of(connection: sqlite3.Connection) -> int:
    """The format of a ledger; 0 for an empty file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
