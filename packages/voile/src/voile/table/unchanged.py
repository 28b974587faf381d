"""Files of a table that somebody may write to while they are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from voile_base.errors import TableError

__all__ = ["Fault", "WatchedFiles"]


class Fault(Protocol):
    """Looks at the files of a table again."""

    def __call__(self, *, reading: bool) -> TableError | None:
        """What is wrong with them, after they could not be read, or could; None: nothing."""


class WatchedFiles:
    """Parquet files as they were when this was made; see ``Fault``."""

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        """``path`` is what they are called in messages."""
        self._path, self._files = path, tuple(files)
        self._before = self._state()

    def __call__(self, *, reading: bool) -> TableError | None:
        """What is wrong with them."""
        if self._state() != self._before:
            return TableError(
                f"{self._path}: the table changed while it was read; nothing was written. Publish "
                "a copy that nobody writes to"
            )
        if not reading:
            return None
        return TableError(
            f"{self._path}: the table is not whole or not valid Parquet; write it again from its "
            "source"
        )

    def _state(self) -> list[tuple[int, int, int] | None]:
        """What tells whether files were written to."""
        found: list[tuple[int, int, int] | None] = []
        for file in self._files:
            try:
                status = file.stat()
            except OSError:
                found.append(None)
            else:
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return found
