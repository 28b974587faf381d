"""Columns measured in many divisions at once are what they are one by one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.publish.m_shuffle.decision import ClusteredColumn, Rule, measured_columns
from voile.table.decisions import Grouping
from voile_tests.publish.m_shuffle.tables import opened

tables = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=30
)


def both_ways(frame, divisions):
    """Each column in each division of the distinct salaries, measured at once and alone."""
    table = opened(frame, ["pay"])
    values = table.count_combinations(["pay"])
    names = [name for name in frame.columns if name != "pay"]
    columns = table.count_in_groups(Grouping.of_counts(values, np.arange(len(values.rows))), names)
    at_once = measured_columns(columns, values.rows, divisions)
    alone = [[ClusteredColumn.merged(c, labels) for c in columns] for labels in divisions]
    return at_once, alone


def agree(measured, column):
    assert measured.name == column.name
    assert measured.distinct == column.distinct
    for name in ("entropy", "tie", "log_arrangements"):
        assert getattr(measured, name) == pytest.approx(getattr(column, name), abs=1e-9), name
    conditional = column.pairs.conditional_entropy
    assert measured.conditional_entropy == pytest.approx(conditional, abs=1e-12)
    assert (measured.log_arrangements == 0) == (column.log_arrangements == 0)


@given(tables, st.data())
def test_every_column_in_every_division_is_measured_as_alone(rows, data):
    """Divisions need not be of neighbours; each measure agrees with that of the counts."""
    frame = pl.DataFrame(rows, schema=["a", "b", "pay"], orient="row")
    distinct = frame["pay"].n_unique()
    drawn = st.lists(st.integers(0, 3), min_size=distinct, max_size=distinct)
    divisions = [
        np.unique(data.draw(drawn), return_inverse=True)[1].astype(np.int64) for _ in range(3)
    ]
    for measured, columns in zip(*both_ways(frame, divisions), strict=True):
        for one, column in zip(measured, columns, strict=True):
            agree(one, column)


@pytest.mark.parametrize("seed", range(10))
def test_columns_that_say_the_same_are_ranked_as_they_are_given(seed):
    """A text and its code are tied alike but for rounding; the first of the plan goes first."""
    draws = np.random.default_rng(seed)
    code, pay = draws.integers(0, 40, 2000), draws.integers(0, 30, 2000)
    frame = pl.DataFrame({"text": draws.permutation(40)[code], "code": code, "pay": pay})
    for measured in both_ways(frame, [np.arange(30) // 5]):
        ranked = Rule("mutual-information", 0.5).ranked(measured[0])
        assert [column.name for column in ranked] == ["text", "code"]
