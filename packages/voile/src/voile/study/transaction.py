"""The ledger as one release meets it: what was promised and spent before, and what is added now.

A release may belong to a series, be charged to a data set or to the trips of a fleet, leave rows in
a pool, or none of these.  It passes here three times:

- ``pay``, before anything is drawn for it: what it spends is committed, whatever comes of it;
- ``commit``, before anybody sees it: its place in the series, the rows that it leaves out, and what
  its trips did not spend after all, in one transaction;
- ``settle``, once it stands, or ``take_back``, where it never appeared.

Between them whatever ends it is noted and told: that there is no release cost as much as one.

A release made with a seed is entered like any other: it spends, and takes rows up.  Experiments
have ledgers of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.publish.publisher import Publisher
from voile.release.check import GuaranteeBrokenError
from voile.release.folder import FileId, ReleaseBeside, releases_beside
from voile.release.history import History
from voile.release.release import Price, Publication, unaccounted
from voile.release.trips import TripSums
from voile.schema.plan import Plan
from voile.table.keeping import KeptRows
from voile_base.errors import InfeasibleError, LedgerError, PlanError, RefusedError, VoileError
from voile_base.ondemand import on_demand
from voile_base.randomness import Randomness

if TYPE_CHECKING:
    from voile import ledger as voile_ledger
    from voile.ledger import BudgetState, CarriedRows, Charge, End, FleetCharge, Ledger
else:
    voile_ledger = on_demand("voile.ledger")

__all__ = ["ReleaseTransaction"]


class ReleaseTransaction:
    """What a plan asks of a ledger; raises ``PlanError`` where it asks for one and none is given.

    Without a series, a budget and a fleet, every method does nothing.
    """

    def __init__(
        self,
        plan: Plan,
        publisher: Publisher,
        path: str | Path | None,
        progress: Callable[[str], None] = lambda stage: None,
    ) -> None:
        self._series = publisher.series
        self._plan_folder = Path(plan.source).parent if plan.source else None
        self._limit = plan.budget
        self._trip_budget = publisher.trip_budget
        self._carries = publisher.carries
        if self._carries and not self._limit:
            msg = (
                '[method] suppressed = "carry" needs a [budget] table: its data_set names the pool '
                "in which the rows wait for the next release (epsilon = 0 where nothing is spent)"
            )
            raise PlanError(msg)
        self._ledger = self._opened(path)
        self._unused = path is not None and self._ledger is None
        self._progress = progress
        self._history: History | None = None
        self._beside: list[ReleaseBeside] = []
        self._of_data_set: list[Path] = []
        self._state: BudgetState | None = None
        self._price: Price | None = None
        self._charge: Charge | None = None
        self._trips: FleetCharge | None = None

    def refuse_place(self, out: str | Path | None) -> None:
        """Raise ``PlanError`` where a release would stand in the ledger's place."""
        if self._ledger and out is not None and self._ledger.path.resolve() == Path(out).resolve():
            msg = f"{out}: --out and --ledger name the same place; give the release one of its own"
            raise PlanError(msg)

    def waiting_rows(self) -> KeptRows | None:
        """The rows that this release takes up from the pool of its data set, if there are any.

        Raises ``RefusedError`` where the data set has another limit, or its pool is not settled.
        """
        if not self._ledger or not self._limit:
            return None
        self._state = self._ledger.budget(self._limit.data_set)
        if self._state is None:
            return None
        self._state.refuse_other_limit(self._limit)
        if not self._carries:
            return None
        self._state.refuse_unsettled()
        waiting = self._state.waiting
        return waiting.kept if waiting and waiting.rows else None

    def history(
        self, out: str | Path | None = None, known: Sequence[str | Path] = ()
    ) -> History | None:
        """The history of the series before this release.

        Raises ``RefusedError`` where a release of the series, or one that spent the budget of the
        data set, stands beside ``out`` (or, of a series, the plan) or in ``known``, and the ledger
        does not know it: it has forgotten what others may compare the next one with, or what was
        spent.
        """
        if not self._ledger:
            return None
        # In this order: a release is in the ledger before its folder appears.
        place = None if out is None else Path(out)
        seen: set[FileId] = set()
        beside = list(releases_beside(place, [Path(one) for one in known], seen))
        if self._limit:
            self._of_data_set = self._known_of(beside, self._ledger, self._limit.data_set)
        if not self._series:
            return None
        if place is not None and self._plan_folder is not None:
            beside += releases_beside(None, [self._plan_folder], seen)
        self._history = self._ledger.load(self._series)
        ids = {version.release_id for version in self._history.versions} if self._history else ()
        self._beside = [found for found in beside if found.series == self._series]
        for found in self._beside:
            if found.release_id not in ids:
                raise LedgerError(_unknown(found, self._series, self._ledger))
        return self._history

    @property
    def before(self) -> History | None:
        """The history of the series as it was loaded."""
        return self._history

    def earlier(self) -> list[Path]:
        """The folders of earlier releases of the series that were found, the newest first."""
        number = {v.release_id: v.number for v in self._history.versions} if self._history else {}
        found = {number[each.release_id]: each.folder for each in self._beside}
        return [folder for _, folder in sorted(found.items(), reverse=True)]

    @property
    def in_account(self) -> list[Path] | None:
        """The folders of earlier releases of the data set that were found, the newest first.

        None where the plan has no budget.
        """
        return self._of_data_set if self._limit and self._ledger else None

    @staticmethod
    def _known_of(beside: Sequence[ReleaseBeside], ledger: Ledger, data_set: str) -> list[Path]:
        """The folders of releases that spent the budget, the newest first.

        Raises ``LedgerError`` for one that is not in the account.
        """
        mine = [found for found in beside if found.data_set == data_set]
        state = ledger.budget(data_set) if mine else None
        number = {entry.release_id: entry.number for entry in state.entries} if state else {}
        for found in mine:
            if found.release_id not in number:
                raise LedgerError(_uncharged(found, data_set, ledger))
        mine.sort(key=lambda found: number[found.release_id], reverse=True)
        return [found.folder for found in mine]

    def pay(self, price: Price) -> NDArray[np.int64] | None:
        """Enter what a release spends, before anything is drawn for it.

        Returns which offer each of its trips takes, where there are several.

        Raises ``RefusedError`` where it would spend more than is left, or another publisher was
        faster; then nothing is entered.
        """
        assert self._price is None, "a release is paid once"
        charge = self._charge_of(price)
        trips, choice = self._trip_charge(price)
        if self._ledger and (charge or trips):
            self._progress("charging the ledger")
            self._charge, self._trips = self._ledger.charge(charge, trips)
            self._progress("drawing")
        self._price = price
        return choice

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What is done between payment and commit: however it ends early, that is noted and told.

        A ``VoileError`` comes out with what was spent, and what may be done about the series.
        """
        try:
            yield
        except BaseException as error:
            told = [*self._ended(error), *self._told_of_series(error)]
            if told and isinstance(error, VoileError):
                raise type(error)(". ".join([str(error).rstrip("."), *told])) from error
            raise

    def told(self, publication: Publication) -> Publication:
        """A publication with notices about its account.

        Raises ``GuaranteeBrokenError`` where it spends what was not paid before it was drawn.
        """
        price = self._price or Price(publication.release.release_id)
        unpaid = publication.trip_costs is not None and price.trip_costs is None
        if unpaid or publication.events != price.events:
            msg = "a publisher drew before it said what that would spend"
            raise GuaranteeBrokenError(msg)
        if self._trips and publication.trip_costs:
            costs, _ = publication.trip_costs.sums(None, self._trips.key)
            self._trips = replace(self._trips, costs=costs)
        if self._charge:
            name = self._charge.limit.data_set
            release = replace(publication.release, data_set=name)
            publication = replace(publication, release=release)
        return _with_notices(publication, *self._account(publication))

    def commit(self, publication: Publication) -> None:
        """Enter a release, before anybody sees it.

        Raises ``RefusedError`` where another publisher was faster; then nothing is entered.
        """
        charge = self._pool_charge(publication) if self._carries else None
        trips = None if self._trips is None or self._trips.exact else self._trips
        if self._ledger and (publication.history or charge or trips):
            self._progress("committing the ledger")
            self._ledger.commit(self._history, publication.history, charge, trips)

    def settle(self, publication: Publication) -> Publication:
        """Note that a release stands: the rows that it took up are forgotten."""
        release_id = publication.release.release_id
        name = self._series or ""
        try:
            if self._ledger and self._series:
                self._ledger.settle_series(self._series, release_id)
            if self._ledger and self._limit and self._carries:
                name = self._limit.data_set
                self._ledger.settle(name, release_id)
        except LedgerError as error:  # the release stands, and no error may say otherwise
            remedy = (
                f"the ledger could not note that this release stands ({error}): before the next "
                f"one, run `voile ledger settle {quote(str(name))} --release FOLDER`"
            )
            return _with_notices(publication, remedy)
        return publication

    @contextmanager
    def writing(self, publication: Publication, out: str | Path | None) -> Iterator[None]:
        """What makes a release appear at ``out``: where it fails, the release is taken back.

        A ``VoileError`` comes out with what was spent all the same.
        """
        try:
            yield
        except BaseException as error:
            told = self.take_back(publication, out)
            if told and isinstance(error, VoileError):
                raise type(error)(". ".join([str(error).rstrip("."), *told])) from error
            raise

    def take_back(self, publication: Publication, out: str | Path | None) -> list[str]:
        """Note that a release never appeared, unless it stands at ``out``; what to say of it.

        Rows that it took up wait again, and its series forgets it.
        """
        lost = out is None or not Path(out).exists()
        if not self._ledger or not lost:
            return []
        release_id, told = publication.release.release_id, self._told_of_spending()
        try:
            if self._series:
                self._ledger.lose(self._series, release_id)
            if self._limit and self._carries:
                self._ledger.take_back(self._limit.data_set, release_id)
            elif self._charge or self._trips:
                self._ledger.end(release_id, "abandoned")
        except LedgerError as error:  # then it counts as seen, which the next publisher is told
            name = self._series or (self._limit.data_set if self._limit and self._carries else "")
            if name:
                told.append(
                    f"The ledger could not note that this release never appeared ({error}): before "
                    f"the next one, run `voile ledger settle {quote(name)} --lost`"
                )
        return told

    def _opened(self, path: str | Path | None) -> Ledger | None:
        if not self._series and not self._limit and not self._trip_budget:
            return None
        if path is None:
            asking = self._asking()
            msg = (
                f"{asking}: pass --ledger FILE (in Python, ledger=...); the file is made if it is "
                "not there"
            )
            raise PlanError(msg)
        return voile_ledger.Ledger(Path(path))

    def _asking(self) -> str:
        """What asks for a ledger."""
        if self._series:
            return f"[method] series {self._series!r} needs a ledger that remembers its releases"
        if self._limit:
            return (
                f"[budget] data set {self._limit.data_set!r} needs a ledger that remembers what "
                "its releases spend"
            )
        assert self._trip_budget is not None, "nothing else does"
        return (
            f"[method] fleet {self._trip_budget.name!r} needs a ledger that remembers what its "
            "trips spend"
        )

    def _charge_of(self, price: Price) -> Charge | None:
        if not self._limit or not price.events:
            return None
        return voile_ledger.Charge(self._limit, self._state, price.release_id, price.events)

    def _pool_charge(self, publication: Publication) -> Charge:
        """What is left to enter of a release that leaves rows in the pool of its data set."""
        assert self._limit is not None, "rows are carried within a data set"
        release_id = publication.release.release_id
        charge = self._charge or voile_ledger.Charge(self._limit, self._state, release_id)
        left_out = voile_ledger.CarriedRows(release_id, publication.carried or KeptRows())
        return replace(charge, left_out=left_out)

    def _trip_charge(self, price: Price) -> tuple[FleetCharge | None, NDArray[np.int64] | None]:
        """What a release asks of the budgets of its trips, on top of what is spent now.

        And which offer each of them takes.
        """
        costs = price.trip_costs
        if self._ledger is None or costs is None or costs.fleet is None:
            return None, unaccounted(price)
        before = self._ledger.fleet(costs.fleet.name)
        key = before.key if before else Randomness.secure().key("fleet").secret
        spent = before.spent if before else TripSums.none()
        choice = costs.fitting(spent, key) if len(costs.offers) > 1 else None
        sums, first_row = costs.sums(choice, key)
        charge = voile_ledger.FleetCharge(
            terms=costs.fleet,
            before=before,
            key=key,
            release_id=price.release_id,
            costs=sums,
            first_row=first_row,
            exact=costs.exact,
        )
        return charge, choice

    def _ended(self, error: BaseException) -> list[str]:
        """Note that nothing came of what was paid; what to say of it."""
        if self._price is None:
            return []
        if self._ledger and (self._charge or self._trips):
            how: End = "infeasible" if isinstance(error, InfeasibleError) else "abandoned"
            with suppress(LedgerError):  # then it stays in the account as a release
                self._ledger.end(self._price.release_id, how)
            return self._told_of_spending()
        if self._price.events:
            return ["No ledger counts it, so nothing stops repetitions at a limit"]
        return []

    def _told_of_spending(self) -> list[str]:
        """What an attempt has cost that came to nothing."""
        if self._charge and self._charge.before:
            name = self._charge.limit.data_set
            return [f"Data set {name!r} was charged for it: {self._charge.before.balance}"]
        if self._trips:
            return [f"The trips of fleet {self._trips.terms.name!r} were charged for it"]
        return []

    def _told_of_series(self, error: BaseException) -> Iterator[str]:
        """What may be done where a release that nobody saw stands in the way of the next one."""
        if not (self._ledger and self._history and isinstance(error, RefusedError)):
            return
        newest = self._history.versions[-1]
        with suppress(LedgerError):
            if self._ledger.open_version(str(self._series)) == newest.release_id:
                yield (
                    f"Release {newest.number} was committed, and it is not known whether its "
                    "folder appeared: only if nobody has seen it, run `voile ledger settle "
                    f"{quote(str(self._series))} --lost`, and it is forgotten"
                )

    def _account(self, publication: Publication) -> list[str]:
        """What a custodian is told of the account of a release."""
        told = []
        if self._series and self._ledger and self._history is None:
            told.append(
                f"the ledger {self._ledger.path} knew no release of series {self._series!r}: this "
                "is its first, and was compared with none that another ledger knows"
            )
        if self._unused:
            told.append("the ledger was not used: the plan has no series, no [budget] and no fleet")
        if self._trips:
            told.append(f"fleet {self._trips.terms.name!r}: {self._trips.receipt()}")
        if publication.events and self._charge is None:
            told.append(
                "what this release spends was not accounted, because the plan has no [budget] "
                "table: it adds to what all other releases about these people spend"
            )
        if self._limit is None:
            return told
        name = repr(self._limit.data_set)
        waiting = self._state.waiting if self._state else None
        if not publication.events:
            told.append(f"this method spends no budget, so data set {name} was charged nothing")
        elif self._charge:
            told.append(f"data set {name}: {self._charge.receipt()}")
        return [*told, *self._told_of_pool(publication, name, waiting)]

    def _told_of_pool(
        self, publication: Publication, name: str, waiting: CarriedRows | None
    ) -> list[str]:
        """What a custodian is told of the rows that wait for the next release."""
        told = []
        if self._carries:
            if waiting and waiting.rows:
                told.append(
                    "rows taken up, which are among the rows of this table since release "
                    f"{waiting.release_id} left them out: {waiting.rows:,}"
                )
            if publication.carried:
                told.append(
                    "rows left out, which wait in the ledger for the next release of data set "
                    f"{name}: {publication.private.carried:,}"
                )
        elif waiting and waiting.rows:
            told.append(
                f"rows of data set {name} that wait on in the ledger, because only a method with "
                f'suppressed = "carry" takes them up: {waiting.rows:,}'
            )
        return told


def _unknown(found: ReleaseBeside, series: str, ledger: Ledger) -> str:
    """What is wrong with a release that stands and that its ledger does not know."""
    this = f"{found.folder}: this is release {found.version} of series {series!r}, and the ledger "
    if ledger.was_lost(found.release_id):
        return (
            f"{this}{ledger.path} was told that it never appeared, and has forgotten it. If "
            "somebody may have seen the folder, restore the copy of the ledger from before that "
            "was said; if nobody has, remove it"
        )
    return (
        f"{this}{ledger.path} does not know it. The ledger may be an old copy, or another one: "
        "name the one that knows all releases of the series (`voile ledger verify` says whether "
        "it does). If this is a series of other people, give it another name; if nobody has seen "
        "the folder, remove it"
    )


def _uncharged(found: ReleaseBeside, data_set: str, ledger: Ledger) -> str:
    """What is wrong with a release that spent of a budget whose ledger does not know it."""
    return (
        f"{found.folder}: this release spent of the budget of data set {data_set!r}, and the "
        f"ledger {ledger.path} does not know it. The ledger may be an old copy, or another one: "
        "name the one that counts all releases of the data set (`voile ledger verify` says whether "
        "it does). If these are other people, give the data set another name"
    )


def _with_notices(publication: Publication, *notices: str) -> Publication:
    if not notices:
        return publication
    private = publication.private
    told = replace(private, notices=(*private.notices, *notices))
    return replace(publication, private=told)
