"""Whether the rows of a released file stand in the order of the original; private.

Who knows at which place a person stood, such as from a list in the order of names, finds the row by
its place, whatever its columns show.  A file of as many rows is taken to be in order where a column
agrees with the original's at the same places more than it does some places off: files that were
sorted agree there, too.  Of a file with more or fewer rows ``subsequence`` tells.

Cost: some 20 comparisons a row and column.

Whether the rows of a released file stand in the original's order, some being left out; private.

Who leaves rows out, or writes some twice, leaves the others in their order, and a place in the
original still tells about where a row stands.  The rows that fit each other in order, the longest
common subsequence, are counted beside that of the same rows shuffled; rows of which a column was
sorted are shuffled among those that show the same there.

Of a large table a window is looked at: ``_ROWS`` rows of the file from its beginning, and about the
part of the original that they are of; a file that begins elsewhere is not seen.

Source: Hunt and Szymanski, "A fast algorithm for computing longest common subsequences" (CACM 20,
1977), for the problem; computed row by row here, all shuffles at once.

Cost: rows of the file times rows of the original within the window, for each shuffle and column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from voile.audit.recognition import Recognised
from voile.disclosure.foreign import Perturbed
from voile.disclosure.interval import named_values
from voile.release.reading import People, distinct_texts_of, floats_of, narrow_texts_of
from voile.table.codes import code_type, look_up
from voile_base.randomness import Randomness

__all__ = ["order_notices"]


Mask = NDArray[np.bool_]

_ROWS, _OWN, _MOST = 300, 3000, 20_000
_SHUFFLES = 9
_BEYOND = 0.05
"""Of the file's rows: by how much more of them fit in order than in any shuffle."""


def _columns_in_subsequence(recognised: Sequence[Recognised], original: People) -> list[str]:
    """The columns that fit the original's in order, all together or each by itself."""
    shown = [one for one in recognised if one.columns]
    if not shown:
        return []
    rows, people = len(shown[0].columns[0]), original.frame.height
    few = min(rows, _ROWS)
    most = min(people, max(_OWN, min(2 * few * people // rows, _MOST)))
    fits = {one.name: _fits(one, original, few, most) for one in shown}
    fits = {name: mask for name, mask in fits.items() if not mask.all()}
    runs = {one.name: _sorted_runs(one, few) for one in shown}
    if not fits:
        return []
    sorted_by = [one for one in runs.values() if one is not None]
    if _in_order(np.logical_and.reduce(list(fits.values())), sorted_by):
        return list(fits)
    return [n for n in fits if runs[n] is None and _in_order(fits[n], sorted_by)]


def _fits(one: Recognised, original: People, few: int, most: int) -> Mask:
    """Which of the first rows of the file fit which of the original's, shape (few, most)."""
    own = original.column(one.name)[:most]
    cells = [column[:few] for column in one.columns]
    if one.how == "interval":
        low, high = map(floats_of, cells)
        numbers = floats_of(own)
        outside = (numbers < low[:, np.newaxis]) | (numbers > high[:, np.newaxis])
        return ~outside
    if isinstance(one.shown, Perturbed):
        apart = np.abs(floats_of(own) - floats_of(cells[0])[:, np.newaxis])
        return ~(apart > 2 * one.shown.scale)
    texts, place = distinct_texts_of(own)
    labels, cell = distinct_texts_of(cells[0])
    named = [named_values(label) if one.how == "set" else (label,) for label in labels]
    held = [[n is None or text in (set(n) - {None}) for text in texts] for n in named]
    return np.array(held, dtype=np.bool_).reshape(len(labels), len(texts))[cell][:, place]


def _sorted_runs(one: Recognised, few: int) -> NDArray[np.int64] | None:
    """The runs of equal cells of a column that is sorted in the file; None for all others."""
    if one.how == "set":
        return None
    texts, place = distinct_texts_of(one.columns[0][:few])
    numbers = floats_of(one.columns[0][:few])
    ranks = np.argsort(np.argsort([text or "" for text in texts]))[place]
    for order in (ranks, -ranks, numbers, -numbers):
        if (np.diff(order) >= 0).all() and len(texts) > 1:
            runs: NDArray[np.int64] = np.cumsum(np.diff(place, prepend=place[0]) != 0)
            return runs
    return None


def _in_order(fits: Mask, runs: Sequence[NDArray[np.int64]]) -> bool:
    """Whether more rows fit in order than in any shuffle."""
    rows = len(fits)
    draws = Randomness.seeded(0).key("shuffles").generator()
    orders = [np.arange(rows)]
    orders += [np.lexsort((draws.uniform(size=rows), *runs)) for _ in range(_SHUFFLES)]
    found = _longest(fits, np.array(orders))
    return bool(found[0] > found[1:].max() + max(_BEYOND * rows, 4 * found[1:].std()))


def _longest(fits: Mask, orders: NDArray[np.intp]) -> NDArray[np.int64]:
    """The length of the longest common subsequence for each order of the file's rows."""
    length = np.zeros((len(orders), len(fits) + 1), dtype=np.int64)
    for own in fits.T:
        if own.any():
            better = np.maximum(length[:, 1:], length[:, :-1] + own[orders])
            length[:, 1:] = np.maximum.accumulate(better, axis=1)
    return length[:, -1]


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_FEWEST = 30
"""Rows from which on an order tells something."""
_OFF = 10
"""Places off, to both sides, at which columns are compared."""
_POSITIONS_BEYOND = 6
"""Standard deviations by which columns agree better at the same places."""


def order_notices(recognised: Sequence[Recognised], original: People) -> list[str]:
    """A sentence without a full stop, where rows stand in the order of the original."""
    names = _columns_in_order(recognised, original)
    if not names:
        return []
    told = f"{', '.join(map(repr, names))} tell{'s' * (len(names) == 1)}"
    return [
        f"rows stand in the order of the original, as {told}: whoever "
        "knows a person's place there finds the row, and no attack looks at that; shuffle the rows"
    ]


def _columns_in_order(recognised: Sequence[Recognised], original: People) -> list[str]:
    """The columns that agree with those of the original row by row."""
    rows = original.frame.height
    shown = [one for one in recognised if one.columns]
    if rows < _FEWEST or any(len(one.columns[0]) < _FEWEST for one in shown):
        return []
    if any(len(one.columns[0]) != rows for one in shown):
        return _columns_in_subsequence(shown, original)
    return [one.name for one in shown if _agrees(one, original)]


def _agrees(one: Recognised, original: People) -> bool:
    if one.how in {"interval", "averaged", "noisy"}:
        own = original.column(one.name)
        middle = np.mean([floats_of(column) for column in one.columns], axis=0)
        return _peaks(*(_standard_ranks(side) for side in (floats_of(own), middle)))
    if one.how == "set":
        return False
    texts, place = original.distinct_texts(one.name)
    codes: dict[str | None, int] = {}
    values = np.array([codes.setdefault(text, len(codes)) for text in texts])
    cells, cell = narrow_texts_of(one.columns[0])
    known = np.array([codes.get(text, len(codes)) for text in cells])
    kind = code_type(len(codes) + 1)
    return _same(look_up(values.astype(kind), place), look_up(known.astype(kind), cell))


def _same(own: NDArray[np.integer], shown: NDArray[np.integer]) -> bool:
    """Whether values are equal more often at the same places."""

    def agreement(by: int) -> float:
        first, second = (own[by:], shown) if by > 0 else (own, shown[-by:])
        return float(np.equal(first[: len(second)], second[: len(first)]).mean())

    at, off = _at_and_off(agreement)
    share = min(max(float(np.mean(off)), 1 / len(own)), 1.0)
    return bool(at - max(off) > _POSITIONS_BEYOND * np.sqrt(share * (1 - share) / len(own)))


def _peaks(own: Floats, shown: Floats) -> bool:
    """Whether standardized numbers go together at the same places."""
    at, off = _at_and_off(lambda by: float((own * np.roll(shown, by)).mean()))
    return bool(at - max(off) > _POSITIONS_BEYOND / np.sqrt(len(own)))


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
