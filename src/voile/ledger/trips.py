"""What the trips of one fleet have spent, and may yet spend.

Plain values and the decisions on them; where they are stored is the business of ``fleets``.

Accounting.  A trip is known by a mark, 64 bits of a pseudorandom function of its id under the
fleet's secret key: the ledger holds no id.  What its reports cost adds up over all releases, also
over those that were charged and never appeared: epsilon for independent noise, the square of mu
for Gaussian noise (``voile.dp.planar.pricing``).  Sums hold however later releases are chosen
in the light of earlier ones.  Two trips of one mark, which is improbable, share a budget.

Where zones decide on the noise of a report, what it costs follows from what was published before
it.  Then the most that reports can cost is charged before anything is drawn, so that no draw is
refused for what it came to; what they did not cost is given back when the release is committed.

A budget counts as exceeded where the sum is larger by more than a billionth: sums of binary
fractions come no nearer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.dp.planar.pricing import total_epsilons
from voile.errors import RefusedError
from voile.ledger.budget import End
from voile.release.trips import FleetTerms

__all__ = ["FleetCharge", "FleetEntry", "FleetKind", "FleetState", "TripSums"]

_ROUNDING = 1e-9

FleetKind = Literal["release", "given back"] | End
"""A release was charged; its reports cost less than was charged; or nothing came of it."""

_DEAREST = (
    "Reports count as if they fell into the zones where they cost most, for where they fall is "
    "drawn. "
)

Floats = NDArray[np.float64]
Marks = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class TripSums:
    """What each of t trips costs, by mark; parallel arrays."""

    marks: Marks
    epsilon: Floats
    squared_mu: Floats

    def __len__(self) -> int:
        return len(self.marks)

    @classmethod
    def none(cls) -> TripSums:
        """No trips."""
        return cls(np.empty(0, np.uint64), np.empty(0), np.empty(0))

    def plus(self, other: TripSums) -> TripSums:
        """All trips of both, ascending by mark, each with what it costs in both."""
        marks, place = np.unique(np.concatenate((self.marks, other.marks)), return_inverse=True)
        sums = [np.zeros(len(marks)), np.zeros(len(marks))]
        for total, name in zip(sums, ("epsilon", "squared_mu"), strict=True):
            np.add.at(total, place, np.concatenate((getattr(self, name), getattr(other, name))))
        return TripSums(marks, *sums)

    def at(self, marks: Marks) -> TripSums:
        """What the trips of these marks cost; each is one of the marks, which ascend."""
        place = np.searchsorted(self.marks, marks)
        return TripSums(marks, self.epsilon[place], self.squared_mu[place])

    def minus(self, other: TripSums) -> TripSums:
        """What each trip costs more than in another account of the same trips in the same order."""
        if not np.array_equal(self.marks, other.marks):
            msg = "what a release costs is about the trips that were charged for it"
            raise ValueError(msg)
        epsilon, squared_mu = self.epsilon - other.epsilon, self.squared_mu - other.squared_mu
        return TripSums(self.marks, epsilon, squared_mu)

    def totals(self, delta: float) -> Floats:
        """The epsilon of each trip at a delta."""
        return total_epsilons(self.epsilon, self.squared_mu, delta)


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
        """What a trip has spent in the median, and at most."""
        totals = self.spent.totals(self.terms.delta)
        return (float(np.median(totals)), float(totals.max())) if len(totals) else (0.0, 0.0)

    @property
    def overspent(self) -> int:
        """How many trips have spent more than their budget: none, unless records were changed."""
        return int(_over(self.spent, self.terms).sum())


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
    """Of the trips of this release, in its own order; a trip may stand there once."""
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

    @property
    def together(self) -> TripSums:
        """What the trips of this release have spent once it is committed, in its own order."""
        earlier = self.before.spent if self.before else TripSums.none()
        return earlier.plus(self.rest).at(self.costs.marks)

    def as_entered(self, state: FleetState) -> FleetCharge:
        """The charge once a ledger has taken it, which has left this state."""
        return replace(self, before=state, entered=self.costs)

    def receipt(self) -> str:
        """One sentence on what is spent once this charge is committed."""
        most = float(self.together.totals(self.terms.delta).max(initial=0.0))
        return (
            f"trips charged: {len(self.costs):,}; the most that one of them has now spent is "
            f"{most:.6g} of its budget epsilon = {self.terms.budget:g}"
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
        over = _over(self.together, self.terms)
        if not over.any():
            return
        spent = self._already_spent(over)
        would = "would" if self.exact else "might"
        msg = (
            f"fleet {self.terms.name!r}: with this release {over.sum():,} of {len(over):,} trips "
            f"{would} spend more than their budget epsilon = {self.terms.budget:g} (at "
            f"{self.terms.distance:g} m and delta = {self.terms.delta:g}); the first of them "
            f"begins in row {int(self.first_row[over].min())}. {spent:,} of them have reports in "
            f"earlier releases. {'' if self.exact else _DEAREST}Leave these trips out, publish "
            "fewer of their reports, or ask for more noise; what is spent does not come back"
        )
        raise RefusedError(msg)

    def _already_spent(self, over: NDArray[np.bool_]) -> int:
        known = self.before.spent.marks if self.before else np.empty(0, np.uint64)
        return int(np.isin(self.costs.marks[over], known).sum())


def _over(spent: TripSums, terms: FleetTerms) -> NDArray[np.bool_]:
    """Which trips have spent more than their budget."""
    return np.asarray(spent.totals(terms.delta) > terms.budget * (1 + _ROUNDING))
