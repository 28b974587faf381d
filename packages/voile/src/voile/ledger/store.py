"""The ledger: load what was promised and spent, and commit one more release on top of it.

A publisher loads the history of a series and the account of a data set, is charged before it draws
anything, decides, commits, and only then writes its release.  Both the charge and the commit are a
compare-and-swap in one transaction: each succeeds only if what is stored is still what was loaded,
so two publishers never publish from the same state nor spend the same budget, and a crash leaves
either no trace of a release or a ledger that knows of it.  What was charged stays charged.  A
release of a series, or one that took up rows of a pool, is settled when it stands; see ``records``
and ``budget``.

The marks of the rows of a series, and the rows that wait in a pool, stand in a folder beside the
file, and the file refers to them (``row_sets``); the two are one ledger.

What a thief of the ledger learns.  It holds the secret key of each series, because the next
release needs it.  With the key he can compute the mark of a row that he guesses and look it up:
he learns whether the row is in the table, in which release it first appeared, whether it is held
back, and, where a record key identifies rows, whether his guess of the rest of the row is right.
He learns no value that he does not guess; the borders of the blocks stand in every release.  The
rows that wait in a pool he reads in full.  Of a trip whose id he guesses he learns how much of its
budget is spent.  Keep the ledger as you keep the table.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection

from voile.ledger import budget, records
from voile.ledger import trips as fleets
from voile.ledger.audit import LedgerFault, audit_ledger, audit_release
from voile.ledger.budget import (
    BudgetState,
    Charge,
    End,
    TableOutput,
    append_outputs,
    output_data_sets,
    read_outputs,
)
from voile.ledger.file import LedgerFile
from voile.ledger.records import LostVersion, SeriesSummary, VersionSummary, find_lost, read_lost
from voile.ledger.row_sets import Stage
from voile.ledger.trips import FleetCharge, FleetState
from voile.release.history import History, SeriesTerms
from voile_base.errors import LedgerError

__all__ = ["Ledger"]

_TIMEOUT = 60.0

_Identity = tuple[SeriesTerms, bytes, tuple[str, ...]]


class Ledger:
    """The ledger at ``path``; nothing is created before the first commit.

    Where another process holds the file, every method waits for ``timeout`` seconds and then
    raises ``LedgerError``, as it does for a file that is missing, open to others than its owner,
    damaged, or not a ledger.
    """

    def __init__(self, path: Path, timeout: float = _TIMEOUT) -> None:
        self.path = path
        self._file = LedgerFile(path, timeout)

    def load(self, name: str) -> History | None:
        """The history of a series in one consistent state; None where it has no releases.

        A missing file is an empty ledger.  Raises ``LedgerError`` where a record was changed or
        lost since it was committed: the next release must not be checked against it.
        """
        if not self._file.exists():
            return None
        broken: list[str] = []
        with self._file.reading() as connection, self._vouching(f"series {name!r}"):
            series = records.find_series(connection, name)
            if series is None:
                return None
            history = records.read_history(connection, series, self._file.rows, broken.append)
            if broken:
                raise ValueError("; ".join(broken))
        return history if history.versions else None

    def budget(self, data_set: str) -> BudgetState | None:
        """The account and the pool of a data set in one consistent state; None where it has none.

        A missing file is an empty ledger.  Raises ``LedgerError`` as ``load`` does.
        """
        if not self._file.exists():
            return None
        with self._file.reading() as connection:
            return self._state(connection, data_set)

    def fleet(self, name: str) -> FleetState | None:
        """The account of a fleet in one consistent state; None where it has none.

        A missing file is an empty ledger.  Raises ``LedgerError`` as ``load`` does.
        """
        if not self._file.exists():
            return None
        with self._file.reading() as connection:
            return self._fleet(connection, name)

    def charge(
        self, charge: Charge | None, trips: FleetCharge | None = None
    ) -> tuple[Charge | None, FleetCharge | None]:
        """Enter what a release will spend, durably, before anything is drawn for it.

        What it does with pools comes with the commit.  Gives both charges as they were entered, for
        that commit.  Raises ``LedgerError``, with the ledger as it was, where another publisher was
        faster, and as the ``refuse`` of both charges does.
        """
        asked = [one for one in (charge, trips) if one]
        release_id = _release_id(None, charge, trips)
        for one in asked:
            one.refuse()
        if not any(one.before for one in asked):
            self._file.create()
        with self._file.writing() as connection:
            self._refuse_overtaken(connection, charge, trips)
            self._refuse_known(connection, release_id)
            if charge:
                budget.charge(connection, charge, _now())
                state = self._state(connection, charge.limit.data_set)
                assert state is not None, "it was charged"
                charge = charge.as_entered(state)
            if trips:
                fleets.charge(connection, trips, _now())
                fleet = self._fleet(connection, trips.terms.name)
                assert fleet is not None, "it was charged"
                trips = trips.as_entered(fleet)
        return charge, trips

    def end(self, release_id: str, how: End) -> None:
        """Note that nothing came of what was charged for a release; it stays charged.

        Does nothing where nothing was charged, or an end was noted already.
        """
        with self._file.writing() as connection:
            for data_set, kind in budget.find_entries(connection, release_id)[-1:]:
                if kind == "release":
                    budget.end(connection, data_set, release_id, how, _now())
            for fleet, outcome in fleets.find_fleet_entries(connection, release_id)[-1:]:
                if outcome == "release":
                    fleets.end(connection, fleet, release_id, how, _now())

    def commit(
        self,
        before: History | None,
        after: History | None,
        charge: Charge | None = None,
        trips: FleetCharge | None = None,
    ) -> None:
        """Append a release, durably, if the ledger still holds what its publisher loaded.

        ``before`` is what ``load`` returned and ``after`` is one version longer; both are None
        outside a series.  ``charge`` is what the release asks of its data set, ``trips`` what it
        asks of the budgets of its trips, if anything; all are committed together or not at all.
        Of charges that were entered before the release was drawn only what is left to do is done.
        Raises ``LedgerError``, with the ledger as it was, where another publisher was faster, and
        as the ``refuse`` of both charges does.  A disk that fails while the commit is confirmed may
        keep it all the same; the ledger then knows of a release that was never written, which is
        safe.
        """
        expected = _expected(before, after) if after else None
        release_id = _release_id(after, charge, trips)
        new = (
            None if charge is None or charge.entered else charge,
            None if trips is None or trips.entered is not None else trips,
        )
        for asked in new:
            if asked:
                asked.refuse()
        if expected is None and not any(asked and asked.before for asked in (charge, trips)):
            self._file.create()
        with self._file.writing_rows() as (connection, stage):
            if after and self._stored_identity(connection, after.terms.name) != expected:
                raise self._overtaken(f"series {after.terms.name!r}")
            self._refuse_overtaken(connection, *new)
            if new == (charge, trips):
                self._refuse_known(connection, release_id)
            if after:
                records.append(connection, after, self._file.rows, stage)
            if charge:
                self._commit_charge(connection, charge, stage)
            if trips:
                deed = fleets.charge if trips.entered is None else fleets.give_back
                deed(connection, trips, _now())

    def _commit_charge(self, connection: Connection, charge: Charge, stage: Stage) -> None:
        name, before = charge.limit.data_set, charge.before
        if charge.entered and charge.left_out:
            # Others may have spent meanwhile; the rows that it took up must still be those.
            waiting = before.waiting.release_id if before and before.waiting else None
            expected = {"waiting": waiting} if waiting else {}
            if budget.pool_of(connection, name) != expected:
                raise self._overtaken(f"data set {name!r}")
        if not charge.entered:
            budget.charge(connection, charge, _now())
        if charge.left_out:
            budget.leave_out(connection, name, charge.left_out, stage)

    def open_version(self, series: str) -> str | None:
        """The id of the newest release of a series, unless it is known to stand."""
        if not self._file.exists():
            return None
        with self._file.reading() as connection, self._vouching(f"series {series!r}"):
            found = records.find_series(connection, series)
            versions = records.version_records(connection, found) if found else []
        return versions[-1].release_id if versions and not versions[-1].stands else None

    def was_lost(self, release_id: str) -> bool:
        """Whether a release of a series was said never to have appeared."""
        if not self._file.exists():
            return False
        with self._file.reading() as connection:
            return find_lost(connection, release_id) is not None

    def settle_series(self, series: str, release_id: str) -> None:
        """Note that a release of a series stands; raises ``LedgerError`` where it is unknown."""
        with self._file.writing() as connection, self._vouching(f"series {series!r}"):
            records.settle_version(connection, self._known(connection, series), release_id)

    def lose(self, series: str, release_id: str) -> LostVersion:
        """Forget the newest release of a series, for it never appeared and never will.

        The next release is not compared with it.  Raises ``LedgerError`` where it is known to
        stand, or is not the newest.
        """
        with self._file.writing() as connection, self._vouching(f"series {series!r}"):
            found = self._known(connection, series)
            return records.LostVersion.record(
                connection, found, self._file.rows, release_id, _now()
            )

    def settle(self, data_set: str, release_id: str) -> None:
        """Forget the rows that a release took up from the pool of its data set, for it stands.

        Raises ``LedgerError`` where this release is not the one that waits for that.
        """
        with self._file.writing() as connection:
            self._refuse_settled(connection, data_set, release_id)
            budget.settle(connection, data_set)

    def take_back(self, data_set: str, release_id: str) -> None:
        """Let the rows that a release took up wait again, for it never appeared and never will.

        The rows that it left out are forgotten: they are among those taken up, or in the table
        that it was made of.  What it spent stays spent.  Raises ``LedgerError`` where this release
        is not the one that waits to be settled.
        """
        with self._file.writing() as connection:
            self._refuse_settled(connection, data_set, release_id)
            budget.take_back(connection, data_set, release_id, _now())

    def series(self) -> list[SeriesSummary]:
        """What the ledger knows of each series, by name, without its marks and its key."""
        with self._file.reading() as connection:
            return [self._summary(connection, name) for name in records.series_names(connection)]

    def data_sets(self) -> list[BudgetState]:
        """What the ledger knows of each data set, by name."""
        with self._file.reading() as connection:
            states = [self._state(connection, name) for name in budget.data_set_names(connection)]
        return [state for state in states if state]

    def fleets(self) -> list[FleetState]:
        """What the ledger knows of each fleet, by name."""
        with self._file.reading() as connection:
            states = [self._fleet(connection, name) for name in fleets.fleet_names(connection)]
        return [state for state in states if state]

    def outputs(self, data_set: str) -> list[TableOutput]:
        """The tables that left a data set, oldest first; none where the file is missing.

        Raises ``LedgerError`` as ``load`` does.
        """
        if not self._file.exists():
            return []
        broken: list[str] = []
        with self._file.reading() as connection, self._vouching(f"data set {data_set!r}"):
            found = read_outputs(connection, data_set, broken.append)
            if broken:
                raise ValueError("; ".join(broken))
        return found

    def output_data_sets(self) -> list[str]:
        """The data sets that tables left, by name."""
        with self._file.reading() as connection:
            return output_data_sets(connection)

    def remember(self, data_set: str, before: int, tables: Sequence[tuple[str, bytes]]) -> None:
        """Append tables that are about to leave, by their names and contents.

        ``before`` is how many had left when they were judged; raises ``LedgerError``, with the
        ledger as it was, where there are others by now.
        """
        if not before:
            self._file.create()
        with self._file.writing() as connection, self._vouching(f"data set {data_set!r}"):
            broken: list[str] = []
            stored = len(read_outputs(connection, data_set, broken.append))
            if broken:
                raise ValueError("; ".join(broken))
            if stored != before:
                raise self._overtaken(f"data set {data_set!r}")
            now = _now()
            outputs = [
                TableOutput(before + place, name, now, content)
                for place, (name, content) in enumerate(tables, 1)
            ]
            append_outputs(connection, data_set, outputs)

    def verify(self) -> list[LedgerFault]:
        """Everything that is wrong with the ledger; an empty list means that it is sound.

        Checked are SQLite's own structures, the seals of all records (modules ``records``,
        ``budget`` and ``fleets``) and of the rows beside the ledger, the promises that the stored
        versions can show (module ``promises``), and that no data set and no trip spent more than
        its limit.
        """
        with self._file.reading() as connection:
            return audit_ledger(connection, self._file.rows)

    def verify_release(self, folder: Path) -> list[LedgerFault]:
        """What the ledger does not know, or knows otherwise, about a release folder.

        Raises ``InputError`` where the folder holds no readable ``release.json``.
        """
        with self._file.reading() as connection:
            return audit_release(connection, self._file.rows, folder)

    def _state(self, connection: Connection, data_set: str) -> BudgetState | None:
        broken: list[str] = []
        with self._vouching(f"data set {data_set!r}"):
            state = budget.read_state(connection, data_set, self._file.rows, broken.append)
            if broken:
                raise ValueError("; ".join(broken))
        return state

    def _fleet(self, connection: Connection, name: str) -> FleetState | None:
        broken: list[str] = []
        with self._vouching(f"fleet {name!r}"):
            state = fleets.read_fleet(connection, name, broken.append)
            if broken:
                raise ValueError("; ".join(broken))
        return state

    def _overtaken(self, whose: str) -> LedgerError:
        return LedgerError(
            f"{self.path}: another release of {whose} was committed meanwhile; nothing was "
            "published; run again"
        )

    def _refuse_overtaken(
        self, connection: Connection, charge: Charge | None, trips: FleetCharge | None
    ) -> None:
        """What was loaded must be what is stored."""
        if charge and budget.newest_seal(connection, charge.limit.data_set) != charge.seal:
            raise self._overtaken(f"data set {charge.limit.data_set!r}")
        if trips and fleets.newest_seal(connection, trips.terms.name) != trips.seal:
            raise self._overtaken(f"fleet {trips.terms.name!r}")

    def _known(self, connection: Connection, series: str) -> records.Series:
        found = records.find_series(connection, series)
        if found is None:
            msg = (
                f"{self.path}: the ledger knows no series {series!r}; `voile ledger show` lists "
                "those it knows"
            )
            raise LedgerError(msg)
        return found

    def _refuse_known(self, connection: Connection, release_id: str) -> None:
        """Ids are random unless a seed repeats them."""
        known = (
            records.find_release(connection, release_id)
            or budget.find_entries(connection, release_id)
            or fleets.find_fleet_entries(connection, release_id)
            or find_lost(connection, release_id)
        )
        if known:
            msg = (
                f"{self.path}: the ledger already knows a release with this id; nothing was "
                "published; publish with another seed, or without one"
            )
            raise LedgerError(msg)

    def _refuse_settled(self, connection: Connection, data_set: str, release_id: str) -> None:
        state = self._state(connection, data_set)
        if state is None or state.unsettled != release_id:
            msg = (
                f"{self.path}: data set {data_set!r} has no release {release_id} that waits to be "
                "settled; `voile ledger show` says what does"
            )
            raise LedgerError(msg)

    def _stored_identity(self, connection: Connection, name: str) -> _Identity | None:
        with self._vouching(f"series {name!r}"):
            series = records.find_series(connection, name)
        if series is None:
            return None
        versions = records.version_records(connection, series)
        identity = series.terms, series.key, tuple(version.release_id for version in versions)
        return identity if versions else None

    def _summary(self, connection: Connection, name: str) -> SeriesSummary:
        with self._vouching(f"series {name!r}"):
            series = records.find_series(connection, name)
            assert series is not None, "names and records are read in one transaction"
            lives = records.read_lives(connection, series)
            versions = tuple(
                VersionSummary.of(record, lives.at(number))
                for number, record in enumerate(records.version_records(connection, series), 1)
            )
            lost, _ = read_lost(connection, series.id, name, lambda what: None)
            return SeriesSummary(series.terms, versions, lost)

    @contextmanager
    def _vouching(self, whose: str) -> Iterator[None]:
        """Refuse to go on with records that cannot be read."""
        try:
            yield
        except ValueError as error:
            msg = (
                f"{self.path}: the ledger cannot vouch for {whose}: {error}. Restore the "
                f"ledger from a backup, with its folder {self._file.rows.path.name}, and check it "
                "with `voile ledger verify` and the folders of all its releases"
            )
            raise LedgerError(msg) from error


def _expected(before: History | None, after: History) -> _Identity | None:
    """The state that must be stored for ``after`` to follow it; None for no series at all."""
    expected = _identity(before) if before is not None and before.versions else None
    *earlier, _ = _identity(after)[2]
    if (expected or (after.terms, after.key, ())) != (after.terms, after.key, tuple(earlier)):
        msg = "a commit appends one version to a history of the same series"
        raise ValueError(msg)
    return expected


def _release_id(after: History | None, charge: Charge | None, trips: FleetCharge | None) -> str:
    ids = {after.versions[-1].release_id} if after else set()
    ids |= {asked.release_id for asked in (charge, trips) if asked}
    if len(ids) != 1:
        msg = "a commit is about one release"
        raise ValueError(msg)
    return ids.pop()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _identity(history: History) -> _Identity:
    """What tells a state of a series from every other: ids of releases are never reused."""
    return history.terms, history.key, tuple(version.release_id for version in history.versions)
