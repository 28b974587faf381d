"""A column of numbers with noise, each beside an interval around it.

A value is moved into the range of a cluster, its own or with a stated probability another, gets
noise of the cluster's scale, and is clamped; the interval around it has the cluster's half-width.
``noise`` says what that tells of a value that somebody knows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from voile.disclosure.evidence import CheckedCells, DistinctCells, Domain, Floats, Known
from voile.disclosure.noise import Cluster, cell_breaches, width_breaches
from voile.disclosure.shown import ShownColumn
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure import interval as disclosure_interval
    from voile.disclosure import noise as disclosure_noise
    from voile.disclosure.covering import Covered
    from voile.disclosure.shown import ComparedColumn, OriginalSide
else:
    disclosure_covering = on_demand("voile.disclosure.covering")
    disclosure_interval = on_demand("voile.disclosure.interval")
    disclosure_noise = on_demand("voile.disclosure.noise")

__all__ = ["Cluster", "Noisy"]


class Noisy(ShownColumn):
    """Each row shows its value with noise, and an interval around that."""

    kind: Literal["noisy"] = "noisy"
    family: Literal["laplace"] = "laplace"
    """The distribution of the noise, on the grid."""
    step: Annotated[float, Field(gt=0)]
    """Published values are multiples of it."""
    clusters: Annotated[tuple[Cluster, ...], Field(min_length=1)]
    """Ascending by value."""
    clamp: tuple[float, float] | None = None
    """The least and the largest value that may be published; None where there are none."""
    ends: Literal["columns", "text"] = "columns"
    """How the intervals are shown."""

    @property
    def graded(self) -> bool:
        """A cell fits a number the better the nearer it is."""
        return True

    @property
    def noise(self) -> Noisy:
        """It is stated here."""
        return self

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Whether values are those of the original."""
        return compare.noisy(name, self)

    def breaches(self, cells: CheckedCells, confidence: Decimal | None = None) -> Iterator[str]:
        """Values off the grid, and intervals other than those of the noise."""
        value, ends = cells.numbers(cells.name), self._around(cells)
        yield from cell_breaches(cells.name, self, value, *ends)
        if confidence is not None:
            scales = [Fraction(c.scale) / Fraction(self.step) for c in self.clusters]
            widths = [Fraction(c.half_width) / Fraction(self.step) for c in self.clusters]
            yield from width_breaches(cells.name, scales, widths, confidence)

    @property
    def set_refusal(self) -> str:
        """Noise may lead anywhere."""
        return "values with noise stand for no set of values"

    @property
    def size_basis(self) -> str:
        """The published intervals."""
        return "the intervals around noise"

    def published(self, name: str) -> tuple[str, ...]:
        """The value, and its interval in two columns or in one of texts."""
        if self.ends == "columns":
            return name, f"{name}.low", f"{name}.high"
        return name, f"{name}.interval"

    def with_intervals_as_text(self) -> Noisy:
        """The same with each interval in one column of texts."""
        return self.model_copy(update={"ends": "text"})

    def evidence(self, known: Known, cells: DistinctCells) -> disclosure_noise.NoisyEvidence:
        """How well each noisy value fits each known one."""
        readings = disclosure_noise.Readings(
            cells.numbers(cells.name), *self._around(cells), cells.rows
        )
        declared = self.clamp
        if known.bounds is not None:
            declared = float(known.bounds[0]), float(known.bounds[1])
        return disclosure_noise.NoisyEvidence.of(
            cells.name, known.numbers, readings, self._distributions(), declared
        )

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """Each value stands for the nearest one, and is as wide as its interval."""
        return disclosure_covering.noisy_covered(domain, cells, self.evidence(domain.known, cells))

    def _distributions(self) -> disclosure_noise.NoiseDistributions:
        """Those of the clusters, as numbers."""

        def numbers(name: str) -> Floats:
            return np.array([float(getattr(cluster, name)) for cluster in self.clusters])

        borders = own = None
        if all(c.low is not None and c.high is not None for c in self.clusters):
            borders, own = (numbers("low"), numbers("high")), numbers("own")
        scale = np.maximum(numbers("scale"), disclosure_noise.LEAST_SCALE * self.step)
        return disclosure_noise.NoiseDistributions(
            self.step, scale, numbers("half_width"), borders, own
        )

    def _around(self, cells: DistinctCells) -> tuple[Floats, Floats]:
        _, *shown = self.published(cells.name)
        if self.ends == "text":
            return disclosure_interval.ends_of_texts(shown[0], cells.texts(shown[0]))
        low, high = map(cells.numbers, shown)
        return low, high
