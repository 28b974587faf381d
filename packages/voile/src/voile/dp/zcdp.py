"""Zero-concentrated differential privacy: what noise of a variance costs, and epsilon of a rho.

What it does: rho of Gaussian noise on a vector, as an exact fraction; for the sum of all rhos and a
delta, an epsilon such that everything together is (epsilon, delta)-differentially private; and the
largest rho that an epsilon and a delta allow.

Source: Bun and Steinke, "Concentrated differential privacy" (TCC 2016); Canonne, Kamath and
Steinke, "The discrete Gaussian for differential privacy" (NeurIPS 2020), Theorem 4 and Proposition
12 (the conversion).

Claim: rhos add up exactly, also where later mechanisms are chosen in the light of what earlier ones
showed.  For every alpha > 1, rho-zCDP is (epsilon, delta)-differentially private with

    epsilon = rho alpha + ln(1 - 1/alpha) - (ln delta + ln alpha) / (alpha - 1).

Any alpha gives an upper bound, so the best one is looked for in floating point, and the bound is
computed at it in decimal arithmetic, rounded upwards.  Sums of rho are converted once: the sum of
converted epsilons is far larger.

Group privacy: mechanisms that are rho-zCDP for one row are m^2 rho for m rows.  A vector of numbers
is charged once, by its squared sensitivity: m counts that a person changes by 1 each have m.

Cost: some 200 microseconds a conversion.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

__all__ = ["epsilon_of", "rho_within"]

_UP = Context(prec=50, rounding=ROUND_CEILING, traps=[])
_DOWN = Context(prec=50, rounding=ROUND_FLOOR, traps=[])
_STEPS, _WIDEST = 200, 60.0
_RHO_DIGITS = 12


def _rho_of(squared_sensitivity: Fraction | int, variance: Fraction | int) -> Fraction:
    """Rho of discrete Gaussian noise of a ``variance`` above 0 on each number of a vector."""
    return Fraction(squared_sensitivity) / (2 * Fraction(variance))


def epsilon_of(rho: Fraction, delta: Decimal) -> Decimal:
    """An epsilon of ``rho`` >= 0 at ``delta``, rounded upwards; infinite for a rho at delta 0.

    Raises ``ValueError`` unless 0 <= delta < 1.
    """
    if rho < 0 or not 0 <= delta < 1:
        msg = "rho must be at least 0, and delta at least 0 and below 1"
        raise ValueError(msg)
    if rho == 0:
        return Decimal(0)
    if delta == 0:
        return Decimal("Infinity")
    above = Decimal(math.exp(_best(float(rho), float(delta))))  # alpha - 1
    alpha = 1 + above
    grown = _UP.multiply(_up(rho), alpha)
    shrunk = _UP.ln(_UP.divide(above, alpha)).next_plus(_UP)
    logs = _DOWN.add(_DOWN.ln(delta).next_minus(_DOWN), _DOWN.ln(alpha).next_minus(_DOWN))
    paid = _UP.divide(-logs, above) if logs < 0 else -_DOWN.divide(logs, above)
    return max(_UP.add(_UP.add(grown, shrunk), paid), Decimal(0))


def rho_within(epsilon: Decimal, delta: Decimal) -> Fraction:
    """The largest rho, to 12 digits and rounded down, whose epsilon at ``delta`` is within one.

    Raises ``ValueError`` unless epsilon > 0 and 0 < delta < 1.
    """
    if not (epsilon > 0 and 0 < delta < 1):
        msg = "epsilon must be above 0, and delta above 0 and below 1"
        raise ValueError(msg)
    high = Fraction(1)
    while epsilon_of(high, delta) <= epsilon:
        high *= 2
    while epsilon_of(high, delta) > epsilon:
        high /= 2
    unit = Fraction(1, 10**_RHO_DIGITS) * Fraction(10) ** math.floor(math.log10(high))
    low, top = int(high / unit), int(2 * high / unit) + 1
    while top - low > 1:
        middle = (low + top) // 2
        low, top = (middle, top) if epsilon_of(middle * unit, delta) <= epsilon else (low, middle)
    return low * unit


def _best(rho: float, delta: float) -> float:
    """ln(alpha - 1) at which the bound is smallest, nearly: it falls and then rises."""

    def bound(log_above: float) -> float:
        above = math.exp(log_above)
        alpha = 1 + above
        return (
            rho * alpha + log_above - math.log(alpha) - (math.log(delta) + math.log(alpha)) / above
        )

    low, high = -_WIDEST, _WIDEST
    for _ in range(_STEPS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return (low + high) / 2


def _up(number: Fraction) -> Decimal:
    return _UP.divide(Decimal(number.numerator), Decimal(number.denominator))
