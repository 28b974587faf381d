"""Rules for primary cells, worked out by hand, and what is counted in a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile.tabular.breaches import PatternAttack
from voile.tabular.counting import count_cells, plan_of_rows
from voile_base.errors import PlanError
from voile_tests.tabular.small_tables import counted, protected, random_small

SUM: dict[str, Any] = {"dimensions": ["a"], "sum": ["v"], "contributor": "who"}
COMPANIES = {
    "a": ["x", "x", "x", "y", "y", "y", "z"],
    "who": ["1", "2", "3", "4", "4", "5", "6"],
    "v": [80, 15, 5, 30, 30, 40, 0],
}


def broken(rule: str, **protection: Any) -> list[str]:
    """The values of ``a`` whose cells break a rule."""
    cells, primary = counted(COMPANIES, [SUM], **protection)
    labels = ("Total", *cells.system.tabulation.labels["a"])
    return [labels[cell] for cell in np.flatnonzero(primary.rules[rule])]


def test_dominance_is_of_the_largest_contributors_and_more_than_the_share() -> None:
    """80 of 100 are not more than 80 %; the rows of one contributor count together: 60 of 100."""
    assert broken("dominance 1, 80", dominance=[[1, 80]]) == []
    assert broken("dominance 1, 79", dominance=[[1, 79]]) == ["x"]
    assert broken("dominance 1, 55", dominance=[[1, 55]]) == ["x", "y"]
    assert broken("dominance 2, 95", dominance=[[2, 95]]) == ["y"]


def test_p_percent_asks_what_the_second_largest_can_estimate() -> None:
    """In x the rest of 5 is 6.25 % of 80; in y there is no rest; a cell of 0 tells nothing of 0."""
    assert broken("p", p=6) == ["y"]
    assert broken("p", p=7) == ["x", "y"]
    assert broken("pq", pq=[3, 50]) == ["y"]
    assert broken("pq", pq=[4, 50]) == ["x", "y"]


def test_units_of_a_sum_are_its_contributors() -> None:
    """Three in x, two in y, one in z."""
    assert broken("minimum", minimum=2) == ["z"]
    assert broken("minimum", minimum=3) == ["y", "z"]


def test_a_group_all_of_which_are_alike_is_primary() -> None:
    """Everybody in the north is ill: that cell says it of each of them, though it is large."""
    rows = {"a": ["n", "n", "s", "s"], "ill": ["yes", "no", "yes", "no"], "n": [50, 0, 20, 30]}
    table = {"dimensions": ["a", "ill"], "count": "n"}
    made = protected(rows, [table], whole_groups=["ill"])
    rules = {
        (a, ill): hidden
        for a, ill, hidden in zip(*(made.columns[n] for n in ("a", "ill", "status")), strict=True)
    }
    assert made.primary.rules["whole group"].sum() == 1
    assert rules["n", "yes"] == rules["n", "no"] == "suppressed"


def test_persons_are_counted_once() -> None:
    """Two rows of a person in one cell are one; in two cells they cannot be counted."""
    rows = {"a": ["x", "x", "y"], "who": ["1", "1", "2"]}
    document: dict[str, Any] = {
        "roles": {"person": "who"},
        "tables": [{"dimensions": ["a"]}],
        "protection": {"minimum": 1},
    }

    def counts(rows: dict[str, list[str]]) -> list[int]:
        plan = parse_plan(document)
        cells = count_cells(open_frame(pl.DataFrame(rows), plan_of_rows(plan)), plan.tables)
        return cells.measures[0].values.tolist()

    assert counts(rows) == [2, 1, 1]
    with pytest.raises(PlanError, match="several cells"):
        counts({"a": ["x", "z", "y"], "who": ["1", "1", "2"]})


def test_levels_of_a_declared_hierarchy_have_totals() -> None:
    """Intervals of a number are a level above it, and sums add up at each."""
    plan = parse_plan(
        {
            "tables": [{"dimensions": ["age"], "count": "n"}],
            "protection": {"minimum": 2},
            "columns": {"age": {"bounds": [0, 40], "intervals": {"widths": [10, 20]}}},
        }
    )
    rows = pl.DataFrame({"age": [1, 5, 11, 15, 21, 33], "n": [1, 2, 3, 4, 5, 6]})
    cells = count_cells(open_frame(rows, plan_of_rows(plan)), plan.tables)
    (table,) = cells.system.tabulation.tables
    assert len(table.dimensions[0]) == 3
    (measure,) = cells.measures
    assert not (cells.system.constraints @ measure.values).any()
    assert sorted(measure.values.tolist()) == sorted([21, 10, 11, 3, 7, 5, 6, 1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("seed", range(6))
def test_the_heuristic_protects_as_well_and_costs_no_less(seed: int) -> None:
    """Its pattern is attacked and repaired; the exact one is never dearer."""
    small = random_small(seed)
    protection: dict[str, Any] = {"minimum": 3, "zeros": "hide"}
    made = protected(small.rows, small.tables, **protection, search="heuristic")
    exact = protected(small.rows, small.tables, **protection, search="exact")
    attack = PatternAttack(made.cells, made.primary)
    assert not list(attack.breaches(made.pattern.suppressed))
    assert exact.pattern.cost <= made.pattern.cost


def test_the_attack_finds_a_pattern_that_protects_nothing() -> None:
    """Without secondary cells, every primary cell of a row with one of them is narrowed."""
    rows = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"], "n": [1, 9, 8, 7]}
    cells, primary = counted(rows, [{"dimensions": ["a", "b"], "count": "n"}], minimum=3)
    found = list(PatternAttack(cells, primary).breaches(primary.cells))
    assert {breach.cell for breach in found} == set(np.flatnonzero(primary.cells).tolist())
