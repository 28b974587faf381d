"""k-anonymity of groups of rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.k_anonymity import KAnonymity
from voile_base.errors import PlanError
from voile_tests.models.tables import groups_of, tables


@given(tables, st.integers(1, 8))
def test_a_group_is_valid_if_it_has_k_rows(table, k):
    """Rows are counted, whatever their values."""
    assert KAnonymity(k).holds(groups_of(table)).tolist() == [len(row) >= k for row in table]


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "5", None])
def test_k_is_a_whole_number_of_at_least_one(k):
    """Anything else is a mistake in the plan."""
    with pytest.raises(PlanError, match="k must be a whole number of at least 1"):
        KAnonymity(k)


def test_the_document_states_k():
    """What stands in ``release.json``."""
    assert KAnonymity(5).document() == {"k": 5}
    assert KAnonymity(5).monotone
    assert KAnonymity(5).column is None
