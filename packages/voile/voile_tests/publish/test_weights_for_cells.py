"""Budget by which cells err least: the stated error is that of generalized least squares."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from voile.publish.dp_tables.asked import NoisyTables, TableTerms
from voile.publish.measuring import NoiseBudget, weights_for_cells
from voile.schema.plan import parse_plan

WIDTHS = ((6, 3), (4,), (2,))
"""Of three columns, the first with a level of pairs."""


def _rows_of(key):
    """What each cell of a table adds up of all 48 cells; groups of a level are equally large."""
    at = dict(zip(*key, strict=True))
    places = np.array([*product(range(6), range(4), range(2))])
    own = np.zeros(len(places), dtype=np.int64)
    for column, widths in enumerate(WIDTHS):
        if column in at:
            groups = places[:, column] * widths[at[column]] // widths[0]
            own = own * widths[at[column]] + groups
    return (own == np.arange(own.max() + 1)[:, None]).astype(float)


def _error_of(tables, weights, *, pure):
    """The mean deviation of all cells' estimates, by inverting the normal equations."""
    shares = np.array(weights) / sum(weights)
    noise = 2 / shares**2 if pure else 1 / shares
    rows = [_rows_of(key) for key in tables]
    design = np.vstack([of / np.sqrt(one) for of, one in zip(rows, noise, strict=True)])
    spread = np.linalg.pinv(design.T @ design)
    cells = np.vstack(rows)
    return float(np.sqrt(np.einsum("ij,jk,ik->i", cells, spread, cells)).mean())


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("sets", [[(0, 1, 2)], [(0, 1), (1, 2)], [(0,), (1, 2)]])
def test_the_stated_error_is_that_of_least_squares(sets, pure):
    """With levels of equal groups it is exact, and no even share does better."""
    tables = [
        (columns, levels)
        for columns in sets
        for levels in product(*(range(len(WIDTHS[at])) for at in columns))
    ]
    tables.append(((), ()))
    weights, error = weights_for_cells(tables, WIDTHS, pure=pure)
    assert error == pytest.approx(_error_of(tables, weights, pure=pure), rel=1e-9)
    assert error <= _error_of(tables, [1] * len(tables), pure=pure) * (1 + 1e-9)


def _asked(precise):
    columns = {"a": [*"abcdefgh"], "b": [*"xy"], "c": [*"klmnopq"]}
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": [*columns]},
            "columns": {of: {"values": it} for of, it in columns.items()},
        }
    )
    tables = [["a", "b", "c"], ["a", "b"], ["a"]]
    return NoisyTables.of(plan, TableTerms(tables, NoiseBudget.of(1, None, None), precise=precise))


def test_shares_sum_to_the_budget_exactly_whatever_they_are_for():
    """Neither way spends more or less, and the finest table gets most where cells count."""
    for precise in ("tables", "cells"):
        asked = _asked(precise)
        assert sum(share.share for share in asked.shares) == 1
        finest = max(asked.shares, key=lambda one: one.cells)
        assert (finest.share > 1 / 2) == (precise == "cells")
