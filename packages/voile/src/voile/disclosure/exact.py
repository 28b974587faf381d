"""A column that shows its own values: all of them, some, or none.

As it is; as numbers in place of identifiers; with cells blanked; or taken away, because the method
publishes something else in its place.  A missing value may stand for any; nobody can tell a blank
from a value that was missing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from voile.disclosure.evidence import DistinctCells, Domain, Known
from voile.disclosure.shown import ShownColumn
from voile_base.errors import InputError
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile.disclosure import coded as disclosure_coded
    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure import evidence as disclosure_evidence
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence
    from voile.disclosure.shown import ComparedColumn, OriginalSide
    from voile.schema.coding import Coding
else:
    disclosure_coded = on_demand("voile.disclosure.coded")
    disclosure_covering = on_demand("voile.disclosure.covering")
    disclosure_evidence = on_demand("voile.disclosure.evidence")

__all__ = ["AsItReads", "Blanked", "Exact", "Numbered", "Withheld"]


class AsItReads(ShownColumn):
    """What kinds share whose cells read like values of the table."""

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A cell fits a value that reads the same."""
        return disclosure_evidence.Labels.of([known.texts], cells.texts(cells.name))

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like; a number for the nearest one."""
        return disclosure_covering.labels_covered(
            domain, cells, self.evidence(domain.known, cells), level=0
        )


class Exact(AsItReads):
    """Each row shows its own value."""

    kind: Literal["exact"] = "exact"

    @property
    def as_it_is(self) -> bool:
        """It does."""
        return True

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Whether the original holds the values as often."""
        return compare.values(name)

    def coded(self, coding: Coding) -> ShownColumn:
        """Its coded values."""
        return disclosure_coded.Coded(codings=(coding,), then=self)

    def treated(self, then: ShownColumn) -> ShownColumn:
        """As the method shows it."""
        return then


class Numbered(AsItReads):
    """Equal identifiers show equal numbers, which tell nothing else about them."""

    kind: Literal["numbered"] = "numbered"

    @property
    def weighed(self) -> bool:
        """A number tells nothing of the identifier."""
        return False


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


class Blanked(AsItReads):
    """Each row shows its own value, or a missing one in its place."""

    kind: Literal["blanked"] = "blanked"

    @property
    def coarse(self) -> bool:
        """A missing value may stand for any."""
        return True

    def coded(self, coding: Coding) -> ShownColumn:
        """Coded values with the same blanks: a blank stays one."""
        return disclosure_coded.Coded(codings=(coding,), then=self)

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A cell fits a value that reads the same, and a missing one fits all."""
        return disclosure_evidence.Labels.of([known.texts], cells.texts(cells.name), {None})

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for its value; a missing one for any, as far as it was blanked."""
        covered = disclosure_covering.labels_covered(
            domain, cells, super().evidence(domain.known, cells), level=0
        )
        blank = np.array([text is None for text in cells.texts(cells.name)], dtype=np.bool_)
        own = int(domain.rows[0]) if domain.values.missing else 0
        shown = int(cells.rows[blank].sum())
        share = max(shown - own, 0) / shown if shown else 0.0
        spread = covered.spread
        if share:
            spread = replace(
                spread,
                start=np.where(blank, 0, spread.start),
                stop=np.where(blank, len(spread.order), spread.stop),
            )
        return replace(
            covered, spread=spread, size=np.where(blank, share, covered.size), level=None
        )
