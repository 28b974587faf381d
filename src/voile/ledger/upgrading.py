"""How a ledger of an older format becomes one of the present, in one transaction.

Formats before 6 had the marks of rows, and the rows that wait, as bytes in the ledger.  They are
written to the folder beside it (``row_sets``), and what was sealed over them is sealed anew; before
that the old seals must hold.  A ledger that fails on the way stays as it was.

Cost: one pass over these bytes, once.
"""

from __future__ import annotations

import sqlite3

from voile.errors import LedgerError, TableError
from voile.ledger import formats, records, spending
from voile.ledger.formats import KNOWS_ROW_SETS, format_of
from voile.ledger.row_sets import RowFolder, Stage, refer

__all__ = ["migrate"]

_AFTERWARDS = ("DROP TABLE pool_chunk", "ALTER TABLE pool DROP COLUMN length")


def migrate(connection: sqlite3.Connection, folder: RowFolder) -> None:
    """Bring an older ledger, or an empty file, to the present format.

    Raises ``LedgerError`` where its seals do not hold, or its rows cannot be written.
    """
    # A table that is made anew must not take the records with it that refer to it.
    connection.execute("PRAGMA foreign_keys = OFF")
    if format_of(connection) < KNOWS_ROW_SETS:
        connection.execute("BEGIN IMMEDIATE")
        for statement in formats.NAMES_OF_ROWS:
            connection.execute(statement)
        connection.execute("COMMIT")
    connection.execute("BEGIN IMMEDIATE")
    before = format_of(connection)
    for statements in formats.MIGRATIONS[before:]:
        for statement in statements:
            connection.execute(statement)
    if before < KNOWS_ROW_SETS:
        with folder.changing(connection) as stage:
            try:
                _move_rows(connection, folder, stage)
            except (ValueError, TableError) as error:
                msg = (
                    f"{folder.ledger}: the ledger cannot be brought to the format of this Voile: "
                    f"{error}. It is as it was; check it with `voile ledger verify`, and restore "
                    "it from a backup"
                )
                raise LedgerError(msg) from None
            for statement in _AFTERWARDS:
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(formats.MIGRATIONS)}")
    connection.execute("COMMIT")
    connection.execute("PRAGMA foreign_keys = ON")


def _move_rows(connection: sqlite3.Connection, folder: RowFolder, stage: Stage) -> None:
    """Write all rows that the ledger holds beside it, and seal what has them anew."""
    for name in records.series_names(connection):
        series = records.find_series(connection, name)
        assert series is not None, "names and records are read in one transaction"
        history = records.read_history(connection, series, folder, _refuse)
        stored = records.version_records(connection, series)
        for record, version in zip(stored, history.versions, strict=True):
            refer(connection, "version", record.id, "published", stage(version.published))
            refer(connection, "version", record.id, "held", stage(version.held))
        connection.execute(
            "DELETE FROM part WHERE name IN ('published', 'published.contents', 'held', "
            "'held.contents') AND version IN (SELECT id FROM version WHERE series = ?)",
            (series.id,),
        )
    # Foreign keys are off here, so that what parts were made of does not go with them.
    connection.execute("DELETE FROM chunk WHERE part NOT IN (SELECT id FROM part)")
    for name in records.series_names(connection):
        records.reseal(connection, name)
    spending.move_pools(connection, stage, _refuse)


def _refuse(what: str) -> None:
    raise ValueError(what)
