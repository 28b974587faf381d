"""A column of numbers near the true ones, how they were made being unknown: noise, or averages.

Files of another make seldom say which noise their numbers carry.  Whoever reads one supposes that
a published number is a Laplace variable around the true one, with a mean distance of ``scale``; of
numbers that stand for groups, a normal one: members are spread around the middle of their group,
and the one who is nearest to it is hardly likelier its owner than the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field

from voile.disclosure.evidence import Chosen
from voile.disclosure.exact import AsItReads
from voile.disclosure.known import DistinctCells, Domain, Floats, Indices, Known

if TYPE_CHECKING:
    from voile.disclosure.covering import Covered

__all__ = ["NearEvidence", "Perturbed"]


class Perturbed(AsItReads):
    """Each row shows a number near its own."""

    kind: Literal["perturbed"] = "perturbed"
    scale: Annotated[float, Field(gt=0)]
    """The mean distance of a published number from the true one, as far as anybody can tell."""
    guessed: Literal[True] | None = None
    """Whether nothing tells that distance, so that it was supposed."""

    grouped: Literal[True] | None = None
    """Whether numbers stand for groups of rows."""

    @property
    def graded(self) -> bool:
        """A number fits the better the nearer it is."""
        return True

    @property
    def set_refusal(self) -> str:
        """How numbers were made is not known."""
        return "numbers near the true ones stand for no set of values"

    @property
    def size_refusal(self) -> str | None:
        """A distance that was supposed tells no loss."""
        return "nothing tells how far its numbers lie from the true ones" if self.guessed else None

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "four times the mean distance of its numbers from the true ones"

    def evidence(self, known: Known, cells: DistinctCells) -> NearEvidence:
        """A cell fits a number the better the nearer it is."""
        shown = cells.numbers(cells.name)
        return NearEvidence(known.numbers, shown, self.scale, normal=self.grouped is True)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A number stands for the nearest value, and is as wide as four mean distances.

        Numbers spread evenly over an interval lie a quarter of its width from its middle, on
        average: rounding, and averages of groups that are spread so, cost what intervals cost.
        """
        from voile.disclosure.covering import labels_covered, near_covered  # noqa: PLC0415 - as above

        covered = labels_covered(domain, cells, super().evidence(domain.known, cells), level=0)
        return near_covered(domain, covered, cells.numbers(cells.name), 4 * self.scale)


@dataclass(frozen=True, eq=False)
class NearEvidence:
    """Known numbers of t targets, and numbers near them in n rows."""

    known: Floats
    """Shape (t,); NaN for a missing value."""
    shown: Floats
    """Shape (n,)."""
    scale: float
    normal: bool = False
    """Whether distances are those of a normal variable, and not of a Laplace one."""

    def log_weights(self, targets: Chosen) -> Floats:
        """How well each row fits each of some targets, shape (targets, n); -inf rules it out.

        Only a missing value fits a missing one.
        """
        known = self.known[targets, np.newaxis]
        weights = -np.abs(known - self.shown) / self.scale
        if self.normal:
            weights = -(weights**2) / np.pi
        missing = np.isnan(known) & np.isnan(self.shown)
        return np.where(missing, 0.0, np.nan_to_num(weights, nan=-np.inf))

    def only(self, rows: Indices) -> Self:
        """The same about some of the rows."""
        return replace(self, shown=self.shown[rows])
