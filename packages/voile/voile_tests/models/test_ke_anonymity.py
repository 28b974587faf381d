"""(k,e)-validity of groups of rows."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.ke_anonymity import block_statistics, is_valid, violations

pairs_of_group_and_value = st.lists(
    st.tuples(st.integers(-1, 5), st.integers(-9, 9)), min_size=1, max_size=40
)
scales = st.sampled_from([(np.int64, 1), (object, 10**30)])


@pytest.mark.parametrize(
    ("values", "valid"),
    [([], False), ([1, 3, 3], False), ([1, 2, 3], False), ([5, 1, 3], True), ([-1, 0, 3, 3], True)],
)
def test_validity_needs_distinct_values_and_a_range(values, valid):
    """With k = 3 and e = 4, repetitions do not count and the limits themselves are enough."""
    assert is_valid(np.array(values, np.int64), 3, 4) == valid


def test_the_least_demand_needs_a_value():
    """One value is enough for k = 1 and e = 0, and no value is not."""
    assert is_valid(np.array([5]), 1, 0)
    assert not is_valid(np.array([], np.int64), 1, 0)


@given(pairs_of_group_and_value, scales)
def test_statistics_equal_a_count_by_hand(pairs, scale):
    """Rows, distinct values and extremes of each group, for int64 and for huge integers."""
    kind, factor = scale
    group = np.array([g for g, _ in pairs])
    found = block_statistics(group, np.array([v * factor for _, v in pairs], kind))
    assert found.group.tolist() == sorted({g for g, _ in pairs})
    for n, g in enumerate(found.group.tolist()):
        values = [v * factor for h, v in pairs if h == g]
        measured = (found.rows[n], found.distinct[n], found.low[n], found.high[n])
        assert measured == (len(values), len(set(values)), min(values), max(values))


@given(pairs_of_group_and_value)
def test_counted_pairs_measure_as_the_rows_do(pairs):
    """Distinct pairs with counts give what the rows themselves give."""
    counted = Counter(pairs)
    whole = block_statistics(np.array([g for g, _ in pairs]), np.array([v for _, v in pairs]))
    short = block_statistics(
        np.array([g for g, _ in counted]),
        np.array([v for _, v in counted]),
        np.array(list(counted.values())),
    )
    assert short.rows.tolist() == whole.rows.tolist()
    assert short.distinct.tolist() == whole.distinct.tolist()


@given(pairs_of_group_and_value, st.integers(2, 4), st.integers(0, 12), scales)
def test_violations_are_the_groups_that_are_not_valid(pairs, k, e, scale):
    """A group is listed if and only if its values are not valid."""
    kind, factor = scale
    group, units = np.array([g for g, _ in pairs]), np.array([v * factor for _, v in pairs], kind)
    expected = [
        g for g in sorted(set(group.tolist())) if not is_valid(units[group == g], k, e * factor)
    ]
    assert violations(block_statistics(group, units), k, e * factor).tolist() == expected


def test_no_pairs_have_no_statistics():
    """An empty release has no groups and no violations."""
    found = block_statistics(np.array([], np.int64), np.array([], np.int64))
    assert len(found.group) == len(found.low) == 0
    assert violations(found, 2, 1).tolist() == []
