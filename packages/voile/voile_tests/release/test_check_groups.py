"""The check of a release measures its rows and does not believe its publisher."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity
from voile.models.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from voile.release.check import (
    GuaranteeBrokenError,
    _apart,
    check_against_counts,
    check_release,
)
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues, GeneralizedValues
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.opening import open_frame, published_rows
from voile.table.summaries import CombinationCounts
from voile_tests.releases import described, promised

FRAME = pl.DataFrame(
    {
        "age.low": [20, 20, 20, 30, 30, 30],
        "age.high": [29, 29, 29, 39, 39, 39],
        "sex": ["f", "f", "f", None, None, None],
        "disease": ["flu", "ulcer", "gout", "flu", "ulcer", "ulcer"],
        "salary": [1, 2, 3, 1, 2, 2],
        "group": [1, 1, 1, 2, 2, 2],
    }
)
QUASI_IDENTIFIERS = ("age.low", "age.high", "sex")
DP = {"epsilon": 1, "delta": 1e-6, "beta": 0.7, "neighbours": "add-remove", "k": 3}


def release_of(parameters, kind="k-anonymity", frame=FRAME, suppression_limit=0):
    """A release of a frame that claims something."""
    limit = {"suppression_limit": suppression_limit} if suppression_limit else {}
    return described(
        published_rows(frame),
        {"name": "generalization"},
        promised(kind, {**parameters, **limit}),
        {"quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": ("disease", "salary")},
        "00",
        publishable=True,
    )


def holds(release):
    """Whether the check finds what the release claims."""
    try:
        check_release(release)
    except GuaranteeBrokenError:
        return False
    return True


@pytest.mark.parametrize(
    ("parameters", "true"),
    [
        ({"k": 3}, True),
        ({"k": 4}, False),
        ({"k": 3, "l": {"value": 2, "kind": "distinct", "columns": ["disease"]}}, True),
        ({"k": 3, "l": {"value": 3, "kind": "distinct", "columns": ["disease"]}}, False),
        ({"k": 3, "l": {"value": 2, "kind": "distinct", "columns": ["disease", "salary"]}}, True),
        ({"k": 3, "l": {"value": 1.8, "kind": "entropy", "columns": ["disease"]}}, True),
        ({"k": 3, "l": {"value": 1.9, "kind": "entropy", "columns": ["disease"]}}, False),
        ({"k": 3, "l": {"value": 2, "kind": "recursive", "c": 2.1, "columns": ["disease"]}}, True),
        ({"k": 3, "l": {"value": 2, "kind": "recursive", "c": 2, "columns": ["disease"]}}, False),
        ({"k": 3, "t": {"value": 0.17, "kind": "equal", "columns": ["disease"]}}, True),
        ({"k": 3, "t": {"value": 0.16, "kind": "equal", "columns": ["disease"]}}, False),
        ({"k": 3, "t": {"value": 0.084, "kind": "ordered", "columns": ["salary"]}}, True),
        ({"k": 3, "t": {"value": 0.083, "kind": "ordered", "columns": ["salary"]}}, False),
        ({"k": 3, "t": {"value": 0, "kind": "hierarchical", "columns": ["disease"]}}, True),
        ({"k": 3, "l": {"value": 2, "kind": "telling", "columns": ["disease"]}}, False),
        ({"k": 3, "t": {"value": 2, "kind": "equal", "columns": ["disease"]}}, False),
        ({"k": 0}, False),
        ({}, False),
    ],
)
def test_k_l_and_t_are_measured_on_the_rows(parameters, true):
    """At the very border, for one or several columns; a claim that is no claim is broken, too."""
    assert holds(release_of(parameters)) == true


@pytest.mark.parametrize(
    ("stated", "values"),
    [
        ({"value": 2, "kind": "distinct"}, 2),
        ({"value": 3, "kind": "distinct"}, 3),
        ({"value": 2.5, "kind": "entropy"}, 3),
        ({"value": 3, "kind": "recursive", "c": 9}, 3),
    ],
)
def test_of_persons_rows_must_show_as_many_values_as_l_says(stated, values):
    """Of each kind, and no fewer: the second group shows two."""
    claim = {"k": 3, "l": {**stated, "columns": ["disease"]}, "unit": "person"}
    assert holds(release_of(claim)) == (values <= 2)


def test_groups_are_those_that_readers_see():
    """One row that shows another interval, or another missing value, stands alone."""
    for column, value in (("age.high", 38), ("sex", "m"), ("group", 3)):
        odd = FRAME.with_columns(
            pl.when(pl.int_range(pl.len()) == 5)
            .then(pl.lit(value))
            .otherwise(pl.col(column))
            .alias(column)
        )
        assert not holds(release_of({"k": 3}, frame=odd))
        assert holds(release_of({"k": 1}, frame=odd))


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=20),
    st.integers(1, 5),
)
def test_k_anonymity_equals_a_count_by_hand(rows, k):
    """The smallest class decides."""
    frame = pl.DataFrame(rows, schema=["age.low", "sex"], orient="row").with_columns(
        pl.col("age.low").alias("age.high")
    )
    smallest = min(rows.count(row) for row in rows)
    assert holds(release_of({"k": k}, frame=frame)) == (smallest >= k)


def test_closeness_to_rows_that_are_not_shown_is_not_judged_from_the_rows_shown():
    """Where rows may have been left out, the private counts say what all rows are like."""
    claim = {"k": 3, "t": {"value": 0.16, "kind": "equal", "columns": ["disease"]}}
    assert not holds(release_of(claim))
    assert holds(release_of(claim, suppression_limit=0.1))


def counts_of(diseases):
    """Private counts of the diseases of all rows, of which a release may leave some out."""
    texts = sorted(set(diseases))
    return CombinationCounts(
        ("salary", "disease"),
        (
            DistinctValues("number", ("1",), ExactNumbers.of([1])),
            DistinctValues("text", tuple(texts)),
        ),
        np.array([[0, place] for place in range(len(texts))], dtype=np.int32),
        np.array([diseases.count(text) for text in texts], dtype=np.int64),
    )


SHOWN = ["flu", "flu", "gout", "ulcer", "ulcer", "ulcer"]


def test_criteria_are_measured_against_the_private_table():
    """Rows that were left out count in the distribution, and shift the codes of the values."""
    release = release_of({"k": 3}, suppression_limit=0.5)
    everything, left_out = counts_of(SHOWN), counts_of([*SHOWN, *["cancer"] * 6])
    check_against_counts(release, [KAnonymity(3), EqualCloseness("0.17", "disease")], everything)
    check_against_counts(release, [EqualCloseness("0.59", "disease")], left_out)
    for t, counts in (("0.16", everything), ("0.58", left_out)):
        with pytest.raises(GuaranteeBrokenError, match="'t'"):
            check_against_counts(release, [EqualCloseness(t, "disease")], counts)
    with pytest.raises(GuaranteeBrokenError, match="1 groups of the release break"):
        check_against_counts(release, [DistinctDiversity(3, "disease")], everything)
    with pytest.raises(GuaranteeBrokenError, match="values that the table does not hold"):
        check_against_counts(release, [OrderedCloseness(1, "disease")], counts_of(["flu"]))


def test_a_hierarchical_distance_is_measured_with_the_hierarchy_of_the_criterion():
    """Values are named as in the private counts, also where the release lacks some."""
    counts = counts_of([*SHOWN, "cancer"])  # cancer, flu, gout, ulcer
    codes = ([0, 1, 2, 3], [0, 1, 0, 1], [0, 0, 0, 0])
    levels = tuple(np.array(level, dtype=np.int32) for level in codes)
    values = tuple(GeneralizedValues(np.ones(int(level.max()) + 1)) for level in levels)
    tree = BoundHierarchy("disease", levels, values)
    # The mean of the total variation by value and by branch: cancer and gout, flu and ulcer.
    p = np.array([[0, 1, 1, 1], [0, 1, 0, 2]]) / 3
    q = np.array([1, 2, 1, 3]) / 7
    fine = np.abs(p - q).sum(axis=1) / 2
    coarse = np.abs((p - q)[:, [1, 3]].sum(axis=1))
    worst = Decimal(repr(float(((fine + coarse) / 2).max())))
    release = release_of({"k": 3}, suppression_limit=0.5)
    above, below = worst + Decimal("1e-9"), worst - Decimal("1e-9")
    check_against_counts(release, [HierarchicalCloseness(above, "disease", tree)], counts)
    with pytest.raises(GuaranteeBrokenError):
        check_against_counts(release, [HierarchicalCloseness(below, "disease", tree)], counts)


@pytest.mark.parametrize(
    ("change", "true"),
    [
        ({}, True),
        ({"k": 4}, False),
        ({"epsilon": 0}, False),
        ({"epsilon": float("inf")}, False),
        ({"delta": -0.1}, False),
        ({"delta": 1.5}, False),
        ({"beta": 1}, False),
        ({"neighbours": "next door"}, False),
    ],
)
def test_a_private_sample_is_shared_by_k_rows_in_all_its_columns(change, true):
    """Under sampling all published columns count as quasi-identifiers."""
    frame = FRAME.select(*QUASI_IDENTIFIERS, "group")
    kind = "differential-privacy-under-sampling"
    assert holds(release_of({**DP, **change}, kind, frame)) == true
    assert not holds(release_of({**DP, **change}, kind, FRAME))


def test_noise_is_priced_elsewhere_but_its_parameters_are_numbers():
    """Differential privacy cannot be seen in an output; what it claims must make sense."""
    claim = {"epsilon": 1, "neighbours": "replace"}
    assert holds(release_of(claim, "differential-privacy"))
    assert not holds(release_of({**claim, "epsilon": -1}, "differential-privacy"))
    assert not holds(release_of({"epsilon": 1}, "differential-privacy"))
    within = "indistinguishability-within-clusters"
    assert holds(release_of({"epsilon": 0.5, "within": "clusters"}, within))
    assert not holds(release_of({"epsilon": float("nan"), "within": "clusters"}, within))


def test_unknown_guarantees_and_releases_without_groups_are_broken():
    """Nothing is waved through."""
    assert not holds(release_of({"k": 3}, "good intentions"))
    bare = replace(release_of({"k": 3}), roles={"sensitive": ("disease",)})
    with pytest.raises(GuaranteeBrokenError, match="no quasi-identifiers"):
        check_release(bare)


def test_values_of_two_people_lie_apart_or_do_not():
    """In 2,000 drawn groups of up to three people: by rows of two of them, and of nobody alone."""
    rng = np.random.default_rng(7)
    groups = [
        [(int(rng.integers(3)), int(rng.integers(5))) for _ in range(rng.integers(1, 7))]
        for _ in range(2000)
    ]
    rows = [(100 * at + v, f"{at} {p}") for at, group in enumerate(groups) for p, v in group]
    table = open_frame(
        pl.DataFrame(rows, schema=["salary", "who"], orient="row"),
        Plan(Roles(sensitive=("salary",), person="who")),
    )
    counts = table.count_combinations(["salary"])
    values = np.array([int(text) for text in counts.values[0].texts])[counts.codes[:, 0]]
    assert values.tolist() == sorted({value for value, _ in rows})
    for least in range(5):
        found = _apart(values, values // 100, len(groups), counts.units, least)
        expected = [
            any(p != q and abs(v - w) >= least for p, v in group for q, w in group)
            for group in groups
        ]
        assert found.tolist() == expected
