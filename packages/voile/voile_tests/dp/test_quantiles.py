"""Private quantiles: the law of a border, its sensitivity, and how close borders come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.dp.exact import PrivateQuantiles, uniform_words
from voile.schema.budget import Change
from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_testing.statistics import FALSE_ALARM, p_value

LOW, HIGH = -3, 9
relations = st.sampled_from(get_args(Change))


def words_of(seed: int) -> Iterator[int]:
    return uniform_words(Randomness.seeded(seed).key("borders"))


def law_of(quantiles: PrivateQuantiles, values: list[int], epsilon: float) -> np.ndarray:
    """Probability of each border from LOW + 1 to HIGH for the first share, written out."""
    share = float(quantiles.shares[0])
    clamped = np.clip(values, LOW, HIGH)
    wanted = share * len(values)
    distance = [abs((clamped < border).sum() - wanted) for border in range(LOW + 1, HIGH + 1)]
    sensitivity = 1 if quantiles.change == "replace" else max(share, 1 - share)
    weights = np.exp(-epsilon * np.array(distance) / (2 * sensitivity * quantiles.rows))
    return weights / weights.sum()


@pytest.mark.slow
@pytest.mark.parametrize("change", get_args(Change))
def test_a_border_has_the_stated_law(change: Change) -> None:
    """4,000 borders fit the law at epsilon 1, and not at one 50 % off; false alarm 1e-6."""
    quantiles = PrivateQuantiles((Fraction(3, 10),), LOW, HIGH, Decimal(1), change)
    values = [-7, 0, 0, 2, 2, 2, 5, 9, 20]
    distinct, rows = np.unique(values, return_counts=True)
    words = words_of(1)
    borders = [int(quantiles.draw(distinct, rows, words)[0]) for _ in range(4_000)]
    counts = np.bincount(np.array(borders) - LOW - 1, minlength=HIGH - LOW)
    assert p_value(counts, law_of(quantiles, values, 1.0)) > FALSE_ALARM
    assert p_value(counts, law_of(quantiles, values, 1.5)) < FALSE_ALARM
    assert p_value(counts, law_of(quantiles, values, 0.5)) < FALSE_ALARM


@given(
    st.lists(st.integers(-5, 12), min_size=1, max_size=7),
    st.integers(-5, 12),
    st.integers(1, 9),
    relations,
)
def test_neighbours_are_told_apart_by_epsilon_at_most(
    values: list[int], other: int, share: int, change: Change
) -> None:
    """For any neighbour the probability of each border changes by a factor of e^epsilon or less."""
    quantiles = PrivateQuantiles((Fraction(share, 10),), LOW, HIGH, Decimal(1), change)
    neighbour = [*values[1:], other] if change == "replace" else [*values, other]
    ratio = law_of(quantiles, values, 1.0) / law_of(quantiles, neighbour, 1.0)
    assert np.abs(np.log(ratio)).max() <= 1 + 1e-9


@pytest.mark.parametrize("change", get_args(Change))
@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(1, 2)])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_person_moves_a_utility_by_the_sensitivity_at_most(
    change: Change, share: Fraction, most: int
) -> None:
    """Of all tables of up to 4 rows, and all ways to change up to m of them; and it is reached.

    The utility of border r is -|b C(r) - a N|.  A sensitivity of one row would be too small.
    """
    tables = [rows for n in range(5) for rows in combinations_with_replacement(range(4), n)]
    persons = [rows for n in range(most + 1) for rows in combinations_with_replacement(range(4), n)]

    def utilities(rows: tuple[int, ...]) -> np.ndarray:
        below = np.array([sum(row < border for row in rows) for border in range(1, 4)])
        return -abs(share.denominator * below - share.numerator * len(rows))

    found = 0
    for rest in tables:
        for person in persons:
            others = [p for p in persons if len(p) == len(person)] if change == "replace" else [()]
            own = utilities((*rest, *person))
            found = max(found, *(int(abs(own - utilities((*rest, *o))).max()) for o in others))
    pair = PrivateQuantiles((share,), 0, 3, Decimal(1), change, most)
    assert found == pair.sensitivity(share)
    assert most == 1 or found > replace(pair, rows=1).sensitivity(share)


@pytest.mark.slow
def test_several_rows_have_the_law_of_as_many_times_the_sensitivity() -> None:
    """4,000 borders for three rows at epsilon 3 fit the law of one row at 1; false alarm 1e-6."""
    quantiles = PrivateQuantiles((Fraction(3, 10),), LOW, HIGH, Decimal(3), "replace", 3)
    values = [-7, 0, 0, 2, 2, 2, 5, 9, 20]
    distinct, rows = np.unique(values, return_counts=True)
    words = words_of(4)
    borders = [int(quantiles.draw(distinct, rows, words)[0]) for _ in range(4_000)]
    counts = np.bincount(np.array(borders) - LOW - 1, minlength=HIGH - LOW)
    assert p_value(counts, law_of(quantiles, values, 3.0)) > FALSE_ALARM
    assert p_value(counts, law_of(replace(quantiles, rows=1), values, 3.0)) < FALSE_ALARM


def test_borders_of_many_rows_are_near_the_quantiles() -> None:
    """With 100,000 rows and epsilon 1 the shares of rows below the borders are right to 0.2 %."""
    values = np.arange(0, 500_000, 5)
    shares = tuple(Fraction(s, 20) for s in (1, 7, 13, 19))
    quantiles = PrivateQuantiles(shares, -(10**6), 10**6, Decimal(1))
    borders = quantiles.draw(values, np.ones(100_000, dtype=np.int64), words_of(2))
    below = np.searchsorted(values, borders) / 100_000
    assert np.abs(below - [float(s) for s in shares]).max() < 0.002


@pytest.mark.slow
def test_the_budget_is_split_among_the_borders() -> None:
    """Each of two borders at epsilon 2 has the law of a single one at epsilon 1; 3,000 draws."""
    values = [0, 1, 5, 7]
    distinct, rows = np.unique(values, return_counts=True)
    pair = PrivateQuantiles((Fraction(1, 10), Fraction(9, 10)), LOW, HIGH, Decimal(2))
    words = words_of(3)
    borders = [pair._border(pair.shares[0], np.array([LOW, *distinct, HIGH]),
                            np.concatenate(([0], np.cumsum(rows))), words)
               for _ in range(3_000)]  # fmt: skip
    counts = np.bincount(np.array(borders) - LOW - 1, minlength=HIGH - LOW)
    assert p_value(counts, law_of(pair, values, 1.0)) > FALSE_ALARM
    assert p_value(counts, law_of(pair, values, 2.0)) < FALSE_ALARM


def test_borders_ascend_and_stay_within_bounds() -> None:
    """With hardly any budget borders are anywhere, but sorted and within the public bounds."""
    shares = tuple(Fraction(i, 10) for i in range(1, 10))
    quantiles = PrivateQuantiles(shares, LOW, HIGH, Decimal("0.001"))
    words = words_of(4)
    drawn = np.array([quantiles.draw(np.array([1]), np.array([50]), words) for _ in range(50)])
    assert (np.diff(drawn, axis=1) >= 0).all()
    assert drawn.min() == LOW + 1
    assert drawn.max() == HIGH


def test_no_rows_and_no_shares() -> None:
    """An empty table gives borders all the same, and no shares give none."""
    nothing = np.array([], dtype=np.int64)
    quantiles = PrivateQuantiles((Fraction(1, 2),), 0, 1, Decimal(1))
    assert quantiles.draw(nothing, nothing, words_of(5)).tolist() == [1]
    none = PrivateQuantiles((), 0, 1, Decimal(1))
    assert none.draw(np.array([0]), np.array([3]), words_of(5)).tolist() == []


def test_counts_beyond_64_bits_do_not_overflow() -> None:
    """A share with many digits takes the ranks beyond 64 bits, where they stay exact."""
    share = Fraction(10**17 + 1, 3 * 10**17)
    quantiles = PrivateQuantiles((share,), 0, 10**6, Decimal(1))
    values = np.arange(0, 10**6, 1000)
    border = quantiles.draw(values, np.full(1000, 10**6), words_of(6))[0]
    assert 332_000 < border <= 333_000  # 333 values below it, of 333.33 that are wanted


@pytest.mark.parametrize(
    ("shares", "low", "high", "epsilon", "match"),
    [
        (("1/2", "1/2"), 0, 1, "1", "shares"),
        (("0",), 0, 1, "1", "shares"),
        (("1",), 0, 1, "1", "shares"),
        (("1/2",), 1, 1, "1", "bound"),
        (("1/2",), 0, 1, "0", "epsilon"),
    ],
)
def test_impossible_quantiles_are_refused(
    shares: tuple[str, ...], low: int, high: int, epsilon: str, match: str
) -> None:
    """Shares that do not ascend inside (0, 1), empty bounds and no budget are errors."""
    with pytest.raises(PlanError, match=match):
        PrivateQuantiles(tuple(map(Fraction, shares)), low, high, Decimal(epsilon))
