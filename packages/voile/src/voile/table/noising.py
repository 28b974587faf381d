"""Noise in the values of numeric columns, row by row, on a grid.

A value is moved to a point of the grid and gets a whole number of grid steps as noise; both are
drawn for the row's identity, so a row that is drawn again, elsewhere or in another order, shows
the same.  What follows is arithmetic on whole numbers that cannot overflow: noise beyond 2**62
steps counts as 2**62, and a published value lies within the clamp and within what its type holds
exactly.  That is post-processing: it depends on nothing but what the draws showed.

The grid is of multiples of 2**exponent.  Where the exponent is at least 0 values are published as
64-bit integers, up to 2**61; else as floats, each of which is exactly a number of steps below
2**53.

Rows stand in the order of what they show.  Clamped intervals of two clusters may look the same
while their half-widths differ, so rows are ordered by the least half-width that shows the same.

Cost in n rows: the identities, the draws, and some 10 ns a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.table.arrays import array_of, numbers_of
from voile.table.decisions import Perturbation
from voile.table.identity import WORDS, Words, with_row_words, words_of
from voile.table.numeric import require_finite_numbers
from voile.table.protocol import Rows
from voile_base.compiled import njit, pays, uncompiled
from voile_base.randomness import Key, Randomness

__all__ = ["PerturbedSteps"]

_LARGEST_INTEGER = 2**61
_LARGEST_NOISE = 2**62
_LARGEST_FLOAT = 2**53
_LOWEST_EXPONENT = -1022
_WORTH_LOADING = 10_000
"""Rows from which loading compiled code takes less time than doing without it."""


@dataclass(frozen=True, eq=False)
class PerturbedSteps:
    """A perturbed column: the steps of the grid that it may show, and how they are drawn."""

    decision: Perturbation
    low: int
    high: int
    widths: NDArray[np.int64]
    """The different half-widths of its intervals, ascending."""

    @classmethod
    def of(cls, decision: Perturbation) -> PerturbedSteps:
        """The grid of a decision; raises ``ValueError`` where its values do not fit."""
        exponent, start = decision.exponent, decision.start
        limit = _LARGEST_FLOAT if exponent < 0 else _LARGEST_INTEGER >> exponent
        if exponent < _LOWEST_EXPONENT or not -limit <= start.min() <= start.max() <= limit:
            msg = f"column {decision.column!r}: its values do not fit on the grid"
            raise ValueError(msg)
        low, high = decision.clamp or (-limit, limit)
        if not -limit <= low <= high <= limit or decision.half_width.min() < 0:
            msg = f"column {decision.column!r}: the clamp or an interval does not fit the grid"
            raise ValueError(msg)
        return cls(decision, low, high, np.unique(np.minimum(decision.half_width, _LARGEST_NOISE)))

    @property
    def column(self) -> str:
        """The column that gets noise."""
        return self.decision.column

    @property
    def names(self) -> list[str]:
        """The published columns: a value, and both ends of the interval around it."""
        return [self.column, f"{self.column}.low", f"{self.column}.high"]

    @property
    def made_names(self) -> Mapping[str, str]:
        """The names that are made, and what each is for."""
        return dict.fromkeys(self.names[1:], f"the intervals of column {self.column!r}")

    @property
    def steps(self) -> str:
        """The column with the published values, in steps of the grid."""
        return f"\1steps of {self.column}"

    @property
    def width(self) -> str:
        """The column with the indices of the half-widths."""
        return f"\1width of {self.column}"

    @property
    def _place(self) -> str:
        """The column with the indices of the private values among the distinct ones."""
        return f"\1place of {self.column}"

    @staticmethod
    def drawn(
        rows: Rows,
        noise: Sequence[PerturbedSteps],
        published: Sequence[str],
        randomness: Randomness,
    ) -> Rows:
        """Rows with steps and widths of all columns that get noise.

        Raises ``TableError`` where one is not of finite numbers without gaps.
        """
        if not noise:
            return rows
        for each in noise:
            require_finite_numbers(rows, each.column)
            counted = rows.count([each.column], keep=True)
            rows = rows.join(counted, {each._place: array_of(np.arange(len(counted.rows)))})
        identity = randomness.key("identity")
        rows = with_row_words(rows, sorted(published), identity)
        keys = [
            (randomness.key("membership", each.column), randomness.key("noise", each.column))
            for each in noise
        ]

        def draw(batch: pa.RecordBatch) -> list[pa.Array]:
            words = words_of(batch, identity)
            made: list[pa.Array] = []
            for each, key in zip(noise, keys, strict=True):
                indices = numbers_of(batch[each._place])
                made += [array_of(array) for array in each._draw(indices, words, *key)]
            return made

        types = (pa.int64(), pa.int16())
        fields = [
            pa.field(name, dtype)
            for each in noise
            for name, dtype in zip((each.steps, each.width), types, strict=True)
        ]
        return rows.map(draw, [*WORDS, *(each._place for each in noise)], pa.schema(fields))

    def _draw(
        self, indices: NDArray[Any], words: Words, membership: Key, noise: Key
    ) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """Steps and indices of half-widths for rows with these private values."""
        decision = self.decision
        narrow = np.minimum(decision.half_width, _LARGEST_NOISE)
        width_of = np.searchsorted(self.widths, narrow).astype(np.int16)
        cluster = decision.membership.draw(indices, words, key=membership)
        steps = decision.start[indices, cluster]
        width = width_of[cluster]
        added = decision.noise.draw(cluster, words, key=noise)
        add = _add if pays(len(steps), _WORTH_LOADING) else uncompiled(_add)
        add(steps, added, width, self.widths, (self.low, self.high))
        return steps, width

    def with_intervals(self, rows: Rows) -> Rows:
        """Rows with the values that steps stand for, and the intervals around them."""
        exponent = self.decision.exponent

        def shown(steps: NDArray[np.int64]) -> pa.Array:
            return array_of(steps * 2.0**exponent if exponent < 0 else steps << exponent)

        def intervals(batch: pa.RecordBatch) -> list[pa.Array]:
            steps = numbers_of(batch[self.steps])
            half = self.widths[numbers_of(batch[self.width])]
            return [
                shown(steps),
                shown(np.maximum(steps - half, self.low)),
                shown(np.minimum(steps + half, self.high)),
            ]

        dtype = pa.float64() if exponent < 0 else pa.int64()
        gives = pa.schema([pa.field(name, dtype) for name in self.names])
        return rows.map(intervals, [self.steps, self.width], gives)


@njit(cache=True, nogil=True)
def _add(
    steps: NDArray[np.int64],
    noise: NDArray[np.int64],
    width: NDArray[np.int16],
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
