"""What one data set has spent and may yet spend, the rows that wait in its pool, its outputs.

Plain values and the decisions on them; where they are stored is the business of ``spending``.

Accounting.  Every event of every release counts against the whole data set, one after the other,
also where two releases had no row in common: rows that wait in the pool join later releases, so
pools are not disjoint.  Releases that were committed and never appeared count as well.  What all
of them cost together is said by ``voile.dp.accounting``, with its assumptions: a limit with
delta = 0 holds however later releases are chosen in the light of earlier ones.  That a release may
take up what an earlier one left out, at no further cost, is for the method to show.

When.  What a release spends is charged before anything is drawn for it, and stays charged whatever
comes of it: that a draw ended in no release tells about the rows as a release does, and a draw that
was repeated is another look at them.  Where nothing came of it, a second entry says so.

The pool.  A method with ``suppressed = "carry"`` leaves rows out that the next release of the data
set takes up.  A commit makes the rows left out the waiting ones and keeps those that the release
took up, until the release is known to stand (then they are forgotten) or known never to have
appeared (then they wait again).  In between the release is unsettled, and no other release may
carry: it would lose the rows that only an unseen release holds, or publish rows twice.

Accounts and pools of data sets as records of the ledger, sealed like series.

Seals (SHA-256).  The seal of an entry covers its number, kind, release, date, events and the seal
of the entry before it; that of the first entry continues the seal of the data set's name and
limit.  The head of a data set covers the seal of its newest entry and those of its pool, which
stand outside the chain because rows are forgotten when they are published.  What seals find, and
what they do not, is said in ``records``.  The rows of a pool stand beside the ledger
(``row_sets``).

Cost: one hash over the bytes of the pool on each commit and on each reading.

Outputs: tables that left a data set
------------------------------------
What stands in them is not looked at here.

Seals (SHA-256).  The seal of an output covers its data set, number, name, date, content and the
seal of the output before it; the head of the outputs of a data set is the newest seal, stored once
more, so that an output that was changed, removed or exchanged is found, the newest one included.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from shlex import quote
from typing import TYPE_CHECKING, Literal

from voile.dp.accounting import PrivacyEvent
from voile.ledger.row_sets import RowFolder, RowSet, Stage, framed, refer, row_sets
from voile.schema.budget import BudgetPlan
from voile.table.keeping import KeptRows
from voile_base.errors import PlanError, RefusedError
from voile_base.ondemand import dataclass, on_demand

if TYPE_CHECKING:
    from voile.dp import accounting as dp_accounting
else:
    dp_accounting = on_demand("voile.dp.accounting")

__all__ = [
    "BudgetEntry",
    "BudgetState",
    "CarriedRows",
    "Charge",
    "End",
    "Kind",
    "TableOutput",
    "append_outputs",
    "charge",
    "data_set_names",
    "end",
    "find_entries",
    "leave_out",
    "newest_seal",
    "output_data_sets",
    "pool_of",
    "read_outputs",
    "read_state",
    "settle",
    "shown",
    "take_back",
]


@dataclass(frozen=True)
class TableOutput:
    """One table that left."""

    number: int
    """1 for the first of its data set."""
    name: str
    created: str
    """ISO 8601, UTC."""
    content: bytes
    """What it showed; private."""


def output_data_sets(connection: sqlite3.Connection) -> list[str]:
    """The data sets that tables left, by name."""
    query = "SELECT data_set FROM output_head ORDER BY data_set"
    return [name for (name,) in connection.execute(query)]


def read_outputs(
    connection: sqlite3.Connection, data_set: str, broken: Callable[[str], None]
) -> list[TableOutput]:
    """The tables that left a data set, oldest first; ``broken`` hears of seals that fail."""
    query = """
        SELECT number, name, created, content, seal FROM output WHERE data_set = ?
        ORDER BY number"""
    found: list[TableOutput] = []
    seal = b""
    for number, name, created, content, stored in connection.execute(query, (data_set,)):
        output = TableOutput(number, name, created, content)
        seal = _seal(seal, data_set, output)
        if seal != stored or number != len(found) + 1:
            broken(f"output {number} of data set {data_set!r} was changed, or one before it")
        found.append(output)
    if _head(connection, data_set) != seal:
        broken(f"the newest output of data set {data_set!r} was changed or lost")
    return found


def append_outputs(
    connection: sqlite3.Connection, data_set: str, outputs: Sequence[TableOutput]
) -> None:
    """Store further tables, whose numbers go on with those that are stored."""
    seal = _head(connection, data_set)
    for output in outputs:
        seal = _seal(seal, data_set, output)
        connection.execute(
            "INSERT INTO output (data_set, number, name, created, content, seal) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (data_set, output.number, output.name, output.created, output.content, seal),
        )
    connection.execute(
        "INSERT INTO output_head (data_set, seal) VALUES (?, ?) "
        "ON CONFLICT (data_set) DO UPDATE SET seal = excluded.seal",
        (data_set, seal),
    )


def _head(connection: sqlite3.Connection, data_set: str) -> bytes:
    query = "SELECT seal FROM output_head WHERE data_set = ?"
    (seal,) = connection.execute(query, (data_set,)).fetchone() or (b"",)
    return bytes(seal)


def _seal(previous: bytes, data_set: str, output: TableOutput) -> bytes:
    content = hashlib.sha256(output.content).hexdigest()
    fields = framed("output", data_set, output.number, output.name, output.created, content)
    return hashlib.sha256(fields + previous).digest()


End = Literal["infeasible", "abandoned"]
"""How a draw that was charged ended in no release: none was found, or it was stopped or failed."""
Kind = Literal["release", "taken back", "infeasible", "abandoned"]
"""A release was charged; it never appeared, and the rows that it took up wait again; or an end."""


@dataclass(frozen=True)
class BudgetEntry:
    """One line of a data set's account."""

    number: int
    """1 for the first."""
    kind: Kind
    release_id: str
    created: str
    """ISO 8601, UTC."""
    events: tuple[PrivacyEvent, ...]
    """What was spent."""


@dataclass(frozen=True, eq=False)
class CarriedRows:
    """Rows of a pool; private."""

    release_id: str
    """The release that left them out."""
    kept: KeptRows

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.kept.height


@dataclass(frozen=True, eq=False)
class BudgetState:
    """What a ledger knows of one data set; private for the rows of its pool."""

    limit: BudgetPlan
    entries: tuple[BudgetEntry, ...]
    """From the oldest to the newest."""
    waiting: CarriedRows | None
    """What the next release that carries takes up; None where none ever carried."""
    taken_up: CarriedRows | None
    """What the release that left ``waiting`` took up; None where that release is settled."""
    seal: bytes
    """Tells this account from every other state of it."""

    @property
    def unsettled(self) -> str | None:
        """The id of the release that took rows up and is not known to stand."""
        return self.waiting.release_id if self.waiting and self.taken_up else None

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What all releases spent."""
        return tuple(event for entry in self.entries for event in entry.events)

    @property
    def spent(self) -> Decimal:
        """The epsilon that all releases spent together, at the limit's delta."""
        return _cost(self.events, self.limit)

    @property
    def left(self) -> Decimal:
        """What is left of the limit's epsilon."""
        return max(self.limit.epsilon - self.spent, Decimal(0))

    @property
    def balance(self) -> str:
        """What is spent and left, as a clause."""
        return (
            f"together {shown(self.spent)} of epsilon = {self.limit.epsilon:f} at "
            f"delta = {self.limit.delta} is spent, and {shown(self.left)} is left"
        )

    def refuse_other_limit(self, limit: BudgetPlan) -> None:
        """Raise ``RefusedError`` where a plan states another limit than the one that holds."""
        if limit != self.limit:
            msg = (
                f"data set {limit.data_set!r} was begun with the limit {self.limit}, and the plan "
                f"says {limit}. What was promised to the people in it cannot be changed: restore "
                "[budget], or name another data set, only for data about other people"
            )
            raise RefusedError(msg)

    def refuse_unsettled(self) -> None:
        """Raise ``RefusedError`` where a release took rows up and is not known to stand."""
        if self.unsettled and self.taken_up:
            name = self.limit.data_set
            msg = (
                f"data set {name!r}: release {self.unsettled} was committed, and it is not known "
                "whether its folder appeared. If it is being written, run again when that has "
                "finished. If its publisher was stopped, look for the folder, and run `voile "
                f"ledger settle {quote(name)} --release FOLDER`, or `--lost` where there is none: "
                f"what it took up (rows: {self.taken_up.rows:,}) then waits again"
            )
            raise RefusedError(msg)


@dataclass(frozen=True, eq=False)
class Charge:
    """What one release asks of a data set: its budget, and a place in its pool."""

    limit: BudgetPlan
    """As the plan states it."""
    before: BudgetState | None
    """What the publisher knew; None for a data set that no ledger knows."""
    release_id: str
    events: tuple[PrivacyEvent, ...] = ()
    left_out: CarriedRows | None = None
    """The rows that wait from now on, in place of those taken up; None to leave the pool alone."""
    entered: bool = False
    """Whether ``before`` has it already: it was charged before anything was drawn."""

    @property
    def seal(self) -> bytes | None:
        """What tells the state that the publisher knew from every other one."""
        return self.before.seal if self.before else None

    @property
    def cost(self) -> Decimal:
        """The epsilon of this release alone, at the limit's delta."""
        return _cost(self.events, self.limit)

    def as_entered(self, state: BudgetState) -> Charge:
        """The charge once a ledger has taken it, which has left this state."""
        return replace(self, before=state, entered=True)

    def receipt(self) -> str:
        """One sentence on what it has spent, and what is left; for a charge that was entered."""
        assert self.entered, "nothing is spent before"
        assert self.before is not None, "it was entered there"
        return f"this release spends {shown(self.cost)}; {self.before.balance}"

    def refuse(self) -> None:
        """Raise where the ledger must not take this charge, which it has not taken yet.

        ``RefusedError`` for another limit than the one that holds, for more than is left, and for
        a pool that is not settled; ``PlanError`` for events without a price under the limit's
        neighbours.
        """
        if self.before:
            self.before.refuse_other_limit(self.limit)
            if self.left_out:
                self.before.refuse_unsettled()
        self._refuse_overspending()

    def _refuse_overspending(self) -> None:
        earlier = self.before.events if self.before else ()
        together = _cost((*earlier, *self.events), self.limit)
        if not self.events or together <= self.limit.epsilon:
            return
        if not together.is_finite() and any(event.rho is not None for event in self.events):
            msg = (
                f"data set {self.limit.data_set!r}: this release has a price in rho, which is an "
                f"epsilon at a delta only, and of the limit delta = {self.limit.delta} none is "
                "left. Give [budget] a delta above 0, or ask the method for an epsilon without one"
            )
            raise RefusedError(msg)
        if not together.is_finite():
            deltas = sum((event.delta for event in (*earlier, *self.events)), Decimal(0))
            msg = (
                f"data set {self.limit.data_set!r}: with this release the deltas add up to about "
                f"{deltas:.3g}, and the limit is delta = {self.limit.delta}; at that no epsilon is "
                "enough. Ask for a smaller delta, which a larger k gives"
            )
            raise RefusedError(msg)
        spent = _cost(earlier, self.limit)
        msg = (
            f"data set {self.limit.data_set!r}: this release would spend {shown(self.cost)}, and "
            f"{shown(max(self.limit.epsilon - spent, Decimal(0)))} is left of the limit "
            f"epsilon = {self.limit.epsilon:f} at delta = {self.limit.delta}: {shown(spent)} is "
            f"spent, and together it would be {shown(together)}. Ask less of the method; what is "
            "spent does not come back"
        )
        raise RefusedError(msg)


def shown(epsilon: Decimal) -> str:
    """An epsilon for people, to six digits."""
    return format(Decimal(f"{epsilon:.6g}").normalize(), "f") if epsilon.is_finite() else "too much"


def _cost(events: tuple[PrivacyEvent, ...], limit: BudgetPlan) -> Decimal:
    """The epsilon of all events together; infinite where no epsilon will do at this delta."""
    try:
        return dp_accounting.spent(events, limit.delta, limit.neighbours)
    except PlanError as error:
        msg = f"[budget] data set {limit.data_set!r}: {error}"
        raise PlanError(msg) from None


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
