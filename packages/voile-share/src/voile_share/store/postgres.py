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
from threading import BoundedSemaphore, Lock
from typing import Self, TypeVar

from voile_base.errors import InputError
from voile_share.store.directory import SQLDirectory
from voile_share.store.log import SQLReportLog
from voile_share.store.outbox import SQLOutbox
from voile_share.store.overview import SQLOverview
from voile_share.store.people import SQLPeople
from voile_share.store.postgres_connection import (
    DatabaseAddress,
    Mark,
    PostgresConnection,
    explained,
    library,
)
from voile_share.store.protocols import StoreError
from voile_share.store.schema import FORMAT, POSTGRES, migrate_once, refuse_newer
from voile_share.store.sql import Row
from voile_share.store.upkeep import SQLUpkeep

__all__ = ["PostgresStore"]

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
        engine = _Engine(DatabaseAddress.of(url), connections, patience)
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
        engine = _Engine(DatabaseAddress.of(url), 1, 0.0)
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

    def __init__(self, address: DatabaseAddress, connections: int, patience: float) -> None:
        self.where = address.shown
        self._address = address
        self._patience = patience
        self._free = BoundedSemaphore(connections)
        self._guard = Lock()
        self._idle: list[PostgresConnection] = []
        self._closed = False

    def read(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        def query(connection: PostgresConnection) -> list[Row]:
            return connection.rows(statement, values)

        with explained(self.where), self._connected(query) as (_, rows):
            return rows

    def write(self, work: Callable[[PostgresConnection], T]) -> T:
        psycopg = library()
        with explained(self.where):
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
                explained(self.where),
                self._connected(PostgresConnection.begin_unmarked) as (connection, _),
            ):
                with _undoing(connection):
                    format_ = _migrate(connection, self.where)
                connection.change("COMMIT")

    def _once(self, work: Callable[[PostgresConnection], T]) -> T:
        with self._connected(PostgresConnection.begin) as (connection, mark):
            with _undoing(connection):
                result = work(connection)
            try:
                connection.change("COMMIT")
            except library().OperationalError:
                if not connection.lost or not self._was_committed(mark):
                    raise
        return result

    def _was_committed(self, mark: Mark) -> bool:
        """What became of a transaction whose connection was lost in its commit."""
        until = time.monotonic() + self._patience
        while time.monotonic() < until:
            with suppress(library().Error), closing(self._address.connect()) as connection:
                return connection.has_committed(mark)
            time.sleep(_PAUSE)
        msg = (
            f"{self.where}: the connection was lost during a commit, and the server does not come "
            "back; it is not known whether anything was changed; try the same again"
        )
        raise StoreError(msg)

    @contextmanager
    def _connected(
        self, begin: Callable[[PostgresConnection], T]
    ) -> Iterator[tuple[PostgresConnection, T]]:
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

    def _begun(self, begin: Callable[[PostgresConnection], T]) -> tuple[PostgresConnection, T]:
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

    def _take(self) -> PostgresConnection | None:
        with self._guard:
            if self._closed:
                msg = f"{self.where}: the store was closed; open it again"
                raise StoreError(msg)
            return self._idle.pop() if self._idle else None

    def _put_back(self, connection: PostgresConnection) -> None:
        with self._guard:
            if connection.idle and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


@contextmanager
def _undoing(connection: PostgresConnection) -> Iterator[None]:
    """Roll back where something is raised."""
    try:
        yield
    except BaseException:
        with suppress(library().Error):
            connection.change("ROLLBACK")
        raise


def _migrate(connection: PostgresConnection, where: str) -> int:
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
