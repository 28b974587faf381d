"""What every measure of utility offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from voile.release.reading.sightings import People, PublishedRows
from voile.utility.measurement import Measurement
from voile_base.randomness import Randomness

__all__ = ["Comparison", "Measure"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """A release beside its original; private."""

    published: PublishedRows
    original: People
    """The rows that went in, with the plan: hierarchies, bounds, texts for missing values."""
    randomness: Randomness
    """Draws queries, folds and the like."""
    held_out: People | None = None
    """Rows of the same origin that did not go in; None where none were held out."""


class Measure(Protocol):
    """A measure of utility; an immutable object whose fields are its parameters."""

    @property
    def name(self) -> str:
        """The name by which a study asks for the measure."""

    def refusal(self, comparison: Comparison) -> str | None:
        """Why the measure makes no sense for a release, as a clause; None where it does."""

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Measure a release; raises ``VoileError`` where release, original and plan disagree."""
