"""Connections to PostgreSQL: where the database is, what is run there, and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from voile_base.errors import InputError
from voile_share.store.protocols import ConflictError, StoreError
from voile_share.store.sql import Row

if TYPE_CHECKING:
    import psycopg

__all__ = ["DatabaseAddress", "Mark", "PostgresConnection", "explained", "library"]

_DEFAULTS: dict[str, Any] = {
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


class DatabaseAddress:
    """Where the database is; ``shown`` leaves the password out."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self._parts = _DEFAULTS | parts
        shown = (f"{name}={parts[name]}" for name in ("host", "port", "dbname") if parts.get(name))
        self.shown = " ".join(shown) or "the local database"

    @classmethod
    def of(cls, url: str) -> Self:
        """That of a text; raises ``InputError``, which does not quote it."""
        psycopg = library()
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error:  # it quotes the address
            msg = "the address of the database must read postgresql://user@host:port/database"
            raise InputError(msg) from None
        return cls(parts)

    def connect(self) -> PostgresConnection:
        """A new connection."""
        raw = library().connect(**self._parts, autocommit=True)
        try:
            raw.execute(_SETTINGS)
        except BaseException:
            raw.close()
            raise
        return PostgresConnection(raw)


Mark = tuple[str, int]
"""A connection's row in ``voile_commits``, and what a transaction writes there."""


class PostgresConnection:
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
        return bool(status == library().pq.TransactionStatus.IDLE)

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
            f"BEGIN; INSERT INTO voile_commits (connection, begun, at) VALUES ({mark}) "  # noqa: S608
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
def explained(where: str) -> Iterator[None]:
    """Turn what psycopg raises into an error that says what to do, and quotes no value."""
    try:
        yield
    except library().Error as error:
        raise _explanation(where, error) from None


def _explanation(where: str, error: psycopg.Error) -> Exception:
    psycopg = library()
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
def library() -> Any:
    """Psycopg 3; raises ``InputError`` where it is absent."""
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        msg = "stores in PostgreSQL need psycopg: pip install 'voile-share[postgres]'"
        raise InputError(msg) from None
    return psycopg
