"""What the trips of one fleet have spent, or its vehicles day by day, and may yet spend.

Plain values and the decisions on them; where they are stored is the business of ``fleets``.

Accounting.  A trip is known by a mark, 64 bits of a pseudorandom function of its id under the
fleet's secret key: the ledger holds no id.  What its reports cost adds up over all releases, also
over those that were charged and never appeared: numbers of reports by the distribution of their
loss, the square of mu for Gaussian noise, and epsilon for what is neither
(``voile_geo.planar.pricing``).  Two trips of one mark, which is improbable, share a budget.  Where
a vehicle has the budget, the mark is that of its id, and what it costs is kept by the day (UTC) on
which a trip begins: no days on end, as many as the budget is for, may cost more (``sums``).

Later releases may be chosen in the light of earlier ones.  Sums of epsilon and of mu squared hold
for that; that reports of one distribution are priced together assumes that how many there are, and
when, does not follow from what was published of positions, which is what all releases assume of
times.

Where zones decide on the noise of a report, what it costs follows from what was published before
it.  Then the most that reports can cost is charged before anything is drawn, so that no draw is
refused for what it came to; what they did not cost is given back when the release is committed.

A budget counts as exceeded where the sum is larger by more than a billionth: sums of binary
fractions come no nearer.

Accounts of fleets as records of the ledger, sealed like series.

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
from dataclasses import asdict, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from voile.ledger.budget import End
from voile.ledger.row_sets import TRIP_CHUNKS, framed
from voile.release.trips import FleetTerms, TripSums
from voile_base.errors import RefusedError
from voile_base.ondemand import dataclass, on_demand

if TYPE_CHECKING:
    from voile_geo.planar import costs as planar_costs
else:
    planar_costs = on_demand("voile_geo.planar.costs")

__all__ = [
    "FleetCharge",
    "FleetEntry",
    "FleetKind",
    "FleetState",
    "TripSums",
    "charge",
    "end",
    "find_fleet_entries",
    "fleet_names",
    "give_back",
    "newest_seal",
    "read_fleet",
]


_ROUNDING = 1e-9

FleetKind = Literal["release", "given back"] | End
"""A release was charged; its reports cost less than was charged; or nothing came of it."""

_DEAREST = (
    "Reports count as if they fell into the zones where they cost most, for where they fall is "
    "drawn. "
)

Floats = NDArray[np.float64]
Marks = NDArray[np.uint64]


@dataclass(frozen=True)
class FleetEntry:
    """One release of a fleet."""

    number: int
    """1 for the first."""
    release_id: str
    created: str
    """ISO 8601, UTC."""
    trips: int
    """How many trips it has reports of, or gave something back to."""
    kind: FleetKind = "release"


@dataclass(frozen=True, eq=False)
class FleetState:
    """What a ledger knows of one fleet; private."""

    terms: FleetTerms
    key: bytes = field(repr=False)
    """Under which trips are marked; secret."""
    entries: tuple[FleetEntry, ...]
    """From the oldest to the newest."""
    spent: TripSums
    """By all of them, ascending by mark."""
    seal: bytes
    """Tells this account from every other state of it."""

    @property
    def quantiles(self) -> tuple[float, float]:
        """What a trip or vehicle has spent in the median, and at most."""
        _, totals = self.spent.each(self.terms)
        return (float(np.median(totals)), float(totals.max())) if len(totals) else (0.0, 0.0)

    @property
    def accounts(self) -> int:
        """How many trips or vehicles have spent something."""
        return len(np.unique(self.spent.marks))

    @property
    def overspent(self) -> int:
        """How many have spent more than their budget: none, unless records were changed."""
        _, totals = self.spent.each(self.terms)
        return int(_over(totals, self.terms).sum())


@dataclass(frozen=True, eq=False)
class FleetCharge:
    """What one release asks of the budgets of its trips."""

    terms: FleetTerms
    """As the plan states them."""
    before: FleetState | None
    """What the publisher knew; None for a fleet that no ledger knows."""
    key: bytes = field(repr=False)
    """Under which trips are marked: that of ``before``, or a new one."""
    release_id: str
    costs: TripSums
    """Of this release; each mark and day stands there once."""
    first_row: NDArray[np.int64]
    """Shape (t,): where each of them first stands in the table, from 1."""
    exact: bool = True
    """Whether reports cost just that, or at most that."""
    entered: TripSums | None = None
    """What ``before`` has of it already: it was charged before anything was drawn."""

    @property
    def seal(self) -> bytes | None:
        """What tells the state that the publisher knew from every other one."""
        return self.before.seal if self.before else None

    @property
    def rest(self) -> TripSums:
        """What is still to be entered; where less was spent than was charged, below 0."""
        return self.costs if self.entered is None else self.costs.minus(self.entered)

    @cached_property
    def together(self) -> TripSums:
        """What those of this release have spent once it is committed, on all their days."""
        earlier = self.before.spent if self.before else TripSums.none()
        return earlier.plus(self.rest).of(self.costs.marks)

    def as_entered(self, state: FleetState) -> FleetCharge:
        """The charge once a ledger has taken it, which has left this state."""
        return replace(self, before=state, entered=self.costs)

    def receipt(self) -> str:
        """One sentence on what is spent once this charge is committed."""
        most = self.together.largest(self.terms)
        count = len(np.unique(self.costs.marks))
        within = "" if self.terms.days is None else f" in {self.terms.days} days on end"
        return (
            f"{self.terms.unit}s charged: {count:,}; the most that one of them has now spent"
            f"{within} is {most:.6g} of its budget epsilon = {self.terms.budget:g}"
        )

    def refuse(self) -> None:
        """Raise ``RefusedError`` for other terms than those that hold, and for a spent budget.

        For a charge that the ledger has not taken yet.
        """
        if self.before and self.before.terms != self.terms:
            msg = (
                f"fleet {self.terms.name!r} was begun with {self.before.terms}, and the plan says "
                f"{self.terms}. What was promised about its trips cannot be changed: restore the "
                "plan, or name another fleet, only for other trips"
            )
            raise RefusedError(msg)
        if not _over(np.array([self.together.largest(self.terms)]), self.terms).any():
            return
        marks, totals = self.together.each(self.terms)
        over = marks[_over(totals, self.terms)]
        spent = self._already_spent(over)
        would, unit = "would" if self.exact else "might", self.terms.unit
        begins = int(self.first_row[np.isin(self.costs.marks, over)].min())
        within = "" if self.terms.days is None else f" in {self.terms.days} days on end"
        remedy = "Leave these trips out" if unit == "trip" else "Leave trips out"
        msg = (
            f"fleet {self.terms.name!r}: with this release {len(over):,} of {len(marks):,} {unit}s "
            f"{would} spend more than their budget epsilon = {self.terms.budget:g}{within} (at "
            f"{self.terms.distance:g} m and delta = {self.terms.delta:g}); the first of them "
            f"begins in row {begins}. {spent:,} of them have reports in earlier releases. "
            f"{'' if self.exact else _DEAREST}{remedy}, publish fewer of their reports (every), or "
            "ask for more noise; what is spent does not come back"
        )
        raise RefusedError(msg)

    def _already_spent(self, over: Marks) -> int:
        known = self.before.spent.marks if self.before else np.empty(0, np.uint64)
        return int(np.isin(over, known).sum())


def _over(totals: Floats, terms: FleetTerms) -> NDArray[np.bool_]:
    """Which totals are more than the budget."""
    return np.asarray(totals > terms.budget * (1 + _ROUNDING))


def _record(distributions: Sequence[planar_costs.LossDistribution]) -> np.dtype[np.void]:
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


def _distributions_of(number: int, text: str) -> tuple[planar_costs.LossDistribution, ...]:
    """The distributions that an entry names."""
    try:
        return tuple(
            planar_costs.LossDistribution(**distribution) for distribution in json.loads(text)
        )
    except (TypeError, ValueError) as error:
        msg = f"entry {number}: its distributions cannot be read"
        raise ValueError(msg) from error


def _sums(records: np.ndarray, distributions: Sequence[planar_costs.LossDistribution]) -> TripSums:
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
