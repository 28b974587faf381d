"""Which rows matter, how ties are settled, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.publish.ranking import groups
from voile.publish.ranking.groups import Remnant, SearchTerms
from voile_base.errors import PlanError

TABLES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=20)


@given(TABLES, st.integers(1, 20), st.sampled_from(("top", "none")))
def test_the_remnant_is_the_box_of_the_top_and_ties_are_all_in_or_all_out(rows, top, ties):
    """Top rows are those of a score above or at the border; the rest is what their box holds."""
    values = np.array(rows, np.int64)
    scores = values.sum(axis=1)
    top = min(top, len(rows))
    border = np.sort(scores)[-top]
    is_top = (
        scores >= border if ties == "top" or (scores >= border).sum() == top else scores > border
    )
    if not is_top.any():
        with pytest.raises(PlanError, match="share one score"):
            Remnant.of_table(values, scores, top, ties)
        return
    remnant = Remnant.of_table(values, scores, top, ties)
    low, high = values[is_top].min(axis=0), values[is_top].max(axis=0)
    inside = ((values >= low) & (values <= high)).all(axis=1)
    assert sorted(remnant.row.tolist()) == np.flatnonzero(inside).tolist()
    assert sorted(remnant.row[: remnant.tops].tolist()) == np.flatnonzero(is_top).tolist()
    assert (values[remnant.row] == remnant.values).all()
    assert (np.diff(remnant.scores) <= 0).all()


def test_a_batch_takes_all_rows_that_tie_with_its_last():
    """The best two of 9, 8, 8, 7 are three; once the first is published, two."""
    scores = np.array([9, 8, 8, 7])
    remnant = Remnant.of_rows(np.arange(4).reshape(4, 1), scores, 4)
    assert remnant.targets(2).tolist() == [True, True, True, False]
    assert remnant.published(np.array([0])).targets(2).tolist() == [False, True, True, False]
    assert remnant.targets(None).all()


def test_a_count_that_parts_equal_scores_is_refused():
    """Rows of one score are all top or none."""
    with pytest.raises(PlanError, match="equal score"):
        Remnant.of_rows(np.array([[1], [2]]), np.array([3, 3]), 1)


@pytest.mark.parametrize("top", [0, 4])
def test_a_top_that_the_table_does_not_hold_is_refused(top):
    """The message says how many rows there are."""
    with pytest.raises(PlanError, match="number of rows, 3"):
        Remnant.of_table(np.zeros((3, 1), np.int64), np.arange(3), top)


def test_a_remnant_too_large_to_compare_is_refused_before_memory_is_taken(monkeypatch):
    """The message says how many rows lie in the box and what would help."""
    monkeypatch.setattr(groups, "_MAXIMUM_BYTES", 1000)
    values = np.arange(200).reshape(100, 2)
    with pytest.raises(PlanError, match="100 rows lie in the box around the 50 top rows"):
        Remnant.of_rows(values, values.sum(axis=1), 50)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 1},
        {"precision": Fraction(0)},
        {"precision": Fraction(11, 10)},
        {"batch": 0},
        {"work": 0},
        {"seconds": 0.0},
    ],
)
def test_terms_out_of_range_are_refused_by_name(wrong):
    """The message names the parameter."""
    with pytest.raises(PlanError, match=next(iter(wrong))):
        SearchTerms(**{"k": 5, "precision": Fraction(1, 2), **wrong})


def test_precision_is_compared_as_a_fraction():
    """7 of 10 reach 0.7 and 6 of 9 do not reach 2/3 + 1/10**9."""
    rows = Remnant.of_rows(np.arange(3).reshape(3, 1), np.array([2, 1, 0]), 2)
    exactly = rows.question(SearchTerms(2, Fraction(7, 10)))
    above = rows.question(SearchTerms(2, Fraction(2, 3) + Fraction(1, 10**8)))
    assert groups.is_precise(exactly, 7, 10)
    assert not groups.is_precise(above, 6, 9)
