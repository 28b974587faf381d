"""Exact numbers: a column of decimals as whole numbers of one unit.

Whether a range reaches ``e`` is decided by exact comparison: 0.3 - 0.1 >= 0.2 is false in binary
floating point and true for the decimals that a custodian reads in the table.  A float stands for
the shortest decimal that reads back as that float.

``ExactNumbers(units, scale)`` is the array ``units / 10**scale``.  Units are ``int64`` where all
of them stay below 2**61 in magnitude, so that differences and sums of gaps cannot overflow, and
Python integers (dtype ``object``) otherwise.

Cost: vectorized for integers and for floats with up to 15 significant digits; the rest goes
through ``decimal``, about a microsecond a value.  Call it on distinct values, not on rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.values import exact_decimal, json_number

__all__ = [
    "ExactNumbers",
    "decimals_of",
    "exact_decimal",
    "json_number",
    "plain_text",
    "units_of",
    "unscaled",
]

_INT64_SAFE = 2**61
_FLOAT_EXACT = 2**53
_MAX_FAST_SCALE = 15
_DIGITS = 100
_LARGEST = 10**_DIGITS
"""Sums of squares of as many such numbers as there can be rows are floats."""


@dataclass(frozen=True, eq=False)
class ExactNumbers:
    """The numbers ``units / 10**scale``; ``units`` has shape (n,), dtype int64 or object."""

    units: NDArray[Any]
    scale: int

    def __len__(self) -> int:
        return len(self.units)

    def __getitem__(self, index: Any) -> ExactNumbers:
        return ExactNumbers(np.atleast_1d(self.units[index]), self.scale)

    def rescaled(self, scale: int) -> ExactNumbers:
        """The same numbers in units of 10**-scale; ``scale`` is at least the present one."""
        factor = 10 ** (scale - self.scale)
        if factor == 1:
            return self
        return ExactNumbers(_narrow(self.units.astype(object) * factor), scale)

    def decimals(self) -> list[Decimal]:
        """The numbers as ``Decimal``, without trailing zeros."""
        return [unscaled(int(unit), self.scale) for unit in self.units]

    def floats(self, column: str) -> NDArray[np.float64]:
        """As floats, within a rounding; raises ``TableError`` where these could not be squared."""
        if self.units.dtype != object:
            return np.asarray(self.units.astype(np.float64) / 10.0**self.scale)
        unit = 10**self.scale
        if any(abs(number) > _LARGEST * unit for number in self.units):
            msg = (
                f"column {column!r} holds a number beyond 1e{_DIGITS}, from which no distance can "
                'be computed; correct it, or declare bounds with outside = "clamp"'
            )
            raise TableError(msg)
        return np.array([number / unit for number in self.units], dtype=np.float64)

    def texts(self) -> list[str]:
        """The numbers in plain decimal notation."""
        return [format(number, "f") for number in self.decimals()]

    @classmethod
    def of(cls, numbers: Iterable[Decimal | int | str] | NDArray[Any]) -> ExactNumbers:
        """Exact numbers from integers, floats, decimals or decimal texts, all finite."""
        if isinstance(numbers, np.ndarray):
            if numbers.dtype.kind in "iu":
                return cls(_narrow(numbers), 0)
            if numbers.dtype.kind == "f":
                return _of_floats(numbers.astype(np.float64))
        return _of_decimals([Decimal(number) for number in numbers])


def units_of(number: Decimal, scale: int) -> int:
    """``number`` in units of 10**-scale; raises ``ValueError`` where it has more decimals."""
    # Arithmetic of ``Decimal`` rounds to the context's 28 digits; that of integers does not.
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        msg = "the number is not finite"
        raise ValueError(msg)
    unit = int("".join(map(str, digits)))
    shift = exponent + scale
    factor: int = 10 ** abs(shift)
    whole, rest = (unit * factor, 0) if shift >= 0 else divmod(unit, factor)
    if rest:
        msg = "the number has more decimals than the scale"
        raise ValueError(msg)
    return -whole if sign else whole


def unscaled(unit: int, scale: int) -> Decimal:
    """``unit / 10**scale`` without trailing zeros and never in exponent notation."""
    while scale > 0 and unit % 10 == 0:
        unit, scale = unit // 10, scale - 1
    return Decimal((int(unit < 0), tuple(map(int, str(abs(unit)))), -scale))


def decimals_of(number: Decimal) -> int:
    """How many digits stand behind the decimal point, trailing zeros not counted."""
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return 0
    trailing = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return max(0, -exponent - trailing) if any(digits) else 0


def plain_text(number: Decimal) -> str:
    """A decimal in plain notation without trailing zeros behind the point."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _of_floats(numbers: NDArray[np.float64]) -> ExactNumbers:
    # i / 10**s is the double nearest to that decimal as long as i < 2**53 and s <= 22: both
    # operands are exact, and division is correctly rounded.
    largest = float(np.abs(numbers).max(initial=0.0))
    for scale in range(_MAX_FAST_SCALE + 1):
        power = 10.0**scale
        if largest * power >= _FLOAT_EXACT:
            break
        units = np.rint(numbers * power)
        if np.array_equal(units / power, numbers):
            return ExactNumbers(_narrow(units.astype(np.int64)), scale)
    shortest = [_shortest(number) for number in numbers.tolist()]
    scale = max((decimals for _, decimals in shortest), default=0)
    powers = [10**more for more in range(scale + 1)]
    units = np.empty(len(numbers), dtype=object)
    units[:] = [unit * powers[scale - decimals] for unit, decimals in shortest]
    return ExactNumbers(_narrow(units), scale)


def _shortest(number: float) -> tuple[int, int]:
    """The shortest decimal that reads back as a double: units, and how many decimals they are."""
    digits, _, exponent = repr(number).partition("e")
    whole, _, behind = digits.partition(".")
    behind = behind.rstrip("0")
    decimals = len(behind) - int(exponent or 0)
    unit = int(whole + behind)
    return (unit, decimals) if decimals > 0 else (unit * 10**-decimals, 0)


def _of_decimals(numbers: Sequence[Decimal]) -> ExactNumbers:
    scale = max((decimals_of(number) for number in numbers), default=0)
    units = np.empty(len(numbers), dtype=object)
    units[:] = [units_of(number, scale) for number in numbers]
    return ExactNumbers(_narrow(units), scale)


def _narrow(units: NDArray[np.generic]) -> NDArray[Any]:
    """Units as int64 where safe, as Python integers where not."""
    if len(units) == 0:
        return units.astype(np.int64)
    if int(units.min()) > -_INT64_SAFE and int(units.max()) < _INT64_SAFE:
        return units.astype(np.int64)
    return units.astype(object)
