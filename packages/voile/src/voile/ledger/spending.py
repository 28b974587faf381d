"""Accounts and pools of data sets as records of the ledger, sealed like series.

Seals (SHA-256).  The seal of an entry covers its number, kind, release, date, events and the seal
of the entry before it; that of the first entry continues the seal of the data set's name and
limit.  The head of a data set covers the seal of its newest entry and those of its pool, which
stand outside the chain because rows are forgotten when they are published.  What seals find, and
what they do not, is said in ``records``.  The rows of a pool stand beside the ledger
(``row_sets``).

Cost: one hash over the bytes of the pool on each commit and on each reading.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from voile.dp.events import PrivacyEvent
from voile.ledger.budget import BudgetEntry, BudgetState, CarriedRows, Charge, End, Kind
from voile.ledger.chunks import framed
from voile.ledger.row_sets import RowFolder, RowSet, Stage, refer, row_sets
from voile.schema.budget import BudgetPlan
from voile_base.errors import PlanError

__all__ = [
    "charge",
    "data_set_names",
    "end",
    "find_entries",
    "leave_out",
    "newest_seal",
    "pool_of",
    "read_state",
    "settle",
    "take_back",
]

_Pool = Literal["waiting", "taken up"]


@dataclass(frozen=True)
class _DataSet:
    """The record of one data set, without its entries."""

    id: int
    limit: BudgetPlan
    origin: bytes
    """The seal that the first entry continues."""
    head: bytes


def data_set_names(connection: sqlite3.Connection) -> list[str]:
    """The names of all data sets, in order."""
    return [name for (name,) in connection.execute("SELECT name FROM data_set ORDER BY name")]


def find_entries(connection: sqlite3.Connection, release_id: str) -> list[tuple[str, Kind]]:
    """Data set and kind of the entries about a release, oldest first."""
    query = """
        SELECT data_set.name, kind FROM spending JOIN data_set ON data_set.id = data_set
        WHERE release_id = ? ORDER BY number"""
    return connection.execute(query, (release_id,)).fetchall()


def newest_seal(connection: sqlite3.Connection, name: str) -> bytes | None:
    """The seal of a data set's newest entry as it is stored; None where it has none."""
    query = """
        SELECT seal FROM spending JOIN data_set ON data_set.id = data_set
        WHERE data_set.name = ? ORDER BY number DESC LIMIT 1"""
    (seal,) = connection.execute(query, (name,)).fetchone() or (None,)
    return seal


def read_state(
    connection: sqlite3.Connection, name: str, folder: RowFolder, broken: Callable[[str], None]
) -> BudgetState | None:
    """The state of a data set, None where there is none; ``broken`` hears of seals that fail.

    ``folder`` has the rows of its pool.  Raises ``ValueError`` where a record cannot be read at
    all.
    """
    data_set = _find(connection, name)
    if data_set is None:
        return None
    entries: list[BudgetEntry] = []
    seal = data_set.origin
    query = """
        SELECT number, kind, release_id, created, events, seal FROM spending
        WHERE data_set = ? ORDER BY number"""
    for number, kind, release_id, created, events, stored in connection.execute(
        query, (data_set.id,)
    ):
        seal = _seal_of_entry(seal, number, kind, release_id, created, events)
        if seal != stored:
            broken(f"entry {number}: its seal does not match it and the entries before it")
        entries.append(BudgetEntry(number, kind, release_id, created, _events_of(number, events)))
    waiting, seal_of_waiting = _read_pool(connection, data_set, "waiting", folder, broken)
    taken_up, seal_of_taken_up = _read_pool(connection, data_set, "taken up", folder, broken)
    if _seal_of_head(seal, seal_of_waiting, seal_of_taken_up) != data_set.head:
        broken("its head does not match its newest entry and its pool: one was changed or lost")
    return BudgetState(data_set.limit, tuple(entries), waiting, taken_up, seal)


def charge(connection: sqlite3.Connection, asked: Charge, created: str) -> None:
    """Store what a release spends."""
    data_set = _find(connection, asked.limit.data_set) or _begin(connection, asked.limit)
    _append(connection, data_set, "release", asked.release_id, created, asked.events)
    _update_head(connection, data_set)


def leave_out(
    connection: sqlite3.Connection, name: str, left_out: CarriedRows, stage: Stage
) -> None:
    """Store the rows that a release leaves out, in place of those that it took up.

    ``stage`` writes them.
    """
    data_set, release_id = _existing(connection, name), left_out.release_id
    if not _move(connection, data_set, "waiting", "taken up"):
        _write_pool(connection, data_set, "taken up", release_id, [])
    _write_pool(connection, data_set, "waiting", release_id, stage(left_out.kept))
    _update_head(connection, data_set)


def pool_of(connection: sqlite3.Connection, name: str) -> dict[str, str]:
    """The release that left the rows of each state of a data set's pool, as they are stored."""
    query = """
        SELECT state, release_id FROM pool JOIN data_set ON data_set.id = data_set
        WHERE data_set.name = ?"""
    return dict(connection.execute(query, (name,)).fetchall())


def end(connection: sqlite3.Connection, name: str, release_id: str, how: End, created: str) -> None:
    """Store that nothing came of what was charged for a release."""
    data_set = _existing(connection, name)
    _append(connection, data_set, how, release_id, created, ())
    _update_head(connection, data_set)


def settle(connection: sqlite3.Connection, name: str) -> None:
    """Forget the rows that the newest release of a data set took up, for it stands."""
    data_set = _existing(connection, name)
    _forget(connection, data_set, "taken up")
    _update_head(connection, data_set)


def take_back(connection: sqlite3.Connection, name: str, release_id: str, created: str) -> None:
    """Let the rows that a release took up wait again, and forget its own, for it never appeared."""
    data_set = _existing(connection, name)
    _append(connection, data_set, "taken back", release_id, created, ())
    _forget(connection, data_set, "waiting")
    _move(connection, data_set, "taken up", "waiting")
    _update_head(connection, data_set)


def _find(connection: sqlite3.Connection, name: str) -> _DataSet | None:
    row = connection.execute(
        "SELECT id, limits, head FROM data_set WHERE name = ?", (name,)
    ).fetchone()
    if row is None:
        return None
    id_, limits, head = row
    return _DataSet(id_, _limit_of(name, limits), _seal_of_origin(name, limits), head)


def _existing(connection: sqlite3.Connection, name: str) -> _DataSet:
    data_set = _find(connection, name)
    assert data_set is not None, "its state was read in the same transaction"
    return data_set


def _begin(connection: sqlite3.Connection, limit: BudgetPlan) -> _DataSet:
    connection.execute(
        "INSERT INTO data_set (name, limits, head) VALUES (?, ?, x'')",
        (limit.data_set, json.dumps(limit.document())),
    )
    return _existing(connection, limit.data_set)


def _append(
    connection: sqlite3.Connection,
    data_set: _DataSet,
    kind: Kind,
    release_id: str,
    created: str,
    events: tuple[PrivacyEvent, ...],
) -> None:
    number, previous = _newest(connection, data_set)
    text = json.dumps([event.document() for event in events])
    seal = _seal_of_entry(previous, number + 1, kind, release_id, created, text)
    connection.execute(
        "INSERT INTO spending (data_set, number, kind, release_id, created, events, seal) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (data_set.id, number + 1, kind, release_id, created, text, seal),
    )


def _newest(connection: sqlite3.Connection, data_set: _DataSet) -> tuple[int, bytes]:
    """Number and seal of the newest entry, as they are stored."""
    query = "SELECT number, seal FROM spending WHERE data_set = ? ORDER BY number DESC LIMIT 1"
    number, seal = connection.execute(query, (data_set.id,)).fetchone() or (0, data_set.origin)
    return number, seal


def _forget(connection: sqlite3.Connection, data_set: _DataSet, state: _Pool) -> None:
    connection.execute("DELETE FROM pool WHERE data_set = ? AND state = ?", (data_set.id, state))


def _move(connection: sqlite3.Connection, data_set: _DataSet, old: _Pool, new: _Pool) -> bool:
    """Give the rows of one state the other; whether there was a record of them."""
    moved = connection.execute(
        "UPDATE pool SET state = ? WHERE data_set = ? AND state = ?", (new, data_set.id, old)
    )
    return moved.rowcount > 0


def _write_pool(
    connection: sqlite3.Connection,
    data_set: _DataSet,
    state: _Pool,
    release_id: str,
    sets: Sequence[RowSet],
) -> None:
    seal = _seal_of_pool(release_id, sets, [it.seal for it in sets])
    cursor = connection.execute(
        "INSERT INTO pool (data_set, state, release_id, rows, seal) VALUES (?, ?, ?, ?, ?)",
        (data_set.id, state, release_id, sum(it.rows for it in sets), seal),
    )
    refer(connection, "pool", cursor.lastrowid, "pool", sets)


def _read_pool(
    connection: sqlite3.Connection,
    data_set: _DataSet,
    state: _Pool,
    folder: RowFolder,
    broken: Callable[[str], None],
) -> tuple[CarriedRows | None, str | None]:
    """The rows of one state and their seal, computed from their bytes."""
    row = connection.execute(
        "SELECT id, release_id, rows, seal FROM pool WHERE data_set = ? AND state = ?",
        (data_set.id, state),
    ).fetchone()
    if row is None:
        return None, None
    id_, release_id, rows, stored = row
    sets = row_sets(connection, "pool", id_, "pool")
    try:
        seals = [folder.seal_of(it.name, it.rows) for it in sets]
    except ValueError as error:
        msg = f"its rows {state}: {error}"
        raise ValueError(msg) from error
    seal, kept = _seal_of_pool(release_id, sets, seals), folder.kept(sets)
    if seal != stored or kept.height != rows:
        broken(f"the record of its rows {state} was changed")
    return CarriedRows(release_id, kept), seal.hex()


def _update_head(connection: sqlite3.Connection, data_set: _DataSet) -> None:
    _, newest = _newest(connection, data_set)
    query = "SELECT state, seal FROM pool WHERE data_set = ?"
    seals = {state: seal.hex() for state, seal in connection.execute(query, (data_set.id,))}
    head = _seal_of_head(newest, seals.get("waiting"), seals.get("taken up"))
    connection.execute("UPDATE data_set SET head = ? WHERE id = ?", (head, data_set.id))


def _limit_of(name: str, text: str) -> BudgetPlan:
    try:
        return BudgetPlan(data_set=name, **json.loads(text))
    except (TypeError, PlanError, ValueError) as error:
        msg = "its limit cannot be read"
        raise ValueError(msg) from error


def _events_of(number: int, text: str) -> tuple[PrivacyEvent, ...]:
    try:
        return tuple(PrivacyEvent.of_document(document) for document in json.loads(text))
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        msg = f"entry {number}: what it spent cannot be read"
        raise ValueError(msg) from error


def _seal_of_origin(name: str, limits: str) -> bytes:
    return hashlib.sha256(framed("data set", name, limits)).digest()


def _seal_of_entry(previous: bytes, *fields: object) -> bytes:
    return hashlib.sha256(framed("entry", *fields) + previous).digest()


def _seal_of_pool(release_id: str, sets: Sequence[RowSet], seals: Sequence[bytes]) -> bytes:
    """Over the release that left rows out, and these."""
    rows = sum(it.rows for it in sets)
    return hashlib.sha256(framed("pool", release_id, rows) + b"".join(seals)).digest()


def _seal_of_head(newest: bytes, waiting: str | None, taken_up: str | None) -> bytes:
    return hashlib.sha256(framed("head of data set", waiting, taken_up) + newest).digest()
