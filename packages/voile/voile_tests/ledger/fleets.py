"""Charges to the trips of a fleet, for tests and for publishers in processes of their own."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import numpy as np

from voile.ledger import FleetCharge, FleetState, TripSums
from voile.release.trips import FleetTerms

TERMS = FleetTerms("vans", budget=3.0, distance=100.0, delta=1e-5, differences="any")


def charge_trips(
    before: FleetState | None,
    costs: Mapping[int, tuple[float, float]],
    *,
    terms: FleetTerms = TERMS,
    release_id: str | None = None,
) -> FleetCharge:
    """What a release asks of trips: epsilon and squared mu by mark; trip m stands in row 10 m."""
    marks = np.array(list(costs), dtype=np.uint64)
    values = np.array(list(costs.values()), dtype=np.float64).reshape(-1, 2)
    return FleetCharge(
        terms=terms,
        before=before,
        key=before.key if before else bytes(32),
        release_id=release_id or secrets.token_hex(16),
        costs=TripSums(marks, values[:, 0], values[:, 1]),
        first_row=10 * marks.astype(np.int64),
    )
