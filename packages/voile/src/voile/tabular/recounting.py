"""Tables recounted from their folder alone: files by their hashes, and what is claimed of cells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from voile.release.claims import UnknownClaim
from voile.release.manifest import DOCUMENT, release_document, require_hashes, verified_files
from voile.release.recounting import Recount, RecountedClaim, told_breaches
from voile.release.release import Guarantee
from voile.table.formats.excel import read_sheets
from voile.table.opening import open_published, published_rows
from voile.table.protocol import Engine
from voile.table.published import PublishedTable
from voile.tabular.published import (
    ReleasedCells,
    TablesDocument,
    TablesRelease,
    read_cells,
    tables_stated_in,
)
from voile_base.errors import TableError
from voile_base.values import Document

__all__ = ["TablesForm", "released_cells"]


@dataclass(frozen=True)
class TablesForm:
    """Folders of ``voile table``."""

    def recount(self, folder: Path, document: Document, engine: Engine | str) -> Recount:
        """Every claim, measured on the cells that stand in the file.

        Raises ``TableError`` where the folder does not hold tables, ``RefusedError`` where its
        files are not those that are listed.
        """
        require_hashes(document, folder)
        stated = tables_stated_in(document, folder)
        guarantee = Guarantee.of_document(document["guarantee"], f"{folder / DOCUMENT}: guarantee")
        files = verified_files(document, folder)
        table = _opened(folder, files.names, stated, engine)
        release = TablesRelease(table, stated.method, read_cells(stated, table))
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
        return Recount(folder, files.names, table.rows, claims, others)


def released_cells(folder: Path, engine: Engine | str = "auto") -> ReleasedCells | None:
    """The cells of a folder of tables; None where the folder holds another release.

    Raises ``TableError`` where the folder does not hold what it says, ``RefusedError`` where its
    files are not those that are listed.
    """
    document = release_document(folder)
    if document.get("form") != "tables":
        return None
    require_hashes(document, folder)
    stated = tables_stated_in(document, folder)
    files = verified_files(document, folder)
    cells = read_cells(stated, _opened(folder, files.names, stated, engine))
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
