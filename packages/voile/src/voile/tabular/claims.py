"""What a release of suppressed tables promises, as far as it can be seen on the tables.

It is recounted from the folder alone: files by their hashes, and what is claimed of cells.

Published cells add up; no published count is below the minimum;
and no suppressed cell can be known exactly, by sums and differences (in exact numbers) or because
cells are not negative and counts are whole (linear and integer programs).  Of large tables, two
tables of whole numbers that agree with what is published are sought that differ in the cell, which
proves the same.  Which cells are primary, and how far each must stay uncertain, no output shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.release.claim_checks import PublicRelease
from voile.release.claims import Claim, UnknownClaim
from voile.release.folder import DOCUMENT, release_document, require_hashes, verified_files
from voile.release.recounting import Recount, RecountedClaim, told_beside, told_breaches
from voile.release.release import Guarantee
from voile.table.formats.excel import read_sheets
from voile.table.opening import open_published, published_rows
from voile.table.protocol import Engine
from voile.table.published import PublishedTable
from voile.tabular.attacker import CellSystem, FeasibilityIntervals, NoTableError, among_shown
from voile.tabular.moves import ChangeBounds, CombinationGrid, MoveLimits, MoveRequest, MoveSearch
from voile.tabular.published import ReleasedCells, TablesDocument, TablesRelease
from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Document

__all__ = [
    "ControlledAdjustment",
    "ControlledRounding",
    "PerturbedCounts",
    "SuppressedCells",
    "TablesForm",
    "released_cells",
]

Mask = NDArray[np.bool_]
Number = Annotated[int, Field(ge=0)]
_MOST_EXACT = 3_000
"""Cells up to which intervals are looked at; of more, two tables that differ are sought."""
_MOST_TABLES, _MOST_MOVES, _MOST_SWEPT_ALONE = 24, 2_000, 60
_NO_TABLES = "the release has no tables of counts and sums"
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
        large = self.cells > _MOST_EXACT
        return (
            "which cells are primary, and that each keeps its protection interval",
            *(["that no suppressed cell is known where no two tables were found"] if large else []),
            *(["that no published cell has too few units"] if few else []),
        )

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """What the tables show against it."""
        if not isinstance(published, TablesRelease):
            yield _NO_TABLES
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


class PerturbedCounts(Claim):
    """Counts have noise by cell keys, and none lies where none may."""

    kind: Literal["cell-key"] = "cell-key"
    cells: Number
    """Of all tables, those that tables share counted once."""
    variance: Annotated[float, Field(gt=0)]
    """Of the noise of each count that is not 0, if it can be had there."""
    maximum: Annotated[int, Field(ge=1)]
    minimum: Annotated[int, Field(ge=1)] | None = None
    """No published count lies between 0 and this one."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """What the secret and the private rows alone can show."""
        return ("the variance of the noise, and that it follows from the persons who are counted",)

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """What the tables show against it."""
        yield from _altered_breaches(published, self.cells, "noise")
        if not isinstance(published, TablesRelease):
            return
        found = published.cells
        for name, counts in found.values.items():
            few = found.shown[name] & (counts > 0) & (counts < (self.minimum or 1))
            if few.any():
                yield f"{int(few.sum()):,} counts of {name!r} lie between 0 and {self.minimum:,}"


class ControlledRounding(Claim):
    """Counts are multiples of a base, and add up."""

    kind: Literal["controlled-rounding"] = "controlled-rounding"
    cells: Number
    """Of all tables, those that tables share counted once."""
    base: Annotated[int, Field(ge=2)]
    reach: Annotated[int, Field(ge=2)]
    """Each lies less than this from the count that it was rounded from."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """What the private rows alone can show."""
        return (f"that each count lies less than {self.reach:,} from the one that is published",)

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """What the tables show against it."""
        yield from _altered_breaches(published, self.cells, "rounding")
        if not isinstance(published, TablesRelease) or published.cells.suppressed.any():
            return
        found = published.cells
        for name, counts in found.values.items():
            if (other := int((counts % self.base != 0).sum())) > 0:
                yield f"{other:,} counts of {name!r} are no multiples of {self.base:,}"
            constraints = among_shown(found.system.constraints, found.shown[name])
            if (constraints @ counts).any():
                yield f"published cells of {name!r} do not add up"


class ControlledAdjustment(Claim):
    """Cells are near to the true ones, and add up."""

    kind: Literal["controlled-adjustment"] = "controlled-adjustment"
    cells: Number
    """Of all tables, those that tables share counted once."""
    minimum: Annotated[int, Field(ge=1)] | None = None
    """No published count lies between 0 and this one."""
    counts: tuple[str, ...] = ()
    """The measures that are counts."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """What the private rows alone can show."""
        return ("which cells were moved by their protection distance, and how near the others are",)

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """What the tables show against it."""
        yield from _altered_breaches(published, self.cells, "adjustment")
        if not isinstance(published, TablesRelease) or published.cells.suppressed.any():
            return
        found = published.cells
        for name, values in found.values.items():
            few = found.shown[name] & (values > 0) & (values < (self.minimum or 1))
            if name in self.counts and few.any():
                yield f"{int(few.sum()):,} counts of {name!r} lie between 0 and {self.minimum:,}"
            constraints = among_shown(found.system.constraints, found.shown[name])
            if (constraints @ values).any():
                yield f"published cells of {name!r} do not add up"


def _altered_breaches(published: PublicRelease, cells: int, how: str) -> Iterator[str]:
    """What speaks against tables of so many cells, all of which are shown, altered in one way."""
    if not isinstance(published, TablesRelease):
        yield _NO_TABLES
        return
    found = published.cells
    if found.faults:
        yield found.faults[0]
    if found.system.cells != cells:
        yield f"it claims {cells:,} cells, and its tables have {found.system.cells:,}"
    if found.suppressed.any():
        yield f"it suppresses {int(found.suppressed.sum()):,} cells, and claims {how} alone"


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
        if found.system.cells > _MOST_EXACT:
            known &= ~(hidden & _open_cells(found, name, hidden)) | ~shown
            continue
        system = CellSystem(constraints, values, hidden, found.whole[name])
        exactly = np.zeros_like(hidden)
        exactly[system.recomputable()] = True
        try:
            intervals = FeasibilityIntervals.of(system, np.flatnonzero(hidden & known & ~exactly))
        except NoTableError:
            yield f"no table agrees with the published cells of {name!r}"
            return
        narrow = (intervals.upper - intervals.lower) < _KNOWN
        exactly[intervals.cells[narrow]] = True
        known &= exactly | ~shown
    known &= np.logical_or.reduce(list(found.shown.values()))
    if known.any() and found.system.cells > _MOST_EXACT:
        yield f"no two tables were found that differ in {int(known.sum()):,} suppressed cells"
    elif known.any():
        yield f"{int(known.sum()):,} suppressed cells can be recomputed from published ones"


def _open_cells(found: ReleasedCells, name: str, hidden: Mask) -> Mask:
    """The suppressed cells in which two tables of whole numbers differ that agree with the rest.

    All of them, where there are too many combinations to look for a table.
    """
    grid = CombinationGrid.of_tabulation(found.system)
    values, shown = found.values[name], found.shown[name]
    if grid is None:
        return hidden
    size, cells = grid.chosen.shape[1], np.flatnonzero(shown & ~hidden)
    nothing, none = np.zeros(size, dtype=np.int64), np.zeros(len(hidden), dtype=np.bool_)
    amount = 2 * int(values.max(initial=0)) + 2
    exact = ChangeBounds(cells, *(values[cells].astype(np.float64),) * 2)
    search = MoveSearch(grid, MoveLimits(nothing, none, shown, empty=True))
    tables = (search.table(exact, _directions(hidden, n), amount) for n in range(_MOST_TABLES))
    first = next((table for table in tables if table is not None), None)
    if first is None:
        return hidden
    search = MoveSearch(grid, MoveLimits(first, shown & ~hidden, shown, empty=True))
    opened = ~hidden
    for number in range(_MOST_TABLES):
        far = 1 if number % 2 else amount
        move = search.sweep(hidden, ChangeBounds.none(), _directions(~opened, number), far)
        if move is not None:
            opened[move.cells] = True
        if opened.all():
            break
    return opened | _moved_alone(search, hidden, opened, amount)


def _moved_alone(search: MoveSearch, hidden: Mask, opened: Mask, amount: int) -> Mask:
    """The cells for which a move is found, of those that no sweep moved."""
    opened, price = opened.copy(), np.zeros(len(hidden))
    for cell in np.flatnonzero(hidden & ~opened)[:_MOST_MOVES].tolist():
        for sign in (1, -1):
            request = MoveRequest(cell, sign, 1, ChangeBounds.none())
            if not opened[cell] and (move := search.move(request, price)) is not None:
                opened[move.cells] = True
    for cell in np.flatnonzero(hidden & ~opened)[:_MOST_SWEPT_ALONE].tolist():
        for direction in (1.0, -1.0):
            price[cell] = direction
            move = search.sweep(hidden, ChangeBounds.none(), price, amount)
            if move is not None:
                opened[move.cells] = True
        price[cell] = 0.0
    return opened


def _directions(cells: Mask, number: int) -> NDArray[np.float64]:
    """Shape (cells,): 1 or -1 where something is to move."""
    words = Randomness.following("recount", str(number)).key("direction").stream(len(cells))
    return np.where(cells, np.where(words >> np.uint64(63), 1.0, -1.0), 0.0)


@dataclass(frozen=True)
class TablesForm:
    """Folders of ``voile table``."""

    def recount(self, folder: Path, document: Document, engine: Engine | str) -> Recount:
        """Every claim, measured on the cells that stand in the file.

        Raises ``TableError`` where the folder does not hold tables, ``RefusedError`` where its
        files are not those that are listed.
        """
        require_hashes(document, folder)
        stated = TablesDocument.stated_in(document, folder)
        guarantee = Guarantee.of_document(document["guarantee"], f"{folder / DOCUMENT}: guarantee")
        files = verified_files(document, folder)
        table = _opened(folder, files.names, stated, engine)
        release = TablesRelease(table, stated.method, stated.read_cells(table))
        files.require_unchanged()
        claims = tuple(
            RecountedClaim(
                claim,
                () if isinstance(claim, UnknownClaim) else told_breaches(claim.breaches(release)),
            )
            for claim in guarantee.claims
        )
        told = f"its file has {table.rows:,} cells, and it states {stated.rows:,}"
        others = (told,) if table.rows != stated.rows else ()
        beside = told_beside(document, folder, files.names, guarantee.claims)
        return Recount(folder, files.names, table.rows, claims, (*others, *beside))


def released_cells(folder: Path, engine: Engine | str = "auto") -> ReleasedCells | None:
    """The cells of a folder of tables; None where the folder holds another release.

    Raises ``TableError`` where the folder does not hold what it says, ``RefusedError`` where its
    files are not those that are listed.
    """
    document = release_document(folder)
    if document.get("form") != "tables":
        return None
    require_hashes(document, folder)
    stated = TablesDocument.stated_in(document, folder)
    files = verified_files(document, folder)
    cells = stated.read_cells(_opened(folder, files.names, stated, engine))
    if cells.faults:
        msg = f"{folder}: {cells.faults[0]}; ask for the folder as it was published"
        raise TableError(msg)
    return cells


def _opened(
    folder: Path, names: tuple[str, ...], stated: TablesDocument, engine: Engine | str
) -> PublishedTable:
    """The rows of the file; of a workbook, those of all sheets."""
    (name,) = names
    if name.endswith(".xlsx"):
        return published_rows(read_sheets(folder / name))
    texts = [column for column, kind in stated.types.items() if kind == "text"]
    return open_published(folder, texts, names, engine)
