"""What the private original shows of a column that is published: a kind asks, and is answered.

The comparisons themselves stand in ``voile.release.original_checks``, where the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from voile.disclosure.stated_noise import StatedNoise

__all__ = ["ComparedColumn", "OriginalSide"]


@dataclass(frozen=True)
class ComparedColumn:
    """What came of looking at a column; private."""

    holds: bool | None
    """None: it cannot be told."""
    what: str
    """A clause that names the column."""


class OriginalSide(Protocol):
    """The rows of a release beside those of the original, as a kind compares a column of both."""

    def values(self, name: str) -> ComparedColumn:
        """Whether the original holds each value at least as often."""

    def permuted(self, name: str) -> ComparedColumn:
        """The same, and whether values stand in other rows than the original has them in."""

    def noisy(self, name: str, shown: StatedNoise) -> ComparedColumn:
        """Whether more values are those of the original than noise leaves."""

    def moved(
        self, name: str, coordinate: Literal["latitude", "longitude"], decimals: int
    ) -> ComparedColumn:
        """Whether positions are where they were; on a grid of so many decimals of a degree."""

    def not_compared(self, name: str, why: str) -> ComparedColumn:
        """That nothing was compared, and why, as a clause."""
