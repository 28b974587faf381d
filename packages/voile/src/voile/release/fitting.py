"""As many evenly spaced reports as budgets buy: which of several spacings each trip has.

All trips of one account, which is a trip or a vehicle, have the same: the finest whose cost fits,
on top of what the account has spent already.  Where not even the coarsest does, trips are left out,
the last ones first.  It follows from times of reports and from the ledger, which holds nothing
about places, so it tells nothing of them.

Cost: log2 of the number of spacings times what accounts cost to add up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voile.release.trip_sums import TripSums, sums_of
from voile.release.trips import FleetTerms, TripCosts
from voile_base.errors import RefusedError

__all__ = ["fitting"]

Choice = NDArray[np.int64]


def fitting(costs: TripCosts, spent: TripSums, key: bytes) -> Choice:
    """The place of a spacing for each trip, or -1 for a trip that is left out; shape (t,).

    Raises ``RefusedError`` where no trip may have a single report.
    """
    assert costs.fleet is not None, "budgets say how many reports there may be"
    offers = len(costs.offers)
    marks = costs.marks(key)
    accounts, account = np.unique(marks, return_inverse=True)
    fits = _Fits(costs, costs.fleet, spent, key)
    low, high = np.zeros(len(accounts), np.int64), np.full(len(accounts), offers)
    while (low < high).any():
        middle = (low + high) // 2
        good = fits(np.minimum(middle, offers - 1)[account], accounts) & (middle < offers)
        low, high = np.where(good, low, np.minimum(middle + 1, high)), np.where(good, middle, high)
    choice = np.minimum(high, offers - 1)[account]
    begins = np.argsort(-costs.accounts.days, kind="stable")
    out_of = high == offers
    while out_of.any():
        last = _last_of(begins, account, choice, out_of)
        choice[last] = -1
        left = np.bincount(account, choice >= 0, len(accounts)) > 0
        out_of &= left & ~fits(choice, accounts)
    if (choice < 0).all():
        msg = (
            f"fleet {costs.fleet.name!r}: nothing is left of the budgets of these "
            f"{costs.fleet.unit}s, not for a single report; what is spent does not come back: "
            "publish later days, or ask for more noise"
        )
        raise RefusedError(msg)
    return np.asarray(choice, dtype=np.int64)


def _last_of(
    begins: Choice, account: Choice, choice: Choice, wanted: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The last trip of each wanted account that is not left out yet."""
    there = begins[(choice[begins] >= 0) & wanted[account[begins]]]
    _, first = np.unique(account[there], return_index=True)
    return np.asarray(there[first], dtype=np.int64)


class _Fits:
    """Whether accounts keep their budgets with some choice."""

    def __init__(self, costs: TripCosts, terms: FleetTerms, spent: TripSums, key: bytes) -> None:
        self._costs, self._terms, self._spent, self._key = costs, terms, spent, key

    def __call__(self, choice: Choice, accounts: NDArray[np.uint64]) -> NDArray[np.bool_]:
        charged, _ = sums_of(self._costs, choice, self._key)
        marks, totals = self._spent.plus(charged).of(accounts).each(self._terms)
        assert np.array_equal(marks, accounts)
        return np.asarray(totals <= self._terms.budget)
