"""Cells that count persons: what they are of, and how many, with noise.

Rows of such a release are no rows of the table, and tell nothing of a single one by themselves.

A column of rows that are made up: drawn from noisy tables, and of nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from voile.disclosure.evidence import CheckedCells, DistinctCells, Domain, Known
from voile.disclosure.noise import width_breaches
from voile.disclosure.shown import ShownColumn
from voile_base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence

__all__ = ["Aggregate", "Label", "Synthetic"]


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


class Synthetic(ShownColumn):
    """Values of a public domain, in rows of nobody; one may equal a real row by chance."""

    kind: Literal["synthetic"] = "synthetic"
    cells: Annotated[int, Field(ge=2)]
    """Of the public domain, that were counted; a missing value is one of them."""
    values: Annotated[int, Field(ge=1)]
    """That the cells stand for: a value is drawn uniformly within its cell."""
    groups: Mapping[str, tuple[str, ...]] | None = None
    """What each cell stands for that is a group of listed values; None: no cell is."""

    @property
    def weighed(self) -> bool:
        """No row is anybody's."""
        return False

    @property
    def made_up(self) -> float:
        """All rows are."""
        return 1.0

    @property
    def set_refusal(self) -> str:
        """A cell is of no person."""
        return "its rows are made up, so that no cell is about a person"

    @property
    def size_refusal(self) -> str:
        """As above."""
        return self.set_refusal

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """Raises ``InputError``: no row is anybody's."""
        del known
        msg = f"column {cells.name!r} of the release is of made-up rows: no row is anybody's"
        raise InputError(msg)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like."""
        from voile.disclosure.covering import labels_covered  # noqa: PLC0415 - of readers
        from voile.disclosure.evidence import Labels  # noqa: PLC0415 - as above

        evidence = Labels.of([domain.known.texts], cells.texts(cells.name))
        return labels_covered(domain, cells, evidence, level=0)
