"""How often codes stand in columns: one pass over the rows, and nothing as long as they are.

Many rows are counted by compiled loops, which read codes as narrow as they are; to load Numba for
few would take longer than NumPy's own counting, a few thousand rows at a time.

Cost: some 1 ns a row and column while the counts stay near the processor, up to 5 ns beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile_base.compiled import njit, pays

__all__ = ["Codes", "count_codes", "count_table"]

Codes = NDArray[np.integer[Any]]

_WORTH_LOADING, _PAIRS_WORTH_LOADING = 1 << 26, 1 << 25
"""Rows, and rows of pairs, for which NumPy takes as long as it takes to load Numba."""
_AT_ONCE = 1 << 15


def count_codes(codes: Codes, distinct: int) -> NDArray[np.int64]:
    """How often each code below ``distinct`` stands, shape (distinct,)."""
    if pays(len(codes), _WORTH_LOADING):
        counts = np.zeros(distinct, dtype=np.int64)
        _count(codes, counts)
        return counts
    return _in_parts(len(codes), distinct, lambda part: codes[part])


def count_table(first: Codes, second: Codes, distinct: int, size: int) -> Codes:
    """How often each pair of codes stands, shape (size,), pair (a, b) at ``a * distinct + b``.

    ``distinct`` is above all codes of the second column.
    """
    if pays(len(first), _PAIRS_WORTH_LOADING):
        counts: Codes = np.zeros(size, dtype=np.uint32 if len(first) < 1 << 32 else np.uint64)
        _count_pairs(first, second, distinct, counts)
        return counts
    return _in_parts(
        len(first), size, lambda part: first[part].astype(np.int64) * distinct + second[part]
    )


def _in_parts(rows: int, size: int, numbers: Callable[[slice], Codes]) -> NDArray[np.int64]:
    """How often each number below ``size`` stands; asked for those of some rows at a time."""
    counts = np.zeros(size, dtype=np.int64)
    step = max(_AT_ONCE, size)
    for start in range(0, rows, step):
        counts += np.bincount(numbers(slice(start, start + step)), minlength=size)
    return counts


@njit(cache=True, nogil=True)
def _count(codes: Codes, counts: NDArray[np.int64]) -> None:
    for code in codes:
        counts[code] += 1


@njit(cache=True, nogil=True)
def _count_pairs(first: Codes, second: Codes, distinct: int, counts: Codes) -> None:
    for row in range(len(first)):
        counts[np.int64(first[row]) * distinct + np.int64(second[row])] += np.uint32(1)
