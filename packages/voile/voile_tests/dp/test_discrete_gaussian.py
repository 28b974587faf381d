"""The law of the discrete Gaussian sampler, and what a draw depends on."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from voile.dp import discrete_noise
from voile.dp.discrete_noise import DiscreteGaussian, DiscreteLaplace
from voile_base.errors import PlanError
from voile_base.randomness import Key, Randomness
from voile_testing.statistics import FALSE_ALARM, p_value

SIZE = 200_000


def key_of(seed: int) -> Key:
    return Randomness.seeded(seed).key("noise")


def drawn(variance: Fraction, size: int = SIZE, seed: int = 1) -> NDArray[np.int64]:
    """Draws for cells 0, 1, 2, ..."""
    return DiscreteGaussian(variance).draw(np.arange(size, dtype=np.uint64), key_of(seed))


def fit(values: NDArray[np.int64], variance: float) -> float:
    """P-value of draws against the law of a variance, cell by cell, both tails pooled."""
    reach = max(2, int(8 * math.sqrt(variance)))
    z = np.arange(-reach - 1, reach + 2)
    law = np.exp(-(z**2) / (2 * variance))
    far = np.exp(-((reach + 2 + np.arange(10 * reach)) ** 2) / (2 * variance)).sum()
    law[[0, -1]] += far
    counts = np.bincount(np.clip(values, -reach - 1, reach + 1) + reach + 1, minlength=len(z))
    return p_value(counts, law / law.sum())


@pytest.mark.parametrize("variance", ["1/5", "1", "22/7", "50", "10001/3"])
def test_the_law_is_exact_and_no_other(variance: str) -> None:
    """200,000 draws fit each integer's probability, and not those of a variance 10 % off; 1e-6."""
    exact = Fraction(variance)
    values = drawn(exact)
    assert fit(values, float(exact)) > FALSE_ALARM
    assert fit(values, 1.1 * float(exact)) < FALSE_ALARM
    assert fit(values, 0.9 * float(exact)) < FALSE_ALARM


@pytest.mark.slow
def test_a_large_variance_is_that_of_the_normal_law() -> None:
    """Kolmogorov-Smirnov of 200,000 draws of a deviation of 5,000; 1e-6, and 2 % off is found."""
    values = drawn(Fraction(5_000**2)) + np.random.default_rng(1).uniform(-0.5, 0.5, SIZE)
    assert stats.kstest(values / 5_000, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(values / 5_100, "norm").pvalue < FALSE_ALARM


def slow(variance: Fraction, word: int, key: Key) -> int:
    """One draw by the definition: coins compared digit by digit with e^-x by its series."""
    scale = math.isqrt(int(variance)) + 1
    for turn in range(1_000):
        here = key.within(f"{turn}")
        words = np.array([word], dtype=np.uint64)
        laplace = DiscreteLaplace((Fraction(scale),))
        proposed = int(laplace.draw(np.zeros(1, np.int64), words, here.within("laplace"))[0])
        exponent = (abs(proposed) - variance / scale) ** 2 / (2 * variance)
        coin = int(here.within("accept").blocks(words, 0)[0, 0])
        if Fraction(coin + 1, 2**64) <= partial_exponential(exponent):
            return proposed
    raise AssertionError


def partial_exponential(exponent: Fraction) -> Fraction:
    """e^-exponent to 80 digits, by 1 / (its series) with a remainder below them."""
    total, term, number = Fraction(0), Fraction(1), 0
    while term * 10**90 > total + 1 or number < exponent:
        total += term
        number += 1
        term = term * exponent / number
    return 1 / (total + term)


@pytest.mark.parametrize("variance", ["3/2", "40", "1000"])
def test_draws_equal_those_of_a_slow_sampler_in_fractions(variance: str) -> None:
    """Twenty values are the same to the bit."""
    exact = Fraction(variance)
    quick = drawn(exact, 20, seed=7)
    assert quick.tolist() == [slow(exact, word, key_of(7)) for word in range(20)]


@pytest.mark.slow
def test_a_coin_that_agrees_in_all_digits_goes_on_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """With words of two digits the slow path decides often, and the law stays the same; 1e-6."""
    monkeypatch.setattr(discrete_noise, "_WORD", 2)
    real = Key.blocks

    def short(self: Key, words: NDArray[np.uint64], counter: int) -> NDArray[np.uint64]:
        blocks = real(self, words, counter)
        return blocks >> np.uint64(62) if self in accepting else blocks

    accepting: list[Key] = []
    within = Key.within

    def noted(self: Key, *purpose: str) -> Key:
        key = within(self, *purpose)
        if purpose == ("accept",):
            accepting.append(key)
        return key

    monkeypatch.setattr(Key, "within", noted)
    monkeypatch.setattr(Key, "blocks", short)
    values = drawn(Fraction(3), 20_000)
    assert fit(values, 3.0) > FALSE_ALARM
    assert fit(values, 3.6) < FALSE_ALARM


def test_a_draw_is_a_function_of_the_key_and_the_word() -> None:
    """Whatever stands beside a cell, and in whatever order, it draws the same."""
    noise = DiscreteGaussian(Fraction(30))
    words = np.arange(1_000, dtype=np.uint64)
    whole = noise.draw(words, key_of(3))
    order = np.random.default_rng(5).permutation(1_000)
    assert noise.draw(words[order], key_of(3)).tolist() == whole[order].tolist()
    assert noise.draw(words[500:], key_of(3)).tolist() == whole[500:].tolist()
    assert (noise.draw(words, key_of(4)) != whole).any()


def test_no_variance_is_no_noise_and_no_cells_are_none() -> None:
    """The ends: nothing is drawn."""
    assert drawn(Fraction(0), 5).tolist() == [0] * 5
    assert drawn(Fraction(9), 0).tolist() == []


@pytest.mark.parametrize("variance", [Fraction(-1), Fraction(2**40)])
def test_variances_out_of_range_are_refused(variance: Fraction) -> None:
    """The message says what may be."""
    with pytest.raises(PlanError, match="at least 0 and below"):
        DiscreteGaussian(variance)
