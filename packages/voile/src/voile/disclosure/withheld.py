"""A column that a method takes away, because it publishes something else in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from voile.disclosure.known import DistinctCells, Domain, Known
from voile.disclosure.shown import ShownColumn
from voile_base.errors import InputError

if TYPE_CHECKING:
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence

__all__ = ["Withheld"]


class Withheld(ShownColumn):
    """No published column shows anything of it."""

    kind: Literal["withheld"] = "withheld"

    def published(self, name: str) -> tuple[str, ...]:
        """None."""
        del name
        return ()

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """There are no cells; raises ``InputError``."""
        del known
        raise InputError(_nothing(cells))

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """There are no cells; raises ``InputError``."""
        del domain
        raise InputError(_nothing(cells))


def _nothing(cells: DistinctCells) -> str:
    return f"the release shows nothing of column {cells.name!r}, which it withholds"
