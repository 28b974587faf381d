"""How many cells of the release stand in the original in the same column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from voile.utility.protocol import Comparison, Measurement


@dataclass(frozen=True)
class SameCells:
    """The share of the published cells whose text stands in the same column of the original."""

    name: str = "same-cells"

    def refusal(self, comparison: Comparison) -> str | None:
        """It always makes sense."""
        return None

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Count them."""
        shown, own = comparison.published.frame, comparison.original.frame
        both = [name for name in shown.columns if name in own.columns]
        same = [shown[name].cast(str).is_in(own[name].cast(str).implode()).mean() for name in both]
        return [
            Measurement(
                self.name,
                "Same cells",
                sum(same) / max(len(same), 1),
                "higher",
                "the share of cells whose value the original has, too",
            )
        ]
