"""The memory for outputs: tables are judged against all that left a data set, and remembered.

The ledger keeps the tables (``ledger.budget``), ``tabular.output_memory`` judges.  A table is
entered after it was judged and before it is written: a crash in between leaves a ledger that knows
of a table that nobody saw, which is safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from voile.ledger import Ledger
from voile.tabular.output_memory import OutputVerdict
from voile.tabular.remembered import RememberedTable
from voile_base.errors import LedgerError, RefusedError
from voile_base.ondemand import dataclass

__all__ = ["OutputMemory"]

_MOST_LISTED = 3


@dataclass(frozen=True)
class OutputMemory:
    """All tables that left one data set."""

    ledger: Path
    data_set: str
    minimum: int
    """Fewest units that may be known exactly; at least 2."""

    @cached_property
    def earlier(self) -> tuple[RememberedTable, ...]:
        """The tables that left, oldest first; raises ``LedgerError`` where they cannot be read."""
        records = Ledger(self.ledger).outputs(self.data_set)
        try:
            return tuple(RememberedTable.unpacked(record.content) for record in records)
        except ValueError as error:
            msg = (
                f"{self.ledger}: the outputs of data set {self.data_set!r} cannot be read: "
                f"{error}; use the version of Voile that wrote them, or restore a backup"
            )
            raise LedgerError(msg) from None

    def judge(self, tables: Sequence[RememberedTable]) -> OutputVerdict:
        """What follows from some tables and all earlier ones."""
        return OutputVerdict.judge(self.earlier, tables, self.minimum)

    def remember(self, tables: Sequence[RememberedTable]) -> None:
        """Enter tables that are about to leave, or have left; durable when it returns."""
        packed = [(table.name, table.packed()) for table in tables]
        Ledger(self.ledger).remember(self.data_set, len(self.earlier), packed)

    def let_leave(self, tables: Sequence[RememberedTable]) -> None:
        """Judge tables and enter them; raises ``RefusedError`` where they disclose something."""
        self.refuse(self.judge(tables))
        self.remember(tables)

    def refuse(self, verdict: OutputVerdict) -> None:
        """Raise ``RefusedError`` where tables disclose something."""
        if not verdict.safe:
            raise RefusedError(self._refusal(verdict))

    def _refusal(self, verdict: OutputVerdict) -> str:
        """What is disclosed about whom, by which tables, and what to change; without values."""
        number = len(verdict.derived)
        listed = "".join(
            f"\n  {one.what}: from {'; '.join(one.sources)}"
            for one in verdict.derived[:_MOST_LISTED]
        )
        more = f"\n  ... and {number - _MOST_LISTED:,} more" if number > _MOST_LISTED else ""
        change = (
            "Use the conditions of the earlier output, or suppress "
            f"{len(verdict.change):,} cells of the new table: {'; '.join(verdict.change)}"
            if verdict.change
            else "Use the conditions of the earlier output, or ask for coarser values"
        )
        return (
            f"together with {len(self.earlier):,} earlier outputs of data set {self.data_set!r} "
            f"the table gives the exact numbers of {number:,} groups of fewer than {self.minimum} "
            f"units:{listed}{more}\n{change}"
        )
