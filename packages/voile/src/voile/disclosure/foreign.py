"""Columns of files of another make: altered rows, numbers near the true ones, usual texts.

A column of a file of another make in which rows are of nobody: swapped, recoded or synthetic.

Each cell reads like a value of the table.  Beside the other cells of its row it is the value of
nobody, in a share of the rows, and nobody says how that came about.

A column of numbers near the true ones, how they were made being unknown: noise, or averages.

Files of another make seldom say which noise their numbers carry.  Whoever reads one supposes that
a published number is a Laplace variable around the true one, with a mean distance of ``scale``; of
numbers that stand for groups, a normal one: members are spread around the middle of their group,
and the one who is nearest to it is hardly likelier its owner than the others.

A column of texts of a file of another make, the usual one of each group: modes, medoids.

Whoever reads one supposes that a row shows its own value with probability 1 - ``differs``, and any
other of the table's values else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field

from voile.disclosure.evidence import Chosen, DistinctCells, Domain, Floats, Indices, Known, Labels
from voile.disclosure.exact import AsItReads
from voile_base.ondemand import dataclass, on_demand

if TYPE_CHECKING:
    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure.covering import Covered
else:
    disclosure_covering = on_demand("voile.disclosure.covering")

__all__ = ["Altered", "NearEvidence", "Perturbed", "Typical", "usual_text"]


_MOSTLY = 0.5
"""The share of rows of nobody above which a row is taken for nobody's."""


class Altered(AsItReads):
    """Some rows show values together that no row of the table has."""

    kind: Literal["altered"] = "altered"
    share: Annotated[float, Field(gt=0, le=1)]
    """Of the rows, at least, that are of nobody."""

    @property
    def made_up(self) -> float:
        """As in a synthetic file."""
        return self.share if self.share > _MOSTLY else 0.0

    @property
    def set_refusal(self) -> str:
        """A cell need not be of the person whose row it seems to be."""
        return (
            f"at least {self.share:.1%} of the rows show a combination of values that no row of "
            "the original has; how cells were altered is unknown"
        )

    @property
    def size_refusal(self) -> str:
        """As above."""
        return self.set_refusal


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
        covered = disclosure_covering.labels_covered(
            domain, cells, super().evidence(domain.known, cells), level=0
        )
        return disclosure_covering.near_covered(
            domain, covered, cells.numbers(cells.name), 4 * self.scale
        )


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
        weights: Floats = known - self.shown  # all else is done in its place
        np.abs(weights, out=weights)
        weights /= -self.scale
        if self.normal:
            np.square(weights, out=weights)
            weights /= -np.pi
        np.nan_to_num(weights, copy=False, nan=-np.inf)
        if np.isnan(known).any():
            weights[np.isnan(known) & np.isnan(self.shown)] = 0.0
        return weights

    def only(self, rows: Indices) -> Self:
        """The same about some of the rows."""
        return replace(self, shown=self.shown[rows])


_MOST = float(np.exp(-1.5))
"""What a text that is not one's own weighs at most: otherwise it would tell nothing."""


class Typical(AsItReads):
    """Each row shows the value that stands for its group."""

    kind: Literal["typical"] = "typical"
    differs: Annotated[float, Field(gt=0, lt=1)]
    """The share of rows whose own value is another one, as far as anybody can tell."""

    @property
    def graded(self) -> bool:
        """A row whose text is another one fits less."""
        return True

    @property
    def set_refusal(self) -> str:
        """Which values a group has is not known."""
        return "texts that stand for groups of rows stand for no set of values"

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "the share of rows whose own text is another one"

    def evidence(self, known: Known, cells: DistinctCells) -> _UsualText:
        """A cell fits the value that it reads like best, and any other one less."""
        return usual_text(known, cells, self.differs)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A text stands for itself, and, in the share of rows that differ, for any."""
        covered = disclosure_covering.labels_covered(
            domain, cells, super().evidence(domain.known, cells), level=0
        )
        return replace(covered, size=np.maximum(covered.size, self.differs), level=None)


def usual_text(known: Known, cells: DistinctCells, differs: float) -> _UsualText:
    """Cells of which this share, above 0 and below 1, shows another value than the own one."""
    others = max(len(known.vocabulary) - 1, 1)
    weight = min(differs / (1 - differs) / others, _MOST)
    return _UsualText(Labels.of([known.texts], cells.texts(cells.name)), float(np.log(weight)))


@dataclass(frozen=True, eq=False)
class _UsualText:
    """Which texts of n rows are those of t targets, and how little the others fit."""

    same: Labels
    other: float
    """The logarithm of the weight of a text that is not the target's; below 0."""

    def log_weights(self, targets: Chosen) -> Floats:
        """How well each row fits each of some targets, shape (targets, n)."""
        return np.where(self.same.covers(targets), 0.0, self.other)

    def only(self, rows: Indices) -> Self:
        """The same about some of the rows."""
        return replace(self, same=self.same.only(rows))
