"""Plans and roles."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.ranges import Dates, Intervals, Prefixes
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import ColumnPlan, Method, Plan, parse_plan, read_plan
from voile.schema.roles import Roles
from voile_base.errors import PlanError
from voile_base.values.value import adapter

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


HIERARCHIES = """
[columns.age]
bounds = [0, 99.5]
outside = "clamp"
intervals = { origin = -0.5, widths = [5, 10], unit = 0.5 }

[columns.zip]
prefix = [3, 1]

[columns.since]
dates = ["month", "year"]

[columns.work]
hierarchy = "groups/work.csv"

[columns.city]
tree = "city.txt"

[columns.shift]
tree = { day = ["early", "late"], night = [] }
"""


def test_every_kind_of_hierarchy_is_read_as_written(tmp_path: Path) -> None:
    """Files are looked for beside the plan, wherever the process runs."""
    (tmp_path / "groups").mkdir()
    (tmp_path / "groups" / "work.csv").write_text("clerk;office;*\ndriver;road;*\n")
    (tmp_path / "city.txt").write_text("Aix;South;*\nYork;*\n")
    (tmp_path / "plan.toml").write_text(HIERARCHIES)
    columns = read_plan(tmp_path / "plan.toml").columns
    ages = Intervals((Decimal(5), Decimal(10)), Decimal("-0.5"), Decimal("0.5"))
    assert columns == {
        "age": ColumnPlan((Decimal(0), Decimal("99.5")), outside="clamp", hierarchy=ages),
        "zip": ColumnPlan(hierarchy=Prefixes((3, 1))),
        "since": ColumnPlan(hierarchy=Dates(("month", "year"))),
        "work": ColumnPlan(hierarchy=Taxonomy((("clerk", "office", "*"), ("driver", "road", "*")))),
        "city": ColumnPlan(hierarchy=Taxonomy((("Aix", "South", "*"), ("York", "York", "*")))),
        "shift": ColumnPlan(
            hierarchy=Taxonomy(
                (("early", "day", "*"), ("late", "day", "*"), ("night", "night", "*"))
            )
        ),
    }


def test_a_column_binds_the_hierarchy_that_it_has() -> None:
    """Its own with its bounds, and without one the values and then everything."""
    ages = DistinctValues("number", ("3", "4"), ExactNumbers.of([3, 4]))
    bounds = (Decimal(0), Decimal(9))
    declared = ColumnPlan(bounds, hierarchy=Intervals((Decimal(5),))).bind_hierarchy("age", ages)
    assert (declared.column, declared.height) == ("age", 2)
    assert ColumnPlan(bounds).bind_hierarchy("age", ages).height == 1


def test_a_column_made_in_python_is_checked_too() -> None:
    """Bounds become exact numbers; what cannot be is refused where it is made."""
    assert ColumnPlan((17, 90.5)).bounds == (Decimal(17), Decimal("90.5"))  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="wrong way round"):
        ColumnPlan((Decimal(2), Decimal(1)))
    with pytest.raises(PlanError, match="needs the bounds"):
        ColumnPlan(outside="clamp")


def test_what_rows_are_ranked_by_is_read_as_written() -> None:
    """A role of its own, which is published; which values are better, and an order of texts."""
    plan = parse_plan(
        {
            "roles": {"ranking": ["time", "grade"], "quasi_identifiers": ["age"], "keep": ["x"]},
            "columns": {"time": {"better": "lower"}, "grade": {"order": ["C", "B", "A"]}},
        }
    )
    assert plan.roles.ranking == ("time", "grade")
    assert plan.roles.published == ("age", "time", "grade", "x")
    assert plan.columns == {
        "time": ColumnPlan(better="lower"),
        "grade": ColumnPlan(order=("C", "B", "A")),
    }
    assert (ColumnPlan().better, ColumnPlan().order) == ("higher", None)
    with pytest.raises(PlanError, match=r"\[roles\] ranking names the column 'grade'"):
        plan.bind(["age", "time", "x"])


def test_a_mistake_in_a_hierarchy_file_names_the_plan_and_the_file(tmp_path: Path) -> None:
    """The message leads from the plan to the column, its key, the file and the line."""
    (tmp_path / "age.csv").write_text("1;*\n1;*\n")
    (tmp_path / "plan.toml").write_text('[columns.age]\nhierarchy = "age.csv"\n')
    with pytest.raises(PlanError) as caught:
        read_plan(tmp_path / "plan.toml")
    words = ("plan.toml: [columns.age] hierarchy: ", "age.csv: line 2 repeats the value '1'")
    assert all(word in str(caught.value) for word in words)


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
        ({"roles": {"ranking": "score"}}, ["[roles] ranking", "list"]),
        ({"roles": {"ranking": ["a"], "keep": ["a"]}}, ["'a'", "ranking", "keep", "one role"]),
        ({"columns": {"a": {"better": "low"}}}, ["[columns.a] better", "'lower'"]),
        ({"columns": {"a": {"order": "A"}}}, ["[columns.a] order", "list", "lowest first"]),
        ({"columns": {"a": {"order": ["A"]}}}, ["[columns.a] order", "different texts"]),
        ({"columns": {"a": {"order": ["A", "A"]}}}, ["[columns.a] order", "different texts"]),
        ({"columns": {"a": {"order": [1, 2]}}}, ["[columns.a] order", "different texts"]),
        ({"columns": {"a": {"order": ["1", 1]}}}, ["[columns.a] order", "different texts"]),
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
        ({"columns": {"age": {"bounds": [1, "2"]}}}, ["[columns.age] bounds", "two numbers"]),
        ({"columns": {"age": {"type": "int"}}}, ["[columns.age] type", "one of"]),
        ({"columns": {"age": {"outside": "clamp"}}}, ["[columns.age] outside", "needs the bounds"]),
        (
            {"columns": {"age": {"bounds": [1, 2], "outside": "clip"}}},
            ["[columns.age] outside", "one of 'refuse', 'clamp'"],
        ),
        ({"columns": {"age": {"interval": {}}}}, ["[columns.age]", "'interval'", "'intervals'"]),
        (
            {"columns": {"age": {"prefix": [1], "dates": ["year"]}}},
            ["[columns.age] declares prefix and dates", "one hierarchy"],
        ),
        ({"columns": {"age": {"hierarchy": 5}}}, ["[columns.age] hierarchy", "name of a file"]),
        (
            {"columns": {"age": {"hierarchy": "absent.csv"}}},
            ["[columns.age] hierarchy: absent.csv", "no such file"],
        ),
        ({"columns": {"age": {"intervals": [5]}}}, ["[columns.age] intervals", "table"]),
        ({"columns": {"age": {"intervals": {}}}}, ["[columns.age.intervals]: needs 'widths'"]),
        (
            {"columns": {"age": {"intervals": {"width": [5]}}}},
            ["[columns.age.intervals]", "'width'", "'widths'"],
        ),
        (
            {"columns": {"age": {"intervals": {"widths": [5, 1]}}}},
            ["[columns.age.intervals] widths must ascend"],
        ),
        ({"columns": {"zip": {"prefix": 3}}}, ["[columns.zip] prefix must be a list of how many"]),
        (
            {"columns": {"since": {"dates": "year"}}},
            ["[columns.since] dates must be a list of periods"],
        ),
        ({"columns": {"work": {"tree": []}}}, ["[columns.work] tree must be the name of a file"]),
        ({"columns": {"work": {"tree": {}}}}, ["[columns.work] tree: the tree is empty"]),
        ({"columns": {"work": {"tree": "absent.txt"}}}, ["[columns.work] tree: absent.txt"]),
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
    assert str(caught.value).count("[columns.") <= 1


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


def test_a_plan_checks_intervals_only_where_it_states_them() -> None:
    """A column without them has no schema made of them, which is half of that of all its keys."""
    document = {"roles": {"quasi_identifiers": ["age"]}, "columns": {"age": {"type": "text"}}}
    adapter.cache_clear()
    parse_plan(document)
    made = adapter.cache_info().currsize
    document["columns"]["age"] = {"intervals": {"widths": [5]}}
    assert parse_plan(document).columns["age"].hierarchy == Intervals((Decimal(5),))
    assert adapter.cache_info().currsize == made + 1
