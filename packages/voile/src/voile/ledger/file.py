"""The ledger as a file: private from its first byte, whole after a crash, one writer at a time.

Creation.  An empty ledger is made beside its final name, with mode 0600 from the ``open`` that
creates it, and linked to that name when it is complete.  So nobody else can ever read it, two
publishers cannot both create it, and an empty or half-made file at that name is never a ledger:
taking one for a new ledger would forget every promise that it held.  SQLite gives its journal the
mode of the database.

Durability.  The rollback journal (``journal_mode = DELETE``) keeps a ledger at rest in one file,
which custodians copy and back up with the folder of its rows (``row_sets``); a write-ahead log
would leave committed versions in another one.  A commit is the removal of the journal, and
``synchronous = EXTRA`` also syncs the directory afterwards, so that a version is on disk when
``COMMIT`` returns.

Privacy at rest.  ``secure_delete`` overwrites what is deleted, and temporary structures stay in
memory.  The blocks of the disk that held a removed journal are the file system's concern.

The format of a ledger: its tables.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from voile.ledger.row_sets import RowFolder, Stage, names_of
from voile_base.durable import sync
from voile_base.errors import LedgerError
from voile_base.ondemand import dataclass

__all__ = ["APPLICATION_ID", "FORMAT", "LedgerFile"]


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
    """CREATE TABLE output (
        id INTEGER PRIMARY KEY,
        data_set TEXT NOT NULL CHECK (typeof(data_set) = 'text'),
        number INTEGER NOT NULL CHECK (typeof(number) = 'integer' AND number >= 1),
        name TEXT NOT NULL CHECK (typeof(name) = 'text'),
        created TEXT NOT NULL CHECK (typeof(created) = 'text'),
        content BLOB NOT NULL CHECK (typeof(content) = 'blob'),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob'),
        UNIQUE (data_set, number)
    )""",
    """CREATE TABLE output_head (
        data_set TEXT PRIMARY KEY CHECK (typeof(data_set) = 'text'),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob')
    )""",
    # Versions whose marks stand among those of a later one, with what they were sealed by.
    """CREATE TABLE folded (
        version INTEGER PRIMARY KEY REFERENCES version (id) ON DELETE CASCADE,
        rows INTEGER NOT NULL CHECK (typeof(rows) = 'integer' AND rows >= 1),
        seal BLOB NOT NULL CHECK (typeof(seal) = 'blob')
    )""",
    # Begins the names of the folders of this ledger, wherever it is copied to.
    "CREATE TABLE row_folder (id TEXT NOT NULL CHECK (typeof(id) = 'text'))",
    "INSERT INTO row_folder SELECT lower(hex(randomblob(8)))",
)


def _create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty file a ledger, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _format_of(connection: sqlite3.Connection) -> int:
    """The format of a ledger; 0 for an empty file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


_PRAGMAS = (
    "page_size = 65536",  # arrays of megabytes: short chains of pages; only heeded at creation
    "journal_mode = DELETE",
    "synchronous = EXTRA",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "foreign_keys = ON",
    "trusted_schema = OFF",  # a tampered file runs no functions
    "cell_size_check = ON",
)

_REMEDIES = {
    "SQLITE_BUSY": (
        "another process is using the ledger, and waiting for it took too long",
        "nothing was changed; run again when it has finished",
    ),
    "SQLITE_FULL": (
        "there is no room on the disk",
        "nothing was changed; make room and run again",
    ),
    "SQLITE_READONLY": (
        "the ledger, or the folder it stands in, cannot be written",
        "nothing was changed; give its owner leave to write both, or mount the disk for writing",
    ),
    "SQLITE_CANTOPEN": (
        "the ledger or its journal cannot be opened",
        "check that it is a file, and that you own it and may write to its folder",
    ),
    "SQLITE_NOTADB": (
        "this is not a ledger of Voile",
        "name the right file, or restore the ledger from a backup",
    ),
    "SQLITE_CORRUPT": (
        "the ledger is damaged",
        "restore it from a backup, and check it with `voile ledger verify` and the folders of all "
        "its releases",
    ),
    "SQLITE_IOERR": (
        "the disk failed to read or write",
        "check the disk and its free space, then run `voile ledger verify`",
    ),
}


@dataclass(frozen=True)
class LedgerFile:
    """One SQLite file; every access opens it anew and closes it."""

    path: Path
    timeout: float
    """Seconds to wait for another process before giving up."""

    @property
    def rows(self) -> RowFolder:
        """The folder beside it, with the rows that it refers to."""
        return RowFolder(self.path)

    def exists(self) -> bool:
        """Whether anything stands at the path."""
        return os.path.lexists(self.path)

    def create(self) -> None:
        """Make an empty ledger unless there is one; raises ``LedgerError`` where it cannot."""
        if self.path.exists():
            return
        final = self.path.resolve()
        try:
            handle, name = tempfile.mkstemp(".new", f".{final.name}.", final.parent)  # mode 0600
        except OSError as error:
            msg = (
                f"{self.path}: a ledger cannot be created here ({error.strerror}); "
                "name a file in an existing folder that you may write to"
            )
            raise LedgerError(msg) from None
        os.close(handle)
        unfinished = Path(name)
        try:
            with self._explained(), closing(self._connect(unfinished)) as connection:
                _create_tables(connection)
            _link(unfinished, final, self.path)
            sync(final.parent)
        except OSError as error:
            msg = f"{self.path}: the ledger cannot be created: {error.strerror}; free the disk"
            raise LedgerError(msg) from None
        finally:
            unfinished.unlink(missing_ok=True)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction that sees one state of the ledger.

        Raises ``LedgerError`` where the file is missing, not private, not a ledger, of
        another format, damaged, or locked for longer than ``timeout``; also for any of these that
        SQLite meets while the transaction lasts.
        """
        with self._explained(), closing(self._open()) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection inside the only writing transaction; it is durable when the block ends.

        An exception inside the block leaves the ledger as it was.  Raises as ``reading`` does, and
        where the file cannot be written.
        """
        with self.writing_rows() as (connection, _):
            yield connection

    @contextmanager
    def writing_rows(self) -> Iterator[tuple[sqlite3.Connection, Stage]]:
        """As ``writing``, with what writes rows beside the ledger.

        Rows that the ledger no longer refers to when the block has ended are removed.
        """
        with self._explained(), closing(self._open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            before = names_of(connection)
            with self.rows.changing(connection) as stage:
                yield connection, stage
            after = names_of(connection)
            connection.execute("COMMIT")
            self.rows.remove(before - after)

    def _open(self) -> sqlite3.Connection:
        """A connection to an existing ledger of a known format."""
        self._refuse_unfit()
        connection = self._connect(self.path)
        try:
            self._refuse_foreign(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, path: Path) -> sqlite3.Connection:
        # mode=rw: SQLite itself must never create the file, with permissions of its own choice.
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=rw",
            uri=True,
            timeout=self.timeout,
            isolation_level=None,
        )
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_unfit(self) -> None:
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            msg = f"{self.path}: there is no such ledger; name the file given to `voile publish`"
            raise LedgerError(msg) from None
        except OSError as error:
            msg = f"{self.path}: the ledger cannot be reached ({error.strerror}); check its folder"
            raise LedgerError(msg) from None
        if not stat.S_ISREG(mode):
            msg = f"{self.path}: a ledger is one file, and this is none; name the right file"
            raise LedgerError(msg)
        if mode & 0o077:
            # Repairing this silently would hide that others may have read the ledger.
            msg = (
                f"{self.path}: others than its owner may read or write this ledger (mode "
                f"{stat.S_IMODE(mode):04o}), which holds the secret keys of its series; find out "
                "who could have copied it, then run `chmod 600` on it"
            )
            raise LedgerError(msg)

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        if _number(connection, "application_id") != APPLICATION_ID:
            problem, remedy = _REMEDIES["SQLITE_NOTADB"]
            msg = f"{self.path}: {problem}; {remedy}"
            raise LedgerError(msg)
        version = _format_of(connection)
        if version != FORMAT:
            msg = (
                f"{self.path}: the ledger has format {version}, and this Voile reads format "
                f"{FORMAT}; use the version of Voile that wrote it"
            )
            raise LedgerError(msg)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite raises into a ``LedgerError`` that says what to do."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # a fault of Voile, not of the file
        except (sqlite3.Error, UnicodeDecodeError) as error:  # it may quote a damaged file
            name = getattr(error, "sqlite_errorname", "")
            problem, remedy = next(
                (text for known, text in _REMEDIES.items() if name.startswith(known)),
                _REMEDIES["SQLITE_CORRUPT"],
            )
            msg = f"{self.path}: {problem} ({name or type(error).__name__}); {remedy}"
            raise LedgerError(msg) from error


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _link(unfinished: Path, final: Path, shown: Path) -> None:
    """Give a complete ledger its name."""
    try:
        os.link(unfinished, final)
    except FileExistsError:
        return  # another publisher was faster; theirs is as good
    except OSError as error:
        msg = (
            f"{shown}: a ledger cannot be created on this file system ({error.strerror}): it has "
            "no hard links; choose a folder on a local disk"
        )
        raise LedgerError(msg) from None
