"""Audits: whether a ledger is what was committed, and knows the releases that exist.

A ledger that was replaced as a whole by an older copy is sound in itself.  Only the releases
show it: each carries its id in ``release.json``, and the ledger must know that id.

Cost: reads all that a ledger holds, counts the marks of each series, and adds up the events of each
data set.

The promises that a history can show by itself: checks of a ``History``.

Checked of every version, with the k and e of the series' terms where it has them:

- versions are numbered 1, 2, 3, ... ;
- blocks are disjoint and ascend within a batch; each has k distinct values and spans e;
- the rows of the blocks are all rows published so far, and of a sealed batch, its version's;
- each row is published once, and no held row is published;
- a sealed block never changes;
- under the full-cover rule, no block of a later version cuts a block of an earlier one, and a
  block that covers old blocks has no new rows or at least k (under the pairwise adversary: a
  block that covers exactly one).  Each check of two neighbouring versions carries over to all
  pairs, because blocks only merge.

Where people come and go, blocks are classes of rows: of each at least k rows stay or none, and at
least k go or none.

The last rule of (k,e) is necessary and not sufficient: whether the *new* rows of a block span e is
seen only in the table, and was decided when the release was made.

Cost: O(p log p) for p blocks, and one count of all marks by the engine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from voile.ledger import budget, records, trips
from voile.ledger.budget import BudgetState, End, output_data_sets, read_outputs, shown
from voile.ledger.records import find_lost
from voile.ledger.row_sets import RowFolder
from voile.release.check import departure_breaches
from voile.release.folder import changed_files, release_document
from voile.release.history import Blocks, History, Version
from voile.schema.numbers import ExactNumbers, decimals_of, units_of
from voile.table.engines import AUTO, engine_of
from voile.table.keeping import KeptRows
from voile.table.matching import lacks_contents, marks_in_common, repeated_marks
from voile.table.protocol import Engine
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass

__all__ = ["LedgerFault", "audit_ledger", "audit_release"]


def _broken_promises(history: History, *, marks: bool = True) -> list[str]:
    """What the versions of a history contradict; an empty list if nothing.

    ``marks`` says whether to look at the marks of its rows, too.
    """
    broken: list[str] = []
    published = 0
    previous = 0
    for version in history.versions:
        published += version.published.height
        checks = [
            *_of_number(version, previous),
            *_of_blocks(version.blocks, history),
            *([] if history.terms.people_leave else _of_rows(version, history, published)),
        ]
        broken += [f"version {version.number}: {what}" for what in checks]
        previous = version.number
    for old, new in pairwise(history.versions):
        broken += [f"version {new.number}: {what}" for what in _of_change(old, new, history)]
    return [*broken, *_of_marks(history, engine_of(AUTO))] if marks else broken


def _of_number(version: Version, previous: int) -> Iterator[str]:
    if version.number != previous + 1:
        yield f"it follows version {previous}: versions are missing between them"


def _of_blocks(blocks: Blocks, history: History) -> Iterator[str]:
    low, high = _comparable(blocks.low, blocks.high)
    if (low.units > high.units).any():
        yield f"{(low.units > high.units).sum()} blocks end before they begin"
    if (np.diff(blocks.batch) < 0).any() or (blocks.batch < 0).any():
        yield "its batches are not in order"
    touching = (np.diff(blocks.batch) == 0) & (low.units[1:] <= high.units[:-1])
    if touching.any():
        yield f"{touching.sum()} blocks overlap or do not ascend"
    if (blocks.distinct > blocks.rows).any():
        yield "blocks have more distinct values than rows"
    method = history.terms.method
    if "k" in method and (blocks.distinct < int(method["k"])).any():
        poor = int((blocks.distinct < int(method["k"])).sum())
        yield f"{poor} blocks have fewer than k = {method['k']} distinct values"
    if "e" in method:
        narrow = _narrow_blocks(blocks, Decimal(method["e"]))
        if narrow:
            yield f"{narrow} blocks span less than e = {method['e']}"


def _narrow_blocks(blocks: Blocks, e: Decimal) -> int:
    """How many blocks span less than ``e``, compared exactly."""
    low, high = _comparable(blocks.low, blocks.high, least_scale=decimals_of(e))
    # Python integers: the difference of two int64 may leave their range.
    spans = high.units.astype(object) - low.units.astype(object)
    return int((spans < units_of(e, low.scale)).sum())


def _of_rows(version: Version, history: History, published: int) -> Iterator[str]:
    blocks = version.blocks
    if int(blocks.rows.sum()) != published:
        yield f"its blocks hold {blocks.rows.sum()} rows, and {published} were published so far"
    for batch in np.unique(blocks.batch[blocks.batch > 0]):
        sealed = [v for v in history.versions[: version.number] if v.number == batch]
        if int(blocks.rows[blocks.batch == batch].sum()) != sum(v.published.height for v in sealed):
            yield f"the blocks of batch {batch} do not hold the rows of version {batch}"


def _of_change(old: Version, new: Version, history: History) -> Iterator[str]:
    """What may not happen from one version to the next."""
    before, now = old.blocks, new.blocks
    if history.terms.people_leave:
        yield from departure_breaches(before, now, int(history.terms.method["k"]))
        return
    if not _same(before[before.batch > 0], now[_older(now, old.number)]):
        yield "sealed blocks of earlier versions changed"
    if history.terms.method.get("search") == "full-cover":
        yield from _of_cover(before[before.batch == 0], now[now.batch == 0], history)


def _of_cover(before: Blocks, now: Blocks, history: History) -> Iterator[str]:
    """No block of ``now`` cuts one of ``before``, and no few rows join what it covers."""
    if not len(before):
        return
    low, high, old_low, old_high = _comparable(now.low, now.high, before.low, before.high)
    home = np.searchsorted(low.units, old_low.units, side="right") - 1
    cut = home < 0
    cut[~cut] = high.units[home[~cut]] < old_high.units[~cut]
    if cut.any():
        yield f"it cuts {cut.sum()} blocks of the version before"
        return
    covered = np.bincount(home, minlength=len(now))
    kept = np.zeros(len(now), dtype=np.int64)
    np.add.at(kept, home, before.rows)
    new_rows = now.rows - kept
    if (new_rows < 0).any():
        yield "blocks have lost rows since the version before"
    method = history.terms.method
    exposed = covered == 1 if method.get("adversary") == "pairwise" else covered >= 1
    few = exposed & (new_rows > 0) & (new_rows < int(method.get("k", 0)))
    if few.any():
        yield f"{few.sum()} blocks gained some rows, and fewer than k"


def _of_marks(history: History, engine: Engine) -> Iterator[str]:
    keyed = history.terms.record_key is not None
    for whose, marks in _all_marks(history):
        if lacks_contents(marks, engine, keyed=keyed):
            yield f"{whose} rows lack or exceed those of their contents"
    for version in history.versions:
        if version.folded and version.published.open(engine).height != version.published.height:
            yield f"version {version.number}: some marks of its rows are those of another version"
    again = repeated_marks(history.known.published, engine)
    if again:
        yield f"{again} rows were published twice"
    if history.terms.people_leave:
        return  # those that are published no more are marked among the held
    both = (
        marks_in_common(history.latest.held, history.known.published, engine)
        if history.latest
        else 0
    )
    if both:
        yield f"{both} held rows are published"


def _all_marks(history: History) -> Iterator[tuple[str, KeptRows]]:
    """Whose marks of rows they are, and these; those of folded versions once."""
    yield "the folded marks of published", history.folded
    for version in history.versions:
        if not version.folded:
            yield f"version {version.number}: the marks of its published", version.published
        yield f"version {version.number}: the marks of its held", version.held


def _older(blocks: Blocks, number: int) -> NDArray[np.bool_]:
    return (blocks.batch > 0) & (blocks.batch <= number)


def _same(first: Blocks, second: Blocks) -> bool:
    low, other_low, high, other_high = _comparable(first.low, second.low, first.high, second.high)
    pairs: tuple[tuple[NDArray[Any], NDArray[Any]], ...] = (
        (low.units, other_low.units),
        (high.units, other_high.units),
        (first.rows, second.rows),
        (first.distinct, second.distinct),
        (first.batch, second.batch),
    )
    return all(np.array_equal(one, other) for one, other in pairs)


def _comparable(*numbers: ExactNumbers, least_scale: int = 0) -> list[ExactNumbers]:
    """The same numbers in one common unit."""
    scale = max(least_scale, *(number.scale for number in numbers))
    return [number.rescaled(scale) for number in numbers]


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
        for name in budget.data_set_names(connection):
            where = f"data set {name!r}"
            findings += [
                LedgerFault(where, what) for what in _audit_data_set(connection, folder, name)
            ]
        for name in trips.fleet_names(connection):
            where = f"fleet {name!r}"
            findings += [LedgerFault(where, what) for what in _audit_fleet(connection, name)]
        findings += [LedgerFault(where, what) for where, what in _faults_of_outputs(connection)]
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_IOERR")):
            raise  # says nothing about what the file holds
        findings.append(LedgerFault("the file", f"it is damaged: {error}"))
    return findings


def _faults_of_outputs(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Where seals fail, and what that says."""
    known = {name for (name,) in connection.execute("SELECT DISTINCT data_set FROM output")}
    for data_set in sorted(known.union(output_data_sets(connection))):
        broken: list[str] = []
        read_outputs(connection, data_set, broken.append)
        yield from ((f"data set {data_set!r}", what) for what in broken)


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
    entries = budget.find_entries(connection, release_id)
    charged = [*entries, *trips.find_fleet_entries(connection, release_id)]
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
    connection: sqlite3.Connection, rows: RowFolder, name: str, document: Mapping[str, object]
) -> Iterator[str]:
    """Whether a release claims to have spent less than its data set was charged for it."""
    guarantee = document.get("guarantee")
    stated = guarantee.get("epsilon") if isinstance(guarantee, dict) else None
    try:
        state = budget.read_state(connection, name, rows, lambda what: None)
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
    connection: sqlite3.Connection, release_id: str, claimed: dict[str, object], stated_rows: object
) -> list[str]:
    """What the ledger does not know, or knows otherwise, about a release of a series."""
    known = records.find_release(connection, release_id)
    if find_lost(connection, release_id):
        return ["the ledger was told that it never appeared, and has forgotten its groups"]
    if known is None:
        return ["the ledger does not know this release"]
    name, number, _ = known
    broken = []
    if (claimed.get("name"), claimed.get("version")) != (name, number):
        broken.append(f"the ledger knows this release as version {number} of series {name!r}")
    try:
        series = records.find_series(connection, name)
        assert series is not None, "names and records are read in one transaction"
        rows = int(records.read_lives(connection, series).at(number).rows.sum())
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
    return [*broken, *_broken_promises(history, marks=not broken)]


def _audit_data_set(connection: sqlite3.Connection, folder: RowFolder, name: str) -> list[str]:
    broken: list[str] = []
    try:
        state = budget.read_state(connection, name, folder, broken.append)
    except ValueError as error:
        return [*broken, str(error)]
    assert state is not None, "names and records are read in one transaction"
    return [*broken, *_broken_account(state)]


def _audit_fleet(connection: sqlite3.Connection, name: str) -> list[str]:
    """What the records of a fleet contradict: their seals, their numbering, its budget."""
    broken: list[str] = []
    try:
        state = trips.read_fleet(connection, name, broken.append)
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
