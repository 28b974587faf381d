"""Audits: whether a ledger is what was committed, and knows the releases that exist.

A ledger that was replaced as a whole by an older copy is sound in itself.  Only the releases
show it: each carries its id in ``release.json``, and the ledger must know that id.

Cost: reads the whole file, and sorts the marks of each series.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile.errors import InputError
from voile.ledger import records
from voile.ledger.promises import broken_promises

__all__ = ["Finding", "audit_ledger", "audit_release"]

_MOST_FINDINGS = 20


@dataclass(frozen=True)
class Finding:
    """Something that a ledger, or a release beside it, should not show."""

    where: str
    """The file, a series, or a release folder."""
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def audit_ledger(connection: sqlite3.Connection) -> list[Finding]:
    """Everything that is wrong inside a ledger, read in the transaction of ``connection``."""
    findings: list[Finding] = []
    try:
        findings += [Finding("the file", what) for what in _damage(connection)]
        for name in records.series_names(connection):
            where = f"series {name!r}"
            findings += [Finding(where, what) for what in _audit_series(connection, name)]
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_IOERR")):
            raise  # says nothing about what the file holds
        findings.append(Finding("the file", f"it is damaged: {error}"))
    return findings


def audit_release(connection: sqlite3.Connection, folder: Path) -> list[Finding]:
    """What the ledger does not know, or knows otherwise, about a release folder."""
    where = str(folder)
    document = _release_document(folder)
    claimed = document.get("series")
    if not isinstance(claimed, dict):
        return [Finding(where, "it was published without a series, so no ledger vouches for it")]
    known = records.find_release(connection, str(document.get("release_id")))
    if known is None:
        return [Finding(where, "the ledger does not know this release")]
    name, number, id_ = known
    findings = []
    if (claimed.get("name"), claimed.get("version")) != (name, number):
        what = f"the ledger knows this release as version {number} of series {name!r}"
        findings.append(Finding(where, what))
    try:
        rows = int(records.read_blocks(connection, id_).rows.sum())
    except ValueError as error:
        findings.append(Finding(where, f"the ledger cannot read what it knows of it: {error}"))
    else:
        if document.get("rows", rows) != rows:
            what = f"the ledger knows it with {rows} rows, and it states another number"
            findings.append(Finding(where, what))
    return findings


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


def _audit_series(connection: sqlite3.Connection, name: str) -> list[str]:
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
        history = records.read_history(connection, series, broken.append)
    except ValueError as error:
        return [*broken, str(error)]
    return [*broken, *broken_promises(history)]


def _release_document(folder: Path) -> dict[str, Any]:
    path = folder / "release.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        msg = f"{path}: there is no such file; name the folder of a release"
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{path}: it cannot be read ({error.strerror}); name the folder of a release"
        raise InputError(msg) from None
    except ValueError:
        msg = f"{path}: it is not JSON; name the folder of a release"
        raise InputError(msg) from None
    if not isinstance(document, dict):
        msg = f"{path}: it is not the description of a release; name the folder of a release"
        raise InputError(msg)
    return document
