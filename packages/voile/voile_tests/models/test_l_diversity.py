"""l-diversity of groups of rows, by brute force and at the very border."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from voile.models.criteria import Groups, SensitiveCells
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile_base.errors import PlanError
from voile_tests.models.tables import COLUMN, groups_of, merged, tables

whole_l = st.integers(2, 5)
ratios = st.sampled_from(["0.5", "1", "1.5", "2", "3.25", "10"])


def one_group(counts):
    """A table of one group with these counts of its values."""
    rows = np.array(counts, dtype=np.int64)
    place = np.arange(len(rows))
    cells = SensitiveCells(place * 0, place, rows, rows)
    return Groups(np.array([rows.sum()]), {COLUMN: cells})


def entropy_reaches(counts, ell):
    """Entropy of at least log ell, multiplied out to whole numbers: ell**n prod c**c <= n**n."""
    n = sum(counts)
    return Fraction(ell) ** n * prod(c**c for c in counts) <= n**n


def recursive_holds(counts, ell, c):
    """The definition, on a sorted list."""
    ordered = sorted(counts, reverse=True)
    return ordered[0] < Fraction(c) * sum(ordered[ell - 1 :])


@given(tables, whole_l)
def test_distinct_counts_different_values(table, ell):
    """At least l different values."""
    found = DistinctDiversity(ell, COLUMN).holds(groups_of(table))
    assert found.tolist() == [len(set(row)) >= ell for row in table]


@given(tables, st.sampled_from(["1.2", "1.5", "2", "2.5", "3", "4", "5"]))
def test_entropy_equals_the_inequality_of_whole_numbers(table, ell):
    """Exactly, for every table, ties included."""
    found = EntropyDiversity(ell, COLUMN).holds(groups_of(table))
    assert found.tolist() == [
        entropy_reaches(Counter(row).values(), Fraction(ell)) for row in table
    ]


@pytest.mark.parametrize(
    ("counts", "ell"),
    [([1] * 7, 7), ([10**6] * 6, 6), ([333] * 3, 3), ([4, 1, 1, 1, 1], 4), ([400, *[100] * 4], 4)],
)
def test_entropy_at_the_border_is_enough(counts, ell):
    """An entropy of exactly log l is valid, and one row of too frequent a value is not."""
    assert EntropyDiversity(ell, COLUMN).holds(one_group(counts)).tolist() == [True]
    counts = [counts[0] + 1, *counts[1:]]
    assert EntropyDiversity(ell, COLUMN).holds(one_group(counts)).tolist() == [False]


@given(tables, whole_l, ratios)
def test_recursive_equals_its_definition(table, ell, c):
    """r_1 < c (r_l + ... + r_m), strictly."""
    found = RecursiveDiversity(ell, c, COLUMN).holds(groups_of(table))
    assert found.tolist() == [recursive_holds(Counter(row).values(), ell, c) for row in table]


def test_recursive_is_strict_at_the_border():
    """3 < 0.3 times 10 does not hold, though 0.3 is no binary fraction."""
    borderline = one_group([3, *[1] * 10])
    assert RecursiveDiversity(2, 0.3, COLUMN).holds(borderline).tolist() == [False]
    assert RecursiveDiversity(2, 0.3000001, COLUMN).holds(borderline).tolist() == [True]


def test_recursive_survives_numbers_beyond_64_bits():
    """A ratio of many decimals and groups of a billion rows do not overflow."""
    billion = one_group([3 * 10**9, 10**10])
    assert RecursiveDiversity(2, "3.333333333333333333333333", COLUMN).holds(billion).tolist() == [
        False
    ]
    assert RecursiveDiversity(2, "3.333333333333333333333334", COLUMN).holds(billion).tolist() == [
        True
    ]


@pytest.mark.parametrize("c", ["1.5", "1000.5", "0.501", "0.001"])
def test_recursive_overflows_on_no_way_to_huge_groups(c):
    """Of three equally frequent values one has fewer rows than c times the two others, or not."""
    for rows in [int(2 ** (step / 4)) for step in range(240)]:
        held = RecursiveDiversity(2, c, COLUMN).holds(one_group([rows] * 3)).tolist()
        assert held == [2 * float(c) > 1], rows


@given(tables, whole_l, ratios, st.data())
def test_a_union_of_valid_groups_is_valid(table, ell, c, data):
    """All three are monotone, as they claim."""
    criteria = [
        DistinctDiversity(ell, COLUMN),
        EntropyDiversity(Decimal(ell) - Decimal("0.5"), COLUMN),
        RecursiveDiversity(ell, c, COLUMN),
    ]
    for criterion in criteria:
        assert criterion.monotone
        valid = np.flatnonzero(criterion.holds(groups_of(table))).tolist()
        assume(valid)
        keep = data.draw(st.lists(st.sampled_from(valid), min_size=1, unique=True))
        assert criterion.holds(groups_of(merged(table, keep)))[0]


@pytest.mark.parametrize("ell", [1, 0, 2.5, True, "3", None])
def test_l_is_a_whole_number_of_at_least_two(ell):
    """Anything else is a mistake in the plan."""
    for make in (DistinctDiversity, lambda ell, column: RecursiveDiversity(ell, 2, column)):
        with pytest.raises(PlanError, match="l must be a whole number of at least 2"):
            make(ell, COLUMN)


@pytest.mark.parametrize("ell", [1, 0.5, -3, "many", float("nan"), float("inf"), None, True])
def test_l_of_entropy_is_a_number_above_one(ell):
    """A fraction is allowed, 1 and less are not."""
    with pytest.raises(PlanError, match="l must be"):
        EntropyDiversity(ell, COLUMN)


@pytest.mark.parametrize("c", [0, -1, "much", float("nan")])
def test_c_is_above_zero(c):
    """Nothing is less than no rows."""
    with pytest.raises(PlanError, match="c must be"):
        RecursiveDiversity(3, c, COLUMN)


def test_documents_state_value_kind_and_column():
    """What stands in ``release.json``."""
    assert DistinctDiversity(3, COLUMN).document() == {
        "l": {"value": 3, "kind": "distinct", "column": COLUMN}
    }
    assert EntropyDiversity(2.5, COLUMN).document() == {
        "l": {"value": 2.5, "kind": "entropy", "column": COLUMN}
    }
    assert RecursiveDiversity(3, 4, COLUMN).document() == {
        "l": {"value": 3, "kind": "recursive", "c": 4, "column": COLUMN}
    }


def test_no_groups_are_no_answer():
    """An empty table has no valid and no invalid groups."""
    nothing = np.array([], dtype=np.int64)
    empty = Groups(nothing, {COLUMN: SensitiveCells(nothing, nothing, nothing, nothing)})
    for criterion in (
        DistinctDiversity(2, COLUMN),
        EntropyDiversity(2, COLUMN),
        RecursiveDiversity(2, 1, COLUMN),
    ):
        assert criterion.holds(empty).tolist() == []
