"""A service without privacy, to compare with: it stores positions as they come, in the open.

It takes the same requests by the same server, decodes them by the same decoders, knows devices by
the hashes of their tokens and answers when a position is durable in SQLite, many together.  What it
leaves out is what privacy costs: noise, encryption, padding, signatures and chains of records.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from voile_base.randomness import Randomness
from voile_share import ingest
from voile_share.service import Options
from voile_share.service.context import outcome_of
from voile_share.service.serving import listening_socket, server_of

__all__ = ["count", "serve_plain", "set_up_plain"]

_GATHER_SECONDS = 0.1
"""As long as Voile's commits are apart."""
_MOST_AT_ONCE = 400
_Waiting = tuple[str, ingest.Fix, Future[None]]


def set_up_plain(folder: Path, trucks: int, seed: int) -> Sequence[str]:
    """A database with so many devices; their tokens."""
    folder.mkdir()
    drawn, now = Randomness.seeded(seed), time.time()
    issued = [ingest.issue("truck", now, None, drawn.within(f"{one}")) for one in range(trucks)]
    with sqlite3.connect(folder / "plain.db") as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE devices (hash BLOB PRIMARY KEY, truck TEXT)")
        connection.execute(
            "CREATE TABLE positions (truck TEXT, slot INTEGER, latitude REAL, longitude REAL, "
            "PRIMARY KEY (truck, slot))"
        )
        rows = [(kept.hash, f"{number}") for number, (_, kept) in enumerate(issued)]
        connection.executemany("INSERT INTO devices VALUES (?, ?)", rows)
    connection.close()
    return [token for token, _ in issued]


def count(folder: Path) -> int:
    """How many positions are stored."""
    connection = sqlite3.connect(folder / "plain.db")
    ((found,),) = connection.execute("SELECT COUNT(*) FROM positions").fetchall()
    connection.close()
    return int(found)


def serve_plain(folder: Path, told: Connection) -> None:
    """Serve until SIGTERM."""
    options, store = Options(port=0), _Store(folder)
    with listening_socket(options) as listener:
        app = _Plain(store)
        server_of(app, options, listener, lambda host, port: told.send(port)).run([listener])


class _Store:
    """Devices in memory, and a thread that appends what waits."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "plain.db", check_same_thread=False)
        self._connection.execute("PRAGMA synchronous = FULL")
        self.devices = dict(self._connection.execute("SELECT hash, truck FROM devices"))
        self._queue: SimpleQueue[_Waiting] = SimpleQueue()
        Thread(target=self._run, daemon=True).start()

    def append(self, truck: str, fix: ingest.Fix) -> Future[None]:
        done: Future[None] = Future()
        self._queue.put((truck, fix, done))
        return done

    def _run(self) -> None:
        while True:
            batch = [self._queue.get()]
            time.sleep(_GATHER_SECONDS)
            try:
                while len(batch) < _MOST_AT_ONCE:
                    batch.append(self._queue.get_nowait())
            except Empty:
                pass
            rows = [(truck, int(fix.time), fix.latitude, fix.longitude) for truck, fix, _ in batch]
            with self._connection:
                self._connection.executemany(
                    "INSERT OR IGNORE INTO positions VALUES (?, ?, ?, ?)", rows
                )
            for *_, done in batch:
                done.set_result(None)


class _State:
    """What ``server_of`` asks of an application."""

    def __init__(self) -> None:
        self.context = type(
            "ServiceContext", (), {"closing": type("Event", (), {"set": lambda self: None})()}
        )()


class _Plain:
    """ASGI."""

    def __init__(self, store: _Store) -> None:
        self._store = store
        self.state = _State()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _live(receive, send)
            return
        request = Request(scope, receive)
        truck = self._store.devices.get(ingest.token_hash(scope["path"].rpartition("/")[2]))
        if truck is None:
            await Response(status_code=401)(scope, receive, send)
            return
        message = ingest.Request(None, scope["query_string"].decode(), await request.body(), {})
        decoded = message.decode(ingest.Arrival(time.time(), ingest.LIVE, "truck"))
        await outcome_of(self._store.append(truck, decoded.fixes[0]))
        await Response(media_type="text/plain")(scope, receive, send)


async def _live(receive: Receive, send: Send) -> None:
    """The messages of an application's life."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
