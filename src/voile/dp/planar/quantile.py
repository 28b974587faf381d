"""The quantile of the standard normal distribution, compiled: one draw from one uniform one.

Source: M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied
Statistics 37 (1988), 477-484, whose coefficients these are: three quotients of polynomials, right
to 16 digits.

Cost: 5 to 10 ns.
"""

from __future__ import annotations

import math

from voile.compiled import njit

__all__ = ["normal_quantile"]

_MIDDLE, _TAIL = 0.425, 5.0
_NEAR = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_AWAY = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
     1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959,
     1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
     0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187,
     1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
     0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699,
     6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
     7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
     0.59983220655588793769, 1.0),
)  # fmt: skip
"""Coefficients of numerators and denominators, from the highest power down."""


@njit(cache=True, nogil=True, error_model="numpy")
def normal_quantile(probability: float) -> float:
    """The value that a standard normal variable stays below with a probability within (0, 1)."""
    centred = probability - 0.5
    if abs(centred) <= _MIDDLE:
        return centred * _quotient(_MIDDLE * _MIDDLE - centred * centred, _NEAR)
    tail = math.sqrt(-math.log(min(probability, 1 - probability)))
    size = _quotient(tail - 1.6, _AWAY) if tail <= _TAIL else _quotient(tail - _TAIL, _FAR)
    return math.copysign(size, centred)


@njit(cache=True, nogil=True, error_model="numpy")
def _quotient(x: float, terms: tuple[tuple[float, ...], tuple[float, ...]]) -> float:
    above, below = terms[0][0], terms[1][0]
    for i in range(1, 8):
        above, below = above * x + terms[0][i], below * x + terms[1][i]
    return above / below
