"""The tables of a store, for both engines, and how a database gets from one format to the next.

``seq`` is the order of creation.  Where it numbers submissions it is also what a truck asks from,
so numbers are never used twice.  Tables of the log refer to none of the directory: a log may stand
alone, and its trucks need not be known.
"""

from __future__ import annotations

from collections.abc import Mapping

from voile.errors import InputError
from voile.sharing.store.sql import Connection

__all__ = ["FORMAT", "POSTGRES", "SQLITE", "migrate", "refuse_newer"]

SQLITE: Mapping[str, str] = {
    "bytes": "BLOB",
    "whole": "INTEGER",
    "real": "REAL",
    "text": "TEXT",
    "seq": "seq INTEGER PRIMARY KEY AUTOINCREMENT",
    "table": "STRICT",
    # Rows that are small or asked for in the order of their key lie in its index.
    "clustered": "STRICT, WITHOUT ROWID",
    "updated": "STRICT, WITHOUT ROWID",
}
POSTGRES: Mapping[str, str] = {
    "bytes": "BYTEA",
    "whole": "BIGINT",
    "real": "DOUBLE PRECISION",
    "text": "TEXT",
    "seq": "seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "table": "",
    "clustered": "",
    # Room for new versions of a row on its page, since each report replaces one.
    "updated": "WITH (fillfactor = 50)",
}

_FORMAT_1 = (
    """CREATE TABLE companies (
        {seq},
        company {text} NOT NULL UNIQUE,
        name {text} NOT NULL,
        created {real} NOT NULL,
        closed {real}
    ) {table}""",
    """CREATE TABLE tokens (
        {seq},
        hash {bytes} NOT NULL UNIQUE,
        role {text} NOT NULL,
        holder {text} NOT NULL,
        created {real} NOT NULL,
        expires {real},
        revoked {real}
    ) {table}""",
    "CREATE INDEX tokens_of_holder ON tokens (role, holder)",
    """CREATE TABLE trucks (
        {seq},
        truck {bytes} NOT NULL UNIQUE,
        company {text} NOT NULL REFERENCES companies (company),
        card {bytes} NOT NULL,
        secrets {bytes},
        created {real} NOT NULL,
        retired {real}
    ) {table}""",
    "CREATE INDEX trucks_of_company ON trucks (company, seq)",
    """CREATE TABLE devices (
        {seq},
        hash {bytes} NOT NULL UNIQUE,
        truck {bytes} NOT NULL REFERENCES trucks (truck),
        device {text} NOT NULL,
        issued {real} NOT NULL,
        expires {real},
        revoked {real}
    ) {table}""",
    "CREATE INDEX devices_of_truck ON devices (truck, seq)",
    """CREATE TABLE parcels (
        {seq},
        truck {bytes} NOT NULL REFERENCES trucks (truck),
        parcel {bytes} NOT NULL,
        sender {bytes},
        receiver {bytes},
        destination {bytes},
        created {real} NOT NULL,
        ended {real}
    ) {table}""",
    "CREATE UNIQUE INDEX parcels_carried ON parcels (truck, parcel) WHERE ended IS NULL",
    """CREATE TABLE mail (
        {seq},
        truck {bytes} NOT NULL REFERENCES trucks (truck),
        digest {bytes} NOT NULL,
        message {bytes} NOT NULL,
        received {real} NOT NULL,
        UNIQUE (truck, digest)
    ) {table}""",
    "CREATE INDEX mail_of_truck ON mail (truck, seq)",
    "CREATE INDEX mail_by_time ON mail (received)",
    """CREATE TABLE links (
        {seq},
        hash {bytes} NOT NULL UNIQUE,
        truck {bytes} NOT NULL REFERENCES trucks (truck),
        created {real} NOT NULL,
        expires {real} NOT NULL,
        revoked {real}
    ) {table}""",
    "CREATE INDEX links_of_truck ON links (truck, seq)",
    # A row without a state is of a retired truck, and none is written into it again.
    """CREATE TABLE states (
        truck {bytes} NOT NULL PRIMARY KEY,
        state {bytes}
    ) {updated}""",
    """CREATE TABLE heads (
        truck {bytes} NOT NULL PRIMARY KEY,
        slot {whole} NOT NULL,
        number {whole} NOT NULL,
        digest {bytes} NOT NULL
    ) {updated}""",
    """CREATE TABLE records (
        truck {bytes} NOT NULL,
        number {whole} NOT NULL,
        record {bytes} NOT NULL,
        PRIMARY KEY (truck, number)
    ) {clustered}""",
    """CREATE TABLE reports (
        {seq},
        truck {bytes} NOT NULL,
        slot {whole} NOT NULL,
        message {bytes} NOT NULL,
        UNIQUE (truck, slot)
    ) {table}""",
    "CREATE UNIQUE INDEX reports_by_slot ON reports (slot, truck)",
)

_FORMAT_2 = ("CREATE INDEX devices_by_name ON devices (device)",)

_FORMAT_3 = (
    "ALTER TABLE trucks ADD COLUMN own_keys {whole} NOT NULL DEFAULT 0",
    # Of those that were retired before it is not known any more.
    "UPDATE trucks SET own_keys = 1 WHERE secrets IS NULL AND retired IS NULL",
)

_FORMAT_4 = ("ALTER TABLE links ADD COLUMN mails {whole} NOT NULL DEFAULT 0",)

_FORMATS: tuple[tuple[str, ...], ...] = (_FORMAT_1, _FORMAT_2, _FORMAT_3, _FORMAT_4)
"""Statements that lead from format i to i + 1.  Append; never change an old entry."""

FORMAT = len(_FORMATS)


def migrate(connection: Connection, format_: int, words: Mapping[str, str]) -> None:
    """Lead a database of an older format, 0 being an empty one, to the present one."""
    for statements in _FORMATS[format_:]:
        for statement in statements:
            connection.change(statement.format_map(words))


def refuse_newer(where: str, format_: int) -> None:
    """Raise ``InputError`` for the format of a Voile to come."""
    if format_ > FORMAT:
        msg = (
            f"{where}: the store has format {format_}, and this Voile knows formats up to "
            f"{FORMAT}; update Voile"
        )
        raise InputError(msg)
