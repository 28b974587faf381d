"""Clusters of rows by their sensitive values."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from voile.publish.m_shuffle.clustering import SensitiveValues
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_tests.publish.m_shuffle.tables import opened

KEY = Randomness.seeded(1).key("clusters")


def clusters_of(rows, clusters, *, standardized=True, key=KEY):
    """The cluster of each distinct combination of all columns, by its texts."""
    table = opened({"other": list(range(len(next(iter(rows.values()))))), **rows}, list(rows))
    counts = table.count_combinations(list(rows))
    values = SensitiveValues(counts)
    labels = values.cluster(clusters, key, standardized=standardized).labels(clusters)
    texts = [
        tuple(counts.values[m].texts[code] for m, code in enumerate(codes))
        for codes in counts.codes
    ]
    return dict(zip(texts, labels.tolist(), strict=True))


def test_numbers_are_divided_where_they_are_far_apart():
    """Three heaps of numbers become three clusters, ascending; rows count as weights."""
    found = clusters_of({"pay": [1, 1, 2, 50, 51, 51, 90]}, 3)
    assert found == {("1",): 0, ("2",): 0, ("50",): 1, ("51",): 1, ("90",): 2}


def test_each_category_is_a_cluster():
    """Texts and truth values are divided by their very values, in their order."""
    found = clusters_of({"ill": ["flu", "cold", "flu"], "old": [True, True, False]}, 3)
    assert found == {("cold", "true"): 0, ("flu", "false"): 1, ("flu", "true"): 2}


def test_numbers_are_divided_within_categories():
    """Clusters never mix categories, and the third goes where it lowers the squares most."""
    rows = {"pay": [1, 2, 3, 1, 100, 101], "job": ["a", "a", "a", "b", "b", "b"]}
    found = clusters_of(rows, 3)
    assert found == {
        ("1", "a"): 0, ("2", "a"): 0, ("3", "a"): 0,
        ("1", "b"): 1, ("100", "b"): 2, ("101", "b"): 2,
    }  # fmt: skip


@pytest.mark.parametrize("unit", [1, 1000])
@pytest.mark.parametrize("other_unit", [1, 1000])
def test_the_units_of_standardized_numbers_do_not_matter(unit, other_unit):
    """Two heaps of one number stay the clusters, whatever units it and the other number are in."""
    heaps, spread = [0, 0, 1, 40, 40, 41], [3, 5, 7, 3, 5, 7]
    rows = {"pay": [x * unit for x in heaps], "age": [x * other_unit for x in spread]}
    found = clusters_of(rows, 2)
    assert {int(pay) // unit for (pay, _), cluster in found.items() if cluster == 0} == {0, 1}


def test_several_numbers_are_compared_in_standard_deviations_or_in_units():
    """A column in small units decides once standardized, and not in its own units."""
    rows = {"pay": [0, 400, 0, 400, 200, 200], "share": [0.0, 0.0, 0.9, 0.9, 0.0, 0.9]}
    standardized, units = clusters_of(rows, 2), clusters_of(rows, 2, standardized=False)
    assert {pay for (pay, share), c in standardized.items() if c == 0 and share == "0"} == {
        "0", "200", "400",
    }  # fmt: skip
    assert len({c for (pay, _), c in units.items() if pay == "0"}) == 1
    assert len({c for (_, share), c in units.items() if share == "0"}) == 2


def test_several_numbers_are_divided_within_categories():
    """Each further cluster goes to the category whose squares it lowers most."""
    rows = {
        "x": [0.0, 1, 0, 1, 0, 50, 0, 50],
        "y": [0.0, 0, 1, 1, 0, 50, 1, 51],
        "job": ["a", "a", "a", "a", "b", "b", "b", "b"],
    }
    found = clusters_of(rows, 3, standardized=False)
    assert {c for (*_, job), c in found.items() if job == "a"} == {0}
    assert {c for (x, _, job), c in found.items() if (x, job) == ("0", "b")} == {1}
    assert {c for (x, _, job), c in found.items() if (x, job) == ("50", "b")} == {2}


def test_several_numbers_fall_into_the_same_clusters_again():
    """One key gives the same clusters twice, however the starts fall."""
    draws = np.random.default_rng(3).normal(size=(200, 2)).round(2)
    rows = {"x": draws[:, 0], "y": draws[:, 1]}
    assert clusters_of(rows, 7) == clusters_of(rows, 7)


def test_values_far_from_zero_keep_their_distances():
    """Numbers of 18 digits that differ in the last are still divided."""
    large = 10**17
    found = clusters_of({"pay": [large, large + 1, large + 9, large + 10]}, 2)
    assert list(found.values()) == [0, 0, 1, 1]


def test_scikit_learn_is_asked_for_where_it_is_absent(monkeypatch):
    """Without it several numbers are refused with the command that installs it."""
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(InputError, match=r"pip install 'voile\[learn\]'"):
        clusters_of({"x": [1, 2, 3], "y": [1, 2, 3]}, 2)
