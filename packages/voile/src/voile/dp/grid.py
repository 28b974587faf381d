"""A power-of-two grid on which numbers stand while noise is added.

What it does: rounds exact numbers to whole multiples of 2^exponent, so that noise can be drawn
from the integers, and turns them back without loss.

How rounding is accounted: a number becomes floor(x / step + 1/2), halves upwards.  For numbers
that differ by at most D, the results differ by at most ceil(D / step) steps: with x <= y <= x + D
the rounded y is at most floor(x/step + 1/2 + ceil(D/step)).  So the sensitivity in steps is
``steps(D)``, with nothing to add.  (Rounding halves to the even would break this: 0.5 and 1.5 are
one apart and become 0 and 2.)  Rounding never swaps two numbers, so numbers clamped to [low, high]
stay within the rounded ends: there the sensitivity is unit(high) - unit(low), which may be less.

A grid is fine enough when one step is at most 2^-10 of the scale of the noise: rounding then
adds an error below a thousandth of the noise.  It is chosen from public facts only.

Cost: some 10 ns a number where 64 bits hold the products, a microsecond elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile_base.errors import PlanError

__all__ = ["Grid"]

_FINENESS = 10
_SAFE = 2**62


@dataclass(frozen=True)
class Grid:
    """All whole multiples of 2**exponent."""

    exponent: int

    @classmethod
    def finer_than(cls, scale: Fraction) -> Self:
        """The coarsest grid whose step is at most ``scale`` / 2**10; ``scale`` is above 0."""
        bits = scale.numerator.bit_length() - scale.denominator.bit_length()
        power = bits if scale >= _power(bits) else bits - 1  # 2**power <= scale < 2**(power + 1)
        return cls(power - _FINENESS)

    @property
    def step(self) -> Fraction:
        """The distance between neighbours."""
        return _power(self.exponent)

    def unit(self, number: Fraction | Decimal | int) -> int:
        """The multiple nearest to a number, in steps; halves are rounded upwards."""
        return (Fraction(number) / self.step + Fraction(1, 2)).__floor__()

    def steps(self, distance: Fraction | Decimal | int) -> int:
        """By how many steps two numbers at most ``distance`` apart differ, once rounded."""
        return (Fraction(distance) / self.step).__ceil__()

    def number(self, unit: int) -> Decimal:
        """The number of a multiple, exactly."""
        if self.exponent >= 0:
            return Decimal(unit << self.exponent)
        # 2^-e = 5^e / 10^e
        digits = tuple(map(int, str(abs(unit) * 5**-self.exponent)))
        return Decimal((int(unit < 0), digits, self.exponent))

    def units(self, numbers: ExactNumbers) -> NDArray[np.int64]:
        """The multiples nearest to n numbers, shape (n,), in steps.

        Raises ``PlanError`` where one is 2**62 steps or more away from 0.
        """
        # number = units / 10^scale = (units * factor / divisor) steps
        factor = 2 ** max(-self.exponent, 0)
        divisor = 10**numbers.scale * 2 ** max(self.exponent, 0)
        if not len(numbers):
            return np.empty(0, dtype=np.int64)
        largest = max(-int(numbers.units.min()), int(numbers.units.max()))
        if largest * factor // divisor + 1 >= _SAFE:
            msg = "the numbers are too large for a grid this fine; allow more noise or clamp them"
            raise PlanError(msg)
        units: NDArray[Any] = numbers.units
        if units.dtype != np.int64 or 2 * divisor * factor >= _SAFE:
            units = units.astype(object)
        whole, rest = units // divisor, units % divisor
        rounded: NDArray[np.int64] = (
            whole * factor + (2 * factor * rest + divisor) // (2 * divisor)
        ).astype(np.int64)
        return rounded


def _power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent
