"""Whether a release shows rows at all: a black box, asked of k rows that are alike and of k - 1."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from voile.dp.sampling import delta_of
from voile.publish.dp_generalization import DPGeneralization
from voile.publish.dp_generalization.decision import _least_excess
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile_base.randomness import Randomness
from voile_testing.statistics import least_loss

K, BETA, CHOICE = 2, Decimal("0.5"), Decimal("0.01")
DRAWS, TRIES, FALSE_ALARM = 320, 8, 1e-3


def outcomes(rows: int, seed: int) -> NDArray[np.bool_]:
    """Of so many releases of a table, which show rows; each is a release, and none an error."""
    plan = parse_plan({"roles": {"quasi_identifiers": ["town"], "person": "row"}})
    table = open_frame(pl.DataFrame({"town": ["Aix"] * rows}), plan)
    method = DPGeneralization(k=K, beta=BETA, epsilon_choice=CHOICE)
    return np.array(
        [
            method.publish(table, Randomness.seeded(seed * DRAWS + draw)).rows > 0
            for draw in range(DRAWS)
        ]
    )


@pytest.mark.slow
def test_whether_rows_are_shown_tells_no_more_than_is_paid_for() -> None:
    """The audit accepts the outcome of a release, and rejects trying again until rows come.

    So a release that ends without one and may be begun anew, at the price of one, is found out.
    """
    epsilon = float(CHOICE + _least_excess(BETA))
    delta = float(delta_of(K, BETA, _least_excess(BETA)))
    enough, few = outcomes(K, 1), outcomes(K - 1, 2)
    assert enough.any()
    assert not few.any()
    assert least_loss(enough, few, delta, FALSE_ALARM) <= epsilon
    until = [each.reshape(-1, TRIES).any(axis=1) for each in (enough, few)]
    assert least_loss(*until, delta, FALSE_ALARM) > epsilon
