"""Where a guarantee cannot be had, the message names the column and the best that can."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.models.criteria import Criterion, Groups, SensitiveCells
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile.models.t_closeness import EqualCloseness
from voile.publish.generalization.statement import _out_of_reach
from voile.schema.plan import parse_plan
from voile.study.run import make_release
from voile_base.errors import InfeasibleError

ROWS = np.array([4, 6])
GROUPS = Groups(
    ROWS,
    {
        "illness": SensitiveCells(
            group=np.array([0, 0, 1, 1, 1]),
            value=np.array([0, 1, 0, 1, 2]),
            rows=np.array([3, 1, 2, 2, 2]),
            total=np.array([5, 3, 2]),
        )
    },
)
"""Two groups, of four rows with two values and of six with three."""


@pytest.mark.parametrize(
    ("criterion", "suppressible", "told"),
    [
        (KAnonymity(4), 0, []),
        (KAnonymity(9), 0, ["k = 9 cannot be reached, the best is k = 4"]),
        (KAnonymity(9), 5, ["k = 9 cannot be reached, the best is k = 6"]),
        (DistinctDiversity(3, "illness"), 4, []),
        (DistinctDiversity(7, "illness"), 0, ["'illness': l = 7 cannot be", "best is l = 2"]),
        (DistinctDiversity(7, "illness"), 4, ["best is l = 3"]),
        (EntropyDiversity("2.5", "illness"), 0, ["l = 2.5 cannot be", "best is l = 1.75"]),
        (RecursiveDiversity(3, 4, "illness"), 0, ["best is l = 2"]),
        (RecursiveDiversity(3, "0.1", "illness"), 0, ["nor can any less"]),
        (EqualCloseness("0.1", "illness"), 0, ["t = 0.1 cannot be", "best is t = 0.25"]),
    ],
    ids=str,
)
def test_the_best_that_can_be_had(criterion: Criterion, suppressible: int, told: list[str]) -> None:
    """By hand: entropy 4 log 4 - 3 log 3 over 4 is log 1.7547; distances are 0.25 and 0.1667."""
    found = list(_out_of_reach([criterion], GROUPS, ROWS, suppressible))
    assert len(found) == bool(told)
    for words in told:
        assert words in found[0]


@pytest.mark.parametrize("algorithm", ["auto", "flash", "mondrian", "k-optimize"])
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"l": 5}, "column 'illness': l = 5 cannot be reached, the best is l = 3"),
        (
            {"l": {"value": Decimal("2.99"), "kind": "entropy"}},
            "column 'illness': l = 2.99 cannot be reached, the best is l = 2.82",
        ),
    ],
)
def test_messages(algorithm: str, asked: dict[str, Any], told: str) -> None:
    """Of the whole table as one group nothing better can be had."""
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "illness": ["x", "x", "y", "z"]})
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["age"], "sensitive": ["illness"]},
            "columns": {"age": {"bounds": [0, 9]}},
            "method": {"name": "generalization", "k": 2, "algorithm": algorithm, **asked},
        }
    )
    with pytest.raises(InfeasibleError) as refused:
        make_release(frame, plan, seed=1)
    assert told in str(refused.value)


@pytest.mark.parametrize("missing", [True, False])
def test_a_missing_value_that_counts_is_told_where_l_cannot_be_reached(missing: bool) -> None:
    """The best l counts it, and says so; where none is missing nothing is said of it."""
    values = ["x", "x", "y", None if missing else "z"]
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "illness": values})
    plan = parse_plan(
        {
            "nulls": "category",
            "roles": {"quasi_identifiers": ["age"], "sensitive": ["illness"]},
            "columns": {"age": {"bounds": [0, 9]}},
            "method": {"name": "generalization", "k": 2, "l": 5},
        }
    )
    with pytest.raises(InfeasibleError, match="the best is l = 3") as refused:
        make_release(frame, plan, seed=1)
    told = "in column 'illness' a missing value counts as one of l"
    assert (told in str(refused.value)) == missing


def test_what_l_counts_is_said_to_be_left_open() -> None:
    """A recipient accepts that near values, and a missing one, count as different."""
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "illness": ["x", "x", "y", "z"]})
    cases = (({"l": 2}, "near values"), ({"t": "0.6"}, "have in common"), ({}, "alike"))
    for asked, words in cases:
        plan = parse_plan(
            {
                "roles": {"quasi_identifiers": ["age"], "sensitive": ["illness"]},
                "columns": {"age": {"bounds": [0, 9]}},
                "method": {"name": "generalization", "k": 2, **asked},
            }
        )
        (limit,) = make_release(frame, plan, seed=1).release.guarantee.leaves_open
        assert words in limit
