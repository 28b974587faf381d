"""Kill who upgrades a store, at every statement: ``python upgrading.py WHERE [KILLS]``.

WHERE is a folder, for stores in SQLite, or the address of a database in PostgreSQL whose schemas
may be made and dropped.  Today's format is the first, so two later ones are made up (``LATER``).
Each store begins in an earlier format, with rows in its tables; a process opens it and is ended by
SIGKILL before its n-th statement, for all n, until one gets through.  After each kill the format is
looked at, and then the store is opened and looked through.
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
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).parents[2]))

from share_tests.store.reports import chain, number_of
from voile_share.ingest.fixes import token_hash
from voile_share.store import Appended, PostgresStore, SQLiteStore, postgres, schema
from voile_share.store import postgres as postgres_engine
from voile_share.store import sqlite as sqlite_engine

LINK, TRUCK = token_hash("a link"), number_of(1)
STATEMENTS = (
    "INSERT INTO companies (company, name, created) VALUES ('c', 'C', 0)",
    "INSERT INTO trucks (truck, company, card, secrets, created) VALUES (?, 'c', ?, ?, 0)",
    "INSERT INTO links (hash, truck, company, created, expires, follows_parcel, mails) "
    "VALUES (?, ?, 'c', 0, 10, 0, 0)",
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
T = TypeVar("T")


LATER = (
    (
        "ALTER TABLE links ADD COLUMN later {whole} NOT NULL DEFAULT 0",
        "UPDATE links SET later = 1",
        "CREATE TABLE hauled ({seq}, parcel {bytes} NOT NULL) {table}",
        "INSERT INTO hauled (parcel) SELECT parcel FROM parcels",
        "CREATE INDEX hauled_parcels ON hauled (parcel)",
    ),
    (
        "CREATE TABLE latest (parcel {bytes} NOT NULL PRIMARY KEY) {clustered}",
        "INSERT INTO latest (parcel) SELECT parcel FROM hauled",
        "DROP TABLE hauled",
    ),
)
"""Statements that lead to formats of a Voile to come."""
LAST = schema.FORMAT + len(LATER)


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


def at_format(number: int, work: Callable[[], T]) -> T:
    """Do something as the Voile of a format does, today's or one to come."""
    formats, format_ = schema._FORMATS, schema.FORMAT
    modules = (schema, sqlite_engine, postgres_engine)
    schema._FORMATS = (*formats, *LATER)[:number]
    for module in modules:
        module.FORMAT = number
    try:
        return work()
    finally:
        schema._FORMATS = formats
        for module in modules:
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
            for statement, values in zip(STATEMENTS, VALUES, strict=True):
                raw.execute(statement, values)
        return path

    def copy(self, path: Path) -> Path:
        return Path(shutil.copy(path, path.with_suffix(".copy")))

    def open(self, path: Path) -> SQLiteStore:
        return at_format(LAST, lambda: SQLiteStore.open(path))

    def format(self, path: Path) -> int:
        return SQLiteStore.format_of(path)


class Schemas:
    """Stores in PostgreSQL, each in a schema of its own, which is made again for each kill."""

    connection = postgres._PostgresConnection

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
                for statement, values in zip(STATEMENTS, VALUES, strict=True):
                    store._engine.write(
                        lambda connection, one=statement, those=values: connection.change(
                            one, those
                        )
                    )

        at_format(number, work)
        return url

    def open(self, url: str) -> PostgresStore:
        return at_format(LAST, lambda: PostgresStore.open(url))

    def format(self, url: str) -> int:
        return PostgresStore.format_of(url)


def main() -> None:
    where, step = sys.argv[1], int((*sys.argv, "1")[2])
    stores: Any = Schemas(where) if "://" in where else Files(Path(where))
    wrong: list[str] = []
    kills, halfway = 0, 0
    for number in range(1, LAST):
        made, nth = stores.make(number), 0
        while True:
            place = stores.copy(made)
            hit = killed(stores.connection, nth, lambda place=place: stores.open(place).close())
            found = stores.format(place)
            if not (number <= found <= LAST and (hit or found == LAST)):
                wrong.append(f"from {number}, kill {nth}: format {found}")
            with closing(stores.open(place)) as store:
                if not is_whole(store):
                    wrong.append(f"from {number}, kill {nth}: something was lost")
            if not hit:
                break
            kills, halfway, nth = kills + 1, halfway + (number < found < LAST), nth + step
    sys.stdout.write(json.dumps({"kills": kills, "halfway": halfway, "wrong": wrong}))


if __name__ == "__main__":
    main()
