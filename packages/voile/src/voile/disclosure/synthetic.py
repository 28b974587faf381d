"""A column of rows that are made up: drawn from noisy tables, and of nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from voile.disclosure.known import DistinctCells, Domain, Known
from voile.disclosure.shown import ShownColumn
from voile_base.errors import InputError

if TYPE_CHECKING:
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence

__all__ = ["Synthetic"]


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
