"""What an explorer of solutions is told, against releases that are made at each node."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest

from voile.publish.generalization import Generalization
from voile.schema.plan import Plan, parse_plan
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError, PlanError
from voile_base.randomness import Randomness

PEOPLE = pl.DataFrame(
    {
        "name": [f"person {i}" for i in range(9)],
        "age": [23, 27, 34, 36, 41, 44, 45, 62, 62],
        "city": ["Lyon", "Lyon", "Nice", None, "Nice", "Lyon", "Lyon", "Oslo", "Oslo"],
        "illness": ["flu", "flu", "flu", "cold", "gout", "gout", "flu", "cold", "flu"],
    }
)


def plan_of(**roles: Any) -> Plan:
    """The plan for ``PEOPLE``."""
    named = {
        "identifiers": ["name"],
        "quasi_identifiers": ["age", "city"],
        "sensitive": ["illness"],
    }
    columns = {
        "age": {"bounds": [0, 100], "intervals": {"widths": [10, 20]}},
        "city": {"tree": {"France": ["Lyon", "Nice"], "Norway": ["Oslo", "Bergen"]}},
    }
    return parse_plan({"nulls": "category", "roles": named | roles, "columns": columns})


def told(publisher: Generalization, plan: Plan, rows: int = 9) -> Any:
    """What the explorer is told."""
    return publisher.explored(open_frame(PEOPLE, plan), rows)


@pytest.mark.parametrize("limit", [0, 0.4])
@pytest.mark.parametrize("roles", [{}, {"identifiers": [], "person": "name"}])
def test_each_node_is_told_as_the_release_at_it_is(limit: float, roles: Any) -> None:
    """Feasible where one is made; with its loss, its smallest group and its rows."""
    plan = plan_of(**roles)
    publisher = Generalization(k=2, l=2, suppression_limit=limit)
    found = told(publisher, plan)
    assert found["lattice"] == {"size": 12, "whole": True}
    assert len({tuple(node["levels"]) for node in found["nodes"]}) == 12
    feasible = 0
    for node in found["nodes"]:
        levels = dict(zip(("age", "city"), node["levels"], strict=True))
        at = Generalization(k=2, l=2, suppression_limit=limit, levels=levels)
        try:
            made = at.prepare(open_frame(PEOPLE, plan), Randomness.seeded(1))
        except InfeasibleError:
            assert not node["feasible"]
            continue
        assert node["feasible"]
        feasible += 1
        frame = pl.DataFrame(made.release.to_native())
        assert node["suppressed"] == len(PEOPLE) - len(frame)
        assert node["smallest"] == frame.group_by("group").len()["len"].min()
        assert float(made.private.objective) == pytest.approx(node["loss"], rel=1e-9)
        assert Counter(_rows_at(found, node)) == Counter(_rows_of(frame))
    assert 0 < feasible < 12


def _rows_at(found: Any, node: Any) -> list[tuple[str | None, ...]]:
    """The rows that the explorer shows at a node."""
    rows = found["rows"]
    shown = [
        rows["levels"][name][level]
        for name, level in zip(("age", "city"), node["levels"], strict=True)
    ]
    lines = zip(*shown, rows["before"]["illness"], strict=True)
    return [line for place, line in enumerate(lines) if place not in node["left_out"]]


def _rows_of(frame: pl.DataFrame) -> list[tuple[str | None, ...]]:
    """The rows of a release, both ends of an interval in one text."""
    if "age" in frame.columns:
        ages = frame["age"].cast(pl.String).to_list()
    else:
        ends = zip(frame["age.low"].to_list(), frame["age.high"].to_list(), strict=True)
        ages = [str(low) if low == high else f"{low} to {high}" for low, high in ends]
    return list(zip(ages, frame["city"].to_list(), frame["illness"].to_list(), strict=True))


def test_groups_of_a_partition_are_told_with_their_rows() -> None:
    """The smallest first, each with what it shows and what its rows were, and no identifier."""
    found = told(Generalization(k=2, algorithm="mondrian"), plan_of())
    assert found["chosen"]["levels"] is None
    assert found["chosen"]["smallest"] == found["groups"][0]["persons"] == 2
    assert sum(group["rows"] for group in found["groups"]) == len(PEOPLE)
    for group in found["groups"]:
        assert list(group["before"]) == ["age", "city", "illness"]
        assert len(group["before"]["age"]) == group["rows"]
        low, _, high = group["shows"]["age"].partition(" to ")
        assert all(int(low) <= int(age) <= int(high or low) for age in group["before"]["age"])


def test_nodes_are_told_where_nothing_can_be_published() -> None:
    """An explorer that showed nothing then would be of no use."""
    found = told(Generalization(k=5, l=4), plan_of())
    assert found["chosen"] is None
    assert len(found["nodes"]) == 12


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"age": 1}, "city"),
        ({"age": 1, "city": 1, "illness": 0}, "illness"),
        ({"age": 9, "city": 1}, "age has the levels 0 to 3, and no 9"),
    ],
)
def test_levels_that_cannot_be_are_refused(levels: Any, words: str) -> None:
    """By the column or the level that is wrong."""
    publisher = Generalization(k=2, levels=levels)
    with pytest.raises(PlanError, match=words):
        publisher.prepare(open_frame(PEOPLE, plan_of()), Randomness.seeded(1))


def test_levels_and_an_algorithm_contradict_each_other() -> None:
    """One of both would be heeded, and nobody would know which."""
    with pytest.raises(PlanError, match="leave algorithm and series out"):
        Generalization(k=2, levels={"age": 1, "city": 1}, algorithm="flash")
