"""Table divergence: how far the rows of a release are from those of the original; private.

What it does: compares the joint distribution of all published columns in the original with that in
the release: Jensen-Shannon and total variation, and Kullback-Leibler with smoothing.

Source: the table divergence of "Privacy Preserving in Big Data Sets through Multiple Shuffle" (ACSW
2017), a Kullback-Leibler divergence of the whole table; formulas and their sources are those of
``models.divergence``.

Claim: the distributions are those of whole rows: the share of the rows of the original, and of the
release, that show each combination of values in all columns of the original that are published (so
not in ``group``).  A combination that stands in one of the tables only needs no convention in
Jensen-Shannon and total variation; for Kullback-Leibler ``alpha`` rows are added to each one that
stands in either, and to no other.  A missing value is a value.

``useless`` is the value of a release that repeats no row of the original, and its own rows as often
as it does.  Where most rows of a table differ, whatever mixes columns comes near that, and the
divergence says little; that of pairs of columns says more.

Algorithm: rows of both tables are counted by their contents, in parts where there are many
(``table.alignment``).  Cost: O(n m) for n rows and m columns, for each part.

Departures: the paper does not say what becomes of combinations that one table lacks; if nothing is
added, its divergence is infinite as soon as one row of the original is not found again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import ClassVar

from voile.models.divergence import SMOOTHING, DivergenceSums
from voile.table.alignment import paired_counts, rows_of
from voile.table.arrays import Frame, frame_of
from voile.utility.covering import ColumnCovering, coverings
from voile.utility.protocol import Comparison, Measurement
from voile_base.errors import InputError

__all__ = ["TableDivergence", "divergence_of_tables"]

_TITLES = {
    "total-variation": "total variation",
    "jensen-shannon": "Jensen-Shannon divergence",
    "kullback-leibler": "Kullback-Leibler divergence",
}
_PART = 1 << 23
"""Rows of both tables that are counted at a time, about."""


def divergence_of_tables(
    original: object,
    released: object,
    columns: Sequence[str],
    *,
    parts: int = 1,
    alpha: float = SMOOTHING,
) -> DivergenceSums:
    """The divergence of tables that need not fit in memory, over some columns; private.

    A table is a data frame, or the path of a file or folder, of which one part at a time is
    counted: Parquet and Arrow IPC files are read ``parts`` + 1 times and never held whole.  Rows
    are compared by the values that they show.  Raises ``TableError`` where a column is not there or
    a file cannot be read.
    """
    counts = paired_counts(original, released, columns, parts)
    rows = rows_of(original, columns), rows_of(released, columns)
    return DivergenceSums.over(counts, rows, alpha)


@dataclass(frozen=True)
class TableDivergence:
    """Divergence of the joint distribution of all columns.

    Raises ``InputError`` unless alpha is above 0.
    """

    alpha: float = SMOOTHING
    """Rows added to each combination of values for Kullback-Leibler."""
    name: ClassVar[str] = "table-divergence"

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            msg = "alpha must be above 0: without it one row that is not found makes it infinite"
            raise InputError(msg)

    def refusal(self, comparison: Comparison) -> str | None:
        """Rows are compared by plain values."""
        if not comparison.published.frame.height:
            return "the release has no rows"
        columns = coverings(comparison)
        if not columns:
            return "the release shows no column of the original"
        for name, covering in columns.items():
            if covering.noisy:
                return f"column {name!r} is published with noise, so that rows do not repeat"
            if int(covering.spread.covered.max()) > 1:
                return f"column {name!r} is generalized, so that rows show no single values"
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Total variation, Jensen-Shannon in bits, Kullback-Leibler in nats."""
        if (reason := self.refusal(comparison)) is not None:
            raise InputError(reason)
        columns = coverings(comparison)
        original, released = _rows(columns)
        found = DivergenceSums.over(
            paired_counts(original, released, original.columns, 1 + 2 * original.height // _PART),
            (original.height, released.height),
            self.alpha,
        )
        notes = (
            f"over all of {len(columns)} columns; the original has {found.left_cells:,} different "
            f"rows and the release {found.right_cells:,}, of which {found.shared_cells:,} are the "
            "same",
        )
        return [
            self._measurement(
                "total-variation",
                "the share of rows that would have to become others for the release to have the "
                "rows of the original",
                (found.total_variation, 1.0),
                notes,
            ),
            self._measurement(
                "jensen-shannon",
                "how well a whole row tells whether it comes from the original or the release, in "
                "bits",
                (found.jensen_shannon / log(2), 1.0),
                notes,
            ),
            self._measurement(
                "kullback-leibler",
                "nats lost by expecting rows of the release where those of the original come, with "
                f"{self.alpha:g} rows added to each combination of values",
                (found.kullback_leibler, found.kullback_leibler_of_disjoint),
                notes,
            ),
        ]

    @staticmethod
    def _measurement(
        kind: str, meaning: str, values: tuple[float, float], notes: tuple[str, ...]
    ) -> Measurement:
        """One divergence, from its value and that of a release with other rows only."""
        value, useless = values
        return Measurement(
            measure=f"table-{kind}",
            title=f"Table {_TITLES[kind]}",
            value=value,
            better="lower",
            meaning=meaning,
            untouched=0.0,
            useless=useless,
            notes=notes,
        )


def _rows(columns: Mapping[str, ColumnCovering]) -> tuple[Frame, Frame]:
    """The rows of the original and of the release, each value as its index in the original."""
    original = {name: covering.own for name, covering in columns.items()}
    released = {
        name: covering.spread.order[covering.spread.start][covering.entry]
        for name, covering in columns.items()
    }
    return frame_of(original), frame_of(released)
