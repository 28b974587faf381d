"""Bounds of e^-x, binary digits of probabilities, coins and uniform integers."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.dp.exact import (
    _uniform_below,
    bernoulli,
    decay,
    leading_digits,
    positive,
    uniform_words,
)
from voile_base.randomness import Randomness
from voile_testing.statistics import FALSE_ALARM, p_value

rationals = st.fractions(min_value=Fraction(1, 10**9), max_value=500, max_denominator=10**9)


def fair(digits: int) -> tuple[Fraction, Fraction]:
    """1 / (1 + e): an irrational probability."""
    low, high = decay(Fraction(1), digits)
    return low / (1 + low), high / (1 + high)


@given(rationals, st.integers(5, 60))
def test_bounds_of_decay_enclose_it_closely(exponent: Fraction, digits: int) -> None:
    """Bounds lie on both sides of a value computed to 400 digits, and within 10^(2 - digits)."""
    low, high = decay(exponent, digits)
    wide = Context(prec=400)
    power = wide.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))
    exact = Fraction(wide.exp(power))
    assert low < exact < high
    assert high - low <= exact * (1 + exponent) * Fraction(10) ** (2 - digits)


def test_decay_of_nothing_is_one_and_of_much_is_nearly_nothing() -> None:
    """Exponent 0 has no error, and an absurd exponent ends in tiny bounds, not in an overflow."""
    assert decay(Fraction(0), 30) == (1, 1)
    low, high = decay(Fraction(10**40), 30)
    assert low == 0
    assert 0 < high < Fraction(1, 10**1000)


def test_digits_are_those_of_a_longer_computation() -> None:
    """Any number of binary digits is the beginning of any larger number of them."""
    long = leading_digits(fair, 4000)
    wide = Context(prec=1300)
    assert long == int(Fraction(wide.divide(1, wide.add(1, wide.exp(1)))) * 2**4000)
    for count in (0, 1, 64, 128, 1000):
        assert leading_digits(fair, count) == long >> (4000 - count)


def test_the_sign_of_a_tiny_difference_is_found() -> None:
    """Precision grows until a difference in the 300th digit shows."""
    near = Fraction(leading_digits(fair, 1000), 2**1000)  # below 1/(1 + e) by less than 2^-1000

    def above(digits: int) -> tuple[Fraction, Fraction]:
        low, high = fair(digits)
        return low - near, high - near

    def below(digits: int) -> tuple[Fraction, Fraction]:
        low, high = fair(digits)
        return near - high, near - low

    assert positive(above)
    assert not positive(below)


@pytest.mark.parametrize(("last", "shown"), [(-1, True), (1, False)])
def test_a_coin_reads_on_while_digits_agree(last: int, shown: bool) -> None:
    """A uniform number that has the coin's first 128 digits is told apart by the next word."""
    digits = leading_digits(fair, 192)
    words = [digits >> 128, digits >> 64 & (2**64 - 1), (digits & (2**64 - 1)) + last]
    rest = iter([*words, 5])
    assert bernoulli(fair, rest) is shown
    assert list(rest) == [5]


@pytest.mark.slow
def test_a_coin_has_its_probability() -> None:
    """10,000 tosses fit 1/(1 + e), and do not fit a probability 30 % off; false alarm 1e-6."""
    words = uniform_words(Randomness.seeded(1).key("coin"))
    heads = sum(bernoulli(fair, words) for _ in range(10_000))
    exact = float(fair(30)[0])
    assert p_value([heads, 10_000 - heads], [exact, 1 - exact]) > FALSE_ALARM
    assert p_value([heads, 10_000 - heads], [1.3 * exact, 1 - 1.3 * exact]) < FALSE_ALARM


def test_uniform_integers_use_the_first_bits_and_reject_the_rest() -> None:
    """Below 5, words that begin with 5, 6 or 7 are passed over; below 1 no word is needed."""
    words = iter([first << 61 | 1 for first in (5, 7, 6, 4, 0)])
    assert _uniform_below(5, words) == 4
    assert _uniform_below(1, words) == 0
    assert _uniform_below(5, words) == 0


def test_uniform_integers_beyond_a_word() -> None:
    """A limit of 70 bits joins two words, the first one leading."""
    words = iter([2**63, 0, 2**64 - 1, 2**64 - 1])
    assert _uniform_below(2**70, words) == 2**69
    assert _uniform_below(2**70, words) == 2**70 - 1


def test_uniform_integers_are_uniform() -> None:
    """7,000 draws below 7 fit the uniform law; false alarm 1e-6."""
    words = uniform_words(Randomness.seeded(2).key("integer"))
    drawn = [_uniform_below(7, words) for _ in range(7_000)]
    assert p_value([drawn.count(i) for i in range(7)], [1 / 7] * 7) > FALSE_ALARM
