"""A column of numbers, each the middle of a group of rows in the place of their own.

Whoever reads it knows how far values lie from their middle on average, and supposes that they do so
as a normal variable does: the value that is nearest to the middle is hardly likelier the owner's
than the others of its group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from voile.disclosure.evidence import DistinctCells, Domain, Known
from voile.disclosure.exact import AsItReads
from voile.disclosure.foreign import NearEvidence
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure.covering import Covered
    from voile.disclosure.shown import ShownColumn
    from voile.schema.coding import Coding
else:
    disclosure_covering = on_demand("voile.disclosure.covering")

__all__ = ["Averaged"]


class Averaged(AsItReads):
    """Each row shows the middle of its group."""

    kind: Literal["averaged"] = "averaged"
    scale: Annotated[float, Field(gt=0)]
    """The mean distance of a row's number from the one that it shows, to two digits."""

    @property
    def graded(self) -> bool:
        """A middle fits a number the better the nearer it is."""
        return True

    @property
    def set_refusal(self) -> str:
        """Any value may be in a group."""
        return "the middle of a group stands for no set of values"

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "four times the mean distance of numbers from the middle of their group"

    def coded(self, coding: Coding) -> ShownColumn | None:
        """A rounded middle lies further away, by a quarter of the base on average."""
        if coding.kind != "rounding":
            return None
        return self.model_copy(
            update={"scale": float(f"{self.scale + float(coding.base) / 4:.2g}")}
        )

    def evidence(self, known: Known, cells: DistinctCells) -> NearEvidence:
        """A cell fits a number the better the nearer it is."""
        return NearEvidence(known.numbers, cells.numbers(cells.name), self.scale, normal=True)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A middle stands for the nearest value, and is as wide as four mean distances."""
        covered = disclosure_covering.labels_covered(
            domain, cells, super().evidence(domain.known, cells), level=0
        )
        return disclosure_covering.near_covered(
            domain, covered, cells.numbers(cells.name), 4 * self.scale
        )
