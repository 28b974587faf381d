"""Perturbing: noise in the values of numeric columns, row by row, on a grid.

A value is moved to a place on the grid and gets a whole number of grid steps as noise; both are
drawn for the row's identity, so a row that is drawn again, elsewhere or in another order, shows
the same.  What follows is arithmetic on whole numbers that cannot overflow: noise beyond 2**62
steps counts as 2**62, and a published value lies within the clamp and within what its type holds
exactly.  That is post-processing: it depends on nothing but what the draws showed.

The grid is of multiples of 2**exponent.  Where the exponent is at least 0 values are published as
64-bit integers, up to 2**61; else as floats, each of which is exactly a number of steps below
2**53.

Rows stand in the order of what they show.  Clamped intervals of two clusters may look the same
while their half-widths differ, so rows are sorted by the least half-width that shows the same.

Cost in n rows: the identities, the draws, a sort of n machine words where a row fits in one (one or
two columns usually do), and some 10 ns a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from voile.randomness import Randomness, parts
from voile.table.arranging import require_free_names
from voile.table.binding import BoundColumns
from voile.table.dictionary import Codes, DictionaryColumn, code_type, sort_rows
from voile.table.identity import Words, unique_row_words
from voile.table.numeric import require_finite_numbers
from voile.table.protocol import Perturbation

__all__ = ["perturb"]

_LARGEST_INTEGER = 2**61
_LARGEST_NOISE = 2**62
_LARGEST_FLOAT = 2**53
_LOWEST_EXPONENT = -1022
_ROWS = 1 << 17
"""Rows drawn at a time: their arrays stay near the processor."""


@dataclass(frozen=True, eq=False)
class _Grid:
    """The steps that a perturbed column may show."""

    exponent: int
    low: int
    high: int
    widths: NDArray[np.int64]
    """The different half-widths of its intervals, ascending."""

    @classmethod
    def of(cls, perturbation: Perturbation) -> _Grid:
        """The grid of a decision; raises ``ValueError`` where its values do not fit."""
        exponent, start = perturbation.exponent, perturbation.start
        limit = _LARGEST_FLOAT if exponent < 0 else _LARGEST_INTEGER >> exponent
        if exponent < _LOWEST_EXPONENT or not -limit <= start.min() <= start.max() <= limit:
            msg = f"column {perturbation.column!r}: its values do not fit on the grid"
            raise ValueError(msg)
        low, high = perturbation.clamp or (-limit, limit)
        if not -limit <= low <= high <= limit or perturbation.half_width.min() < 0:
            msg = f"column {perturbation.column!r}: the clamp or an interval does not fit the grid"
            raise ValueError(msg)
        widths = np.unique(np.minimum(perturbation.half_width, _LARGEST_NOISE))
        return cls(exponent, low, high, widths)

    def shown(self, steps: NDArray[np.int64]) -> NDArray[Any]:
        """The values that stand for numbers of steps, exactly."""
        return steps * 2.0**self.exponent if self.exponent < 0 else steps << self.exponent

    def intervals(self, codes: Codes, least: int, width: Codes) -> list[NDArray[Any]]:
        """Values of ``least + codes`` steps, and the lower and upper ends of their intervals.

        ``width`` has the places of their half-widths.
        """
        dtype = np.float64 if self.exponent < 0 else np.int64
        values, low, high = (np.empty(len(codes), dtype=dtype) for _ in range(3))
        for part in parts(len(codes)):
            steps = codes[part].astype(np.int64) + least
            half = self.widths[width[part]]
            values[part] = self.shown(steps)
            low[part] = self.shown(np.maximum(steps - half, self.low))
            high[part] = self.shown(np.minimum(steps + half, self.high))
        return [values, low, high]


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A perturbed column of n rows."""

    name: str
    grid: _Grid
    steps: NDArray[np.int64]
    """Shape (n,): the published values, in steps of the grid."""
    width: Codes
    """Shape (n,): places in the half-widths of the grid."""

    @property
    def least(self) -> int:
        """The least published value, in steps."""
        return int(self.steps.min())

    def sortable(self) -> tuple[Codes, int]:
        """The values as codes from 0, and the number of codes."""
        return self.steps - self.least, int(self.steps.max()) - self.least + 1

    def series(self, codes: Codes, width: Codes) -> list[pl.Series]:
        """The published columns of the sorted rows, from their codes and half-widths."""
        names = (self.name, f"{self.name}.low", f"{self.name}.high")
        shown = self.grid.intervals(codes, self.least, width)
        return [pl.Series(name, values) for name, values in zip(names, shown, strict=True)]


def perturb(
    bound: BoundColumns,
    published: Sequence[str],
    perturbations: Sequence[Perturbation],
    randomness: Randomness,
) -> pl.DataFrame:
    """The published rows, with noise in some of their columns, sorted by what they show.

    Raises ``TableError`` where a column is not of finite numbers without gaps, or stands in the
    way of a name that the release makes; ``ValueError`` where a decision does not fit its grid.
    """
    made = {f"{p.column}.{end}": p.column for p in perturbations for end in ("low", "high")}
    intervals = {name: f"the intervals of column {column!r}" for name, column in made.items()}
    require_free_names(published, intervals)
    for perturbation in perturbations:
        require_finite_numbers(bound, bound.columns[perturbation.column])
    identifying = [bound.columns[name] for name in sorted(published)]
    words = unique_row_words(identifying, randomness.key("identity"))
    drawn = {
        p.column: _draw(p, bound.columns[p.column].codes, words, randomness) for p in perturbations
    }
    return _arranged([drawn.get(name, bound.columns[name]) for name in published])


def _draw(perturbation: Perturbation, codes: Codes, words: Words, randomness: Randomness) -> _Drawn:
    """The perturbed values of all rows."""
    grid = _Grid.of(perturbation)
    start = perturbation.start.ravel()
    place = np.searchsorted(grid.widths, np.minimum(perturbation.half_width, _LARGEST_NOISE))
    width_of = place.astype(code_type(len(grid.widths)))
    membership = partial(
        perturbation.membership.draw, key=randomness.key("membership", perturbation.column)
    )
    noise = partial(perturbation.noise.draw, key=randomness.key("noise", perturbation.column))
    steps = np.empty(len(codes), dtype=np.int64)
    width = np.empty_like(width_of, shape=len(codes))

    def draw(rows: slice) -> None:
        cluster = membership(codes[rows], words[rows])
        steps[rows] = start[codes[rows].astype(np.int64) * len(place) + cluster]
        width[rows] = width_of[cluster]
        added = noise(cluster, words[rows])
        _add(steps[rows], added, width[rows], grid.widths, (grid.low, grid.high))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(draw, (slice(i, i + _ROWS) for i in range(0, len(codes), _ROWS))))
    return _Drawn(perturbation.column, grid, steps, width)


@njit(cache=True, nogil=True)
def _add(
    steps: NDArray[np.int64],
    noise: NDArray[np.int64],
    width: Codes,
    widths: NDArray[np.int64],
    ends: tuple[int, int],
) -> None:
    """Add noise to steps in place, and find the least half-width that shows the same interval."""
    low, high = ends
    for row in range(len(steps)):
        added = min(max(noise[row], -_LARGEST_NOISE), _LARGEST_NOISE)
        step = min(max(steps[row] + added, low), high)
        reach = max(step - low, high - step)  # an interval that goes further shows no more
        while width[row] > 0 and widths[width[row] - 1] >= reach:
            width[row] -= 1
        steps[row] = step


def _arranged(columns: Sequence[_Drawn | DictionaryColumn]) -> pl.DataFrame:
    """The rows sorted by their values, column by column, and then by their half-widths."""
    perturbed = [column for column in columns if isinstance(column, _Drawn)]
    rows = sort_rows(
        [
            column.sortable() if isinstance(column, _Drawn) else (column.codes, len(column.values))
            for column in columns
        ]
        + [(column.width, len(column.grid.widths)) for column in perturbed]
    )
    widths = iter(rows[len(columns) :])
    series: list[pl.Series] = []
    for column, codes in zip(columns, rows, strict=False):
        if isinstance(column, _Drawn):
            series += column.series(codes, next(widths))
        else:
            series.append(column.decode(codes))
    return pl.DataFrame(series)
