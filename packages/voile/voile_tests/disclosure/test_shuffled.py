"""What a column says that was permuted within groups: by counting the values of each group."""

from __future__ import annotations

import numpy as np
import pytest

from voile.disclosure import exact
from voile.disclosure.evidence import IntervalEvidence, Labels
from voile.disclosure.exact import PermutedEvidence, group_counts

VALUES = ["a", "b", "c"]
SHOWN = [0, 0, 1, 2, 1, 1, 0]
GROUPS = [0, 0, 0, 1, 1, 2, 2]
COUNTS = group_counts((np.array(SHOWN), 3), (np.array(GROUPS), 3))


def test_groups_count_their_values():
    """Shape (values, groups)."""
    assert COUNTS.toarray().tolist() == [[2, 0, 1], [1, 1, 1], [0, 1, 0]]


def test_a_group_weighs_by_its_share_over_that_of_all_rows():
    """(k / n) / q for each target and row, whatever stands beside the row itself; 0 is -inf."""
    targets = np.array([1, 0, 2, 3])
    known = Labels.of([["a", "b", "c", "not there"]], VALUES)
    found = PermutedEvidence.of(targets, np.array(GROUPS), known, COUNTS)
    weights = np.exp(found.log_weights(slice(None)))
    for target, value in enumerate(targets):
        for row, group in enumerate(GROUPS):
            inside = [v for v, g in zip(SHOWN, GROUPS, strict=True) if g == group]
            usual = SHOWN.count(value) / len(SHOWN)
            expected = inside.count(value) / len(inside) / usual if usual else 0
            assert weights[target, row] == pytest.approx(expected)
    assert np.exp(found.log_weights(np.array([3, 0]))) == pytest.approx(weights[[3, 0]])


def test_other_evidence_is_averaged_over_the_values_of_a_group():
    """Of an interval that holds several values: the mean of those that it may be."""
    holds = IntervalEvidence(np.array([1.0, 3.0]), np.array([0.0, 1, 3]), np.array([1.0, 3, 9]))
    found = PermutedEvidence.of(np.array([0, 1]), np.array(GROUPS), holds, COUNTS)
    fits = [[1, 1, 0], [0, 1, 1]]
    for target in (0, 1):
        usual = np.mean([fits[target][v] for v in SHOWN])
        for row, group in enumerate(GROUPS):
            inside = [fits[target][v] for v, g in zip(SHOWN, GROUPS, strict=True) if g == group]
            weight = np.exp(found.log_weights(slice(None)))[target, row]
            assert weight == pytest.approx(np.mean(inside) / usual)


def test_some_rows_keep_what_their_groups_say():
    """Groups of which no row is left are forgotten, and the others weigh as before."""
    known = Labels.of([VALUES], VALUES)
    found = PermutedEvidence.of(np.array([0, 1, 2]), np.array(GROUPS), known, COUNTS)
    whole, rows = found.log_weights(slice(None)), np.array([6, 0, 5])
    some = found.only(rows)
    assert np.array_equal(some.log_weights(slice(None)), whole[:, rows])
    assert some.ratio.shape == (3, 2)


def test_many_values_are_compared_in_parts(monkeypatch):
    """However few pairs are compared at a time, the ratios are the same."""
    known = Labels.of([VALUES], VALUES)
    targets = np.array([2, 1, 0, 1])
    whole = PermutedEvidence.of(targets, np.array(GROUPS), known, COUNTS).log_weights(slice(None))
    for pairs in (1, 3, 4, 6):
        monkeypatch.setattr(exact, "_PAIRS", pairs)
        found = PermutedEvidence.of(targets, np.array(GROUPS), known, COUNTS)
        assert np.array_equal(found.log_weights(slice(None)), whole)


def test_nobody_is_weighed_where_nobody_is_known():
    """No target, and no error."""
    none = np.zeros(0, dtype=int)
    found = PermutedEvidence.of(none, np.array(GROUPS), Labels.of([[]], VALUES), COUNTS)
    assert found.log_weights(slice(None)).shape == (0, 7)
