"""Criteria as plans state them: made by their names, and written down again."""

from __future__ import annotations

import pytest

from voile.models.criteria import StatedCriterion
from voile.models.l_diversity import LDiversity
from voile.models.t_closeness import TCloseness
from voile_base.errors import PlanError

STATED = [
    (
        {"name": "l-diversity", "column": "illness", "l": 3},
        LDiversity,
    ),
    (
        {"name": "t-closeness", "column": "illness", "t": 0.25, "distance": "ordered"},
        TCloseness,
    ),
]


@pytest.mark.parametrize(("table", "kind"), STATED, ids=lambda given: str(given)[:20])
def test_a_criterion_is_made_by_its_name_and_written_down_again(table, kind):
    """What ``release.json`` has of it makes it again, and holds all that was asked for."""
    stated = StatedCriterion.of(table)
    assert type(stated) is kind
    document = stated.document()
    assert table.items() <= document.items()
    assert StatedCriterion.of(document) == stated


def test_a_criterion_needs_a_name_that_is_known():
    """Anything else is a mistake in the plan, which is told with the names that there are."""
    for table in ({}, {"name": 3}, {"name": "k-diversity", "column": "x"}):
        with pytest.raises(PlanError, match="l-diversity"):
            StatedCriterion.of(table)
