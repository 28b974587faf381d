"""What a release spends, said before anything is drawn for it.

Whether a draw ends in a release, in none, or in one that somebody dislikes tells about the rows.
So a publisher says its price while nothing is drawn yet, and a ledger that counts commits it
there and then: a draw that was repeated is a draw that was paid again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voile.dp.accounting import PrivacyEvent
from voile.release.trips import TripCosts, TripSums, fitting
from voile_base.randomness import Randomness

__all__ = ["Pay", "Price", "unaccounted"]


@dataclass(frozen=True, eq=False)
class Price:
    """What a release asks of budgets, whatever comes of its draws; private."""

    release_id: str
    events: tuple[PrivacyEvent, ...] = ()
    """What it spends of a data set."""
    trip_costs: TripCosts | None = None
    """What it may spend of the budgets of trips at most."""


class Pay(Protocol):
    """What a publisher calls once, after all that can be refused and before its first draw."""

    def __call__(self, price: Price) -> NDArray[np.int64] | None:
        """Charge a price; raises ``RefusedError`` where it exceeds what is left.

        Returns which offer each trip takes, of a price that has several, -1 for none.
        """


def unaccounted(price: Price) -> NDArray[np.int64] | None:
    """Charge nothing: no ledger counts, and all of a budget is left."""
    costs = price.trip_costs
    if costs is None or len(costs.offers) == 1:
        return None
    return fitting(costs, TripSums.none(), Randomness.secure().key("fleet").secret)
