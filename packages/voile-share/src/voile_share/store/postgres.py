"""A store in PostgreSQL: for a platform of several processes or machines.

Needs psycopg 3.  Tables lie in the first schema of the connection's ``search_path``.

Concurrency.  Transactions read what is committed; who appends for a truck holds the lock of its
head, who writes to a truck that of its row, both until the commit.  So two platforms cannot fork a
chain.  Where transactions wait for each other in a circle after all, one is undone by the server
and run again here.

Durability.  A server with ``fsync = off`` is refused, and ``synchronous_commit = off`` is overruled
for our connections.

Lost connections.  Idle ones show it in the ``BEGIN`` of the next transaction and are replaced.
Where one is lost within a transaction, nothing was committed.  Where it is lost while the server
commits, the store finds out: each transaction writes its number into the row of its connection in
``voile_commits``, and whoever locks that row afterwards reads there whether it was committed.  (The
server's own numbers of transactions would not do: a server that crashed may give one twice.)  So
``StoreError`` means that nothing was changed here too.  Only where the server does not come back
while ``patience`` lasts, the error says that this is not known; to append the same again is safe.

Privacy at rest.  PostgreSQL drops what is deleted or replaced when it vacuums.

Connections to PostgreSQL: where the database is, what is run there, and what its errors mean.

A store in PostgreSQL as a store in one file, and back: what backups are made of.

A backup of either engine is a store in SQLite, so that one that was made of the one restores to the
other, and no program of the database's version is needed.  Reading is of one state of the database,
while others write; filling is one transaction, into empty tables, so that whoever is killed in it
has changed nothing.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

from voile_base.durable import sync
from voile_base.errors import InputError
from voile_base.values import Json
from voile_share.store.directory import SQLDirectory, SQLOutbox
from voile_share.store.log import SQLReportLog
from voile_share.store.people import SQLOverview, SQLPeople
from voile_share.store.protocols import ConflictError, StoreError
from voile_share.store.schema import (
    FORMAT,
    POSTGRES,
    TABLES,
    Row,
    SQLUpkeep,
    marks,
    migrate_once,
    refuse_newer,
)
from voile_share.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    import psycopg

__all__ = ["Mark", "PostgresStore", "file_to_postgres", "postgres_to_file"]


_DEFAULTS: Json = {
    "connect_timeout": 10,
    "application_name": "voile",
    "tcp_user_timeout": 30_000,  # a server that went away without a word
}
"""Said to the server unless the address says otherwise."""
_SETTINGS = """
    SET client_encoding = 'UTF8';
    SELECT set_config('lock_timeout', '10s', false) WHERE current_setting('lock_timeout') = '0';
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'
"""
_REMEDIES = {
    "53100": ("the server has no room on its disk", "make room and try again"),
    "58030": ("the server's disk failed to read or write", "check the disk, then try again"),
    "53200": ("the server has no memory left", "try again later"),
    "53300": ("the server accepts no more connections", "raise max_connections"),
    "25006": ("the server accepts no changes now", "name the server that does"),
    "55P03": ("another process holds what is to be changed, for too long", "try again"),
    "57014": ("the server cancelled the statement", "try again"),
    "40001": ("other processes change the same all the time", "try again"),
    "40P01": ("other processes change the same all the time", "try again"),
    "42501": ("the user of the address may not do this", "grant it its tables and its schema"),
    "42P01": ("a table of the store is missing", "restore the database from a backup"),
}
_AWAY = ("08", "57P")


class _DatabaseAddress:
    """Where the database is; ``shown`` leaves the password out."""

    def __init__(self, parts: Json) -> None:
        self._parts = _DEFAULTS | parts
        shown = (f"{name}={parts[name]}" for name in ("host", "port", "dbname") if parts.get(name))
        self.shown = " ".join(shown) or "the local database"

    @classmethod
    def of(cls, url: str) -> Self:
        """That of a text; raises ``InputError``, which does not quote it."""
        psycopg = _library()
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error:  # it quotes the address
            msg = "the address of the database must read postgresql://user@host:port/database"
            raise InputError(msg) from None
        return cls(parts)

    def connect(self) -> _PostgresConnection:
        """A new connection."""
        raw = _library().connect(**self._parts, autocommit=True)
        try:
            raw.execute(_SETTINGS)
        except BaseException:
            raw.close()
            raise
        return _PostgresConnection(raw)


Mark = tuple[str, int]
"""A connection's row in ``voile_commits``, and what a transaction writes there."""


class _PostgresConnection:
    """``Connection`` to PostgreSQL; used by one thread at a time."""

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        self._raw = raw
        self._name = uuid4().hex
        self._begun = 0
        self.close = raw.close

    @property
    def lost(self) -> bool:
        """Whether the server is gone."""
        return self._raw.closed

    @property
    def idle(self) -> bool:
        """Whether it is good for another transaction."""
        status = self._raw.info.transaction_status
        return bool(status == _library().pq.TransactionStatus.IDLE)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """See ``sql.Connection``."""
        return self._raw.execute(_translated(statement), values, binary=True).fetchall()

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        """See ``sql.Connection``."""
        # What has no values, such as COMMIT, goes to the server as it stands.
        prepare = None if values else False
        return self._raw.execute(_translated(statement), values or None, prepare=prepare).rowcount

    def change_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """See ``sql.Connection``."""
        with self._raw.cursor() as cursor:
            cursor.executemany(_translated(statement), rows)

    def pages(self, statement: str, rows: int) -> Iterator[Sequence[Row]]:
        """What a query gives, so many rows at a time, which the server keeps until then."""
        with self._raw.cursor("pages", binary=True) as cursor:
            cursor.execute(statement.encode())
            while some := cursor.fetchmany(rows):
                yield some

    def begin(self) -> Mark:
        """Begin a transaction that leaves a mark if it is committed."""
        self._begun += 1
        mark = f"'{self._name}', {self._begun}, now()"  # ours: nothing to escape
        self.change(
            f"BEGIN; INSERT INTO voile_commits (connection, begun, at) VALUES ({mark}) "
            "ON CONFLICT (connection) DO UPDATE SET begun = excluded.begun, at = excluded.at"
        )
        return self._name, self._begun

    def begin_unmarked(self) -> None:
        """Begin one of which it need not be known: it may be repeated."""
        self.change("BEGIN")

    def has_committed(self, mark: Mark) -> bool:
        """Whether a transaction of another connection was committed, waiting for its end."""
        ((begun,),) = self.rows(
            "INSERT INTO voile_commits (connection, begun, at) VALUES (?, 0, now()) "
            "ON CONFLICT (connection) DO UPDATE SET at = excluded.at RETURNING begun",
            mark[:1],
        )
        return bool(begun == mark[1])


@cache
def _translated(statement: str) -> bytes:
    """With the marks of psycopg; as bytes, which it takes from variables too."""
    return statement.replace("?", "%b").encode()


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turn what psycopg raises into an error that says what to do, and quotes no value."""
    try:
        yield
    except _library().Error as error:
        raise _explanation(where, error) from None


def _explanation(where: str, error: psycopg.Error) -> Exception:
    psycopg = _library()
    code = error.sqlstate or ""
    if isinstance(error, psycopg.errors.ForeignKeyViolation):
        return ConflictError("what this refers to, a company or a truck, is not there")
    if code in _REMEDIES:
        problem, remedy = _REMEDIES[code]
        return StoreError(f"{where}: {problem} ({code}); nothing was changed; {remedy}")
    if code.startswith(_AWAY) or (not code and isinstance(error, psycopg.OperationalError)):
        return StoreError(
            f"{where}: the database cannot be reached, or the connection to it was lost; nothing "
            "was changed; check that it runs, its address, user and password, then try again"
        )
    return StoreError(f"{where}: PostgreSQL failed ({code or 'no code'}); nothing was changed")


@cache
def _library() -> Any:
    """Psycopg 3; raises ``InputError`` where it is absent."""
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        msg = "stores in PostgreSQL need psycopg: pip install 'voile-share[postgres]'"
        raise InputError(msg) from None
    return psycopg


T = TypeVar("T")

_ATTEMPTS = 5
_PAUSE = 0.05
_MIGRATING = 0x566F6953  # number of the lock under which one process migrates

_TABLES = (
    "CREATE TABLE voile_store (format BIGINT NOT NULL)",
    """CREATE TABLE voile_commits (
        connection TEXT NOT NULL PRIMARY KEY,
        begun BIGINT NOT NULL,
        at TIMESTAMPTZ NOT NULL
    ) WITH (fillfactor = 50)""",
)


class PostgresStore(SQLPeople, SQLOutbox, SQLOverview, SQLUpkeep, SQLDirectory, SQLReportLog):
    """``Directory`` and ``ReportLog`` in a database; may be shared by threads, not over a fork."""

    def __init__(self, engine: _Engine) -> None:
        self._engine: _Engine = engine

    @classmethod
    def open(cls, url: str, connections: int = 10, patience: float = 10.0) -> Self:
        """The store at an address such as ``postgresql://user@host/database``.

        Tables are made where there are none.  At most so many connections are open at a time;
        ``patience`` is in seconds.  Raises ``InputError`` for an address that cannot be read,
        without psycopg, for an unfit server, and where a newer Voile was here; ``StoreError``
        where the database cannot be reached.
        """
        engine = _Engine(_DatabaseAddress.of(url), connections, patience)
        try:
            engine.upgrade()
        except BaseException:
            engine.close()
            raise
        return cls(engine)

    @staticmethod
    def format_of(url: str) -> int:
        """The format of the store at an address, which is left as it is; 0: there is none.

        Raises ``InputError`` for an address that cannot be read, and ``StoreError``.
        """
        engine = _Engine(_DatabaseAddress.of(url), 1, 0.0)
        try:
            ((absent,),) = engine.read("SELECT to_regclass('voile_store') IS NULL")
            found = [] if absent else engine.read("SELECT format FROM voile_store")
            return int(found[0][0]) if found else 0
        finally:
            engine.close()

    def __repr__(self) -> str:
        return f"PostgresStore({self._engine.where!r})"

    def close(self) -> None:
        """Close the connections that are idle, and the others when they are."""
        self._engine.close()


class _Engine:
    """A few connections, each used by one thread at a time."""

    locking = " FOR NO KEY UPDATE"

    def __init__(self, address: _DatabaseAddress, connections: int, patience: float) -> None:
        self.where = address.shown
        self._address = address
        self._patience = patience
        self._free = BoundedSemaphore(connections)
        self._guard = Lock()
        self._idle: list[_PostgresConnection] = []
        self._closed = False

    def read(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        def query(connection: _PostgresConnection) -> list[Row]:
            return connection.rows(statement, values)

        with _explained(self.where), self._connected(query) as (_, rows):
            return rows

    def write(self, work: Callable[[_PostgresConnection], T]) -> T:
        psycopg = _library()
        with _explained(self.where):
            for _ in range(_ATTEMPTS - 1):
                with suppress(psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                    return self._once(work)
            return self._once(work)

    def foreign_writes(self) -> int | None:
        return None  # other processes write all the time

    def close(self) -> None:
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def upgrade(self) -> None:
        """Refuse an unfit server; make the tables, or lead older ones to the present format."""
        ((fsync,),) = self.read("SELECT current_setting('fsync')")
        if fsync != "on":
            msg = (
                f"{self.where}: the server runs with fsync = off, so that a crash of its machine "
                "may take back what it has committed; switch it on"
            )
            raise InputError(msg)
        format_ = -1
        while format_ < FORMAT:
            with (
                _explained(self.where),
                self._connected(_PostgresConnection.begin_unmarked) as (connection, _),
            ):
                with _undoing(connection):
                    format_ = _migrate(connection, self.where)
                connection.change("COMMIT")

    def _once(self, work: Callable[[_PostgresConnection], T]) -> T:
        with self._connected(_PostgresConnection.begin) as (connection, mark):
            with _undoing(connection):
                result = work(connection)
            try:
                connection.change("COMMIT")
            except _library().OperationalError:
                if not connection.lost or not self._was_committed(mark):
                    raise
        return result

    def _was_committed(self, mark: Mark) -> bool:
        """What became of a transaction whose connection was lost in its commit."""
        until = time.monotonic() + self._patience
        while time.monotonic() < until:
            with suppress(_library().Error), closing(self._address.connect()) as connection:
                return connection.has_committed(mark)
            time.sleep(_PAUSE)
        msg = (
            f"{self.where}: the connection was lost during a commit, and the server does not come "
            "back; it is not known whether anything was changed; try the same again"
        )
        raise StoreError(msg)

    @contextmanager
    def _connected(
        self, begin: Callable[[_PostgresConnection], T]
    ) -> Iterator[tuple[_PostgresConnection, T]]:
        """A connection, and what ``begin`` gave on it.

        An idle connection on which that shows that it was lost is replaced; so ``begin`` must be
        such that it may run again.
        """
        with self._free:
            connection, begun = self._begun(begin)
            try:
                yield connection, begun
            finally:
                self._put_back(connection)

    def _begun(self, begin: Callable[[_PostgresConnection], T]) -> tuple[_PostgresConnection, T]:
        while True:
            idle = self._take()
            connection = idle or self._address.connect()
            try:
                return connection, begin(connection)
            except BaseException:
                replaced = idle is not None and connection.lost
                self._put_back(connection)
                if not replaced:
                    raise

    def _take(self) -> _PostgresConnection | None:
        with self._guard:
            if self._closed:
                msg = f"{self.where}: the store was closed; open it again"
                raise StoreError(msg)
            return self._idle.pop() if self._idle else None

    def _put_back(self, connection: _PostgresConnection) -> None:
        with self._guard:
            if connection.idle and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


@contextmanager
def _undoing(connection: _PostgresConnection) -> Iterator[None]:
    """Roll back where something is raised."""
    try:
        yield
    except BaseException:
        with suppress(_library().Error):
            connection.change("ROLLBACK")
        raise


def _migrate(connection: _PostgresConnection, where: str) -> int:
    """One step to the present format, alone; the format that is reached."""
    connection.rows("SELECT pg_advisory_xact_lock(?)", (_MIGRATING,))
    ((absent,),) = connection.rows("SELECT to_regclass('voile_store') IS NULL")
    if absent:
        for statement in _TABLES:
            connection.change(statement)
    found = connection.rows("SELECT format FROM voile_store")
    format_ = int(found[0][0]) if found else 0
    refuse_newer(where, format_)
    if format_ < FORMAT:
        format_ = migrate_once(connection, format_, POSTGRES)
        connection.change("DELETE FROM voile_store")
        connection.change("INSERT INTO voile_store (format) VALUES (?)", (format_,))
    connection.change("DELETE FROM voile_commits WHERE at < now() - INTERVAL '1 day'")
    return format_


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
    address = _DatabaseAddress.of(url)
    SQLiteStore.open(path).close()
    try:
        with closing(sqlite3.connect(path)) as copy:
            copy.execute("PRAGMA journal_mode = DELETE")
            with _explained(address.shown), closing(address.connect()) as source:
                source.change("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                for table in TABLES:
                    columns = _columns(copy, table)
                    statement = _insert(table, columns, "")
                    for rows in source.pages(f"SELECT {', '.join(columns)} FROM {table}", _ROWS):
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
    address = _DatabaseAddress.of(url)
    with (
        closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as source,
        _explained(address.shown),
        closing(address.connect()) as database,
    ):
        database.change("BEGIN")
        for table in TABLES:
            database.change(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
            if database.rows(f"SELECT 1 FROM {table} LIMIT 1"):
                msg = f"{address.shown}: there is a store in this database; name an empty one"
                raise InputError(msg)
        for table in TABLES:
            columns = _columns(source, table)
            statement = _insert(table, columns, "OVERRIDING SYSTEM VALUE")
            for rows in _pages(source, table, columns):
                database.change_many(statement, rows)
            if columns[0] == "seq":
                database.rows(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'seq'), "
                    f"COALESCE(MAX(seq), 1), COUNT(*) > 0) FROM {table}"
                )
        database.change("COMMIT")


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _insert(table: str, columns: Sequence[str], how: str) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) {how} VALUES ({marks(len(columns))})"


def _pages(
    connection: sqlite3.Connection, table: str, columns: Sequence[str]
) -> Iterator[Sequence[Row]]:
    cursor = connection.execute(f"SELECT {', '.join(columns)} FROM {table}")
    while rows := cursor.fetchmany(_ROWS):
        yield rows
