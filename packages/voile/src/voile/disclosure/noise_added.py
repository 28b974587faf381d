"""A column of numbers with noise that was added or multiplied, of which the distribution is public.

A row of number x shows centre + factor (x - centre + e), e being normal or Laplace noise of a
stated deviation; or x times exp(e), whose mean is 1 and which leaves zeros and signs as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.evidence import Chosen, DistinctCells, Domain, Floats, Known
from voile.disclosure.exact import AsItReads
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure.covering import Covered
    from voile.disclosure.shown import ComparedColumn, OriginalSide
else:
    disclosure_covering = on_demand("voile.disclosure.covering")

__all__ = ["NoiseAdded"]

_FAR = -700.0
"""What a cell weighs that noise hardly leads to; it is not ruled out."""


class NoiseAdded(AsItReads):
    """Each row shows its number with noise."""

    kind: Literal["noise-added"] = "noise-added"
    law: Literal["normal", "laplace", "multiplied"]
    deviation: Annotated[float, Field(gt=0)]
    """The standard deviation of the noise, in units of the column; of "multiplied", that of the
    logarithm of the factor."""
    centre: float = 0.0
    factor: Annotated[float, Field(gt=0, le=1)] = 1.0
    """By how much numbers with noise were drawn in towards the centre, so that they spread as
    before; 1 where they were not."""

    @property
    def graded(self) -> bool:
        """A cell fits a number the better the nearer it is."""
        return True

    @property
    def set_refusal(self) -> str:
        """Noise may lead anywhere."""
        return "numbers with noise stand for no set of values"

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "four times the mean size of the noise"

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Noise shows in no value by itself."""
        return compare.not_compared(name, "its numbers have noise, and need not be those of INPUT")

    def evidence(self, known: Known, cells: DistinctCells) -> _NoiseEvidence:
        """How likely noise leads from each known number to each cell."""
        shown = cells.numbers(cells.name)
        own = known.numbers
        if self.law == "multiplied":
            logs = [
                np.log(np.abs(side), out=np.full(len(side), -np.inf), where=side != 0)
                for side in (own, shown)
            ]
            mean = logs[0] - self.deviation**2 / 2
            signs = np.sign(own), np.sign(shown)
            return _NoiseEvidence(mean, logs[1], self.deviation, self.law, signs)
        start = self.centre + self.factor * (own - self.centre)
        return _NoiseEvidence(start, shown, self.factor * self.deviation, self.law)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A number stands for the nearest value, and is as wide as the noise is."""
        covered = disclosure_covering.labels_covered(
            domain, cells, super().evidence(domain.known, cells), level=0
        )
        shown = cells.numbers(cells.name)
        mean = np.sqrt(1 / 2 if self.law == "laplace" else 2 / np.pi) * self.deviation
        if self.law != "multiplied":
            return disclosure_covering.near_covered(domain, covered, shown, float(4 * mean))
        low, high = domain.extent or (0.0, 0.0)
        share = np.clip(4 * mean * np.abs(np.nan_to_num(shown)) / ((high - low) or 1.0), 0, 1)
        return replace(covered, size=np.maximum(covered.size, share), level=None)


@dataclass(frozen=True, eq=False)
class _NoiseEvidence:
    """Where the numbers of t targets would stand without noise, and those of n rows with it."""

    start: Floats
    """Shape (t,); NaN for a missing value."""
    shown: Floats
    """Shape (n,)."""
    deviation: float
    law: str
    signs: tuple[Floats, Floats] | None = None
    """Of targets and rows, where numbers are logarithms."""

    def log_weights(self, targets: Chosen) -> Floats:
        """Logarithm of the density, up to a constant of the target; shape (targets, n)."""
        own = self.start[targets, np.newaxis]
        missing = np.isnan(own) & np.isnan(self.shown)
        with np.errstate(invalid="ignore"):
            far = np.abs(own - self.shown) / self.deviation
        if self.signs is not None:
            same = self.signs[0][targets, np.newaxis] == self.signs[1]
            zero = np.isneginf(own) & np.isneginf(self.shown)
            far = np.where(zero, 0.0, np.where(same, far, np.inf))
        weights = -far * np.sqrt(2) if self.law == "laplace" else -(far**2) / 2
        weights = np.where(np.isnan(far), -np.inf, np.maximum(weights, _FAR))
        return np.where(missing, 0.0, weights)

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        signs = self.signs and (self.signs[0], self.signs[1][rows])
        return replace(self, shown=self.shown[rows], signs=signs)
