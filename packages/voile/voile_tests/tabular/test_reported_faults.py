"""What users reported of other programs (sdcTools/UserSupport), rebuilt: safe, or infeasible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from voile.tabular.attacker import CellSystem, FeasibilityIntervals, PriorBounds
from voile_base.errors import InfeasibleError, PlanError
from voile_tests.tabular.small_tables import BruteForce, protected
from voile_tests.tabular.test_brute_force import rows_of_cells

COUNTIES = {"dimensions": [["county", "region"]], "count": "n"}
GROUPS = {"dimensions": [["group", "region"]], "count": "n"}
LINKED: dict[str, dict[str, Any]] = {
    "issue 133": {
        "region": ["A", "B", "I", "J", "K"],
        "county": ["county-1", "county-4", "county-1", "county-10", "county-10"],
        "group": ["BIG", "BIG", "small", "small", "small"],
        "n": [11, 7, 3, 9, 4],
    },
    "issue 136": {
        "region": ["A", "B", "I", "J", "K", "L", "M", "N"],
        "county": ["county-1"] * 4 + ["county-2"] * 4,
        "group": ["small"] * 5 + ["BIG", "BIG", "small"],
        "n": [2, 2, 8, 8, 3, 3, 3, 7],
    },
}


@pytest.mark.parametrize("name", LINKED)
def test_two_hierarchies_of_one_column_are_protected_together(name: str) -> None:
    """Issues 133 and 136: no primary cell follows from both tables together."""
    for minimum in (4, 5):
        made = protected(LINKED[name], [COUNTIES, GROUPS], minimum=minimum)
        assert made.pattern.least
        (measure,) = made.cells.measures
        hidden = made.pattern.suppressed
        seen = CellSystem(made.cells.system.constraints, measure.values, hidden, whole=True)
        found = FeasibilityIntervals.of(seen, np.flatnonzero(made.primary.cells))
        assert (found.upper - found.lower >= 1).all()


@pytest.mark.slow
def test_three_singletons_do_not_uncover_each_other() -> None:
    """Issue 135: nobody who is the only one of a cell works out another cell."""
    rows = {
        "n": [1, 1, 7, 1, 0, 1, 0, 0, 2, 8],
        "a": ["1"] * 5 + ["2"] * 5,
        "b": ["A", "B", "H", "M", "W"] * 2,
    }
    made = protected(rows, [{"dimensions": ["a", "b"], "count": "n"}], minimum=3)
    of_row = rows_of_cells(made.cells)
    hidden, primary = made.pattern.suppressed[of_row], made.primary.cells[of_row]
    members = BruteForce(rows, made.columns)
    (measure,) = made.cells.measures
    seen = CellSystem(
        made.cells.system.constraints, measure.values, made.pattern.suppressed, whole=True
    )
    for own in np.flatnonzero(hidden & (members.truth == 1)):
        lower = np.zeros(made.cells.system.cells)
        lower[of_row[own]] = 1
        known = PriorBounds(lower, np.full(len(lower), np.inf))
        others = np.setdiff1d(of_row[primary], of_row[own])
        found = FeasibilityIntervals.of(seen, others, known)
        assert (found.upper - found.lower >= 1).all()


ENTERPRISES = {
    "group": ["B05"] * 2 + ["B06"] * 2 + ["B07"] * 2 + ["B08"] * 4 + ["B09"] * 3,
    "company": ["big", "a", "b", "c", "d", "e", *"fghi", *"jkl"],
    "turnover": [9_000, 50, 60, 40, 70, 30, 700, 650, 800, 750, 40, 45, 50],
}


@pytest.mark.slow
def test_the_sum_of_suppressed_cells_is_not_dominated_either() -> None:
    """Issue 160: what is hidden together is safe, where a small neighbour would be too little."""
    table = {"dimensions": ["group"], "sum": ["turnover"], "contributor": "company"}
    total = [{"group": "Total"}]
    made = protected(ENTERPRISES, [table], dominance=[[1, 80]], publish=total)
    groups = made.cells.system.tabulation.labels["group"]
    hidden = {groups[cell - 1] for cell in np.flatnonzero(made.pattern.suppressed) if cell}
    assert {"B05", "B08"} <= hidden
    rows = zip(ENTERPRISES["group"], ENTERPRISES["turnover"], strict=True)
    values = [value for group, value in rows if group in hidden]
    assert not made.pattern.suppressed[0]
    assert max(values) <= 0.8 * sum(values)
    second = sorted(values)[-2]
    assert sum(values) - second >= max(values) / 0.8  # to whom knows his own part, too
    (measure,) = made.cells.measures
    protection = made.primary.protections[0].either_way
    seen = CellSystem(
        made.cells.system.constraints, measure.values, made.pattern.suppressed, whole=False
    )
    found = FeasibilityIntervals.of(seen, np.flatnonzero(made.primary.cells))
    assert (found.upper >= measure.values[found.cells] + protection[found.cells] - 1e-6).all()


FORCED = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"], "n": [1, 9, 8, 7]}
TWO = {"dimensions": ["a", "b"], "count": "n"}


def test_cells_that_are_forced_are_published() -> None:
    """Issue 115: another pattern is found, and the search ends."""
    free = protected(FORCED, [TWO], minimum=3)
    fixed = [{"a": "y", "b": "q"}]
    made = protected(FORCED, [TWO], minimum=3, publish=fixed)
    assert (made.pattern.suppressed & made.primary.forced).sum() == 0
    assert made.pattern.least
    assert made.pattern.cost >= free.pattern.cost


def test_forced_cells_that_leave_no_pattern_are_refused_with_the_reason() -> None:
    """Issue 115: the impossibility is proved by hiding everything else."""
    with pytest.raises(InfeasibleError, match="even with every other cell suppressed, 1 primary"):
        protected(FORCED, [TWO], minimum=3, publish=[{"a": "y"}, {"a": "Total"}])


def test_a_cell_cannot_be_forced_against_the_rules() -> None:
    """A primary cell that must be published is a contradiction, whatever the pattern."""
    with pytest.raises(InfeasibleError, match="forces 1 cell that may not be shown"):
        protected(FORCED, [TWO], minimum=3, publish=[{"a": "x", "b": "p"}])


def test_a_forced_cell_that_is_none_is_named() -> None:
    """A misspelt dimension, or a value that no cell has, is told by its place."""
    with pytest.raises(PlanError, match=r"publish\[1\] names 'c'"):
        protected(FORCED, [TWO], minimum=3, publish=[{"c": "x"}])
    with pytest.raises(PlanError, match=r"publish\[2\] fits no cell"):
        protected(FORCED, [TWO], minimum=3, publish=[{"a": "y"}, {"a": "z"}])


@pytest.mark.slow
def test_the_order_of_rows_changes_nothing() -> None:
    """Issue 315: the same rows in another order have the same pattern, exact or heuristic."""
    for search in ("exact", "heuristic"):
        first = protected(LINKED["issue 136"], [COUNTIES, GROUPS], minimum=4, search=search)
        turned = {name: values[::-1] for name, values in LINKED["issue 136"].items()}
        again = protected(turned, [COUNTIES, GROUPS], minimum=4, search=search)
        assert first.columns == again.columns


@pytest.mark.slow
def test_where_empty_cells_cannot_be_hidden_the_message_names_the_way_out() -> None:
    """Who is alone beside an empty cell knows it; with ``zeros = "show"`` there is a pattern."""
    rows = {
        "a": ["x", *"yyyyyyyy"],
        "b": ["p", *"ppppqqqq"],
        "who": [*"abcdefghi"],
        "v": [9, 5, 5, 6, 6, 5, 5, 6, 6],
    }
    table = {"dimensions": ["a", "b"], "sum": ["v"], "contributor": "who"}
    with pytest.raises(InfeasibleError, match=r'1 of them is empty.*zeros = "show"'):
        protected(rows, [table], minimum=3, p=10)
    assert protected(rows, [table], minimum=3, p=10, zeros="show").pattern.suppressed.any()
