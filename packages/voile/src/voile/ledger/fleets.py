"""Accounts of fleets as records of the ledger, sealed like series.

An entry holds what a release costs each of its trips, or each vehicle on each day, little-endian,
in chunks (module ``chunks``): mark, day, epsilon, squared mu, and the number of reports of each
distribution that the entry names.

Seals (SHA-256).  The seal of an entry covers its number, release, date, bytes, its kind where that
is not a release, and the seal of the entry before it; that of the first entry continues the seal of
the fleet's name, terms and key.  The fleet's head is the seal of its newest entry.  What seals
find, and what they do not, is said in ``records``.

Cost: all entries of a fleet are read for each of its releases.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np

from voile.ledger.budget import End
from voile.ledger.chunks import TRIP_CHUNKS, framed
from voile.ledger.trips import FleetCharge, FleetEntry, FleetKind, FleetState
from voile.release.trip_sums import TripSums
from voile.release.trips import FleetTerms
from voile_geo.planar.losses import LossDistribution

__all__ = [
    "charge",
    "end",
    "find_fleet_entries",
    "fleet_names",
    "give_back",
    "newest_seal",
    "read_fleet",
]


def _record(distributions: Sequence[LossDistribution]) -> np.dtype[np.void]:
    """How a trip is stored, with a number for each distribution."""
    counts = [(f"alike {index}", "<i8") for index in range(len(distributions))]
    costs = [("epsilon", "<f8"), ("squared_mu", "<f8")]
    return np.dtype([("mark", "<u8"), ("day", "<i8"), *costs, *counts])


def fleet_names(connection: sqlite3.Connection) -> list[str]:
    """The names of all fleets, in order."""
    return [name for (name,) in connection.execute("SELECT name FROM fleet ORDER BY name")]


def find_fleet_entries(
    connection: sqlite3.Connection, release_id: str
) -> list[tuple[str, FleetKind]]:
    """Fleet and kind of the entries about a release, oldest first."""
    query = """
        SELECT fleet.name, kind FROM trip_entry JOIN fleet ON fleet.id = fleet
        WHERE release_id = ? ORDER BY number"""
    return connection.execute(query, (release_id,)).fetchall()


def newest_seal(connection: sqlite3.Connection, name: str) -> bytes | None:
    """The seal of a fleet's newest entry as it is stored; None where there is no such fleet."""
    (head,) = connection.execute("SELECT head FROM fleet WHERE name = ?", (name,)).fetchone() or (
        None,
    )
    return head


def read_fleet(
    connection: sqlite3.Connection, name: str, broken: Callable[[str], None]
) -> FleetState | None:
    """The state of a fleet, None where there is none; ``broken`` hears of seals that fail.

    Raises ``ValueError`` where a record cannot be read at all.
    """
    row = connection.execute(
        "SELECT id, terms, key, head FROM fleet WHERE name = ?", (name,)
    ).fetchone()
    if row is None:
        return None
    id_, terms, key, head = row
    seal = _seal_of_origin(name, terms, key)
    entries: list[FleetEntry] = []
    spent = TripSums.none()
    query = """
        SELECT id, number, release_id, created, trips, seal, kind, laws FROM trip_entry
        WHERE fleet = ? ORDER BY number"""
    for row in connection.execute(query, (id_,)):
        entry, number, release_id, created, trips, stored, kind, distributions = row
        data = b"".join(TRIP_CHUNKS.read(connection, entry))
        seal = _seal_of_entry(seal, (number, release_id, created), data, kind, distributions)
        if seal != stored:
            broken(f"entry {number}: its seal does not match it and the entries before it")
        named = _distributions_of(number, distributions)
        if len(data) != trips * _record(named).itemsize:
            msg = f"entry {number}: what its trips cost is incomplete"
            raise ValueError(msg)
        entries.append(FleetEntry(number, release_id, created, trips, kind))
        spent = spent.plus(_sums(np.frombuffer(data, _record(named)), named))
    if seal != head:
        broken("its head does not match its newest entry: one was changed or lost")
    return FleetState(_terms_of(name, terms), key, tuple(entries), spent, seal)


def charge(connection: sqlite3.Connection, asked: FleetCharge, created: str) -> None:
    """Store what a release costs its trips, at most where that is not known yet."""
    name, terms = asked.terms.name, _terms_text(asked.terms)
    if asked.before is None:
        connection.execute(
            "INSERT INTO fleet (name, terms, key, head) VALUES (?, ?, ?, ?)",
            (name, terms, asked.key, _seal_of_origin(name, terms, asked.key)),
        )
    _append(connection, name, "release", asked.release_id, created, asked.costs)


def give_back(connection: sqlite3.Connection, asked: FleetCharge, created: str) -> None:
    """Store what the reports of a release cost less than was charged for them."""
    _append(connection, asked.terms.name, "given back", asked.release_id, created, asked.rest)


def end(connection: sqlite3.Connection, name: str, release_id: str, how: End, created: str) -> None:
    """Store that nothing came of what was charged for a release."""
    _append(connection, name, how, release_id, created, TripSums.none())


def _append(
    connection: sqlite3.Connection,
    name: str,
    kind: FleetKind,
    release_id: str,
    created: str,
    costs: TripSums,
) -> None:
    id_, head = connection.execute("SELECT id, head FROM fleet WHERE name = ?", (name,)).fetchone()
    (number,) = connection.execute(
        "SELECT count(*) FROM trip_entry WHERE fleet = ?", (id_,)
    ).fetchone()
    records = np.empty(len(costs), _record(tuple(costs.alike)))
    records["mark"], records["epsilon"] = costs.marks, costs.epsilon
    records["squared_mu"], records["day"] = costs.squared_mu, costs.days
    for index, counts in enumerate(costs.alike.values()):
        records[f"alike {index}"] = counts
    data, distributions = (
        records.tobytes(),
        json.dumps([asdict(distribution) for distribution in costs.alike]),
    )
    seal = _seal_of_entry(head, (number + 1, release_id, created), data, kind, distributions)
    cursor = connection.execute(
        "INSERT INTO trip_entry (fleet, number, release_id, created, trips, seal, kind, laws) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (id_, number + 1, release_id, created, len(records), seal, kind, distributions),
    )
    TRIP_CHUNKS.write(connection, cursor.lastrowid, memoryview(data))
    connection.execute("UPDATE fleet SET head = ? WHERE id = ?", (seal, id_))


def _distributions_of(number: int, text: str) -> tuple[LossDistribution, ...]:
    """The distributions that an entry names."""
    try:
        return tuple(LossDistribution(**distribution) for distribution in json.loads(text))
    except (TypeError, ValueError) as error:
        msg = f"entry {number}: its distributions cannot be read"
        raise ValueError(msg) from error


def _sums(records: np.ndarray, distributions: Sequence[LossDistribution]) -> TripSums:
    alike = {
        distribution: records[f"alike {index}"] for index, distribution in enumerate(distributions)
    }
    return TripSums(
        records["mark"], records["epsilon"], records["squared_mu"], records["day"], alike
    )


def _terms_text(terms: FleetTerms) -> str:
    return json.dumps({name: value for name, value in asdict(terms).items() if name != "name"})


def _terms_of(name: str, text: str) -> FleetTerms:
    try:
        return FleetTerms(name=name, **json.loads(text))
    except (TypeError, ValueError) as error:
        msg = "its terms cannot be read"
        raise ValueError(msg) from error


def _seal_of_origin(name: str, terms: str, key: bytes) -> bytes:
    return hashlib.sha256(framed("fleet", name, terms, key.hex())).digest()


def _seal_of_entry(
    previous: bytes, named: tuple[int, str, str], data: bytes, kind: str, distributions: str
) -> bytes:
    """``named`` are number, release and date."""
    outcome = () if kind == "release" else (kind,)
    fields = framed("trips", *named, len(data), *outcome, {"laws": distributions})
    return hashlib.sha256(fields + previous + data).digest()
