"""Private rows that outlast a release: marks of rows, and rows that wait for the next one.

They are data sets of an engine and stay that: a ledger has them written to files, and hands them to
whichever engine asks next.  Nobody collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from voile.table.engines import AUTO, engine_of
from voile.table.protocol import Engine, Rows

__all__ = ["KeptRows", "together"]


def _none(engine: Engine) -> Rows:
    msg = "there are no rows to be opened"
    raise ValueError(msg)


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Private rows, wherever they are until an engine asks for them; none by default."""

    height: int = 0
    """How many there are."""
    open: Callable[[Engine], Rows] = field(default=_none, repr=False)
    """The rows as a data set of an engine; raises ``ValueError`` where there are none.

    Those that were just made are of the engine that made them, whichever asks."""

    @classmethod
    def of(cls, rows: Rows) -> KeptRows:
        """Rows that an engine has made."""
        return cls(rows.height, lambda engine: rows)

    @classmethod
    def of_table(cls, table: pa.Table) -> KeptRows:
        """A small table, or one that an earlier Voile has kept in memory."""
        return cls(table.num_rows, lambda engine: engine.of_arrow(table))

    def write(self, folder: Path) -> None:
        """Write the rows, of which there are some, to Parquet files in a folder.

        Raises ``OSError`` where the disk refuses.
        """
        self.open(engine_of(AUTO)).write(folder, "parquet")


def together(kept: Sequence[KeptRows], engine: Engine) -> Rows | None:
    """All rows of several, which have the same columns; None where there are none."""
    found: Rows | None = None
    for rows in (each.open(engine) for each in kept if each.height):
        found = rows if found is None else found.union(rows)
    return found
