"""Plans and roles."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from voile.errors import PlanError
from voile.schema.plan import ColumnPlan, Method, Plan, parse_plan, read_plan
from voile.schema.roles import Roles

PLAN = """
nulls = "category"
missing = ["?"]

[roles]
identifiers = ["name"]
quasi_identifiers = ["age", "sex"]
sensitive = ["salary"]

[columns.age]
bounds = [17, 90.5]
nulls = "drop"

[columns.zip]
type = "text"

[method]
name = "ke-anonymity"
k = 3
e = 0.1
"""


def test_a_plan_is_read_as_written(tmp_path: Path) -> None:
    """Every key of a plan arrives, numbers as exact decimals, a byte-order mark is no obstacle."""
    path = tmp_path / "plan.toml"
    path.write_text(PLAN, encoding="utf-8-sig")
    assert read_plan(path) == Plan(
        roles=Roles(("name",), ("age", "sex"), ("salary",)),
        method=Method("ke-anonymity", {"k": 3, "e": Decimal("0.1")}),
        nulls="category",
        missing=("?",),
        columns={
            "age": ColumnPlan(bounds=(Decimal(17), Decimal("90.5")), nulls="drop"),
            "zip": ColumnPlan(type="text"),
        },
    )


def test_a_column_may_override_the_policy_on_missing_values() -> None:
    """The column's policy goes before that of the plan."""
    plan = parse_plan({"nulls": "drop", "columns": {"age": {"nulls": "category"}}})
    assert (plan.nulls_of("age"), plan.nulls_of("sex")) == ("category", "drop")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"role": {}}, ["unknown key 'role'", "'roles'"]),
        ({"roles": {"sensitiv": []}}, ["[roles]", "'sensitiv'", "'sensitive'"]),
        ({"roles": {"keep": "age"}}, ["[roles] keep", "list"]),
        ({"roles": {"keep": [1]}}, ["[roles] keep", "text"]),
        ({"roles": {"keep": [""]}}, ["[roles] keep", "text"]),
        ({"roles": {"keep": ["a"], "sensitive": ["a"]}}, ["'a'", "keep", "sensitive", "one role"]),
        ({"roles": {"keep": ["a", "a"]}}, ["'a'", "keep"]),
        ({"roles": []}, ["[roles]", "table"]),
        ({"nulls": "refused"}, ["nulls", "'refuse'"]),
        ({"nulls": 3}, ["nulls", "one of"]),
        ({"missing": "?"}, ["missing", "list"]),
        ({"columns": {"age": {"bound": [1, 2]}}}, ["[columns.age]", "'bound'", "'bounds'"]),
        ({"columns": {"age": {"bounds": [2, 1]}}}, ["[columns.age] bounds", "wrong way round"]),
        ({"columns": {"age": {"bounds": [1, 1]}}}, ["[columns.age] bounds", "wrong way round"]),
        ({"columns": {"age": {"bounds": [1]}}}, ["[columns.age] bounds", "two numbers"]),
        ({"columns": {"age": {"bounds": [True, 2]}}}, ["[columns.age] bounds", "two numbers"]),
        ({"columns": {"age": {"bounds": [Decimal("nan"), 2]}}}, ["[columns.age] bounds"]),
        ({"columns": {"age": {"type": "int"}}}, ["[columns.age] type", "one of"]),
        ({"method": {"k": 3}}, ["[method]", "name"]),
        ({"method": "ke-anonymity"}, ["[method]", "table"]),
        ({"method": {"name": "ke-anonymity", "nulls": "drop"}}, ["nulls", "top of the plan"]),
    ],
)
def test_a_mistake_in_a_plan_is_named(document: dict[str, object], words: list[str]) -> None:
    """The message names the table and the key, and what would be right."""
    with pytest.raises(PlanError) as caught:
        parse_plan(document)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("content", "word"),
    [(None, "no such plan"), (b"a = ", "not valid TOML"), (b"\xff\xfe\x00", "UTF-8")],
)
def test_a_plan_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes | None, word: str
) -> None:
    """The message names the file and what is wrong with it."""
    path = tmp_path / "plan.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PlanError, match=r"plan\.toml.*" + word):
        read_plan(path)


def test_binding_names_the_missing_column_and_the_nearest() -> None:
    """A role or a description of a column that is not there is an error with a suggestion."""
    with pytest.raises(PlanError, match=r"'salery'.*'salary'"):
        Plan(Roles(sensitive=("salery",))).bind(["age", "salary"])
    with pytest.raises(PlanError, match=r"columns\.agee.*'age'"):
        Plan(Roles(), columns={"agee": ColumnPlan()}).bind(["age", "salary"])
