"""Risks in a population, by survey weights, against the distribution that they are the mean of."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from voile.models.k_anonymity import population_risks


def _summed(rows: int, share: float) -> float:
    """The mean of 1 / people, with people distributed as a negative binomial, added up."""
    people = range(rows, rows + int(60 / share) + 400)
    return sum(
        comb(all_of_them - 1, rows - 1)
        * share**rows
        * (1 - share) ** (all_of_them - rows)
        / all_of_them
        for all_of_them in people
    )


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.95])
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 12])
def test_the_risk_is_the_mean_over_how_many_people_there_may_be(rows: int, share: float) -> None:
    """Exactly for one row and two; of more at most half too much, and never too little."""
    (found,) = population_risks(np.array([rows]), np.array([rows / share]))
    expected = _summed(rows, share)
    if rows <= 2:
        assert found == pytest.approx(expected, rel=1e-6)
    else:
        assert 0.999 * expected <= found <= 1.5 * expected


def test_where_all_people_are_in_the_sample_the_risk_is_that_of_the_sample() -> None:
    """Also where weights are below one, which stand for nobody."""
    rows = np.array([1, 2, 3, 7])
    for weights in (rows.astype(float), 0.5 * rows):
        assert population_risks(rows, weights) == pytest.approx(1 / rows)
