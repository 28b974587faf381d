"""Plans with lists become the points of a grid."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.plan import Method, Plan
from voile.schema.roles import Roles
from voile.study.original import names_of_columns
from voile.study.plans import PlanGrid, StatedPlan, json_value, single_release
from voile_base.errors import PlanError

ROLES = Roles(quasi_identifiers=["age"], sensitive=["salary"])


def plan(name="generalization", **parameters):
    """A plan of a method."""
    return StatedPlan.of(Plan(ROLES, Method(name, parameters)))


def parameters_of(grid):
    """The parameters of the methods of all points."""
    return [point.stated.plan.method.parameters for point in grid.points]


def test_every_combination_is_tried():
    """Lists make a product, the last varying fastest; each point is named by what differs."""
    grid = PlanGrid.of([plan(k=[2, 3], algorithm=["flash", "mondrian"], suppression_limit=0)])
    assert [point.stated.name for point in grid.points] == [
        "k = 2, algorithm = flash",
        "k = 2, algorithm = mondrian",
        "k = 3, algorithm = flash",
        "k = 3, algorithm = mondrian",
    ]
    assert grid.swept == {"method.k": (2, 3), "method.algorithm": ("flash", "mondrian")}
    assert grid.points[1].parameters == {"method.k": 2, "method.algorithm": "mondrian"}
    assert parameters_of(grid)[3] == {"k": 3, "algorithm": "mondrian", "suppression_limit": 0}
    assert grid.points[0].stated.document["method"]["k"] == 2
    assert grid.plans[0].document["method"]["k"] == [2, 3]


def test_a_plan_without_lists_is_one_point():
    """Nothing is swept where no list is given."""
    grid = PlanGrid.of([plan(k=3)])
    assert grid.swept == {}
    assert [point.stated.name for point in grid.points] == ["generalization"]


@pytest.mark.parametrize(
    ("shares", "tried"),
    [
        ([Decimal("0.5"), Decimal("0.5")], [[Decimal("0.5"), Decimal("0.5")]]),
        ([[1], [Decimal("0.5"), Decimal("0.5")]], [[1], [Decimal("0.5"), Decimal("0.5")]]),
    ],
)
def test_parameters_that_take_lists(shares, tried):
    """A parameter that takes a list is swept by a list of lists, and left alone with one."""
    grid = PlanGrid.of([plan("clustered-laplace", epsilon=1, shares=shares)])
    assert [dict(point)["shares"] for point in parameters_of(grid)] == tried


@pytest.mark.parametrize(
    ("columns", "tried"),
    [
        (["age", "city"], [["age", "city"]]),
        ([1, 2], [1, 2]),
        ([["age"], 2], [["age"], 2]),
        (2, [2]),
    ],
)
def test_columns_of_a_shuffle(columns, tried):
    """Names of columns are one value, numbers of columns are tried one by one."""
    grid = PlanGrid.of([plan("m-shuffle", clusters=2, columns=columns)])
    assert [point["columns"] for point in parameters_of(grid)] == tried


def test_a_pair_of_numbers():
    """So is one that takes a pair."""
    asked = {"k": 2, "top": 9, "search": "theta"}
    given_one = PlanGrid.of([plan("ranking", **asked, exchange=[2, 1])])
    assert parameters_of(given_one)[0]["exchange"] == [2, 1]
    two = PlanGrid.of([plan("ranking", **asked, exchange=[[2, 1], [1, 1]])])
    assert [point.stated.name for point in two.points] == ["exchange = [2, 1]", "exchange = [1, 1]"]


def test_tables_are_values():
    """A list of tables tries each of them."""
    grid = PlanGrid.of([plan(k=2, l=[2, {"entropy": 2}])])
    assert [point.stated.name for point in grid.points] == ["l = 2", "l = entropy 2"]


def test_several_plans():
    """Points of several plans carry the name of theirs, and plans of one name are numbered."""
    grid = PlanGrid.of([plan(k=[2, 3]), plan(k=4), plan("ke-anonymity", k=2, e=5)])
    assert [point.stated.name for point in grid.points] == [
        "generalization (1): k = 2",
        "generalization (1): k = 3",
        "generalization (2)",
        "ke-anonymity",
    ]
    assert grid.swept["plan"] == ("generalization (1)", "generalization (2)", "ke-anonymity")
    assert grid.swept["method.name"] == ("generalization", "ke-anonymity")
    assert grid.swept["method.k"] == (2, 3, 4)
    assert "method.e" not in grid.swept  # only one plan has it, and only one value
    assert grid.points[2].parameters == {
        "plan": "generalization (2)",
        "method.name": "generalization",
        "method.k": 4,
    }


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_points_differ_in_name_and_parameters(sizes):
    """However many values each list has, no two points share a name, parameters or a digest."""
    names = ("k", "e", "adversary", "search")
    values = {"k": [2, 3, 4, 5], "e": [1, Decimal("1.5"), 3, 4]}
    values |= {"adversary": ["union", "pairwise"], "search": ["full-cover", "exact"]}
    tried = {name: values[name][:size] for name, size in zip(names, sizes, strict=False)} | {
        "k": values["k"][: sizes[0]]
    }
    grid = PlanGrid.of([plan("ke-anonymity", **{"e": 1, **tried})])
    count = 1
    for chosen in tried.values():
        count *= len(chosen)
    assert len(grid.points) == count
    assert len({point.stated.name for point in grid.points}) == count
    assert len({str(point.parameters) for point in grid.points}) == count
    assert len({point.stated.digest() for point in grid.points}) == count


@pytest.mark.parametrize(
    ("plans", "message"),
    [
        ([], "name at least one plan"),
        ([plan(k=[])], r"generalization': \[method\] k is an empty list"),
        ([plan(k=[2, 3, 2])], r"k lists 2 more than once"),
        ([plan(k=[2, 1.0, 1])], r"k lists 1 more than once"),
        ([plan(k=[0, 1])], "k must be a whole number of at least 2"),
        ([plan(k=2), plan(kk=[2])], "unknown key 'kk'"),
        ([plan("generalisation", k=2)], "did you mean 'generalization'"),
        ([plan(k=list(range(2, 10_003)))], "10,001 studies, more than 10,000"),
        ([plan(k=list(range(2, 9000)), l=list(range(2, 9000)))], "more than 10,000"),
    ],
)
def test_plans_that_cannot_be(plans, message):
    """An empty list, a repeated value, a plan none of whose points can be: said before any work."""
    with pytest.raises(PlanError, match=message):
        PlanGrid.of(plans)


def test_a_point_that_cannot_be():
    """A combination that a publisher refuses is a wrong point beside the others."""
    grid = PlanGrid.of([plan(k=2, algorithm=["flash", "mondrian"], relaxed=True)])
    assert [bool(point.wrong) for point in grid.points] == [True, False]


def test_plan_without_method(tmp_path):
    """A plan that does not say how to publish is met with the name of its file."""
    (tmp_path / "p.toml").write_text('[roles]\nquasi_identifiers = ["age"]\n')
    with pytest.raises(PlanError, match=r"p\.toml: the plan has no \[method\]"):
        StatedPlan.of(tmp_path / "p.toml")


def test_digest_sees_hierarchies_in_files(tmp_path):
    """Plans whose files say the same differ where a hierarchy that they name differs."""
    text = '[roles]\nquasi_identifiers = ["a"]\n[columns.a]\nhierarchy = "a.csv"\n'
    text += '[method]\nname = "generalization"\nk = 2\n'
    digests = []
    for name, top in (("one", "*"), ("same", "*"), ("other", "all")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "p.toml").write_text(text)
        (folder / "a.csv").write_text(f"x,{top}\ny,{top}\n")
        digests.append(StatedPlan.of(folder / "p.toml").digest())
    assert digests[0] == digests[1] != digests[2]


def test_single_release_leaves_the_books_aside():
    """A plan outside its ledger has no series, no budget and no pool, and is otherwise the same."""
    method = Method(
        "ke-anonymity", {"k": 2, "e": 1, "series": "s", "record_key": "id", "suppressed": "carry"}
    )
    alone = single_release(Plan(ROLES, method, missing=("?",)))
    assert alone == Plan(ROLES, Method("ke-anonymity", {"k": 2, "e": 1}), missing=("?",))


def test_json_values():
    """Decimals become numbers, what is not finite becomes None, the rest stays as it is."""
    stated = {"a": Decimal("0.70"), "b": Decimal(3), "c": float("inf"), "d": (1, True, None, "x")}
    assert json_value(stated) == {"a": 0.7, "b": 3, "c": None, "d": [1, True, None, "x"]}


def test_a_plan_is_held_against_the_columns_of_a_file_or_of_a_data_frame(tmp_path):
    """In their order."""
    people = pl.DataFrame({"salary": [1], "age": [2]})
    people.write_csv(tmp_path / "people.csv")
    for source in (people, people.to_pandas(), tmp_path / "people.csv"):
        assert names_of_columns(source, plan(k=2).plan) == ["salary", "age"]
