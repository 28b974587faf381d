"""Which columns are permuted within how many clusters."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.publish.m_shuffle.decision import ClusteredColumn, Rule
from voile.table.decisions import Grouping
from voile.utility.divergence import DivergenceSums
from voile_base.errors import InfeasibleError, PlanError
from voile_testing.plugin import examples
from voile_tests.publish.m_shuffle.tables import opened, published, staff


def columns_of(frame, sensitive, labels):
    """The other columns within clusters; ``labels`` has that of each distinct value."""
    table, labels = opened(frame, [sensitive]), np.array(labels)
    values = table.count_combinations([sensitive])
    names = [name for name in frame.columns if name != sensitive]
    counted = table.count_in_groups(Grouping.of_counts(values, np.arange(len(labels))), names)
    return [ClusteredColumn.merged(counts, labels) for counts in counted]


def test_columns_are_counted_within_clusters():
    """Pairs of cluster and value are those that the rows have."""
    frame = pl.DataFrame({"x": ["a", "b", "a", "a"], "pay": [1, 2, 3, 3]})
    (column,) = columns_of(frame, "pay", [0, 0, 1])
    pairs = column.pairs
    assert list(zip(pairs.first, pairs.second, pairs.rows, strict=True)) == [
        (0, 0, 1), (0, 1, 1), (1, 0, 2),
    ]  # fmt: skip


def test_many_values_in_few_rows_are_counted_alike():
    """A column of unique values, counted without a table, gives one row for each pair."""
    frame = pl.DataFrame({"x": np.arange(50), "pay": np.arange(50)})
    (column,) = columns_of(frame, "pay", np.arange(50))
    assert column.pairs.first.tolist() == column.pairs.second.tolist() == list(range(50))
    assert column.pairs.rows.tolist() == [1] * 50


def test_columns_fall_into_three_groups_by_their_tie():
    """Grade follows salary (QIA), sex has two values (QIB), zip and age are weakly tied (QIC)."""
    columns = published(opened(staff(), ["salary"]), clusters=4).release.method["decision"][
        "columns"
    ]
    groups = {name: said["group"] for name, said in columns.items()}
    assert groups == {"zip": "QIC", "age": "QIC", "grade": "QIA", "sex": "QIB", "country": "QIB"}
    assert columns["grade"]["tie"] > 0.5
    assert columns["zip"]["tie"] < 0.05


def test_the_seeds_rule_looks_at_entropy_alone():
    """By entropy the grade is weakly tied as well: five values are spread enough."""
    release = published(opened(staff(), ["salary"]), clusters=4, entropy_threshold=1).release
    assert release.method["rule"] == "entropy"
    assert release.method["decision"]["permuted"] == ["zip", "age", "grade"]
    zips = release.method["decision"]["columns"]["zip"]
    shares = staff()["zip"].value_counts()["count"].to_numpy() / 300
    assert zips["entropy"] == pytest.approx(-(shares * np.log(shares)).sum(), rel=1e-12)


def test_columns_are_ranked_by_their_tie_or_by_their_entropy():
    """One column by rank is the weakest tied, or by the seed's rule the most spread."""
    table = opened(staff(), ["salary"])
    said = published(table, clusters=4).release.method["decision"]["columns"]
    weakest = min(("zip", "age"), key=lambda name: said[name]["tie"])
    release = published(table, clusters=4, columns=1).release
    assert release.method["decision"]["permuted"] == [weakest]
    by_entropy = published(table, clusters=4, columns=1, entropy_threshold=1).release
    spread = max(said, key=lambda name: said[name]["entropy"])
    assert by_entropy.method["decision"]["permuted"] == [spread]


def test_equal_ties_are_ranked_by_entropy():
    """With one cluster nothing is tied, and the most spread column is permuted first."""
    frame = staff().drop("country")
    ranked = Rule("mutual-information", 0.05).ranked(
        columns_of(frame, "salary", [0] * frame["salary"].n_unique())
    )
    assert [column.name for column in ranked] == ["age", "zip", "grade"]
    assert [column.tie for column in ranked] == [0, 0, 0]


tiny = st.lists(
    st.tuples(*(st.integers(0, 2) for _ in range(3)), st.integers(0, 4)), min_size=8, max_size=12
)


def expected_release(frame, cluster, permuted):
    """The original and the expected release, as rows of each combination of values."""
    kept = [name for name in frame.columns if name not in permuted]
    left = frame.rows()
    right: dict[tuple, float] = {}
    for number in sorted(set(cluster)):
        here = [row for row, c in zip(left, cluster, strict=True) if c == number]
        partial = [({name: row[i] for i, name in enumerate(frame.columns)}, 1.0) for row in here]
        for name in permuted:
            place = frame.columns.index(name)
            partial = [
                ({**row, name: other[place]}, weight / len(here))
                for row, weight in partial
                for other in here
            ]
        for row, weight in partial:
            key = tuple(row[name] for name in frame.columns)
            right[key] = right.get(key, 0) + weight
    assert kept
    return np.array([left.count(cell) for cell in right]), np.array(list(right.values()))


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(tiny, st.sampled_from([0.3, 0.8, 2]), st.sampled_from([-2, -5, -9]))
def test_the_automatic_choice_is_the_first_that_keeps_to_both_limits(rows, most, log_probability):
    """Fewest columns, then fewest clusters: compared with trying every one by hand.

    The divergence of each is computed from the expected rows themselves, cell by cell.
    """
    frame = pl.DataFrame(rows, schema=["a", "b", "c", "pay"], orient="row")
    table = opened(frame, ["pay"])
    wanted = None
    for number in (1, 2, 3):
        for clusters in range(1, frame["pay"].n_unique() + 1):
            try:
                fixed = published(table, clusters=clusters, columns=number, tie_threshold=0.5)
            except (PlanError, InfeasibleError):
                continue
            permuted = fixed.release.method["decision"]["permuted"]
            ends = [
                c["values"]["pay"]["high"] for c in fixed.release.method["decision"]["clusters"]
            ]
            cluster = np.searchsorted(ends, frame["pay"].to_numpy())
            cells = expected_release(frame, cluster.tolist(), permuted)
            divergence = DivergenceSums.of(*cells, alpha=1e-12).kullback_leibler
            if divergence <= most + 1e-9 and fixed.private.decision["log_probability"] <= (
                log_probability
            ):
                wanted = wanted or (number, clusters, divergence)
    limits = {"max_divergence": most, "max_log_probability": log_probability}
    limits["tie_threshold"] = 0.5
    if wanted is None:
        with pytest.raises(InfeasibleError, match="keeps to"):
            published(table, **limits)
        return
    chosen = published(table, **limits).private.decision
    assert (len(chosen["permuted"]), chosen["clusters"]) == wanted[:2]
    assert chosen["divergence"] == pytest.approx(wanted[2], abs=1e-6)


def test_limits_that_no_choice_keeps_are_told_with_what_would_do():
    """The message names what each limit needs, and what it names does."""
    table = opened(staff().drop("country"), ["salary"])
    with pytest.raises(InfeasibleError, match=r"max_divergence = 0\.5") as refusal:
        published(table, max_divergence=0.5, max_log_probability=-1500)
    said = str(refusal.value)
    needed = float(re.search(r"needs max_divergence = (\S+)", said)[1])
    chosen = published(table, max_divergence=needed, max_log_probability=-1500).private.decision
    assert 0.5 < chosen["divergence"] <= needed


def test_limits_beyond_every_choice_are_told():
    """Where one limit alone is too much, the message says how far the table goes."""
    table = opened(staff().drop("country"), ["salary"])
    with pytest.raises(InfeasibleError, match="no choice has a log probability below -"):
        published(table, max_divergence=9, max_log_probability=-1e6)
    with pytest.raises(InfeasibleError, match="no choice has a divergence below"):
        published(table, max_divergence=0, max_log_probability=-10)


def test_the_papers_probability_does_not_see_clusters():
    """(1/n)^n for each column, whatever the clusters; arrangements fall as clusters shrink."""
    table = opened(staff(), ["salary"])
    made = [published(table, clusters=k, columns=["zip"]) for k in (1, 4, 16)]
    paper = [one.release.method["decision"]["log_p_table"] for one in made]
    assert paper == [pytest.approx(-300 * np.log(300))] * 3
    arrangements = [one.private.decision["log_probability"] for one in made]
    assert all(low < high for low, high in pairwise(arrangements))


def test_a_limit_of_the_papers_probability_is_kept_by_the_number_of_columns_alone():
    """One column reaches n log n whatever the clusters, and twice as much needs two."""
    table = opened(staff(), ["salary"])
    for asked, columns in ((-100, 1), (-1700, 1), (-1800, 2)):
        limits = {"max_divergence": 99, "max_log_probability": asked, "probability": "paper"}
        private = published(table, **limits, tie_threshold=1).private
        assert len(private.decision["permuted"]) == columns
        assert private.decision["log_probability"] == pytest.approx(-columns * 300 * np.log(300))
