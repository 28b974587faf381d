"""A release that is made ready where nobody sees it: written, read back, checked.

What is checked is what readers will get.  The rows of a release are written to a hidden folder
beside its place, without ``release.json``, and its claims are measured on these files, read by the
engine that will read them for anybody.  So a fault of a writer, or of a format that keeps less than
the rows had, ends a publication like any broken guarantee: before the ledger knows of the release.
Where a release is not written, it is checked as it stands.

Cost: a pass over the files for their hashes, and reading the columns that the check asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from voile.release.check import GuaranteeBrokenError, check_release
from voile.release.folder import (
    UnseenFolder,
    check_new_folder,
    format_for,
    write_document,
    write_measurements,
)
from voile.release.manifest import manifest_of
from voile.release.release import Release
from voile.table.engines import AUTO
from voile.table.opening import open_published
from voile.table.protocol import Engine, Format
from voile.table.published import PublishedTable
from voile_base.durable import sync
from voile_base.errors import TableError

__all__ = ["ReleaseStaging"]


class ReleaseStaging:
    """Where one release is made ready to appear at ``out``; a context, which tidies up.

    ``out`` is None where nothing is written.  ``within`` names the folder of the release inside the
    one that appears, which holds ``what``, for messages.  ``file_format`` is that of the rows;
    None: the usual one.  Raises ``InputError`` where something stands at ``out``.
    """

    def __init__(
        self,
        out: str | Path | None = None,
        what: str = "the release",
        *,
        within: str = "",
        file_format: Format | None = None,
    ) -> None:
        self.out = None if out is None else check_new_folder(out)
        self._what, self._within, self._asked = what, within, file_format
        self._unseen: UnseenFolder | None = None
        self._data: Sequence[Mapping[str, Any]] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._unseen is not None:
            self._unseen.remove()

    def check(
        self,
        release: Release,
        usual: Format,
        engine: Engine | str = AUTO,
        progress: Callable[[str], None] = lambda stage: None,
    ) -> None:
        """Write the rows of a release, and check what was written; or the rows themselves.

        ``usual`` is the format where none was asked for.  Raises ``InputError`` where the disk or
        the format refuses, ``GuaranteeBrokenError`` where the files do not have what is claimed.
        """
        table = release.table
        if self.out is not None:
            file_format = format_for(release, self._asked, usual)
            self._unseen = UnseenFolder(self.out, self._what)
            progress("writing")
            with self._unseen.writing() as root:
                folder = root / self._within
                folder.mkdir(exist_ok=True)
                files = table.write(folder, file_format)
                write_measurements(release, folder)
                self._data = manifest_of(folder, files)
            if table.rows:  # no reader takes a file without rows for a table
                table = _read_back(table, folder, files, engine)
        progress("checking")
        check_release(replace(release, table=table))

    @property
    def data(self) -> Sequence[Mapping[str, Any]]:
        """What ``release.json`` lists of the files that were written."""
        return self._data

    def appear(self, release: Release, fill: Callable[[Path], None] = lambda folder: None) -> None:
        """Write the document of a checked release, and let the folder appear.

        ``fill`` writes what else it holds.  Raises ``InputError`` where the disk fails.
        """
        if self._unseen is None:
            return
        with self._unseen.writing() as root:
            write_document(release, root / self._within, self._data)
            if self._within:
                sync(root / self._within)
            fill(root)
        self._unseen.appear()


def _read_back(
    written: PublishedTable, folder: Path, files: Sequence[str], engine: Engine | str
) -> PublishedTable:
    """The rows that stand in files; raises ``GuaranteeBrokenError`` where not all are there."""
    texts = [name for name, kind in written.kinds().items() if kind == "text"]
    try:
        read = open_published(folder, texts, files, engine)
        columns, rows = read.columns, read.rows
    except TableError:
        msg = "the files that were written of the release cannot be read back"
        raise GuaranteeBrokenError(msg) from None
    if columns != written.columns or rows != written.rows:
        msg = (
            f"the files of the release have {rows} rows of {len(columns)} columns, where "
            f"{written.rows} of {len(written.columns)} were written"
        )
        raise GuaranteeBrokenError(msg)
    return read
