"""Cells that count persons: what they are of, and how many, with noise.

Rows of such a release are no rows of the table, and tell nothing of a single one by themselves.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from voile.disclosure.known import CheckedCells, DistinctCells, Domain, Known
from voile.disclosure.shown import ShownColumn
from voile.disclosure.stated_noise import width_breaches
from voile_base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence

__all__ = ["Aggregate", "Label"]


class _OfCells(ShownColumn):
    """What describes counts and not rows."""

    @property
    def weighed(self) -> bool:
        """A cell counts many, and fits nobody in particular."""
        return False

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """Raises ``InputError``: a count is of no single row."""
        del known
        raise InputError(_counts(cells))

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """Raises ``InputError``, as above."""
        del domain
        raise InputError(_counts(cells))


class Label(_OfCells):
    """What a cell counts: one of public values, each of which is published."""

    kind: Literal["label"] = "label"


class Aggregate(_OfCells):
    """How many there are in a cell, with noise, and an interval around that."""

    kind: Literal["aggregate"] = "aggregate"
    family: Literal["discrete-laplace"] = "discrete-laplace"
    scales: dict[str, Annotated[float, Field(gt=0)]]
    """Of the noise, by the kind of cell."""
    half_widths: dict[str, Annotated[int, Field(ge=0)]]
    """Of the interval, by the kind of cell; its ends are never below 0."""
    confidence: Annotated[float, Field(ge=0, lt=1)]
    """With which an interval holds the count, for each cell by itself."""

    def published(self, name: str) -> tuple[str, ...]:
        """The count, and the ends of its interval."""
        return name, f"{name}.low", f"{name}.high"

    def breaches(self, cells: CheckedCells, confidence: Decimal | None = None) -> Iterator[str]:
        """Kinds of cells with a scale and no interval, and intervals of another confidence."""
        del confidence
        if self.scales.keys() != self.half_widths.keys():
            yield f"column {cells.name!r} has other scales of noise than intervals"
            return
        kinds = sorted(self.scales)
        scales = [Fraction(self.scales[kind]) for kind in kinds]
        widths = [Fraction(self.half_widths[kind]) for kind in kinds]
        stated = Decimal(str(self.confidence))
        yield from width_breaches(cells.name, scales, widths, stated)


def _counts(cells: DistinctCells) -> str:
    return f"column {cells.name!r} of the release is about counts, not about rows of the table"
