"""Measures of a finished generalization, against a count row by row and ARX's own figures."""

import csv
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.models.information_loss import (
    attribute_losses,
    average_class_size,
    certainty_penalties,
    discernibility,
    entropies_of_runs,
    non_uniform_entropy,
    precision,
    product_of_losses,
)

sizes = st.lists(st.integers(1, 9), min_size=1, max_size=8).map(np.array)
left_out = st.integers(0, 5)
HEIGHTS = np.array([4, 2, 0])


@given(sizes, left_out, st.data())
def test_losses_of_columns_equal_a_mean_over_rows(rows, suppressed, data):
    """Each published cell loses its share, each suppressed one all; then normalised."""
    cells = st.lists(st.floats(0.1, 1), min_size=2, max_size=2)
    share = np.array([data.draw(cells) for _ in rows])
    own = 0.1
    total = int(rows.sum()) + suppressed
    found = attribute_losses(rows, share, np.full(2, own * total), suppressed)
    for j in range(2):
        lost = [s for n, s in zip(rows, share[:, j], strict=True) for _ in range(n)]
        mean = (sum(lost) + suppressed) / total
        assert found[j] == pytest.approx((mean - own) / (1 - own))


def test_the_ends_of_the_scale():
    """Values as they are lose nothing, everything suppressed loses all, one value cannot lose."""
    rows, least = np.array([6, 4]), np.array([1.0, 10.0])
    untouched = attribute_losses(rows, np.array([[0.1, 1.0], [0.1, 1.0]]), least)
    assert untouched == pytest.approx([0, 0])
    gone = attribute_losses(np.array([], dtype=np.int64), np.empty((0, 2)), least, 10)
    assert gone == pytest.approx([1, 0])
    assert product_of_losses(np.array([0.0, 0.0])) == 0
    assert product_of_losses(np.array([1.0, 1.0])) == pytest.approx(1)
    assert product_of_losses(np.array([0.5, 0.0])) == pytest.approx(1.5**0.5 - 1)
    assert product_of_losses(np.array([])) == 0


def test_the_product_of_losses_is_that_of_arx(shared_data):
    """ARX's optimum for Adult at k = 5 without suppression has the loss that ARX reports."""
    levels = {
        "sex": 0,
        "age": 4,
        "race": 1,
        "marital-status": 1,
        "education": 3,
        "native-country": 2,
        "workclass": 2,
        "occupation": 1,
        "salary-class": 0,
    }
    with (shared_data / "census/adult-arx.csv").open() as file:
        table = list(csv.DictReader(file, delimiter=";"))
    shares = np.empty((len(table), len(levels)))
    least = np.empty(len(levels))
    for j, (column, level) in enumerate(levels.items()):
        path = shared_data / f"census/hierarchies/adult-arx/{column}.csv"
        with path.open() as file:
            lines = [line for line in csv.reader(file, delimiter=";") if line]
        leaves = Counter(line[level] for line in lines)
        covered = {line[0]: leaves[line[level]] / len(lines) for line in lines}
        shares[:, j] = [covered[row[column]] for row in table]
        least[j] = len(table) / len(lines)
    losses = attribute_losses(np.ones(len(table), dtype=np.int64), shares, least)
    assert product_of_losses(losses) == pytest.approx(0.573150966, abs=1e-9)


@given(sizes, left_out, st.data())
def test_precision_equals_a_mean_over_cells(rows, suppressed, data):
    """Levels climbed over heights, cell by cell; a suppressed cell climbed all of it."""
    node = st.tuples(*(st.integers(0, height) for height in HEIGHTS.tolist()))
    levels = np.array([data.draw(node) for _ in rows])
    climbed = [
        level / height if height else 0.0
        for n, group in zip(rows, levels, strict=True)
        for _ in range(n)
        for level, height in zip(group, HEIGHTS, strict=True)
    ]
    climbed += [1.0] * (suppressed * len(HEIGHTS))
    found = precision(rows, levels, HEIGHTS, suppressed)
    assert found == pytest.approx(1 - np.mean(climbed))


@pytest.mark.parametrize(
    ("race", "zip_code", "expected"), [(1, 0, 0.75), (1, 1, 0.58), (0, 2, 0.67), (0, 1, 0.83)]
)
def test_precision_of_sweeney(race, zip_code, expected):
    """The four generalizations of her twelve rows of race and ZIP code, heights 2 and 3."""
    levels, heights = np.array([race, zip_code]), np.array([2, 3])
    assert precision(np.array([12]), levels, heights) == pytest.approx(expected, abs=0.005)


def test_precision_of_one_node_for_all_rows():
    """One node for all rows: 1 - (2/4 + 1/2 + 0) / 3; and 1 where nothing was published."""
    rows = np.array([3, 5])
    assert precision(rows, np.array([2, 1, 0]), HEIGHTS) == pytest.approx(2 / 3)
    assert precision(np.array([], dtype=np.int64), np.empty((0, 3)), HEIGHTS) == 1.0


@given(sizes, left_out)
def test_discernibility_counts_whom_each_row_looks_like(rows, suppressed):
    """A published row looks like its group, a suppressed one like everybody."""
    total = int(rows.sum()) + suppressed
    by_row = [n for n in rows.tolist() for _ in range(n)] + [total] * suppressed
    assert discernibility(rows, suppressed) == sum(by_row)


def test_discernibility_does_not_overflow():
    """Ten billion rows in one group cost 10**20."""
    assert discernibility(np.array([10**10])) == 10**20


def test_average_class_size_is_one_at_best():
    """Groups of exactly k rows have average size 1; no groups have none."""
    assert average_class_size(np.array([5, 5, 5]), 5) == 1
    assert average_class_size(np.array([5, 10]), 5) == 1.5
    with pytest.raises(ValueError, match="no group was published"):
        average_class_size(np.array([], dtype=np.int64), 5)


@given(sizes, left_out, st.data())
def test_certainty_penalties_equal_a_mean_over_cells(rows, suppressed, data):
    """Each published cell costs its size, each suppressed one 1, on average."""
    size = np.array([[data.draw(st.floats(0, 1)) for _ in range(2)] for _ in rows])
    found = certainty_penalties(rows, size, suppressed)
    for j in range(2):
        cells = [s for n, s in zip(rows, size[:, j], strict=True) for _ in range(n)]
        assert found[j] == pytest.approx(np.mean([*cells, *[1.0] * suppressed]))


runs = st.lists(st.integers(1, 9), min_size=1, max_size=8)


@given(runs, st.data())
def test_entropies_of_runs_equal_their_definition(rows, data):
    """- sum of p log2 p over the values of a run."""
    start = data.draw(st.integers(0, len(rows) - 1))
    stop = data.draw(st.integers(start + 1, len(rows)))
    p = np.array(rows[start:stop]) / sum(rows[start:stop])
    (found,) = entropies_of_runs(np.array(rows), np.array([start]), np.array([stop]))
    assert found == pytest.approx(-(p * np.log2(p)).sum(), abs=1e-9)


@given(st.lists(runs, min_size=1, max_size=4), left_out)
def test_non_uniform_entropy_equals_a_sum_over_rows(cells, suppressed):
    """-log2 Pr(value | cell) of each row, over the same for a single cell of all."""
    counts = np.array([n for cell in cells for n in cell])
    stop = np.cumsum([len(cell) for cell in cells])
    bits = entropies_of_runs(counts, stop - [len(cell) for cell in cells], stop)
    (whole,) = entropies_of_runs(counts, np.array([0]), np.array([len(counts)]))
    rows = np.array([sum(cell) for cell in cells])
    lost = sum(-n * np.log2(n / sum(cell)) for cell in cells for n in cell)
    total = -(counts * np.log2(counts / counts.sum())).sum()
    if total > 0:
        assert non_uniform_entropy(rows, bits, whole) == pytest.approx(lost / total, abs=1e-9)
    found = non_uniform_entropy(rows, bits, whole, suppressed)
    share = suppressed / (rows.sum() + suppressed)
    assert found >= share - 1e-9 or total <= 0


def test_the_ends_of_non_uniform_entropy():
    """Values as they are lose nothing, one cell or no rows all; one value has nothing to lose."""
    none = np.array([], dtype=np.int64)
    assert non_uniform_entropy(np.array([2, 2]), np.zeros(2), 1.0) == 0
    assert non_uniform_entropy(np.array([4]), np.ones(1), 1.0) == 1
    assert non_uniform_entropy(none, np.array([]), 1.0, 4) == 1
    assert non_uniform_entropy(np.array([4]), np.zeros(1), 0.0) == 0
