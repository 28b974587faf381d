"""Powers of e for many numbers at once, in a loop that compilers turn into vector instructions.

Algorithm: e^x = 2^n e^r for a whole number n and |r| <= log(2) / 2; the first factor is written as
the exponent of a floating-point number, the second is a sum of powers of r up to the 11th.

Claim: within 1e-13 of the power, relative to it, for x from -700 to 700; 0 below -709.
"""

from __future__ import annotations

import math

import numpy as np

from voile_base.compiled import njit

__all__ = ["exponentials"]

_HALVINGS, _LOG_2 = 1 / math.log(2), math.log(2)
_FAINTEST = -745.0
_C2, _C3, _C4, _C5, _C6 = (1 / math.factorial(n) for n in range(2, 7))
_C7, _C8, _C9, _C10, _C11 = (1 / math.factorial(n) for n in range(7, 12))


@njit(cache=True, nogil=True)
def exponentials(values, room, count):  # type: ignore[no-untyped-def]
    """Put e^x in the place of each x among the first ``count`` of values (k,), at most 700.

    ``room`` (k,) of int64 is to work in.
    """
    scale = room.view(np.float64)
    for k in range(count):
        power = max(values[k], _FAINTEST) * _HALVINGS
        whole = math.floor(power + 0.5)
        r = (power - whole) * _LOG_2
        high = _C6 + r * (_C7 + r * (_C8 + r * (_C9 + r * (_C10 + r * _C11))))
        values[k] = 1 + r * (1 + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * high)))))
        room[k] = np.int64(max(whole, -1023) + 1023) << 52
    for k in range(count):
        values[k] *= scale[k]
