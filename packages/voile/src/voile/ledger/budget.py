"""What one data set has spent and may yet spend, and the rows that wait in its pool.

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
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from shlex import quote
from typing import Literal

from voile.dp.events import PrivacyEvent
from voile.schema.budget import BudgetPlan
from voile.table.keeping import KeptRows
from voile_base.errors import PlanError, RefusedError

__all__ = ["BudgetEntry", "BudgetState", "CarriedRows", "Charge", "End", "Kind", "shown"]

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
    from voile.dp.accounting import spent  # noqa: PLC0415 - seldom needed

    try:
        return spent(events, limit.delta, limit.neighbours)
    except PlanError as error:
        msg = f"[budget] data set {limit.data_set!r}: {error}"
        raise PlanError(msg) from None
