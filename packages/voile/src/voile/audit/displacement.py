"""How far the numbers of a released column lie from the true ones, as far as files tell; private.

A mean distance, found by the first of these that tells it:

    people        rows that columns of values tell from all others, in the file and in the original
    order         rows at the same places, where numbers there go together
    variance      noise adds to it, averages of groups take from it: of values that are spread
                  evenly over their group the mean distance is sqrt(3) / 2 standard deviations, of
                  Laplace noise 1 / sqrt(2)

A variance of n people tells noise of standard deviation s beside their own d with a relative error
of 2 d / (s sqrt(n)), and that of other people with one more of the sample.  Where that is too much,
nothing tells the distance: one is supposed, for adversaries, and says so.

Cost: a sort of the columns of values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from voile.audit.common_rows import CommonRows
from voile.disclosure.foreign import Perturbed
from voile.release.reading.rows import People, floats_of

__all__ = ["distance_by_people", "distance_by_shape"]

Floats = NDArray[np.float64]

_FEWEST = 30
"""Rows from which on a mean distance is told."""
_SUPPOSED = 1 / 50
"""Of the extent of a column: the distance where nothing tells it."""
_LEAST = 1e-6
"""Of the extent: the least distance."""
_ERROR = 0.25
"""The largest relative error of a standard deviation of noise that is told."""


def distance_by_people(
    columns: dict[str, Perturbed], values: CommonRows, sides: tuple[People, dict[str, Floats]]
) -> dict[str, Perturbed]:
    """The same with distances of rows that ``values`` tells apart, where there are enough.

    ``sides`` are the original, and the numbers that the file's rows show of each column.
    """
    original, shown = sides
    own_row, row = _alone_on_both_sides(values, list(values.own))
    found = dict(columns)
    for name, stated in columns.items():
        own = floats_of(original.column(name))
        apart = np.abs(own[own_row] - shown[name][row])
        apart = apart[np.isfinite(apart)]
        if len(apart) >= _FEWEST:
            least = _extent(own) * _LEAST
            found[name] = stated.model_copy(
                update={"scale": max(float(apart.mean()), least), "guessed": None}
            )
    return found


def distance_by_shape(own: Floats, shown: Floats) -> Perturbed:
    """From the places or the variances of the n numbers of a column, and those of its own."""
    known, seen = own[np.isfinite(own)], shown[np.isfinite(shown)]
    extent = _extent(own)
    if len(own) == len(shown):
        apart = np.abs(own - shown)
        apart = apart[np.isfinite(apart)]
        if len(apart) and apart.mean() < np.abs(known - known.mean()).mean() / 2:
            return Perturbed(scale=max(float(apart.mean()), extent * _LEAST))
    variance = float(np.var(known)) or 1.0
    more = float(np.var(seen)) - variance
    if abs(more) < variance * _uncertainty(known, len(seen), same=len(own) == len(shown)):
        scale = float(np.sqrt(more / 2)) if more > 0 else extent * _SUPPOSED
        return Perturbed(scale=max(scale, extent * _LEAST), guessed=True)
    return Perturbed(scale=float(np.sqrt(more / 2 if more > 0 else -more * 3 / 4)))


def _uncertainty(known: Floats, rows: int, *, same: bool) -> float:
    """The share of the variance below which a difference tells no distance."""
    least = (2 / _ERROR) ** 2 / max(rows, 1)
    if same:
        return least
    centred = known - known.mean()
    kurtosis = float((centred**4).mean()) / max(float((centred**2).mean()) ** 2, 1e-300)
    return least + 4 * float(np.sqrt(max(kurtosis - 1, 0) / max(rows, 1)))


def _alone_on_both_sides(
    values: CommonRows, names: Sequence[str]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the original, and those of the file that alone show the same."""
    if not names:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    own, seen = values.places(names)
    kinds = int(max(own.max(initial=-1), seen.max(initial=-1))) + 1
    both = (np.bincount(own, minlength=kinds) == 1) & (np.bincount(seen, minlength=kinds) == 1)
    at = np.zeros(kinds, dtype=np.intp)
    at[own] = np.arange(len(own))
    row = np.flatnonzero(both[seen])
    return at[seen[row]], row


def _extent(own: Floats) -> float:
    known = own[np.isfinite(own)]
    return (float(np.ptp(known)) if len(known) else 0.0) or 1.0
