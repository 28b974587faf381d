"""delta-presence and k^m-anonymity: by brute force, unions, releases, bad parameters."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import voile
from voile.models.criteria import Groups, SensitiveCells, StatedCriterion
from voile.publish.generalization import Generalization
from voile.release.check import check_release
from voile.schema.hierarchy.generalized import DistinctValues
from voile_base.errors import PlanError
from voile_base.randomness import Randomness

SETS = ("", "a", "a|b", "a|b|c", "b|c", "d")
TABLES = st.lists(
    st.lists(st.integers(0, len(SETS) - 1), min_size=1, max_size=8), min_size=1, max_size=4
)


def _groups(table) -> Groups:
    """Groups of rows that each have one of the values, by their ranks."""
    counts = np.array([np.bincount(rows, minlength=len(SETS)) for rows in table])
    group, value = np.nonzero(counts)
    cells = SensitiveCells(group, value, counts[group, value], counts.sum(axis=0))
    return Groups(counts.sum(axis=1), {"items": cells})


def _criterion(plan=None, **stated):
    return StatedCriterion.of({"column": "items", **stated}).criterion(
        DistinctValues("text", SETS), plan
    )


def _all_in_k(rows, k: int, m: int) -> bool:
    sets = [set(SETS[value].split("|")) - {""} for value in rows]
    known = {some for one in sets for size in range(1, m + 1)
             for some in combinations(sorted(one), size)}  # fmt: skip
    return all(sum(set(some) <= one for one in sets) >= k for some in known)


@given(TABLES, st.integers(2, 3), st.integers(1, 3))
def test_sets_hold_as_all_combinations_say(table, k, m) -> None:
    """Each combination of up to m items of any row, counted in the rows of its group."""
    found = _criterion(name="km-anonymity", k=k, m=m).holds(_groups(table))
    assert found.tolist() == [_all_in_k(rows, k, m) for rows in table]


@given(TABLES, st.sampled_from(["0", "0.2", "1/3"]), st.sampled_from(["0.4", "0.5", "1"]))
def test_presence_is_a_share_between_bounds(table, low, high) -> None:
    """The share of the value in each group, by fractions."""
    bounds = [Fraction(bound) for bound in (low, high)]
    stated = {"low": str(low).replace("1/3", "0.25"), "high": high, "member": "a"}
    bounds[0] = Fraction(stated["low"])
    found = _criterion(name="delta-presence", **stated).holds(_groups(table))
    shares = [Fraction(sum(SETS[v] == "a" for v in rows), len(rows)) for rows in table]
    assert found.tolist() == [bounds[0] <= share <= bounds[1] for share in shares]


@given(
    TABLES,
    st.sampled_from(
        [
            {"name": "km-anonymity", "k": 2, "m": 2},
            {"name": "delta-presence", "member": "a", "high": "0.5"},
        ]
    ),
)
def test_unions_of_valid_groups_are_valid(table, stated) -> None:
    """Both are monotone, as searches suppose."""
    criterion = _criterion(**stated)
    valid = [rows for rows, fine in zip(table, criterion.holds(_groups(table)), strict=True)
             if fine]  # fmt: skip
    if valid:
        assert criterion.holds(_groups([[v for rows in valid for v in rows]])).all()


def _people(rows: int = 300) -> tuple[pl.DataFrame, voile.Plan]:
    draws = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "age": draws.integers(20, 60, rows),
            "bought": draws.choice(["milk", "milk|bread", "bread", "tea|milk"], rows),
        }
    )
    roles = voile.Roles(quasi_identifiers=("age",), sensitive=("bought",), person="row")
    return frame, voile.Plan(roles)


@pytest.mark.parametrize(
    "criterion",
    [
        {"name": "km-anonymity", "column": "bought", "k": 4, "m": 2},
        {"name": "delta-presence", "column": "bought", "member": "bread", "high": 0.4},
    ],
)
def test_releases_have_it_in_every_group(criterion) -> None:
    """Published groups, counted anew from the rows."""
    frame, plan = _people()
    made = Generalization(k=3, criteria=(criterion,)).publish(
        voile.open_frame(frame, plan), Randomness.seeded(1)
    )
    check_release(made)
    shown = pl.DataFrame(made.table.to_arrow())
    names = [name for name in shown.columns if name != "bought"]
    for _, rows in shown.group_by(names):
        sets = [set(text.split("|")) for text in rows["bought"]]
        if criterion["name"] == "delta-presence":
            assert (rows["bought"] == "bread").mean() <= 0.4
            continue
        for pair in {p for s in sets for n in (1, 2) for p in combinations(sorted(s), n)}:
            assert sum(set(pair) <= one for one in sets) >= 4


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"name": "delta-presence", "member": "a", "high": 0}, "above 0"),
        ({"name": "delta-presence", "member": "a", "low": 0.6, "high": 0.5}, "low <= high"),
        ({"name": "delta-presence", "member": "a", "high": 2}, "<= 1"),
        ({"name": "km-anonymity", "k": 1, "m": 2}, "k"),
        ({"name": "km-anonymity", "k": 2, "m": 0}, "m"),
        ({"name": "km-anonymity", "k": 2, "m": 2, "separator": ""}, "separator"),
    ],
)
def test_parameters_that_cannot_be_are_refused(stated, words) -> None:
    """With the key and what is allowed."""
    with pytest.raises(PlanError, match=words):
        StatedCriterion.of({"column": "items", **stated})


def test_what_the_table_does_not_have_is_refused() -> None:
    """A member that nobody is, persons with several rows, more combinations than are counted."""
    plan = voile.Plan(voile.Roles(sensitive=("items",), person="who"))
    with pytest.raises(PlanError, match="member"):
        _criterion(plan, name="delta-presence", member="zebra", high=0.5)
    with pytest.raises(PlanError, match="row of each person"):
        _criterion(plan, name="km-anonymity", k=2, m=2)
    many = DistinctValues("text", ("|".join(map(str, range(400))),))
    with pytest.raises(PlanError, match="smaller m"):
        StatedCriterion.of({"name": "km-anonymity", "column": "x", "k": 2, "m": 3}).criterion(
            many, None
        )
