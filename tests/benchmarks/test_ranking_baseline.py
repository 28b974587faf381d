"""The straightforward searches of the ranking benchmark are right: they are not straw men."""

from fractions import Fraction

import numpy as np
import pytest

from benchmarks import ranking, ranking_baseline
from voile.publish.ranking.groups import Remnant, SearchTerms
from voile.publish.ranking.local_search import search
from voile_base.randomness import Randomness

KEY = Randomness.seeded(1).key("ranking")
TERMS = SearchTerms(10, Fraction(7, 10))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ranking_baseline.SEARCHES))
def test_both_ways_publish_equally_many_rows_from_equal_tables(name):
    """Of 30 tables at least 28 give the same count of top rows; equal gains may part the others."""
    agreed = 0
    for seed in range(30):
        values = np.random.default_rng(seed).integers(0, 10**6, (1000, 4))
        scores = values.sum(axis=1)
        is_top = scores >= np.sort(scores)[-15]
        asked = ranking_baseline.Asked(values, scores, is_top, TERMS.k, TERMS.precision)
        rows = ranking_baseline.SEARCHES[name](asked)
        group = search(name)(Remnant.of_table(values, scores, 15), TERMS, KEY).group
        if rows is not None:
            assert asked.feasible(*asked.counts(rows))
        agreed += (0 if rows is None else len(rows)) == (group.published_tops if group else 0)
    assert agreed >= 28


@pytest.mark.parametrize(
    ("distribution", "low", "high"),
    [("uniform", -0.05, 0.05), ("correlated", 0.8, 1), ("anti-correlated", -0.3, -0.1)],
)
def test_the_tables_are_correlated_as_their_names_say(distribution, low, high):
    """Correlation of two of five attributes over 10,000 rows; at best -1/4 for opposed ones."""
    values = ranking.table(distribution, 0)
    assert values.shape == (10_000, 5)
    assert low < np.corrcoef(values[:, 0], values[:, 1])[0, 1] < high
