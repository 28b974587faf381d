"""A column of labels that stand for several values: nodes of the column's hierarchy.

A label says what it stands for only to those who know the hierarchy, which a plan tells.  Without
it a label that is a value of the column is taken for that value where groups differ in detail, and
every other one may stand for anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from voile.disclosure.known import DistinctCells, Domain, Known
from voile.disclosure.shown import ShownColumn

if TYPE_CHECKING:
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence

__all__ = ["Generalized", "Labelled", "Level"]

Level = Annotated[int, Field(ge=0)]
"""A level of a hierarchy; 0 is that of the values themselves."""


class Labelled(ShownColumn):
    """What kinds share whose cells may be labels of a hierarchy."""

    level: Level | Literal["differs"]
    """The level at which all rows are shown, unless groups differ in detail."""

    @property
    def coarse(self) -> bool:
        """Whether labels may stand for several values."""
        return self.level != 0

    @property
    def needs_hierarchy(self) -> bool:
        """A label says what it stands for only to those who know the hierarchy."""
        return self.coarse

    @property
    def one_level(self) -> int | None:
        """The level at which all rows are shown; None where groups differ in detail."""
        return None if self.level == "differs" else self.level

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A label fits the values that become it at its level, or at any."""
        from voile.disclosure.evidence import Labels  # noqa: PLC0415 - of readers, not publishers

        shown = cells.texts(cells.name)
        if self.level == 0:
            return Labels.of([known.texts], shown)
        # Where groups differ a missing value may be a group that mixes it with others.
        unclear: set[str | None] = {None} if self.one_level is None else set()
        levels = known.generalized(self.one_level)
        if levels is not None:
            return Labels.of(levels, shown, unclear)
        understood = known.vocabulary if self.one_level is None else frozenset()
        return Labels.of([known.texts], shown, unclear | (set(shown) - understood))

    def notes(self, known: Known, cells: DistinctCells) -> list[str]:
        """That labels were not understood, where no hierarchy tells them."""
        if self.level == 0 or known.has_hierarchy:
            return []
        if self.one_level is None and set(cells.texts(cells.name)) <= known.vocabulary:
            return []
        return [
            f"column {cells.name!r} was generalized, and without its hierarchy its texts may "
            "stand for anything; the plan of the original would tell the adversary more"
        ]

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A label stands for the values below it."""
        from voile.disclosure.covering import labels_covered  # noqa: PLC0415 - of readers

        return labels_covered(domain, cells, self.evidence(domain.known, cells), self.one_level)


class Generalized(Labelled):
    """Each row shows a node of the hierarchy above its own value."""

    kind: Literal["generalized"] = "generalized"
