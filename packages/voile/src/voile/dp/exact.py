"""Exact decisions about probabilities that no binary fraction equals.

What it does: bounds e^-x for rational x as tightly as asked, and from such bounds decides what a
mechanism needs to know: the binary digits of a probability, the outcome of a coin, the sign of a
difference.  Precision grows until the decision is certain, so that no decision is rounded.

Guarantee: every answer is the exact one.  ``Decimal.exp`` is correctly rounded, so that the true
value lies strictly between its neighbours.

Why it ends: a probability is given here as bounds that shrink to a point around it.  Comparing
it with another number ends if the two differ.  Mechanisms compare rational numbers with rational
functions of e^-x, x rational and not 0; these are irrational (Lindemann), so the two differ.

Randomness is an iterator over independent uniform words of 64 bits; each is used once.

Cost: about 10 microseconds a bound at 40 digits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from voile_base.randomness import Key

__all__ = [
    "Bounds",
    "bernoulli",
    "decay",
    "leading_digits",
    "positive",
    "uniform_below",
    "uniform_words",
]

Bounds = Callable[[int], tuple[Fraction, Fraction]]
"""From a number of decimal digits to a lower and an upper bound; more digits, closer bounds."""

WORD = 64
_GUARD = 20
_START = 40
_AT_ONCE = 8


def decay(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Lower and upper bound of e^-exponent, exponent >= 0, to some ``digits`` decimal digits.

    What is below 10**-(10 digits + 1000) is bounded from below by 0.
    """
    if exponent == 0:
        return Fraction(1), Fraction(1)
    least = -(1000 + 10 * digits)  # keeps the denominators of the answer within reason
    down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=least, traps=[])
    up = Context(prec=digits, rounding=ROUND_CEILING, Emin=least, traps=[])
    numerator, denominator = Decimal(-exponent.numerator), Decimal(exponent.denominator)
    low = down.next_minus(down.exp(down.divide(numerator, denominator)))
    high = up.next_plus(up.exp(up.divide(numerator, denominator)))
    return max(Fraction(low), Fraction(0)), min(Fraction(high), Fraction(1))


def leading_digits(probability: Bounds, count: int) -> int:
    """floor(p 2**count): the first ``count`` binary digits of a probability p below 1."""
    digits = count // 3 + _GUARD
    while True:
        low, high = (int(bound * (1 << count)) for bound in probability(digits))
        if low == high:
            return low
        digits *= 2


def positive(difference: Bounds) -> bool:
    """Whether a number that is not 0 is above 0."""
    digits = _START
    while True:
        low, high = difference(digits)
        if low > 0 or high < 0:
            return low > 0
        digits *= 2


def bernoulli(probability: Bounds, words: Iterator[int]) -> bool:
    """True with exactly the given probability p, 0 < p < 1.

    The digits of a uniform number u, drawn as far as needed, are compared with those of p: u < p.
    """
    count, drawn = 0, 0
    while True:
        drawn = (drawn << WORD) | next(words)
        count += WORD
        expected = leading_digits(probability, count)
        if drawn != expected:
            return drawn < expected


def uniform_words(key: Key) -> Iterator[int]:
    """The words of the key's stream, in order."""
    for first in itertools.count(0, _AT_ONCE):
        yield from key.stream(_AT_ONCE, first).tolist()


def uniform_below(limit: int, words: Iterator[int]) -> int:
    """A uniform integer from 0 to ``limit`` - 1, by rejection; ``limit`` is at least 1."""
    length = (limit - 1).bit_length()
    while True:
        drawn = 0
        for _ in range(-(-length // WORD)):
            drawn = (drawn << WORD) | next(words)
        drawn >>= -length % WORD
        if drawn < limit:
            return drawn
