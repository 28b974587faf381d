"""How likely each published row is a person's."""

from __future__ import annotations

import numpy as np
import pytest

from voile.audit import beside
from voile.audit.beside import DistinctRows, JointColumn, Likeness


def column(draws: np.random.Generator, rows: int, people: int) -> JointColumn:
    values, cells = 4, 3
    near = draws.uniform(0.02, 1, (values, cells)).astype(np.float32)
    value = (draws.integers(0, values, people),)
    cell = draws.integers(0, cells, rows)
    return JointColumn(
        "any", value, cell, near > 0.5, near, None, np.zeros(cells, dtype=bool), "exact"
    )


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("pairs", [1, 30, 1 << 22])
def test_however_few_are_looked_at_together_rows_are_as_likely_as_by_definition(
    monkeypatch, pairs, exact
):
    """By people, by rows, and by some columns, weights are products that add up to 1."""
    monkeypatch.setattr(beside, "_PAIRS", pairs)
    draws = np.random.default_rng(7)
    columns = [column(draws, 40, 9) for _ in range(3)]
    chosen = np.array([8, 0, 3, 3, 5])
    near = [one.fits if exact else one.near for one in columns]
    each = [
        n[one.value[0][chosen]][:, one.cell].astype(float)
        for n, one in zip(near, columns, strict=True)
    ]
    expected = np.prod(each, axis=0)
    expected /= expected.sum(axis=1, keepdims=True)
    rows = DistinctRows.of(columns)
    alike = Likeness.of(columns, rows, (0, chosen), exact=exact)
    by_people = np.concatenate([weights for _, weights in alike.by_people()])
    by_rows = np.concatenate([weights for _, weights in alike.by_rows()], axis=1)
    np.testing.assert_allclose(by_people[:, rows.place], expected, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(by_rows[:, rows.place], expected, rtol=1e-4, atol=1e-9)
    half = Likeness.of(columns[1:], rows, (0, chosen), exact=exact, places=(1, 2))
    products = np.prod(each[1:], axis=0)
    wanted = products / products.sum(axis=1, keepdims=True)
    found = np.concatenate([weights for _, weights in half.by_people()])
    np.testing.assert_allclose(found[:, rows.place], wanted, rtol=1e-4, atol=1e-9)
