"""Controlled adjustment: additive, far enough from primary cells, and the nearest such table."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile.tabular.counting import PrivateCells, plan_of_rows
from voile.tabular.perturbation import AdjustedCells
from voile.tabular.primary import PrimaryCells
from voile_base.errors import InfeasibleError
from voile_tests.tabular.small_tables import random_small


def adjusted(rows, tables, **protection):
    """Cells, primary cells, and the adjusted values of the first measure."""
    plan = parse_plan({"tables": list(tables), "protection": {"kind": "adjustment", **protection}})
    table = open_frame(pl.DataFrame(rows), plan_of_rows(plan))
    cells = PrivateCells.count(table, plan.tables)
    primary = PrimaryCells.find(cells, plan.protection)
    return cells, primary, AdjustedCells.adjust(cells, primary, plan.protection).values[0]


@pytest.mark.parametrize("seed", range(25))
def test_every_table_adds_up_and_shows_no_small_count(seed: int) -> None:
    """Whatever the shape: totals add up, none is negative, and none lies from 1 to the minimum."""
    small = random_small(seed)
    cells, primary, values = adjusted(small.rows, small.tables, minimum=3)
    assert not (cells.system.constraints @ values).any()
    assert (values >= 0).all()
    assert not ((values > 0) & (values < 3)).any()
    (measure,) = cells.measures
    assert (values != measure.values)[primary.cells].all()
    assert (values == measure.values)[(measure.values == 0) & ~primary.cells].all()


@pytest.mark.parametrize("seed", range(12))
def test_no_other_table_is_nearer(seed: int) -> None:
    """Brute force over all tables of two by two cells: the least change is as large, to 1 %."""
    draw = np.random.default_rng(seed)
    counts = draw.integers(1, 7, 4)
    rows = {"a": list("xxyy"), "b": list("pqpq"), "n": counts.tolist()}
    table = {"dimensions": ["a", "b"], "count": "n"}
    cells, primary, values = adjusted(rows, [table], minimum=3)
    (measure,) = cells.measures
    truth = measure.values
    inner = np.array(list(product(range(14), repeat=4)))
    first = cells.system.block(("a", "b")).start
    every = np.zeros((len(inner), len(truth)), dtype=np.int64)
    every[:, first : first + 4] = inner
    of_a, of_b = cells.system.block(("a", None)).start, cells.system.block((None, "b")).start
    every[:, of_a], every[:, of_a + 1] = inner[:, :2].sum(axis=1), inner[:, 2:].sum(axis=1)
    every[:, of_b], every[:, of_b + 1] = inner[:, ::2].sum(axis=1), inner[:, 1::2].sum(axis=1)
    every[:, cells.system.block((None, None)).start] = inner.sum(axis=1)
    good = ~((every > 0) & (every < 3)).any(axis=1)
    good &= (every != truth)[:, primary.cells].all(axis=1)
    least = np.abs(every[good] - truth).sum(axis=1).min()
    assert least <= np.abs(values - truth).sum() <= 1.01 * least


def test_sums_are_moved_by_the_distance_of_their_rule() -> None:
    """A company has 90 of 100: the cell moves by what p % asks, and the total stays additive."""
    rows = {
        "a": ["x"] * 3 + ["y"] * 3,
        "c": list("abcdef"),
        "v": [900, 60, 40, 300, 310, 320],
    }
    table = {"dimensions": ["a"], "sum": ["v"], "contributor": "c"}
    cells, primary, values = adjusted(rows, [table], p=10)
    (measure,) = cells.measures
    (cell,) = np.flatnonzero(primary.cells)
    assert abs(values[cell] - measure.values[cell]) >= 0.1 * 900 - (1000 - 900 - 60)
    assert not (cells.system.constraints @ values).any()


def test_forced_cells_that_leave_no_table_are_refused() -> None:
    """Everything but the primary cell is to be published as it is."""
    rows = {"a": ["x", "y"], "n": [1, 9]}
    table = {"dimensions": ["a"], "count": "n"}
    with pytest.raises(InfeasibleError, match="no additive table"):
        adjusted(rows, [table], minimum=3, publish=[{"a": "y"}, {"a": "Total"}])
    with pytest.raises(InfeasibleError, match="publish forces 1 cell "):
        adjusted(rows, [table], minimum=3, publish=[{"a": "x"}])
