"""The ledger as one release meets it: what was promised and spent before, and what is added now.

A release may belong to a series, be charged to a data set or to the trips of a fleet, leave rows in
a pool, or none of these; whatever it is, all that the ledger must know of it is committed in one
transaction.

A release made with a seed is entered like any other: it spends, and takes rows up.  Experiments
have ledgers of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from voile.errors import LedgerError, PlanError
from voile.ledger import BudgetState, CarriedRows, Charge, FleetCharge, Ledger, TripSums
from voile.publish.publisher import Publisher
from voile.randomness import Randomness
from voile.release.history import History
from voile.release.release import Publication
from voile.schema.plan import Plan

__all__ = ["Books"]


class Books:
    """What a plan asks of a ledger; raises ``PlanError`` where it asks for one and none is given.

    Without a series, a budget and a fleet, every method does nothing.
    """

    def __init__(self, plan: Plan, publisher: Publisher, path: str | Path | None) -> None:
        self._series = publisher.series
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
        self._history: History | None = None
        self._state: BudgetState | None = None
        self._trips: FleetCharge | None = None

    def refuse_place(self, out: str | Path | None) -> None:
        """Raise ``PlanError`` where a release would stand in the ledger's place."""
        if self._ledger and out is not None and self._ledger.path.resolve() == Path(out).resolve():
            msg = f"{out}: --out and --ledger name the same place; give the release one of its own"
            raise PlanError(msg)

    def waiting_rows(self) -> bytes | None:
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
        return waiting.stream if waiting and waiting.rows else None

    def history(self) -> History | None:
        """The history of the series before this release."""
        if self._ledger and self._series:
            self._history = self._ledger.load(self._series)
        return self._history

    def told(self, publication: Publication) -> Publication:
        """A publication with notices about its account; nothing is entered yet.

        Raises ``RefusedError`` where it would spend more than is left.
        """
        charge = self._charge(publication)
        self._trips = self._trip_charge(publication)
        for asked in (charge, self._trips):
            if asked:
                asked.refuse()
        return _with_notices(publication, *self._account(publication, charge))

    def commit(self, publication: Publication, progress: Callable[[str], None]) -> None:
        """Enter a release, before anybody sees it.

        Raises ``RefusedError`` where it would spend more than is left, or another publisher was
        faster; then nothing is entered.
        """
        charge = self._charge(publication)
        if self._ledger and (publication.history or charge or self._trips):
            progress("committing the ledger")
            self._ledger.commit(self._history, publication.history, charge, self._trips)

    def settle(self, publication: Publication) -> Publication:
        """Forget the rows that a release took up, once it stands."""
        if not self._ledger or not self._limit or not self._carries:
            return publication
        try:
            self._ledger.settle(self._limit.data_set, publication.release.release_id)
        except LedgerError as error:  # the release stands, and no error may say otherwise
            remedy = (
                f"the ledger could not note that this release stands ({error}): before the next "
                f"one, run `voile ledger settle {self._limit.data_set} --release FOLDER`"
            )
            return _with_notices(publication, remedy)
        return publication

    def take_back(self, publication: Publication, out: str | Path | None) -> None:
        """Let rows that a release took up wait again, where it did not come to stand at ``out``."""
        lost = out is None or not Path(out).exists()
        if self._ledger and self._limit and self._carries and lost:
            with suppress(LedgerError):  # then it stays unsettled, which the next publisher is told
                self._ledger.take_back(self._limit.data_set, publication.release.release_id)

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
        return Ledger(Path(path))

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

    def _charge(self, publication: Publication) -> Charge | None:
        if not self._limit or not (publication.events or self._carries):
            return None
        release_id = publication.release.release_id
        left_out = CarriedRows(release_id, publication.private.carried, publication.carried or b"")
        return Charge(
            limit=self._limit,
            before=self._state,
            release_id=release_id,
            events=publication.events,
            left_out=left_out if self._carries else None,
        )

    def _trip_charge(self, publication: Publication) -> FleetCharge | None:
        """What a release asks of the budgets of its trips, on top of what is spent now."""
        costs = publication.trip_costs
        if self._ledger is None or costs is None:
            return None
        before = self._ledger.fleet(costs.fleet.name)
        key = before.key if before else Randomness.secure().key("fleet").secret
        accounts = costs.accounts
        return FleetCharge(
            terms=costs.fleet,
            before=before,
            key=key,
            release_id=publication.release.release_id,
            costs=TripSums(accounts.marks(key), accounts.epsilon, accounts.squared_mu),
            first_row=accounts.first_row,
        )

    def _account(self, publication: Publication, charge: Charge | None) -> list[str]:
        """What a custodian is told of the account of a release."""
        told = []
        if self._unused:
            told.append("the ledger was not used: the plan has no series, no [budget] and no fleet")
        if self._trips:
            told.append(f"fleet {self._trips.terms.name!r}: {self._trips.receipt()}")
        if publication.events and charge is None:
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
        elif charge:
            told.append(f"data set {name}: {charge.receipt()}")
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


def _with_notices(publication: Publication, *notices: str) -> Publication:
    if not notices:
        return publication
    private = publication.private
    told = replace(private, notices=(*private.notices, *notices))
    return replace(publication, private=told)
