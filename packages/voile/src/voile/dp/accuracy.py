"""How far discrete Laplace noise goes: the budget and the accuracy, each from the other.

What it does: for noise Z with P(Z = z) proportional to q^|z|, q = e^(-1/t), answers which radius
holds with a confidence, and which scale or epsilon has a radius.  All in steps of a grid.

Two promises are told apart.  With two sides the noise stays within the radius in both directions:
P(|Z| <= r) >= c.  Then an upper end "value + r" is right with probability (1 + c)/2 or so.  With
one side only that is promised: P(Z <= r) >= c.

Claim: answers are exact.  P(|Z| > r) = 2 q^(r + 1) / (1 + q), and P(Z > r) is half of it; which of
two such numbers is larger is decided in exact arithmetic.  On a fine grid the radius tends to
t ln(sides / (2 (1 - c))), which for continuous noise of scale b = sensitivity/epsilon is the
-b ln(1 - c) of two sides, and b ln(1/(2 (1 - c))) of one.

Cost: a millisecond an answer.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Literal

from voile.dp.exact import decay, positive

__all__ = ["Sides", "epsilon_for", "radius", "scale_for"]

Sides = Literal[1, 2]

_SCALE_DIGITS = 40  # binary ones
_EPSILON_DIGITS = 12  # decimal ones


def radius(scale: Fraction, confidence: Decimal, sides: Sides = 2) -> int:
    """The smallest r >= 0 that noise of this scale keeps to with this confidence.

    Raises ``ValueError`` unless 0 <= confidence < 1.
    """
    if not 0 <= confidence < 1:
        raise ValueError("the confidence must be at least 0 and below 1")
    miss = 1 - Fraction(confidence)
    if not _exceeds(scale, 0, miss, sides):
        return 0
    low, high = 0, 1
    while _exceeds(scale, high, miss, sides):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _exceeds(scale, middle, miss, sides) else (low, middle)
    return high


def scale_for(radius: int, confidence: Decimal, sides: Sides = 2) -> Fraction:
    """The largest scale whose radius is at most ``radius``, to 12 digits and rounded down.

    Raises ``ValueError`` unless ``radius`` >= 0 and 0 < confidence < 1; with one side, 1/2 <
    confidence < 1, since noise of any scale is at most 0 half of the time.
    """
    if radius < 0 or not 1 - Fraction(sides, 2) < confidence < 1:
        raise ValueError("the radius must be at least 0, and the confidence within its limits")
    miss = 1 - Fraction(confidence)
    low, high = Fraction(0), Fraction(1)
    while not _exceeds(high, radius, miss, sides):
        low, high = high, 2 * high
    while high - low > high / 2**_SCALE_DIGITS:
        middle = (low + high) / 2
        low, high = (low, middle) if _exceeds(middle, radius, miss, sides) else (middle, high)
    return low


def epsilon_for(sensitivity: int, radius: int, confidence: Decimal, sides: Sides = 2) -> Decimal:
    """The smallest epsilon whose noise has this radius, to 12 digits and rounded up.

    ``sensitivity`` is in steps of the grid.  Noise of scale sensitivity/epsilon keeps the promise.
    Raises ``ValueError`` as ``scale_for`` does.
    """
    least = sensitivity / scale_for(radius, confidence, sides)
    up = Context(prec=_EPSILON_DIGITS, rounding=ROUND_CEILING)
    return up.divide(Decimal(least.numerator), Decimal(least.denominator))


def _exceeds(scale: Fraction, radius: int, miss: Fraction, sides: int) -> bool:
    """Whether the noise leaves the radius with a probability above ``miss``."""
    if scale == 0:
        return False

    def difference(digits: int) -> tuple[Fraction, Fraction]:
        low, high = decay(1 / scale, digits)
        far_low, far_high = decay((radius + 1) / scale, digits)
        return sides * far_low - miss * (1 + high), sides * far_high - miss * (1 + low)

    return positive(difference)
