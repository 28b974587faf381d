"""A column of texts of a file of another make, the usual one of each group: modes, medoids.

Whoever reads one supposes that a row shows its own value with probability 1 - ``differs``, and any
other of the table's values else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field

from voile.disclosure.evidence import Chosen, Labels
from voile.disclosure.exact import AsItReads
from voile.disclosure.known import DistinctCells, Floats, Indices, Known

__all__ = ["Typical", "UsualText"]

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
    def size_refusal(self) -> str:
        """As above."""
        return self.set_refusal

    def evidence(self, known: Known, cells: DistinctCells) -> UsualText:
        """A cell fits the value that it reads like best, and any other one less."""
        others = max(len(known.vocabulary) - 1, 1)
        weight = min(self.differs / (1 - self.differs) / others, _MOST)
        return UsualText(Labels.of([known.texts], cells.texts(cells.name)), float(np.log(weight)))


@dataclass(frozen=True, eq=False)
class UsualText:
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
