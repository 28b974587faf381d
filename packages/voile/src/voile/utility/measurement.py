"""What one measure of utility came to: plain values, private as the original behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

__all__ = ["Better", "Measurement"]

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Measurement:
    """How much of the original one measure finds in a release; private."""

    measure: str
    """Name, such as "normalized-certainty-penalty"."""
    title: str
    """The name as a reader sees it: "Normalized certainty penalty"."""
    value: float
    better: Better
    """Whether a lower or a higher value means a more useful release."""
    meaning: str
    """What the value says, in one sentence without a full stop."""
    untouched: float | None = None
    """The value of the original published as it is; None where there is no such."""
    useless: float | None = None
    """The value of a release that tells nothing; None where it is not bounded or not known."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """The value of each column ("age"), pair ("age, sex") or task, where the measure has such."""
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """All fields for JSON; ``study.record.MeasureDocument`` says what they are there."""
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        return held | {"parts": dict(self.parts), "notes": list(self.notes)}
