"""Whether the rows of a released file stand in the order of the original; private.

Who knows at which place a person stood, such as from a list in the order of names, finds the row by
its place, whatever its columns show.  A file of as many rows is taken to be in order where a column
agrees with the original's at the same places more than it does some places off: files that were
sorted agree there, too.  Of a file with more or fewer rows ``subsequence`` tells.

Cost: some 20 comparisons a row and column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from voile.audit.recognition import Recognised
from voile.audit.subsequence import columns_in_subsequence
from voile.release.reading.rows import People, distinct_texts_of, floats_of

__all__ = ["columns_in_order", "order_notices"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_FEWEST = 30
"""Rows from which on an order tells something."""
_OFF = 10
"""Places off, to both sides, at which columns are compared."""
_BEYOND = 6
"""Standard deviations by which columns agree better at the same places."""


def order_notices(recognised: Sequence[Recognised], original: People) -> list[str]:
    """A sentence without a full stop, where rows stand in the order of the original."""
    names = columns_in_order(recognised, original)
    if not names:
        return []
    told = f"{', '.join(map(repr, names))} tell{'s' * (len(names) == 1)}"
    return [
        f"rows stand in the order of the original, as {told}: whoever "
        "knows a person's place there finds the row, and no attack looks at that; shuffle the rows"
    ]


def columns_in_order(recognised: Sequence[Recognised], original: People) -> list[str]:
    """The columns that agree with those of the original row by row."""
    rows = original.frame.height
    shown = [one for one in recognised if one.columns]
    if rows < _FEWEST or any(len(one.columns[0]) < _FEWEST for one in shown):
        return []
    if any(len(one.columns[0]) != rows for one in shown):
        return columns_in_subsequence(shown, original)
    return [one.name for one in shown if _agrees(one, original)]


def _agrees(one: Recognised, original: People) -> bool:
    own = original.column(one.name)
    if one.how in {"interval", "averaged", "noisy"}:
        middle = np.mean([floats_of(column) for column in one.columns], axis=0)
        return _peaks(*(_standard_ranks(side) for side in (floats_of(own), middle)))
    if one.how == "set":
        return False
    texts, place = distinct_texts_of(own)
    codes = {text: code for code, text in enumerate(texts)}
    cells, cell = distinct_texts_of(one.columns[0])
    known = np.array([codes.get(text, -1) for text in cells], dtype=np.int64)
    return _same(place, known[cell])


def _same(own: Indices, shown: Indices) -> bool:
    """Whether values are equal more often at the same places."""
    at, off = _at_and_off(lambda by: float(np.equal(own, np.roll(shown, by)).mean()))
    share = min(max(float(np.mean(off)), 1 / len(own)), 1.0)
    return bool(at - max(off) > _BEYOND * np.sqrt(share * (1 - share) / len(own)))


def _peaks(own: Floats, shown: Floats) -> bool:
    """Whether standardized numbers go together at the same places."""
    at, off = _at_and_off(lambda by: float((own * np.roll(shown, by)).mean()))
    return bool(at - max(off) > _BEYOND / np.sqrt(len(own)))


def _at_and_off(agreement: Callable[[int], float]) -> tuple[float, list[float]]:
    """How well columns agree at the same places, and some places off."""
    off = [by for by in range(-_OFF, _OFF + 1) if by]
    return agreement(0), [agreement(by) for by in off]


def _standard_ranks(numbers: Floats) -> Floats:
    """Ranks with the mean 0 and the variance 1, equal ones alike; 0 where nothing is known."""
    found = np.zeros(len(numbers))
    there = np.isfinite(numbers)
    if not there.any():
        return found
    _, place, count = np.unique(numbers[there], return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - count / 2)[place]
    found[there] = (ranks - ranks.mean()) / (ranks.std() or 1.0)
    return found
