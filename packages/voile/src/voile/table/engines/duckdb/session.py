"""A database of DuckDB that one set of tables lives in: memory within a limit, the rest on disk.

It is of the process alone: in memory, with what does not fit spilled to a folder for its owner
alone, which is removed with it.  Nothing is downloaded, no extension is loaded by itself, no file
is found that was not named in a call, and no variable of Python is taken for a table.

Where tables are large for that memory, they are made in a file in that folder (``to_disk``): of a
table in memory that is spilled stays behind which of its values are missing, a bit for each, so
that longer tables would need more memory.

Every statement has a connection of its own, so that one can be read while another writes what is
made of it.  A table lives as long as somebody holds it (``Table``); it is dropped before the next
statement, since it may be let go of in the midst of one.

DuckDB's own messages may quote values, so they are neither shown nor chained (``_told``).

Batches that go in come from a generator that may ask Python functions; what these raise is kept and
raised again as it was, since DuckDB would make a message of it.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from voile.table.engines.shared import SpillFolder, kept_faults
from voile.table.formats.registry import library
from voile_base.errors import InputError, OutOfMemoryError, TableError, VoileError
from voile_base.ondemand import on_demand

__all__ = ["BATCH_ROWS", "DuckDBHandle", "Table"]


duckdb: Any = on_demand("duckdb")

BATCH_ROWS = 1 << 17
"""Rows of a batch: as many as fit a function's arrays near the processor."""
_MEBIBYTE = 1 << 20
_MOST_THREADS = 8
_OF_A_THREAD = 125 * _MEBIBYTE
"""Memory for the buffers of a thread, which DuckDB asks for."""
_KEPT_FREE = "16MiB"
"""Freed memory that DuckDB may keep for itself."""
_LARGE = 1 / 4
"""Share of the memory from which on a table is made in a file."""
_ON_DISK = "ondisk"
_DISK_IS_FULL = (
    "no space left",
    "disk full",
    "max_temp_directory_size",
    "failed to write",
    "offload",
)


class Table:
    """A table of a session, or another of its things, for as long as somebody holds this."""

    def __init__(self, session: DuckDBHandle, name: str) -> None:
        self.name = name
        weakref.finalize(self, session.abandoned.append, name)


class DuckDBHandle:
    """Runs statements; see the module."""

    def __init__(self, folder: Path | None, memory: int, threads: int | None = None) -> None:
        """``folder`` is where a private folder for spilled data is made; ``memory`` is in bytes.

        Raises ``InputError`` where DuckDB is not installed or the folder cannot be made.
        """
        library("duckdb", "duckdb", "the engine duckdb")
        self._folder = SpillFolder(folder, "duckdb")
        self._connection = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "python_enable_replacements": "false",
                "allow_community_extensions": "false",
                "temp_directory": str(self._folder.path),
                "memory_limit": f"{max(memory // _MEBIBYTE, 64)}MiB",
                "threads": str(threads or _threads(memory)),
                "preserve_insertion_order": "true",
                "default_null_order": "nulls_first",
                # What was freed is given back: by default half a gigabyte of it is not.
                "allocator_background_threads": "true",
                "allocator_flush_threshold": _KEPT_FREE,
                "allocator_bulk_deallocation_flush_threshold": _KEPT_FREE,
            },
        )
        self._memory = memory
        self._on_disk = False
        self._numbers = count()
        self.abandoned: list[str] = []
        """Names of tables that nobody holds any more."""
        self.close = weakref.finalize(self, _end, self._connection, self._folder)

    def __repr__(self) -> str:
        return "Session(private)"

    @property
    def folder(self) -> Path:
        """Where data is spilled to."""
        return self._folder.path

    def name(self) -> str:
        """A name that nothing here has yet: of a column, a table, a view."""
        return f"x{next(self._numbers)}"

    def to_disk(self, size: int) -> None:
        """Make later tables in a file, if one of so many bytes is large for the memory."""
        if self._on_disk or size < _LARGE * self._memory:
            return
        path = str(self.folder / "tables").replace("'", "''")
        self.run("PRAGMA disable_checkpoint_on_shutdown")  # the file goes with the folder
        self.run("SET force_compression = 'uncompressed'")
        self.run(f"ATTACH '{path}' AS {_ON_DISK}")
        self._on_disk = True

    # -- statements -------------------------------------------------------------------------------

    def run(self, statement: str) -> None:
        """Run a statement."""
        with self._cursor() as cursor, _told():
            cursor.execute(statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The few rows that a statement gives."""
        with self._cursor() as cursor, _told():
            found: list[tuple[Any, ...]] = cursor.execute(statement).fetchall()
        return found

    def arrow(self, statement: str) -> pa.Table:
        """All that a statement gives."""
        with self._cursor() as cursor, _told():
            return cursor.sql(statement).to_arrow_table()

    def stream(self, statement: str, batch: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """What a statement gives, some rows at a time."""
        with self._cursor() as cursor:
            with _told():
                reader = cursor.sql(statement).to_arrow_reader(batch)
            while True:
                with _told(OSError):  # which is what Arrow makes of a fault of DuckDB
                    rows = next(reader, None)
                if rows is None:
                    return
                yield rows

    def relation(self, statement: str, *held: object) -> Any:
        """What a statement gives, as a relation that runs it when it is asked something.

        It holds this database, and whatever else it is made of.
        """
        cursor = self._connection.cursor()
        with _told():
            made = cursor.sql(statement)
        weakref.finalize(made, _let_go, self, cursor, *held)
        return made

    # -- tables -----------------------------------------------------------------------------------

    def created(self, statement: str) -> Table:
        """A table of what a statement gives, in the order in which it gives it."""
        name = self._of_table()
        self.run(f"CREATE TABLE {name} AS {statement}")
        return Table(self, name)

    def filled(
        self,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        shown: Sequence[str] = ("*",),
        *,
        small: bool = False,
    ) -> Table:
        """A table of batches, in their order; ``shown`` are its columns, as expressions.

        A ``small`` one is in memory.
        """
        name = self.name() if small else self._of_table()
        made = f"CREATE TABLE {name} AS SELECT {', '.join(shown)} FROM "
        self._over(schema, batches, lambda cursor, view: cursor.execute(made + view))
        return Table(self, name)

    def _of_table(self) -> str:
        return f"{_ON_DISK}.{self.name()}" if self._on_disk else self.name()

    def asked(
        self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], statement: Callable[[str], str]
    ) -> pa.Table:
        """All that a SELECT over batches gives, of which it is told the name."""
        return self._over(
            schema, batches, lambda cursor, view: cursor.sql(statement(view)).to_arrow_table()
        )

    def _over(
        self,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        run: Callable[[Any, str], Any],
    ) -> Any:
        faults: list[BaseException] = []
        reader = pa.RecordBatchReader.from_batches(schema, kept_faults(batches, faults))
        view = self.name()
        with self._cursor() as cursor:
            try:
                cursor.register(view, reader)
                return run(cursor, view)
            except (duckdb.Error, pa.ArrowException, RuntimeError) as error:
                if faults:
                    raise faults[0] from None
                raise _fault(error) from None
            finally:
                cursor.unregister(view)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        with _told(), closing(self._connection.cursor()) as cursor:
            while self.abandoned:
                cursor.execute(f"DROP TABLE IF EXISTS {self.abandoned.pop()}")
            yield cursor


@contextmanager
def _told(*more: type[Exception]) -> Iterator[None]:
    """Turns what DuckDB says, by its own errors, those of Arrow and more, into what may be said."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, *more) as error:
        raise _fault(error) from None


def _fault(error: BaseException) -> VoileError:
    """What is to be said of a fault of DuckDB."""
    words = str(error).lower()
    if any(sign in words for sign in _DISK_IS_FULL):
        return InputError(
            "the disk with the temporary data of the engine duckdb is full; make room on it, or "
            "name a folder on a larger one in the environment variable TMPDIR; nothing was written"
        )
    if isinstance(error, duckdb.OutOfMemoryException) or "out of memory" in words:
        return OutOfMemoryError(
            "the engine duckdb needs more memory than it was given; set VOILE_DUCKDB_MEMORY to "
            "more, such as 4GiB, or publish fewer columns"
        )
    return TableError(
        f"the engine duckdb could not read the table or work on it ({type(error).__name__}); see "
        "that the files are whole, readable and did not change while they were read, or ask for "
        "--engine polars"
    )


def _threads(memory: int) -> int:
    """How many threads so much memory is enough for."""
    return max(1, min(os.cpu_count() or 1, _MOST_THREADS, memory // _OF_A_THREAD))


def _let_go(session: DuckDBHandle, cursor: Any, *held: object) -> None:
    cursor.close()


def _end(connection: Any, folder: SpillFolder) -> None:
    connection.close()
    folder.remove()
