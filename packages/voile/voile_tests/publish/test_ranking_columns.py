"""Ranking columns are published as ranges, or not at all."""

from __future__ import annotations

import polars as pl
import pytest

import voile
from voile_base.errors import PlanError

FRAME = pl.DataFrame({"age": [1, 2, 3, 4], "points": [10, 20, 30, 40], "pay": [5, 6, 7, 8]})
METHODS = [
    voile.KEAnonymity(k=2, e=1),
    voile.Generalization(k=2),
    voile.DPGeneralization(k=2, epsilon=3),
    voile.ClusteredLaplace(epsilon=1),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_method_that_does_not_rank_refuses_ranking_columns(method) -> None:
    """No other method publishes as they are columns that a plan wants shown as ranges."""
    roles = voile.Roles(quasi_identifiers=("age",), ranking=("points",), sensitive=("pay",))
    bounds = {"age": voile.ColumnPlan(bounds=(0, 9))}
    table = voile.open_frame(FRAME, voile.Plan(roles, columns=bounds))
    with pytest.raises(PlanError, match=r"\[roles\] ranking"):
        method.publish(table, voile.Randomness.seeded(1))
