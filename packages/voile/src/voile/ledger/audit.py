"""Audits: whether a ledger is what was committed, and knows the releases that exist.

A ledger that was replaced as a whole by an older copy is sound in itself.  Only the releases
show it: each carries its id in ``release.json``, and the ledger must know that id.

Cost: reads all that a ledger holds, counts the marks of each series, and adds up the events of each
data set.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

from voile.ledger import fleets, records, spending
from voile.ledger.budget import BudgetState, End, shown
from voile.ledger.lost import find_lost
from voile.ledger.promises import broken_promises
from voile.ledger.row_sets import RowFolder
from voile.release.manifest import changed_files, release_document
from voile_base.errors import PlanError

__all__ = ["LedgerFault", "audit_ledger", "audit_release"]

_MOST_FINDINGS = 20
_ROUNDING = 1e-9
"""Relative, of an epsilon that went through JSON."""


@dataclass(frozen=True)
class LedgerFault:
    """Something that a ledger, or a release beside it, should not show."""

    where: str
    """The file, a series, or a release folder."""
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def audit_ledger(connection: sqlite3.Connection, folder: RowFolder) -> list[LedgerFault]:
    """Everything that is wrong with a ledger, read in the transaction of ``connection``.

    ``folder`` has the rows that it refers to.
    """
    findings: list[LedgerFault] = []
    try:
        findings += [LedgerFault("the file", what) for what in _damage(connection)]
        for name in records.series_names(connection):
            where = f"series {name!r}"
            findings += [
                LedgerFault(where, what) for what in _audit_series(connection, folder, name)
            ]
        for name in spending.data_set_names(connection):
            where = f"data set {name!r}"
            findings += [
                LedgerFault(where, what) for what in _audit_data_set(connection, folder, name)
            ]
        for name in fleets.fleet_names(connection):
            where = f"fleet {name!r}"
            findings += [LedgerFault(where, what) for what in _audit_fleet(connection, name)]
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_IOERR")):
            raise  # says nothing about what the file holds
        findings.append(LedgerFault("the file", f"it is damaged: {error}"))
    return findings


def audit_release(
    connection: sqlite3.Connection, rows: RowFolder, folder: Path
) -> list[LedgerFault]:
    """What the ledger does not know, or knows otherwise, about a release folder.

    ``rows`` has the rows that the ledger refers to.
    """
    where = str(folder)
    document = release_document(folder)
    release_id = str(document.get("release_id"))
    changed = [LedgerFault(where, what) for what in changed_files(document, folder)]
    entries = spending.find_entries(connection, release_id)
    charged = [*entries, *fleets.find_fleet_entries(connection, release_id)]
    findings = [
        LedgerFault(
            where, f"its rows went back into the pool of data set {name!r}, as if it were lost"
        )
        for name, kind in entries
        if kind == "taken back"
    ]
    findings += [
        LedgerFault(where, f"the account of {name!r} says that nothing came of it ({kind})")
        for name, kind in charged
        if kind in get_args(End)
    ]
    findings += [
        LedgerFault(where, what)
        for name in dict.fromkeys(name for name, _ in entries)
        for what in _undercharged(connection, rows, name, document)
    ]
    claimed = document.get("series")
    if isinstance(claimed, dict):
        findings += [
            LedgerFault(where, what)
            for what in _audit_version(connection, release_id, claimed, document.get("rows"))
        ]
    elif not charged:
        what = (
            "it was published without a series, and no data set was charged for it, nor a "
            "fleet, so no ledger vouches for it"
        )
        findings.append(LedgerFault(where, what))
    return [*findings, *changed]


def _undercharged(
    connection: sqlite3.Connection, rows: RowFolder, name: str, document: Mapping[str, Any]
) -> Iterator[str]:
    """Whether a release claims to have spent less than its data set was charged for it."""
    guarantee = document.get("guarantee")
    stated = guarantee.get("epsilon") if isinstance(guarantee, dict) else None
    try:
        state = spending.read_state(connection, name, rows, lambda what: None)
    except ValueError:
        return  # the audit of the ledger itself says so
    assert state is not None, "names and records are read in one transaction"
    release_id = str(document.get("release_id"))
    charged = [e for one in state.entries if one.release_id == release_id for e in one.events]
    if not charged or any(event.rho is not None for event in charged):
        return
    spent = sum((event.epsilon for event in charged), Decimal(0))
    if isinstance(stated, int | float) and stated < float(spent) * (1 - _ROUNDING):
        yield (
            f"it claims epsilon = {stated:g}, and data set {name!r} was charged "
            f"{spent.normalize():f} for it"
        )


def _audit_version(
    connection: sqlite3.Connection, release_id: str, claimed: dict[str, Any], stated_rows: Any
) -> list[str]:
    """What the ledger does not know, or knows otherwise, about a release of a series."""
    known = records.find_release(connection, release_id)
    if find_lost(connection, release_id):
        return ["the ledger was told that it never appeared, and has forgotten its groups"]
    if known is None:
        return ["the ledger does not know this release"]
    name, number, id_ = known
    broken = []
    if (claimed.get("name"), claimed.get("version")) != (name, number):
        broken.append(f"the ledger knows this release as version {number} of series {name!r}")
    try:
        rows = int(records.read_blocks(connection, id_).rows.sum())
    except ValueError as error:
        return [*broken, f"the ledger cannot read what it knows of it: {error}"]
    if stated_rows not in (None, rows):
        broken.append(f"the ledger knows it with {rows} rows, and it states another number")
    return broken


def _damage(connection: sqlite3.Connection) -> list[str]:
    """What SQLite finds wrong with its own structures; its messages name no values."""
    check = connection.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})")
    damage = [f"SQLite: {text}" for (text,) in check if text != "ok"]
    orphans = {
        (table, parent) for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check")
    }
    damage += [
        f"records of {table!r} have lost their {parent!r}" for table, parent in sorted(orphans)
    ]
    return damage


def _audit_series(connection: sqlite3.Connection, folder: RowFolder, name: str) -> list[str]:
    broken: list[str] = []
    try:
        series = records.find_series(connection, name)
        assert series is not None, "names and records are read in one transaction"
        stale = [
            version.number
            for version in records.version_records(connection, series)[:-1]
            if version.held is not None
        ]
        broken += [f"version {number}: its held rows were not forgotten" for number in stale]
        history = records.read_history(connection, series, folder, broken.append)
    except ValueError as error:
        return [*broken, str(error)]
    # Marks that were changed may not even be readable.
    return [*broken, *broken_promises(history, marks=not broken)]


def _audit_data_set(connection: sqlite3.Connection, folder: RowFolder, name: str) -> list[str]:
    broken: list[str] = []
    try:
        state = spending.read_state(connection, name, folder, broken.append)
    except ValueError as error:
        return [*broken, str(error)]
    assert state is not None, "names and records are read in one transaction"
    return [*broken, *_broken_account(state)]


def _audit_fleet(connection: sqlite3.Connection, name: str) -> list[str]:
    """What the records of a fleet contradict: their seals, their numbering, its budget."""
    broken: list[str] = []
    try:
        state = fleets.read_fleet(connection, name, broken.append)
    except ValueError as error:
        return [*broken, str(error)]
    assert state is not None, "names and records are read in one transaction"
    if [entry.number for entry in state.entries] != list(range(1, len(state.entries) + 1)):
        broken.append("entries are missing between the others")
    over = state.overspent
    if over:
        broken.append(f"{over:,} of its {state.terms.unit}s spent more than their budget")
    return broken


def _broken_account(state: BudgetState) -> list[str]:
    """What the entries of an account contradict: its numbering, its limit, each other."""
    broken = []
    if [entry.number for entry in state.entries] != list(range(1, len(state.entries) + 1)):
        broken.append("entries are missing between the others")
    try:
        if state.events and state.spent > state.limit.epsilon:
            what = f"{shown(state.spent)} is spent, and its limit is {state.limit.epsilon:f}"
            broken.append(what)
    except PlanError as error:
        broken.append(f"what it was charged for cannot be added up: {error}")
    releases: set[str] = set()
    for entry in state.entries:
        if entry.kind != "release" and entry.release_id not in releases:
            broken.append(f"entry {entry.number}: it is about a release that was not charged")
        releases.add(entry.release_id)
    return broken
