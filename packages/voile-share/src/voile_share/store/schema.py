"""The tables of a store, for both engines: their formats, and what is done to them over the years.

``seq`` is the order of creation.  Where it numbers submissions it is also what a truck asks from,
so numbers are never used twice.  Tables of the log refer to none of the directory: a log may stand
alone, and its trucks need not be known.

Formats are numbered, and each step to the next is one transaction that writes the number of the
format, too: whoever is killed in it leaves the format before it, and the next that opens the store
goes on there.  Alembic was looked at and does not fit: it takes a migration of SQLite for several
transactions (its ``transactional_ddl`` is off there), and brings SQLAlchemy as a second way to the
database, which knows nothing of our pragmas, our private file and our checks of what is a store.
yoyo keeps a row as its lock, which one that was killed leaves behind for hands to break.  What both
would spare are the forty lines below.

What a database must be able to do for a store: the little that SQLite and PostgreSQL differ in.

Statements are written once, in the SQL that both read, with ``?`` for values; ``conflicts`` of
unique values are met by ``ON CONFLICT`` and not by errors, since databases write the values that
offended into their errors and logs.

Over the years values are sealed anew, and what a company has is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from voile_base.errors import InputError
from voile_share.protocol import Record, RejectedError

__all__ = [
    "FORMAT",
    "MOST_VALUES",
    "POSTGRES",
    "SQLITE",
    "TABLES",
    "Connection",
    "Database",
    "Row",
    "SQLUpkeep",
    "SealedColumn",
    "checked_text",
    "marks",
    "migrate_once",
    "refuse_newer",
]

Row = tuple[Any, ...]
T = TypeVar("T")

MOST_VALUES = 500
"""How many things one statement names at most."""


class Connection(Protocol):
    """Inside one transaction."""

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """What a query, or a change that returns something, gives."""

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run one statement; how many rows it changed."""

    def change_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run one statement with each of these values."""


class Database(Protocol):
    """A database; may be shared by threads.

    Raises ``StoreError`` where the database cannot do its work now, having changed nothing;
    ``ConflictError`` where what a row refers to is absent.
    """

    @property
    def locking(self) -> str:
        """What is put after a query whose rows nobody else may change before the commit."""

    def read(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """What one query gives, of one state of the database."""

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction; durable when this returns, undone if it raises.

        ``work`` may be run again where the database asks for that: let it change nothing else.
        """

    def foreign_writes(self) -> int | None:
        """See ``Directory``."""

    def close(self) -> None:
        """Close all connections."""


def marks(count: int, mark: str = "?") -> str:
    """``?, ?, ?`` for so many values."""
    return ", ".join([mark] * count)


def checked_text(name: str, text: str) -> str:
    """The text; raises ``InputError`` for one that not every database can keep."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        msg = f"{name} must be a text of Unicode without the character of code 0"
        raise InputError(msg)
    return text


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

_TABLES_OF_REPORTS = (
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
        retired {real},
        own_keys {whole} NOT NULL DEFAULT 0
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
    "CREATE INDEX devices_by_name ON devices (device)",
    """CREATE TABLE parcels (
        {seq},
        truck {bytes} NOT NULL REFERENCES trucks (truck),
        parcel {bytes} NOT NULL,
        sender {bytes},
        receiver {bytes},
        destination {bytes},
        created {real} NOT NULL,
        ended {real},
        carrier {bytes}
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
    # A link to a parcel has a truck only while the parcel is on one.
    """CREATE TABLE links (
        {seq},
        hash {bytes} NOT NULL UNIQUE,
        company {text} NOT NULL,
        truck {bytes} REFERENCES trucks (truck),
        created {real} NOT NULL,
        expires {real} NOT NULL,
        revoked {real},
        follows_parcel {whole} NOT NULL,
        label {bytes},
        notice {bytes},
        mails {whole} NOT NULL
    ) {table}""",
    "CREATE INDEX links_of_truck ON links (truck, seq)",
    "CREATE INDEX links_of_company ON links (company, seq)",
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
    # What past drives teach of arrivals: one sealed document of each company, and its key.
    """CREATE TABLE arrivals (
        company {text} NOT NULL PRIMARY KEY REFERENCES companies (company),
        version {whole} NOT NULL,
        secret {bytes} NOT NULL,
        past {bytes} NOT NULL,
        fitted {bytes}
    ) {updated}""",
    # What of the noise trucks of a company have in common, of a period each: its key, sealed.
    """CREATE TABLE fleet_keys (
        company {text} NOT NULL REFERENCES companies (company),
        ends {real} NOT NULL,
        sealed {bytes} NOT NULL,
        PRIMARY KEY (company, ends)
    ) {clustered}""",
)

# People who run a service: who may sign in, what was done, what companies are told.
_TABLES_OF_PEOPLE = (
    """CREATE TABLE users (
        {seq},
        name {text} NOT NULL UNIQUE,
        company {text} REFERENCES companies (company),
        role {text} NOT NULL,
        password {text} NOT NULL,
        factor {bytes} NOT NULL,
        created {real} NOT NULL,
        disabled {real},
        failures {whole} NOT NULL DEFAULT 0,
        locked {real} NOT NULL DEFAULT 0,
        code {whole} NOT NULL DEFAULT 0
    ) {table}""",
    """CREATE TABLE sessions (
        hash {bytes} NOT NULL PRIMARY KEY,
        name {text} NOT NULL REFERENCES users (name),
        created {real} NOT NULL,
        seen {real} NOT NULL
    ) {updated}""",
    """CREATE TABLE audit (
        number {whole} NOT NULL PRIMARY KEY,
        entry {text} NOT NULL,
        digest {bytes} NOT NULL
    ) {clustered}""",
    """CREATE TABLE retention (
        company {text} NOT NULL PRIMARY KEY REFERENCES companies (company),
        days {whole} NOT NULL
    ) {clustered}""",
    """CREATE TABLE hooks (
        {seq},
        hook {text} NOT NULL UNIQUE,
        company {text} NOT NULL REFERENCES companies (company),
        kind {text} NOT NULL,
        target {bytes},
        secret {bytes},
        created {real} NOT NULL,
        ended {real}
    ) {table}""",
    """CREATE TABLE outbox (
        {seq},
        hook {text} NOT NULL REFERENCES hooks (hook),
        subject {bytes} NOT NULL,
        body {bytes},
        created {real} NOT NULL,
        due {real} NOT NULL,
        tries {whole} NOT NULL DEFAULT 0,
        ended {real},
        UNIQUE (hook, subject)
    ) {table}""",
    "CREATE INDEX outbox_by_due ON outbox (due) WHERE ended IS NULL",
)

_FORMATS: tuple[tuple[str, ...], ...] = ((*_TABLES_OF_REPORTS, *_TABLES_OF_PEOPLE),)
"""Statements that lead from format i to i + 1.  Append; never change an old entry."""

FORMAT = len(_FORMATS)

_TABLE = re.compile(r"(CREATE|DROP|ALTER) TABLE (\w+)(?: RENAME TO (\w+))?")


def _tables() -> tuple[str, ...]:
    """All that there are in the present format, each after those that it refers to."""
    tables: list[str] = []
    for statement in (one for statements in _FORMATS for one in statements):
        found = _TABLE.match(statement.strip())
        match found.groups() if found else None:
            case "CREATE", name, _:
                tables.append(name)
            case "DROP", name, _:
                tables.remove(name)
            case "ALTER", before, str(after):
                tables[tables.index(before)] = after
    return tuple(tables)


TABLES = _tables()
"""All tables, each after those that it refers to."""


def migrate_once(connection: Connection, format_: int, words: Mapping[str, str]) -> int:
    """Lead a database of an older format, 0 being an empty one, to the next; that one's number.

    The caller writes the number down in the same transaction.
    """
    for statement in _FORMATS[format_]:
        connection.change(statement.format_map(words))
    return format_ + 1


def refuse_newer(where: str, format_: int) -> None:
    """Raise ``InputError`` for the format of a Voile to come."""
    if format_ > FORMAT:
        msg = (
            f"{where}: the store has format {format_}, and this Voile knows formats up to "
            f"{FORMAT}; update Voile"
        )
        raise InputError(msg)


_AT_ONCE = 1_000


_OF = "truck IN (SELECT truck FROM trucks WHERE company = ?)"
_ENDED = "CASE WHEN revoked < expires THEN revoked ELSE COALESCE(expires, revoked) END"


def _dropping(table: str, time: str, whose: str = _OF) -> str:
    some = f"SELECT seq FROM {table} WHERE {whose} AND {time} < ? LIMIT {_AT_ONCE}"
    return f"DELETE FROM {table} WHERE seq IN ({some})"


_TRAFFIC = (
    f"""DELETE FROM reports WHERE seq IN (SELECT seq FROM reports AS old WHERE {_OF}
        AND old.slot < ? AND NOT EXISTS (SELECT 1 FROM heads
        WHERE heads.truck = old.truck AND heads.slot = old.slot) LIMIT {_AT_ONCE})""",
    _dropping("mail", "received"),
)
_ENDED_THINGS = (
    _dropping("parcels", "ended"),
    # One to a parcel may be on no truck, or have been on several.
    _dropping("links", "expires", "company = ?"),
    _dropping("devices", _ENDED),
)


@dataclass(frozen=True)
class SealedColumn:
    """A column whose values are sealed, and what tells its rows apart."""

    table: str
    keys: tuple[str, ...]
    name: str


def _digest(record: bytes) -> bytes | None:
    try:
        return Record.decode(record).digest()
    except RejectedError:
        return None


class SQLUpkeep:
    """Upkeep over an engine."""

    _engine: Database

    def sealed(self, column: SealedColumn) -> Iterator[tuple[Row, bytes]]:
        """The keys and the value of each row that has one, in the order of the keys."""
        keys = ", ".join(column.keys)
        some = f"SELECT {keys}, {column.name} FROM {column.table} WHERE {column.name} IS NOT NULL"
        order = f" ORDER BY {keys} LIMIT {_AT_ONCE}"
        rows = self._engine.read(some + order)
        while rows:
            yield from ((row[:-1], row[-1]) for row in rows)
            after = f" AND ({keys}) > ({marks(len(column.keys))})"
            rows = self._engine.read(some + after + order, rows[-1][:-1])

    def replace_sealed(
        self, column: SealedColumn, changes: Sequence[tuple[Row, bytes, bytes]]
    ) -> int:
        """Put other values in the place of some, each of which must still be there; how many."""
        those = " AND ".join(f"{key} = ?" for key in (*column.keys, column.name))
        statement = f"UPDATE {column.table} SET {column.name} = ? WHERE {those}"

        def work(connection: Connection) -> int:
            return sum(
                connection.change(statement, (after, *key, before))
                for key, before, after in changes
            )

        return self._engine.write(work)

    def unchained(self) -> int:
        """How many trucks' chains of records do not end where the store says that they do."""
        rows = self._engine.read(
            "SELECT heads.digest, records.record FROM heads LEFT JOIN records "
            "ON records.truck = heads.truck AND records.number = heads.number "
            "WHERE heads.number >= 0"
        )
        return sum(record is None or _digest(record) != digest for digest, record in rows)

    def retentions(self) -> Mapping[str, int]:
        """For how many days things of companies are kept, where that was said."""
        return dict(self._engine.read("SELECT company, days FROM retention"))

    def set_retention(self, company: str, days: int | None) -> None:
        """Say it, or take it back; raises ``ConflictError`` where there is no such company."""

        def work(connection: Connection) -> None:
            connection.change("DELETE FROM retention WHERE company = ?", (company,))
            if days is not None:
                connection.change(
                    "INSERT INTO retention (company, days) VALUES (?, ?)", (company, days)
                )

        self._engine.write(work)

    def purge_traffic(self, company: str, before: float) -> int:
        """Forget what a company's trucks sent and were sent before a time; how many rows.

        Bodies of reports (not the last of a truck), and submissions.  Signed records stay.
        """
        return sum(self._dropped(statement, company, before) for statement in _TRAFFIC)

    def purge_ended(self, company: str, before: float) -> int:
        """Forget what of a company's has ended before a time; how many rows.

        Parcels, links, and tokens of trackers.
        """
        return sum(self._dropped(statement, company, before) for statement in _ENDED_THINGS)

    def _dropped(self, statement: str, company: str, before: float) -> int:
        """Run a statement until it drops no more: others wait for a transaction."""
        values, total = (company, before), 0
        while True:
            dropped = self._engine.write(lambda connection: connection.change(statement, values))
            total += dropped
            if dropped < _AT_ONCE:
                return total
