"""What a group of a ranking must satisfy, and how hard the exact search may try."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from voile_base.errors import PlanError

__all__ = ["SearchTerms", "require"]

_MOST_ROWS = 2**31


@dataclass(frozen=True)
class SearchTerms:
    """Terms of a group, and limits of the exact search; other searches bring their own parameters.

    Raises ``PlanError`` for a value out of its range.
    """

    k: int
    """A group has at least so many rows, or persons, with top rows and others together."""
    precision: Fraction
    """Least share of top rows among all rows of the table in the box, in (0, 1]; exact."""
    batch: int | None = None
    """A search starts from so many of the best top rows that are left, or from those of so many
    persons (and all tied with the last of them); None: from all of them."""
    beyond_top: bool = True
    """``exact``: try boxes spanned by any rows too, not only those spanned by top rows."""
    work: int = 100_000
    """``exact``, ``auto``: limit of boxes looked at in a round; the same on every machine."""
    seconds: float | None = None
    """``exact``, ``auto``: limit of time in a round.  Whether it strikes depends on the machine."""

    def __post_init__(self) -> None:
        require(2 <= self.k < _MOST_ROWS, "k", "a whole number, at least 2")
        require(0 < self.precision <= 1, "precision", "above 0 and at most 1")
        require(
            self.precision.denominator < _MOST_ROWS, "precision", "a number of at most 9 decimals"
        )
        require(self.batch is None or self.batch >= 1, "batch", "at least 1")
        require(self.work >= 1, "work", "at least 1")
        require(self.seconds is None or self.seconds > 0, "seconds", "above 0")


def require(holds: bool, name: str, must: str) -> None:
    """Raise ``PlanError`` where a parameter is out of its range."""
    if not holds:
        msg = f"{name} must be {must}"
        raise PlanError(msg)
