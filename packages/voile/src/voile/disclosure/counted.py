"""Cells that count persons with noise, and rows that are made up from such cells.

Cells that count persons: what they are of, and how many, with noise.

Rows of such a release are no rows of the table, and tell nothing of a single one by themselves.

A column of rows that are made up: drawn from noisy tables, and of nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from voile.disclosure.evidence import DistinctCells, Domain, Known
from voile.disclosure.shown import ShownColumn
from voile_base.errors import InputError
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure import evidence as disclosure_evidence
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence
else:
    disclosure_covering = on_demand("voile.disclosure.covering")
    disclosure_evidence = on_demand("voile.disclosure.evidence")

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
    values: Literal["integer", "decimal", "date", "text"] | None = None
    """What its cells stand for; None: a text, and no column of the table."""
    cells: tuple[str | None, ...] | None = None
    """All of them in their order, None for the missing value; None: not stated."""
    groups: Mapping[str, tuple[str, ...]] | None = None
    """What each cell stands for that is a group of listed values; None: no cell is."""
    levels: tuple[tuple[str | None, ...], ...] = ()
    """For each coarser level, what each of the cells is called there."""


class Aggregate(_OfCells):
    """How many there are in a cell, or what else its rows come to, with noise and an interval."""

    kind: Literal["aggregate"] = "aggregate"
    family: Literal["discrete-laplace", "discrete-gaussian"] = "discrete-laplace"
    measure: Literal["count", "sum", "mean", "quantile"] = "count"
    of: str | None = None
    """The column whose numbers it is about; None of counts."""
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Of a quantile: which share of the numbers is at most it."""
    show_from: float | None = None
    """The least estimate that is shown; None: all are."""
    confidence: Annotated[float, Field(ge=0, lt=1)]
    """With which an interval holds the count, for each cell by itself; with ``show_from``, of those
    that are shown on average."""

    def published(self, name: str) -> tuple[str, ...]:
        """The count, and the ends of its interval."""
        return name, f"{name}.low", f"{name}.high"


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
        evidence = disclosure_evidence.Labels.of([domain.known.texts], cells.texts(cells.name))
        return disclosure_covering.labels_covered(domain, cells, evidence, level=0)
