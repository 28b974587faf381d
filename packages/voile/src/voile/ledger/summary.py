"""What ``voile ledger show`` tells of a series: how its blocks widen from release to release.

Private: numbers of held rows are no part of any release.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from voile.ledger.lost import LostVersion
from voile.ledger.records import VersionRecord
from voile.release.history import Blocks, SeriesTerms
from voile.schema.numbers import unscaled

__all__ = ["SeriesSummary", "VersionSummary"]


@dataclass(frozen=True)
class VersionSummary:
    """One release in numbers; widths are in the unit of the sensitive column."""

    number: int
    release_id: str
    created: str
    blocks: int
    rows: int
    """Rows in this release, those of earlier releases included."""
    new_rows: int
    """Rows first published in this release."""
    held: int | None
    """Rows held back by the newest release; None for others, whose held rows are forgotten."""
    sum_of_ranges: Decimal
    mean_width: float
    """Mean range of a block; 0 for a release without blocks."""
    max_width: Decimal
    stands: bool
    """Whether its folder is known to have appeared."""

    @classmethod
    def of(cls, record: VersionRecord, blocks: Blocks) -> VersionSummary:
        """The summary of a version and its blocks."""
        scale = max(blocks.low.scale, blocks.high.scale)
        widths = [
            int(high) - int(low)
            for low, high in zip(
                blocks.low.rescaled(scale).units, blocks.high.rescaled(scale).units, strict=True
            )
        ]
        total = unscaled(sum(widths), scale)
        return cls(
            number=record.number,
            release_id=record.release_id,
            created=record.created,
            blocks=len(blocks),
            rows=int(blocks.rows.sum()),
            new_rows=record.published,
            held=record.held,
            sum_of_ranges=total,
            mean_width=float(total) / len(blocks) if len(blocks) else 0.0,
            max_width=unscaled(max(widths, default=0), scale),
            stands=bool(record.stands),
        )


@dataclass(frozen=True)
class SeriesSummary:
    """One series: its terms, and its releases from the oldest to the newest."""

    terms: SeriesTerms
    versions: tuple[VersionSummary, ...]
    lost: tuple[LostVersion, ...] = ()
    """Releases that never appeared, from the oldest to the newest."""

    @property
    def unsettled(self) -> VersionSummary | None:
        """The newest release, unless it is known to stand."""
        return self.versions[-1] if self.versions and not self.versions[-1].stands else None
