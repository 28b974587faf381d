"""A table of a database, or what a SELECT of it gives: DuckDB, SQLite and PostgreSQL.

DuckDB by its own library, with its extensions neither loaded nor downloaded by themselves; the
others by their ADBC drivers.  Files are opened for reading, and a server's transaction is read
only, so that no query changes anything.  Who may read is decided by the environment and the
driver's own files (``PGUSER``, ``PGPASSWORD``, ``~/.pgpass``, ``~/.pg_service.conf``); nothing of
it stands in an address, and nothing that a driver says is passed on, since it may quote values and
credentials.

The table is read in one statement, whole or not at all.  Rows come in the order in which the
database gives them; a SELECT may say which.  Exact decimal numbers become doubles, or whole numbers
where they have no decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa

from voile.table.formats.registry import Whole, library, refuse_nothing, whole_numbers
from voile.table.places import Address, Scheme
from voile_base.errors import TableError, refuse_out_of_memory

__all__ = ["read_database"]

_NUMERIC = "numeric"


def read_database(address: Address, columns: Collection[str] | None) -> Whole:
    """What the address asks for; raises ``TableError`` and ``InputError`` where it is not there."""
    rows = _READERS[address.scheme](address)
    names = tuple(rows.schema.names)
    refuse_nothing(address, names, rows.num_rows)
    wanted = [name for name in names if columns is None or name in columns]
    return Whole(pl.DataFrame([_shaped(rows[name], name) for name in wanted]), names)


def _duckdb(address: Address) -> pa.Table:
    duckdb = library("duckdb", "databases", "reading DuckDB")
    file = _file(address)
    settings = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "enable_external_access": "false",
    }
    with (
        _told(address, duckdb.Error, (duckdb.IOException, duckdb.ConnectionException)),
        closing(duckdb.connect(str(file), read_only=True, config=settings)) as connection,
    ):
        rows: pa.Table = connection.sql(address.statement).to_arrow_table()
    return rows


def _sqlite(address: Address) -> pa.Table:
    file = _file(address)
    if not _is_whole(file):
        raise TableError(
            f"{address}: the database file is cut off: it is shorter than it says; copy it again "
            "from its source"
        )
    uri = f"{file.absolute().as_uri()}?mode=ro"
    return _adbc(address, "adbc_driver_sqlite.dbapi", uri, ())


def _is_whole(file: Path) -> bool:
    """Whether a file of SQLite is as long as its header says; other files are left to the driver.

    Of pages that are not there SQLite reads zeros, and so missing values where there were others.
    The header's number of pages counts where it was written with the last change (the file format,
    sections 1.3.2, 1.3.8 and 1.3.9).
    """
    with file.open("rb") as stream:
        header = stream.read(100)
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        return True
    page = int.from_bytes(header[16:18], "big")
    page = 65_536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big") if header[24:28] == header[92:96] else 0
    return file.stat().st_size >= page * pages


def _postgresql(address: Address) -> pa.Table:
    location = address.location
    uri = location if not location.startswith("/") else f"postgresql:{location}"
    return _adbc(address, "adbc_driver_postgresql.dbapi", uri, ("SET TRANSACTION READ ONLY",))


def _adbc(address: Address, driver: str, uri: str, before: tuple[str, ...]) -> pa.Table:
    library("adbc_driver_manager", "databases", f"reading {address.scheme} databases")
    dbapi = library(driver, "databases", f"reading {address.scheme} databases")
    with (
        _told(address, dbapi.Error, (dbapi.OperationalError, dbapi.InternalError)),
        closing(dbapi.connect(uri)) as connection,
        closing(connection.cursor()) as cursor,
    ):
        for statement in before:
            cursor.execute(statement)
        cursor.execute(address.statement)
        rows: pa.Table = cursor.fetch_arrow_table()
    return rows


@contextmanager
def _told(
    address: Address, fault: type[Exception], away: tuple[type[Exception], ...]
) -> Iterator[None]:
    """Turns what a driver says into what may be said."""
    try:
        yield
    except away as error:
        refuse_out_of_memory(error)
        raise TableError(
            f"{address}: the database cannot be opened, or went away while it was read; nothing "
            "was written. See that it is there and lets you in, and try again"
        ) from None
    except (fault, pa.ArrowException, OSError, ValueError) as error:
        refuse_out_of_memory(error)
        raise TableError(
            f"{address}: the database refuses what was asked; check the names of its tables and "
            "columns, and that the statement is one SELECT"
        ) from None


def _file(address: Address) -> Path:
    """The file of a database, which is never made by looking for it."""
    file = Path(address.location)
    if not file.is_file():
        raise TableError(f"{address}: there is no such database file; check the path")
    return file


def _shaped(column: pa.ChunkedArray, name: str) -> pl.Series:
    """A column in types that a table has."""
    kind = column.type
    exact = False
    if isinstance(kind, pa.BaseExtensionType):
        exact = getattr(kind, "type_name", "") == _NUMERIC
        column = column.cast(kind.storage_type)
    series = pl.Series(name, column)
    if exact or isinstance(series.dtype, pl.Decimal) or series.dtype == pl.Int128:
        return whole_numbers(series.cast(pl.Float64))
    return series


_READERS: Mapping[Scheme, Callable[[Address], pa.Table]] = {
    "duckdb": _duckdb,
    "sqlite": _sqlite,
    "postgresql": _postgresql,
}
