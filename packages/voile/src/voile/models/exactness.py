"""Exact sums and comparisons for models, and the checks of their parameters.

Whether a group is valid must not depend on the order in which numbers are added: a publisher and
the check of its release count the same rows in different orders.  Models therefore measure
with whole numbers, int64 where nothing can overflow and Python integers otherwise, and compare
fractions by floats only where these are far enough apart.

Cost: O(c) for c cells; a comparison near its limit costs a microsecond.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import PlanError
from voile_base.values.exact import usable_number

__all__ = ["at_most", "decimal_parameter", "sums", "whole_numbers", "whole_parameter"]

_INT64_SAFE = 2**62
_FLOAT_ERROR = 1e-12
"""Far above what rounding two products can do, far below what is common."""


def whole_numbers(counts: NDArray[np.int64], largest: int) -> NDArray[Any]:
    """Counts as whole numbers whose sums and products may reach ``largest``."""
    return counts if largest < _INT64_SAFE else counts.astype(object)


def sums(values: NDArray[Any], group: NDArray[np.int64], groups: int) -> NDArray[Any]:
    """Sum of the values of each group, shape (groups,); ``group`` ascends and misses none."""
    if not len(values):
        return values[:0]
    total: NDArray[Any] = np.add.reduceat(values, np.searchsorted(group, np.arange(groups)))
    return total


def at_most(
    numerator: NDArray[Any], denominator: NDArray[Any], limit: Decimal
) -> NDArray[np.bool_]:
    """Which fractions are at most ``limit``, exactly; whole numbers, denominators above 0."""
    exact = Fraction(limit)
    # No quotient of counts comes near 2^200, so a larger limit is no other limit.
    product = denominator.astype(np.float64) * float(min(exact, Fraction(2) ** 200))
    difference = numerator.astype(np.float64) - product
    answer = np.asarray(difference <= 0, dtype=np.bool_)
    for near in np.flatnonzero(np.abs(difference) <= _FLOAT_ERROR * (1 + product)).tolist():
        scaled = int(numerator[near]) * exact.denominator
        answer[near] = scaled <= int(denominator[near]) * exact.numerator
    return answer


def whole_parameter(name: str, value: object, least: int, meaning: str) -> None:
    """Raise ``PlanError`` unless a parameter is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        msg = f"{name} must be a whole number of at least {least}: {meaning}"
        raise PlanError(msg)


def decimal_parameter(name: str, value: object, allowed: str) -> Decimal:
    """A parameter as the decimal that a reader sees; raises ``PlanError`` for no finite number."""
    exact = usable_number(value, texts=True)
    if exact is None:
        msg = f"{name} must be {allowed}"
        raise PlanError(msg)
    return exact
