"""The publisher of rankings, from private tables to releases, measured again by brute force."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from itertools import count
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.publish.ranking import Ranking
from voile.publish.ranking.local_search import SearchName, takes
from voile.release.check import check_release
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError, PlanError, TableError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.publish.ranking.applicants import APPLICANTS

SEARCHES = get_args(SearchName)
SUBJECTS = ("algebra", "biology", "chemistry")
BY_ID = {"keep": ["id"], "keep_unique": ["id"]}
"""Roles by which published rows can be told apart."""


def applicants_table() -> pl.DataFrame:
    """The ten applicants of the thesis with what else is known of them; ``id`` counts from 1."""
    return pl.DataFrame(APPLICANTS, schema=SUBJECTS).with_columns(
        id=pl.int_range(1, 11),
        age=pl.Series([31, 35, 33, 41, 42, 47, 49, 30, 22, 60]),
        city=pl.Series(["Lyon", "Nice", "Lyon", "Oslo", "Oslo", "Nice", "Lyon"] + ["Bergen"] * 3),
        school=pl.Series(list("aabcabcabc")),
    )


def plan_of(columns: Any = None, **roles: Any):
    """Applicants by their three scores; ``id`` is published, so that rows can be told apart."""
    document = {
        "roles": {"ranking": list(SUBJECTS), **BY_ID} | roles,
        "columns": columns or {},
    }
    return parse_plan(document)


def publish(publisher: Ranking, frame: pl.DataFrame | None = None, plan=None):
    """One publication, checked as the corridor checks it."""
    table = open_frame(applicants_table() if frame is None else frame, plan or plan_of())
    publication = publisher.prepare(table, Randomness.seeded(1))
    check_release(publication.release)
    return publication


def rows_of(publication) -> pl.DataFrame:
    """The published rows."""
    return pl.DataFrame(publication.release.to_native())


def ids(publication) -> list[list[int]]:
    """Who is in which group, by the number of the group."""
    groups = rows_of(publication).group_by("group").agg(pl.col("id").sort()).sort("group")
    return groups["id"].to_list()


def groups_of(publication):
    """What ``release.json`` says of the groups."""
    return publication.release.method["decision"]["groups"]


@pytest.mark.parametrize("search", ["auto", "exact", "theta", "theta-rapid", "deletion", "grasp"])
def test_the_example_of_the_thesis(search):
    """1, 2, 3 at precision 1, then 4, 6 and the false 7 at 2/3; ranges as recomputed."""
    publication = publish(Ranking(k=3, top=6, precision=0.6, search=search, batch=3))
    assert ids(publication) == [[1, 2, 3], [4, 6, 7]]
    columns = [f"{subject}.{end}" for subject in SUBJECTS for end in ("low", "high")]
    boxes = rows_of(publication).select("group", *columns).unique().sort("group")
    assert boxes.rows() == [(1, 92, 99, 97, 99, 95, 99), (2, 96, 97, 95, 96, 88, 90)]
    assert groups_of(publication) == [
        {"group": 1, "rows": 3, "precision": 1.0, "score": [284, 297]},
        {"group": 2, "rows": 3, "precision": 0.666667, "score": [279, 283]},
    ]
    assert publication.release.method["decision"]["recall"] == 0.833333


def test_the_baselines_on_the_example_of_the_thesis():
    """Perfect Recall takes 4 to 8 and 10 at 1/2; Perfect Precision 4, 5, 6 above 279."""
    recall = publish(Ranking(k=3, top=6, precision=0.5, search="perfect-recall", batch=3))
    assert ids(recall) == [[1, 2, 3], [4, 5, 6, 7, 8, 10]]
    assert groups_of(recall)[1]["score"] == [273, 288]
    assert groups_of(recall)[1]["precision"] == 0.5
    precise = publish(Ranking(k=3, top=6, precision=1, search="perfect-precision", batch=3))
    assert ids(precise) == [[1, 2, 3], [4, 5, 6]]
    assert groups_of(precise)[1]["precision"] == 1.0


def scored(frame, signs, ties, top):
    """Exact scores and who is best, straight from the definition."""
    scores = [
        sum(sign * Fraction(str(value)) for sign, value in zip(signs, row, strict=True))
        for row in frame.select("x", "y").rows()
    ]
    border = sorted(scores, reverse=True)[top - 1]
    best = [score >= border for score in scores]
    if ties == "none" and sum(best) > top:
        best = [score > border for score in scores]
    return scores, np.array(best)


TABLES = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.sampled_from([0.0, 0.1, 0.2, 0.3, 2.5, 3.0]),
        st.integers(20, 30),
        st.sampled_from(["Lyon", "Nice", "Oslo"]),
        st.sampled_from("abc"),
    ),
    min_size=4,
    max_size=24,
)
TREE = {"France": ["Lyon", "Nice"], "Norway": ["Oslo", "Bergen"]}
TERMS = st.fixed_dictionaries(
    {
        "k": st.integers(2, 4),
        "precision": st.sampled_from([Decimal("0.3"), Decimal("0.7"), Decimal(1)]),
        "batch": st.sampled_from([None, 1, 50]),
        "ties": st.sampled_from(["top", "none"]),
        "l": st.sampled_from([None, None, 2]),
    }
)


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=examples(25))
@given(rows=TABLES, terms=TERMS, more=st.integers(0, 8), signs=st.sampled_from([(1, 1), (1, -1)]))
def test_what_is_published_is_as_promised(search, rows, terms, more, signs):
    """Counted from the release and the table alone: boxes, k, precision, scores, recall, l."""
    frame = pl.DataFrame(rows, schema=["x", "y", "age", "city", "school"], orient="row")
    frame = frame.with_columns(id=pl.int_range(len(rows)))
    columns = {"y": {"better": "lower" if signs[1] < 0 else "higher"}, "city": {"tree": TREE}}
    plan = plan_of(
        columns, ranking=["x", "y"], quasi_identifiers=["age", "city"], sensitive=["school"]
    )
    top = min(terms["k"] + more, len(rows))
    if terms["k"] > top:
        return
    effort = {"iterations": 2} if "iterations" in takes(search) else {}
    publisher = Ranking(top=top, search=search, **effort, **terms)
    try:
        publication = publish(publisher, frame, plan)
    except (InfeasibleError, TableError):
        return
    shown, documents = rows_of(publication), groups_of(publication)
    scores, best = scored(frame, signs, terms["ties"], top)
    assert shown["id"].is_unique().all()
    assert shown["group"].unique().sort().to_list() == [d["group"] for d in documents]
    for document in documents:
        own = shown.filter(pl.col("group") == document["group"])
        members = frame[own["id"].to_list()]
        assert own.n_unique([c for c in own.columns if c not in {"id", "school"}]) == 1
        box = own.row(0, named=True)
        inside = np.ones(len(rows), dtype=bool)
        for name in ("x", "y"):
            low, high = members[name].min(), members[name].max()
            assert (box[f"{name}.low"], box[f"{name}.high"]) == (low, high)
            inside &= frame[name].is_between(low, high).to_numpy()
        ends = [
            sorted(sign * Fraction(str(box[f"{name}.{end}"])) for end in ("low", "high"))
            for name, sign in zip(("x", "y"), signs, strict=True)
        ]
        least, most = (sum(each) for each in zip(*ends, strict=True))
        if search == "perfect-precision":
            least = min(scores[i] for i in own["id"].to_list())
            inside &= np.array([score >= least for score in scores])
        assert [Fraction(str(end)) for end in document["score"]] == [least, most]
        assert inside[own["id"].to_list()].all()
        precision = Fraction(int((inside & best).sum()), int(inside.sum()))
        assert precision >= terms["precision"]
        assert document["precision"] == round(float(precision), 6)
        assert len(own) == document["rows"] >= terms["k"]
        assert (box["age.low"], box["age.high"]) == (members["age"].min(), members["age"].max())
        assert box["city"] == least_common(members["city"].to_list())
        if terms["l"]:
            assert own["school"].n_unique() >= terms["l"]
        if not terms["l"]:  # else rows in the box may belong to a group that was left out
            assert set(np.flatnonzero(inside)) <= set(shown["id"].to_list())
    recall = best[shown["id"].to_list()].sum() / best.sum()
    assert publication.release.method["decision"]["recall"] == round(recall, 6)
    assert publication.private.decision["best"] == best.sum()
    assert publication.private.rows_out == len(shown)


def least_common(cities):
    """The city, the country or everything."""
    if len(set(cities)) == 1:
        return cities[0]
    return "France" if set(cities) <= {"Lyon", "Nice"} else "*"


@pytest.mark.slow
@settings(max_examples=examples(20))
@given(order=st.permutations(range(10)), search=st.sampled_from(SEARCHES))
def test_the_order_of_rows_changes_nothing(order, search):
    """A release tells nothing of where a row stood: any order gives the same one."""
    publisher = Ranking(k=2, top=6, precision=0.5, search=search)
    one, other = (publish(publisher, applicants_table()[list(rows)]) for rows in (range(10), order))
    assert rows_of(one).equals(rows_of(other))
    assert one.release.method == other.release.method


def test_rows_outside_the_boxes_are_never_published():
    """Applicants 5, 8, 9 and 10 are in no group; neither names nor unplanned columns go out."""
    publication = publish(Ranking(k=3, top=6, precision=0.6, batch=3))
    frame = rows_of(publication)
    assert sorted(frame["id"]) == [1, 2, 3, 4, 6, 7]
    assert not {"age", "city", "school"} & set(frame.columns)
    assert publication.private.suppressed == 4


def test_quasi_identifiers_show_the_least_that_covers_the_group():
    """Ages as the interval of the members, cities as their lowest common ancestor."""
    plan = plan_of({"city": {"tree": TREE}}, quasi_identifiers=["age", "city"])
    publication = publish(Ranking(k=3, top=6, precision=0.6, batch=3), plan=plan)
    shown = rows_of(publication).select("age.low", "age.high", "city", "id").sort("id").rows()
    assert shown[:3] == [(31, 35, "France", id_) for id_ in (1, 2, 3)]
    assert shown[3:] == [(41, 49, "*", id_) for id_ in (4, 6, 7)]
    roles = publication.release.roles
    assert roles["quasi_identifiers"] == ("age.low", "age.high", "city")
    assert roles["ranking"] == tuple(f"{s}.{end}" for s in SUBJECTS for end in ("low", "high"))


def test_groups_that_are_not_diverse_are_left_out_and_said_to_be():
    """1, 2, 3 are of three schools and 4, 6, 7 of two; with l = 4 none is left."""
    plan = plan_of(sensitive=["school"])
    terms = {"k": 3, "top": 6, "precision": 0.6, "batch": 3}
    diverse = publish(Ranking(**terms, l=2), plan=plan)
    assert len(groups_of(diverse)) == 2
    parameters = diverse.release.guarantee.parameters
    assert parameters["l"] == {"value": 2, "kind": "distinct", "columns": ["school"]}
    statement = diverse.release.guarantee.statement
    assert "the values of 'school' number at least 2 different ones" in statement
    alike = applicants_table().with_columns(
        school=pl.when(pl.col("id") <= 3).then(pl.lit("a")).otherwise("school")
    )
    one = publish(Ranking(**terms, l=2), alike, plan)
    assert ids(one) == [[4, 6, 7]]
    assert any("1 group was left out, whose sensitive values" in n for n in one.private.notices)
    assert one.release.method["decision"]["recall"] == 0.333333
    with pytest.raises(InfeasibleError, match="none whose sensitive values are as diverse"):
        publish(Ranking(**terms, l=4), plan=plan)


@pytest.mark.parametrize(
    "l_value",
    [
        {"value": Decimal("1.5"), "kind": "entropy"},
        {"value": 2, "kind": "recursive", "c": 3},
    ],
)
def test_all_kinds_of_diversity_are_checked_on_the_output(l_value):
    """The release states the kind, and the check of releases measures it again."""
    plan = plan_of(sensitive=["school"])
    publication = publish(Ranking(k=3, top=6, precision=0.6, batch=3, l=l_value), plan=plan)
    stated = publication.release.guarantee.parameters["l"]
    assert (stated["kind"], stated["columns"]) == (l_value["kind"], ["school"])


def test_without_diversity_the_guarantee_warns_of_alike_values():
    """Ranges alone fall to homogeneity; the assumption says so where it matters."""

    def warns(**roles: Any) -> bool:
        release = publish(Ranking(k=3, top=6, precision=0.6), plan=plan_of(**roles)).release
        return any("if they are all alike" in text for text in release.guarantee.assumes)

    assert warns(sensitive=["school"])
    assert not warns()


TIED = pl.DataFrame({"score": [9, 8, 7, 7, 7, 6], "id": range(6)})
BY_SCORE = parse_plan({"roles": {"ranking": ["score"], **BY_ID}})


def test_ties_are_all_best_or_none():
    """The third place is shared by three: five are best, or two; the notice counts them."""
    all_, none = (
        publish(Ranking(k=2, top=3, precision=1, batch=9, ties=ties), TIED, BY_SCORE)
        for ties in ("top", "none")
    )
    assert sorted(rows_of(all_)["id"]) == [0, 1, 2, 3, 4]
    assert sorted(rows_of(none)["id"]) == [0, 1]
    assert any("5 rows instead of 3 count as best" in notice for notice in all_.private.notices)
    assert any("2 rows instead of 3 count as best" in notice for notice in none.private.notices)
    assert "all of the rows that tie at the border are" in all_.release.guarantee.statement
    assert "none of the rows that tie at the border are" in none.release.guarantee.statement
    exactly = publish(Ranking(k=2, top=2, precision=1, ties="none"), TIED, BY_SCORE)
    assert sorted(rows_of(exactly)["id"]) == [0, 1]
    assert not exactly.private.notices


def test_ties_that_leave_nobody_are_infeasible():
    """More rows share the best score than are asked for, and none of them counts."""
    frame = pl.DataFrame({"score": [9, 9, 9, 1], "id": range(4)})
    with pytest.raises(InfeasibleError, match="more than top = 2 rows share the best score"):
        publish(Ranking(k=2, top=2, ties="none"), frame, BY_SCORE)
    assert len(rows_of(publish(Ranking(k=2, top=2), frame, BY_SCORE))) == 3


@pytest.mark.parametrize("ties", ["top", "none"])
@pytest.mark.parametrize("top", [2, 4])
@pytest.mark.parametrize("values", [[(1, 3), (1, 3)], [(1, 3), (2, 2), (3, 1), (0, 4)]])
def test_equal_scores_are_refused(values, ties, top):
    """All columns constant, or different ones that add up to the same."""
    frame = pl.DataFrame(values * (4 // len(values)), schema=["a", "b"], orient="row")
    plan = parse_plan({"roles": {"ranking": ["a", "b"]}})
    with pytest.raises(TableError, match=r"all rows have the same score"):
        publish(Ranking(k=2, top=top, ties=ties), frame, plan)


def test_lower_may_be_better():
    """The fastest are published; their scores are negative, and weights are stated with signs."""
    frame = pl.DataFrame({"seconds": [10, 11, 12, 20, 21, 30], "id": range(6)})
    document = {"roles": {"ranking": ["seconds"], **BY_ID}}
    plan = parse_plan(document | {"columns": {"seconds": {"better": "lower"}}})
    publication = publish(Ranking(k=3, top=3), frame, plan)
    assert sorted(rows_of(publication)["id"]) == [0, 1, 2]
    assert rows_of(publication)["seconds.low"][0] == 10
    assert groups_of(publication)[0]["score"] == [-12, -10]
    assert publication.release.method["by"] == {"seconds": -1}


def test_texts_are_ranked_by_their_order_and_shown_as_ranges():
    """Grades count by their place; a range reads from the worse to the better."""
    order = ["poor", "fair", "good", "excellent"]
    frame = pl.DataFrame(
        {
            "grade": ["excellent", "good", "good", "fair", "poor", "poor"],
            "points": [1, 2, 2, 0, 9, 1],
            "id": range(6),
        }
    )
    document = {"roles": {"ranking": ["grade", "points"], **BY_ID}}
    plan = parse_plan(document | {"columns": {"grade": {"order": order}}})
    by = {"grade": 10, "points": 1}
    publication = publish(Ranking(k=3, top=3, by=by), frame, plan)
    assert rows_of(publication)["grade"].unique().to_list() == ["good to excellent"]
    assert publication.release.method["orders"] == {"grade": tuple(order)}
    assert groups_of(publication)[0]["score"] == [31, 42]
    good = publish(Ranking(k=2, top=2, by=by, precision=1), frame[1:], plan)
    assert rows_of(good)["grade"].to_list() == ["good", "good"]


def test_a_range_that_reads_like_a_text_is_refused():
    """Nobody could tell "a to b" from a text of that name."""
    frame = pl.DataFrame({"grade": ["a", "b", "a to b"]})
    columns = {"grade": {"order": ["a", "b", "a to b"]}}
    plan = parse_plan({"roles": {"ranking": ["grade"]}, "columns": columns})
    with pytest.raises(PlanError, match="a text reads like a range of others"):
        publish(Ranking(k=2, top=2), frame, plan)


def test_duplicates_are_rows_like_others():
    """Five equal rows are a group of five, whose box is a point."""
    frame = pl.DataFrame({"score": [7] * 5 + [1] * 5, "id": range(10)})
    publication = publish(Ranking(k=5, top=5, precision=1), frame, BY_SCORE)
    assert sorted(rows_of(publication)["id"]) == [0, 1, 2, 3, 4]
    assert rows_of(publication).select("score.low", "score.high").unique().rows() == [(7, 7)]


def test_rows_without_a_score_may_be_dropped():
    """They count among the rows that went in, and rank nowhere."""
    frame = pl.DataFrame({"score": [9, 8, None, 7, 1], "id": range(5)})
    plan = parse_plan({"roles": {"ranking": ["score"], **BY_ID}, "nulls": "drop"})
    publication = publish(Ranking(k=2, top=2, precision=1), frame, plan)
    assert sorted(rows_of(publication)["id"]) == [0, 1]
    assert (publication.private.rows_in, publication.private.suppressed) == (5, 3)
    with pytest.raises(PlanError, match="top = 5 is above the number of rows, 4"):
        publish(Ranking(k=2, top=5), frame, plan)


def test_a_missing_score_is_no_category():
    """Neither a number nor a text that is missing is high or low."""
    for values, declared in (([9, None, 1], {}), (["A", None, "B"], {"order": ["B", "A"]})):
        frame = pl.DataFrame({"score": values, "id": range(3)})
        plan = parse_plan(
            {
                "roles": {"ranking": ["score"], **BY_ID},
                "nulls": "category",
                "columns": {"score": declared},
            }
        )
        with pytest.raises(TableError, match="'score'"):
            publish(Ranking(k=2, top=2), frame, plan)


def test_a_missing_quasi_identifier_may_be_a_category():
    """Two people without a town share that."""
    frame = pl.DataFrame({"score": [9, 8, 1], "town": [None, None, "Aix"]})
    document = {"roles": {"ranking": ["score"], "quasi_identifiers": ["town"]}}
    plan = parse_plan(document | {"nulls": "category"})
    publication = publish(Ranking(k=2, top=2, precision=1), frame, plan)
    assert rows_of(publication)["town"].to_list() == [None, None]


def test_all_rows_may_be_the_best():
    """A top of all rows is a table in boxes."""
    publication = publish(Ranking(k=2, top=10, precision=1))
    assert publication.release.method["decision"]["recall"] == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 1}, "k must be a whole number of at least 2"),
        ({"k": 0}, "k must be a whole number of at least 2"),
        ({"k": True}, "k must be a whole number of at least 2"),
        ({"k": 7}, "k = 7 is above top = 6: a group would have more rows than are best"),
        ({"top": 2.5}, "top must be a whole number"),
        ({"top": "6"}, "top must be a whole number"),
        ({"precision": 0}, "precision must be above 0 and at most 1"),
        ({"precision": 1.01}, "precision must be above 0 and at most 1"),
        ({"precision": -0.5}, "precision must be above 0 and at most 1"),
        ({"precision": "0.7"}, "precision must be a number"),
        ({"precision": float("nan")}, "precision must be a number"),
        ({"precision": True}, "precision must be a number"),
        ({"search": "thetta"}, "search must be one of.*did you mean 'theta'"),
        ({"ties": "all"}, "ties must be one of 'top', 'none'"),
        ({"batch": 0}, "batch must be a whole number of at least 1"),
        ({"iterations": 0}, "iterations must be a whole number of at least 1"),
        ({"work": 0.5}, "work must be a whole number of at least 1"),
        ({"theta": -1, "search": "theta"}, "theta must be from 0 to 1"),
        ({"theta": 0.04}, '"auto" does not take theta, search = "theta" or "theta-rapid" does'),
        ({"search": "grasp", "seconds": 3}, 'does not take seconds, search = "exact" or "auto"'),
        ({"theta": "x"}, "theta must be a number"),
        ({"alpha": 0.3}, "alpha must be a whole number.*a share is slack, of growing-exchange"),
        ({"slack": 2, "search": "growing-exchange"}, "slack must be from 0 to 1"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"seconds": "1"}, "seconds must be a number"),
        ({"exchange": 2}, "exchange must be two whole numbers"),
        ({"exchange": [1, True]}, "exchange must be two whole numbers"),
        ({"exchange": [0, 1], "search": "theta"}, "exchange must be two whole numbers, at least 1"),
        ({"l": 1}, "l must be a whole number of at least 2"),
        ({"by": {"algebra": 0}}, "by.algebra must be a number above 0"),
        ({"by": {"algebra": -1}}, "by.algebra must be a number above 0"),
        ({"by": {"algebra": "1"}}, "by.algebra must be a number above 0"),
        ({"by": ["algebra"]}, "by must be a table of weights, or an expression in quotes"),
        ({"by": "algebra * biology"}, "multiplied or divided by each other. Allowed: "),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, message):
    """The error names the parameter and what it may be."""
    with pytest.raises(PlanError, match=message):
        Ranking(**{"k": 3, "top": 6, **parameters})


def test_columns_that_cannot_be_ranked_by_are_refused():
    """No ranking column, one without an order, and weights that do not fit the columns."""
    with pytest.raises(PlanError, match="ranking names no column"):
        publish(Ranking(k=2, top=4), plan=plan_of(ranking=[]))
    with pytest.raises(TableError, match="'city' holds values of kind text, which have no order"):
        publish(Ranking(k=2, top=4), plan=plan_of(ranking=["age", "city"]))
    with pytest.raises(PlanError, match=r"'algbra' is no ranking column.*did you mean 'algebra'"):
        publish(Ranking(k=2, top=4, by=dict.fromkeys(("algbra", *SUBJECTS[1:]), 1)))
    with pytest.raises(PlanError, match="no weight to the ranking column 'biology'"):
        publish(Ranking(k=2, top=4, by={"algebra": 1}))
    with pytest.raises(PlanError, match="sensitive names no column, and l is about"):
        publish(Ranking(k=2, top=4, l=2))
    with pytest.raises(PlanError, match="top = 11 is above the number of rows, 10"):
        publish(Ranking(k=2, top=11))


def test_an_expression_ranks_as_weights_do():
    """The same rows and scores; the document holds the expression as it was written."""
    text = "(algebra + biology) / 2 + 0.25 * chemistry - 50"
    weights = dict(zip(SUBJECTS, (0.5, 0.5, 0.25), strict=True))
    one, other = (publish(Ranking(k=3, top=5, by=by)) for by in (text, weights))
    assert rows_of(one).equals(rows_of(other))
    assert one.release.method["by"] == text
    assert other.release.method["by"] == weights
    for expressed, weighted in zip(groups_of(one), groups_of(other), strict=True):
        assert [end + 50 for end in expressed["score"]] == weighted["score"]


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(
    rows=st.lists(
        st.tuples(st.integers(10**12, 10**12 + 12), st.integers(0, 5)), min_size=5, max_size=20
    ),
    top=st.integers(2, 5),
)
def test_boxes_are_those_of_values_also_where_their_scores_are_rounded(rows, top):
    """At 9 decimals many of these logarithms are equal; the box is counted by values all the same.

    ``_measure`` raises where members lie outside, or others inside were not counted.
    """
    frame = pl.DataFrame(rows, schema=["a", "b"], orient="row").with_columns(
        id=pl.int_range(len(rows))
    )
    plan = parse_plan({"roles": {"ranking": ["a", "b"], **BY_ID}})
    try:
        publication = publish(Ranking(k=2, top=top, by="b - ln(a)", precision=0.5), frame, plan)
    except (InfeasibleError, TableError):
        return
    shown = rows_of(publication)
    for _, own in shown.group_by("group"):
        members = frame[own["id"].to_list()]
        assert (own["a.low"][0], own["a.high"][0]) == (members["a"].min(), members["a"].max())
        inside = frame.filter(
            pl.col("a").is_between(own["a.low"][0], own["a.high"][0])
            & pl.col("b").is_between(own["b.low"][0], own["b.high"][0])
        )
        assert set(inside["id"]) <= set(shown["id"])


def opposed() -> pl.DataFrame:
    """Four best rows at two corners, and more others between them than any box may hold."""
    corners = [(0, 20), (1, 19), (20, 0), (19, 1)]
    return pl.DataFrame(corners + [(i, 18 - i) for i in range(19)], schema=list("ab"), orient="row")


def uniform(seed: int, rows: int):
    """Five independent attributes, and the plan that ranks by them."""
    values = np.random.default_rng(seed).integers(0, 1000, (rows, 5))
    return pl.DataFrame(values, schema=list("abcde")), parse_plan(
        {"roles": {"ranking": list("abcde")}}
    )


def test_exit_says_whether_no_group_exists_or_none_was_found(monkeypatch):
    """A proof names the box it is about; a heuristic says that another search can tell."""
    plan = parse_plan({"roles": {"ranking": ["a", "b"]}})
    for search in ("exact", "auto"):
        with pytest.raises(InfeasibleError, match=r"no ranking exists: no box between.*\(proved\)"):
            publish(Ranking(k=3, top=4, precision=1, search=search), opposed(), plan)
    with pytest.raises(InfeasibleError, match=r'found with search = "theta".*Use search = "exact"'):
        publish(Ranking(k=3, top=4, precision=1, search="theta"), opposed(), plan)
    hard = uniform(seed=1, rows=3000)
    with pytest.raises(
        InfeasibleError, match=r"the search ended at its limit, work = 1\. Raise it"
    ):
        publish(Ranking(k=30, top=30, precision=0.9, search="exact", work=1), *hard)
    monkeypatch.setattr("voile.publish.ranking.exact.monotonic", count().__next__)
    with pytest.raises(InfeasibleError, match=r"its limit, work = 100,000 or seconds = 1\b"):
        publish(Ranking(k=30, top=30, precision=0.9, search="exact", seconds=1), *hard)


def test_a_search_that_stopped_early_says_so():
    """The custodian reads why fewer of the best rows are shown than there are."""
    stopped = publish(Ranking(k=3, top=6, precision=0.6, batch=3, search="theta")).private
    assert stopped.decision["stop"] == "not found"
    assert any('search = "exact" would tell' in notice for notice in stopped.notices)
    proved = publish(Ranking(k=3, top=6, precision=0.6, batch=3)).private
    assert proved.decision == {"groups": 2, "best": 6, "stop": "impossible"}
    assert not proved.notices
    assert proved.objective == "0.8333333333333334"
    assert proved.summary == "in 2 groups, which show 83.3% of the best 6"


def test_perfect_precision_says_what_its_threshold_gives_away():
    """In the promise, in what it assumes, and to the custodian."""
    publication = publish(Ranking(k=3, top=6, precision=1, search="perfect-precision"))
    guarantee = publication.release.guarantee
    assert "and whose score is not below the least of its group" in guarantee.statement
    assert any("the exact score of a person" in text for text in guarantee.assumes)
    assert any("comes with a least score" in notice for notice in publication.private.notices)
    plain = publish(Ranking(k=3, top=6)).release.guarantee
    assert "not below the least" not in plain.statement


def test_the_release_says_all_that_a_reader_needs():
    """Parameters, weights and what each group shows; nothing of who was left out."""
    publication = publish(Ranking(k=3, top=6, precision=0.6, batch=3))
    release = publication.release
    assert release.method == {
        "name": "ranking",
        "k": 3,
        "top": 6,
        "precision": 0.6,
        "by": dict.fromkeys(SUBJECTS, 1),
        "search": "auto",
        "ties": "top",
        "decision": {"groups": groups_of(publication), "recall": 0.833333},
    }
    document = release.guarantee.document()
    assert {key: document[key] for key in ("kind", "k", "precision", "top", "ties")} == {
        "kind": "ranking",
        "k": 3,
        "precision": 0.6,
        "top": 6,
        "ties": "top",
    }
    assert "shares all that is shown" in document["statement"]
    assert "at least 0.6 is among the best 6" in document["statement"]
    json.dumps({**release.method, **document})


@pytest.mark.slow
def test_grasp_depends_on_the_seed_alone():
    """The same seed gives the same release; another may give another."""
    frame, plan = uniform(seed=0, rows=4000)
    publisher = Ranking(k=10, top=30, search="grasp", iterations=1)

    def made(seed):
        try:
            release = publisher.publish(open_frame(frame, plan), Randomness.seeded(seed))
        except InfeasibleError:
            return None
        return str(release.to_native().rows())

    assert made(1) == made(1)
    assert len({made(seed) for seed in range(8)}) > 1


def test_a_secure_release_is_fit_for_publication():
    """Rankings belong to no series."""
    publisher = Ranking(k=3, top=6)
    publisher.get_ready()
    assert publisher.publish(open_frame(applicants_table(), plan_of())).publishable
    assert not publish(publisher).release.publishable
    assert publisher.series is None
    assert publisher.record_key is None
