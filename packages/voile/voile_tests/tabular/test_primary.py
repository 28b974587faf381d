"""Rules for primary cells, worked out by hand, and what is counted in a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.schema.plan import parse_plan
from voile.schema.tabulation import CellSuppression
from voile.table.opening import open_frame
from voile.tabular.breaches import PatternAttack, dominated_unions
from voile.tabular.counting import PrivateCells, plan_of_rows
from voile_base.errors import PlanError, VoileError
from voile_testing.plugin import some_slow
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
        cells = PrivateCells.count(open_frame(pl.DataFrame(rows), plan_of_rows(plan)), plan.tables)
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
    cells = PrivateCells.count(open_frame(rows, plan_of_rows(plan)), plan.tables)
    (table,) = cells.system.tabulation.tables
    assert len(table.dimensions[0]) == 3
    (measure,) = cells.measures
    assert not (cells.system.constraints @ measure.values).any()
    assert sorted(measure.values.tolist()) == sorted([21, 10, 11, 3, 7, 5, 6, 1, 2, 3, 4, 5, 6])


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_slow(range(6), {0, 1, 2, 3, 5}))
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


@pytest.mark.slow
def test_a_contributor_of_two_suppressed_cells_is_one_in_their_sum() -> None:
    """Big is the largest in b1 and in b2, which together are its own: a third cell is hidden.

    With n = 2, the two largest of two cells may be 90 % of what both are together.
    """
    rows = {
        "a": ["b1"] * 2 + ["b2"] * 2 + ["b3"] * 4 + ["b4"] * 4,
        "who": ["big", "u", "big", "v", *"cdefghij"],
        "v": [900, 30, 910, 40, *[200, 210, 220, 230], *[400, 410, 420, 430]],
    }
    total = [{"a": "Total"}]
    made = protected(rows, [SUM], dominance=[[1, 80]], publish=total)
    labels = made.cells.system.tabulation.labels["a"]
    hidden = {labels[cell - 1] for cell in np.flatnonzero(made.pattern.suppressed)}
    assert {"b1", "b2"} < hidden
    assert made.pattern.least
    pair = np.zeros_like(made.pattern.suppressed)
    pair[[1 + labels.index("b1"), 1 + labels.index("b2")]] = True
    (union,) = dominated_unions(made.cells, RULES, made.primary.cells, pair)
    assert set(union.hidden) == set(np.flatnonzero(pair))
    other = protected(rows, [SUM], dominance=[[1, 80]], publish=total, search="heuristic")
    assert not dominated_unions(made.cells, RULES, other.primary.cells, other.pattern.suppressed)
    of_two = protected(rows, [SUM], dominance=[[2, 95]], publish=total)
    chosen = {labels[cell - 1] for cell in np.flatnonzero(of_two.pattern.suppressed)}
    values = {name: rows["v"][i : i + n] for name, i, n in (("b3", 4, 4), ("b4", 8, 4))}
    union_sum = 930 + 950 + sum(sum(values[one]) for one in chosen & set(values))
    assert 900 + 910 + max(max(values[one]) for one in chosen & set(values)) <= 0.95 * union_sum


RULES = CellSuppression(dominance=((1, 80),))


def test_weights_stand_for_units_of_the_population() -> None:
    """Sums are of the population; a respondent stands for so many like it, rounded up."""
    rows = {
        "a": ["x", "x", "y", "y", "y"],
        "w": [1.5, 2.0, 1.0, 1.0, 1.0],
        "v": [100, 10, 80, 15, 5],
    }
    table = {"dimensions": ["a"], "sum": ["v"], "weight": "w"}
    cells, primary = counted(rows, [table], p=7, minimum_weighted=3.2)
    (measure,) = cells.measures
    assert (measure.values / 10**measure.scale).tolist() == [270, 170, 100]
    assert cells.weighted.tolist() == [6.5, 3.5, 3.0]
    labels = ["Total", "x", "y"]
    assert [labels[cell] for cell in np.flatnonzero(primary.rules["p"])] == ["x", "y"]
    assert [labels[c] for c in np.flatnonzero(primary.rules["weighted minimum"])] == ["y"]
    count, *_ = counted(rows, [{"dimensions": ["a"], "weight": "w"}], minimum=2)[0].measures
    assert (count.values / 10**count.scale).tolist() == [6.5, 3.5, 3.0]


@pytest.mark.slow
def test_weights_of_one_change_nothing() -> None:
    """The same primary cells and the same pattern as without weights."""
    rows = {**COMPANIES, "w": [1] * 7}
    plain = protected(COMPANIES, [SUM], p=10, minimum=3)
    weighted = protected(rows, [{**SUM, "weight": "w"}], p=10, minimum=3)
    assert plain.pattern.suppressed.tolist() == weighted.pattern.suppressed.tolist()
    assert plain.primary.rules["p"].tolist() == weighted.primary.rules["p"].tolist()


def test_contributors_of_a_holding_are_one() -> None:
    """Three companies of one holding have all of x, and are one unit."""
    rows = {
        "a": ["x"] * 3 + ["y"] * 3,
        "who": list("123456"),
        "h": ["H", "H", "H", "4", "5", "6"],
        "v": [30, 30, 30, 30, 30, 30],
    }
    alone, _ = counted(rows, [SUM], minimum=2)
    held, primary = counted(rows, [{**SUM, "holding": "h"}], minimum=2)
    assert alone.units.tolist() == [6, 3, 3]
    assert held.units.tolist() == [4, 1, 3]
    assert np.flatnonzero(primary.cells).tolist() == [1]


def test_a_mean_stands_beside_its_sum_and_count() -> None:
    """It is their ratio; where the cell is suppressed, all three are."""
    rows = {"a": ["x"] * 4 + ["y"] * 4 + ["z"], "v": [1, 2, 3, 5, 4, 4, 4, 5, 9]}
    made = protected(rows, [{"dimensions": ["a"], "mean": ["v"]}], minimum=3)
    shown = dict(zip(made.columns["a"], made.columns["mean(v)"], strict=True))
    hidden = {a for a, one in zip(made.columns["a"], made.columns["status"], strict=True)
              if one == "suppressed"}  # fmt: skip
    assert hidden == {a for a, mean in shown.items() if mean is None}
    assert "z" in hidden
    assert float(shown["Total"]) == pytest.approx(37 / 9, abs=0.005)


@pytest.mark.parametrize(
    ("table", "protection", "problem"),
    [
        ({"weight": "v", "count": "who"}, {"minimum": 2}, "leave one of them out"),
        ({"holding": "who"}, {"minimum": 2}, "a holding is of contributors"),
        ({"weight": "v"}, {"minimum": 2}, "some of them are not above 0"),
        ({}, {"minimum_weighted": 2}, "needs a weight"),
    ],
)
def test_weights_and_holdings_that_cannot_be_are_refused(table, protection, problem) -> None:
    """Each with what to change."""
    with pytest.raises(VoileError, match=problem):
        counted(COMPANIES, [{"dimensions": ["a"], **table}], **protection)


@pytest.mark.parametrize(
    "table",
    [
        {"dimensions": ["status"]},
        {"dimensions": ["table"], "count": "n"},
        {"dimensions": ["count"]},
        {"dimensions": ["mean(n)"], "mean": ["n"]},
        {"dimensions": ["a"], "sum": ["count"]},
        {"dimensions": ["a"], "sum": ["status"]},
    ],
)
def test_a_column_named_like_one_of_the_published_file_is_refused(table: dict[str, Any]) -> None:
    """Two columns of one name would be one, and a sum called ``count`` would pass for the count."""
    plan = parse_plan({"tables": [table], "protection": {"minimum": 3}})
    with pytest.raises(PlanError, match="called like another column"):
        plan_of_rows(plan)


def test_two_ways_to_count_in_one_plan_are_refused_where_both_are_called_count() -> None:
    """Rows, and a column ``count``; each alone is fine."""
    rows, column = {"dimensions": ["a"]}, {"dimensions": ["b"], "count": "count"}
    for alone in (rows, column):
        plan_of_rows(parse_plan({"tables": [alone], "protection": {"minimum": 3}}))
    plan = parse_plan({"tables": [rows, column], "protection": {"minimum": 3}})
    with pytest.raises(PlanError, match="called like another column"):
        plan_of_rows(plan)


def test_two_tables_of_one_name_are_refused_by_the_plan() -> None:
    """A stated name may also be the one that a table without a name gets."""
    tables = [{"dimensions": ["a"]}, {"dimensions": ["b"], "name": "table 1"}]
    plan = parse_plan({"tables": tables, "protection": {"minimum": 3}})
    with pytest.raises(PlanError, match=r"two .* are called 'table 1'"):
        plan_of_rows(plan)
