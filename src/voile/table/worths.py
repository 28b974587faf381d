"""What values add to a score, brought to one unit for all columns, so that scores are whole."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.table.protocol import Worth

__all__ = ["in_one_unit"]

_SAFE = 2**61


def in_one_unit(worths: Sequence[Worth]) -> tuple[list[NDArray[Any]], int]:
    """The units of each column over one denominator, and that denominator.

    They are ``int64`` where every sum of one unit a column fits, and Python integers where not.
    """
    common = lcm(*(worth.denominator for worth in worths))
    units = [worth.units.astype(object) * (common // worth.denominator) for worth in worths]
    if sum(max(abs(int(each.min())), abs(int(each.max()))) for each in units) < _SAFE:
        units = [each.astype(np.int64) for each in units]
    return units, common
