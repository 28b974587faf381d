"""What a release of suppressed tables promises, as far as it can be seen on the tables.

Recounted from the folder alone: published cells add up; no published count is below the minimum;
and no suppressed cell can be known exactly, by sums and differences (in exact numbers) or because
cells are not negative and counts are whole (linear and integer programs).  Which cells are primary,
and how far each must stay uncertain, no output shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from voile.release.claims import Claim
from voile.release.group_checks import PublicRelease
from voile.tabular.attacker import (
    CellSystem,
    FeasibilityIntervals,
    NoTableError,
    among_shown,
    recomputable,
)
from voile.tabular.published import ReleasedCells, TablesRelease

__all__ = ["SuppressedCells"]

Number = Annotated[int, Field(ge=0)]
_KNOWN = 1 - 1e-6
"""A cell whose interval is narrower than a unit is known."""


class SuppressedCells(Claim):
    """No suppressed cell can be recomputed, and no cell of too few units is shown."""

    kind: Literal["cell-suppression"] = "cell-suppression"
    cells: Number
    """Of all tables, those that tables share counted once."""
    suppressed: Number
    minimum: Annotated[int, Field(ge=1)] | None = None
    """Fewest units of a published cell."""
    zeros: Literal["hide", "show"] = "hide"
    units: str | None = None
    """The measure that counts units; None: it is not published."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """What the private rows alone can show."""
        few = self.minimum is not None and self.units is None
        return (
            "which cells are primary, and that each keeps its protection interval",
            *(["that no published cell has too few units"] if few else []),
        )

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """What the tables show against it."""
        if not isinstance(published, TablesRelease):
            yield "the release has no tables of counts and sums"
            return
        found = published.cells
        if found.faults:
            yield found.faults[0]
            return
        if (found.system.cells, int(found.suppressed.sum())) != (self.cells, self.suppressed):
            yield (
                f"it claims {self.suppressed:,} of {self.cells:,} cells suppressed, and its tables "
                f"have {int(found.suppressed.sum()):,} of {found.system.cells:,}"
            )
        yield from self._too_few(found)
        yield from _known_cells(found)

    def _too_few(self, found: ReleasedCells) -> Iterator[str]:
        if self.minimum is None or self.units is None:
            return
        if self.units not in found.values:
            yield f"it counts units in {self.units!r}, which its tables do not have"
            return
        counts, shown = found.values[self.units], found.shown[self.units] & ~found.suppressed
        few = shown & (counts < self.minimum) & ((counts > 0) | (self.zeros == "hide"))
        if few.any():
            yield f"{int(few.sum()):,} published cells have fewer than {self.minimum:,} units"


def _known_cells(found: ReleasedCells) -> Iterator[str]:
    """Sums that do not add up, and suppressed cells whose every measure can be known."""
    known = found.suppressed.copy()
    for name, values in found.values.items():
        shown = found.shown[name]
        constraints = among_shown(found.system.constraints, shown)
        hidden = found.suppressed & shown
        complete = (abs(constraints) @ hidden.astype(np.int64)) == 0
        if (constraints[np.flatnonzero(complete)] @ values).any():
            yield f"published cells of {name!r} do not add up"
            return
        system = CellSystem(constraints, values, hidden, found.whole[name])
        exactly = np.zeros_like(hidden)
        exactly[recomputable(system)] = True
        try:
            intervals = FeasibilityIntervals.of(system, np.flatnonzero(hidden & known & ~exactly))
        except NoTableError:
            yield f"no table agrees with the published cells of {name!r}"
            return
        narrow = (intervals.upper - intervals.lower) < _KNOWN
        exactly[intervals.cells[narrow]] = True
        known &= exactly | ~shown
    known &= np.logical_or.reduce(list(found.shown.values()))
    if known.any():
        yield f"{int(known.sum()):,} suppressed cells can be recomputed from published ones"
