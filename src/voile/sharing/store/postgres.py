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
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

from voile.errors import InputError
from voile.sharing.store.directory import SQLDirectory
from voile.sharing.store.log import SQLReportLog
from voile.sharing.store.protocols import ConflictError, StoreError
from voile.sharing.store.schema import FORMAT, POSTGRES, migrate, refuse_newer
from voile.sharing.store.sql import Row

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresStore"]

T = TypeVar("T")

_ATTEMPTS = 5
_PAUSE = 0.05
_MIGRATING = 0x566F6953  # number of the lock under which one process migrates

_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 10,
    "application_name": "voile",
    "tcp_user_timeout": 30_000,  # a server that went away without a word
}
"""Said to the server unless the address says otherwise."""
_TABLES = (
    "CREATE TABLE voile_store (format BIGINT NOT NULL)",
    """CREATE TABLE voile_commits (
        connection TEXT NOT NULL PRIMARY KEY,
        begun BIGINT NOT NULL,
        at TIMESTAMPTZ NOT NULL
    ) WITH (fillfactor = 50)""",
)
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


class PostgresStore(SQLDirectory, SQLReportLog):
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
        engine = _Engine(_Address.of(url), connections, patience)
        try:
            engine.upgrade()
        except BaseException:
            engine.close()
            raise
        return cls(engine)

    def __repr__(self) -> str:
        return f"PostgresStore({self._engine.where!r})"

    def close(self) -> None:
        """Close the connections that are idle, and the others when they are."""
        self._engine.close()


class _Address:
    """Where the database is; ``shown`` leaves the password out."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self._parts = _DEFAULTS | parts
        shown = (f"{name}={parts[name]}" for name in ("host", "port", "dbname") if parts.get(name))
        self.shown = " ".join(shown) or "the local database"

    @classmethod
    def of(cls, url: str) -> Self:
        psycopg = _psycopg()
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error:  # it quotes the address
            msg = "the address of the database must read postgresql://user@host:port/database"
            raise InputError(msg) from None
        return cls(parts)

    def connect(self) -> _Connection:
        raw = _psycopg().connect(**self._parts, autocommit=True)
        try:
            raw.execute(_SETTINGS)
        except BaseException:
            raw.close()
            raise
        return _Connection(raw)


class _Engine:
    """A few connections, each used by one thread at a time."""

    locking = " FOR NO KEY UPDATE"

    def __init__(self, address: _Address, connections: int, patience: float) -> None:
        self.where = address.shown
        self._address = address
        self._patience = patience
        self._free = BoundedSemaphore(connections)
        self._guard = Lock()
        self._idle: list[_Connection] = []
        self._closed = False

    def read(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        def query(connection: _Connection) -> list[Row]:
            return connection.rows(statement, values)

        with self._explained(), self._connected(query) as (_, rows):
            return rows

    def write(self, work: Callable[[_Connection], T]) -> T:
        psycopg = _psycopg()
        with self._explained():
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
        with self._explained(), self._connected(_Connection.begin_unmarked) as (connection, _):
            with _undoing(connection):
                _migrate(connection, self.where)
            connection.change("COMMIT")

    def _once(self, work: Callable[[_Connection], T]) -> T:
        with self._connected(_Connection.begin) as (connection, mark):
            with _undoing(connection):
                result = work(connection)
            try:
                connection.change("COMMIT")
            except _psycopg().OperationalError:
                if not connection.lost or not self._was_committed(mark):
                    raise
        return result

    def _was_committed(self, mark: _Mark) -> bool:
        """What became of a transaction whose connection was lost in its commit."""
        until = time.monotonic() + self._patience
        while time.monotonic() < until:
            with suppress(_psycopg().Error), closing(self._address.connect()) as connection:
                return connection.has_committed(mark)
            time.sleep(_PAUSE)
        msg = (
            f"{self.where}: the connection was lost during a commit, and the server does not come "
            "back; it is not known whether anything was changed; try the same again"
        )
        raise StoreError(msg)

    @contextmanager
    def _connected(self, begin: Callable[[_Connection], T]) -> Iterator[tuple[_Connection, T]]:
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

    def _begun(self, begin: Callable[[_Connection], T]) -> tuple[_Connection, T]:
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

    def _take(self) -> _Connection | None:
        with self._guard:
            if self._closed:
                msg = f"{self.where}: the store was closed; open it again"
                raise StoreError(msg)
            return self._idle.pop() if self._idle else None

    def _put_back(self, connection: _Connection) -> None:
        with self._guard:
            if connection.idle and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what psycopg raises into an error that says what to do, and quotes no value."""
        try:
            yield
        except _psycopg().Error as error:
            raise _explanation(self.where, error) from None


_Mark = tuple[str, int]
"""A connection's row in ``voile_commits``, and what a transaction writes there."""


class _Connection:
    """``Connection`` to PostgreSQL; used by one thread at a time."""

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        self._raw = raw
        self._name = uuid4().hex
        self._begun = 0
        self.close = raw.close

    @property
    def lost(self) -> bool:
        return self._raw.closed

    @property
    def idle(self) -> bool:
        """Whether it is good for another transaction."""
        status = self._raw.info.transaction_status
        return bool(status == _psycopg().pq.TransactionStatus.IDLE)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        return self._raw.execute(_translated(statement), values, binary=True).fetchall()

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        return self._raw.execute(_translated(statement), values).rowcount

    def change_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        with self._raw.cursor() as cursor:
            cursor.executemany(_translated(statement), rows)

    def begin(self) -> _Mark:
        """Begin a transaction that leaves a mark if it is committed."""
        self._begun += 1
        mark = f"'{self._name}', {self._begun}, now()"  # ours: nothing to escape
        self.change(
            f"BEGIN; INSERT INTO voile_commits (connection, begun, at) VALUES ({mark}) "  # noqa: S608
            "ON CONFLICT (connection) DO UPDATE SET begun = excluded.begun, at = excluded.at"
        )
        return self._name, self._begun

    def begin_unmarked(self) -> None:
        """Begin one of which it need not be known: it may be repeated."""
        self.change("BEGIN")

    def has_committed(self, mark: _Mark) -> bool:
        """Whether a transaction of another connection was committed, waiting for its end."""
        ((begun,),) = self.rows(
            "INSERT INTO voile_commits (connection, begun, at) VALUES (?, 0, now()) "
            "ON CONFLICT (connection) DO UPDATE SET at = excluded.at RETURNING begun",
            mark[:1],
        )
        return bool(begun == mark[1])


@contextmanager
def _undoing(connection: _Connection) -> Iterator[None]:
    """Roll back where something is raised."""
    try:
        yield
    except BaseException:
        with suppress(_psycopg().Error):
            connection.change("ROLLBACK")
        raise


def _migrate(connection: _Connection, where: str) -> None:
    connection.rows("SELECT pg_advisory_xact_lock(?)", (_MIGRATING,))
    ((absent,),) = connection.rows("SELECT to_regclass('voile_store') IS NULL")
    if absent:
        for statement in _TABLES:
            connection.change(statement)
    found = connection.rows("SELECT format FROM voile_store")
    format_ = found[0][0] if found else 0
    refuse_newer(where, format_)
    if format_ < FORMAT:
        migrate(connection, format_, POSTGRES)
        connection.change("DELETE FROM voile_store")
        connection.change("INSERT INTO voile_store (format) VALUES (?)", (FORMAT,))
    connection.change("DELETE FROM voile_commits WHERE at < now() - INTERVAL '1 day'")


@cache
def _translated(statement: str) -> bytes:
    """With the marks of psycopg; as bytes, which it takes from variables too."""
    return statement.replace("?", "%b").encode()


def _explanation(where: str, error: psycopg.Error) -> Exception:
    psycopg = _psycopg()
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
def _psycopg() -> Any:
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        msg = "stores in PostgreSQL need psycopg: pip install 'voile[postgres]'"
        raise InputError(msg) from None
    return psycopg
