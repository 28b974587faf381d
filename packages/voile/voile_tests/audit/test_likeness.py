"""How likely each published row is a person's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from voile.audit import beside
from voile.audit.alike_rows import _LIFT, _in_common
from voile.audit.beside import DistinctRows, JointColumn, Likeness


def likely(alike: Likeness) -> np.ndarray:
    """How likely rows are each person's, shape (people, rows), so that they add up to 1."""
    found = np.concatenate([weights for _, weights in alike.by_rows()]).T
    return found / (found @ alike.count)[:, np.newaxis]


def column(draws: np.random.Generator, rows: int, people: int, cells: int = 3) -> JointColumn:
    values = 4
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
    """By rows, by some columns, and without each, weights are products that add up to 1."""
    monkeypatch.setattr(beside, "_LIKENESS_PAIRS", pairs)
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
    np.testing.assert_allclose(likely(alike)[:, rows.place], expected, rtol=1e-4, atol=1e-9)
    others = DistinctRows.of(columns[1:])
    half = Likeness.of(columns[1:], others, (0, chosen), exact=exact)
    products = np.prod(each[1:], axis=0)
    wanted = products / products.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(likely(half)[:, others.place], wanted, rtol=1e-4, atol=1e-9)
    of_cell = np.eye(3, dtype=np.float32)[columns[0].cell]
    shown = np.zeros((len(rows.count), 3), dtype=np.float32)
    np.add.at(shown, rows.place, of_cell)
    for some, blocks in alike.in_blocks():
        votes = sum(shown[which].T @ weights for which, weights in blocks)
        without = alike.without(0, some, votes).T
        without /= without.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(without, (wanted @ of_cell)[some], rtol=1e-4, atol=1e-9)


def test_no_weight_and_no_product_of_two_is_subnormal() -> None:
    """Of two times twelve columns in which hardly anything fits, beside the sum of all products."""
    draws = np.random.default_rng(3)
    columns = [column(draws, 60, 30) for _ in range(24)]
    chosen, sides = np.arange(30), (columns[:11], columns[12:])
    rows = [DistinctRows.of(side) for side in sides]
    halves = [
        Likeness.of(side, shown, (0, chosen), exact=True)
        for side, shown in zip(sides, rows, strict=True)
    ]
    weights = [np.concatenate([one for _, one in half.by_rows()]).T for half in halves]
    least = np.finfo(np.float32).tiny
    for one in weights:
        assert (one == 0).any()
        assert ((one[one > 0].astype(float) * _LIFT) ** 2 > least).all()
    places = rows[0].place, rows[1].place
    shape = len(rows[0].count), len(rows[1].count)
    pairs = sparse.csr_array((np.ones(60, np.float32), places), shape=shape)
    first, second = (w.astype(float)[:, at] for w, at in zip(weights, places, strict=True))
    expected = first / first.sum(axis=1, keepdims=True) @ second.T
    found = _in_common(*halves, pairs) / float(_LIFT) ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    turned = _in_common(*halves[::-1], pairs.T.tocsr()) / float(_LIFT) ** 2
    expected = second / second.sum(axis=1, keepdims=True) @ first.T
    np.testing.assert_allclose(turned, expected, rtol=1e-4)


def test_columns_of_few_combinations_are_added_up_once_for_all_rows_that_show_them() -> None:
    """Three columns of two cells stand as one beside a column of sixty; weights stay the same."""
    draws = np.random.default_rng(9)
    columns = [column(draws, 900, 9, cells) for cells in (60, 2, 2, 2)]
    rows, chosen = DistinctRows.of(columns), np.arange(9)
    alike = Likeness.of(columns, rows, (0, chosen))
    assert [size for _, _, size in alike._groups] == [8, 60]
    each = [one.near[one.value[0][chosen]][:, one.cell].astype(float) for one in columns]
    expected = np.prod(each, axis=0)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(likely(alike)[:, rows.place], expected, rtol=1e-4, atol=1e-9)


def test_however_few_numbers_are_added_at_a_time_weights_are_the_same(monkeypatch) -> None:
    """Of columns that stand by themselves, to the last bit, by rows and by people."""
    draws = np.random.default_rng(5)
    columns = [column(draws, 300, 40, cells) for cells in (30, 40, 50)]
    alike = Likeness.of(columns, DistinctRows.of(columns), (0, np.arange(40)))
    assert len(alike._groups) == 3

    def weights() -> list[np.ndarray]:
        blocks = [one for _, some in alike.in_blocks() for _, one in some]
        return [alike.at(slice(None)), *blocks]

    whole = weights()
    monkeypatch.setattr(beside, "_ADDED", 7)
    for one, other in zip(whole, weights(), strict=True):
        np.testing.assert_array_equal(one, other)
