"""The two sides that are compared: values that somebody knows, and cells that a release shows.

Kinds see both through these protocols, as arrays and texts; where rows and frames are is the
business of whoever reads a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues

__all__ = ["CheckedCells", "DistinctCells", "Domain", "Floats", "Indices", "Known", "Texts"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Texts = list[str | None]


class Known(Protocol):
    """What somebody knows of t values of one column, and of the column; private."""

    @property
    def texts(self) -> Texts:
        """The t values as texts, alike however a file stores them; None for a missing one."""

    @property
    def numbers(self) -> Floats:
        """The t values as numbers within the public bounds; NaN for what is none."""

    @property
    def vocabulary(self) -> AbstractSet[str | None]:
        """All values that the column of the table holds, as texts."""

    @property
    def order(self) -> Sequence[str] | None:
        """The declared order of texts, the lowest first; None where none is known."""

    @property
    def bounds(self) -> tuple[Decimal, Decimal] | None:
        """Public bounds of the column; None where none are known."""

    @property
    def has_hierarchy(self) -> bool:
        """Whether the hierarchy of the column is known."""

    def generalized(self, level: int | None) -> list[Texts] | None:
        """What the t values become at a level of the hierarchy, or (None) at each, lowest first.

        None where nobody tells the hierarchy.  Raises ``InputError`` for a level that it lacks.
        """


class DistinctCells(Protocol):
    """The g different cells, or tuples of cells, that show one column of a table."""

    @property
    def name(self) -> str:
        """Name of the table's column."""

    @property
    def rows(self) -> Indices:
        """Shape (g,): how many published rows show each."""

    def texts(self, column: str) -> Texts:
        """What one of the published columns shows, as g texts."""

    def numbers(self, column: str) -> Floats:
        """The same as g numbers; NaN for what is none."""


class CheckedCells(DistinctCells, Protocol):
    """Cells as a check sees them, which holds them against what is stated of the column."""

    def values(self, column: str) -> DistinctValues:
        """The distinct values of one of the published columns, exactly."""


class Domain(Protocol):
    """The d distinct values of a column of the original, over which cells are laid; private."""

    def __len__(self) -> int: ...

    @property
    def name(self) -> str:
        """Name of the column."""

    @property
    def values(self) -> DistinctValues:
        """The values, ascending, missing first."""

    @property
    def rows(self) -> Indices:
        """Shape (d,): original rows of each."""

    @property
    def points(self) -> Floats | None:
        """Shape (d,): where they lie on the line, NaN where missing; None for texts."""

    @property
    def extent(self) -> tuple[float, float] | None:
        """Ends of the line."""

    @property
    def weight(self) -> Floats:
        """Shape (d,): how much of a cell that covers it falls to each value."""

    @property
    def hierarchy(self) -> BoundHierarchy | None:
        """The hierarchy of the column; None where none is known."""

    @property
    def generalized(self) -> list[Texts]:
        """The texts that values become at each level."""

    @property
    def leaf_order(self) -> Indices:
        """The values in an order in which every node of the hierarchy is a run."""

    @property
    def known(self) -> Known:
        """The values as somebody knows them who knows the plan."""

    def nearest(self, numbers: Floats) -> Indices:
        """The place of the value that is nearest to each number; -1 where there is none."""
