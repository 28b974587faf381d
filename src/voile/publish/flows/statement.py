"""The guarantee of flows in words."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from voile.release.claims import PrivateFlows
from voile.release.release import Guarantee
from voile.schema.numbers import plain_text

__all__ = ["flow_guarantee"]

_ASSUMES = (
    "zones, hours and the map are public facts and do not come from the data",
    "trips of one vehicle have its id, and nothing else is published about the same vehicles, or "
    "it is accounted for in the same budget",
)


def flow_guarantee(
    budget: Mapping[str, Decimal], trips: int, passages: int | None, cells: int
) -> Guarantee:
    """For epsilons by kind of count, and what a vehicle counts for at most."""
    epsilon = sum(budget.values(), Decimal(0))
    text = plain_text(epsilon)
    counted = f"of each vehicle at most {trips} trips count" + (
        "" if passages is None else f", and of each of them at most {passages} passages of roads"
    )
    statement = (
        f"{text}-differentially private for a vehicle: whether it is in the data, with all its "
        f"trips, changes the probability of every possible table by a factor of at most e^{text}. "
        f"For that {counted}; the others are left out of the counts, and of what their intervals "
        "are about"
    )
    claim = PrivateFlows(
        epsilon=epsilon,
        neighbours="vehicle",
        budget={kind: {"discrete-laplace": spent} for kind, spent in budget.items()},
        trips=trips,
        passages=passages,
        cells=cells,
    )
    return Guarantee((claim,), statement, _ASSUMES)
