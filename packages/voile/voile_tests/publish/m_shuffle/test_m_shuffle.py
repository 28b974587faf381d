"""Publishing with columns permuted within clusters."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest

import voile
from voile.publish.m_shuffle import MShuffle
from voile.release.claim_checks import permutation_breaches
from voile.table.opening import published_rows
from voile.utility.divergence import jensen_shannon
from voile_base.errors import InfeasibleError, PlanError, TableError
from voile_tests.publish.m_shuffle.tables import opened, published, staff


def counts(frame, *columns):
    """Rows of each combination of values of some columns."""
    return Counter(frame.select(columns).iter_rows())


def divergence(frame, shown):
    """Jensen-Shannon divergence of whole rows."""
    left, right = counts(frame, *frame.columns), counts(shown, *frame.columns)
    cells = [(left[row], right[row]) for row in left | right]
    return jensen_shannon(*np.array(cells).T)


def test_every_column_keeps_its_distribution_in_every_cluster():
    """Counts of values by cluster are those of the table; what stays goes together as before.

    So the divergence of a single column is 0.
    """
    frame = staff()
    shown = published(opened(frame, ["salary"]), clusters=4).release.to_native()
    private = frame.join(shown.select("salary", "group").unique(), on="salary")
    assert private.height == frame.height
    for name in frame.columns:
        assert counts(private, "group", name) == counts(shown, "group", name)
    stays = ("grade", "sex", "country", "salary", "group")
    assert counts(private, *stays) == counts(shown, *stays)


def test_rows_really_come_apart():
    """The release is no reordering of the table, as it is under the paper's printed condition.

    Its Algorithm 2 keeps a row in place where rand() <= 1, that is always: then every published row
    is a row of the table.  Here, of 300 rows with two permuted columns, under a quarter are.
    """
    frame = staff()
    shown = published(opened(frame, ["salary"]), clusters=4).release.to_native()
    private = set(frame.rows())
    assert sum(row in private for row in frame.rows()) == 300  # as printed
    assert sum(row in private for row in shown.select(frame.columns).rows()) < 75


@pytest.mark.slow
def test_rows_come_back_together_as_often_as_is_stated():
    """Over 150 releases, the share of rows with their own zip code is the stated chance.

    Rows are known by a kept number.  Five standard deviations of room over 150 x 60 rows; the share
    for one cluster fewer lies outside it.
    """
    frame = staff(60).with_columns(number=np.arange(60))
    table = opened(frame, ["salary"], keep=["number"], keep_unique=["number"])
    shares = []
    for seed in range(150):
        release = published(table, seed, clusters=6, columns=["zip"]).release
        back = release.to_native().sort("number")
        shares.append((back["zip"] == frame["zip"]).mean())
    stated = release.method["decision"]["columns"]["zip"]["chance_per_row"]
    fewer = published(table, clusters=3, columns=["zip"]).release
    room = 5 * np.std(shares) / np.sqrt(150)
    assert abs(np.mean(shares) - stated) < room
    other = fewer.method["decision"]["columns"]["zip"]["chance_per_row"]
    assert abs(np.mean(shares) - other) > room


def test_clusters_are_those_of_the_sensitive_values():
    """Each cluster shows the range of its salaries; sizes and groups agree with the rows."""
    release = published(opened(staff(), ["salary"]), clusters=4).release
    shown = release.to_native()
    for number, cluster in enumerate(release.method["decision"]["clusters"], 1):
        here = shown.filter(pl.col("group") == number)["salary"]
        ends = {"low": here.min(), "high": here.max()}
        assert cluster == {"rows": len(here), "values": {"salary": ends}}


def test_categories_need_no_number_of_clusters():
    """A text gives its own clusters; asking for as many is the same, and other numbers are not."""
    table = opened(staff(), ["grade"])
    release = published(table).release
    names = [cluster["values"]["grade"] for cluster in release.method["decision"]["clusters"]]
    assert names == sorted(set(staff()["grade"]))
    again = published(table, clusters=5).release
    assert again.method["decision"] == release.method["decision"]
    for clusters, message in ((4, "5 categories"), (6, "only 5 distinct values")):
        with pytest.raises(PlanError, match=message):
            published(table, clusters=clusters)


def test_numbers_and_categories_cluster_together():
    """With a salary and a grade there are at least as many clusters as grades."""
    table = opened(staff(), ["salary", "sex"])
    release = published(table, clusters=5).release
    assert release.guarantee.parameters["clusters"] == 5
    shown = release.to_native()
    assert shown.group_by("group").agg(pl.col("sex").n_unique())["sex"].to_list() == [1] * 5
    assert not list(permutation_breaches(release, *release.guarantee.claims))
    assert published(table).release.guarantee.parameters["clusters"] == 2


def test_the_statement_says_what_it_is_and_what_stays_known():
    """No k-anonymity, no differential privacy, and what the columns that stay give away."""
    release = published(opened(staff(), ["salary"], keep=["country"]), clusters=4).release
    statement = release.guarantee.statement
    assert release.guarantee.kind == "permutation-within-clusters"
    assert "NOT k-anonymity and NOT differential privacy" in statement
    assert "'zip' and 'age' were each permuted uniformly and independently" in statement
    assert "who knows a person's 'grade' and 'sex' finds" in statement
    assert "the true 'salary' and 'country' beside them" in statement
    only = published(opened(staff()[["zip", "salary"]], ["salary"]), clusters=1).release
    assert "'zip' were permuted uniformly over all rows" in only.guarantee.statement
    assert "who knows a person's 'salary' finds the cluster" in only.guarantee.statement


def test_an_automatic_choice_is_named_among_the_assumptions():
    """That the numbers of columns and clusters come from the rows is said where they do."""
    table = opened(staff(), ["salary"])
    fixed = published(table, clusters=4).release
    chosen = published(table, max_divergence=3, max_log_probability=-500).release
    assert not any("was chosen by" in said for said in fixed.guarantee.assumes)
    assert any("was chosen by" in said for said in chosen.guarantee.assumes)
    assert chosen.method["max_divergence"] == 3
    assert "divergence" not in chosen.method["decision"]  # it cannot be seen in the release


def test_no_release_tells_from_whom_a_value_came():
    """The same table in another order gives the same distribution of rows: nothing but counts."""
    frame = staff()
    first = published(opened(frame, ["salary"]), clusters=4).release.to_native()
    again = published(opened(frame.reverse(), ["salary"]), clusters=4).release.to_native()
    assert first.equals(again)


def test_what_is_named_is_permuted_with_a_notice():
    """A strongly tied column and one of two values may be named; the custodian is told."""
    record = published(opened(staff(), ["salary"]), clusters=6, columns=["grade", "sex"])
    assert record.release.method["decision"]["permuted"] == ["grade", "sex"]
    notices = "\n".join(record.private.notices)
    assert "'grade' is permuted though it is QIA" in notices
    assert "'sex' is permuted though it holds two values (QIB)" in notices
    assert "'country' holds one value only" in notices
    assert "'grade' holds one value in " in notices


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"clusters": 0}, "clusters must be a whole number of at least 1"),
        ({"clusters": 2.5}, "clusters must be a whole number"),
        ({"clusters": True}, "clusters must be a whole number"),
        ({"columns": 0}, "columns must be names"),
        ({"columns": []}, "columns must be names"),
        ({"columns": ["zip", "zip"]}, "different quasi-identifiers"),
        ({"columns": [1]}, "columns must be names"),
        ({"columns": "zip"}, "columns must be names"),
        ({"rule": "guess"}, "rule must be one of"),
        ({"rule": "entropy"}, "needs entropy_threshold"),
        ({"rule": "entropy", "entropy_threshold": 1, "tie_threshold": 0.1}, "not of use"),
        ({"rule": "mutual-information", "entropy_threshold": 1}, "not of use"),
        ({"tie_threshold": 1.5}, "tie_threshold must be a number from 0 to 1"),
        ({"entropy_threshold": -1}, "entropy_threshold must be a number of at least 0"),
        ({"max_divergence": 1}, "give both, or neither"),
        ({"max_log_probability": -1}, "give both, or neither"),
        ({"max_divergence": -1, "max_log_probability": -1}, "of at least 0"),
        ({"max_divergence": 1, "max_log_probability": 1}, "of at most 0"),
        ({"max_divergence": float("nan"), "max_log_probability": -1}, "must be a number"),
        (
            {"max_divergence": 1, "max_log_probability": -1, "clusters": 2, "columns": 1},
            "leave out clusters and columns, or the two limits",
        ),
        ({"probability": "guess"}, "probability must be one of"),
        ({"scale": "metric"}, "scale must be one of"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, message):
    """Each impossible parameter, and each contradiction, is named with what is allowed."""
    with pytest.raises(PlanError, match=message):
        MShuffle(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, r"\[method\] clusters is needed"),
        ({"clusters": 71}, r"clusters = 71, but there are only 69 distinct values of 'salary'"),
        ({"clusters": 2, "columns": ["zpi"]}, r"'zpi'.*did you mean 'zip'\?"),
        ({"clusters": 2, "columns": ["salary"]}, "no quasi-identifier of the plan"),
        ({"clusters": 2, "columns": ["country"]}, "'country', which holds one value only"),
        ({"clusters": 4, "columns": 3}, "columns = 3, but only 2 quasi-identifiers are weakly"),
        ({"clusters": 4, "entropy_threshold": 9}, "at most entropy_threshold = 9.*; lower entropy"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(parameters, message):
    """Too many clusters, unknown or constant columns, no weakly tied one: each with a remedy."""
    with pytest.raises(PlanError, match=message):
        published(opened(staff(), ["salary"]), **parameters)


def test_missing_numbers_are_refused_with_their_row():
    """A missing salary has no place among others: the row is named, and how to mend it."""
    frame = staff(20).with_columns(salary=pl.when(pl.int_range(20) != 6).then("salary"))
    with pytest.raises(TableError, match=r"'salary' misses its value in row 7.*nulls = \"drop\""):
        published(opened(frame, ["salary"], nulls="category"), clusters=2, columns=["zip"])
    dropped = published(opened(frame, ["salary"], nulls="drop"), clusters=2, columns=["zip"])
    assert (dropped.release.rows, dropped.private.suppressed) == (19, 1)


def test_missing_categories_are_a_cluster_where_the_plan_says_so():
    """With nulls = "category" people without a grade are clustered with each other."""
    frame = staff(60).with_columns(grade=pl.when(pl.int_range(60) > 9).then("grade"))
    table = opened(frame, ["grade"], nulls="category")
    release = published(table, columns=["zip"]).release
    assert release.method["decision"]["clusters"][0] == {"rows": 10, "values": {"grade": None}}


def test_a_table_that_nothing_can_change_is_not_published():
    """Where every cluster holds one value of what is permuted, the table would go out as is."""
    frame = pl.DataFrame({"zip": ["a", "b", "c"], "age": [1, 2, 3], "salary": [1, 50, 99]})
    with pytest.raises(InfeasibleError, match="permuting changes nothing"):
        published(opened(frame, ["salary"]), clusters=3, columns=["zip"])


def test_no_weakly_tied_column_is_refused():
    """A grade that follows the salary and a sex of two values leave nothing to permute."""
    table = opened(staff()[["grade", "sex", "salary"]], ["salary"])
    with pytest.raises(
        PlanError, match=r"no quasi-identifier is weakly tied.*1 hold.*1 have a tie"
    ):
        published(table, clusters=4)
    assert published(table, clusters=4, tie_threshold=1).release.rows == 300


@pytest.mark.parametrize("role", ["sensitive", "quasi_identifiers"])
def test_both_roles_are_needed(role):
    """A plan without sensitive columns, or without others, says which role is empty."""
    roles = {"sensitive": ("salary",), "quasi_identifiers": ("zip",), role: ()}
    table = voile.open_frame(staff(), voile.Plan(roles=voile.Roles(**roles)))
    with pytest.raises(PlanError, match=rf"\[roles\] {role} names no column"):
        published(table, clusters=1)


def test_a_release_that_claims_too_much_is_found():
    """Sizes, clusters, permuted columns and arrangements are measured again in the rows."""
    release = published(opened(staff(), ["salary"]), clusters=4).release
    (claim,) = release.guarantee.claims
    assert not list(permutation_breaches(release, claim))
    for false, message in (
        ({"clusters": 5}, "not numbered from 1 to 5"),
        ({"permuted": ("salary",)}, "as permuted"),
        ({"permuted": ()}, "as permuted"),
        ({"log_arrangements": claim.log_arrangements + 1}, "another number of arrangements"),
    ):
        (breach,) = permutation_breaches(release, claim.model_copy(update=false))
        assert message in breach
    (breach,) = permutation_breaches(release, claim.model_copy(update={"sizes": (75,) * 4}))
    assert "not of the sizes" in breach


def test_a_sensitive_value_in_two_clusters_is_found():
    """A row that stands in another cluster than its like breaks the claim."""
    release = published(opened(staff(), ["salary"]), clusters=4).release
    rows = release.to_native()
    first = rows["salary"].gather([0, 299])
    swapped = rows.with_columns(
        salary=pl.concat([first[1:], rows["salary"][1:-1], first[:1]]).rename("salary")
    )
    table = published_rows(swapped)
    (claim,) = release.guarantee.claims
    broken = permutation_breaches(replace(release, table=table), claim)
    assert any("several clusters" in said for said in broken)


def test_divergence_and_chance_follow_clusters_and_columns(shared_data):
    """Adult, 4,369 rows: more columns diverge more and are harder to guess; more clusters, less."""
    frame = pl.read_csv(shared_data / "census" / "adult.csv").head(4369)
    names = ["race", "workclass", "relationship", "age"]
    frame = frame.select(*names, "hours-per-week")
    table = opened(frame, ["hours-per-week"])
    measured = {}
    for clusters, number in product((1, 6), (1, 2, 4)):
        made = published(table, clusters=clusters, columns=names[:number])
        apart = divergence(frame, made.release.to_native())
        measured[clusters, number] = apart, -made.private.decision["log_probability"]
    for clusters in (1, 6):
        for fewer, more in pairwise((1, 2, 4)):
            assert measured[clusters, fewer] < measured[clusters, more]
            assert measured[clusters, fewer][1] < measured[clusters, more][1]
    for number in (1, 2, 4):
        for measure in (0, 1):
            assert measured[6, number][measure] < measured[1, number][measure]
