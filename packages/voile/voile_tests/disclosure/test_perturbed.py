"""Numbers that are near the true ones, nobody knows how, and sets over the values of a column."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from voile.disclosure.covering import Covered, Spread
from voile.disclosure.evidence import IntervalEvidence
from voile.disclosure.foreign import NearEvidence, Perturbed
from voile_base.errors import TableError
from voile_tests.disclosure.sides import Knows, Shows


def test_a_number_fits_the_better_the_nearer_it_is():
    """By how many mean distances it is off, whichever side knows more rows."""
    shown = Perturbed(scale=2.0)
    evidence = shown.evidence(Knows([1, 4]), Shows("age", {"age": [1, 2, 5]}))
    assert isinstance(evidence, NearEvidence)
    expected = [[0, -0.5, -2], [-1.5, -1, -0.5]]
    assert evidence.log_weights(slice(None)).tolist() == expected
    assert evidence.only(np.array([2, 0])).log_weights(np.array([1])).tolist() == [[-0.5, -1.5]]


def test_a_missing_number_fits_a_missing_one_alone():
    """And is ruled out beside every number, as that is beside it."""
    evidence = Perturbed(scale=1.0).evidence(Knows([None, 3]), Shows("age", {"age": [None, 3]}))
    assert evidence.log_weights(slice(None)).tolist() == [[0, -np.inf], [-np.inf, 0]]


class Towns(SimpleNamespace):
    """Three values, as texts."""

    name, points, extent = "town", None, None
    weight = np.array([1.0, 2.0, 1.0])
    values = SimpleNamespace(texts=(None, "Bath", "York"))

    def __len__(self) -> int:
        return 3


def test_a_set_stands_for_the_values_that_it_names():
    """One that is not written out stands for all, and names that no row has for nothing more."""
    covered = Covered.sets(Towns(), [["York"], None, ["Bath", "Leeds", None]])
    assert covered.spread.matrix.toarray().tolist() == [
        [0, 0, 1],
        [0.25, 0.5, 0.25],
        [1 / 3, 2 / 3, 0],
    ]
    assert covered.size.tolist() == [0, 1, 2 / 3]
    assert covered.level is None
    alone = Covered.sets(Towns(), [["York"], [None]])
    assert alone.level.tolist() == [0, 0]
    assert Covered.sets(Towns(), []).spread.start.dtype == np.int64
    with pytest.raises(TableError, match="1 of its 2 different published entries"):
        Covered.sets(Towns(), [["Leeds"], ["York"]])


class Ages(SimpleNamespace):
    """Three values on a line."""

    name, points, extent, hierarchy = "age", np.array([1.0, 2.0, 5.0]), (1.0, 5.0), None
    weight, rows = np.ones(3), np.ones(3, dtype=np.int64)
    values = SimpleNamespace(texts=("1", "2", "5"), numbers=points, missing=False)

    def __len__(self) -> int:
        return 3

    def nearest(self, numbers: np.ndarray) -> np.ndarray:
        """The place of the nearest value; -1 of no number."""
        far = np.abs(numbers[:, np.newaxis] - self.points)
        return np.where(np.isnan(numbers), -1, np.nan_to_num(far).argmin(axis=1))


@pytest.mark.parametrize(("level", "levels"), [(None, None), (2, [2, 2])])
def test_intervals_are_of_the_level_that_made_them(level, levels):
    """None where groups differ; each stands for the values within it, and is as wide as it is."""
    evidence = IntervalEvidence(Ages.points, np.array([1.0, 4.0]), np.array([3.0, 5.0]))
    cells = Shows("age", {"age.low": [1, 4], "age.high": [3, 5]})
    covered = Covered.intervals(Ages(), cells, evidence, level)
    assert covered.spread.matrix.toarray().tolist() == [[0.5, 0.5, 0], [0, 0, 1]]
    assert covered.size.tolist() == [0.5, 0.25]
    assert (covered.level if levels is None else covered.level.tolist()) == levels


def test_an_interval_beyond_the_line_covers_all_of_it_and_no_more():
    """Public bounds may be wider than the values of the table."""
    evidence = IntervalEvidence(Ages.points, np.array([0.0]), np.array([9.0]))
    covered = Covered.intervals(Ages(), Shows("age", {"age": [4.5]}), evidence, None)
    assert covered.size.tolist() == [1]


def test_an_interval_with_one_end_is_explained_by_nothing():
    """It is no missing value, and holds none of the others."""
    evidence = IntervalEvidence(Ages.points, np.array([np.nan, 1.0]), np.array([3.0, 2.0]))
    cells = Shows("age", {"age.low": [None, 1], "age.high": [3, 2]})
    with pytest.raises(TableError, match="1 of its 2 different published entries"):
        Covered.intervals(Ages(), cells, evidence, None)


@pytest.mark.parametrize(
    ("domain", "sizes"), [(Towns, [(2 / 3 + 0) / 2, 2 / 3]), (Ages, [(0.25 + 0) / 2, 0.25])]
)
def test_a_permuted_value_is_as_wide_as_its_group_on_the_mean_of_its_rows(domain, sizes):
    """Of texts the share that the group holds, of numbers its range; alone it is sure."""
    spread = Spread(np.arange(3), np.array([0, 1]), np.array([1, 2]), np.ones(3))
    own = Covered(spread, np.zeros(2), None, np.zeros(2, np.int64))
    # The first entry stands in both groups, the second beside it in the first one alone.
    covered = Covered.permuted(domain(), own, np.array([0, 1, 0]), np.array([0, 0, 1]))
    assert covered.size == pytest.approx(sizes)
    assert covered.level is None
