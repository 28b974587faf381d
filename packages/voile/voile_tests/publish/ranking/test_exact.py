"""The exact search finds what a look at every box finds, and its proofs are true."""

from dataclasses import replace
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings

from voile.publish.ranking.exact import exact
from voile.publish.ranking.groups import Remnant, SearchTerms
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.publish.ranking.brute_force import most_targets, questions

KEY = Randomness.seeded(4).key("ranking")


def published_targets(remnant, terms, outcome):
    if outcome.group is None:
        return 0
    members = outcome.group.members
    return int(remnant.targets(terms.batch)[members[members < remnant.tops]].sum())


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(questions())
def test_the_optimum_equals_the_best_of_all_boxes(question):
    """Boxes spanned by any fresh rows: the same optimum as exhaustive search, and proved."""
    remnant, terms = question
    outcome = exact(remnant, terms, KEY)
    assert outcome.proved
    best = most_targets(remnant, terms, remnant.fresh)
    assert published_targets(remnant, terms, outcome) == best


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(questions())
def test_without_other_rows_the_optimum_is_that_of_boxes_of_top_rows(question):
    """``beyond_top=False``: the best of the boxes that the top rows searched from span."""
    remnant, terms = question
    outcome = exact(remnant, replace(terms, beyond_top=False), KEY)
    spanned_by = np.zeros(len(remnant), dtype=bool)
    spanned_by[: remnant.tops] = remnant.targets(terms.batch)
    assert outcome.proved
    assert published_targets(remnant, terms, outcome) == most_targets(remnant, terms, spanned_by)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(questions())
def test_the_optimum_equals_the_best_of_all_boxes_at_length(question):
    """The same as above, for many more questions."""
    remnant, terms = question
    best = most_targets(remnant, terms, remnant.fresh)
    assert published_targets(remnant, terms, exact(remnant, terms, KEY)) == best


def test_a_box_that_another_row_spans_publishes_where_top_rows_alone_cannot():
    """Three top rows and a neighbour make a group of four, which no box of top rows is."""
    values = np.array([[9, 9], [9, 7], [7, 9], [6, 6], [8, 6]])
    remnant = Remnant.of_rows(values, np.array([18, 16, 15, 12, 14]), 3)
    terms = SearchTerms(4, Fraction(3, 4))
    assert exact(remnant, replace(terms, beyond_top=False), KEY).group is None
    group = exact(remnant, terms, KEY).group
    assert group is not None
    assert (group.total_count, group.published_tops) == (4, 3)


def test_a_search_that_runs_out_of_work_claims_no_proof():
    """With one box to look at, the root, neither a group nor its absence is proved."""
    rows = np.random.default_rng(1).integers(0, 1000, (3000, 5))
    remnant = Remnant.of_table(rows, rows.sum(axis=1), 30)
    outcome = exact(remnant, SearchTerms(30, Fraction(9, 10), work=1), KEY)
    assert (outcome.group, outcome.proved, outcome.examined) == (None, False, 1)
    assert exact(remnant, SearchTerms(30, Fraction(9, 10)), KEY).proved


def test_a_search_that_runs_out_of_time_claims_no_proof(monkeypatch):
    """A time limit that has passed before the first box ends the search without a claim."""
    monkeypatch.setattr("voile.publish.ranking.exact.monotonic", count().__next__)
    rows = np.random.default_rng(1).integers(0, 1000, (3000, 5))
    remnant = Remnant.of_table(rows, rows.sum(axis=1), 30)
    outcome = exact(remnant, SearchTerms(30, Fraction(9, 10), seconds=1), KEY)
    assert (outcome.group, outcome.proved) == (None, False)
