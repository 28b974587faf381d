"""Kill who upgrades a store, at every statement: ``python upgrading.py WHERE [KILLS]``.

WHERE is a folder, for stores in SQLite, or the address of a database in PostgreSQL whose schemas
may be made and dropped.  Each store begins in an earlier format, with a row in each table that it
had; a process opens it and is ended by SIGKILL before its n-th statement, for all n, until one gets
through.  After each kill the format is looked at, and then the store is opened and looked through.
With KILLS only every so many-th statement is hit.  Prints counts as JSON, and what went wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from share_tests.store.reports import chain, number_of
from voile_share.ingest.tokens import token_hash
from voile_share.store import Appended, PostgresStore, SQLiteStore, postgres, schema
from voile_share.store import postgres as postgres_engine
from voile_share.store import sqlite as sqlite_engine

LINK, TRUCK = token_hash("a link"), number_of(1)
STATEMENTS = (
    "INSERT INTO companies (company, name, created) VALUES ('c', 'C', 0)",
    "INSERT INTO trucks (truck, company, card, secrets, created) VALUES (?, 'c', ?, ?, 0)",
    "INSERT INTO links (hash, truck, created, expires) VALUES (?, ?, 0, 10)",
    "INSERT INTO parcels (truck, parcel, sender, receiver, created) VALUES (?, ?, ?, ?, 0)",
    "INSERT INTO states (truck, state) VALUES (?, ?)",
    "INSERT INTO mail (truck, digest, message, received) VALUES (?, ?, ?, 0)",
)
VALUES = (
    (),
    (TRUCK, b"card", b"sealed"),
    (LINK, TRUCK),
    (TRUCK, b"P", b"s" * 32, b"r" * 32),
    (TRUCK, b"state"),
    (TRUCK, b"digest", b"message"),
)
ENTRIES = chain(1, 2)


_LINKS_BY_COMPANY = 5
"""The format since which a link has a company, too."""


def rows_of(number: int) -> list[tuple[str, tuple[object, ...]]]:
    """A row for each table, as a format has them."""
    rows = list(zip(STATEMENTS, VALUES, strict=True))
    if number < _LINKS_BY_COMPANY:
        return rows
    of_company = (
        "INSERT INTO links (hash, truck, company, created, expires, follows_parcel, mails) "
        "VALUES (?, ?, 'c', 0, 10, 0, 0)"
    )
    return [(of_company if "INTO links" in one else one, values) for one, values in rows]


def is_whole(store: Any) -> bool:
    """Whether all that was acknowledged is there, and the store takes more."""
    return (
        store.companies()[0].company == "c"
        and store.truck(TRUCK).secrets == b"sealed"
        and not store.truck(TRUCK).own_keys
        and store.link(LINK).truck == TRUCK
        and [one.parcel for one in store.parcels(TRUCK)] == [b"P"]
        and store.state(TRUCK) == b"state"
        and [one.message for one in store.mail(TRUCK, 0, 10)] == [b"message"]
        and list(store.append(ENTRIES)) == [Appended.KNOWN, Appended.NEW]
        and store.users() == []
    )


def at_format(number: int, work: Callable[[], None]) -> None:
    """Do something as the Voile of a format would have."""
    formats, format_ = schema._FORMATS, schema.FORMAT
    engines = (schema, sqlite_engine, postgres_engine)
    schema._FORMATS = formats[:number]
    for module in engines:
        module.FORMAT = number
    try:
        work()
    finally:
        schema._FORMATS = formats
        for module in engines:
            module.FORMAT = format_


def killed(which: type, nth: int, work: Callable[[], None]) -> bool:
    """Whether a process that works is killed before the n-th change that a class makes."""
    child = os.fork()
    if child == 0:
        left = nth
        change = which.change

        def counted(self: object, *given: object) -> object:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return change(self, *given)

        which.change = counted
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0, "the upgrade failed before it was killed"
    return os.WIFSIGNALED(status)


class Files:
    """Stores in SQLite."""

    connection = sqlite_engine._Connection

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, number: int) -> Path:
        path = self.folder / f"{number}.db"

        def work() -> None:
            with closing(SQLiteStore.open(path)) as store:
                store.append(ENTRIES[:1])

        at_format(number, work)
        with closing(sqlite3.connect(path)) as raw, raw:
            for statement, values in rows_of(number):
                raw.execute(statement, values)
        return path

    def copy(self, path: Path) -> Path:
        return Path(shutil.copy(path, path.with_suffix(".copy")))

    def open(self, path: Path) -> SQLiteStore:
        return SQLiteStore.open(path)

    def format(self, path: Path) -> int:
        return SQLiteStore.format_of(path)


class Schemas:
    """Stores in PostgreSQL, each in a schema of its own, which is made again for each kill."""

    connection = postgres.PostgresConnection

    def __init__(self, url: str) -> None:
        import psycopg  # noqa: PLC0415 - an extra

        self.url = url
        self.raw = psycopg.connect(url, autocommit=True)

    def make(self, number: int) -> int:
        return number

    def copy(self, number: int) -> str:
        self.raw.execute("DROP SCHEMA IF EXISTS upgrading CASCADE; CREATE SCHEMA upgrading")
        url = self.url.replace("search_path%3Dpublic", "search_path%3Dupgrading")

        def work() -> None:
            with closing(PostgresStore.open(url)) as store:
                store.append(ENTRIES[:1])
                for statement, values in rows_of(number):
                    store._engine.write(
                        lambda connection, one=statement, those=values: connection.change(
                            one, those
                        )
                    )

        at_format(number, work)
        return url

    def open(self, url: str) -> PostgresStore:
        return PostgresStore.open(url)

    def format(self, url: str) -> int:
        return PostgresStore.format_of(url)


def main() -> None:
    where, step = sys.argv[1], int((*sys.argv, "1")[2])
    stores: Any = Schemas(where) if "://" in where else Files(Path(where))
    wrong: list[str] = []
    kills, halfway = 0, 0
    for number in range(1, schema.FORMAT):
        made, nth = stores.make(number), 0
        while True:
            place = stores.copy(made)
            hit = killed(stores.connection, nth, lambda place=place: stores.open(place).close())
            found = stores.format(place)
            if not (number <= found <= schema.FORMAT and (hit or found == schema.FORMAT)):
                wrong.append(f"from {number}, kill {nth}: format {found}")
            with closing(stores.open(place)) as store:
                if not is_whole(store):
                    wrong.append(f"from {number}, kill {nth}: something was lost")
            if not hit:
                break
            kills, halfway, nth = kills + 1, halfway + (number < found < schema.FORMAT), nth + step
    sys.stdout.write(json.dumps({"kills": kills, "halfway": halfway, "wrong": wrong}))


if __name__ == "__main__":
    main()
