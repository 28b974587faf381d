"""Who a row is: what a plan may say of it, and the rule that its silence is held to."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.persons import (
    Occurrences,
    columns_to_keep,
    identifying_columns,
    refuse_repeating,
    refuse_singling_out,
)
from voile.schema.plan import Plan, parse_plan, read_plan
from voile.schema.roles import Roles
from voile_base.errors import PlanError


def occurrences(values: list[Any]) -> Occurrences:
    """Counted one by one."""
    counts = Counter(values)
    return Occurrences(len(values), len(counts), sum(n == 1 for n in counts.values()))


@pytest.mark.parametrize(
    ("values", "repeats", "singles_out"),
    [
        ("", False, False),
        ("a", False, True),
        ("aa", True, False),
        ("ab", False, True),
        ("aab", True, False),  # one of two values stands once: not more than half
        ("aabc", True, True),
        ("aaaaaaaabc", True, True),  # a long tail singles out, however common the rest is
        ("aabbc", True, False),
        ("aabbcde", True, True),
        ("aabbcd", True, False),
    ],
)
def test_the_rule_on_small_columns(values: str, repeats: bool, singles_out: bool) -> None:
    """Some value in two rows repeats; more than half of the distinct values once single out."""
    found = occurrences(list(values))
    assert (found.repeat, found.single_out) == (repeats, singles_out)


@given(st.lists(st.integers(0, 6), max_size=20))
def test_duplicating_every_row_singles_out_nobody(values: list[int]) -> None:
    """A table in which each row stands twice has no value that stands once, and repeats."""
    twice = occurrences(values * 2)
    assert not twice.single_out
    assert twice.repeat == bool(values)


def test_what_a_plan_may_say() -> None:
    """Each row is a person, or nothing is said; columns that may single out rows are kept ones."""
    plan = parse_plan(
        {"roles": {"person": "row", "identifiers": ["a"], "keep": ["b", "c"], "keep_unique": ["c"]}}
    )
    assert plan.roles.person == "row"
    assert identifying_columns(plan.roles) == ()
    assert columns_to_keep(plan.roles) == ("b",)
    silent = Roles(identifiers=("a", "key"), keep=("b",))
    assert identifying_columns(silent, "key") == ("a",)
    assert columns_to_keep(silent) == ("b",)
    assert set(silent.published) == {"b"}


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"person": ["row"]}, ["[roles] person must be the name of the column", '"row"']),
        ({"person": 1}, ["[roles] person must be the name of the column"]),
        ({"person": ""}, ["[roles] person must be the name of the column"]),
        ({"household": 1}, ["[roles] household must be the name of the column"]),
        ({"person": "a", "keep": ["a"]}, ["'a' is named in keep", "never published"]),
        ({"person": "a", "sensitive": ["a"]}, ["'a' is named in sensitive", "never published"]),
        ({"household": "h", "quasi_identifiers": ["h"]}, ["'h'", "tells households apart"]),
        ({"person": "a", "household": "a"}, ["person and household both name the column 'a'"]),
        ({"keep_unique": "a"}, ["[roles] keep_unique must be a list"]),
        ({"keep_unique": [1]}, ["[roles] keep_unique must be a list of column names"]),
        ({"keep_unique": ["parcl"], "keep": ["parcel"]}, ["'parcl'", "did you mean 'parcel'?"]),
        ({"keep_unique": ["a"], "identifiers": ["a"]}, ["keep_unique", "'a'", "keep does not"]),
    ],
)
def test_what_a_plan_may_not_say(roles: dict[str, Any], words: list[str]) -> None:
    """Anything else is refused with the key and what it may be."""
    with pytest.raises(PlanError) as refusal:
        parse_plan({"roles": roles})
    for word in words:
        assert word in str(refusal.value)


def test_refusals_name_plan_key_column_and_the_ways_out(tmp_path) -> None:
    """All that a custodian needs to go on; a plan made in Python has no file to name."""
    path = tmp_path / "stays.toml"
    path.write_text('[roles]\nidentifiers = ["id"]\nkeep = ["x", "y", "z"]\nkeep_unique = ["z"]\n')
    plan = read_plan(path)
    with pytest.raises(PlanError) as refusal:
        refuse_repeating(plan, "id", Occurrences(1_200, 400, 0))
    message = str(refusal.value)
    assert message.startswith(f"{path}: [roles] identifiers: column 'id' repeats (1,200 rows, 400 ")
    assert 'person = "row"' in message
    assert 'say person = "id" in [roles]' in message
    found = {"x": Occurrences(9, 9, 9), "y": Occurrences(9, 4, 3), "z2": Occurrences(9, 2, 1)}
    with pytest.raises(PlanError) as refusal:
        refuse_singling_out(plan, found)
    message = str(refusal.value)
    assert message.startswith(f"{path}: [roles] keep: column 'x' singles out rows (9 of its 9 ")
    assert "column 'y' singles out rows (3 of its 4 " in message
    assert 'keep_unique = ["z", "x", "y"]' in message
    bare = Plan(Roles(identifiers=("id",)))
    with pytest.raises(PlanError, match=r"^\[roles\] identifiers: "):
        refuse_repeating(bare, "id", Occurrences(3, 2, 1))
    refuse_repeating(bare, "id", Occurrences(3, 3, 3))
    refuse_singling_out(bare, {"x": Occurrences(9, 4, 2)})


@pytest.mark.parametrize(
    ("roles", "protected", "unit"),
    [
        ({}, "row", None),
        ({"person": "row"}, "row", None),
        ({"person": "patient"}, "person", "patient"),
        ({"person": "patient", "identifiers": ["patient"]}, "person", "patient"),
        ({"person": "patient", "household": "family"}, "household", "family"),
        ({"household": "family"}, "household", "family"),
        ({"person": "row", "household": "family"}, "household", "family"),
    ],
)
def test_who_is_protected(roles: dict[str, Any], protected: str, unit: str | None) -> None:
    """The household where there is one, else the person, else each row; never published."""
    plan = parse_plan({"roles": {**roles, "keep": ["x"]}})
    assert (plan.roles.protected, plan.roles.unit) == (protected, unit)
    assert plan.roles.published == ("x",)
    assert set(plan.used) == {"x", *plan.roles.named_units.values()}
    if unit:
        assert identifying_columns(plan.roles) == ()
        with pytest.raises(PlanError, match=f"names the column '{unit}'"):
            plan.bind(["x", "patient", "family"][: 1 + (unit == "family")])


def test_every_message_about_names_begins_with_the_file(tmp_path) -> None:
    """A plan that names a column that is not there says which plan that is."""
    path = tmp_path / "plan.toml"
    for text in (
        '[roles]\nkeep = ["salery"]\n',
        '[columns.salery]\ntype = "text"\n',
        '[roles]\ntrip = "salery"\n',
    ):
        path.write_text(text)
        with pytest.raises(PlanError, match=r"plan\.toml: \[.*'?salery'?"):
            read_plan(path).bind(["salary", "time", "latitude", "longitude"])
