"""A store in one SQLite file: for a platform of one process, or of a few on one machine.

Durability.  A write-ahead log with ``synchronous = FULL``: what is committed is on disk when the
commit returns, and readers never wait for the writer.  There is one writer at a time: threads of a
process queue for its only writing connection, processes wait for each other up to ``timeout``.
Writers therefore should bring many reports at once.  The log of writes is a second file beside the
first while the store is open: back up with ``sqlite3 FILE ".backup COPY"``, not by copying one of
the two, and keep both off network file systems, which cannot share its memory.

Creation.  An empty store is made beside its final name, private from the start, and linked to that
name when it is complete, as the ledger does: what stands at that name and is empty is never taken
for a new store, in which every truck would begin its chain again.

Privacy at rest.  ``secure_delete`` overwrites what is deleted; the write-ahead log holds old pages
until it comes round to them.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

from voile_base.durable import sync
from voile_base.errors import InputError
from voile_share.store.directory import SQLDirectory, SQLOutbox
from voile_share.store.log import SQLReportLog
from voile_share.store.people import SQLOverview, SQLPeople
from voile_share.store.protocols import ConflictError, StoreError
from voile_share.store.schema import FORMAT, SQLITE, Row, SQLUpkeep, migrate_once, refuse_newer

__all__ = ["SQLiteStore"]

T = TypeVar("T")

_APPLICATION_ID = 0x566F6953  # "VoiS", at byte 68 of the file
_MOST_IDLE = 16
_LEAST_SQLITE = (3, 37)  # tables whose columns have types

_PRAGMAS = (
    "page_size = 16384",  # seven reports of 2 kB; of 4096 they waste two fifths; for new files
    "synchronous = FULL",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "foreign_keys = ON",
    "trusted_schema = OFF",  # a tampered file runs no functions
    "cell_size_check = ON",
    "journal_size_limit = 67108864",  # after a burst the write-ahead log shrinks again
)

_BUSY = (
    "another process is using the store, and waiting for it took too long",
    "try again when it has finished",
)
_REMEDIES = {
    "SQLITE_BUSY": _BUSY,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_FULL": ("there is no room on the disk", "make room and try again"),
    "SQLITE_READONLY": (
        "the store, or the folder it stands in, cannot be written",
        "give its owner leave to write both, or mount the disk for writing",
    ),
    "SQLITE_CANTOPEN": (
        "the store cannot be opened",
        "check that it is a file, and that you may read and write it and its folder",
    ),
    "SQLITE_CORRUPT": ("the store is damaged", "restore it from a backup"),
    "SQLITE_IOERR": (
        "the disk failed to read or write, or a file may not grow",
        "check the disk, its free space and the limits on sizes of files, then try again",
    ),
}


class SQLiteStore(SQLPeople, SQLOutbox, SQLOverview, SQLUpkeep, SQLDirectory, SQLReportLog):
    """``Directory`` and ``ReportLog`` in one file; may be shared by threads, not across a fork."""

    def __init__(self, engine: _Engine) -> None:
        self._engine: _Engine = engine

    @classmethod
    def open(cls, path: str | Path, timeout: float = 10.0) -> Self:
        """The store in a file, which is made if there is none.

        ``timeout`` is how many seconds to wait for another process.  Raises ``InputError`` where
        the file is something else, cannot be made, or was written by a newer Voile; ``StoreError``
        where it is locked or the disk fails.
        """
        if sqlite3.sqlite_version_info < _LEAST_SQLITE:
            msg = f"SQLite {sqlite3.sqlite_version} is too old for a store; install 3.37 or newer"
            raise InputError(msg)
        place = Path(path)
        if not os.path.lexists(place):
            _create(place, timeout)
        return cls(_Engine(place, timeout))

    @staticmethod
    def format_of(path: str | Path, timeout: float = 10.0) -> int:
        """The format of the store in a file, which is left as it is.

        Raises ``InputError`` where it is no store, and ``StoreError``.
        """
        place = Path(path)
        with _explained(place), closing(_connected(place, timeout)) as connection:
            if connection.pragma("application_id") != _APPLICATION_ID:
                msg = f"{place}: this is not a store of Voile; name the right file"
                raise InputError(msg)
            return connection.pragma("user_version")

    def copy_to(self, path: Path) -> None:
        """Write all that is committed now to a new file, while others read and write.

        Raises ``StoreError`` where the disk fails or is full.
        """
        self._engine.copy_to(path)

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self._engine.path)!r})"

    def close(self) -> None:
        """Close the file; another close does nothing."""
        self._engine.close()


class _Engine:
    """One writing connection, and reading ones as needed."""

    locking = ""  # a transaction that writes is alone

    def __init__(self, path: Path, timeout: float) -> None:
        self.path = path
        self._timeout = timeout
        self._writing = Lock()
        self._idle: list[_Connection] = []
        self._closed = False
        self._file = _identity(path)
        with self._explained():
            self._writer = self._connected()
            try:
                self._upgrade()
            except BaseException:
                self._writer.close()
                raise

    def read(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        with self._explained():
            self._refuse_closed()
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connected()
            try:
                return connection.rows(statement, values)
            finally:
                if self._closed or len(self._idle) >= _MOST_IDLE:
                    connection.close()
                else:
                    self._idle.append(connection)

    def write(self, work: Callable[[_Connection], T]) -> T:
        if not self._writing.acquire(timeout=self._timeout):
            msg = f"{self.path}: writing takes too long; nothing was changed; try again"
            raise StoreError(msg)
        try:
            with self._explained():
                self._refuse_closed()
                self._refuse_moved()
                return self._writer.transaction(work)
        finally:
            self._writing.release()

    def foreign_writes(self) -> int | None:
        # Of the one connection that writes here: what it commits itself does not count.
        with self._writing, self._explained():
            self._refuse_closed()
            return self._writer.pragma("data_version")

    def copy_to(self, path: Path) -> None:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with _explained(path), closing(sqlite3.connect(path)) as copy:
            with self._explained():
                source = self._connected()
            with closing(source):
                source.copy_to(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, not two
        sync(path)

    def close(self) -> None:
        with self._writing:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            self._writer.close()

    def _connected(self) -> _Connection:
        return _connected(self.path, self._timeout)

    def _upgrade(self) -> None:
        """Refuse what is not a store; lead an older one to the present format."""
        if self._writer.pragma("application_id") != _APPLICATION_ID:
            msg = f"{self.path}: this is not a store of Voile; name the right file"
            raise InputError(msg)
        refuse_newer(str(self.path), self._writer.pragma("user_version"))
        while self._writer.pragma("user_version") < FORMAT:
            self._writer.transaction(_migrate)

    def _refuse_closed(self) -> None:
        if self._closed:
            msg = f"{self.path}: the store was closed; open it again"
            raise StoreError(msg)

    def _refuse_moved(self) -> None:
        """What is written into a file that was taken away is lost: SQLite does not notice."""
        if _identity(self.path) != self._file:
            msg = (
                f"{self.path}: the file of the store was moved, removed or replaced while it was "
                "open; put it back, or close the store and open it again"
            )
            raise StoreError(msg)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with _explained(self.path):
            yield


class _Connection:
    """``Connection`` to a file; used by one thread at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.close = connection.close

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        return self._connection.execute(statement, values).fetchall()

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        return self._connection.execute(statement, values).rowcount

    def change_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        self._connection.executemany(statement, rows)

    def copy_to(self, copy: sqlite3.Connection) -> None:
        self._connection.backup(copy)  # in one step: of one state of the file

    def pragma(self, name: str) -> int:
        return int(self.rows(f"PRAGMA {name}")[0][0])

    def transaction(self, work: Callable[[_Connection], T]) -> T:
        self.change("BEGIN IMMEDIATE")
        try:
            result = work(self)
            self.change("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # some failures have ended it
                with suppress(sqlite3.Error):
                    self.change("ROLLBACK")
            raise
        return result


def _connected(path: Path, timeout: float) -> _Connection:
    # mode=rw: SQLite itself must never create the file, with permissions of its own choice.
    raw = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        for pragma in _PRAGMAS:
            raw.execute(f"PRAGMA {pragma}")
    except BaseException:
        raw.close()
        raise
    return _Connection(raw)


def _migrate(connection: _Connection) -> None:
    """One step; another process may have taken it meanwhile."""
    format_ = connection.pragma("user_version")
    if format_ < FORMAT:
        format_ = migrate_once(connection, format_, SQLITE)
        connection.change(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.change(f"PRAGMA user_version = {format_}")


def _create(path: Path, timeout: float) -> None:
    """Make an empty store; another process may be faster, and then its store is as good."""
    final = path.resolve()
    try:
        handle, name = tempfile.mkstemp(".new", f".{final.name}.", final.parent)  # mode 0600
        os.close(handle)
        unfinished = Path(name)
        try:
            with _explained(path), closing(_connected(unfinished, timeout)) as connection:
                connection.rows("PRAGMA journal_mode = WAL")  # said once, kept in the file
                for _ in range(FORMAT):
                    connection.transaction(_migrate)
            with suppress(FileExistsError):
                os.link(unfinished, final)
        finally:
            unfinished.unlink(missing_ok=True)
        sync(final.parent)
    except OSError as error:
        msg = (
            f"{path}: a store cannot be made here ({error.strerror}); name a file in an existing "
            "folder of a local disk that you may write to"
        )
        raise InputError(msg) from None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into an error that says what to do, and quotes no value."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a fault of Voile, not of the file
    except sqlite3.Error as error:
        raise _explanation(path, getattr(error, "sqlite_errorname", "")) from None
    except UnicodeDecodeError:  # words of SQLite that quote a damaged file
        raise _explanation(path, "SQLITE_CORRUPT") from None


def _explanation(path: Path, name: str) -> Exception:
    if name.startswith("SQLITE_NOTADB"):
        return InputError(f"{path}: this is not a store of Voile; name the right file")
    if name == "SQLITE_CONSTRAINT_FOREIGNKEY":
        return ConflictError("what this refers to, a company or a truck, is not there")
    for known, (problem, remedy) in _REMEDIES.items():
        if name.startswith(known):
            return StoreError(f"{path}: {problem} ({name}); nothing was changed; {remedy}")
    return StoreError(f"{path}: SQLite failed ({name or 'no code'}); nothing was changed")
